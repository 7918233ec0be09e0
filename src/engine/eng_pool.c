/* A loop is cut into pieces; a free thread takes the next one, so that a thread which the
 * system does not run delays one piece, not its share of the loop. One word holds the
 * number of the loop and the pieces that are left; a countdown ends the loop. Both are
 * spun on for a while and then waited for under one mutex. */
#include "engine/eng_pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/mem.h"

#define ALIGN    ((size_t)64)
#define SPINS    4000 /* about 50 us: longer than the gap between two loops */
#define MAX_SIZE 256
#define SMALL    ((size_t)32768)   /* multiplications: a few microseconds */
#define LARGE    ((size_t)1 << 22) /* a millisecond: worth more pieces than threads */
#define PIECES   8                 /* of a large loop, per thread */

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
    _Atomic uint64_t ticket; /* number of the loop << 32 | pieces left to take */
    atomic_uint unfinished;  /* pieces of the current loop */
    atomic_uint sleepers;    /* workers */
    atomic_bool asleep;      /* the caller */
    atomic_bool stop;
    eng_stop_fn stop_fn; /* NULL = nothing stops it */
    void *stop_user;
    atomic_bool stopped; /* stop_fn has said so */
    /* the current loop: constant while a piece of it is taken and not finished */
    size_t pieces;
    size_t units;
    eng_pool_fn fn;
    void *user;
    bool may_stop;
};

static void relax(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#else
    sched_yield();
#endif
}

static bool work_left(const eng_pool *pool)
{
    return (uint32_t)atomic_load_explicit(&pool->ticket, memory_order_acquire) > 0;
}

static bool take_piece(eng_pool *pool, size_t *piece)
{
    uint64_t ticket = atomic_load_explicit(&pool->ticket, memory_order_acquire);
    while ((uint32_t)ticket > 0) {
        if (atomic_compare_exchange_weak(&pool->ticket, &ticket, ticket - 1)) {
            *piece = (uint32_t)ticket - 1;
            return true;
        }
    }
    return false;
}

static void wake(eng_pool *pool, pthread_cond_t *condition)
{
    pthread_mutex_lock(&pool->lock);
    pthread_cond_broadcast(condition);
    pthread_mutex_unlock(&pool->lock);
}

void eng_pool_set_stop(eng_pool *pool, eng_stop_fn stop, void *user)
{
    pool->stop_fn = stop;
    pool->stop_user = user;
}

void eng_pool_allow_stop(eng_pool *pool, bool allowed)
{
    pool->may_stop = allowed;
}

bool eng_pool_is_stopped(eng_pool *pool)
{
    if (pool->stop_fn == NULL) {
        return false;
    }
    if (!atomic_load(&pool->stopped) && pool->stop_fn(pool->stop_user)) {
        atomic_store(&pool->stopped, true);
    }
    return atomic_load(&pool->stopped);
}

tinkc_code eng_pool_check(eng_pool *pool, tk_err *err)
{
    if (!eng_pool_is_stopped(pool)) {
        return TINKC_OK;
    }
    tk_err_clear(err);
    return tk_err_set(err, TINKC_E_CANCELLED,
                      "stopped before the end; nothing of it was applied");
}

/* The piece of that number, unless the pool is stopped. */
static void run_piece(eng_pool *pool, size_t piece, unsigned index)
{
    size_t base = pool->units / pool->pieces, extra = pool->units % pool->pieces;
    size_t begin = base * piece + TK_MIN(piece, extra);
    size_t end = begin + base + (piece < extra ? 1 : 0);
    if (!pool->may_stop || !eng_pool_is_stopped(pool)) {
        pool->fn(pool->user, begin, end, pool->workers[index].scratch);
    }
}

/* Takes pieces until there are none. */
static void run_pieces(eng_pool *pool, unsigned index)
{
    size_t piece;
    while (take_piece(pool, &piece)) {
        run_piece(pool, piece, index);
        if (atomic_fetch_sub(&pool->unfinished, 1) == 1 && atomic_load(&pool->asleep)) {
            wake(pool, &pool->done);
        }
    }
}

/* Returns when there is work or the pool stops. */
static void await_work(eng_pool *pool)
{
    for (unsigned i = 0; i < pool->spins; i++) {
        if (work_left(pool)) {
            return;
        }
        relax();
    }
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1);
    while ((uint32_t)atomic_load(&pool->ticket) == 0 && !atomic_load(&pool->stop)) {
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
    while (!atomic_load_explicit(&pool->stop, memory_order_acquire)) {
        await_work(pool);
        run_pieces(pool, index);
    }
    return NULL;
}

static void await_end(eng_pool *pool)
{
    for (unsigned i = 0; i < pool->spins; i++) {
        if (atomic_load_explicit(&pool->unfinished, memory_order_acquire) == 0) {
            return;
        }
        relax();
    }
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->asleep, true);
    while (atomic_load(&pool->unfinished) != 0) {
        pthread_cond_wait(&pool->done, &pool->lock);
    }
    atomic_store(&pool->asleep, false);
    pthread_mutex_unlock(&pool->lock);
}

/* In one piece, or in several when something may stop it between them. */
static void run_alone(eng_pool *pool)
{
    pool->pieces = pool->may_stop ? pool->pieces : TK_MIN(pool->units, (size_t)1);
    for (size_t i = 0; i < pool->pieces; i++) {
        run_piece(pool, i, 0);
    }
}

static void run_cut(eng_pool *pool, size_t units, size_t pieces, eng_pool_fn fn,
                    void *user)
{
    pool->units = units;
    pool->fn = fn;
    pool->user = user;
    pool->pieces = TK_MIN(units, pieces);
    if (pool->size == 1 || units <= 1) {
        run_alone(pool);
        return;
    }
    atomic_store(&pool->unfinished, (unsigned)pool->pieces);
    uint64_t loop = (atomic_load(&pool->ticket) >> 32) + 1;
    atomic_store(&pool->ticket, loop << 32 | pool->pieces);
    if (atomic_load(&pool->sleepers) > 0) {
        wake(pool, &pool->work);
    }
    run_pieces(pool, 0);
    await_end(pool);
}

void eng_pool_run(eng_pool *pool, size_t units, eng_pool_fn fn, void *user)
{
    run_cut(pool, units, (size_t)PIECES * pool->size, fn, user);
}

void eng_pool_run_work(eng_pool *pool, size_t units, size_t work, eng_pool_fn fn,
                       void *user)
{
    if (work >= LARGE) {
        eng_pool_run(pool, units, fn, user);
    } else if (work >= SMALL) {
        run_cut(pool, units, pool->size, fn, user);
    } else {
        pool->units = units;
        pool->fn = fn;
        pool->user = user;
        pool->pieces = TK_MIN(units, (size_t)1);
        run_alone(pool);
    }
}

static void release(worker *w)
{
    tk_free(w->block);
    w->block = w->scratch = NULL;
    w->scratch_bytes = 0;
}

tinkc_code eng_pool_reserve(eng_pool *pool, size_t bytes, tk_err *err)
{
    for (unsigned i = 0; i < pool->size; i++) {
        worker *w = &pool->workers[i];
        if (w->scratch_bytes >= bytes) {
            continue;
        }
        release(w); /* first: both at once would be more than anybody has counted */
        size_t want;
        void *block = tk_size_add(&want, bytes, ALIGN) ? tk_malloc(want) : NULL;
        if (block == NULL) {
            return tk_err_nomem(err);
        }
        w->block = block;
        w->scratch = (char *)block + (ALIGN - (uintptr_t)block % ALIGN) % ALIGN;
        w->scratch_bytes = bytes;
    }
    return TINKC_OK;
}

size_t eng_pool_kept(const eng_pool *pool)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < pool->size; i++) {
        bytes += pool->workers[i].scratch_bytes;
    }
    return bytes;
}

void eng_pool_release(eng_pool *pool)
{
    for (unsigned i = 0; i < pool->size; i++) {
        release(&pool->workers[i]);
    }
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
    wake(pool, &pool->work);
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
