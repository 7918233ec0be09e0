/* The reporters of a service, see telemetry.h: a queue each, one sender for both.
 *
 * Anybody queues, under the lock. The loop's thread sends: full batches as soon as there
 * are any, all that is there when the flush timer fires, somebody flushes, or something
 * failed. */
#if TINKC_HAVE_TELEMETRY
#include "client/telemetry.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "base/uuid.h"
#include "client/core.h"
#include "client/op.h"

#define BODY_MAX_BYTES (TK_TELEMETRY_BATCH * TK_TELEMETRY_EVENT_BYTES + 64 * TK_KIB)
#define BODY_HEAD      "{\"events\":["
#define NONE_PREFIX    "sessionless-"
#define DRIVE_MS       20

/* A queued event. */
typedef struct item {
    tk_list node;
    size_t n;
    char text[];
} item;

enum { WITHOUT_SESSION, WITH_SESSION, LANES };

/* One reporter: its events carry its id and are numbered by it. */
typedef struct lane {
    char *id; /* NULL: there is no session */
    tk_list queue;
    int64_t queued, next_index;
    int64_t due_index; /* what is below it does not wait for a full batch */
} lane;

struct tk_telemetry {
    tk_core *core; /* owns us */
    char process_uuid[TK_UUID_TEXT_BYTES];
    atomic_bool off, answered, closing;
    /* under the lock */
    tk_mutex lock;
    tk_cond changed; /* something was settled */
    tk_rand rand;
    lane lanes[LANES];
    uint64_t pushed, settled, sent, dropped;
    int failures; /* in a row */
    int64_t started_us;
    bool planned; /* the flush timer runs, or a wake is on its way to set it */
    bool wake_posted, urgent, flush_now;
    tk_task wake_task;
    /* loop thread */
    tk_timer flush_timer, retry_timer;
    int64_t flush_at_ms, last_flush_ms;
    bool pausing; /* the retry timer runs */
    tk_call call;
    tk_buf body;
    size_t batch_n; /* events in the body */
};

static void pump(tk_telemetry *t);

/* ---- the process ---- */

static struct {
    tk_mutex lock;
    pid_t pid;
    char uuid[TK_UUID_TEXT_BYTES];
} process = {.lock = TK_MUTEX_INIT};

/* One for all services of the process; a forked child gets its own. */
static tinkc_code read_process_uuid(char out[TK_UUID_TEXT_BYTES], tk_err *err)
{
    tk_rand rand;
    char fresh[TK_UUID_TEXT_BYTES];
    tinkc_code code = tk_rand_init_os(&rand, err);
    if (code != TINKC_OK) {
        return code;
    }
    tk_uuid_make(fresh, &rand);
    tk_mutex_lock(&process.lock);
    if (process.pid != getpid()) {
        process.pid = getpid();
        memcpy(process.uuid, fresh, sizeof(fresh));
    }
    memcpy(out, process.uuid, sizeof(process.uuid));
    tk_mutex_unlock(&process.lock);
    return TINKC_OK;
}

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

/* ---- settling: under the lock ---- */

static void settle(tk_telemetry *t, size_t n, bool taken)
{
    t->settled += n;
    if (taken) {
        t->sent += n;
    } else {
        t->dropped += n;
    }
    tk_cond_broadcast(&t->changed);
}

static void drop_queues(tk_telemetry *t)
{
    for (int i = 0; i < LANES; i++) {
        tk_list *node;
        while ((node = tk_list_pop_front(&t->lanes[i].queue)) != NULL) {
            tk_free(TK_CONTAINER_OF(node, item, node));
            settle(t, 1, false);
        }
        t->lanes[i].queued = 0;
    }
}

/* ---- queueing: any thread ---- */

bool tk_telemetry_is_on(const tk_telemetry *t)
{
    return t != NULL && !atomic_load(&t->off);
}

static tinkc_code fill_and_encode(tk_telemetry *t, const lane *to, const tk_event *event,
                                  tk_buf *out)
{
    char uuid[TK_UUID_TEXT_BYTES];
    tk_event whole = *event;
    tk_uuid_make(uuid, &t->rand);
    whole.event_id = (tk_f_str){TK_SET, tk_str_of(uuid)};
    whole.event_session_index = (tk_f_i64){TK_SET, to->next_index};
    whole.timestamp = (tk_f_time){TK_SET, tk_clock_wall_us(tk_core_clock(t->core))};
    return tk_telemetry_encode(out, tk_core_log(t->core), &whole, NULL);
}

static bool push(tk_telemetry *t, lane *to, const tk_event *event)
{
    tk_buf text;
    item *made = NULL;
    tk_buf_init(&text, TK_TELEMETRY_EVENT_BYTES);
    if (t->pushed - t->settled < TK_TELEMETRY_QUEUE_MAX &&
        fill_and_encode(t, to, event, &text) == TINKC_OK) {
        made = tk_malloc(sizeof(*made) + text.n);
    }
    if (made != NULL) {
        made->n = text.n;
        memcpy(made->text, text.p, text.n);
        tk_list_init(&made->node);
        tk_list_push_back(&to->queue, &made->node);
        to->queued++;
        to->next_index++;
        t->pushed++;
    } else {
        t->dropped++;
    }
    tk_buf_dispose(&text);
    return made != NULL;
}

/* Without the lock: the loop has something to do. */
static void post_wake(tk_telemetry *t)
{
    if (!tk_loop_post(tk_core_loop(t->core), &t->wake_task)) {
        tk_mutex_lock(&t->lock); /* closing: nothing is sent any more */
        t->wake_posted = false;
        tk_mutex_unlock(&t->lock);
    }
}

bool tk_telemetry_add(tk_telemetry *t, const tk_event *event, bool urgent)
{
    if (!tk_telemetry_is_on(t)) {
        return false;
    }
    tk_mutex_lock(&t->lock);
    lane *to =
        &t->lanes[t->lanes[WITH_SESSION].id != NULL ? WITH_SESSION : WITHOUT_SESSION];
    bool added = push(t, to, event);
    bool wake = added && !t->wake_posted &&
                (urgent || !t->planned || to->queued >= TK_TELEMETRY_BATCH);
    t->urgent = t->urgent || (added && urgent);
    if (wake) {
        t->wake_posted = true;
        t->planned = true;
    }
    tk_mutex_unlock(&t->lock);
    if (wake) {
        post_wake(t);
    }
    return added;
}

void tk_telemetry_begin(tk_telemetry *t, const char *session_id)
{
    if (!tk_telemetry_is_on(t)) {
        return;
    }
    char *id = tk_strdup(session_id);
    tk_mutex_lock(&t->lock);
    tk_free(t->lanes[WITH_SESSION].id);
    t->lanes[WITH_SESSION].id = id;
    t->started_us = tk_clock_mono_ns(tk_core_clock(t->core)) / 1000;
    tk_mutex_unlock(&t->lock);
    if (id != NULL) {
        tk_event event = {.kind = TK_EVENT_SESSION_START,
                          .severity = {TK_SET, TK_SEVERITY_INFO}};
        (void)tk_telemetry_add(t, &event, false);
    }
}

static void end_session(tk_telemetry *t)
{
    char duration[64];
    tk_mutex_lock(&t->lock);
    bool has_session = t->lanes[WITH_SESSION].id != NULL;
    int64_t started_us = t->started_us;
    tk_mutex_unlock(&t->lock);
    if (has_session) {
        int64_t now_us = tk_clock_mono_ns(tk_core_clock(t->core)) / 1000;
        tk_telemetry_duration(duration, sizeof(duration), now_us - started_us);
        tk_event event = {.kind = TK_EVENT_SESSION_END,
                          .severity = {TK_SET, TK_SEVERITY_INFO},
                          .duration = {TK_SET, tk_str_of(duration)}};
        (void)tk_telemetry_add(t, &event, false);
    }
}

void tk_telemetry_heard(tk_telemetry *t, bool answered)
{
    if (t != NULL) {
        atomic_store(&t->answered, answered);
    }
}

/* ---- one batch: loop thread ---- */

/* Under the lock: moves the next events that may go to `out`; how many. */
static size_t take_events(tk_telemetry *t, tk_list *out, const char **id)
{
    for (int i = 0; i < LANES; i++) {
        lane *from = &t->lanes[i];
        bool full = from->queued >= TK_TELEMETRY_BATCH;
        bool due = from->next_index - from->queued < from->due_index;
        if (from->queued == 0 || (!full && !due)) {
            continue;
        }
        size_t n = 0;
        for (; n < TK_TELEMETRY_BATCH && from->queued > 0; n++, from->queued--) {
            tk_list_push_back(out, tk_list_pop_front(&from->queue));
        }
        *id = from->id;
        return n;
    }
    return 0;
}

/* What stands around the events comes from the schema, as the body of an empty batch. */
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
            const item *event = TK_CONTAINER_OF(at, item, node);
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
            tk_free(TK_CONTAINER_OF(node, item, node));
        }
        if (written) {
            t->batch_n = n;
        } else {
            tk_mutex_lock(&t->lock);
            settle(t, n, false);
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
    settle(t, t->batch_n, taken);
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
    end_batch(t, false);
    tk_mutex_lock(&t->lock);
    drop_queues(t);
    tk_mutex_unlock(&t->lock);
}

static void fire_retry(tk_timer *timer)
{
    tk_telemetry *t = TK_CONTAINER_OF(timer, tk_telemetry, retry_timer);
    t->pausing = false;
    pump(t);
}

/* A server without the endpoint is not asked twice; while closing nothing is. */
static bool is_hopeless(const tk_telemetry *t, int status, int failures)
{
    return status == 404 || status == 405 || status == 501 ||
           failures >= TK_TELEMETRY_TRIES || atomic_load(&t->closing);
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
    pause = TK_MAX(pause, TK_MIN(answer->outcome.hint_ms, 60000));
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
    tinkc_code code = tk_schema_decode_text(&said, &tk_msg_telemetry_response, &arena,
                                            answer->response->body, 0, &err);
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
    for (int i = 0; i < LANES; i++) {
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
        tk_op_cancel_all(tk_core_running(t->core));
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

/* ---- waiting: not on the loop's thread ---- */

/* Under the lock, which it gives up meanwhile. */
static void wait_a_little(tk_telemetry *t, int64_t deadline_ns)
{
    tk_loop *loop = tk_core_loop(t->core);
    if (tk_core_driver(t->core)->is_manual) {
        tk_mutex_unlock(&t->lock);
        bool driven = tk_loop_drive(loop, DRIVE_MS);
        tk_mutex_lock(&t->lock);
        int64_t slice = tk_clock_mono_ns(&tk_clock_real) + DRIVE_MS * TK_NS_PER_MS;
        deadline_ns = driven ? 0 : TK_MIN(slice, deadline_ns);
    }
    if (deadline_ns > 0) {
        (void)tk_cond_wait_until(&t->changed, &t->lock, deadline_ns);
    }
}

bool tk_telemetry_flush(tk_telemetry *t, int64_t timeout_ms)
{
    if (t == NULL) {
        return true;
    }
    int64_t now_ns = tk_clock_mono_ns(&tk_clock_real);
    int64_t deadline_ns = timeout_ms < 0 || timeout_ms > INT64_MAX / TK_NS_PER_MS
                              ? TK_FOREVER
                              : tk_clock_after(now_ns, timeout_ms * TK_NS_PER_MS);
    tk_mutex_lock(&t->lock);
    uint64_t goal = t->pushed, dropped = t->dropped;
    bool wake = !t->wake_posted;
    t->flush_now = true;
    t->wake_posted = true;
    tk_mutex_unlock(&t->lock);
    if (wake) {
        post_wake(t);
    }
    tk_mutex_lock(&t->lock);
    while (t->settled < goal && tk_clock_mono_ns(&tk_clock_real) < deadline_ns) {
        wait_a_little(t, deadline_ns);
    }
    bool all = t->settled >= goal && t->dropped == dropped;
    tk_mutex_unlock(&t->lock);
    return all;
}

void tk_telemetry_close(tk_telemetry *t)
{
    if (!tk_telemetry_is_on(t)) {
        return;
    }
    end_session(t);
    tk_mutex_lock(&t->lock);
    bool worth = t->pushed > t->settled && t->failures == 0;
    tk_mutex_unlock(&t->lock);
    if (worth && atomic_load(&t->answered)) {
        atomic_store(&t->closing, true);
        (void)tk_telemetry_flush(t, tk_core_config(t->core)->telemetry_drain_ms);
    }
}

void tk_telemetry_shutdown(tk_telemetry *t)
{
    if (t != NULL) {
        tk_call_cancel(&t->call);
        stop(t);
    }
}

void tk_telemetry_read_counts(tk_telemetry *t, tinkc_telemetry_counts *out)
{
    out->is_on = tk_telemetry_is_on(t);
    out->queued = out->sent = out->dropped = 0;
    if (t != NULL) {
        tk_mutex_lock(&t->lock);
        out->queued = t->pushed - t->settled;
        out->sent = t->sent;
        out->dropped = t->dropped;
        tk_mutex_unlock(&t->lock);
    }
}

/* ---- life ---- */

static tinkc_code make_ids(tk_telemetry *t, uint64_t seed, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    char id[sizeof(NONE_PREFIX) + TK_UUID_TEXT_BYTES] = NONE_PREFIX;
    if (seed != 0) {
        tk_rand_init(&t->rand, seed + 1);
    } else {
        code = tk_rand_init_os(&t->rand, err);
    }
    if (code == TINKC_OK) {
        code = read_process_uuid(t->process_uuid, err);
    }
    if (code == TINKC_OK) {
        tk_uuid_make(id + sizeof(NONE_PREFIX) - 1, &t->rand);
        t->lanes[WITHOUT_SESSION].id = tk_strdup(id);
        code = t->lanes[WITHOUT_SESSION].id != NULL ? TINKC_OK : tk_err_nomem(err);
    }
    return code;
}

static tinkc_code make_locks(tk_telemetry *t, tk_err *err)
{
    tinkc_code code = tk_mutex_init(&t->lock, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = tk_cond_init(&t->changed, err);
    if (code != TINKC_OK) {
        tk_mutex_dispose(&t->lock);
    }
    return code;
}

tinkc_code tk_telemetry_new(tk_telemetry **out, tk_core *core, uint64_t seed, tk_err *err)
{
    *out = NULL;
    if (tk_core_config(core)->telemetry == 0) {
        return TINKC_OK;
    }
    tk_telemetry *t = tk_zalloc(sizeof(*t));
    if (t == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = make_locks(t, err);
    if (code != TINKC_OK) {
        tk_free(t);
        return code;
    }
    t->core = core;
    t->flush_at_ms = INT64_MAX;
    t->last_flush_ms = -TK_TELEMETRY_URGENT_MS;
    t->wake_task.run = run_wake;
    tk_buf_init(&t->body, BODY_MAX_BYTES);
    tk_timer_init(&t->flush_timer, fire_flush);
    tk_timer_init(&t->retry_timer, fire_retry);
    for (int i = 0; i < LANES; i++) {
        tk_list_init(&t->lanes[i].queue);
    }
    code = make_ids(t, seed, err);
    if (code != TINKC_OK) {
        tk_telemetry_free(&t);
        return code;
    }
    *out = t;
    return TINKC_OK;
}

void tk_telemetry_free(tk_telemetry **t_ref)
{
    tk_telemetry *t = *t_ref;
    *t_ref = NULL;
    if (t == NULL) {
        return;
    }
    drop_queues(t);
    for (int i = 0; i < LANES; i++) {
        tk_free(t->lanes[i].id);
    }
    tk_buf_dispose(&t->body);
    tk_cond_dispose(&t->changed);
    tk_mutex_dispose(&t->lock);
    tk_free(t);
}
#endif
