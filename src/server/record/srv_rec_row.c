/* Bytes of a value: the metric's number (2), then for level 0 the value (8), else n (8),
 * minimum, maximum and mean (8 each); little-endian. */
#include "server/record/srv_rec_row.h"

#include <string.h>

void srv_rec_value_add(srv_rec_value *value, const srv_rec_value *more)
{
    int64_t n = value->n + more->n;
    if (more->n == 0) {
        return;
    }
    if (value->n == 0) {
        *value = *more;
        return;
    }
    value->mean = value->mean * ((double)value->n / (double)n) +
                  more->mean * ((double)more->n / (double)n);
    value->min = more->min < value->min ? more->min : value->min;
    value->max = more->max > value->max ? more->max : value->max;
    value->n = n;
}

void srv_rec_row_add(srv_rec_row *row, const srv_rec_row *more)
{
    row->first = row->parts == 0 ? more->first : row->first;
    row->step = more->step;
    row->time_ms = more->time_ms;
    row->tokens = more->tokens;
    row->parts++;
    for (size_t i = 0; i < SRV_REC_METRICS; i++) {
        srv_rec_value_add(&row->values[i], &more->values[i]);
    }
}

static char *put(char *out, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = (char)(unsigned char)(v >> (8 * i));
    }
    return out + n;
}

static char *put_double(char *out, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    return put(out, bits, sizeof(bits));
}

size_t srv_rec_row_encode(char out[SRV_REC_ROW_BYTES], const srv_rec_row *row,
                          int64_t level)
{
    char *at = out;
    for (size_t i = 0; i < SRV_REC_METRICS; i++) {
        const srv_rec_value *v = &row->values[i];
        if (v->n == 0) {
            continue;
        }
        at = put(at, i, 2);
        if (level > 0) {
            at = put(at, (uint64_t)v->n, 8);
            at = put_double(at, v->min);
            at = put_double(at, v->max);
        }
        at = put_double(at, v->mean);
    }
    return (size_t)(at - out);
}

static uint64_t take(tk_str *bytes, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) {
        v |= (uint64_t)(unsigned char)bytes->p[i] << (8 * i);
    }
    *bytes = (tk_str){bytes->p + n, bytes->n - n};
    return v;
}

static double take_double(tk_str *bytes)
{
    uint64_t bits = take(bytes, sizeof(bits));
    double v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

bool srv_rec_row_next(tk_str *bytes, int64_t level, unsigned *metric,
                      srv_rec_value *value)
{
    if (bytes->n < (level > 0 ? 34U : 10U)) {
        return false;
    }
    *metric = (unsigned)take(bytes, 2);
    if (level > 0) {
        uint64_t n = take(bytes, 8);
        value->n = n < INT64_MAX / SRV_REC_FAN ? (int64_t)n : 0;
        value->min = take_double(bytes);
        value->max = take_double(bytes);
        value->mean = take_double(bytes);
    } else {
        double v = take_double(bytes);
        *value = (srv_rec_value){1, v, v, v};
    }
    return *metric < SRV_REC_METRICS && value->n > 0;
}
