/* Output that cannot steer a terminal; see cmd_print.h. Owns no memory. */
#include "cli/frame/cmd_print.h"

#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/frame/cmd_out.h"

#define SHORT_BYTES 512
#define LONG_BYTES  (64 * TK_MIB)

/* Not called by its name: the compiler wants a literal format, and one of the two formats
 * is a copy. Both are checked where cmd_print is called. */
static int (*const format_text)(char *, size_t, const char *, va_list) = vsnprintf;

static bool is_control(char c)
{
    return (unsigned char)c < 0x20;
}

/* Whether text, made with `format`, can be written as it is: ASCII, and a new line only
 * at the end, where the format has one. */
static bool is_plain(const char *text, size_t n, const char *format)
{
    size_t length = strlen(format);
    if (n > 0 && length > 0 && text[n - 1] == '\n' && format[length - 1] == '\n') {
        n--;
    }
    for (size_t i = 0; i < n; i++) {
        if (text[i] < 0x20 || text[i] > 0x7e) {
            return false;
        }
    }
    return true;
}

static bool put_formatted(tk_buf *out, const char *format, va_list list)
{
    va_list again;
    va_copy(again, list);
    int n = format_text(NULL, 0, format, again);
    va_end(again);
    char *room = n >= 0 ? tk_buf_reserve(out, (size_t)n + 1) : NULL;
    if (room == NULL) {
        return false;
    }
    (void)format_text(room, (size_t)n + 1, format, list);
    tk_buf_advance(out, (size_t)n);
    return true;
}

/* The same text with blanks for the control characters of the format: where the two
 * differ, a control character is the program's own. */
static bool put_blank(tk_buf *out, const char *format, va_list list)
{
    char *copy = tk_strdup(format);
    for (char *p = copy; p != NULL && *p != '\0'; p++) {
        *p = is_control(*p) ? ' ' : *p;
    }
    bool ok = copy != NULL && put_formatted(out, copy, list);
    tk_free(copy);
    return ok;
}

static void put_mixed(tk_buf *out, tk_str text, const char *blank)
{
    size_t from = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (is_control(text.p[i]) && blank[i] == ' ') {
            cmd_out_put_safe(out, (tk_str){text.p + from, i - from});
            tk_buf_putc(out, text.p[i]);
            from = i + 1;
        }
    }
    cmd_out_put_safe(out, (tk_str){text.p + from, text.n - from});
}

static void write_all(FILE *to, const tk_buf *buf)
{
    if (buf->failure != TINKC_OK) {
        (void)fputs("out of memory\n", stderr);
    } else if (buf->n > 0) {
        (void)fwrite(buf->p, 1, buf->n, to);
    }
}

void cmd_print_va(FILE *to, const char *format, va_list list)
{
    char small[SHORT_BYTES];
    va_list again, third;
    va_copy(again, list);
    va_copy(third, list);
    int n = vsnprintf(small, sizeof(small), format, list);
    if (n >= 0 && (size_t)n < sizeof(small) && is_plain(small, (size_t)n, format)) {
        (void)fwrite(small, 1, (size_t)n, to);
    } else {
        tk_buf text, blank, out;
        tk_buf_init(&text, LONG_BYTES);
        tk_buf_init(&blank, LONG_BYTES);
        tk_buf_init(&out, 16 * LONG_BYTES);
        if (put_formatted(&text, format, again) && put_blank(&blank, format, third)) {
            put_mixed(&out, tk_buf_str(&text), blank.p);
        } else {
            tk_buf_fail(&out, TINKC_E_NOMEM);
        }
        write_all(to, &out);
        tk_buf_dispose(&text);
        tk_buf_dispose(&blank);
        tk_buf_dispose(&out);
    }
    va_end(again);
    va_end(third);
}

void cmd_print(FILE *to, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    cmd_print_va(to, format, list);
    va_end(list);
}

void cmd_print_lines(FILE *to, tk_str text)
{
    tk_buf safe;
    tk_buf_init(&safe, TK_GIB);
    for (size_t i = 0; i < text.n;) {
        size_t end = i;
        while (end < text.n && text.p[end] != '\n' && text.p[end] != '\t') {
            end++;
        }
        cmd_out_put_safe(&safe, (tk_str){text.p + i, end - i});
        if (end < text.n) {
            tk_buf_putc(&safe, text.p[end]);
        }
        i = end + 1;
    }
    write_all(to, &safe);
    tk_buf_dispose(&safe);
}

void cmd_print_bytes(const char *bytes, size_t n)
{
    if (isatty(STDOUT_FILENO) == 1) {
        cmd_print_lines(stdout, (tk_str){bytes, n});
    } else if (n > 0) {
        (void)fwrite(bytes, 1, n, stdout);
    }
}
