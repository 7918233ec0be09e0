/* The conversation, step by step. Decoded messages borrow from their bytes, so every
 * answer is copied into the arena before it is read. */
#include "support/fakeapi_tinker_talk.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <tinkc/version.h>

#include "base/buf.h"
#include "wire/msg_future.h"
#include "wire/msg_model.h"
#include "wire/msg_sample.h"
#include "wire/msg_session.h"
#include "wire/msg_train.h"
#include "wire/msg_weights.h"
#include "wire/pb_fwdbwd.h"
#include "wire/pb_output.h"
#include "wire/pb_sample.h"

#define ATTEMPTS       5
#define POLLS          100
#define BODY_MAX_BYTES (16 * TK_MIB)
#define JSON_TYPE      "application/json"
#define PROTO_TYPE     "application/x-protobuf"

typedef fakeapi_tinker_talk talk;

void fakeapi_tinker_talk_init(fakeapi_tinker_talk *t, int port)
{
    *t = (talk){.port = port, .err = TK_ERR_INIT, .next_seq = 1};
    tk_arena_init(&t->arena, 0);
}

void fakeapi_tinker_talk_dispose(fakeapi_tinker_talk *t)
{
    httpget_close(&t->connection);
    tk_arena_dispose(&t->arena);
}

/* ---- one request ---- */

typedef struct question {
    const char *path;
    const char *type;
    const char *headers;
    tk_str body;
} question;

typedef struct reply {
    tk_str type; /* content type */
    tk_str body; /* in the arena */
} reply;

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static httpget_outcome ask_once(talk *t, const question *q, httpget_response *out)
{
    *out = (httpget_response){0};
    if (t->connection == NULL) {
        t->connection = httpget_connect(t->port);
    }
    if (t->connection == NULL) {
        return HTTPGET_RESET;
    }
    double began = seconds_now();
    (void)httpget_ask(t->connection, &(httpget_request){.method = "POST",
                                                        .target = q->path,
                                                        .headers = q->headers,
                                                        .body = q->body.p,
                                                        .body_n = q->body.n,
                                                        .content_type = q->type});
    httpget_outcome outcome = httpget_read(t->connection, out);
    if (outcome != HTTPGET_OK) {
        httpget_close(&t->connection);
    }
    if (t->watch != NULL) {
        bool is_whole = outcome == HTTPGET_OK;
        const char *type = is_whole ? httpget_header(out, "content-type") : NULL;
        fakeapi_tinker_exchange exchange = {.path = q->path,
                                            .sent_type = q->type,
                                            .sent = q->body,
                                            .outcome = outcome,
                                            .status = is_whole ? out->status : 0,
                                            .answered_type = type != NULL ? type : "",
                                            .answered = {out->body.p, out->body.n},
                                            .seconds = seconds_now() - began};
        t->watch(t->user, &exchange);
    }
    return outcome;
}

static tinkc_code keep_reply(talk *t, httpget_response *r, reply *out)
{
    const char *type = httpget_header(r, "content-type");
    type = type != NULL ? type : "";
    if (!tk_arena_dup(&t->arena, &out->type, type, strlen(type)) ||
        !tk_arena_dup(&t->arena, &out->body, r->body.p, r->body.n)) {
        return tk_err_nomem(&t->err);
    }
    return TINKC_OK;
}

/* Sends the same bytes until an answer comes. 408 is a poll that ran out: *is_empty. */
static tinkc_code ask(talk *t, const question *asked, reply *out, bool *is_empty)
{
    char headers[160];
    snprintf(headers, sizeof(headers), "X-Idempotency-Key: talk-%zu\r\n%s", ++t->calls,
             asked->headers != NULL ? asked->headers : "");
    question with_key = *asked;
    with_key.headers = headers;
    const question *q = &with_key;
    httpget_response r;
    httpget_outcome outcome = ask_once(t, q, &r);
    for (int i = 1; i < ATTEMPTS && outcome != HTTPGET_OK; i++) {
        httpget_response_dispose(&r);
        t->asked_again++;
        outcome = ask_once(t, q, &r);
    }
    tinkc_code code = TINKC_OK;
    *is_empty = false;
    if (outcome != HTTPGET_OK) {
        code = tk_err_set(&t->err, TINKC_E_CONNECTION, "%s: no answer came", q->path);
    } else if (r.status == 408) {
        *is_empty = true;
    } else if (r.status / 100 != 2) {
        code = tk_err_set(&t->err, TINKC_E_STATUS, "%s: status %d: %s", q->path, r.status,
                          r.body.p);
    } else {
        code = keep_reply(t, &r, out);
    }
    httpget_response_dispose(&r);
    return code;
}

static tinkc_code read_json(talk *t, const tk_schema *schema, const reply *r, void *msg)
{
    return tk_schema_decode_text(msg, schema, &t->arena, r->body, 0, &t->err);
}

/* A JSON message out, a JSON message in. */
static tinkc_code call(talk *t, const char *path, const tk_schema *in, const void *msg,
                       const tk_schema *out, void *answer)
{
    tk_buf body;
    tk_buf_init(&body, BODY_MAX_BYTES);
    reply r;
    bool is_empty = false;
    tinkc_code code = tk_schema_encode(&body, in, msg, &t->err);
    if (code == TINKC_OK) {
        question q = {path, JSON_TYPE, NULL, tk_buf_str(&body)};
        code = ask(t, &q, &r, &is_empty);
    }
    if (code == TINKC_OK && is_empty) {
        code = tk_err_set(&t->err, TINKC_E_STATUS, "%s: status 408", path);
    }
    if (code == TINKC_OK) {
        code = read_json(t, out, &r, answer);
    }
    tk_buf_dispose(&body);
    return code;
}

/* ---- futures ---- */

static tinkc_code read_proto(talk *t, tk_future_type type, const reply *r, void *result)
{
    tk_bytes bytes = {(const unsigned char *)r->body.p, r->body.n};
    if (type == TK_FUTURE_SAMPLE) {
        return tk_pb_sample_decode(result, &t->arena, bytes, &t->err);
    }
    return tk_pb_output_decode(result, &t->arena, bytes, &t->err);
}

/* One poll; *is_done when the result is there. */
static tinkc_code poll_once(talk *t, const tk_future_poll *poll, const question *q,
                            void *result, bool *is_done)
{
    reply r;
    bool is_empty = false;
    tinkc_code code = ask(t, q, &r, &is_empty);
    if (code != TINKC_OK || is_empty) {
        return code;
    }
    tk_future_poll answered = *poll;
    answered.content_type = r.type;
    tk_future_answer answer;
    code = tk_future_classify(&answer, &answered, &t->arena, r.body, &t->err);
    if (code != TINKC_OK) {
        return code;
    }
    switch (answer.kind) {
    case TK_ANSWER_PROTO:
        *is_done = true;
        return read_proto(t, poll->type, &r, result);
    case TK_ANSWER_RESULT:
        *is_done = true;
        return read_json(t, tk_future_info_of(poll->type)->result, &r, result);
    case TK_ANSWER_TRY_AGAIN:
        return TINKC_OK;
    case TK_ANSWER_FAILED:
        return tk_err_set(&t->err, TINKC_E_REQUEST, "failed: " TK_STR_FMT,
                          TK_STR_ARG(answer.error));
    case TK_ANSWER_METADATA:
    case TK_ANSWER_METADATA_TWICE:
    case TK_ANSWER_OTHER:
    case TK_ANSWER_MALFORMED:
        break;
    }
    return tk_err_set(&t->err, TINKC_E_DECODE, "%s: unexpected answer", q->path);
}

static tinkc_code wait_for(talk *t, tk_future_type type, const tk_future_response *future,
                           void *result)
{
    const tk_future_info *info = tk_future_info_of(type);
    tk_retrieve_future_request msg = {.request_id = future->request_id,
                                      .allow_metadata_only = TK_F_VAL(false)};
    tk_buf body;
    tk_buf_init(&body, BODY_MAX_BYTES);
    tinkc_code code =
        tk_schema_encode(&body, &tk_msg_retrieve_future_request, &msg, &t->err);
    tk_future_poll poll = {.type = type};
    question q = {"/api/v1/retrieve_future", JSON_TYPE,
                  info->is_proto ? "Accept: " PROTO_TYPE "\r\n" : NULL,
                  tk_buf_str(&body)};
    bool is_done = false;
    for (int i = 0; i < POLLS && code == TINKC_OK && !is_done; i++) {
        code = poll_once(t, &poll, &q, result, &is_done);
    }
    if (code == TINKC_OK && !is_done) {
        code = tk_err_set(&t->err, TINKC_E_STUCK, "no result after %d polls", POLLS);
    }
    tk_buf_dispose(&body);
    return code;
}

/* A JSON message out, the result of its future in. */
static tinkc_code run(talk *t, const char *path, const tk_schema *in, const void *msg,
                      tk_future_type type, void *result)
{
    tk_future_response future;
    tinkc_code code = call(t, path, in, msg, &tk_msg_future_response, &future);
    return code == TINKC_OK ? wait_for(t, type, &future, result) : code;
}

/* ---- the steps ---- */

static tk_f_str str(tk_str v)
{
    return (tk_f_str){TK_SET, v};
}

static tinkc_code configure(talk *t)
{
    tk_client_config_request msg = {.sdk_version = TK_F_STR(TINKC_SDK_LEVEL)};
    tk_client_config config;
    return call(t, "/api/v1/client/config", &tk_msg_client_config_request, &msg,
                &tk_msg_client_config, &config);
}

static tinkc_code create_session(talk *t)
{
    tk_create_session_request msg = {.sdk_version = TK_F_STR(TINKC_SDK_LEVEL)};
    tk_create_session_response answer;
    tinkc_code code = call(t, "/api/v1/create_session", &tk_msg_create_session_request,
                           &msg, &tk_msg_create_session_response, &answer);
    t->session_id = answer.session_id.v;
    return code;
}

static tinkc_code create_model(talk *t)
{
    tk_create_model_request msg = {
        .session_id = str(t->session_id),
        .model_seq_id = TK_F_VAL(0),
        .base_model = TK_F_STR("scripted/model"),
        .lora_config = {TK_SET, {.rank = TK_F_VAL(8)}},
    };
    tk_model_result result;
    tinkc_code code = run(t, "/api/v1/create_model", &tk_msg_create_model_request, &msg,
                          TK_FUTURE_CREATE_MODEL, &result);
    if (code == TINKC_OK) {
        t->model_id = result.model_id.v;
    }
    return code;
}

/* Tokens that count up; the target of each is the next. */
static void fill_data(int32_t *tokens, int64_t *targets)
{
    for (int i = 0; i < FAKEAPI_TINKER_TALK_TOKENS; i++) {
        tokens[i] = 1000 + i;
        targets[i] = 1001 + i;
    }
}

static tinkc_code send_batch(talk *t, const tk_buf *body, tk_future_response *future)
{
    question q = {"/api/v1/forward_backward", PROTO_TYPE, NULL, tk_buf_str(body)};
    reply r;
    bool is_empty = false;
    tinkc_code code = ask(t, &q, &r, &is_empty);
    if (code == TINKC_OK && is_empty) {
        code = tk_err_set(&t->err, TINKC_E_STATUS, "%s: status 408", q.path);
    }
    return code == TINKC_OK ? read_json(t, &tk_msg_future_response, &r, future) : code;
}

/* What the older JSON form of the request would weigh. */
static void weigh_as_json(talk *t, const tk_fwdbwd_request *msg)
{
    tk_buf body;
    tk_buf_init(&body, BODY_MAX_BYTES);
    if (tk_schema_encode(&body, &tk_msg_forward_backward_request, msg, NULL) ==
        TINKC_OK) {
        t->as_json_bytes = body.n;
    }
    tk_buf_dispose(&body);
}

static tinkc_code forward_backward(talk *t)
{
    int32_t tokens[FAKEAPI_TINKER_TALK_TOKENS];
    int64_t targets[FAKEAPI_TINKER_TALK_TOKENS];
    fill_data(tokens, targets);
    tk_chunk chunk = {.kind = TK_CHUNK_TEXT, .tokens = {tokens, TK_ARRAY_LEN(tokens)}};
    tk_named_tensor input = {
        TK_STR("target_tokens"),
        {.dtype = TK_DTYPE_I64, .data = targets, .n = TK_ARRAY_LEN(targets)}};
    tk_datum data[FAKEAPI_TINKER_TALK_DATUMS];
    for (size_t i = 0; i < TK_ARRAY_LEN(data); i++) {
        data[i] = (tk_datum){.model_input = {&chunk, 1}, .loss_fn_inputs = {&input, 1}};
    }
    tk_fwdbwd_request msg = {.model_id = t->model_id,
                             .seq_id = t->next_seq++,
                             .data = data,
                             .data_n = TK_ARRAY_LEN(data),
                             .loss_fn = TK_STR("cross_entropy")};
    tk_buf body;
    tk_buf_init(&body, BODY_MAX_BYTES);
    tk_future_response future;
    tinkc_code code = tk_pb_fwdbwd_encode(&body, &msg, &t->err);
    t->request_bytes = body.n;
    if (t->watch != NULL) {
        weigh_as_json(t, &msg);
    }
    if (code == TINKC_OK) {
        code = send_batch(t, &body, &future);
    }
    if (code == TINKC_OK) {
        code = wait_for(t, TK_FUTURE_FORWARD_BACKWARD, &future, &t->losses);
    }
    tk_buf_dispose(&body);
    return code;
}

static tinkc_code optim_step(talk *t)
{
    tk_optim_step_request msg = {
        .adam_params = {TK_SET, {.learning_rate = TK_F_VAL(0.001)}},
        .model_id = str(t->model_id),
        .seq_id = TK_F_VAL(t->next_seq++)};
    tk_optim_step_result result;
    return run(t, "/api/v1/optim_step", &tk_msg_optim_step_request, &msg,
               TK_FUTURE_OPTIM_STEP, &result);
}

static tinkc_code save(talk *t)
{
    tk_save_for_sampler_request msg = {.model_id = str(t->model_id),
                                       .path = TK_F_STR("first"),
                                       .seq_id = TK_F_VAL(t->next_seq++)};
    tk_save_for_sampler_result result;
    tinkc_code code =
        run(t, "/api/v1/save_weights_for_sampler", &tk_msg_save_for_sampler_request, &msg,
            TK_FUTURE_SAVE_WEIGHTS_FOR_SAMPLER, &result);
    if (code == TINKC_OK) {
        t->checkpoint = result.path.v;
    }
    return code;
}

static tinkc_code create_sampling_session(talk *t)
{
    tk_create_sampling_session_request msg = {.session_id = str(t->session_id),
                                              .sampling_session_seq_id = TK_F_VAL(0),
                                              .model_path = str(t->checkpoint)};
    tk_create_sampling_session_response answer;
    tinkc_code code = call(t, "/api/v1/create_sampling_session",
                           &tk_msg_create_sampling_session_request, &msg,
                           &tk_msg_create_sampling_session_response, &answer);
    t->sampling_session_id = answer.sampling_session_id.v;
    return code;
}

static tinkc_code sample(talk *t)
{
    static const int32_t prompt[] = {1000, 1001, 1002};
    tk_chunk chunk = {.kind = TK_CHUNK_TEXT, .tokens = {prompt, TK_ARRAY_LEN(prompt)}};
    tk_sample_request msg = {.prompt = {&chunk, 1},
                             .sampling_params = {.max_tokens = TK_F_VAL(8)},
                             .sampling_session_id = str(t->sampling_session_id),
                             .seq_id = TK_F_VAL(0)};
    return run(t, "/api/v1/asample", &tk_msg_sample_request, &msg, TK_FUTURE_SAMPLE,
               &t->sample);
}

const fakeapi_tinker_step fakeapi_tinker_steps[] = {
    {"client/config", "the server says how it wants to be used", configure},
    {"create_session", "everything after it belongs to this session", create_session},
    {"create_model", "a LoRA model to train; the answer is a future", create_model},
    {"forward_backward", "token arrays as protobuf, log probabilities back",
     forward_backward},
    {"optim_step", "one AdamW step on the gradients", optim_step},
    {"forward_backward", "the same data again, after the step", forward_backward},
    {"save_weights_for_sampler", "a checkpoint with a tinker:// path", save},
    {"create_sampling_session", "a sampler on that checkpoint", create_sampling_session},
    {"asample", "a prompt of token ids in, token ids out", sample},
};
const size_t fakeapi_tinker_steps_n = TK_ARRAY_LEN(fakeapi_tinker_steps);
