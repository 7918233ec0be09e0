/* A generation counter starts a loop, a countdown ends it; both are spun on for a while
 * and then waited for under one mutex. */
#include "engine/eng_pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/mem.h"

#define ALIGN    ((size_t)64)
#define SPINS    20000 /* about 100 us: longer than the gap between two loops */
#define MAX_SIZE 256
#define SMALL    ((size_t)32768) /* multiplications: a few microseconds */

typedef struct worker {
    eng_pool *pool;
    pthread_t thread;
    void *block;   /* owned */
    void *scratch; /* aligned, inside block */
    size_t scratch_bytes;
} worker;

struct eng_pool {
    unsigned size;
    unsigned started; /* threads that run, for teardown */
    unsigned spins;
    worker *workers;
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    atomic_uint generation;
    atomic_uint pending; /* workers that have not finished the current loop */
    atomic_uint sleepers;
    atomic_bool stop;
    size_t units;
    eng_pool_fn fn;
    void *user;
};

static void relax(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#else
    sched_yield();
#endif
}

static void run_part(eng_pool *pool, unsigned index)
{
    size_t base = pool->units / pool->size, extra = pool->units % pool->size;
    size_t begin = base * index + TK_MIN((size_t)index, extra);
    size_t end = begin + base + (index < extra ? 1 : 0);
    if (begin < end) {
        pool->fn(pool->user, begin, end, pool->workers[index].scratch);
    }
}

/* Returns when the generation is no longer `seen` or the pool stops. */
static void await_work(eng_pool *pool, unsigned seen)
{
    for (unsigned i = 0; i < pool->spins; i++) {
        if (atomic_load_explicit(&pool->generation, memory_order_acquire) != seen) {
            return;
        }
        relax();
    }
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1);
    while (atomic_load(&pool->generation) == seen) {
        pthread_cond_wait(&pool->work, &pool->lock);
    }
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->lock);
}

static void *worker_main(void *user)
{
    worker *self = user;
    eng_pool *pool = self->pool;
    unsigned index = (unsigned)(self - pool->workers);
    for (unsigned seen = 0;; seen++) {
        await_work(pool, seen);
        if (atomic_load_explicit(&pool->stop, memory_order_acquire)) {
            return NULL;
        }
        run_part(pool, index);
        if (atomic_fetch_sub(&pool->pending, 1) == 1) {
            pthread_mutex_lock(&pool->lock);
            pthread_cond_signal(&pool->done);
            pthread_mutex_unlock(&pool->lock);
        }
    }
}

static void release(eng_pool *pool)
{
    atomic_fetch_add(&pool->generation, 1);
    if (atomic_load(&pool->sleepers) > 0) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->work);
        pthread_mutex_unlock(&pool->lock);
    }
}

void eng_pool_run(eng_pool *pool, size_t units, eng_pool_fn fn, void *user)
{
    pool->units = units;
    pool->fn = fn;
    pool->user = user;
    if (pool->size == 1 || units <= 1) {
        if (units > 0) {
            fn(user, 0, units, pool->workers[0].scratch);
        }
        return;
    }
    atomic_store(&pool->pending, pool->size - 1);
    release(pool);
    run_part(pool, 0);
    for (unsigned i = 0; i < pool->spins; i++) {
        if (atomic_load_explicit(&pool->pending, memory_order_acquire) == 0) {
            return;
        }
        relax();
    }
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->pending) != 0) {
        pthread_cond_wait(&pool->done, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
}

void eng_pool_run_work(eng_pool *pool, size_t units, size_t work, eng_pool_fn fn,
                       void *user)
{
    if (work < SMALL && units > 0) {
        fn(user, 0, units, pool->workers[0].scratch);
    } else {
        eng_pool_run(pool, units, fn, user);
    }
}

tinkc_code eng_pool_reserve(eng_pool *pool, size_t bytes, tk_err *err)
{
    for (unsigned i = 0; i < pool->size; i++) {
        worker *w = &pool->workers[i];
        if (w->scratch_bytes >= bytes) {
            continue;
        }
        size_t want;
        void *block = tk_size_add(&want, bytes, ALIGN) ? tk_malloc(want) : NULL;
        if (block == NULL) {
            return tk_err_nomem(err);
        }
        tk_free(w->block);
        w->block = block;
        w->scratch = (char *)block + (ALIGN - (uintptr_t)block % ALIGN) % ALIGN;
        w->scratch_bytes = bytes;
    }
    return TINKC_OK;
}

unsigned eng_pool_size(const eng_pool *pool)
{
    return pool->size;
}

static unsigned online_cpus(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)TK_MIN(n, (long)MAX_SIZE) : 1;
}

static tinkc_code start_workers(eng_pool *pool, tk_err *err)
{
    for (unsigned i = 0; i < pool->size; i++) {
        pool->workers[i].pool = pool;
    }
    for (unsigned i = 1; i < pool->size; i++) {
        worker *w = &pool->workers[i];
        if (pthread_create(&w->thread, NULL, worker_main, w) != 0) {
            return tk_err_set(err, TINKC_E_NOMEM, "cannot start engine thread %u of %u",
                              i, pool->size);
        }
        pool->started++;
    }
    return TINKC_OK;
}

tinkc_code eng_pool_new(eng_pool **out, unsigned threads, tk_err *err)
{
    unsigned cpus = online_cpus();
    unsigned size = threads == 0 ? cpus : threads;
    if (size > MAX_SIZE) {
        return tk_err_set(err, TINKC_E_INVALID, "%u engine threads asked for, at most %d",
                          size, MAX_SIZE);
    }
    eng_pool *pool = tk_zalloc(sizeof(*pool));
    if (pool == NULL) {
        return tk_err_nomem(err);
    }
    pool->size = size;
    pool->spins = size <= cpus ? SPINS : 0; /* more threads than cores: never spin */
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->workers = tk_zarray(size, sizeof(worker));
    tinkc_code code =
        pool->workers != NULL ? start_workers(pool, err) : tk_err_nomem(err);
    if (code != TINKC_OK) {
        eng_pool_free(pool);
        return code;
    }
    *out = pool;
    return TINKC_OK;
}

void eng_pool_free(eng_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    atomic_store(&pool->stop, true);
    release(pool);
    for (unsigned i = 0; i < pool->started; i++) {
        pthread_join(pool->workers[i + 1].thread, NULL);
    }
    for (unsigned i = 0; pool->workers != NULL && i < pool->size; i++) {
        tk_free(pool->workers[i].block);
    }
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->done);
    tk_free(pool->workers);
    tk_free(pool);
}
