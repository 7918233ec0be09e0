/* Filling tk_err; see err.h. No allocation, no locks. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

void tk_err_clear(tk_err *err)
{
    static const tk_err empty = TK_ERR_INIT;
    if (err != NULL) {
        *err = empty;
    }
}

/* What snprintf left in text[0..size): whole characters, no control characters. The text
 * may quote a server or a file. `n` is what snprintf returned. */
static void tidy(char *text, size_t size, int n)
{
    text[size - 1] = '\0';
    size_t len = strlen(text);
    if (n < 0 || (size_t)n >= size) {
        len = tk_utf8_whole(text, len);
        text[len] = '\0';
    }
    tk_utf8_scrub(text, len);
}

TK_PRINTF(4, 0)
static void store(tk_err *err, tinkc_code code, size_t offset, const char *format,
                  va_list args)
{
    if (err == NULL || err->code != TINKC_OK) {
        return;
    }
    err->code = code;
    err->offset = offset;
    err->message[0] = '\0';
    int n = vsnprintf(err->message, sizeof(err->message), format, args);
    tidy(err->message, sizeof(err->message), n);
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

/* Not strerror: it is not thread-safe, and its text follows the locale. */
static const char *errno_text(int errnum)
{
    const char *text = strerrordesc_np(errnum);
    return text != NULL ? text : "unknown error";
}

tinkc_code tk_err_sys(tk_err *err, int errnum, const char *format, ...)
{
    tinkc_code code = errnum == ENOMEM ? TINKC_E_NOMEM : TINKC_E_IO;
    char what[TK_ERR_MESSAGE_BYTES - 64]; /* a long path may not push the reason out */
    va_list args;
    va_start(args, format);
    int n = vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    tidy(what, sizeof(what), n);
    return tk_err_set(err, code, "%s: %s", what, errno_text(errnum));
}

tinkc_code tk_err_code_of_status(int http_status)
{
    static const struct {
        int http_status;
        tinkc_code code;
    } table[] = {
        {400, TINKC_E_BAD_REQUEST}, {401, TINKC_E_AUTH},
        {402, TINKC_E_PAYMENT},     {403, TINKC_E_PERMISSION},
        {404, TINKC_E_NOT_FOUND},   {409, TINKC_E_CONFLICT},
        {410, TINKC_E_GONE},        {422, TINKC_E_UNPROCESSABLE},
        {429, TINKC_E_RATE_LIMIT},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(table); i++) {
        if (table[i].http_status == http_status) {
            return table[i].code;
        }
    }
    return http_status >= 500 && http_status <= 599 ? TINKC_E_SERVER : TINKC_E_STATUS;
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
    tidy(err->path, sizeof(err->path), n);
}

void tk_err_under_index(tk_err *err, size_t index)
{
    char segment[32];
    (void)snprintf(segment, sizeof(segment), "[%zu]", index);
    tk_err_under(err, segment);
}
