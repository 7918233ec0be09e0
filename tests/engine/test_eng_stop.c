/* Ending computations early: the owner says stop at the k-th time it is asked, for every k
 * there is. No further piece runs, and nothing of the request is applied. */
#include "base/mem.h"
#include "engine/eng_lora.h"
#include "engine/eng_pool.h"
#include "engine/eng_sampler.h"
#include "engine/support/tiny.h"
#include "support/test.h"

#include <stdatomic.h>

#ifdef TINKC_SANITIZED
#define EVERY 7 /* the property is the same, the time is not */
#else
#define EVERY 1
#endif

#define N     6
#define DATA  3
#define NEVER SIZE_MAX

typedef struct owner {
    atomic_size_t asked;
    size_t stop_at; /* the number of the question that is answered with yes */
} owner;

static bool answer(void *user)
{
    owner *o = user;
    return atomic_fetch_add(&o->asked, 1) + 1 >= o->stop_at;
}

/* ---- loops ---- */

typedef struct work {
    atomic_size_t pieces, units;
} work;

static void count(void *user, size_t begin, size_t end, void *scratch)
{
    work *w = user;
    (void)scratch;
    atomic_fetch_add(&w->pieces, 1);
    atomic_fetch_add(&w->units, end - begin);
}

/* One thread: exactly the pieces before the answer run. Several: each may have begun one
 * more. Later loops run nothing; loops that may not be stopped run whole. */
static void test_no_piece_after_the_stop(void **unused)
{
    static const unsigned threads[] = {1, 2, 5};
    for (size_t t = 0; t < TK_ARRAY_LEN(threads); t++) {
        for (size_t k = 1; k <= 9; k++) {
            owner o = {.stop_at = k};
            work w = {0};
            eng_pool *pool = NULL;
            tk_err err = TK_ERR_INIT;
            assert_int_equal(eng_pool_new(&pool, threads[t], &err), TINKC_OK);
            eng_pool_set_stop(pool, answer, &o);
            eng_pool_run(pool, 1000, count, &w);
            assert_int_equal(w.units, 1000);
            assert_int_equal(o.asked, 0);
            eng_pool_allow_stop(pool, true);
            w = (work){0};
            eng_pool_run(pool, 1000, count, &w);
            size_t most =
                threads[t] == 1 ? TK_MIN(k - 1, (size_t)8) : k - 1 + threads[t] - 1;
            assert_true(w.pieces <= most && w.pieces >= TK_MIN(k - 1, (size_t)8));
            bool stopped = eng_pool_is_stopped(pool);
            assert_true(stopped);
            w = (work){0};
            eng_pool_run(pool, 1000, count, &w);
            eng_pool_run_work(pool, 3, 1, count, &w);
            assert_int_equal(w.pieces, 0);
            assert_int_equal(eng_pool_check(pool, &err), TINKC_E_CANCELLED);
            eng_pool_allow_stop(pool, false);
            eng_pool_run(pool, 1000, count, &w);
            assert_int_equal(w.units, 1000);
            eng_pool_free(pool);
        }
    }
}

/* ---- requests ---- */

typedef struct scene {
    owner owner;
    tiny_files files;
    eng_pool *pool;
    eng_model *model;
    eng_adapter *adapter;
} scene;

static const int32_t tokens[N] = {1, 7, 3, 9, 2, 4};
static const int64_t targets[N] = {7, 3, 9, 2, 4, 0};

static tinkc_code train(scene *s, bool forward_only, tk_err *err)
{
    eng_array input = {.name = TK_STR("target_tokens"),
                       .type = ENG_ARRAY_I64,
                       .values = targets,
                       .n_values = N};
    eng_datum data[DATA];
    for (size_t i = 0; i < DATA; i++) {
        data[i] = (eng_datum){tokens, N, &input, 1};
    }
    eng_train_request request = {.loss_fn = TK_STR("cross_entropy"),
                                 .data = data,
                                 .n_data = DATA,
                                 .forward_only = forward_only,
                                 .piece_rows = 2 * N}; /* two groups */
    eng_result *result = NULL;
    tinkc_code code = eng_adapter_forward_backward(&result, s->adapter, &request, err);
    assert_int_equal(result != NULL, code == TINKC_OK);
    eng_result_free(result);
    return code;
}

/* Gradients of one request, moments of one step before. */
static void open_scene(scene *s, unsigned threads, bool with_grads)
{
    tk_err err = TK_ERR_INIT;
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    eng_adam adam = ENG_ADAM_INIT;
    double norm;
    config.rank = 2;
    *s = (scene){.owner = {.stop_at = NEVER}};
    tiny_files_init(&s->files, &tiny_qwen3);
    assert_int_equal(eng_pool_new(&s->pool, threads, &err), TINKC_OK);
    eng_pool_set_stop(s->pool, answer, &s->owner);
    s->model = tiny_open(s->pool, &s->files);
    assert_int_equal(eng_adapter_new(&s->adapter, s->model, &config, &err), TINKC_OK);
    assert_int_equal(train(s, false, &err), TINKC_OK);
    assert_int_equal(eng_adapter_optim_step(s->adapter, &adam, &norm, &err), TINKC_OK);
    if (with_grads) {
        assert_int_equal(train(s, false, &err), TINKC_OK);
    }
}

static void close_scene(scene *s)
{
    eng_adapter_free(s->adapter);
    eng_model_free(s->model);
    eng_pool_free(s->pool);
    tiny_files_dispose(&s->files);
}

/* What an adapter is. */
typedef struct state {
    eng_real *weights, *grads, *moment1, *moment2;
    uint64_t steps;
    bool has_grads;
} state;

static state state_of(const eng_adapter *a)
{
    size_t bytes = a->n * sizeof(eng_real);
    return (state){tk_memdup(a->weights, bytes),
                   tk_memdup(a->grads, bytes),
                   tk_memdup(a->moment1, bytes),
                   tk_memdup(a->moment2, bytes),
                   a->steps,
                   a->has_grads};
}

static void free_state(state *s)
{
    tk_free(s->weights);
    tk_free(s->grads);
    tk_free(s->moment1);
    tk_free(s->moment2);
}

static bool same_state(const state *s, const eng_adapter *a)
{
    size_t bytes = a->n * sizeof(eng_real);
    return memcmp(s->weights, a->weights, bytes) == 0 &&
           memcmp(s->grads, a->grads, bytes) == 0 &&
           memcmp(s->moment1, a->moment1, bytes) == 0 &&
           memcmp(s->moment2, a->moment2, bytes) == 0 && s->steps == a->steps &&
           s->has_grads == a->has_grads;
}

typedef tinkc_code (*act)(scene *s, tk_err *err);

static tinkc_code forward(scene *s, tk_err *err)
{
    return train(s, true, err);
}

static tinkc_code forward_backward(scene *s, tk_err *err)
{
    return train(s, false, err);
}

static tinkc_code step(scene *s, tk_err *err)
{
    eng_adam adam = ENG_ADAM_INIT;
    double norm;
    return eng_adapter_optim_step(s->adapter, &adam, &norm, err);
}

/* Stops at the k-th question of the act; false when it was done before. */
static bool stop_at(act what, size_t k, unsigned threads, bool with_grads)
{
    scene s;
    tk_err err = TK_ERR_INIT;
    open_scene(&s, threads, with_grads);
    state before = state_of(s.adapter);
    s.owner.stop_at = atomic_load(&s.owner.asked) + k;
    tinkc_code code = what(&s, &err);
    if (code != TINKC_OK) {
        assert_int_equal(code, TINKC_E_CANCELLED);
        assert_non_null(strstr(err.message, "nothing of it was applied"));
        assert_string_equal(err.path, "");
        assert_true(same_state(&before, s.adapter));
        /* asked once more at most, by each thread that began a piece meanwhile */
        assert_true(s.owner.asked < s.owner.stop_at + threads);
        assert_int_equal(what(&s, &err), TINKC_E_CANCELLED);
        assert_true(same_state(&before, s.adapter));
    } else {
        assert_true(s.owner.asked < s.owner.stop_at); /* it was never stopped */
    }
    free_state(&before);
    close_scene(&s);
    return code != TINKC_OK;
}

static void test_requests_leave_no_trace(void **unused)
{
    static const act acts[] = {forward, forward_backward, step};
    for (size_t a = 0; a < TK_ARRAY_LEN(acts); a++) {
        for (unsigned threads = 1; threads <= 2; threads++) {
            for (int with_grads = 0; with_grads < 2; with_grads++) {
                size_t k = 1;
                while (stop_at(acts[a], k, threads, with_grads == 1)) {
                    k += acts[a] == step ? 1 : EVERY;
                }
                assert_true(k > (acts[a] == step ? 2 : 30));
            }
        }
    }
}

/* ---- samples ---- */

#define LENGTH 3

typedef struct heard { /* of one request */
    int32_t tokens[2][LENGTH];
    size_t n[2], done;
} heard;

static void on_token(void *user, size_t sample, int32_t token, float logprob,
                     bool is_last)
{
    heard *h = user;
    h->tokens[sample][h->n[sample]++] = token;
}

static void on_done(void *user, const eng_sample_result *result, const tk_err *err)
{
    ((heard *)user)->done++;
    assert_non_null(result);
}

static void ask(eng_sampler *sampler, eng_adapter *adapter, heard *out)
{
    tk_err err = TK_ERR_INIT;
    eng_sample_request request = ENG_SAMPLE_REQUEST_INIT;
    eng_sample_listener listener = {on_token, on_done, out};
    uint64_t id;
    *out = (heard){0};
    request.adapter = adapter;
    request.prompt = tokens;
    request.n_prompt = N;
    request.max_tokens = LENGTH;
    request.num_samples = 2;
    request.has_seed = true;
    request.stop_mode = ENG_STOP_NONE;
    assert_int_equal(eng_sampler_add(sampler, &request, &listener, &id, &err), TINKC_OK);
}

/* Two requests, the second of which begins later; stopped at the k-th question. Returns
 * false when both were done before. */
static bool stop_sampling(size_t k, heard out[2])
{
    scene s;
    tk_err err = TK_ERR_INIT;
    eng_sampler *sampler = NULL;
    eng_sampler_config config = {
        .max_sequences = 3, .max_kv_bytes = (size_t)8 << 20, .prefill_chunk = 4};
    open_scene(&s, 1, false);
    assert_int_equal(eng_sampler_new(&sampler, s.model, &config, &err), TINKC_OK);
    ask(sampler, s.adapter, &out[0]);
    ask(sampler, NULL, &out[1]);
    s.owner.stop_at = k == NEVER ? NEVER : atomic_load(&s.owner.asked) + k;
    tinkc_code code = TINKC_OK;
    while (code == TINKC_OK && eng_sampler_busy(sampler)) {
        code = eng_sampler_step(sampler, &err);
    }
    if (code != TINKC_OK) {
        heard then[2] = {out[0], out[1]};
        assert_int_equal(code, TINKC_E_CANCELLED);
        assert_int_equal(s.owner.asked, s.owner.stop_at);
        assert_int_equal(eng_sampler_step(sampler, &err), TINKC_E_CANCELLED);
        assert_memory_equal(then, out, sizeof(then));
    } else {
        assert_true(s.owner.asked < s.owner.stop_at);
    }
    eng_sampler_free(sampler);
    close_scene(&s);
    return code != TINKC_OK;
}

/* Counts the tokens that were reported; they are the first ones of the whole run. */
static size_t count_first(const heard part[2], const heard whole[2])
{
    size_t n = 0;
    for (size_t r = 0; r < 2; r++) {
        for (size_t i = 0; i < 2; i++) {
            assert_memory_equal(part[r].tokens[i], whole[r].tokens[i],
                                part[r].n[i] * sizeof(int32_t));
            n += part[r].n[i];
        }
    }
    return n;
}

static void test_samples_keep_what_they_have(void **unused)
{
    heard whole[2], part[2];
    size_t k = 1, last = 0;
    assert_false(stop_sampling(NEVER, whole));
    assert_int_equal(count_first(whole, whole), 4 * LENGTH);
    assert_true(whole[0].done == 1 && whole[1].done == 1);
    for (; stop_sampling(k, part); k += EVERY) {
        size_t n = count_first(part, whole);
        assert_true(n >= last); /* a later stop never has less */
        last = n;
    }
    assert_true(k > 50);
    assert_int_equal(count_first(part, whole), 4 * LENGTH);
}

/* ---- models ---- */

static void test_opening_ends(void **unused)
{
    tiny_files files;
    tiny_files_init(&files, &tiny_llama);
    size_t k = 1;
    for (bool stopped = true; stopped; k++) {
        owner o = {.stop_at = k};
        eng_pool *pool = NULL;
        eng_model *model = NULL;
        tk_err err = TK_ERR_INIT;
        eng_model_memory memory = tiny_memory(&files);
        assert_int_equal(eng_pool_new(&pool, 1, &err), TINKC_OK);
        eng_pool_set_stop(pool, answer, &o);
        tinkc_code code = eng_model_open_memory(&model, pool, &memory, &err);
        stopped = code != TINKC_OK;
        assert_int_equal(code, stopped ? TINKC_E_CANCELLED : TINKC_OK);
        eng_model_free(model);
        eng_pool_free(pool);
    }
    assert_true(k > 10);
    tiny_files_dispose(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_piece_after_the_stop),
        cmocka_unit_test(test_requests_leave_no_trace),
        cmocka_unit_test(test_samples_keep_what_they_have),
        cmocka_unit_test(test_opening_ends),
    };
    return cmocka_run_group_tests_name("eng_stop", tests, NULL, NULL);
}
