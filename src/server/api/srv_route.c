/* The route table, see srv_route.h. */
#include "server/api/srv_route.h"

#include <string.h>

#include "server/api/srv_archive.h"
#include "server/api/srv_checkpoint.h"
#include "server/api/srv_copy.h"
#include "server/api/srv_info.h"
#include "server/api/srv_model.h"
#include "server/api/srv_poll.h"
#include "server/api/srv_rest.h"
#include "server/api/srv_sample.h"
#include "server/api/srv_sampler.h"
#include "server/api/srv_search.h"
#include "server/api/srv_session.h"
#include "server/api/srv_train.h"
#include "server/api/srv_usage.h"
#include "server/api/srv_weights.h"

#define API "/api/v1/"

const srv_route srv_routes[] = {
    /* service and session */
    {"POST", API "client/config", srv_session_config, 0, 0},
    {"POST", API "client/dynamic_config", srv_session_dynamic_config, 0, 0},
    {"GET", API "healthz", srv_session_health, SRV_ROUTE_OPEN, 0},
    {"GET", API "get_server_capabilities", srv_session_capabilities, 0, 0},
    {"POST", API "create_session", srv_session_create, 0, 0},
    {"POST", API "session_heartbeat", srv_session_heartbeat, 0, 0},
    {"POST", API "sessions/*/finish", srv_session_finish, 0, 0},
    {"POST", API "telemetry", srv_session_telemetry, 0, TK_SRV_BODY_SAMPLE_BYTES},
    /* models and training */
    {"POST", API "create_model", srv_model_create, 0, 0},
    {"POST", API "get_info", srv_model_get_info, 0, 0},
    {"POST", API "unload_model", srv_model_unload, 0, 0},
    {"POST", API "forward_backward", srv_train_forward_backward, SRV_ROUTE_HEAVY,
     TK_SRV_BODY_TRAIN_BYTES},
    {"POST", API "forward", srv_train_forward, SRV_ROUTE_HEAVY, TK_SRV_BODY_TRAIN_BYTES},
    {"POST", API "optim_step", srv_train_optim_step, 0, 0},
    {"POST", API "save_weights", srv_weights_save, 0, 0},
    {"POST", API "save_weights_for_sampler", srv_weights_save_for_sampler, 0, 0},
    {"POST", API "load_weights", srv_weights_load, 0, 0},
    {"POST", API "weights_info", srv_weights_info, 0, 0},
    {"POST", API "copy_weights", srv_copy_weights, 0, 0},
    {"POST", API "save_weights_external", srv_rest_no_external, 0, 0},
    {"POST", API "create_custom_loss", srv_rest_no_custom_losses, 0, 0},
    /* sampling */
    {"POST", API "create_sampling_session", srv_sampler_create, 0, 0},
    {"GET", API "samplers/*", srv_sampler_get, 0, 0},
    {"POST", API "asample", srv_sample_submit, SRV_ROUTE_HEAVY, TK_SRV_BODY_SAMPLE_BYTES},
    {"POST", API "stream_sample", srv_sample_submit_stream, SRV_ROUTE_HEAVY,
     TK_SRV_BODY_SAMPLE_BYTES},
    /* futures */
    {"POST", API "retrieve_future", srv_poll_retrieve, 0, 0},
    {"POST", API "retrieve_futures", srv_rest_not_served, 0, 0},
    {"POST", API "cancel_future", srv_rest_not_served, 0, 0},
    {"POST", API "join_sampling_session", srv_rest_not_served, 0, 0},
    /* runs and checkpoints */
    {"GET", API "training_runs", srv_rest_list_runs, 0, 0},
    {"GET", API "training_runs/*", srv_rest_get_run, 0, 0},
    {"GET", API "training_runs/*/checkpoints", srv_checkpoint_list_run, 0, 0},
    {"DELETE", API "training_runs/*/checkpoints/**", srv_checkpoint_delete, 0, 0},
    {"DELETE", API "training_runs/*/checkpoints/*", srv_checkpoint_refuse_bare, 0, 0},
    {"POST", API "training_runs/*/checkpoints/**/publish", srv_checkpoint_publish, 0, 0},
    {"DELETE", API "training_runs/*/checkpoints/**/publish", srv_checkpoint_unpublish, 0,
     0},
    {"PUT", API "training_runs/*/checkpoints/**/ttl", srv_checkpoint_set_ttl, 0, 0},
    {"GET", API "training_runs/*/checkpoints/**/archive", srv_archive_redirect, 0, 0},
    {"GET", API "training_runs/*/checkpoints/**/external_weights_urls",
     srv_rest_no_external, 0, 0},
    {"GET", "/tinkc/v1/archives/*/**", srv_archive_get, SRV_ROUTE_OPEN | SRV_ROUTE_HEAVY,
     0},
    {"GET", API "checkpoints", srv_checkpoint_list_all, 0, 0},
    /* sessions */
    {"GET", API "sessions", srv_rest_list_sessions, 0, 0},
    {"POST", API "sessions/search", srv_search_sessions, 0, 0},
    {"GET", API "sessions/*", srv_rest_get_session, 0, 0},
    {"PUT", API "sessions/*/project", srv_rest_no_projects, 0, 0},
    {"GET", API "sessions/*/trace_export", srv_rest_no_traces, 0, 0},
    {"GET", API "billing/usage/events", srv_usage_events, 0, 0},
    {"GET", API "audit", srv_rest_no_audit, 0, 0},
    /* ours; /v1 is kept free for an OpenAI-compatible API */
    {"GET", "/", srv_info_root, SRV_ROUTE_OPEN, 0},
    {"GET", "/metrics", srv_info_metrics, 0, 0},
    {"GET", "/tinkc/v1/models/*/*", srv_info_tokenizer, 0, 0},
    {"GET", "/tinkc/v1/models/*/*/*", srv_info_tokenizer, 0, 0},
};
const size_t srv_routes_n = TK_ARRAY_LEN(srv_routes);

/* "**" takes two segments as one parameter, with the slash between them. */
static bool take_two(tk_str *path, tk_str *out)
{
    const char *begin = path->p;
    tk_str first = tk_str_cut(path, '/');
    tk_str second = tk_str_cut(path, '/');
    *out = (tk_str){begin, first.n + 1 + second.n};
    return first.n > 0 && second.n > 0;
}

static bool match(const char *pattern, tk_str path, tk_str params[SRV_PARAMS_MAX])
{
    tk_str want = tk_str_of(pattern);
    size_t n = 0;
    while (want.n > 0 && path.n > 0) {
        tk_str word = tk_str_cut(&want, '/');
        if (tk_str_is(word, "**")) {
            if (n == SRV_PARAMS_MAX || !take_two(&path, &params[n++])) {
                return false;
            }
            continue;
        }
        tk_str have = tk_str_cut(&path, '/');
        if (tk_str_is(word, "*")) {
            if (n == SRV_PARAMS_MAX || have.n == 0) {
                return false;
            }
            params[n++] = have;
        } else if (!tk_str_eq(word, have)) {
            return false;
        }
    }
    /* Without a rest, or both with an empty one behind a last slash. */
    return want.n == 0 && path.n == 0 && (want.p == NULL) == (path.p == NULL);
}

const srv_route *srv_route_find(const char *method, tk_str path,
                                tk_str params[SRV_PARAMS_MAX], int *status)
{
    *status = 404;
    for (size_t i = 0; i < srv_routes_n; i++) {
        const srv_route *route = &srv_routes[i];
        memset(params, 0, SRV_PARAMS_MAX * sizeof(*params));
        if (!match(route->pattern, path, params)) {
            continue;
        }
        if (strcmp(route->method, method) == 0) {
            return route;
        }
        *status = 405;
    }
    return NULL;
}
