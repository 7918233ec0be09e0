/* Parks a poll that comes early. An id that was never given out is 404, one whose result
 * is lost 410. Which ids a model skipped is not kept: those count as given out. */
#include "server/api/srv_retrieve.h"

#include "server/run/srv_engine.h"
#include "server/run/srv_model.h"
#include "server/run/srv_msg.h"
#include "server/run/srv_poll.h"
#include "server/run/srv_sampler.h"
#include "server/run/srv_state.h"
#include "server/store/srv_store.h"

#define MANY_POLL_MS 30000 /* official clients wait for 45 s, and expect less */
#define ACKS_AT_ONCE 256   /* ids that are looked up under the lock */

/* Whether "<owner>:<seq>" was given out by a model or sampler; *known is false when the
 * owner is not loaded. */
static bool was_used(srv *server, tk_str owner, int64_t seq, bool *known)
{
    bool used = false;
    *known = true;
    tk_mutex_lock(&server->lock);
    const srv_model *model = srv_model_find(server, owner);
    const srv_sampler *sampler = model == NULL ? srv_sampler_find(server, owner) : NULL;
    if (model != NULL) {
        used = seq <= model->order.max_seq;
    } else if (sampler != NULL) {
        used = seq <= sampler->max_seq;
    } else {
        *known = false;
    }
    tk_mutex_unlock(&server->lock);
    return used;
}

/* Reads a number as the server writes it: digits, without a sign or leading zeros. */
static bool read_number(int64_t *out, tk_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9') {
            return false;
        }
    }
    return (text.n == 1 || (text.n > 1 && text.p[0] != '0')) && tk_str_to_i64(text, out);
}

/* Cuts what follows the last colon off; false when there is none. */
static bool cut_last(tk_str *id, tk_str *last)
{
    size_t colon = id->n;
    while (colon > 0 && id->p[colon - 1] != ':') {
        colon--;
    }
    *last = (tk_str){id->p + colon, id->n - colon};
    id->n = colon > 0 ? colon - 1 : 0;
    return colon > 0;
}

/* Whether a name is "<first>:train:<n>" or "<first>:sample:<n>", of any session. */
static bool is_owner(tk_str name, tk_str *first)
{
    int64_t number = 0;
    *first = tk_str_cut(&name, ':');
    tk_str kind = tk_str_cut(&name, ':');
    return (tk_str_is(kind, "train") || tk_str_is(kind, "sample")) &&
           read_number(&number, name);
}

/* Whether an id of a model or sampler that is not loaded is from before a restart, or of a
 * session that has ended. One of this data directory names no sampler but a number. */
static tinkc_code was_of_session(bool *out, srv *server, tk_str id, tk_str owner,
                                 tk_err *err)
{
    tk_str first = {NULL, 0};
    *out = is_owner(id, &first) && tk_str_is(first, srv_store_instance(server->store));
    if (*out || !is_owner(owner, &first)) {
        return TINKC_OK;
    }
    tinkc_code code = srv_store_find_session(server->store, first, err);
    *out = code == TINKC_OK;
    return code == TINKC_E_MISSING ? TINKC_OK : code;
}

/* Answers 410 for a request id that was given out and is forgotten, 404 for any other. */
static hd_verdict answer_lost(srv *server, hd_request *request, tk_str id)
{
    tk_str owner = id, last = {NULL, 0};
    int64_t seq = 0;
    bool known = false, lost = false;
    if (cut_last(&owner, &last) && read_number(&seq, last)) {
        lost = was_used(server, owner, seq, &known);
        if (!known && !request->may_wait) {
            return hd_request_wait(request);
        }
        tk_err err = TK_ERR_INIT;
        if (!known && was_of_session(&lost, server, id, owner, &err) != TINKC_OK) {
            return hd_reply_error(request, &err);
        }
    }
    return lost ? hd_reply_fail(request, 410, SRV_POLL_GONE)
                : hd_reply_fail(request, 404, "Future not found");
}

/* Parks a poll: for one future, or for the completions of a session. Under the lock. */
static void park(srv *server, srv_poll *poll, srv_future *future, srv_events *events,
                 int64_t hold_ms)
{
    int64_t deadline = tk_clock_mono_ns(NULL) + hold_ms * TK_NS_PER_MS;
    bool first = deadline < srv_future_next_deadline(&server->futures);
    hd_request_shrink(poll->request);
    if (events != NULL) {
        srv_future_park_many(&server->futures, events, poll, deadline);
    } else {
        srv_future_park(&server->futures, future, poll, deadline);
    }
    if (first) {
        tk_cond_signal(&server->keeper_wake);
    }
}

hd_verdict srv_retrieve_future(hd_request *request)
{
    srv *server = request->app;
    tk_retrieve_future_request msg;
    if (!srv_msg_decode(request, &tk_msg_retrieve_future_request, &msg)) {
        return HD_ANSWERED;
    }
    srv_poll *poll = srv_poll_new(request, msg.request_id.v);
    if (poll == NULL) {
        return hd_reply_no_memory(request);
    }
    poll->allow_metadata = msg.allow_metadata_only.v;
    bool parked = false;
    tk_mutex_lock(&server->lock);
    srv_future *future = srv_future_find(&server->futures, msg.request_id.v);
    bool known = future != NULL;
    if (known && !future->done && !atomic_load(&server->stopping)) {
        park(server, poll, future, NULL, server->poll_ms);
        parked = true;
    } else if (known) {
        srv_future_look(&server->futures, poll, future);
    }
    tk_mutex_unlock(&server->lock);
    if (parked) {
        return HD_PARKED;
    }
    return known ? srv_poll_answer(poll) : answer_lost(server, request, msg.request_id.v);
}

/* ---- all of a sampling session ---- */

static void acknowledge(srv *server, tk_str session, const tk_strs *ids)
{
    for (size_t i = 0; i < ids->n; i += ACKS_AT_ONCE) {
        tk_mutex_lock(&server->lock);
        const srv_sampler *sampler = srv_sampler_find(server, session);
        if (sampler != NULL) {
            srv_events_acknowledge(&sampler->events, &server->futures, ids->p + i,
                                   TK_MIN(ids->n - i, ACKS_AT_ONCE));
        }
        tk_mutex_unlock(&server->lock);
    }
}

/* How long a poll may be held: the client may want its answer sooner. */
static int64_t many_hold_ms(const srv *server, const tk_f_num *timeout)
{
    int64_t hold_ms = TK_MIN(server->poll_ms, MANY_POLL_MS);
    if (timeout->is != TK_SET || timeout->v * 1000 >= (double)hold_ms) {
        return hold_ms;
    }
    return timeout->v > 0 ? (int64_t)(timeout->v * 1000) : 0;
}

hd_verdict srv_retrieve_futures(hd_request *request)
{
    srv *server = request->app;
    tk_retrieve_futures_request msg;
    if (!srv_msg_decode(request, &tk_msg_retrieve_futures_request, &msg)) {
        return HD_ANSWERED;
    }
    tk_str session = msg.target.sampling_session_id.v;
    int64_t hold_ms = many_hold_ms(server, &msg.timeout);
    srv_poll *poll = srv_poll_new(request, session);
    if (poll == NULL) {
        return hd_reply_no_memory(request);
    }
    poll->is_many = true;
    poll->clone = msg.target.cloned_sampler_id.v;
    poll->cursor = msg.prev_cursor.v;
    acknowledge(server, session, &msg.retrieved_request_ids);
    bool parked = false;
    tk_mutex_lock(&server->lock);
    srv_sampler *sampler = srv_sampler_find(server, session);
    bool known = sampler != NULL;
    if (known) {
        srv_session_hear(server, session);
        parked = hold_ms > 0 && !atomic_load(&server->stopping) &&
                 !srv_events_any(&sampler->events, poll->clone, poll->cursor);
    }
    if (parked) {
        park(server, poll, NULL, &sampler->events, hold_ms);
    }
    tk_mutex_unlock(&server->lock);
    if (parked) {
        return HD_PARKED;
    }
    return known ? srv_poll_answer(poll)
                 : hd_reply_fail(request, 404, SRV_SAMPLER_MISSING);
}

/* ---- the end of one ---- */

/* A result that is there already stays. */
hd_verdict srv_retrieve_cancel(hd_request *request)
{
    srv *server = request->app;
    tk_cancel_future_request msg;
    if (!srv_msg_decode(request, &tk_msg_cancel_future_request, &msg)) {
        return HD_ANSWERED;
    }
    tk_mutex_lock(&server->lock);
    const srv_future *future = srv_future_find(&server->futures, msg.request_id.v);
    bool known = future != NULL;
    bool fits = known && (future->done || future->sample != NULL);
    if (known && future->sample != NULL) {
        srv_engine_cancel_sample(server->engine, future->sample);
    }
    tk_mutex_unlock(&server->lock);
    if (!known) {
        return hd_reply_fail(request, 404, "Future not found");
    }
    return fits
               ? hd_reply_fixed(request, 200, HD_TYPE_JSON, TK_STR("{}"))
               : hd_reply_fail(request, 400, "request_id: only samples can be cancelled");
}
