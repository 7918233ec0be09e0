/* Sampling: a sampler belongs to one model and runs many requests at once, of any
 * adapters of that model (continuous batching). The caller drives it: eng_sampler_step
 * does one bounded piece of work (one token for everything that runs, and a chunk of
 * prompts) and reports through the callbacks, on the calling thread.
 *
 * Callbacks may add and cancel requests; they must not step or free the sampler.
 *
 * Bits: tokens and log-probabilities of a request depend on its prompt, options and
 * weights only; see eng.h. Thread: as eng.h. */
#ifndef ENGINE_ENG_SAMPLER_H
#define ENGINE_ENG_SAMPLER_H

#include "engine/eng.h"

typedef struct eng_sampler eng_sampler;

typedef struct eng_sampler_config {
    size_t max_sequences; /* sequences decoded at once; more wait in order */
    size_t max_kv_bytes;  /* keys and values in memory, prefix cache included */
    size_t prefill_chunk; /* prompt tokens per step */
    /* Bytes of a token for stop strings (special tokens as their text); false = unknown
     * id. The bytes are read before the next call. NULL: requests with stop strings are
     * refused. */
    bool (*token_bytes)(void *user, int32_t token, tk_str *out);
    void *user;
} eng_sampler_config;

/* The model must outlive the sampler. TINKC_E_INVALID when a limit is 0 or max_kv_bytes
 * does not hold a single block. */
TK_NODISCARD tinkc_code eng_sampler_new(eng_sampler **out, eng_model *model,
                                        const eng_sampler_config *config, tk_err *err);
void eng_sampler_free(eng_sampler *sampler); /* accepts NULL; drops what runs, no
                                                callbacks */

typedef enum eng_stop_mode {
    ENG_STOP_EOS,        /* the model's EOS ids only (stop absent or null) */
    ENG_STOP_NONE,       /* stop = []: nothing stops it but the limit */
    ENG_STOP_LISTED,     /* the listed ones and EOS */
    ENG_STOP_ONLY_LISTED /* the listed ones alone */
} eng_stop_mode;

typedef struct eng_sample_request {
    eng_adapter *adapter;  /* NULL = base model. Retained until the request is finished;
                            * must not change meanwhile: see eng_adapter_snapshot */
    const int32_t *prompt; /* copied; n_prompt >= 1 */
    size_t n_prompt;
    size_t num_samples; /* >= 1; sample i uses seed + i; they share one prefill */
    size_t max_tokens; /* 0 = until EOS, or until the context (or max_kv_bytes) is full */
    double temperature; /* 0 = greedy, lowest id among equals */
    double top_p;       /* >= 1 off; 0 keeps the best one */
    int64_t top_k;      /* <= 0 off */
    bool has_seed;      /* false: a fresh random seed */
    uint64_t seed;
    eng_stop_mode stop_mode;
    const int32_t *stop_tokens; /* copied */
    size_t n_stop_tokens;
    const tk_str *stop_strings; /* copied; see eng_sample_check_stops */
    size_t n_stop_strings;
    bool prompt_logprobs;
    size_t topk_prompt_logprobs;   /* > 0 implies prompt_logprobs */
    size_t prompt_logprobs_last_n; /* these scores only for the last tokens of the prompt;
                                    * 0 = all */
    bool raw_logprobs;             /* T = 1 log-probabilities whatever the temperature */
    size_t topk_sample_logprobs;   /* the likeliest tokens at each drawn position */
    /* Token ids to score at T = 1, -1 = none: those of row i, targets[target_starts[i] ..
     * target_starts[i + 1]), at position i + 1 of the prompt. Copied. target_starts has
     * n_prompt entries; NULL: none. */
    const int32_t *targets;
    const size_t *target_starts;
    size_t prompt_alt_tokens; /* draws at each position of the prompt but the first, at
                               * the temperature, without top_k and top_p */
} eng_sample_request;

#define ENG_SAMPLE_REQUEST_INIT                                                          \
    {                                                                                    \
        .num_samples = 1, .temperature = 1.0, .top_p = 1.0, .top_k = -1                  \
    }

/* TINKC_E_INVALID: more than TK_STOPS_MAX stop strings, more than TK_STOPS_BYTES of them,
 * an empty one, or more than TK_STOP_TOKENS_MAX stop tokens. Thread: any. */
TK_NODISCARD tinkc_code eng_sample_check_stops(const eng_sample_request *request,
                                               tk_err *err);

/* TINKC_E_INVALID or TINKC_E_LIMIT, with the name of the field: more than TK_TOPK_MAX_K
 * columns or TK_TOPK_MAX_CELLS cells of a table (of sampled tokens: when max_tokens is
 * set), prompt_logprobs_last_n without prompt_logprobs or not within 1..n_prompt - 1,
 * targets that name no token. Thread: any. */
TK_NODISCARD tinkc_code eng_sample_check_scores(const eng_sample_request *request,
                                                tk_err *err);

typedef struct eng_sequence { /* never empty */
    const int32_t *tokens;
    const float *logprobs;
    size_t n;
    bool stopped;           /* false: length */
    const int32_t *top_ids; /* [n][topk_sampled], descending, gaps 0; NULL unless asked */
    const float *top_logprobs; /* the same, gaps -99999; at what `logprobs` are at */
} eng_sequence;

typedef struct eng_sample_result { /* borrowed: valid during on_done */
    const eng_sequence *sequences;
    size_t n_sequences;
    const float *prompt_logprobs; /* n_prompt, [0] = NaN; NULL unless asked */
    const int32_t *topk_ids;      /* [n_prompt][topk], gaps 0 */
    const float *topk_logprobs;   /* [n_prompt][topk], descending, gaps -99999 */
    size_t topk;
    size_t topk_sampled;
    const float *target_logprobs; /* one per target, 0 for -1; NULL unless asked */
    const int32_t *alt_tokens;    /* [n_prompt - 1][n_alt]; NULL unless asked */
    const float *alt_logprobs;    /* the same, at T = 1 */
    size_t n_alt;
    size_t prompt_cache_hit_tokens; /* with scores other than prompt_logprobs none from
                                     * the first position that is scored on: it has to be
                                     * computed */
} eng_sample_result;

typedef struct eng_sample_listener {
    /* Optional: each token as it is drawn, for streams; is_last: the sample ends with it. */
    void (*on_token)(void *user, size_t sample, int32_t token, float logprob,
                     bool is_last);
    /* Exactly once per accepted request that is not cancelled: result, or NULL and
     * err. */
    void (*on_done)(void *user, const eng_sample_result *result, const tk_err *err);
    void *user;
} eng_sample_listener;

/* Checks everything and queues. TINKC_E_INVALID: ids out of range, numbers that make no
 * sense, too many stops, prompt plus max_tokens above the context. TINKC_E_LIMIT: could never fit in
 * max_kv_bytes. */
TK_NODISCARD tinkc_code eng_sampler_add(eng_sampler *sampler,
                                        const eng_sample_request *request,
                                        const eng_sample_listener *listener,
                                        uint64_t *id_out, tk_err *err);

/* No callback afterwards; unknown ids are ignored. */
void eng_sampler_cancel(eng_sampler *sampler, uint64_t id);

bool eng_sampler_busy(const eng_sampler *sampler);

/* One bounded piece of work; nothing to do = returns at once. Failures of one request go
 * to its on_done; the code says only whether the sampler itself can go on:
 * TINKC_E_CANCELLED when the pool is stopped (eng_pool_set_stop). */
TK_NODISCARD tinkc_code eng_sampler_step(eng_sampler *sampler, tk_err *err);

/* Requests begin in the order of their ids: the first one that has not begun, because
 * there is no room for it yet; 0 = none waits. */
uint64_t eng_sampler_first_waiting(const eng_sampler *sampler);

#endif
