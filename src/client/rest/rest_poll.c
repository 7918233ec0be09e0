/* REST operations that ask until the server has finished something: the archive of a
 * checkpoint (503 while it is built; 302 or JSON when it is there) and the trace of a
 * session (pending, ready, failed). Loop thread, but for the public functions. */
#include <string.h>

#include "base/date.h"
#include "base/mem.h"
#include "client/call/op_call.h"
#include "client/call/outcome.h"
#include "client/core/service.h"
#include "client/rest/rest.h"
#include "client/rest/rest_result.h"
#include "http/url.h"
#include "wire/msg_rest.h"
#include "wire/path.h"
#include "wire/wire_error.h"

#define ARG_MAX_BYTES    (64 * TK_KIB)
#define TRACE_OTHER_MS   600000 /* a status that we do not know may be a last one */
#define LEAST_PAUSE_MS   1000
#define URL_LIFE_US      (INT64_C(15) * 60 * 1000000) /* when the server names no end */
#define NOTE_AFTER_MS    180000 /* a wait this long is worth a line in the log */
#define TRACE_TEXT_BYTES TK_MIB

typedef struct asking asking;

/* What differs between the two. */
typedef struct kind {
    const char *operation;
    tk_result_kind result;
    tk_endpoint_id endpoint;
    int pass_status;
    void (*on_answer)(asking *self, const tk_call_answer *answer);
} kind;

struct asking {
    tk_op_call base;
    const kind *kind;
    tk_timer timer;
    bool waiting; /* the timer is set */
    tk_buf path_arg;
    size_t
        kind_at; /* in path_arg: where "sampler_weights/" may be left out; 0: nowhere */
    tk_err refusal; /* of the request with it */
    int64_t tries, started_ms;
    int64_t paused_ms; /* in all, between the requests */
    tk_retry_pace pace;
};

static void ask(asking *self);

static void fail(asking *self, const tk_err *err)
{
    tk_op_fail(&self->base.op, err);
}

static void fire(tk_timer *timer)
{
    asking *self = TK_CONTAINER_OF(timer, asking, timer);
    self->waiting = false;
    ask(self);
}

static void ask_later(asking *self, int64_t delay_ms)
{
    tk_core *core = self->base.op.core;
    int64_t now = tk_loop_now_ms(tk_core_loop(core));
    if (self->tries == 1 || now - self->started_ms >= NOTE_AFTER_MS) {
        tk_log_write(tk_core_log(core), TINKC_LOG_INFO, "rest",
                     "%s: not ready yet, asking again in %lld s", self->kind->operation,
                     (long long)(delay_ms / 1000));
    }
    tk_future_stage(self->base.op.future, TINKC_STAGE_RUNNING);
    self->paused_ms += delay_ms;
    self->waiting = true;
    tk_timer_init(&self->timer, fire);
    tk_loop_timer_set(tk_core_loop(core), &self->timer, now + delay_ms);
}

/* ---- the archive ---- */

/* The end of life that came with a redirect, or a quarter of an hour. */
static int64_t expiry_of(asking *self, const tk_http_response *response)
{
    int64_t now = tk_clock_wall_us(tk_core_clock(self->base.op.core));
    int64_t us;
    tk_str said = tk_http_header(response, "expires");
    if (said.p != NULL && tk_date_parse_http(&us, said, now, NULL) == TINKC_OK) {
        return now + (us - tk_outcome_server_us(response, now));
    }
    return now + URL_LIFE_US;
}

static void redirected(asking *self, const tk_http_response *response)
{
    tk_err err = TK_ERR_INIT;
    void *result = NULL;
    tk_buf url;
    tk_buf_init(&url, ARG_MAX_BYTES);
    tk_str location = tk_http_header(response, "location");
    if (tk_url_resolve(&url, tk_str_of(tk_core_base_url(self->base.op.core)), location,
                       &err) == TINKC_OK) {
        result =
            tk_rest_result_archive_at(tk_buf_str(&url), expiry_of(self, response), &err);
    }
    tk_buf_dispose(&url);
    if (result != NULL) {
        tk_op_complete(&self->base.op, result, tk_rest_result_free);
    } else {
        fail(self, &err);
    }
}

/* The number of requests is limited, or, when the server asks for short pauses, the time
 * that so many requests take without them. */
static bool may_ask_again(const asking *self)
{
    const tinkc_config *config = tk_core_config(self->base.op.core);
    int64_t pauses = config->archive_tries - 1;
    return self->tries < config->archive_tries ||
           self->paused_ms / TK_MAX(config->archive_poll_ms, 1) < pauses;
}

/* A hint shortens the pause, but not below a second. */
static int64_t archive_pause_ms(const asking *self, int64_t hint_ms)
{
    int64_t plain = tk_core_config(self->base.op.core)->archive_poll_ms;
    return TK_MAX(tk_retry_after(plain, hint_ms), TK_MIN(plain, LEAST_PAUSE_MS));
}

/* Some servers know weights for sampling by their name alone. Those for training are not
 * asked for like that: the name may be that of both. */
static void leave_out_kind(asking *self)
{
    static const char word[] = "sampler_weights/";
    size_t at = self->kind_at, end = at + sizeof(word) - 1;
    memmove(self->path_arg.p + at, self->path_arg.p + end, self->path_arg.n - end + 1);
    self->path_arg.n -= sizeof(word) - 1;
    self->kind_at = 0;
}

static void ask_bare(asking *self, const tk_err *refusal)
{
    leave_out_kind(self);
    self->refusal = *refusal;
    ask(self);
}

/* Remembers by which of its names the server knows an archive, once it has given one. */
static void learn_name(asking *self)
{
    tk_core *core = self->base.op.core;
    bool is_bare = self->refusal.code != TINKC_OK;
    if (self->kind_at != 0 || is_bare) {
        tk_manners_learn(tk_core_manners(core), tk_core_log(core),
                         TK_MANNER_BARE_ARCHIVES, is_bare);
    }
}

static bool is_bare_known(const asking *self)
{
    return tk_manners_get(tk_core_manners(self->base.op.core), TK_MANNER_BARE_ARCHIVES) ==
           TK_KNOWN_YES;
}

static void on_archive(asking *self, const tk_call_answer *answer)
{
    int status = answer->outcome.status;
    tk_err err = TK_ERR_INIT;
    bool is_absent = tk_wire_error_is_absent(status);
    if (answer->code == TINKC_OK) {
        void *result = tk_rest_result_archive(answer->response->body, &err);
        learn_name(self);
        if (result != NULL) {
            tk_op_complete(&self->base.op, result, tk_rest_result_free);
        } else {
            fail(self, &err);
        }
    } else if (tk_http_is_redirect(status)) {
        learn_name(self);
        redirected(self, answer->response);
    } else if (status == 503 && may_ask_again(self)) {
        ask_later(self, archive_pause_ms(self, answer->outcome.hint_ms));
    } else if (is_absent && self->kind_at != 0) {
        ask_bare(self, answer->err);
    } else {
        bool was_better = is_absent && self->refusal.code != TINKC_OK &&
                          !tk_wire_error_is_of_route(&self->refusal);
        fail(self, was_better ? &self->refusal : answer->err);
    }
}

/* ---- the trace ---- */

static void on_ready_trace(asking *self, const tk_trace_export_response *said)
{
    tk_err err = TK_ERR_INIT;
    char *url = NULL;
    if (said->url.is != TK_SET || said->url.v.n == 0) {
        tk_err_set(&err, TINKC_E_DECODE, "the trace is ready, but the URL is missing");
    } else {
        url = tk_strndup(said->url.v.p, said->url.v.n);
        if (url == NULL) {
            tk_err_nomem(&err);
        }
    }
    if (url != NULL) {
        tk_op_complete(&self->base.op, url, tk_free);
    } else {
        fail(self, &err);
    }
}

static void on_failed_trace(asking *self, const tk_trace_export_response *said)
{
    tk_err err = TK_ERR_INIT;
    tk_str why = said->error.is == TK_SET ? said->error.v : TK_STR("no reason given");
    tk_err_set(&err, TINKC_E_REQUEST, "the trace could not be written: " TK_STR_FMT,
               TK_STR_ARG(why));
    fail(self, &err);
}

/* Whether it took longer than a server may; `err` gets the status. */
static bool is_late(const asking *self, const tk_trace_export_response *said, tk_err *err)
{
    tk_core *core = self->base.op.core;
    int64_t most = tk_core_config(core)->stuck_total_ms;
    int64_t age = tk_loop_now_ms(tk_core_loop(core)) - self->started_ms;
    if (said->status.v == TK_OTHER && (most < 0 || most > TRACE_OTHER_MS)) {
        most = TRACE_OTHER_MS;
    }
    if (most < 0 || age < most) {
        return false;
    }
    tk_err_set(err, TINKC_E_STUCK,
               "the trace was not ready in time; its status is \"%.64s\"",
               said->status_word.p != NULL ? said->status_word.p : "");
    return true;
}

/* A status of a newer server is waited out, unless the answer says how it ended. */
static void on_status(asking *self, const tk_trace_export_response *said)
{
    tk_err err = TK_ERR_INIT;
    bool is_other = said->status.v == TK_OTHER;
    if (said->status.v == TK_EXPORT_READY || (is_other && said->url.is == TK_SET)) {
        on_ready_trace(self, said);
    } else if (said->status.v == TK_EXPORT_FAILED ||
               (is_other && said->error.is == TK_SET)) {
        on_failed_trace(self, said);
    } else if (is_late(self, said, &err)) {
        fail(self, &err);
    } else {
        ask_later(self, tk_core_config(self->base.op.core)->trace_poll_ms);
    }
}

static void on_trace(asking *self, const tk_call_answer *answer)
{
    if (answer->code != TINKC_OK) {
        fail(self, answer->err);
        return;
    }
    tk_err err = TK_ERR_INIT;
    tk_trace_export_response said = {0};
    tk_arena arena;
    tk_arena_init(&arena, TRACE_TEXT_BYTES);
    if (tk_schema_decode_text(&said, &tk_msg_trace_export_response, &arena,
                              answer->response->body, 0, &err) == TINKC_OK) {
        on_status(self, &said);
    } else {
        fail(self, &err);
    }
    tk_arena_dispose(&arena);
}

static const kind archive_kind = {"archive_url", TK_RESULT_ARCHIVE, TK_EP_ARCHIVE, 503,
                                  on_archive};
static const kind trace_kind = {"export_trace", TK_RESULT_TEXT, TK_EP_TRACE_EXPORT, 0,
                                on_trace};

/* ---- the operation ---- */

static void on_answer(tk_call *call, const tk_call_answer *answer)
{
    asking *self = call->user;
    self->kind->on_answer(self, answer);
}

/* A server without the route is not asked again, as one that failed is. */
static bool is_final(const tk_call *call, const tk_http_response *response, int sent)
{
    (void)call;
    (void)sent;
    return tk_wire_error_is_absent(response->status);
}

static void ask(asking *self)
{
    self->tries++;
    self->base.call = (tk_call){.core = self->base.op.core,
                                .endpoint = tk_endpoint_at(self->kind->endpoint),
                                .path_arg = self->path_arg.p,
                                .pass_status = self->kind->pass_status,
                                .is_final = is_final,
                                .pace = &self->pace,
                                .future = self->base.op.future,
                                .done = on_answer,
                                .user = self};
    tk_call_start(&self->base.call);
}

static void send(tk_op_call *call)
{
    asking *self = TK_CONTAINER_OF(call, asking, base);
    self->started_ms = tk_loop_now_ms(tk_core_loop(self->base.op.core));
    if (self->kind_at != 0 && is_bare_known(self)) {
        leave_out_kind(self);
    }
    ask(self);
}

static void start(tk_op *op)
{
    asking *self = TK_CONTAINER_OF(op, asking, base.op);
    tk_op_call_start(&self->base, false, send);
}

static void cancel(tk_op *op)
{
    asking *self = TK_CONTAINER_OF(op, asking, base.op);
    if (self->waiting) {
        tk_loop_timer_clear(tk_core_loop(op->core), &self->timer);
    }
    tk_op_call_cancel(op);
}

static void destroy(tk_op *op)
{
    asking *self = TK_CONTAINER_OF(op, asking, base.op);
    tk_buf_dispose(&self->path_arg);
    tk_free(self);
}

static const tk_op_type asking_type = {start, cancel, destroy};

static asking *make(tk_handle *handle, const kind *of)
{
    asking *self = tk_zalloc(sizeof(*self));
    if (self != NULL) {
        self->kind = of;
        tk_buf_init(&self->path_arg, ARG_MAX_BYTES);
        tk_op_init(&self->base.op, &asking_type, handle, of->operation, of->result);
    }
    return self;
}

static tinkc_future *submit(asking *self, tk_handle *handle, const kind *of, tk_err *err)
{
    if (self == NULL) {
        tk_err_nomem(err);
        return tk_handle_refuse(handle, of->operation, of->result, err);
    }
    if (err->code == TINKC_OK && tk_buf_cstr(&self->path_arg) == NULL) {
        (void)tk_buf_status(&self->path_arg, err);
    }
    return err->code == TINKC_OK ? tk_op_submit(&self->base.op)
                                 : tk_op_refuse(&self->base.op, err);
}

tinkc_future *tinkc_rest_archive_url(tinkc_service *service, const char *path)
{
    if (service == NULL) {
        return tk_service_none(archive_kind.operation, archive_kind.result);
    }
    tk_err err = TK_ERR_INIT;
    tk_handle *handle = tk_service_handle(service);
    asking *self = make(handle, &archive_kind);
    tk_path parsed;
    if (self != NULL && tk_rest_put_checkpoint(&self->path_arg, path, &err) == TINKC_OK &&
        tk_path_parse(&parsed, tk_str_of(path), &err) == TINKC_OK &&
        parsed.kind == TK_PATH_SAMPLER_WEIGHTS && !parsed.is_bare) {
        self->kind_at = self->path_arg.n - parsed.checkpoint_id.n;
    }
    return submit(self, handle, &archive_kind, &err);
}

tinkc_future *tinkc_rest_export_trace(tinkc_service *service, const char *session_id)
{
    if (service == NULL) {
        return tk_service_none(trace_kind.operation, trace_kind.result);
    }
    tk_err err = TK_ERR_INIT;
    tk_handle *handle = tk_service_handle(service);
    asking *self = make(handle, &trace_kind);
    if (self != NULL && tk_rest_check_id(session_id, "session id", &err) == TINKC_OK) {
        tk_buf_puts(&self->path_arg, session_id);
    }
    return submit(self, handle, &trace_kind, &err);
}
