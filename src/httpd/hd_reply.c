/* Every error ends in `refuse`, which asks the application for the body. */
#include "httpd/hd_reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define RETRY_AFTER_S "1"

/* Asks a client that was refused to wait, unless the answer says that already. */
static void ask_to_wait(hd_request *request)
{
    for (size_t i = 0; i < request->n_headers; i++) {
        if (strcmp(request->headers[i].name, "Retry-After") == 0) {
            return;
        }
    }
    if (request->n_headers < HD_HEADERS_MAX) {
        request->headers[request->n_headers++] =
            (hd_header){"Retry-After", RETRY_AFTER_S};
    }
}

static hd_verdict set(hd_request *request, int status, const char *type, hd_blob *blob,
                      tk_str fixed)
{
    hd_blob_release(request->answer);
    request->status = status;
    request->content_type = type;
    request->answer = blob;
    request->fixed = fixed;
    if (status == 429) {
        ask_to_wait(request);
    }
    return HD_ANSWERED;
}

hd_verdict hd_reply_fixed(hd_request *request, int status, const char *type, tk_str bytes)
{
    return set(request, status, type, NULL, bytes);
}

hd_verdict hd_reply_blob(hd_request *request, int status, const char *type, hd_blob *blob)
{
    return set(request, status, type, blob, TK_STR(""));
}

hd_verdict hd_reply_empty(hd_request *request, int status)
{
    return set(request, status, NULL, NULL, TK_STR(""));
}

/* ---- errors ---- */

static void refuse_plainly(hd_request *request, int status, const tk_err *err)
{
    tk_buf buf;
    tk_buf_init(&buf, 2 * TK_ERR_MESSAGE_BYTES);
    tk_buf_printf(&buf, "%s\n", err->message);
    (void)hd_reply_buf(request, status, HD_TYPE_TEXT, &buf);
}

/* Lets the application write the body. When it has no memory for it, it is asked once
 * more, for the body of that error; then there is none. */
static hd_verdict refuse(hd_request *request, int status, const tk_err *err)
{
    request->refusals++;
    if (request->refusals > 2 || (request->refuse == NULL && request->refusals > 1)) {
        (void)hd_reply_empty(request, status);
    } else if (request->refuse == NULL) {
        refuse_plainly(request, status, err);
    } else {
        request->refuse(request, status, err);
    }
    request->refusals--;
    return HD_ANSWERED;
}

hd_verdict hd_reply_no_memory(hd_request *request)
{
    tk_err err = TK_ERR_INIT;
    if (request->arena.refused) {
        return hd_reply_busy(request);
    }
    (void)tk_err_set(&err, TINKC_E_NOMEM, "the server is out of memory");
    return refuse(request, 500, &err);
}

hd_verdict hd_reply_buf(hd_request *request, int status, const char *type, tk_buf *buf)
{
    bool full = buf->failure == TINKC_E_RATE_LIMIT;
    hd_blob *blob = hd_blob_take(buf);
    if (blob == NULL) {
        return full ? hd_reply_busy(request) : hd_reply_no_memory(request);
    }
    return hd_reply_blob(request, status, type, blob);
}

/* Whether an absolute path begins at text[at]. */
static bool is_path(const char *text, size_t at)
{
    char before = at > 0 ? text[at - 1] : ' ';
    return text[at] == '/' && (before == ' ' || strchr("\"'(=", before) != NULL);
}

void hd_reply_hide_paths(char *text)
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

hd_verdict hd_reply_fail(hd_request *request, int status, const char *format, ...)
{
    tk_err text = TK_ERR_INIT; /* cuts and scrubs */
    char line[TK_ERR_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    hd_reply_hide_paths(line);
    (void)tk_err_set(&text, TINKC_E_INVALID, "%s", line);
    return refuse(request, status, &text);
}

hd_verdict hd_reply_busy(hd_request *request)
{
    const hd_budget *memory = request->budget;
    const hd_part *part = &memory->parts[HD_PART_REQUESTS];
    return hd_reply_fail(
        request, 429,
        "the server's memory is full: requests use %zu of at most %zu MiB, everything %zu "
        "of %zu MiB; try again",
        atomic_load(&part->used) / TK_MIB, part->max / TK_MIB,
        atomic_load(&memory->used) / TK_MIB, memory->max / TK_MIB);
}

bool hd_reply_hold_file(hd_request *request)
{
    hd_budget *budget = request->budget;
    if (!request->holds_file) {
        request->holds_file = hd_budget_take_file(budget);
    }
    if (!request->holds_file) {
        (void)hd_reply_fail(request, 429,
                            "the server sends %zu files already, as many as it has "
                            "descriptors for; try again",
                            budget->max_files);
    }
    return request->holds_file;
}

static hd_verdict reply_unprocessable(hd_request *request, const tk_err *err)
{
    tk_err shown = *err;
    hd_reply_hide_paths(shown.message);
    return refuse(request, 422, &shown);
}

hd_verdict hd_reply_error(hd_request *request, const tk_err *err)
{
    if (err->code == TINKC_E_PARSE || err->code == TINKC_E_DECODE ||
        err->code == TINKC_E_LIMIT) {
        return reply_unprocessable(request, err);
    }
    if (err->code == TINKC_E_INVALID || err->code == TINKC_E_UNSUPPORTED) {
        return hd_reply_fail(request, 400, "%s", err->message);
    }
    if (err->code == TINKC_E_MISSING) {
        return hd_reply_fail(request, 404, "%s", err->message);
    }
    if (err->code == TINKC_E_RATE_LIMIT || request->arena.refused) {
        return hd_reply_busy(request);
    }
    if (err->code == TINKC_E_NOMEM) {
        return hd_reply_no_memory(request);
    }
    return hd_reply_fail(request, 500, "%s", err->message);
}

hd_verdict hd_reply_field(hd_request *request, const char *field, const char *text)
{
    tk_err err = TK_ERR_INIT;
    (void)tk_err_set(&err, TINKC_E_DECODE, "%s", text);
    tk_err_under(&err, field);
    return hd_reply_error(request, &err);
}

bool hd_reply_header(hd_request *request, const char *name, const char *value)
{
    tk_str copy;
    if (request->n_headers == HD_HEADERS_MAX ||
        !tk_arena_dup(&request->arena, &copy, value, strlen(value))) {
        return false;
    }
    request->headers[request->n_headers++] = (hd_header){name, copy.p};
    return true;
}
