/* The reporters of a service, see telemetry.h: their life and their queues. Any thread
 * queues, under the lock; telemetry_send.c sends.
 * Needs: telemetry */
#include "client/insight/telemetry_int.h"

#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define NONE_PREFIX "sessionless-"

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

/* ---- settling: under the lock ---- */

void tk_telemetry_settle(tk_telemetry *t, size_t n, bool taken)
{
    t->settled += n;
    if (taken) {
        t->sent += n;
    } else {
        t->dropped += n;
    }
    tk_cond_broadcast(&t->changed);
}

void tk_telemetry_drop(tk_telemetry *t)
{
    for (int i = 0; i < TK_TELEMETRY_LANES; i++) {
        tk_list *node;
        while ((node = tk_list_pop_front(&t->lanes[i].queue)) != NULL) {
            tk_free(TK_CONTAINER_OF(node, tk_telemetry_item, node));
            tk_telemetry_settle(t, 1, false);
        }
        t->lanes[i].queued = 0;
    }
    t->queued_bytes = 0;
}

/* ---- queueing: any thread ---- */

bool tk_telemetry_is_on(const tk_telemetry *t)
{
    return t != NULL && !atomic_load(&t->off);
}

static tinkc_code fill_and_encode(tk_telemetry *t, const tk_telemetry_lane *to,
                                  const tk_event *event, tk_buf *out)
{
    char uuid[TK_UUID_TEXT_BYTES];
    tk_event whole = *event;
    tk_uuid_make(uuid, &t->rand);
    whole.event_id = (tk_f_str){TK_SET, tk_str_of(uuid)};
    whole.event_session_index = (tk_f_i64){TK_SET, to->next_index};
    whole.timestamp = (tk_f_time){TK_SET, tk_clock_wall_us(tk_core_clock(t->core))};
    return tk_telemetry_encode(out, tk_core_log(t->core), &whole, NULL);
}

static bool push(tk_telemetry *t, tk_telemetry_lane *to, const tk_event *event)
{
    tk_buf text;
    tk_telemetry_item *made = NULL;
    tk_buf_init(&text, TK_TELEMETRY_EVENT_BYTES);
    if (t->pushed - t->settled < TK_TELEMETRY_QUEUE_MAX &&
        fill_and_encode(t, to, event, &text) == TINKC_OK &&
        text.n <= TK_TELEMETRY_QUEUE_BYTES - t->queued_bytes) {
        made = tk_malloc(sizeof(*made) + text.n);
    }
    if (made != NULL) {
        made->n = text.n;
        memcpy(made->text, text.p, text.n);
        tk_list_init(&made->node);
        tk_list_push_back(&to->queue, &made->node);
        to->queued++;
        t->queued_bytes += text.n;
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
    tk_telemetry_lane *to =
        &t->lanes[t->lanes[TK_TELEMETRY_SESSION].id != NULL ? TK_TELEMETRY_SESSION
                                                            : TK_TELEMETRY_NO_SESSION];
    /* Given up meanwhile: nothing would settle it, and a flush would wait for ever. */
    bool added = tk_telemetry_is_on(t) && push(t, to, event);
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
    tk_free(t->lanes[TK_TELEMETRY_SESSION].id);
    t->lanes[TK_TELEMETRY_SESSION].id = id;
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
    bool has_session = t->lanes[TK_TELEMETRY_SESSION].id != NULL;
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

/* ---- waiting: not on the loop's thread ---- */

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
        tk_core_wait(t->core, &t->changed, &t->lock, deadline_ns);
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
    if (worth && tk_core_is_heard(t->core)) {
        atomic_store(&t->closing, true);
        (void)tk_telemetry_flush(t, tk_core_config(t->core)->telemetry_drain_ms);
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
        t->lanes[TK_TELEMETRY_NO_SESSION].id = tk_strdup(id);
        code =
            t->lanes[TK_TELEMETRY_NO_SESSION].id != NULL ? TINKC_OK : tk_err_nomem(err);
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
    tinkc_code code = tk_cond_init_with(&t->changed, &t->lock, err);
    if (code != TINKC_OK) {
        tk_free(t);
        return code;
    }
    t->core = core;
    tk_telemetry_send_init(t);
    for (int i = 0; i < TK_TELEMETRY_LANES; i++) {
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
    tk_telemetry_drop(t);
    for (int i = 0; i < TK_TELEMETRY_LANES; i++) {
        tk_free(t->lanes[i].id);
    }
    tk_buf_dispose(&t->body);
    tk_cond_dispose(&t->changed);
    tk_mutex_dispose(&t->lock);
    tk_free(t);
}
