/* The wall clock follows the monotonic one in whole microseconds. */
#include "support/fakeclock.h"

static int64_t read_mono(void *user)
{
    fakeclock *fake = user;
    return atomic_load(&fake->mono_ns);
}

static int64_t read_wall(void *user)
{
    fakeclock *fake = user;
    return atomic_load(&fake->wall_us);
}

void fakeclock_init(fakeclock *fake)
{
    fake->clock.mono_ns = read_mono;
    fake->clock.wall_us = read_wall;
    fake->clock.user = fake;
    atomic_init(&fake->mono_ns, 1000 * 1000 * TK_NS_PER_MS);
    atomic_init(&fake->wall_us, INT64_C(1767225600000000));
}

void fakeclock_advance_ns(fakeclock *fake, int64_t ns)
{
    int64_t before = atomic_fetch_add(&fake->mono_ns, ns);
    atomic_fetch_add(&fake->wall_us, (before + ns) / 1000 - before / 1000);
}

void fakeclock_advance_ms(fakeclock *fake, int64_t ms)
{
    fakeclock_advance_ns(fake, ms * TK_NS_PER_MS);
}

void fakeclock_set_wall_us(fakeclock *fake, int64_t us)
{
    atomic_store(&fake->wall_us, us);
}
