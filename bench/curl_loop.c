/* See curl_loop.h. Any failure ends the program: a benchmark has nothing to recover. */
#include "curl_loop.h"

#include <curl/curl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define STAGES       2
#define EVENTS       64
#define ANSWER_BYTES 4096

typedef struct slot slot;

/* One of the two requests of a slot. */
typedef struct transfer {
    slot *owner;
    CURL *easy;
    char answer[ANSWER_BYTES];
    size_t answer_n;
} transfer;

struct slot {
    curl_loop *loop;
    transfer stages[STAGES];
};

typedef struct stage {
    curl_loop *loop;
    CURLM *multi;
    struct curl_slist *lines;
    char *url;
    char *body;
    size_t body_n;
    int64_t timer_ms; /* -1: none */
} stage;

struct curl_loop {
    int epoll_fd;
    stage stages[STAGES];
    slot *slots;
    size_t width, started, ended, n;
};

static void check(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "curl_loop: %s\n", what);
        exit(1);
    }
}

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- callbacks ---- */

static size_t on_body(char *p, size_t size, size_t n, void *user)
{
    transfer *t = user;
    check(t->answer_n + size * n <= ANSWER_BYTES, "a long answer");
    memcpy(t->answer + t->answer_n, p, size * n);
    t->answer_n += size * n;
    return size * n;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *known)
{
    stage *s = user;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        (void)epoll_ctl(s->loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    struct epoll_event event = {0};
    event.events =
        (what & CURL_POLL_IN ? EPOLLIN : 0U) | (what & CURL_POLL_OUT ? EPOLLOUT : 0U);
    event.data.u64 = (uint64_t)(s - s->loop->stages) << 32 | (uint32_t)fd;
    (void)epoll_ctl(s->loop->epoll_fd, known != NULL ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd,
                    &event);
    curl_multi_assign(s->multi, fd, s);
    return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *user)
{
    stage *s = user;
    (void)multi;
    s->timer_ms = timeout_ms < 0 ? -1 : now_ms() + timeout_ms;
    return 0;
}

/* ---- life ---- */

static void open_stage(curl_loop *loop, stage *s, const curl_loop_request *request)
{
    s->loop = loop;
    s->timer_ms = -1;
    s->url = strdup(request->url);
    s->body = malloc(request->body_n);
    s->body_n = request->body_n;
    s->multi = curl_multi_init();
    check(s->url != NULL && s->body != NULL && s->multi != NULL, "no memory");
    memcpy(s->body, request->body, request->body_n);
    s->lines = curl_slist_append(NULL, "Expect:");
    for (size_t i = 0; i < request->lines_n; i++) {
        s->lines = curl_slist_append(s->lines, request->lines[i]);
    }
    curl_multi_setopt(s->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(s->multi, CURLMOPT_SOCKETDATA, s);
    curl_multi_setopt(s->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(s->multi, CURLMOPT_TIMERDATA, s);
    curl_multi_setopt(s->multi, CURLMOPT_MAXCONNECTS, 100L);
}

static void open_transfer(slot *owner, size_t which)
{
    transfer *t = &owner->stages[which];
    const stage *s = &owner->loop->stages[which];
    t->owner = owner;
    t->easy = curl_easy_init();
    check(t->easy != NULL, "no easy handle");
    curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);
    curl_easy_setopt(t->easy, CURLOPT_URL, s->url);
    curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, s->lines);
    curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(t->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(t->easy, CURLOPT_PROXY, "");
    curl_easy_setopt(t->easy, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(t->easy, CURLOPT_TIMEOUT_MS, 60000L);
    curl_easy_setopt(t->easy, CURLOPT_CONNECTTIMEOUT_MS, 5000L);
}

curl_loop *curl_loop_new(const curl_loop_request *first, const curl_loop_request *second,
                         size_t width)
{
    const curl_loop_request *requests[STAGES] = {first, second};
    curl_loop *loop = calloc(1, sizeof(*loop));
    check(loop != NULL, "no memory");
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->width = width;
    loop->slots = calloc(width, sizeof(*loop->slots));
    check(loop->slots != NULL && loop->epoll_fd >= 0, "no memory");
    for (size_t i = 0; i < STAGES; i++) {
        open_stage(loop, &loop->stages[i], requests[i]);
    }
    for (size_t i = 0; i < width; i++) {
        loop->slots[i].loop = loop;
        for (size_t k = 0; k < STAGES; k++) {
            open_transfer(&loop->slots[i], k);
        }
    }
    return loop;
}

void curl_loop_free(curl_loop **loop_ref)
{
    curl_loop *loop = *loop_ref;
    *loop_ref = NULL;
    for (size_t i = 0; i < loop->width; i++) {
        for (size_t k = 0; k < STAGES; k++) {
            curl_easy_cleanup(loop->slots[i].stages[k].easy);
        }
    }
    for (size_t i = 0; i < STAGES; i++) {
        curl_multi_cleanup(loop->stages[i].multi);
        curl_slist_free_all(loop->stages[i].lines);
        free(loop->stages[i].url);
        free(loop->stages[i].body);
    }
    close(loop->epoll_fd);
    free(loop->slots);
    free(loop);
}

/* ---- running ---- */

/* The body is set again each time, as in real use it would be another. */
static void start(slot *owner, size_t which)
{
    transfer *t = &owner->stages[which];
    const stage *s = &owner->loop->stages[which];
    t->answer_n = 0;
    curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)s->body_n);
    curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, s->body);
    check(curl_multi_add_handle(s->multi, t->easy) == CURLM_OK, "no transfer");
}

static void done(transfer *t)
{
    slot *owner = t->owner;
    curl_loop *loop = owner->loop;
    if (t == &owner->stages[0]) {
        start(owner, 1);
        return;
    }
    loop->ended++;
    if (loop->started < loop->n) {
        loop->started++;
        start(owner, 0);
    }
}

static void act(stage *s, curl_socket_t fd, int events)
{
    int count;
    CURLMsg *message;
    if (fd == CURL_SOCKET_TIMEOUT) {
        s->timer_ms = -1;
    }
    (void)curl_multi_socket_action(s->multi, fd, events, &count);
    while ((message = curl_multi_info_read(s->multi, &count)) != NULL) {
        long status = 0;
        char *owner = NULL;
        CURL *easy = message->easy_handle;
        check(message->data.result == CURLE_OK, "a request failed");
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &owner);
        check(status == 200, "a request was refused");
        curl_multi_remove_handle(s->multi, easy);
        done((transfer *)(void *)owner);
    }
}

static int wait_ms(const curl_loop *loop)
{
    int64_t first = -1;
    for (size_t i = 0; i < STAGES; i++) {
        int64_t at = loop->stages[i].timer_ms;
        first = at >= 0 && (first < 0 || at < first) ? at : first;
    }
    int64_t left = first >= 0 ? first - now_ms() : -1;
    return first < 0 ? -1 : left < 0 ? 0 : (int)left;
}

static void turn(curl_loop *loop)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(loop->epoll_fd, events, EVENTS, wait_ms(loop));
    for (int i = 0; i < n; i++) {
        int what = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                   (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                   (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
        act(&loop->stages[events[i].data.u64 >> 32], (int)(uint32_t)events[i].data.u64,
            what);
    }
    int64_t now = now_ms();
    for (size_t i = 0; i < STAGES; i++) {
        if (loop->stages[i].timer_ms >= 0 && loop->stages[i].timer_ms <= now) {
            act(&loop->stages[i], CURL_SOCKET_TIMEOUT, 0);
        }
    }
}

void curl_loop_run(curl_loop *loop, size_t n)
{
    loop->n = n;
    loop->ended = 0;
    loop->started = loop->width < n ? loop->width : n;
    for (size_t i = 0; i < loop->started; i++) {
        start(&loop->slots[i], 0);
    }
    while (loop->ended < n) {
        turn(loop);
    }
}
