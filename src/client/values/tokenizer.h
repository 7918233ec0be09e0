/* The tokenizer behind a public handle, for what builds on it (chat, lookup). */
#ifndef CLIENT_TOKENIZER_H
#define CLIENT_TOKENIZER_H

#include <tinkc/tokenizer.h>

#include "text/tok/tok.h"

/* Borrowed; NULL for NULL. A tinkc_tokenizer is never defined: its pointers are tk_tok
 * pointers. */
tk_tok *tk_tokenizer_tok(const tinkc_tokenizer *tokenizer);

/* Takes the caller's ownership over. */
tinkc_tokenizer *tk_tokenizer_of(tk_tok *tok);

/* Shows whether the content of a key has changed. */
typedef struct tk_tokenizer_stamp {
    int64_t a, b, c;
} tk_tokenizer_stamp;

/* The process's cache of loaded tokenizers; a key is a path or another name. `find` gives
 * one more owner, or NULL; `keep` makes the cache an owner, or fails with TINKC_E_NOMEM.
 * Thread: any. */
tk_tok *tk_tokenizer_cache_find(const char *key, const tk_tokenizer_stamp *stamp);
TK_NODISCARD tinkc_code tk_tokenizer_cache_keep(const char *key,
                                                const tk_tokenizer_stamp *stamp,
                                                tk_tok *tok, tk_err *err);

/* The stamp of a tokenizer's directory or file, with those that are read beside it; false
 * when it is not there. */
bool tk_tokenizer_cache_stamp(tk_tokenizer_stamp *out, const char *path);

#endif
