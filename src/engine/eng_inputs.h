/* Loss inputs checked and made dense: after this every array has the right length, every
 * id is in the vocabulary and every number is finite. Thread: one at a time. */
#ifndef ENGINE_ENG_INPUTS_H
#define ENGINE_ENG_INPUTS_H

#include "engine/eng_loss.h"
#include "engine/eng_model.h"

typedef struct eng_item { /* one datum; arrays are [n][columns] */
    const int32_t *tokens;
    size_t n, columns, n_dims;
    int32_t *targets;
    float *weights;               /* cross_entropy */
    float *reference, *advantage; /* the others */
    float *low, *high;            /* per-token clip bounds; NULL = from the settings */
    float *mask;                  /* of a sequence loss: which tokens make the ratio */
    double log_ratio; /* its logarithm, when the log-probabilities are known */
} eng_item;

typedef struct eng_inputs_reader {
    const eng_model *model;
    const eng_loss *loss;
    bool strict;
    eng_work *work;  /* the items' arrays live here */
    size_t elements; /* read so far, for the limit */
} eng_inputs_reader;

/* TINKC_E_INVALID names the field; the caller adds the datum's index to the path. */
TK_NODISCARD tinkc_code eng_inputs_read(eng_inputs_reader *r, const eng_datum *datum,
                                        eng_item *out, tk_err *err);

#endif
