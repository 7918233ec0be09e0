/* Rules and what they do, see srv_fault.h. What happens to an answer's bytes (drop, cut)
 * is only noted here: srv_http.c does it. */
#include "server/http/srv_fault.h"

#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "server/api/srv_route.h"
#include "server/http/srv_fault_int.h"
#include "server/http/srv_reply.h"
#include "server/srv_int.h"
#include "wire/msg_future.h"

#define SEEN_MAX 65536 /* distinct requests that a rule with "once" remembers */

void srv_faults_free(srv_faults *faults)
{
    if (faults == NULL) {
        return;
    }
    for (size_t i = 0; i < faults->n; i++) {
        tk_map_dispose(&faults->rules[i].seen);
    }
    tk_free(faults->rules);
    tk_arena_dispose(&faults->arena);
    tk_free(faults);
}

/* ---- which rule ---- */

/* "optim_step" is "/api/v1/optim_step"; "*" is every route. */
static bool fits(const srv_fault *rule, const srv_route *route)
{
    const char prefix[] = "/api/v1/";
    tk_str pattern = tk_str_of(route->pattern);
    if (tk_str_is(rule->route, "*") || tk_str_eq(rule->route, pattern)) {
        return true;
    }
    const size_t n = sizeof(prefix) - 1;
    return tk_str_has_prefix(pattern, prefix) &&
           tk_str_eq(rule->route, (tk_str){pattern.p + n, pattern.n - n});
}

/* Whether this is the first time for these bytes. A request that cannot be remembered is
 * left alone: a fault that never ends is worse than one that is missing. */
static bool is_new(srv_fault *rule, const char digest[TK_SHA256_HEX_BYTES])
{
    tk_err ignored = TK_ERR_INIT;
    tk_str key = tk_str_of(digest);
    return rule->seen.count < SEEN_MAX && !tk_map_has(&rule->seen, key) &&
           tk_map_put(&rule->seen, key, rule, &ignored) == TINKC_OK;
}

static bool fires(srv_fault *rule, const char digest[TK_SHA256_HEX_BYTES])
{
    if (rule->times > 0 && rule->n_fired >= rule->times) {
        return false;
    }
    if (rule->once && !is_new(rule, digest)) {
        return false;
    }
    int64_t at = rule->n_seen++;
    if (at < rule->skip || (at - rule->skip) % rule->every != 0) {
        return false;
    }
    rule->n_fired++;
    return true;
}

static const srv_fault *choose(srv *server, const srv_request *request,
                               const char digest[TK_SHA256_HEX_BYTES])
{
    const srv_fault *found = NULL;
    tk_mutex_lock(&server->lock);
    for (size_t i = 0; found == NULL && i < server->faults->n; i++) {
        srv_fault *rule = &server->faults->rules[i];
        if (fits(rule, request->route) && fires(rule, digest)) {
            found = rule;
        }
    }
    tk_mutex_unlock(&server->lock);
    return found;
}

/* Method, path and body; false: no digest, no fault. */
static bool digest_of(char out[TK_SHA256_HEX_BYTES], const srv_request *request)
{
    tk_err ignored = TK_ERR_INIT;
    tk_sha256 *sha = NULL;
    bool ok = tk_sha256_new(&sha, &ignored) == TINKC_OK;
    const srv_route *route = request->route;
    tk_str parts[3 + SRV_PARAMS_MAX] = {tk_str_of(route->method),
                                        tk_str_of(route->pattern)};
    for (size_t i = 0; i < SRV_PARAMS_MAX; i++) {
        parts[2 + i] = request->params[i];
    }
    parts[2 + SRV_PARAMS_MAX] = tk_buf_str(&request->body);
    for (size_t i = 0; ok && i < TK_ARRAY_LEN(parts); i++) {
        ok = tk_sha256_update(sha, parts[i].p, parts[i].n, &ignored) == TINKC_OK &&
             tk_sha256_update(sha, "\n", 1, &ignored) == TINKC_OK;
    }
    ok = ok && tk_sha256_finish(out, sha, &ignored) == TINKC_OK;
    tk_sha256_free(sha);
    return ok;
}

/* ---- what it does ---- */

static srv_verdict reply_status(const srv_fault *rule, srv_request *request)
{
    if (rule->retry_after.n > 0) {
        (void)srv_reply_header(request, "Retry-After", rule->retry_after.p);
    }
    return srv_reply_fail(request, (int)rule->status, TK_STR_FMT,
                          TK_STR_ARG(rule->detail));
}

/* As a poll whose time is over. */
static srv_verdict reply_try_again(const srv_fault *rule, srv_request *request)
{
    tk_retrieve_future_request msg;
    if (!srv_request_decode(request, &tk_msg_retrieve_future_request, &msg)) {
        return SRV_ANSWERED;
    }
    const tk_try_again reply = {
        .request_id = msg.request_id,
        .queue_state = {TK_SET, rule->queue_state},
        .queue_state_reason = {TK_SET, rule->detail},
    };
    return srv_reply_msg_status(request, 408, &tk_msg_try_again, &reply);
}

static srv_verdict hold(srv *server, const srv_fault *rule, srv_request *request)
{
    request->held_until_ns =
        tk_clock_after(tk_clock_mono_ns(NULL), rule->delay_ms * TK_NS_PER_MS);
    tk_mutex_lock(&server->lock);
    bool stopping = atomic_load(&server->stopping);
    if (!stopping) {
        tk_list_push_back(&server->faults->held, &request->waiting);
        tk_cond_signal(&server->keeper_wake);
    }
    tk_mutex_unlock(&server->lock);
    return stopping ? request->route->handler(server, request) : SRV_PARKED;
}

srv_verdict srv_faults_handle(srv *server, srv_request *request)
{
    char digest[TK_SHA256_HEX_BYTES];
    const srv_fault *rule = NULL;
    if (server->faults != NULL && request->held_until_ns == 0 &&
        digest_of(digest, request)) {
        rule = choose(server, request, digest);
    }
    if (rule == NULL) {
        return request->route->handler(server, request);
    }
    tk_log_write(server->log, TINKC_LOG_INFO, "faults", "%s %s: %s",
                 request->route->method, request->route->pattern,
                 srv_fault_action_name(rule->action));
    switch (rule->action) {
    case SRV_FAULT_DROP:
        request->loss = SRV_LOSS_ALL;
        break;
    case SRV_FAULT_CUT:
        request->loss = SRV_LOSS_HALF;
        break;
    case SRV_FAULT_STATUS:
        return reply_status(rule, request);
    case SRV_FAULT_TRY_AGAIN:
        return reply_try_again(rule, request);
    case SRV_FAULT_DELAY:
        return hold(server, rule, request);
    }
    return request->route->handler(server, request);
}

/* ---- the held ---- */

int64_t srv_faults_next(srv_faults *faults)
{
    int64_t next = TK_FOREVER;
    if (faults == NULL) {
        return next;
    }
    for (tk_list *at = faults->held.next; at != &faults->held; at = at->next) {
        const srv_request *request = TK_CONTAINER_OF(at, srv_request, waiting);
        next = TK_MIN(next, request->held_until_ns);
    }
    return next;
}

void srv_faults_release(srv_faults *faults, int64_t now_ns, tk_list *out)
{
    if (faults == NULL) {
        return;
    }
    tk_list *at = faults->held.next;
    while (at != &faults->held) {
        srv_request *request = TK_CONTAINER_OF(at, srv_request, waiting);
        at = at->next;
        if (request->held_until_ns <= now_ns) {
            tk_list_remove(&request->waiting);
            tk_list_push_back(out, &request->waiting);
        }
    }
}
