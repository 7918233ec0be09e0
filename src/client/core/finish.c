/* One request, sent by the loop's thread while the thread that closes waits. It is repeated
 * like any other while the server responds, but a failed connection ends it: a program
 * whose server is gone ends at once. */
#include "client/core/finish.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "client/core/core.h"
#include "wire/msg_session.h"

/* Longest wait when the close cancelled operations, unless the option is "none". */
#define HURRY_MS 100

#define BODY_MAX_BYTES (8 * TK_FINISH_DETAIL_MAX) /* JSON may write 6 bytes for one */

static void end(tk_finish *finish)
{
    tk_mutex_lock(&finish->lock);
    finish->is_done = true;
    tk_cond_broadcast(&finish->changed);
    tk_mutex_unlock(&finish->lock);
}

/* A send of the work that was cancelled may hang because the server does. */
static void hurry(tk_finish *finish)
{
    tk_mutex_lock(&finish->lock);
    finish->is_hurried = true;
    tk_cond_broadcast(&finish->changed);
    tk_mutex_unlock(&finish->lock);
}

/* ---- the request: loop thread ---- */

static void on_answer(tk_call *call, const tk_call_answer *answer)
{
    tk_finish *finish = call->user;
    tk_log *log = tk_core_log(finish->core);
    const char *id = tk_core_session_id(finish->core);
    if (answer->code == TINKC_OK) {
        tk_log_write(log, TINKC_LOG_INFO, "session", "session %s is finished", id);
    } else {
        tk_log_write(log, TINKC_LOG_INFO, "session",
                     "the server was not told that session %s is finished: %s", id,
                     answer->err->message);
    }
    end(finish);
}

static bool encode(tk_finish *finish)
{
    tk_finish_session_request request = {.reason = {.is = TK_SET},
                                         .detail = {.is = TK_NULL}};
    tk_mutex_lock(&finish->lock);
    request.reason.v.type = (tk_f_enum){TK_SET, finish->type};
    if (finish->detail != NULL) {
        request.detail = (tk_f_str){TK_SET, tk_str_of(finish->detail)};
    }
    tinkc_code code =
        tk_schema_encode(&finish->body, &tk_msg_finish_session_request, &request, NULL);
    tk_mutex_unlock(&finish->lock);
    return code == TINKC_OK;
}

static void run_close(tk_task *task)
{
    tk_finish *finish = TK_CONTAINER_OF(task, tk_finish, task);
    tk_core *core = finish->core;
    if (finish->is_stopped || tk_core_session_over(core) != NULL ||
        !tk_core_is_heard(core)) {
        end(finish);
        return;
    }
    if (tk_core_end_work(core)) { /* the server would refuse it */
        hurry(finish);
    }
    tk_core_rest(core);
    if (!encode(finish)) {
        end(finish);
        return;
    }
    finish->call = (tk_call){.core = core,
                             .endpoint = tk_endpoint_at(TK_EP_FINISH_SESSION),
                             .path_arg = tk_core_session_id(core),
                             .body = finish->body.p,
                             .body_n = finish->body.n,
                             .pass_failure = true,
                             .done = on_answer,
                             .user = finish};
    tk_call_start(&finish->call);
}

/* ---- the close: the caller's thread ---- */

static bool is_wanted(const tk_finish *finish)
{
    const tinkc_config *config = tk_core_config(finish->core);
    return config->finish_session != 0 && tk_config_sdk_at_least(config, 36) &&
           tk_core_session_id(finish->core) != NULL;
}

void tk_finish_close(tk_finish *finish)
{
    int64_t now_ns = tk_clock_mono_ns(&tk_clock_real);
    int64_t drain_ms = tk_core_config(finish->core)->finish_drain_ms;
    int64_t deadline_ns =
        drain_ms < 0 ? TK_FOREVER : tk_clock_after(now_ns, drain_ms * TK_NS_PER_MS);
    int64_t hurried_ns =
        drain_ms < 0 ? TK_FOREVER : tk_clock_after(now_ns, HURRY_MS * TK_NS_PER_MS);
    if (!is_wanted(finish) || !tk_loop_post(tk_core_loop(finish->core), &finish->task)) {
        return;
    }
    tk_mutex_lock(&finish->lock);
    while (!finish->is_done) {
        if (finish->is_hurried) { /* perhaps before this thread had the lock */
            deadline_ns = TK_MIN(deadline_ns, hurried_ns);
        }
        if (now_ns >= deadline_ns) {
            break;
        }
        tk_core_wait(finish->core, &finish->changed, &finish->lock, deadline_ns);
        now_ns = tk_clock_mono_ns(&tk_clock_real);
    }
    bool is_done = finish->is_done;
    tk_mutex_unlock(&finish->lock);
    if (!is_done) {
        tk_core_heard(finish->core, false); /* telemetry does not wait as well */
    }
}

/* ---- what is said ---- */

tinkc_code tk_finish_set(tk_finish *finish, int type, const char *detail, tk_err *err)
{
    char *copy = NULL;
    if (tk_finish_word(type) == NULL) {
        return tk_err_set(err, TINKC_E_INVALID, "%d is not the end of a session", type);
    }
    if (detail != NULL) {
        tk_str text = tk_str_of(detail);
        if (text.n > TK_FINISH_DETAIL_MAX || !tk_utf8_is_valid(text)) {
            return tk_err_set(err, TINKC_E_INVALID,
                              "the detail must be UTF-8 of at most %d bytes",
                              TK_FINISH_DETAIL_MAX);
        }
        copy = tk_strdup(detail);
        if (copy == NULL) {
            return tk_err_nomem(err);
        }
    }
    tk_mutex_lock(&finish->lock);
    char *old = finish->detail;
    finish->type = type;
    finish->detail = copy;
    tk_mutex_unlock(&finish->lock);
    tk_free(old);
    return TINKC_OK;
}

/* ---- life ---- */

tinkc_code tk_finish_init(tk_finish *finish, tk_core *core, tk_err *err)
{
    tinkc_code code = tk_cond_init_with(&finish->changed, &finish->lock, err);
    if (code == TINKC_OK) {
        finish->core = core;
        finish->task.run = run_close;
        tk_buf_init(&finish->body, BODY_MAX_BYTES);
    }
    return code;
}

void tk_finish_dispose(tk_finish *finish)
{
    if (finish->core != NULL) {
        tk_buf_dispose(&finish->body);
        tk_free(finish->detail);
        tk_cond_dispose(&finish->changed);
        tk_mutex_dispose(&finish->lock);
    }
}

void tk_finish_shutdown(tk_finish *finish)
{
    finish->is_stopped = true;
    tk_call_cancel(&finish->call);
}
