/* Row numbers are those of docs/protocol.md §4. Pure. */
#include "client/call/poll_rule.h"

#define MAX_DELAY_MS 30000
#define BAD_REQUESTS 3

static tk_poll_decision decide(tk_poll_action action, int64_t delay_ms)
{
    tk_poll_decision decision = {action, delay_ms};
    return decision;
}

/* Rows 1 and 4: 1, 2, 4, ... 30 s. */
static tk_poll_decision back_off(tk_poll_counts *counts)
{
    int n = counts->connection_retries++;
    int64_t delay = n >= 5 ? MAX_DELAY_MS : TK_MIN(INT64_C(1000) << n, MAX_DELAY_MS);
    return decide(TK_POLL_AGAIN, delay);
}

/* Rows 6 and 7. */
static tk_poll_decision bad_request(tk_poll_counts *counts)
{
    counts->connection_retries = 0;
    if (counts->bad_request_retries >= BAD_REQUESTS) {
        return decide(TK_POLL_FAIL, 0);
    }
    counts->bad_request_retries++;
    return decide(TK_POLL_AGAIN, 0);
}

/* Rows 2 and 3: the server did the waiting. */
static tk_poll_decision timed_out(tk_poll_counts *counts, const tk_poll_event *event)
{
    counts->connection_retries = 0;
    if (event->body_is_json) {
        counts->bad_request_retries = 0;
    }
    return decide(TK_POLL_AGAIN, 0);
}

/* Rows 2 to 11, without the server's hint. */
static tk_poll_decision by_status(tk_poll_counts *counts, const tk_poll_event *event)
{
    int status = event->outcome.status;
    if (status == 408) {
        return timed_out(counts, event);
    }
    if (status == 429) {
        return back_off(counts);
    }
    if (status >= 500 && status <= 599) {
        counts->connection_retries = 0;
        return decide(TK_POLL_AGAIN, event->floor_ms);
    }
    if (status == 400) {
        return bad_request(counts);
    }
    if (status == 402 && event->billing_paused) {
        return decide(TK_POLL_AGAIN, TK_RETRY_BILLING_MS);
    }
    return decide(status == 410 ? TK_POLL_GONE : TK_POLL_FAIL, 0);
}

/* Rows 12 to 19. */
static tk_poll_decision by_kind(tk_poll_counts *counts, tk_answer_kind kind)
{
    counts->connection_retries = 0;
    switch (kind) {
    case TK_ANSWER_PROTO:
    case TK_ANSWER_RESULT:
        return decide(TK_POLL_SUCCEED, 0);
    case TK_ANSWER_TRY_AGAIN:
        return decide(TK_POLL_AGAIN, 0);
    case TK_ANSWER_METADATA:
        return decide(TK_POLL_PAYLOAD, 0);
    case TK_ANSWER_FAILED:
        return decide(TK_POLL_REFUSED, 0);
    case TK_ANSWER_METADATA_TWICE:
    case TK_ANSWER_OTHER:
    case TK_ANSWER_MALFORMED:
        break;
    }
    return decide(TK_POLL_CONFUSED, 0);
}

static tk_poll_decision by_answer(tk_poll_counts *counts, const tk_poll_event *event)
{
    if (event->outcome.success) {
        return by_kind(counts, event->kind);
    }
    if (event->outcome.status == 0) {
        return event->outcome.transient ? back_off(counts) : decide(TK_POLL_FAIL, 0);
    }
    return by_status(counts, event);
}

tk_poll_decision tk_poll_rule(tk_poll_counts *counts, const tk_poll_event *event)
{
    tk_poll_decision decision = by_answer(counts, event);
    if (decision.action == TK_POLL_AGAIN && event->outcome.hint_ms > 0) {
        int64_t least =
            event->outcome.status == 402 ? TK_RETRY_BILLING_MS : event->floor_ms;
        decision.delay_ms = TK_MAX(tk_retry_after(0, event->outcome.hint_ms), least);
    }
    return decision;
}
