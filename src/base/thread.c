/* Locking a valid, non-recursive mutex cannot fail, so lock and unlock return nothing;
 * everything that allocates or may hit a limit reports. */
#include "base/thread.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "base/mem.h"

#define NS_PER_SECOND (1000 * TK_NS_PER_MS)

tinkc_code tk_mutex_init(tk_mutex *mutex, tk_err *err)
{
    int status = pthread_mutex_init(&mutex->os, NULL);
    return status == 0 ? TINKC_OK : tk_err_sys(err, status, "cannot make a lock");
}

void tk_mutex_dispose(tk_mutex *mutex)
{
    (void)pthread_mutex_destroy(&mutex->os);
}

void tk_mutex_lock(tk_mutex *mutex)
{
    (void)pthread_mutex_lock(&mutex->os);
}

void tk_mutex_unlock(tk_mutex *mutex)
{
    (void)pthread_mutex_unlock(&mutex->os);
}

bool tk_mutex_try_lock(tk_mutex *mutex)
{
    return pthread_mutex_trylock(&mutex->os) == 0;
}

tinkc_code tk_cond_init(tk_cond *cond, tk_err *err)
{
    pthread_condattr_t attr;
    int status = pthread_condattr_init(&attr);
    if (status == 0) {
        status = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        status = status == 0 ? pthread_cond_init(&cond->os, &attr) : status;
        (void)pthread_condattr_destroy(&attr);
    }
    return status == 0 ? TINKC_OK : tk_err_sys(err, status, "cannot make a condition");
}

void tk_cond_dispose(tk_cond *cond)
{
    (void)pthread_cond_destroy(&cond->os);
}

tinkc_code tk_cond_init_with(tk_cond *cond, tk_mutex *mutex, tk_err *err)
{
    tinkc_code code = tk_mutex_init(mutex, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = tk_cond_init(cond, err);
    if (code != TINKC_OK) {
        tk_mutex_dispose(mutex);
    }
    return code;
}

void tk_cond_signal(tk_cond *cond)
{
    (void)pthread_cond_signal(&cond->os);
}

void tk_cond_broadcast(tk_cond *cond)
{
    (void)pthread_cond_broadcast(&cond->os);
}

void tk_cond_wait(tk_cond *cond, tk_mutex *mutex)
{
    (void)pthread_cond_wait(&cond->os, &mutex->os);
}

bool tk_cond_wait_until(tk_cond *cond, tk_mutex *mutex, int64_t deadline_ns)
{
    if (deadline_ns == TK_FOREVER) {
        tk_cond_wait(cond, mutex);
        return true;
    }
    int64_t at = TK_MAX(deadline_ns, 0);
    struct timespec until = {(time_t)(at / NS_PER_SECOND), (long)(at % NS_PER_SECOND)};
    return pthread_cond_timedwait(&cond->os, &mutex->os, &until) != ETIMEDOUT;
}

/* What the new thread needs; it frees it. */
typedef struct start {
    void (*run)(void *user);
    void *user;
    char name[16]; /* the kernel's limit */
} start;

static void *thread_main(void *arg)
{
    start *given = arg;
    start copy = *given;
    tk_free(given);
    (void)pthread_setname_np(pthread_self(), copy.name);
    copy.run(copy.user);
    return NULL;
}

/* Signals that a thread raises by its own fault stay open: blocking them would turn a
 * host's crash handler off. */
static void block_signals(sigset_t *old)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t set;
    (void)sigfillset(&set);
    for (size_t i = 0; i < TK_ARRAY_LEN(own); i++) {
        (void)sigdelset(&set, own[i]);
    }
    (void)pthread_sigmask(SIG_SETMASK, &set, old);
}

tinkc_code tk_thread_start(tk_thread *out, const char *name, void (*run)(void *user),
                           void *user, tk_err *err)
{
    start *given = tk_malloc(sizeof(*given));
    if (given == NULL) {
        return tk_err_nomem(err);
    }
    given->run = run;
    given->user = user;
    (void)snprintf(given->name, sizeof(given->name), "%s", name);
    pthread_t os;
    sigset_t old;
    block_signals(&old);
    int status = pthread_create(&os, NULL, thread_main, given);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (status != 0) {
        tk_free(given);
        return tk_err_sys(err, status, "cannot start thread %s", name);
    }
    out->os = os;
    return TINKC_OK;
}

void tk_thread_join(tk_thread *thread)
{
    (void)pthread_join(thread->os, NULL);
}

void tk_thread_detach(tk_thread *thread)
{
    (void)pthread_detach(thread->os);
}

bool tk_thread_is_current(const tk_thread *thread)
{
    return pthread_equal(thread->os, pthread_self()) != 0;
}

void tk_once_run(tk_once *once, void (*run)(void))
{
    (void)pthread_once(&once->os, run);
}
