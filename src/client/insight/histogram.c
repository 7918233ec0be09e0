/* The bucket of a duration comes from its highest bit and the five bits after it. */
#include "client/insight/histogram.h"

#define LAST_POWER 41

/* 0-31: up to 1, 2, ... 32 microseconds; then 32 for each power of two. */
static size_t bucket_of(int64_t ns)
{
    uint64_t us = ((uint64_t)ns + 999) / 1000;
    uint64_t below = TK_MIN(us, UINT64_C(1) << LAST_POWER) - (us > 0);
    if (below < 32) {
        return (size_t)below;
    }
    unsigned power = 63 - (unsigned)__builtin_clzll(below);
    return (size_t)((power - 4) * 32 + ((below >> (power - 5)) & 31));
}

static int64_t edge_us(size_t bucket)
{
    if (bucket < 32) {
        return (int64_t)bucket + 1;
    }
    unsigned power = (unsigned)(bucket / 32) + 4;
    return (int64_t)((33 + bucket % 32) << (power - 5));
}

void tk_histogram_add(tk_histogram *histogram, int64_t ns)
{
    ns = TK_MAX(ns, 0);
    histogram->min_ns = histogram->count == 0 ? ns : TK_MIN(histogram->min_ns, ns);
    histogram->max_ns = TK_MAX(histogram->max_ns, ns);
    histogram->sum_ns =
        ns > INT64_MAX - histogram->sum_ns ? INT64_MAX : histogram->sum_ns + ns;
    histogram->count++;
    histogram->buckets[bucket_of(ns)]++;
}

int64_t tk_histogram_quantile(const tk_histogram *histogram, double q)
{
    double exact = q * (double)histogram->count;
    uint64_t rank = (uint64_t)exact;
    rank += (double)rank < exact; /* rounded up: the nearest rank */
    rank = TK_MAX(rank, 1);
    uint64_t seen = 0;
    for (size_t i = 0; i < TK_HISTOGRAM_BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen >= rank) {
            return TK_MIN(edge_us(i) * 1000, histogram->max_ns);
        }
    }
    return histogram->max_ns;
}

uint64_t tk_histogram_below(const tk_histogram *histogram, unsigned power)
{
    uint64_t seen = 0;
    size_t end = (size_t)(power - 4) * 32;
    for (size_t i = 0; i < end; i++) {
        seen += histogram->buckets[i];
    }
    return seen;
}
