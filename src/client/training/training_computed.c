/* The loss of a batch, computed from the log-probabilities of its result: some servers send
 * no loss among the metrics, others one of an unknown reduction. Thread: any. */
#include <math.h>
#include <string.h>

#include "client/training/training_result.h"
#include "client/values/error.h"
#include "client/values/types.h"

/* What a datum and its result have for each token. */
typedef struct columns {
    size_t n;
    const float *logprobs;   /* of the result */
    const float *weights;    /* of the datum; NULL: 1 each */
    const float *sampled;    /* of the datum: log-probabilities when it was sampled */
    const float *advantages; /* of the datum */
} columns;

static double cross_entropy(const columns *c)
{
    double sum = 0;
    for (size_t i = 0; i < c->n; i++) {
        double weight = c->weights != NULL ? (double)c->weights[i] : 1.0;
        sum -= weight != 0 ? weight * (double)c->logprobs[i] : 0;
    }
    return sum;
}

static double importance_sampling(const columns *c)
{
    double sum = 0;
    for (size_t i = 0; i < c->n; i++) {
        double advantage = (double)c->advantages[i];
        double ratio = exp((double)c->logprobs[i] - (double)c->sampled[i]);
        sum -= advantage != 0 ? ratio * advantage : 0;
    }
    return sum;
}

typedef struct computed_loss {
    const char *name;
    double (*sum)(const columns *c);
    bool needs_rollout; /* sampled log-probabilities and advantages */
} computed_loss;

static const computed_loss losses[] = {
    {"cross_entropy", cross_entropy, false},
    {"importance_sampling", importance_sampling, true},
};

static const computed_loss *find_loss(const char *name)
{
    for (size_t i = 0; name != NULL && i < TK_ARRAY_LEN(losses); i++) {
        if (strcmp(losses[i].name, name) == 0) {
            return &losses[i];
        }
    }
    return NULL;
}

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

static bool find_columns(columns *c, const tinkc_fwdbwd *result, size_t index,
                         const tinkc_datum *datum)
{
    const tk_datum *own = tk_types_datum(datum);
    return tinkc_fwdbwd_f32(&c->logprobs, &c->n, result, index, "logprobs", NULL) ==
               TINKC_OK &&
           find_input(&c->weights, own, "weights", c->n) &&
           find_input(&c->sampled, own, "logprobs", c->n) &&
           find_input(&c->advantages, own, "advantages", c->n);
}

tinkc_code tinkc_fwdbwd_computed_loss(double *out, const tinkc_fwdbwd *result,
                                      tinkc_datum *const *data, size_t n,
                                      const char *loss, tinkc_error **err)
{
    const computed_loss *how = find_loss(loss);
    double sum = 0;
    if (out == NULL || result == NULL || (data == NULL && n > 0)) {
        return tk_error_tell(err, TINKC_E_INVALID, "no result, data or place for it");
    }
    if (how == NULL) {
        return tk_error_tell(err, TINKC_E_UNSUPPORTED,
                             "this loss is not computed from log-probabilities");
    }
    if (tinkc_fwdbwd_count(result) != n) {
        return tk_error_tell(err, TINKC_E_MISSING,
                             "the result does not have one entry for each datum");
    }
    for (size_t i = 0; i < n; i++) {
        columns c = {0};
        if (data[i] == NULL || !find_columns(&c, result, i, data[i]) ||
            (how->needs_rollout && (c.sampled == NULL || c.advantages == NULL))) {
            return tk_error_tell(err, TINKC_E_MISSING,
                                 "the result has no log-probability for each target");
        }
        sum += how->sum(&c);
    }
    *out = sum;
    return TINKC_OK;
}
