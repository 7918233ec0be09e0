/* Durations in buckets of a width that grows with them: 32 to each power of two of
 * microseconds, from one to 2^41 (25 days). A bucket takes what is above the last one's
 * edge and up to its own, so that counts at powers of two are exact. Pure; thread: one at
 * a time. */
#ifndef CLIENT_HISTOGRAM_H
#define CLIENT_HISTOGRAM_H

#include "base/tk.h"

#define TK_HISTOGRAM_BUCKETS (37 * 32)

typedef struct tk_histogram {
    uint64_t count;
    int64_t sum_ns, min_ns, max_ns;
    uint64_t buckets[TK_HISTOGRAM_BUCKETS];
} tk_histogram;

void tk_histogram_add(tk_histogram *histogram, int64_t ns); /* negative counts as 0 */

/* The value that a part q (0 to 1) of all lie at or below, in nanoseconds: never less
 * than the true one, at most a bucket more. 0 when it is empty. */
int64_t tk_histogram_quantile(const tk_histogram *histogram, double q);

/* How many are at most 2^power microseconds; power 5 to 41. */
uint64_t tk_histogram_below(const tk_histogram *histogram, unsigned power);

#endif
