/* Runs the library inside the program's own loop: the library starts no thread; one epoll
 * watches its descriptor, its deadline and the program's timer. Each tick asks for a
 * sample; the answers come to a callback. docs/guide/queues.md explains it.
 *
 *     TINKER_BASE_URL=http://127.0.0.1:8000 ./06_epoll */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* CLOCK_MONOTONIC, also with -std=c11 */
#endif
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "example.h"

#define TICKS 20

typedef struct app {
    tinkc_service *service;
    tinkc_sampling *sampling;
    tinkc_model_input *prompt;
    int epoll, timer;
    int ticks, done, wakeups;
    size_t tokens;
} app;

/* Runs inside tinkc_service_process, on our thread. */
static void take_sample(tinkc_future *future, void *user)
{
    app *a = (app *)user;
    tinkc_samples *samples = NULL;
    size_t n = 0;
    check(tinkc_future_take_samples(&samples, future, &err));
    (void)tinkc_samples_tokens(&n, samples, 0);
    a->tokens += n;
    a->done++;
    tinkc_samples_free(&samples);
}

static void tick(app *a)
{
    const struct itimerspec never = {{0, 0}, {0, 0}};
    uint64_t expired = 0;
    if (read(a->timer, &expired, sizeof(expired)) != (ssize_t)sizeof(expired)) {
        return;
    }
    if (++a->ticks == TICKS) { /* a timer that nothing reads would wake us up forever */
        (void)timerfd_settime(a->timer, 0, &never, NULL);
    }
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    params.max_tokens = 8;
    params.has_seed = true; /* the same numbers in every run */
    params.seed = (uint64_t)a->ticks;
    tinkc_future *future = tinkc_sampling_sample(a->sampling, a->prompt, &params, NULL);
    check(tinkc_future_on_done(future, take_sample, a, &err));
    tinkc_future_free(&future); /* the sample goes on */
}

static void watch(app *a, int fd)
{
    struct epoll_event event;
    memset(&event, 0, sizeof(event));
    event.events = EPOLLIN;
    event.data.fd = fd;
    if (epoll_ctl(a->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        perror("epoll_ctl");
        exit(1);
    }
}

/* Whatever happens, process() is called when its descriptor is readable or its deadline
 * has come; it never blocks. */
static void loop(app *a)
{
    while (a->done < TICKS) {
        struct epoll_event events[8];
        int64_t ms = tinkc_service_deadline_ms(a->service);
        int n = epoll_wait(a->epoll, events, 8, ms > 60000 ? 60000 : (int)ms);
        a->wakeups++;
        for (int i = 0; i < n; i++) {
            if (events[i].data.fd == a->timer) {
                tick(a);
            }
        }
        check(tinkc_service_process(a->service, &err));
    }
}

static void open_service(app *a)
{
    const int32_t begin = 0; /* of a text: its first token */
    tinkc_config *config = NULL;
    check(tinkc_config_new(&config, &err));
    check(tinkc_config_set(config, "loop", "manual", &err));
    check(tinkc_service_open(&a->service, config, &err));
    tinkc_config_free(&config);
    /* The waiting calls drive the loop themselves. */
    check(
        tinkc_service_create_sampling_wait(&a->sampling, a->service, MODEL, NULL, &err));
    check(tinkc_model_input_from_tokens(&a->prompt, &begin, 1, &err));
}

int main(void)
{
    static app a;
    struct itimerspec every = {{0, 5000000}, {0, 5000000}}; /* 5 ms */
    open_service(&a);
    a.epoll = epoll_create1(EPOLL_CLOEXEC);
    a.timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (a.epoll < 0 || a.timer < 0 || timerfd_settime(a.timer, 0, &every, NULL) != 0) {
        perror("06_epoll");
        return 1;
    }
    watch(&a, a.timer);
    watch(&a, tinkc_service_fd(a.service));
    loop(&a);
    printf("%d ticks, %d samples, %zu tokens, %d wakeups\n", a.ticks, a.done, a.tokens,
           a.wakeups);

    tinkc_model_input_free(&a.prompt);
    tinkc_sampling_close(&a.sampling);
    tinkc_service_close(&a.service);
    (void)close(a.timer);
    (void)close(a.epoll);
    return 0;
}
