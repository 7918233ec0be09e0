/* forward_backward in pieces: the bits of the whole, whatever runs in between, and a
 * request that is given up leaves no trace. */
#include "base/mem.h"
#include "engine/eng_lora.h"
#include "engine/eng_sampler.h"
#include "engine/support/tiny.h"
#include "support/test.h"

#define DATA   5
#define TOKENS 6

typedef struct scene {
    tiny_files files;
    eng_pool *pool;
    eng_model *model;
    eng_adapter *whole, *pieces;
    int32_t tokens[DATA][TOKENS];
    int64_t targets[DATA][TOKENS];
    eng_array inputs[DATA];
    eng_datum data[DATA];
    eng_train_request request, small;
} scene;

static eng_adapter *make_adapter(eng_model *model)
{
    tk_err err = TK_ERR_INIT;
    eng_adapter *adapter = NULL;
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    config.rank = 2;
    config.seed = 3;
    assert_int_equal(eng_adapter_new(&adapter, model, &config, &err), TINKC_OK);
    for (size_t i = 0; i < adapter->n; i++) {
        adapter->weights[i] += (float)(i % 5) * 0.02f;
    }
    eng_adapter_repack(adapter);
    return adapter;
}

static void open_scene(scene *s)
{
    tk_err err = TK_ERR_INIT;
    tiny_files_init(&s->files, &tiny_llama);
    assert_int_equal(eng_pool_new(&s->pool, 1, &err), TINKC_OK);
    s->model = tiny_open(s->pool, &s->files);
    s->whole = make_adapter(s->model);
    s->pieces = make_adapter(s->model);
    for (size_t d = 0; d < DATA; d++) {
        for (size_t i = 0; i < TOKENS; i++) {
            s->tokens[d][i] = (int32_t)((i * 7 + d) % tiny_llama.vocabulary);
            s->targets[d][i] = (int64_t)((i * 5 + d) % tiny_llama.vocabulary);
        }
        s->inputs[d] = (eng_array){.name = TK_STR("target_tokens"),
                                   .type = ENG_ARRAY_I64,
                                   .values = s->targets[d],
                                   .n_values = TOKENS};
        s->data[d] = (eng_datum){s->tokens[d], TOKENS, &s->inputs[d], 1};
    }
    s->request = (eng_train_request){
        .loss_fn = TK_STR("cross_entropy"), .data = s->data, .n_data = DATA};
    s->small = s->request;
    s->small.piece_rows = TOKENS; /* two data are two pieces */
}

static void close_scene(scene *s)
{
    eng_adapter_free(s->whole);
    eng_adapter_free(s->pieces);
    eng_model_free(s->model);
    eng_pool_free(s->pool);
    tiny_files_dispose(&s->files);
}

static void expect_same_grads(const scene *s)
{
    assert_memory_equal(s->whole->grads, s->pieces->grads,
                        s->whole->n * sizeof(*s->whole->grads));
}

static void on_done(void *user, const eng_sample_result *result, const tk_err *err)
{
    assert_non_null(result);
    ++*(size_t *)user;
}

static eng_sampler *open_sampler(scene *s, size_t *done)
{
    static const int32_t prompt[] = {1, 2, 3};
    tk_err err = TK_ERR_INIT;
    eng_sampler *sampler = NULL;
    uint64_t id = 0;
    const eng_sampler_config config = {
        .max_sequences = 4, .max_kv_bytes = TK_MIB, .prefill_chunk = 2};
    eng_sample_request request = ENG_SAMPLE_REQUEST_INIT;
    request.prompt = prompt;
    request.n_prompt = 3;
    request.max_tokens = 4;
    request.stop_mode = ENG_STOP_NONE;
    const eng_sample_listener listener = {.on_done = on_done, .user = done};
    assert_int_equal(eng_sampler_new(&sampler, s->model, &config, &err), TINKC_OK);
    assert_int_equal(eng_sampler_add(sampler, &request, &listener, &id, &err), TINKC_OK);
    assert_int_equal(eng_sampler_first_waiting(sampler), id);
    return sampler;
}

static void test_pieces_are_the_whole(void **state)
{
    static scene s;
    tk_err err = TK_ERR_INIT;
    eng_result *whole = NULL, *pieces = NULL;
    eng_train *train = NULL;
    size_t done = 0, steps = 0;
    open_scene(&s);
    assert_int_equal(eng_adapter_forward_backward(&whole, s.whole, &s.request, &err),
                     TINKC_OK);
    eng_sampler *sampler = open_sampler(&s, &done);
    assert_int_equal(eng_train_begin(&train, s.pieces, &s.small, &err), TINKC_OK);
    for (bool more = true; more; steps++) {
        assert_int_equal(eng_train_step(train, &more, &err), TINKC_OK);
        assert_int_equal(eng_sampler_step(sampler, &err), TINKC_OK);
        assert_int_equal(eng_sampler_first_waiting(sampler), 0);
    }
    assert_int_equal(eng_train_end(&pieces, train, &err), TINKC_OK);
    assert_int_equal(steps, DATA);
    assert_int_equal(done, 1);
    expect_same_grads(&s);
    for (size_t d = 0; d < DATA; d++) {
        assert_memory_equal(whole->outputs[d].logprobs, pieces->outputs[d].logprobs,
                            TOKENS * sizeof(float));
    }
    assert_true(whole->metrics[0].value == pieces->metrics[0].value);
    eng_result_free(whole);
    eng_result_free(pieces);
    eng_sampler_free(sampler);
    close_scene(&s);
}

/* Given up in the middle, once without and once with gradients from before. */
static void test_given_up_leaves_no_trace(void **state)
{
    static scene s;
    tk_err err = TK_ERR_INIT;
    open_scene(&s);
    for (int i = 0; i < 2; i++) {
        eng_train *train = NULL;
        eng_result *result = NULL;
        bool more = false;
        assert_int_equal(eng_train_begin(&train, s.pieces, &s.small, &err), TINKC_OK);
        assert_int_equal(eng_train_step(train, &more, &err), TINKC_OK);
        assert_true(more);
        eng_train_free(train);
        expect_same_grads(&s);
        eng_adapter *both[] = {s.whole, s.pieces};
        for (size_t k = 0; k < 2; k++) {
            assert_int_equal(
                eng_adapter_forward_backward(&result, both[k], &s.request, &err),
                TINKC_OK);
            eng_result_free(result);
        }
        expect_same_grads(&s);
    }
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_are_the_whole),
        cmocka_unit_test(test_given_up_leaves_no_trace),
    };
    return cmocka_run_group_tests_name("eng_train_steps", tests, NULL, NULL);
}
