/* The life of a sampler's record: shared by the map and its samples, freed on the engine
 * thread with its adapter. */
#include "server/run/srv_sampler.h"

#include "base/mem.h"
#include "server/run/srv_adapters.h"
#include "server/run/srv_engine.h"
#include "server/run/srv_state.h"

void srv_sampler_free(srv_sampler *sampler)
{
    if (sampler == NULL) {
        return;
    }
    tk_list_remove(&sampler->of_session);
    srv_events_close(&sampler->events); /* empty, unless the server stops */
    srv_adapters_forget(sampler);
    tk_free(sampler->id);
    tk_free(sampler->base_name);
    tk_free(sampler->path);
    tk_free(sampler->dir);
    tk_free(sampler);
}

static bool copy(char **out, tk_str text, bool optional)
{
    if (optional && text.n == 0) {
        return true;
    }
    *out = tk_strndup(text.p != NULL ? text.p : "", text.n);
    return *out != NULL;
}

srv_sampler *srv_sampler_find(srv *server, tk_str id)
{
    return tk_map_get(&server->samplers, id);
}

srv_sampler *srv_sampler_new(const srv_sampler_spec *spec)
{
    srv_sampler *sampler = tk_zalloc(sizeof(*sampler));
    if (sampler == NULL) {
        return NULL;
    }
    tk_list_init(&sampler->of_session);
    tk_list_init(&sampler->dropped);
    tk_list_init(&sampler->resident);
    srv_events_init(&sampler->events);
    sampler->owners = 1;
    sampler->max_seq = -1;
    sampler->base = spec->base;
    sampler->rank = spec->rank;
    if (!copy(&sampler->id, spec->id, false) ||
        !copy(&sampler->base_name, spec->base_name, false) ||
        !copy(&sampler->path, spec->path, true) ||
        !copy(&sampler->dir, spec->dir, true)) {
        srv_sampler_free(sampler);
        return NULL;
    }
    return sampler;
}

tinkc_code srv_sampler_enter(srv *server, srv_sampler *sampler, srv_session *session,
                             tk_err *err)
{
    tk_str id = tk_str_of(sampler->id);
    if (tk_map_has(&server->samplers, id)) {
        return tk_err_set(err, TINKC_E_CONFLICT, "sampling_session_seq_id is in use");
    }
    if (server->samplers.count >= TK_SRV_SAMPLERS_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT, "too many sampling sessions");
    }
    tinkc_code code = tk_map_put(&server->samplers, id, sampler, err);
    if (code == TINKC_OK) {
        tk_list_push_back(&session->samplers, &sampler->of_session);
    }
    return code;
}

void srv_sampler_release(srv *server, srv_sampler *sampler)
{
    if (--sampler->owners == 0) {
        srv_events_close(&sampler->events);
        srv_engine_drop_sampler(server->engine, sampler);
    }
}

void srv_sampler_end_session(srv *server, srv_session *session)
{
    tk_list *node;
    while ((node = tk_list_pop_front(&session->samplers)) != NULL) {
        srv_sampler *sampler = TK_CONTAINER_OF(node, srv_sampler, of_session);
        (void)tk_map_remove(&server->samplers, tk_str_of(sampler->id));
        srv_sampler_release(server, sampler);
    }
}

void srv_sampler_free_all(srv *server)
{
    size_t cursor = 0;
    void *value = NULL;
    while (tk_map_next(&server->samplers, &cursor, NULL, &value)) {
        srv_sampler_free(value);
    }
    tk_map_dispose(&server->samplers);
}
