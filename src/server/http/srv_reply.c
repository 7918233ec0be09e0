/* Error bodies have FastAPI's shapes: {"detail": "text"} and, for a body that is not the
 * expected message, {"detail": [{"loc", "msg", "type"}]}. */
#include "server/http/srv_reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

#define RETRY_AFTER_S "1"

static const char no_memory[] = "{\"detail\":\"the server is out of memory\"}";

/* Asks a client that was refused to wait, unless the answer says that already. */
static void ask_to_wait(srv_request *request)
{
    for (size_t i = 0; i < request->n_headers; i++) {
        if (strcmp(request->headers[i].name, "Retry-After") == 0) {
            return;
        }
    }
    if (request->n_headers < SRV_HEADERS_MAX) {
        request->headers[request->n_headers++] =
            (srv_header){"Retry-After", RETRY_AFTER_S};
    }
}

static srv_verdict set(srv_request *request, int status, const char *type, srv_blob *blob,
                       tk_str fixed)
{
    srv_blob_release(request->answer);
    request->status = status;
    request->content_type = type;
    request->answer = blob;
    request->fixed = fixed;
    if (status == 429) {
        ask_to_wait(request);
    }
    return SRV_ANSWERED;
}

srv_verdict srv_reply_fixed(srv_request *request, int status, const char *type,
                            tk_str bytes)
{
    return set(request, status, type, NULL, bytes);
}

srv_verdict srv_reply_blob(srv_request *request, int status, const char *type,
                           srv_blob *blob)
{
    return set(request, status, type, blob, TK_STR(""));
}

srv_verdict srv_reply_empty(srv_request *request, int status)
{
    return set(request, status, NULL, NULL, TK_STR(""));
}

srv_verdict srv_reply_buf(srv_request *request, int status, const char *type, tk_buf *buf)
{
    bool full = buf->failure == TINKC_E_RATE_LIMIT;
    srv_blob *blob = srv_blob_take(buf);
    if (blob == NULL) {
        return full ? srv_reply_busy(request)
                    : set(request, 500, SRV_TYPE_JSON, NULL, TK_STR(no_memory));
    }
    return srv_reply_blob(request, status, type, blob);
}

/* Begins {"detail": ... */
static void begin_detail(tk_json_writer *w, tk_buf *buf)
{
    tk_buf_init(buf, 8 * TK_KIB);
    tk_json_writer_init(w, buf);
    tk_json_begin_object(w);
    tk_json_key(w, TK_STR("detail"));
}

/* Whether an absolute path begins at text[at]. */
static bool is_path(const char *text, size_t at)
{
    char before = at > 0 ? text[at - 1] : ' ';
    return text[at] == '/' && (before == ' ' || strchr("\"'(=", before) != NULL);
}

void srv_reply_hide_paths(char *text)
{
    size_t to = 0;
    for (size_t at = 0; text[at] != '\0'; at++) {
        if (is_path(text, at)) {
            const char *end = strstr(text + at, ": ");
            size_t stop = end != NULL ? (size_t)(end - text) : strlen(text);
            for (size_t i = at; i < stop; i++) {
                at = text[i] == '/' && i + 1 < stop ? i + 1 : at;
            }
        }
        text[to++] = text[at];
    }
    text[to] = '\0';
}

srv_verdict srv_reply_fail(srv_request *request, int status, const char *format, ...)
{
    tk_err text = TK_ERR_INIT; /* cuts and scrubs */
    char line[TK_ERR_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    srv_reply_hide_paths(line);
    (void)tk_err_set(&text, TINKC_E_INVALID, "%s", line);
    tk_buf buf;
    tk_json_writer w;
    begin_detail(&w, &buf);
    tk_json_put_str(&w, tk_str_of(text.message));
    tk_json_end_object(&w);
    return srv_reply_buf(request, status, SRV_TYPE_JSON, &buf);
}

srv_verdict srv_reply_busy(srv_request *request)
{
    const srv_budget *memory = request->budget;
    const srv_part *part = &memory->parts[SRV_PART_REQUESTS];
    return srv_reply_fail(
        request, 429,
        "the server's memory is full: requests use %zu of at most %zu MiB, everything %zu "
        "of %zu MiB; try again",
        atomic_load(&part->used) / TK_MIB, part->max / TK_MIB,
        atomic_load(&memory->used) / TK_MIB, memory->max / TK_MIB);
}

bool srv_reply_hold_file(srv_request *request)
{
    srv_budget *budget = request->budget;
    if (!request->holds_file) {
        request->holds_file = srv_budget_take_file(budget);
    }
    if (!request->holds_file) {
        (void)srv_reply_fail(request, 429,
                             "the server sends %zu files already, as many as it has "
                             "descriptors for; try again",
                             budget->max_files);
    }
    return request->holds_file;
}

/* "data[3].weights" as ["body", "data", 3, "weights"]. */
static void put_loc(tk_json_writer *w, const char *path)
{
    tk_json_begin_array(w);
    tk_json_put_str(w, TK_STR("body"));
    tk_str rest = tk_str_of(path);
    while (rest.n > 0) {
        tk_str word = tk_str_cut(&rest, '.');
        while (word.n > 0) {
            tk_str name = tk_str_cut(&word, '[');
            int64_t index = 0;
            if (name.n > 1 && name.p[name.n - 1] == ']' &&
                tk_str_to_i64((tk_str){name.p, name.n - 1}, &index)) {
                tk_json_put_i64(w, index);
            } else if (name.n > 0) {
                tk_json_put_str(w, name);
            }
        }
    }
    tk_json_end_array(w);
}

static srv_verdict reply_unprocessable(srv_request *request, const tk_err *err)
{
    const char *type = err->code == TINKC_E_PARSE   ? "parsing_error"
                       : err->code == TINKC_E_LIMIT ? "too_large"
                                                    : "value_error";
    char text[TK_ERR_MESSAGE_BYTES];
    tk_buf buf;
    tk_json_writer w;
    (void)snprintf(text, sizeof(text), "%s", err->message);
    srv_reply_hide_paths(text);
    begin_detail(&w, &buf);
    tk_json_begin_array(&w);
    tk_json_begin_object(&w);
    tk_json_key(&w, TK_STR("loc"));
    put_loc(&w, err->path);
    tk_json_key(&w, TK_STR("msg"));
    tk_json_put_str(&w, tk_str_of(text));
    tk_json_key(&w, TK_STR("type"));
    tk_json_put_str(&w, tk_str_of(type));
    tk_json_end_object(&w);
    tk_json_end_array(&w);
    tk_json_end_object(&w);
    return srv_reply_buf(request, 422, SRV_TYPE_JSON, &buf);
}

srv_verdict srv_reply_error(srv_request *request, const tk_err *err)
{
    if (err->code == TINKC_E_PARSE || err->code == TINKC_E_DECODE ||
        err->code == TINKC_E_LIMIT) {
        return reply_unprocessable(request, err);
    }
    if (err->code == TINKC_E_INVALID || err->code == TINKC_E_UNSUPPORTED) {
        return srv_reply_fail(request, 400, "%s", err->message);
    }
    if (err->code == TINKC_E_MISSING) {
        return srv_reply_fail(request, 404, "%s", err->message);
    }
    if (err->code == TINKC_E_RATE_LIMIT || request->arena.refused) {
        return srv_reply_busy(request);
    }
    if (err->code == TINKC_E_NOMEM) {
        return srv_reply_fixed(request, 500, SRV_TYPE_JSON, TK_STR(no_memory));
    }
    return srv_reply_fail(request, 500, "%s", err->message);
}

srv_verdict srv_reply_field(srv_request *request, const char *field, const char *text)
{
    tk_err err = TK_ERR_INIT;
    (void)tk_err_set(&err, TINKC_E_DECODE, "%s", text);
    tk_err_under(&err, field);
    return srv_reply_error(request, &err);
}

bool srv_reply_header(srv_request *request, const char *name, const char *value)
{
    tk_str copy;
    if (request->n_headers == SRV_HEADERS_MAX ||
        !tk_arena_dup(&request->arena, &copy, value, strlen(value))) {
        return false;
    }
    request->headers[request->n_headers++] = (srv_header){name, copy.p};
    return true;
}
