/* Answers of retrieve_future (wire.md §4 and §11 rows 6 to 12). */
#include "server/api/srv_poll.h"

#include <string.h>

#include "base/mem.h"
#include "server/api/srv_model.h"
#include "server/http/srv_reply.h"
#include "server/srv_int.h"
#include "wire/msg_value.h"
#include "wire/pb_output.h"
#include "wire/pb_sample.h"

static const char starved[] =
    "{\"error\":\"the server is out of memory\",\"category\":\"server\"}";

static srv_verdict answer_pending(srv_request *request)
{
    const srv_poll *poll = &request->poll;
    if (atomic_load(&request->server->stopping)) {
        return srv_reply_fail(request, 503, "the server is stopping");
    }
    tk_try_again msg = {
        .request_id = {TK_SET, tk_str_of(poll->id)},
        .queue_state = {TK_SET, poll->state},
        .queue_state_reason = {poll->reason != NULL ? TK_SET : TK_NULL,
                               tk_str_of(poll->reason)},
    };
    return srv_reply_msg_status(request, 408, &tk_msg_try_again, &msg);
}

static srv_verdict answer_metadata(srv_request *request, size_t n)
{
    tk_complete_metadata msg = {.response_payload_size = {TK_SET, (int64_t)n}};
    return srv_reply_msg(request, &tk_msg_complete_metadata, &msg);
}

/* Old clients read JSON where protobuf is the rule (wire.md Appendix A). */
static srv_verdict answer_as_json(srv_request *request)
{
    const srv_poll *poll = &request->poll;
    const tk_bytes bytes = {(const unsigned char *)poll->result->p, poll->result->n};
    tk_err err = TK_ERR_INIT;
    tk_arena arena;
    tk_arena_init(&arena, 0);
    tk_buf buf;
    tk_buf_init(&buf, TK_JSON_MAX_BYTES);
    tinkc_code code;
    if (poll->type == (int)TK_FUTURE_SAMPLE) {
        tk_sample_response msg;
        code = tk_pb_sample_decode(&msg, &arena, bytes, &err);
        if (code == TINKC_OK) {
            code = tk_schema_encode(&buf, &tk_msg_sample_response, &msg, &err);
        }
    } else {
        tk_fwdbwd_output msg;
        code = tk_pb_output_decode(&msg, &arena, bytes, &err);
        if (code == TINKC_OK) {
            code = tk_schema_encode(&buf, &tk_msg_fwdbwd_output, &msg, &err);
        }
    }
    tk_arena_dispose(&arena);
    if (code != TINKC_OK) {
        tk_buf_dispose(&buf);
        return srv_reply_fail(request, 500, "%s", err.message);
    }
    return srv_reply_buf(request, 200, SRV_TYPE_JSON, &buf);
}

static srv_verdict answer(srv_request *request)
{
    srv_poll *poll = &request->poll;
    if (!poll->done) {
        return answer_pending(request);
    }
    if (poll->starved) {
        return srv_reply_fixed(request, 200, SRV_TYPE_JSON, TK_STR(starved));
    }
    if (poll->result == NULL) {
        return srv_reply_fail(request, 410, "the result is not kept any more");
    }
    if (poll->allow_metadata && poll->result->n > SRV_METADATA_BYTES) {
        return answer_metadata(request, poll->result->n);
    }
    if (poll->is_proto && !request->wants_proto) {
        return answer_as_json(request);
    }
    srv_blob *result = poll->result;
    poll->result = NULL;
    return srv_reply_blob(request, 200, poll->is_proto ? SRV_TYPE_PROTO : SRV_TYPE_JSON,
                          result);
}

void srv_poll_release(tk_list *released)
{
    tk_list *node;
    while ((node = tk_list_pop_front(released)) != NULL) {
        srv_request *request = TK_CONTAINER_OF(node, srv_request, waiting);
        (void)answer(request);
        srv_request_resume(request);
    }
}

void srv_poll_finish(srv *server, srv_future *future, srv_blob *result, bool is_proto)
{
    tk_list released;
    tk_list_init(&released);
    tk_mutex_lock(&server->lock);
    srv_future_finish(&server->futures, future, result, is_proto, tk_clock_mono_ns(NULL),
                      &released);
    tk_mutex_unlock(&server->lock);
    srv_poll_release(&released);
}

void srv_poll_fail(srv *server, srv_future *future, const char *text,
                   tinkc_category category)
{
    srv_poll_finish(server, future, srv_future_failure(text, category), false);
}

static bool park(srv *server, srv_request *request, srv_future *future)
{
    int64_t now = tk_clock_mono_ns(NULL);
    int64_t deadline = now + server->poll_ms * TK_NS_PER_MS;
    bool first = deadline < srv_future_next_deadline(&server->futures);
    srv_request_shrink(request);
    srv_future_park(&server->futures, future, request, deadline);
    if (first) {
        tk_cond_signal(&server->keeper_wake);
    }
    return true;
}

srv_verdict srv_poll_retrieve(srv *server, srv_request *request)
{
    tk_retrieve_future_request msg;
    if (!srv_request_decode(request, &tk_msg_retrieve_future_request, &msg)) {
        return SRV_ANSWERED;
    }
    request->poll.allow_metadata = msg.allow_metadata_only.v;
    request->poll.id = tk_strndup(msg.request_id.v.p, msg.request_id.v.n);
    if (request->poll.id == NULL) {
        return srv_reply_fail(request, 500, "out of memory");
    }
    bool parked = false;
    bool known = false;
    tk_mutex_lock(&server->lock);
    srv_future *future = srv_future_find(&server->futures, msg.request_id.v);
    known = future != NULL;
    if (known && !future->done && !atomic_load(&server->stopping)) {
        parked = park(server, request, future);
    } else if (known) {
        srv_future_look(request, future);
    }
    tk_mutex_unlock(&server->lock);
    if (parked) {
        return SRV_PARKED;
    }
    return known ? answer(request)
                 : srv_model_answer_lost(server, request, msg.request_id.v);
}
