/* The libcurl transport against the scripted peer: requests, and what became of each. The
 * test is the loop. */
#ifndef SUPPORT_CURLFIX_H
#define SUPPORT_CURLFIX_H

#include <stdio.h>

#include "http/curl_transport.h"
#include "support/fakeapi.h"
#include "support/test.h"
#include "support/waiter.h"

typedef struct curlfix {
    fakeapi *api;
    tk_transport *transport;
    int done;   /* requests that have ended */
    int wanted; /* of them */
} curlfix;

/* One request and what became of it. */
typedef struct curlfix_probe {
    tk_http_request request;
    curlfix *owner;
    char url[256];
    int calls;
    tk_http_failure failure;
    bool is_absent;
    int status;
    char body[256];
    size_t body_n;
    char header[64]; /* of "x-test" */
    size_t streamed;
    struct curlfix_probe *then; /* submitted from inside `done` */
} curlfix_probe;

static inline void curlfix_done(tk_http_request *request,
                                const tk_http_response *response)
{
    curlfix_probe *p = request->user;
    p->calls++;
    p->owner->done++;
    p->failure = response->failure;
    p->is_absent = response->is_absent;
    p->status = response->status;
    p->body_n = response->body.n;
    (void)snprintf(p->body, sizeof(p->body), TK_STR_FMT, TK_STR_ARG(response->body));
    tk_str value = tk_http_header(response, "X-TEST");
    (void)snprintf(p->header, sizeof(p->header), TK_STR_FMT, TK_STR_ARG(value));
    if (response->failure != TK_HTTP_OK) {
        assert_true(response->err.code != TINKC_OK);
        assert_true(response->err.message[0] != '\0');
    }
    if (p->then != NULL) {
        assert_int_equal(p->owner->transport->ops->submit(p->owner->transport,
                                                          &p->then->request, NULL),
                         TINKC_OK);
    }
}

static inline void curlfix_probe_init(curlfix_probe *p, curlfix *f, tk_http_method method,
                                      const char *path)
{
    memset(p, 0, sizeof(*p));
    p->owner = f;
    (void)snprintf(p->url, sizeof(p->url), "%s%s", fakeapi_url(f->api), path);
    p->request.method = method;
    p->request.group = TK_HTTP_REST;
    p->request.url = p->url;
    p->request.timeout_ms = 60000;
    p->request.connect_timeout_ms = 60000;
    p->request.max_response_bytes = 1 << 20;
    p->request.done = curlfix_done;
    p->request.user = p;
}

static inline void curlfix_submit(curlfix_probe *p)
{
    tk_err err = TK_ERR_INIT;
    assert_int_equal(
        p->owner->transport->ops->submit(p->owner->transport, &p->request, &err),
        TINKC_OK);
}

static inline void curlfix_process(curlfix *f)
{
    f->transport->ops->process(f->transport);
}

typedef struct curlfix_wish {
    curlfix *owner;
    bool (*is_true)(void *user);
    void *user;
} curlfix_wish;

static inline void curlfix_turn(void *user)
{
    curlfix_process(((curlfix_wish *)user)->owner);
}

static inline bool curlfix_is_true(void *user)
{
    const curlfix_wish *wish = user;
    return wish->is_true(wish->user);
}

/* Runs the transport until is_true(user). */
static inline void curlfix_wait(curlfix *f, bool (*is_true)(void *user), void *user)
{
    curlfix_wish wish = {f, is_true, user};
    assert_true(waiter_run(f->transport->ops->fd(f->transport), curlfix_turn,
                           curlfix_is_true, &wish));
}

static inline bool curlfix_is_enough(void *user)
{
    const curlfix *f = user;
    return f->done >= f->wanted;
}

static inline void curlfix_run_until(curlfix *f, int n)
{
    f->wanted = n;
    curlfix_wait(f, curlfix_is_enough, f);
}

/* Submits and waits for this one. */
static inline void curlfix_run(curlfix_probe *p)
{
    curlfix_submit(p);
    curlfix_run_until(p->owner, p->owner->done + 1);
    assert_int_equal(p->calls, 1);
    assert_null(p->request.impl);
}

static inline void curlfix_open(curlfix *f, const tk_curl_options *options)
{
    static const tk_curl_options defaults = {0};
    memset(f, 0, sizeof(*f));
    f->api = fakeapi_start();
    tk_err err = TK_ERR_INIT;
    assert_int_equal(
        tk_curl_transport_new(&f->transport, options != NULL ? options : &defaults, &err),
        TINKC_OK);
}

static inline void curlfix_close(curlfix *f)
{
    f->transport->ops->close(f->transport);
    fakeapi_stop(&f->api);
}

#endif
