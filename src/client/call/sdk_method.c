/* Endpoints by the name of the SDK's method; where two methods share an endpoint, the
 * operation decides. */
#include "client/call/sdk_method.h"

#include <string.h>

#include "base/tk.h"

/* The first row that fits; a row without an operation fits all. */
static const struct {
    tk_endpoint_id endpoint;
    const char *operation;
    const char *method;
} rows[] = {
    {TK_EP_RUN, "get_run_of_path", "get_training_run_by_tinker_path"},
    {TK_EP_RUN, NULL, "get_training_run"},
    {TK_EP_RUNS, NULL, "list_training_runs"},
    {TK_EP_RUN_CHECKPOINTS, NULL, "list_checkpoints"},
    {TK_EP_USER_CHECKPOINTS, NULL, "list_user_checkpoints"},
    {TK_EP_CHECKPOINT, NULL, "delete_checkpoint_from_tinker_path"},
    {TK_EP_PUBLISH, NULL, "publish_checkpoint_from_tinker_path"},
    {TK_EP_UNPUBLISH, NULL, "unpublish_checkpoint_from_tinker_path"},
    {TK_EP_TTL, NULL, "set_checkpoint_ttl_from_tinker_path"},
    {TK_EP_WEIGHTS_INFO, NULL, "get_weights_info_by_tinker_path"},
    {TK_EP_SAMPLER, "get_sampler", "get_sampler"},
    {TK_EP_SESSION, NULL, "get_session"},
    {TK_EP_SESSIONS, NULL, "list_sessions"},
    {TK_EP_PROJECT, NULL, "assign_session_project"},
    {TK_EP_TRACE_EXPORT, NULL, "export_session_trace"},
    {TK_EP_AUDIT, NULL, "get_audit_log"},
    {TK_EP_BILLING, NULL, "get_billing_usage"},
    {TK_EP_STORAGE, NULL, "get_current_checkpoint_storage_usage"},
    {TK_EP_SEARCH_SESSIONS, NULL, "search_sessions"},
    {TK_EP_SEARCH_CHECKPOINTS, NULL, "search_checkpoints"},
    {TK_EP_COPY_WEIGHTS, NULL, "copy_weights"},
    {TK_EP_EXTERNAL_URLS, NULL, "get_external_weights_urls"},
};

const char *tk_sdk_method_of(const tk_endpoint *endpoint, const char *operation)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        bool is_any = rows[i].operation == NULL;
        if (endpoint == tk_endpoint_at(rows[i].endpoint) &&
            (is_any ||
             (operation != NULL && strcmp(rows[i].operation, operation) == 0))) {
            return rows[i].method;
        }
    }
    return NULL;
}
