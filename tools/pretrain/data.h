/* Training text as token ids, and the batches cut out of it. Every line of the text is
 * one document and ends in <|endoftext|>; a sequence starts with the end token of the
 * previous document, as a prompt does in use. Thread: one. */
#ifndef PRETRAIN_DATA_H
#define PRETRAIN_DATA_H

#include "net.h"
#include "text/tok/tok.h"

typedef struct pre_data {
    tk_tok_ids ids;
    uint32_t *starts; /* of documents, including their leading end token */
    size_t n_starts;
    size_t next; /* document at which the next sequence starts */
} pre_data;

/* Reads and encodes the text. TINKC_E_INVALID when it is shorter than a sequence of
 * `longest` inputs. */
TK_NODISCARD tinkc_code pre_data_load(pre_data *data, const tk_tok *tok, const char *path,
                                      size_t longest, tk_err *err);
void pre_data_dispose(pre_data *data);

/* Returns the next sequence of n inputs, at most `longest`. A document that it cuts comes
 * again, whole, at the start of the next one. After the end of the text it starts over. */
pre_seq pre_data_next(pre_data *data, size_t n);

#endif
