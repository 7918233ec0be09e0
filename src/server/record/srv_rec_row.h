/* Rows of recorded metrics: level 0 has one for each step, level k one for each
 * SRV_REC_FAN rows of the level below it, with minimum, maximum and mean of each metric.
 * Pure. */
#ifndef SERVER_SRV_REC_ROW_H
#define SERVER_SRV_REC_ROW_H

#include "base/str.h"

#define SRV_REC_METRICS 64 /* of one run */
#define SRV_REC_FAN     8
#define SRV_REC_LEVELS  8

typedef struct srv_rec_value { /* of n values; n 0 = none */
    int64_t n;
    double min, max, mean;
} srv_rec_value;

typedef struct srv_rec_row {
    int64_t first, step; /* the first and the last step; first 0 = an empty row */
    int64_t time_ms, tokens;
    int64_t parts;                         /* rows of the level below */
    srv_rec_value values[SRV_REC_METRICS]; /* by number of the metric */
} srv_rec_row;

/* Adds values to one. */
void srv_rec_value_add(srv_rec_value *value, const srv_rec_value *more);
/* Adds a row that comes after it. */
void srv_rec_row_add(srv_rec_row *row, const srv_rec_row *more);

#define SRV_REC_ROW_BYTES ((size_t)SRV_REC_METRICS * 34)

/* Writes the values as bytes and returns their number; those of level 0 are shorter. */
size_t srv_rec_row_encode(char out[SRV_REC_ROW_BYTES], const srv_rec_row *row,
                          int64_t level);

/* Takes the next value off the bytes of a row. Returns false at their end, or when they are
 * not such bytes. */
bool srv_rec_row_next(tk_str *bytes, int64_t level, unsigned *metric,
                      srv_rec_value *value);

#endif
