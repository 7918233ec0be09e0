/* A server in this process with a session and a run, and saves of that run, over plain
 * HTTP. Thread: one per fixture. */
#ifndef SERVER_RESTFIX_H
#define SERVER_RESTFIX_H

#include "server/srvfix.h"

#define RESTFIX_MODEL "tinkc/pebble-llama-2m"

typedef struct restfix {
    srvfix srv;
    char session[64];
    char run[96]; /* "<session>:train:0" */
} restfix;

/* Polls until a future has its result. */
static inline const tk_json *restfix_result(srvfix *f, const tk_json *future)
{
    char body[256];
    const tk_json *json;
    assert_int_equal(f->status, 200);
    (void)snprintf(body, sizeof(body), "{\"request_id\":\"%s\"}",
                   srvfix_text(future, "request_id"));
    do {
        json = srvfix_post(f, "/api/v1/retrieve_future", body);
    } while (f->status == 408);
    assert_int_equal(f->status, 200);
    if (tk_json_get(json, "error") != NULL) {
        fail_msg("%s", srvfix_text(json, "error"));
    }
    return json;
}

static inline void restfix_run(restfix *t, int index)
{
    char body[512];
    (void)snprintf(
        body, sizeof(body),
        "{\"session_id\":\"%s\",\"model_seq_id\":%d,\"base_model\":\"" RESTFIX_MODEL
        "\",\"user_metadata\":{\"colour\":\"green\"},"
        "\"lora_config\":{\"rank\":4},\"type\":\"create_model\"}",
        t->session, index);
    (void)restfix_result(&t->srv, srvfix_post(&t->srv, "/api/v1/create_model", body));
    (void)snprintf(t->run, sizeof(t->run), "%s:train:%d", t->session, index);
}

static inline void restfix_open(restfix *t)
{
    memset(t, 0, sizeof(*t));
    srvfix_open(&t->srv, (srv_options){0});
    (void)snprintf(t->session, sizeof(t->session), "%s", srvfix_session(&t->srv));
    restfix_run(t, 0);
}

static inline void restfix_save(restfix *t, int seq, const char *route, const char *more)
{
    char body[512], path[64];
    (void)snprintf(path, sizeof(path), "/api/v1/%s", route);
    (void)snprintf(body, sizeof(body), "{\"model_id\":\"%s\",\"seq_id\":%d,%s}", t->run,
                   seq, more);
    (void)restfix_result(&t->srv, srvfix_post(&t->srv, path, body));
}

#endif
