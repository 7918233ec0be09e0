/* String views and bounded parsing of words and numbers. A view borrows; it need not end
 * in a NUL and may hold NULs. Nothing here depends on the locale. Thread: any. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include "base/tk.h"

typedef struct tk_str {
    const char *p; /* may be NULL when n == 0 */
    size_t n;
} tk_str;

#define TK_STR(literal)                                                                  \
    (tk_str)                                                                             \
    {                                                                                    \
        (literal), sizeof(literal) - 1                                                   \
    }
#define TK_STR_FMT    "%.*s"
#define TK_STR_ARG(s) (int)TK_MIN((s).n, (size_t)INT32_MAX), ((s).p != NULL ? (s).p : "")

tk_str tk_str_of(const char *text); /* NULL gives the empty view */
bool tk_str_eq(tk_str a, tk_str b);
bool tk_str_is(tk_str a, const char *text);
bool tk_str_is_nocase(tk_str a, const char *text); /* ASCII case only */
bool tk_str_has_prefix(tk_str a, const char *prefix);
int tk_str_cmp(tk_str a, tk_str b); /* by bytes, as memcmp */
tk_str tk_str_trim(tk_str a);       /* ASCII white space at both ends */

/* Cuts `*rest` at the first `separator`: returns the part before it and leaves the part
 * after it in *rest. Without a separator all of it is returned, and *rest is {NULL,
 * 0}. */
tk_str tk_str_cut(tk_str *rest, char separator);

/* Takes exactly `width` decimal digits (at most 9) off the front of *rest; false, and
 * nothing changed, when they are not there. */
TK_NODISCARD bool tk_str_take_digits(int *out, tk_str *rest, size_t width);

/* The whole view must be a decimal number ("-12", no sign "+", no spaces); false
 * otherwise or when it does not fit. *out is written only on success. */
TK_NODISCARD bool tk_str_to_i64(tk_str a, int64_t *out);
TK_NODISCARD bool tk_str_to_u64(tk_str a, uint64_t *out);

/* A number as JSON writes it: "1e9" is one, ".5" and "1." are not. Correctly rounded;
 * overflow gives false. */
TK_NODISCARD bool tk_str_to_double(tk_str a, double *out);

#endif
