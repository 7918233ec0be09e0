/* One datum for tests that need any: three tokens, their targets and weights; and a custom
 * loss that computes nothing. */
#ifndef SUPPORT_DATUMFIX_H
#define SUPPORT_DATUMFIX_H

#include <tinkc/training.h>

#define DATUMFIX_TOKENS 3

/* NULL without memory. The caller frees it. */
static inline tinkc_datum *datumfix_new(void)
{
    static const int32_t tokens[DATUMFIX_TOKENS] = {1, 2, 3};
    static const float weights[DATUMFIX_TOKENS] = {1, 1, 1};
    tinkc_model_input *input = NULL;
    tinkc_datum *datum = NULL;
    bool ok =
        tinkc_model_input_from_tokens(&input, tokens, DATUMFIX_TOKENS, NULL) ==
            TINKC_OK &&
        tinkc_datum_new(&datum, &input, NULL) == TINKC_OK &&
        tinkc_datum_set_i32(datum, "target_tokens", tokens, DATUMFIX_TOKENS, NULL) ==
            TINKC_OK &&
        tinkc_datum_set_f32(datum, "weights", weights, DATUMFIX_TOKENS, NULL) == TINKC_OK;
    tinkc_model_input_free(&input);
    if (!ok) {
        tinkc_datum_free(&datum);
    }
    return datum;
}

/* Loss 1, gradient 0, a metric "mine". */
static inline int datumfix_flat_loss(double *loss, tinkc_metrics *metrics,
                                     tinkc_custom_item *items, size_t n, void *user)
{
    *loss = 1.0;
    return tinkc_metrics_put(metrics, "mine", 1.0, NULL) == TINKC_OK ? 0 : 1;
}

#endif
