/* Training requests of this client against those of the official SDK (A-015, A-047,
 * M-060 to M-069, M-104).
 * Links: level peer */
#include <math.h>

#include <tinkc/sampling.h>
#include <tinkc/training.h>
#include <tinkc/types.h>

#include "support/levelfix.h"
#include "support/test.h"

#define STATE    "tinker://" LEVEL_RUN "/weights/a"
#define OK(call) assert_int_equal((call), TINKC_OK)

static tinkc_training *open_training(levelfix *f)
{
    tinkc_training *training = NULL;
    level_open(f, NULL);
    OK(tinkc_service_create_training_wait(&training, f->service, LEVEL_MODEL, NULL,
                                          NULL));
    level_record(f);
    return training;
}

/* ---- models ---- */

static void create(levelfix *f, const tinkc_lora_config *lora)
{
    OK(tinkc_service_create_training_wait(NULL, f->service, LEVEL_MODEL, lora, NULL));
}

static void create_model_default(levelfix *f)
{
    level_open(f, NULL);
    create(f, NULL);
}

static void create_model_full(levelfix *f)
{
    const tinkc_pair metadata = {"owner", "x"};
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    lora.rank = 8;
    lora.has_seed = true;
    lora.seed = 42;
    lora.train_mlp = false;
    lora.train_unembed = false;
    lora.metadata = &metadata;
    lora.metadata_n = 1;
    level_open(f, NULL);
    create(f, &lora);
}

static void create_model_second(levelfix *f)
{
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    lora.has_seed = true;
    level_open(f, NULL);
    create(f, NULL);
    create(f, &lora);
}

static void get_info(levelfix *f)
{
    tinkc_training *training = open_training(f);
    OK(tinkc_training_get_info_wait(NULL, training, NULL));
    tinkc_training_close(&training);
}

static void unload_model(levelfix *f)
{
    tinkc_training *training = open_training(f);
    OK(tinkc_training_unload_wait(training, NULL));
    tinkc_training_close(&training);
}

static const tinkc_optimizer_config dimuon = {
    .size = sizeof(tinkc_optimizer_config), .type = TINKC_OPTIMIZER_DIMUON, .version = 1};

static void create_model_dimuon(levelfix *f)
{
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    lora.optimizer = &dimuon;
    level_open(f, NULL);
    create(f, &lora);
}

static const level_case model_cases[] = {
    {LEVEL("models/create_model_default", create_model_default)},
    {LEVEL("models/create_model_full", create_model_full)},
    {LEVEL("models/create_model_second", create_model_second)},
    {LEVEL("models/create_model_dimuon", create_model_dimuon)},
    {LEVEL("models/get_info", get_info)},
    {LEVEL("models/unload_model", unload_model)},
};

static void test_level_models(void **unused)
{
    level_run("models/", model_cases, TK_ARRAY_LEN(model_cases));
}

/* ---- forward and backward ---- */

static tinkc_datum *bare_datum(size_t n)
{
    int32_t tokens[64];
    tinkc_model_input *input = NULL;
    tinkc_datum *datum = NULL;
    for (size_t i = 0; i < n; i++) {
        tokens[i] = (int32_t)i + 1;
    }
    OK(tinkc_model_input_from_tokens(&input, tokens, n, NULL));
    OK(tinkc_datum_new(&datum, &input, NULL));
    return datum;
}

/* Tokens 1 .. n with the targets 2 .. n + 1 and weights of 1. */
static tinkc_datum *datum(size_t n)
{
    int32_t targets[64];
    float weights[64];
    tinkc_datum *out = bare_datum(n);
    for (size_t i = 0; i < n; i++) {
        targets[i] = (int32_t)i + 2;
        weights[i] = 1.0F;
    }
    OK(tinkc_datum_set_i32(out, "target_tokens", targets, n, NULL));
    OK(tinkc_datum_set_f32(out, "weights", weights, n, NULL));
    return out;
}

static tinkc_datum *policy_datum(void)
{
    static const int32_t targets[] = {2, 3, 4};
    static const float logprobs[] = {-0.5F, -1.25F, -2.0F};
    static const float advantages[] = {0.5F, 0.5F, -1.0F};
    tinkc_datum *out = bare_datum(3);
    OK(tinkc_datum_set_f32(out, "advantages", advantages, 3, NULL)); /* by name */
    OK(tinkc_datum_set_f32(out, "logprobs", logprobs, 3, NULL));
    OK(tinkc_datum_set_i32(out, "target_tokens", targets, 3, NULL));
    return out;
}

/* The datums are freed. */
static void run(levelfix *f, tinkc_datum **data, size_t n, const char *loss,
                const tinkc_fwdbwd_options *options)
{
    tinkc_error *err = NULL;
    tinkc_training *training = open_training(f);
    if (tinkc_training_forward_backward_wait(NULL, training, data, n, loss, options,
                                             &err) != TINKC_OK) {
        fail_msg("%s", tinkc_error_message(err));
    }
    for (size_t i = 0; i < n; i++) {
        tinkc_datum_free(&data[i]);
    }
    tinkc_training_close(&training);
}

static void cross_entropy(levelfix *f)
{
    run(f, (tinkc_datum *[]){datum(3)}, 1, "cross_entropy", NULL);
}

static void forward(levelfix *f)
{
    tinkc_datum *one = datum(3);
    tinkc_training *training = open_training(f);
    OK(tinkc_training_forward_wait(NULL, training, &one, 1, "cross_entropy", NULL, NULL));
    tinkc_datum_free(&one);
    tinkc_training_close(&training);
}

static void policy(levelfix *f, const char *loss, const tinkc_number *config, size_t n)
{
    tinkc_fwdbwd_options options = TINKC_FWDBWD_OPTIONS_INIT;
    options.config = config;
    options.config_n = n;
    run(f, (tinkc_datum *[]){policy_datum()}, 1, loss, &options);
}

static void importance_sampling(levelfix *f)
{
    policy(f, "importance_sampling", NULL, 0);
}

static void ppo(levelfix *f)
{
    static const tinkc_number config[] = {{"clip_high_threshold", 1.2},
                                          {"clip_low_threshold", 0.8}};
    policy(f, "ppo", config, 2);
}

static void cispo(levelfix *f)
{
    static const tinkc_number config[] = {{"clip_high_threshold", 4.0},
                                          {"clip_low_threshold", 0.0}};
    policy(f, "cispo", config, 2);
}

static void dro(levelfix *f)
{
    static const tinkc_number config[] = {{"beta", 0.05}};
    policy(f, "dro", config, 1);
}

static void gspo(levelfix *f)
{
    static const tinkc_number config[] = {{"clip_low_threshold", 0.8}};
    policy(f, "gspo", config, 1);
}

static void stable_reinforce(levelfix *f)
{
    static const tinkc_number config[] = {{"kl_coeff", 0.01}};
    static const tinkc_pair mode = {"mode", "sequence"};
    tinkc_fwdbwd_options options = TINKC_FWDBWD_OPTIONS_INIT;
    options.config = config;
    options.config_n = 1;
    options.texts = &mode;
    options.texts_n = 1;
    run(f, (tinkc_datum *[]){policy_datum()}, 1, "stable_reinforce", &options);
}

static void provenance(levelfix *f)
{
    static const tinkc_origin spans[] = {{TINKC_ORIGIN_PROMPT, "seq-a", 0, 2},
                                         {TINKC_ORIGIN_SAMPLED, "seq-b", 5, 1}};
    tinkc_datum *one = datum(3);
    OK(tinkc_datum_set_provenance(one, spans, 2, spans, 2, NULL));
    run(f, &one, 1, "cross_entropy", NULL);
}

/* The gradient of each logprob of datum i is i + 1. */
static int count_up(double *loss, tinkc_metrics *metrics, tinkc_custom_item *items,
                    size_t n, void *user)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < items[i].n; k++) {
            items[i].gradient[k] = (float)(i + 1);
        }
    }
    *loss = 1.0;
    return 0;
}

static void custom_loss(levelfix *f)
{
    static const int32_t targets[] = {2, 3};
    tinkc_datum *data[] = {bare_datum(2), datum(3)};
    tinkc_training *training = open_training(f);
    OK(tinkc_datum_set_i32(data[0], "target_tokens", targets, 2, NULL));
    OK(tinkc_training_forward_backward_custom_wait(NULL, training, data, 2, count_up,
                                                   NULL, NULL));
    tinkc_datum_free(&data[0]);
    tinkc_datum_free(&data[1]);
    tinkc_training_close(&training);
}

#define INPUT(name)                                                                      \
    "{\"op\":\"placeholder\",\"name\":\"" name "\",\"target\":\"" name                   \
    "\",\"args\":[],\"kwargs\":{}},"
#define CALL(op, name, target, args)                                                     \
    "{\"op\":\"" op "\",\"name\":\"" name "\",\"target\":\"" target "\",\"args\":[" args \
    "],\"kwargs\":{}}"
#define REF(name) "{\"ref\":\"" name "\"}"
#define GRAPH                                                                                                             \
    "{\"format\":1,\"nodes\":[" INPUT("logprobs") INPUT("advantages")                                                     \
        CALL("call_function", "mul", "operator.mul", REF("logprobs") "," REF("advantages")) "," CALL(                     \
            "call_method", "sum_1", "sum",                                                                                \
            REF("mul")) "," CALL("call_function", "neg", "operator.neg",                                                  \
                                 REF("sum_1")) "," CALL("output", "output", "output",                                     \
                                                        "{\"tuple\":[" REF("neg") ",{\"dict\":{\"custom/loss:sum\":" REF( \
                                                            "neg") "}}]}") "]}"
#define LOSS_ID LEVEL_SESSION ":loss:0"

static void custom_loss_server_side(levelfix *f)
{
    static const tinkc_loss_input inputs[] = {{"logprobs", 1}, {"advantages", 1}};
    static const float advantages[] = {1, 2, 3};
    static const int32_t targets[] = {2, 3, 4};
    static const tinkc_pair id = {"loss_id", LOSS_ID};
    tinkc_custom_loss loss = TINKC_CUSTOM_LOSS_INIT;
    loss.name = "loss";
    loss.inputs = inputs;
    loss.inputs_n = 2;
    loss.graph = GRAPH;
    tinkc_fwdbwd_options options = TINKC_FWDBWD_OPTIONS_INIT;
    options.texts = &id;
    options.texts_n = 1;
    tinkc_datum *one = bare_datum(3);
    OK(tinkc_datum_set_f32(one, "advantages", advantages, 3, NULL));
    OK(tinkc_datum_set_i32(one, "target_tokens", targets, 3, NULL));
    tinkc_training *training = open_training(f);
    fakeapi_reply(f->api, "POST", "/api/v1/create_custom_loss",
                  &fakeapi_json("{\"request_id\":\"l\"}"));
    fakeapi_reply(
        f->api, "POST", "/api/v1/retrieve_future",
        &fakeapi_json("{\"loss_id\":\"" LOSS_ID "\",\"type\":\"create_custom_loss\"}"));
    OK(tinkc_service_create_custom_loss_wait(NULL, f->service, &loss, NULL));
    OK(tinkc_training_forward_backward_wait(NULL, training, &one, 1, "custom", &options,
                                            NULL));
    tinkc_datum_free(&one);
    tinkc_training_close(&training);
}

/* ---- kinds of chunks and tensors ---- */

#define PNG  "\x89PNG\r\n\x1a\nnot a real image"
#define JPEG "\xff\xd8\xff\xe0nor this"

static void chunk_kinds(levelfix *f)
{
    static const int32_t tokens[] = {1, 2, INT32_MAX, -1}, three = 3;
    static const unsigned char dmel[4 + 3 * 80] = {4, 2, 3, 80};
    tinkc_model_input *all = NULL, *none = NULL;
    tinkc_datum *data[2] = {NULL, NULL};
    OK(tinkc_model_input_from_tokens(&all, tokens, 4, NULL));
    OK(tinkc_model_input_add_image(all, PNG, sizeof(PNG) - 1, TINKC_IMAGE_PNG,
                                   TINKC_UNKNOWN_TOKENS, NULL));
    OK(tinkc_model_input_add_image(all, JPEG, sizeof(JPEG) - 1, TINKC_IMAGE_JPEG, 16,
                                   NULL));
    OK(tinkc_model_input_add_image(all, "", 0, TINKC_IMAGE_PNG, 0, NULL));
    OK(tinkc_model_input_add_dmel(all, dmel, sizeof(dmel), NULL));
    OK(tinkc_model_input_add_tokens(all, NULL, 0, NULL));
    OK(tinkc_model_input_add_tokens(all, &three, 1, NULL));
    OK(tinkc_model_input_new(&none, NULL));
    OK(tinkc_datum_new(&data[0], &all, NULL));
    OK(tinkc_datum_new(&data[1], &none, NULL));
    run(f, data, 2, "cross_entropy", NULL);
}

/* A datum whose number of tokens is not known, so that any length is taken. */
static tinkc_datum *image_datum(void)
{
    tinkc_model_input *input = NULL;
    tinkc_datum *out = NULL;
    OK(tinkc_model_input_new(&input, NULL));
    OK(tinkc_model_input_add_image(input, PNG, sizeof(PNG) - 1, TINKC_IMAGE_PNG,
                                   TINKC_UNKNOWN_TOKENS, NULL));
    OK(tinkc_datum_new(&out, &input, NULL));
    return out;
}

/* An array of the shape `rows`, or [rows, columns]; -1: one dimension less. */
static void set(tinkc_datum *datum, const char *name, tinkc_array array, int64_t rows,
                int64_t columns)
{
    const int64_t shape[] = {rows, columns};
    array.size = sizeof(array);
    array.shape = shape;
    array.ndim = columns >= 0 ? 2 : rows >= 0 ? 1 : 0;
    OK(tinkc_datum_set(datum, name, &array, NULL));
}

#define I64(...)                                                                         \
    (tinkc_array)                                                                        \
    {                                                                                    \
        .elem = TINKC_ELEM_I64, .data = (const int64_t[]){__VA_ARGS__},                  \
        .dtype = TINKC_DTYPE_INT64                                                       \
    }
#define F32(...)                                                                         \
    (tinkc_array)                                                                        \
    {                                                                                    \
        .elem = TINKC_ELEM_F32, .data = (const float[]){__VA_ARGS__},                    \
        .dtype = TINKC_DTYPE_FLOAT32                                                     \
    }

static void tensor_kinds(levelfix *f)
{
    tinkc_datum *one = bare_datum(3);
    set(one, "empty", F32(0), 0, -1); /* by name */
    set(one, "floats", F32(-0.0F, 1e-45F, 3.4e38F, 0.1F), 4, -1);
    set(one, "ints", I64(INT64_MIN, -1, 0, INT64_MAX), 4, -1);
    set(one, "matrix", I64(1, 2, 3, 4, 5, 6), 2, 3);
    set(one, "no_columns", F32(0), 2, 0);
    set(one, "scalar", F32(2.5F), -1, -1);
    run(f, &one, 1, "cross_entropy", NULL);
}

static void tensor_lists(levelfix *f)
{
    tinkc_datum *data[] = {image_datum(), image_datum(), image_datum(), image_datum(),
                           image_datum()};
    set(data[0], "target_tokens", I64(1, 2), 2, -1);
    set(data[0], "weights", F32(1, 0), 2, -1);
    set(data[1], "target_tokens", I64(0), 0, -1);
    set(data[1], "weights", F32(0), 0, -1);
    set(data[2], "target_tokens", I64(1, 2, 3, 4), 2, 2);
    set(data[2], "weights", F32(0.5F, 0.25F, 0, 1), 2, 2);
    set(data[3], "target_tokens", I64(5, 6), 2, -1);
    OK(tinkc_datum_set_f64(data[3], "weights", (const double[]){0.1, 0.2}, 2, NULL));
    set(data[4], "advantages", F32(2), 1, -1);
    set(data[4], "clip_high_threshold", F32(1.5F), 1, -1);
    set(data[4], "clip_low_threshold", F32(0.5F), 1, -1);
    set(data[4], "logprobs", F32(-1), 1, -1);
    set(data[4], "target_tokens", I64(1), 1, -1);
    run(f, data, 5, "cross_entropy", NULL);
}

static void set_sparse(tinkc_datum *datum, const char *name, const tinkc_sparse *sparse)
{
    tinkc_tensor *tensor = NULL;
    OK(tinkc_tensor_new_sparse(&tensor, sparse, NULL));
    OK(tinkc_datum_set_tensor(datum, name, tensor, NULL));
    tinkc_tensor_free(&tensor);
}

static void tensor_sparse(levelfix *f)
{
    static const int64_t values[] = {7, 9}, starts[] = {0, 1, 1, 2}, columns[] = {2, 3};
    static const int64_t float_starts[] = {0, 0, 1}, seven = 7, no_starts[3];
    static const float half = 0.5F;
    tinkc_datum *data[] = {image_datum(), image_datum()};
    tinkc_sparse sparse = {sizeof(sparse), TINKC_DTYPE_INT64, 3, 4, values, 2, starts,
                           columns};
    set_sparse(data[0], "target_tokens", &sparse);
    sparse = (tinkc_sparse){
        sizeof(sparse), TINKC_DTYPE_FLOAT32, 2, 8, &half, 1, float_starts, &seven};
    set_sparse(data[0], "weights", &sparse);
    sparse = (tinkc_sparse){
        sizeof(sparse), TINKC_DTYPE_FLOAT32, 2, 8, &half, 0, no_starts, &seven};
    set_sparse(data[1], "weights", &sparse);
    run(f, data, 2, "cross_entropy", NULL);
}

/* Two dimensions are sent as sparse rows where that is smaller, but not for every name. */
static void tensor_torch(levelfix *f)
{
    static const int64_t diagonal[36] = {
        [0] = 1, [7] = 1, [14] = 1, [21] = 1, [28] = 1, [35] = 1};
    static const float lone[30] = {[14] = 0.5F};
    tinkc_array eye = {
        .elem = TINKC_ELEM_I64, .data = diagonal, .flags = TINKC_ARRAY_COMPACT};
    tinkc_array one = {
        .elem = TINKC_ELEM_F32, .data = lone, .flags = TINKC_ARRAY_COMPACT};
    tinkc_array dense = I64(1, 1, 1, 1);
    tinkc_datum *data[] = {image_datum(), image_datum(), image_datum()};
    set(data[0], "target_tokens", eye, 6, 6);
    set(data[0], "weights", one, 3, 10);
    one.flags = 0;
    set(data[1], "advantages", one, 3, 10);
    dense.flags = TINKC_ARRAY_COMPACT;
    set(data[1], "target_tokens", dense, 2, 2);
    set(data[2], "target_tokens", I64(1, 2), 2, -1);
    set(data[2], "weights", F32(0.5F, 1), 2, -1);
    run(f, data, 3, "cross_entropy", NULL);
}

static void compressed(levelfix *f)
{
    run(f, (tinkc_datum *[]){datum(64)}, 1, "cross_entropy", NULL);
}

static void five_datums(levelfix *f)
{
    run(f, (tinkc_datum *[]){datum(1), datum(2), datum(3), datum(4), datum(5)}, 5,
        "cross_entropy", NULL);
}

static void chunks_by_bytes(levelfix *f)
{
    run(f, (tinkc_datum *[]){datum(2), datum(3), datum(4), datum(20), datum(1)}, 5,
        "cross_entropy", NULL);
}

/* ---- steps and checkpoints ---- */

static void optim_step(levelfix *f, const tinkc_adam_params *adam)
{
    tinkc_training *training = open_training(f);
    OK(tinkc_training_optim_step_wait(NULL, training, adam, NULL));
    tinkc_training_close(&training);
}

static void optim_step_default(levelfix *f)
{
    optim_step(f, NULL);
}

static void optim_step_full(levelfix *f)
{
    tinkc_adam_params adam = TINKC_ADAM_PARAMS_INIT;
    adam.learning_rate = 5e-5;
    adam.beta1 = 0.8;
    adam.beta2 = 0.999;
    adam.eps = 1e-8;
    adam.weight_decay = 0.01;
    adam.grad_clip_norm = 1.0;
    optim_step(f, &adam);
}

static void optim_step_dimuon(levelfix *f)
{
    tinkc_dimuon_params values = TINKC_DIMUON_PARAMS_INIT;
    tinkc_optim_params params = TINKC_OPTIM_PARAMS_INIT;
    values.learning_rate = 0.02;
    params.type = TINKC_OPTIMIZER_DIMUON;
    params.dimuon = &values;
    tinkc_training *training = open_training(f);
    OK(tinkc_training_optim_step_with_wait(NULL, training, &params, NULL));
    tinkc_training_close(&training);
}

static void save_state(levelfix *f, const tinkc_save_options *options)
{
    tinkc_training *training = open_training(f);
    OK(tinkc_training_save_state_wait(NULL, training, "step-1", options, NULL));
    tinkc_training_close(&training);
}

static void save_state_default(levelfix *f)
{
    save_state(f, NULL);
}

static const tinkc_pair note = {"k", "v"}; /* 0.36 */

static void save_state_full(levelfix *f)
{
    tinkc_save_options options = TINKC_SAVE_OPTIONS_INIT;
    options.ttl_seconds = 3600;
    options.overwrite = true;
    options.metadata = &note;
    options.metadata_n = f->is_new;
    save_state(f, &options);
}

static void save_for_sampler(levelfix *f, const tinkc_save_options *options)
{
    tinkc_training *training = open_training(f);
    OK(tinkc_training_save_weights_for_sampler_wait(NULL, training, "s-1", options,
                                                    NULL));
    tinkc_training_close(&training);
}

static void save_for_sampler_default(levelfix *f)
{
    save_for_sampler(f, NULL);
}

static void save_for_sampler_full(levelfix *f)
{
    tinkc_save_options options = TINKC_SAVE_OPTIONS_INIT;
    options.ttl_seconds = 60;
    options.metadata = &note;
    options.metadata_n = f->is_new;
    save_for_sampler(f, &options);
}

static void save_ephemeral(levelfix *f)
{
    tinkc_training *training = open_training(f);
    OK(tinkc_training_save_and_sample_wait(NULL, training, NULL));
    OK(tinkc_training_save_and_sample_wait(NULL, training, NULL));
    tinkc_training_close(&training);
}

static void step_sequence(levelfix *f)
{
    tinkc_adam_params adam = TINKC_ADAM_PARAMS_INIT;
    adam.learning_rate = 1e-3;
    tinkc_datum *one = datum(3);
    tinkc_training *training = open_training(f);
    OK(tinkc_training_forward_backward_wait(NULL, training, &one, 1, "cross_entropy",
                                            NULL, NULL));
    OK(tinkc_training_optim_step_wait(NULL, training, &adam, NULL));
    OK(tinkc_training_save_state_wait(NULL, training, "step-1", NULL, NULL));
    OK(tinkc_training_save_weights_for_sampler_wait(NULL, training, "step-1", NULL,
                                                    NULL));
    tinkc_datum_free(&one);
    tinkc_training_close(&training);
}

static void save_external(levelfix *f)
{
    static const char *const recipients[] = {"age1x"};
    tinkc_save_options options = TINKC_SAVE_OPTIONS_INIT;
    options.ttl_seconds = 3600;
    options.recipients = recipients;
    options.recipients_n = 1;
    tinkc_training *training = open_training(f);
    OK(tinkc_training_save_weights_external_wait(NULL, training, "e-1", NULL, NULL));
    OK(tinkc_training_save_weights_external_wait(NULL, training, "e-2", &options, NULL));
    tinkc_training_close(&training);
}

/* The peer has no such checkpoint: only the request counts. */
static void load_state(levelfix *f)
{
    tinkc_training *training = open_training(f);
    (void)tinkc_training_load_state_wait(training, STATE, false, NULL, NULL);
    tinkc_training_close(&training);
}

static void load_state_full(levelfix *f)
{
    tinkc_training *training = open_training(f);
    (void)tinkc_training_load_state_wait(training, STATE, true, "tml-other", NULL);
    tinkc_training_close(&training);
}

static void from_state(levelfix *f)
{
    level_open(f, NULL);
    (void)tinkc_service_create_training_from_state_wait(NULL, f->service, STATE, NULL,
                                                        NULL);
}

static void from_state_dimuon(levelfix *f)
{
    tinkc_from_state_options options = TINKC_FROM_STATE_OPTIONS_INIT;
    options.optimizer = &dimuon;
    level_open(f, NULL);
    (void)tinkc_service_create_training_from_state_wait(NULL, f->service, STATE, &options,
                                                        NULL);
}

static void from_state_with_optimizer(levelfix *f)
{
    const tinkc_pair metadata = {"a", "b"};
    tinkc_from_state_options options = TINKC_FROM_STATE_OPTIONS_INIT;
    options.with_optimizer = true;
    options.weights_access_token = "tml-other";
    options.metadata = &metadata;
    options.metadata_n = 1;
    level_open(f, NULL);
    (void)tinkc_service_create_training_from_state_wait(NULL, f->service, STATE, &options,
                                                        NULL);
}

#define MADE "00000001-0000-4000-8000-000000000000:train:0"

/* The peer does not have the model: only the requests count. */
static void via_load_full(levelfix *f)
{
    const tinkc_pair metadata = {"a", "b"};
    tinkc_training *training = NULL;
    tinkc_from_state_options options = TINKC_FROM_STATE_OPTIONS_INIT;
    options.base_model = LEVEL_MODEL;
    options.with_optimizer = true;
    options.weights_access_token = "tml-other";
    options.metadata = &metadata;
    options.metadata_n = 1;
    fakeapi_reply(f->api, "POST", "/api/v1/load_weights",
                  &fakeapi_json("{\"request_id\":\"l\"}"));
    fakeapi_reply(f->api, "POST", "/api/v1/retrieve_future",
                  &fakeapi_json("{\"path\":\"" STATE "\",\"model_id\":\"" MADE
                                "\",\"type\":\"load_weights\"}"));
    level_open(f, NULL);
    OK(tinkc_service_create_training_from_state_wait(&training, f->service, STATE,
                                                     &options, NULL));
    (void)tinkc_training_optim_step_wait(NULL, training, NULL, NULL);
    tinkc_training_close(&training);
}

#define VIA_LOAD "{\"create_model_via_load_weights\":true}"
#define ANY_INPUT                                                                        \
    .apart_from = "model_input",                                                         \
    .why =                                                                               \
        "lengths other than that of a text are refused here: an image is sent instead"

static const level_case cases[] = {
    {LEVEL("training/forward_backward_cross_entropy", cross_entropy)},
    {LEVEL("training/forward", forward)},
    {LEVEL("training/loss_cross_entropy", cross_entropy)},
    {LEVEL("training/loss_importance_sampling", importance_sampling)},
    {LEVEL("training/loss_ppo", ppo)},
    {LEVEL("training/loss_cispo", cispo)},
    {LEVEL("training/loss_dro", dro)},
    {LEVEL("training/compressed", compressed),
     .config = "{\"proto_compress_fwdbwd\":true}"},
    {LEVEL("training/chunks_parallel", five_datums),
     .config = "{\"fwdbwd_max_chunk_len\":2}", .any_order = true},
    {LEVEL("training/chunks_serial", five_datums),
     .config = "{\"fwdbwd_max_chunk_len\":2,\"parallel_fwdbwd_chunks\":false}"},
    {LEVEL("training/chunks_by_bytes", chunks_by_bytes),
     .config = "{\"fwdbwd_max_chunk_bytes_count\":100,\"parallel_fwdbwd_chunks\":false}"},
    {LEVEL("training/optim_step_default", optim_step_default)},
    {LEVEL("training/optim_step_full", optim_step_full)},
    {LEVEL("training/save_state_default", save_state_default)},
    {LEVEL("training/save_state_full", save_state_full)},
    {LEVEL("training/save_weights_for_sampler_default", save_for_sampler_default)},
    {LEVEL("training/save_weights_for_sampler_full", save_for_sampler_full)},
    {LEVEL("training/save_weights_ephemeral", save_ephemeral)},
    {LEVEL("training/step_sequence", step_sequence)},
    {LEVEL("training/load_state", load_state)},
    {LEVEL("training/load_state_full", load_state_full)},
    {LEVEL("training/from_state", from_state)},
    {LEVEL("training/from_state_with_optimizer", from_state_with_optimizer)},
    {LEVEL("training/create_via_load", from_state), .config = VIA_LOAD},
    {LEVEL("training/create_via_load_optimizer", from_state_dimuon), .config = VIA_LOAD},
    {LEVEL("training/from_state_optimizer", from_state_dimuon)},
    {LEVEL("training/create_via_load_full", via_load_full), .config = VIA_LOAD},
    {LEVEL("training/custom_loss", custom_loss)},
    {LEVEL("training/chunk_kinds", chunk_kinds)},
    {LEVEL("training/tensor_kinds", tensor_kinds),
     .apart_from = "no_shape empty_no_shape not_finite",
     .why = "a list always has its length as shape here; NaN is refused"},
    {LEVEL("training/tensor_lists", tensor_lists), ANY_INPUT},
    {LEVEL("training/tensor_sparse", tensor_sparse), ANY_INPUT},
    {LEVEL("training/tensor_torch", tensor_torch), ANY_INPUT},
    {LEVEL("training/custom_loss_server_side", custom_loss_server_side),
     .config = "{\"custom_loss_server_side\":true}"},
    {LEVEL("training/loss_gspo", gspo)},
    {LEVEL("training/loss_stable_reinforce", stable_reinforce)},
    {LEVEL("training/optim_step_dimuon", optim_step_dimuon)},
    {LEVEL("training/provenance", provenance)},
    {LEVEL("training/save_weights_external", save_external)},
};

static void test_level_training(void **unused)
{
    level_run("training/", cases, TK_ARRAY_LEN(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_level_models),
                                       cmocka_unit_test(test_level_training)};
    return cmocka_run_group_tests_name("level_training", tests, NULL, NULL);
}
