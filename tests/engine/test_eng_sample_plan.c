/* The order in which samples run: bounded memory and preemption, order, shared pages,
 * cancelling in every state, callbacks that call back, allocation failures. */
#include "engine/support/sampling.h"

#include "engine/eng_sample_int.h"
#include "support/failmem.h"

#define VOCABULARY 50
#define MANY       12
#define LONGEST    150

typedef struct crowd {
    int32_t prompts[MANY][LONGEST];
    eng_sample_request requests[MANY];
} crowd;

static crowd c;
static reply replies[MANY], wanted[MANY];

static void crowd_init(const scene *s)
{
    for (size_t i = 0; i < MANY; i++) {
        eng_sample_request *r = &c.requests[i];
        *r = (eng_sample_request)ENG_SAMPLE_REQUEST_INIT;
        r->n_prompt = 30 + i * 10;
        fill_prompt(c.prompts[i], r->n_prompt, VOCABULARY, i);
        r->prompt = c.prompts[i];
        r->adapter = i % 3 == 0 ? NULL : s->adapters[i % 3 - 1];
        r->max_tokens = 20 + 13 * i % 90;
        r->num_samples = 1 + i % 4;
        r->has_seed = true;
        r->seed = i;
        r->stop_mode = ENG_STOP_NONE;
        r->prompt_logprobs = i % 5 == 2;
    }
}

static size_t page_bytes(const scene *s)
{
    return s->sampler->pages.page_bytes;
}

/* A sampler with another configuration on the same model. */
static void change_sampler(scene *s, size_t pages, size_t sequences, size_t chunk)
{
    tk_err err = TK_ERR_INIT;
    eng_sampler_config config = {.max_sequences = sequences,
                                 .max_kv_bytes = pages * page_bytes(s),
                                 .prefill_chunk = chunk};
    eng_sampler_free(s->sampler);
    assert_int_equal(eng_sampler_new(&s->sampler, s->model, &config, &err), TINKC_OK);
}

static int setup(void **state)
{
    static scene s;
    eng_sampler_config config = SCENE_CONFIG;
    scene_init(&s, &tiny_qwen3, 1, &config);
    crowd_init(&s);
    *state = &s;
    return 0;
}

static int teardown(void **state)
{
    scene_dispose(*state);
    return 0;
}

static void step(scene *s)
{
    tk_err err = TK_ERR_INIT;
    assert_int_equal(eng_sampler_step(s->sampler, &err), TINKC_OK);
}

static void check_same(const reply *a, const reply *b)
{
    assert_int_equal(a->done, 1);
    assert_int_equal(a->err.code, TINKC_OK);
    assert_int_equal(a->n_sequences, b->n_sequences);
    for (size_t i = 0; i < a->n_sequences; i++) {
        assert_int_equal(a->n[i], b->n[i]);
        assert_memory_equal(a->tokens[i], b->tokens[i], a->n[i] * sizeof(int32_t));
        assert_memory_equal(a->logprobs[i], b->logprobs[i], a->n[i] * sizeof(float));
    }
    assert_memory_equal(a->prompt, b->prompt, sizeof(a->prompt));
}

/* With hardly more memory than the largest request needs, samples give way to older ones
 * and are computed again: the same comes out, and the limit is never passed. */
static void test_bounded_memory(void **state)
{
    scene *s = *state;
    for (size_t i = 0; i < MANY; i++) {
        sample(s, &c.requests[i], &wanted[i]);
    }
    for (size_t pages = 4; pages <= 9; pages += 5 * TEST_TSAN_STRIDE(2)) {
        change_sampler(s, pages, 64, 33);
        for (size_t i = 0; i < MANY; i++) {
            ask(s->sampler, &c.requests[i], &replies[i]);
        }
        for (size_t i = 0; eng_sampler_busy(s->sampler); i++) {
            step(s);
            assert_true(s->sampler->pages.held <= pages);
            assert_true(s->sampler->pages.allocated <= pages);
            assert_true(i < 20000);
        }
        for (size_t i = 0; i < MANY; i++) {
            check_same(&replies[i], &wanted[i]);
        }
    }
}

/* 64 positions and the token drawn from the last of them are all that one page holds. */
static void test_never_fits(void **state)
{
    scene *s = *state;
    tk_err err = TK_ERR_INIT;
    change_sampler(s, 1, 4, 512);
    eng_sample_request *r = &c.requests[0];
    r->n_prompt = 30;
    r->max_tokens = 36;
    assert_int_equal(try_ask(s->sampler, r, &replies[0], &err), TINKC_E_LIMIT);
    assert_non_null(strstr(err.message, "30 + 36"));
    r->max_tokens = 35;
    sample(s, r, &replies[0]);
    assert_int_equal(replies[0].n[0], 35);
    r->max_tokens = 0; /* as far as it goes */
    sample(s, r, &replies[0]);
    assert_int_equal(replies[0].n[0], 35);
    r->prompt = c.prompts[5];
    r->n_prompt = 65;
    tk_err_clear(&err);
    assert_int_equal(try_ask(s->sampler, r, &replies[0], &err), TINKC_E_LIMIT);
}

/* One at a time: they end in the order in which they came. */
static void test_order(void **state)
{
    scene *s = *state;
    change_sampler(s, 64, 1, 16);
    for (size_t i = 0; i < MANY; i++) {
        ask(s->sampler, &c.requests[i], &replies[i]);
    }
    size_t next = 0;
    while (eng_sampler_busy(s->sampler)) {
        step(s);
        while (next < MANY && replies[next].done == 1) {
            next++;
        }
        for (size_t i = next; i < MANY; i++) {
            assert_int_equal(replies[i].done, 0);
        }
    }
}

/* Samples that hold keys and values. */
static size_t holders(const eng_sampler *sampler)
{
    size_t n = 0;
    for (tk_list *at = sampler->jobs.next; at != &sampler->jobs; at = at->next) {
        const eng_sample_job *job = TK_CONTAINER_OF(at, eng_sample_job, node);
        for (size_t i = 0; i < eng_sample_count(job); i++) {
            n += job->samples[i].n_pages > 0;
        }
    }
    return n;
}

/* Tokens of prompts that the next steps have to compute. */
static size_t prompt_left(const eng_sampler *sampler)
{
    size_t n = 0;
    for (tk_list *at = sampler->jobs.next; at != &sampler->jobs; at = at->next) {
        const eng_sample_job *job = TK_CONTAINER_OF(at, eng_sample_job, node);
        for (size_t i = 0; i < eng_sample_count(job); i++) {
            const eng_sample *one = &job->samples[i];
            n += one->finished ? 0 : eng_sample_length(job, one) - one->done - 1;
        }
    }
    return n;
}

/* Samples hold one copy of a prompt; each writes into a copy of its last block. */
static void test_shared_pages(void **state)
{
    scene *s = *state;
    eng_sample_request *r = &c.requests[7]; /* 100 tokens: a block and a part */
    r->num_samples = 6;
    r->max_tokens = 20;
    ask(s->sampler, r, &replies[0]);
    step(s);
    assert_int_equal(s->sampler->pages.held, 2);
    step(s);
    assert_int_equal(s->sampler->pages.held, 1 + 6);
    assert_int_equal(holders(s->sampler), 6);
    assert_int_equal(prompt_left(s->sampler), 0);
    finish_all(s->sampler);
    assert_int_equal(s->sampler->pages.held, 0);
}

/* A prompt is computed in chunks while others go on decoding. */
static void test_chunks(void **state)
{
    scene *s = *state;
    change_sampler(s, 64, 64, 10);
    ask(s->sampler, &c.requests[0], &replies[0]); /* 30 tokens */
    for (size_t left = 30; left > 10; left -= 10) {
        step(s);
        assert_int_equal(prompt_left(s->sampler), left - 10 - 1);
        assert_int_equal(replies[0].streamed[0], 0);
    }
    step(s);
    assert_int_equal(replies[0].streamed[0], 1);
    ask(s->sampler, &c.requests[7], &replies[1]);
    for (size_t i = 2; i < 10; i++) {
        step(s);
        assert_int_equal(replies[0].streamed[0], i);
        assert_int_equal(replies[1].streamed[0], 0);
    }
    finish_all(s->sampler);
}

/* What was not used for longest goes first, the ends of chains before their
 * beginnings. */
static void test_least_recently_used(void **state)
{
    scene *s = *state;
    static reply r;
    change_sampler(s, 4, 4, 512);
    c.requests[10].max_tokens = c.requests[11].max_tokens = c.requests[9].max_tokens = 1;
    c.requests[10].num_samples = c.requests[11].num_samples = 1;
    c.requests[9].num_samples = 1;
    sample(s, &c.requests[10], &r); /* 130 tokens: two full blocks */
    sample(s, &c.requests[9], &r);  /* 120: one */
    sample(s, &c.requests[10], &r);
    assert_int_equal(r.hits, 128);
    sample(s, &c.requests[11], &r); /* 140: three pages, so two of the four must go */
    assert_int_equal(r.hits, 0);
    sample(s, &c.requests[9], &r);
    assert_int_equal(r.hits, 0);
    sample(s, &c.requests[10], &r);
    assert_true(r.hits < 128);
}

/* ---- cancelling ---- */

static void check_empty(const scene *s)
{
    assert_false(eng_sampler_busy(s->sampler));
    assert_int_equal(s->sampler->pages.held, 0);
}

/* After k steps: waiting, in the prompt, decoding; no callback comes after it. */
static void test_cancel_in_every_state(void **state)
{
    scene *s = *state;
    for (size_t steps = 0; steps < 40; steps += TEST_TSAN_STRIDE(7)) {
        change_sampler(s, 5, 3, 32);
        for (size_t i = 0; i < 4; i++) {
            ask(s->sampler, &c.requests[i + 6], &replies[i]);
        }
        for (size_t i = 0; i < steps; i++) {
            step(s);
        }
        eng_sampler_cancel(s->sampler, replies[3].id);
        size_t cancelled = steps % 3;
        size_t done = replies[cancelled].done;
        eng_sampler_cancel(s->sampler, replies[cancelled].id);
        eng_sampler_cancel(s->sampler, 12345);
        finish_all(s->sampler);
        assert_int_equal(replies[3].done, 0);
        assert_int_equal(replies[cancelled].done, done);
        for (size_t i = 0; i < 3; i++) {
            assert_true(i == cancelled || replies[i].done == 1);
        }
        check_empty(s);
    }
}

typedef struct meddler {
    scene *s;
    uint64_t victim;
    const eng_sample_request *next;
    size_t tokens, done;
    tinkc_code step_code;
} meddler;

static void meddle_token(void *user, size_t sample, int32_t token, float logprob,
                         bool is_last)
{
    meddler *m = user;
    if (++m->tokens == 3) {
        eng_sampler_cancel(m->s->sampler, m->victim);
    }
}

static void meddle_done(void *user, const eng_sample_result *result, const tk_err *err)
{
    meddler *m = user;
    m->done++;
    m->step_code = eng_sampler_step(m->s->sampler, NULL);
    if (m->victim != 0) {
        eng_sampler_cancel(m->s->sampler, m->victim);
    }
    if (m->next != NULL) {
        ask(m->s->sampler, m->next, &replies[5]);
        m->next = NULL;
    }
}

static uint64_t ask_meddler(meddler *m, const eng_sample_request *request)
{
    uint64_t id = 0;
    eng_sample_listener listener = {meddle_token, meddle_done, m};
    assert_int_equal(eng_sampler_add(m->s->sampler, request, &listener, &id, NULL),
                     TINKC_OK);
    return id;
}

/* A request that cancels itself from its third token ends there. */
static void test_cancel_itself(void **state)
{
    meddler m = {.s = *state};
    c.requests[2].num_samples = 8; /* the third token is one of the first step */
    m.victim = ask_meddler(&m, &c.requests[2]);
    finish_all(m.s->sampler);
    assert_int_equal(m.tokens, 3);
    assert_int_equal(m.done, 0);
    check_empty(m.s);
}

/* on_done adds a request and cancels another, before and after it; it cannot step. */
static void test_callbacks_call_back(void **state)
{
    scene *s = *state;
    for (size_t before = 0; before < 2; before++) {
        meddler m = {.s = s, .next = &c.requests[4], .tokens = 100};
        c.requests[1].max_tokens = 5;
        c.requests[3].max_tokens = 5; /* over in the same step */
        c.requests[1].num_samples = c.requests[3].num_samples = 1;
        if (before == 0) {
            ask(s->sampler, &c.requests[3], &replies[3]);
        }
        (void)ask_meddler(&m, &c.requests[1]);
        ask(s->sampler, &c.requests[6], &replies[4]);
        m.victim = replies[4].id;
        finish_all(s->sampler);
        assert_int_equal(m.done, 1);
        assert_int_equal(m.step_code, TINKC_E_STATE);
        assert_int_equal(replies[4].done, 0);
        assert_int_equal(replies[5].done, 1);
        check_empty(s);
    }
}

/* Freeing the sampler drops what runs, without a callback; the adapter outlives its
 * owner. */
static void test_free_while_running(void **state)
{
    scene *s = *state;
    eng_adapter *adapter = make_adapter(s->model, 2, 5);
    c.requests[1].adapter = adapter;
    for (size_t i = 0; i < 4; i++) {
        ask(s->sampler, &c.requests[i], &replies[i]);
    }
    eng_adapter_free(adapter);
    step(s);
    step(s);
    change_sampler(s, 8, 8, 8);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(replies[i].done, 0);
    }
    check_empty(s);
}

/* ---- allocation failures ---- */

typedef struct small {
    tiny_files files;
    eng_sample_request requests[3];
    reply replies[3];
} small;

static bool run_small(small *t, eng_sampler *sampler)
{
    bool all = true;
    for (size_t i = 0; i < 3; i++) {
        tk_err err = TK_ERR_INIT;
        all &= try_ask(sampler, &t->requests[i], &t->replies[i], &err) == TINKC_OK;
        assert_true(err.code == TINKC_OK || err.code == TINKC_E_NOMEM);
    }
    finish_all(sampler);
    size_t failed = 0;
    for (size_t i = 0; i < 3; i++) {
        failed += t->replies[i].done == 1 && t->replies[i].err.code != TINKC_OK;
        assert_true(t->replies[i].done <= 1);
        assert_true(t->replies[i].done == 1 || !all);
    }
    assert_true(failed <= 1); /* whichever sample failed, the others go on */
    assert_int_equal(sampler->pages.held, 0);
    return all && failed == 0;
}

static bool scenario(void *user)
{
    small *t = user;
    eng_pool *pool = NULL;
    eng_model *model = NULL;
    eng_adapter *adapter = NULL;
    eng_sampler *sampler = NULL;
    eng_lora_config lora = ENG_LORA_CONFIG_INIT;
    lora.rank = 2;
    eng_model_memory memory = tiny_memory(&t->files);
    eng_sampler_config config = SCENE_CONFIG;
    config.max_kv_bytes = 64 * 1024;
    config.prefill_chunk = 40;
    bool ok = eng_pool_new(&pool, 1, NULL) == TINKC_OK &&
              eng_model_open_memory(&model, pool, &memory, NULL) == TINKC_OK &&
              eng_adapter_new(&adapter, model, &lora, NULL) == TINKC_OK &&
              eng_sampler_new(&sampler, model, &config, NULL) == TINKC_OK;
    if (ok) {
        t->requests[1].adapter = adapter;
        ok = run_small(t, sampler);
    }
    eng_sampler_free(sampler);
    eng_adapter_free(adapter);
    eng_model_free(model);
    eng_pool_free(pool);
    return ok;
}

/* Not failmem_sweep: a failure may be survived (a batch that did not fit is run in two
 * halves), and then the results must be the same. */
static void test_allocation_sweep(void **unused)
{
    static small t;
    static int32_t prompts[3][90], targets[90], stop = 49;
    static size_t starts[90];
    tiny_files_init(&t.files, &tiny_llama);
    for (size_t i = 0; i < 3; i++) {
        eng_sample_request *r = &t.requests[i];
        *r = (eng_sample_request)ENG_SAMPLE_REQUEST_INIT;
        fill_prompt(prompts[i], 90, tiny_llama.vocabulary, i);
        r->prompt = prompts[i];
        r->n_prompt = 30 * (i + 1);
        r->max_tokens = 18;
        r->num_samples = 1 + i;
        r->stop_mode = i == 1 ? ENG_STOP_LISTED : ENG_STOP_NONE;
        stop = 1;
        r->stop_tokens = &stop;
        r->n_stop_tokens = 1;
        r->topk_prompt_logprobs = i;
        r->topk_sample_logprobs = i;
        r->prompt_alt_tokens = i;
        r->has_seed = true;
    }
    for (size_t i = 0; i < 90; i++) {
        targets[i] = (int32_t)(i % tiny_llama.vocabulary);
        starts[i] = i;
    }
    t.requests[1].targets = targets;
    t.requests[1].target_starts = starts;
    failmem_start();
    bool ok = scenario(&t);
    size_t points = failmem_count(), survived = 0;
    assert_int_equal(failmem_stop(), 0);
    assert_true(ok);
    memcpy(replies, t.replies, sizeof(t.replies));
    /* sanitizer builds allocate each piece alone */
    size_t stride = (points / 200 + 1) * TEST_TSAN_STRIDE(7);
    for (size_t n = 1; n <= points; n += stride) {
        failmem_start();
        failmem_fail_at(n);
        ok = scenario(&t);
        assert_int_equal(failmem_stop(), 0);
        for (size_t i = 0; ok && i < 3; i++) {
            check_same(&t.replies[i], &replies[i]);
        }
        survived += ok;
    }
    print_message("sweep: %zu allocation points, %zu survived\n", points, survived);
    assert_true(points > 50 && survived < points / 2);
    tiny_files_dispose(&t.files);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_bounded_memory),
        T(test_never_fits),
        T(test_order),
        T(test_shared_pages),
        T(test_chunks),
        T(test_least_recently_used),
        T(test_cancel_in_every_state),
        T(test_cancel_itself),
        T(test_callbacks_call_back),
        T(test_free_while_running),
        cmocka_unit_test(test_allocation_sweep),
    };
    return cmocka_run_group_tests_name("eng_sample_plan", tests, NULL, NULL);
}
