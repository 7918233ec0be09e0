/* Lists of futures by the time of their end. */
#include "server/run/srv_events.h"

#include <string.h>

#include "server/run/srv_future.h"
#include "server/run/srv_poll.h"

void srv_events_init(srv_events *events)
{
    tk_list_init(&events->done);
    tk_list_init(&events->polls);
    events->last = 0;
}

void srv_events_close(srv_events *events)
{
    tk_list *node;
    while ((node = tk_list_pop_front(&events->done)) != NULL) {
        TK_CONTAINER_OF(node, srv_future, event)->events = NULL;
    }
    while (tk_list_pop_front(&events->polls) != NULL) {
    }
}

void srv_events_add(srv_events *events, srv_futures *futures, srv_future *future,
                    tk_list *released)
{
    future->event_no = ++events->last;
    tk_list_push_back(&events->done, &future->event);
    for (tk_list *at = events->polls.next, *next; at != &events->polls; at = next) {
        srv_poll *poll = TK_CONTAINER_OF(at, srv_poll, waiting);
        next = at->next;
        if (poll->clone == future->clone) {
            srv_future_unpark(futures, poll, released);
        }
    }
}

/* Returns the first that ended after the cursor, of any client, or the head. */
static tk_list *first_after(const srv_events *events, int64_t cursor)
{
    const tk_list *head = &events->done;
    tk_list *at = head->next;
    if (at != head && TK_CONTAINER_OF(at, srv_future, event)->event_no <= cursor) {
        for (at = head->prev; TK_CONTAINER_OF(at, srv_future, event)->event_no > cursor;
             at = at->prev) {
        }
        at = at->next;
    }
    return at;
}

/* How many of this client ended after the cursor; `most` is enough. */
static size_t count(const srv_events *events, int64_t clone, int64_t cursor, size_t most)
{
    size_t n = 0;
    for (tk_list *at = first_after(events, cursor); at != &events->done && n < most;
         at = at->next) {
        n += TK_CONTAINER_OF(at, srv_future, event)->clone == clone;
    }
    return n;
}

bool srv_events_any(const srv_events *events, int64_t clone, int64_t cursor)
{
    return count(events, clone, cursor, 1) > 0;
}

/* A result of a sample is protobuf; a failure is JSON. */
static bool fill(tk_future_completion *out, const srv_future *future, tk_arena *arena)
{
    tk_str id = {NULL, 0};
    if (!tk_arena_dup(arena, &id, future->id, strlen(future->id))) {
        return false;
    }
    *out =
        (tk_future_completion){.state = {TK_SET, future->is_proto ? TK_COMPLETION_FINISHED
                                                                  : TK_COMPLETION_FAILED},
                               .request_id = {TK_SET, id}};
    if (future->is_proto && future->result != NULL) {
        out->response_payload_uncompressed_size =
            (tk_f_i64){TK_SET, (int64_t)future->result->n};
    }
    return true;
}

bool srv_events_read(tk_retrieve_futures_response *msg, const srv_events *events,
                     tk_arena *arena, int64_t clone, int64_t cursor)
{
    size_t most = count(events, clone, cursor, SRV_EVENTS_MAX);
    tk_future_completion *items = tk_arena_array(arena, most, sizeof(*items));
    tk_list *at = first_after(events, cursor);
    size_t n = 0;
    if (items == NULL) {
        return false;
    }
    for (; at != &events->done && n < SRV_EVENTS_MAX; at = at->next) {
        const srv_future *future = TK_CONTAINER_OF(at, srv_future, event);
        if (future->clone == clone && !fill(&items[n++], future, arena)) {
            return false;
        }
        cursor = future->event_no;
    }
    *msg = (tk_retrieve_futures_response){items, n, {TK_SET, cursor}};
    return true;
}

void srv_events_acknowledge(const srv_events *events, srv_futures *futures,
                            const tk_str *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        srv_future *future = srv_future_find(futures, ids[i]);
        if (future != NULL && future->done && future->events == events) {
            srv_future_forget_result(futures, future);
        }
    }
}
