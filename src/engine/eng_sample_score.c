/* What a request wants to know about the positions of its prompt: the log-probability of
 * each token, the likeliest ones, those of tokens that it names, and draws. Rows are filled
 * in as the prompt is computed; a position that is computed again gives the same bits. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "engine/eng_sample_int.h"

#define GAP_LOGPROB (-99999.0f)

/* ---- what is accepted ---- */

static tinkc_code check_table(const char *name, size_t rows, size_t columns, tk_err *err)
{
    if (columns > TK_TOPK_MAX_K || (rows > 0 && columns > TK_TOPK_MAX_CELLS / rows)) {
        return tk_err_set(err, TINKC_E_LIMIT,
                          "%s must be at most %d, and %zu numbers in all", name,
                          TK_TOPK_MAX_K, TK_TOPK_MAX_CELLS);
    }
    return TINKC_OK;
}

static tinkc_code check_last_n(const eng_sample_request *r, tk_err *err)
{
    if (r->prompt_logprobs_last_n > 0 && !r->prompt_logprobs) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "prompt_logprobs_last_n needs prompt_logprobs");
    }
    if (r->prompt_logprobs_last_n >= r->n_prompt && r->prompt_logprobs_last_n > 0) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "prompt_logprobs_last_n must be 1 to %zu, the length of the "
                          "prompt less one",
                          r->n_prompt - 1);
    }
    return TINKC_OK;
}

/* The position that the first target belongs to; n_prompt: there is none. */
static size_t first_target(const eng_sample_request *r)
{
    for (size_t row = 0; r->target_starts != NULL && row + 1 < r->n_prompt; row++) {
        for (size_t i = r->target_starts[row]; i < r->target_starts[row + 1]; i++) {
            if (r->targets[i] != -1) {
                return row + 1;
            }
        }
    }
    return r->n_prompt;
}

static tinkc_code check_target_table(const eng_sample_request *r, tk_err *err)
{
    if (r->target_starts == NULL) {
        return TINKC_OK;
    }
    if (r->target_starts[r->n_prompt - 1] > TK_TOPK_MAX_CELLS) {
        return tk_err_set(err, TINKC_E_LIMIT,
                          "target_prompt_logprobs must have at most %zu cells",
                          TK_TOPK_MAX_CELLS);
    }
    if (first_target(r) == r->n_prompt) {
        return tk_err_set(err, TINKC_E_INVALID, "target_prompt_logprobs names no token");
    }
    return TINKC_OK;
}

tinkc_code eng_sample_check_scores(const eng_sample_request *r, tk_err *err)
{
    size_t sampled = 0;
    if (r->n_prompt < 1) {
        return tk_err_set(err, TINKC_E_INVALID, "the prompt is empty");
    }
    tinkc_code code =
        check_table("topk_prompt_logprobs", r->n_prompt, r->topk_prompt_logprobs, err);
    if (code == TINKC_OK) {
        code = check_table("prompt_alt_tokens_k", r->n_prompt, r->prompt_alt_tokens, err);
    }
    if (code == TINKC_OK) {
        bool fits = tk_size_mul(&sampled, r->num_samples, r->max_tokens);
        code = check_table("topk_sample_logprobs", fits ? sampled : SIZE_MAX,
                           r->topk_sample_logprobs, err);
    }
    if (code == TINKC_OK) {
        code = check_last_n(r, err);
    }
    return code == TINKC_OK ? check_target_table(r, err) : code;
}

/* ---- life ---- */

/* Gaps first. */
static bool make_logprobs(eng_sample_scores *s, const eng_sample_request *r)
{
    if (!r->prompt_logprobs && r->topk_prompt_logprobs == 0) {
        return true;
    }
    size_t cells = r->n_prompt * r->topk_prompt_logprobs;
    s->topk = r->topk_prompt_logprobs;
    s->prompt_logprobs = tk_array(r->n_prompt, sizeof(float));
    s->topk_ids = cells > 0 ? tk_zarray(cells, sizeof(int32_t)) : NULL;
    s->topk_logprobs = cells > 0 ? tk_array(cells, sizeof(float)) : NULL;
    if (s->prompt_logprobs == NULL ||
        (cells > 0 && (s->topk_ids == NULL || s->topk_logprobs == NULL))) {
        return false;
    }
    for (size_t i = 0; i < r->n_prompt; i++) {
        s->prompt_logprobs[i] = NAN;
    }
    for (size_t i = 0; i < cells; i++) {
        s->topk_logprobs[i] = GAP_LOGPROB;
    }
    size_t last = r->prompt_logprobs_last_n;
    s->first_logprob = last > 0 ? r->n_prompt - last : 1;
    return true;
}

static bool make_targets(eng_sample_scores *s, const eng_sample_request *r)
{
    if (r->target_starts == NULL) {
        return true;
    }
    size_t n = r->target_starts[r->n_prompt - 1];
    s->target_starts = tk_memdup(r->target_starts, r->n_prompt * sizeof(size_t));
    s->targets = tk_memdup(r->targets, n * sizeof(int32_t));
    s->target_logprobs = tk_zarray(n, sizeof(float));
    return s->target_starts != NULL && s->targets != NULL && s->target_logprobs != NULL;
}

static bool make_alt(eng_sample_scores *s, const eng_sample_request *r, uint64_t seed)
{
    if (r->prompt_alt_tokens == 0) {
        return true;
    }
    size_t cells = (r->n_prompt - 1) * r->prompt_alt_tokens;
    s->alt = r->prompt_alt_tokens;
    s->alt_seed = seed;
    s->alt_tokens = tk_zarray(TK_MAX(cells, (size_t)1), sizeof(int32_t));
    s->alt_logprobs = tk_zarray(TK_MAX(cells, (size_t)1), sizeof(float));
    return s->alt_tokens != NULL && s->alt_logprobs != NULL;
}

bool eng_sample_score_init(eng_sample_scores *out, const eng_sample_request *r,
                           uint64_t seed)
{
    *out = (eng_sample_scores){.first = r->n_prompt, .first_logprob = r->n_prompt};
    if (!make_logprobs(out, r) || !make_targets(out, r) || !make_alt(out, r, seed)) {
        return false;
    }
    out->first = TK_MIN(out->first_logprob, first_target(r));
    if (out->alt > 0) {
        out->first = TK_MIN(out->first, (size_t)1);
    }
    return true;
}

void eng_sample_score_dispose(eng_sample_scores *s)
{
    tk_free(s->prompt_logprobs);
    tk_free(s->topk_ids);
    tk_free(s->topk_logprobs);
    tk_free(s->targets);
    tk_free(s->target_starts);
    tk_free(s->target_logprobs);
    tk_free(s->alt_tokens);
    tk_free(s->alt_logprobs);
}

/* ---- rows ---- */

void eng_sample_score_top(int32_t *ids, float *logprobs, size_t k, const eng_draw *draw)
{
    size_t count = eng_draw_top(draw->logits, draw->n, k, draw->room);
    for (size_t i = 0; i < k; i++) {
        bool has = i < count;
        int32_t token = has ? (int32_t)eng_draw_ranked(draw->room, draw->n, i) : 0;
        ids[i] = token;
        logprobs[i] = has ? eng_draw_logprob(draw, token) : GAP_LOGPROB;
    }
}

size_t eng_sample_score_bytes(const eng_sample_scores *scores)
{
    return 64 + scores->alt * sizeof(eng_draw_unit);
}

/* The stream of a position is its own, so that it does not matter when it is computed;
 * stream 0 is that of the samples. */
static void draw_alt(const eng_sample_scores *s, size_t pos, const eng_draw *draw,
                     eng_draw_unit *units)
{
    eng_rng rng;
    int32_t *tokens = s->alt_tokens + (pos - 1) * s->alt;
    float *logprobs = s->alt_logprobs + (pos - 1) * s->alt;
    eng_rng_init(&rng, s->alt_seed, pos);
    for (size_t i = 0; i < s->alt; i++) {
        units[i] = (eng_draw_unit){eng_rng_unit(&rng), (uint32_t)i};
    }
    eng_draw_tokens(tokens, draw, units, s->alt);
    for (size_t i = 0; i < s->alt; i++) {
        logprobs[i] = eng_draw_logprob(draw, tokens[i]);
    }
}

static void score_targets(const eng_sample_scores *s, size_t pos, const eng_draw *draw)
{
    for (size_t i = s->target_starts[pos - 1]; i < s->target_starts[pos]; i++) {
        if (s->targets[i] >= 0) {
            s->target_logprobs[i] = eng_draw_logprob(draw, s->targets[i]);
        }
    }
}

/* Log-probabilities are always those of temperature 1; draws have the request's, and pass
 * no filter. */
bool eng_sample_score_row(const eng_sample_job *job, size_t pos, const eng_real *logits,
                          size_t n, void *scratch)
{
    const eng_sample_scores *s = &job->scores;
    eng_draw_options options = {.temperature = s->alt > 0 ? job->options.temperature : 0,
                                .top_p = 1,
                                .raw_logprobs = true};
    eng_draw draw;
    if (!eng_draw_init(&draw, logits, n, &options, eng_draw_room_at(scratch, n))) {
        return false;
    }
    if (s->alt > 0) {
        size_t used = ENG_ROUND_UP(eng_draw_room_bytes(n), (size_t)64);
        draw_alt(s, pos, &draw, (eng_draw_unit *)(void *)((char *)scratch + used));
    }
    if (s->targets != NULL) {
        score_targets(s, pos, &draw);
    }
    if (s->prompt_logprobs != NULL && pos >= s->first_logprob) {
        s->prompt_logprobs[pos] = eng_draw_logprob(&draw, job->prompt[pos]);
        if (s->topk > 0) {
            eng_sample_score_top(s->topk_ids + pos * s->topk,
                                 s->topk_logprobs + pos * s->topk, s->topk, &draw);
        }
    }
    return true;
}
