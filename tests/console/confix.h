/* A console in front of data that a test makes, at a socket of loopback. */
#ifndef CONSOLE_CONFIX_H
#define CONSOLE_CONFIX_H

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "console/con.h"
#include "httpd/hd_http.h"
#include "httpd/hd_reply.h"
#include "support/httpget.h"
#include "support/test.h"

#define CONFIX_KEY "tml-confix-key"

typedef struct confix {
    hd_budget memory;
    hd_work *work;
    hd_http *http;
    con *console;
    int port;
    const char *cookie; /* header lines of every request; or NULL */
} confix;

static inline hd_verdict confix_handle(hd_request *request)
{
    confix *it = request->app;
    return con_handle(it->console, request);
}

static inline hd_verdict confix_change(hd_request *request)
{
    return hd_reply_fixed(request, 200, HD_TYPE_JSON, TK_STR("{\"changed\":true}"));
}

static inline bool confix_knows(void *app, tk_str cookies)
{
    confix *it = app;
    return con_knows_cookie(it->console, cookies);
}

static const hd_route confix_rows[] = {
    CON_ROUTES(confix_handle),
    {"GET", "/api/thing", confix_change, 0, 0, NULL},
    {"POST", "/api/thing", confix_change, 0, 0, NULL},
    {"DELETE", "/api/thing", confix_change, 0, 0, NULL},
};
static const hd_routes confix_routes = {confix_rows, TK_ARRAY_LEN(confix_rows)};

static inline void confix_open(confix *it, const con_data *data, const char *key)
{
    tk_err err = TK_ERR_INIT;
    *it = (confix){0};
    hd_budget_init(&it->memory, TK_GIB, NULL);
    const con_config config = {.data = *data, .budget = &it->memory, .api_key = key};
    assert_int_equal(con_new(&it->console, &config, &err), TINKC_OK);
    assert_int_equal(hd_work_new(&it->work, &hd_route_dispatch, &err), TINKC_OK);
    const hd_http_config http = {.host = "127.0.0.1",
                                 .api_key = key,
                                 .routes = &confix_routes,
                                 .work = it->work,
                                 .budget = &it->memory,
                                 .app = it,
                                 .refuse = con_refuse,
                                 .knows_cookie = confix_knows,
                                 .cookie_mark = "X-Tinkc-Console"};
    assert_int_equal(hd_http_new(&it->http, &http, &err), TINKC_OK);
    it->port = (int)hd_http_port(it->http);
    con_set_port(it->console, (unsigned)it->port);
    assert_int_equal(hd_http_start(it->http, &err), TINKC_OK);
}

static inline void confix_close(confix *it)
{
    hd_http_quiesce(it->http);
    con_quiesce(it->console);
    hd_http_stop(it->http);
    hd_work_free(it->work);
    hd_http_free(it->http);
    con_free(it->console);
    assert_int_equal(atomic_load(&it->memory.used), 0);
}

/* Asks and returns the status; *out (to be disposed of) is the answer. */
static inline int confix_ask(confix *it, httpget_response *out, const char *method,
                             const char *target, const char *headers, const char *body)
{
    char lines[1024];
    (void)snprintf(lines, sizeof(lines), "%s%s", it->cookie != NULL ? it->cookie : "",
                   headers != NULL ? headers : "");
    const httpget_request request = {
        .method = method, .target = target, .headers = lines, .body = body};
    assert_int_equal(httpget_once(it->port, &request, out), HTTPGET_OK);
    return out->status;
}

static inline int confix_status(confix *it, const char *method, const char *target,
                                const char *headers, const char *body)
{
    httpget_response response;
    int status = confix_ask(it, &response, method, target, headers, body);
    httpget_response_dispose(&response);
    return status;
}

/* Expects 200 and a text in the answer. */
static inline void confix_expect(confix *it, const char *target, const char *text)
{
    httpget_response response;
    assert_int_equal(confix_ask(it, &response, NULL, target, NULL, NULL), 200);
    if (strstr((const char *)response.body.p, text) == NULL) {
        fail_msg("%s: no %s in %s", target, text, (const char *)response.body.p);
    }
    httpget_response_dispose(&response);
}

#endif
