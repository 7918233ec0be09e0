/* Which model a name means, and the life of the backend.
 * Needs: text server */
#include "cli/gateway/gate.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* ---- models ---- */

static bool is_served(const gate *g, tk_str name)
{
    for (size_t i = 0; i < tinkc_capabilities_count(g->capabilities); i++) {
        const char *served = tinkc_capabilities_name(g->capabilities, i);
        if (served != NULL && tk_str_is(name, served)) {
            return true;
        }
    }
    return false;
}

/* Whether it is worth asking the server: a name of its list, a path, or anything where it
 * has no list. */
static bool may_be_model(const gate *g, tk_str name)
{
    return tk_str_is(name, g->config.model) || tk_str_has_prefix(name, "tinker://") ||
           tk_str_has_prefix(name, "twinkle://") || is_served(g, name) ||
           tinkc_capabilities_count(g->capabilities) == 0;
}

static void blame_name(const gate *g, tk_str name, ca_fault *fault)
{
    *fault = (ca_fault){.status = 404, .field = "model", .err = TK_ERR_INIT};
    (void)tk_err_set(
        &fault->err, TINKC_E_MISSING,
        "there is no model \"" TK_STR_FMT "\"; this gateway is for %s, other "
        "models of its server, and checkpoints by their tinker:// path",
        TK_STR_ARG(((tk_str){name.p, TK_MIN(name.n, (size_t)80)})), g->config.model);
}

/* Returns the place of a model, or the one that was used longest ago. */
static gate_place *place_of(gate *g, const char *name, bool *found)
{
    gate_place *oldest = &g->models[0];
    *found = false;
    for (size_t i = 0; i < GATE_MODELS_MAX; i++) {
        gate_place *at = &g->models[i];
        if (at->model != NULL && strcmp(at->model->name, name) == 0) {
            *found = true;
            return at;
        }
        oldest = at->used < oldest->used ? at : oldest;
    }
    return oldest;
}

static gw_model *open_model(gate *g, const char *name, ca_fault *fault)
{
    bool found = false;
    tk_mutex_lock(&g->opening);
    gate_place *at = place_of(g, name, &found);
    gw_model *model = found ? at->model : gate_model_open(g, name, fault);
    if (model != NULL && !found) {
        gw_model_release(at->model);
        at->model = model;
    }
    if (model != NULL) {
        at->used = ++g->clock;
        (void)gw_model_retain(model);
    }
    tk_mutex_unlock(&g->opening);
    return model;
}

bool gate_use(gate *g, tinkc_sampling *sampling, const char *weights, ca_fault *fault)
{
    bool found = false;
    gw_model *model = gate_model_of(g, g->config.model, weights, sampling, fault);
    if (model == NULL) {
        return false;
    }
    tk_mutex_lock(&g->opening);
    gate_place *at = place_of(g, g->config.model, &found);
    gw_model_release(at->model);
    at->model = model;
    at->used = ++g->clock;
    tk_mutex_unlock(&g->opening);
    return true;
}

static gw_model *find(void *user, tk_str name, ca_fault *fault)
{
    gate *g = user;
    tk_str wanted = name.n > 0 ? name : tk_str_of(g->config.model);
    if (!may_be_model(g, wanted)) {
        blame_name(g, wanted, fault);
        return NULL;
    }
    char *text = tk_strndup(wanted.p, wanted.n);
    if (text == NULL) {
        *fault = (ca_fault){.status = 500, .err = TK_ERR_INIT};
        (void)tk_err_nomem(&fault->err);
        return NULL;
    }
    gw_model *model = open_model(g, text, fault);
    if (model == NULL && fault->field[0] == '\0') {
        (void)snprintf(fault->field, sizeof(fault->field), "model");
    }
    tk_free(text);
    return model;
}

static tinkc_code list(void *user, void (*each)(void *list, tk_str name, size_t context),
                       void *to, tk_err *err)
{
    const gate *g = user;
    (void)err;
    if (!is_served(g, tk_str_of(g->config.model))) {
        each(to, tk_str_of(g->config.model), 0);
    }
    for (size_t i = 0; i < tinkc_capabilities_count(g->capabilities); i++) {
        const char *name = tinkc_capabilities_name(g->capabilities, i);
        int64_t context = tinkc_capabilities_context(g->capabilities, i);
        if (name != NULL) {
            each(to, tk_str_of(name), context > 0 ? (size_t)context : 0);
        }
    }
    return TINKC_OK;
}

gw_backend gate_backend(gate *g)
{
    return (gw_backend){g, find, list, gate_sample_start, gate_sample_cancel};
}

/* ---- life ---- */

static tinkc_code start(gate *g, tk_err *err)
{
    tinkc_code code =
        tk_thread_start(&g->canceller, "tinkc-cancel", gate_sample_run_canceller, g, err);
    g->has_thread = code == TINKC_OK;
    return code;
}

static tinkc_code init(gate *g, const gate_config *config, tk_err *err)
{
    g->config = *config;
    tk_list_init(&g->running);
    tk_list_init(&g->cancelled);
    tinkc_code code = tk_mutex_init(&g->opening, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = tk_cond_init_with(&g->wake, &g->lock, err);
    if (code != TINKC_OK) {
        tk_mutex_dispose(&g->opening);
    }
    return code;
}

bool gate_new(gate **out, const gate_config *config, ca_fault *fault)
{
    tk_err err = TK_ERR_INIT;
    tinkc_error *ignored = NULL;
    gate *g = tk_zalloc(sizeof(*g));
    tinkc_code code = g != NULL ? init(g, config, &err) : tk_err_nomem(&err);
    if (code != TINKC_OK) {
        tk_free(g);
        *fault = (ca_fault){.status = 500, .err = err};
        return false;
    }
    /* A server without a list is asked for each model. */
    (void)tinkc_service_capabilities_wait(&g->capabilities, config->service, &ignored);
    tinkc_error_free(&ignored);
    gw_model *model = NULL;
    if (start(g, &err) != TINKC_OK) {
        *fault = (ca_fault){.status = 500, .err = err};
    } else {
        model = open_model(g, config->model, fault);
    }
    if (model == NULL) {
        gate_free(g);
        return false;
    }
    gw_model_release(model); /* the place has it */
    *out = g;
    return true;
}

void gate_stop(gate *g)
{
    tk_mutex_lock(&g->lock);
    g->is_stopping = true;
    gate_sample_cancel_all(g);
    tk_mutex_unlock(&g->lock);
}

void gate_free(gate *g)
{
    if (g == NULL) {
        return;
    }
    tk_mutex_lock(&g->lock);
    g->is_closing = true;
    tk_cond_broadcast(&g->wake);
    tk_mutex_unlock(&g->lock);
    if (g->has_thread) {
        tk_thread_join(&g->canceller);
    }
    for (size_t i = 0; i < GATE_MODELS_MAX; i++) {
        gw_model_release(g->models[i].model);
    }
    tinkc_capabilities_free(&g->capabilities);
    tk_cond_dispose(&g->wake);
    tk_mutex_dispose(&g->lock);
    tk_mutex_dispose(&g->opening);
    tk_free(g);
}
