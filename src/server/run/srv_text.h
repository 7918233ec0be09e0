/* The text of tokens, for stop strings and streams. In a build without src/text models
 * have no tokenizer, and stop strings are refused (srv_text_off.c). Thread: any. */
#ifndef SERVER_SRV_TEXT_H
#define SERVER_SRV_TEXT_H

#include "base/buf.h"

typedef struct tk_tok tk_tok;

#define SRV_TOKEN_BYTES (16 * TK_MIB) /* the text of one token; most have a few bytes */

/* Load a tokenizer. *out is NULL when the file is missing or of a kind that cannot be
 * read. TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code srv_text_load(tk_tok **out, const char *path, tk_err *err);
TK_NODISCARD tinkc_code srv_text_load_memory(tk_tok **out, tk_str json, tk_err *err);
void srv_text_free(tk_tok *tok); /* accepts NULL */

/* Appends the bytes that the token stands for inside a text, which may be a part of a
 * character; special tokens have their text. Returns false for an unknown id. */
bool srv_text_bytes(const tk_tok *tok, int32_t token, tk_buf *out);

#endif
