/* The inside of <tinkc/hooks.h>: the hooks of one service, and spans.
 *
 * A span remembers how many hooks there were when it started: those, and only those, get
 * its points and its end, so that every hook sees pairs. It is not changed after the
 * start: its owner ends it once. Thread: any. */
#ifndef CLIENT_HOOKS_H
#define CLIENT_HOOKS_H

#include <stdatomic.h>

#include <tinkc/hooks.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/tk.h"
#include "client/insight/context.h"

#define TK_HOOKS_MAX 8

typedef struct tk_hooks {
    const tk_clock *clock;
    tk_mutex adding;
    atomic_size_t n; /* what lies below is read only after it */
    struct {
        tinkc_hook_fn fn;
        void *user;
        void (*release)(void *user);
    } items[TK_HOOKS_MAX];
    atomic_uint_least64_t next_span;
} tk_hooks;

/* Zeroed: no hook is called. */
typedef struct tk_span {
    tk_hooks *hooks;
    size_t told; /* how many hooks there were at the start */
    uint64_t id, parent;
    int64_t start_ns;
    tinkc_span_kind kind;
    const char *name;
    const tk_context *context;
} tk_span;

TK_NODISCARD tinkc_code tk_hooks_init(tk_hooks *hooks, const tk_clock *clock,
                                      tk_err *err);
void tk_hooks_dispose(tk_hooks *hooks); /* releases them; accepts a zeroed one */

/* TINKC_E_LIMIT when there are too many. */
TK_NODISCARD tinkc_code tk_hooks_add(tk_hooks *hooks, tinkc_hook_fn fn, void *user,
                                     void (*release)(void *user));

/* Begins a span when there is a hook; else *span is zeroed. Its kind, name, context,
 * parent and the facts of its start are taken from `what`, which may have more set. */
void tk_hooks_start(tk_span *span, tk_hooks *hooks, const tk_context *context,
                    tinkc_hook *what);

static inline bool tk_span_is_open(const tk_span *span)
{
    return span->told > 0;
}

/* Ends it; no effect when it is not open. `what` may be NULL: no more to say. */
void tk_span_end(const tk_span *span, tinkc_code code, tinkc_hook *what);

/* Something happened in the span: `event` and its members are set by the caller. No
 * effect when it is not open. */
void tk_span_point(const tk_span *span, tinkc_hook *what);

/* The point of a retry: after an answer with this status, or for this reason; neither:
 * the connection failed. */
void tk_span_retry(const tk_span *span, tinkc_code code, int status, int64_t delay_ms);

#endif
