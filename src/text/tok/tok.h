/* Tokenizers from Hugging Face's tokenizer.json: BPE, byte-level or with byte fallback,
 * text to ids and back; and tiktoken vocabularies.
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
#include "text/tok/tok_config.h"

typedef struct tk_tok tk_tok;

/* Load one tokenizer.json alone. The caller frees *out. TINKC_E_PARSE: not JSON;
 * TINKC_E_DECODE: a field is missing or wrong. */
TK_NODISCARD tinkc_code tk_tok_load(tk_tok **out, const char *path, tk_err *err);
TK_NODISCARD tinkc_code tk_tok_load_memory(tk_tok **out, tk_str json, tk_err *err);

/* Load a tokenizer with its config: `path` is a directory, a tokenizer.json or a
 * tiktoken.model; tokenizer_config.json and chat_template.jinja next to it are read too.
 * `config`, `jinja` {NULL, 0}: there is no such file. */
TK_NODISCARD tinkc_code tk_tok_open(tk_tok **out, const char *path, tk_err *err);
TK_NODISCARD tinkc_code tk_tok_open_memory(tk_tok **out, tk_str json, tk_str config,
                                           tk_str jinja, tk_err *err);

tk_tok *tk_tok_ref(tk_tok *tok); /* one more owner; accepts NULL */
void tk_tok_free(tk_tok *tok);   /* one owner less; accepts NULL */

/* Returns one more than the largest id. */
size_t tk_tok_size(const tk_tok *tok);

/* Returns the token as the file spells it, {NULL, 0} for an id that is not used.
 * Borrowed. */
tk_str tk_tok_token(const tk_tok *tok, int32_t id);

/* Returns the id of the token, -1 when there is no such token. */
int32_t tk_tok_id(const tk_tok *tok, tk_str token);

bool tk_tok_is_special(const tk_tok *tok, int32_t id);

const tk_tok_config *tk_tok_get_config(const tk_tok *tok); /* borrowed, never NULL */

/* ---- text to ids ---- */

typedef struct tk_tok_ids {
    int32_t *ids; /* owned */
    size_t n;
    size_t capacity;
    size_t *offsets; /* owned; begin and end of each id, when asked for, else NULL */
} tk_tok_ids;

void tk_tok_ids_dispose(tk_tok_ids *ids);

typedef struct tk_tok_how {
    bool add_special; /* what the post-processor adds */
    bool plain_text;  /* special tokens in the text are ordinary text */
    bool offsets;     /* fill ids->offsets; *out must be empty */
} tk_tok_how;

/* Appends the ids of `text`; special tokens in it are recognised, nothing is added around
 * it. Bytes that are not UTF-8 count as U+FFFD. On failure (TINKC_E_NOMEM, TINKC_E_LIMIT
 * above TK_TOK_TEXT_MAX_BYTES) *out is as before. */
TK_NODISCARD tinkc_code tk_tok_encode(const tk_tok *tok, tk_str text, tk_tok_ids *out,
                                      tk_err *err);
TK_NODISCARD tinkc_code tk_tok_encode_how(const tk_tok *tok, tk_str text, tk_tok_how how,
                                          tk_tok_ids *out, tk_err *err);

/* ---- ids to text ---- */

/* Appends the text of the ids, valid UTF-8; ids that are not used give nothing. Failure
 * is the buffer's. */
void tk_tok_decode(const tk_tok *tok, const int32_t *ids, size_t n, bool skip_special,
                   tk_buf *out);

/* Appends the bytes that one token stands for inside a text; they may be a part of a
 * character. Nothing for an id that is not used. Failure is the buffer's. */
void tk_tok_bytes(const tk_tok *tok, int32_t id, tk_buf *out);

/* A decode in pieces: what all steps append together is what tk_tok_decode appends. */
typedef struct tk_tok_stream {
    const tk_tok *tok;
    bool skip_special;
    bool started;    /* a token has been decoded */
    bool text_begun; /* nothing is taken off the front any more */
    size_t stripped; /* characters taken off it so far */
    tk_buf held;     /* bytes that more ids may change */
} tk_tok_stream;

void tk_tok_stream_init(tk_tok_stream *stream, const tk_tok *tok, bool skip_special);
void tk_tok_stream_push(tk_tok_stream *stream, const int32_t *ids, size_t n, tk_buf *out);
void tk_tok_stream_finish(tk_tok_stream *stream, tk_buf *out); /* as new afterwards */
void tk_tok_stream_dispose(tk_tok_stream *stream);

#endif
