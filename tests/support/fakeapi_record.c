/* What the peer was asked: records, counts, peaks, and the waits of the test threads.
 * Each record takes over the bytes of its request from the parser, so nothing is
 * copied. */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "support/fakeapi_int.h"

struct fakeapi_entry {
    fakeapi_request request;
    fakeapi_http http; /* owns what `request` points to */
    char *path;
    uint64_t began, ended; /* event numbers; ended 0 = in work */
};

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

fakeapi_entry *fakeapi_record_add(fakeapi_conn *conn, bool is_whole)
{
    fakeapi *api = conn->api;
    fakeapi_entry *entry = fakeapi_alloc(sizeof(*entry));
    entry->http = conn->http;
    conn->http = (fakeapi_http){0};
    const fakeapi_http *http = &entry->http;
    const char *query = strchr(http->target, '?');
    size_t path_n = query != NULL ? (size_t)(query - http->target) : strlen(http->target);
    entry->path = fakeapi_dup(http->target, path_n);
    fakeapi_http_unescape(entry->path);
    entry->request = (fakeapi_request){
        .index = api->entries_n,
        .connection = conn->number,
        .on_connection = conn->served++,
        .arrived_ns = monotonic_ns(),
        .method = http->method,
        .target = http->target,
        .path = entry->path,
        .query = query != NULL ? query + 1 : "",
        .http_minor = http->minor,
        .headers = http->headers,
        .headers_n = http->headers_n,
        .body = fakeapi_bytes_cstr(&entry->http.body),
        .body_n = http->body.n,
        .is_whole = is_whole,
    };
    entry->began = ++api->event_count;
    api->entries = fakeapi_table_grow(api->entries, api->entries_n,
                                      &api->entries_capacity, sizeof(fakeapi_entry *));
    api->entries[api->entries_n++] = entry;
    pthread_cond_broadcast(&api->changed);
    return entry;
}

const fakeapi_request *fakeapi_record_request(const fakeapi_entry *entry)
{
    return &entry->request;
}

void fakeapi_record_end(fakeapi *api, fakeapi_entry *entry)
{
    entry->ended = ++api->event_count;
    pthread_cond_broadcast(&api->changed);
}

static void entry_free(fakeapi_entry *entry)
{
    fakeapi_http_dispose(&entry->http);
    fakeapi_release(entry->path);
    fakeapi_release(entry);
}

void fakeapi_record_dispose(fakeapi *api)
{
    for (size_t i = 0; i < api->entries_n; i++) {
        entry_free(api->entries[i]);
    }
    fakeapi_release(api->entries);
}

/* Requests in work stay: their connections still point to them. */
void fakeapi_forget(fakeapi *api)
{
    pthread_mutex_lock(&api->lock);
    size_t kept = 0;
    for (size_t i = 0; i < api->entries_n; i++) {
        fakeapi_entry *entry = api->entries[i];
        if (entry->ended != 0) {
            entry_free(entry);
            continue;
        }
        entry->began = kept + 1;
        entry->request.index = kept;
        api->entries[kept++] = entry;
    }
    api->entries_n = kept;
    api->event_count = kept;
    pthread_mutex_unlock(&api->lock);
}

const char *fakeapi_header(const fakeapi_request *request, const char *name)
{
    for (size_t i = 0; i < request->headers_n; i++) {
        if (strcasecmp(request->headers[i].name, name) == 0) {
            return request->headers[i].value;
        }
    }
    return NULL;
}

size_t fakeapi_header_count(const fakeapi_request *request, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < request->headers_n; i++) {
        n += strcasecmp(request->headers[i].name, name) == 0;
    }
    return n;
}

static bool is_match(const fakeapi_entry *entry, const char *method, const char *path)
{
    return fakeapi_matches(method, entry->request.method) &&
           fakeapi_matches(path, entry->request.path);
}

size_t fakeapi_total(fakeapi *api)
{
    pthread_mutex_lock(&api->lock);
    size_t n = api->entries_n;
    pthread_mutex_unlock(&api->lock);
    return n;
}

const fakeapi_request *fakeapi_request_at(fakeapi *api, size_t index)
{
    pthread_mutex_lock(&api->lock);
    const fakeapi_request *found =
        index < api->entries_n ? &api->entries[index]->request : NULL;
    pthread_mutex_unlock(&api->lock);
    return found;
}

size_t fakeapi_count(fakeapi *api, const char *method, const char *path)
{
    size_t n = 0;
    pthread_mutex_lock(&api->lock);
    for (size_t i = 0; i < api->entries_n; i++) {
        n += is_match(api->entries[i], method, path);
    }
    pthread_mutex_unlock(&api->lock);
    return n;
}

const fakeapi_request *fakeapi_nth(fakeapi *api, const char *method, const char *path,
                                   size_t nth)
{
    const fakeapi_request *found = NULL;
    pthread_mutex_lock(&api->lock);
    for (size_t i = 0; i < api->entries_n && found == NULL; i++) {
        if (is_match(api->entries[i], method, path) && nth-- == 0) {
            found = &api->entries[i]->request;
        }
    }
    pthread_mutex_unlock(&api->lock);
    return found;
}

static size_t in_flight(const fakeapi *api, const char *method, const char *path)
{
    size_t n = 0;
    for (size_t i = 0; i < api->entries_n; i++) {
        n += api->entries[i]->ended == 0 && is_match(api->entries[i], method, path);
    }
    return n;
}

size_t fakeapi_in_flight(fakeapi *api, const char *method, const char *path)
{
    pthread_mutex_lock(&api->lock);
    size_t n = in_flight(api, method, path);
    pthread_mutex_unlock(&api->lock);
    return n;
}

/* Replays the numbered begins and ends of the matching requests. */
size_t fakeapi_peak(fakeapi *api, const char *method, const char *path)
{
    pthread_mutex_lock(&api->lock);
    signed char *change = fakeapi_alloc(api->event_count + 1);
    for (size_t i = 0; i < api->entries_n; i++) {
        const fakeapi_entry *entry = api->entries[i];
        if (is_match(entry, method, path)) {
            change[entry->began] = 1;
            change[entry->ended] = entry->ended != 0 ? -1 : 0;
        }
    }
    size_t now = 0, peak = 0;
    for (uint64_t event = 1; event <= api->event_count; event++) {
        now += change[event] > 0;
        now -= change[event] < 0;
        peak = TK_MAX(peak, now);
    }
    pthread_mutex_unlock(&api->lock);
    fakeapi_release(change);
    return peak;
}

size_t fakeapi_connections(fakeapi *api)
{
    pthread_mutex_lock(&api->lock);
    size_t n = api->open_n;
    pthread_mutex_unlock(&api->lock);
    return n;
}

size_t fakeapi_connections_total(fakeapi *api)
{
    pthread_mutex_lock(&api->lock);
    size_t n = api->accepted_n;
    pthread_mutex_unlock(&api->lock);
    return n;
}

size_t fakeapi_abandoned(fakeapi *api)
{
    pthread_mutex_lock(&api->lock);
    size_t n = api->abandoned_n;
    pthread_mutex_unlock(&api->lock);
    return n;
}

/* ---- waits: what is asked for, and one loop that waits for it ---- */

typedef struct wish {
    const char *method;
    const char *path;
    fakeapi_gate *gate;
    size_t n;
    size_t seen, counted; /* records looked at, and how many of them matched */
} wish;

typedef bool (*wish_test)(fakeapi *api, wish *w);

static bool has_come(fakeapi *api, wish *w)
{
    for (; w->seen < api->entries_n; w->seen++) {
        w->counted += is_match(api->entries[w->seen], w->method, w->path);
    }
    return w->counted >= w->n;
}

static bool are_in_flight(fakeapi *api, wish *w)
{
    return in_flight(api, w->method, w->path) == w->n;
}

static bool are_connected(fakeapi *api, wish *w)
{
    return api->open_n == w->n;
}

static bool are_at_gate(fakeapi *api, wish *w)
{
    return w->gate->waiters.n == w->n;
}

static bool wait_until(fakeapi *api, wish_test test, wish *w)
{
    struct timespec cap;
    clock_gettime(CLOCK_MONOTONIC, &cap);
    cap.tv_sec += FAKEAPI_WAIT_CAP_S;
    pthread_mutex_lock(&api->lock);
    bool is_true = test(api, w);
    int rc = 0;
    while (!is_true && rc != ETIMEDOUT) {
        rc = pthread_cond_timedwait(&api->changed, &api->lock, &cap);
        is_true = test(api, w);
    }
    pthread_mutex_unlock(&api->lock);
    return is_true;
}

bool fakeapi_wait_for(fakeapi *api, const char *method, const char *path, size_t n)
{
    wish w = {.method = method, .path = path, .n = n};
    return wait_until(api, has_come, &w);
}

bool fakeapi_wait_in_flight(fakeapi *api, const char *method, const char *path, size_t n)
{
    wish w = {.method = method, .path = path, .n = n};
    return wait_until(api, are_in_flight, &w);
}

bool fakeapi_wait_connections(fakeapi *api, size_t n)
{
    wish w = {.n = n};
    return wait_until(api, are_connected, &w);
}

bool fakeapi_gate_wait(fakeapi_gate *gate, size_t n)
{
    wish w = {.gate = gate, .n = n};
    return wait_until(gate->api, are_at_gate, &w);
}
