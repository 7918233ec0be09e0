/* One request with the layers around it (client/call/call.h) on a scripted transport and
 * a fake clock. The path says which layers: L1_PATH the request loop only, L2_PATH the
 * one around it only, BOTH_PATH both. */
#ifndef SUPPORT_CALLFIX_H
#define SUPPORT_CALLFIX_H

#include <stdio.h>

#include "client/call/call.h"
#include "support/clientfix.h"

#define L1_PATH   "create_session"
#define L2_PATH   "save_weights"
#define BOTH_PATH "optim_step"

typedef struct callfix {
    clientfix f;
    tk_call call;
    const char *path;
    bool done;
    tinkc_code code;
    tk_err err;
    bool backpressure;
} callfix;

static inline void callfix_done(tk_call *call, const tk_call_answer *answer)
{
    callfix *c = call->user;
    assert_false(c->done);
    c->done = true;
    c->code = answer->code;
    c->err = *answer->err;
    c->backpressure = answer->backpressure;
}

static inline void callfix_open_with(callfix *c, const char *path,
                                     const char *const *options, const char *flags)
{
    tk_endpoint_id id = strcmp(path, L1_PATH) == 0   ? TK_EP_CREATE_SESSION
                        : strcmp(path, L2_PATH) == 0 ? TK_EP_SAVE_WEIGHTS
                                                     : TK_EP_OPTIM_STEP;
    *c = (callfix){.path = path};
    clientfix_open(&c->f, options);
    if (flags != NULL) {
        faketransport_default(&c->f.net, "client/config", (fakeanswer){.body = flags});
    }
    faketransport_default(&c->f.net, "healthz", (fakeanswer){.body = "{}"});
    faketransport_default(&c->f.net, L1_PATH, (fakeanswer){.status = -1});
    tinkc_future *ready = tinkc_service_health(c->f.service);
    clientfix_turn(&c->f);
    assert_int_equal(tinkc_future_wait(ready, 0), TINKC_OK);
    tinkc_future_free(&ready);
    c->call = (tk_call){.core = tk_service_core(c->f.service),
                        .endpoint = tk_endpoint_at(id),
                        .body = "{}",
                        .body_n = 2,
                        .done = callfix_done,
                        .user = c};
    tk_call_start(&c->call);
    clientfix_turn(&c->f);
}

static inline void callfix_open(callfix *c, const char *path)
{
    callfix_open_with(c, path, NULL, NULL);
}

static inline void callfix_close(callfix *c)
{
    tk_call_cancel(&c->call);
    assert_true(c->done);
    clientfix_close(&c->f);
}

static inline void callfix_answer(callfix *c, fakeanswer said)
{
    assert_true(faketransport_answer(&c->f.net, c->path, said));
    clientfix_turn(&c->f);
}

/* The next request goes out between the two moments. */
static inline void callfix_again(callfix *c, int64_t from_ms, int64_t to_ms)
{
    assert_false(c->done);
    if (from_ms > 0) {
        clientfix_advance(&c->f, from_ms - 1);
        assert_int_equal(faketransport_open(&c->f.net, c->path), 0);
    }
    clientfix_advance(&c->f, to_ms - TK_MAX(from_ms - 1, 0));
    assert_int_equal(faketransport_open(&c->f.net, c->path), 1);
}

static inline void callfix_header(callfix *c, size_t nth, const char *name, char *out)
{
    assert_true(
        faketransport_header(faketransport_nth(&c->f.net, c->path, nth), name, out, 64));
}

#endif
