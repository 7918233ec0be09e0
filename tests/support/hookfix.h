/* Records the events that hooks get, from any thread, and checks that they fit
 * together. */
#ifndef SUPPORT_HOOKFIX_H
#define SUPPORT_HOOKFIX_H

#include <pthread.h>

#include <tinkc/hooks.h>

#include "support/test.h"

#define HOOKFIX_EVENTS 4096

typedef struct hookfix_event {
    tinkc_hook hook; /* without its texts, but for names, which are static */
    char reason[64];
    char tag[64]; /* value of the context's first tag, or "" */
} hookfix_event;

typedef struct hookfix {
    pthread_mutex_t lock;
    hookfix_event events[HOOKFIX_EVENTS];
    size_t n;
    int released;
} hookfix;

static inline void hookfix_tell(const tinkc_hook *event, void *user)
{
    hookfix *h = user;
    pthread_mutex_lock(&h->lock);
    if (h->n < HOOKFIX_EVENTS) {
        hookfix_event *at = &h->events[h->n++];
        *at = (hookfix_event){.hook = *event};
        if (event->reason != NULL) {
            size_t n = strnlen(event->reason, sizeof(at->reason) - 1);
            memcpy(at->reason, event->reason, n);
        }
        if (event->context != NULL && event->context->tags_n > 0) {
            const char *value = event->context->tags[0].value;
            memcpy(at->tag, value, strnlen(value, sizeof(at->tag) - 1));
        }
    }
    pthread_mutex_unlock(&h->lock);
}

static inline void hookfix_release(void *user)
{
    ((hookfix *)user)->released++;
}

static inline void hookfix_attach(hookfix *h, tinkc_service *service)
{
    memset(h, 0, sizeof(*h));
    pthread_mutex_init(&h->lock, NULL);
    assert_int_equal(
        tinkc_service_add_hook(service, hookfix_tell, h, hookfix_release, NULL),
        TINKC_OK);
}

static inline bool hookfix_is_end(const tinkc_hook *hook)
{
    return hook->event == TINKC_HOOK_STOP || hook->event == TINKC_HOOK_ERROR;
}

/* How many events of this kind about `name` (NULL: any). */
static inline size_t hookfix_count(hookfix *h, tinkc_hook_event event,
                                   tinkc_span_kind kind, const char *name)
{
    size_t n = 0;
    pthread_mutex_lock(&h->lock);
    for (size_t i = 0; i < h->n; i++) {
        const tinkc_hook *at = &h->events[i].hook;
        n += at->event == event && at->kind == kind &&
             (name == NULL || strcmp(at->name, name) == 0);
    }
    pthread_mutex_unlock(&h->lock);
    return n;
}

/* The nth of them, or NULL. */
static inline const hookfix_event *hookfix_nth(const hookfix *h, tinkc_hook_event event,
                                               tinkc_span_kind kind, const char *name,
                                               size_t nth)
{
    for (size_t i = 0; i < h->n; i++) {
        const tinkc_hook *at = &h->events[i].hook;
        if (at->event == event && at->kind == kind &&
            (name == NULL || strcmp(at->name, name) == 0) && nth-- == 0) {
            return &h->events[i];
        }
    }
    return NULL;
}

/* Whether every span has one start and, later, one end that agree; parents come first. */
static inline bool hookfix_is_balanced(const hookfix *h)
{
    for (size_t i = 0; i < h->n; i++) {
        const tinkc_hook *a = &h->events[i].hook;
        size_t starts = 0, ends = 0, parents = a->parent == 0;
        for (size_t k = 0; k < h->n; k++) {
            const tinkc_hook *b = &h->events[k].hook;
            bool same = b->span == a->span;
            starts += same && b->event == TINKC_HOOK_START && k <= i;
            ends += same && hookfix_is_end(b) && strcmp(a->name, b->name) == 0 &&
                    a->kind == b->kind && b->duration_ns >= 0 &&
                    (a->event != TINKC_HOOK_START || k > i);
            parents += b->span == a->parent && b->event == TINKC_HOOK_START && k < i;
        }
        if (starts != 1 || ends != 1 || parents != 1 || a->span == 0) {
            return false;
        }
    }
    return h->n > 0 && h->n < HOOKFIX_EVENTS;
}

#endif
