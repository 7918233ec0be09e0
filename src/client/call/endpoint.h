/* Every endpoint as a row: path, group, timeout, retry layers (docs/protocol.md §2.0,
 * §5.7), the largest answer that is read. The one place that knows; calls name a row. */
#ifndef CLIENT_ENDPOINT_H
#define CLIENT_ENDPOINT_H

#include "http/http.h"

typedef enum tk_endpoint_id {
    TK_EP_CLIENT_CONFIG,
    TK_EP_AUTH_TOKEN,
    TK_EP_DYNAMIC_CONFIG,
    TK_EP_HEALTHZ,
    TK_EP_CAPABILITIES,
    TK_EP_CREATE_SESSION,
    TK_EP_HEARTBEAT,
    TK_EP_FINISH_SESSION, /* sessions/{id}/finish */
    TK_EP_CREATE_MODEL,
    TK_EP_GET_INFO,
    TK_EP_UNLOAD_MODEL,
    TK_EP_FORWARD_BACKWARD,
    TK_EP_FORWARD, /* of servers that read JSON only */
    TK_EP_OPTIM_STEP,
    TK_EP_SAVE_WEIGHTS,
    TK_EP_SAVE_FOR_SAMPLER,
    TK_EP_LOAD_WEIGHTS,
    TK_EP_CREATE_CUSTOM_LOSS,
    TK_EP_CREATE_SAMPLING,
    TK_EP_ASAMPLE,
    TK_EP_RETRIEVE_FUTURE,
    TK_EP_RETRIEVE_FUTURES,
    TK_EP_CANCEL_FUTURE,
    TK_EP_JOIN_SAMPLING,
    TK_EP_SAMPLER, /* samplers/{id} */
    TK_EP_WEIGHTS_INFO,
    TK_EP_RUNS,
    TK_EP_RUN,             /* training_runs/{run} */
    TK_EP_RUN_CHECKPOINTS, /* training_runs/{run}/checkpoints */
    TK_EP_CHECKPOINT, /* DELETE; here and below: training_runs/{run/checkpoints/id} */
    TK_EP_ARCHIVE,
    TK_EP_PUBLISH,
    TK_EP_UNPUBLISH,
    TK_EP_TTL,
    TK_EP_USER_CHECKPOINTS,
    TK_EP_SESSIONS,
    TK_EP_SESSION, /* sessions/{id} */
    TK_EP_PROJECT,
    TK_EP_TRACE_EXPORT,
    TK_EP_AUDIT,
    TK_EP_BILLING,
    TK_EP_STORAGE,
    TK_EP_SEARCH_SESSIONS,
    TK_EP_SEARCH_CHECKPOINTS,
    TK_EP_COPY_WEIGHTS,
    TK_EP_EXTERNAL_URLS,
    TK_EP_SAVE_EXTERNAL,
    TK_EP_STREAM_SAMPLE,
    TK_EP_TELEMETRY,
    TK_EP_COUNT
} tk_endpoint_id;

typedef struct tk_endpoint {
    const char *name; /* low-cardinality, for logs and hooks */
    tk_http_method method;
    const char *path; /* "/api/v1/asample"; "{}" = the call's path argument */
    tk_http_group group;
    int64_t timeout_ms; /* 0: the configured default */
    int l1_retries;     /* -1: the configured default */
    bool l2;
    bool follow_redirects;
    /* Largest response, decompressed, if the configured limit is not lower; a refusal is
     * never larger than TK_ANSWER_SMALL_BYTES. 0: the configured limit for both. */
    size_t answer_bytes;
    int64_t every_ms; /* least time between the starts of two requests; 0: the usual */
} tk_endpoint;

const tk_endpoint *tk_endpoint_at(tk_endpoint_id id);

#endif
