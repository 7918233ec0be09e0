/* Answers of retrieve_future: pending, failed, lost, announced, JSON or protobuf
 * (docs/protocol.md §11 rows 6 to 12). */
#include "server/run/srv_poll.h"

#include <string.h>

#include "base/mem.h"
#include "server/run/srv_head.h"
#include "server/run/srv_msg.h"
#include "server/run/srv_sampler.h"
#include "server/run/srv_state.h"
#include "wire/msg_value.h"
#include "wire/pb_output.h"
#include "wire/pb_sample.h"

static void free_poll(void *state)
{
    srv_poll *poll = state;
    hd_blob_release(poll->result);
    tk_free(poll);
}

srv_poll *srv_poll_new(hd_request *request, tk_str id)
{
    srv_poll *poll = tk_zalloc(sizeof(*poll) + id.n + 1);
    if (poll == NULL) {
        return NULL;
    }
    if (id.n > 0) {
        memcpy(poll->id, id.p, id.n);
    }
    tk_list_init(&poll->waiting);
    poll->request = request;
    request->state = poll;
    request->free_state = free_poll;
    return poll;
}

static const char starved[] =
    "{\"error\":\"the server is out of memory\",\"category\":\"server\"}";

static hd_verdict answer_many(const srv_poll *poll)
{
    hd_request *request = poll->request;
    srv *server = request->app;
    tk_retrieve_futures_response msg = {.cursor = {TK_SET, poll->cursor}};
    bool ok = true;
    if (atomic_load(&server->stopping)) {
        return hd_reply_fail(request, 503, "the server is stopping");
    }
    tk_mutex_lock(&server->lock);
    const srv_sampler *sampler = srv_sampler_find(server, tk_str_of(poll->id));
    if (sampler != NULL) { /* else its session has ended, and the next poll gets 404 */
        ok = srv_events_read(&msg, &sampler->events, &request->arena, poll->clone,
                             poll->cursor);
    }
    tk_mutex_unlock(&server->lock);
    return ok ? srv_msg_reply(request, &tk_msg_retrieve_futures_response, &msg)
              : hd_reply_busy(request);
}

static hd_verdict answer_pending(const srv_poll *poll)
{
    hd_request *request = poll->request;
    const srv *server = request->app;
    if (atomic_load(&server->stopping)) {
        return hd_reply_fail(request, 503, "the server is stopping");
    }
    tk_try_again msg = {
        .request_id = {TK_SET, tk_str_of(poll->id)},
        .queue_state = {TK_SET, (int)poll->wait.state},
        .queue_state_reason = {poll->wait.reason != NULL ? TK_SET : TK_NULL,
                               tk_str_of(poll->wait.reason)},
    };
    return srv_msg_reply_status(request, 408, &tk_msg_try_again, &msg);
}

static hd_verdict answer_metadata(hd_request *request, size_t n)
{
    tk_complete_metadata msg = {.response_payload_size = {TK_SET, (int64_t)n}};
    return srv_msg_reply(request, &tk_msg_complete_metadata, &msg);
}

/* Writes the JSON form of a result. */
static tinkc_code render(tk_buf *buf, const srv_poll *poll, tk_arena *arena, tk_err *err)
{
    const tk_bytes bytes = {(const unsigned char *)poll->result->p, poll->result->n};
    tinkc_code code;
    if (poll->type == TK_FUTURE_SAMPLE) {
        tk_sample_response msg;
        code = tk_pb_sample_decode(&msg, arena, bytes, err);
        if (code == TINKC_OK) {
            code = tk_schema_encode(buf, &tk_msg_sample_response, &msg, err);
        }
    } else {
        tk_fwdbwd_output msg;
        code = tk_pb_output_decode(&msg, arena, bytes, err);
        if (code == TINKC_OK) {
            code = tk_schema_encode(buf, &tk_msg_fwdbwd_output, &msg, err);
        }
    }
    return code;
}

/* Old clients read JSON where protobuf is the rule (docs/protocol.md Appendix A). It is
 * written once and kept with the result: all polls send the same bytes. */
static hd_verdict answer_as_json(const srv_poll *poll)
{
    hd_request *request = poll->request;
    hd_blob *json = atomic_load(&poll->result->form);
    tinkc_code code = TINKC_OK;
    tk_err err = TK_ERR_INIT;
    if (json == NULL) {
        tk_arena arena;
        tk_buf buf;
        tk_arena_init_quota(&arena, 0, hd_request_quota(request));
        tk_buf_init_quota(&buf, TK_JSON_MAX_BYTES, hd_request_quota(request));
        code = render(&buf, poll, &arena, &err);
        bool full = arena.refused || buf.failure == TINKC_E_RATE_LIMIT;
        tk_arena_dispose(&arena);
        json = code == TINKC_OK ? hd_blob_take(&buf) : NULL;
        tk_buf_dispose(&buf);
        if (json == NULL) {
            return full ? hd_reply_busy(request)
                        : hd_reply_fail(request, 500, "%s", err.message);
        }
        hd_blob_charge(json, request->budget, SRV_PART_RESULTS);
        json = hd_blob_add_form(poll->result, json);
    }
    return hd_reply_blob(request, 200, HD_TYPE_JSON, hd_blob_retain(json));
}

hd_verdict srv_poll_answer(srv_poll *poll)
{
    hd_request *request = poll->request;
    if (poll->is_many) {
        return answer_many(poll);
    }
    if (!poll->done) {
        return answer_pending(poll);
    }
    if (poll->starved) {
        return hd_reply_fixed(request, 200, HD_TYPE_JSON, TK_STR(starved));
    }
    if (poll->result == NULL) {
        return hd_reply_fail(request, 410, SRV_POLL_GONE);
    }
    if (poll->allow_metadata && poll->result->n > SRV_METADATA_BYTES) {
        return answer_metadata(request, poll->result->n);
    }
    if (poll->is_proto && !srv_head_wants_proto(request)) {
        return answer_as_json(poll);
    }
    hd_blob *result = poll->result;
    poll->result = NULL;
    return hd_reply_blob(request, 200, poll->is_proto ? SRV_TYPE_PROTO : HD_TYPE_JSON,
                         result);
}

void srv_poll_release(tk_list *released)
{
    tk_list *node;
    while ((node = tk_list_pop_front(released)) != NULL) {
        srv_poll *poll = TK_CONTAINER_OF(node, srv_poll, waiting);
        hd_request *request = poll->request;
        (void)srv_poll_answer(poll);
        hd_request_resume(request); /* the poll may be gone after this */
    }
}
