/* From a request to save or load weights to a job (docs/protocol.md §2.3, §2.5). */
#include "server/api/srv_weights.h"

#include "server/api/srv_lookup.h"
#include "server/api/srv_train.h"
#include "server/run/srv_job.h"
#include "server/run/srv_model.h"
#include "server/run/srv_msg.h"
#include "server/run/srv_state.h"
#include "wire/msg_external.h"
#include "wire/msg_weights.h"

bool srv_weights_is_name(tk_str name)
{
    if (name.n == 0 || name.n > TK_SRV_NAME_BYTES || name.p[0] == '.') {
        return false;
    }
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
        if (!plain) {
            return false;
        }
    }
    return true;
}

/* ---- save ---- */

/* Keeps the metadata of a checkpoint as JSON; answers and returns false when that is not
 * possible. */
static bool fill_metadata(srv_job *job, hd_request *request, const tk_f_str_map *map)
{
    tk_buf text;
    tk_json_writer w;
    if (map->is != TK_SET) {
        return true;
    }
    tk_buf_init(&text, TK_SRV_METADATA_BYTES);
    tk_json_writer_init(&w, &text);
    tk_json_begin_object(&w);
    for (size_t i = 0; i < map->v.n; i++) {
        tk_json_key(&w, map->v.items[i].name);
        tk_json_put_str(&w, map->v.items[i].v);
    }
    tk_json_end_object(&w);
    bool fits = text.failure != TINKC_E_LIMIT;
    bool ok = text.failure == TINKC_OK &&
              tk_arena_dup(&request->arena, &job->metadata, text.p, text.n);
    tk_buf_dispose(&text);
    if (!fits) {
        (void)hd_reply_field(request, "user_metadata", "is larger than 16 KiB");
    } else if (!ok) {
        (void)hd_reply_no_memory(request);
    }
    return ok;
}

/* Sets name and time to live; answers and returns false when they are not allowed. */
static bool fill_save(srv_job *job, hd_request *request, const tk_f_str *name,
                      const tk_f_i64 *ttl)
{
    if (!srv_weights_is_name(name->v)) {
        (void)hd_reply_field(
            request, "path",
            "a checkpoint's name is made of letters, digits, _, - and .");
        return false;
    }
    if (ttl->is == TK_SET && (ttl->v <= 0 || ttl->v > SRV_WEIGHTS_TTL_MAX_S)) {
        (void)hd_reply_field(request, "ttl_seconds", "must be positive");
        return false;
    }
    job->name = name->v;
    job->ttl_seconds = ttl->is == TK_SET ? ttl->v : 0;
    return true;
}

hd_verdict srv_weights_save(hd_request *request)
{
    tk_save_weights_request msg;
    int64_t seq = 0;
    if (!srv_msg_decode(request, &tk_msg_save_weights_request, &msg) ||
        !srv_job_read_seq(&seq, request, &msg.seq_id)) {
        return HD_ANSWERED;
    }
    srv_job *job = srv_job_new(request->app, SRV_JOB_SAVE);
    if (job == NULL) {
        return hd_reply_no_memory(request);
    }
    if (!fill_save(job, request, &msg.path, &msg.ttl_seconds) ||
        !fill_metadata(job, request, &msg.user_metadata)) {
        srv_job_free(job);
        return HD_ANSWERED;
    }
    job->kind_of_path = TK_PATH_WEIGHTS;
    job->overwrite = msg.overwrite.v;
    const srv_submit submit = {.type = TK_FUTURE_SAVE_WEIGHTS,
                               .model_id = msg.model_id.v,
                               .seq = seq,
                               .schema = &tk_msg_save_weights_request,
                               .msg = &msg};
    return srv_job_submit(request, job, &submit);
}

hd_verdict srv_weights_save_for_sampler(hd_request *request)
{
    tk_save_for_sampler_request msg;
    tk_err err = TK_ERR_INIT;
    int64_t seq = 0;
    if (!srv_msg_decode(request, &tk_msg_save_for_sampler_request, &msg) ||
        !srv_job_read_seq(&seq, request, &msg.seq_id)) {
        return HD_ANSWERED;
    }
    if (tk_save_for_sampler_check(&msg, &err) != TINKC_OK) {
        return hd_reply_field(request, "path", err.message);
    }
    bool named = msg.path.is == TK_SET;
    if (!named && msg.sampling_session_seq_id.v < 0) {
        return hd_reply_field(request, "sampling_session_seq_id", "must not be negative");
    }
    srv_job *job = srv_job_new(request->app, named ? SRV_JOB_SAVE : SRV_JOB_SNAPSHOT);
    if (job == NULL) {
        return hd_reply_no_memory(request);
    }
    if (named && (!fill_save(job, request, &msg.path, &msg.ttl_seconds) ||
                  !fill_metadata(job, request, &msg.user_metadata))) {
        srv_job_free(job);
        return HD_ANSWERED;
    }
    job->kind_of_path = TK_PATH_SAMPLER_WEIGHTS;
    job->sampler_seq = msg.sampling_session_seq_id.v;
    /* A resent request draws a new number (docs/protocol.md §12 row 11); the first one
     * counts. */
    msg.sampling_session_seq_id = (tk_f_i64){named ? TK_UNSET : TK_SET, 0};
    const srv_submit submit = {.type = TK_FUTURE_SAVE_WEIGHTS_FOR_SAMPLER,
                               .model_id = msg.model_id.v,
                               .seq = seq,
                               .schema = &tk_msg_save_for_sampler_request,
                               .msg = &msg};
    return srv_job_submit(request, job, &submit);
}

hd_verdict srv_weights_save_external(hd_request *request)
{
    tk_save_external_request msg;
    int64_t seq = 0;
    if (!srv_msg_decode(request, &tk_msg_save_external_request, &msg) ||
        !srv_job_read_seq(&seq, request, &msg.seq_id)) {
        return HD_ANSWERED;
    }
    if (msg.age_encryption_recipients.v.n > 0) {
        return hd_reply_field(request, "age_encryption_recipients",
                              "this server does not encrypt: leave it out");
    }
    srv_job *job = srv_job_new(request->app, SRV_JOB_SAVE);
    if (job == NULL) {
        return hd_reply_no_memory(request);
    }
    if (!fill_save(job, request, &msg.path, &msg.ttl_seconds)) {
        srv_job_free(job);
        return HD_ANSWERED;
    }
    job->kind_of_path = TK_PATH_EXTERNAL_WEIGHTS;
    const srv_submit submit = {.type = TK_FUTURE_SAVE_WEIGHTS_EXTERNAL,
                               .model_id = msg.model_id.v,
                               .seq = seq,
                               .schema = &tk_msg_save_external_request,
                               .msg = &msg};
    return srv_job_submit(request, job, &submit);
}

/* ---- load ---- */

/* The optimizer whose state a checkpoint has; false when it has none that is known. */
static bool saved_optimizer(eng_optimizer *out, hd_request *request,
                            const srv_store_checkpoint *checkpoint)
{
    srv *server = request->app;
    const char *full = NULL;
    eng_checkpoint_info info;
    tk_err err = TK_ERR_INIT;
    if (!checkpoint->has_optimizer ||
        srv_store_dir(&full, server->store, &request->arena, checkpoint->dir, &err) !=
            TINKC_OK ||
        eng_checkpoint_read_info(&info, full, &err) != TINKC_OK || !info.has_optimizer) {
        return false;
    }
    *out = info.lora.optimizer;
    return true;
}

/* With its state the optimizer is the checkpoint's; what is wrong with that is found when
 * it is loaded. */
static bool read_optimizer(eng_optimizer *out, hd_request *request,
                           const tk_load_weights_request *msg,
                           const srv_store_checkpoint *checkpoint)
{
    if (!msg->optimizer.v) {
        return srv_train_read_optimizer(out, request, &msg->optimizer_config);
    }
    if (msg->optimizer_config.is == TK_SET) {
        (void)hd_reply_fail(request, 400,
                            "optimizer_config: with optimizer true the optimizer is the "
                            "checkpoint's");
        return false;
    }
    *out = ENG_ADAMW;
    (void)saved_optimizer(out, request, checkpoint);
    return true;
}

static hd_verdict load_into_new(hd_request *request, srv_job *job,
                                const tk_load_weights_request *msg, const tk_path *path)
{
    srv_store_checkpoint checkpoint;
    srv_store_run run;
    const srv_base *base = NULL;
    if (!srv_lookup_checkpoint(&checkpoint, &run, request, path)) {
        srv_job_free(job);
        return HD_ANSWERED;
    }
    tk_str name = msg->base_model.is == TK_SET ? msg->base_model.v : run.base_model;
    if (!srv_lookup_base(&base, request, name)) {
        srv_job_free(job);
        return HD_ANSWERED;
    }
    job->kind = SRV_JOB_CREATE;
    eng_lora_config lora = ENG_LORA_CONFIG_INIT;
    if (!read_optimizer(&lora.optimizer, request, msg, &checkpoint)) {
        srv_job_free(job);
        return HD_ANSWERED;
    }
    tk_str metadata = srv_train_metadata_of(request, &msg->user_metadata);
    lora.rank = (size_t)run.rank;
    lora.train_attn = run.train_attn;
    lora.train_mlp = run.train_mlp;
    lora.train_unembed = run.train_unembed;
    const srv_model_spec spec = {.session_id = msg->session_id.v,
                                 .seq = msg->model_seq_id.v,
                                 .base_name = name,
                                 .base = base,
                                 .lora = lora,
                                 .user_metadata =
                                     metadata.n > 0 ? metadata : run.user_metadata};
    const srv_submit submit = {.type = TK_FUTURE_LOAD_WEIGHTS,
                               .schema = &tk_msg_load_weights_request,
                               .msg = msg};
    return srv_model_submit_new(request, job, &spec, &submit);
}

static hd_verdict load_into(hd_request *request, srv_job *job,
                            const tk_load_weights_request *msg)
{
    int64_t seq = 0;
    if (!srv_job_read_seq(&seq, request, &msg->seq_id)) {
        srv_job_free(job);
        return HD_ANSWERED;
    }
    if (msg->optimizer_config.is == TK_SET) {
        srv_job_free(job);
        return hd_reply_fail(request, 400,
                             "optimizer_config: an existing model keeps its optimizer");
    }
    if (msg->user_metadata.is == TK_SET || msg->base_model.is == TK_SET) {
        srv_job_free(job);
        return hd_reply_field(
            request, msg->base_model.is == TK_SET ? "base_model" : "user_metadata",
            "is for a new model: leave it out with model_id");
    }
    if (job->server->strict && seq != 1) {
        srv_job_free(job);
        return hd_reply_fail(request, 400,
                             "LoadWeights is not permitted with seq_id %lld",
                             (long long)seq);
    }
    const srv_submit submit = {.type = TK_FUTURE_LOAD_WEIGHTS,
                               .model_id = msg->model_id.v,
                               .seq = seq,
                               .schema = &tk_msg_load_weights_request,
                               .msg = msg};
    return srv_job_submit(request, job, &submit);
}

hd_verdict srv_weights_load(hd_request *request)
{
    tk_load_weights_request msg;
    tk_path path;
    tk_err err = TK_ERR_INIT;
    if (!srv_msg_decode(request, &tk_msg_load_weights_request, &msg)) {
        return HD_ANSWERED;
    }
    if (tk_load_weights_check(&msg, &err) != TINKC_OK) {
        return hd_reply_field(request, "model_id", err.message);
    }
    if (!srv_lookup_path(&path, request, msg.path.v) ||
        !srv_lookup_token(request, &msg.weights_access_token)) {
        return HD_ANSWERED;
    }
    if (path.kind == TK_PATH_SAMPLER_WEIGHTS) {
        return srv_lookup_refuse_path(request, msg.path.v);
    }
    srv_job *job = srv_job_new(request->app, SRV_JOB_LOAD);
    if (job == NULL) {
        return hd_reply_no_memory(request);
    }
    job->path = msg.path.v;
    job->optimizer = msg.optimizer.v;
    return msg.model_id.is == TK_SET ? load_into(request, job, &msg)
                                     : load_into_new(request, job, &msg, &path);
}

hd_verdict srv_weights_info(hd_request *request)
{
    tk_weights_info_request msg;
    tk_path path;
    srv_store_checkpoint checkpoint;
    srv_store_run run;
    if (!srv_msg_decode(request, &tk_msg_weights_info_request, &msg) ||
        !srv_lookup_path(&path, request, msg.tinker_path.v) ||
        !srv_lookup_checkpoint(&checkpoint, &run, request, &path)) {
        return HD_ANSWERED;
    }
    tk_weights_info_response reply = {
        .base_model = {TK_SET, run.base_model},
        .is_lora = {TK_SET, true},
        .lora_rank = {TK_SET, run.rank},
        .train_unembed = {TK_SET, run.train_unembed},
        .train_mlp = {TK_SET, run.train_mlp},
        .train_attn = {TK_SET, run.train_attn},
    };
    eng_optimizer optimizer;
    if (saved_optimizer(&optimizer, request, &checkpoint)) {
        reply.optimizer_config = srv_train_optimizer_of(optimizer);
    }
    return srv_msg_reply(request, &tk_msg_weights_info_response, &reply);
}
