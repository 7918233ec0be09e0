/* The endpoints as one table (wire.md §2.0, §5.7). Static data. */
#include "client/endpoint.h"

#define API "/api/v1/"

/* name, method, path, group, timeout_ms (0: configured), L1 retries (-1: configured), L2,
 * follows redirects. Heartbeat and session calls stand on connections of their own. */
static const tk_endpoint endpoints[TK_EP_COUNT] = {
    [TK_EP_CLIENT_CONFIG] = {"client_config", TK_HTTP_POST, API "client/config",
                             TK_HTTP_SESSION, 0, -1, true, true},
    [TK_EP_AUTH_TOKEN] = {"auth_token", TK_HTTP_POST, API "auth/token", TK_HTTP_SESSION,
                          0, -1, true, true},
    [TK_EP_DYNAMIC_CONFIG] = {"dynamic_config", TK_HTTP_POST, API "client/dynamic_config",
                              TK_HTTP_SESSION, 10000, 0, true, true},
    [TK_EP_HEALTHZ] = {"healthz", TK_HTTP_GET, API "healthz", TK_HTTP_REST, 0, -1, false,
                       true},
    [TK_EP_CAPABILITIES] = {"capabilities", TK_HTTP_GET, API "get_server_capabilities",
                            TK_HTTP_REST, 0, -1, true, true},
    [TK_EP_CREATE_SESSION] = {"create_session", TK_HTTP_POST, API "create_session",
                              TK_HTTP_SESSION, 0, -1, false, true},
    [TK_EP_HEARTBEAT] = {"heartbeat", TK_HTTP_POST, API "session_heartbeat",
                         TK_HTTP_SESSION, 10000, 0, false, true},
    [TK_EP_CREATE_MODEL] = {"create_model", TK_HTTP_POST, API "create_model",
                            TK_HTTP_TRAIN, 0, -1, false, true},
    [TK_EP_GET_INFO] = {"get_info", TK_HTTP_POST, API "get_info", TK_HTTP_TRAIN, 0, -1,
                        true, true},
    [TK_EP_UNLOAD_MODEL] = {"unload_model", TK_HTTP_POST, API "unload_model",
                            TK_HTTP_TRAIN, 0, -1, false, true},
    [TK_EP_FORWARD_BACKWARD] = {"forward_backward", TK_HTTP_POST, API "forward_backward",
                                TK_HTTP_TRAIN, 0, -1, true, true},
    [TK_EP_OPTIM_STEP] = {"optim_step", TK_HTTP_POST, API "optim_step", TK_HTTP_TRAIN, 0,
                          -1, true, true},
    [TK_EP_SAVE_WEIGHTS] = {"save_weights", TK_HTTP_POST, API "save_weights",
                            TK_HTTP_TRAIN, 0, 0, true, true},
    [TK_EP_SAVE_FOR_SAMPLER] = {"save_weights_for_sampler", TK_HTTP_POST,
                                API "save_weights_for_sampler", TK_HTTP_TRAIN, 0, 0, true,
                                true},
    [TK_EP_LOAD_WEIGHTS] = {"load_weights", TK_HTTP_POST, API "load_weights",
                            TK_HTTP_TRAIN, 0, -1, true, true},
    [TK_EP_CREATE_SAMPLING] = {"create_sampling_session", TK_HTTP_POST,
                               API "create_sampling_session", TK_HTTP_SESSION, 0, -1,
                               false, true},
    [TK_EP_ASAMPLE] = {"asample", TK_HTTP_POST, API "asample", TK_HTTP_SAMPLE, 0, 0, true,
                       true},
    [TK_EP_RETRIEVE_FUTURE] = {"retrieve_future", TK_HTTP_POST, API "retrieve_future",
                               TK_HTTP_FUTURES, 45000, 0, false, true},
    [TK_EP_SAMPLER] = {"sampler", TK_HTTP_GET, API "samplers/{}", TK_HTTP_REST, 0, -1,
                       true, true},
    [TK_EP_WEIGHTS_INFO] = {"weights_info", TK_HTTP_POST, API "weights_info",
                            TK_HTTP_REST, 0, -1, true, true},
};

const tk_endpoint *tk_endpoint_at(tk_endpoint_id id)
{
    return &endpoints[id];
}
