/* Each block carries a header with its size, so that the peak can be known. Threads may
 * allocate at once: one mutex guards the counters. */
#include "support/failmem.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "support/test.h"

typedef union header {
    struct {
        size_t size;
        bool is_exempt;
    } block;
    max_align_t align;
} header;

static _Thread_local bool thread_is_exempt;

static struct {
    pthread_mutex_t lock;
    size_t calls, live, live_bytes, peak_bytes, fail_at;
    bool fired, is_on;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Counts one call; true when it is the one that must fail. Called with the lock held. */
static bool should_fail(void)
{
    state.calls++;
    if (state.fail_at == 0 || --state.fail_at != 0) {
        return false;
    }
    state.fired = true;
    return true;
}

static void *exempt_realloc(header *old, size_t size)
{
    header *moved = realloc(old, size + sizeof(header));
    if (moved != NULL) {
        moved->block.size = size;
        moved->block.is_exempt = true;
    }
    return moved != NULL ? moved + 1 : NULL;
}

static void *counted_realloc(void *user, void *ptr, size_t size)
{
    header *old = ptr != NULL ? (header *)ptr - 1 : NULL;
    if (old != NULL ? old->block.is_exempt : thread_is_exempt) {
        return exempt_realloc(old, size);
    }
    pthread_mutex_lock(&state.lock);
    header *block = NULL;
    size_t old_size = old != NULL ? old->block.size : 0;
    if (!should_fail() && size < SIZE_MAX - sizeof(header)) {
        block = realloc(old, size + sizeof(header));
    }
    if (block != NULL) {
        block->block.size = size;
        block->block.is_exempt = false;
        state.live += old == NULL;
        state.live_bytes += size - old_size;
        state.peak_bytes = TK_MAX(state.peak_bytes, state.live_bytes);
    }
    pthread_mutex_unlock(&state.lock);
    return block != NULL ? block + 1 : NULL;
}

static void counted_free(void *user, void *ptr)
{
    header *block = (header *)ptr - 1;
    if (!block->block.is_exempt) {
        pthread_mutex_lock(&state.lock);
        state.live--;
        state.live_bytes -= block->block.size;
        pthread_mutex_unlock(&state.lock);
    }
    free(block);
}

void failmem_exempt_thread(void)
{
    thread_is_exempt = true;
}

void failmem_start(void)
{
    static const tk_mem_hooks hooks = {counted_realloc, counted_free, NULL};
    state.calls = state.live = state.live_bytes = state.peak_bytes = state.fail_at = 0;
    state.fired = false;
    state.is_on = true;
    tk_mem_set_hooks(&hooks);
}

size_t failmem_stop(void)
{
    tk_mem_set_hooks(NULL);
    state.is_on = false;
    return state.live;
}

bool failmem_is_on(void)
{
    return state.is_on;
}

size_t failmem_count(void)
{
    pthread_mutex_lock(&state.lock);
    size_t n = state.calls;
    pthread_mutex_unlock(&state.lock);
    return n;
}

size_t failmem_peak_bytes(void)
{
    pthread_mutex_lock(&state.lock);
    size_t n = state.peak_bytes;
    pthread_mutex_unlock(&state.lock);
    return n;
}

size_t failmem_begin_peak(void)
{
    pthread_mutex_lock(&state.lock);
    size_t n = state.live_bytes;
    state.peak_bytes = n;
    pthread_mutex_unlock(&state.lock);
    return n;
}

void failmem_fail_at(size_t n)
{
    pthread_mutex_lock(&state.lock);
    state.fail_at = n;
    state.fired = false;
    pthread_mutex_unlock(&state.lock);
}

bool failmem_fired(void)
{
    pthread_mutex_lock(&state.lock);
    bool fired = state.fired;
    pthread_mutex_unlock(&state.lock);
    return fired;
}

/* scripts/check-sweep.sh asks for every point, whatever the test would sample. */
/* TSan is too slow for every point, which ASan tries anyway. */
#if defined(__SANITIZE_THREAD__)
#define TSAN_STRIDE 16
#else
#define TSAN_STRIDE 1
#endif

static size_t stride_to_use(size_t stride)
{
    const char *forced = getenv("TINKC_SWEEP_STRIDE");
    return forced != NULL ? strtoul(forced, NULL, 10) : stride * TSAN_STRIDE;
}

size_t failmem_sweep(bool (*scenario)(void *user), void *user, size_t stride)
{
    stride = stride_to_use(stride);
    assert_int_not_equal(stride, 0);
    /* An event that cannot be queued is dropped, which is not a failure of the
     * scenario. */
    assert_int_equal(setenv("TINKER_TELEMETRY", "0", 1), 0);
    failmem_start();
    bool ok = scenario(user);
    size_t points = failmem_count();
    size_t leaked = failmem_stop();
    assert_true(ok);
    assert_int_equal(leaked, 0);
    for (size_t n = 1; n <= points; n += stride) {
        failmem_start();
        failmem_fail_at(n);
        ok = scenario(user);
        bool fired = failmem_fired();
        leaked = failmem_stop();
        if (leaked != 0 || (fired && ok)) {
            fail_msg("allocation %zu of %zu failed: %zu blocks leaked, reported %s", n,
                     points, leaked, ok ? "success" : "failure");
        }
    }
    assert_int_equal(unsetenv("TINKER_TELEMETRY"), 0);
    print_message("sweep: %zu allocation points, stride %zu\n", points, stride);
    return points;
}
