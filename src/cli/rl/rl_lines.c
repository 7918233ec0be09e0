/* Writes and cuts files of JSON lines.
 * Needs: text server */
#include "cli/rl/rl_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

#define FILE_BYTES TK_GIB

tinkc_code rl_lines_read(const char *path, size_t step,
                         void (*each)(void *user, size_t step, tk_str line,
                                      const tk_json *json),
                         void *user, tk_err *err)
{
    char *text = NULL;
    size_t n = 0;
    tk_arena arena;
    tinkc_code code = tk_file_read(&text, &n, path, FILE_BYTES, err);
    if (code != TINKC_OK) {
        return code == TINKC_E_MISSING ? TINKC_OK : code;
    }
    tk_arena_init(&arena, 0);
    for (tk_str rest = {text, n}; rest.p != NULL;) {
        const tk_json *json = NULL;
        uint64_t at = 0;
        tk_str line = tk_str_cut(&rest, '\n');
        const tk_json *number =
            rest.p != NULL && /* a line that was cut by a crash has no end */
                    tk_json_parse(&json, &arena, line.p, line.n, NULL, NULL) == TINKC_OK
                ? tk_json_get(json, "step")
                : NULL;
        if (number != NULL && tk_json_to_u64(number, &at) && at <= step) {
            each(user, (size_t)at, line, json);
        }
        tk_arena_dispose(&arena);
    }
    tk_free(text);
    return TINKC_OK;
}

static void keep(void *user, size_t step, tk_str line, const tk_json *json)
{
    tk_buf *kept = user;
    (void)step;
    (void)json;
    tk_buf_put(kept, line.p, line.n);
    tk_buf_putc(kept, '\n');
}

static tinkc_code cut(const char *path, size_t step, tk_err *err)
{
    tk_buf kept;
    tk_buf_init(&kept, FILE_BYTES);
    tinkc_code code = rl_lines_read(path, step, keep, &kept, err);
    if (code == TINKC_OK) {
        code = tk_buf_status(&kept, err);
    }
    if (code == TINKC_OK) {
        code = tk_file_replace(path, kept.n > 0 ? kept.p : "", kept.n, 0666, err);
    }
    tk_buf_dispose(&kept);
    return code;
}

tinkc_code rl_lines_open(rl_lines *out, const char *path, size_t step, uint64_t max_bytes,
                         tk_err *err)
{
    struct stat info;
    *out = (rl_lines){.fd = -1, .path = path, .max = max_bytes};
    tinkc_code code = step > 0 ? cut(path, step, err) : TINKC_OK;
    if (code != TINKC_OK) {
        return code;
    }
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (step > 0 ? 0 : O_TRUNC);
    out->fd = open(path, flags, 0666);
    if (out->fd < 0 || fstat(out->fd, &info) != 0) {
        code = tk_err_sys(err, errno, "cannot write %s", path);
        rl_lines_close(out);
        return code;
    }
    out->n = (uint64_t)info.st_size;
    return TINKC_OK;
}

tinkc_code rl_lines_put(rl_lines *lines, tk_str line, tk_err *err)
{
    tk_buf buf;
    if (lines->fd < 0 || line.n + 1 > lines->max - TK_MIN(lines->n, lines->max)) {
        return TINKC_OK;
    }
    tk_buf_init(&buf, line.n + 1);
    tk_buf_put(&buf, line.p, line.n);
    tk_buf_putc(&buf, '\n');
    tinkc_code code = tk_buf_status(&buf, err);
    for (size_t at = 0; code == TINKC_OK && at < buf.n;) {
        ssize_t n = write(lines->fd, buf.p + at, buf.n - at);
        if (n > 0) {
            at += (size_t)n;
        } else if (errno != EINTR) {
            code = tk_err_sys(err, errno, "cannot write %s", lines->path);
        }
    }
    lines->n += buf.n;
    tk_buf_dispose(&buf);
    return code;
}

void rl_lines_close(rl_lines *lines)
{
    if (lines->fd >= 0) {
        (void)close(lines->fd);
    }
    lines->fd = -1;
}
