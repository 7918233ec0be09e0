/* The only threads of the engine: a pool that runs one loop at a time, cut into
 * contiguous pieces that free workers take. The caller is worker 0. Which worker computes
 * an element never changes its value. Workers spin briefly between loops, because a
 * wake-up across cores costs more than most loops; then they sleep. */
#ifndef ENGINE_ENG_POOL_H
#define ENGINE_ENG_POOL_H

#include "engine/eng.h"

/* Computes units [begin, end), several times per loop with different ones; `scratch` is
 * the worker's own (see eng_pool_reserve). */
typedef void (*eng_pool_fn)(void *user, size_t begin, size_t end, void *scratch);

/* Runs `fn` over `units`. Thread: one caller at a time per pool. */
void eng_pool_run(eng_pool *pool, size_t units, eng_pool_fn fn, void *user);

/* Does what eng_pool_run does, on the caller's thread alone when `work` (about the number
 * of multiplications) is too small to be worth waking a thread. */
void eng_pool_run_work(eng_pool *pool, size_t units, size_t work, eng_pool_fn fn,
                       void *user);

/* Makes each worker's scratch at least `bytes` long, 64-byte aligned. Contents are lost
 * when it grows. */
TK_NODISCARD tinkc_code eng_pool_reserve(eng_pool *pool, size_t bytes, tk_err *err);

unsigned eng_pool_size(const eng_pool *pool);

/* The bytes of all scratch, and freeing it: the next loop must reserve again. Thread: the
 * caller, between loops. */
size_t eng_pool_kept(const eng_pool *pool);
void eng_pool_release(eng_pool *pool);

/* While it is allowed, loops leave out the pieces that have not begun when the pool is
 * stopped. Their results are then worthless: the caller must look with eng_pool_check
 * before it uses them, and must be able to undo what they wrote. Thread: the caller. */
void eng_pool_allow_stop(eng_pool *pool, bool allowed);

/* Asks the owner, until it has said yes once. Thread: any. */
bool eng_pool_is_stopped(eng_pool *pool);

/* TINKC_E_CANCELLED when the pool is stopped; *err is replaced, because whatever failed
 * before may have seen worthless numbers. */
TK_NODISCARD tinkc_code eng_pool_check(eng_pool *pool, tk_err *err);

#endif
