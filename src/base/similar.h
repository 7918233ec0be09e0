/* What a user probably meant: of the words that exist, the one most like the word that
 * was typed. For "did you mean"; nothing is ever decided by it. Pure. */
#ifndef BASE_SIMILAR_H
#define BASE_SIMILAR_H

#include "base/str.h"

/* A search; the texts are borrowed. Begin with {.typed = ...}. */
typedef struct tk_similar {
    tk_str typed;
    const char *best; /* so far; NULL: none is like it */
    size_t distance;  /* of `best` */
} tk_similar;

/* Takes a word into account. It is like the typed one when it differs in one character, or in
 * one of three at most (inserted, removed, replaced, or swapped with its neighbour), or
 * when the typed one is a part of it, from three characters on. Case does not count. Of
 * equals the first is kept. */
void tk_similar_try(tk_similar *search, const char *word);

#endif
