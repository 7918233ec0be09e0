/* A future's story while it is waiting: notes by the operation, explanation for
 * people. */
#include <stdio.h>
#include <string.h>

#include "client/future/future_int.h"

#define SECONDS_BYTES 32

void tk_future_stage(tinkc_future *future, tinkc_stage stage)
{
    tk_mutex_lock(&future->lock);
    if (future->stage != stage && future->stage != TINKC_STAGE_DONE) {
        future->stage = stage;
        future->stage_ms = tk_future_now_ms(future);
    }
    tk_mutex_unlock(&future->lock);
}

void tk_future_attempt(tinkc_future *future)
{
    tk_mutex_lock(&future->lock);
    future->attempts++;
    tk_mutex_unlock(&future->lock);
}

void tk_future_answered(tinkc_future *future, int status)
{
    tk_mutex_lock(&future->lock);
    future->last_status = status;
    if (status > 0) {
        future->answer_ms = tk_future_now_ms(future);
    }
    tk_mutex_unlock(&future->lock);
}

static void copy_text(char *out, size_t size, tk_str text)
{
    size_t n = TK_MIN(text.n, size - 1);
    if (n > 0) {
        memcpy(out, text.p, n);
    }
    out[n] = '\0';
}

bool tk_future_queue(tinkc_future *future, tinkc_queue_state state, tk_str reason)
{
    tk_mutex_lock(&future->lock);
    bool changed = future->queue_state != state;
    future->queue_state = state;
    copy_text(future->reason, sizeof(future->reason), reason);
    tk_mutex_unlock(&future->lock);
    return changed;
}

const tk_span *tk_future_span(const tinkc_future *future)
{
    return &future->span;
}

void tk_future_request_id(tinkc_future *future, tk_str id)
{
    tk_mutex_lock(&future->lock);
    copy_text(future->request_id, sizeof(future->request_id), id);
    tk_mutex_unlock(&future->lock);
}

/* ---- reading it ---- */

bool tk_future_is_paused(tinkc_future *future)
{
    tk_mutex_lock(&future->lock);
    tinkc_queue_state state = future->queue_state;
    tk_mutex_unlock(&future->lock);
    return state == TINKC_QUEUE_PAUSED_CAPACITY || state == TINKC_QUEUE_PAUSED_RATE_LIMIT;
}

static void fill(tinkc_wait *out, const tinkc_future *future)
{
    int64_t now = tk_future_now_ms(future);
    out->stage = future->stage;
    out->age_ms = now - future->created_ms;
    out->stage_ms = now - future->stage_ms;
    out->silent_ms = future->answer_ms >= 0 ? now - future->answer_ms : -1;
    out->attempts = future->attempts;
    out->last_status = future->last_status;
    out->queue_state = future->queue_state;
    copy_text(out->operation, sizeof(out->operation), tk_str_of(future->operation));
    memcpy(out->reason, future->reason, sizeof(out->reason));
    memcpy(out->request_id, future->request_id, sizeof(out->request_id));
}

tinkc_code tinkc_future_status(tinkc_wait *out, const tinkc_future *future,
                               tinkc_error **err)
{
    if (future == NULL || out == NULL || out->size < sizeof(*out)) {
        return tk_error_tell(err, TINKC_E_STATE, "no future, or the size is not set");
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(future->parts); i++) {
        if (future->parts[i] != NULL && !tinkc_future_is_done(future->parts[i])) {
            return tinkc_future_status(out, future->parts[i], err);
        }
    }
    tinkc_future *locked = (tinkc_future *)(uintptr_t)future; /* a lock is not a change */
    tk_mutex_lock(&locked->lock);
    fill(out, future);
    tk_mutex_unlock(&locked->lock);
    return TINKC_OK;
}

static const char *stage_text(tinkc_stage stage)
{
    static const char *const texts[] = {
        "is being encoded",
        "waits for earlier operations of the same model",
        "waits for a place within the limits",
        "waits before the next try",
        "is on the wire",
        "is queued at the server",
        "is running at the server",
        "is being downloaded",
        "waits for a callback of the program",
        "is done",
    };
    return (size_t)stage < TK_ARRAY_LEN(texts) ? texts[stage] : "is in an unknown stage";
}

static const char *pause_text(tinkc_queue_state state)
{
    return state == TINKC_QUEUE_PAUSED_CAPACITY     ? ", the server is short of capacity"
           : state == TINKC_QUEUE_PAUSED_RATE_LIMIT ? ", the server limits the rate"
                                                    : "";
}

/* One digit after the point, in every locale. */
static const char *seconds_text(char out[SECONDS_BYTES], int64_t ms)
{
    (void)snprintf(out, SECONDS_BYTES, "%lld.%d", (long long)(ms / 1000),
                   (int)(ms % 1000 / 100));
    return out;
}

static void last_answer_text(char *out, size_t size, const tinkc_wait *wait)
{
    if (wait->last_status > 0) {
        char ago[SECONDS_BYTES];
        (void)snprintf(out, size, "; last answer HTTP %d %s s ago", wait->last_status,
                       seconds_text(ago, wait->silent_ms));
    } else if (wait->last_status < 0) {
        (void)snprintf(out, size, "; the last connection failed");
    } else {
        out[0] = '\0';
    }
}

size_t tinkc_wait_explain(char *text, size_t size, const tinkc_wait *wait)
{
    if (wait == NULL || wait->size < sizeof(*wait)) {
        return (size_t)snprintf(text, size, "no operation");
    }
    char answer[96], stage_s[SECONDS_BYTES], age_s[SECONDS_BYTES];
    bool is_queued = wait->stage == TINKC_STAGE_QUEUED;
    last_answer_text(answer, sizeof(answer), wait);
    int n = snprintf(
        text, size, "%s %s%s%s%s since %s s (%s s in all, %d %s%s%s%s)", wait->operation,
        stage_text(wait->stage), is_queued ? pause_text(wait->queue_state) : "",
        wait->reason[0] != '\0' ? ": " : "", wait->reason,
        seconds_text(stage_s, wait->stage_ms), seconds_text(age_s, wait->age_ms),
        wait->attempts, wait->attempts == 1 ? "request" : "requests", answer,
        wait->request_id[0] != '\0' ? "; " : "", wait->request_id);
    return n > 0 ? (size_t)n : 0;
}

size_t tinkc_future_explain(char *text, size_t size, const tinkc_future *future)
{
    tinkc_wait wait = TINKC_WAIT_INIT;
    bool ok = tinkc_future_status(&wait, future, NULL) == TINKC_OK;
    return tinkc_wait_explain(text, size, ok ? &wait : NULL);
}
