/* Runs a manual loop until a condition holds; the cap only ends failing tests. */
#ifndef SUPPORT_WAITER_H
#define SUPPORT_WAITER_H

#include <poll.h>
#include <stdbool.h>

#include "base/clock.h"

#define WAITER_CAP_MS 60000

/* process(user) does what is ready; fd is readable when there is something. */
static inline bool waiter_run(int fd, void (*process)(void *user),
                              bool (*is_done)(void *user), void *user)
{
    int64_t end = tk_clock_mono_ms(NULL) + WAITER_CAP_MS;
    while (!is_done(user) && tk_clock_mono_ms(NULL) < end) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        (void)poll(&poll_fd, 1, 1);
        process(user);
    }
    return is_done(user);
}

#endif
