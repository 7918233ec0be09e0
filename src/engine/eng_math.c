/* Elementary functions from argument reduction and Taylor sums; see eng_math.h. Written
 * for accuracy and sameness, not speed: they run at load and once per output row. */
#include "engine/eng_math.h"

#include <math.h>
#include <string.h>

#define LN2_HI  0x1.62e42fef00000p-1 /* 33 bits: n * LN2_HI is exact for |n| < 2^20 */
#define LN2_LO  0x1.473de6af278edp-34
#define LOG2E   1.4426950408889634074
#define SQRT2   1.4142135623730950488
#define PIO2_1  0x1.921fb54400000p+0 /* 33 bits each, so that n * part is exact */
#define PIO2_2  0x1.0b4611a600000p-34
#define PIO2_3  0x1.3198a2e037073p-69
#define TWO_OPI 0.63661977236758134308

static double scale2(double x, int exponent)
{
    uint64_t bits = (uint64_t)(1023 + exponent) << 52;
    double factor;
    memcpy(&factor, &bits, sizeof(factor));
    return x * factor;
}

double eng_exp(double x)
{
    if (x != x) {
        return x;
    }
    if (x < -708.0) {
        return 0.0;
    }
    if (x > 709.0) {
        return INFINITY;
    }
    double n = floor(x * LOG2E + 0.5);
    double r = (x - n * LN2_HI) - n * LN2_LO;
    double sum = 1.0;
    for (int i = 14; i >= 1; i--) {
        sum = 1.0 + sum * (r / i);
    }
    int exponent = (int)n;
    int half = exponent / 2; /* 2^1024 itself does not fit */
    return scale2(scale2(sum, half), exponent - half);
}

double eng_log(double x)
{
    if (x != x || x < 0.0) {
        return NAN;
    }
    if (x == 0.0 || x == INFINITY) {
        return x == 0.0 ? -INFINITY : x;
    }
    int exponent;
    double m = frexp(x, &exponent) * 2.0;
    exponent--;
    if (m > SQRT2) {
        m *= 0.5;
        exponent++;
    }
    double s = (m - 1.0) / (m + 1.0); /* |s| < 0.172 */
    double s2 = s * s;
    double sum = 0.0;
    for (int i = 21; i >= 3; i -= 2) {
        sum = (sum + 1.0 / i) * s2;
    }
    return exponent * LN2_HI + (2.0 * s + (2.0 * s * sum + exponent * LN2_LO));
}

double eng_pow(double base, double exponent)
{
    return eng_exp(exponent * eng_log(base));
}

double eng_powi(double base, uint64_t exponent)
{
    double result = 1.0;
    for (; exponent != 0; exponent >>= 1) {
        if (exponent & 1) {
            result *= base;
        }
        base *= base;
    }
    return result;
}

void eng_sincos(double x, double *sine, double *cosine)
{
    double n = floor(x * TWO_OPI + 0.5);
    double r = ((x - n * PIO2_1) - n * PIO2_2) - n * PIO2_3;
    double r2 = r * r;
    double s = 1.0, c = 1.0;
    for (int i = 16; i >= 2; i -= 2) {
        s = 1.0 - s * (r2 / (double)(i * (i + 1)));
        c = 1.0 - c * (r2 / (double)(i * (i - 1)));
    }
    s *= r;
    switch ((int64_t)n & 3) {
    case 0:
        *sine = s;
        *cosine = c;
        break;
    case 1:
        *sine = c;
        *cosine = -s;
        break;
    case 2:
        *sine = -s;
        *cosine = -c;
        break;
    default:
        *sine = -c;
        *cosine = s;
        break;
    }
}
