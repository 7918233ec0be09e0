/* Tokenizers from Hugging Face's tokenizer.json: byte-level BPE, text to ids and back.
 *
 * What a file asks for and this cannot do exactly is refused by name at load
 * (TINKC_E_UNSUPPORTED), never approximated. The file is hostile: sizes, ids and merges
 * are checked. Thread: a loaded tokenizer is immutable, any thread may use it. */
#ifndef TEXT_TOK_H
#define TEXT_TOK_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/tk.h"

typedef struct tk_tok tk_tok;

/* The caller frees *out. TINKC_E_PARSE: not JSON; TINKC_E_DECODE: a field is missing or
 * wrong. */
TK_NODISCARD tinkc_code tk_tok_load(tk_tok **out, const char *path, tk_err *err);
TK_NODISCARD tinkc_code tk_tok_load_memory(tk_tok **out, tk_str json, tk_err *err);
void tk_tok_free(tk_tok *tok); /* accepts NULL */

/* One more than the largest id. */
size_t tk_tok_size(const tk_tok *tok);

/* The token as the file spells it, {NULL, 0} for an id that is not used. Borrowed. */
tk_str tk_tok_token(const tk_tok *tok, int32_t id);

/* -1 when there is no such token. */
int32_t tk_tok_id(const tk_tok *tok, tk_str token);

bool tk_tok_is_special(const tk_tok *tok, int32_t id);

typedef struct tk_tok_ids {
    int32_t *ids; /* owned */
    size_t n;
    size_t capacity;
} tk_tok_ids;

void tk_tok_ids_dispose(tk_tok_ids *ids);

/* Appends the ids of `text`; special tokens in it are recognised, nothing is added around
 * it. Bytes that are not UTF-8 are encoded as they are. On failure (TINKC_E_NOMEM,
 * TINKC_E_LIMIT above TK_TOK_TEXT_MAX_BYTES) *out is as before. */
TK_NODISCARD tinkc_code tk_tok_encode(const tk_tok *tok, tk_str text, tk_tok_ids *out,
                                      tk_err *err);

/* Appends the bytes of the ids, which may end inside a character; ids that are not used
 * give nothing. */
void tk_tok_decode(const tk_tok *tok, const int32_t *ids, size_t n, bool skip_special,
                   tk_buf *out);

#endif
