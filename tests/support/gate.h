/* A counter that threads wait for: how a test holds a callback on another thread and sees
 * that it has got there. The cap only ends failing tests. */
#ifndef SUPPORT_GATE_H
#define SUPPORT_GATE_H

#include "base/thread.h"
#include "support/test.h"

#define GATE_CAP_MS 60000

typedef struct gate {
    tk_mutex lock;
    tk_cond changed;
    int count;
} gate;

static inline void gate_init(gate *g)
{
    assert_int_equal(tk_cond_init_with(&g->changed, &g->lock, NULL), TINKC_OK);
    g->count = 0;
}

static inline void gate_dispose(gate *g)
{
    tk_cond_dispose(&g->changed);
    tk_mutex_dispose(&g->lock);
}

static inline int gate_count(gate *g)
{
    tk_mutex_lock(&g->lock);
    int count = g->count;
    tk_mutex_unlock(&g->lock);
    return count;
}

static inline void gate_raise(gate *g)
{
    tk_mutex_lock(&g->lock);
    g->count++;
    tk_cond_broadcast(&g->changed);
    tk_mutex_unlock(&g->lock);
}

/* False when the counter has not reached `count` in time. */
static inline bool gate_wait(gate *g, int count)
{
    int64_t end = tk_clock_mono_ns(&tk_clock_real) + GATE_CAP_MS * TK_NS_PER_MS;
    bool in_time = true;
    tk_mutex_lock(&g->lock);
    while (g->count < count && in_time) {
        in_time = tk_cond_wait_until(&g->changed, &g->lock, end);
    }
    bool reached = g->count >= count;
    tk_mutex_unlock(&g->lock);
    return reached;
}

#endif
