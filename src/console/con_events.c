/* The ring holds events as they are sent. Event number i is at i % CON_EVENTS_RING; those of
 * [first, next) are there. A reader is where it has been sent all events below `at`. */
#include "console/con_events.h"

#include <stdio.h>
#include <string.h>
#include <tinkc/version.h>

#include "base/mem.h"
#include "base/rand.h"
#include "base/thread.h"
#include "httpd/hd_reply.h"
#include "httpd/hd_stream.h"

#define EVENT_BYTES  (64 * TK_KIB)
#define SLOW_BYTES   TK_MIB /* that wait for a reader */
#define BATCH_NS     (INT64_C(200) * TK_NS_PER_MS)
#define SERVER_NS    (INT64_C(2000) * TK_NS_PER_MS)
#define ALIVE_NS     (INT64_C(15000) * TK_NS_PER_MS)
#define START_DIGITS 16

typedef struct reader {
    tk_list link;
    hd_stream *stream; /* one ownership */
    uint64_t at;
} reader;

struct con_events {
    hd_budget *budget;
    const con_data *data;
    char start[START_DIGITS + 1]; /* of this process, in every id */
    tk_thread thread;
    bool runs;
    tk_mutex lock;
    tk_cond wake;
    bool closing;                 /* under lock, as all below */
    tk_str ring[CON_EVENTS_RING]; /* owned */
    uint64_t first, next;
    size_t bytes;
    tk_list readers;
    size_t n_readers;
};

/* ---- the ring; under the lock ---- */

static void drop_first(con_events *events)
{
    tk_str *old = &events->ring[events->first % CON_EVENTS_RING];
    char *text = NULL;
    memcpy(&text, &old->p, sizeof(text)); /* allocated here */
    events->bytes -= old->n;
    hd_budget_give(events->budget, HD_PART_STREAMS, old->n);
    tk_free(text);
    *old = (tk_str){NULL, 0};
    events->first++;
}

static void drop_all(con_events *events)
{
    while (events->first < events->next) {
        drop_first(events);
    }
}

/* A reader cannot know what this one was: it reads everything again. */
static void lose(con_events *events)
{
    drop_all(events);
    events->first = ++events->next;
}

static void add(con_events *events, const char *name, tk_str data)
{
    tk_buf buf;
    tk_buf_init(&buf, EVENT_BYTES);
    tk_buf_printf(&buf, "id: %s-%llu\nevent: %s\ndata: ", events->start,
                  (unsigned long long)events->next, name);
    tk_buf_put(&buf, data.p, data.n);
    tk_buf_puts(&buf, "\n\n");
    size_t n = 0;
    char *text = tk_buf_take(&buf, &n);
    tk_buf_dispose(&buf);
    if (text == NULL || !hd_budget_take(events->budget, HD_PART_STREAMS, n)) {
        tk_free(text);
        lose(events);
        return;
    }
    while (events->first < events->next &&
           (events->next - events->first >= CON_EVENTS_RING ||
            events->bytes + n > CON_EVENTS_BYTES)) {
        drop_first(events);
    }
    events->ring[events->next % CON_EVENTS_RING] = (tk_str){text, n};
    events->bytes += n;
    events->next++;
}

void con_events_put(con_events *events, const char *name, tk_str data)
{
    tk_mutex_lock(&events->lock);
    if (!events->closing) {
        add(events, name, data);
        if (events->n_readers > 0) {
            tk_cond_signal(&events->wake);
        }
    }
    tk_mutex_unlock(&events->lock);
}

void con_events_lose(con_events *events)
{
    tk_mutex_lock(&events->lock);
    lose(events);
    tk_cond_signal(&events->wake);
    tk_mutex_unlock(&events->lock);
}

/* ---- readers; under the lock ---- */

static void dismiss(con_events *events, reader *one)
{
    tk_list_remove(&one->link);
    events->n_readers--;
    hd_stream_end(one->stream);
    hd_stream_release(one->stream);
    tk_free(one);
}

/* What readers have not got: the events from `from` on, up to the last one, put together once
 * for all readers that are at the same place, as nearly all of them are. */
typedef struct news {
    tk_buf text;
    uint64_t from; /* 0 = nothing is put together */
} news;

static void collect(const con_events *events, news *out, uint64_t from)
{
    if (out->from == from) {
        return;
    }
    out->from = from;
    tk_buf_clear(&out->text);
    for (uint64_t i = from; i < events->next; i++) {
        const tk_str *text = &events->ring[i % CON_EVENTS_RING];
        tk_buf_put(&out->text, text->p, text->n);
    }
}

/* Sends what one reader has not; returns false when it must go. */
static bool feed(const con_events *events, reader *one, news *fresh)
{
    size_t room = hd_stream_room(one->stream);
    if (one->at < events->first || room < TK_HD_STREAM_BYTES - SLOW_BYTES) {
        return false;
    }
    collect(events, fresh, one->at);
    one->at = events->next;
    return fresh->text.failure == TINKC_OK && fresh->text.n < room &&
           hd_stream_put(one->stream, tk_buf_str(&fresh->text));
}

static void feed_all(con_events *events, news *fresh)
{
    fresh->from = 0;
    for (tk_list *at = events->readers.next, *next; at != &events->readers; at = next) {
        reader *one = TK_CONTAINER_OF(at, reader, link);
        next = at->next;
        if (one->at < events->next && !feed(events, one, fresh)) {
            dismiss(events, one);
        }
    }
}

/* Says that the stream is alive, and lets go of readers that have left. */
static void greet_all(con_events *events)
{
    for (tk_list *at = events->readers.next, *next; at != &events->readers; at = next) {
        reader *one = TK_CONTAINER_OF(at, reader, link);
        next = at->next;
        if (hd_stream_is_gone(one->stream) ||
            !hd_stream_put(one->stream, TK_STR(":\n\n"))) {
            dismiss(events, one);
        }
    }
}

static bool has_news(const con_events *events)
{
    for (tk_list *at = events->readers.next; at != &events->readers; at = at->next) {
        if (TK_CONTAINER_OF(at, reader, link)->at < events->next) {
            return true;
        }
    }
    return false;
}

/* ---- the thread ---- */

typedef struct pace { /* when the next of each is due */
    int64_t batch, server, alive;
} pace;

/* Waits until something is due. Under the lock. */
static void wait_for_work(con_events *events, const pace *due, int64_t now)
{
    int64_t until = TK_FOREVER;
    if (events->n_readers > 0) {
        until = TK_MIN(due->server, due->alive);
        until = has_news(events) ? TK_MIN(until, due->batch) : until;
    }
    if (now < until) {
        (void)tk_cond_wait_until(&events->wake, &events->lock, until);
    }
}

static void run(void *user)
{
    con_events *events = user;
    pace due = {0};
    news fresh = {.from = 0};
    tk_buf_init(&fresh.text, CON_EVENTS_BYTES + 1);
    tk_mutex_lock(&events->lock);
    while (!events->closing) {
        int64_t now = tk_clock_mono_ns(NULL);
        if (events->n_readers > 0 && now >= due.server) {
            due.server = now + SERVER_NS;
            tk_mutex_unlock(&events->lock); /* it may take locks of its own */
            bool busy = events->data->is_busy != NULL &&
                        events->data->is_busy(events->data->user);
            tk_mutex_lock(&events->lock);
            if (busy) {
                add(events, "server", TK_STR("{}"));
            }
        }
        if (now >= due.alive) {
            due.alive = now + ALIVE_NS;
            greet_all(events);
        }
        if (now >= due.batch && has_news(events)) {
            due.batch = now + BATCH_NS;
            feed_all(events, &fresh);
        }
        wait_for_work(events, &due, now);
    }
    tk_mutex_unlock(&events->lock);
    tk_buf_dispose(&fresh.text);
}

/* ---- the handler ---- */

/* Finds where a reader goes on: it has the event of this id. Returns false when that is not
 * known any more. Under the lock. */
static bool find_place(uint64_t *at, const con_events *events, tk_str id)
{
    uint64_t last = 0;
    tk_str start = tk_str_cut(&id, '-');
    if (!tk_str_is(start, events->start) || id.p == NULL || !tk_str_to_u64(id, &last) ||
        last >= events->next || last + 1 < events->first) {
        return false;
    }
    *at = last + 1;
    return true;
}

/* Sends the first event. Under the lock. */
static bool open_stream(const con_events *events, reader *one, tk_str id)
{
    char text[160];
    one->at = events->next;
    if (id.n > 0 && find_place(&one->at, events, id)) {
        (void)snprintf(text, sizeof(text), "retry: 1000\n\n");
    } else {
        (void)snprintf(text, sizeof(text),
                       "retry: 1000\nid: %s-%llu\nevent: %s\ndata: %s\n\n", events->start,
                       (unsigned long long)(events->next - 1),
                       id.n > 0 ? "reset" : "hello",
                       id.n > 0 ? "{}" : "{\"version\":\"" TINKC_VERSION "\"}");
    }
    return hd_stream_put(one->stream, tk_str_of(text));
}

static hd_verdict reply(hd_request *request, hd_stream *stream)
{
    request->stream = stream;
    (void)hd_reply_header(request, "Cache-Control", "no-store");
    (void)hd_reply_header(request, "X-Accel-Buffering", "no");
    (void)hd_reply_header(request, "X-Content-Type-Options", "nosniff");
    return hd_reply_fixed(request, 200, "text/event-stream", TK_STR(""));
}

/* An answer without an end is for those who ask for one. */
static bool is_wanted(const hd_request *request)
{
    tk_str accept = hd_request_header(request, "Accept");
    return accept.p != NULL && (strstr(accept.p, "text/event-stream") != NULL ||
                                strstr(accept.p, "*/*") != NULL);
}

hd_verdict con_events_get(con_events *events, hd_request *request)
{
    if (!is_wanted(request)) {
        return hd_reply_fail(request, 406, "send Accept: text/event-stream");
    }
    tk_str id = hd_request_header(request, "Last-Event-ID");
    reader *one = tk_zalloc(sizeof(*one));
    hd_stream *stream = one != NULL ? hd_stream_new(events->budget) : NULL;
    if (stream == NULL) {
        tk_free(one);
        return hd_reply_no_memory(request);
    }
    one->stream = stream;
    tk_list_init(&one->link);
    tk_mutex_lock(&events->lock);
    bool closing = events->closing;
    bool ok = !closing && events->n_readers < CON_EVENTS_READERS &&
              open_stream(events, one, id);
    if (ok) {
        tk_list_push_back(&events->readers, &one->link);
        events->n_readers++;
        tk_cond_signal(&events->wake);
    }
    tk_mutex_unlock(&events->lock);
    if (!ok) {
        tk_free(one);
        hd_stream_release(stream);
        hd_stream_release(stream);
        return hd_reply_fail(request, closing ? 503 : 429,
                             closing ? "the server is stopping"
                                     : "too many consoles are open");
    }
    return reply(request, stream);
}

/* ---- life ---- */

static tinkc_code name_start(con_events *events, tk_err *err)
{
    unsigned char bytes[START_DIGITS / 2];
    tinkc_code code = tk_rand_entropy(bytes, sizeof(bytes), err);
    for (size_t i = 0; code == TINKC_OK && i < sizeof(bytes); i++) {
        (void)snprintf(events->start + 2 * i, 3, "%02x", bytes[i]);
    }
    return code;
}

tinkc_code con_events_new(con_events **out, hd_budget *budget, const con_data *data,
                          tk_err *err)
{
    con_events *events = tk_zalloc(sizeof(*events));
    if (events == NULL) {
        return tk_err_nomem(err);
    }
    events->budget = budget;
    events->data = data;
    events->first = events->next = 1; /* the event before it is that of a new reader */
    tk_list_init(&events->readers);
    tinkc_code code = tk_cond_init_with(&events->wake, &events->lock, err);
    if (code != TINKC_OK) {
        tk_free(events);
        return code;
    }
    code = name_start(events, err);
    if (code == TINKC_OK) {
        code = tk_thread_start(&events->thread, "tinkc-console", run, events, err);
        events->runs = code == TINKC_OK;
    }
    if (code != TINKC_OK) {
        con_events_free(events);
        return code;
    }
    *out = events;
    return TINKC_OK;
}

void con_events_quiesce(con_events *events)
{
    if (events == NULL) {
        return;
    }
    tk_mutex_lock(&events->lock);
    events->closing = true;
    while (!tk_list_is_empty(&events->readers)) {
        dismiss(events, TK_CONTAINER_OF(events->readers.next, reader, link));
    }
    tk_cond_signal(&events->wake);
    tk_mutex_unlock(&events->lock);
}

void con_events_free(con_events *events)
{
    if (events == NULL) {
        return;
    }
    con_events_quiesce(events);
    if (events->runs) {
        tk_thread_join(&events->thread);
    }
    drop_all(events);
    tk_cond_dispose(&events->wake);
    tk_mutex_dispose(&events->lock);
    tk_free(events);
}
