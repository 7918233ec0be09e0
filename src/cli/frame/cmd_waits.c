/* A thread looks at the waits a few times a second, and takes SIGUSR1 with sigtimedwait,
 * because nothing of this may run in a signal handler; the signal is blocked in all
 * threads. Owns that thread. */
#include "cli/frame/cmd_waits.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/env.h"
#include "base/str.h"
#include "base/thread.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_progress.h"
#include "cli/frame/cmd_stats.h"

#define SHOWN_MAX  64
#define TEXT_BYTES 640
#define AFTER_MS   2000 /* a wait is shown; TINKC_SHOW_WAITS */
#define LOOK_MS    200

static tk_thread thread;
static bool is_running; /* main thread */
static atomic_bool is_over;

static void choose(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGUSR1);
}

void cmd_waits_init(void)
{
    sigset_t set;
    choose(&set);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void show(tinkc_service *service)
{
    char text[TEXT_BYTES];
    tinkc_wait waits[SHOWN_MAX] = {TINKC_WAIT_INIT};
    size_t n = tinkc_service_waits(waits, SHOWN_MAX, service);
    if (n == 0) {
        cmd_print(stderr, "tinkc: no operation is waiting\n");
        return;
    }
    cmd_print(stderr, "tinkc: %zu %s\n", n,
              n == 1 ? "operation is waiting:" : "operations are waiting:");
    for (size_t i = 0; i < TK_MIN(n, SHOWN_MAX); i++) {
        (void)tinkc_wait_explain(text, sizeof(text), &waits[i]);
        cmd_print(stderr, "  %s\n", text);
    }
    if (n > SHOWN_MAX) {
        cmd_print(stderr, "  and %zu more\n", n - SHOWN_MAX);
    }
}

/* Returns after how long a wait is shown; -1: never. */
static int64_t after_ms(void)
{
    int64_t ms = AFTER_MS;
    const char *text = tk_env_get_nonempty(NULL, "TINKC_SHOW_WAITS");
    if (text != NULL && (!tk_str_to_i64(tk_str_of(text), &ms) || ms < 0)) {
        ms = -1;
    }
    return ms;
}

/* Shows the operation that has waited longest. */
static void look(tinkc_service *service, int64_t after)
{
    tinkc_wait waits[SHOWN_MAX] = {TINKC_WAIT_INIT};
    size_t n = TK_MIN(tinkc_service_waits(waits, SHOWN_MAX, service), SHOWN_MAX);
    const tinkc_wait *oldest = NULL;
    for (size_t i = 0; i < n; i++) {
        if (oldest == NULL || waits[i].age_ms > oldest->age_ms) {
            oldest = &waits[i];
        }
    }
    cmd_progress_wait(oldest, after);
}

static void run(void *user)
{
    sigset_t set;
    int64_t after = after_ms();
    const struct timespec pause = {after >= 0 ? 0 : 3600, LOOK_MS * 1000000};
    choose(&set);
    while (!atomic_load(&is_over)) {
        if (sigtimedwait(&set, NULL, &pause) < 0) {
            if (after >= 0) {
                look(user, after);
                cmd_stats_look(user);
            }
        } else if (!atomic_load(&is_over)) {
            show(user);
        }
    }
}

void cmd_waits_begin(tinkc_service *service)
{
    cmd_waits_end();
    atomic_store(&is_over, false);
    is_running = tk_thread_start(&thread, "waits", run, service, NULL) == TINKC_OK;
}

void cmd_waits_end(void)
{
    if (is_running) {
        atomic_store(&is_over, true);
        (void)pthread_kill(thread.os, SIGUSR1);
        tk_thread_join(&thread);
        is_running = false;
        cmd_progress_wait(NULL, 0);
    }
}
