/* Turns an example into tokens with weights: conversations through the chat template,
 * texts through the tokenizer. Thread: one. */
#ifndef CLI_DATA_ENCODE_H
#define CLI_DATA_ENCODE_H

#include <tinkc/chat.h>

#include "base/err.h"
#include "cli/data/data_shape.h"

typedef struct data_encoder {
    const tinkc_tokenizer *tokenizer;
    const tinkc_chat_template *tpl; /* NULL: conversations are problems */
    tinkc_loss_on loss_on;          /* of conversations */
    /* Takes a warning about an example that is used all the same. */
    void (*warn)(void *user, const char *text);
    void *user;
} data_encoder;

typedef struct data_tokens {
    int32_t *ids;   /* owned */
    float *weights; /* owned; weight i belongs to token i */
    size_t n;
} data_tokens;

/* Encodes an example. `problem` is "" or says why it cannot be used. The caller disposes
 * of *out after success, also with a problem. TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code data_encode(data_tokens *out, char problem[DATA_PROBLEM_BYTES],
                                    const data_encoder *encoder,
                                    const data_example *example, tk_err *err);

/* Encodes a prompt (data_prompt.h), up to the beginning of the answer; all weights are
 * 0. */
TK_NODISCARD tinkc_code data_encode_prompt(data_tokens *out,
                                           char problem[DATA_PROBLEM_BYTES],
                                           const data_encoder *encoder,
                                           const data_example *example, tk_err *err);

/* Encodes a piece of a plain text, of which it is the first, the last, or neither. */
TK_NODISCARD tinkc_code data_encode_piece(data_tokens *out,
                                          char problem[DATA_PROBLEM_BYTES],
                                          const data_encoder *encoder, tk_str text,
                                          bool is_first, tk_err *err);

/* Returns the token that ends a text, or -1. */
int32_t data_encode_end(const tinkc_tokenizer *tokenizer);

void data_tokens_dispose(data_tokens *tokens);

#endif
