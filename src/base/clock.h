/* Time that is passed in: code under test runs on a manual clock (tests/support).
 *
 * Monotonic time is for deadlines and delays, wall time only for what is shown or sent.
 * Thread: any; a clock's functions must be callable from several threads. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include "base/tk.h"

#define TK_NS_PER_MS INT64_C(1000000)
#define TK_FOREVER   INT64_MAX /* a deadline that never comes */

typedef struct tk_clock {
    int64_t (*mono_ns)(void *user); /* since some fixed point, never backwards */
    int64_t (*wall_us)(void *user); /* since 1970, may jump */
    void *user;
} tk_clock;

/* The machine's clocks. Static storage. */
extern const tk_clock tk_clock_real;

/* NULL means tk_clock_real. */
int64_t tk_clock_mono_ns(const tk_clock *clock);
int64_t tk_clock_mono_ms(const tk_clock *clock);
int64_t tk_clock_wall_us(const tk_clock *clock);

/* now + delay in whatever unit both have, TK_FOREVER when that does not fit. A negative
 * delay counts as 0. */
int64_t tk_clock_after(int64_t now, int64_t delay);

#endif
