/* The options of a sample that ask for more than tokens; see srv_sampling_score.h. */
#include "server/api/srv_sampling_score.h"

#include "base/mem.h"

static tinkc_code read_count(size_t *out, const tk_f_i64 *field, const char *name,
                             tk_err *err)
{
    if (field->v < 0) {
        return tk_err_set(err, TINKC_E_INVALID, "%s must be 0 or more", name);
    }
    *out = (size_t)field->v;
    return TINKC_OK;
}

static tinkc_code read_counts(eng_sample_request *out, const tk_sample_request *msg,
                              tk_err *err)
{
    const tk_f_i64 *last_n = &msg->prompt_logprobs_last_n;
    if (last_n->is == TK_SET && last_n->v < 1) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "prompt_logprobs_last_n must be 1 or more");
    }
    tinkc_code code = read_count(&out->topk_prompt_logprobs, &msg->topk_prompt_logprobs,
                                 "topk_prompt_logprobs", err);
    if (code == TINKC_OK) {
        code = read_count(&out->topk_sample_logprobs, &msg->topk_sample_logprobs,
                          "topk_sample_logprobs", err);
    }
    if (code == TINKC_OK) {
        code = read_count(&out->prompt_alt_tokens, &msg->prompt_alt_tokens_k,
                          "prompt_alt_tokens_k", err);
    }
    out->prompt_logprobs_last_n = last_n->is == TK_SET ? (size_t)last_n->v : 0;
    return code;
}

static tinkc_code check_target(const tk_tensor *t, size_t n_prompt, tk_err *err)
{
    if (t->dtype != TK_DTYPE_I64 || !t->has_shape || t->shape.n != 2 ||
        (uint64_t)t->shape.p[0] != n_prompt - 1) {
        return tk_err_set(
            err, TINKC_E_INVALID,
            "target_prompt_logprobs must be int64, with the shape [%zu, n]: "
            "one row for each token of the prompt but the first",
            n_prompt - 1);
    }
    const int64_t *ids = t->data;
    for (size_t i = 0; i < t->n; i++) {
        if (ids[i] < -1 || ids[i] > INT32_MAX) {
            return tk_err_set(err, TINKC_E_INVALID,
                              "target_prompt_logprobs has %lld, which is no token id",
                              (long long)ids[i]);
        }
    }
    return TINKC_OK;
}

/* Dense rows are of one length. */
static tinkc_code read_target(eng_sample_request *out, tk_arena *arena,
                              const tk_tensor *t, tk_err *err)
{
    tinkc_code code = check_target(t, out->n_prompt, err);
    if (code != TINKC_OK) {
        return code;
    }
    const int64_t *ids = t->data;
    int32_t *targets = tk_arena_array(arena, t->n, sizeof(*targets));
    size_t *starts = tk_arena_array(arena, out->n_prompt, sizeof(*starts));
    if (targets == NULL || starts == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < t->n; i++) {
        targets[i] = (int32_t)ids[i];
    }
    for (size_t i = 0; i < out->n_prompt; i++) {
        starts[i] = t->is_sparse ? (size_t)t->crow.p[i] : i * (size_t)t->shape.p[1];
    }
    out->targets = targets;
    out->target_starts = starts;
    return TINKC_OK;
}

tinkc_code srv_sampling_scores(eng_sample_request *out, tk_arena *arena,
                               const tk_sample_request *msg, tk_err *err)
{
    if (msg->record_stability_info.is == TK_SET && msg->record_stability_info.v) {
        return tk_err_set(err, TINKC_E_UNSUPPORTED,
                          "record_stability_info must be false: this server keeps no "
                          "stability information");
    }
    tinkc_code code = read_counts(out, msg, err);
    if (code == TINKC_OK && msg->target_prompt_logprobs.is == TK_SET) {
        code = read_target(out, arena, &msg->target_prompt_logprobs.v, err);
    }
    return code == TINKC_OK ? eng_sample_check_scores(out, err) : code;
}

tinkc_code srv_sampling_check_stream(const eng_sample_request *request, tk_err *err)
{
    const struct {
        const char *name;
        bool wanted;
    } fields[] = {{"prompt_logprobs", request->prompt_logprobs},
                  {"topk_prompt_logprobs", request->topk_prompt_logprobs > 0},
                  {"topk_sample_logprobs", request->topk_sample_logprobs > 0},
                  {"target_prompt_logprobs", request->target_starts != NULL},
                  {"prompt_alt_tokens_k", request->prompt_alt_tokens > 0}};
    if (request->num_samples != 1) {
        return tk_err_set(err, TINKC_E_INVALID, "a stream has one sample");
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(fields); i++) {
        if (fields[i].wanted) {
            return tk_err_set(err, TINKC_E_INVALID, "a stream has no %s", fields[i].name);
        }
    }
    return TINKC_OK;
}
