/* The tk_clock table over CLOCK_MONOTONIC and CLOCK_REALTIME. */
#include "base/clock.h"

#include <time.h>

static struct timespec read_clock(clockid_t id)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(id, &now); /* cannot fail for these two clocks */
    return now;
}

static int64_t real_mono_ns(void *user)
{
    (void)user;
    struct timespec now = read_clock(CLOCK_MONOTONIC);
    return (int64_t)now.tv_sec * 1000 * TK_NS_PER_MS + now.tv_nsec;
}

/* Not by way of nanoseconds, which overflow in the year 2262. */
static int64_t real_wall_us(void *user)
{
    (void)user;
    struct timespec now = read_clock(CLOCK_REALTIME);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

const tk_clock tk_clock_real = {real_mono_ns, real_wall_us, NULL};

int64_t tk_clock_mono_ns(const tk_clock *clock)
{
    clock = clock != NULL ? clock : &tk_clock_real;
    return clock->mono_ns(clock->user);
}

int64_t tk_clock_mono_ms(const tk_clock *clock)
{
    return tk_clock_mono_ns(clock) / TK_NS_PER_MS;
}

int64_t tk_clock_wall_us(const tk_clock *clock)
{
    clock = clock != NULL ? clock : &tk_clock_real;
    return clock->wall_us(clock->user);
}

int64_t tk_clock_after(int64_t now, int64_t delay)
{
    int64_t sum;
    if (delay <= 0) {
        return now;
    }
    return __builtin_add_overflow(now, delay, &sum) ? TK_FOREVER : sum;
}
