/* JSON on standard output. Values are written compactly (base/json.h) and laid out here,
 * in several lines or in one. Characters outside ASCII become \uXXXX, as in the official
 * program, so that the output is the same in every locale. */
#include "cli/frame/cmd_json.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <tinkc/rest.h>
#include <unistd.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "cli/frame/cmd_print.h"

void cmd_json_init(cmd_json *json)
{
    tk_buf_init(&json->buf, TK_GIB);
    tk_json_writer_init(&json->w, &json->buf);
}

void cmd_json_dispose(cmd_json *json)
{
    tk_buf_dispose(&json->buf);
}

void cmd_json_key(cmd_json *json, const char *key)
{
    tk_json_key(&json->w, tk_str_of(key));
}

/* Only headers can bring text that is not UTF-8; one bad byte must not spoil the whole
 * document. */
static void put_text(cmd_json *json, tk_str text)
{
    if (tk_utf8_is_valid(text)) {
        tk_json_put_str(&json->w, text);
        return;
    }
    tk_buf clean;
    tk_buf_init(&clean, TK_GIB);
    tk_buf_put(&clean, text.p, text.n);
    if (clean.failure == TINKC_OK) {
        tk_utf8_scrub(clean.p, clean.n);
    }
    tk_json_put_str(&json->w, tk_buf_str(&clean));
    tk_buf_dispose(&clean);
}

void cmd_json_text(cmd_json *json, const char *text)
{
    if (text == NULL) {
        tk_json_put_null(&json->w);
    } else {
        put_text(json, tk_str_of(text));
    }
}

void cmd_json_time(cmd_json *json, int64_t time_us)
{
    char text[CMD_WORD_BYTES];
    bool has_time =
        time_us != TINKC_NO_TIME && tinkc_time_format(text, sizeof(text), time_us) > 0;
    cmd_json_text(json, has_time ? text : NULL);
}

void cmd_json_count(cmd_json *json, int64_t value)
{
    if (value < 0) {
        tk_json_put_null(&json->w);
    } else {
        tk_json_put_i64(&json->w, value);
    }
}

void cmd_json_real(cmd_json *json, double value)
{
    if (isfinite(value)) {
        tk_json_put_double(&json->w, value);
    } else {
        tk_json_put_null(&json->w);
    }
}

void cmd_json_pair(cmd_json *json, const char *key, const char *text)
{
    cmd_json_key(json, key);
    cmd_json_text(json, text);
}

/* ---- layout ---- */

typedef struct layout {
    tk_buf *out;
    bool in_lines;
    size_t depth;
} layout;

static void new_line(const layout *l)
{
    if (l->in_lines) {
        tk_buf_printf(l->out, "\n%*s", (int)(2 * l->depth), "");
    }
}

/* Writes a character of a string and returns its length in bytes. */
static size_t put_character(tk_buf *out, const char *p, size_t n)
{
    uint32_t c = 0;
    size_t size = tk_utf8_decode(&c, p, n);
    if (size <= 1 && c != 0x7f) { /* DEL is ASCII, and terminals obey it */
        tk_buf_putc(out, p[0]);
        return 1;
    }
    if (c > 0xffff) {
        c -= 0x10000;
        tk_buf_printf(out, "\\u%04x\\u%04x", 0xd800 + (unsigned)(c >> 10),
                      0xdc00 + (unsigned)(c & 0x3ff));
    } else {
        tk_buf_printf(out, "\\u%04x", (unsigned)c);
    }
    return size;
}

static size_t put_string(tk_buf *out, const char *p, size_t n)
{
    size_t i = 1;
    tk_buf_putc(out, '"');
    while (i < n && p[i] != '"') {
        if (p[i] == '\\') {
            tk_buf_putc(out, '\\');
            i++;
        }
        i += put_character(out, p + i, n - i);
    }
    tk_buf_putc(out, '"');
    return i + 1;
}

static void put_mark(layout *l, const char *p, size_t left)
{
    tk_buf_putc(l->out, p[0]);
    if (p[0] == '{' || p[0] == '[') {
        bool is_empty = left > 1 && (p[1] == '}' || p[1] == ']');
        l->depth++;
        if (!is_empty) {
            new_line(l);
        }
    } else if (p[0] == ',' && l->in_lines) {
        new_line(l);
    } else if (p[0] == ',' || p[0] == ':') {
        tk_buf_putc(l->out, ' ');
    }
}

static void put_end(layout *l, char mark, char before)
{
    l->depth--;
    if (before != '{' && before != '[') {
        new_line(l);
    }
    tk_buf_putc(l->out, mark);
}

void cmd_json_layout(tk_buf *out, tk_str text, bool in_lines)
{
    layout l = {out, in_lines, 0};
    for (size_t i = 0; i < text.n;) {
        char c = text.p[i];
        if (c == '"') {
            i += put_string(out, text.p + i, text.n - i);
            continue;
        }
        if (c == '}' || c == ']') {
            put_end(&l, c, text.p[i - 1]);
        } else {
            put_mark(&l, text.p + i, text.n - i);
        }
        i++;
    }
}

static bool show(tk_str text, bool in_lines)
{
    tk_buf out;
    tk_buf_init(&out, 8 * TK_GIB);
    cmd_json_layout(&out, text, in_lines);
    tk_buf_putc(&out, '\n');
    bool ok = out.failure == TINKC_OK;
    if (ok) {
        cmd_print_bytes(out.p, out.n);
    }
    tk_buf_dispose(&out);
    return ok;
}

int cmd_json_print(cmd_json *json, const cmd_args *args)
{
    tk_err err = TK_ERR_INIT;
    int result = CMD_OK;
    if (tk_json_finish(&json->w, &err) != TINKC_OK) {
        result = cmd_fail("%s", err.message);
    } else if (!show(tk_buf_str(&json->buf), cmd_format_of(args) != CMD_JSONL)) {
        result = cmd_fail("out of memory");
    }
    cmd_json_dispose(json);
    return result;
}

int cmd_json_save(cmd_json *json, const char *path)
{
    tk_err err = TK_ERR_INIT;
    tinkc_code code = tk_json_finish(&json->w, &err);
    if (code != TINKC_OK) {
        goto out;
    }
    tk_buf_putc(&json->buf, '\n');
    code = tk_buf_status(&json->buf, &err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tk_file_replace(path, json->buf.p, json->buf.n, 0666, &err);
out:
    cmd_json_dispose(json);
    return code == TINKC_OK ? CMD_OK : cmd_fail("%s", err.message);
}

/* Whether the file has a last line that no newline ends. */
static bool is_open_line(int fd)
{
    struct stat st;
    char last = '\n';
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
           pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n';
}

static bool write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t put = write(fd, p, n);
        if (put < 0 && errno != EINTR) {
            return false;
        }
        p += put > 0 ? put : 0;
        n -= put > 0 ? (size_t)put : 0;
    }
    return true;
}

int cmd_json_append(cmd_json *json, const char *path)
{
    tk_err err = TK_ERR_INIT;
    tinkc_code code = tk_json_finish(&json->w, &err);
    if (code != TINKC_OK) {
        goto out;
    }
    tk_buf_putc(&json->buf, '\n');
    code = tk_buf_status(&json->buf, &err);
    if (code != TINKC_OK) {
        goto out;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    bool ok = fd >= 0 && (!is_open_line(fd) || write_all(fd, "\n", 1)) &&
              write_all(fd, json->buf.p, json->buf.n);
    int reason = errno;
    if (fd >= 0 && close(fd) != 0 && ok) {
        ok = false;
        reason = errno;
    }
    if (!ok) {
        code = tk_err_sys(&err, reason, "cannot write %s", path);
    }
out:
    cmd_json_dispose(json);
    return code == TINKC_OK ? CMD_OK : cmd_fail("%s", err.message);
}

bool cmd_json_line(cmd_json *json)
{
    bool ok =
        tk_json_finish(&json->w, NULL) == TINKC_OK && show(tk_buf_str(&json->buf), false);
    tk_buf_clear(&json->buf);
    tk_json_writer_init(&json->w, &json->buf);
    return ok && ferror(stdout) == 0;
}
