/* What the prefix cache gives: random trees of requests bring, bit for bit, what each of
 * them brings in a sampler of its own, with much memory and with little; how much is found,
 * what is kept and what gives way. */
#include "engine/support/sampling.h"

#include <math.h>

#include "engine/eng_sample_int.h"

#define VOCABULARY 50
#define NODES      48
#define AT_ONCE    6 /* divides NODES */
#define LONGEST    230

typedef struct node { /* a request and what it brought */
    int32_t prompt[LONGEST];
    eng_sample_request request;
    reply got, want;
} node;

static scene s;
static node nodes[NODES];
static eng_rng rng;

static size_t below(size_t n)
{
    return (size_t)(eng_rng_unit(&rng) * (double)n);
}

static void new_sampler(size_t pages, size_t chunk)
{
    tk_err err = TK_ERR_INIT;
    size_t bytes = s.sampler->pages.page_bytes;
    eng_sampler_config config = {
        .max_sequences = 5, .max_kv_bytes = pages * bytes, .prefill_chunk = chunk};
    eng_sampler_free(s.sampler);
    assert_int_equal(eng_sampler_new(&s.sampler, s.model, &config, &err), TINKC_OK);
}

/* A conversation that goes on: all or a part of what another request ended with, and some
 * tokens more. The first ones begin with nothing. */
static void grow_prompt(node *to, size_t ready)
{
    size_t n = 0, more = 1 + below(ready == 0 ? 120 : 40);
    if (ready > 0 && below(8) > 0) {
        const node *from = &nodes[below(ready)];
        size_t which = below(from->got.n_sequences), p = from->request.n_prompt;
        n = TK_MIN(p + from->got.n[which], (size_t)LONGEST - 40);
        for (size_t i = 0; i < n; i++) {
            to->prompt[i] = i < p ? from->prompt[i] : from->got.tokens[which][i - p];
        }
        n = below(3) > 0 ? n : 1 + below(n);
    }
    for (size_t i = 0; i < more; i++) {
        to->prompt[n + i] = (int32_t)below(VOCABULARY);
    }
    to->request.n_prompt = n + more;
}

static void grow(node *to, size_t ready)
{
    static const double temperatures[] = {1, 1, 0, 0.7};
    eng_sample_request *r = &to->request;
    *r = (eng_sample_request)ENG_SAMPLE_REQUEST_INIT;
    grow_prompt(to, ready);
    r->prompt = to->prompt;
    size_t weights = below(4);
    r->adapter = weights < 2 ? NULL : s.adapters[weights - 2];
    r->max_tokens = 1 + below(30);
    r->num_samples = 1 + below(3);
    r->temperature = temperatures[below(4)];
    r->has_seed = true;
    r->seed = below(1000);
    r->stop_mode = ENG_STOP_NONE;
    r->prompt_logprobs = below(2) > 0;
    if (r->prompt_logprobs && r->n_prompt > 2 && below(3) == 0) {
        r->prompt_logprobs_last_n = 1 + below(r->n_prompt - 1);
    }
    r->topk_prompt_logprobs = r->prompt_logprobs && below(4) == 0 ? 3 : 0;
    r->prompt_alt_tokens = below(12) == 0 ? 2 : 0;
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
    assert_memory_equal(a->top_ids, b->top_ids, sizeof(a->top_ids));
    assert_memory_equal(a->top, b->top, sizeof(a->top));
    assert_memory_equal(a->alt, b->alt, sizeof(a->alt));
    assert_memory_equal(a->alt_logprobs, b->alt_logprobs, sizeof(a->alt_logprobs));
}

/* Grows the tree AT_ONCE requests at a time; some are cancelled on the way. Returns the
 * positions that were found. */
static size_t run_tree(size_t pages, size_t chunk)
{
    size_t hits = 0;
    new_sampler(pages, chunk);
    for (size_t first = 0; first < NODES; first += AT_ONCE) {
        for (size_t i = first; i < first + AT_ONCE; i++) {
            static reply lost;
            grow(&nodes[i], first);
            ask(s.sampler, &nodes[i].request, &nodes[i].got);
            if (below(4) == 0) {
                tk_err err = TK_ERR_INIT;
                ask(s.sampler, &nodes[i].request, &lost);
                assert_int_equal(eng_sampler_step(s.sampler, &err), TINKC_OK);
                eng_sampler_cancel(s.sampler, lost.id);
            }
        }
        while (eng_sampler_busy(s.sampler)) {
            tk_err err = TK_ERR_INIT;
            assert_int_equal(eng_sampler_step(s.sampler, &err), TINKC_OK);
            assert_true(s.sampler->pages.held <= pages);
            assert_true(s.sampler->pages.allocated <= pages);
        }
        assert_int_equal(s.sampler->pages.held, 0);
        for (size_t i = first; i < first + AT_ONCE; i++) {
            hits += nodes[i].got.hits;
        }
    }
    return hits;
}

/* Little memory: pages are evicted, copied ones are refused, samples give way. */
static void test_trees_have_the_bits_of_fresh_runs(void **state)
{
    static const size_t pages[] = {500, 12, 5}, chunks[] = {512, 50, 7};
    size_t hits[3] = {0}, prompts = 0;
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        eng_rng_init(&rng, 100 + i, 1);
        hits[i % 3] += run_tree(pages[i % 3], chunks[i / 3 + i % 2]);
        for (size_t k = 0; k < NODES; k++) {
            new_sampler(500, 512);
            sample(&s, &nodes[k].request, &nodes[k].want);
            assert_int_equal(nodes[k].want.hits, 0);
            check_same(&nodes[k].got, &nodes[k].want);
            prompts += nodes[k].request.n_prompt;
        }
    }
    assert_true(hits[0] > prompts / 3 / 4 && hits[2] > 0 && hits[2] < hits[0]);
}

/* ---- what is found ---- */

static void plain(eng_sample_request *r, int32_t *prompt, size_t n)
{
    *r = (eng_sample_request)ENG_SAMPLE_REQUEST_INIT;
    fill_prompt(prompt, n, VOCABULARY, 3);
    r->prompt = prompt;
    r->n_prompt = n;
    r->max_tokens = 10;
    r->has_seed = true;
    r->stop_mode = ENG_STOP_NONE;
}

/* The next turn computes what is new, and the last token that was drawn. */
static void test_a_turn_costs_what_is_new(void **state)
{
    static reply r;
    static int32_t prompt[LONGEST];
    eng_sample_request request;
    (void)state;
    new_sampler(100, 512);
    plain(&request, prompt, 100);
    for (size_t turn = 0, known = 0; turn < 6; turn++) {
        sample(&s, &request, &r);
        assert_int_equal(r.hits, known);
        known = request.n_prompt + 9;
        memcpy(prompt + request.n_prompt, r.tokens[0], 10 * sizeof(int32_t));
        request.n_prompt += 10 + 5; /* what is after that is there from fill_prompt */
    }
    /* a full page for each 64 positions, and one for the end: shorter ends were given back */
    const eng_pages *p = &s.sampler->pages;
    size_t unused = 0;
    for (const tk_list *at = p->unused.next; at != &p->unused; at = at->next) {
        unused++;
    }
    assert_int_equal(unused, 3);
}

/* Fewer positions are not worth a page. */
static void test_short_beginnings_are_not_copied(void **state)
{
    static reply r;
    static int32_t prompt[LONGEST];
    eng_sample_request request;
    (void)state;
    new_sampler(100, 512);
    plain(&request, prompt, 40);
    sample(&s, &request, &r);
    for (size_t same = ENG_PAGES_ALIKE - 1; same <= ENG_PAGES_ALIKE; same++) {
        prompt[same] = (prompt[same] + 1) % VOCABULARY;
        sample(&s, &request, &r);
        assert_int_equal(r.hits, same < ENG_PAGES_ALIKE ? 0 : same);
        prompt[same] = (prompt[same] + VOCABULARY - 1) % VOCABULARY;
    }
}

/* Positions that are found of n tokens whose log-probabilities pages know. */
static size_t known(size_t n)
{
    size_t rest = n % ENG_KV_BLOCK;
    return n - 1 - (rest < ENG_PAGES_ALIKE ? rest : 0);
}

/* Log-probabilities that were computed for a prompt, or drawn at T = 1, are not computed
 * again: of a prompt that is known only the last position is. */
static void test_known_logprobs(void **state)
{
    static reply first, again, fresh;
    static int32_t prompt[LONGEST];
    eng_sample_request request;
    (void)state;
    for (size_t n = 60; n <= 140; n++) {
        new_sampler(100, 512);
        plain(&request, prompt, n);
        sample(&s, &request, &first);
        request.prompt_logprobs = true;
        sample(&s, &request, &first); /* not known by now */
        assert_int_equal(first.hits, 0);
        sample(&s, &request, &again);
        assert_int_equal(again.hits, known(n));
        check_same(&again, &first);
        memcpy(prompt + n, first.tokens[0], 10 * sizeof(int32_t));
        request.n_prompt = n + 10;
        sample(&s, &request, &again); /* the last one drawn is nowhere */
        assert_int_equal(again.hits, known(n + 9));
        assert_memory_equal(again.prompt + n, first.logprobs[0], 10 * sizeof(float));
        prompt[70] = (prompt[70] + 1) % VOCABULARY;
        sample(&s, &request, &again);
        assert_int_equal(again.hits, known(TK_MIN(n + 10, (size_t)70)));
        new_sampler(100, 512);
        sample(&s, &request, &fresh);
        check_same(&again, &fresh);
    }
}

/* At another temperature the numbers are not those of a prompt; tables need the logits. */
static void test_logprobs_that_pages_do_not_know(void **state)
{
    static reply r;
    static int32_t prompt[LONGEST];
    eng_sample_request request;
    (void)state;
    new_sampler(100, 512);
    plain(&request, prompt, 30);
    request.prompt_logprobs = true;
    request.temperature = 0.7;
    request.max_tokens = 20;
    sample(&s, &request, &r);
    memcpy(prompt + 30, r.tokens[0], 20 * sizeof(int32_t));
    request.n_prompt = 50;
    request.temperature = 1;
    sample(&s, &request, &r);
    assert_int_equal(r.hits, 29); /* the token at 30 is scored: from the one before it */
    request.topk_prompt_logprobs = 2;
    sample(&s, &request, &r);
    assert_int_equal(r.hits, 0);
}

/* ---- pages ---- */

static eng_page *full_page(eng_pages *p, int32_t *tokens, eng_page_key *key)
{
    eng_page *page = eng_pages_take(p);
    assert_non_null(page);
    *key = (eng_page_key){1, 0, tokens, ENG_KV_BLOCK};
    return page;
}

/* Thousands of pages that begin alike: a look at some of them has to do, and what was used
 * last is among those. All are given back. */
static void test_many_alike(void **state)
{
    enum { MANY = 2000 };
    static int32_t tokens[ENG_KV_BLOCK];
    eng_pages p;
    eng_page_key key;
    tk_err err = TK_ERR_INIT;
    size_t n;
    (void)state;
    size_t bytes = s.sampler->pages.page_bytes;
    assert_int_equal(eng_pages_init(&p, &s.model->config, MANY * bytes, &err), TINKC_OK);
    for (int32_t i = 0; i < 2 * MANY; i++) {
        tokens[20] = i;
        eng_page *page = full_page(&p, tokens, &key);
        assert_ptr_equal(eng_pages_publish(&p, page, &key), page);
        eng_pages_release(&p, page);
        key.n = 40;
        page = eng_pages_find_alike(&p, &key, &n);
        assert_int_equal(n, 40);
        eng_pages_release(&p, page);
    }
    assert_int_equal(p.allocated, MANY);
    tokens[20] = -1;
    eng_page *page = eng_pages_find_alike(&p, &key, &n);
    assert_int_equal(n, 20);
    eng_pages_release(&p, page);
    eng_pages_dispose(&p);
}

static int setup(void **state)
{
    eng_sampler_config config = SCENE_CONFIG;
    (void)state;
    scene_init(&s, &tiny_qwen3, 2, &config);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scene_dispose(&s);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trees_have_the_bits_of_fresh_runs),
        cmocka_unit_test(test_a_turn_costs_what_is_new),
        cmocka_unit_test(test_short_beginnings_are_not_copied),
        cmocka_unit_test(test_known_logprobs),
        cmocka_unit_test(test_logprobs_that_pages_do_not_know),
        cmocka_unit_test(test_many_alike),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
