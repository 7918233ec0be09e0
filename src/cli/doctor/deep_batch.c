/* Batches of `tinkc doctor --deep`. The ids are fixed, so that two conversations with the
 * same server can be compared; the lengths differ, so that an average over datums and one
 * over tokens are different numbers. */
#include "cli/doctor/deep_batch.h"

#include <math.h>
#include <string.h>

#define LOWEST_ID 40 /* ids from here to 199 are ordinary tokens in every vocabulary */
#define IDS       160

void deep_batch_tokens(int32_t *out, size_t n, unsigned which)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = (int32_t)(LOWEST_ID + (which * 29 + i * 17 + i * i * (which + 3)) % IDS);
    }
}

/* Adds a datum that predicts tokens[1 .. n] from tokens[0 .. n - 1]. */
static tinkc_code add(deep_batch *batch, const int32_t *tokens, size_t n,
                      tinkc_error **error)
{
    tinkc_model_input *input = NULL;
    tinkc_datum *datum = NULL;
    tinkc_code code = tinkc_model_input_from_tokens(&input, tokens, n, error);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_datum_new(&datum, &input, error);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_datum_set_i32(datum, "target_tokens", tokens + 1, n, error);
    if (code != TINKC_OK) {
        goto out;
    }
    batch->lengths[batch->n] = n;
    batch->datums[batch->n++] = datum;
    datum = NULL;
out:
    tinkc_datum_free(&datum);
    tinkc_model_input_free(&input);
    return code;
}

static tinkc_code set_weights(deep_batch *batch, const float *weights, size_t n,
                              tinkc_error **error)
{
    memcpy(batch->weights.v + batch->weights.n, weights, n * sizeof(*weights));
    batch->weights.n += n;
    return tinkc_datum_set_f32(batch->datums[batch->n - 1], "weights", weights, n, error);
}

tinkc_code deep_batch_open(deep_batch *batch, size_t n, unsigned which,
                           tinkc_error **error)
{
    tinkc_code code = TINKC_OK;
    memset(batch, 0, sizeof(*batch));
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        int32_t tokens[32];
        float weights[32];
        size_t length = 6 + 5 * i; /* 6, 11, 16 */
        deep_batch_tokens(tokens, length + 1, which + (unsigned)i);
        for (size_t k = 0; k < length; k++) {
            weights[k] = k == 0 ? 0 : k == 1 ? 0.5F : 1;
        }
        code = add(batch, tokens, length, error);
        if (code == TINKC_OK) {
            code = set_weights(batch, weights, length, error);
        }
    }
    return code;
}

tinkc_code deep_batch_teach(deep_batch *batch, const int32_t *tokens, size_t n,
                            int32_t end, tinkc_error **error)
{
    int32_t all[DEEP_VALUES_MAX];
    float weights[DEEP_VALUES_MAX] = {0};
    memset(batch, 0, sizeof(*batch));
    n = TK_MIN(n, DEEP_VALUES_MAX - 1);
    memcpy(all, tokens, n * sizeof(*tokens));
    all[n] = end;
    weights[n - 1] = 1;
    tinkc_code code = add(batch, all, n, error);
    return code == TINKC_OK ? set_weights(batch, weights, n, error) : code;
}

tinkc_code deep_batch_text(deep_batch *batch, size_t n, unsigned which,
                           tinkc_error **error)
{
    int32_t tokens[DEEP_VALUES_MAX + 1];
    float weights[DEEP_VALUES_MAX];
    memset(batch, 0, sizeof(*batch));
    n = TK_MIN(n, DEEP_VALUES_MAX);
    deep_batch_tokens(tokens, n + 1, which);
    for (size_t i = 0; i < n; i++) {
        weights[i] = 1;
    }
    tinkc_code code = add(batch, tokens, n, error);
    return code == TINKC_OK ? set_weights(batch, weights, n, error) : code;
}

tinkc_code deep_batch_rl(deep_batch *batch, unsigned which, const deep_values *sampled,
                         const deep_values *advantages, tinkc_error **error)
{
    int32_t tokens[DEEP_VALUES_MAX + 1];
    memset(batch, 0, sizeof(*batch));
    deep_batch_tokens(tokens, sampled->n + 1, which);
    tinkc_code code = add(batch, tokens, sampled->n, error);
    if (code != TINKC_OK) {
        return code;
    }
    code =
        tinkc_datum_set_f32(batch->datums[0], "logprobs", sampled->v, sampled->n, error);
    return code != TINKC_OK ? code
                            : tinkc_datum_set_f32(batch->datums[0], "advantages",
                                                  advantages->v, advantages->n, error);
}

void deep_batch_close(deep_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++) {
        tinkc_datum_free(&batch->datums[i]);
    }
    batch->n = 0;
}

size_t deep_batch_count(const deep_batch *batch, size_t first, size_t n)
{
    size_t sum = 0;
    for (size_t i = first; i < first + n; i++) {
        sum += batch->lengths[i];
    }
    return sum;
}

double deep_batch_loss(const deep_batch *batch, size_t first, const deep_values *lp)
{
    double sum = 0;
    for (size_t i = 0; i < lp->n; i++) {
        sum -= (double)batch->weights.v[first + i] * (double)lp->v[i];
    }
    return sum;
}

double deep_values_gap(const deep_values *a, const deep_values *b)
{
    double most = 0;
    if (a->n != b->n || a->n == 0) {
        return INFINITY;
    }
    for (size_t i = 0; i < a->n; i++) {
        double gap = fabs((double)a->v[i] - (double)b->v[i]);
        if (!(gap <= INFINITY)) { /* also when it is not a number */
            return INFINITY;
        }
        most = TK_MAX(most, gap);
    }
    return most;
}
