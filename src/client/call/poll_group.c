/* The cursor and the acknowledgements of one retrieve_futures loop. What was reported
 * before its sample was known to be accepted (the two answers race) is kept until the
 * sample joins. */
#include "client/call/poll_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/call/outcome.h"
#include "client/call/poll.h"
#include "client/core/core.h"
#include "wire/msg_session.h"
#include "wire/wire_error.h"

#define BODY_MAX_BYTES (2 * TK_MIB)
#define NOTES_MAX      4096 /* of each kind; beyond, the oldest are dropped */
#define SENT_MAX       1000 /* acknowledgements in one request */
#define FAILED_MS                                                                        \
    1000                  /* least delay after a failure, and before a request that only
                              * acknowledges */
#define TICK_MS     10000 /* how often the waiting polls are looked after */
#define CHECK_MS    30000 /* a poll that waits longer asks itself, once in a while */
#define CHECK_SHARE 60    /* of the waiting polls at each tick, at least one */

/* A request id, and what is known of its result. */
typedef struct note {
    tk_list link;
    int64_t bytes; /* 0: unknown */
    char id[];
} note;

struct tk_poll_group {
    tk_core *core; /* borrowed: it owns the group */
    tk_list node;  /* in the core's list */
    tk_task close_task;
    char *session_id;
    int64_t clone;
    tk_list waiting; /* tk_poll.state.in_group */
    size_t waiting_n;
    tk_map by_id;            /* request id -> tk_poll */
    tk_list early;           /* notes: reported, and no poll waits for it yet */
    tk_map early_ids;        /* request id -> note */
    tk_list retrieved, sent; /* notes: to be acknowledged; on their way */
    size_t retrieved_n;
    int64_t cursor;
    tk_poll_counts counts;
    tk_call call;
    tk_buf body;
    tk_retry_pace pace;
    tk_timer timer, tick;
    int64_t sent_ms, answered_ms;
    bool is_wanted;  /* the last answer was useful, or a sample was accepted since */
    bool is_paused;  /* after a failure: the timer sends the next request */
    bool is_off;     /* the server does not offer it, or refuses it */
    bool is_stopped; /* the core stops */
};

static void proceed(tk_poll_group *group);

static tk_loop *loop_of(const tk_poll_group *group)
{
    return tk_core_loop(group->core);
}

/* ---- notes ---- */

static note *note_new(tk_str id, int64_t bytes)
{
    note *one = tk_zalloc(sizeof(*one) + id.n + 1);
    if (one != NULL) {
        tk_list_init(&one->link);
        one->bytes = bytes;
        memcpy(one->id, id.p, id.n);
    }
    return one;
}

static void free_notes(tk_list *notes)
{
    tk_list *node;
    while ((node = tk_list_pop_front(notes)) != NULL) {
        tk_free(TK_CONTAINER_OF(node, note, link));
    }
}

static void drop_early(tk_poll_group *group, note *one)
{
    (void)tk_map_remove(&group->early_ids, tk_str_of(one->id));
    tk_list_remove(&one->link);
    tk_free(one);
}

/* Without memory it is forgotten: its sample asks itself in the end. */
static void keep_early(tk_poll_group *group, tk_str id, int64_t bytes)
{
    if (tk_map_has(&group->early_ids, id)) {
        return;
    }
    note *one = note_new(id, bytes);
    if (one == NULL ||
        tk_map_put(&group->early_ids, tk_str_of(one->id), one, NULL) != TINKC_OK) {
        tk_free(one);
        return;
    }
    tk_list_push_back(&group->early, &one->link);
    if (group->early_ids.count > NOTES_MAX) {
        drop_early(group, TK_CONTAINER_OF(group->early.next, note, link));
    }
}

/* ---- the polls that wait ---- */

void tk_poll_group_leave(tk_poll_group *group, tk_poll *poll)
{
    if (tk_list_is_linked(&poll->state.in_group)) {
        tk_list_remove(&poll->state.in_group);
        (void)tk_map_remove(&group->by_id, tk_str_of(poll->request_id));
        group->waiting_n--;
    }
}

/* Given up, or the server showed another group that it lacks the route. */
static bool is_off(const tk_poll_group *group)
{
    return group->is_off || tk_manners_get(tk_core_manners(group->core),
                                           TK_MANNER_NO_GROUP_POLLS) == TK_KNOWN_YES;
}

bool tk_poll_group_join(tk_poll_group *group, tk_poll *poll)
{
    tk_str id = tk_str_of(poll->request_id);
    if (is_off(group) || group->is_stopped || tk_map_has(&group->by_id, id)) {
        return false;
    }
    note *one = tk_map_get(&group->early_ids, id);
    if (one != NULL) {
        int64_t bytes = one->bytes;
        drop_early(group, one);
        tk_poll_ready(poll, bytes);
        return true;
    }
    if (tk_map_put(&group->by_id, id, poll, NULL) != TINKC_OK) {
        return false;
    }
    tk_list_push_back(&group->waiting, &poll->state.in_group);
    group->waiting_n++;
    group->is_wanted = group->is_wanted || !poll->state.has_joined;
    poll->state.has_joined = true;
    if (!group->tick.node.linked) {
        tk_loop_timer_set(loop_of(group), &group->tick,
                          tk_loop_now_ms(loop_of(group)) + TICK_MS);
    }
    proceed(group);
    return true;
}

/* Moves the first one to the end of the list, so that a round visits all, whatever the
 * callbacks do. */
static tk_poll *visit_first(tk_poll_group *group)
{
    tk_list *node = tk_list_pop_front(&group->waiting);
    tk_list_push_back(&group->waiting, node);
    return TK_CONTAINER_OF(node, tk_poll, state.in_group);
}

static void ask_alone(tk_poll_group *group, tk_poll *poll)
{
    tk_poll_group_leave(group, poll);
    tk_poll_alone(poll);
}

/* Ends polls that are stuck. */
static void end_stuck(tk_poll_group *group)
{
    for (size_t n = group->waiting_n; n > 0 && group->waiting_n > 0; n--) {
        (void)tk_poll_give_up(visit_first(group));
    }
}

/* A completion may be lost (the server has forgotten it, or another client has taken it),
 * and the answers say nothing about the server's queue. So a few polls that have waited
 * for long ask themselves and join again. */
static void check_some(tk_poll_group *group)
{
    int64_t now = tk_loop_now_ms(loop_of(group));
    size_t most = TK_MAX(group->waiting_n / CHECK_SHARE, 1);
    for (size_t n = group->waiting_n; n > 0 && most > 0 && group->waiting_n > 0; n--) {
        tk_poll *poll = visit_first(group);
        if (now - poll->state.joined_ms >= CHECK_MS) {
            ask_alone(group, poll);
            most--;
        }
    }
}

static void fire_tick(tk_timer *timer)
{
    tk_poll_group *group = TK_CONTAINER_OF(timer, tk_poll_group, tick);
    end_stuck(group);
    check_some(group);
    if (group->waiting_n > 0) {
        tk_loop_timer_set(loop_of(group), &group->tick,
                          tk_loop_now_ms(loop_of(group)) + TICK_MS);
    }
}

/* From now on every sample polls itself. */
static void give_up_group(tk_poll_group *group, const char *why)
{
    tk_log_write(tk_core_log(group->core), TINKC_LOG_INFO, "poll",
                 "retrieve_futures failed, each sample of %s is polled: %s",
                 group->session_id, why);
    group->is_off = true;
    tk_loop_timer_clear(loop_of(group), &group->tick);
    while (!tk_list_is_empty(&group->waiting)) {
        ask_alone(group, visit_first(group));
    }
}

/* ---- acknowledgements ---- */

void tk_poll_group_retrieved(tk_poll_group *group, const char *request_id)
{
    note *one =
        is_off(group) || group->is_stopped ? NULL : note_new(tk_str_of(request_id), 0);
    if (one == NULL) {
        return; /* the server forgets the result by itself */
    }
    tk_list_push_back(&group->retrieved, &one->link);
    if (++group->retrieved_n > NOTES_MAX) {
        tk_free(TK_CONTAINER_OF(tk_list_pop_front(&group->retrieved), note, link));
        group->retrieved_n--;
    }
    proceed(group);
}

/* What was sent in a request that failed is sent again, before the others. */
static void unsend(tk_poll_group *group)
{
    for (const tk_list *at = group->sent.next; at != &group->sent; at = at->next) {
        group->retrieved_n++;
    }
    tk_list_splice_back(&group->sent, &group->retrieved);
    tk_list_splice_back(&group->retrieved, &group->sent);
}

/* ---- one answer ---- */

static void report(tk_poll_group *group, const tk_future_completion *said)
{
    tk_str id = said->request_id.v;
    int64_t bytes = said->state.v == TK_COMPLETION_FINISHED
                        ? said->response_payload_uncompressed_size.v
                        : 0;
    if (id.n == 0 || id.n >= TK_ERR_ID_BYTES || memchr(id.p, '\0', id.n) != NULL) {
        return; /* none of ours */
    }
    tk_poll *poll = tk_map_get(&group->by_id, id);
    if (poll == NULL) {
        keep_early(group, id, bytes);
        return;
    }
    group->is_wanted = true;
    tk_poll_group_leave(group, poll);
    tk_poll_ready(poll, bytes);
}

/* Returns false when the body cannot be read at all. */
static bool take_answer(tk_poll_group *group, tk_str body)
{
    tk_retrieve_futures_response said;
    tk_arena arena;
    tk_arena_init(&arena, tk_outcome_arena_bytes(body.n));
    bool is_read = tk_retrieve_futures_read(&said, &arena, body, NULL) == TINKC_OK;
    if (is_read) {
        free_notes(&group->sent);
        group->cursor = said.cursor.is == TK_SET ? said.cursor.v : group->cursor;
        for (size_t i = 0; i < said.completions_n; i++) {
            report(group, &said.completions[i]);
        }
    }
    tk_arena_dispose(&arena);
    return is_read;
}

static void fire(tk_timer *timer)
{
    tk_poll_group *group = TK_CONTAINER_OF(timer, tk_poll_group, timer);
    group->is_paused = false;
    proceed(group);
}

static void pause_for(tk_poll_group *group, int64_t delay_ms)
{
    group->is_paused = true;
    tk_loop_timer_set(loop_of(group), &group->timer,
                      tk_core_pause_end_ms(group->core, delay_ms));
}

/* The rules of one poll, with a longer least delay; but a server without the route is not
 * asked again. A body that cannot be read counts as a 400: it may be a proxy's. */
static void failed(tk_poll_group *group, const tk_call_answer *answer)
{
    tk_poll_event event = {.outcome = answer->outcome, .floor_ms = FAILED_MS};
    if (event.outcome.success) {
        event.outcome = (tk_retry_outcome){.status = 400, .hint_ms = -1};
    }
    event.billing_paused =
        event.outcome.status == 402 && tk_core_billing_pause(group->core);
    tk_poll_decision decision = tk_poll_rule(&group->counts, &event);
    bool again = !tk_wire_error_is_absent(event.outcome.status) &&
                 (decision.action == TK_POLL_AGAIN || event.outcome.status == 409);
    unsend(group);
    if (answer->code != TINKC_OK && tk_wire_error_is_of_route(answer->err)) {
        tk_manners_learn(tk_core_manners(group->core), tk_core_log(group->core),
                         TK_MANNER_NO_GROUP_POLLS, true);
    }
    if (!again) {
        give_up_group(group, answer->code != TINKC_OK ? answer->err->message
                                                      : "its answer cannot be read");
        return;
    }
    int64_t delay = TK_MAX(decision.delay_ms, FAILED_MS);
    if (event.outcome.hint_ms > 0) {
        group->answered_ms +=
            delay; /* a pause that the server asks for does not count as silence */
    }
    pause_for(group, delay);
}

static void on_answer(tk_call *call, const tk_call_answer *answer)
{
    tk_poll_group *group = call->user;
    if (group->is_stopped) {
        return;
    }
    if (answer->outcome.status != 0) {
        group->answered_ms = tk_loop_now_ms(loop_of(group));
    }
    group->is_wanted = false;
    if (answer->code != TINKC_OK || !take_answer(group, answer->response->body)) {
        failed(group, answer);
        return;
    }
    group->counts = (tk_poll_counts){0};
    proceed(group);
}

/* ---- one request ---- */

static int by_text(const void *a, const void *b)
{
    return tk_str_cmp(*(const tk_str *)a, *(const tk_str *)b);
}

static tinkc_code encode(tk_poll_group *group)
{
    tk_str ids[SENT_MAX];
    size_t n = 0;
    while (n < SENT_MAX && !tk_list_is_empty(&group->retrieved)) {
        tk_list *node = tk_list_pop_front(&group->retrieved);
        tk_list_push_back(&group->sent, node);
        ids[n++] = tk_str_of(TK_CONTAINER_OF(node, note, link)->id);
        group->retrieved_n--;
    }
    qsort(ids, n, sizeof(*ids), by_text);
    tk_retrieve_futures_request request = {
        .target = {.sampling_session_id = {TK_SET, tk_str_of(group->session_id)},
                   .cloned_sampler_id = {TK_SET, group->clone}},
        .prev_cursor = {TK_SET, group->cursor},
        .retrieved_request_ids = {ids, n}};
    tk_buf_clear(&group->body);
    return tk_schema_encode(&group->body, &tk_msg_retrieve_futures_request, &request,
                            NULL);
}

static void send(tk_poll_group *group)
{
    if (encode(group) != TINKC_OK) { /* out of memory: perhaps not for long */
        unsend(group);
        pause_for(group, FAILED_MS);
        return;
    }
    group->sent_ms = tk_loop_now_ms(loop_of(group));
    group->call = (tk_call){.core = group->core,
                            .endpoint = tk_endpoint_at(TK_EP_RETRIEVE_FUTURES),
                            .body = group->body.p,
                            .body_n = group->body.n,
                            .fraction_timeout = true,
                            .pace = &group->pace,
                            .is_wanted = group->is_wanted,
                            .done = on_answer,
                            .user = group};
    group->is_wanted = false;
    tk_call_start(&group->call);
}

/* Sends the next request when there is something to wait for or to acknowledge. A request
 * that only acknowledges is delayed until a sample waits, but not for long. */
static void proceed(tk_poll_group *group)
{
    bool waits = group->waiting_n > 0;
    if (group->is_off || group->is_stopped || group->is_paused ||
        tk_call_is_running(&group->call) || (!waits && group->retrieved_n == 0)) {
        return;
    }
    int64_t left = group->sent_ms + FAILED_MS - tk_loop_now_ms(loop_of(group));
    if (!waits && left > 0) {
        tk_loop_timer_set(loop_of(group), &group->timer,
                          tk_core_pause_end_ms(group->core, left));
        return;
    }
    tk_loop_timer_clear(loop_of(group), &group->timer);
    send(group);
}

bool tk_poll_group_is_off(const tk_poll_group *group)
{
    return group->is_off;
}

int64_t tk_poll_group_answered_ms(const tk_poll_group *group)
{
    return group->answered_ms;
}

/* ---- life ---- */

static void stop(tk_poll_group *group)
{
    group->is_stopped = true;
    tk_loop_timer_clear(loop_of(group), &group->timer);
    tk_loop_timer_clear(loop_of(group), &group->tick);
    tk_call_cancel(&group->call);
}

static void destroy(tk_poll_group *group)
{
    tk_list_remove(&group->node);
    free_notes(&group->early);
    free_notes(&group->retrieved);
    free_notes(&group->sent);
    tk_map_dispose(&group->by_id);
    tk_map_dispose(&group->early_ids);
    tk_buf_dispose(&group->body);
    tk_free(group->session_id);
    tk_free(group);
}

static void run_close(tk_task *task)
{
    tk_poll_group *group = TK_CONTAINER_OF(task, tk_poll_group, close_task);
    stop(group);
    destroy(group);
}

tk_poll_group *tk_poll_group_new(tk_core *core, const char *sampling_session_id,
                                 int64_t clone)
{
    tk_poll_group *group = tk_zalloc(sizeof(*group));
    char *id = tk_strdup(sampling_session_id);
    if (group == NULL || id == NULL) {
        tk_free(group);
        tk_free(id);
        return NULL;
    }
    group->core = core;
    group->session_id = id;
    group->clone = clone;
    group->close_task.run = run_close;
    tk_list_init(&group->waiting);
    tk_list_init(&group->early);
    tk_list_init(&group->retrieved);
    tk_list_init(&group->sent);
    tk_map_init(&group->by_id, TK_MAP_BORROW_KEYS);
    tk_map_init(&group->early_ids, TK_MAP_BORROW_KEYS);
    tk_buf_init(&group->body, BODY_MAX_BYTES);
    tk_timer_init(&group->timer, fire);
    tk_timer_init(&group->tick, fire_tick);
    tk_list_push_back(tk_core_poll_groups(core), &group->node);
    return group;
}

/* When the loop takes no more tasks, or in a forked child, the core frees it
 * (tk_poll_group_free_all). */
void tk_poll_group_close(tk_poll_group *group)
{
    tk_err err = TK_ERR_INIT;
    if (group != NULL && tk_core_check(group->core, &err) == TINKC_OK) {
        (void)!tk_loop_post(loop_of(group), &group->close_task);
    }
}

void tk_poll_group_shutdown(tk_list *groups)
{
    for (tk_list *at = groups->next; at != groups; at = at->next) {
        stop(TK_CONTAINER_OF(at, tk_poll_group, node));
    }
}

void tk_poll_group_free_all(tk_list *groups)
{
    while (!tk_list_is_empty(groups)) {
        destroy(TK_CONTAINER_OF(groups->next, tk_poll_group, node));
    }
}
