/* Whether an answer is right. White space at both ends never counts. Thread: any. */
#ifndef CLI_EVAL_MATCH_H
#define CLI_EVAL_MATCH_H

#include "base/str.h"

typedef enum eval_match {
    EVAL_EXACT,    /* the expected text, byte for byte */
    EVAL_CONTAINS, /* the expected text is in the answer */
    EVAL_NUMBER    /* the last number of both is the same: "It is 1,024." and "1024" */
} eval_match;

/* Returns whether `answer` is right. */
bool eval_match_is_right(eval_match match, tk_str answer, tk_str expected);

/* Gives the last number in a text, without the commas of thousands, which are those before
 * exactly three digits. A hyphen is its sign unless a digit is before it ("3-4"). Returns
 * false when there is none. */
bool eval_match_number(tk_str text, double *out);

#endif
