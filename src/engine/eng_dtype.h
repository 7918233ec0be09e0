/* Stored number formats and their widening. bf16 and f16 widen exactly to float.
 * Pointers into files need not be aligned. Thread: any. */
#ifndef ENGINE_ENG_DTYPE_H
#define ENGINE_ENG_DTYPE_H

#include "base/tk.h"
#include "engine/eng_real.h"

typedef enum eng_dtype { ENG_F32, ENG_BF16, ENG_F16 } eng_dtype;

size_t eng_dtype_size(eng_dtype dtype);
const char *eng_dtype_name(eng_dtype dtype); /* as in safetensors: "F32", ... static */

float eng_bf16_to_f32(uint16_t bits);
uint16_t eng_f32_to_bf16(float value); /* to nearest, ties to even; NaN stays NaN */
float eng_f16_to_f32(uint16_t bits);

/* Reads `n` little-endian values. */
void eng_dtype_read(eng_real *out, const void *in, eng_dtype dtype, size_t n);

/* Index of the first value that is NaN or infinite; n when all are finite. */
size_t eng_dtype_find_bad(const void *in, eng_dtype dtype, size_t n);

#endif
