/* The table of futures: by id, by idempotency key, by age, and the heap of the deadlines
 * of parked polls. The answers to polls are in srv_poll.c. */
#include "server/run/srv_future.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "httpd/hd_reply.h"
#include "server/run/srv_poll.h"
#include "server/run/srv_state.h"

/* Of one future, beside its strings and its result: its struct, its place in two maps
 * (which double when they are full), what malloc adds. */
#define RECORD_BYTES (sizeof(srv_future) + 256)

#define KEPT_SHARE 8 /* of the part: an eighth is kept when memory is short elsewhere */

void srv_futures_init(srv_futures *futures, hd_budget *budget)
{
    tk_map_init(&futures->by_id, TK_MAP_BORROW_KEYS);
    tk_map_init(&futures->by_idem, TK_MAP_BORROW_KEYS);
    tk_list_init(&futures->pending);
    tk_list_init(&futures->done);
    tk_list_init(&futures->fetched);
    tk_heap_init(&futures->deadlines);
    futures->n_waiting = 0;
    futures->max = TK_SRV_FUTURES_MAX;
    futures->budget = budget;
}

static size_t record_bytes(const char *id, const char *idem)
{
    return RECORD_BYTES + (id != NULL ? strlen(id) : 0) +
           (idem != NULL ? strlen(idem) : 0);
}

void srv_future_drop(srv_futures *futures, srv_future *future)
{
    hd_blob_release(future->result);
    tk_list_remove(&future->age);
    tk_list_remove(&future->event);
    hd_budget_give(futures->budget, SRV_PART_RESULTS, future->counted);
    if (future->id != NULL) {
        (void)tk_map_remove(&futures->by_id, tk_str_of(future->id));
    }
    if (future->idem != NULL &&
        tk_map_get(&futures->by_idem, tk_str_of(future->idem)) == future) {
        (void)tk_map_remove(&futures->by_idem, tk_str_of(future->idem));
    }
    tk_free(future->id);
    tk_free(future->idem);
    tk_free(future);
}

static void drop_all(srv_futures *futures, tk_list *list)
{
    while (!tk_list_is_empty(list)) {
        srv_future_drop(futures, TK_CONTAINER_OF(list->next, srv_future, age));
    }
}

void srv_futures_dispose(srv_futures *futures)
{
    drop_all(futures, &futures->pending);
    drop_all(futures, &futures->done);
    drop_all(futures, &futures->fetched);
    tk_map_dispose(&futures->by_id);
    tk_map_dispose(&futures->by_idem);
}

srv_future *srv_future_find(const srv_futures *futures, tk_str id)
{
    return tk_map_get(&futures->by_id, id);
}

srv_future *srv_future_find_idem(const srv_futures *futures, tk_str key)
{
    return key.n > 0 ? tk_map_get(&futures->by_idem, key) : NULL;
}

static tinkc_code enter(srv_futures *futures, srv_future *future,
                        const srv_future_spec *spec, tk_err *err)
{
    future->id = tk_strndup(spec->id.p, spec->id.n);
    future->idem = spec->idem.n > 0 ? tk_strndup(spec->idem.p, spec->idem.n) : NULL;
    if (future->id == NULL || (spec->idem.n > 0 && future->idem == NULL)) {
        return tk_err_nomem(err);
    }
    size_t bytes = record_bytes(future->id, future->idem);
    if (!hd_budget_take(futures->budget, SRV_PART_RESULTS, bytes)) {
        return tk_err_set(err, TINKC_E_RATE_LIMIT, "the server's memory is full");
    }
    future->counted = bytes;
    tinkc_code code = tk_map_put(&futures->by_id, tk_str_of(future->id), future, err);
    if (code == TINKC_OK && future->idem != NULL) {
        code = tk_map_put(&futures->by_idem, tk_str_of(future->idem), future, err);
    }
    return code;
}

static srv_future *oldest(const tk_list *list)
{
    return !tk_list_is_empty(list) ? TK_CONTAINER_OF(list->next, srv_future, age) : NULL;
}

/* Drops done futures until the results fit: those that were taken when memory is short
 * anywhere, except the last ones, whose answers may be lost on their way; the others only
 * when the results themselves are too large. `keep` stays. */
static void make_room(srv_futures *futures, const srv_future *keep)
{
    const hd_part *part = &futures->budget->parts[SRV_PART_RESULTS];
    srv_future *at;
    while (hd_budget_is_over(futures->budget, SRV_PART_RESULTS) &&
           atomic_load(&part->used) > part->max / KEPT_SHARE &&
           (at = oldest(&futures->fetched)) != NULL && at != keep) {
        srv_future_drop(futures, at);
    }
    while (atomic_load(&part->used) > part->max &&
           (at = oldest(&futures->done)) != NULL && at != keep) {
        srv_future_drop(futures, at);
    }
}

tinkc_code srv_future_add(srv_future **out, srv_futures *futures,
                          const srv_future_spec *spec, tk_err *err)
{
    srv_future *old;
    make_room(futures, NULL);
    while (futures->by_id.count >= futures->max &&
           ((old = oldest(&futures->fetched)) != NULL ||
            (old = oldest(&futures->done)) != NULL)) {
        srv_future_drop(futures, old);
    }
    if (futures->by_id.count >= futures->max) {
        return tk_err_set(err, TINKC_E_LIMIT, "too many unfinished requests");
    }
    srv_future *future = tk_zalloc(sizeof(*future));
    if (future == NULL) {
        return tk_err_nomem(err);
    }
    tk_list_init(&future->waiters);
    tk_list_init(&future->event);
    future->added_ns = tk_clock_mono_ns(NULL);
    tk_list_push_back(&futures->pending, &future->age);
    future->type = spec->type;
    if (spec->digest != NULL) {
        memcpy(future->digest, spec->digest, sizeof(future->digest));
    }
    tinkc_code code = enter(futures, future, spec, err);
    if (code != TINKC_OK) {
        srv_future_drop(futures, future);
        return code;
    }
    *out = future;
    return TINKC_OK;
}

/* ---- polls ---- */

/* A client has the result. */
static void note_fetched(srv_futures *futures, srv_future *future)
{
    if (future->done && !future->fetched) {
        future->fetched = true;
        tk_list_remove(&future->age);
        tk_list_push_back(&futures->fetched, &future->age);
    }
}

void srv_future_forget_result(srv_futures *futures, srv_future *future)
{
    note_fetched(futures, future);
    hd_blob_release(future->result);
    future->result = NULL;
    future->starved = false;
    future->events = NULL;
    tk_list_remove(&future->event);
}

void srv_future_look(srv_futures *futures, srv_poll *poll, srv_future *future)
{
    note_fetched(futures, future);
    hd_blob_release(poll->result);
    poll->done = future->done;
    poll->starved = future->starved;
    poll->is_proto = future->is_proto;
    poll->type = future->type;
    poll->result = future->result != NULL ? hd_blob_retain(future->result) : NULL;
    poll->wait = future->why != NULL ? future->why(future->owner)
                                     : (srv_wait){TK_QUEUE_ACTIVE, NULL};
}

void srv_future_unpark(srv_futures *futures, srv_poll *poll, tk_list *released)
{
    tk_heap_remove(&futures->deadlines, &poll->deadline);
    tk_list_remove(&poll->waiting);
    if (poll->future != NULL) {
        srv_future_look(futures, poll, poll->future);
        poll->future = NULL;
    }
    tk_list_push_back(released, &poll->waiting);
    futures->n_waiting--;
}

void srv_future_park(srv_futures *futures, srv_future *future, srv_poll *poll,
                     int64_t deadline_ns)
{
    poll->future = future;
    tk_list_push_back(&future->waiters, &poll->waiting);
    tk_heap_put(&futures->deadlines, &poll->deadline, deadline_ns);
    futures->n_waiting++;
}

void srv_future_park_many(srv_futures *futures, srv_events *events, srv_poll *poll,
                          int64_t deadline_ns)
{
    tk_list_push_back(&events->polls, &poll->waiting);
    tk_heap_put(&futures->deadlines, &poll->deadline, deadline_ns);
    futures->n_waiting++;
}

void srv_future_release_due(srv_futures *futures, int64_t now_ns, tk_list *released)
{
    tk_heap_node *node;
    while ((node = tk_heap_pop_due(&futures->deadlines, now_ns)) != NULL) {
        srv_future_unpark(futures, TK_CONTAINER_OF(node, srv_poll, deadline), released);
    }
}

int64_t srv_future_next_deadline(const srv_futures *futures)
{
    const tk_heap_node *node = tk_heap_min(&futures->deadlines);
    return node != NULL ? node->deadline : TK_FOREVER;
}

/* ---- completion and expiry ---- */

void srv_future_complete(srv_futures *futures, srv_future *future, hd_blob *result,
                         bool is_proto, int64_t now_ns, tk_list *released)
{
    future->done = true;
    future->done_ns = now_ns;
    future->why = NULL;
    future->sample = NULL;
    future->is_proto = is_proto;
    future->starved = result == NULL;
    future->result = result;
    if (result != NULL) {
        hd_blob_charge(result, futures->budget, SRV_PART_RESULTS);
    }
    tk_list_remove(&future->age);
    tk_list_push_back(&futures->done, &future->age);
    while (!tk_list_is_empty(&future->waiters)) {
        srv_future_unpark(
            futures, TK_CONTAINER_OF(future->waiters.next, srv_poll, waiting), released);
    }
    if (future->events != NULL) {
        srv_events_add(future->events, futures, future, released);
    }
    make_room(futures, future);
}

static void expire(srv_futures *futures, const tk_list *list, int64_t now_ns)
{
    srv_future *at;
    while ((at = oldest(list)) != NULL &&
           now_ns - at->done_ns >= SRV_FUTURE_MS * TK_NS_PER_MS) {
        srv_future_drop(futures, at);
    }
}

void srv_future_expire(srv_futures *futures, int64_t now_ns)
{
    expire(futures, &futures->done, now_ns);
    expire(futures, &futures->fetched, now_ns);
}

/* ---- ends of the work ---- */

void srv_future_finish(srv *server, srv_future *future, hd_blob *result, bool is_proto)
{
    tk_list released;
    tk_list_init(&released);
    tk_mutex_lock(&server->lock);
    srv_future_complete(&server->futures, future, result, is_proto,
                        tk_clock_mono_ns(NULL), &released);
    tk_mutex_unlock(&server->lock);
    srv_poll_release(&released);
}

void srv_future_finish_msg(srv *server, srv_future *future, const tk_schema *schema,
                           const void *msg)
{
    tk_err err = TK_ERR_INIT;
    tk_buf buf;
    tk_buf_init(&buf, TK_MIB);
    if (tk_schema_encode(&buf, schema, msg, &err) != TINKC_OK) {
        tk_buf_dispose(&buf);
        srv_future_fail_err(server, future, &err);
        return;
    }
    srv_future_finish(server, future, hd_blob_take(&buf), false);
}

void srv_future_fail(srv *server, srv_future *future, const char *text,
                     tinkc_category category)
{
    const tk_request_failed msg = {
        .error = {TK_SET, tk_str_of(text)},
        .category = {TK_SET, (int)category},
    };
    tk_err err = TK_ERR_INIT;
    tk_buf buf;
    tk_buf_init(&buf, 8 * TK_KIB);
    if (tk_schema_encode(&buf, &tk_msg_request_failed, &msg, &err) != TINKC_OK) {
        tk_buf_fail(&buf, err.code); /* then the future is starved */
    }
    srv_future_finish(server, future, hd_blob_take(&buf), false);
}

void srv_future_fail_err(srv *server, srv_future *future, const tk_err *err)
{
    bool user = err->code == TINKC_E_INVALID || err->code == TINKC_E_UNSUPPORTED ||
                err->code == TINKC_E_MISSING || err->code == TINKC_E_CONFLICT ||
                err->code == TINKC_E_LIMIT || err->code == TINKC_E_DECODE;
    char text[TK_ERR_MESSAGE_BYTES + TK_ERR_PATH_BYTES + 4];
    (void)snprintf(text, sizeof(text), "%s%s%s", err->path,
                   err->path[0] != '\0' ? ": " : "", err->message);
    if (!user) {
        tk_log_write(server->log, TINKC_LOG_WARN, "request", "%s: %s", future->id, text);
    }
    hd_reply_hide_paths(text);
    srv_future_fail(server, future, text,
                    user ? TINKC_CATEGORY_USER : TINKC_CATEGORY_SERVER);
}
