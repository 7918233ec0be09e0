/* Allocation accounting and the failure sweep.
 *
 * failmem_sweep runs a scenario once to count its allocations, then again and again,
 * failing the 1st, 2nd, ... Nth. After each run nothing may be left allocated. */
#ifndef SUPPORT_FAILMEM_H
#define SUPPORT_FAILMEM_H

#include <stdbool.h>
#include <stddef.h>

/* Installs counting hooks; failmem_stop restores libc's and returns the blocks still
 * alive. */
void failmem_start(void);
size_t failmem_stop(void);
bool failmem_is_on(void);

size_t failmem_count(void);      /* allocations (and re-allocations) since the start */
size_t failmem_peak_bytes(void); /* the most that was alive at one time since the start */
size_t failmem_begin_peak(void); /* or since this call, which returns what is alive */
void failmem_fail_at(size_t n);  /* the nth from now fails, once; 0 = none */
bool failmem_fired(void);        /* whether that failure has happened */

/* What the calling thread allocates from now on is neither counted nor failed: it is part
 * of the test (a scripted server in the same process), not of what is tested. */
void failmem_exempt_thread(void);

/* `scenario` returns whether it succeeded. It must succeed when nothing fails, must not
 * crash or leak otherwise, and must report failure (return false) when the injected
 * failure hit something it needed. Fails the running cmocka test when any of that is
 * violated. Configurations made meanwhile have no telemetry, unless they ask for it.
 * Returns the number of allocation points. `stride` 1 tries each point; larger
 * values sample, unless TINKC_SWEEP_STRIDE in the environment says otherwise. Under TSan
 * every 16th of them is tried. */
size_t failmem_sweep(bool (*scenario)(void *user), void *user, size_t stride);

#endif
