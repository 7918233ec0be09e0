/* Text as Python's str sees it, on UTF-8: white space, characters by index, case, what is
 * printable. Pure functions. Thread: any. */
#ifndef TEXT_JINJA_STR_H
#define TEXT_JINJA_STR_H

#include "base/buf.h"
#include "base/str.h"

/* Bytes of the white-space character (str.isspace) at p[0..n), 0 when there is none. */
size_t tk_jstr_space(const char *p, size_t n);
size_t tk_jstr_space_before(const char *p, size_t n); /* ... that ends at p + n */

tk_str tk_jstr_lstrip(tk_str s);
tk_str tk_jstr_rstrip(tk_str s);

/* Strip any of the characters of `set`. */
tk_str tk_jstr_lstrip_set(tk_str s, tk_str set);
tk_str tk_jstr_rstrip_set(tk_str s, tk_str set);

/* The character at the start: its bytes (1 for a byte that is not UTF-8; 0 at the end)
 * and, in *code, its value. */
size_t tk_jstr_char(uint32_t *code, tk_str s);

/* Bytes of the line end (str.splitlines) at the start, 0 when there is none. */
size_t tk_jstr_line_end(tk_str s);

size_t tk_jstr_count(tk_str s); /* characters */

/* Byte offset of character `index`, s.n when there are fewer. */
size_t tk_jstr_offset(tk_str s, size_t index);

/* First or last place of `needle` at or after byte `from`; SIZE_MAX when there is
 * none. */
size_t tk_jstr_find(tk_str s, tk_str needle, size_t from);
size_t tk_jstr_rfind(tk_str s, tk_str needle);

typedef enum tk_jstr_case {
    TK_JSTR_LOWER,
    TK_JSTR_UPPER,
    TK_JSTR_TITLE,      /* str.title */
    TK_JSTR_CAPITALIZE, /* str.capitalize */
    TK_JSTR_SWAP,
    TK_JSTR_FOLD /* str.casefold */
} tk_jstr_case;

void tk_jstr_put_case(tk_buf *out, tk_str s, tk_jstr_case how);

bool tk_jstr_is_printable(uint32_t code);
bool tk_jstr_is_alpha(uint32_t code);
bool tk_jstr_is_digit(uint32_t code);
bool tk_jstr_is_numeric(uint32_t code);
int tk_jstr_decimal(uint32_t code); /* the value of a decimal digit, -1: it is not one */
bool tk_jstr_is_upper(uint32_t code);
/* Whether its characters beyond ASCII may be part of a name. */
bool tk_jstr_is_identifier(tk_str s);
bool tk_jstr_is_lower(uint32_t code);
/* As str.isupper() or, unless `upper`, str.islower(): a letter of that case and none of
 * the other. */
bool tk_jstr_is_case(tk_str s, bool upper);

/* As repr() of a str. */
void tk_jstr_put_repr(tk_buf *out, tk_str s);

/* & < > " ' as markupsafe writes them. */
void tk_jstr_put_escaped(tk_buf *out, tk_str s);

#endif
