/* Split patterns that no scanner knows, through PCRE2 with its JIT.
 *
 * Patterns are written for Oniguruma. What PCRE2 reads otherwise is translated (white
 * space, newer characters, scripts, classes within classes and their intersection) or
 * refused by name; nothing is passed on in the hope that it means the same. */
#ifndef TEXT_TOK_REGEX_H
#define TEXT_TOK_REGEX_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

typedef struct tk_tok_regex tk_tok_regex;

/* Space for one match at a time; zeroed is empty. */
typedef struct tk_tok_matcher {
    void *data; /* pcre2_match_data */
} tk_tok_matcher;

/* Immutable afterwards. TINKC_E_UNSUPPORTED names what is not; TINKC_E_LIMIT. */
TK_NODISCARD tinkc_code tk_tok_regex_new(tk_tok_regex **out, tk_str pattern, tk_err *err);
void tk_tok_regex_free(tk_tok_regex *regex); /* accepts NULL */

/* The pattern as PCRE2 is to read it, appended to *out. */
TK_NODISCARD tinkc_code tk_tok_regex_translate(tk_buf *out, tk_str pattern, tk_err *err);

/* The first match from `from` on, which may be empty. TINKC_E_MISSING: none;
 * TINKC_E_LIMIT: the match needs too much; TINKC_E_NOMEM. Text is valid UTF-8. */
TK_NODISCARD tinkc_code tk_tok_regex_find(const tk_tok_regex *regex, tk_tok_matcher *m,
                                          tk_str text, size_t from, size_t range[2]);
void tk_tok_matcher_dispose(tk_tok_matcher *m);

#endif
