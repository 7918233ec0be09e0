/* Means of scores with their 95 % intervals. Thread: any. */
#ifndef CLI_EVAL_STAT_H
#define CLI_EVAL_STAT_H

#include "base/tk.h"

/* How an interval was computed. */
typedef enum eval_method {
    EVAL_NONE,   /* fewer than two scores that are not 0 or 1: no interval */
    EVAL_WILSON, /* all scores are 0 or 1: Wilson's interval of a share */
    EVAL_T       /* mean +- t * standard error, with n - 1 degrees of freedom */
} eval_method;

typedef struct eval_mean {
    size_t n;
    double mean, low, high; /* low and high NaN for EVAL_NONE */
    eval_method method;
} eval_mean;

/* Returns the mean of the scores, finite numbers; NaN for none. */
eval_mean eval_stat_mean(const double *scores, size_t n);

/* The same questions answered twice. */
typedef struct eval_pairs {
    eval_mean
        difference; /* a minus b, question by question; EVAL_T or EVAL_NONE. Of scores
                             from 0 to 1 the interval stays within -1 and 1 */
    size_t wins, losses, ties; /* of a */
} eval_pairs;

eval_pairs eval_stat_pairs(const double *a, const double *b, size_t n);

/* Returns the two-sided 95 % quantile of Student's t, to three digits. */
double eval_stat_t(size_t degrees);

/* Returns "wilson", "t" or NULL. */
const char *eval_stat_name(eval_method method);

#endif
