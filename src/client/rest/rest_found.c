/* Lays out answers of searches as the structs of <tinkc/search.h> and <tinkc/weights.h>. */
#include "client/rest/rest_found.h"

#include <tinkc/search.h>
#include <tinkc/weights.h>

#include "base/mem.h"
#include "client/rest/rest_result.h"
#include "wire/msg_external.h"

/* ---- sessions ---- */

static bool put_session(tinkc_found_session *out, tk_arena *arena,
                        const tk_session_summary *said)
{
    const tk_json *type =
        said->status.is == TK_SET ? tk_json_get(said->status.v, "type") : NULL;
    *out = (tinkc_found_session){
        .id = tk_rest_result_text(said->session_id),
        .created_us = tk_rest_result_time(said->created_at),
        .owner = tk_rest_result_text(said->owner),
        .project_id = tk_rest_result_text(said->project_id),
        .status = type != NULL && type->type == TK_JSON_STRING ? type->as.string.p : NULL,
        .checkpoints = tk_rest_result_number(said->checkpoints_count),
        .display_name = tk_rest_result_text(said->display_name),
        .metadata_n = said->user_metadata.v.n,
        .has_metadata = said->user_metadata.is == TK_SET,
        .checkpoint_bytes = tk_rest_result_number(said->checkpoint_storage_bytes),
    };
    return tk_rest_result_json(&out->status_json, arena, &said->status) &&
           tk_rest_result_pairs(&out->metadata, arena, &said->user_metadata.v);
}

void *tk_rest_found_sessions(tk_str body, tk_err *err)
{
    tk_session_search_response said = {0};
    tinkc_found_sessions *result = tk_rest_result_decode(
        sizeof(*result), &said, &tk_msg_session_search_response, body, err);
    if (result == NULL) {
        return NULL;
    }
    tk_arena *arena = tk_rest_result_arena(result);
    tinkc_found_session *items = tk_arena_array(arena, said.sessions_n, sizeof(*items));
    bool ok =
        items != NULL && tk_rest_result_json(&result->next, arena, &said.next_cursor);
    for (size_t i = 0; ok && i < said.sessions_n; i++) {
        ok = put_session(&items[i], arena, &said.sessions[i]);
    }
    result->items = items;
    result->n = said.sessions_n;
    return ok ? result : tk_rest_result_give_up(result, err);
}

/* ---- checkpoints ---- */

void *tk_rest_found_checkpoints(tk_str body, tk_err *err)
{
    tk_checkpoint_search_response said = {0};
    tinkc_checkpoints *result = tk_rest_result_decode(
        sizeof(*result), &said, &tk_msg_checkpoint_search_response, body, err);
    if (result == NULL) {
        return NULL;
    }
    tk_arena *arena = tk_rest_result_arena(result);
    tinkc_checkpoint *items = tk_arena_array(arena, said.checkpoints_n, sizeof(*items));
    bool ok =
        items != NULL && tk_rest_result_json(&result->next, arena, &said.next_cursor);
    for (size_t i = 0; ok && i < said.checkpoints_n; i++) {
        ok = tk_rest_result_checkpoint(&items[i], arena, &said.checkpoints[i]);
    }
    result->items = items;
    result->n = said.checkpoints_n;
    result->total = -1;
    return ok ? result : tk_rest_result_give_up(result, err);
}

/* ---- storage ---- */

static void put_item(tinkc_storage_item *out, const tk_storage_item *said)
{
    *out = (tinkc_storage_item){
        .project_id = tk_rest_result_text(said->project_id),
        .user_urn = tk_rest_result_text(said->org_user_urn),
        .user_email = tk_rest_result_text(said->user_email),
        .user_name = tk_rest_result_text(said->user_name),
        .checkpoints = tk_rest_result_number(said->checkpoint_count),
        .bytes = tk_rest_result_number(said->size_bytes),
        .gigabytes = tk_rest_result_real(said->size_gigabytes),
        .monthly_cost_usd = tk_rest_result_real(said->estimated_monthly_cost_usd),
    };
}

void *tk_rest_found_storage(tk_str body, tk_err *err)
{
    tk_storage_response said = {0};
    tinkc_storage *result = tk_rest_result_decode(sizeof(*result), &said,
                                                  &tk_msg_storage_response, body, err);
    if (result == NULL) {
        return NULL;
    }
    tinkc_storage_item *items =
        tk_arena_array(tk_rest_result_arena(result), said.data_n, sizeof(*items));
    if (items == NULL) {
        return tk_rest_result_give_up(result, err);
    }
    for (size_t i = 0; i < said.data_n; i++) {
        put_item(&items[i], &said.data[i]);
    }
    *result =
        (tinkc_storage){items, said.data_n,
                        tk_rest_result_real(said.effective_rate_usd_per_gigabyte_month)};
    return result;
}

/* ---- files ---- */

void *tk_rest_found_urls(tk_str body, tk_err *err)
{
    tk_external_urls_response said = {0};
    tinkc_file_urls *result = tk_rest_result_decode(
        sizeof(*result), &said, &tk_msg_external_urls_response, body, err);
    if (result == NULL) {
        return NULL;
    }
    result->n = said.urls.n;
    result->expires_us = tk_rest_result_time(said.expires);
    return tk_rest_result_pairs(&result->items, tk_rest_result_arena(result), &said.urls)
               ? result
               : tk_rest_result_give_up(result, err);
}

void *tk_rest_found_path(tk_str body, tk_err *err)
{
    tk_arena arena;
    tk_copy_weights_response said = {0};
    char *text = NULL;
    tk_arena_init(&arena, 0);
    if (tk_schema_decode_text(&said, &tk_msg_copy_weights_response, &arena, body, 0,
                              err) == TINKC_OK) {
        text = tk_strndup(said.tinker_path.v.p, said.tinker_path.v.n);
        if (text == NULL) {
            tk_err_nomem(err);
        }
    }
    tk_arena_dispose(&arena);
    return text;
}
