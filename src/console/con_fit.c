/* Means are weighted by the number of values. */
#include "console/con_fit.h"

void con_fit_add(con_point *point, const con_point *more)
{
    int64_t n = point->n + more->n;
    if (n > 0) {
        point->mean = point->mean * ((double)point->n / (double)n) +
                      more->mean * ((double)more->n / (double)n);
    }
    point->min = more->min < point->min ? more->min : point->min;
    point->max = more->max > point->max ? more->max : point->max;
    point->n = n;
    point->step = more->step;
    point->time_ms = more->time_ms;
    point->tokens = more->tokens;
}

size_t con_fit_points(con_point *points, size_t n, size_t most)
{
    size_t each = (n + most - 1) / most;
    size_t out = 0;
    if (each <= 1) {
        return n;
    }
    for (size_t i = 0; i < n; i++) {
        if (i % each == 0) {
            points[out++] = points[i];
        } else {
            con_fit_add(&points[out - 1], &points[i]);
        }
    }
    return out;
}
