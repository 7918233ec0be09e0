/* Measuring two ways of doing the same thing, side by side in one process.
 *
 * Repetitions are interleaved and medians compared, in CPU time of the process, so that a
 * busy machine disturbs both sides alike. A result is one JSON object on a line of its
 * own: name, ratio (above 1: we are faster), bar (what we promise), ok (ratio >= bar),
 * detail; ratio and bar are null for a figure that has no other side; `unjudged` says why
 * the bar means nothing on this machine or now. Exits with 0 also when a bar is missed:
 * scripts/bench.sh decides. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/json.h"

#define BENCH_REPETITIONS 25

typedef struct bench_side {
    void (*run)(void *user); /* one repetition; at least 100 us for a steady clock */
    void *user;
    double ns[BENCH_REPETITIONS];
} bench_side;

static inline double bench_cpu_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline double bench_time_ns(void (*run)(void *user), void *user)
{
    double start = bench_cpu_ns();
    run(user);
    return bench_cpu_ns() - start;
}

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double bench_median(double *values, size_t n)
{
    qsort(values, n, sizeof(values[0]), bench_compare);
    return values[n / 2];
}

/* Runs both sides in turn and leaves the medians, in nanoseconds. */
static inline void bench_race(bench_side *ours, bench_side *theirs, double *ours_ns,
                              double *theirs_ns)
{
    ours->run(ours->user); /* warms caches and the allocator */
    theirs->run(theirs->user);
    for (int i = 0; i < BENCH_REPETITIONS; i++) {
        ours->ns[i] = bench_time_ns(ours->run, ours->user);
        theirs->ns[i] = bench_time_ns(theirs->run, theirs->user);
    }
    *ours_ns = bench_median(ours->ns, BENCH_REPETITIONS);
    *theirs_ns = bench_median(theirs->ns, BENCH_REPETITIONS);
}

static inline void bench_put(tk_json_writer *w, const char *key, const double *value)
{
    tk_json_key(w, tk_str_of(key));
    if (value != NULL) {
        tk_json_put_double(w, *value);
    } else {
        tk_json_put_null(w);
    }
}

static inline void bench_write(const char *name, const double *ratio, const double *bar,
                               const char *why, const char *detail)
{
    tk_buf out;
    tk_json_writer w;
    tk_buf_init(&out, 4096);
    tk_json_writer_init(&w, &out);
    tk_json_begin_object(&w);
    tk_json_key(&w, TK_STR("name"));
    tk_json_put_str(&w, tk_str_of(name));
    bench_put(&w, "ratio", ratio);
    bench_put(&w, "bar", bar);
    tk_json_key(&w, TK_STR("ok"));
    tk_json_put_bool(&w, bar == NULL || why != NULL || *ratio >= *bar);
    if (why != NULL) {
        tk_json_key(&w, TK_STR("unjudged"));
        tk_json_put_str(&w, tk_str_of(why));
    }
    tk_json_key(&w, TK_STR("detail"));
    tk_json_put_str(&w, tk_str_of(detail));
    tk_json_end_object(&w);
    if (tk_json_finish(&w, NULL) == TINKC_OK) {
        printf("%.*s\n", (int)out.n, out.p);
        (void)fflush(stdout);
    }
    tk_buf_dispose(&out);
}

static inline void bench_line(const char *name, const double *ratio, const double *bar,
                              const char *detail)
{
    bench_write(name, ratio, bar, NULL, detail);
}

static inline void bench_report(const char *name, double ratio, double bar,
                                const char *detail)
{
    bench_line(name, &ratio, &bar, detail);
}

/* As bench_report; with a reason why the bar cannot be judged here, it is not. */
static inline void bench_judge(const char *name, double ratio, double bar,
                               const char *why, const char *detail)
{
    char text[1024];
    (void)snprintf(text, sizeof(text), "%s%s%s%s", why != NULL ? "NOT JUDGED: " : "",
                   why != NULL ? why : "", why != NULL ? "; " : "", detail);
    bench_write(name, &ratio, &bar, why, text);
}

/* A figure that no bar belongs to. */
static inline void bench_note(const char *name, const char *detail)
{
    bench_line(name, NULL, NULL, detail);
}

#endif
