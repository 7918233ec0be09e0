/* A gateway on a free port over a backend that samples what a test wrote, and requests to
 * it. The backend answers at once, when the test says so, or not at all. */
#ifndef GATEWAY_FRONTFIX_H
#define GATEWAY_FRONTFIX_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/thread.h"
#include "gateway/gw.h"
#include "httpd/hd_http.h"
#include "httpd/hd_reply.h"
#include "support/httpget.h"
#include "support/test.h"
#include "text/tok/tok_embed.h"

#define FRONTFIX_CONTEXT 512
#define FRONTFIX_MODEL   "fix/model"

static const char frontfix_template[] =
    "{{ bos_token }}{% for message in messages %}{{ '<|' + message['role'] + '|>' + "
    "message['content'] + '<|end|>' }}{% endfor %}{% if add_generation_prompt %}{{ "
    "'<|assistant|>' }}{% endif %}";

typedef struct frontfix_sample { /* gw_sample */
    struct frontfix *fix;
    gw_listener listener;
    int32_t *ids;
    size_t n;
    size_t n_answers;
    size_t n_prompt;
    bool scores;
    bool is_taken; /* on_done has been, or is being, called */
} frontfix_sample;

typedef struct frontfix {
    hd_budget memory;
    hd_work *work;
    hd_http *http;
    gw *gateway;
    int port;
    gw_model *model;
    tk_arena arena; /* of answers */
    int status;     /* of the last answer */
    /* the script */
    const char *says; /* text that is sampled, and then the end of the turn */
    bool is_held;     /* samples wait for frontfix_release */
    int fails;        /* status of a fault at the end; 0 = none */
    int refuses;      /* status with which samples are refused; 0 = none */
    bool is_cut;      /* the end is missing: the limit was reached */
    /* under the lock */
    tk_mutex lock;
    tk_cond changed;
    frontfix_sample *held; /* the one that waits */
    size_t n_samples, n_cancelled, n_find;
    size_t n_running; /* samples that have not ended */
    int32_t last_prompt[FRONTFIX_CONTEXT];
    size_t n_last_prompt;
    size_t last_max;
} frontfix;

/* ---- the backend ---- */

static inline void frontfix_finish(frontfix_sample *s, int status)
{
    float logprobs[FRONTFIX_CONTEXT];
    float prompt[FRONTFIX_CONTEXT];
    int32_t top_ids[FRONTFIX_CONTEXT];
    gw_sequence sequences[64];
    ca_fault fault = {.status = status, .err = TK_ERR_INIT};
    (void)tk_err_set(&fault.err, TINKC_E_STATE, "the script says so");
    for (size_t i = 0; i < FRONTFIX_CONTEXT; i++) {
        logprobs[i] = -0.5F;
        prompt[i] = i == 0 ? NAN : -0.25F;
        top_ids[i] = 5;
    }
    for (size_t i = 0; i < s->n_answers; i++) {
        sequences[i] = (gw_sequence){.ids = s->ids,
                                     .logprobs = logprobs,
                                     .top_ids = s->scores ? top_ids : NULL,
                                     .top_logprobs = s->scores ? logprobs : NULL,
                                     .n = s->n,
                                     .k = s->scores ? 1 : 0,
                                     .is_stopped = !s->fix->is_cut};
    }
    const gw_sample_result result = {.sequences = sequences,
                                     .n = s->n_answers,
                                     .prompt_logprobs = prompt,
                                     .cached = 1};
    if (s->listener.on_token != NULL && status == 0) {
        for (size_t i = 0; i < s->n * s->n_answers; i++) {
            s->listener.on_token(s->listener.user, i / s->n, s->ids[i % s->n], -0.5F);
        }
    }
    s->listener.on_done(s->listener.user, status == 0 ? &result : NULL,
                        status == 0 ? NULL : &fault);
    frontfix *f = s->fix;
    tk_free(s->ids);
    tk_free(s);
    tk_mutex_lock(&f->lock);
    f->n_running--;
    tk_cond_broadcast(&f->changed);
    tk_mutex_unlock(&f->lock);
}

static inline gw_model *frontfix_find(void *user, tk_str name, ca_fault *fault)
{
    frontfix *f = user;
    if (name.n > 0 && !tk_str_is(name, FRONTFIX_MODEL)) {
        *fault = (ca_fault){.status = 404, .field = "model", .err = TK_ERR_INIT};
        (void)tk_err_set(&fault->err, TINKC_E_MISSING, "there is no such model");
        return NULL;
    }
    return gw_model_retain(f->model);
}

static inline tinkc_code
frontfix_list(void *user, void (*each)(void *list, tk_str name, size_t context),
              void *list, tk_err *err)
{
    each(list, TK_STR(FRONTFIX_MODEL), FRONTFIX_CONTEXT);
    return TINKC_OK;
}

static inline bool frontfix_sample_fn(gw_sample **out, void *user, gw_model *model,
                                      const gw_sample_request *request,
                                      const gw_listener *listener, ca_fault *fault)
{
    frontfix *f = user;
    tk_tok_ids ids = {NULL, 0, 0, NULL};
    frontfix_sample *s = tk_zalloc(sizeof(*s));
    assert_non_null(s);
    assert_int_equal(tk_tok_encode(model->tok, tk_str_of(f->says), &ids, NULL), TINKC_OK);
    if (!f->is_cut) {
        assert_int_equal(tk_tok_encode(model->tok, TK_STR("<|end|>"), &ids, NULL),
                         TINKC_OK);
    }
    *s = (frontfix_sample){.fix = f,
                           .listener = *listener,
                           .ids = ids.ids,
                           .n = TK_MIN(ids.n, request->params->max_tokens),
                           .n_answers = request->params->n,
                           .n_prompt = request->n,
                           .scores = request->params->top_logprobs > 0};
    *out = (gw_sample *)s;
    tk_mutex_lock(&f->lock);
    f->n_samples++;
    f->n_last_prompt = request->n;
    f->last_max = request->params->max_tokens;
    memcpy(f->last_prompt, request->ids, request->n * sizeof(*request->ids));
    bool is_held = f->is_held && f->refuses == 0;
    f->held = is_held ? s : f->held;
    f->n_running += f->refuses == 0;
    tk_cond_broadcast(&f->changed);
    tk_mutex_unlock(&f->lock);
    if (f->refuses != 0) {
        *fault = (ca_fault){.status = f->refuses, .err = TK_ERR_INIT};
        (void)tk_err_set(&fault->err, TINKC_E_RATE_LIMIT, "the script says so");
        tk_free(s->ids);
        tk_free(s);
        return false;
    }
    if (!is_held) {
        frontfix_finish(s, f->fails);
    }
    return true;
}

static inline void frontfix_cancel_thread(void *user)
{
    frontfix_finish(user, 499);
}

/* Ends it on another thread, as a backend does. */
static inline void frontfix_cancel(void *user, gw_sample *sample)
{
    frontfix *f = user;
    tk_thread thread;
    frontfix_sample *s = (frontfix_sample *)sample;
    tk_mutex_lock(&f->lock);
    f->n_cancelled++;
    f->held = NULL;
    bool is_taken = s->is_taken;
    s->is_taken = true;
    tk_cond_broadcast(&f->changed);
    tk_mutex_unlock(&f->lock);
    if (!is_taken) {
        assert_int_equal(
            tk_thread_start(&thread, "cancel", frontfix_cancel_thread, s, NULL),
            TINKC_OK);
        tk_thread_detach(&thread);
    }
}

/* Waits until a sample is held; returns it. */
static inline frontfix_sample *frontfix_wait_held(frontfix *f)
{
    tk_mutex_lock(&f->lock);
    while (f->held == NULL) {
        assert_true(
            tk_cond_wait_until(&f->changed, &f->lock,
                               tk_clock_mono_ns(NULL) + INT64_C(60000) * TK_NS_PER_MS));
    }
    frontfix_sample *s = f->held;
    tk_mutex_unlock(&f->lock);
    return s;
}

static inline void frontfix_wait_cancelled(frontfix *f, size_t n)
{
    tk_mutex_lock(&f->lock);
    while (f->n_cancelled < n) {
        assert_true(
            tk_cond_wait_until(&f->changed, &f->lock,
                               tk_clock_mono_ns(NULL) + INT64_C(60000) * TK_NS_PER_MS));
    }
    tk_mutex_unlock(&f->lock);
}

/* Waits until the threads that end samples are through. */
static inline void frontfix_wait_ended(frontfix *f)
{
    tk_mutex_lock(&f->lock);
    while (f->n_running > 0) {
        assert_true(
            tk_cond_wait_until(&f->changed, &f->lock,
                               tk_clock_mono_ns(NULL) + INT64_C(60000) * TK_NS_PER_MS));
    }
    tk_mutex_unlock(&f->lock);
}

/* Lets the sample that is held end. */
static inline void frontfix_release(frontfix *f, int status)
{
    frontfix_sample *s = frontfix_wait_held(f);
    tk_mutex_lock(&f->lock);
    f->held = NULL;
    bool is_taken = s->is_taken;
    s->is_taken = true;
    tk_mutex_unlock(&f->lock);
    assert_false(is_taken);
    frontfix_finish(s, status);
}

/* ---- HTTP ---- */

static inline hd_verdict frontfix_handle(hd_request *request)
{
    const frontfix *f = request->app;
    return gw_handle(f->gateway, request);
}

static inline void frontfix_refuse(hd_request *request, int status, const tk_err *err)
{
    if (!gw_refuse(request, status, err)) {
        (void)hd_reply_fixed(request, status, HD_TYPE_TEXT, TK_STR("not the gateway's"));
    }
}

static const hd_route frontfix_rows[] = {GW_ROUTES(frontfix_handle)};
static const hd_routes frontfix_routes = {frontfix_rows, TK_ARRAY_LEN(frontfix_rows)};

static inline void frontfix_free_model(gw_model *model)
{
    tk_tok_free(model->tok);
    tk_chat_template_free(model->tpl);
    tk_free(model->name);
    tk_free(model->weights);
    tk_free(model->end_ids);
    tk_free(model);
}

static inline gw_model *frontfix_make_model(void)
{
    tk_str json, config;
    gw_model *model = tk_zalloc(sizeof(*model));
    assert_non_null(model);
    assert_true(tk_tok_embed_find(&json, &config, TK_STR("tinkc/pebble-llama-2m")));
    atomic_init(&model->owners, 1);
    model->free = frontfix_free_model;
    model->name = tk_strdup(FRONTFIX_MODEL);
    model->weights = tk_strdup(FRONTFIX_MODEL);
    assert_int_equal(
        tk_tok_open_memory(&model->tok, json, config, tk_str_of(frontfix_template), NULL),
        TINKC_OK);
    assert_int_equal(
        tk_chat_template_of(&model->tpl, tk_tok_get_config(model->tok), NULL, NULL),
        TINKC_OK);
    assert_true(ca_format_named(&model->format, TK_STR("hermes")));
    model->context = FRONTFIX_CONTEXT;
    model->end_ids = tk_array(1, sizeof(*model->end_ids));
    model->end_ids[0] = tk_tok_id(model->tok, TK_STR("<|end|>"));
    model->n_end_ids = 1;
    assert_true(model->end_ids[0] >= 0);
    return model;
}

static inline void frontfix_open(frontfix *f, const char *says, const char *api_key)
{
    tk_err err = TK_ERR_INIT;
    memset(f, 0, sizeof(*f));
    f->says = says;
    f->model = frontfix_make_model();
    tk_arena_init(&f->arena, 0);
    hd_budget_init(&f->memory, 256 * TK_MIB, NULL);
    assert_int_equal(tk_cond_init_with(&f->changed, &f->lock, &err), TINKC_OK);
    const gw_config gateway = {
        .backend = {f, frontfix_find, frontfix_list, frontfix_sample_fn, frontfix_cancel},
        .budget = &f->memory,
    };
    assert_int_equal(gw_new(&f->gateway, &gateway, &err), TINKC_OK);
    assert_int_equal(hd_work_new(&f->work, &hd_route_dispatch, &err), TINKC_OK);
    const hd_http_config config = {.host = "127.0.0.1",
                                   .api_key = api_key,
                                   .routes = &frontfix_routes,
                                   .work = f->work,
                                   .budget = &f->memory,
                                   .app = f,
                                   .refuse = frontfix_refuse};
    assert_int_equal(hd_http_new(&f->http, &config, &err), TINKC_OK);
    assert_int_equal(hd_http_start(f->http, &err), TINKC_OK);
    f->port = (int)hd_http_port(f->http);
}

static inline void frontfix_close(frontfix *f)
{
    hd_http_quiesce(f->http);
    hd_http_stop(f->http);
    hd_work_free(f->work);
    frontfix_wait_ended(f); /* as gw_free demands */
    gw_free(f->gateway);
    hd_http_free(f->http);
    gw_model_release(f->model);
    tk_cond_dispose(&f->changed);
    tk_mutex_dispose(&f->lock);
    tk_arena_dispose(&f->arena);
    assert_int_equal(atomic_load(&f->memory.used), 0); /* nothing is held for anybody */
}

/* ---- requests ---- */

/* The body of the answer; in the arena. */
static inline tk_str frontfix_text(frontfix *f, const httpget_request *request)
{
    httpget_response response;
    tk_str text;
    assert_int_equal(httpget_once(f->port, request, &response), HTTPGET_OK);
    f->status = response.status;
    assert_true(tk_arena_dup(&f->arena, &text, response.body.n > 0 ? response.body.p : "",
                             response.body.n));
    httpget_response_dispose(&response);
    return text;
}

static inline tk_str frontfix_post_text(frontfix *f, const char *path, const char *body)
{
    const httpget_request request = {.method = "POST", .target = path, .body = body};
    return frontfix_text(f, &request);
}

static inline const tk_json *frontfix_json(frontfix *f, tk_str text)
{
    const tk_json *json = NULL;
    if (tk_json_parse(&json, &f->arena, text.p, text.n, NULL, NULL) != TINKC_OK) {
        fail_msg("not JSON: %s", text.p);
    }
    return json;
}

static inline const tk_json *frontfix_post(frontfix *f, const char *path,
                                           const char *body)
{
    return frontfix_json(f, frontfix_post_text(f, path, body));
}

static inline const tk_json *frontfix_ask(frontfix *f, const char *method,
                                          const char *path)
{
    const httpget_request request = {.method = method, .target = path};
    return frontfix_json(f, frontfix_text(f, &request));
}

/* "choices[0].message.content" of a body. */
static inline tk_json frontfix_get(const tk_json *json, const char *path)
{
    tk_json value = *json;
    tk_str rest = tk_str_of(path);
    while (rest.n > 0) {
        char key[64];
        tk_str word = tk_str_cut(&rest, '.');
        int64_t index = 0;
        (void)snprintf(key, sizeof(key), TK_STR_FMT, TK_STR_ARG(word));
        if (tk_str_to_i64(word, &index)) {
            value = tk_json_at(&value, (size_t)index);
            continue;
        }
        const tk_json *member = tk_json_get(&value, key);
        if (member == NULL) {
            fail_msg("%s: there is no %s", path, key);
            return value;
        }
        value = *member;
    }
    return value;
}

static inline const char *frontfix_str(const tk_json *json, const char *path)
{
    tk_json value = frontfix_get(json, path);
    assert_int_equal(value.type, TK_JSON_STRING);
    return value.as.string.p;
}

static inline int64_t frontfix_int(const tk_json *json, const char *path)
{
    int64_t out = -1;
    tk_json value = frontfix_get(json, path);
    assert_true(tk_json_to_i64(&value, &out));
    return out;
}

static inline bool frontfix_has(tk_str text, const char *part)
{
    return memmem(text.p, text.n, part, strlen(part)) != NULL;
}

#endif
