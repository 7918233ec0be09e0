/* The inside of tinkc_readings, for meter.c and readings.c: a copy of what was
 * counted. */
#ifndef CLIENT_METER_H
#define CLIENT_METER_H

#include <tinkc/meter.h>

#include "base/arena.h"
#include "client/insight/histogram.h"

typedef struct tk_reading {
    const char *name, *label, *label_value, *help; /* static, or in the arena */
    tinkc_reading_kind kind;
    int64_t value;
    double real; /* instead of `value`, of a metric of the program's own */
    bool is_real;
    const tk_histogram *histogram; /* in the arena; NULL: none */
} tk_reading;

struct tinkc_readings {
    tk_arena arena;
    tk_reading *rows; /* those of a name together */
    size_t n;
};

/* Powers of two of microseconds for which the Prometheus text counts how many lie
 * below. */
#define TK_READINGS_FIRST_POWER 8
#define TK_READINGS_LAST_POWER  32
#define TK_READINGS_POWER_STEP  2

#endif
