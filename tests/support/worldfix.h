/* A service on a real connection whose loop and clock are the test's: back-offs cost no
 * time. The clock moves only while an operation backs off or nothing is on the wire, so
 * that no budget runs out because the peer is slow. */
#ifndef SUPPORT_WORLDFIX_H
#define SUPPORT_WORLDFIX_H

#include <poll.h>

#include <tinkc/hooks.h>

#include "client/core/service.h"
#include "support/fakeapi.h"
#include "support/fakeclock.h"
#include "support/test.h"

#define WORLDFIX_BACKOFF_MS 40000  /* none is longer; other timers are left alone */
#define WORLDFIX_CAP_MS     120000 /* only ends failing tests */
#define WORLDFIX_WAITS      256

typedef struct worldfix {
    fakeapi *api; /* the test's */
    fakeclock clock;
    tinkc_service *service;
    size_t on_wire; /* requests that are under way */
} worldfix;

static inline void worldfix_tell(const tinkc_hook *hook, void *user)
{
    worldfix *w = user;
    if (hook->kind == TINKC_SPAN_HTTP) {
        w->on_wire += hook->event == TINKC_HOOK_START;
        w->on_wire -= hook->event == TINKC_HOOK_STOP || hook->event == TINKC_HOOK_ERROR;
    }
}

/* `config` must say loop=manual and keep other timers than back-offs long. False, with no
 * service, when memory was short. */
static inline bool worldfix_open(worldfix *w, const tinkc_config *config)
{
    fakeclock_init(&w->clock);
    w->on_wire = 0;
    tk_core_seams seams = {.clock = &w->clock.clock};
    if (tk_service_open(&w->service, config, &seams, NULL) != TINKC_OK) {
        return false;
    }
    if (tinkc_service_add_hook(w->service, worldfix_tell, w, NULL, NULL) != TINKC_OK) {
        tinkc_service_close(&w->service);
    }
    return w->service != NULL;
}

static inline bool worldfix_is_backing_off(const worldfix *w)
{
    static tinkc_wait waits[WORLDFIX_WAITS] = {TINKC_WAIT_INIT};
    size_t n = tinkc_service_waits(waits, WORLDFIX_WAITS, w->service);
    assert_true(n <= WORLDFIX_WAITS);
    for (size_t i = 0; i < n; i++) {
        if (waits[i].stage == TINKC_STAGE_BACKOFF) {
            return true;
        }
    }
    return false;
}

/* Runs the loop until the future is done: its code. */
static inline tinkc_code worldfix_drive(worldfix *w, tinkc_future *future)
{
    int64_t end = tk_clock_mono_ms(NULL) + WORLDFIX_CAP_MS;
    while (!tinkc_future_is_done(future)) {
        struct pollfd fd = {.fd = tinkc_service_fd(w->service), .events = POLLIN};
        int64_t deadline = tinkc_service_deadline_ms(w->service);
        /* with nothing on the wire only the clock brings something */
        bool is_silent = deadline != 0 && poll(&fd, 1, w->on_wire == 0 ? 0 : 1) == 0;
        if (is_silent && deadline > 0 && deadline <= WORLDFIX_BACKOFF_MS &&
            (w->on_wire == 0 || worldfix_is_backing_off(w))) {
            fakeclock_advance_ms(&w->clock, deadline);
        }
        assert_int_equal(tinkc_service_process(w->service, NULL), TINKC_OK);
        assert_true(tk_clock_mono_ms(NULL) < end);
    }
    return tinkc_future_wait(future, 0);
}

#endif
