/* What the terminal can do, and how sizes and times read. The locale is read when
 * something is shown and not earlier, because `--help` does not need it. Owns no
 * memory. */
#include "cli/frame/cmd_out.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <tinkc/rest.h>
#include <unistd.h>
#include <wchar.h>

#include "base/clock.h"
#include "base/env.h"
#include "base/json.h"
#include "base/utf8.h"

static bool is_utf8;

static void read_locale(void)
{
    (void)setlocale(LC_CTYPE, "");
    is_utf8 = tk_str_is_nocase(tk_str_of(nl_langinfo(CODESET)), "UTF-8");
}

bool cmd_out_is_utf8(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT; /* log lines come on any thread */
    (void)pthread_once(&once, read_locale);
    return is_utf8;
}

bool cmd_out_has_color(const cmd_args *args)
{
    const char *term = tk_env_get(NULL, "TERM");
    return !cmd_has(args, "no-color") && tk_env_get_nonempty(NULL, "NO_COLOR") == NULL &&
           term != NULL && strcmp(term, "dumb") != 0 && isatty(STDOUT_FILENO) == 1;
}

size_t cmd_out_width(int fd)
{
    struct winsize size = {0};
    int64_t columns = 0;
    if (isatty(fd) != 1) {
        return 0;
    }
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    const char *text = tk_env_get_nonempty(NULL, "COLUMNS");
    return text != NULL && tk_str_to_i64(tk_str_of(text), &columns) && columns > 0
               ? (size_t)columns
               : 80;
}

size_t cmd_out_columns(tk_str text)
{
    size_t columns = 0;
    bool wide = cmd_out_is_utf8();
    for (size_t i = 0; i < text.n;) {
        uint32_t c = 0;
        size_t n = tk_utf8_decode(&c, text.p + i, text.n - i);
        int width = n > 1 && wide ? wcwidth((wchar_t)c) : 1;
        columns += width >= 0 ? (size_t)width : 1;
        i += n > 0 ? n : 1;
    }
    return columns;
}

void cmd_out_put_safe(tk_buf *out, tk_str text)
{
    size_t from = out->n;
    for (size_t i = 0; i < text.n;) {
        uint32_t c = 0;
        size_t n = tk_utf8_decode(&c, text.p + i, text.n - i);
        if (n > 1 && !cmd_out_is_utf8()) {
            tk_buf_printf(out, c > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)c);
        } else {
            tk_buf_put(out, text.p + i, n > 0 ? n : 1);
        }
        i += n > 0 ? n : 1;
    }
    if (out->failure == TINKC_OK && out->n > from) {
        tk_utf8_scrub(out->p + from, out->n - from);
    }
}

const char *cmd_out_size(char out[CMD_WORD_BYTES], int64_t bytes)
{
    static const char *const units[] = {"KB", "MB", "GB", "TB", "PB", "EB"};
    if (bytes < 0) {
        (void)snprintf(out, CMD_WORD_BYTES, "N/A");
        return out;
    }
    if (bytes < 1024) {
        (void)snprintf(out, CMD_WORD_BYTES, "%d B", (int)bytes);
        return out;
    }
    size_t unit = 0;
    double size = (double)bytes / 1024;
    while (size >= 1024 && unit + 1 < TK_ARRAY_LEN(units)) {
        size /= 1024;
        unit++;
    }
    /* LC_NUMERIC is never set, so that this is a point everywhere */
    (void)snprintf(out, CMD_WORD_BYTES, "%.1f %s", size, units[unit]);
    return out;
}

static const char *span(char out[CMD_WORD_BYTES], int64_t n, const char *unit, bool ahead)
{
    (void)snprintf(out, CMD_WORD_BYTES, "%s%lld %s%s%s", ahead ? "in " : "", (long long)n,
                   unit, n > 1 ? "s" : "", ahead ? "" : " ago");
    return out;
}

const char *cmd_out_time(char out[CMD_WORD_BYTES], int64_t time_us)
{
    int64_t now_us = tk_clock_wall_us(NULL);
    bool ahead = time_us > now_us;
    if (time_us == TINKC_NO_TIME) {
        (void)snprintf(out, CMD_WORD_BYTES, "N/A");
        return out;
    }
    int64_t seconds = (ahead ? time_us - now_us : now_us - time_us) / 1000000;
    int64_t days = seconds / 86400;
    if (days > 30) {
        (void)tinkc_time_format(out, CMD_WORD_BYTES, time_us);
        out[strcspn(out, "T")] = '\0';
        return out;
    }
    if (days > 7) {
        return span(out, days / 7, "week", ahead);
    }
    if (days > 0) {
        return span(out, days, "day", ahead);
    }
    if (seconds > 3600) {
        return span(out, seconds / 3600, "hour", ahead);
    }
    if (seconds > 60) {
        return span(out, seconds / 60, "minute", ahead);
    }
    (void)snprintf(out, CMD_WORD_BYTES, "%s",
                   ahead ? "in less than a minute" : "just now");
    return out;
}

const char *cmd_out_real(char out[CMD_WORD_BYTES], double value)
{
    tk_buf buf;
    tk_json_writer w;
    out[0] = '\0';
    if (isfinite(value)) {
        tk_buf_init(&buf, CMD_WORD_BYTES - 1);
        tk_json_writer_init(&w, &buf);
        tk_json_put_double(&w, value);
        (void)snprintf(out, CMD_WORD_BYTES, TK_STR_FMT, TK_STR_ARG(tk_buf_str(&buf)));
        tk_buf_dispose(&buf);
    }
    return out;
}
