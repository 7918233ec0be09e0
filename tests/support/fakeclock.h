/* A clock that moves only when the test says so. Any thread may read it meanwhile. */
#ifndef SUPPORT_FAKECLOCK_H
#define SUPPORT_FAKECLOCK_H

#include <stdatomic.h>

#include "base/clock.h"

typedef struct fakeclock {
    tk_clock clock; /* pass &fake.clock to the code under test */
    _Atomic int64_t mono_ns;
    _Atomic int64_t wall_us;
} fakeclock;

/* Starts at 1,000 s monotonic and 2026-01-01T00:00:00Z. The struct must not move. */
void fakeclock_init(fakeclock *fake);

/* Moves both clocks forward. */
void fakeclock_advance_ns(fakeclock *fake, int64_t ns);
void fakeclock_advance_ms(fakeclock *fake, int64_t ms);

/* Lets the wall clock jump; the monotonic one stays. */
void fakeclock_set_wall_us(fakeclock *fake, int64_t us);

#endif
