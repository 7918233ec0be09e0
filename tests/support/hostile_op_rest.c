/* The operations of <tinkc/rest.h>; see hostile_op.h. */
#include <tinkc/search.h>
#include <tinkc/weights.h>

#include "base/tk.h"
#include "support/hostile_op.h"

#define RUN     "S:train:0"
#define PATH    "tinker://S:train:0/weights/0001"
#define SAMPLER "tinker://S:train:0/sampler_weights/0001"
#define PAGES   64 /* items that are taken from a pager */

static void see_pairs(hostile_world *world, const tinkc_pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        hostile_see(world, pairs[i].name);
        hostile_see(world, pairs[i].value);
    }
}

static void see_time(hostile_world *w, int64_t time_us)
{
    char text[64];
    hostile_see_int(w, time_us);
    hostile_see_int(w, (int64_t)tinkc_time_format(text, sizeof(text), time_us));
}

static tinkc_future *get_run(hostile_world *w)
{
    return tinkc_rest_get_run(w->service, RUN, TINKC_SCOPE_OWNED);
}

static void see_checkpoint(hostile_world *w, const tinkc_checkpoint *checkpoint)
{
    if (checkpoint == NULL) {
        return;
    }
    hostile_see(w, checkpoint->id);
    hostile_see(w, checkpoint->path);
    hostile_see(w, tinkc_checkpoint_type_name(checkpoint->type));
    hostile_see(w, checkpoint->type_text);
    see_time(w, checkpoint->time_us);
    see_time(w, checkpoint->expires_us);
    hostile_see_int(w, checkpoint->is_public);
    hostile_see_int(w, checkpoint->size_bytes);
    hostile_see(w, checkpoint->base_model);
    hostile_see_int(w, checkpoint->has_metadata);
    see_pairs(w, checkpoint->metadata, checkpoint->metadata_n);
}

static void see_run(hostile_world *w, const tinkc_run *run)
{
    hostile_see(w, run->id);
    hostile_see(w, run->base_model);
    hostile_see(w, run->owner);
    see_checkpoint(w, run->last_checkpoint);
    see_checkpoint(w, run->last_sampler_checkpoint);
    see_pairs(w, run->metadata, run->metadata_n);
    hostile_see_int(w, run->has_metadata);
    see_time(w, run->last_request_us);
    hostile_see_int(w, run->is_lora);
    hostile_see_int(w, run->is_corrupted);
    hostile_see_int(w, run->lora_rank);
}

static tinkc_code read_run(hostile_world *w, tinkc_future *future, tinkc_error **err)
{
    tinkc_run *run = NULL;
    tinkc_code code = tinkc_future_take_run(&run, future, err);
    if (code == TINKC_OK) {
        see_run(w, run);
    }
    tinkc_run_free(&run);
    return code;
}

static tinkc_future *list_runs(hostile_world *w)
{
    return tinkc_rest_list_runs(w->service, NULL);
}

static tinkc_code read_runs(hostile_world *w, tinkc_future *future, tinkc_error **err)
{
    tinkc_runs *runs = NULL;
    tinkc_code code = tinkc_future_take_runs(&runs, future, err);
    for (size_t i = 0; runs != NULL && i < runs->n; i++) {
        see_run(w, &runs->items[i]);
    }
    hostile_see_int(w, runs != NULL ? runs->total : 0);
    tinkc_runs_free(&runs);
    return code;
}

static tinkc_future *list_checkpoints(hostile_world *w)
{
    return tinkc_rest_list_checkpoints(w->service, RUN);
}

static tinkc_future *list_user_checkpoints(hostile_world *w)
{
    return tinkc_rest_list_user_checkpoints(w->service, NULL);
}

static tinkc_code read_checkpoints(hostile_world *w, tinkc_future *future,
                                   tinkc_error **err)
{
    tinkc_checkpoints *checkpoints = NULL;
    tinkc_code code = tinkc_future_take_checkpoints(&checkpoints, future, err);
    for (size_t i = 0; checkpoints != NULL && i < checkpoints->n; i++) {
        see_checkpoint(w, &checkpoints->items[i]);
    }
    hostile_see_int(w, checkpoints != NULL ? checkpoints->total : 0);
    hostile_see(w, checkpoints != NULL ? checkpoints->next : NULL);
    tinkc_checkpoints_free(&checkpoints);
    return code;
}

static tinkc_future *delete_checkpoint(hostile_world *w)
{
    return tinkc_rest_delete_checkpoint(w->service, PATH);
}

static tinkc_future *publish(hostile_world *w)
{
    return tinkc_rest_publish_checkpoint(w->service, PATH);
}

static tinkc_future *unpublish(hostile_world *w)
{
    return tinkc_rest_unpublish_checkpoint(w->service, PATH);
}

static tinkc_future *set_ttl(hostile_world *w)
{
    return tinkc_rest_set_checkpoint_ttl(w->service, PATH, 60);
}

static tinkc_future *archive_url(hostile_world *w)
{
    return tinkc_rest_archive_url(w->service, SAMPLER);
}

static tinkc_code read_archive(hostile_world *w, tinkc_future *future, tinkc_error **err)
{
    tinkc_archive *archive = NULL;
    tinkc_code code = tinkc_future_take_archive(&archive, future, err);
    hostile_see(w, archive != NULL ? archive->url : NULL);
    see_time(w, archive != NULL ? archive->expires_us : 0);
    tinkc_archive_free(&archive);
    return code;
}

static tinkc_future *weights_info(hostile_world *w)
{
    return tinkc_rest_weights_info(w->service, PATH);
}

static tinkc_code read_checkpoint_info(hostile_world *w, tinkc_future *future,
                                       tinkc_error **err)
{
    tinkc_weights_info *info = NULL;
    tinkc_code code = tinkc_future_take_weights_info(&info, future, err);
    if (info != NULL) {
        hostile_see(w, info->base_model);
        hostile_see_int(w, info->is_lora);
        hostile_see_int(w, info->lora_rank);
        hostile_see_int(w, info->train_unembed);
        hostile_see_int(w, info->train_mlp);
        hostile_see_int(w, info->train_attn);
        hostile_see_int(w, info->optimizer);
        hostile_see(w, info->optimizer_name);
    }
    tinkc_weights_info_free(&info);
    return code;
}

static tinkc_future *get_sampler(hostile_world *w)
{
    return tinkc_rest_get_sampler(w->service, "S:sample:0");
}

static tinkc_code read_sampler(hostile_world *w, tinkc_future *future, tinkc_error **err)
{
    tinkc_sampler_info *info = NULL;
    tinkc_code code = tinkc_future_take_sampler_info(&info, future, err);
    if (info != NULL) {
        hostile_see(w, info->id);
        hostile_see(w, info->base_model);
        hostile_see(w, info->model_path);
    }
    tinkc_sampler_info_free(&info);
    return code;
}

static tinkc_future *get_session(hostile_world *w)
{
    return tinkc_rest_get_session(w->service, "S", TINKC_SCOPE_OWNED);
}

static tinkc_code read_session(hostile_world *w, tinkc_future *future, tinkc_error **err)
{
    tinkc_session_info *info = NULL;
    tinkc_code code = tinkc_future_take_session_info(&info, future, err);
    for (size_t i = 0; info != NULL && i < info->run_ids_n; i++) {
        hostile_see(w, info->run_ids[i]);
    }
    for (size_t i = 0; info != NULL && i < info->sampler_ids_n; i++) {
        hostile_see(w, info->sampler_ids[i]);
    }
    if (info != NULL) {
        hostile_see_int(w, info->has_metadata);
        see_pairs(w, info->metadata, info->metadata_n);
        hostile_see(w, info->display_name);
    }
    tinkc_session_info_free(&info);
    return code;
}

static tinkc_future *list_sessions(hostile_world *w)
{
    return tinkc_rest_list_sessions(w->service, NULL);
}

static tinkc_code read_sessions(hostile_world *w, tinkc_future *future, tinkc_error **err)
{
    tinkc_sessions *sessions = NULL;
    tinkc_code code = tinkc_future_take_sessions(&sessions, future, err);
    for (size_t i = 0; sessions != NULL && i < sessions->n; i++) {
        hostile_see(w, sessions->ids[i]);
    }
    tinkc_sessions_free(&sessions);
    return code;
}

static tinkc_future *assign_project(hostile_world *w)
{
    return tinkc_rest_assign_project(w->service, "S", "P");
}

static tinkc_future *export_trace(hostile_world *w)
{
    return tinkc_rest_export_trace(w->service, "S");
}

static tinkc_future *whoami(hostile_world *w)
{
    return tinkc_rest_whoami(w->service);
}

static tinkc_code read_whoami(hostile_world *w, tinkc_future *future, tinkc_error **err)
{
    tinkc_whoami *result = NULL;
    tinkc_code code = tinkc_future_take_whoami(&result, future, err);
    hostile_see(w, result != NULL ? result->user_urn : NULL);
    hostile_see(w, result != NULL ? result->email : NULL);
    hostile_see(w, result != NULL ? result->org_urn : NULL);
    tinkc_whoami_free(&result);
    return code;
}

static tinkc_future *audit(hostile_world *w)
{
    return tinkc_rest_audit(w->service, TINKC_AUDIT_ALL, "2026-07-13");
}

static tinkc_code read_audit(hostile_world *w, tinkc_future *future, tinkc_error **err)
{
    tinkc_audit *result = NULL;
    tinkc_code code = tinkc_future_take_audit(&result, future, err);
    for (size_t i = 0; result != NULL && i < result->n; i++) {
        hostile_see(w, result->items[i].event);
        hostile_see(w, result->items[i].model_id);
        hostile_see(w, result->items[i].path);
        hostile_see(w, result->items[i].purpose);
        hostile_see(w, result->items[i].details);
        see_time(w, result->items[i].time_us);
    }
    tinkc_audit_free(&result);
    return code;
}

static tinkc_future *billing(hostile_world *w)
{
    return tinkc_rest_billing(w->service, 0, INT64_C(3600) * 1000000);
}

static void see_billed(hostile_world *w, const tinkc_billing_event *event)
{
    hostile_see(w, event->base_model);
    hostile_see(w, event->user_id);
    hostile_see(w, event->user_name);
    hostile_see(w, event->session_id);
    hostile_see(w, event->project_id);
    hostile_see(w, tinkc_billing_kind_name(event->kind));
    hostile_see(w, event->kind_text);
    hostile_see_num(w, event->gigabyte_hours);
    hostile_see_int(w, event->count);
    hostile_see_int(w, event->token_count);
    hostile_see_int(w, event->is_cached);
    hostile_see_num(w, event->cost_usd);
    hostile_see_num(w, event->usd_per_million_tokens);
    hostile_see_num(w, event->usd_per_gigabyte_month);
    see_time(w, event->start_us);
    see_time(w, event->end_us);
}

static tinkc_code read_billing(hostile_world *w, tinkc_future *future, tinkc_error **err)
{
    tinkc_billing *result = NULL;
    tinkc_code code = tinkc_future_take_billing(&result, future, err);
    for (size_t i = 0; result != NULL && i < result->n; i++) {
        see_billed(w, &result->items[i]);
    }
    for (size_t i = 0; result != NULL && i < result->sessions_n; i++) {
        hostile_see(w, result->sessions[i].session_id);
        hostile_see_int(w, result->sessions[i].has_metadata);
        see_pairs(w, result->sessions[i].metadata, result->sessions[i].metadata_n);
    }
    see_time(w, result != NULL ? result->cost_data_through_us : 0);
    tinkc_billing_free(&result);
    return code;
}

/* ---- pagers: calls that block ---- */

static tinkc_code page_runs(hostile_world *w, tinkc_error **err)
{
    tinkc_pager *pager = NULL;
    tinkc_code code = tinkc_pager_runs(&pager, w->service, NULL, err);
    for (size_t i = 0; code == TINKC_OK && i < PAGES; i++) {
        w->calls++;
        const tinkc_run *run = NULL;
        code = tinkc_pager_next_run(&run, pager, err);
        if (code == TINKC_OK) {
            see_run(w, run);
        }
    }
    tinkc_pager_close(&pager);
    return code;
}

static tinkc_code page_checkpoints(hostile_world *w, tinkc_error **err)
{
    tinkc_pager *pager = NULL;
    tinkc_code code = tinkc_pager_checkpoints(&pager, w->service, NULL, err);
    for (size_t i = 0; code == TINKC_OK && i < PAGES; i++) {
        w->calls++;
        const tinkc_checkpoint *checkpoint = NULL;
        code = tinkc_pager_next_checkpoint(&checkpoint, pager, err);
        if (code == TINKC_OK) {
            see_checkpoint(w, checkpoint);
        }
    }
    tinkc_pager_close(&pager);
    return code;
}

static tinkc_code page_sessions(hostile_world *w, tinkc_error **err)
{
    tinkc_pager *pager = NULL;
    tinkc_code code = tinkc_pager_sessions(&pager, w->service, NULL, err);
    for (size_t i = 0; code == TINKC_OK && i < PAGES; i++) {
        w->calls++;
        const char *id = NULL;
        code = tinkc_pager_next_session(&id, pager, err);
        hostile_see(w, id);
    }
    tinkc_pager_close(&pager);
    return code;
}

/* ---- the list ---- */

#define TOKENS "{\"pjwt_auth_enabled\":true}"

static tinkc_future *storage(hostile_world *w)
{
    return tinkc_rest_storage(w->service, NULL);
}

static tinkc_code read_storage(hostile_world *w, tinkc_future *future, tinkc_error **err)
{
    tinkc_storage *result = NULL;
    tinkc_code code = tinkc_future_take_storage(&result, future, err);
    for (size_t i = 0; code == TINKC_OK && i < result->n; i++) {
        const tinkc_storage_item *item = &result->items[i];
        hostile_see(w, item->project_id);
        hostile_see(w, item->user_urn);
        hostile_see(w, item->user_email);
        hostile_see(w, item->user_name);
        hostile_see_int(w, item->checkpoints);
        hostile_see_int(w, item->bytes);
        hostile_see_num(w, item->gigabytes);
        hostile_see_num(w, item->monthly_cost_usd);
    }
    hostile_see_num(w, code == TINKC_OK ? result->usd_per_gigabyte_month : 0);
    tinkc_storage_free(&result);
    return code;
}

static tinkc_future *search_sessions(hostile_world *w)
{
    return tinkc_rest_search_sessions(w->service, NULL);
}

static tinkc_code read_found(hostile_world *w, tinkc_future *future, tinkc_error **err)
{
    tinkc_found_sessions *result = NULL;
    tinkc_code code = tinkc_future_take_found_sessions(&result, future, err);
    for (size_t i = 0; code == TINKC_OK && i < result->n; i++) {
        const tinkc_found_session *item = &result->items[i];
        hostile_see(w, item->id);
        hostile_see(w, item->owner);
        hostile_see(w, item->project_id);
        hostile_see(w, item->status);
        hostile_see(w, item->status_json);
        hostile_see(w, item->display_name);
        hostile_see_int(w, item->has_metadata);
        see_pairs(w, item->metadata, item->metadata_n);
        see_time(w, item->created_us);
        hostile_see_int(w, item->checkpoints);
        hostile_see_int(w, item->checkpoint_bytes);
    }
    if (code == TINKC_OK) {
        hostile_see(w, result->next);
    }
    tinkc_found_sessions_free(&result);
    return code;
}

static tinkc_future *search_checkpoints(hostile_world *w)
{
    return tinkc_rest_search_checkpoints(w->service, NULL);
}

static tinkc_future *copy_weights(hostile_world *w)
{
    tinkc_copy_options options = TINKC_COPY_OPTIONS_INIT;
    options.project_id = "p";
    return tinkc_rest_copy_weights(w->service, PATH, &options);
}

static tinkc_future *external_urls(hostile_world *w)
{
    return tinkc_rest_external_urls(w->service, "tinker://S:train:0/external_weights/1");
}

static tinkc_code read_urls(hostile_world *w, tinkc_future *future, tinkc_error **err)
{
    tinkc_file_urls *result = NULL;
    tinkc_code code = tinkc_future_take_file_urls(&result, future, err);
    if (code == TINKC_OK) {
        see_pairs(w, result->items, result->n);
        see_time(w, result->expires_us);
    }
    tinkc_file_urls_free(&result);
    return code;
}

const hostile_op hostile_rest_ops[] = {
    {"get_run", HOSTILE_SERVICE, NULL, get_run, NULL, read_run, false},
    {"list_runs", HOSTILE_SERVICE, NULL, list_runs, NULL, read_runs, false},
    {"list_checkpoints", HOSTILE_SERVICE, NULL, list_checkpoints, NULL, read_checkpoints,
     false},
    {"list_user_checkpoints", HOSTILE_SERVICE, NULL, list_user_checkpoints, NULL,
     read_checkpoints, false},
    {"delete_checkpoint", HOSTILE_SERVICE, NULL, delete_checkpoint, NULL, NULL, false},
    {"publish", HOSTILE_SERVICE, NULL, publish, NULL, NULL, false},
    {"unpublish", HOSTILE_SERVICE, NULL, unpublish, NULL, NULL, false},
    {"set_ttl", HOSTILE_SERVICE, NULL, set_ttl, NULL, NULL, false},
    {"archive_url", HOSTILE_SERVICE, NULL, archive_url, NULL, read_archive, false},
    {"weights_info", HOSTILE_SERVICE, NULL, weights_info, NULL, read_checkpoint_info,
     false},
    {"get_sampler", HOSTILE_SERVICE, NULL, get_sampler, NULL, read_sampler, false},
    {"get_session", HOSTILE_SERVICE, NULL, get_session, NULL, read_session, false},
    {"list_sessions", HOSTILE_SERVICE, NULL, list_sessions, NULL, read_sessions, false},
    {"assign_project", HOSTILE_SERVICE, NULL, assign_project, NULL, NULL, false},
    {"export_trace", HOSTILE_SERVICE, NULL, export_trace, NULL, hostile_read_text, false},
    {"whoami", HOSTILE_SERVICE, TOKENS, whoami, NULL, read_whoami, false},
    {"audit", HOSTILE_SERVICE, NULL, audit, NULL, read_audit, false},
    {"billing", HOSTILE_SERVICE, NULL, billing, NULL, read_billing, false},
    {"storage", HOSTILE_SERVICE, NULL, storage, NULL, read_storage, false},
    {"search_sessions", HOSTILE_SERVICE, NULL, search_sessions, NULL, read_found, false},
    {"search_checkpoints", HOSTILE_SERVICE, NULL, search_checkpoints, NULL,
     read_checkpoints, false},
    {"copy_weights", HOSTILE_SERVICE, NULL, copy_weights, NULL, hostile_read_text, false},
    {"external_urls", HOSTILE_SERVICE, NULL, external_urls, NULL, read_urls, false},
    {"pager_runs", HOSTILE_SERVICE, NULL, NULL, page_runs, NULL, false},
    {"pager_checkpoints", HOSTILE_SERVICE, NULL, NULL, page_checkpoints, NULL, false},
    {"pager_sessions", HOSTILE_SERVICE, NULL, NULL, page_sessions, NULL, false},
};

const size_t hostile_rest_ops_n = TK_ARRAY_LEN(hostile_rest_ops);
