/* Freeing REST results, and the blocking twins: each is its
 * operation, a wait and a take. Also the words and times that results are shown with. */
#include <stdio.h>
#include <tinkc/search.h>
#include <tinkc/weights.h>

#include "base/date.h"
#include "base/mem.h"
#include "client/core/text.h"
#include "client/future/tk_future.h"
#include "client/rest/rest.h"
#include "client/rest/rest_result.h"
#include "client/values/error.h"
#include "wire/path.h"

#define DELETER(name)                                                                    \
    void tinkc_##name##_free(tinkc_##name **name)                                        \
    {                                                                                    \
        if (name != NULL) {                                                              \
            tk_rest_result_free(*name);                                                  \
            *name = NULL;                                                                \
        }                                                                                \
    }

DELETER(run)
DELETER(runs)
DELETER(checkpoints)
DELETER(archive)
DELETER(weights_info)
DELETER(sampler_info)
DELETER(session_info)
DELETER(sessions)
DELETER(whoami)
DELETER(audit)
DELETER(billing)
DELETER(storage)

void tinkc_found_sessions_free(tinkc_found_sessions **sessions)
{
    if (sessions != NULL) {
        tk_rest_result_free(*sessions);
        *sessions = NULL;
    }
}

void tinkc_file_urls_free(tinkc_file_urls **urls)
{
    if (urls != NULL) {
        tk_rest_result_free(*urls);
        *urls = NULL;
    }
}

static tinkc_code wait_none(tinkc_future *future, tinkc_error **err)
{
    return tk_future_wait_take(NULL, future, TK_RESULT_NONE, err);
}

tinkc_code tinkc_rest_get_run_wait(tinkc_run **out, tinkc_service *service,
                                   const char *run_id, tinkc_scope scope,
                                   tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_rest_get_run(service, run_id, scope),
                               TK_RESULT_RUN, err);
}

tinkc_code tinkc_rest_get_run_of_path_wait(tinkc_run **out, tinkc_service *service,
                                           const char *path, tinkc_scope scope,
                                           tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_rest_get_run_of_path(service, path, scope),
                               TK_RESULT_RUN, err);
}

tinkc_code tinkc_rest_list_runs_wait(tinkc_runs **out, tinkc_service *service,
                                     const tinkc_list_options *options, tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_rest_list_runs(service, options),
                               TK_RESULT_RUNS, err);
}

tinkc_code tinkc_rest_list_checkpoints_wait(tinkc_checkpoints **out,
                                            tinkc_service *service, const char *run_id,
                                            tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_rest_list_checkpoints(service, run_id),
                               TK_RESULT_CHECKPOINTS, err);
}

tinkc_code tinkc_rest_list_user_checkpoints_wait(tinkc_checkpoints **out,
                                                 tinkc_service *service,
                                                 const tinkc_list_options *options,
                                                 tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_rest_list_user_checkpoints(service, options),
                               TK_RESULT_CHECKPOINTS, err);
}

tinkc_code tinkc_rest_delete_checkpoint_wait(tinkc_service *service, const char *path,
                                             tinkc_error **err)
{
    return wait_none(tinkc_rest_delete_checkpoint(service, path), err);
}

tinkc_code tinkc_rest_publish_checkpoint_wait(tinkc_service *service, const char *path,
                                              tinkc_error **err)
{
    return wait_none(tinkc_rest_publish_checkpoint(service, path), err);
}

tinkc_code tinkc_rest_unpublish_checkpoint_wait(tinkc_service *service, const char *path,
                                                tinkc_error **err)
{
    return wait_none(tinkc_rest_unpublish_checkpoint(service, path), err);
}

tinkc_code tinkc_rest_set_checkpoint_ttl_wait(tinkc_service *service, const char *path,
                                              int64_t ttl_seconds, tinkc_error **err)
{
    return wait_none(tinkc_rest_set_checkpoint_ttl(service, path, ttl_seconds), err);
}

tinkc_code tinkc_rest_archive_url_wait(tinkc_archive **out, tinkc_service *service,
                                       const char *path, tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_rest_archive_url(service, path),
                               TK_RESULT_ARCHIVE, err);
}

tinkc_code tinkc_rest_weights_info_wait(tinkc_weights_info **out, tinkc_service *service,
                                        const char *path, tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_rest_weights_info(service, path),
                               TK_RESULT_WEIGHTS_INFO, err);
}

tinkc_code tinkc_rest_get_sampler_wait(tinkc_sampler_info **out, tinkc_service *service,
                                       const char *sampler_id, tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_rest_get_sampler(service, sampler_id),
                               TK_RESULT_SAMPLER_INFO, err);
}

tinkc_code tinkc_rest_get_session_wait(tinkc_session_info **out, tinkc_service *service,
                                       const char *session_id, tinkc_scope scope,
                                       tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_rest_get_session(service, session_id, scope),
                               TK_RESULT_SESSION_INFO, err);
}

tinkc_code tinkc_rest_list_sessions_wait(tinkc_sessions **out, tinkc_service *service,
                                         const tinkc_list_options *options,
                                         tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_rest_list_sessions(service, options),
                               TK_RESULT_SESSIONS, err);
}

tinkc_code tinkc_rest_assign_project_wait(tinkc_service *service, const char *session_id,
                                          const char *project_id, tinkc_error **err)
{
    return wait_none(tinkc_rest_assign_project(service, session_id, project_id), err);
}

tinkc_code tinkc_rest_whoami_wait(tinkc_whoami **out, tinkc_service *service,
                                  tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_rest_whoami(service), TK_RESULT_WHOAMI, err);
}

tinkc_code tinkc_rest_audit_wait(tinkc_audit **out, tinkc_service *service,
                                 tinkc_audit_events events, const char *day,
                                 tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_rest_audit(service, events, day),
                               TK_RESULT_AUDIT, err);
}

tinkc_code tinkc_rest_billing_wait(tinkc_billing **out, tinkc_service *service,
                                   int64_t start_us, int64_t end_us, tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_rest_billing(service, start_us, end_us),
                               TK_RESULT_BILLING, err);
}

tinkc_code tinkc_rest_export_trace_wait(char **out, tinkc_service *service,
                                        const char *session_id, tinkc_error **err)
{
    return tk_text_wait(out, tinkc_rest_export_trace(service, session_id), err);
}

/* ---- words and times ---- */

const char *tinkc_checkpoint_type_name(tinkc_checkpoint_type type)
{
    static const char *const names[] = {"training", "sampler", "external"};
    size_t row = (size_t)type;
    return row < TK_ARRAY_LEN(names) ? names[row] : "other";
}

const char *tinkc_billing_kind_name(tinkc_billing_kind kind)
{
    static const char *const names[] = {"training", "sampling_prefill", "sampling_sample",
                                        "checkpoint", "storage"};
    size_t row = (size_t)kind;
    return row < TK_ARRAY_LEN(names) ? names[row] : "other";
}

size_t tinkc_time_format(char *text, size_t size, int64_t time_us)
{
    char full[TK_DATE_TEXT_BYTES];
    if (size == 0) {
        return 0;
    }
    bool ok = tk_date_format(full, time_us);
    int n = snprintf(text, size, "%s", ok ? full : "");
    return n > 0 ? (size_t)n : 0;
}

tinkc_code tinkc_time_parse(int64_t *out, const char *text, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tk_str rest = tk_str_of(text);
    tk_date_fields day = {0};
    bool is_day =
        rest.n == sizeof("2026-07-13") - 1 && rest.p[4] == '-' && rest.p[7] == '-';
    int64_t us = 0;
    bool ok;
    if (is_day) {
        tk_str year = {rest.p, 4}, month = {rest.p + 5, 2}, date = {rest.p + 8, 2};
        ok = tk_str_take_digits(&day.year, &year, 4) &&
             tk_str_take_digits(&day.month, &month, 2) &&
             tk_str_take_digits(&day.day, &date, 2) && tk_date_from_fields(&us, &day, 0);
    } else {
        ok = tk_date_parse(&us, rest, NULL) == TINKC_OK;
    }
    if (!ok || out == NULL) {
        tk_err_set(&err, TINKC_E_INVALID, "not a time (RFC 3339): \"%s\"",
                   text != NULL ? text : "");
        return tk_error_give(error, &err);
    }
    *out = us;
    return TINKC_OK;
}
