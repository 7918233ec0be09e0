/* The tokenizer behind a public handle, for what builds on it (chat, lookup). */
#ifndef CLIENT_TOKENIZER_H
#define CLIENT_TOKENIZER_H

#include <tinkc/tokenizer.h>

#include "text/tok.h"

/* Borrowed; NULL for NULL. A tinkc_tokenizer is never defined: its pointers are tk_tok
 * pointers. */
tk_tok *tk_tokenizer_tok(const tinkc_tokenizer *tokenizer);

/* Takes the caller's ownership over. */
tinkc_tokenizer *tk_tokenizer_of(tk_tok *tok);

#endif
