/* Files into tables: what the loaders share. tok_load.c calls them in this order: the
 * parts around the model (tok_parts.c), the vocabulary (tok_vocab.c), the merges
 * (tok_merges.c), the added tokens (tok_vocab.c). tok_tiktoken.c is the other file
 * format.
 *
 * The file is hostile. What would change ids and is not implemented is refused by
 * name. */
#ifndef TEXT_TOK_LOAD_H
#define TEXT_TOK_LOAD_H

#include "text/tok/tok_tables.h"

typedef struct tk_tok_loader {
    tk_tok *tok;
    const tk_json *root; /* of tokenizer.json; NULL for a tiktoken vocabulary */
    tk_err *err;
} tk_tok_loader;

/* ---- tok_load.c ---- */

/* Makes an empty tokenizer. */
TK_NODISCARD tinkc_code tk_tok_load_new(tk_tok **out, tk_err *err);

/* Set the error and return TINKC_E_UNSUPPORTED, TINKC_E_DECODE. */
tinkc_code tk_tok_load_refuse(const tk_tok_loader *l, const char *what, tk_str name);
tinkc_code tk_tok_load_bad(const tk_tok_loader *l, const char *what);

bool tk_tok_load_is(const tk_json *value, const char *text); /* this string */
bool tk_tok_load_true(const tk_json *value);
tk_str tk_tok_load_text(const tk_json *value); /* {NULL, 0} when it is not a string */

/* ---- tok_parts.c: everything around the model ---- */

TK_NODISCARD tinkc_code tk_tok_parts_encode(const tk_tok_loader *l);
TK_NODISCARD tinkc_code tk_tok_parts_decode(const tk_tok_loader *l);
TK_NODISCARD tinkc_code tk_tok_parts_post(const tk_tok_loader *l); /* needs the entries */

/* ---- tok_vocab.c: the model and the added tokens ---- */

TK_NODISCARD tinkc_code tk_tok_vocab_load(const tk_tok_loader *l);
TK_NODISCARD tinkc_code tk_tok_vocab_load_added(const tk_tok_loader *l);

/* Finds what tokens decode to, the bytes they cover, the tries: when all tokens are
 * known. */
TK_NODISCARD tinkc_code tk_tok_vocab_finish(const tk_tok_loader *l);

/* Makes entries for the ids below n. */
TK_NODISCARD tinkc_code tk_tok_vocab_init(tk_tok *tok, size_t n, tk_err *err);

/* Gives the id its token and puts it into the index. */
TK_NODISCARD tinkc_code tk_tok_vocab_put(const tk_tok_loader *l, tk_str token,
                                         int64_t id);

/* ---- tok_merges.c ---- */

TK_NODISCARD tinkc_code tk_tok_merges_load(const tk_tok_loader *l);

/* ---- tok_tiktoken.c ---- */

/* Loads a tiktoken.model with the special tokens of its config. The caller frees *out. */
TK_NODISCARD tinkc_code tk_tok_tiktoken_load(tk_tok **out, tk_str file,
                                             const tk_tok_config *config, tk_err *err);

#endif
