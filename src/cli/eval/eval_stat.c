/* Wilson's interval for shares, Student's t for other means. */
#include "cli/eval/eval_stat.h"

#include <math.h>

#define Z 1.959963984540054 /* 97.5 % quantile of the normal distribution */

double eval_stat_t(size_t degrees)
{
    static const double few[] = {NAN,   12.706, 4.303, 3.182, 2.776,
                                 2.571, 2.447,  2.365, 2.306};
    const double z = Z, v = (double)degrees;
    if (degrees < TK_ARRAY_LEN(few)) {
        return few[degrees];
    }
    /* Cornish and Fisher's expansion */
    return z + (pow(z, 3) + z) / (4 * v) +
           (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * v * v) +
           (3 * pow(z, 7) + 19 * pow(z, 5) + 17 * pow(z, 3) - 15 * z) / (384 * v * v * v);
}

static void set_wilson(eval_mean *out)
{
    double n = (double)out->n, p = out->mean, zz = Z * Z;
    double middle = (p + zz / (2 * n)) / (1 + zz / n);
    double half = Z / (1 + zz / n) * sqrt(p * (1 - p) / n + zz / (4 * n * n));
    out->low = fmax(middle - half, 0);
    out->high = fmin(middle + half, 1);
    out->method = EVAL_WILSON;
}

static void set_t(eval_mean *out, const double *scores)
{
    double squares = 0;
    for (size_t i = 0; i < out->n; i++) {
        squares += (scores[i] - out->mean) * (scores[i] - out->mean);
    }
    double error = sqrt(squares / (double)(out->n - 1) / (double)out->n);
    out->low = out->mean - eval_stat_t(out->n - 1) * error;
    out->high = out->mean + eval_stat_t(out->n - 1) * error;
    out->method = EVAL_T;
}

eval_mean eval_stat_mean(const double *scores, size_t n)
{
    eval_mean out = {n, NAN, NAN, NAN, EVAL_NONE};
    bool is_share = true;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_between = scores[i] > 0 && scores[i] < 1;
        sum += scores[i];
        is_share = is_share && !is_between && scores[i] >= 0 && scores[i] <= 1;
    }
    if (n > 0) {
        out.mean = sum / (double)n;
    }
    if (n > 0 && is_share) {
        set_wilson(&out);
    } else if (n > 1) {
        set_t(&out, scores);
    }
    return out;
}

eval_pairs eval_stat_pairs(const double *a, const double *b, size_t n)
{
    eval_pairs out = {.wins = 0};
    double sum = 0, squares = 0, most = 1; /* what a difference can be at most */
    for (size_t i = 0; i < n; i++) {
        bool is_share = a[i] >= 0 && a[i] <= 1 && b[i] >= 0 && b[i] <= 1;
        most = is_share ? most : HUGE_VAL;
        double d = a[i] - b[i];
        sum += d;
        squares += d * d;
        out.wins += d > 0 ? 1 : 0;
        out.losses += d < 0 ? 1 : 0;
    }
    out.ties = n - out.wins - out.losses;
    out.difference = (eval_mean){n, n > 0 ? sum / (double)n : NAN, NAN, NAN, EVAL_NONE};
    if (n > 1) {
        double mean = out.difference.mean;
        double left = fmax(squares - (double)n * mean * mean, 0);
        double half = eval_stat_t(n - 1) * sqrt(left / (double)(n - 1) / (double)n);
        out.difference.low = fmax(mean - half, -most);
        out.difference.high = fmin(mean + half, most);
        out.difference.method = EVAL_T;
    }
    return out;
}

const char *eval_stat_name(eval_method method)
{
    return method == EVAL_WILSON ? "wilson" : method == EVAL_T ? "t" : NULL;
}
