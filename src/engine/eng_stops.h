/* Finds stop strings in a text that comes in pieces: one automaton (Aho and Corasick) for
 * all strings of a request, which looks at each byte of the text once. The work for a
 * text of n bytes is at most 2 n steps, whatever the strings are, and nothing of the text
 * is kept. Thread: a built automaton is immutable. */
#ifndef ENGINE_ENG_STOPS_H
#define ENGINE_ENG_STOPS_H

#include "base/err.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/tk.h"

typedef struct eng_stops_node eng_stops_node;

typedef struct eng_stops {
    eng_stops_node *nodes; /* NULL without strings */
} eng_stops;

/* Where a text is; 0 at its beginning. */
typedef uint16_t eng_stops_state;

/* TINKC_E_INVALID: a string is empty, or there are too many of them (TK_STOPS_MAX,
 * TK_STOPS_BYTES together). */
TK_NODISCARD tinkc_code eng_stops_check(const tk_str *strings, size_t n, tk_err *err);

/* Builds the automaton of strings that eng_stops_check accepts; they need not live
 * longer. false when out of memory. */
TK_NODISCARD bool eng_stops_init(eng_stops *out, const tk_str *strings, size_t n);
void eng_stops_dispose(eng_stops *stops); /* accepts a zeroed one */

/* Reads the next bytes of a text and returns whether a string ends in them. Afterwards
 * the state is of no use. */
TK_NODISCARD bool eng_stops_find(const eng_stops *stops, eng_stops_state *state,
                                 tk_str bytes);

#endif
