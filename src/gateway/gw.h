/* The gateway: OpenAI's and Anthropic's APIs in front of a backend that samples tokens, and
 * the episodes that it keeps of what was sampled. This is what the server and the program
 * see of src/gateway.
 *
 * Routes are rows for a table of the HTTP front (GW_ROUTES): each is handled by a function
 * of the application, which gives the request to gw_handle.
 *
 * A request: decoded, planned and sent to the backend on a worker of the front; then its
 * tokens become text on the gateway's own threads (gw_pool.h), which record the turn and
 * answer. Nothing waits on the thread of HTTP or on a thread of the backend. */
#ifndef GATEWAY_GW_H
#define GATEWAY_GW_H

#include "base/clock.h"
#include "base/log.h"
#include "gateway/gw_backend.h"
#include "httpd/hd_route.h"

typedef struct gw gw;

typedef struct gw_config {
    gw_backend backend;   /* copied; what it points to outlives the gateway */
    hd_budget *budget;    /* of memory; outlives the gateway */
    const char *episodes; /* directory; NULL: in memory only */
    size_t max_bytes;     /* of episodes in memory; 0 = a default */
    tk_log *log;          /* or NULL */
    /* As in gw_episodes_config. */
    void (*on_change)(void *user, tk_str episode);
    void *change_user;
    /* Looks at a request of an episode before its prompt is made: sets what the request
     * leaves open (a seed, a limit), or returns false with *fault filled to refuse it. NULL
     * = not wanted. Thread: a worker. */
    bool (*admit)(void *user, tk_str episode, ca_params *params, ca_fault *fault);
    void *admit_user;
} gw_config;

/* Opens the episodes and starts the threads. The errors of gw_episodes_open. */
TK_NODISCARD tinkc_code gw_new(gw **out, const gw_config *config, tk_err *err);

/* Called when no request is left and the backend has ended every sample. Accepts NULL. */
void gw_free(gw *gateway);

/* Returns its episodes (gw_episode.h), borrowed until it is freed. */
struct gw_episodes *gw_get_episodes(gw *gateway);

/* Answers a request to one of GW_ROUTES. Thread: a worker that may wait. */
hd_verdict gw_handle(gw *gateway, hd_request *request);

/* Writes the body of an error (hd_http_config.refuse) in the dialect of the request's path;
 * returns false, and does nothing, when the path is not the gateway's. */
bool gw_refuse(hd_request *request, int status, const tk_err *err);

#define GW_ROUTE_POST(path, handler)                                                     \
    {                                                                                    \
        "POST", path, handler, 0, TK_CA_BODY_BYTES, HD_ROUTE_ANY                         \
    }
#define GW_ROUTE_GET(path, handler)                                                      \
    {                                                                                    \
        "GET", path, handler, 0, 0, HD_ROUTE_ANY                                         \
    }

/* The routes below /v1 and /e/EPISODE/v1, and those of episodes. Clients add parameters to
 * the query that mean nothing here ("?beta=true"). */
#define GW_ROUTES_UNDER(prefix, handler)                                                 \
    GW_ROUTE_POST(prefix "/v1/chat/completions", handler),                               \
        GW_ROUTE_POST(prefix "/v1/completions", handler),                                \
        GW_ROUTE_POST(prefix "/v1/responses", handler),                                  \
        GW_ROUTE_POST(prefix "/v1/messages", handler),                                   \
        GW_ROUTE_POST(prefix "/v1/messages/count_tokens", handler),                      \
        GW_ROUTE_GET(prefix "/v1/models", handler),                                      \
        GW_ROUTE_GET(prefix "/v1/models/*", handler),                                    \
        GW_ROUTE_GET(prefix "/v1/models/**", handler)
#define GW_ROUTES(handler)                                                               \
    GW_ROUTES_UNDER("", handler), GW_ROUTES_UNDER("/e/*", handler),                      \
        {"GET", "/tinkc/v1/episodes", handler, HD_ROUTE_SLOW, 0, "format=list|jsonl"},   \
        {"GET", "/tinkc/v1/episodes/*", handler, HD_ROUTE_SLOW, 0, NULL},                \
        {"DELETE", "/tinkc/v1/episodes/*", handler, 0, 0, NULL},                         \
    {                                                                                    \
        "POST", "/tinkc/v1/episodes/*/reward", handler, 0, 0, NULL                       \
    }

#endif
