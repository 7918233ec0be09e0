/* The data of `tinkc train`: turns lines of JSON into datums and checks every token
 * before anything is sent.
 *
 * A line is a conversation ({"messages": [...]}, or the array itself), which the model's
 * chat template renders, or {"prompt": text, "completion": text}. Empty lines are
 * skipped. A line that cannot be trained on is a problem: it is reported with its number,
 * and reading continues, so that one run shows all problems. Thread: one. */
#ifndef CLI_TRAIN_DATA_H
#define CLI_TRAIN_DATA_H

#include <tinkc/chat.h>
#include <tinkc/tokenizer.h>
#include <tinkc/types.h>

#include "base/err.h"

typedef struct train_row {
    size_t line;        /* in the file, from 1 */
    tinkc_datum *datum; /* owned */
    size_t tokens;      /* input tokens */
    double weight;      /* sum of the weights: usually the number of trained tokens */
} train_row;

typedef struct train_set {
    train_row *rows; /* owned */
    size_t n, capacity;
    size_t tokens;
    double weight;
    size_t problems; /* lines that cannot be used */
} train_set;

/* Takes a problem or, with is_problem false, a warning about a line that is still
 * used. */
typedef void (*train_report_fn)(void *user, size_t line, bool is_problem,
                                const char *text);

typedef struct train_source {
    tinkc_tokenizer *tokenizer;
    const tinkc_chat_template *tpl; /* NULL: conversations are problems */
    size_t max_tokens;              /* longer lines are problems; 0: no limit */
    tinkc_loss_on loss_on;          /* of conversations */
    train_report_fn report;
    void *user;
} train_source;

/* Reads all lines of text[0 .. n) into *out, which the caller disposes of, also after a
 * failure. Problems are reported and counted; they are not a failure. TINKC_E_NOMEM,
 * TINKC_E_LIMIT. */
TK_NODISCARD tinkc_code train_data_read(train_set *out, const train_source *source,
                                        const char *text, size_t n, tk_err *err);

/* Accepts a zeroed set. */
void train_data_dispose(train_set *set);

#endif
