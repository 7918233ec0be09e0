/* What the client sends at the level of SDK 0.36 and of 0.25, call by call, against the
 * recordings of both (tests/data/wire): optimizers, settings of losses, provenance, custom
 * losses on either side (M-048, M-118).
 * Links: peer */
#include <stdio.h>

#include "support/trainfix.h"
#include "wire/fixtures.h"
#include "wire/pb_fwdbwd.h"

#define POST_MODEL "/api/v1/create_model"
#define POST_FB    "/api/v1/forward_backward"
#define POST_LOSS  "/api/v1/create_custom_loss"
#define POST_LOAD  "/api/v1/load_weights"

static tk_arena arena;

static int teardown(void **unused)
{
    (void)unused;
    tk_arena_dispose(&arena);
    return 0;
}

static trainfix open_at(const char *version, const char *flags)
{
    const char *const settings[] = {"sdk_version", version, "heartbeat", "none",
                                    "telemetry",   "false", NULL};
    return trainfix_open(&(fakeapi_tinker_options){.config = flags}, settings);
}

static const tk_json *recorded(const char *version, const char *name, size_t index)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "requests/%s.json", name);
    const tk_json *requests =
        fixture_need(fixture_load(&arena, version, path), "requests");
    return fixture_at(&arena, requests, index);
}

/* Compares everything but the ids that the peer and the counters gave. */
static void expect_body(const fakeapi_request *seen, const char *version,
                        const char *name, const char *const *own)
{
    const tk_json *got = NULL;
    assert_non_null(seen);
    assert_int_equal(tk_json_parse(&got, &arena, seen->body, seen->body_n, NULL, NULL),
                     TINKC_OK);
    const tk_json *want = fixture_need(recorded(version, name, 0), "body");
    assert_int_equal(got->as.object.n, want->as.object.n);
    for (size_t i = 0; i < want->as.object.n; i++) {
        const tk_json_member *row = &want->as.object.members[i];
        const tk_json *mine = tk_json_get(got, row->key.p);
        bool is_own = false;
        for (size_t k = 0; own[k] != NULL; k++) {
            is_own = is_own || tk_str_is(row->key, own[k]);
        }
        if (mine == NULL) {
            fail_msg("%s: no %s", name, row->key.p);
        }
        if (!is_own) {
            fixture_assert_same(mine, &row->value, 0, row->key.p);
        }
    }
}

static const char *const model_own[] = {"session_id", NULL};
static const char *const step_own[] = {"model_id", "seq_id", NULL};
static const char *const loss_own[] = {"session_id", NULL};

/* ---- optimizers ---- */

/* The optimizer of a new model is always named by 0.36, never by 0.25. */
static void test_level_create_model(void **unused)
{
    (void)unused;
    tinkc_optimizer_config dimuon = TINKC_OPTIMIZER_CONFIG_INIT;
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    tinkc_training *second = NULL;
    dimuon.type = TINKC_OPTIMIZER_DIMUON;
    trainfix f = open_at("0.36.0", NULL);
    expect_body(fakeapi_nth(f.api, "POST", POST_MODEL, 0), FIXTURE_NEW,
                "models/create_model_default", model_own);
    lora.optimizer = &dimuon;
    assert_int_equal(
        tinkc_service_create_training_wait(&second, f.service, BASE_MODEL, &lora, NULL),
        TINKC_OK);
    static const char *const own[] = {"session_id", "model_seq_id", NULL};
    expect_body(fakeapi_nth(f.api, "POST", POST_MODEL, 1), FIXTURE_NEW,
                "models/create_model_dimuon", own);
    tinkc_training_close(&second);
    dimuon.version = 0;
    assert_int_equal(
        tinkc_service_create_training_wait(&second, f.service, BASE_MODEL, &lora, NULL),
        TINKC_E_INVALID);
    trainfix_close(&f);
    f = open_at("0.25.0", NULL);
    expect_body(fakeapi_nth(f.api, "POST", POST_MODEL, 0), FIXTURE_OLD,
                "models/create_model_default", model_own);
    dimuon.version = 1; /* what the caller asks for is sent at any level */
    assert_int_equal(
        tinkc_service_create_training_wait(&second, f.service, BASE_MODEL, &lora, NULL),
        TINKC_OK);
    assert_non_null(strstr(fakeapi_nth(f.api, "POST", POST_MODEL, 1)->body,
                           "\"optimizer_config\":{\"type\":\"dimuon\",\"version\":1}"));
    tinkc_training_close(&second);
    trainfix_close(&f);
}

static void test_level_optim_step(void **unused)
{
    (void)unused;
    static const char *const versions[] = {FIXTURE_OLD, FIXTURE_NEW};
    tinkc_optim_params params = TINKC_OPTIM_PARAMS_INIT;
    tinkc_dimuon_params dimuon = TINKC_DIMUON_PARAMS_INIT;
    dimuon.learning_rate = 0.02;
    params.type = TINKC_OPTIMIZER_DIMUON;
    params.dimuon = &dimuon;
    for (size_t i = 0; i < TK_ARRAY_LEN(versions); i++) {
        trainfix f = open_at(versions[i], NULL);
        assert_int_equal(tinkc_training_optim_step_wait(NULL, f.training, NULL, NULL),
                         TINKC_OK);
        expect_body(fakeapi_nth(f.api, "POST", POST_STEP, 0), versions[i],
                    "training/optim_step_default", step_own);
        assert_int_equal(
            tinkc_training_optim_step_with_wait(NULL, f.training, &params, NULL),
            TINKC_OK);
        expect_body(fakeapi_nth(f.api, "POST", POST_STEP, 1), FIXTURE_NEW,
                    "training/optim_step_dimuon", step_own);
        trainfix_close(&f);
    }
}

/* A whole step takes the parameters of any optimizer. */
static void test_level_step(void **unused)
{
    (void)unused;
    tinkc_optim_params params = TINKC_OPTIM_PARAMS_INIT;
    tinkc_step_options options = TINKC_STEP_OPTIONS_INIT;
    const int32_t tokens[] = {1, 2, 3};
    tinkc_model_input *input = NULL;
    tinkc_datum *datum = NULL;
    assert_int_equal(tinkc_model_input_from_tokens(&input, tokens, 3, NULL), TINKC_OK);
    assert_int_equal(tinkc_datum_new(&datum, &input, NULL), TINKC_OK);
    assert_int_equal(tinkc_datum_set_i32(datum, "target_tokens", tokens, 3, NULL),
                     TINKC_OK);
    params.type = TINKC_OPTIMIZER_OTHER;
    params.json = "{\"type\":\"newer\",\"rate\":[1,2]}";
    options.optim = &params;
    trainfix f = open_at("0.36.0", NULL);
    assert_int_equal(tinkc_training_step_wait(NULL, f.training, &datum, 1,
                                              "cross_entropy", &options, NULL),
                     TINKC_OK);
    assert_non_null(strstr(fakeapi_nth(f.api, "POST", POST_STEP, 0)->body,
                           "\"optimizer_params\":{\"type\":\"newer\",\"rate\":[1,2]}"));
    params.json = "{";
    assert_int_equal(tinkc_training_step_wait(NULL, f.training, &datum, 1,
                                              "cross_entropy", &options, NULL),
                     TINKC_E_INVALID);
    tinkc_datum_free(&datum);
    trainfix_close(&f);
}

#define INFO(optimizer)                                                                  \
    "{\"base_model\":\"" BASE_MODEL "\",\"is_lora\":true,\"lora_rank\":8" optimizer "}"

/* With its optimizer state a checkpoint brings its optimizer, also one that is not known. */
static void test_level_from_state(void **unused)
{
    (void)unused;
    trainfix f = open_at("0.36.0", NULL);
    static const char path[] = "tinker://r/weights/x";
    tinkc_training *made = NULL;
    tinkc_from_state_options o = TINKC_FROM_STATE_OPTIONS_INIT;
    tinkc_optimizer_config dimuon = TINKC_OPTIMIZER_CONFIG_INIT;
    dimuon.type = TINKC_OPTIMIZER_DIMUON;
    const struct {
        const char *info;
        bool with_optimizer;
        const tinkc_optimizer_config *optimizer;
        const char *sent;
    } rows[] = {
        {INFO(""), true, NULL, "\"optimizer_config\":{\"type\":\"adamw\"}"},
        {INFO(",\"optimizer_config\":{\"type\":\"dimuon\"}"), true, NULL,
         "\"optimizer_config\":{\"type\":\"dimuon\",\"version\":1}"},
        {INFO(",\"optimizer_config\":{\"type\":\"newer\",\"x\":{\"y\":1}}"), true, NULL,
         "\"optimizer_config\":{\"type\":\"newer\",\"x\":{\"y\":1}}"},
        {INFO(",\"optimizer_config\":{\"type\":\"dimuon\"}"), false, NULL,
         "\"optimizer_config\":{\"type\":\"adamw\"}"},
        {INFO(""), false, &dimuon,
         "\"optimizer_config\":{\"type\":\"dimuon\",\"version\":1}"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        o.with_optimizer = rows[i].with_optimizer;
        o.optimizer = rows[i].optimizer;
        fakeapi_reply(f.api, "POST", "/api/v1/weights_info", &fakeapi_json(rows[i].info));
        (void)tinkc_service_create_training_from_state_wait(&made, f.service, path, &o,
                                                            NULL);
        assert_non_null(
            strstr(fakeapi_nth(f.api, "POST", POST_MODEL, i + 1)->body, rows[i].sent));
        tinkc_training_close(&made);
    }
    o.with_optimizer = true;
    assert_int_equal(
        tinkc_service_create_training_from_state_wait(&made, f.service, path, &o, NULL),
        TINKC_E_INVALID);
    trainfix_close(&f);
    f = open_at("0.36.0", "{\"create_model_via_load_weights\":true}");
    o.with_optimizer = false;
    (void)tinkc_service_create_training_from_state_wait(&made, f.service, path, &o, NULL);
    assert_non_null(strstr(fakeapi_nth(f.api, "POST", POST_LOAD, 0)->body,
                           "\"optimizer_config\":{\"type\":\"dimuon\",\"version\":1}"));
    tinkc_training_close(&made);
    o.optimizer = NULL;
    (void)tinkc_service_create_training_from_state_wait(&made, f.service, path, &o, NULL);
    assert_null(
        strstr(fakeapi_nth(f.api, "POST", POST_LOAD, 1)->body, "optimizer_config"));
    tinkc_training_close(&made);
    trainfix_close(&f);
}

/* What a server says about the optimizer is readable, whatever it says. */
static void test_level_model_info(void **unused)
{
    (void)unused;
    const struct {
        const char *config;
        tinkc_optimizer type;
        const char *name;
    } rows[] = {
        {"", TINKC_OPTIMIZER_ADAMW, "adamw"},
        {",\"optimizer_config\":null", TINKC_OPTIMIZER_ADAMW, "adamw"},
        {",\"optimizer_config\":{\"type\":\"adamw\",\"later\":1}", TINKC_OPTIMIZER_ADAMW,
         "adamw"},
        {",\"optimizer_config\":{\"type\":\"dimuon\",\"version\":7}",
         TINKC_OPTIMIZER_DIMUON, "dimuon"},
        {",\"optimizer_config\":{\"type\":\"newer\"}", TINKC_OPTIMIZER_OTHER, "newer"},
    };
    trainfix f = open_at("0.36.0", NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        char body[256];
        tinkc_model_info *info = NULL;
        (void)snprintf(body, sizeof(body), "{\"model_id\":\"m\",\"model_data\":{}%s}",
                       rows[i].config);
        fakeapi_reply(f.api, "POST", "/api/v1/get_info", &fakeapi_json(body));
        assert_int_equal(tinkc_training_get_info_wait(&info, f.training, NULL), TINKC_OK);
        assert_int_equal(tinkc_model_info_optimizer(info), rows[i].type);
        assert_string_equal(tinkc_model_info_optimizer_name(info), rows[i].name);
        tinkc_model_info_free(&info);
    }
    trainfix_close(&f);
}

/* ---- losses ---- */

static tinkc_datum *make_datum(void)
{
    static const int32_t tokens[] = {1, 2, 3}, targets[] = {2, 3, 4};
    tinkc_model_input *input = NULL;
    tinkc_datum *datum = NULL;
    assert_int_equal(tinkc_model_input_from_tokens(&input, tokens, 3, NULL), TINKC_OK);
    assert_int_equal(tinkc_datum_new(&datum, &input, NULL), TINKC_OK);
    assert_int_equal(tinkc_datum_set_i32(datum, "target_tokens", targets, 3, NULL),
                     TINKC_OK);
    return datum;
}

static tinkc_datum *make_policy(void)
{
    static const float advantages[] = {0.5F, 0.5F, -1.0F};
    static const float logprobs[] = {-0.5F, -1.25F, -2.0F};
    tinkc_datum *datum = make_datum();
    assert_int_equal(tinkc_datum_set_f32(datum, "advantages", advantages, 3, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_datum_set_f32(datum, "logprobs", logprobs, 3, NULL), TINKC_OK);
    return datum;
}

static tk_fwdbwd_request read_pb(const void *bytes, size_t n)
{
    tk_fwdbwd_request out;
    tk_bytes body = {bytes, n};
    assert_int_equal(tk_pb_fwdbwd_decode(&out, &arena, body, NULL), TINKC_OK);
    return out;
}

/* Written again without the ids that the peer gave, with tensors in the order of their
 * names, as the recordings have them. */
static void normalize(tk_buf *out, tk_fwdbwd_request *request)
{
    request->model_id = TK_STR("m");
    request->seq_id = 1;
    for (size_t d = 0; d < request->data_n; d++) {
        tk_tensor_map *map = (tk_tensor_map *)(uintptr_t)&request->data[d].loss_fn_inputs;
        tk_named_tensor *items = (tk_named_tensor *)(uintptr_t)map->items;
        for (size_t i = 1; i < map->n; i++) {
            for (size_t k = i; k > 0 && strncmp(items[k - 1].name.p, items[k].name.p,
                                                items[k].name.n) > 0;
                 k--) {
                tk_named_tensor swap = items[k];
                items[k] = items[k - 1];
                items[k - 1] = swap;
            }
        }
    }
    tk_buf_init(out, TK_MIB);
    assert_int_equal(tk_pb_fwdbwd_encode(out, request, NULL), TINKC_OK);
}

static void expect_pb(const fakeapi_request *seen, const char *version, const char *name,
                      size_t index)
{
    assert_non_null(seen);
    tk_bytes bytes =
        fixture_bytes(&arena, recorded(version, name, index), "protobuf_base64");
    tk_fwdbwd_request got = read_pb(seen->body, seen->body_n);
    tk_fwdbwd_request want = read_pb(bytes.p, bytes.n);
    tk_buf a, b;
    normalize(&a, &got);
    normalize(&b, &want);
    if (a.n != b.n || memcmp(a.p, b.p, a.n) != 0) {
        fail_msg("%s: other bytes", name);
    }
    tk_buf_dispose(&a);
    tk_buf_dispose(&b);
}

#define PLAIN "{\"proto_compress_fwdbwd\":false}"

static void run_loss(trainfix *f, tinkc_datum *datum, const char *loss,
                     const tinkc_fwdbwd_options *options)
{
    assert_int_equal(tinkc_training_forward_backward_wait(NULL, f->training, &datum, 1,
                                                          loss, options, NULL),
                     TINKC_OK);
}

/* Settings go twice at 0.36; a text only into the second form. */
static void test_level_losses(void **unused)
{
    (void)unused;
    static const tinkc_number clip = {"clip_low_threshold", 0.8};
    static const tinkc_number kl = {"kl_coeff", 0.01};
    static const tinkc_pair mode = {"mode", "sequence"};
    tinkc_fwdbwd_options options = TINKC_FWDBWD_OPTIONS_INIT;
    tinkc_datum *datum = make_policy();
    trainfix f = open_at("0.36.0", PLAIN);
    options.config = &clip;
    options.config_n = 1;
    run_loss(&f, datum, "gspo", &options);
    expect_pb(fakeapi_nth(f.api, "POST", POST_FB, 0), FIXTURE_NEW, "training/loss_gspo",
              0);
    options.config = &kl;
    options.texts = &mode;
    options.texts_n = 1;
    run_loss(&f, datum, "stable_reinforce", &options);
    expect_pb(fakeapi_nth(f.api, "POST", POST_FB, 1), FIXTURE_NEW,
              "training/loss_stable_reinforce", 0);
    trainfix_close(&f);
    f = open_at("0.25.0", PLAIN);
    options.texts_n = 0;
    run_loss(&f, datum, "ppo", &options);
    const fakeapi_request *seen = fakeapi_nth(f.api, "POST", POST_FB, 0);
    tk_fwdbwd_request request = read_pb(seen->body, seen->body_n);
    assert_int_equal(request.loss_fn_config.n, 1);
    assert_int_equal(request.loss_fn_config_v2.n, 0);
    options.texts_n = 1;
    run_loss(&f, datum, "stable_reinforce", &options);
    expect_pb(fakeapi_nth(f.api, "POST", POST_FB, 1), FIXTURE_NEW,
              "training/loss_stable_reinforce", 0);
    trainfix_close(&f);
    tinkc_datum_free(&datum);
}

static void test_level_provenance(void **unused)
{
    (void)unused;
    static const float ones[] = {1, 1, 1};
    tinkc_origin spans[] = {{TINKC_ORIGIN_PROMPT, "seq-a", 0, 2},
                            {TINKC_ORIGIN_SAMPLED, "seq-b", 5, 1}};
    tinkc_datum *datum = make_datum();
    assert_int_equal(tinkc_datum_set_f32(datum, "weights", ones, 3, NULL), TINKC_OK);
    assert_int_equal(tinkc_datum_set_provenance(datum, spans, 2, spans, 2, NULL),
                     TINKC_OK);
    trainfix f = open_at("0.36.0", PLAIN);
    run_loss(&f, datum, "cross_entropy", NULL);
    expect_pb(fakeapi_nth(f.api, "POST", POST_FB, 0), FIXTURE_NEW, "training/provenance",
              0);
    trainfix_close(&f);
    assert_int_equal(tinkc_datum_set_provenance(datum, spans, 1, spans, 2, NULL),
                     TINKC_E_INVALID); /* two of three positions */
    assert_int_equal(tinkc_datum_set_provenance(datum, spans, 2, spans, 1, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_datum_set_provenance(datum, spans, 2, NULL, 0, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_datum_set_provenance(datum, NULL, 2, spans, 2, NULL),
                     TINKC_E_INVALID);
    const tinkc_origin bad[] = {{TINKC_ORIGIN_PROMPT, "", 0, 3},
                                {TINKC_ORIGIN_PROMPT, NULL, 0, 3},
                                {TINKC_ORIGIN_PROMPT, "a", -1, 3},
                                {TINKC_ORIGIN_PROMPT, "a", 0, -3},
                                {(tinkc_origin_kind)2, "a", 0, 3}};
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        assert_int_equal(tinkc_datum_set_provenance(datum, &bad[i], 1, spans, 2, NULL),
                         TINKC_E_INVALID);
    }
    assert_int_equal(tinkc_datum_set_provenance(datum, NULL, 0, NULL, 0, NULL), TINKC_OK);
    tinkc_datum_free(&datum);
}

/* ---- custom losses ---- */

static int weigh(double *loss, tinkc_metrics *metrics, tinkc_custom_item *items, size_t n,
                 void *user)
{
    (void)metrics;
    (void)user;
    for (size_t i = 0; i < n; i++) {
        const tinkc_tensor *factor = tinkc_custom_item_tensor(&items[i], "factor");
        const tinkc_tensor *advantages =
            tinkc_custom_item_tensor(&items[i], "advantages");
        assert_null(tinkc_custom_item_tensor(&items[i], "nothing"));
        assert_int_equal(tinkc_tensor_rank(factor), 0);
        assert_int_equal(tinkc_tensor_count(advantages), 1); /* of the whole sequence */
        double by = (double)tinkc_tensor_f32(factor)[0];
        for (size_t k = 0; k < items[i].n; k++) {
            *loss += by * (double)items[i].logprobs[k];
            items[i].gradient[k] = (float)by;
        }
    }
    return 0;
}

/* 0.36: the callback reads any input of its datum, only targets and weights are sent, and
 * the loss is loss:sum. 0.25: other inputs are refused, and the loss is `loss`. */
static void test_level_custom_loss(void **unused)
{
    (void)unused;
    static const float factor = 3, ones[] = {1, 1, 1}, advantage = 2;
    const int64_t one = 1;
    tinkc_datum *datum = make_datum();
    tinkc_array scalar = TINKC_ARRAY_INIT;
    scalar.data = &factor;
    scalar.dtype = TINKC_DTYPE_FLOAT32;
    assert_int_equal(tinkc_datum_set(datum, "factor", &scalar, NULL), TINKC_OK);
    tinkc_array single = TINKC_ARRAY_INIT;
    single.data = &advantage;
    single.shape = &one;
    single.ndim = 1;
    assert_int_equal(tinkc_datum_set(datum, "advantages", &single, NULL), TINKC_OK);
    assert_int_equal(tinkc_datum_set_f32(datum, "weights", ones, 3, NULL), TINKC_OK);
    tinkc_fwdbwd *result = NULL;
    double value = 0;
    trainfix f = open_at("0.36.0", PLAIN);
    assert_int_equal(tinkc_training_forward_backward_custom_wait(
                         &result, f.training, &datum, 1, weigh, NULL, NULL),
                     TINKC_OK);
    const tinkc_metrics *metrics = tinkc_fwdbwd_metrics(result);
    assert_int_equal(tinkc_metrics_get(&value, metrics, "loss:sum", NULL), TINKC_OK);
    assert_true(value == -18.0); /* three logprobs of -2, times 3 */
    assert_int_equal(tinkc_metrics_get(&value, metrics, "surrogate_loss:sum", NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_metrics_get(&value, metrics, "loss", NULL), TINKC_E_MISSING);
    assert_int_equal(tinkc_fwdbwd_loss(&value, result, NULL), TINKC_OK);
    assert_true(value == -18.0);
    tinkc_fwdbwd_free(&result);
    for (size_t half = 0; half < 2; half++) {
        const fakeapi_request *seen = fakeapi_nth(f.api, "POST", POST_FB, half);
        tk_fwdbwd_request request = read_pb(seen->body, seen->body_n);
        const tk_tensor_map *map = &request.data[0].loss_fn_inputs;
        assert_int_equal(map->n, 2);
        assert_true(tk_str_is(map->items[0].name, "target_tokens"));
        assert_true(tk_str_is(map->items[1].name, "weights"));
        assert_true(((const float *)map->items[1].tensor.data)[0] ==
                    (half == 0 ? 1.0F : -3.0F));
    }
    trainfix_close(&f);
    f = open_at("0.25.0", PLAIN);
    assert_int_equal(tinkc_training_forward_backward_custom_wait(
                         &result, f.training, &datum, 1, weigh, NULL, NULL),
                     TINKC_E_INVALID);
    trainfix_close(&f);
    tinkc_datum_free(&datum);
}

#define GRAPH                                                                            \
    "{\"format\":1,\"nodes\":["                                                          \
    "{\"op\":\"placeholder\",\"name\":\"logprobs\",\"target\":\"logprobs\",\"args\":[]," \
    "\"kwargs\":{}},"                                                                    \
    "{\"op\":\"placeholder\",\"name\":\"advantages\",\"target\":\"advantages\","         \
    "\"args\":[],\"kwargs\":{}},"                                                        \
    "{\"op\":\"call_function\",\"name\":\"mul\",\"target\":\"operator.mul\","            \
    "\"args\":[{\"ref\":\"logprobs\"},{\"ref\":\"advantages\"}],\"kwargs\":{}},"         \
    "{\"op\":\"call_method\",\"name\":\"sum_1\",\"target\":\"sum\","                     \
    "\"args\":[{\"ref\":\"mul\"}],\"kwargs\":{}},"                                       \
    "{\"op\":\"call_function\",\"name\":\"neg\",\"target\":\"operator.neg\","            \
    "\"args\":[{\"ref\":\"sum_1\"}],\"kwargs\":{}},"                                     \
    "{\"op\":\"output\",\"name\":\"output\",\"target\":\"output\",\"args\":[{\"tuple\":" \
    "[{\"ref\":\"neg\"},{\"dict\":{\"custom/loss:sum\":{\"ref\":\"neg\"}}}]}],"          \
    "\"kwargs\":{}}]}"

static tinkc_custom_loss make_loss(void)
{
    static const tinkc_loss_input inputs[] = {{"logprobs", 1}, {"advantages", 1}};
    tinkc_custom_loss loss = TINKC_CUSTOM_LOSS_INIT;
    loss.name = "loss";
    loss.inputs = inputs;
    loss.inputs_n = 2;
    loss.graph = GRAPH;
    return loss;
}

/* A loss that runs at the server is created there, where the server offers that, and named
 * by its id. */
static void test_level_custom_loss_at_server(void **unused)
{
    (void)unused;
    static const float advantages[] = {1, 2, 3};
    tinkc_custom_loss loss = make_loss();
    char *id = NULL;
    trainfix f = open_at("0.36.0", "{\"custom_loss_server_side\":true}");
    static const char want[] = "00000000-0000-4000-8000-000000000001:loss:0";
    fakeapi_reply(f.api, "POST", POST_LOSS, &fakeapi_json("{\"request_id\":\"l\"}"));
    fakeapi_reply(f.api, "POST", POST_POLL,
                  &fakeapi_json("{\"loss_id\":\"00000000-0000-4000-8000-000000000001"
                                ":loss:0\",\"type\":\"create_custom_loss\"}"));
    assert_int_equal(tinkc_service_create_custom_loss_wait(&id, f.service, &loss, NULL),
                     TINKC_OK);
    assert_string_equal(id, want);
    expect_body(fakeapi_nth(f.api, "POST", POST_LOSS, 0), FIXTURE_NEW,
                "training/custom_loss_server_side", loss_own);
    const fakeapi_request *poll = fakeapi_nth(f.api, "POST", POST_POLL, 1);
    assert_string_equal(fakeapi_header(poll, "x-tinker-request-type"),
                        "CreateCustomLoss");
    tinkc_datum *datum = make_datum();
    assert_int_equal(tinkc_datum_set_f32(datum, "advantages", advantages, 3, NULL),
                     TINKC_OK);
    const tinkc_pair text = {"loss_id", id};
    tinkc_fwdbwd_options options = TINKC_FWDBWD_OPTIONS_INIT;
    options.texts = &text;
    options.texts_n = 1;
    run_loss(&f, datum, tinkc_loss_name(TINKC_LOSS_CUSTOM), &options);
    expect_pb(fakeapi_nth(f.api, "POST", POST_FB, 0), FIXTURE_NEW,
              "training/custom_loss_server_side", 1);
    tinkc_datum_free(&datum);
    tinkc_text_free(&id);
    fakeapi_reply(f.api, "POST", POST_LOSS, &fakeapi_json("{\"request_id\":\"l\"}"));
    fakeapi_reply(f.api, "POST", POST_POLL, &fakeapi_json("{\"loss_id\":\"\"}"));
    assert_int_equal(tinkc_service_create_custom_loss_wait(&id, f.service, &loss, NULL),
                     TINKC_E_DECODE);
    assert_non_null(strstr(fakeapi_nth(f.api, "POST", POST_LOSS, 1)->body,
                           "\"custom_loss_seq_id\":1,"));
    loss.graph = "{";
    assert_int_equal(tinkc_service_create_custom_loss_wait(&id, f.service, &loss, NULL),
                     TINKC_E_INVALID);
    trainfix_close(&f);
    f = open_at("0.36.0", NULL);
    loss = make_loss();
    assert_int_equal(tinkc_service_create_custom_loss_wait(&id, f.service, &loss, NULL),
                     TINKC_E_UNSUPPORTED);
    assert_int_equal(fakeapi_count(f.api, "POST", POST_LOSS), 0);
    trainfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_level_create_model, teardown),
        cmocka_unit_test_teardown(test_level_optim_step, teardown),
        cmocka_unit_test_teardown(test_level_step, teardown),
        cmocka_unit_test_teardown(test_level_from_state, teardown),
        cmocka_unit_test_teardown(test_level_model_info, teardown),
        cmocka_unit_test_teardown(test_level_losses, teardown),
        cmocka_unit_test_teardown(test_level_provenance, teardown),
        cmocka_unit_test_teardown(test_level_custom_loss, teardown),
        cmocka_unit_test_teardown(test_level_custom_loss_at_server, teardown),
    };
    return cmocka_run_group_tests_name("training_level", tests, NULL, NULL);
}
