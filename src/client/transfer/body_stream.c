/* The shared part has two owners: the reader and the operation. The error of the
 * request is the future's. */
#include "client/transfer/body_stream.h"

#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "client/call/op_call.h"
#include "client/future/future_int.h"
#include "client/values/error.h"

typedef struct transfer transfer;

/* Guarded by `lock`, but for what says otherwise. */
typedef struct shared {
    atomic_size_t refs;
    tk_mutex lock;
    tk_cond changed;
    tk_handle *handle; /* a reference */
    tinkc_raw_response *head;
    bool out_of_memory; /* the head could not be kept */
    bool paused, resume_posted;
    bool ended;         /* the operation has ended */
    size_t first, used; /* ring */
    transfer *running;  /* loop thread only; NULL when it is over */
    tk_task resume;
    char ring[TK_BODY_STREAM_RING_BYTES];
} shared;

struct tk_body_stream {
    shared *shared;
    tinkc_future *future;
};

struct transfer {
    tk_op_call base;
    tk_request request;
    shared *shared;
};

static void drop(shared *s)
{
    if (atomic_fetch_sub(&s->refs, 1) == 1) {
        tk_raw_response_free(s->head);
        tk_handle_unref(&s->handle);
        tk_cond_dispose(&s->changed);
        tk_mutex_dispose(&s->lock);
        tk_free(s);
    }
}

/* ---- the loop's side ---- */

static void on_head(tk_call *call, const tk_http_response *head)
{
    transfer *self = call->user;
    shared *s = self->shared;
    tinkc_raw_response *copy = tk_raw_response_copy(head, NULL);
    tk_mutex_lock(&s->lock);
    s->head = copy;
    s->out_of_memory = copy == NULL;
    tk_cond_broadcast(&s->changed);
    tk_mutex_unlock(&s->lock);
}

static void put(shared *s, const char *p, size_t n)
{
    size_t at = (s->first + s->used) % TK_BODY_STREAM_RING_BYTES;
    size_t straight = TK_MIN(n, TK_BODY_STREAM_RING_BYTES - at);
    memcpy(s->ring + at, p, straight);
    memcpy(s->ring, p + straight, n - straight);
    s->used += n;
}

static tk_http_flow on_data(tk_call *call, const char *p, size_t n)
{
    transfer *self = call->user;
    shared *s = self->shared;
    tk_http_flow flow = TK_HTTP_TAKE;
    tk_mutex_lock(&s->lock);
    if (s->out_of_memory || n > TK_BODY_STREAM_RING_BYTES) {
        flow = TK_HTTP_STOP;
    } else if (TK_BODY_STREAM_RING_BYTES - s->used < n) {
        s->paused = true;
        flow = TK_HTTP_PAUSE;
    } else {
        put(s, p, n);
        tk_cond_broadcast(&s->changed);
    }
    tk_mutex_unlock(&s->lock);
    return flow;
}

/* The reader has made room. */
static void run_resume(tk_task *task)
{
    shared *s = TK_CONTAINER_OF(task, shared, resume);
    tk_mutex_lock(&s->lock);
    s->resume_posted = false;
    s->paused = false;
    tk_mutex_unlock(&s->lock);
    if (s->running != NULL && tk_call_is_running(&s->running->base.call)) {
        tk_loop_resume(tk_core_loop(s->handle->core),
                       &s->running->base.call.state.request);
    }
    drop(s);
}

static size_t read_body(tk_call *call, uint64_t offset, char *p, size_t n)
{
    transfer *self = call->user;
    return tk_request_read(&self->request, offset, p, n);
}

static void on_answer(tk_call *call, const tk_call_answer *answer)
{
    transfer *self = call->user;
    shared *s = self->shared;
    tk_err err = TK_ERR_INIT;
    if (answer->code != TINKC_OK) {
        if (s->out_of_memory) {
            tk_err_nomem(&err);
        }
        tk_op_fail(&self->base.op, s->out_of_memory ? &err : answer->err);
        return;
    }
    if (s->head == NULL) { /* a body of no bytes */
        on_head(call, answer->response);
    }
    if (s->head == NULL) {
        tk_err_nomem(&err);
        tk_op_fail(&self->base.op, &err);
    } else {
        tk_op_complete(&self->base.op, NULL, NULL);
    }
}

static void send(tk_op_call *call)
{
    transfer *self = TK_CONTAINER_OF(call, transfer, base);
    self->base.call = (tk_call){.core = self->base.op.core,
                                .future = self->base.op.future,
                                .on_head = on_head,
                                .on_data = on_data,
                                .done = on_answer,
                                .user = self};
    tk_request_apply(&self->base.call, &self->request);
    self->base.call.read_body = tk_request_is_read(&self->request) ? read_body : NULL;
    tk_call_start(&self->base.call);
}

static void start(tk_op *op)
{
    transfer *self = TK_CONTAINER_OF(op, transfer, base.op);
    self->shared->running = self;
    tk_op_call_start(&self->base, false, send);
}

/* The future is done before this: a reader that sees `ended` finds the error there. */
static void destroy(tk_op *op)
{
    transfer *self = TK_CONTAINER_OF(op, transfer, base.op);
    shared *s = self->shared;
    s->running = NULL;
    tk_mutex_lock(&s->lock);
    s->ended = true;
    tk_cond_broadcast(&s->changed);
    tk_mutex_unlock(&s->lock);
    tk_request_dispose(&self->request);
    tk_free(self);
    drop(s);
}

static const tk_op_type transfer_type = {start, tk_op_call_cancel, destroy};

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
    atomic_init(&s->refs, 2); /* the reader, the operation */
    s->handle = tk_handle_ref(handle);
    s->resume.run = run_resume;
    *out = s;
    return TINKC_OK;
}

tinkc_code tk_body_stream_open(tk_body_stream **out, tk_handle *handle,
                               tk_request *request, tk_err *err)
{
    tinkc_code code = tk_core_check(handle->core, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = tk_core_check_blocking(handle->core, err);
    if (code != TINKC_OK) {
        return code;
    }
    tk_body_stream *stream = tk_zalloc(sizeof(*stream));
    transfer *self = tk_zalloc(sizeof(*self));
    shared *s = NULL;
    code =
        stream != NULL && self != NULL ? new_shared(&s, handle, err) : tk_err_nomem(err);
    if (code != TINKC_OK) {
        tk_free(stream);
        tk_free(self);
        return code;
    }
    self->shared = s;
    self->request = *request;
    *request = (tk_request){0};
    tk_op_init(&self->base.op, &transfer_type, handle, "stream", TK_RESULT_NONE);
    self->base.op.is_foreign = self->request.anonymous;
    stream->shared = s;
    stream->future = tk_op_submit(&self->base.op);
    *out = stream;
    return TINKC_OK;
}

void tk_body_stream_close(tk_body_stream **stream_ref)
{
    tk_body_stream *stream = *stream_ref;
    *stream_ref = NULL;
    if (stream == NULL) {
        return;
    }
    tinkc_future_cancel(stream->future);
    tinkc_future_free(&stream->future);
    drop(stream->shared);
    tk_free(stream);
}

/* ---- the reader's side ---- */

/* The lock is held. */
static tinkc_code wait_for(tk_body_stream *stream, bool (*is_there)(const shared *s),
                           int64_t timeout_ms, tk_err *err)
{
    shared *s = stream->shared;
    int64_t deadline_ns = tk_wait_deadline_ns(timeout_ms);
    bool must_wait = !is_there(s) && !s->ended && timeout_ms != 0;
    if (must_wait && tk_core_check_blocking(s->handle->core, err) != TINKC_OK) {
        return TINKC_E_STATE;
    }
    while (!is_there(s) && !s->ended) {
        if (timeout_ms >= 0 && tk_clock_mono_ns(&tk_clock_real) >= deadline_ns) {
            return tk_err_set(err, TINKC_E_TIMEOUT, "no data arrived in time");
        }
        tk_wait_change(&s->handle->driver, &s->changed, &s->lock, deadline_ns);
    }
    if (is_there(s)) {
        return TINKC_OK;
    }
    const tinkc_error *error = tinkc_future_error(stream->future);
    if (error != NULL) {
        tk_error_read(err, error);
        return tinkc_error_code(error);
    }
    return tk_future_is_static(stream->future) ? tk_err_nomem(err) : TINKC_OK;
}

static bool has_head(const shared *s)
{
    return s->head != NULL;
}

static bool has_bytes(const shared *s)
{
    return s->used > 0;
}

tinkc_code tk_body_stream_head(const tinkc_raw_response **out, tk_body_stream *stream,
                               int64_t timeout_ms, tk_err *err)
{
    shared *s = stream->shared;
    tk_mutex_lock(&s->lock);
    tinkc_code code = wait_for(stream, has_head, timeout_ms, err);
    const tinkc_raw_response *head = s->head;
    tk_mutex_unlock(&s->lock);
    if (code == TINKC_OK && head == NULL) {
        code = tk_err_set(err, TINKC_E_CONNECTION, "the response has no head");
    }
    if (code == TINKC_OK) {
        *out = head;
    }
    return code;
}

static size_t take(shared *s, char *p, size_t size)
{
    size_t n = TK_MIN(size, s->used);
    size_t straight = TK_MIN(n, TK_BODY_STREAM_RING_BYTES - s->first);
    memcpy(p, s->ring + s->first, straight);
    memcpy(p + straight, s->ring, n - straight);
    s->first = (s->first + n) % TK_BODY_STREAM_RING_BYTES;
    s->used -= n;
    return n;
}

tinkc_code tk_body_stream_read(size_t *n, tk_body_stream *stream, char *p, size_t size,
                               int64_t timeout_ms, tk_err *err)
{
    shared *s = stream->shared;
    bool wake = false;
    tk_mutex_lock(&s->lock);
    tinkc_code code = wait_for(stream, has_bytes, timeout_ms, err);
    if (code == TINKC_OK) {
        *n = take(s, p, size);
        wake = s->paused && !s->resume_posted && s->used <= TK_BODY_STREAM_RING_BYTES / 2;
        s->resume_posted = s->resume_posted || wake;
    }
    tk_mutex_unlock(&s->lock);
    if (wake) {
        atomic_fetch_add(&s->refs, 1);
        if (!tk_loop_post(tk_core_loop(s->handle->core), &s->resume)) {
            drop(s); /* closing: the transfer ends anyway */
        }
    }
    return code;
}

bool tk_body_stream_is_over(tk_body_stream *stream)
{
    shared *s = stream->shared;
    tk_mutex_lock(&s->lock);
    bool over = s->ended;
    tk_mutex_unlock(&s->lock);
    return over;
}

void tk_body_stream_pause(tk_handle *handle, int64_t ms)
{
    tk_driver *driver = &handle->driver;
    tk_mutex lock = TK_MUTEX_INIT;
    tk_cond never;
    int64_t deadline_ns = tk_wait_deadline_ns(ms);
    if (tk_cond_init(&never, NULL) != TINKC_OK) {
        return;
    }
    tk_mutex_lock(&lock);
    while (tk_clock_mono_ns(&tk_clock_real) < deadline_ns) {
        int64_t left = (deadline_ns - tk_clock_mono_ns(&tk_clock_real)) / 1000000;
        if (!driver->is_manual ||
            !driver->ops->drive(driver, TK_MIN(left, TK_WAIT_SLICE_MS))) {
            (void)tk_cond_wait_until(&never, &lock, deadline_ns);
        }
    }
    tk_mutex_unlock(&lock);
    tk_cond_dispose(&never);
}
