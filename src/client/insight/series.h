/* Metrics of the program's own: a counter, gauge or histogram for each name. Bounded: a
 * program that puts data into names is refused instead of growing. Owns the names and the
 * histograms. Thread: one at a time (the meter's lock). */
#ifndef CLIENT_SERIES_H
#define CLIENT_SERIES_H

#include <tinkc/meter.h>

#include "base/err.h"
#include "base/limits.h"
#include "client/insight/histogram.h"

typedef struct tk_series {
    char name[TK_SERIES_NAME_BYTES + 1];
    tinkc_reading_kind kind;
    double value;            /* counter, gauge */
    tk_histogram *histogram; /* or NULL */
} tk_series;

typedef struct tk_series_table {
    tk_series *rows;
    size_t n, room;
} tk_series_table;

void tk_series_dispose(tk_series_table *table); /* may be used again */

/* Adds to a counter, sets a gauge, or counts a value in a histogram, and makes the series
 * when the name is new. TINKC_E_INVALID: a name that is not allowed or belongs to another
 * kind, a value that is not finite, or a negative one where none can be; TINKC_E_LIMIT:
 * TK_SERIES_MAX names; TINKC_E_NOMEM. Nothing has changed then. */
TK_NODISCARD tinkc_code tk_series_put(tk_series_table *table, const char *name,
                                      tinkc_reading_kind kind, double value, tk_err *err);

#endif
