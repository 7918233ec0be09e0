/* The routes: which function answers, in which dialect, for which episode. */
#include "gateway/gw_front.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/gw_exchange.h"
#include "httpd/hd_reply.h"

static const char no_memory[] =
    "{\"error\":{\"type\":\"api_error\",\"message\":\"the server is out of memory\"}}";

/* ---- errors ---- */

static int status_of(tinkc_code code)
{
    bool is_ours = code == TINKC_E_NOMEM || code == TINKC_E_IO || code == TINKC_E_STATE;
    return is_ours                      ? 500
           : code == TINKC_E_MISSING    ? 404
           : code == TINKC_E_RATE_LIMIT ? 429
                                        : 400;
}

bool gw_front_blame(ca_fault *fault, const tk_err *err)
{
    *fault = (ca_fault){.status = status_of(err->code), .err = *err};
    return false;
}

hd_verdict gw_front_fail(hd_request *request, ca_dialect dialect, const ca_fault *fault)
{
    ca_fault shown = *fault;
    tk_buf buf;
    tk_buf_init(&buf, 64 * TK_KIB);
    if (fault->err.code == TINKC_E_NOMEM) {
        return hd_reply_fixed(request, 500, HD_TYPE_JSON, TK_STR(no_memory));
    }
    hd_reply_hide_paths(shown.err.message);
    ca_reply_error(&buf, dialect, &shown);
    return hd_reply_buf(request, shown.status, HD_TYPE_JSON, &buf);
}

hd_verdict gw_front_fail_err(hd_request *request, const tk_err *err)
{
    ca_fault fault;
    (void)gw_front_blame(&fault, err);
    return gw_front_fail(request, CA_CHAT, &fault);
}

/* ---- paths ---- */

/* Takes "/e/EPISODE" off a path; *episode is untouched when there is none. */
static tk_str below_episode(tk_str path, tk_str *episode)
{
    if (!tk_str_has_prefix(path, "/e/")) {
        return path;
    }
    tk_str rest = {path.p + 3, path.n - 3};
    tk_str name = tk_str_cut(&rest, '/');
    if (rest.p == NULL) {
        return (tk_str){NULL, 0};
    }
    *episode = name;
    return (tk_str){rest.p - 1, rest.n + 1};
}

static bool is_gateway_path(tk_str path)
{
    tk_str ignored;
    tk_str rest = below_episode(path, &ignored);
    return tk_str_has_prefix(rest, "/v1/") || tk_str_is(rest, "/v1") ||
           tk_str_has_prefix(path, "/e/") ||
           tk_str_has_prefix(path, "/tinkc/v1/episodes");
}

static ca_dialect dialect_of(const hd_request *request)
{
    tk_str episode;
    tk_str path = below_episode(request->path, &episode);
    if (tk_str_has_prefix(path, "/v1/messages")) {
        return CA_MESSAGES;
    }
    if (tk_str_has_prefix(path, "/v1/models") &&
        hd_request_header(request, "anthropic-version").n > 0) {
        return CA_MESSAGES;
    }
    return tk_str_has_prefix(path, "/v1/responses")     ? CA_RESPONSES
           : tk_str_has_prefix(path, "/v1/completions") ? CA_COMPLETIONS
                                                        : CA_CHAT;
}

bool gw_refuse(hd_request *request, int status, const tk_err *err)
{
    ca_fault fault = {.status = status, .err = *err};
    if (!is_gateway_path(request->path)) {
        return false;
    }
    (void)snprintf(fault.field, sizeof(fault.field), "%.*s", (int)sizeof(fault.field) - 1,
                   err->path);
    (void)gw_front_fail(request, dialect_of(request), &fault);
    return true;
}

/* Finds the episode of the path or of the header; answers and returns false when its name
 * is not one. */
static bool find_episode(hd_request *request, tk_str *out)
{
    ca_fault fault = {.status = 400, .err = TK_ERR_INIT};
    *out = (tk_str){"", 0};
    (void)below_episode(request->path, out);
    if (out->n == 0) {
        tk_str header = hd_request_header(request, "x-tinkc-episode");
        *out = header.p != NULL ? header : *out;
    }
    if (out->n == 0 || gw_episodes_is_name(*out)) {
        return true;
    }
    (void)tk_err_set(&fault.err, TINKC_E_INVALID,
                     "the name of an episode has 1 to %d visible ASCII characters and "
                     "none of slash, question mark, # and %%",
                     TK_GW_ID_BYTES);
    (void)gw_front_fail(request, dialect_of(request), &fault);
    return false;
}

/* ---- requests that sample ---- */

static bool parse(ca_request *out, hd_request *request, ca_dialect dialect, bool is_count,
                  ca_fault *fault)
{
    const ca_request_how how = {
        .quota = hd_request_quota(request),
        .ignore = hd_request_header(request, "x-tinkc-ignore"),
        .is_count = is_count,
    };
    return ca_request_parse_how(out, dialect, tk_buf_str(&request->body), &how, fault);
}

static hd_verdict answer_stream(hd_request *request, hd_stream *stream)
{
    request->stream = stream;
    (void)hd_reply_header(request, "Cache-Control", "no-cache");
    (void)hd_reply_header(request, "X-Accel-Buffering", "no");
    return hd_reply_fixed(request, 200, GW_TYPE_EVENTS, TK_STR(""));
}

/* Lets the pool have it: from here on it may be gone. */
static void let_go(gw *gateway, gw_exchange *x)
{
    tk_mutex_lock(&gateway->lock);
    x->n_pending--;
    gw_pool_wake(x);
    tk_mutex_unlock(&gateway->lock);
}

/* Frees what was not submitted, and answers. */
static hd_verdict give_up(hd_request *request, gw_exchange *x, tinkc_code code,
                          const char *text)
{
    ca_fault fault = {.status = code == TINKC_E_RATE_LIMIT ? 429 : 500,
                      .err = TK_ERR_INIT};
    ca_dialect dialect = x->request.dialect;
    (void)tk_err_set(&fault.err, code, "%s", text);
    gw_exchange_free(x);
    return gw_front_fail(request, dialect, &fault);
}

/* The answer is an error, and the stream is nobody's: the jobs that run end. */
static hd_verdict refuse_stream(hd_request *request, gw_exchange *x, hd_stream *stream)
{
    gw *gateway = x->gateway;
    ca_dialect dialect = x->request.dialect;
    tk_mutex_lock(&gateway->lock);
    ca_fault fault = x->refusal;
    x->is_gone = true;
    tk_mutex_unlock(&gateway->lock);
    let_go(gateway, x);
    hd_stream_release(stream);
    return gw_front_fail(request, dialect, &fault);
}

static hd_verdict run(gw *gateway, hd_request *request, gw_exchange *x)
{
    bool is_streamed = x->request.is_streamed;
    hd_stream *stream = is_streamed ? hd_stream_new(gateway->config.budget) : NULL;
    if (is_streamed && stream == NULL) {
        return give_up(request, x, TINKC_E_NOMEM, "out of memory");
    }
    x->n_pending = 1; /* until all of it is submitted */
    x->stream = stream;
    x->http = is_streamed ? NULL : request;
    if (!is_streamed) {
        hd_request_shrink(request);
    }
    if (!gw_pool_enter(gateway, x)) {
        hd_stream_release(stream); /* the request's */
        return give_up(request, x, TINKC_E_RATE_LIMIT, "too many requests are running");
    }
    bool ok = gw_exchange_submit(x);
    if (is_streamed && !ok) {
        return refuse_stream(request, x, stream);
    }
    let_go(gateway, x);
    return is_streamed ? answer_stream(request, stream) : HD_PARKED;
}

static hd_verdict start_sample(gw *gateway, hd_request *request, tk_str episode,
                               gw_claim claim)
{
    ca_dialect dialect = dialect_of(request);
    ca_fault fault = {.err = TK_ERR_INIT};
    ca_request decoded = {0};
    gw_exchange *x = NULL;
    if (parse(&decoded, request, dialect, false, &fault)) {
        x = gw_exchange_new(gateway, &decoded, episode, &fault);
        ca_request_dispose(&decoded);
    }
    if (x == NULL) {
        gw_repeats_end(gateway->repeats, claim, NULL);
        return gw_front_fail(request, dialect, &fault);
    }
    x->claim = claim;
    return run(gateway, request, x);
}

/* ---- the same request twice ---- */

typedef struct repetition { /* in the request's arena */
    gw *gateway;
    hd_request *request;
} repetition;

static hd_verdict sample(gw *gateway, hd_request *request);

static void answer_again(hd_request *request, const gw_reply *reply)
{
    bool is_events = tk_str_is(reply->type, GW_TYPE_EVENTS);
    tk_buf body;
    tk_buf_init_quota(&body, TK_MAX(reply->body.n, (size_t)1), hd_request_quota(request));
    tk_buf_put(&body, reply->body.p, reply->body.n);
    (void)hd_reply_buf(request, reply->status, is_events ? GW_TYPE_EVENTS : HD_TYPE_JSON,
                       &body);
}

/* Answers a repetition; when the first one has failed it is handled itself. */
static void on_reply(void *user, const gw_reply *reply)
{
    const repetition *r = user;
    hd_request *request = r->request;
    hd_verdict verdict = HD_ANSWERED;
    if (reply != NULL) {
        answer_again(request, reply);
    } else {
        verdict = sample(r->gateway, request);
    }
    if (verdict == HD_ANSWERED) {
        hd_request_resume(request);
    }
}

static hd_verdict sample(gw *gateway, hd_request *request)
{
    tk_str episode;
    tk_err err = TK_ERR_INIT;
    gw_repeat repeat = GW_REPEAT_FIRST;
    gw_claim claim = {0};
    repetition *r = tk_arena_alloc(&request->arena, sizeof(*r));
    if (!find_episode(request, &episode)) {
        return HD_ANSWERED;
    }
    const gw_repeat_ask ask = {
        .episode = episode,
        .route = below_episode(request->path, &(tk_str){NULL, 0}),
        .key = hd_request_header(request, "idempotency-key"),
        .body = tk_buf_str(&request->body),
        .on_reply = on_reply,
        .user = r,
    };
    tinkc_code code = r != NULL ? TINKC_OK : tk_err_nomem(&err);
    if (code == TINKC_OK) {
        *r = (repetition){gateway, request};
        code = gw_repeats_begin(&repeat, &claim, gateway->repeats, &ask, &err);
    }
    if (code != TINKC_OK) {
        ca_fault fault;
        (void)gw_front_blame(&fault, &err);
        fault.status = code == TINKC_E_LIMIT ? 429 : fault.status;
        return gw_front_fail(request, dialect_of(request), &fault);
    }
    /* on_reply has answered, or will: the request may be gone. */
    return repeat == GW_REPEAT_FIRST ? start_sample(gateway, request, episode, claim)
                                     : HD_PARKED;
}

static hd_verdict count_tokens(gw *gateway, hd_request *request)
{
    ca_fault fault = {.err = TK_ERR_INIT};
    tk_err err = TK_ERR_INIT;
    ca_request decoded = {0};
    gw_plan plan = {0};
    tk_str episode;
    if (!find_episode(request, &episode)) {
        return HD_ANSWERED;
    }
    if (!parse(&decoded, request, CA_MESSAGES, true, &fault)) {
        return gw_front_fail(request, CA_MESSAGES, &fault);
    }
    const gw_backend *backend = &gateway->config.backend;
    gw_model *model = backend->find(backend->user, decoded.model, &fault);
    const gw_ask ask = {.episode = episode, .model = model, .request = &decoded};
    bool ok = model != NULL;
    if (ok && gw_episodes_plan(&plan, gateway->episodes, &ask, &err) != TINKC_OK) {
        ok = gw_front_blame(&fault, &err);
    }
    size_t n = plan.n;
    gw_plan_dispose(&plan);
    gw_model_release(model);
    ca_request_dispose(&decoded);
    if (!ok) {
        return gw_front_fail(request, CA_MESSAGES, &fault);
    }
    tk_buf body;
    tk_buf_init(&body, TK_KIB);
    ca_reply_count(&body, n);
    return hd_reply_buf(request, 200, HD_TYPE_JSON, &body);
}

/* ---- models ---- */

typedef struct listing {
    tk_arena *arena;
    ca_model *models;
    size_t n, cap;
    bool failed;
    int64_t began_s;
} listing;

static void add_model(void *user, tk_str name, size_t context)
{
    listing *list = user;
    if (list->n == list->cap) {
        size_t cap = list->cap > 0 ? 2 * list->cap : 16;
        ca_model *grown = tk_arena_array(list->arena, cap, sizeof(*grown));
        if (grown == NULL) {
            list->failed = true;
            return;
        }
        if (list->n > 0) {
            memcpy(grown, list->models, list->n * sizeof(*grown));
        }
        list->models = grown;
        list->cap = cap;
    }
    ca_model *model = &list->models[list->n];
    *model = (ca_model){.created = list->began_s, .context = context};
    if (!tk_arena_dup(list->arena, &model->id, name.p, name.n)) {
        list->failed = true;
        return;
    }
    list->n++;
}

static bool list_models(gw *gateway, hd_request *request, listing *list)
{
    const gw_backend *backend = &gateway->config.backend;
    ca_fault fault;
    tk_err err = TK_ERR_INIT;
    *list = (listing){.arena = &request->arena, .began_s = gateway->began_s};
    tinkc_code code = backend->list(backend->user, add_model, list, &err);
    if (code == TINKC_OK && list->failed) {
        code = tk_err_nomem(&err);
    }
    if (code != TINKC_OK) {
        (void)gw_front_blame(&fault, &err);
        (void)gw_front_fail(request, dialect_of(request), &fault);
    }
    return code == TINKC_OK;
}

static hd_verdict models(gw *gateway, hd_request *request)
{
    listing list;
    tk_buf body;
    tk_str episode;
    if (!find_episode(request, &episode) || !list_models(gateway, request, &list)) {
        return HD_ANSWERED;
    }
    tk_buf_init(&body, TK_ANSWER_LIST_BYTES);
    ca_reply_models(&body, dialect_of(request), list.models, list.n);
    return hd_reply_buf(request, 200, HD_TYPE_JSON, &body);
}

static hd_verdict model(gw *gateway, hd_request *request)
{
    listing list;
    tk_str episode;
    tk_str path = below_episode(request->path, &episode);
    tk_str name = {path.p + strlen("/v1/models/"), path.n - strlen("/v1/models/")};
    if (!find_episode(request, &episode) || !list_models(gateway, request, &list)) {
        return HD_ANSWERED;
    }
    for (size_t i = 0; i < list.n; i++) {
        if (tk_str_eq(list.models[i].id, name)) {
            tk_buf body;
            tk_buf_init(&body, 64 * TK_KIB);
            ca_reply_model(&body, dialect_of(request), &list.models[i]);
            return hd_reply_buf(request, 200, HD_TYPE_JSON, &body);
        }
    }
    ca_fault fault = {.status = 404, .field = "model", .err = TK_ERR_INIT};
    (void)tk_err_set(&fault.err, TINKC_E_MISSING, "there is no model \"" TK_STR_FMT "\"",
                     TK_STR_ARG(name));
    return gw_front_fail(request, dialect_of(request), &fault);
}

/* ---- dispatch ---- */

typedef struct row {
    const char *method, *pattern; /* without "/e/EPISODE" */
    hd_verdict (*handle)(gw *gateway, hd_request *request);
} row;

static const row rows[] = {
    {"POST", "/v1/chat/completions", sample},
    {"POST", "/v1/completions", sample},
    {"POST", "/v1/responses", sample},
    {"POST", "/v1/messages", sample},
    {"POST", "/v1/messages/count_tokens", count_tokens},
    {"GET", "/v1/models", models},
    {"GET", "/v1/models/*", model},
    {"GET", "/v1/models/**", model},
    {"GET", "/tinkc/v1/episodes", gw_front_list_episodes},
    {"GET", "/tinkc/v1/episodes/*", gw_front_get_episode},
    {"DELETE", "/tinkc/v1/episodes/*", gw_front_drop_episode},
    {"POST", "/tinkc/v1/episodes/*/reward", gw_front_reward},
};

hd_verdict gw_handle(gw *gateway, hd_request *request)
{
    tk_str ignored;
    tk_str pattern = below_episode(tk_str_of(request->route->pattern), &ignored);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        if (tk_str_is(pattern, rows[i].pattern) &&
            strcmp(request->route->method, rows[i].method) == 0) {
            return rows[i].handle(gateway, request);
        }
    }
    return hd_reply_fail(request, 404, "Not found");
}

/* ---- life ---- */

static tinkc_code start(gw *gateway, tk_err *err)
{
    const gw_episodes_config episodes = {
        .dir = gateway->dir,
        .max_bytes = gateway->config.max_bytes,
        .log = gateway->config.log,
        .on_change = gateway->config.on_change,
        .change_user = gateway->config.change_user,
    };
    const gw_repeats_config repeats = {.clock = NULL};
    tinkc_code code = gw_episodes_open(&gateway->episodes, &episodes, err);
    if (code == TINKC_OK) {
        code = gw_repeats_new(&gateway->repeats, &repeats, err);
    }
    return code == TINKC_OK ? gw_pool_start(gateway, err) : code;
}

tinkc_code gw_new(gw **out, const gw_config *config, tk_err *err)
{
    gw *gateway = tk_zalloc(sizeof(*gateway));
    if (gateway == NULL) {
        return tk_err_nomem(err);
    }
    gateway->config = *config;
    gateway->began_s = tk_clock_wall_us(NULL) / 1000000;
    tk_list_init(&gateway->all);
    tk_list_init(&gateway->ready);
    tinkc_code code = tk_cond_init_with(&gateway->wake, &gateway->lock, err);
    if (code != TINKC_OK) {
        tk_free(gateway);
        return code;
    }
    gateway->config.episodes = NULL; /* the caller's */
    if (config->episodes != NULL) {
        gateway->dir = tk_strdup(config->episodes);
        code = gateway->dir != NULL ? TINKC_OK : tk_err_nomem(err);
    }
    if (code == TINKC_OK) {
        code = start(gateway, err);
    }
    if (code != TINKC_OK) {
        gw_free(gateway);
        return code;
    }
    *out = gateway;
    return TINKC_OK;
}

gw_episodes *gw_get_episodes(gw *gateway)
{
    return gateway->episodes;
}

void gw_free(gw *gateway)
{
    if (gateway == NULL) {
        return;
    }
    gw_pool_stop(gateway);
    gw_repeats_free(gateway->repeats);
    gw_episodes_close(gateway->episodes);
    tk_cond_dispose(&gateway->wake);
    tk_mutex_dispose(&gateway->lock);
    tk_free(gateway->dir);
    tk_free(gateway);
}
