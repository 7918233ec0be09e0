/* The text of tokens, one piece for each: a character of several tokens is in the last of
 * them, the others are empty; bytes that are not UTF-8 are U+FFFD. Pure. */
#ifndef CONSOLE_CON_TEXT_H
#define CONSOLE_CON_TEXT_H

#include "base/json.h"

/* Writes an array of `n` strings from the bytes of as many tokens. */
void con_text_put(tk_json_writer *w, const tk_str *bytes, size_t n);

#endif
