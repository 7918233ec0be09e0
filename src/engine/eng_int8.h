/* Rounding weights to int8: ENG_GROUP inputs of an output share a scale, a bf16 number.
 * A weight becomes the nearest multiple of its scale, at most half a scale away. Only
 * numbers that are finite. Thread: any. */
#ifndef ENGINE_ENG_INT8_H
#define ENGINE_ENG_INT8_H

#include "engine/eng_dtype.h"
#include "engine/eng_kern.h"

/* Returns the scale (bf16 bits) of numbers whose largest magnitude is `max`: max / 127,
 * rounded up, and never below the smallest normal number. 127 times it is no less than
 * max. */
uint16_t eng_int8_scale(eng_real max);

/* Returns value / scale to the nearest integer, ties to even: within [-127, 127] for
 * values up to the `max` of the scale. */
int8_t eng_int8_round(eng_real value, uint16_t scale);

/* Writes row `lane` of a panel: `k` numbers in `dtype`, zeros when `in` is NULL. */
void eng_int8_pack_row(char *panel, size_t lane, const char *in, eng_dtype dtype,
                       size_t k);
/* The weights of row `lane`, exactly. */
void eng_int8_unpack_row(const char *panel, size_t lane, eng_real *out, size_t k);

#endif
