/* Split patterns that no scanner knows, through PCRE2 with its JIT.
 *
 * Patterns are written for Oniguruma. What PCRE2 reads otherwise is translated (white
 * space, newer characters, scripts, classes within classes and their intersection) or
 * refused by name; a construct passes unchanged only when both engines agree on it. */
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

/* Compiles a pattern, which is immutable afterwards. TINKC_E_UNSUPPORTED names what
 * cannot be translated; TINKC_E_LIMIT, TINKC_E_NOMEM. The caller frees *out. */
TK_NODISCARD tinkc_code tk_tok_regex_new(tk_tok_regex **out, tk_str pattern, tk_err *err);
void tk_tok_regex_free(tk_tok_regex *regex); /* accepts NULL */

/* tok_pattern.c: appends the pattern in the dialect of PCRE2 to *out. */
TK_NODISCARD tinkc_code tk_tok_pattern_translate(tk_buf *out, tk_str pattern,
                                                 tk_err *err);

/* Finds the first match from `from` on, which may be empty. TINKC_E_MISSING: no match;
 * TINKC_E_LIMIT: the match needs too much; TINKC_E_NOMEM. Text is valid UTF-8. */
TK_NODISCARD tinkc_code tk_tok_regex_find(const tk_tok_regex *regex, tk_tok_matcher *m,
                                          tk_str text, size_t from, size_t range[2]);
void tk_tok_matcher_dispose(tk_tok_matcher *m);

#endif
