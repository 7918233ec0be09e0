/* Arrays of numbers as the reader builds them: 8-byte cells that hold int64 at first, and
 * doubles from the first real on. Pure functions over text and cells, used by
 * json_read.c. Thread: any. */
#ifndef BASE_JSON_PACKED_H
#define BASE_JSON_PACKED_H

#include "base/json.h"

/* The number of elements of the array whose first element is at p, when no character up
 * to the next bracket contradicts that all are numbers; 0 otherwise. The text may still
 * turn out to be malformed, but never to hold more elements. */
size_t tk_json_packed_count(const char *p, const char *end);

/* The loop for token ids: reads integers of at most 7 digits, each followed by a comma
 * and at most one blank, into cells[n...]. Stops at the first element that is not like
 * that, with *at on it (or on white space before it); returns the new n. The last element
 * always remains, as it has no comma. */
size_t tk_json_packed_read_ints(int64_t *cells, size_t n, const char **at,
                                const char *end);

/* Puts the number into cell n; *real says what the cells hold and is updated. False when
 * neither form can hold all of them without loss; the cells are unusable then. */
bool tk_json_packed_store(void *cells, size_t n, bool *real, const tk_json *number);

#endif
