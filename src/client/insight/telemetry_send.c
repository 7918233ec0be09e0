/* Sending what telemetry.c has queued: loop thread. Full batches go as soon as there are
 * any, all that is there when the flush timer fires, the caller flushes, or something
 * failed; one request at a time for both reporters.
 * Needs: telemetry */
#include "client/insight/telemetry_int.h"

#include "base/mem.h"
#include "wire/wire_error.h"

#define BODY_MAX_BYTES (TK_TELEMETRY_BATCH * TK_TELEMETRY_EVENT_BYTES + 64 * TK_KIB)
#define BODY_HEAD      "{\"events\":["

static void pump(tk_telemetry *t);

static const char *platform_name(void)
{
#if defined(__linux__)
    return "Linux";
#elif defined(__APPLE__)
    return "Darwin";
#elif defined(__FreeBSD__)
    return "FreeBSD";
#else
    return "Unknown";
#endif
}

/* ---- one batch: loop thread ---- */

/* Under the lock: moves the next events that may go to `out`; how many. */
static size_t take_events(tk_telemetry *t, tk_list *out, const char **id)
{
    for (int i = 0; i < TK_TELEMETRY_LANES; i++) {
        tk_telemetry_lane *from = &t->lanes[i];
        bool full = from->queued >= TK_TELEMETRY_BATCH;
        bool due = from->next_index - from->queued < from->due_index;
        if (from->queued == 0 || (!full && !due)) {
            continue;
        }
        size_t n = 0;
        for (; n < TK_TELEMETRY_BATCH && from->queued > 0; n++, from->queued--) {
            tk_list *node = tk_list_pop_front(&from->queue);
            t->queued_bytes -= TK_CONTAINER_OF(node, tk_telemetry_item, node)->n;
            tk_list_push_back(out, node);
        }
        *id = from->id;
        return n;
    }
    return 0;
}

/* The JSON around the events comes from the schema, as the body of an empty batch. */
static tinkc_code write_body(tk_telemetry *t, const tk_list *events, const char *id)
{
    tk_buf around;
    tk_telemetry_request batch = {
        .platform = {TK_SET, tk_str_of(platform_name())},
        .sdk_version = {TK_SET, tk_str_of(tk_core_config(t->core)->sdk_version)},
        .session_id = {TK_SET, tk_str_of(id)},
        .process_uuid = {TK_SET, tk_str_of(t->process_uuid)}};
    size_t head = sizeof(BODY_HEAD) - 1;
    tk_buf_init(&around, 64 * TK_KIB);
    tk_buf_clear(&t->body);
    tinkc_code code = tk_schema_encode(&around, &tk_msg_telemetry_request, &batch, NULL);
    if (code == TINKC_OK) {
        tk_buf_put(&t->body, around.p, head);
        for (tk_list *at = events->next; at != events; at = at->next) {
            const tk_telemetry_item *event = TK_CONTAINER_OF(at, tk_telemetry_item, node);
            tk_buf_put(&t->body, at != events->next ? "," : "", at != events->next);
            tk_buf_put(&t->body, event->text, event->n);
        }
        tk_buf_put(&t->body, around.p + head, around.n - head);
        code = tk_buf_status(&t->body, NULL);
    }
    tk_buf_dispose(&around);
    return code;
}

/* False when nothing is to be sent now. */
static bool next_batch(tk_telemetry *t)
{
    tk_list events;
    const char *id = NULL;
    tk_list_init(&events);
    while (t->batch_n == 0) {
        tk_mutex_lock(&t->lock);
        size_t n = take_events(t, &events, &id); /* the ids stay for good */
        tk_mutex_unlock(&t->lock);
        if (n == 0) {
            return false;
        }
        bool written = write_body(t, &events, id) == TINKC_OK;
        tk_list *node;
        while ((node = tk_list_pop_front(&events)) != NULL) {
            tk_free(TK_CONTAINER_OF(node, tk_telemetry_item, node));
        }
        if (written) {
            t->batch_n = n;
        } else {
            tk_mutex_lock(&t->lock);
            tk_telemetry_settle(t, n, false);
            tk_mutex_unlock(&t->lock);
        }
    }
    return true;
}

/* ---- sending: loop thread ---- */

static void end_batch(tk_telemetry *t, bool taken)
{
    tk_mutex_lock(&t->lock);
    t->failures = taken ? 0 : t->failures;
    tk_telemetry_settle(t, t->batch_n, taken);
    tk_mutex_unlock(&t->lock);
    t->batch_n = 0;
    tk_buf_dispose(&t->body);
    tk_buf_init(&t->body, BODY_MAX_BYTES);
}

static void stop(tk_telemetry *t)
{
    tk_loop *loop = tk_core_loop(t->core);
    atomic_store(&t->off, true);
    tk_loop_timer_clear(loop, &t->flush_timer);
    tk_loop_timer_clear(loop, &t->retry_timer);
    tk_loop_timer_clear(loop, &t->hurry_timer);
    end_batch(t, false);
    tk_mutex_lock(&t->lock);
    tk_telemetry_drop(t);
    tk_mutex_unlock(&t->lock);
}

static void fire_retry(tk_timer *timer)
{
    tk_telemetry *t = TK_CONTAINER_OF(timer, tk_telemetry, retry_timer);
    t->pausing = false;
    pump(t);
}

static void fire_hurry(tk_timer *timer)
{
    tk_telemetry_shutdown(TK_CONTAINER_OF(timer, tk_telemetry, hurry_timer));
}

/* A server without the endpoint is not asked twice; while closing nothing is. */
static bool is_hopeless(const tk_telemetry *t, int status, int failures)
{
    return tk_wire_error_is_absent(status) || failures >= TK_TELEMETRY_TRIES ||
           atomic_load(&t->closing);
}

static void failed(tk_telemetry *t, const tk_call_answer *answer, const char *why)
{
    tk_loop *loop = tk_core_loop(t->core);
    tk_mutex_lock(&t->lock);
    int failures = ++t->failures;
    tk_mutex_unlock(&t->lock);
    if (is_hopeless(t, answer->outcome.status, failures)) {
        tk_log_write(tk_core_log(t->core), TINKC_LOG_INFO, "telemetry",
                     "given up, the server does not take events: %s", why);
        stop(t);
        return;
    }
    int64_t pause = (int64_t)TK_TELEMETRY_PAUSE_MS << TK_MIN(failures - 1, 16);
    pause = TK_MIN(pause, TK_TELEMETRY_PAUSE_MAX);
    pause = TK_MAX(pause, tk_retry_after(pause, answer->outcome.hint_ms));
    t->pausing = true;
    tk_loop_timer_set(loop, &t->retry_timer, tk_loop_now_ms(loop) + pause);
}

static void on_answer(tk_call *call, const tk_call_answer *answer)
{
    tk_telemetry *t = call->user;
    tk_telemetry_response said;
    tk_err err = TK_ERR_INIT;
    tk_arena arena;
    if (answer->code == TINKC_E_CANCELLED) {
        end_batch(t, false);
        return;
    }
    if (answer->code != TINKC_OK) {
        failed(t, answer, answer->err->message);
        return;
    }
    tk_arena_init(&arena, TK_MIB);
    /* Closed: a batch counts as sent only when the server says that it accepted it. */
    tinkc_code code =
        tk_schema_decode_text(&said, &tk_msg_telemetry_response, &arena,
                              answer->response->body, TK_DECODE_CLOSED, &err);
    tk_arena_dispose(&arena);
    if (code != TINKC_OK) {
        failed(t, answer, err.message);
        return;
    }
    end_batch(t, true);
    pump(t);
}

static void pump(tk_telemetry *t)
{
    if (t->pausing || tk_call_is_running(&t->call) || !tk_telemetry_is_on(t) ||
        !next_batch(t)) {
        return;
    }
    t->call = (tk_call){.core = t->core,
                        .endpoint = tk_endpoint_at(TK_EP_TELEMETRY),
                        .body = t->body.p,
                        .body_n = t->body.n,
                        .fraction_timeout = true,
                        .done = on_answer,
                        .user = t};
    tk_call_start(&t->call);
}

/* ---- when: loop thread ---- */

static void flush_all(tk_telemetry *t)
{
    t->last_flush_ms = tk_loop_now_ms(tk_core_loop(t->core));
    t->flush_at_ms = INT64_MAX;
    tk_loop_timer_clear(tk_core_loop(t->core), &t->flush_timer);
    tk_mutex_lock(&t->lock);
    t->planned = false;
    for (int i = 0; i < TK_TELEMETRY_LANES; i++) {
        t->lanes[i].due_index = t->lanes[i].next_index;
    }
    tk_mutex_unlock(&t->lock);
    pump(t);
}

static void fire_flush(tk_timer *timer)
{
    flush_all(TK_CONTAINER_OF(timer, tk_telemetry, flush_timer));
}

/* Urgent events do not wait, but a loop of failures is not a loop of requests. */
static void run_wake(tk_task *task)
{
    tk_telemetry *t = TK_CONTAINER_OF(task, tk_telemetry, wake_task);
    int64_t now = tk_loop_now_ms(tk_core_loop(t->core));
    tk_mutex_lock(&t->lock);
    bool urgent = t->urgent, flush_now = t->flush_now;
    t->urgent = t->flush_now = t->wake_posted = false;
    tk_mutex_unlock(&t->lock);
    if (atomic_load(&t->closing)) {
        /* With work still under way a close gives the events only a short time. */
        if (tk_core_end_work(t->core)) {
            tk_loop_timer_set(tk_core_loop(t->core), &t->hurry_timer,
                              now + TK_TELEMETRY_HURRY_MS);
        }
    }
    if (!tk_telemetry_is_on(t)) {
        return;
    }
    int64_t at =
        urgent ? t->last_flush_ms + TK_TELEMETRY_URGENT_MS : now + TK_TELEMETRY_FLUSH_MS;
    if (flush_now || at <= now) {
        flush_all(t);
        return;
    }
    if (at < t->flush_at_ms) {
        t->flush_at_ms = at;
        tk_loop_timer_set(tk_core_loop(t->core), &t->flush_timer, at);
    }
    pump(t);
}

/* ---- life ---- */

void tk_telemetry_send_init(tk_telemetry *t)
{
    t->flush_at_ms = INT64_MAX;
    t->last_flush_ms = -TK_TELEMETRY_URGENT_MS;
    t->wake_task.run = run_wake;
    tk_buf_init(&t->body, BODY_MAX_BYTES);
    tk_timer_init(&t->flush_timer, fire_flush);
    tk_timer_init(&t->retry_timer, fire_retry);
    tk_timer_init(&t->hurry_timer, fire_hurry);
}

void tk_telemetry_shutdown(tk_telemetry *t)
{
    if (t != NULL) {
        tk_call_cancel(&t->call);
        stop(t);
    }
}
