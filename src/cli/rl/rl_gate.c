/* The gateway of a run: src/gateway over cli/gateway/gate.h, and the table of the episodes
 * that run.
 * Needs: text server */
#include "cli/rl/rl_gate.h"

#include <stdio.h>
#include <string.h>
#include <tinkc/rl.h>

#include "base/mem.h"
#include "base/rand.h"
#include "cli/gateway/gate.h"
#include "cli/rl/rl_agent.h"
#include "gateway/gw.h"
#include "gateway/gw_episode.h"
#include "httpd/hd_http.h"
#include "httpd/hd_listen.h"
#include "httpd/hd_reply.h"

#define KEY_BYTES    16
#define EXPORT_BYTES TK_GIB /* of one episode */
#define LATE_MAX     256    /* that are dropped at a time */

typedef struct episode {
    rl_gate_episode is;
    size_t turns, refused;
} episode;

struct rl_gate {
    rl_gate_config config;
    char url[48], key[8 + 2 * KEY_BYTES + 1];
    hd_budget memory;
    gate *gate;
    gw *gateway;
    hd_work *work;
    hd_http *http;
    tk_mutex lock; /* of what follows */
    episode episodes[RL_AGENT_MAX];
    size_t n;
};

/* ---- requests ---- */

static hd_verdict handle(hd_request *request)
{
    const rl_gate *g = request->app;
    return gw_handle(g->gateway, request);
}

static void refuse(hd_request *request, int status, const tk_err *err)
{
    if (!gw_refuse(request, status, err)) {
        (void)hd_reply_fixed(request, status, HD_TYPE_TEXT, TK_STR("Not found\n"));
    }
}

static const hd_route rows[] = {GW_ROUTES(handle)};
static const hd_routes routes = {rows, TK_ARRAY_LEN(rows)};

/* Under the lock. */
static episode *find(rl_gate *g, tk_str name)
{
    for (size_t i = 0; i < g->n; i++) {
        if (tk_str_is(name, g->episodes[i].is.name)) {
            return &g->episodes[i];
        }
    }
    return NULL;
}

static bool blame(ca_fault *fault, int status, const char *text)
{
    *fault = (ca_fault){.status = status, .err = TK_ERR_INIT};
    (void)tk_err_set(&fault->err, TINKC_E_LIMIT, "%s", text);
    return false;
}

/* Counts the request and completes it. */
static bool admit(void *user, tk_str name, ca_params *params, ca_fault *fault)
{
    rl_gate *g = user;
    bool is_full = false;
    tk_mutex_lock(&g->lock);
    episode *e = find(g, name);
    if (e != NULL && e->turns >= g->config.max_turns) {
        e->refused++;
        is_full = true;
    } else if (e != NULL) {
        if (!params->has_seed) {
            params->seed =
                tinkc_rl_seed(e->is.run, e->is.task, e->is.index, (uint64_t)e->turns);
            params->has_seed = true;
        }
        e->turns++;
    }
    tk_mutex_unlock(&g->lock);
    if (e == NULL) {
        return blame(fault, 404, "this episode does not run");
    }
    if (is_full) {
        return blame(fault, 400, "this episode has had all of its turns (--max-turns)");
    }
    size_t most = g->config.max_tokens;
    if (most > 0 && (!params->has_max_tokens || params->max_tokens > most)) {
        params->has_max_tokens = true;
        params->max_tokens = most;
    }
    return true;
}

/* ---- life ---- */

static tinkc_code make_key(rl_gate *g, tk_err *err)
{
    unsigned char random[KEY_BYTES];
    tinkc_code code = tk_rand_entropy(random, sizeof(random), err);
    int n = snprintf(g->key, sizeof(g->key), "tml-rl-");
    for (size_t i = 0; code == TINKC_OK && i < sizeof(random); i++) {
        (void)snprintf(g->key + n + 2 * i, 3, "%02x", random[i]);
    }
    return code;
}

static tinkc_code open_gate(rl_gate *g, tk_err *err)
{
    ca_fault fault = {.err = TK_ERR_INIT};
    const gate_config config = {.service = g->config.service,
                                .model = g->config.model,
                                .template_file = g->config.template_file,
                                .tool_format = g->config.tool_format};
    return gate_new(&g->gate, &config, &fault)
               ? TINKC_OK
               : tk_err_set(err, fault.err.code, "%s", fault.err.message);
}

static tinkc_code start(rl_gate *g, tk_err *err)
{
    const gw_config gateway = {.backend = gate_backend(g->gate),
                               .budget = &g->memory,
                               .admit = admit,
                               .admit_user = g};
    hd_http_config http = {.host = "127.0.0.1",
                           .api_key = g->key,
                           .routes = &routes,
                           .budget = &g->memory,
                           .app = g,
                           .refuse = refuse};
    hd_budget_init(&g->memory, 0, NULL);
    g->memory.max_files = hd_listen_max_files();
    tinkc_code code = gw_new(&g->gateway, &gateway, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = hd_work_new(&g->work, &hd_route_dispatch, err);
    if (code != TINKC_OK) {
        return code;
    }
    http.work = g->work;
    code = hd_http_new(&g->http, &http, err);
    if (code == TINKC_OK) {
        (void)snprintf(g->url, sizeof(g->url), "http://127.0.0.1:%u",
                       hd_http_port(g->http));
        code = hd_http_start(g->http, err);
    }
    return code;
}

tinkc_code rl_gate_open(rl_gate **out, const rl_gate_config *config, tk_err *err)
{
    rl_gate *g = tk_zalloc(sizeof(*g));
    tinkc_code code = g != NULL ? tk_mutex_init(&g->lock, err) : tk_err_nomem(err);
    if (code != TINKC_OK) {
        tk_free(g);
        return code;
    }
    g->config = *config;
    code = make_key(g, err);
    if (code == TINKC_OK) {
        code = open_gate(g, err);
    }
    if (code == TINKC_OK) {
        code = start(g, err);
    }
    if (code != TINKC_OK) {
        rl_gate_close(g);
        return code;
    }
    *out = g;
    return TINKC_OK;
}

void rl_gate_close(rl_gate *g)
{
    if (g == NULL) {
        return;
    }
    if (g->http != NULL) {
        hd_http_quiesce(g->http);
    }
    if (g->gate != NULL) {
        gate_stop(g->gate);
    }
    hd_http_stop(g->http);
    hd_work_free(g->work);
    gw_free(g->gateway);
    hd_http_free(g->http);
    gate_free(g->gate);
    tk_mutex_dispose(&g->lock);
    tk_mem_wipe(g->key, sizeof(g->key));
    tk_free(g);
}

const char *rl_gate_url(const rl_gate *g)
{
    return g->url;
}

const char *rl_gate_key(const rl_gate *g)
{
    return g->key;
}

typedef struct names {
    char (*at)[RL_GATE_NAME_BYTES];
    size_t n, size;
} names;

static bool add_name(void *user, const gw_episode_info *info)
{
    names *to = user;
    if (to->n < to->size && info->id.n < RL_GATE_NAME_BYTES) {
        memcpy(to->at[to->n], info->id.p, info->id.n);
        to->at[to->n++][info->id.n] = '\0';
    }
    return to->n < to->size;
}

/* Drops what was sampled for agents that had ended meanwhile. */
static void drop_late(rl_gate *g)
{
    static char room[LATE_MAX][RL_GATE_NAME_BYTES];
    gw_episodes *all = gw_get_episodes(g->gateway);
    names late = {room, 0, LATE_MAX};
    tk_err ignored = TK_ERR_INIT;
    gw_episodes_each(all, add_name, &late);
    for (size_t i = 0; i < late.n; i++) {
        (void)!gw_episodes_drop(all, tk_str_of(room[i]), &ignored);
    }
}

tinkc_code rl_gate_use(rl_gate *g, tinkc_sampling *sampling, const char *weights,
                       tk_err *err)
{
    ca_fault fault = {.err = TK_ERR_INIT};
    drop_late(g);
    return gate_use(g->gate, sampling, weights, &fault)
               ? TINKC_OK
               : tk_err_set(err, fault.err.code, "%s", fault.err.message);
}

/* ---- episodes ---- */

tinkc_code rl_gate_begin(rl_gate *g, const rl_gate_episode *is, tk_err *err)
{
    tk_mutex_lock(&g->lock);
    bool has_room = g->n < RL_AGENT_MAX;
    if (has_room) {
        g->episodes[g->n++] = (episode){.is = *is};
    }
    tk_mutex_unlock(&g->lock);
    return has_room ? TINKC_OK : tk_err_set(err, TINKC_E_LIMIT, "too many episodes run");
}

/* Takes it out of the table. */
static void leave(rl_gate_result *out, rl_gate *g, const char *name)
{
    tk_mutex_lock(&g->lock);
    episode *e = find(g, tk_str_of(name));
    if (e != NULL) {
        out->turns = e->turns;
        out->refused = e->refused;
        *e = g->episodes[--g->n];
    }
    tk_mutex_unlock(&g->lock);
}

static tinkc_code parse(rl_gate_result *out, tk_buf *text, tk_err *err)
{
    tinkc_error *error = NULL;
    tinkc_code code = tinkc_trajectory_parse(&out->trajectory, text->p, text->n, &error);
    if (code != TINKC_OK) {
        code = tk_err_set(err, code, "%s", tinkc_error_message(error));
        tinkc_error_free(&error);
        return code;
    }
    out->text = tk_buf_take(text, &out->n_text);
    return out->text != NULL ? TINKC_OK : tk_err_nomem(err);
}

tinkc_code rl_gate_end(rl_gate_result *out, rl_gate *g, const char *name, tk_err *err)
{
    tk_buf text;
    tk_err ignored = TK_ERR_INIT;
    gw_episodes *all = gw_get_episodes(g->gateway);
    rl_gate_result result = {.text = NULL};
    leave(&result, g, name);
    tk_buf_init(&text, EXPORT_BYTES);
    tinkc_code code = gw_episodes_export(&text, all, tk_str_of(name), err);
    if (code == TINKC_OK) {
        code = parse(&result, &text, err);
        (void)!gw_episodes_drop(all, tk_str_of(name), &ignored);
    } else if (code == TINKC_E_MISSING) {
        code = TINKC_OK;
    }
    tk_buf_dispose(&text);
    if (code != TINKC_OK) {
        rl_gate_result_dispose(&result);
        return code;
    }
    *out = result;
    return TINKC_OK;
}

void rl_gate_result_dispose(rl_gate_result *result)
{
    tinkc_trajectory_free(&result->trajectory);
    tk_free(result->text);
    result->text = NULL;
}
