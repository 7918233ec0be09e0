/* See <tinkc/trace.h>: events of hooks as lines of the Trace Event Format, in its array
 * form, whose end may be missing. Every span is a separate asynchronous slice, because
 * requests of one operation overlap and may outlive it. */
#include <tinkc/trace.h>

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include <tinkc/hooks.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/thread.h"
#include "client/values/error.h"

#define BUFFER_BYTES (64 * TK_KIB) /* written when it is that full */
#define BUFFER_MAX   (4 * TK_MIB)
#define KINDS        4

struct tinkc_trace {
    atomic_size_t refs; /* the caller's, and one of each service */
    tk_mutex lock;
    tk_buf text;
    int fd; /* -1: closed */
    int failed_errno;
    uint64_t lost;
    int64_t tokens[KINDS];
};

/* ---- the file ---- */

/* Under the lock. After the first failure nothing more is written. */
static void flush(tinkc_trace *trace)
{
    const char *p = trace->text.p;
    size_t left = trace->text.n;
    while (left > 0 && trace->failed_errno == 0) {
        ssize_t n = write(trace->fd, p, left);
        if (n < 0 && errno != EINTR) {
            trace->failed_errno = errno;
        } else if (n > 0) {
            p += n;
            left -= (size_t)n;
        }
    }
    tk_buf_clear(&trace->text);
}

/* ---- events ---- */

static void put_text(tk_json_writer *w, const char *key, const char *text)
{
    tk_json_key(w, tk_str_of(key));
    tk_json_put_str(w, tk_str_of(text));
}

static void put_i64(tk_json_writer *w, const char *key, int64_t value)
{
    tk_json_key(w, tk_str_of(key));
    tk_json_put_i64(w, value);
}

static void put_id(tk_json_writer *w, const char *key, uint64_t span)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "0x%llx", (unsigned long long)span);
    put_text(w, key, text);
}

static void put_head(tk_json_writer *w, const char *phase, const char *name,
                     int64_t time_ns)
{
    put_text(w, "ph", phase);
    put_text(w, "name", name);
    put_i64(w, "pid", (int64_t)getpid());
    put_i64(w, "tid", 1);
    tk_json_key(w, TK_STR("ts")); /* microseconds, with nanoseconds as the fraction */
    tk_json_put_double(w, (double)time_ns / 1e3);
}

static void put_start(tk_json_writer *w, const tinkc_hook *event)
{
    const tinkc_context *context = event->context;
    if (event->kind == TINKC_SPAN_HTTP) {
        put_id(w, "operation", event->parent);
        put_i64(w, "attempt", event->attempt);
        put_i64(w, "bytes_out", event->bytes_out);
    }
    if (context != NULL && context->traceparent != NULL) {
        put_text(w, "traceparent", context->traceparent);
    }
    for (size_t i = 0; context != NULL && i < context->tags_n; i++) {
        put_text(w, context->tags[i].name, context->tags[i].value);
    }
}

static void put_end(tk_json_writer *w, const tinkc_hook *event)
{
    if (event->event == TINKC_HOOK_ERROR) {
        put_text(w, "error", tinkc_code_name(event->code));
    }
    if (event->http_status != 0) {
        put_i64(w, "http_status", event->http_status);
    }
    if (event->kind == TINKC_SPAN_HTTP) {
        put_i64(w, "bytes_in", event->bytes_in);
    }
}

static void put_mark(tk_json_writer *w, const tinkc_hook *event)
{
    put_text(w, "reason", event->reason);
    if (event->event == TINKC_HOOK_RETRY) {
        put_i64(w, "delay_ms", event->delay_ms);
    } else {
        put_i64(w, "queue_state", (int64_t)event->queue_state);
    }
}

static void put_span(tk_json_writer *w, const tinkc_hook *event)
{
    const char *phase = event->event == TINKC_HOOK_START   ? "b"
                        : event->event <= TINKC_HOOK_ERROR ? "e"
                                                           : "n";
    const char *name = event->event == TINKC_HOOK_RETRY   ? "retry"
                       : event->event == TINKC_HOOK_QUEUE ? "queue"
                                                          : event->name;
    put_head(w, phase, name, event->time_ns);
    put_text(w, "cat", event->kind == TINKC_SPAN_HTTP ? "http" : "operation");
    put_id(w, "id", event->span);
    tk_json_key(w, TK_STR("args"));
    tk_json_begin_object(w);
    if (event->event == TINKC_HOOK_START) {
        put_start(w, event);
    } else if (event->event <= TINKC_HOOK_ERROR) {
        put_end(w, event);
    } else {
        put_mark(w, event);
    }
    tk_json_end_object(w);
}

/* A counter shows the sum of its kind so far. */
static void put_tokens(tk_json_writer *w, tinkc_trace *trace, const tinkc_hook *event)
{
    size_t kind = (size_t)event->token_kind % KINDS;
    trace->tokens[kind] += event->tokens;
    put_head(w, "C", "tokens", event->time_ns);
    tk_json_key(w, TK_STR("args"));
    tk_json_begin_object(w);
    for (size_t i = 0; i < KINDS; i++) {
        put_i64(w, tinkc_token_kind_name((tinkc_token_kind)i), trace->tokens[i]);
    }
    tk_json_end_object(w);
}

/* Under the lock: the whole line, or nothing of it. */
static void put_line(tinkc_trace *trace, const tinkc_hook *event)
{
    size_t before = trace->text.n;
    tk_json_writer w;
    tk_buf_puts(&trace->text, ",\n");
    tk_json_writer_init(&w, &trace->text);
    tk_json_begin_object(&w);
    if (event->event == TINKC_HOOK_TOKENS) {
        put_tokens(&w, trace, event);
    } else {
        put_span(&w, event);
    }
    tk_json_end_object(&w);
    if (tk_json_finish(&w, NULL) != TINKC_OK) {
        trace->text.failure = TINKC_OK;
        trace->text.n = before;
        trace->lost++;
    }
}

static void on_event(const tinkc_hook *event, void *user)
{
    tinkc_trace *trace = user;
    tk_mutex_lock(&trace->lock);
    if (trace->fd >= 0 && event->event <= TINKC_HOOK_TOKENS) {
        put_line(trace, event);
        if (trace->text.n >= BUFFER_BYTES) {
            flush(trace);
        }
    }
    tk_mutex_unlock(&trace->lock);
}

/* ---- life ---- */

static void unref(void *user)
{
    tinkc_trace *trace = user;
    if (atomic_fetch_sub(&trace->refs, 1) == 1) {
        tk_mutex_dispose(&trace->lock);
        tk_buf_dispose(&trace->text);
        tk_free(trace);
    }
}

static tinkc_code make(tinkc_trace **out, const char *path, tk_err *err)
{
    if (out == NULL || path == NULL || path[0] == '\0') {
        return tk_err_set(err, TINKC_E_INVALID, "no path, or no place for the result");
    }
    tinkc_trace *trace = tk_zalloc(sizeof(*trace));
    if (trace == NULL) {
        return tk_err_nomem(err);
    }
    atomic_init(&trace->refs, 1);
    tk_buf_init(&trace->text, BUFFER_MAX);
    tinkc_code code = tk_mutex_init(&trace->lock, err);
    if (code != TINKC_OK) {
        tk_free(trace);
        return code;
    }
    tk_buf_puts(&trace->text, "[{\"ph\":\"M\",\"name\":\"process_name\",");
    tk_buf_printf(&trace->text, "\"pid\":%lld,\"tid\":1,\"args\":{\"name\":\"tinkc\"}}",
                  (long long)getpid());
    code = tk_buf_status(&trace->text, err);
    if (code == TINKC_OK) {
        trace->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        code =
            trace->fd >= 0 ? TINKC_OK : tk_err_sys(err, errno, "cannot write %s", path);
    }
    if (code != TINKC_OK) {
        unref(trace);
        return code;
    }
    *out = trace;
    return TINKC_OK;
}

tinkc_code tinkc_trace_open(tinkc_trace **out, const char *path, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    return make(out, path, &err) == TINKC_OK ? TINKC_OK : tk_error_give(error, &err);
}

tinkc_code tinkc_trace_attach(tinkc_trace *trace, tinkc_service *service,
                              tinkc_error **error)
{
    if (trace == NULL) {
        return tk_error_tell(error, TINKC_E_STATE, "no trace");
    }
    atomic_fetch_add(&trace->refs, 1);
    tinkc_code code = tinkc_service_add_hook(service, on_event, trace, unref, error);
    if (code != TINKC_OK) {
        unref(trace);
    }
    return code;
}

tinkc_code tinkc_trace_close(tinkc_trace **trace_ref, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tinkc_trace *trace = trace_ref != NULL ? *trace_ref : NULL;
    if (trace == NULL) {
        return TINKC_OK;
    }
    *trace_ref = NULL;
    tk_mutex_lock(&trace->lock);
    flush(trace);
    tk_buf_puts(&trace->text, "\n]\n");
    flush(trace);
    if (close(trace->fd) != 0 && trace->failed_errno == 0) {
        trace->failed_errno = errno;
    }
    trace->fd = -1;
    tk_buf_dispose(&trace->text);
    if (trace->failed_errno != 0) {
        (void)tk_err_sys(&err, trace->failed_errno, "the trace is cut");
    } else if (trace->lost > 0) {
        tk_err_set(&err, TINKC_E_NOMEM, "the trace lacks %llu events",
                   (unsigned long long)trace->lost);
    }
    tk_mutex_unlock(&trace->lock);
    unref(trace);
    return err.code == TINKC_OK ? TINKC_OK : tk_error_give(error, &err);
}
