/* Samples of one session that share a poll (client/call/poll_group.h), on the scripted
 * transport: the server offers retrieve_futures, accepts samples as "r0", "r1", ... and
 * keeps its other answers until the test gives them. */
#ifndef SUPPORT_GROUPFIX_H
#define SUPPORT_GROUPFIX_H

#include <stdio.h>

#include "support/samplefix.h"

#define GROUP         "retrieve_futures"
#define CANCEL        "cancel_future"
#define GROUPFIX_FLAG "{\"sample_use_retrieve_futures\":true}"

typedef struct groupfix {
    clientfix f;
    tinkc_sampling *sampling;
    size_t accepted;
    char text[64];
} groupfix;

static inline void groupfix_open_as(groupfix *g, const char *const *options,
                                    const char *flags, const char *dynamic)
{
    memset(g, 0, sizeof(*g));
    clientfix_open(&g->f, options);
    faketransport_default(&g->f.net, "client/config", (fakeanswer){.body = flags});
    faketransport_default(&g->f.net, "client/dynamic_config",
                          (fakeanswer){.body = dynamic});
    g->sampling = samplefix_create(&g->f);
}

static inline void groupfix_open(groupfix *g)
{
    static const char *const level[] = {"sdk_version", "0.36.0", NULL};
    groupfix_open_as(g, level, GROUPFIX_FLAG, "{}");
}

static inline void groupfix_close(groupfix *g)
{
    tinkc_sampling_close(&g->sampling);
    clientfix_close(&g->f);
}

/* The oldest sample that was sent is accepted as "r<n>". */
static inline void groupfix_accept(groupfix *g)
{
    (void)snprintf(g->text, sizeof(g->text), "{\"request_id\":\"r%zu\"}", g->accepted++);
    assert_true(faketransport_answer(&g->f.net, SAMPLE, (fakeanswer){.body = g->text}));
    clientfix_turn(&g->f);
}

static inline tinkc_future *groupfix_sample(groupfix *g)
{
    tinkc_future *future = samplefix_sample(&g->f, g->sampling, 2);
    groupfix_accept(g);
    return future;
}

/* The group's poll is answered after the server has held it for a while. */
static inline void groupfix_answer(groupfix *g, fakeanswer said)
{
    clientfix_advance(&g->f, TK_RETRY_EVERY_MS);
    assert_true(faketransport_answer(&g->f.net, GROUP, said));
    clientfix_turn(&g->f);
}

static inline void groupfix_say(groupfix *g, const char *body)
{
    groupfix_answer(g, (fakeanswer){.body = body});
}

/* The body of the nth request to retrieve_futures. */
static inline const char *groupfix_asked(groupfix *g, size_t nth)
{
    const fakeseen *seen = faketransport_nth(&g->f.net, GROUP, nth);
    assert_non_null(seen);
    return seen->body;
}

/* All samples are done with this code, and freed. */
static inline void groupfix_ended(tinkc_future **futures, size_t n, tinkc_code code)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(tinkc_future_wait(futures[i], 0), code);
        tinkc_future_free(&futures[i]);
    }
}

#endif
