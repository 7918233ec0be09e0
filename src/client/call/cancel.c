/* A queue of small requests, at most WAITING_MAX of them: when a program abandons more
 * at once, the oldest that were not sent are left to the end of the session. */
#include "client/call/cancel.h"

#include <string.h>

#include "base/mem.h"
#include "client/call/call.h"
#include "client/call/op.h"
#include "client/core/core.h"
#include "wire/msg_future.h"
#include "wire/wire_error.h"

#define WAITING_MAX    8192
#define PARALLEL_MAX   1024 /* whatever the server allows */
#define BODY_MAX_BYTES (4 * TK_KIB)
#define LOOK_MS        10

typedef struct cancellation {
    tk_list link;
    tk_cancels *cancels;
    tk_call call;
    tk_buf body;
    char id[];
} cancellation;

static void send_next(tk_cancels *cancels);

static void destroy(cancellation *one)
{
    tk_list_remove(&one->link);
    tk_buf_dispose(&one->body);
    tk_free(one);
}

static void drop_waiting(tk_cancels *cancels)
{
    while (!tk_list_is_empty(&cancels->waiting)) {
        destroy(TK_CONTAINER_OF(cancels->waiting.next, cancellation, link));
    }
    cancels->waiting_n = 0;
}

/* Whether the server has shown that it has no such request. */
static bool is_refused(const tk_cancels *cancels)
{
    return tk_manners_get(tk_core_manners(cancels->core), TK_MANNER_NO_CANCELS) ==
           TK_KNOWN_YES;
}

/* ---- the close ---- */

/* What waits for another attempt is not waited for. */
static bool is_drained(const tk_cancels *cancels)
{
    const tk_list *head = &cancels->running;
    for (tk_list *at = head->next; at != head; at = at->next) {
        if (tk_call_is_on_wire(&TK_CONTAINER_OF(at, cancellation, link)->call)) {
            return false;
        }
    }
    return cancels->waiting_n == 0;
}

static void run_close(tk_task *task)
{
    tk_cancels *cancels = TK_CONTAINER_OF(task, tk_cancels, task);
    (void)!tk_core_end_work(cancels->core);
    tk_mutex_lock(&cancels->lock);
    cancels->is_posted = false;
    cancels->is_drained = is_drained(cancels);
    tk_cond_broadcast(&cancels->changed);
    tk_mutex_unlock(&cancels->lock);
}

/* Under the lock. Returns false when the loop takes no more tasks. */
static bool look(tk_cancels *cancels)
{
    if (cancels->is_posted) {
        return true;
    }
    cancels->is_posted = true;
    tk_mutex_unlock(&cancels->lock);
    bool posted = tk_loop_post(tk_core_loop(cancels->core), &cancels->task);
    tk_mutex_lock(&cancels->lock);
    return posted;
}

void tk_cancel_close(tk_cancels *cancels)
{
    int64_t now_ns = tk_clock_mono_ns(&tk_clock_real);
    int64_t deadline_ns = now_ns + TK_CANCEL_DRAIN_MS * TK_NS_PER_MS;
    if (!tk_cancel_is_on(cancels)) {
        return;
    }
    tk_mutex_lock(&cancels->lock);
    while (!cancels->is_drained && now_ns < deadline_ns && look(cancels)) {
        tk_core_wait(cancels->core, &cancels->changed, &cancels->lock,
                     TK_MIN(now_ns + LOOK_MS * TK_NS_PER_MS, deadline_ns));
        now_ns = tk_clock_mono_ns(&tk_clock_real);
    }
    tk_mutex_unlock(&cancels->lock);
}

/* ---- one request ---- */

static void on_answer(tk_call *call, const tk_call_answer *answer)
{
    cancellation *one = call->user;
    tk_cancels *cancels = one->cancels;
    if (answer->code != TINKC_OK && answer->code != TINKC_E_CANCELLED) {
        tk_log_write(tk_core_log(cancels->core), TINKC_LOG_INFO, "cancel",
                     "the server was not told that %s is cancelled: %s", one->id,
                     answer->err->message);
    }
    if (answer->code != TINKC_OK && tk_wire_error_is_of_route(answer->err)) {
        tk_manners_learn(tk_core_manners(cancels->core), tk_core_log(cancels->core),
                         TK_MANNER_NO_CANCELS, true);
    }
    cancels->running_n--;
    destroy(one);
    if (is_refused(cancels)) {
        drop_waiting(cancels);
    } else if (!cancels->is_stopped) {
        send_next(cancels);
    }
}

static bool encode(cancellation *one)
{
    const tk_cancel_future_request request = {.request_id = {TK_SET, tk_str_of(one->id)}};
    return tk_schema_encode(&one->body, &tk_msg_cancel_future_request, &request, NULL) ==
           TINKC_OK;
}

static void send(cancellation *one)
{
    tk_cancels *cancels = one->cancels;
    if (!encode(one)) {
        destroy(one);
        return;
    }
    tk_list_push_back(&cancels->running, &one->link);
    cancels->running_n++;
    one->call = (tk_call){.core = cancels->core,
                          .endpoint = tk_endpoint_at(TK_EP_CANCEL_FUTURE),
                          .body = one->body.p,
                          .body_n = one->body.n,
                          .done = on_answer,
                          .user = one};
    tk_call_start(&one->call);
}

static size_t parallel(const tk_cancels *cancels)
{
    int64_t most = tk_core_dynamic(cancels->core)->sample_cancel_max_batch_size.v;
    return (size_t)TK_MIN(TK_MAX(most, 1), PARALLEL_MAX);
}

static void send_next(tk_cancels *cancels)
{
    tk_list *node;
    while (cancels->running_n < parallel(cancels) &&
           (node = tk_list_pop_front(&cancels->waiting)) != NULL) {
        cancels->waiting_n--;
        send(TK_CONTAINER_OF(node, cancellation, link));
    }
}

/* ---- the queue ---- */

void tk_cancel_enable(tk_cancels *cancels, bool is_on)
{
    atomic_store(&cancels->is_on, is_on);
}

bool tk_cancel_is_on(const tk_cancels *cancels)
{
    return atomic_load(&cancels->is_on);
}

void tk_cancel_send(tk_cancels *cancels, const char *request_id)
{
    size_t n = strlen(request_id);
    if (!atomic_load(&cancels->is_on) || cancels->is_stopped || is_refused(cancels) ||
        n == 0) {
        return;
    }
    cancellation *one = tk_zalloc(sizeof(*one) + n + 1);
    if (one == NULL) {
        return;
    }
    one->cancels = cancels;
    memcpy(one->id, request_id, n);
    tk_buf_init(&one->body, BODY_MAX_BYTES);
    tk_list_init(&one->link);
    tk_list_push_back(&cancels->waiting, &one->link);
    if (++cancels->waiting_n > WAITING_MAX) {
        cancels->waiting_n--;
        destroy(TK_CONTAINER_OF(cancels->waiting.next, cancellation, link));
    }
    send_next(cancels);
}

/* ---- life ---- */

tinkc_code tk_cancel_init(tk_cancels *cancels, tk_core *core, tk_err *err)
{
    tinkc_code code = tk_cond_init_with(&cancels->changed, &cancels->lock, err);
    if (code == TINKC_OK) {
        cancels->core = core;
        cancels->task.run = run_close;
        tk_list_init(&cancels->waiting);
        tk_list_init(&cancels->running);
        atomic_init(&cancels->is_on, false);
    }
    return code;
}

void tk_cancel_dispose(tk_cancels *cancels)
{
    if (cancels->core != NULL) {
        tk_cond_dispose(&cancels->changed);
        tk_mutex_dispose(&cancels->lock);
    }
}

void tk_cancel_shutdown(tk_cancels *cancels)
{
    cancels->is_stopped = true;
    drop_waiting(cancels);
    while (!tk_list_is_empty(&cancels->running)) {
        tk_call_cancel(&TK_CONTAINER_OF(cancels->running.next, cancellation, link)->call);
    }
}
