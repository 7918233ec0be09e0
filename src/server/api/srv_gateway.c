/* The engine as the backend of the gateway.
 * Needs: text */
#include "server/api/srv_gateway.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "console/con.h"
#include "gateway/gw.h"
#include "gateway/gw_episode.h"
#include "httpd/hd_reply.h"
#include "server/run/srv_catalog.h"
#include "server/run/srv_engine.h"
#include "server/run/srv_refuse.h"
#include "server/run/srv_sample.h"
#include "server/run/srv_sampler.h"
#include "server/run/srv_state.h"
#include "server/store/srv_store.h"
#include "wire/path.h"

#define EPISODES_DIR    "episodes"
#define CHECKPOINTS_MAX 64  /* whose weights stay loaded, as far as memory allows */
#define TOKEN_BYTES     64  /* of a tokenizer, for each token */
#define REWARDS_MAX     200 /* that one list reads from files */

/* What a base model's files say about text. Loaded once, until the end. */
typedef struct text {
    const srv_base *base;
    tk_tok *tok;
    tk_chat_template *tpl; /* or NULL */
    ca_format format;
    int32_t *end_ids;
    size_t n_end_ids;
    size_t counted;
    gw_model *model; /* of the base itself; one ownership */
} text;

typedef struct loaded { /* a checkpoint */
    gw_model *model;    /* one ownership; NULL = free */
    char *dir;
    uint64_t used;
} loaded;

struct srv_gateway {
    srv *server;
    gw *gateway;
    tk_mutex lock; /* of what follows; the server's lock is taken under it */
    text *texts;   /* room for all base models: they do not move */
    size_t n_texts, max_texts;
    loaded checkpoints[CHECKPOINTS_MAX];
    uint64_t clock;
};

/* ---- text ---- */

static void dispose_text(srv_gateway *g, text *t)
{
    gw_model_release(t->model);
    tk_chat_template_free(t->tpl);
    tk_tok_free(t->tok);
    tk_free(t->end_ids);
    hd_budget_give(&g->server->memory, SRV_PART_MODELS, t->counted);
    *t = (text){0};
}

static tinkc_code copy_end_ids(text *t, tk_err *err)
{
    const eng_model_info *info = &t->base->info;
    t->end_ids = tk_array(TK_MAX(info->n_eos, 1), sizeof(*t->end_ids));
    if (t->end_ids == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < info->n_eos; i++) {
        if (info->eos[i] >= 0 && info->eos[i] <= INT32_MAX) {
            t->end_ids[t->n_end_ids++] = (int32_t)info->eos[i];
        }
    }
    return TINKC_OK;
}

/* A model without a template can complete, but not chat. */
static tinkc_code open_template(text *t, tk_err *err)
{
    const tk_tok_config *config = tk_tok_get_config(t->tok);
    tk_err why = TK_ERR_INIT;
    tinkc_code code = tk_chat_template_of(&t->tpl, config, NULL, &why);
    if (code == TINKC_E_NOMEM) {
        return tk_err_nomem(err);
    }
    if (code == TINKC_OK) {
        t->format = ca_format_detect(tk_tok_config_template(config, "default"));
    }
    return TINKC_OK;
}

static tinkc_code open_text(text *t, srv_gateway *g, const srv_base *base, tk_err *err)
{
    *t = (text){.base = base};
    tinkc_code code = tk_tok_open(&t->tok, base->tokenizer_dir, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = open_template(t, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = copy_end_ids(t, err);
    if (code != TINKC_OK) {
        goto out;
    }
    t->counted = tk_tok_size(t->tok) * TOKEN_BYTES;
    hd_budget_add(&g->server->memory, SRV_PART_MODELS, t->counted);
out:
    if (code != TINKC_OK) {
        dispose_text(g, t);
    }
    return code;
}

/* Under the lock. */
static text *text_of(srv_gateway *g, const srv_base *base, tk_err *err)
{
    for (size_t i = 0; i < g->n_texts; i++) {
        if (g->texts[i].base == base) {
            return &g->texts[i];
        }
    }
    if (g->n_texts == g->max_texts) {
        (void)tk_err_set(err, TINKC_E_LIMIT, "too many models");
        return NULL;
    }
    text *t = &g->texts[g->n_texts];
    if (open_text(t, g, base, err) != TINKC_OK) {
        return NULL;
    }
    g->n_texts++;
    return t;
}

/* ---- models ---- */

typedef struct sampled { /* gw_model.sampler */
    srv *server;
    srv_sampler *sampler; /* one ownership */
} sampled;

static void free_model(gw_model *model)
{
    sampled *s = model->sampler;
    if (s != NULL && s->sampler != NULL) {
        tk_mutex_lock(&s->server->lock);
        srv_sampler_release(s->server, s->sampler);
        tk_mutex_unlock(&s->server->lock);
    }
    tk_free(s);
    tk_free(model->name);
    tk_free(model->weights);
    tk_free(model);
}

static gw_model *make_model(srv_gateway *g, const text *t, const srv_sampler_spec *spec,
                            tk_str name)
{
    gw_model *model = tk_zalloc(sizeof(*model));
    sampled *s = tk_zalloc(sizeof(*s));
    tk_str weights = spec->path.n > 0 ? spec->path : tk_str_of(t->base->name);
    if (model == NULL || s == NULL) {
        tk_free(model);
        tk_free(s);
        return NULL;
    }
    atomic_init(&model->owners, 1);
    s->server = g->server;
    s->sampler = srv_sampler_new(spec);
    *model = (gw_model){
        .owners = 1,
        .free = free_model,
        .name = tk_strndup(name.p, name.n),
        .weights = tk_strndup(weights.p, weights.n),
        .tok = t->tok,
        .tpl = t->tpl,
        .format = t->format,
        .context = t->base->info.context,
        .end_ids = t->end_ids,
        .n_end_ids = t->n_end_ids,
        .sampler = s,
    };
    if (model->name == NULL || model->weights == NULL || s->sampler == NULL) {
        gw_model_release(model);
        return NULL;
    }
    return model;
}

/* Under the lock. Returns a reference. */
static gw_model *find_base(srv_gateway *g, const srv_base *base, tk_err *err)
{
    text *t = text_of(g, base, err);
    if (t == NULL) {
        return NULL;
    }
    if (t->model == NULL) {
        const srv_sampler_spec spec = {.base_name = tk_str_of(base->name), .base = base};
        t->model = make_model(g, t, &spec, tk_str_of(base->name));
    }
    if (t->model == NULL) {
        (void)tk_err_nomem(err);
        return NULL;
    }
    return gw_model_retain(t->model);
}

/* Returns the place of a path, or the one that was used longest ago. Under the lock. */
static loaded *place_of(srv_gateway *g, tk_str path, bool *found)
{
    loaded *oldest = &g->checkpoints[0];
    *found = false;
    for (size_t i = 0; i < CHECKPOINTS_MAX; i++) {
        loaded *at = &g->checkpoints[i];
        if (at->model != NULL && tk_str_is(path, at->model->weights)) {
            *found = true;
            return at;
        }
        if (at->used < oldest->used) {
            oldest = at;
        }
    }
    return oldest;
}

static void forget(loaded *at)
{
    gw_model_release(at->model);
    tk_free(at->dir);
    *at = (loaded){0};
}

/* Under the lock. A checkpoint of the same name may have been saved again. */
static gw_model *find_loaded(srv_gateway *g, const srv_sampler_spec *spec, tk_err *err)
{
    bool found = false;
    loaded *at = place_of(g, spec->path, &found);
    if (!found || !tk_str_is(spec->dir, at->dir)) {
        const text *t = text_of(g, spec->base, err);
        gw_model *model = t != NULL ? make_model(g, t, spec, spec->path) : NULL;
        char *dir = model != NULL ? tk_strndup(spec->dir.p, spec->dir.n) : NULL;
        if (dir == NULL) {
            gw_model_release(model);
            (void)tk_err_nomem(err); /* the first error counts */
            return NULL;
        }
        forget(at);
        at->model = model;
        at->dir = dir;
    }
    at->used = ++g->clock;
    return gw_model_retain(at->model);
}

static tinkc_code resolve(srv_sampler_spec *out, srv *server, tk_arena *arena,
                          tk_str name, tk_err *err)
{
    tk_path path;
    srv_store_checkpoint checkpoint;
    srv_store_run run;
    const char *dir = NULL;
    tinkc_code code = tk_path_parse(&path, name, err);
    if (code == TINKC_OK && path.is_bare) {
        code = tk_err_set(err, TINKC_E_INVALID, "the path does not say what it is of");
    }
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_store_get_checkpoint(&checkpoint, server->store, arena, &path, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_store_get_run(&run, server->store, arena, path.run, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_store_dir(&dir, server->store, arena, checkpoint.dir, err);
    if (code != TINKC_OK) {
        goto out;
    }
    *out = (srv_sampler_spec){
        .base_name = run.base_model,
        .base = srv_catalog_find(server->catalog, run.base_model),
        .path = name,
        .dir = tk_str_of(dir),
        .rank = run.rank > 0 ? (size_t)run.rank : 0,
    };
    if (out->base == NULL) {
        code = tk_err_set(err, TINKC_E_MISSING, "its base model is not served");
    }
out:
    return code;
}

static gw_model *find_checkpoint(srv_gateway *g, tk_str path, tk_err *err)
{
    tk_arena arena;
    srv_sampler_spec spec;
    gw_model *model = NULL;
    tk_arena_init(&arena, TK_MIB);
    if (resolve(&spec, g->server, &arena, path, err) == TINKC_OK) {
        tk_mutex_lock(&g->lock);
        model = find_loaded(g, &spec, err);
        tk_mutex_unlock(&g->lock);
    }
    tk_arena_dispose(&arena);
    return model;
}

/* Returns the model that a request without a name means: the only one beside the embedded
 * one, or that; NULL when there are several. */
static const srv_base *only_base(const srv_catalog *catalog)
{
    const srv_base *only = NULL;
    size_t n = 0;
    for (size_t i = 0; i < atomic_load(&catalog->n_names); i++) {
        const srv_base *base = catalog->names[i].base;
        if (only == NULL || only->is_embedded) {
            only = base;
        }
        n += !base->is_embedded && base != only;
    }
    return n == 0 ? only : NULL;
}

/* "there is no model "x"; there are: a, b" */
static void blame_name(ca_fault *fault, const srv_catalog *catalog, tk_str name)
{
    char names[TK_ERR_MESSAGE_BYTES / 2] = "";
    size_t at = 0;
    for (size_t i = 0; i < atomic_load(&catalog->n_names) && at < sizeof(names); i++) {
        int n = snprintf(names + at, sizeof(names) - at, "%s%s", i > 0 ? ", " : "",
                         catalog->names[i].name);
        at += n > 0 ? (size_t)n : 0;
    }
    (void)snprintf(fault->field, sizeof(fault->field), "model");
    (void)tk_err_set(&fault->err, TINKC_E_MISSING,
                     "there is no model \"" TK_STR_FMT
                     "\"; there are: %s, and checkpoints "
                     "by their tinker:// path",
                     TK_STR_ARG(((tk_str){name.p, TK_MIN(name.n, (size_t)80)})), names);
}

static gw_model *find(void *user, tk_str name, ca_fault *fault)
{
    srv_gateway *g = user;
    tk_err err = TK_ERR_INIT;
    gw_model *model = NULL;
    *fault = (ca_fault){.err = TK_ERR_INIT};
    if (tk_path_scheme(name) > 0) {
        model = find_checkpoint(g, name, &err);
    } else {
        const srv_base *base = name.n > 0 ? srv_catalog_find(g->server->catalog, name)
                                          : only_base(g->server->catalog);
        if (base == NULL) {
            fault->status = 404;
            blame_name(fault, g->server->catalog, name);
            return NULL;
        }
        tk_mutex_lock(&g->lock);
        model = find_base(g, base, &err);
        tk_mutex_unlock(&g->lock);
    }
    if (model == NULL) {
        fault->status = err.code == TINKC_E_MISSING   ? 404
                        : err.code == TINKC_E_INVALID ? 400
                                                      : 500;
        (void)snprintf(fault->field, sizeof(fault->field), "model");
        fault->err = err;
    }
    return model;
}

static tinkc_code list(void *user, void (*each)(void *list, tk_str name, size_t context),
                       void *to, tk_err *err)
{
    const srv_gateway *g = user;
    const srv_catalog *catalog = g->server->catalog;
    (void)err;
    for (size_t i = 0; i < atomic_load(&catalog->n_names); i++) {
        each(to, tk_str_of(catalog->names[i].name), catalog->names[i].base->info.context);
    }
    return TINKC_OK;
}

/* ---- samples ---- */

typedef struct running { /* gw_sample */
    gw_listener listener;
    srv_sample *sample;
} running;

static void on_token(void *user, size_t index, int32_t token, float logprob)
{
    const running *r = user;
    r->listener.on_token(r->listener.user, index, token, logprob);
}

static void blame(ca_fault *fault, const tk_err *err)
{
    *fault = (ca_fault){.err = *err};
    fault->status = err->code == TINKC_E_INVALID || err->code == TINKC_E_LIMIT ? 400
                    : err->code == TINKC_E_RATE_LIMIT                          ? 429
                    : err->code == TINKC_E_CANCELLED                           ? 499
                    : err->code == TINKC_E_STATE                               ? 503
                                                                               : 500;
}

static void give(const running *r, const eng_sample_result *from)
{
    gw_sequence *sequences = tk_zarray(from->n_sequences, sizeof(*sequences));
    ca_fault fault = {.status = 500, .err = TK_ERR_INIT};
    if (sequences == NULL) {
        (void)tk_err_nomem(&fault.err);
        r->listener.on_done(r->listener.user, NULL, &fault);
        return;
    }
    for (size_t i = 0; i < from->n_sequences; i++) {
        const eng_sequence *s = &from->sequences[i];
        sequences[i] = (gw_sequence){
            .ids = s->tokens,
            .logprobs = s->logprobs,
            .top_ids = s->top_ids,
            .top_logprobs = s->top_logprobs,
            .n = s->n,
            .k = from->topk_sampled,
            .is_stopped = s->stopped,
        };
    }
    const gw_sample_result result = {
        .sequences = sequences,
        .n = from->n_sequences,
        .prompt_logprobs = from->prompt_logprobs,
        .prompt_top_ids = from->topk > 0 ? from->topk_ids : NULL,
        .prompt_top_logprobs = from->topk > 0 ? from->topk_logprobs : NULL,
        .prompt_k = from->topk,
        .cached = from->prompt_cache_hit_tokens,
    };
    r->listener.on_done(r->listener.user, &result, NULL);
    tk_free(sequences);
}

static void on_done(void *user, const eng_sample_result *result, const tk_err *err)
{
    running *r = user;
    if (result != NULL) {
        give(r, result);
    } else {
        ca_fault fault;
        blame(&fault, err);
        r->listener.on_done(r->listener.user, NULL, &fault);
    }
    tk_free(r);
}

static eng_stop_mode mode_of(const ca_params *p)
{
    bool has_stops = p->n_stops > 0 || p->n_stop_ids > 0;
    return has_stops ? (p->ignore_eos ? ENG_STOP_ONLY_LISTED : ENG_STOP_LISTED)
                     : (p->ignore_eos ? ENG_STOP_NONE : ENG_STOP_EOS);
}

static tinkc_code convert(eng_sample_request *out, const gw_sample_request *from,
                          tk_err *err)
{
    const ca_params *p = from->params;
    *out = (eng_sample_request){
        .prompt = from->ids,
        .n_prompt = from->n,
        .num_samples = p->n,
        .max_tokens = p->has_max_tokens ? p->max_tokens : 0,
        .temperature = p->has_temperature ? p->temperature : 1.0,
        .top_p = p->has_top_p ? p->top_p : 1.0,
        .top_k = p->has_top_k ? p->top_k : -1,
        .has_seed = p->has_seed,
        .seed = p->seed,
        .stop_mode = mode_of(p),
        .stop_tokens = p->stop_ids,
        .n_stop_tokens = p->n_stop_ids,
        .stop_strings = p->stops,
        .n_stop_strings = p->n_stops,
        .prompt_logprobs = p->prompt_logprobs,
        .topk_prompt_logprobs = p->prompt_top_logprobs,
        .topk_sample_logprobs = p->top_logprobs,
    };
    tinkc_code code = eng_sample_check_stops(out, err);
    return code == TINKC_OK ? eng_sample_check_scores(out, err) : code;
}

static bool sample(gw_sample **out, void *user, gw_model *model,
                   const gw_sample_request *request, const gw_listener *listener,
                   ca_fault *fault)
{
    srv_gateway *g = user;
    const sampled *s = model->sampler;
    eng_sample_request converted;
    tk_err err = TK_ERR_INIT;
    *fault = (ca_fault){.err = TK_ERR_INIT};
    if (convert(&converted, request, &err) != TINKC_OK) {
        blame(fault, &err);
        return false;
    }
    running *r = tk_zalloc(sizeof(*r));
    if (r == NULL) {
        (void)tk_err_nomem(&err);
        blame(fault, &err);
        return false;
    }
    r->listener = *listener;
    const srv_sample_call call = {
        .sampler = s->sampler,
        .request = &converted,
        .listener = {listener->on_token != NULL ? on_token : NULL, on_done, r},
    };
    *out = (gw_sample *)r;
    int status = srv_sample_queue(&r->sample, g->server, &call, &err);
    if (status != 0) {
        tk_free(r);
        fault->status = status;
        fault->err = err;
    }
    return status == 0;
}

static void cancel(void *user, gw_sample *sample_of)
{
    srv_gateway *g = user;
    const running *r = (const running *)sample_of;
    tk_mutex_lock(&g->server->lock);
    srv_engine_cancel_sample(g->server->engine, r->sample);
    tk_mutex_unlock(&g->server->lock);
}

/* ---- episodes ---- */

typedef struct listing {
    tk_arena *arena;
    con_episode *p;
    size_t n, cap;
    size_t unknown[REWARDS_MAX]; /* a ring: the newest ones whose reward is in a file */
    size_t n_unknown;
    bool failed;
} listing;

static bool add_episode(void *user, const gw_episode_info *info)
{
    listing *all = user;
    if (all->n == all->cap) {
        size_t cap = all->cap > 0 ? 2 * all->cap : 64;
        con_episode *grown = tk_arena_array(all->arena, cap, sizeof(*grown));
        all->failed = grown == NULL;
        if (all->failed) {
            return false;
        }
        if (all->n > 0) {
            memcpy(grown, all->p, all->n * sizeof(*grown));
        }
        all->p = grown;
        all->cap = cap;
    }
    con_episode *to = &all->p[all->n];
    *to = (con_episode){
        .turns = (int64_t)info->turns, .used_ms = info->used_ms, .reward = info->reward};
    all->unknown[all->n_unknown % REWARDS_MAX] = all->n;
    all->n_unknown += !info->knows_reward;
    all->failed = !tk_arena_dup(all->arena, &to->id, info->id.p, info->id.n);
    all->n += !all->failed;
    return !all->failed;
}

/* Reads those of the newest episodes that nobody has used since the start. */
static void find_rewards(srv_gateway *g, listing *all)
{
    size_t n = TK_MIN(all->n_unknown, (size_t)REWARDS_MAX);
    for (size_t i = 0; !all->failed && i < n; i++) {
        con_episode *episode = &all->p[all->unknown[i]];
        tk_err ignored = TK_ERR_INIT;
        size_t turns = 0;
        if (gw_episodes_reward(&episode->reward, &turns, gw_get_episodes(g->gateway),
                               episode->id, &ignored) == TINKC_OK) {
            episode->turns = (int64_t)turns;
        }
    }
}

bool srv_gateway_list(srv_gateway *g, con_episodes *out, tk_arena *arena)
{
    listing all = {.arena = arena};
    gw_episodes_each(gw_get_episodes(g->gateway), add_episode, &all);
    find_rewards(g, &all);
    for (size_t i = 0; i < all.n / 2; i++) { /* they come oldest first */
        con_episode one = all.p[i];
        all.p[i] = all.p[all.n - 1 - i];
        all.p[all.n - 1 - i] = one;
    }
    *out = (con_episodes){all.p, all.n};
    return !all.failed;
}

/* ---- HTTP ---- */

hd_verdict srv_gateway_handle(hd_request *request)
{
    const srv *server = request->app;
    if (request->is_encoded) {
        return hd_reply_fail(request, 415, "zstd is for the Tinker API only");
    }
    return gw_handle(server->gateway->gateway, request);
}

void srv_gateway_refuse(hd_request *request, int status, const tk_err *err)
{
    if (!gw_refuse(request, status, err)) {
        srv_refuse(request, status, err);
    }
}

/* ---- life ---- */

static void tell_change(void *user, tk_str episode)
{
    const srv *server = user;
    if (server->console != NULL) {
        con_note_episode(server->console, episode);
    }
}

static tinkc_code start(srv_gateway *g, tk_err *err)
{
    srv *server = g->server;
    char *dir = tk_file_join(server->data, EPISODES_DIR);
    if (dir == NULL) {
        return tk_err_nomem(err);
    }
    const gw_config config = {
        .backend = {g, find, list, sample, cancel},
        .budget = &server->memory,
        .episodes = dir,
        .log = server->log,
        .on_change = tell_change,
        .change_user = server,
    };
    tinkc_code code = gw_new(&g->gateway, &config, err);
    tk_free(dir);
    return code;
}

tinkc_code srv_gateway_new(srv_gateway **out, srv *server, tk_err *err)
{
    srv_gateway *g = tk_zalloc(sizeof(*g));
    if (g == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_mutex_init(&g->lock, err);
    if (code != TINKC_OK) {
        tk_free(g);
        return code;
    }
    g->server = server;
    g->max_texts = server->catalog->max_bases;
    g->texts = tk_zarray(g->max_texts, sizeof(*g->texts));
    code = g->texts != NULL ? start(g, err) : tk_err_nomem(err);
    if (code != TINKC_OK) {
        srv_gateway_free(g);
        return code;
    }
    *out = g;
    return TINKC_OK;
}

void srv_gateway_free(srv_gateway *g)
{
    if (g == NULL) {
        return;
    }
    gw_free(g->gateway);
    for (size_t i = 0; i < CHECKPOINTS_MAX; i++) {
        forget(&g->checkpoints[i]);
    }
    for (size_t i = 0; i < g->n_texts; i++) {
        dispose_text(g, &g->texts[i]);
    }
    tk_free(g->texts);
    tk_mutex_dispose(&g->lock);
    tk_free(g);
}
