/* exp, log, sine, cosine and powers of our own, in double: the same bits on every C
 * library. Errors stay below 4e-16 relative (sine, cosine: 4e-16 absolute) on the ranges
 * named; the vector exp of the kernels is in eng_vec.h. Thread: any. */
#ifndef ENGINE_ENG_MATH_H
#define ENGINE_ENG_MATH_H

#include <stdint.h>

double eng_exp(double x); /* 0 below -708, infinity above 709, NaN for NaN */
double eng_log(double x); /* normal x > 0; NaN below 0, -infinity at 0 */
double eng_pow(double base, double exponent);    /* base > 0 */
double eng_powi(double base, uint64_t exponent); /* by squaring */

/* |x| up to 1e6, far above any position of a model. */
void eng_sincos(double x, double *sine, double *cosine);

#endif
