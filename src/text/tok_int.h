/* What the files of the tokenizer share. */
#ifndef TEXT_TOK_INT_H
#define TEXT_TOK_INT_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/map.h"
#include "text/tok.h"

typedef struct tk_tok_entry { /* one id; all zero when the id is not used */
    tk_str token;             /* as in the file */
    tk_str bytes;             /* what it decodes to */
    bool special;             /* left out of a decode that skips such */
} tk_tok_entry;

typedef struct tk_tok_merge {
    uint64_t pair; /* left id, right id */
    uint32_t rank; /* lower is merged first */
    int32_t id;    /* of the result */
} tk_tok_merge;

typedef struct tk_tok_added {
    tk_str content;
    int32_t id;
} tk_tok_added;

struct tk_tok {
    atomic_size_t owners;
    tk_tok_config config;
    tk_arena arena;
    tk_map ids; /* token -> entry */
    tk_tok_entry *entries;
    size_t n_entries;
    tk_tok_merge *merges; /* sorted by pair, each pair once */
    size_t n_merges;
    tk_tok_added *added; /* longest first */
    size_t n_added;
    bool added_first[256]; /* bytes with which one of them begins */
    int32_t byte_ids[256];
};

#define TK_TOK_PAIR(left, right) ((uint64_t)(uint32_t)(left) << 32 | (uint32_t)(right))

/* The character of GPT-2's byte alphabet for a byte: printable bytes are themselves, the
 * other 68 are U+0100 and on, in order. */
uint32_t tk_tok_byte_char(unsigned char byte);

/* Length of the first piece of text[0..n), n > 0, under the one split pattern that is
 * known (tk_tok_pattern). */
size_t tk_tok_split(const char *text, size_t n);
extern const char tk_tok_pattern[];

/* Appends the ids of one piece. */
TK_NODISCARD tinkc_code tk_tok_bpe(const tk_tok *tok, tk_str piece, tk_tok_ids *out);

/* Room for n more ids. */
TK_NODISCARD bool tk_tok_ids_reserve(tk_tok_ids *ids, size_t n);

#endif
