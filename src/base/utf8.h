/* UTF-8 as Unicode table 3-7 has it: no overlong forms, no surrogates, nothing above
 * U+10FFFF. Pure functions over bytes; no locale, no allocation. Thread: any. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/str.h"

/* Bytes (1 to 4) of the valid character at the start of p[0..n), or 0 when there is none:
 * n is 0, the bytes are not UTF-8, or the character is cut short. */
size_t tk_utf8_len(const char *p, size_t n);

/* As tk_utf8_len, with the code point in *out (untouched when 0 is returned). */
size_t tk_utf8_decode(uint32_t *out, const char *p, size_t n);

/* Writes the character to out[0..4); returns its length, or 0 for a surrogate or a value
 * above U+10FFFF. */
size_t tk_utf8_encode(char out[4], uint32_t code_point);

/* How many bytes from the start are valid; equal to n when all are. */
size_t tk_utf8_valid_prefix(const char *p, size_t n);
bool tk_utf8_is_valid(tk_str text);

/* Number of characters; each byte that belongs to no valid character counts as one. */
size_t tk_utf8_count(tk_str text);

/* n, or less by the bytes of a character that begins before n and ends after it. For
 * text that was cut at an arbitrary byte. */
size_t tk_utf8_whole(const char *p, size_t n);

/* The longest start of `text` of at most max_bytes that cuts no character. */
tk_str tk_utf8_cut(tk_str text, size_t max_bytes);

/* Whether a terminal would act on the character instead of showing it: control characters
 * (also C1), line and paragraph separators, and those that reverse the direction of the
 * text after them. */
bool tk_utf8_is_control(uint32_t c);

/* Makes p[0..n) safe to show on one line, in place and without a change of length: bytes
 * that are not UTF-8 become '?', characters of tk_utf8_is_control become spaces. */
void tk_utf8_scrub(char *p, size_t n);

#endif
