/* The objects tinkc_samples and tinkc_logprobs: a copy of the answer, and views into
 * it. */
#include "client/sampling/sampling_result.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "client/future/tk_future.h"
#include "client/values/error.h"
#include "client/values/types.h"
#include "wire/msg_value.h"
#include "wire/pb_sample.h"

/* What the official server puts into cells of the top-k table that hold nothing. */
#define MASK_TOKEN   0
#define MASK_LOGPROB (-99999.0f)

struct tinkc_samples {
    tk_arena arena; /* with a copy of the bytes */
    tk_sample_response said;
    const char **ids; /* one per sequence; NULL: the server sent none */
};

struct tinkc_logprobs {
    size_t n;
    float values[];
};

/* ---- making ---- */

void tk_sampling_result_free(void *result)
{
    tinkc_samples *samples = result;
    tk_arena_dispose(&samples->arena);
    tk_free(samples);
}

static tinkc_code check_wanted(const tk_sample_response *said,
                               const tk_sampling_result_wanted *wanted, tk_err *err)
{
    if (wanted->alt_tokens && !said->has_alt) {
        return tk_err_set(err, TINKC_E_UNSUPPORTED,
                          "the server sent no prompt_alt_tokens; it does not know "
                          "prompt_alt_tokens_k");
    }
    size_t n = said->has_prompt_logprobs ? said->prompt_logprobs.n : 0;
    size_t scored = (size_t)wanted->last_n;
    for (size_t i = 0; scored > 0 && scored < n && i < n - scored; i++) {
        if (!isnan(said->prompt_logprobs.p[i])) {
            return tk_err_set(err, TINKC_E_UNSUPPORTED,
                              "the server scored more of the prompt than was asked for; "
                              "it does not know prompt_logprobs_last_n");
        }
    }
    return TINKC_OK;
}

/* Checks that there are as many entries as tokens, or one less: *is_short then. */
static tinkc_code check_entries(bool *is_short, size_t have, size_t prompt_n,
                                const char *what, tk_err *err)
{
    *is_short = have + 1 == prompt_n;
    if (*is_short || have == prompt_n) {
        return TINKC_OK;
    }
    return tk_err_set(err, TINKC_E_DECODE,
                      "the server sent %s for %zu tokens of a prompt of %zu", what, have,
                      prompt_n);
}

static tinkc_code align_logprobs(tk_f32s *list, tk_arena *arena, tk_err *err)
{
    float *values = tk_arena_array(arena, list->n + 1, sizeof(*values));
    if (values == NULL) {
        return tk_err_nomem(err);
    }
    values[0] = NAN;
    if (list->n > 0) {
        memcpy(values + 1, list->p, list->n * sizeof(*values));
    }
    *list = (tk_f32s){values, list->n + 1};
    return TINKC_OK;
}

static tinkc_code align_topk(tk_topk_logprobs *table, tk_arena *arena, tk_err *err)
{
    size_t old = table->length * table->k;
    int32_t *ids = tk_arena_array(arena, old + table->k, sizeof(*ids));
    float *values = tk_arena_array(arena, old + table->k, sizeof(*values));
    if (ids == NULL || values == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < table->k; i++) {
        ids[i] = MASK_TOKEN;
        values[i] = MASK_LOGPROB;
    }
    if (old > 0) {
        memcpy(ids + table->k, table->token_ids, old * sizeof(*ids));
        memcpy(values + table->k, table->logprobs, old * sizeof(*values));
    }
    *table = (tk_topk_logprobs){table->length + 1, table->k, ids, values};
    return TINKC_OK;
}

/* Some servers count the predictions of a prompt, of which there are one less than
 * tokens. */
static tinkc_code align(tk_sample_response *said, tk_arena *arena, size_t prompt_n,
                        tk_err *err)
{
    bool is_short = false;
    tinkc_code code = TINKC_OK;
    if (prompt_n > 0 && said->has_prompt_logprobs) {
        code =
            check_entries(&is_short, said->prompt_logprobs.n, prompt_n, "logprobs", err);
        if (code == TINKC_OK && is_short) {
            code = align_logprobs(&said->prompt_logprobs, arena, err);
        }
    }
    if (code == TINKC_OK && prompt_n > 0 && said->has_topk) {
        code =
            check_entries(&is_short, said->topk.length, prompt_n, "top-k logprobs", err);
        if (code == TINKC_OK && is_short) {
            code = align_topk(&said->topk, arena, err);
        }
    }
    return code;
}

static tinkc_code copy_ids(tinkc_samples *samples, tk_strs ids, tk_err *err)
{
    if (ids.n == 0 || ids.n != samples->said.sequences_n) {
        return TINKC_OK;
    }
    const char **copies = tk_arena_array(&samples->arena, ids.n, sizeof(*copies));
    for (size_t i = 0; copies != NULL && i < ids.n; i++) {
        tk_str copy;
        if (!tk_arena_dup(&samples->arena, &copy, ids.p[i].p, ids.p[i].n)) {
            return tk_err_nomem(err);
        }
        copies[i] = copy.p;
    }
    samples->ids = copies;
    return copies != NULL ? TINKC_OK : tk_err_nomem(err);
}

static bool is_tensor(bool is_there, const tk_tensor *tensor, tk_dtype dtype)
{
    return !is_there || (tensor->dtype == dtype && tensor->has_shape);
}

/* The form of servers without protobuf, with what protobuf's reader makes sure of: an empty
 * list is none, and logprobs fit their tokens. */
static tinkc_code decode_json(tk_sample_response *said, tk_arena *arena,
                              const tk_json *json, tk_err *err)
{
    tinkc_code code =
        tk_schema_decode(said, &tk_msg_sample_response, arena, json, 0, err);
    for (size_t i = 0; code == TINKC_OK && i < said->sequences_n; i++) {
        /* the array is in our arena */
        tk_sequence *sequence = (tk_sequence *)(uintptr_t)&said->sequences[i];
        sequence->has_logprobs = sequence->has_logprobs && sequence->logprobs.n > 0;
        if (sequence->has_logprobs && sequence->logprobs.n != sequence->tokens.n) {
            code = tk_err_set(err, TINKC_E_DECODE, "%zu logprobs for %zu tokens",
                              sequence->logprobs.n, sequence->tokens.n);
        }
    }
    said->has_prompt_logprobs = said->has_prompt_logprobs && said->prompt_logprobs.n > 0;
    said->has_topk = said->has_topk && said->topk.length > 0;
    if (code == TINKC_OK &&
        (!is_tensor(said->has_target, &said->target_prompt_logprobs, TK_DTYPE_F32) ||
         !is_tensor(said->has_alt, &said->alt.tokens, TK_DTYPE_I64) ||
         !is_tensor(said->has_alt, &said->alt.logprobs, TK_DTYPE_F32))) {
        code = tk_err_set(err, TINKC_E_DECODE,
                          "a tensor of the result has no shape, or "
                          "another type");
    }
    return code;
}

/* Reads the result, aligned, with what was asked for; `said` borrows from its bytes or its
 * JSON value. */
static tinkc_code decode(tk_sample_response *said, tk_arena *arena,
                         const tk_poll_result *result,
                         const tk_sampling_result_wanted *wanted, tk_err *err)
{
    tk_bytes bytes = {(const unsigned char *)result->body.p, result->body.n};
    tinkc_code code = result->is_protobuf ? tk_pb_sample_decode(said, arena, bytes, err)
                                          : decode_json(said, arena, result->json, err);
    if (code == TINKC_OK) {
        code = align(said, arena, wanted->prompt_n, err);
    }
    return code == TINKC_OK ? check_wanted(said, wanted, err) : code;
}

tinkc_samples *tk_sampling_result_read(const tk_poll_result *result, tk_strs ids,
                                       const tk_sampling_result_wanted *wanted,
                                       tk_err *err)
{
    tk_poll_result copy = *result;
    tinkc_samples *samples = tk_zalloc(sizeof(*samples));
    if (samples == NULL) {
        tk_err_nomem(err);
        return NULL;
    }
    tk_arena_init(&samples->arena, 0);
    tinkc_code code = TINKC_OK;
    if (!result->is_protobuf) {
        tk_poll_result_keep(&samples->arena, result);
    } else if (!tk_arena_dup(&samples->arena, &copy.body, result->body.p,
                             result->body.n)) {
        code = tk_err_nomem(err);
    }
    if (code == TINKC_OK) {
        code = decode(&samples->said, &samples->arena, &copy, wanted, err);
    }
    if (code == TINKC_OK) {
        code = copy_ids(samples, ids, err);
    }
    if (code != TINKC_OK) {
        tk_sampling_result_free(samples);
        return NULL;
    }
    return samples;
}

static tk_sampling_result_usage usage_of(const tk_sample_response *said)
{
    tk_sampling_result_usage usage = {.cached = said->prompt_cache_hit_tokens};
    for (size_t i = 0; i < said->sequences_n; i++) {
        usage.sampled += (int64_t)said->sequences[i].tokens.n;
    }
    return usage;
}

tk_sampling_result_usage tk_sampling_result_usage_of(const tinkc_samples *samples)
{
    return usage_of(&samples->said);
}

void tk_sampling_result_free_logprobs(void *logprobs)
{
    tk_free(logprobs);
}

static tinkc_logprobs *copy_logprobs(const tk_sample_response *said, tk_err *err)
{
    size_t n = said->prompt_logprobs.n, bytes = 0;
    if (!said->has_prompt_logprobs) {
        tk_err_set(err, TINKC_E_DECODE, "the server sent no prompt logprobs");
        return NULL;
    }
    tinkc_logprobs *logprobs = NULL;
    if (tk_size_mul(&bytes, n, sizeof(float)) &&
        tk_size_add(&bytes, bytes, sizeof(*logprobs))) {
        logprobs = tk_malloc(bytes);
    }
    if (logprobs == NULL) {
        tk_err_nomem(err);
        return NULL;
    }
    logprobs->n = n;
    if (n > 0) {
        memcpy(logprobs->values, said->prompt_logprobs.p, n * sizeof(float));
    }
    return logprobs;
}

tinkc_logprobs *tk_sampling_result_read_logprobs(tk_sampling_result_usage *usage,
                                                 const tk_poll_result *result,
                                                 const tk_sampling_result_wanted *wanted,
                                                 tk_err *err)
{
    tk_sample_response said = {0};
    tinkc_logprobs *logprobs = NULL;
    tk_arena arena;
    tk_arena_init(&arena, 0);
    if (decode(&said, &arena, result, wanted, err) == TINKC_OK) {
        *usage = usage_of(&said);
        logprobs = copy_logprobs(&said, err);
    }
    tk_arena_dispose(&arena);
    return logprobs;
}

/* ---- taking ---- */

void tinkc_samples_free(tinkc_samples **samples)
{
    if (samples != NULL && *samples != NULL) {
        tk_sampling_result_free(*samples);
        *samples = NULL;
    }
}

void tinkc_logprobs_free(tinkc_logprobs **logprobs)
{
    if (logprobs != NULL) {
        tk_free(*logprobs);
        *logprobs = NULL;
    }
}

/* ---- reading ---- */

size_t tinkc_samples_count(const tinkc_samples *samples)
{
    return samples != NULL ? samples->said.sequences_n : 0;
}

static const tk_sequence *sequence_at(const tinkc_samples *samples, size_t index)
{
    return index < tinkc_samples_count(samples) ? &samples->said.sequences[index] : NULL;
}

/* All pointers out: the count where one is wanted. */
static void put_count(size_t *n, size_t count)
{
    if (n != NULL) {
        *n = count;
    }
}

const int32_t *tinkc_samples_tokens(size_t *n, const tinkc_samples *samples, size_t index)
{
    const tk_sequence *sequence = sequence_at(samples, index);
    put_count(n, sequence != NULL ? sequence->tokens.n : 0);
    return sequence != NULL && sequence->tokens.n > 0 ? sequence->tokens.p : NULL;
}

const float *tinkc_samples_logprobs(size_t *n, const tinkc_samples *samples, size_t index)
{
    const tk_sequence *sequence = sequence_at(samples, index);
    bool present = sequence != NULL && sequence->has_logprobs && sequence->logprobs.n > 0;
    put_count(n, present ? sequence->logprobs.n : 0);
    return present ? sequence->logprobs.p : NULL;
}

tinkc_stop_reason tinkc_samples_stop_reason(const tinkc_samples *samples, size_t index)
{
    const tk_sequence *sequence = sequence_at(samples, index);
    return sequence != NULL ? (tinkc_stop_reason)sequence->stop_reason : TINKC_STOP_STOP;
}

const char *tinkc_samples_stop_text(const tinkc_samples *samples, size_t index)
{
    const tk_sequence *sequence = sequence_at(samples, index);
    if (sequence == NULL) {
        return "";
    }
    switch (sequence->stop_reason) {
    case TK_STOP_STOP:
        return "stop";
    case TK_STOP_LENGTH:
        return "length";
    case TK_STOP_OTHER:
        break;
    }
    return sequence->stop_word.p != NULL ? sequence->stop_word.p : "";
}

const float *tinkc_samples_prompt_logprobs(size_t *n, const tinkc_samples *samples)
{
    bool present = samples != NULL && samples->said.has_prompt_logprobs;
    put_count(n, present ? samples->said.prompt_logprobs.n : 0);
    return present ? samples->said.prompt_logprobs.p : NULL;
}

const char *tinkc_samples_sequence_id(const tinkc_samples *samples, size_t index)
{
    bool present = index < tinkc_samples_count(samples) && samples->ids != NULL;
    return present ? samples->ids[index] : NULL;
}

const tinkc_tensor *tinkc_samples_target_logprobs(const tinkc_samples *samples)
{
    return samples != NULL && samples->said.has_target
               ? tk_types_tensor(&samples->said.target_prompt_logprobs)
               : NULL;
}

const tinkc_tensor *tinkc_samples_alt_tokens(const tinkc_samples *samples)
{
    return samples != NULL && samples->said.has_alt
               ? tk_types_tensor(&samples->said.alt.tokens)
               : NULL;
}

const tinkc_tensor *tinkc_samples_alt_logprobs(const tinkc_samples *samples)
{
    return samples != NULL && samples->said.has_alt
               ? tk_types_tensor(&samples->said.alt.logprobs)
               : NULL;
}

/* ---- top-k tables ---- */

size_t tinkc_samples_topk_rows(const tinkc_samples *samples)
{
    return samples != NULL && samples->said.has_topk ? samples->said.topk.length : 0;
}

size_t tinkc_samples_sampled_topk_rows(const tinkc_samples *samples, size_t index)
{
    const tk_sequence *sequence = sequence_at(samples, index);
    return sequence != NULL && sequence->has_topk ? sequence->topk.length : 0;
}

static bool is_masked(const int32_t *ids, const float *values, size_t cell)
{
    return ids[cell] == MASK_TOKEN && values[cell] == MASK_LOGPROB;
}

static tinkc_topk row_at(const tk_topk_logprobs *table, size_t position)
{
    const int32_t *ids = table->token_ids + position * table->k;
    const float *values = table->logprobs + position * table->k;
    size_t n = table->k;
    if (n > 0 && is_masked(ids, values, 0)) {
        n = 0; /* nothing was computed for this position */
    }
    while (n > 0 && is_masked(ids, values, n - 1)) {
        n--;
    }
    return n > 0 ? (tinkc_topk){ids, values, n} : (tinkc_topk){NULL, NULL, 0};
}

tinkc_code tinkc_samples_topk(const int32_t **token_ids, const float **logprobs,
                              size_t *k, const tinkc_samples *samples, size_t position,
                              tinkc_error **err)
{
    if (token_ids == NULL || logprobs == NULL || k == NULL) {
        return tk_error_tell(err, TINKC_E_INVALID, "no place for the row");
    }
    if (position >= tinkc_samples_topk_rows(samples)) {
        return tk_error_tell(err, TINKC_E_MISSING, "the top-k table has no such row");
    }
    tinkc_topk row = row_at(&samples->said.topk, position);
    *token_ids = row.token_ids;
    *logprobs = row.logprobs;
    *k = row.k;
    return TINKC_OK;
}

tinkc_code tinkc_samples_sampled_topk(tinkc_topk *out, const tinkc_samples *samples,
                                      size_t index, size_t position, tinkc_error **err)
{
    if (out == NULL) {
        return tk_error_tell(err, TINKC_E_INVALID, "no place for the row");
    }
    if (position >= tinkc_samples_sampled_topk_rows(samples, index)) {
        return tk_error_tell(err, TINKC_E_MISSING, "the top-k table has no such row");
    }
    *out = row_at(&samples->said.sequences[index].topk, position);
    return TINKC_OK;
}

tinkc_code tinkc_samples_datum(tinkc_datum **out, const tinkc_samples *samples,
                               size_t index, const tinkc_model_input *prompt,
                               double advantage, tinkc_error **err)
{
    size_t logprobs_n = 0;
    tinkc_rollout rollout = TINKC_ROLLOUT_INIT;
    if (index >= tinkc_samples_count(samples)) {
        return tk_error_tell(err, TINKC_E_MISSING, "there is no such continuation");
    }
    rollout.prompt = prompt;
    rollout.tokens = tinkc_samples_tokens(&rollout.n, samples, index);
    rollout.logprobs = tinkc_samples_logprobs(&logprobs_n, samples, index);
    rollout.advantage = advantage;
    if (logprobs_n != rollout.n) {
        return tk_error_tell(err, TINKC_E_INVALID,
                             "the server did not send a log-probability for each token");
    }
    return tinkc_datum_from_rollout(out, &rollout, err);
}

int64_t tinkc_samples_cache_hits(const tinkc_samples *samples)
{
    return samples != NULL ? samples->said.prompt_cache_hit_tokens : 0;
}

const float *tinkc_logprobs_values(size_t *n, const tinkc_logprobs *logprobs)
{
    put_count(n, logprobs != NULL ? logprobs->n : 0);
    return logprobs != NULL && logprobs->n > 0 ? logprobs->values : NULL;
}
