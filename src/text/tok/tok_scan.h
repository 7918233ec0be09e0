/* Hand-written scanners for the split patterns of real tokenizers: what the pattern
 * matches at one place. Other patterns go through PCRE2 (tok_regex.h); the tests compare
 * the two. Text is valid UTF-8. Pure functions. */
#ifndef TEXT_TOK_SCAN_H
#define TEXT_TOK_SCAN_H

#include "base/str.h"
#include "base/tk.h"

/* Length of the match that begins at p, p < end; 0 when none does. */
typedef size_t (*tk_tok_scan_fn)(const unsigned char *p, const unsigned char *end);

typedef struct tk_tok_scanner {
    const char *pattern; /* as tokenizer.json spells it */
    tk_tok_scan_fn scan;
    bool total; /* it matches at every place */
} tk_tok_scanner;

extern const tk_tok_scanner tk_tok_scanners[];
extern const size_t tk_tok_n_scanners;

/* Returns NULL when there is no scanner for the pattern. */
const tk_tok_scanner *tk_tok_scanner_of(tk_str pattern);

/* Return the scanner that ByteLevel uses (GPT-2's), and Kimi's. */
const tk_tok_scanner *tk_tok_scanner_gpt2(void);
const tk_tok_scanner *tk_tok_scanner_kimi(void);

#endif
