/* The REST operations that are one call each: check the arguments, write the query, let
 * op_call.c do the rest. Those that ask again are rest_poll.c's. */
#include "client/rest/rest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/date.h"
#include "base/utf8.h"
#include "client/call/op_call.h"
#include "client/core/service.h"
#include "client/rest/rest_result.h"
#include "client/values/types.h"
#include "http/url.h"
#include "wire/msg_rest.h"
#include "wire/msg_weights.h"
#include "wire/path.h"

#define ARG_MAX_BYTES      (64 * TK_KIB)
#define RUNS_DEFAULT       20
#define SESSIONS_DEFAULT   20
#define CHECKPOINT_DEFAULT 100
#define PAGE_MAX           1000000

#define SPEC(name, kind, endpoint, read)                                                 \
    {                                                                                    \
        name, TK_RESULT_##kind, TK_EP_##endpoint, false, read, tk_rest_result_free       \
    }

static const tk_op_call_spec run_spec = SPEC("get_run", RUN, RUN, tk_rest_result_run);
static const tk_op_call_spec run_of_path_spec =
    SPEC("get_run_of_path", RUN, RUN, tk_rest_result_run);
static const tk_op_call_spec runs_spec =
    SPEC("list_runs", RUNS, RUNS, tk_rest_result_runs);
static const tk_op_call_spec run_checkpoints_spec =
    SPEC("list_checkpoints", CHECKPOINTS, RUN_CHECKPOINTS, tk_rest_result_checkpoints);
static const tk_op_call_spec checkpoints_spec = SPEC(
    "list_user_checkpoints", CHECKPOINTS, USER_CHECKPOINTS, tk_rest_result_checkpoints);
static const tk_op_call_spec delete_spec =
    SPEC("delete_checkpoint", NONE, CHECKPOINT, NULL);
static const tk_op_call_spec publish_spec =
    SPEC("publish_checkpoint", NONE, PUBLISH, NULL);
static const tk_op_call_spec unpublish_spec =
    SPEC("unpublish_checkpoint", NONE, UNPUBLISH, NULL);
static const tk_op_call_spec ttl_spec = SPEC("set_checkpoint_ttl", NONE, TTL, NULL);
static const tk_op_call_spec weights_spec =
    SPEC("weights_info", WEIGHTS_INFO, WEIGHTS_INFO, tk_rest_result_weights_info);
static const tk_op_call_spec sampler_spec =
    SPEC("get_sampler", SAMPLER_INFO, SAMPLER, tk_rest_result_sampler_info);
static const tk_op_call_spec session_spec =
    SPEC("get_session", SESSION_INFO, SESSION, tk_rest_result_session_info);
static const tk_op_call_spec sessions_spec =
    SPEC("list_sessions", SESSIONS, SESSIONS, tk_rest_result_sessions);
static const tk_op_call_spec project_spec = SPEC("assign_project", NONE, PROJECT, NULL);
static const tk_op_call_spec audit_spec =
    SPEC("audit", AUDIT, AUDIT, tk_rest_result_audit);
static const tk_op_call_spec billing_spec =
    SPEC("billing", BILLING, BILLING, tk_rest_result_billing);

/* ---- ids and paths ---- */

static bool is_plain(tk_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c < 0x20 || c == 0x7F || c == '/') {
            return false;
        }
    }
    return text.n > 0 && tk_utf8_is_valid(text) && !tk_str_is(text, ".") &&
           !tk_str_is(text, "..");
}

tinkc_code tk_rest_check_id(const char *id, const char *what, tk_err *err)
{
    if (id == NULL || !is_plain(tk_str_of(id))) {
        return tk_err_set(err, TINKC_E_INVALID, "not a %s: \"%s\"", what,
                          id != NULL ? id : "");
    }
    return TINKC_OK;
}

tinkc_code tk_rest_put_checkpoint(tk_buf *out, const char *text, tk_err *err)
{
    tk_path path;
    tinkc_code code = tk_path_parse(&path, tk_str_of(text), err);
    if (code != TINKC_OK) {
        return code;
    }
    if (!is_plain(path.run) || !is_plain(path.name)) {
        return tk_err_set(err, TINKC_E_INVALID, "no checkpoint has the path \"%s\"",
                          text);
    }
    tk_buf_put(out, path.run.p, path.run.n);
    tk_buf_puts(out, "/checkpoints/");
    tk_buf_put(out, path.checkpoint_id.p, path.checkpoint_id.n);
    return tk_buf_status(out, err);
}

/* ---- the common frame ---- */

/* Path argument and query of one call, built on the caller's thread. */
typedef struct request {
    tk_buf path_arg, query;
    tk_op_call_args args;
    tk_err err;
} request;

static void begin(request *r)
{
    *r = (request){.err = TK_ERR_INIT};
    tk_buf_init(&r->path_arg, ARG_MAX_BYTES);
    tk_buf_init(&r->query, ARG_MAX_BYTES);
}

static void add(request *r, const char *name, const char *value)
{
    tk_url_query_add(&r->query, name, tk_str_of(value));
}

static void add_number(request *r, const char *name, int64_t value)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRId64, value);
    add(r, name, text);
}

static void add_scope(request *r, tinkc_scope scope)
{
    add(r, "access_scope", scope == TINKC_SCOPE_ACCESSIBLE ? "accessible" : "owned");
}

static void add_id(request *r, const char *id, const char *what)
{
    if (tk_rest_check_id(id, what, &r->err) == TINKC_OK) {
        tk_buf_puts(&r->path_arg, id);
    }
}

static void add_checkpoint(request *r, const char *path)
{
    (void)tk_rest_put_checkpoint(&r->path_arg, path, &r->err);
}

static void add_time(request *r, const char *name, int64_t time_us)
{
    char text[TK_DATE_TEXT_BYTES];
    if (tk_date_format(text, time_us)) {
        add(r, name, text);
    } else {
        tk_err_set(&r->err, TINKC_E_INVALID, "%s: not a time", name);
    }
}

/* Sends it, or refuses what was found wrong on the way; disposes of the request. */
static tinkc_future *run(request *r, tinkc_service *service, const tk_op_call_spec *spec)
{
    tinkc_future *future;
    if (service == NULL) {
        future = tk_service_none(spec->operation, spec->kind);
    } else {
        tk_handle *handle = tk_service_handle(service);
        r->args.path_arg = tk_buf_cstr(&r->path_arg);
        r->args.query = tk_buf_cstr(&r->query);
        (void)tk_buf_status(&r->path_arg, &r->err);
        (void)tk_buf_status(&r->query, &r->err);
        future = r->err.code == TINKC_OK
                     ? tk_op_call_run(handle, spec, &r->args)
                     : tk_handle_refuse(handle, spec->operation, spec->kind, &r->err);
    }
    tk_buf_dispose(&r->path_arg);
    tk_buf_dispose(&r->query);
    return future;
}

static void add_page(request *r, tinkc_list_options *mine,
                     const tinkc_list_options *options, int64_t usual)
{
    *mine = (tinkc_list_options)TINKC_LIST_OPTIONS_INIT;
    if (tk_types_options(mine, sizeof(*mine), options, &r->err) != TINKC_OK) {
        return;
    }
    if (mine->limit < 0 || mine->limit > PAGE_MAX || mine->offset < 0) {
        tk_err_set(&r->err, TINKC_E_INVALID, "limit or offset is out of range");
        return;
    }
    add_number(r, "limit", mine->limit != 0 ? mine->limit : usual);
    add_number(r, "offset", mine->offset);
}

/* ---- runs ---- */

tinkc_future *tinkc_rest_get_run(tinkc_service *service, const char *run_id,
                                 tinkc_scope scope)
{
    request r;
    begin(&r);
    add_id(&r, run_id, "run id");
    add_scope(&r, scope);
    return run(&r, service, &run_spec);
}

tinkc_future *tinkc_rest_get_run_of_path(tinkc_service *service, const char *text,
                                         tinkc_scope scope)
{
    request r;
    tk_path path;
    begin(&r);
    if (tk_path_parse(&path, tk_str_of(text), &r.err) == TINKC_OK) {
        if (is_plain(path.run)) {
            tk_buf_put(&r.path_arg, path.run.p, path.run.n);
        } else {
            tk_err_set(&r.err, TINKC_E_INVALID, "the path names no run");
        }
    }
    add_scope(&r, scope);
    return run(&r, service, &run_of_path_spec);
}

tinkc_future *tinkc_rest_list_runs(tinkc_service *service,
                                   const tinkc_list_options *options)
{
    request r;
    tinkc_list_options mine;
    begin(&r);
    add_page(&r, &mine, options, RUNS_DEFAULT);
    add_scope(&r, mine.scope);
    if (mine.project_id != NULL) {
        add(&r, "project_id", mine.project_id);
    }
    return run(&r, service, &runs_spec);
}

/* ---- checkpoints ---- */

tinkc_future *tinkc_rest_list_checkpoints(tinkc_service *service, const char *run_id)
{
    request r;
    begin(&r);
    add_id(&r, run_id, "run id");
    return run(&r, service, &run_checkpoints_spec);
}

tinkc_future *tinkc_rest_list_user_checkpoints(tinkc_service *service,
                                               const tinkc_list_options *options)
{
    request r;
    tinkc_list_options mine;
    begin(&r);
    add_page(&r, &mine, options, CHECKPOINT_DEFAULT);
    return run(&r, service, &checkpoints_spec);
}

static tinkc_future *on_checkpoint(tinkc_service *service, const char *path,
                                   const tk_op_call_spec *spec)
{
    request r;
    begin(&r);
    add_checkpoint(&r, path);
    return run(&r, service, spec);
}

tinkc_future *tinkc_rest_delete_checkpoint(tinkc_service *service, const char *path)
{
    return on_checkpoint(service, path, &delete_spec);
}

tinkc_future *tinkc_rest_publish_checkpoint(tinkc_service *service, const char *path)
{
    return on_checkpoint(service, path, &publish_spec);
}

tinkc_future *tinkc_rest_unpublish_checkpoint(tinkc_service *service, const char *path)
{
    return on_checkpoint(service, path, &unpublish_spec);
}

tinkc_future *tinkc_rest_set_checkpoint_ttl(tinkc_service *service, const char *path,
                                            int64_t ttl_seconds)
{
    request r;
    begin(&r);
    add_checkpoint(&r, path);
    if (ttl_seconds < 1 && ttl_seconds != TINKC_NO_TTL) {
        tk_err_set(&r.err, TINKC_E_INVALID, "a time to live is at least one second");
    }
    bool removes = ttl_seconds == TINKC_NO_TTL;
    tk_ttl_request message = {.ttl_seconds = {removes ? TK_NULL : TK_SET, ttl_seconds}};
    r.args.schema = &tk_msg_ttl_request;
    r.args.message = &message;
    return run(&r, service, &ttl_spec);
}

tinkc_future *tinkc_rest_weights_info(tinkc_service *service, const char *text)
{
    request r;
    tk_path path;
    begin(&r);
    r.err.code = tk_path_parse(&path, tk_str_of(text), &r.err);
    if (r.err.code == TINKC_OK && !is_plain(path.name)) {
        tk_err_set(&r.err, TINKC_E_INVALID, "the path names no checkpoint");
    }
    tk_weights_info_request message = {.tinker_path = {TK_SET, tk_str_of(text)}};
    r.args.schema = &tk_msg_weights_info_request;
    r.args.message = &message;
    return run(&r, service, &weights_spec);
}

/* ---- samplers and sessions ---- */

tinkc_future *tinkc_rest_get_sampler(tinkc_service *service, const char *sampler_id)
{
    request r;
    begin(&r);
    add_id(&r, sampler_id, "sampler id");
    return run(&r, service, &sampler_spec);
}

tinkc_future *tinkc_rest_get_session(tinkc_service *service, const char *session_id,
                                     tinkc_scope scope)
{
    request r;
    begin(&r);
    add_id(&r, session_id, "session id");
    add_scope(&r, scope);
    return run(&r, service, &session_spec);
}

tinkc_future *tinkc_rest_list_sessions(tinkc_service *service,
                                       const tinkc_list_options *options)
{
    request r;
    tinkc_list_options mine;
    begin(&r);
    add_page(&r, &mine, options, SESSIONS_DEFAULT);
    add_scope(&r, mine.scope);
    return run(&r, service, &sessions_spec);
}

tinkc_future *tinkc_rest_assign_project(tinkc_service *service, const char *session_id,
                                        const char *project_id)
{
    request r;
    begin(&r);
    add_id(&r, session_id, "session id");
    if (project_id == NULL || project_id[0] == '\0') {
        tk_err_set(&r.err, TINKC_E_INVALID, "no project id");
    }
    tk_project_request message = {.project_id = {TK_SET, tk_str_of(project_id)}};
    r.args.schema = &tk_msg_project_request;
    r.args.message = &message;
    return run(&r, service, &project_spec);
}

/* ---- account ---- */

tinkc_future *tinkc_rest_audit(tinkc_service *service, tinkc_audit_events events,
                               const char *day)
{
    static const char *const words[] = {
        [TINKC_AUDIT_ALL] = "all",
        [TINKC_AUDIT_CHECKPOINTS] = "checkpoints",
        [TINKC_AUDIT_PROJECTS] = "projects",
        [TINKC_AUDIT_TEAMS] = "teams",
        [TINKC_AUDIT_ORGANIZATIONS] = "organizations",
    };
    request r;
    begin(&r);
    if ((size_t)events >= TK_ARRAY_LEN(words)) {
        tk_err_set(&r.err, TINKC_E_INVALID, "not a kind of audit events: %d",
                   (int)events);
    } else {
        add(&r, "event_type", words[events]);
    }
    if (day != NULL) {
        int64_t us;
        tinkc_error *none = NULL;
        if (strlen(day) != sizeof("2026-07-13") - 1 ||
            tinkc_time_parse(&us, day, &none) != TINKC_OK) {
            tk_err_set(&r.err, TINKC_E_INVALID, "not a day (YYYY-MM-DD): \"%s\"", day);
        }
        tinkc_error_free(&none);
        add(&r, "day", day);
    }
    return run(&r, service, &audit_spec);
}

tinkc_future *tinkc_rest_billing(tinkc_service *service, int64_t start_us, int64_t end_us)
{
    request r;
    begin(&r);
    add_time(&r, "starting_on", start_us);
    add_time(&r, "ending_before", end_us);
    if (end_us <= start_us) {
        tk_err_set(&r.err, TINKC_E_INVALID, "the time span is empty");
    }
    return run(&r, service, &billing_spec);
}
