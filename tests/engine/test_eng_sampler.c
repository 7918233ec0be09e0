/* Sampling semantics: what ends a sample, what is refused, prompt log-probabilities,
 * shared prefills, the prefix cache. Bits are in test_eng_sample_bits, draws in
 * test_eng_draw. */
#include "engine/support/sampling.h"

#include <math.h>

#include "engine/eng_sample_int.h"

#define PROMPT 70

typedef struct fixture {
    scene s;
    int32_t prompt[PROMPT];
    eng_sample_request request;
} fixture;

/* Token 5 is "ab", 6 is "bc", others are one letter; 49 has no bytes. */
static bool letters(void *user, int32_t token, tk_str *out)
{
    static const char alphabet[] = "defghijklmnopqrstuvwxyzDEFGHIJKLMNOPQRSTUVWXYZ0123";
    *out = token == 5 ? TK_STR("ab") : token == 6 ? TK_STR("bc") : TK_STR("?");
    if (token != 5 && token != 6 && token < 49) {
        *out = (tk_str){&alphabet[token], 1};
    }
    return token != 49;
}

static int setup(void **state)
{
    static fixture f;
    eng_sampler_config config = SCENE_CONFIG;
    config.token_bytes = letters;
    scene_init(&f.s, &tiny_qwen3, 1, &config);
    fill_prompt(f.prompt, PROMPT, 50, 1);
    f.request = (eng_sample_request)ENG_SAMPLE_REQUEST_INIT;
    f.request.prompt = f.prompt;
    f.request.n_prompt = PROMPT;
    f.request.max_tokens = 40;
    f.request.has_seed = true;
    f.request.seed = 11;
    f.request.stop_mode = ENG_STOP_NONE;
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    assert_false(eng_sampler_busy(f->s.sampler));
    assert_int_equal(f->s.sampler->pages.held, 0);
    scene_dispose(&f->s);
    return 0;
}

static reply r1, r2;

/* The limit ends a sample, and no stop is reported. */
static void test_ends_at_max_tokens(void **state)
{
    fixture *f = *state;
    sample(&f->s, &f->request, &r1);
    assert_int_equal(r1.n_sequences, 1);
    assert_int_equal(r1.n[0], 40);
    assert_false(r1.stopped[0]);
    assert_false(r1.has_prompt);
    assert_false(r1.has_topk);
}

/* Without max_tokens the context (512) is filled. */
static void test_ends_with_the_context(void **state)
{
    fixture *f = *state;
    static int32_t prompt[300];
    fill_prompt(prompt, 300, 50, 2);
    f->request.prompt = prompt;
    f->request.n_prompt = 300;
    f->request.max_tokens = 0;
    sample(&f->s, &f->request, &r1);
    assert_int_equal(r1.n[0], 212);
    assert_false(r1.stopped[0]);
}

/* Where `token` first occurs in the reply. */
static size_t index_of(const reply *r, int32_t token)
{
    size_t i = 0;
    while (i < r->n[0] && r->tokens[0][i] != token) {
        i++;
    }
    return i;
}

/* The EOS ids of the tiny model are 2 and 3. */
static size_t first_eos(const reply *r)
{
    return TK_MIN(index_of(r, 2), index_of(r, 3));
}

/* EOS stops, is part of the output, and does not under ENG_STOP_NONE. */
static void test_eos_stops_and_is_kept(void **state)
{
    fixture *f = *state;
    f->request.max_tokens = 300;
    sample(&f->s, &f->request, &r1);
    size_t at = first_eos(&r1);
    assert_true(at < r1.n[0]);
    assert_int_equal(r1.n[0], 300);
    f->request.stop_mode = ENG_STOP_EOS;
    sample(&f->s, &f->request, &r2);
    assert_int_equal(r2.n[0], at + 1);
    assert_true(r2.stopped[0]);
    assert_memory_equal(r1.tokens[0], r2.tokens[0], (at + 1) * sizeof(int32_t));
    assert_memory_equal(r1.logprobs[0], r2.logprobs[0], (at + 1) * sizeof(float));
    f->request.stop_mode = ENG_STOP_LISTED; /* EOS ends those, too */
    sample(&f->s, &f->request, &r2);
    assert_int_equal(r2.n[0], at + 1);
}

/* Only what is listed stops it: the end of the text goes by. */
static void test_only_listed_stops(void **state)
{
    fixture *f = *state;
    f->request.max_tokens = 300;
    sample(&f->s, &f->request, &r1);
    size_t end = first_eos(&r1), at = end + 1;
    while (at < r1.n[0] && index_of(&r1, r1.tokens[0][at]) < at) {
        at++;
    }
    assert_true(at < r1.n[0]); /* a token that is new behind the end */
    int32_t stop = r1.tokens[0][at];
    f->request.stop_mode = ENG_STOP_ONLY_LISTED;
    f->request.stop_tokens = &stop;
    f->request.n_stop_tokens = 1;
    sample(&f->s, &f->request, &r2);
    assert_int_equal(r2.n[0], at + 1);
    assert_true(r2.stopped[0]);
    f->request.stop_mode = ENG_STOP_LISTED;
    sample(&f->s, &f->request, &r2);
    assert_int_equal(r2.n[0], end + 1);
}

/* A stop token at the very limit is a stop. */
static void test_stop_token_at_the_limit(void **state)
{
    fixture *f = *state;
    sample(&f->s, &f->request, &r1);
    size_t at = 0; /* the first token that is new at its place, before any EOS */
    while (index_of(&r1, r1.tokens[0][at]) < at || at < 4) {
        at++;
    }
    assert_true(at < first_eos(&r1));
    int32_t stop = r1.tokens[0][at];
    f->request.stop_mode = ENG_STOP_LISTED;
    f->request.stop_tokens = &stop;
    f->request.n_stop_tokens = 1;
    sample(&f->s, &f->request, &r2);
    assert_int_equal(r2.n[0], at + 1);
    assert_true(r2.stopped[0]);
    assert_int_equal(r2.tokens[0][at], stop);
    f->request.max_tokens = at + 1;
    sample(&f->s, &f->request, &r2);
    assert_int_equal(r2.n[0], at + 1);
    assert_true(r2.stopped[0]);
}

/* Text of a reply, and how many tokens it takes until it contains `stop`. */
static size_t tokens_until(const reply *r, const char *stop)
{
    static char text[1024];
    size_t n = 0;
    for (size_t i = 0; i < r->n[0]; i++) {
        tk_str bytes;
        if (letters(NULL, r->tokens[0][i], &bytes)) {
            memcpy(text + n, bytes.p, bytes.n);
            n += bytes.n;
        }
        text[n] = '\0';
        if (strstr(text, stop) != NULL) {
            return i + 1;
        }
    }
    return 0;
}

static void check_stop_string(fixture *f, const char *stop)
{
    tk_str stops[] = {TK_STR("never there"), tk_str_of(stop)};
    size_t want = tokens_until(&r1, stop);
    assert_true(want > 0 && want <= first_eos(&r1));
    f->request.stop_mode = ENG_STOP_LISTED;
    f->request.stop_strings = stops;
    f->request.n_stop_strings = 2;
    sample(&f->s, &f->request, &r2);
    assert_int_equal(r2.n[0], want);
    assert_true(r2.stopped[0]);
}

/* A stop string across tokens; the token that completes it is kept whole. */
static void test_stop_strings(void **state)
{
    fixture *f = *state;
    char stop[8];
    for (f->request.seed = 0;; f->request.seed++) { /* one with an a-b pair before EOS */
        f->request.stop_mode = ENG_STOP_NONE;
        sample(&f->s, &f->request, &r1);
        size_t at = index_of(&r1, 5);
        if (at > 0 && at + 1 < first_eos(&r1) && r1.tokens[0][at - 1] != 5 &&
            r1.tokens[0][at - 1] < 49) {
            tk_str before;
            assert_true(letters(NULL, r1.tokens[0][at - 1], &before));
            stop[0] = before.p[before.n - 1];
            break;
        }
        assert_true(f->request.seed < 500);
    }
    stop[1] = 'a'; /* ends inside token 5, "ab" */
    stop[2] = '\0';
    check_stop_string(f, stop);
    check_stop_string(f, "a");
    stop[2] = 'b';
    stop[3] = '\0';
    check_stop_string(f, stop);
}

/* Pieces of the text itself and others, also across tokens, one of them the first to be
 * complete: the sample ends with the token that a plain search over all text names. */
static void test_stop_strings_end_where_a_search_does(void **state)
{
    fixture *f = *state;
    size_t ended = 0;
    for (f->request.seed = 0; f->request.seed < 60; f->request.seed++) {
        char text[2 * REPLY_TOKENS + 1] = "", stops[4][8];
        size_t n = 0, want = 0;
        f->request.stop_mode = ENG_STOP_NONE;
        sample(&f->s, &f->request, &r1);
        for (size_t i = 0; i < r1.n[0]; i++) {
            tk_str bytes;
            if (letters(NULL, r1.tokens[0][i], &bytes)) {
                memcpy(text + n, bytes.p, bytes.n);
                n += bytes.n;
            }
        }
        tk_str strings[4];
        for (size_t i = 0; i < 4; i++) {
            size_t length = 1 + (f->request.seed + i) % 5;
            size_t at = (f->request.seed * 7 + i * 11) % (n - length);
            memcpy(stops[i], text + at, length);
            stops[i][length] = '\0';
            stops[i][0] = i == 3 ? '#' : stops[i][0]; /* never there */
            strings[i] = tk_str_of(stops[i]);
            size_t end = tokens_until(&r1, stops[i]);
            want = end > 0 && (want == 0 || end < want) ? end : want;
        }
        size_t eos = TK_MIN(first_eos(&r1) + 1, r1.n[0]);
        f->request.stop_mode = ENG_STOP_LISTED;
        f->request.stop_strings = strings;
        f->request.n_stop_strings = 4;
        sample(&f->s, &f->request, &r2);
        assert_int_equal(r2.n[0], TK_MIN(want, eos));
        assert_memory_equal(r1.tokens[0], r2.tokens[0], r2.n[0] * sizeof(int32_t));
        ended += want < eos;
    }
    assert_true(ended > 30);
}

/* Ids in any order, some twice. */
static void test_many_stop_tokens(void **state)
{
    fixture *f = *state;
    for (size_t first = 0; first < 50; first += 7) {
        int32_t ids[40];
        for (size_t i = 0; i < TK_ARRAY_LEN(ids); i++) {
            ids[i] = (int32_t)((first + i * 31) % 25 + (i % 3 == 0 ? 25 : 0));
        }
        f->request.stop_mode = ENG_STOP_NONE;
        sample(&f->s, &f->request, &r1);
        size_t want = 0;
        for (size_t i = 0; i < r1.n[0] && want == 0; i++) {
            for (size_t k = 0; k < TK_ARRAY_LEN(ids); k++) {
                want = ids[k] == r1.tokens[0][i] ? i + 1 : want;
            }
        }
        f->request.stop_mode = ENG_STOP_LISTED;
        f->request.stop_tokens = ids;
        f->request.n_stop_tokens = TK_ARRAY_LEN(ids);
        sample(&f->s, &f->request, &r2);
        assert_true(want > 0);
        assert_int_equal(r2.n[0], TK_MIN(want, first_eos(&r1) + 1));
        f->request.seed++;
    }
}

/* Same seed, same tokens; samples use seed + i and share one prefill. */
static void test_seeds(void **state)
{
    fixture *f = *state;
    f->request.num_samples = 5;
    sample(&f->s, &f->request, &r1);
    assert_int_equal(r1.n_sequences, 5);
    f->request.num_samples = 1;
    for (size_t i = 0; i < 5; i++) {
        sample(&f->s, &f->request, &r2);
        assert_memory_equal(r2.tokens[0], r1.tokens[i], 40 * sizeof(int32_t));
        assert_memory_equal(r2.logprobs[0], r1.logprobs[i], 40 * sizeof(float));
        assert_true(i == 0 || memcmp(r1.tokens[i], r1.tokens[0], 160) != 0);
        f->request.seed++;
    }
    f->request.has_seed = false;
    sample(&f->s, &f->request, &r1);
    sample(&f->s, &f->request, &r2);
    assert_memory_not_equal(r1.tokens[0], r2.tokens[0], 40 * sizeof(int32_t));
}

/* Greedy: temperature 0 ignores the seed; log-probabilities are those of T = 1. */
static void test_greedy(void **state)
{
    fixture *f = *state;
    f->request.temperature = 0;
    sample(&f->s, &f->request, &r1);
    f->request.seed++;
    sample(&f->s, &f->request, &r2);
    assert_memory_equal(r1.tokens[0], r2.tokens[0], 40 * sizeof(int32_t));
    f->request.temperature = 1;
    f->request.top_k = 1;
    sample(&f->s, &f->request, &r2);
    assert_memory_equal(r1.tokens[0], r2.tokens[0], 40 * sizeof(int32_t));
    assert_memory_equal(r1.logprobs[0], r2.logprobs[0], 40 * sizeof(float));
}

/* Log-probabilities are of the distribution at T, or of T = 1 when asked. */
static void test_temperature_logprobs(void **state)
{
    fixture *f = *state;
    f->request.temperature = 0.5;
    f->request.max_tokens = 1;
    sample(&f->s, &f->request, &r1);
    f->request.raw_logprobs = true;
    sample(&f->s, &f->request, &r2);
    assert_int_equal(r1.tokens[0][0], r2.tokens[0][0]);
    assert_true(fabsf(r1.logprobs[0][0] - r2.logprobs[0][0]) > 1e-3f);
}

/* Prompt log-probabilities: [0] is missing, [i] is that of token i; the top k contain the
 * same number, best first, in rows with gaps where there is nothing. */
static void test_prompt_logprobs(void **state)
{
    fixture *f = *state;
    f->request.topk_prompt_logprobs = 3;
    sample(&f->s, &f->request, &r1);
    assert_true(r1.has_prompt);
    assert_int_equal(r1.topk, 3);
    assert_true(isnan(r1.prompt[0]));
    assert_int_equal(r1.top_ids[0], 0);
    assert_true(r1.top[0] < -99998.0f && r1.top[0] > -100000.0f);
    bool listed = false;
    for (size_t i = 1; i < PROMPT; i++) {
        assert_true(r1.prompt[i] < 0);
        for (size_t k = 0; k < 3; k++) {
            assert_true(k == 0 || r1.top[i * 3 + k] <= r1.top[i * 3 + k - 1]);
            if (r1.top_ids[i * 3 + k] == f->prompt[i]) {
                listed = true;
                assert_memory_equal(&r1.top[i * 3 + k], &r1.prompt[i], sizeof(float));
            }
        }
        assert_true(r1.prompt[i] <= r1.top[i * 3]);
    }
    assert_true(listed);
    f->request.topk_prompt_logprobs = 0;
    f->request.prompt_logprobs = true;
    sample(&f->s, &f->request, &r2);
    assert_false(r2.has_topk);
    assert_memory_equal(r1.prompt + 1, r2.prompt + 1, (PROMPT - 1) * sizeof(float));
}

/* More columns than tokens: what is left over are gaps. */
static void test_topk_of_all_tokens(void **state)
{
    fixture *f = *state;
    f->request.n_prompt = 2;
    f->request.topk_prompt_logprobs = 60;
    sample(&f->s, &f->request, &r1);
    double sum = 0;
    for (size_t i = 0; i < 50; i++) {
        sum += exp((double)r1.top[60 + i]);
    }
    assert_true(fabs(sum - 1) < 1e-5);
    for (size_t i = 50; i < 60; i++) {
        assert_int_equal(r1.top_ids[60 + i], 0);
        assert_true(r1.top[60 + i] < -99998.0f);
    }
}

/* A prompt is found again up to its last token: by the same weights only, as far as the
 * tokens agree, and not before it is scored. */
static void test_prefix_cache(void **state)
{
    fixture *f = *state;
    sample(&f->s, &f->request, &r1);
    assert_int_equal(r1.hits, 0);
    sample(&f->s, &f->request, &r2);
    assert_int_equal(r2.hits, PROMPT - 1);
    assert_memory_equal(r1.tokens[0], r2.tokens[0], 40 * sizeof(int32_t));
    assert_memory_equal(r1.logprobs[0], r2.logprobs[0], 40 * sizeof(float));
    f->request.adapter = f->s.adapters[0];
    sample(&f->s, &f->request, &r2);
    assert_int_equal(r2.hits, 0);
    sample(&f->s, &f->request, &r2);
    assert_int_equal(r2.hits, PROMPT - 1);
    eng_adapter_repack(f->s.adapters[0]); /* as after an optimizer step */
    sample(&f->s, &f->request, &r2);
    assert_int_equal(r2.hits, 0);
    f->request.adapter = NULL;
    f->prompt[63]++;
    sample(&f->s, &f->request, &r2);
    assert_int_equal(r2.hits, 63);
    f->prompt[63]--;
    f->request.prompt_logprobs = true;
    sample(&f->s, &f->request, &r2);
    assert_int_equal(r2.hits, 0);
}

/* What was drawn is part of the next turn's prompt, and found there. */
static void test_prefix_of_a_next_turn(void **state)
{
    fixture *f = *state;
    int32_t turn[128];
    f->request.max_tokens = 80;
    sample(&f->s, &f->request, &r1);
    memcpy(turn, f->prompt, sizeof(f->prompt));
    memcpy(turn + PROMPT, r1.tokens[0], (128 - PROMPT) * sizeof(int32_t));
    f->request.prompt = turn;
    f->request.n_prompt = 128;
    f->request.max_tokens = 1;
    sample(&f->s, &f->request, &r2);
    assert_int_equal(r2.hits, 127);
    int32_t longer[129];
    memcpy(longer, turn, sizeof(turn));
    longer[128] = r1.tokens[0][128 - PROMPT];
    f->request.prompt = longer;
    f->request.n_prompt = 129;
    sample(&f->s, &f->request, &r2);
    assert_int_equal(r2.hits, 128);
}

/* ---- what is refused ---- */

static void refuse(fixture *f, tinkc_code want, const char *text)
{
    tk_err err = TK_ERR_INIT;
    assert_int_equal(try_ask(f->s.sampler, &f->request, &r1, &err), want);
    if (strstr(err.message, text) == NULL) {
        fail_msg("%s", err.message);
    }
    assert_false(eng_sampler_busy(f->s.sampler));
}

static void test_refuses_too_long(void **state)
{
    fixture *f = *state;
    f->request.max_tokens = 512 - PROMPT + 1;
    refuse(f, TINKC_E_INVALID,
           "Prompt length plus max_tokens exceeds the model's context window: 70 + 443 > "
           "512");
    f->request.max_tokens = SIZE_MAX;
    refuse(f, TINKC_E_INVALID, "context window");
    f->request.max_tokens = 512 - PROMPT;
    f->request.stop_mode = ENG_STOP_EOS;
    ask(f->s.sampler, &f->request, &r1);
    eng_sampler_cancel(f->s.sampler, r1.id);
}

static void test_refuses_bad_ids(void **state)
{
    fixture *f = *state;
    int32_t stop = 50;
    f->prompt[9] = 50;
    refuse(f, TINKC_E_INVALID, "prompt token 9 is 50");
    f->prompt[9] = -1;
    refuse(f, TINKC_E_INVALID, "prompt token 9 is -1");
    f->prompt[9] = 1;
    f->request.stop_mode = ENG_STOP_LISTED;
    f->request.stop_tokens = &stop;
    f->request.n_stop_tokens = 1;
    refuse(f, TINKC_E_INVALID, "stop token 0 is 50");
    f->request.n_stop_tokens = 0;
    f->request.n_prompt = 0;
    refuse(f, TINKC_E_INVALID, "empty");
}

static void test_refuses_bad_numbers(void **state)
{
    fixture *f = *state;
    f->request.temperature = NAN;
    refuse(f, TINKC_E_INVALID, "temperature");
    f->request.temperature = -1;
    refuse(f, TINKC_E_INVALID, "temperature");
    f->request.temperature = 1;
    f->request.top_p = NAN;
    refuse(f, TINKC_E_INVALID, "top_p");
    f->request.top_p = 1;
    f->request.num_samples = 0;
    refuse(f, TINKC_E_INVALID, "num_samples");
    f->request.num_samples = 1;
    f->request.topk_prompt_logprobs = SIZE_MAX;
    refuse(f, TINKC_E_LIMIT, "topk_prompt_logprobs");
}

static void test_refuses_bad_stop_strings(void **state)
{
    fixture *f = *state;
    tk_str empty = TK_STR(""), fine = TK_STR("x");
    f->request.stop_mode = ENG_STOP_LISTED;
    f->request.stop_strings = &empty;
    f->request.n_stop_strings = 1;
    refuse(f, TINKC_E_INVALID, "empty");
    static tk_str many[TK_STOPS_MAX + 1];
    for (size_t i = 0; i < TK_ARRAY_LEN(many); i++) {
        many[i] = fine;
    }
    f->request.stop_strings = many;
    f->request.n_stop_strings = TK_ARRAY_LEN(many);
    refuse(f, TINKC_E_INVALID, "1025 stop strings; at most 1024");
    static char bytes[TK_STOPS_BYTES + 1];
    tk_str longest = {bytes, sizeof(bytes)};
    f->request.stop_strings = &longest;
    f->request.n_stop_strings = 1;
    refuse(f, TINKC_E_INVALID, "at most 16384 bytes together");
    f->request.stop_strings = &fine;
    f->s.sampler->config.token_bytes = NULL;
    refuse(f, TINKC_E_UNSUPPORTED, "tokenizer");
}

static void test_refuses_a_foreign_adapter(void **state)
{
    fixture *f = *state;
    eng_model *other = tiny_open(f->s.pool, &f->s.files);
    eng_adapter *adapter = make_adapter(other, 2, 1);
    f->request.adapter = adapter;
    refuse(f, TINKC_E_INVALID, "another model");
    eng_adapter_free(adapter);
    eng_model_free(other);
}

static void test_refuses_bad_configurations(void **state)
{
    fixture *f = *state;
    tk_err err = TK_ERR_INIT;
    eng_sampler *other;
    eng_sampler_config config = SCENE_CONFIG;
    config.max_kv_bytes = f->s.sampler->pages.page_bytes - 1;
    assert_int_equal(eng_sampler_new(&other, f->s.model, &config, &err), TINKC_E_INVALID);
    config = (eng_sampler_config)SCENE_CONFIG;
    config.max_sequences = 0;
    assert_int_equal(eng_sampler_new(&other, f->s.model, &config, NULL), TINKC_E_INVALID);
    config.max_sequences = 1;
    config.prefill_chunk = 0;
    assert_int_equal(eng_sampler_new(&other, f->s.model, &config, NULL), TINKC_E_INVALID);
}

/* NaN and infinity: an adapter that blows up fails its request, and no other. */
static void test_nan_fails_its_request_only(void **state)
{
    fixture *f = *state;
    sample(&f->s, &f->request, &r2);
    const eng_lora *lora = eng_adapter_module(f->s.adapters[0], 0, ENG_Q);
    f->s.adapters[0]->weights[lora->b_at] = 3e38f;
    f->s.adapters[0]->weights[lora->a_at] = 3e38f;
    eng_adapter_repack(f->s.adapters[0]);
    static reply bad, good;
    f->request.adapter = f->s.adapters[0];
    ask(f->s.sampler, &f->request, &bad);
    f->request.adapter = NULL;
    ask(f->s.sampler, &f->request, &good);
    finish_all(f->s.sampler);
    assert_int_equal(bad.done, 1);
    assert_int_equal(bad.err.code, TINKC_E_INVALID);
    assert_non_null(strstr(bad.err.message, "NaN"));
    assert_int_equal(good.done, 1);
    assert_int_equal(good.err.code, TINKC_OK);
    assert_memory_equal(good.tokens[0], r2.tokens[0], 40 * sizeof(int32_t));
    assert_memory_equal(good.logprobs[0], r2.logprobs[0], 40 * sizeof(float));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_ends_at_max_tokens),
        T(test_ends_with_the_context),
        T(test_eos_stops_and_is_kept),
        T(test_stop_token_at_the_limit),
        T(test_only_listed_stops),
        T(test_stop_strings),
        T(test_stop_strings_end_where_a_search_does),
        T(test_many_stop_tokens),
        T(test_seeds),
        T(test_greedy),
        T(test_temperature_logprobs),
        T(test_prompt_logprobs),
        T(test_topk_of_all_tokens),
        T(test_prefix_cache),
        T(test_prefix_of_a_next_turn),
        T(test_refuses_too_long),
        T(test_refuses_bad_ids),
        T(test_refuses_bad_numbers),
        T(test_refuses_bad_stop_strings),
        T(test_refuses_a_foreign_adapter),
        T(test_refuses_bad_configurations),
        T(test_nan_fails_its_request_only),
    };
    return cmocka_run_group_tests_name("eng_sampler", tests, NULL, NULL);
}
