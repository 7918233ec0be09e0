/* Filling tk_err; see err.h. No allocation, no locks. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void tk_err_clear(tk_err *err)
{
    static const tk_err empty = TK_ERR_INIT;
    if (err != NULL) {
        *err = empty;
    }
}

/* Drops an incomplete UTF-8 sequence that cutting the text may have left at its end. */
static void trim_partial_char(char *text)
{
    size_t n = strlen(text);
    size_t back = 0;
    while (back < 3 && back < n && ((unsigned char)text[n - 1 - back] & 0xC0) == 0x80) {
        back++;
    }
    if (back >= n) {
        return;
    }
    unsigned char lead = (unsigned char)text[n - 1 - back];
    size_t need = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
    if (need > back) {
        text[n - 1 - back] = '\0';
    }
}

static void store(tk_err *err, tinkc_code code, size_t offset, const char *format,
                  va_list args)
{
    if (err == NULL || err->code != TINKC_OK) {
        return;
    }
    err->code = code;
    err->offset = offset;
    int n = vsnprintf(err->message, sizeof(err->message), format, args);
    if (n >= (int)sizeof(err->message)) {
        trim_partial_char(err->message);
    }
}

tinkc_code tk_err_set(tk_err *err, tinkc_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    store(err, code, TK_ERR_NO_OFFSET, format, args);
    va_end(args);
    return code;
}

tinkc_code tk_err_at(tk_err *err, tinkc_code code, size_t offset, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    store(err, code, offset, format, args);
    va_end(args);
    return code;
}

tinkc_code tk_err_nomem(tk_err *err)
{
    return tk_err_set(err, TINKC_E_NOMEM, "out of memory");
}

void tk_err_under(tk_err *err, const char *segment)
{
    if (err == NULL || err->code == TINKC_OK) {
        return;
    }
    char inner[TK_ERR_PATH_BYTES];
    memcpy(inner, err->path, sizeof(inner));
    const char *dot = inner[0] != '\0' && inner[0] != '[' ? "." : "";
    int n = snprintf(err->path, sizeof(err->path), "%s%s%s", segment, dot, inner);
    if (n >= (int)sizeof(err->path)) {
        trim_partial_char(err->path);
    }
}

void tk_err_under_index(tk_err *err, size_t index)
{
    char segment[32];
    (void)snprintf(segment, sizeof(segment), "[%zu]", index);
    tk_err_under(err, segment);
}
