/* The endpoints as one table (docs/protocol.md §2.0, §5.7). Static data. */
#include "client/call/endpoint.h"

#include "base/limits.h"
#include "http/retry.h"

#define API "/api/v1/"

#define SMALL  TK_ANSWER_SMALL_BYTES
#define LIST   TK_ANSWER_LIST_BYTES
#define REPORT TK_ANSWER_REPORT_BYTES
#define RESULT SIZE_MAX /* as large as configured */
#define USUAL  TK_RETRY_EVERY_MS
#define SECOND 1000 /* of the background: nothing waits for it */

/* name, method, path, group, timeout_ms (0: configured), L1 retries (-1: configured),
 * L2, follows redirects, largest answer, least time between two requests. Heartbeat and
 * session calls have their own connections. */
static const tk_endpoint endpoints[TK_EP_COUNT] = {
    [TK_EP_CLIENT_CONFIG] = {"client_config", TK_HTTP_POST, API "client/config",
                             TK_HTTP_SESSION, 0, -1, true, true, SMALL, USUAL},
    [TK_EP_AUTH_TOKEN] = {"auth_token", TK_HTTP_POST, API "auth/token", TK_HTTP_SESSION,
                          0, -1, true, true, SMALL, SECOND},
    [TK_EP_DYNAMIC_CONFIG] = {"dynamic_config", TK_HTTP_POST, API "client/dynamic_config",
                              TK_HTTP_SESSION, 10000, 0, true, true, SMALL, SECOND},
    [TK_EP_HEALTHZ] = {"healthz", TK_HTTP_GET, API "healthz", TK_HTTP_REST, 0, -1, false,
                       true, SMALL, USUAL},
    [TK_EP_CAPABILITIES] = {"capabilities", TK_HTTP_GET, API "get_server_capabilities",
                            TK_HTTP_REST, 0, -1, true, true, LIST, USUAL},
    [TK_EP_CREATE_SESSION] = {"create_session", TK_HTTP_POST, API "create_session",
                              TK_HTTP_SESSION, 0, -1, false, true, SMALL, USUAL},
    [TK_EP_HEARTBEAT] = {"heartbeat", TK_HTTP_POST, API "session_heartbeat",
                         TK_HTTP_SESSION, 10000, 0, false, true, SMALL, SECOND},
    [TK_EP_CREATE_MODEL] = {"create_model", TK_HTTP_POST, API "create_model",
                            TK_HTTP_TRAIN, 0, -1, false, true, SMALL, USUAL},
    [TK_EP_GET_INFO] = {"get_info", TK_HTTP_POST, API "get_info", TK_HTTP_TRAIN, 0, -1,
                        true, true, SMALL, USUAL},
    [TK_EP_UNLOAD_MODEL] = {"unload_model", TK_HTTP_POST, API "unload_model",
                            TK_HTTP_TRAIN, 0, -1, false, true, SMALL, USUAL},
    [TK_EP_FORWARD_BACKWARD] = {"forward_backward", TK_HTTP_POST, API "forward_backward",
                                TK_HTTP_TRAIN, 0, -1, true, true, SMALL, USUAL},
    [TK_EP_OPTIM_STEP] = {"optim_step", TK_HTTP_POST, API "optim_step", TK_HTTP_TRAIN, 0,
                          -1, true, true, SMALL, USUAL},
    [TK_EP_SAVE_WEIGHTS] = {"save_weights", TK_HTTP_POST, API "save_weights",
                            TK_HTTP_TRAIN, 0, 0, true, true, SMALL, USUAL},
    [TK_EP_SAVE_FOR_SAMPLER] = {"save_weights_for_sampler", TK_HTTP_POST,
                                API "save_weights_for_sampler", TK_HTTP_TRAIN, 0, 0, true,
                                true, SMALL, USUAL},
    [TK_EP_LOAD_WEIGHTS] = {"load_weights", TK_HTTP_POST, API "load_weights",
                            TK_HTTP_TRAIN, 0, -1, true, true, SMALL, USUAL},
    [TK_EP_CREATE_SAMPLING] = {"create_sampling_session", TK_HTTP_POST,
                               API "create_sampling_session", TK_HTTP_SESSION, 0, -1,
                               false, true, SMALL, USUAL},
    [TK_EP_ASAMPLE] = {"asample", TK_HTTP_POST, API "asample", TK_HTTP_SAMPLE, 0, 0, true,
                       true, SMALL, USUAL},
    [TK_EP_RETRIEVE_FUTURE] = {"retrieve_future", TK_HTTP_POST, API "retrieve_future",
                               TK_HTTP_FUTURES, 45000, 0, false, true, RESULT, USUAL},
    [TK_EP_RETRIEVE_FUTURES] = {"retrieve_futures", TK_HTTP_POST, API "retrieve_futures",
                                TK_HTTP_FUTURES, 45000, 0, false, true, LIST, USUAL},
    [TK_EP_CANCEL_FUTURE] = {"cancel_future", TK_HTTP_POST, API "cancel_future",
                             TK_HTTP_FUTURES, 30000, 0, true, true, SMALL, SECOND},
    [TK_EP_JOIN_SAMPLING] = {"join_sampling_session", TK_HTTP_POST,
                             API "join_sampling_session", TK_HTTP_SESSION, 0, -1, true,
                             true, SMALL, USUAL},
    [TK_EP_SAMPLER] = {"sampler", TK_HTTP_GET, API "samplers/{}", TK_HTTP_REST, 0, -1,
                       true, true, SMALL, USUAL},
    [TK_EP_WEIGHTS_INFO] = {"weights_info", TK_HTTP_POST, API "weights_info",
                            TK_HTTP_REST, 0, -1, true, true, SMALL, USUAL},
    [TK_EP_RUNS] = {"runs", TK_HTTP_GET, API "training_runs", TK_HTTP_REST, 0, -1, true,
                    true, LIST, USUAL},
    [TK_EP_RUN] = {"run", TK_HTTP_GET, API "training_runs/{}", TK_HTTP_REST, 0, -1, true,
                   true, SMALL, USUAL},
    [TK_EP_RUN_CHECKPOINTS] = {"run_checkpoints", TK_HTTP_GET,
                               API "training_runs/{}/checkpoints", TK_HTTP_REST, 0, -1,
                               true, true, LIST, USUAL},
    [TK_EP_CHECKPOINT] = {"delete_checkpoint", TK_HTTP_DELETE, API "training_runs/{}",
                          TK_HTTP_REST, 0, -1, true, true, SMALL, USUAL},
    [TK_EP_ARCHIVE] = {"archive", TK_HTTP_GET, API "training_runs/{}/archive",
                       TK_HTTP_REST, 0, -1, true, false, SMALL, USUAL},
    [TK_EP_PUBLISH] = {"publish", TK_HTTP_POST, API "training_runs/{}/publish",
                       TK_HTTP_REST, 0, -1, true, true, SMALL, USUAL},
    [TK_EP_UNPUBLISH] = {"unpublish", TK_HTTP_DELETE, API "training_runs/{}/publish",
                         TK_HTTP_REST, 0, -1, true, true, SMALL, USUAL},
    [TK_EP_TTL] = {"ttl", TK_HTTP_PUT, API "training_runs/{}/ttl", TK_HTTP_REST, 0, -1,
                   true, true, SMALL, USUAL},
    [TK_EP_USER_CHECKPOINTS] = {"checkpoints", TK_HTTP_GET, API "checkpoints",
                                TK_HTTP_REST, 0, -1, true, true, LIST, USUAL},
    [TK_EP_SESSIONS] = {"sessions", TK_HTTP_GET, API "sessions", TK_HTTP_REST, 0, -1,
                        true, true, LIST, USUAL},
    [TK_EP_SESSION] = {"session", TK_HTTP_GET, API "sessions/{}", TK_HTTP_REST, 0, -1,
                       true, true, LIST, USUAL},
    [TK_EP_PROJECT] = {"session_project", TK_HTTP_PUT, API "sessions/{}/project",
                       TK_HTTP_REST, 0, -1, true, true, SMALL, USUAL},
    [TK_EP_TRACE_EXPORT] = {"trace_export", TK_HTTP_GET, API "sessions/{}/trace_export",
                            TK_HTTP_REST, 0, -1, true, true, SMALL, USUAL},
    [TK_EP_AUDIT] = {"audit", TK_HTTP_GET, API "audit", TK_HTTP_REST, 0, -1, true, true,
                     REPORT, USUAL},
    [TK_EP_BILLING] = {"billing", TK_HTTP_GET, API "billing/usage/events", TK_HTTP_REST,
                       0, -1, true, true, REPORT, USUAL},
    [TK_EP_STORAGE] = {"storage", TK_HTTP_GET, API "billing/usage/checkpoints/current",
                       TK_HTTP_REST, 0, -1, true, true, REPORT, USUAL},
    [TK_EP_SEARCH_SESSIONS] = {"search_sessions", TK_HTTP_POST, API "sessions/search",
                               TK_HTTP_REST, 0, -1, true, true, LIST, USUAL},
    [TK_EP_SEARCH_CHECKPOINTS] = {"search_checkpoints", TK_HTTP_POST,
                                  API "checkpoints/search", TK_HTTP_REST, 0, -1, true,
                                  true, LIST, USUAL},
    [TK_EP_COPY_WEIGHTS] = {"copy_weights", TK_HTTP_POST, API "copy_weights",
                            TK_HTTP_REST, 0, -1, true, true, SMALL, USUAL},
    [TK_EP_EXTERNAL_URLS] = {"external_weights_urls", TK_HTTP_GET,
                             API "training_runs/{}/external_weights_urls", TK_HTTP_REST,
                             0, -1, true, true, LIST, USUAL},
    [TK_EP_SAVE_EXTERNAL] = {"save_weights_external", TK_HTTP_POST,
                             API "save_weights_external", TK_HTTP_TRAIN, 0, 0, true, true,
                             SMALL, USUAL},
    [TK_EP_STREAM_SAMPLE] = {"stream_sample", TK_HTTP_POST, API "stream_sample",
                             TK_HTTP_SAMPLE, 0, 0, true, true, SMALL, USUAL},
    [TK_EP_TELEMETRY] = {"telemetry", TK_HTTP_POST, API "telemetry", TK_HTTP_TELEMETRY,
                         5000, 0, false, true, SMALL, SECOND},
};

const tk_endpoint *tk_endpoint_at(tk_endpoint_id id)
{
    return &endpoints[id];
}
