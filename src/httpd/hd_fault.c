/* Which rule fires, and what it does. What happens to an answer's bytes (drop, cut) is
 * only noted in the request: hd_http.c does it. A delay is the workers' (HD_LATER). */
#include "httpd/hd_fault.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "httpd/hd_reply.h"

#define SEEN_MAX 65536 /* distinct requests that a rule with "once" remembers */

tinkc_code hd_faults_new(hd_faults **out, size_t n, const hd_dispatch *inner, tk_log *log,
                         tk_err *err)
{
    hd_faults *faults = tk_zalloc(sizeof(*faults));
    hd_fault *rules = tk_zarray(n, sizeof(*rules));
    if (faults == NULL || rules == NULL) {
        tk_free(faults);
        tk_free(rules);
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_mutex_init(&faults->lock, err);
    if (code != TINKC_OK) {
        tk_free(faults);
        tk_free(rules);
        return code;
    }
    for (size_t i = 0; i < n; i++) {
        tk_map_init(&rules[i].seen, TK_MAP_COPY_KEYS);
    }
    tk_arena_init(&faults->arena, 0);
    faults->inner = *inner;
    faults->log = log;
    faults->rules = rules;
    faults->n = n;
    *out = faults;
    return TINKC_OK;
}

void hd_faults_free(hd_faults *faults)
{
    if (faults == NULL) {
        return;
    }
    for (size_t i = 0; i < faults->n; i++) {
        tk_map_dispose(&faults->rules[i].seen);
    }
    tk_mutex_dispose(&faults->lock);
    tk_free(faults->rules);
    tk_arena_dispose(&faults->arena);
    tk_free(faults);
}

/* ---- which rule ---- */

static bool fits(const hd_fault *rule, const hd_route *route)
{
    return tk_str_is(rule->route, "*") || tk_str_is(rule->route, route->pattern);
}

/* Whether this is the first time for these bytes. A request that cannot be remembered is
 * left alone: a fault that never ends is worse than one that is missing. */
static bool is_new(hd_fault *rule, const char digest[TK_SHA256_HEX_BYTES])
{
    tk_err ignored = TK_ERR_INIT;
    tk_str key = tk_str_of(digest);
    return rule->seen.count < SEEN_MAX && !tk_map_has(&rule->seen, key) &&
           tk_map_put(&rule->seen, key, rule, &ignored) == TINKC_OK;
}

static bool fires(hd_fault *rule, const char digest[TK_SHA256_HEX_BYTES])
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

static const hd_fault *choose(hd_faults *faults, const hd_request *request,
                              const char digest[TK_SHA256_HEX_BYTES])
{
    const hd_fault *found = NULL;
    tk_mutex_lock(&faults->lock);
    for (size_t i = 0; found == NULL && i < faults->n; i++) {
        hd_fault *rule = &faults->rules[i];
        if (fits(rule, request->route) && fires(rule, digest)) {
            found = rule;
        }
    }
    tk_mutex_unlock(&faults->lock);
    return found;
}

/* Hashes method, path and body. Returns false without memory: then there is no fault. */
static bool digest_of(char out[TK_SHA256_HEX_BYTES], const hd_request *request)
{
    tk_err ignored = TK_ERR_INIT;
    tk_sha256 *sha = NULL;
    bool ok = tk_sha256_new(&sha, &ignored) == TINKC_OK;
    const hd_route *route = request->route;
    tk_str parts[3 + HD_PARAMS_MAX] = {tk_str_of(route->method),
                                       tk_str_of(route->pattern)};
    for (size_t i = 0; i < HD_PARAMS_MAX; i++) {
        parts[2 + i] = request->params[i];
    }
    parts[2 + HD_PARAMS_MAX] = tk_buf_str(&request->body);
    for (size_t i = 0; ok && i < TK_ARRAY_LEN(parts); i++) {
        ok = tk_sha256_update(sha, parts[i].p, parts[i].n, &ignored) == TINKC_OK &&
             tk_sha256_update(sha, "\n", 1, &ignored) == TINKC_OK;
    }
    ok = ok && tk_sha256_finish(out, sha, &ignored) == TINKC_OK;
    tk_sha256_free(sha);
    return ok;
}

/* ---- what it does ---- */

static hd_verdict reply_status(const hd_fault *rule, hd_request *request)
{
    if (rule->retry_after.n > 0) {
        (void)hd_reply_header(request, "Retry-After", rule->retry_after.p);
    }
    return hd_reply_fail(request, (int)rule->status, TK_STR_FMT,
                         TK_STR_ARG(rule->detail));
}

static hd_verdict apply(const hd_faults *faults, const hd_fault *rule,
                        hd_request *request)
{
    switch (rule->action) {
    case HD_FAULT_DROP:
        request->loss = HD_LOSS_ALL;
        break;
    case HD_FAULT_CUT:
        request->loss = HD_LOSS_HALF;
        break;
    case HD_FAULT_STATUS:
        return reply_status(rule, request);
    case HD_FAULT_REPLY:
        return rule->reply(rule, request);
    case HD_FAULT_DELAY:
        request->due_ns =
            tk_clock_after(tk_clock_mono_ns(NULL), rule->delay_ms * TK_NS_PER_MS);
        return HD_LATER;
    }
    return faults->inner.handle(faults->inner.user, request);
}

static hd_verdict handle(void *user, hd_request *request)
{
    hd_faults *faults = user;
    char digest[TK_SHA256_HEX_BYTES];
    const hd_fault *rule = NULL;
    /* A request that comes back from its delay has had its fault. */
    if (request->due_ns == 0 && digest_of(digest, request)) {
        rule = choose(faults, request, digest);
    }
    if (rule == NULL) {
        return faults->inner.handle(faults->inner.user, request);
    }
    tk_log_write(faults->log, TINKC_LOG_INFO, "faults", "%s %s: %s",
                 request->route->method, request->route->pattern, rule->name);
    return apply(faults, rule, request);
}

hd_dispatch hd_faults_dispatch(hd_faults *faults)
{
    return (hd_dispatch){handle, faults, false}; /* writes a log, which may wait */
}
