/* <tinkc/types.h>: the datum of a sampled answer, for the losses of reinforcement
 * learning. What a model reads at position i predicts token i + 1: targets, and what
 * belongs to them, are shifted by one. Thread: one at a time, as every value. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "client/values/error.h"
#include "client/values/types.h"

static tinkc_code check(const tinkc_rollout *r, tk_err *err)
{
    if (r->prompt == NULL || r->tokens == NULL || r->logprobs == NULL || r->n == 0) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "prompt, tokens and logprobs must be there and not empty");
    }
    if (!isfinite((float)r->advantage)) { /* it is sent as a float */
        return tk_err_set(err, TINKC_E_INVALID, "the advantage is not finite");
    }
    for (size_t i = 0; i < r->n; i++) {
        if (!isfinite(r->logprobs[i])) {
            return tk_err_set(err, TINKC_E_INVALID, "logprobs[%zu] is not finite", i);
        }
    }
    return TINKC_OK;
}

tinkc_code tk_types_rl_datum(tinkc_datum **out, const tk_types_rl *a, tinkc_error **err)
{
    tinkc_model_input *input = NULL;
    tinkc_datum *datum = NULL;
    tinkc_code code = tinkc_model_input_from_tokens(&input, a->tokens, a->n, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_datum_new(&datum, &input, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_datum_set_i32(datum, "target_tokens", a->tokens + 1, a->n, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_datum_set_f32(datum, "logprobs", a->logprobs, a->n, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_datum_set_f32(datum, "advantages", a->advantages, a->n, err);
    if (code == TINKC_OK) {
        *out = datum;
        datum = NULL;
    }
out:
    tinkc_model_input_free(&input);
    tinkc_datum_free(&datum);
    return code;
}

static tinkc_code fill_arrays(tk_types_rl *a, const tinkc_rollout *r, tk_err *err)
{
    size_t prompt_n = 0;
    tinkc_code code = tk_types_copy_tokens(&a->tokens, &prompt_n, r->prompt, r->n, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (prompt_n == 0) {
        return tk_err_set(err, TINKC_E_INVALID, "the prompt is empty");
    }
    a->n = prompt_n + r->n - 1;
    a->logprobs = tk_zarray(a->n, sizeof(*a->logprobs));
    a->advantages = tk_zarray(a->n, sizeof(*a->advantages));
    if (a->logprobs == NULL || a->advantages == NULL) {
        return tk_err_nomem(err);
    }
    /* Token i of the answer is target prompt_n - 1 + i; the prompt's targets count 0. */
    memcpy(a->tokens + prompt_n, r->tokens, r->n * sizeof(*r->tokens));
    memcpy(a->logprobs + prompt_n - 1, r->logprobs, r->n * sizeof(*r->logprobs));
    for (size_t i = prompt_n - 1; i < a->n; i++) {
        a->advantages[i] = (float)r->advantage;
    }
    return TINKC_OK;
}

tinkc_code tinkc_datum_from_rollout(tinkc_datum **out, const tinkc_rollout *rollout,
                                    tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tinkc_rollout r = TINKC_ROLLOUT_INIT;
    tk_types_rl a = {NULL, NULL, NULL, 0};
    if (out == NULL || rollout == NULL) {
        return tk_error_tell(error, TINKC_E_INVALID, "no rollout, or no place for it");
    }
    tinkc_code code = tk_types_options(&r, sizeof(r), rollout, &err);
    if (code == TINKC_OK) {
        code = check(&r, &err);
    }
    if (code == TINKC_OK) {
        code = fill_arrays(&a, &r, &err);
    }
    code =
        code == TINKC_OK ? tk_types_rl_datum(out, &a, error) : tk_error_give(error, &err);
    tk_free(a.tokens);
    tk_free(a.logprobs);
    tk_free(a.advantages);
    return code;
}
