/* Training text as token ids, and the batches cut out of it. Every line of the text is
 * one document and ends in <|endoftext|>; a sequence begins with the end token of the
 * document before, so position 0 looks as it will in use. Thread: one. */
#ifndef PRETRAIN_DATA_H
#define PRETRAIN_DATA_H

#include "net.h"
#include "text/tok/tok.h"

typedef struct pre_data {
    tk_tok_ids ids;
    uint32_t *starts; /* where documents begin, their leading end token included */
    size_t n_starts;
    size_t next; /* document with which the next sequence begins */
} pre_data;

/* TINKC_E_INVALID when the text has no sequence of `longest` inputs. */
TK_NODISCARD tinkc_code pre_data_load(pre_data *data, const tk_tok *tok, const char *path,
                                      size_t longest, tk_err *err);
void pre_data_dispose(pre_data *data);

/* The next sequence of n inputs. A document that it cuts comes again, whole, at the start
 * of the next one; at the end of the text it begins again. n is at most `longest`. */
pre_seq pre_data_next(pre_data *data, size_t n);

#endif
