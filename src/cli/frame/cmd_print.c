/* Output that cannot steer a terminal; see cmd_print.h. Owns what is known about the
 * terminal: whether the line that changes is shown, and whether the cursor is inside a
 * line. */
#include "cli/frame/cmd_print.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "cli/frame/cmd_out.h"

#define SHORT_BYTES 512
#define LONG_BYTES  (64 * TK_MIB)

static tk_mutex gate = TK_MUTEX_INIT;
/* The line that changes is shown. A signal handler reads it, on any thread. */
static atomic_int has_line;
static bool is_mid_line; /* the last output to a terminal did not end its line */

/* ---- the terminal ---- */

static bool is_terminal(FILE *to)
{
    static int known[2]; /* 0: not asked yet; 1: no; 2: yes */
    if (to != stdout && to != stderr) {
        return false;
    }
    int *answer = &known[to == stderr];
    if (*answer == 0) {
        *answer = isatty(fileno(to)) == 1 ? 2 : 1;
    }
    return *answer == 2;
}

static void hide_line(void)
{
    if (has_line != 0) {
        (void)fputs("\r\033[K", stderr);
        (void)fflush(stderr);
        has_line = 0;
    }
}

bool cmd_print_has_line(void)
{
    return has_line != 0;
}

static void emit(FILE *to, const char *p, size_t n)
{
    if (n == 0) {
        return;
    }
    tk_mutex_lock(&gate);
    hide_line();
    (void)fwrite(p, 1, n, to);
    if (is_terminal(to)) {
        is_mid_line = p[n - 1] != '\n';
    }
    tk_mutex_unlock(&gate);
}

/* Returns the part of the text that fits into the columns. */
static tk_str cut(const char *text, size_t columns)
{
    tk_str all = tk_str_of(text);
    while (cmd_out_columns(all) > columns) {
        do {
            all.n--;
        } while (all.n > 0 && ((unsigned char)all.p[all.n] & 0xc0) == 0x80);
    }
    return all;
}

void cmd_print_line(const char *text)
{
    tk_buf line;
    tk_buf_init(&line, TK_MIB);
    tk_mutex_lock(&gate);
    if (text == NULL) {
        hide_line();
    } else if (is_terminal(stderr) && !is_mid_line) {
        tk_buf_puts(&line, "\r\033[K");
        cmd_out_put_safe(&line, cut(text, cmd_out_width(STDERR_FILENO) - 1));
        if (line.failure == TINKC_OK) {
            (void)fwrite(line.p, 1, line.n, stderr);
            (void)fflush(stderr);
            has_line = 1;
        }
    }
    tk_mutex_unlock(&gate);
    tk_buf_dispose(&line);
}

/* ---- texts ---- */

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
        emit(stderr, "out of memory\n", 14);
    } else {
        emit(to, buf->p, buf->n);
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
        emit(to, small, (size_t)n);
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
    } else {
        emit(stdout, bytes, n);
    }
}
