/* One poll (client/call/poll.h) on a scripted transport and a fake clock, and what it
 * reported. */
#ifndef SUPPORT_POLLFIX_H
#define SUPPORT_POLLFIX_H

#include <stdio.h>

#include "client/call/poll.h"
#include "support/clientfix.h"

#define POLL "retrieve_future"

typedef struct pollfix {
    clientfix f;
    tk_poll poll;
    int64_t hold_ms; /* how long the server keeps a poll before it answers */
    bool done;
    tinkc_code code;
    tk_err err;
    char body[128];
    bool is_protobuf, has_json;
    size_t states_n;
    tinkc_queue_state states[16];
    char reason[64];
    char what[32];
} pollfix;

static inline void pollfix_done(tk_poll *poll, const tk_poll_result *result)
{
    pollfix *p = poll->user;
    assert_false(p->done);
    p->done = true;
    p->code = result->code;
    if (result->err != NULL) {
        p->err = *result->err;
    }
    p->is_protobuf = result->is_protobuf;
    p->has_json = result->json != NULL;
    (void)snprintf(p->body, sizeof(p->body), TK_STR_FMT, TK_STR_ARG(result->body));
}

static inline void pollfix_state(tinkc_queue_state state, const char *reason,
                                 const char *what, void *user)
{
    pollfix *p = user;
    assert_true(p->states_n < TK_ARRAY_LEN(p->states));
    p->states[p->states_n++] = state;
    (void)snprintf(p->reason, sizeof(p->reason), "%s", reason);
    (void)snprintf(p->what, sizeof(p->what), "%s", what);
}

static inline void pollfix_open_as(pollfix *p, tk_future_type type, const char *flags)
{
    *p = (pollfix){.hold_ms = TK_RETRY_EVERY_MS};
    clientfix_open(&p->f, NULL);
    if (flags != NULL) {
        faketransport_default(&p->f.net, "client/config", (fakeanswer){.body = flags});
    }
    faketransport_default(&p->f.net, "healthz", (fakeanswer){.body = "{}"});
    assert_int_equal(tinkc_service_on_queue_state(p->f.service, pollfix_state, p, NULL),
                     TINKC_OK);
    tinkc_future *ready = tinkc_service_health(p->f.service);
    clientfix_turn(&p->f);
    assert_int_equal(tinkc_future_wait(ready, 0), TINKC_OK);
    tinkc_future_free(&ready);
    p->poll = (tk_poll){.core = tk_service_core(p->f.service),
                        .type = type,
                        .request_id = "r",
                        .what = "model-1",
                        .roundtrip_s = 0.25,
                        .done = pollfix_done,
                        .user = p};
    tk_poll_start(&p->poll);
    clientfix_turn(&p->f);
}

static inline void pollfix_open(pollfix *p)
{
    pollfix_open_as(p, TK_FUTURE_OPTIM_STEP, NULL);
}

static inline void pollfix_close(pollfix *p)
{
    tk_poll_cancel(&p->poll);
    assert_true(p->done);
    clientfix_close(&p->f);
}

static inline void pollfix_answer(pollfix *p, fakeanswer said)
{
    if (p->hold_ms > 0) {
        clientfix_advance(&p->f, p->hold_ms);
    }
    assert_true(faketransport_answer(&p->f.net, POLL, said));
    clientfix_turn(&p->f);
}

static inline void pollfix_status(pollfix *p, int status)
{
    pollfix_answer(p, (fakeanswer){.status = status, .body = "{\"detail\":\"x\"}"});
}

/* The next poll goes out after exactly this time. */
static inline void pollfix_again(pollfix *p, int64_t ms)
{
    assert_false(p->done);
    if (ms > 0) {
        assert_int_equal(faketransport_open(&p->f.net, POLL), 0);
        clientfix_advance(&p->f, ms - 1);
        assert_int_equal(faketransport_open(&p->f.net, POLL), 0);
        clientfix_advance(&p->f, 1);
    }
    assert_int_equal(faketransport_open(&p->f.net, POLL), 1);
}

static inline void pollfix_failed(pollfix *p, tinkc_code code)
{
    assert_true(p->done);
    assert_int_equal(p->code, code);
    assert_string_equal(p->err.request_id, "r");
    clientfix_advance(&p->f, 60000);
    assert_int_equal(faketransport_open(&p->f.net, POLL), 0);
}

#endif
