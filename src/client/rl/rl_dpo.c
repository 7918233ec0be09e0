/* Losses on preferences, and advantages from a teacher; see <tinkc/rl.h>. */
#include <math.h>

#include "base/mem.h"
#include "client/rl/rl.h"
#include "client/values/error.h"
#include "client/values/types.h"

/* ---- preferences ---- */

static tinkc_code check_pairs(const tinkc_rl_dpo_pairs *p, tk_err *err)
{
    if (p->logprobs == NULL || p->reference == NULL || p->pairs == 0) {
        return tk_err_set(err, TINKC_E_INVALID, "there are no pairs");
    }
    if (!(p->beta > 0) || !isfinite(p->beta)) {
        return tk_err_set(err, TINKC_E_INVALID, "beta must be above 0 and finite");
    }
    for (size_t i = 0; i / 2 < p->pairs; i++) {
        if (!isfinite(p->logprobs[i]) || !isfinite(p->reference[i])) {
            return tk_err_set(err, TINKC_E_INVALID, "log-probability %zu is not finite",
                              i);
        }
    }
    return TINKC_OK;
}

/* -log sigmoid(x), also where exp(-x) overflows. */
static double log_loss(double x)
{
    return x >= 0 ? log1p(exp(-x)) : log1p(exp(x)) - x;
}

tinkc_code tinkc_rl_dpo(tinkc_rl_dpo_result *out, double *slopes,
                        const tinkc_rl_dpo_pairs *pairs, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tinkc_rl_dpo_pairs p = TINKC_RL_DPO_PAIRS_INIT;
    tinkc_rl_dpo_result r = TINKC_RL_DPO_RESULT_INIT;
    if (out == NULL || out->size < sizeof(out->size) || pairs == NULL) {
        return tk_error_tell(error, TINKC_E_INVALID,
                             "no pairs, or no place for the result");
    }
    tinkc_code code = tk_types_options(&p, sizeof(p), pairs, &err);
    if (code == TINKC_OK) {
        code = check_pairs(&p, &err);
    }
    if (code != TINKC_OK) {
        return tk_error_give(error, &err);
    }
    double n = (double)p.pairs;
    for (size_t i = 0; i < p.pairs; i++) {
        double chosen = p.beta * (p.logprobs[2 * i] - p.reference[2 * i]);
        double rejected = p.beta * (p.logprobs[2 * i + 1] - p.reference[2 * i + 1]);
        double margin = chosen - rejected;
        double slope = p.beta / (1 + exp(margin)) / n; /* beta * sigmoid(-margin) */
        r.loss += log_loss(margin) / n;
        r.accuracy += margin > 0 ? 1 : margin < 0 ? 0 : 0.5; /* exact */
        r.margin += margin / n;
        r.chosen_reward += chosen / n;
        r.rejected_reward += rejected / n;
        if (slopes != NULL) {
            slopes[2 * i] = -slope;
            slopes[2 * i + 1] = slope;
        }
    }
    r.accuracy /= n;
    tk_rl_give(out, &r, sizeof(r));
    return TINKC_OK;
}

/* ---- as a custom loss ---- */

/* The weights of an item; *fits is false when they are not one float for each entry. NULL:
 * it has none, every entry counts 1. */
static const float *weights_of(const tinkc_custom_item *item, bool *fits)
{
    const tinkc_tensor *tensor = tinkc_custom_item_tensor(item, "weights");
    *fits = tensor == NULL ||
            (!tinkc_tensor_is_sparse(tensor) && tinkc_tensor_f32(tensor) != NULL &&
             tinkc_tensor_count(tensor) == item->n);
    return tensor != NULL && *fits ? tinkc_tensor_f32(tensor) : NULL;
}

static tinkc_code sum_item(double *out, const tinkc_custom_item *item)
{
    bool fits = false;
    const float *weights = weights_of(item, &fits);
    if (!fits) {
        return TINKC_E_INVALID;
    }
    *out = 0;
    for (size_t i = 0; i < item->n; i++) {
        double weight = weights != NULL ? (double)weights[i] : 1;
        *out += weight != 0 ? weight * (double)item->logprobs[i] : 0;
    }
    return TINKC_OK;
}

static void write_gradient(const tinkc_custom_item *item, double slope)
{
    bool fits = false;
    const float *weights = weights_of(item, &fits);
    for (size_t i = 0; i < item->n; i++) {
        double weight = weights != NULL ? (double)weights[i] : 1;
        item->gradient[i] = (float)(slope * weight);
    }
}

static tinkc_code put_metrics(tinkc_metrics *metrics, const tinkc_rl_dpo_result *r)
{
    const tinkc_number numbers[] = {{"accuracy", r->accuracy},
                                    {"margin", r->margin},
                                    {"chosen_reward", r->chosen_reward},
                                    {"rejected_reward", r->rejected_reward}};
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && i < TK_ARRAY_LEN(numbers); i++) {
        code = tinkc_metrics_put(metrics, numbers[i].name, numbers[i].value, NULL);
    }
    return code;
}

int tinkc_rl_dpo_loss(double *loss, tinkc_metrics *metrics, tinkc_custom_item *items,
                      size_t n, void *user)
{
    tinkc_rl_dpo_options o = TINKC_RL_DPO_OPTIONS_INIT;
    tinkc_rl_dpo_result r = TINKC_RL_DPO_RESULT_INIT;
    tinkc_rl_dpo_pairs p = TINKC_RL_DPO_PAIRS_INIT;
    if (loss == NULL || items == NULL || user == NULL || n % 2 != 0 ||
        tk_types_options(&o, sizeof(o), user, NULL) != TINKC_OK) {
        return TINKC_E_INVALID;
    }
    double *sums = tk_array(2 * n, sizeof(*sums)); /* [n], then [n] slopes */
    tinkc_code code = sums != NULL ? TINKC_OK : TINKC_E_NOMEM;
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        code = sum_item(&sums[i], &items[i]);
    }
    if (code == TINKC_OK) {
        p.beta = o.beta;
        p.logprobs = sums;
        p.reference = o.reference;
        p.pairs = n / 2;
        code = tinkc_rl_dpo(&r, sums + n, &p, NULL);
    }
    if (code == TINKC_OK) {
        code = put_metrics(metrics, &r);
    }
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        write_gradient(&items[i], sums[n + i]);
    }
    if (code == TINKC_OK) {
        *loss = r.loss;
    }
    tk_free(sums);
    return (int)code;
}

/* ---- distillation ---- */

tinkc_code tinkc_rl_distill_advantages(float *out, const float *student,
                                       const float *teacher, size_t n, double coefficient,
                                       tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    if ((out == NULL || student == NULL || teacher == NULL) && n > 0) {
        return tk_error_tell(error, TINKC_E_INVALID,
                             "out, student and teacher must not be NULL");
    }
    for (int pass = 0; pass < 2; pass++) { /* checks all, then writes */
        for (size_t i = 0; i < n; i++) {
            double value = coefficient * ((double)teacher[i] - (double)student[i]);
            if (!isfinite((float)value)) {
                (void)tk_err_set(&err, TINKC_E_INVALID,
                                 "the advantage of token %zu is not finite", i);
                return tk_error_give(error, &err);
            }
            if (pass == 1) {
                out[i] = (float)value;
            }
        }
    }
    return TINKC_OK;
}
