/* The routes of samples, and the text of ids. */
#include <math.h>

#include "console/con_int.h"
#include "console/con_json.h"
#include "console/con_text.h"
#include "httpd/hd_reply.h"

#define LIMIT_MAX 500
#define IDS_MAX   65536 /* of one decode */

static void put_sample(tk_json_writer *w, const con_sample *sample)
{
    con_json_int(w, "id", sample->id);
    con_json_int(w, "group", sample->group);
    con_json_int(w, "time_ms", sample->time_ms);
    con_json_str(w, "model", sample->model);
    con_json_str(w, "run", sample->run);
    con_json_str(w, "path", sample->path);
    con_json_str(w, "sampler", sample->sampler);
    con_json_str(w, "stop", sample->stopped ? TK_STR("stop") : TK_STR("length"));
    con_json_int(w, "prompt_tokens", sample->prompt_tokens);
    con_json_int(w, "tokens", sample->tokens);
    con_json_num(w, "mean_logprob", sample->mean_logprob);
    con_json_str(w, "text", sample->text);
}

static bool read_query(con_samples_query *query, hd_request *request)
{
    *query = (con_samples_query){
        .before = INT64_MAX,
        .group = CON_UNKNOWN,
        .run = hd_request_query(request, "run"),
        .model = hd_request_query(request, "model"),
        .search = hd_request_query(request, "search"),
    };
    if (!con_json_query_int(request, "group", 0, INT64_MAX, &query->group) ||
        !con_json_query_int(request, "before", 0, INT64_MAX, &query->before)) {
        return false;
    }
    query->limit = query->group != CON_UNKNOWN ? CON_GROUP_MAX : 50;
    return con_json_query_int(request, "limit", 1, LIMIT_MAX, &query->limit);
}

hd_verdict con_samples_list(con *console, hd_request *request)
{
    con_samples_query query;
    con_samples list = {.next = CON_UNKNOWN};
    con_answer answer;
    tk_err err = TK_ERR_INIT;
    if (!read_query(&query, request)) {
        return HD_ANSWERED;
    }
    if (console->data.samples != NULL &&
        console->data.samples(console->data.user, &list, &request->arena, &query, &err) !=
            TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    con_json_begin(&answer, request);
    con_json_key(&answer.w, "samples");
    tk_json_begin_array(&answer.w);
    for (size_t i = 0; i < list.n; i++) {
        tk_json_begin_object(&answer.w);
        put_sample(&answer.w, &list.p[i]);
        tk_json_end_object(&answer.w);
    }
    tk_json_end_array(&answer.w);
    con_json_bool(&answer.w, "more", list.more);
    con_json_int(&answer.w, "next", list.more ? list.next : CON_UNKNOWN);
    con_json_bool(&answer.w, "recording", list.recording);
    con_json_int(&answer.w, "dropped", list.dropped);
    return con_json_reply(&answer);
}

/* ---- one ---- */

static void put_tokens(tk_json_writer *w, const char *key, const con_tokens *tokens)
{
    con_json_key(w, key);
    tk_json_begin_object(w);
    con_json_key(w, "ids");
    tk_json_put_i32s(w, tokens->ids, tokens->n);
    con_json_key(w, "text");
    if (tokens->text != NULL) {
        con_text_put(w, tokens->text, tokens->n);
    } else {
        tk_json_put_null(w);
    }
    if (tokens->logprobs != NULL) {
        con_json_key(w, "logprobs");
        tk_json_begin_array(w);
        for (size_t i = 0; i < tokens->n; i++) {
            con_json_put_num(w, (double)tokens->logprobs[i]);
        }
        tk_json_end_array(w);
    }
    tk_json_end_object(w);
}

/* Reads the id of the path; answers and returns false when it is none. */
static bool read_id(int64_t *out, hd_request *request)
{
    if (tk_str_to_i64(request->params[0], out) && *out >= 0) {
        return true;
    }
    (void)hd_reply_fail(request, 404, "there is no such sample");
    return false;
}

hd_verdict con_samples_get(con *console, hd_request *request)
{
    con_sample_details details = {0};
    con_answer answer;
    tk_err err = TK_ERR_INIT;
    int64_t id = 0;
    if (!read_id(&id, request)) {
        return HD_ANSWERED;
    }
    if (console->data.sample == NULL) {
        return hd_reply_fail(request, 404, "there is no such sample");
    }
    if (console->data.sample(console->data.user, &details, &request->arena, id, &err) !=
        TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    con_json_begin(&answer, request);
    put_sample(&answer.w, &details.sample);
    put_tokens(&answer.w, "prompt", &details.prompt);
    put_tokens(&answer.w, "output", &details.output);
    return con_json_reply(&answer);
}

hd_verdict con_samples_forget(con *console, hd_request *request)
{
    con_answer answer;
    tk_err err = TK_ERR_INIT;
    int64_t id = CON_UNKNOWN, n = 0;
    if (request->params[0].n > 0 && !read_id(&id, request)) {
        return HD_ANSWERED;
    }
    if (console->data.forget != NULL &&
        console->data.forget(console->data.user, &n, id, &err) != TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    con_json_begin(&answer, request);
    con_json_int(&answer.w, "deleted", n);
    return con_json_reply(&answer);
}

/* ---- decode ---- */

typedef struct ids {
    tk_str model;
    int32_t *p;
    size_t n;
} ids;

/* Reads {"model": "...", "ids": [...]}; answers and returns false for anything else. */
static bool read_ids(ids *out, hd_request *request)
{
    const tk_json *body = NULL;
    tk_err err = TK_ERR_INIT;
    if (tk_json_parse(&body, &request->arena, request->body.p, request->body.n, NULL,
                      &err) != TINKC_OK) {
        (void)hd_reply_error(request, &err);
        return false;
    }
    const tk_json *model = tk_json_get(body, "model");
    const tk_json *list = tk_json_get(body, "ids");
    if (model == NULL || model->type != TK_JSON_STRING || !tk_json_is_array(list)) {
        (void)hd_reply_field(request, model == NULL ? "model" : "ids",
                             "must be a model and an array of ids");
        return false;
    }
    *out = (ids){.model = model->as.string, .n = tk_json_len(list)};
    out->p = tk_arena_array(&request->arena, out->n + 1, sizeof(*out->p));
    if (out->n > IDS_MAX || out->p == NULL) {
        (void)hd_reply_field(request, "ids", "has too many ids");
        return false;
    }
    for (size_t i = 0; i < out->n; i++) {
        const tk_json item = tk_json_at(list, i);
        int64_t id = 0;
        if (!tk_json_to_i64(&item, &id) || id < 0 || id > INT32_MAX) {
            (void)hd_reply_field(request, "ids", "must be ids of tokens");
            return false;
        }
        out->p[i] = (int32_t)id;
    }
    return true;
}

hd_verdict con_samples_decode(con *console, hd_request *request)
{
    ids in = {0};
    con_answer answer;
    tk_err err = TK_ERR_INIT;
    if (!read_ids(&in, request)) {
        return HD_ANSWERED;
    }
    tk_str *texts = tk_arena_array(&request->arena, in.n + 1, sizeof(*texts));
    if (texts == NULL) {
        return hd_reply_busy(request);
    }
    if (console->data.decode == NULL) {
        return hd_reply_fail(request, 404, "there is no tokenizer here");
    }
    if (console->data.decode(console->data.user, texts, &request->arena, in.model, in.p,
                             in.n, &err) != TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    con_json_begin(&answer, request);
    con_json_key(&answer.w, "text");
    con_text_put(&answer.w, texts, in.n);
    return con_json_reply(&answer);
}
