/* The order: count the memory, read the files, make the engine ready, give it its name.
 * Only then can a request find the model. */
#include "server/run/srv_load.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "server/run/srv_engine.h"
#include "server/run/srv_state.h"

bool srv_load_begin(srv *server)
{
    tk_mutex_lock(&server->lock);
    bool ok = !server->loading;
    server->loading = true;
    tk_mutex_unlock(&server->lock);
    return ok;
}

void srv_load_end(srv *server)
{
    tk_mutex_lock(&server->lock);
    server->loading = false;
    tk_mutex_unlock(&server->lock);
}

/* Returns the entry of the name, if it is that of the model. */
static const char *name_of(const srv_catalog *catalog, const srv_base *base,
                           const char *name)
{
    size_t n = atomic_load(&catalog->n_names);
    for (size_t i = 0; i < n; i++) {
        if (catalog->names[i].base == base && strcmp(catalog->names[i].name, name) == 0) {
            return catalog->names[i].name;
        }
    }
    return NULL;
}

/* Opens the model and its sampler. The memory of the weights is counted before they are
 * read, and again, exactly, when they are there. */
static tinkc_code open_base(srv_base **out, srv *server, const srv_pair *pair,
                            tk_err *err)
{
    size_t bytes = 0;
    srv_base *base = NULL;
    tinkc_code code =
        eng_model_measure(&bytes, pair->value, server->catalog->weights, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (!tk_size_add(&bytes, bytes, ENG_MODEL_OPEN_BYTES) ||
        !hd_budget_take(&server->memory, SRV_PART_MODELS, bytes)) {
        return srv_engine_refuse_base(server, pair->name, bytes, err);
    }
    code = srv_catalog_load(&base, server->catalog, pair, err);
    hd_budget_give(&server->memory, SRV_PART_MODELS, bytes);
    if (code != TINKC_OK) {
        return code;
    }
    code = srv_engine_add_base(server->engine, base, err);
    if (code != TINKC_OK) {
        srv_catalog_unload(server->catalog);
        return code;
    }
    *out = base;
    return TINKC_OK;
}

static tinkc_code load(srv_base **out, srv *server, const srv_pair *pair, tk_err *err)
{
    srv_base *base = srv_catalog_find_directory(server->catalog, pair->value);
    const srv_base *other = srv_catalog_find(server->catalog, tk_str_of(pair->name));
    if (other != NULL && other != base) {
        return tk_err_set(err, TINKC_E_CONFLICT,
                          "the model name \"%s\" is used for another model", pair->name);
    }
    tinkc_code code = base != NULL ? TINKC_OK : open_base(&base, server, pair, err);
    if (code == TINKC_OK && other == NULL) {
        /* without memory the model stays, unnamed; the next load of it finds it */
        code = srv_catalog_add(server->catalog, pair->name, base, err);
    }
    if (code == TINKC_OK) {
        *out = base;
    }
    return code;
}

tinkc_code srv_load_model(const srv_base **out, const char **served, srv *server,
                          const srv_pair *what, tk_err *err)
{
    char full[PATH_MAX];
    struct stat st;
    srv_base *base = NULL;
    if (realpath(what->value, full) == NULL || stat(full, &st) != 0 ||
        !S_ISDIR(st.st_mode)) {
        return tk_err_set(err, TINKC_E_MISSING, "there is no such directory");
    }
    const srv_pair pair = {what->name != NULL ? what->name : strrchr(full, '/') + 1,
                           full};
    tinkc_code code = load(&base, server, &pair, err);
    if (code != TINKC_OK) {
        return code;
    }
    tk_log_write(server->log, TINKC_LOG_INFO, "server", "serves the model %s", pair.name);
    *out = base;
    *served = name_of(server->catalog, base, pair.name);
    return TINKC_OK;
}
