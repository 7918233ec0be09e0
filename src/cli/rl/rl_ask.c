/* Questions to the gateway of this program.
 * Needs: text server */
#include "cli/rl/rl_ask.h"

#include <stdio.h>
#include <string.h>
#include <tinkc/raw.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"

#define BODY_BYTES   (16 * TK_MIB)
#define PATH_BYTES   160
#define REWARD_BYTES 32

typedef struct question {
    tinkc_future *future; /* NULL: the place is free */
    void *user;
    char *expected; /* owned */
} question;

struct rl_asks {
    rl_ask_config config;
    tinkc_service *service;
    tinkc_queue *queue;
    question at[RL_AGENT_MAX];
    size_t n;
    char reward[REWARD_BYTES]; /* of the last one */
    tk_buf said;               /* error of the last one */
};

/* ---- life ---- */

static tinkc_code take(tinkc_code code, tinkc_error **error, tk_err *err)
{
    if (code != TINKC_OK) {
        code = tk_err_set(err, code, "%s", tinkc_error_message(*error));
        tinkc_error_free(error);
    }
    return code;
}

static tinkc_code open_service(rl_asks *a, tinkc_error **error)
{
    tinkc_config *config = NULL;
    tinkc_code code = tinkc_config_new(&config, error);
    if (code == TINKC_OK) {
        code = tinkc_config_set(config, "base_url", a->config.url, error);
    }
    if (code == TINKC_OK) {
        code = tinkc_config_set(config, "api_key", a->config.key, error);
    }
    if (code == TINKC_OK) {
        code = tinkc_service_open(&a->service, config, error);
    }
    if (code == TINKC_OK) {
        code = tinkc_queue_open(&a->queue, error);
    }
    tinkc_config_free(&config);
    return code;
}

tinkc_code rl_asks_open(rl_asks **out, const rl_ask_config *config, tk_err *err)
{
    tinkc_error *error = NULL;
    rl_asks *a = tk_zalloc(sizeof(*a));
    if (a == NULL) {
        return tk_err_nomem(err);
    }
    a->config = *config;
    tk_buf_init(&a->said, RL_AGENT_ERR_BYTES);
    tinkc_code code = take(open_service(a, &error), &error, err);
    if (code != TINKC_OK) {
        rl_asks_close(a);
        return code;
    }
    *out = a;
    return TINKC_OK;
}

static void forget(rl_asks *a, question *q)
{
    tinkc_future_free(&q->future);
    tk_free(q->expected);
    *q = (question){.future = NULL};
    a->n--;
}

void rl_asks_close(rl_asks *a)
{
    if (a == NULL) {
        return;
    }
    rl_asks_stop(a);
    for (size_t i = 0; i < RL_AGENT_MAX; i++) {
        if (a->at[i].future != NULL) {
            forget(a, &a->at[i]);
        }
    }
    tinkc_queue_close(&a->queue);
    tinkc_service_close(&a->service);
    tk_buf_dispose(&a->said);
    tk_free(a);
}

/* ---- tasks ---- */

typedef struct task {
    const tk_json *messages; /* an array, or NULL: */
    tk_str question;
    const tk_json *answer; /* a text or a number */
} task;

static bool read_task(task *out, const tk_json *json)
{
    static const char *const names[] = {"question", "problem", "prompt"};
    bool has_question = false;
    *out = (task){.messages = tk_json_get(json, "messages"),
                  .answer = tk_json_get(json, "answer")};
    for (size_t i = 0; i < TK_ARRAY_LEN(names) && !has_question; i++) {
        const tk_json *text = tk_json_get(json, names[i]);
        has_question = text != NULL && text->type == TK_JSON_STRING;
        out->question = has_question ? text->as.string : (tk_str){NULL, 0};
    }
    return (out->messages != NULL ? tk_json_is_array(out->messages) : has_question) &&
           out->answer != NULL &&
           (out->answer->type == TK_JSON_STRING || out->answer->type == TK_JSON_INT ||
            out->answer->type == TK_JSON_REAL);
}

static tinkc_code parse(task *out, tk_arena *arena, tk_str text, tk_err *err)
{
    const tk_json *json = NULL;
    tinkc_code code = tk_json_parse(&json, arena, text.p, text.n, NULL, err);
    if (code == TINKC_OK && !read_task(out, json)) {
        code = tk_err_set(err, TINKC_E_INVALID,
                          "a task for --match needs \"question\" or \"messages\", and "
                          "\"answer\"");
    }
    return code;
}

tinkc_code rl_asks_check(tk_str text, tk_err *err)
{
    task t;
    tk_arena arena;
    tk_arena_init(&arena, 0);
    tinkc_code code = parse(&t, &arena, text, err);
    tk_arena_dispose(&arena);
    return code;
}

/* ---- asking ---- */

static tinkc_code write_body(tk_buf *body, const rl_asks *a, const task *t, tk_err *err)
{
    tk_json_writer w;
    tk_json_writer_init(&w, body);
    tk_json_begin_object(&w);
    tk_json_key(&w, TK_STR("model"));
    tk_json_put_str(&w, tk_str_of(a->config.model));
    tk_json_key(&w, TK_STR("messages"));
    if (t->messages != NULL) {
        tk_json_put_value(&w, t->messages);
    } else {
        tk_json_begin_array(&w);
        tk_json_begin_object(&w);
        tk_json_key(&w, TK_STR("role"));
        tk_json_put_str(&w, TK_STR("user"));
        tk_json_key(&w, TK_STR("content"));
        tk_json_put_str(&w, t->question);
        tk_json_end_object(&w);
        tk_json_end_array(&w);
    }
    tk_json_end_object(&w);
    return tk_json_finish(&w, err);
}

/* The text of the answer; of a number, what JSON writes. */
static char *copy_answer(const tk_json *answer)
{
    tk_buf buf;
    tk_json_writer w;
    if (answer->type == TK_JSON_STRING) {
        return tk_strndup(answer->as.string.p, answer->as.string.n);
    }
    tk_buf_init(&buf, 64);
    tk_json_writer_init(&w, &buf);
    tk_json_put_value(&w, answer);
    const char *text = tk_buf_cstr(&buf);
    char *copy = text != NULL ? tk_strdup(text) : NULL;
    tk_buf_dispose(&buf);
    return copy;
}

static tinkc_code send(rl_asks *a, question *q, const char *episode, const tk_buf *body,
                       int64_t timeout_ms, tk_err *err)
{
    char path[PATH_BYTES];
    tinkc_error *error = NULL;
    tinkc_raw_request request = TINKC_RAW_REQUEST_INIT;
    (void)snprintf(path, sizeof(path), "/e/%s/v1/chat/completions", episode);
    request.method = "POST";
    request.path = path;
    request.body = body->p;
    request.body_n = body->n;
    request.any_status = true;
    request.timeout_ms = timeout_ms;
    q->future = tinkc_raw_send(a->service, &request);
    a->n++;
    tinkc_code code = tinkc_queue_add(a->queue, q->future, q, &error);
    if (code != TINKC_OK) {
        forget(a, q);
    }
    return take(code, &error, err);
}

tinkc_code rl_asks_start(rl_asks *a, const char *episode, tk_str text, int64_t timeout_ms,
                         void *user, tk_err *err)
{
    task t;
    tk_buf body;
    tk_arena arena;
    size_t i = 0;
    while (i < RL_AGENT_MAX && a->at[i].future != NULL) {
        i++;
    }
    if (i == RL_AGENT_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT, "%d questions are asked", RL_AGENT_MAX);
    }
    question *q = &a->at[i];
    tk_arena_init(&arena, 0);
    tk_buf_init(&body, BODY_BYTES);
    tinkc_code code = parse(&t, &arena, text, err);
    if (code == TINKC_OK) {
        code = write_body(&body, a, &t, err);
    }
    if (code == TINKC_OK) {
        q->user = user;
        q->expected = copy_answer(t.answer);
        code = q->expected != NULL ? send(a, q, episode, &body, timeout_ms, err)
                                   : tk_err_nomem(err);
    }
    tk_buf_dispose(&body);
    tk_arena_dispose(&arena);
    return code;
}

size_t rl_asks_running(const rl_asks *a)
{
    return a->n;
}

void rl_asks_stop(rl_asks *a)
{
    for (size_t i = 0; i < RL_AGENT_MAX; i++) {
        if (a->at[i].future != NULL) {
            tinkc_future_cancel(a->at[i].future);
        }
    }
}

/* ---- answers ---- */

static void judge(rl_asks *a, const question *q, rl_ended *out, tk_str body)
{
    tk_arena arena;
    const tk_json *json = NULL;
    tk_arena_init(&arena, 4 * (size_t)BODY_BYTES);
    tinkc_code code = tk_json_parse(&json, &arena, body.p, body.n, NULL, NULL);
    const tk_json first =
        tk_json_at(code == TINKC_OK ? tk_json_get(json, "choices") : NULL, 0);
    const tk_json *content = tk_json_get(tk_json_get(&first, "message"), "content");
    tk_str answer = content != NULL && content->type == TK_JSON_STRING
                        ? content->as.string
                        : (tk_str){NULL, 0};
    bool is_right = eval_match_is_right(a->config.match, answer, tk_str_of(q->expected));
    const tk_json *finish = tk_json_get(&first, "finish_reason");
    bool is_cut = finish != NULL && finish->type == TK_JSON_STRING &&
                  tk_str_is(finish->as.string, "length");
    (void)snprintf(a->reward, sizeof(a->reward), "%.17g",
                   (is_right ? 1 : 0) + (is_cut ? a->config.cut_off : 0));
    out->out = tk_str_of(a->reward);
    tk_arena_dispose(&arena);
}

static void end(rl_asks *a, question *q, rl_ended *out)
{
    tinkc_error *error = NULL;
    tinkc_raw_response *response = NULL;
    *out = (rl_ended){.user = q->user};
    tk_buf_clear(&a->said);
    tinkc_code code = tinkc_future_take_raw_response(&response, q->future, &error);
    int status = tinkc_raw_response_status(response);
    size_t n = 0;
    const char *body = tinkc_raw_response_body(&n, response);
    if (code == TINKC_OK && status == 200) {
        judge(a, q, out, (tk_str){body, n});
    } else {
        const char *text = code == TINKC_OK ? body : tinkc_error_message(error);
        out->end = code == TINKC_E_TIMEOUT     ? RL_END_TIMEOUT
                   : code == TINKC_E_CANCELLED ? RL_END_STOPPED
                                               : RL_END_REQUEST;
        out->status = status;
        tk_buf_put(&a->said, text, TK_MIN(strlen(text), (size_t)RL_AGENT_ERR_BYTES));
        out->err = tk_buf_str(&a->said);
    }
    tinkc_error_free(&error);
    tinkc_raw_response_free(&response);
}

bool rl_asks_wait(rl_asks *a, rl_ended *out, int ms)
{
    tinkc_future *future = NULL;
    void *tag = NULL;
    if (tinkc_queue_take(&future, &tag, a->queue, ms, NULL) != TINKC_OK) {
        return false;
    }
    question *q = tag;
    end(a, q, out);
    tinkc_future_free(&future);
    forget(a, q);
    return true;
}
