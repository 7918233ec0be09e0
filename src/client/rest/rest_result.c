/* See rest_result.h. A message is decoded into the result's arena and then laid out as
 * the public struct; texts are not copied again. */
#include "client/rest/rest_result.h"

#include <math.h>

#include "base/limits.h"
#include "base/mem.h"
#include "client/call/outcome.h"
#include "client/values/params.h"
#include "wire/msg_rest.h"
#include "wire/msg_session.h"
#include "wire/msg_weights.h"

/* Comes before the result that the caller sees, in the same block. */
typedef union box {
    tk_arena arena;
    long double align;
    void *align_too;
} box;

static void *new_result(size_t size, size_t arena_bytes, tk_err *err)
{
    box *b = tk_zalloc(sizeof(*b) + size);
    if (b == NULL) {
        tk_err_nomem(err);
        return NULL;
    }
    tk_arena_init(&b->arena, arena_bytes);
    return b + 1;
}

tk_arena *tk_rest_result_arena(void *result)
{
    return &((box *)result - 1)->arena;
}

void tk_rest_result_free(void *result)
{
    if (result != NULL) {
        box *b = (box *)result - 1;
        tk_arena_dispose(&b->arena);
        tk_free(b);
    }
}

/* Most memory for a parsed answer. One that is larger than a report usually may be was
 * allowed by the option max_report_bytes. */
static size_t arena_bytes_of(size_t body_bytes)
{
    return body_bytes > TK_ANSWER_REPORT_BYTES ? TK_ANSWER_ARENA_RATIO * body_bytes
                                               : tk_outcome_arena_bytes(body_bytes);
}

/* A result of `size` bytes and the decoded message; NULL when either failed. */
void *tk_rest_result_decode(size_t size, void *message, const tk_schema *schema,
                            tk_str body, tk_err *err)
{
    void *result = new_result(size, arena_bytes_of(body.n), err);
    if (result != NULL &&
        tk_schema_decode_text(message, schema, tk_rest_result_arena(result), body, 0,
                              err) != TINKC_OK) {
        tk_rest_result_free(result);
        return NULL;
    }
    return result;
}

void *tk_rest_result_give_up(void *result, tk_err *err)
{
    tk_rest_result_free(result);
    tk_err_nomem(err);
    return NULL;
}

/* ---- parts ---- */

const char *tk_rest_result_text(tk_f_str text)
{
    return text.is == TK_SET ? text.v.p : NULL;
}

int64_t tk_rest_result_number(tk_f_i64 number)
{
    return number.is == TK_SET ? number.v : -1;
}

int64_t tk_rest_result_time(tk_f_time time)
{
    return time.is == TK_SET ? time.us : TINKC_NO_TIME;
}

double tk_rest_result_real(tk_f_num number)
{
    return number.is == TK_SET ? number.v : (double)NAN;
}

static tinkc_choice choice_of(tk_f_bool said)
{
    if (said.is != TK_SET) {
        return TINKC_CHOICE_UNSET;
    }
    return said.v ? TINKC_CHOICE_YES : TINKC_CHOICE_NO;
}

bool tk_rest_result_pairs(const tinkc_pair **out, tk_arena *arena, const tk_str_map *map)
{
    tinkc_pair *pairs = tk_arena_array(arena, map->n, sizeof(*pairs));
    if (pairs == NULL) {
        return false;
    }
    for (size_t i = 0; i < map->n; i++) {
        pairs[i] = (tinkc_pair){map->items[i].name.p, map->items[i].v.p};
    }
    *out = pairs;
    return true;
}

bool tk_rest_result_json(const char **out, tk_arena *arena, const tk_f_raw *raw)
{
    tk_buf text;
    tk_json_writer w;
    tk_str copy = {NULL, 0};
    if (raw->is != TK_SET) {
        return true;
    }
    tk_buf_init(&text, TK_ANSWER_REPORT_BYTES);
    tk_json_writer_init(&w, &text);
    tk_json_put_value(&w, raw->v);
    bool ok = text.failure == TINKC_OK && tk_arena_dup(arena, &copy, text.p, text.n);
    tk_buf_dispose(&text);
    *out = copy.p;
    return ok;
}

static bool put_texts(const char *const **out, tk_arena *arena, tk_strs texts)
{
    const char **copy = tk_arena_array(arena, texts.n, sizeof(*copy));
    if (copy == NULL) {
        return false;
    }
    for (size_t i = 0; i < texts.n; i++) {
        copy[i] = texts.p[i].p;
    }
    *out = copy;
    return true;
}

/* ---- checkpoints ---- */

bool tk_rest_result_checkpoint(tinkc_checkpoint *out, tk_arena *arena,
                               const tk_checkpoint *said)
{
    *out = (tinkc_checkpoint){
        .id = tk_rest_result_text(said->checkpoint_id),
        .type = (tinkc_checkpoint_type)said->checkpoint_type.v,
        .path = tk_rest_result_text(said->tinker_path),
        .time_us = tk_rest_result_time(said->time),
        .size_bytes = tk_rest_result_number(said->size_bytes),
        .is_public = said->public.v,
        .expires_us = tk_rest_result_time(said->expires_at),
        .type_text = said->checkpoint_type_word.p,
        .metadata_n = said->user_metadata.v.n,
        .has_metadata = said->user_metadata.is == TK_SET,
        .base_model = tk_rest_result_text(said->base_model),
    };
    return tk_rest_result_pairs(&out->metadata, arena, &said->user_metadata.v);
}

void *tk_rest_result_checkpoints(tk_str body, tk_err *err)
{
    tk_checkpoints_response said = {0};
    tinkc_checkpoints *result = tk_rest_result_decode(
        sizeof(*result), &said, &tk_msg_checkpoints_response, body, err);
    if (result == NULL) {
        return NULL;
    }
    tinkc_checkpoint *items =
        tk_arena_array(tk_rest_result_arena(result), said.checkpoints_n, sizeof(*items));
    if (items == NULL) {
        return tk_rest_result_give_up(result, err);
    }
    for (size_t i = 0; i < said.checkpoints_n; i++) {
        if (!tk_rest_result_checkpoint(&items[i], tk_rest_result_arena(result),
                                       &said.checkpoints[i])) {
            return tk_rest_result_give_up(result, err);
        }
    }
    *result = (tinkc_checkpoints){
        items, said.checkpoints_n,
        said.cursor.is == TK_SET ? said.cursor.v.total_count.v : -1, NULL};
    return result;
}

/* ---- runs ---- */

static bool put_last(const tinkc_checkpoint **out, tk_arena *arena,
                     const tk_f_checkpoint *said)
{
    if (said->is != TK_SET) {
        return true;
    }
    tinkc_checkpoint *checkpoint = tk_arena_alloc(arena, sizeof(*checkpoint));
    if (checkpoint == NULL) {
        return false;
    }
    *out = checkpoint;
    return tk_rest_result_checkpoint(checkpoint, arena, &said->v);
}

static bool put_run(tinkc_run *out, tk_arena *arena, const tk_training_run *said)
{
    *out = (tinkc_run){
        .id = tk_rest_result_text(said->training_run_id),
        .base_model = tk_rest_result_text(said->base_model),
        .owner = tk_rest_result_text(said->model_owner),
        .is_lora = said->is_lora.v,
        .is_corrupted = said->corrupted.v,
        .lora_rank = tk_rest_result_number(said->lora_rank),
        .last_request_us = tk_rest_result_time(said->last_request_time),
        .metadata_n = said->user_metadata.v.n,
        .has_metadata = said->user_metadata.is == TK_SET,
    };
    return put_last(&out->last_checkpoint, arena, &said->last_checkpoint) &&
           put_last(&out->last_sampler_checkpoint, arena,
                    &said->last_sampler_checkpoint) &&
           tk_rest_result_pairs(&out->metadata, arena, &said->user_metadata.v);
}

void *tk_rest_result_run(tk_str body, tk_err *err)
{
    tk_training_run said = {0};
    tinkc_run *result =
        tk_rest_result_decode(sizeof(*result), &said, &tk_msg_training_run, body, err);
    if (result != NULL && !put_run(result, tk_rest_result_arena(result), &said)) {
        return tk_rest_result_give_up(result, err);
    }
    return result;
}

void *tk_rest_result_runs(tk_str body, tk_err *err)
{
    tk_training_runs_response said = {0};
    tinkc_runs *result = tk_rest_result_decode(sizeof(*result), &said,
                                               &tk_msg_training_runs_response, body, err);
    if (result == NULL) {
        return NULL;
    }
    tk_arena *arena = tk_rest_result_arena(result);
    tinkc_run *items = tk_arena_array(arena, said.training_runs_n, sizeof(*items));
    bool ok = items != NULL;
    for (size_t i = 0; ok && i < said.training_runs_n; i++) {
        ok = put_run(&items[i], arena, &said.training_runs[i]);
    }
    if (!ok) {
        return tk_rest_result_give_up(result, err);
    }
    *result = (tinkc_runs){items, said.training_runs_n, said.cursor.total_count.v};
    return result;
}

/* ---- weights ---- */

void *tk_rest_result_archive_at(tk_str url, int64_t expires_us, tk_err *err)
{
    tinkc_archive *result = new_result(sizeof(*result), TK_ANSWER_ARENA_SLACK_BYTES, err);
    tk_str copy;
    if (result == NULL) {
        return NULL;
    }
    if (!tk_arena_dup(tk_rest_result_arena(result), &copy, url.p, url.n)) {
        return tk_rest_result_give_up(result, err);
    }
    *result = (tinkc_archive){copy.p, expires_us};
    return result;
}

void *tk_rest_result_archive(tk_str body, tk_err *err)
{
    tk_archive_response said = {0};
    tinkc_archive *result = tk_rest_result_decode(sizeof(*result), &said,
                                                  &tk_msg_archive_response, body, err);
    if (result != NULL) {
        *result = (tinkc_archive){tk_rest_result_text(said.url),
                                  tk_rest_result_time(said.expires)};
    }
    return result;
}

void *tk_rest_result_weights_info(tk_str body, tk_err *err)
{
    tk_weights_info_response said = {0};
    tinkc_weights_info *result = tk_rest_result_decode(
        sizeof(*result), &said, &tk_msg_weights_info_response, body, err);
    if (result != NULL) {
        *result = (tinkc_weights_info){
            .base_model = tk_rest_result_text(said.base_model),
            .is_lora = said.is_lora.v,
            .lora_rank = tk_rest_result_number(said.lora_rank),
            .train_unembed = choice_of(said.train_unembed),
            .train_mlp = choice_of(said.train_mlp),
            .train_attn = choice_of(said.train_attn),
        };
        result->optimizer =
            tk_params_optimizer_of(&result->optimizer_name, &said.optimizer_config);
    }
    return result;
}

void *tk_rest_result_sampler_info(tk_str body, tk_err *err)
{
    tk_sampler_response said = {0};
    tinkc_sampler_info *result = tk_rest_result_decode(
        sizeof(*result), &said, &tk_msg_sampler_response, body, err);
    if (result != NULL) {
        *result = (tinkc_sampler_info){tk_rest_result_text(said.sampler_id),
                                       tk_rest_result_text(said.base_model),
                                       tk_rest_result_text(said.model_path)};
    }
    return result;
}

/* ---- sessions ---- */

void *tk_rest_result_session_info(tk_str body, tk_err *err)
{
    tk_session_response said = {0};
    tinkc_session_info *result = tk_rest_result_decode(
        sizeof(*result), &said, &tk_msg_session_response, body, err);
    if (result == NULL) {
        return NULL;
    }
    tk_arena *arena = tk_rest_result_arena(result);
    result->run_ids_n = said.training_run_ids.n;
    result->sampler_ids_n = said.sampler_ids.n;
    result->metadata_n = said.user_metadata.v.n;
    result->has_metadata = said.user_metadata.is == TK_SET;
    result->display_name = tk_rest_result_text(said.display_name);
    bool ok = put_texts(&result->run_ids, arena, said.training_run_ids) &&
              put_texts(&result->sampler_ids, arena, said.sampler_ids) &&
              tk_rest_result_pairs(&result->metadata, arena, &said.user_metadata.v);
    return ok ? result : tk_rest_result_give_up(result, err);
}

void *tk_rest_result_sessions(tk_str body, tk_err *err)
{
    tk_sessions_response said = {0};
    tinkc_sessions *result = tk_rest_result_decode(sizeof(*result), &said,
                                                   &tk_msg_sessions_response, body, err);
    if (result == NULL) {
        return NULL;
    }
    result->n = said.sessions.n;
    return put_texts(&result->ids, tk_rest_result_arena(result), said.sessions)
               ? result
               : tk_rest_result_give_up(result, err);
}

/* ---- account ---- */

/* The URN of the organization whose id a token has. */
static bool put_org(tk_str *out, tk_arena *arena, const tk_json *id)
{
    tk_buf urn;
    if (id == NULL || id->type != TK_JSON_STRING || id->as.string.n == 0) {
        return true;
    }
    tk_buf_init(&urn, TK_MIB);
    tk_buf_puts(&urn, "tml:organization:");
    tk_buf_put(&urn, id->as.string.p, id->as.string.n);
    bool ok = urn.failure == TINKC_OK && tk_arena_dup(arena, out, urn.p, urn.n);
    tk_buf_dispose(&urn);
    return ok;
}

void *tk_rest_result_whoami(const tk_json *claims, tk_err *err)
{
    const tk_json *sub = tk_json_get(claims, "sub");
    const tk_json *email = tk_json_get(claims, "email");
    if (sub == NULL || sub->type != TK_JSON_STRING) {
        tk_err_set(err, TINKC_E_DECODE, "the token has no subject");
        return NULL;
    }
    tinkc_whoami *result = new_result(sizeof(*result), TK_ANSWER_ARENA_SLACK_BYTES, err);
    if (result == NULL) {
        return NULL;
    }
    tk_str urn = {0}, mail = {0}, org = {0};
    tk_arena *arena = tk_rest_result_arena(result);
    bool has_mail =
        email != NULL && email->type == TK_JSON_STRING && email->as.string.n > 0;
    if (!tk_arena_dup(arena, &urn, sub->as.string.p, sub->as.string.n) ||
        (has_mail &&
         !tk_arena_dup(arena, &mail, email->as.string.p, email->as.string.n)) ||
        !put_org(&org, arena, tk_json_get(claims, "org_id"))) {
        return tk_rest_result_give_up(result, err);
    }
    *result = (tinkc_whoami){urn.p, has_mail ? mail.p : NULL, org.p};
    return result;
}

void *tk_rest_result_audit(tk_str body, tk_err *err)
{
    tk_audit_response said = {0};
    tinkc_audit *result =
        tk_rest_result_decode(sizeof(*result), &said, &tk_msg_audit_response, body, err);
    if (result == NULL) {
        return NULL;
    }
    tinkc_audit_entry *items =
        tk_arena_array(tk_rest_result_arena(result), said.entries_n, sizeof(*items));
    if (items == NULL) {
        return tk_rest_result_give_up(result, err);
    }
    for (size_t i = 0; i < said.entries_n; i++) {
        const tk_audit_entry *entry = &said.entries[i];
        items[i] = (tinkc_audit_entry){
            .time_us = tk_rest_result_time(entry->timestamp),
            .event = tk_rest_result_text(entry->event),
            .model_id = tk_rest_result_text(entry->model_id),
            .path = tk_rest_result_text(entry->tinker_path),
            .purpose = tk_rest_result_text(entry->purpose),
        };
        if (!tk_rest_result_json(&items[i].details, tk_rest_result_arena(result),
                                 &entry->event_details)) {
            return tk_rest_result_give_up(result, err);
        }
    }
    *result = (tinkc_audit){items, said.entries_n};
    return result;
}

/* The kind as the server wrote it: an unknown one is only in the object itself. */
static const char *kind_text(const tk_billing_info *info)
{
    const tk_json *tag = info->raw != NULL ? tk_json_get(info->raw, "type") : NULL;
    return tag != NULL && tag->type == TK_JSON_STRING
               ? tag->as.string.p
               : tinkc_billing_kind_name((tinkc_billing_kind)info->kind);
}

static void put_event(tinkc_billing_event *out, const tk_billing_event *said)
{
    const tk_billing_info *info = &said->event_info;
    *out = (tinkc_billing_event){
        .start_us = tk_rest_result_time(said->bucket_start),
        .end_us = tk_rest_result_time(said->bucket_end),
        .base_model = tk_rest_result_text(said->base_model),
        .user_id = tk_rest_result_text(said->user_id),
        .user_name = tk_rest_result_text(said->user_name),
        .session_id = tk_rest_result_text(said->session_id),
        .project_id = tk_rest_result_text(said->project_id),
        .kind = (tinkc_billing_kind)info->kind,
        .token_count = tk_rest_result_number(info->token_count),
        .is_cached = info->cached.v,
        .count = tk_rest_result_number(info->count),
        .gigabyte_hours = info->gigabyte_hours.v,
        .kind_text = kind_text(info),
        .cost_usd = tk_rest_result_real(said->estimated_cost_usd),
        .usd_per_million_tokens =
            tk_rest_result_real(said->effective_rate_usd_per_million_tokens),
        .usd_per_gigabyte_month =
            tk_rest_result_real(said->effective_rate_usd_per_gigabyte_month),
    };
}

static bool put_sessions(const tinkc_billing_session **out, tk_arena *arena,
                         const tk_billing_response *said)
{
    tinkc_billing_session *sessions =
        tk_arena_array(arena, said->sessions_n, sizeof(*sessions));
    bool ok = sessions != NULL;
    for (size_t i = 0; ok && i < said->sessions_n; i++) {
        const tk_named_billing_session *named = &said->sessions[i];
        const tk_f_str_map *metadata = &named->session.user_metadata;
        sessions[i] = (tinkc_billing_session){.session_id = named->name.p,
                                              .metadata_n = metadata->v.n,
                                              .has_metadata = metadata->is == TK_SET};
        ok = tk_rest_result_pairs(&sessions[i].metadata, arena, &metadata->v);
    }
    *out = sessions;
    return ok;
}

void *tk_rest_result_billing(tk_str body, tk_err *err)
{
    tk_billing_response said = {0};
    tinkc_billing *result = tk_rest_result_decode(sizeof(*result), &said,
                                                  &tk_msg_billing_response, body, err);
    if (result == NULL) {
        return NULL;
    }
    tk_arena *arena = tk_rest_result_arena(result);
    tinkc_billing_event *items = tk_arena_array(arena, said.data_n, sizeof(*items));
    if (items == NULL || !put_sessions(&result->sessions, arena, &said)) {
        return tk_rest_result_give_up(result, err);
    }
    for (size_t i = 0; i < said.data_n; i++) {
        put_event(&items[i], &said.data[i]);
    }
    result->items = items;
    result->n = said.data_n;
    result->sessions_n = said.sessions_n;
    result->cost_data_through_us = tk_rest_result_time(said.cost_data_through);
    return result;
}
