/* Threads, locks and conditions over pthreads, with deadlines on the monotonic clock.
 *
 * Thin on purpose: what it adds is errors instead of ignored return values, waits that
 * end, named threads, and threads that take no signals from their host. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/tk.h"

typedef struct tk_mutex {
    pthread_mutex_t os;
} tk_mutex;

#define TK_MUTEX_INIT                                                                    \
    {                                                                                    \
        PTHREAD_MUTEX_INITIALIZER                                                        \
    }

/* Not recursive. TINKC_E_IO or TINKC_E_NOMEM; only an initialised one may be disposed. */
TK_NODISCARD tinkc_code tk_mutex_init(tk_mutex *mutex, tk_err *err);
void tk_mutex_dispose(tk_mutex *mutex);
void tk_mutex_lock(tk_mutex *mutex);
void tk_mutex_unlock(tk_mutex *mutex);
/* Locks it if that needs no wait; returns whether it did. */
TK_NODISCARD bool tk_mutex_try_lock(tk_mutex *mutex);

typedef struct tk_cond {
    pthread_cond_t os;
} tk_cond;

TK_NODISCARD tinkc_code tk_cond_init(tk_cond *cond, tk_err *err);
void tk_cond_dispose(tk_cond *cond);
void tk_cond_signal(tk_cond *cond);
void tk_cond_broadcast(tk_cond *cond);

/* A lock and the condition that goes with it: both, or neither. */
TK_NODISCARD tinkc_code tk_cond_init_with(tk_cond *cond, tk_mutex *mutex, tk_err *err);

/* Both may wake for no reason: call them in a loop around the condition. The second
 * returns false once the monotonic clock of tk_clock_real has reached deadline_ns;
 * TK_FOREVER waits without end. */
void tk_cond_wait(tk_cond *cond, tk_mutex *mutex);
bool tk_cond_wait_until(tk_cond *cond, tk_mutex *mutex, int64_t deadline_ns);

typedef struct tk_thread {
    pthread_t os;
} tk_thread;

/* Runs run(user) on a new thread called `name` (cut at 15 bytes), with all signals
 * blocked that another thread could handle. On success it must be joined or detached. On
 * failure `run` is never called. */
TK_NODISCARD tinkc_code tk_thread_start(tk_thread *out, const char *name,
                                        void (*run)(void *user), void *user, tk_err *err);
void tk_thread_join(tk_thread *thread);
void tk_thread_detach(tk_thread *thread); /* it ends by itself, perhaps never */
bool tk_thread_is_current(const tk_thread *thread);

typedef struct tk_once {
    pthread_once_t os;
} tk_once;

#define TK_ONCE_INIT                                                                     \
    {                                                                                    \
        PTHREAD_ONCE_INIT                                                                \
    }

/* Calls `run` the first time only; returns when it has returned. */
void tk_once_run(tk_once *once, void (*run)(void));

#endif
