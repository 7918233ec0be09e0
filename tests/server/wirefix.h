/* A server in this process with a session and a model, and the bodies of requests to it,
 * word for word: what the tests of the protocol share. Thread: one per fixture. */
#ifndef SERVER_WIREFIX_H
#define SERVER_WIREFIX_H

#include "server/run/srv_embed.h"
#include "server/srvfix.h"

#define API   "/api/v1/"
#define MODEL SRV_EMBED_NAME

typedef struct fix {
    srvfix f;
    const char *session;
    const char *model;
} fix;

static inline const char *format_body(fix *t, const char *format, ...) TK_PRINTF(2, 3);

static inline const char *format_body(fix *t, const char *format, ...)
{
    char text[1024];
    tk_str copy;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < sizeof(text));
    assert_true(tk_arena_dup(&t->f.arena, &copy, text, (size_t)n));
    return copy.p;
}

/* Polls until the result is there. */
static inline const tk_json *result_of(fix *t, const char *request_id)
{
    const char *body = format_body(t, "{\"request_id\":\"%s\"}", request_id);
    const tk_json *json;
    do {
        json = srvfix_post(&t->f, API "retrieve_future", body);
    } while (t->f.status == 408);
    return json;
}

/* Submits and returns the request id. */
static inline const char *submit(fix *t, const char *path, const char *body)
{
    const tk_json *json = srvfix_post(&t->f, path, body);
    if (t->f.status != 200) {
        fail_msg("%s: %d %s", path, t->f.status, srvfix_text(json, "detail"));
    }
    return srvfix_text(json, "request_id");
}

static inline const char *create_body(fix *t, int seq, const char *lora)
{
    return format_body(
        t,
        "{\"session_id\":\"%s\",\"model_seq_id\":%d,\"base_model\":\"" MODEL
        "\",\"lora_config\":%s,\"type\":\"create_model\"}",
        t->session, seq, lora);
}

static inline void open_model(fix *t)
{
    t->session = srvfix_session(&t->f);
    const char *id = submit(t, API "create_model", create_body(t, 0, "{\"rank\":4}"));
    t->model = srvfix_text(result_of(t, id), "model_id");
}

static inline void open_fix(fix *t, srv_options options)
{
    srvfix_open(&t->f, options);
    open_model(t);
}

static inline void close_fix(fix *t)
{
    srvfix_close(&t->f);
}

static inline const char *train_body(fix *t, int seq, const char *loss)
{
    return format_body(
        t,
        "{\"forward_backward_input\":{\"data\":[{\"loss_fn_inputs\":{\"target_tokens\":"
        "{\"data\":[7,8],\"dtype\":\"int64\"},\"weights\":{\"data\":[1.0,1.0],\"dtype\":"
        "\"float32\"}},\"model_input\":{\"chunks\":[{\"tokens\":[5,7],\"type\":"
        "\"encoded_text\"}]}}],\"loss_fn\":\"%s\"},\"model_id\":\"%s\",\"seq_id\":%d}",
        loss, t->model, seq);
}

static inline const char *step_body(fix *t, int seq, const char *rate)
{
    return format_body(t,
                       "{\"adam_params\":{\"learning_rate\":%s},\"model_id\":\"%s\","
                       "\"seq_id\":%d,\"type\":\"optim_step\"}",
                       rate, t->model, seq);
}

static inline const char *ephemeral_body(fix *t, int sampler_seq)
{
    return format_body(t,
                       "{\"model_id\":\"%s\",\"sampling_session_seq_id\":%d,"
                       "\"seq_id\":2}",
                       t->model, sampler_seq);
}

static inline const char *save_body(fix *t, int seq, const char *overwrite)
{
    return format_body(t,
                       "{\"model_id\":\"%s\",\"path\":\"n\",\"seq_id\":%d,"
                       "\"overwrite\":%s}",
                       t->model, seq, overwrite);
}

/* Sends a poll for a request, without waiting for its answer. */
static inline httpget *send_poll(fix *t, const char *id)
{
    const httpget_request request = {.method = "POST",
                                     .target = API "retrieve_future",
                                     .body =
                                         format_body(t, "{\"request_id\":\"%s\"}", id)};
    httpget *poll = httpget_connect(srvfix_port(&t->f));
    assert_non_null(poll);
    assert_true(httpget_ask(poll, &request));
    return poll;
}

#endif
