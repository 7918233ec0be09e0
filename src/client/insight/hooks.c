/* See hooks.h. No lock is taken to tell: the list only grows. */
#include "client/insight/hooks.h"

#include "client/core/core.h"
#include "client/core/service.h"
#include "client/values/error.h"

tinkc_code tk_hooks_init(tk_hooks *hooks, const tk_clock *clock, tk_err *err)
{
    tinkc_code code = tk_mutex_init(&hooks->adding, err);
    if (code == TINKC_OK) {
        hooks->clock = clock;
        atomic_init(&hooks->n, 0);
        atomic_init(&hooks->next_span, 1);
    }
    return code;
}

void tk_hooks_dispose(tk_hooks *hooks)
{
    if (hooks->clock == NULL) {
        return;
    }
    size_t n = atomic_load(&hooks->n);
    for (size_t i = 0; i < n; i++) {
        if (hooks->items[i].release != NULL) {
            hooks->items[i].release(hooks->items[i].user);
        }
    }
    tk_mutex_dispose(&hooks->adding);
}

tinkc_code tk_hooks_add(tk_hooks *hooks, tinkc_hook_fn fn, void *user,
                        void (*release)(void *user))
{
    tk_mutex_lock(&hooks->adding);
    size_t n = atomic_load(&hooks->n);
    bool fits = n < TK_HOOKS_MAX;
    if (fits) {
        hooks->items[n].fn = fn;
        hooks->items[n].user = user;
        hooks->items[n].release = release;
        atomic_store_explicit(&hooks->n, n + 1, memory_order_release);
    }
    tk_mutex_unlock(&hooks->adding);
    return fits ? TINKC_OK : TINKC_E_LIMIT;
}

/* ---- spans ---- */

static void tell(const tk_span *span, tinkc_hook *what)
{
    what->kind = span->kind;
    what->span = span->id;
    what->parent = span->parent;
    what->name = span->name;
    what->context = tk_context_public(span->context);
    for (size_t i = 0; i < span->told; i++) {
        span->hooks->items[i].fn(what, span->hooks->items[i].user);
    }
}

void tk_hooks_start(tk_span *span, tk_hooks *hooks, const tk_context *context,
                    tinkc_hook *what)
{
    size_t n = hooks != NULL ? atomic_load_explicit(&hooks->n, memory_order_acquire) : 0;
    if (n == 0) {
        *span = (tk_span){.told = 0};
        return;
    }
    *span = (tk_span){.hooks = hooks,
                      .told = n,
                      .id = atomic_fetch_add(&hooks->next_span, 1),
                      .parent = what->parent,
                      .start_ns = tk_clock_mono_ns(hooks->clock),
                      .kind = what->kind,
                      .name = what->name,
                      .context = context};
    what->event = TINKC_HOOK_START;
    what->time_ns = span->start_ns;
    tell(span, what);
}

void tk_span_end(const tk_span *span, tinkc_code code, tinkc_hook *what)
{
    tinkc_hook plain = {.event = TINKC_HOOK_STOP};
    if (!tk_span_is_open(span)) {
        return;
    }
    what = what != NULL ? what : &plain;
    what->event = code == TINKC_OK ? TINKC_HOOK_STOP : TINKC_HOOK_ERROR;
    what->code = code;
    what->time_ns = tk_clock_mono_ns(span->hooks->clock);
    what->duration_ns = what->time_ns - span->start_ns;
    tell(span, what);
}

void tk_span_point(const tk_span *span, tinkc_hook *what)
{
    if (tk_span_is_open(span)) {
        what->time_ns = tk_clock_mono_ns(span->hooks->clock);
        tell(span, what);
    }
}

/* One short label per reason, so that metrics have few label values. */
static const char *reason_of(tinkc_code code, int status)
{
    static const struct {
        int status;
        const char *text;
    } words[] = {{402, "402"}, {408, "408"}, {409, "409"}, {429, "429"},
                 {500, "500"}, {502, "502"}, {503, "503"}, {504, "504"}};
    for (size_t i = 0; i < TK_ARRAY_LEN(words); i++) {
        if (words[i].status == status) {
            return words[i].text;
        }
    }
    if (status != 0) {
        return status >= 500 ? "5xx" : "4xx";
    }
    switch ((int)code) {
    case TINKC_E_REQUEST:
        return "request_failed";
    case TINKC_E_TIMEOUT:
        return "timeout";
    default:
        return "connection";
    }
}

void tk_span_retry(const tk_span *span, tinkc_code code, int status, int64_t delay_ms)
{
    tinkc_hook what = {.event = TINKC_HOOK_RETRY,
                       .code = status != 0        ? tk_err_code_of_status(status)
                               : code != TINKC_OK ? code
                                                  : TINKC_E_CONNECTION,
                       .http_status = status,
                       .delay_ms = delay_ms,
                       .reason = reason_of(code, status)};
    tk_span_point(span, &what);
}

/* ---- public ---- */

tinkc_code tinkc_service_add_hook(tinkc_service *service, tinkc_hook_fn fn, void *user,
                                  void (*release)(void *user), tinkc_error **error)
{
    if (service == NULL || tk_core_check(tk_service_core(service), NULL) != TINKC_OK) {
        return tk_error_tell(error, TINKC_E_STATE, "no service, or it is closed");
    }
    if (fn == NULL) {
        return tk_error_tell(error, TINKC_E_INVALID, "no function");
    }
    tinkc_code code =
        tk_hooks_add(tk_core_hooks(tk_service_core(service)), fn, user, release);
    return code == TINKC_OK
               ? TINKC_OK
               : tk_error_tell(error, code,
                               code == TINKC_E_LIMIT ? "the service has 8 hooks already"
                                                     : "out of memory");
}

const char *tinkc_token_kind_name(tinkc_token_kind kind)
{
    switch (kind) {
    case TINKC_TOKENS_TRAINING:
        return "training";
    case TINKC_TOKENS_PREFILL:
        return "prefill";
    case TINKC_TOKENS_CACHED_PREFILL:
        return "cached_prefill";
    case TINKC_TOKENS_SAMPLED:
        return "sampled";
    }
    return "?";
}
