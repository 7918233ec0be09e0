/* See faketransport.h. Plain malloc: none of this is counted in allocation sweeps. */
#include "support/faketransport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "support/talk.h"

static faketransport *net_of(tk_transport *transport)
{
    return TK_CONTAINER_OF(transport, faketransport, transport);
}

static char *copy_text(const void *data, size_t n)
{
    char *text = calloc(1, n + 1);
    if (text == NULL) {
        abort();
    }
    if (n > 0) {
        memcpy(text, data, n);
    }
    return text;
}

static char *copy_headers(const tk_http_request *request)
{
    size_t size = 1;
    for (size_t i = 0; i < request->headers_n; i++) {
        size += strlen(request->headers[i]) + 1;
    }
    char *text = copy_text(NULL, 0);
    char *grown = realloc(text, size);
    if (grown == NULL) {
        abort();
    }
    size_t at = 0;
    for (size_t i = 0; i < request->headers_n; i++) {
        at += (size_t)snprintf(grown + at, size - at, "%s\n", request->headers[i]);
    }
    grown[at] = '\0';
    return grown;
}

static const char *path_of(const char *url)
{
    const char *at = strstr(url, "/api/v1/");
    return at != NULL ? at + strlen("/api/v1/") : url;
}

static void answer_by_default(faketransport *net, fakeseen *seen)
{
    for (size_t i = 0; i < net->defaults_n; i++) {
        if (strcmp(net->defaults[i].path, seen->path) == 0 &&
            net->defaults[i].answer.status >= 0) {
            seen->is_answered = true;
            seen->answer = net->defaults[i].answer;
        }
    }
    if (!seen->is_answered && net->answer != NULL) {
        seen->answer = net->answer(net->answer_user, seen);
        seen->is_answered = seen->answer.status >= 0;
    }
}

static tinkc_code submit(tk_transport *transport, tk_http_request *request, tk_err *err)
{
    faketransport *net = net_of(transport);
    if (net->seen_n == FAKETRANSPORT_SEEN) {
        abort();
    }
    fakeseen *seen = &net->seen[net->seen_n++];
    *seen = (fakeseen){.request = request,
                       .at_ms = tk_clock_mono_ms(net->clock),
                       .body = copy_text(request->body, request->body_n),
                       .headers = copy_headers(request),
                       .fresh_connection = request->fresh_connection,
                       .method = request->method,
                       .group = request->group,
                       .max_response_bytes = request->max_response_bytes,
                       .max_refusal_bytes = request->max_refusal_bytes,
                       .timeout_ms = request->timeout_ms};
    (void)snprintf(seen->path, sizeof(seen->path), "%s", path_of(request->url));
    request->impl = seen;
    if (strcmp(seen->path, "telemetry") == 0) {
        talk_write("events", seen->body, strlen(seen->body));
    }
    answer_by_default(net, seen);
    return TINKC_OK;
}

static void finish(fakeseen *seen, const tk_http_response *response)
{
    tk_http_request *request = seen->request;
    seen->request = NULL;
    request->impl = NULL;
    request->done(request, response);
}

static void fail(fakeseen *seen, tk_http_failure failure, bool is_absent)
{
    tk_http_response response = {
        .failure = failure, .err = TK_ERR_INIT, .is_absent = is_absent};
    tk_err_set(&response.err, tk_http_failure_code(failure), "scripted: %s",
               failure == TK_HTTP_CANCELLED ? "cancelled" : "failure");
    finish(seen, &response);
}

static void cancel(tk_transport *transport, tk_http_request *request)
{
    if (request->impl != NULL) {
        fail(request->impl, TK_HTTP_CANCELLED, false);
    }
}

static void deliver(fakeseen *seen)
{
    const fakeanswer *answer = &seen->answer;
    if (answer->failure != TK_HTTP_OK) {
        fail(seen, answer->failure, answer->is_absent);
        return;
    }
    tk_http_field fields[FAKETRANSPORT_FIELDS];
    char length[32];
    size_t n = 0;
    size_t body_n = answer->body_n;
    if (body_n == 0 && answer->body != NULL) {
        body_n = strlen(answer->body);
    }
    for (size_t i = 0; i + 1 < FAKETRANSPORT_FIELDS && answer->headers[i] != NULL;
         i += 2) {
        fields[n++] = (tk_http_field){tk_str_of(answer->headers[i]),
                                      tk_str_of(answer->headers[i + 1])};
    }
    if (!answer->no_length) {
        (void)snprintf(length, sizeof(length), "%zu", body_n);
        fields[n++] = (tk_http_field){tk_str_of("content-length"), tk_str_of(length)};
    }
    tk_http_response response = {.status = answer->status != 0 ? answer->status : 200,
                                 .err = TK_ERR_INIT,
                                 .headers = fields,
                                 .headers_n = n,
                                 .body = {answer->body, body_n}};
    tk_http_request *request = seen->request;
    if (request->on_data != NULL && response.status / 100 == 2) {
        if (request->on_head != NULL) {
            request->on_head(request, &response);
        }
        /* A reader that pauses is called again at once. */
        while (body_n > 0 &&
               request->on_data(request, answer->body, body_n) == TK_HTTP_PAUSE) {
        }
        response.body.n = 0;
    }
    finish(seen, &response);
}

static void process(tk_transport *transport)
{
    faketransport *net = net_of(transport);
    for (size_t i = 0, n = net->seen_n; i < n; i++) {
        if (net->seen[i].request != NULL && net->seen[i].is_answered) {
            deliver(&net->seen[i]);
        }
    }
}

static void close_all(tk_transport *transport)
{
    faketransport *net = net_of(transport);
    for (size_t i = 0; i < net->seen_n; i++) {
        if (net->seen[i].request != NULL) {
            fail(&net->seen[i], TK_HTTP_CANCELLED, false);
        }
    }
    net->closed = true;
}

static int no_fd(tk_transport *transport)
{
    return -1;
}

static int64_t deadline(tk_transport *transport)
{
    faketransport *net = net_of(transport);
    for (size_t i = 0; i < net->seen_n; i++) {
        if (net->seen[i].request != NULL && net->seen[i].is_answered) {
            return 0;
        }
    }
    return INT64_MAX;
}

static void resume(tk_transport *transport, tk_http_request *request)
{
}

static const tk_transport_ops ops = {submit,   cancel,  resume,   no_fd,
                                     deadline, process, close_all};

void faketransport_init(faketransport *net, const tk_clock *clock)
{
    *net = (faketransport){.transport = {&ops}, .clock = clock};
    net->seen = calloc(FAKETRANSPORT_SEEN, sizeof(*net->seen));
    if (net->seen == NULL) {
        abort();
    }
}

void faketransport_dispose(faketransport *net)
{
    for (size_t i = 0; i < net->seen_n; i++) {
        free(net->seen[i].body);
        free(net->seen[i].headers);
    }
    free(net->seen);
    net->seen = NULL;
}

void faketransport_default(faketransport *net, const char *path, fakeanswer answer)
{
    size_t i = 0;
    while (i < net->defaults_n && strcmp(net->defaults[i].path, path) != 0) {
        i++;
    }
    if (i == FAKETRANSPORT_DEFAULTS) {
        abort();
    }
    net->defaults[i].path = path;
    net->defaults[i].answer = answer;
    net->defaults_n = TK_MAX(net->defaults_n, i + 1);
}

size_t faketransport_count(const faketransport *net, const char *path)
{
    size_t n = 0;
    for (size_t i = 0; i < net->seen_n; i++) {
        n += strcmp(net->seen[i].path, path) == 0;
    }
    return n;
}

fakeseen *faketransport_nth(faketransport *net, const char *path, size_t nth)
{
    for (size_t i = 0; i < net->seen_n; i++) {
        if (strcmp(net->seen[i].path, path) == 0 && nth-- == 0) {
            return &net->seen[i];
        }
    }
    return NULL;
}

size_t faketransport_open(const faketransport *net, const char *path)
{
    size_t n = 0;
    for (size_t i = 0; i < net->seen_n; i++) {
        n += net->seen[i].request != NULL && !net->seen[i].is_answered &&
             strcmp(net->seen[i].path, path) == 0;
    }
    return n;
}

bool faketransport_answer(faketransport *net, const char *path, fakeanswer answer)
{
    for (size_t i = 0; i < net->seen_n; i++) {
        fakeseen *seen = &net->seen[i];
        if (seen->request != NULL && !seen->is_answered &&
            strcmp(seen->path, path) == 0) {
            seen->is_answered = true;
            seen->answer = answer;
            return true;
        }
    }
    return false;
}

bool faketransport_header(const fakeseen *seen, const char *name, char *out, size_t size)
{
    size_t name_n = strlen(name);
    for (const char *line = seen->headers; *line != '\0';) {
        const char *end = strchr(line, '\n');
        if (strncasecmp(line, name, name_n) == 0 && line[name_n] == ':') {
            const char *value = line + name_n + 1;
            value += *value == ' ';
            (void)snprintf(out, size, "%.*s", (int)(end - value), value);
            return true;
        }
        line = end + 1;
    }
    return false;
}
