/* Refuses what would break out of a header line or a URL before anything is sent. */
#include "client/transfer/request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/rand.h"
#include "base/uuid.h"
#include "client/core/headers.h"
#include "http/url.h"

#define TEXT_MAX_BYTES (256 * TK_KIB)
#define LINES_MAX      32

static tinkc_code keep(const char **out, tk_request *request, tk_str text, tk_err *err)
{
    tk_str copy;
    if (!tk_arena_dup(&request->arena, &copy, text.p, text.n)) {
        return tk_err_nomem(err);
    }
    *out = copy.p;
    return TINKC_OK;
}

static bool is_absolute(const char *path)
{
    return strncmp(path, "http://", 7) == 0 || strncmp(path, "https://", 8) == 0;
}

static tinkc_code set_query(tk_buf *out, const tk_request_spec *from, tk_err *err)
{
    for (size_t i = 0; i < from->query_n; i++) {
        if (from->query[i].name == NULL || from->query[i].value == NULL) {
            return tk_err_set(err, TINKC_E_INVALID, "a query parameter without text");
        }
        tk_url_query_add(out, from->query[i].name, tk_str_of(from->query[i].value));
    }
    return tk_buf_status(out, err);
}

/* An absolute URL gets the query appended; other servers get nothing of ours. */
static tinkc_code set_url(tk_request *out, const char *path, tk_str query,
                          const char *base_url, tk_err *err)
{
    tk_buf url;
    tk_buf_init(&url, TEXT_MAX_BYTES);
    tk_buf_puts(&url, path);
    if (query.n > 0) {
        tk_buf_putc(&url, strchr(path, '?') != NULL ? '&' : '?');
        tk_buf_put(&url, query.p, query.n);
    }
    tinkc_code code = tk_buf_status(&url, err);
    if (code == TINKC_OK) {
        code = keep(&out->url, out, tk_buf_str(&url), err);
    }
    tk_buf_dispose(&url);
    out->anonymous = !tk_url_same_origin(tk_str_of(path), tk_str_of(base_url));
    out->endpoint.path = "";
    return code;
}

static tinkc_code set_target(tk_request *out, const tk_request_spec *from,
                             const char *base_url, tk_err *err)
{
    const char *path = from->path;
    if (path == NULL || !tk_headers_is_clean(tk_str_of(path)) ||
        strchr(path, ' ') != NULL ||
        (!is_absolute(path) && (path[0] != '/' || strpbrk(path, "?#") != NULL))) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "a path starts with \"/\" and has no query; a URL starts with "
                          "http:// or https://");
    }
    tk_buf query;
    tk_buf_init(&query, TEXT_MAX_BYTES);
    tinkc_code code = set_query(&query, from, err);
    if (code == TINKC_OK && is_absolute(path)) {
        code = set_url(out, path, tk_buf_str(&query), base_url, err);
    } else if (code == TINKC_OK) {
        code = keep(&out->endpoint.path, out, tk_str_of(path), err);
        if (code == TINKC_OK) {
            code = keep(&out->query, out, tk_buf_str(&query), err);
        }
    }
    tk_buf_dispose(&query);
    return code;
}

static tinkc_code add_line(tk_request *out, const char *name, const char *value,
                           tk_err *err)
{
    tk_buf line;
    if (name == NULL || value == NULL || !tk_headers_is_name(tk_str_of(name)) ||
        !tk_headers_is_clean(tk_str_of(value))) {
        return tk_err_set(err, TINKC_E_INVALID, "not a header: \"%s\"",
                          name != NULL ? name : "");
    }
    tk_buf_init(&line, TEXT_MAX_BYTES);
    tk_buf_printf(&line, "%s: %s", name, value);
    tinkc_code code = tk_buf_status(&line, err);
    if (code == TINKC_OK) {
        code = keep(&out->lines[out->lines_n], out, tk_buf_str(&line), err);
    }
    tk_buf_dispose(&line);
    out->lines_n += code == TINKC_OK ? 1 : 0;
    return code;
}

static tinkc_code set_lines(tk_request *out, const tk_request_spec *from, tk_err *err)
{
    if (from->headers_n > LINES_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT, "more than %d headers", LINES_MAX);
    }
    out->lines = tk_arena_array(&out->arena, from->headers_n + 1, sizeof(*out->lines));
    if (out->lines == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && i < from->headers_n; i++) {
        code = add_line(out, from->headers[i].name, from->headers[i].value, err);
    }
    if (code == TINKC_OK && !out->anonymous) {
        code = add_line(out, "X-Stainless-Raw-Response",
                        from->is_streamed ? "stream" : "raw", err);
    }
    return code;
}

static tinkc_code set_form(tk_request *out, const tk_request_spec *from, tk_err *err)
{
    tk_rand rand;
    char boundary[64], uuid[TK_UUID_TEXT_BYTES];
    tinkc_code code = tk_rand_init_os(&rand, err);
    if (code != TINKC_OK) {
        return code;
    }
    tk_uuid_make(uuid, &rand);
    (void)snprintf(boundary, sizeof(boundary), "tinkc-%s", uuid);
    return tk_multipart_new(&out->multipart, from->parts, from->parts_n, boundary, err);
}

static tinkc_code set_body(tk_request *out, const tk_request_spec *from, tk_err *err)
{
    bool has_body = from->body != NULL;
    if ((from->is_form && has_body) ||
        ((from->is_form || has_body) && from->method == TK_HTTP_GET)) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "a GET has no body; others have a body or a form, not both");
    }
    if (from->content_type != NULL &&
        (!tk_headers_is_clean(tk_str_of(from->content_type)) ||
         keep(&out->content_type, out, tk_str_of(from->content_type), err) != TINKC_OK)) {
        return tk_err_set(err, TINKC_E_INVALID, "not a content type");
    }
    if (from->is_form) {
        return set_form(out, from, err);
    }
    if (!has_body) {
        return TINKC_OK;
    }
    void *copy = tk_arena_alloc(&out->arena, from->body_n);
    if (copy == NULL) {
        return tk_err_nomem(err);
    }
    memcpy(copy, from->body, from->body_n);
    out->body = copy;
    out->body_n = from->body_n;
    return TINKC_OK;
}

static tinkc_code set_file(tk_request *request, const tk_request_spec *spec, tk_err *err)
{
    struct stat info;
    const char *path = spec->file;
    uint64_t from = spec->file_from, n = spec->file_n;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return tk_err_sys(err, errno, "%s", path);
    }
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < 0 ||
        from > (uint64_t)info.st_size || n > (uint64_t)info.st_size - from) {
        close(fd);
        return tk_err_set(err, TINKC_E_IO, "%s: not a regular file, or too short", path);
    }
    request->has_file = true;
    request->file = fd;
    request->file_from = from;
    request->body_n = (size_t)n;
    return TINKC_OK;
}

static void set_rules(tk_request *out, const tk_request_spec *spec)
{
    out->endpoint.method = spec->method;
    out->endpoint.timeout_ms = spec->timeout_ms;
    out->endpoint.l1_retries = spec->max_retries;
    out->endpoint.follow_redirects = spec->peer == TK_REQUEST_ANONYMOUS;
    out->anonymous = out->anonymous || spec->peer != TK_REQUEST_OURS;
    out->pass_status = spec->pass_status;
    out->max_response_bytes = spec->max_response_bytes;
    out->is_once = spec->is_once;
}

tinkc_code tk_request_init(tk_request *out, const tk_request_spec *spec,
                           const char *base_url, tk_err *err)
{
    *out = (tk_request){.endpoint = {.name = "raw", .group = TK_HTTP_REST}};
    tk_arena_init(&out->arena, 0);
    tinkc_code code = set_target(out, spec, base_url, err);
    if (code != TINKC_OK) {
        goto out;
    }
    set_rules(out, spec);
    code = set_lines(out, spec, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = set_body(out, spec, err);
    if (code == TINKC_OK && spec->file != NULL && spec->file_n > 0) {
        code = set_file(out, spec, err);
    }
out:
    if (code != TINKC_OK) {
        tk_request_dispose(out);
    }
    return code;
}

void tk_request_dispose(tk_request *request)
{
    if (request->has_file) {
        close(request->file);
        request->has_file = false;
    }
    tk_multipart_free(&request->multipart);
    tk_arena_dispose(&request->arena);
}

void tk_request_apply(tk_call *call, tk_request *request)
{
    call->endpoint = &request->endpoint;
    call->url = request->url;
    call->query = request->query;
    call->content_type = request->content_type;
    call->lines = request->lines;
    call->lines_n = request->lines_n;
    call->body = request->body;
    call->body_n = request->body_n;
    call->anonymous = request->anonymous;
    call->pass_status = request->pass_status;
    call->max_response_bytes = request->max_response_bytes;
    call->is_upload = request->has_file;
    call->is_once = request->is_once;
    if (request->multipart != NULL) {
        call->content_type = tk_multipart_content_type(request->multipart);
        call->body_n = (size_t)tk_multipart_size(request->multipart);
    }
}

bool tk_request_is_read(const tk_request *request)
{
    return request->multipart != NULL || request->has_file;
}

static size_t read_file(const tk_request *request, uint64_t offset, char *p, size_t n)
{
    size_t most = offset < request->body_n ? request->body_n - (size_t)offset : 0;
    ssize_t got;
    do {
        got = pread(request->file, p, TK_MIN(n, most),
                    (off_t)(request->file_from + offset));
    } while (got < 0 && errno == EINTR);
    return got > 0 ? (size_t)got : TK_HTTP_BODY_FAILED;
}

size_t tk_request_read(tk_request *request, uint64_t offset, char *p, size_t n)
{
    return request->has_file ? read_file(request, offset, p, n)
                             : tk_multipart_read(request->multipart, offset, p, n);
}
