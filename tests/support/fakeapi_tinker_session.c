/* Tinker mode: configuration, sessions, models, sampling sessions (docs/protocol.md §2.1,
 * §2.2). Ids have the hosted shapes, and are the same in every run. */
#include <string.h>

#include "support/fakeapi_tinker_int.h"
#include "support/talk.h"
#include "wire/path.h"

/* ---- without state ---- */

static bool answer_text(tinker_call *call, const char *json)
{
    fakeapi_bytes_puts(&call->out->body, json);
    return true;
}

bool tinker_config(tinker_call *call)
{
    bool has_version = tinker_need_str(call, "sdk_version") != NULL;
    return has_version ? answer_text(call, call->t->options.config) : true;
}

bool tinker_dynamic_config(tinker_call *call)
{
    return answer_text(call, "{\"refresh_interval_sec\":300}");
}

bool tinker_health(tinker_call *call)
{
    return answer_text(call, "{\"status\":\"ok\"}");
}

bool tinker_capabilities(tinker_call *call)
{
    return answer_text(call, "{\"supported_models\":[{\"model_name\":\"scripted/model\","
                             "\"max_context_length\":32768}]}");
}

bool tinker_telemetry(tinker_call *call)
{
    talk_write("events", call->request->body, call->request->body_n);
    return answer_text(call, "{\"status\":\"accepted\"}");
}

/* ---- sessions ---- */

bool tinker_has_session(const tinker *t, const char *id)
{
    for (size_t i = 0; i < t->sessions.n; i++) {
        if (strcmp(t->sessions.items[i], id) == 0) {
            return true;
        }
    }
    return false;
}

/* The session named in the body; NULL after having answered. */
static const char *need_session(tinker_call *call)
{
    const char *id = tinker_need_str(call, "session_id");
    if (id != NULL && !tinker_has_session(call->t, id)) {
        tinker_reject(call, 404, "Session not found");
        return NULL;
    }
    return id;
}

/* Has no number: a repetition is known by its idempotency key. */
bool tinker_create_session(tinker_call *call)
{
    tinker *t = call->t;
    const char *key = fakeapi_header(call->request, "x-idempotency-key");
    size_t index = t->sessions.n;
    tinker_recall recall =
        tinker_remember(call, key != NULL ? key : "", key != NULL ? 0 : -1, &index);
    if (recall == TINKER_CONFLICT) {
        return true;
    }
    if (recall == TINKER_NEW) {
        fakeapi_bytes id = {0};
        fakeapi_bytes_printf(&id, "%08zx-0000-4000-8000-000000000000", index + 1);
        (void)fakeapi_bytes_cstr(&id);
        tinker_table_add(&t->sessions, id.p);
    }
    call->out->status = t->options.other_success ? 201 : 200;
    fakeapi_bytes_printf(&call->out->body,
                         "{\"type\":\"create_session\",\"session_id\":\"%s\"}",
                         (const char *)t->sessions.items[index]);
    return true;
}

bool tinker_heartbeat(tinker_call *call)
{
    bool is_known = need_session(call) != NULL;
    return is_known ? answer_text(call, "{\"type\":\"session_heartbeat\"}") : true;
}

bool tinker_finish_session(tinker_call *call)
{
    return answer_text(call, "{}");
}

/* "<session>:<kind>:<number>" */
static char *derived_id(const char *session, const char *kind, int64_t number)
{
    fakeapi_bytes id = {0};
    fakeapi_bytes_printf(&id, "%s:%s:%lld", session, kind, (long long)number);
    (void)fakeapi_bytes_cstr(&id);
    return id.p;
}

/* ---- models ---- */

tinker_model *tinker_model_find(const tinker *t, const char *id)
{
    for (size_t i = 0; i < t->models.n; i++) {
        tinker_model *model = t->models.items[i];
        if (strcmp(model->id, id) == 0) {
            return model;
        }
    }
    return NULL;
}

tinker_model *tinker_model_add(tinker *t, const char *session, int64_t number,
                               const char *base_model)
{
    tinker_model *model = fakeapi_alloc(sizeof(*model));
    model->id = derived_id(session, "train", number);
    model->base_model = fakeapi_dup_text(base_model);
    model->rank = 32;
    model->train_unembed = model->train_mlp = model->train_attn = true;
    return tinker_table_add(&t->models, model);
}

/* The model's id is the scope of its number 0 (docs/protocol.md §6.1): a session has one
 * model per model_seq_id, and training requests count from 1. */
bool tinker_create_model(tinker_call *call)
{
    const char *session = need_session(call);
    const char *base = session != NULL ? tinker_need_str(call, "base_model") : NULL;
    if (base == NULL) {
        return true;
    }
    int64_t number = tinker_get_int(call->body, "model_seq_id", -1);
    if (number < 0) {
        return tinker_reject_field(call, "model_seq_id", "an integer from 0 is required");
    }
    char *id = derived_id(session, "train", number);
    tinker_work work = {.scope = id, .number = 0};
    if (!tinker_begin(call, &work)) {
        const tk_json *lora = tk_json_get(call->body, "lora_config");
        tinker_model *model = tinker_model_add(call->t, session, number, base);
        model->rank = tinker_get_int(lora, "rank", 32);
        model->train_unembed = tinker_get_bool(lora, "train_unembed", true);
        model->train_mlp = tinker_get_bool(lora, "train_mlp", true);
        model->train_attn = tinker_get_bool(lora, "train_attn", true);
        fakeapi_bytes_puts(&work.json, "{\"type\":\"create_model\",\"model_id\":");
        tinker_put_str(&work.json, id);
        fakeapi_bytes_puts(&work.json, "}");
        tinker_submit(call, &work);
    }
    fakeapi_release(id);
    return true;
}

static tinker_model *need_model(tinker_call *call)
{
    const char *id = tinker_need_str(call, "model_id");
    tinker_model *model = id != NULL ? tinker_model_find(call->t, id) : NULL;
    if (id != NULL && model == NULL) {
        tinker_reject(call, 404, "Model not found");
    }
    return model;
}

bool tinker_get_info(tinker_call *call)
{
    const tinker_model *model = need_model(call);
    if (model == NULL) {
        return true;
    }
    fakeapi_bytes *body = &call->out->body;
    fakeapi_bytes_puts(body, "{\"type\":\"get_info\",\"model_id\":");
    tinker_put_str(body, model->id);
    fakeapi_bytes_puts(body, ",\"model_data\":{\"arch\":\"scripted\",\"model_name\":");
    tinker_put_str(body, model->base_model);
    fakeapi_bytes_puts(body, ",\"tokenizer_id\":");
    tinker_put_str(body, model->base_model);
    fakeapi_bytes_printf(body, "},\"is_lora\":true,\"lora_rank\":%lld,\"model_name\":",
                         (long long)model->rank);
    tinker_put_str(body, model->base_model);
    fakeapi_bytes_puts(body, "}");
    return true;
}

bool tinker_unload_model(tinker_call *call)
{
    const tinker_model *model = need_model(call);
    if (model == NULL) {
        return true;
    }
    tinker_work work = {.scope = model->id, .number = -1};
    if (tinker_begin(call, &work)) {
        return true;
    }
    fakeapi_bytes_puts(&work.json, "{\"type\":\"unload_model\",\"model_id\":");
    tinker_put_str(&work.json, model->id);
    fakeapi_bytes_puts(&work.json, "}");
    return tinker_submit(call, &work);
}

/* ---- samplers and checkpoints ---- */

tinker_sampler *tinker_sampler_find(const tinker *t, const char *id)
{
    for (size_t i = 0; i < t->samplers.n; i++) {
        tinker_sampler *sampler = t->samplers.items[i];
        if (strcmp(sampler->id, id) == 0) {
            return sampler;
        }
    }
    return NULL;
}

tinker_sampler *tinker_sampler_add(tinker *t, const char *session, int64_t number,
                                   const char *base_model, const char *model_path)
{
    tinker_sampler *sampler = fakeapi_alloc(sizeof(*sampler));
    sampler->id = derived_id(session, "sample", number);
    sampler->base_model = fakeapi_dup_text(base_model);
    sampler->model_path = fakeapi_dup_text(model_path);
    return tinker_table_add(&t->samplers, sampler);
}

const tinker_checkpoint *tinker_checkpoint_find(const tinker *t, const char *path)
{
    for (size_t i = 0; i < t->checkpoints.n; i++) {
        const tinker_checkpoint *checkpoint = t->checkpoints.items[i];
        if (strcmp(checkpoint->path, path) == 0) {
            return checkpoint;
        }
    }
    return NULL;
}

/* The base model of a new sampler; NULL after having answered. */
static const char *need_base(tinker_call *call, const char *path)
{
    const char *base = tinker_get_str(call->body, "base_model");
    if (path == NULL) {
        if (base == NULL) {
            tinker_reject(call, 400, "base_model or model_path is required");
        }
        return base;
    }
    const tinker_checkpoint *checkpoint = tinker_checkpoint_find(call->t, path);
    if (checkpoint == NULL) {
        tinker_reject(call, 404, "Checkpoint not found");
        return NULL;
    }
    return checkpoint->model->base_model;
}

bool tinker_create_sampling_session(tinker_call *call)
{
    const char *session = need_session(call);
    const char *path = tinker_get_str(call->body, "model_path");
    const char *base = session != NULL ? need_base(call, path) : NULL;
    if (base == NULL) {
        return true;
    }
    int64_t number = tinker_get_int(call->body, "sampling_session_seq_id", -1);
    if (number < 0) {
        return tinker_reject_field(call, "sampling_session_seq_id",
                                   "an integer from 0 is required");
    }
    char *id = derived_id(session, "sample", number);
    size_t unused = 0;
    tinker_recall recall = tinker_remember(call, id, INT64_MAX, &unused);
    if (recall == TINKER_NEW) {
        (void)tinker_sampler_add(call->t, session, number, base, path);
    }
    if (recall != TINKER_CONFLICT) {
        call->out->status = call->t->options.other_success ? 201 : 200;
        fakeapi_bytes *body = &call->out->body;
        fakeapi_bytes_puts(body, "{\"type\":\"create_sampling_session\","
                                 "\"sampling_session_id\":");
        tinker_put_str(body, id);
        fakeapi_bytes_puts(body, "}");
    }
    fakeapi_release(id);
    return true;
}

bool tinker_get_sampler(tinker_call *call)
{
    const tinker_sampler *sampler = tinker_sampler_find(call->t, call->tail);
    if (sampler == NULL) {
        return tinker_reject(call, 404, "Sampler not found");
    }
    fakeapi_bytes *body = &call->out->body;
    fakeapi_bytes_puts(body, "{\"sampler_id\":");
    tinker_put_str(body, sampler->id);
    fakeapi_bytes_puts(body, ",\"base_model\":");
    tinker_put_str(body, sampler->base_model);
    fakeapi_bytes_puts(body, ",\"model_path\":");
    tinker_put_str(body, sampler->model_path);
    fakeapi_bytes_puts(body, "}");
    return true;
}

bool tinker_weights_info(tinker_call *call)
{
    const char *text = tinker_need_str(call, "tinker_path");
    if (text == NULL) {
        return true;
    }
    tk_path path;
    if (tk_path_parse(&path, tk_str_of(text), NULL) != TINKC_OK ||
        path.kind != TK_PATH_WEIGHTS) {
        return tinker_reject(call, 400, "not a path of training weights");
    }
    const tinker_checkpoint *checkpoint = tinker_checkpoint_find(call->t, text);
    if (checkpoint == NULL) {
        return tinker_reject(call, 404, "Checkpoint not found");
    }
    const tinker_model *model = checkpoint->model;
    fakeapi_bytes *body = &call->out->body;
    fakeapi_bytes_puts(body, "{\"base_model\":");
    tinker_put_str(body, model->base_model);
    fakeapi_bytes_printf(body,
                         ",\"is_lora\":true,\"lora_rank\":%lld,\"train_unembed\":%s,"
                         "\"train_mlp\":%s,\"train_attn\":%s}",
                         (long long)model->rank, model->train_unembed ? "true" : "false",
                         model->train_mlp ? "true" : "false",
                         model->train_attn ? "true" : "false");
    return true;
}

void tinker_sessions_dispose(tinker *t)
{
    for (size_t i = 0; i < t->sessions.n; i++) {
        fakeapi_release(t->sessions.items[i]);
    }
    for (size_t i = 0; i < t->models.n; i++) {
        tinker_model *model = t->models.items[i];
        fakeapi_release(model->id);
        fakeapi_release(model->base_model);
        fakeapi_release(model);
    }
    for (size_t i = 0; i < t->samplers.n; i++) {
        tinker_sampler *sampler = t->samplers.items[i];
        fakeapi_release(sampler->id);
        fakeapi_release(sampler->base_model);
        fakeapi_release(sampler->model_path);
        fakeapi_release(sampler);
    }
    for (size_t i = 0; i < t->checkpoints.n; i++) {
        tinker_checkpoint *checkpoint = t->checkpoints.items[i];
        fakeapi_release(checkpoint->path);
        fakeapi_release(checkpoint);
    }
    fakeapi_release(t->sessions.items);
    fakeapi_release(t->models.items);
    fakeapi_release(t->samplers.items);
    fakeapi_release(t->checkpoints.items);
}
