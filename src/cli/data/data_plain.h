/* A plain text as rows of the length that the model takes: the tokens of all pieces of a
 * file in a row, each row beginning with the last token of the one before, so that every
 * token is predicted once. Thread: one. */
#ifndef CLI_DATA_PLAIN_H
#define CLI_DATA_PLAIN_H

#include "cli/data/data_set.h"

typedef struct data_plain {
    size_t length;  /* input tokens of a row */
    int32_t *ids;   /* owned: tokens of the next row, and their weights */
    float *weights; /* owned */
    size_t n;
    size_t line;    /* where the next row begins; 0: nothing was added */
    data_row about; /* of the piece */
} data_plain;

/* `most` is the longest row; 0: not known. The caller disposes of it. */
void data_plain_init(data_plain *plain, size_t most);
void data_plain_dispose(data_plain *plain);

/* Adds the tokens of the next piece, whose rows are as `about` says. TINKC_E_NOMEM,
 * TINKC_E_LIMIT. */
TK_NODISCARD tinkc_code data_plain_add(data_plain *plain, data_set *set,
                                       const data_row *about, const data_tokens *tokens,
                                       tk_err *err);

/* Adds the last row, with the end of the text (-1: none). */
TK_NODISCARD tinkc_code data_plain_end(data_plain *plain, data_set *set, int32_t end,
                                       tk_err *err);

#endif
