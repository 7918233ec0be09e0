/* Token streams that are pulled: the events of a streaming operation wait in a list until
 * the reader takes them; when it is long the transfer pauses. Shared by the reader's
 * thread and the loop's. */
#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/thread.h"
#include "client/future/future_int.h"
#include "client/sampling/sampling_stream.h"
#include "client/values/error.h"

#define EVENTS_FULL 256 /* pauses; what one piece of the network holds still comes */

typedef struct item {
    tk_list node;
    tinkc_stream_event event;
    char text[]; /* of the token or the reason */
} item;

/* Owners: the reader, the operation, a posted task. Guarded by `lock`. */
typedef struct shared {
    atomic_size_t refs;
    tk_mutex lock;
    tk_cond changed;
    tk_handle *handle; /* a reference */
    tk_list items;
    size_t n;
    bool paused, resume_posted;
    bool out_of_memory, closed; /* closed: the reader has left */
    bool ended;
    tk_sampling_streaming *streaming; /* loop thread only */
    tk_task resume;
} shared;

struct tinkc_stream {
    shared *shared;
    tinkc_future *future;
    item *current; /* handed out */
};

static void drop(shared *s)
{
    if (atomic_fetch_sub(&s->refs, 1) != 1) {
        return;
    }
    tk_list *node;
    while ((node = tk_list_pop_front(&s->items)) != NULL) {
        tk_free(TK_CONTAINER_OF(node, item, node));
    }
    tk_handle_unref(&s->handle);
    tk_cond_dispose(&s->changed);
    tk_mutex_dispose(&s->lock);
    tk_free(s);
}

/* ---- the loop's side ---- */

static bool on_event(void *user, const tinkc_stream_event *event)
{
    shared *s = user;
    const char *text = event->token != NULL ? event->token : event->finish_reason;
    size_t text_n = text != NULL ? strlen(text) + 1 : 0;
    item *it = tk_malloc(sizeof(*it) + text_n);
    tk_mutex_lock(&s->lock);
    bool wanted = it != NULL && !s->closed;
    s->out_of_memory = s->out_of_memory || it == NULL;
    if (wanted) {
        it->event = *event;
        if (text != NULL) {
            memcpy(it->text, text, text_n);
        }
        it->event.token = event->token != NULL ? it->text : NULL;
        it->event.finish_reason = event->finish_reason != NULL ? it->text : NULL;
        tk_list_push_back(&s->items, &it->node);
        s->n++;
        tk_cond_broadcast(&s->changed);
    }
    tk_mutex_unlock(&s->lock);
    if (!wanted) {
        tk_free(it);
    }
    return wanted;
}

static bool is_full(void *user)
{
    shared *s = user;
    tk_mutex_lock(&s->lock);
    bool full = s->n >= EVENTS_FULL && !s->closed;
    s->paused = s->paused || full;
    tk_mutex_unlock(&s->lock);
    return full;
}

static void on_begin(void *user, tk_sampling_streaming *streaming)
{
    shared *s = user;
    s->streaming = streaming;
}

static void on_end(void *user)
{
    shared *s = user;
    s->streaming = NULL;
    tk_mutex_lock(&s->lock);
    s->ended = true;
    tk_cond_broadcast(&s->changed);
    tk_mutex_unlock(&s->lock);
    drop(s);
}

static void run_resume(tk_task *task)
{
    shared *s = TK_CONTAINER_OF(task, shared, resume);
    tk_mutex_lock(&s->lock);
    s->resume_posted = false;
    s->paused = false;
    tk_mutex_unlock(&s->lock);
    if (s->streaming != NULL) {
        tk_sampling_stream_resume(s->streaming);
    }
    drop(s);
}

/* ---- life ---- */

static tinkc_code new_shared(shared **out, tk_handle *handle, tk_err *err)
{
    shared *s = tk_zalloc(sizeof(*s));
    if (s == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_cond_init_with(&s->changed, &s->lock, err);
    if (code != TINKC_OK) {
        tk_free(s);
        return code;
    }
    atomic_init(&s->refs, 2);
    s->handle = tk_handle_ref(handle);
    s->resume.run = run_resume;
    tk_list_init(&s->items);
    *out = s;
    return TINKC_OK;
}

static tinkc_code open_stream(tinkc_stream **out, tinkc_sampling *sampling,
                              const tinkc_model_input *prompt,
                              const tinkc_sampling_params *params, tk_err *err)
{
    shared *s = NULL;
    if (sampling == NULL || out == NULL) {
        return tk_err_set(err, sampling == NULL ? TINKC_E_STATE : TINKC_E_INVALID,
                          "stream: no handle, or no place for the result");
    }
    tinkc_code code = tk_core_check(sampling->handle->core, err);
    if (code != TINKC_OK) {
        return code;
    }
    tinkc_stream *stream = tk_zalloc(sizeof(*stream));
    code = stream != NULL ? new_shared(&s, sampling->handle, err) : tk_err_nomem(err);
    if (code != TINKC_OK) {
        tk_free(stream);
        return code;
    }
    tk_sampling_sink sink = {on_event, is_full, on_begin, on_end, s};
    stream->shared = s;
    stream->future = tk_sampling_stream(sampling, prompt, params, &sink);
    const tinkc_error *error = tinkc_future_error(stream->future);
    if (error != NULL && tinkc_error_code(error) == TINKC_E_INVALID) {
        tk_error_read(err, error); /* refused at the call */
        tinkc_stream_close(&stream);
        return err->code;
    }
    *out = stream;
    return TINKC_OK;
}

tinkc_code tinkc_stream_open(tinkc_stream **out, tinkc_sampling *sampling,
                             const tinkc_model_input *prompt,
                             const tinkc_sampling_params *params, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    return open_stream(out, sampling, prompt, params, &err) == TINKC_OK
               ? TINKC_OK
               : tk_error_give(error, &err);
}

void tinkc_stream_close(tinkc_stream **stream_ref)
{
    tinkc_stream *stream = stream_ref != NULL ? *stream_ref : NULL;
    if (stream == NULL) {
        return;
    }
    *stream_ref = NULL;
    shared *s = stream->shared;
    tk_mutex_lock(&s->lock);
    s->closed = true;
    tk_mutex_unlock(&s->lock);
    tinkc_future_cancel(stream->future);
    tinkc_future_free(&stream->future);
    tk_free(stream->current);
    drop(s);
    tk_free(stream);
}

/* ---- the reader's side ---- */

/* There is none left, and none will come. A reader whose wait has an end must not take a
 * request that timed out for an event that is late. */
static tinkc_code at_end(tinkc_stream *stream, bool is_bounded, tk_err *err)
{
    const tinkc_error *error = tinkc_future_error(stream->future);
    if (stream->shared->out_of_memory || tk_future_is_static(stream->future)) {
        return tk_err_nomem(err);
    }
    if (error != NULL) {
        tk_error_read(err, error);
        if (is_bounded && err->code == TINKC_E_TIMEOUT) {
            err->code = TINKC_E_CONNECTION;
        }
        return err->code;
    }
    return tk_err_set(err, TINKC_E_MISSING, "the stream is at its end");
}

static tinkc_code take(item **out, tinkc_stream *stream, int64_t timeout_ms, bool *wake,
                       tk_err *err)
{
    shared *s = stream->shared;
    int64_t deadline_ns = tk_wait_deadline_ns(timeout_ms);
    bool must_wait = s->n == 0 && !s->ended && timeout_ms != 0;
    if (must_wait && tk_core_check_blocking(s->handle->core, err) != TINKC_OK) {
        return TINKC_E_STATE;
    }
    while (s->n == 0 && !s->ended) {
        if (timeout_ms >= 0 && tk_clock_mono_ns(&tk_clock_real) >= deadline_ns) {
            return tk_err_set(err, TINKC_E_TIMEOUT, "no event arrived in time");
        }
        tk_wait_change(&s->handle->driver, &s->changed, &s->lock, deadline_ns);
    }
    if (s->n == 0) {
        return at_end(stream, timeout_ms >= 0, err);
    }
    *out = TK_CONTAINER_OF(tk_list_pop_front(&s->items), item, node);
    s->n--;
    *wake = s->paused && !s->resume_posted && s->n <= EVENTS_FULL / 2;
    s->resume_posted = s->resume_posted || *wake;
    return TINKC_OK;
}

tinkc_code tinkc_stream_next(const tinkc_stream_event **out, tinkc_stream *stream,
                             int64_t timeout_ms, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    item *next = NULL;
    bool wake = false;
    if (stream == NULL || out == NULL) {
        tk_err_set(&err, stream == NULL ? TINKC_E_STATE : TINKC_E_INVALID,
                   "stream: it is NULL or closed, or there is no place for the event");
        return tk_error_give(error, &err);
    }
    shared *s = stream->shared;
    tk_mutex_lock(&s->lock);
    tinkc_code code = take(&next, stream, timeout_ms, &wake, &err);
    tk_mutex_unlock(&s->lock);
    if (wake) {
        atomic_fetch_add(&s->refs, 1);
        if (!tk_loop_post(tk_core_loop(s->handle->core), &s->resume)) {
            drop(s); /* closing: the stream ends anyway */
        }
    }
    if (code != TINKC_OK) {
        return tk_error_give(error, &err);
    }
    tk_free(stream->current);
    stream->current = next;
    *out = &next->event;
    return TINKC_OK;
}
