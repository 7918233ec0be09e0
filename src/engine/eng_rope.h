/* Rotary positions, half-split form: pairs (x_i, x_{i + d/2}). Thread: any. */
#ifndef ENGINE_ENG_ROPE_H
#define ENGINE_ENG_ROPE_H

#include "engine/eng_config.h"
#include "engine/eng_real.h"

/* d / 2 inverse frequencies, with llama3 scaling where the configuration asks for it. */
void eng_rope_frequencies(const eng_rope_config *config, size_t d, eng_real *out);

/* cosine and sine, [positions][half]. Angles are rounded to float before, as in the
 * reference implementations. */
void eng_rope_table(eng_real *cosine, eng_real *sine, const eng_real *freq, size_t half,
                    size_t positions);

/* Rotates `heads` heads of 2 * half numbers in place by one row of the table. With `back`
 * by the opposite angle: the gradient. */
void eng_rope_apply(eng_real *x, size_t heads, size_t half, const eng_real *cosine,
                    const eng_real *sine, bool back);

#endif
