/* See hostile_op.h. */
#include "support/hostile_op.h"

#include <string.h>

#include <tinkc/stream.h>

#include "base/tk.h"
#include "client/core/finish.h"
#include "client/core/service.h"

#define PATH "tinker://S:train:0/weights/0001"

static void add(hostile_seen *seen, uint64_t value)
{
    if (seen->n < HOSTILE_VALUES) {
        seen->values[seen->n++] = value;
    } else {
        seen->values[HOSTILE_VALUES - 1] =
            seen->values[HOSTILE_VALUES - 1] * UINT64_C(1099511628211) ^ value;
    }
}

void hostile_see_int(hostile_world *world, int64_t value)
{
    add(&world->seen, (uint64_t)value);
}

void hostile_see_num(hostile_world *world, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    add(&world->seen, bits);
}

void hostile_see_array(hostile_world *world, const void *p, size_t bytes)
{
    uint64_t sum = UINT64_C(14695981039346656037) + (p != NULL);
    for (size_t i = 0; p != NULL && i < bytes; i++) {
        sum = (sum ^ ((const unsigned char *)p)[i]) * UINT64_C(1099511628211);
    }
    add(&world->seen, sum);
}

void hostile_see(hostile_world *world, const char *text)
{
    hostile_see_array(world, text, text != NULL ? strlen(text) : 0);
}

void hostile_see_error(hostile_world *world, const tinkc_error *err)
{
    hostile_see(world, tinkc_error_message(err));
    hostile_see_int(world, tinkc_error_category(err));
    hostile_see_int(world, tinkc_error_http_status(err));
    hostile_see(world, tinkc_error_request_id(err));
    hostile_see_int(world, tinkc_error_retry_after_ms(err));
}

static void see_floats(hostile_world *world, const float *values, size_t n)
{
    hostile_see_array(world, values, n * sizeof(*values));
}

/* ---- service ---- */

static tinkc_future *health(hostile_world *w)
{
    return tinkc_service_health(w->service);
}

static tinkc_future *capabilities(hostile_world *w)
{
    return tinkc_service_capabilities(w->service);
}

static tinkc_code read_capabilities(hostile_world *w, tinkc_future *future,
                                    tinkc_error **err)
{
    tinkc_capabilities *result = NULL;
    tinkc_code code = tinkc_future_take_capabilities(&result, future, err);
    for (size_t i = 0; i < tinkc_capabilities_count(result); i++) {
        hostile_see(w, tinkc_capabilities_name(result, i));
        hostile_see_int(w, tinkc_capabilities_context(result, i));
        hostile_see_int(w, tinkc_capabilities_trainable(result, i));
        hostile_see_int(w, tinkc_capabilities_sampleable(result, i));
    }
    tinkc_capabilities_free(&result);
    return code;
}

tinkc_code hostile_read_text(hostile_world *w, tinkc_future *future, tinkc_error **err)
{
    char *text = NULL;
    tinkc_code code = tinkc_future_take_text(&text, future, err);
    hostile_see(w, text);
    tinkc_text_free(&text);
    return code;
}

/* ---- sampling ---- */

static tinkc_future *create_sampling(hostile_world *w)
{
    return tinkc_service_create_sampling(w->service, "m", NULL);
}

static tinkc_code read_sampling(hostile_world *w, tinkc_future *future, tinkc_error **err)
{
    tinkc_sampling *sampling = NULL;
    tinkc_code code = tinkc_future_take_sampling(&sampling, future, err);
    hostile_see(w, code == TINKC_OK ? tinkc_sampling_session_id(sampling) : NULL);
    tinkc_sampling_close(&sampling);
    return code;
}

static tinkc_future *sample(hostile_world *w)
{
    tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
    options.prompt_logprobs = TINKC_CHOICE_YES;
    return tinkc_sampling_sample(w->sampling, w->prompt, NULL, &options);
}

/* Its deadline passes before the server says that it is done. */
static tinkc_future *abandon(hostile_world *w)
{
    tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
    options.deadline_ms = 50;
    return tinkc_sampling_sample(w->sampling, w->prompt, NULL, &options);
}

static tinkc_code read_abandoned(hostile_world *w, tinkc_future *future,
                                 tinkc_error **err)
{
    *err = tinkc_future_take_error(future);
    tinkc_code code = tinkc_error_code(*err);
    hostile_see(w, tinkc_error_message(*err));
    if (code == TINKC_E_TIMEOUT) {
        tinkc_error_free(err);
        return TINKC_OK;
    }
    return code;
}

/* {"sampling_session_id":"S:sample:0"} */
static tinkc_future *import_sampling(hostile_world *w)
{
    return tinkc_service_import_sampling(
        w->service, "eyJzYW1wbGluZ19zZXNzaW9uX2lkIjoiUzpzYW1wbGU6MCJ9");
}

static void see_sequence(hostile_world *w, const tinkc_samples *samples, size_t index)
{
    size_t n = 0;
    const int32_t *tokens = tinkc_samples_tokens(&n, samples, index);
    hostile_see_array(w, tokens, n * sizeof(*tokens));
    const float *logprobs = tinkc_samples_logprobs(&n, samples, index);
    see_floats(w, logprobs, n);
    hostile_see_int(w, tinkc_samples_stop_reason(samples, index));
    hostile_see(w, tinkc_samples_stop_text(samples, index));
    hostile_see(w, tinkc_samples_sequence_id(samples, index));
    for (size_t i = 0; i < tinkc_samples_sampled_topk_rows(samples, index); i++) {
        tinkc_topk row;
        if (tinkc_samples_sampled_topk(&row, samples, index, i, NULL) == TINKC_OK) {
            hostile_see_array(w, row.token_ids, row.k * sizeof(*row.token_ids));
            see_floats(w, row.logprobs, row.k);
        }
    }
}

static void see_tensor(hostile_world *w, const tinkc_tensor *tensor)
{
    int64_t dims[8] = {0};
    size_t n = tensor != NULL ? tinkc_tensor_count(tensor) : 0;
    bool is_sparse = tensor != NULL && tinkc_tensor_is_sparse(tensor);
    for (size_t i = 0; tensor != NULL && i < tinkc_tensor_rank(tensor) && i < 8; i++) {
        dims[i] = tinkc_tensor_dim(tensor, i);
    }
    see_floats(w, n > 0 ? tinkc_tensor_f32(tensor) : NULL, n);
    hostile_see_array(w, n > 0 ? tinkc_tensor_i64(tensor) : NULL, n * sizeof(int64_t));
    hostile_see_array(w, dims, sizeof(dims));
    hostile_see_array(w, is_sparse ? tinkc_tensor_columns(tensor) : NULL,
                      n * sizeof(int64_t));
}

static tinkc_code read_samples(hostile_world *w, tinkc_future *future, tinkc_error **err)
{
    tinkc_samples *samples = NULL;
    size_t n = 0;
    tinkc_code code = tinkc_future_take_samples(&samples, future, err);
    for (size_t i = 0; i < tinkc_samples_count(samples); i++) {
        see_sequence(w, samples, i);
    }
    const float *logprobs = tinkc_samples_prompt_logprobs(&n, samples);
    see_floats(w, logprobs, n);
    for (size_t i = 0; i < tinkc_samples_topk_rows(samples); i++) {
        const int32_t *ids = NULL;
        size_t k = 0;
        if (tinkc_samples_topk(&ids, &logprobs, &k, samples, i, NULL) == TINKC_OK) {
            see_floats(w, logprobs, k);
            hostile_see_array(w, ids, k * sizeof(*ids));
        }
    }
    see_tensor(w, tinkc_samples_target_logprobs(samples));
    see_tensor(w, tinkc_samples_alt_tokens(samples));
    see_tensor(w, tinkc_samples_alt_logprobs(samples));
    hostile_see_int(w, tinkc_samples_cache_hits(samples));
    tinkc_samples_free(&samples);
    return code;
}

static tinkc_future *compute_logprobs(hostile_world *w)
{
    return tinkc_sampling_compute_logprobs(w->sampling, w->prompt);
}

static tinkc_code read_logprobs(hostile_world *w, tinkc_future *future, tinkc_error **err)
{
    tinkc_logprobs *result = NULL;
    size_t n = 0;
    tinkc_code code = tinkc_future_take_logprobs(&result, future, err);
    see_floats(w, tinkc_logprobs_values(&n, result), n);
    const float *values = tinkc_logprobs_values(&n, result);
    see_floats(w, values, n);
    tinkc_logprobs_free(&result);
    return code;
}

static tinkc_future *get_base_model(hostile_world *w)
{
    return tinkc_sampling_get_base_model(w->sampling);
}

static bool on_event(const tinkc_stream_event *event, void *user)
{
    hostile_world *w = user;
    hostile_see(w, event->token);
    hostile_see(w, event->finish_reason);
    hostile_see_int(w, event->kind);
    hostile_see_int(w, event->token_id);
    hostile_see_int(w, event->index);
    hostile_see_num(w, event->logprob);
    hostile_see_int(w, event->total_tokens);
    return true;
}

static tinkc_future *stream(hostile_world *w)
{
    return tinkc_sampling_stream(w->sampling, w->prompt, NULL, on_event, w);
}

/* ---- training ---- */

static tinkc_future *create_training(hostile_world *w)
{
    return tinkc_service_create_training(w->service, "m", NULL);
}

static tinkc_future *create_from_state(hostile_world *w)
{
    return tinkc_service_create_training_from_state(w->service, PATH, NULL);
}

static tinkc_code read_training(hostile_world *w, tinkc_future *future, tinkc_error **err)
{
    tinkc_training *training = NULL;
    tinkc_code code = tinkc_future_take_training(&training, future, err);
    hostile_see(w, code == TINKC_OK ? tinkc_training_model_id(training) : NULL);
    tinkc_training_close(&training);
    return code;
}

static tinkc_future *forward(hostile_world *w)
{
    return tinkc_training_forward(w->training, &w->datum, 1, "cross_entropy", NULL);
}

/* On a server that reads JSON only. */
static tinkc_future *forward_json(hostile_world *w)
{
    tk_core *core = tk_service_core(w->service);
    tk_manners_learn(tk_core_manners(core), tk_core_log(core), TK_MANNER_JSON_REQUESTS,
                     true);
    return forward(w);
}

static tinkc_future *forward_backward(hostile_world *w)
{
    return tinkc_training_forward_backward(w->training, &w->datum, 1, "cross_entropy",
                                           NULL);
}

static int custom_loss(double *loss, tinkc_metrics *metrics, tinkc_custom_item *items,
                       size_t n, void *user)
{
    *loss = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < items[i].n; j++) {
            *loss -= (double)items[i].logprobs[j];
            items[i].gradient[j] = -1;
        }
    }
    return 0;
}

static tinkc_future *custom(hostile_world *w)
{
    return tinkc_training_forward_backward_custom(w->training, &w->datum, 1, custom_loss,
                                                  NULL);
}

static void see_metrics(hostile_world *w, const tinkc_metrics *metrics)
{
    const char *name = NULL;
    double value = 0;
    for (size_t i = 0; i < tinkc_metrics_count(metrics); i++) {
        if (tinkc_metrics_at(&name, &value, metrics, i)) {
            hostile_see(w, name);
            hostile_see_num(w, value);
        }
    }
    hostile_see_int(w, tinkc_metrics_loss(&value, metrics, NULL));
    hostile_see_num(w, value);
}

static void see_output(hostile_world *w, const tinkc_fwdbwd *result, size_t datum)
{
    const char *name;
    for (size_t j = 0; (name = tinkc_fwdbwd_name(result, datum, j)) != NULL; j++) {
        const float *floats = NULL;
        const int64_t *ints = NULL;
        size_t n = 0;
        hostile_see(w, name);
        bool ok = tinkc_fwdbwd_f32(&floats, &n, result, datum, name, NULL) == TINKC_OK;
        see_floats(w, ok ? floats : NULL, n);
        ok = tinkc_fwdbwd_i64(&ints, &n, result, datum, name, NULL) == TINKC_OK;
        hostile_see_array(w, ok ? ints : NULL, n * sizeof(*ints));
        ok = tinkc_fwdbwd_shape(&ints, &n, result, datum, name, NULL) == TINKC_OK;
        hostile_see_array(w, ok ? ints : NULL, n * sizeof(*ints));
    }
}

static void see_fwdbwd(hostile_world *w, const tinkc_fwdbwd *result)
{
    double loss = 0;
    for (size_t i = 0; i < tinkc_fwdbwd_count(result); i++) {
        see_output(w, result, i);
    }
    hostile_see(w, tinkc_fwdbwd_output_type(result));
    see_metrics(w, tinkc_fwdbwd_metrics(result));
    hostile_see_int(w, tinkc_fwdbwd_loss(&loss, result, NULL));
    hostile_see_num(w, loss);
}

static tinkc_code read_fwdbwd(hostile_world *w, tinkc_future *future, tinkc_error **err)
{
    tinkc_fwdbwd *result = NULL;
    tinkc_code code = tinkc_future_take_fwdbwd(&result, future, err);
    if (code == TINKC_OK) {
        see_fwdbwd(w, result);
    }
    tinkc_fwdbwd_free(&result);
    return code;
}

static tinkc_future *create_loss(hostile_world *w)
{
    static const tinkc_loss_input input = {"logprobs", 1};
    tinkc_custom_loss loss = TINKC_CUSTOM_LOSS_INIT;
    loss.name = "l";
    loss.inputs = &input;
    loss.inputs_n = 1;
    loss.graph = "{\"format\":1,\"nodes\":[{}]}";
    return tinkc_service_create_custom_loss(w->service, &loss);
}

static tinkc_future *optim_step(hostile_world *w)
{
    return tinkc_training_optim_step(w->training, NULL);
}

static tinkc_code read_metrics(hostile_world *w, tinkc_future *future, tinkc_error **err)
{
    tinkc_metrics *result = NULL;
    tinkc_code code = tinkc_future_take_metrics(&result, future, err);
    if (code == TINKC_OK) {
        see_metrics(w, result);
    }
    tinkc_metrics_free(&result);
    return code;
}

static tinkc_future *train_step(hostile_world *w)
{
    return tinkc_training_step(w->training, &w->datum, 1, "cross_entropy", NULL);
}

static tinkc_code read_step(hostile_world *w, tinkc_future *future, tinkc_error **err)
{
    tinkc_step *result = NULL;
    double loss = 0;
    tinkc_code code = tinkc_future_take_step(&result, future, err);
    if (code == TINKC_OK) {
        see_fwdbwd(w, tinkc_step_fwdbwd(result));
        see_metrics(w, tinkc_step_metrics(result));
        hostile_see_int(w, tinkc_step_loss(&loss, result, NULL));
        hostile_see_num(w, loss);
    }
    tinkc_step_free(&result);
    return code;
}

static tinkc_future *save_state(hostile_world *w)
{
    return tinkc_training_save_state(w->training, "a", NULL);
}

static tinkc_future *save_for_sampler(hostile_world *w)
{
    return tinkc_training_save_weights_for_sampler(w->training, "a", NULL);
}

static tinkc_future *save_external(hostile_world *w)
{
    return tinkc_training_save_weights_external(w->training, "a", NULL);
}

static tinkc_future *save_and_sample(hostile_world *w)
{
    return tinkc_training_save_and_sample(w->training);
}

static tinkc_future *load_state(hostile_world *w)
{
    return tinkc_training_load_state(w->training, PATH, true, NULL);
}

static tinkc_future *get_info(hostile_world *w)
{
    return tinkc_training_get_info(w->training);
}

static tinkc_code read_info(hostile_world *w, tinkc_future *future, tinkc_error **err)
{
    tinkc_model_info *info = NULL;
    tinkc_code code = tinkc_future_take_model_info(&info, future, err);
    if (code == TINKC_OK) {
        hostile_see(w, tinkc_model_info_model_id(info));
        hostile_see(w, tinkc_model_info_model_name(info));
        hostile_see(w, tinkc_model_info_arch(info));
        hostile_see(w, tinkc_model_info_tokenizer_id(info));
        hostile_see_int(w, tinkc_model_info_is_lora(info));
        hostile_see_int(w, tinkc_model_info_lora_rank(info));
        hostile_see_int(w, tinkc_model_info_optimizer(info));
        hostile_see(w, tinkc_model_info_optimizer_name(info));
    }
    tinkc_model_info_free(&info);
    return code;
}

static tinkc_future *unload(hostile_world *w)
{
    return tinkc_training_unload(w->training);
}

/* What a close does, without its wait, which is one of real time. */
static tinkc_code end_session(hostile_world *w, tinkc_error **err)
{
    tk_core *core = tk_service_core(w->service);
    return tk_loop_post(tk_core_loop(core), &tk_core_finish(core)->task) ? TINKC_OK
                                                                         : TINKC_E_STATE;
}

/* ---- the list ---- */

#define TOKENS "{\"pjwt_auth_enabled\":true}"
#define SHARED "{\"sample_use_retrieve_futures\":true}"
#define JOINED "{\"sample_join_sampling_session\":true}"
#define LOSSES "{\"custom_loss_server_side\":true}"

static const hostile_op ops[] = {
    {"health", HOSTILE_SERVICE, NULL, health, NULL, NULL, false},
    {"health_token", HOSTILE_SERVICE, TOKENS, health, NULL, NULL, false},
    {"capabilities", HOSTILE_SERVICE, NULL, capabilities, NULL, read_capabilities, false},
    {"create_sampling", HOSTILE_SERVICE, NULL, create_sampling, NULL, read_sampling,
     false},
    {"sample", HOSTILE_SAMPLING, NULL, sample, NULL, read_samples, false},
    {"sample_shared", HOSTILE_SAMPLING, SHARED, sample, NULL, read_samples, false},
    {"abandon", HOSTILE_SAMPLING, SHARED, abandon, NULL, read_abandoned, false},
    {"import_sampling", HOSTILE_SERVICE, JOINED, import_sampling, NULL, read_sampling,
     false},
    {"compute_logprobs", HOSTILE_SAMPLING, NULL, compute_logprobs, NULL, read_logprobs,
     false},
    {"get_base_model", HOSTILE_SAMPLING, NULL, get_base_model, NULL, hostile_read_text,
     false},
    {"stream", HOSTILE_SAMPLING, NULL, stream, NULL, NULL, false},
    {"create_training", HOSTILE_SERVICE, NULL, create_training, NULL, read_training,
     false},
    {"create_from_state", HOSTILE_SERVICE, NULL, create_from_state, NULL, read_training,
     true},
    {"forward", HOSTILE_TRAINING, NULL, forward, NULL, read_fwdbwd, false},
    {"forward_json", HOSTILE_TRAINING, NULL, forward_json, NULL, read_fwdbwd, false},
    {"forward_backward", HOSTILE_TRAINING, NULL, forward_backward, NULL, read_fwdbwd,
     false},
    {"custom_loss", HOSTILE_TRAINING, NULL, custom, NULL, read_fwdbwd, true},
    {"create_custom_loss", HOSTILE_SERVICE, LOSSES, create_loss, NULL, hostile_read_text,
     false},
    {"optim_step", HOSTILE_TRAINING, NULL, optim_step, NULL, read_metrics, false},
    {"step", HOSTILE_TRAINING, NULL, train_step, NULL, read_step, true},
    {"save_state", HOSTILE_TRAINING, NULL, save_state, NULL, hostile_read_text, false},
    {"save_for_sampler", HOSTILE_TRAINING, NULL, save_for_sampler, NULL,
     hostile_read_text, false},
    {"save_external", HOSTILE_TRAINING, NULL, save_external, NULL, hostile_read_text,
     false},
    {"save_and_sample", HOSTILE_TRAINING, NULL, save_and_sample, NULL, read_sampling,
     false},
    {"load_state", HOSTILE_TRAINING, NULL, load_state, NULL, NULL, false},
    {"get_info", HOSTILE_TRAINING, NULL, get_info, NULL, read_info, false},
    {"unload", HOSTILE_TRAINING, NULL, unload, NULL, NULL, false},
    {"end_session", HOSTILE_SAMPLING, NULL, NULL, end_session, NULL, false},
};

size_t hostile_ops_n(void)
{
    return TK_ARRAY_LEN(ops) + hostile_rest_ops_n;
}

const hostile_op *hostile_op_at(size_t index)
{
    return index < TK_ARRAY_LEN(ops) ? &ops[index]
                                     : &hostile_rest_ops[index - TK_ARRAY_LEN(ops)];
}
