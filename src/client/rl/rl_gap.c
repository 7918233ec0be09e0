/* Log-probabilities of a result beside what its datums say; see <tinkc/rl.h>. */
#include <math.h>

#include "base/mem.h"
#include "client/rl/rl.h"
#include "client/values/error.h"
#include "client/values/types.h"

/* A loss function input of the datum as n floats; NULL: there is none that fits. */
static const float *input_of(const tinkc_datum *datum, const char *name, size_t n)
{
    const tinkc_tensor *tensor = tinkc_datum_tensor(datum, name);
    return tensor != NULL && !tinkc_tensor_is_sparse(tensor) &&
                   tinkc_tensor_count(tensor) == n
               ? tinkc_tensor_f32(tensor)
               : NULL;
}

static tinkc_code logprobs_of(const float **out, size_t *n, const tinkc_fwdbwd *result,
                              size_t index, tk_err *err)
{
    return tinkc_fwdbwd_f32(out, n, result, index, "logprobs", NULL) == TINKC_OK
               ? TINKC_OK
               : tk_err_set(err, TINKC_E_MISSING, "the result has no logprobs");
}

static tinkc_code check_batch(const tinkc_fwdbwd *result, tinkc_datum *const *data,
                              size_t n, tk_err *err)
{
    if (result == NULL || (data == NULL && n > 0)) {
        return tk_err_set(err, TINKC_E_INVALID, "result and data must not be NULL");
    }
    if (tinkc_fwdbwd_count(result) != n) {
        return tk_err_set(err, TINKC_E_INVALID, "%zu datums, but results of %zu", n,
                          tinkc_fwdbwd_count(result));
    }
    for (size_t i = 0; i < n; i++) {
        if (data[i] == NULL) {
            return tk_err_set(err, TINKC_E_MISSING, "datum %zu is NULL", i);
        }
    }
    return TINKC_OK;
}

/* ---- gap ---- */

static void add_token(tinkc_rl_gap *sums, double sampled, double trained)
{
    double away = trained - sampled, ratio = exp(away);
    sums->tokens++;
    sums->kl -= away;
    sums->k3 += expm1(away) - away;
    sums->abs_mean += fabs(away);
    sums->abs_max = fmax(sums->abs_max, fabs(away));
    sums->entropy -= sampled;
    sums->clipped += ratio < sums->clip_low || ratio > sums->clip_high;
}

static tinkc_code add_datum(tinkc_rl_gap *sums, const tinkc_fwdbwd *result, size_t index,
                            const tinkc_datum *datum, tk_err *err)
{
    const float *trained = NULL;
    size_t n = 0;
    tinkc_code code = logprobs_of(&trained, &n, result, index, err);
    if (code != TINKC_OK) {
        return code;
    }
    const float *sampled = input_of(datum, "logprobs", n);
    const float *advantages = input_of(datum, "advantages", n);
    if (sampled == NULL || advantages == NULL) {
        return tk_err_set(err, TINKC_E_MISSING,
                          "logprobs or advantages do not fit the result");
    }
    for (size_t i = 0; i < n; i++) {
        if (sampled[i] == 0 && advantages[i] == 0) {
            continue;
        }
        if (!isfinite(sampled[i]) || !isfinite(trained[i])) {
            return tk_err_set(err, TINKC_E_INVALID,
                              "the log-probability of target %zu is not finite", i);
        }
        add_token(sums, (double)sampled[i], (double)trained[i]);
    }
    return TINKC_OK;
}

tinkc_code tinkc_rl_gap_compute(tinkc_rl_gap *out, const tinkc_fwdbwd *result,
                                tinkc_datum *const *data, size_t n, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tinkc_rl_gap in = TINKC_RL_GAP_INIT, sums = TINKC_RL_GAP_INIT;
    if (out == NULL) {
        return tk_error_tell(error, TINKC_E_INVALID, "out must not be NULL");
    }
    tinkc_code code = tk_types_options(&in, sizeof(in), out, &err);
    if (code == TINKC_OK && (isnan(in.clip_low) || isnan(in.clip_high))) {
        code = tk_err_set(&err, TINKC_E_INVALID, "a bound of the ratio is not a number");
    }
    if (code == TINKC_OK) {
        code = check_batch(result, data, n, &err);
    }
    sums.clip_low = in.clip_low;
    sums.clip_high = in.clip_high;
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        code = add_datum(&sums, result, i, data[i], &err);
        if (code != TINKC_OK) {
            tk_err_under_index(&err, i);
            tk_err_under(&err, "data");
        }
    }
    if (code != TINKC_OK) {
        return tk_error_give(error, &err);
    }
    double tokens = sums.tokens > 0 ? (double)sums.tokens : 1;
    sums.kl /= tokens;
    sums.k3 /= tokens;
    sums.abs_mean /= tokens;
    sums.entropy /= tokens;
    sums.clipped /= tokens;
    tk_rl_give(out, &sums, sizeof(sums));
    return TINKC_OK;
}

/* ---- sums ---- */

static tinkc_code sum_of(double *out, const tinkc_fwdbwd *result, size_t index,
                         const tinkc_datum *datum, tk_err *err)
{
    const float *logprobs = NULL, *weights = NULL;
    size_t n = 0;
    double sum = 0;
    tinkc_code code = logprobs_of(&logprobs, &n, result, index, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (tinkc_datum_tensor(datum, "weights") != NULL) {
        weights = input_of(datum, "weights", n);
        if (weights == NULL) {
            return tk_err_set(err, TINKC_E_MISSING, "weights do not fit the result");
        }
    }
    for (size_t i = 0; i < n; i++) {
        double weight = weights != NULL ? (double)weights[i] : 1;
        sum += weight != 0 ? weight * (double)logprobs[i] : 0;
    }
    if (!isfinite(sum)) {
        return tk_err_set(err, TINKC_E_INVALID, "a log-probability is not finite");
    }
    *out = sum;
    return TINKC_OK;
}

tinkc_code tinkc_rl_sums(double *out, const tinkc_fwdbwd *result,
                         tinkc_datum *const *data, size_t n, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    double *sums = NULL;
    tinkc_code code = check_batch(result, data, n, &err);
    if (code == TINKC_OK && out == NULL) {
        code = tk_err_set(&err, TINKC_E_INVALID, "out must not be NULL");
    }
    if (code != TINKC_OK) {
        goto out;
    }
    sums = tk_array(n, sizeof(*sums)); /* outputs are written on success only */
    if (sums == NULL) {
        code = tk_err_nomem(&err);
        goto out;
    }
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        code = sum_of(&sums[i], result, i, data[i], &err);
        if (code != TINKC_OK) {
            tk_err_under_index(&err, i);
            tk_err_under(&err, "data");
        }
    }
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        out[i] = sums[i];
    }
out:
    tk_free(sums);
    return tk_error_give(error, &err);
}
