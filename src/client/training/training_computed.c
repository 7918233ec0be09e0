/* The loss of a batch, computed from the log-probabilities of its result: some servers send
 * no loss among the metrics, others one of an unknown reduction. Thread: any. */
#include <math.h>
#include <string.h>

#include "client/training/training_result.h"
#include "client/values/error.h"
#include "client/values/params.h"
#include "client/values/types.h"

/* What a datum and its result have for each token, and the settings of the loss. */
typedef struct columns {
    size_t n;
    const float *logprobs;   /* of the result */
    const float *weights;    /* of the datum; NULL: 1 each */
    const float *sampled;    /* of the datum: log-probabilities when it was sampled */
    const float *advantages; /* of the datum */
    double low, high;        /* bounds of the ratio */
    double beta;
} columns;

static double ratio(const columns *c, size_t i)
{
    return exp((double)c->logprobs[i] - (double)c->sampled[i]);
}

static double bounded(const columns *c, size_t i)
{
    return fmin(fmax(ratio(c, i), c->low), c->high);
}

static double cross_entropy(const columns *c, size_t i)
{
    double weight = c->weights != NULL ? (double)c->weights[i] : 1.0;
    return weight != 0 ? -weight * (double)c->logprobs[i] : 0;
}

/* A token without advantage counts nothing: its ratio may be that of a placeholder. */
static double importance_sampling(const columns *c, size_t i)
{
    double advantage = (double)c->advantages[i];
    return advantage != 0 ? -ratio(c, i) * advantage : 0;
}

static double ppo(const columns *c, size_t i)
{
    double advantage = (double)c->advantages[i];
    return advantage != 0 ? -fmin(ratio(c, i) * advantage, bounded(c, i) * advantage) : 0;
}

static double cispo(const columns *c, size_t i)
{
    double advantage = (double)c->advantages[i];
    return advantage != 0 ? -bounded(c, i) * advantage * (double)c->logprobs[i] : 0;
}

/* Its quadratic term counts for every token. */
static double dro(const columns *c, size_t i)
{
    double logprob = (double)c->logprobs[i], gap = logprob - (double)c->sampled[i];
    return -(logprob * (double)c->advantages[i] - 0.5 * c->beta * gap * gap);
}

typedef struct computed_loss {
    const char *name;
    double (*of_token)(const columns *c, size_t i);
    bool needs_rollout; /* sampled log-probabilities and advantages */
    /* Settings that were not given; NAN: servers differ in their default. */
    double low, high, beta;
} computed_loss;

static const computed_loss losses[] = {
    {"cross_entropy", cross_entropy, false, 0, 0, 0},
    {"importance_sampling", importance_sampling, true, 0, 0, 0},
    {"ppo", ppo, true, 0.8, 1.2, 0},
    {"cispo", cispo, true, (double)NAN, (double)NAN, 0},
    {"dro", dro, true, 0, 0, (double)NAN},
};

static const computed_loss *find_loss(tk_str name)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(losses); i++) {
        if (tk_str_is(name, losses[i].name)) {
            return &losses[i];
        }
    }
    return NULL;
}

/* ---- settings ---- */

static void take_setting(columns *c, tk_str name, double value)
{
    if (tk_str_is(name, "clip_low_threshold")) {
        c->low = value;
    } else if (tk_str_is(name, "clip_high_threshold")) {
        c->high = value;
    } else if (tk_str_is(name, "beta")) {
        c->beta = value;
    }
}

/* False when one of them is not known. */
static bool read_settings(columns *c, const computed_loss *how,
                          const tk_fwdbwd_request *request)
{
    c->low = how->low;
    c->high = how->high;
    c->beta = how->beta;
    for (size_t i = 0; i < request->loss_fn_config.n; i++) {
        take_setting(c, request->loss_fn_config.items[i].name,
                     request->loss_fn_config.items[i].v);
    }
    for (size_t i = 0; i < request->loss_fn_config_v2.n; i++) {
        const tk_loss_value *value = &request->loss_fn_config_v2.items[i];
        take_setting(c, value->name, value->is_text ? (double)NAN : value->number);
    }
    return !isnan(c->low) && !isnan(c->high) && !isnan(c->beta);
}

/* ---- columns ---- */

/* Gives an input of the datum, or NULL when it has none of this name. False when it is one
 * that cannot be multiplied with the log-probabilities. */
static bool find_input(const float **out, const tk_datum *datum, const char *name,
                       size_t n)
{
    *out = NULL;
    for (size_t i = 0; i < datum->loss_fn_inputs.n; i++) {
        const tk_named_tensor *input = &datum->loss_fn_inputs.items[i];
        if (tk_str_is(input->name, name)) {
            *out = input->tensor.data;
            return input->tensor.dtype == TK_DTYPE_F32 && !input->tensor.is_sparse &&
                   input->tensor.n == n;
        }
    }
    return true;
}

/* False also for bounds of each token: what they mean is not published. */
static bool find_columns(columns *c, const tinkc_fwdbwd *result, size_t index,
                         const tk_datum *datum)
{
    const float *low = NULL, *high = NULL;
    return tinkc_fwdbwd_f32(&c->logprobs, &c->n, result, index, "logprobs", NULL) ==
               TINKC_OK &&
           find_input(&c->weights, datum, "weights", c->n) &&
           find_input(&c->sampled, datum, "logprobs", c->n) &&
           find_input(&c->advantages, datum, "advantages", c->n) &&
           find_input(&low, datum, "clip_low_threshold", c->n) && low == NULL &&
           find_input(&high, datum, "clip_high_threshold", c->n) && high == NULL;
}

static tinkc_code check_count(const tinkc_fwdbwd *result, size_t n, tk_err *err)
{
    if (tinkc_fwdbwd_count(result) != n) {
        return tk_err_set(err, TINKC_E_MISSING,
                          "the result does not have one entry for each datum");
    }
    return TINKC_OK;
}

tinkc_code tk_fwdbwd_compute(double *out, const tinkc_fwdbwd *result,
                             const tk_fwdbwd_request *request, tk_err *err)
{
    const computed_loss *how = find_loss(request->loss_fn);
    columns c = {0};
    double sum = 0;
    if (how == NULL) {
        return tk_err_set(err, TINKC_E_UNSUPPORTED,
                          "this loss is not computed from log-probabilities");
    }
    if (!read_settings(&c, how, request)) {
        return tk_err_set(err, TINKC_E_MISSING,
                          "%s needs its settings: servers differ in what they take "
                          "when none are given",
                          how->name);
    }
    if (check_count(result, request->data_n, err) != TINKC_OK) {
        return TINKC_E_MISSING;
    }
    for (size_t i = 0; i < request->data_n; i++) {
        if (!find_columns(&c, result, i, &request->data[i]) ||
            (how->needs_rollout && (c.sampled == NULL || c.advantages == NULL))) {
            return tk_err_set(err, TINKC_E_MISSING,
                              "the result has no log-probability for each target");
        }
        for (size_t k = 0; k < c.n; k++) {
            sum += how->of_token(&c, k);
        }
    }
    *out = sum;
    return TINKC_OK;
}

/* ---- for the caller ---- */

static tinkc_code gather(tk_fwdbwd_request *out, tk_arena *arena,
                         tinkc_datum *const *data, size_t n, tk_err *err)
{
    tk_datum *flat = tk_arena_array(arena, n, sizeof(*flat));
    if (flat == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        if (data[i] == NULL) {
            return tk_err_set(err, TINKC_E_MISSING, "a datum is NULL");
        }
        flat[i] = *tk_types_datum(data[i]);
    }
    out->data = flat;
    out->data_n = n;
    return TINKC_OK;
}

tinkc_code tinkc_fwdbwd_computed_loss_with(double *out, const tinkc_fwdbwd *result,
                                           tinkc_datum *const *data, size_t n,
                                           const char *loss,
                                           const tinkc_fwdbwd_options *options,
                                           tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tk_fwdbwd_request request = {.seq_id = 0};
    tinkc_fwdbwd_options o = TINKC_FWDBWD_OPTIONS_INIT;
    tk_arena arena;
    tk_arena_init(&arena, 0);
    tinkc_code code = tk_types_options(&o, sizeof(o), options, &err);
    if (code == TINKC_OK && (out == NULL || result == NULL || (data == NULL && n > 0))) {
        code = tk_err_set(&err, TINKC_E_INVALID, "no result, data or place for it");
    }
    if (code == TINKC_OK) {
        code = check_count(result, n, &err);
    }
    if (code != TINKC_OK) {
        goto out;
    }
    code = gather(&request, &arena, data, n, &err);
    if (code != TINKC_OK) {
        goto out;
    }
    if (loss != NULL) {
        const tk_loss_settings settings = {.numbers = o.config, .numbers_n = o.config_n};
        code = tk_params_loss(&request, &arena, loss, &settings, &err);
    }
    if (code == TINKC_OK) {
        code = tk_fwdbwd_compute(out, result, &request, &err);
    }
out:
    tk_arena_dispose(&arena);
    return tk_error_give(error, &err);
}

tinkc_code tinkc_fwdbwd_computed_loss(double *out, const tinkc_fwdbwd *result,
                                      tinkc_datum *const *data, size_t n,
                                      const char *loss, tinkc_error **err)
{
    return tinkc_fwdbwd_computed_loss_with(out, result, data, n, loss, NULL, err);
}
