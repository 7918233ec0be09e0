/* Answers: the library's response to what a handler has set. A body is bytes, a part of a
 * file, or a stream, whose connection sleeps while there is nothing to send. */
#include <string.h>

#include "base/clock.h"
#include "httpd/hd_http_int.h"
#include "httpd/hd_stream.h"

#define STREAM_BLOCK 4096
#define SOURCE_BLOCK (32 * TK_KIB)

/* ---- streams ---- */

static void on_stream_resume(void *user)
{
    exchange *x = user;
    hd_http_resume(x->request);
}

/* Under the stream's lock: the connection is not resumed before this has returned. */
static void on_stream_wait(void *user)
{
    exchange *x = user;
    hd_http *http = x->http;
    MHD_suspend_connection(x->connection);
    tk_mutex_lock(&http->lock);
    http->suspended++;
    tk_mutex_unlock(&http->lock);
}

static ssize_t read_stream(void *user, uint64_t pos, char *out, size_t max)
{
    (void)pos;
    exchange *x = user;
    long n = hd_stream_take(x->request->stream, out, max, on_stream_wait, x);
    return n >= 0 ? (ssize_t)n : MHD_CONTENT_READER_END_OF_STREAM;
}

/* ---- the answer ---- */

static void release_blob(void *blob)
{
    hd_blob_release(blob);
}

/* Sends half of a body, then closes the connection. */
static ssize_t read_half(void *user, uint64_t at, char *out, size_t max)
{
    const hd_request *request = user;
    tk_str body = request->answer != NULL
                      ? (tk_str){request->answer->p, request->answer->n}
                      : request->fixed;
    size_t half = body.n / 2;
    if (at >= half) {
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    size_t n = TK_MIN(half - (size_t)at, max);
    memcpy(out, body.p + at, n);
    return (ssize_t)n;
}

static ssize_t read_source(void *user, uint64_t at, char *out, size_t max)
{
    const hd_request *request = user;
    const hd_source *source = &request->source;
    long n = source->read(request->state, source->offset + (int64_t)at, out, max);
    return n > 0 ? (ssize_t)n : MHD_CONTENT_READER_END_WITH_ERROR;
}

static struct MHD_Response *make_response(hd_request *request)
{
    struct MHD_Response *response;
    if (request->loss == HD_LOSS_HALF && request->stream == NULL &&
        request->file.fd < 0 && request->source.read == NULL) {
        size_t n = request->answer != NULL ? request->answer->n : request->fixed.n;
        return MHD_create_response_from_callback(n, STREAM_BLOCK, read_half, request,
                                                 NULL);
    }
    if (request->stream != NULL) {
        hd_stream_attach(request->stream, on_stream_resume, request->http,
                         hd_http_fd(request->http));
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK,
                                                 read_stream, request->http, NULL);
    }
    if (request->file.fd >= 0) {
        response = MHD_create_response_from_fd_at_offset64(
            (uint64_t)request->file.size, request->file.fd,
            (uint64_t)request->file.offset);
        if (response != NULL) {
            request->file.fd = -1; /* the response closes it */
        }
        return response;
    }
    if (request->source.read != NULL) {
        return MHD_create_response_from_callback(
            (uint64_t)request->source.size, SOURCE_BLOCK, read_source, request, NULL);
    }
    hd_blob *blob = request->answer;
    if (blob != NULL && blob->n > 0) {
        response = MHD_create_response_from_buffer_with_free_callback_cls(
            blob->n, blob->p, release_blob, blob);
        if (response != NULL) {
            request->answer = NULL; /* the response has that ownership now */
        }
        return response;
    }
    char *bytes = NULL;
    const char *fixed = request->fixed.p != NULL ? request->fixed.p : "";
    memcpy(&bytes, &fixed, sizeof(bytes)); /* not written to: PERSISTENT */
    return MHD_create_response_from_buffer(request->fixed.n, bytes,
                                           MHD_RESPMEM_PERSISTENT);
}

static void count_answer(hd_http *http, int status)
{
    size_t of_class = (size_t)status / 100;
    if (of_class < HD_HTTP_CLASSES) {
        tk_mutex_lock(&http->lock);
        http->answers[of_class]++;
        tk_mutex_unlock(&http->lock);
    }
}

/* Returns the size of the body; 0 for a stream. */
static uint64_t answer_bytes(const hd_request *request)
{
    uint64_t n = request->answer != NULL ? request->answer->n : request->fixed.n;
    if (request->file.fd >= 0) {
        n = (uint64_t)request->file.size;
    } else if (request->source.read != NULL) {
        n = (uint64_t)request->source.size;
    }
    return request->stream == NULL ? n : 0;
}

/* A stream is as slow as its producer. */
static void limit_time(const exchange *x, uint64_t n)
{
    if (x->request->stream == NULL) {
        hd_conns_sending(x->conn, n);
    }
}

static void report(const exchange *x, uint64_t n)
{
    const hd_http_config *config = &x->http->config;
    if (config->on_answer != NULL) {
        const hd_http_answered answered = {
            .method = x->method.p != NULL ? x->method.p : "?",
            .path = x->path.p != NULL ? x->path.p : "?",
            .status = x->request->status,
            .ms = x->began_ms > 0 ? tk_clock_mono_ms(NULL) - x->began_ms : 0,
            .n_in = x->request->body.n,
            .n_out = n,
            .is_streamed = x->request->stream != NULL};
        config->on_answer(config->app, &answered);
    }
}

enum MHD_Result hd_http_send_answer(exchange *x)
{
    hd_request *request = x->request;
    if (request->loss == HD_LOSS_ALL) {
        return MHD_NO; /* closes the connection */
    }
    uint64_t n = answer_bytes(request); /* the response takes the body */
    limit_time(x, n);
    struct MHD_Response *response = make_response(request);
    if (response == NULL) {
        return MHD_NO;
    }
    bool ok = request->content_type == NULL ||
              MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                      request->content_type) == MHD_YES;
    for (size_t i = 0; i < request->n_headers; i++) {
        ok = ok && MHD_add_response_header(response, request->headers[i].name,
                                           request->headers[i].value) == MHD_YES;
    }
    if (x->broken || atomic_load(&x->http->closing)) {
        ok = ok && MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION,
                                           "close") == MHD_YES;
    }
    enum MHD_Result result =
        ok ? MHD_queue_response(x->connection, (unsigned)request->status, response)
           : MHD_NO;
    MHD_destroy_response(response);
    if (result == MHD_YES) {
        count_answer(x->http, request->status);
        report(x, n);
    }
    return result;
}
