/* Telemetry on the scripted transport: batches as the server would read them. */
#ifndef SUPPORT_TELEFIX_H
#define SUPPORT_TELEFIX_H

#include <tinkc/telemetry.h>

#include "support/clientfix.h"
#include "wire/msg_telemetry.h"

#define TELEMETRY "telemetry"

static const char *const telefix_on[] = {"telemetry", "true", NULL};

/* The nth batch; decoded strictly. Static storage, until the next call. */
static inline const tk_telemetry_request *telefix_batch(clientfix *f, size_t nth)
{
    static tk_arena arena;
    static tk_telemetry_request batch;
    const fakeseen *seen = faketransport_nth(&f->net, TELEMETRY, nth);
    assert_non_null(seen);
    tk_arena_dispose(&arena);
    tk_arena_init(&arena, 0);
    tk_err err = TK_ERR_INIT;
    batch = (tk_telemetry_request){0};
    tinkc_code code = tk_schema_decode_text(&batch, &tk_msg_telemetry_request, &arena,
                                            tk_str_of(seen->body), 0, &err);
    if (code != TINKC_OK) {
        fail_msg("batch %zu: %s %s", nth, err.path, err.message);
    }
    return &batch;
}

/* Reports an event as a program does. */
static inline tinkc_code telefix_log(clientfix *f, const char *name, const char *data)
{
    return tinkc_telemetry_event(f->service, name, TINKC_SEVERITY_INFO, data, NULL);
}

static inline tinkc_telemetry_counts telefix_counts(clientfix *f)
{
    tinkc_telemetry_counts counts = TINKC_TELEMETRY_COUNTS_INIT;
    assert_int_equal(tinkc_telemetry_count(&counts, f->service, NULL), TINKC_OK);
    return counts;
}

/* GET healthz is answered with this. */
static inline void telefix_health(clientfix *f, fakeanswer answer)
{
    faketransport_default(&f->net, "healthz", answer);
    tinkc_future *future = tinkc_service_health(f->service);
    clientfix_turn(f);
    assert_true(tinkc_future_is_done(future));
    tinkc_future_free(&future);
}

#endif
