/* The examples of a run, as tokens, in little memory: tokens take two or three bytes each,
 * and weights are stored as runs of equal ones. Datums are made when a step needs them.
 * Thread: one. */
#ifndef CLI_DATA_SET_H
#define CLI_DATA_SET_H

#include <tinkc/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "cli/data/data_encode.h"

typedef struct data_row {
    const unsigned char *packed; /* in the arena of the set */
    double weight;   /* sum of the weights: usually the number of trained tokens */
    tk_str answer;   /* of a prompt: what is expected, in the arena; or {NULL, 0} */
    size_t line;     /* in its file, from 1 */
    uint32_t file;   /* the how manieth file */
    uint32_t tokens; /* input tokens: one less than the text has */
    uint32_t runs;   /* of equal weights */
    uint8_t kind;    /* data_kind */
} data_row;

typedef struct data_set {
    data_row *rows; /* owned */
    size_t n, capacity;
    size_t tokens;   /* input tokens of all rows */
    double weight;   /* of all rows */
    size_t problems; /* records that cannot be used */
    size_t too_long; /* of these, the ones with too many tokens */
    size_t cut;      /* texts that were cut into several rows */
    size_t width;    /* bytes of a packed token */
    tk_arena arena;
} data_set;

/* The vocabulary is the number of tokens that the tokenizer has. The caller disposes of
 * the set, which may also be zeroed. */
void data_set_init(data_set *set, size_t vocabulary);
void data_set_dispose(data_set *set);

/* Appends a row with the tokens, of which there are two or more (of a prompt: one), all of
 * them in the vocabulary. `about` gives line, file, kind and answer, which is copied. TINKC_E_NOMEM, TINKC_E_LIMIT. */
TK_NODISCARD tinkc_code data_set_add(data_set *set, const data_row *about,
                                     const data_tokens *tokens, tk_err *err);

/* Gives the tokens of a row, and the weight of each. The caller disposes of them.
 * TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code data_set_tokens(data_tokens *out, const data_set *set, size_t row,
                                        tk_err *err);

/* Makes the input of a row that is a prompt, from all its tokens. The caller frees it.
 * TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code data_set_prompt(tinkc_model_input **out, const data_set *set,
                                        size_t row, tk_err *err);

/* Makes the datum of a row, for cross_entropy. The caller frees it. TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code data_set_datum(tinkc_datum **out, const data_set *set, size_t row,
                                       tk_err *err);

#endif
