/* Meters count what a service has done.
 *
 * A meter uses the hooks (<tinkc/hooks.h>): without a meter nothing is counted. Reading it
 * gives a copy that does not change, as rows, as JSON, or as text for Prometheus. Names and
 * labels come from fixed lists, except the metrics that the program counts itself. Times are in seconds; quantiles are at most 4 %, or a
 * microsecond, above the true ones. Thread: any. */
#ifndef TINKC_METER_H
#define TINKC_METER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tinkc/error.h>
#include <tinkc/export.h>
#include <tinkc/service.h>

TINKC_BEGIN_DECLS

typedef struct tinkc_meter tinkc_meter; /* counts */
typedef struct tinkc_readings
    tinkc_readings; /* a copy of its counts, which does not change */

/* Creates a meter, which counts nothing until it is attached. The caller owns *out
 * (tinkc_meter_free). TINKC_E_INVALID when `out` is NULL, TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_meter_new(tinkc_meter **out,
                                                     tinkc_error **err);

/* Starts to count what the service does; one meter may be attached to several
 * services. TINKC_E_STATE when `meter` or `service` is NULL, TINKC_E_LIMIT when the
 * service has 8 hooks already. */
TINKC_API tinkc_code tinkc_meter_attach(tinkc_meter *meter, tinkc_service *service,
                                        tinkc_error **err);

/* Adds `amount` to a counter of the program's own, which starts at 0. A meter holds up to
 * 256 metrics of the program's own, each of one kind; they need no attached service. A
 * name has letters, digits and _, at most 64 bytes, starts with no digit and not with
 * "tinkc_", and does not end in _bucket, _sum or _count. Names are for what is counted;
 * data (ids, paths) does not belong into them. TINKC_E_INVALID for another name, a name
 * that is a metric of another kind, or an amount that is negative or not finite;
 * TINKC_E_LIMIT for a 257th metric; TINKC_E_STATE when `meter` is NULL; TINKC_E_NOMEM. */
TINKC_API tinkc_code tinkc_meter_add(tinkc_meter *meter, const char *name, double amount,
                                     tinkc_error **err);

/* Sets a gauge of the program's own. Errors as tinkc_meter_add, but `value` may be
 * negative. */
TINKC_API tinkc_code tinkc_meter_set(tinkc_meter *meter, const char *name, double value,
                                     tinkc_error **err);

/* Counts a value in a histogram of the program's own: a duration in seconds, or any number
 * from 0 to 2199023. Errors as tinkc_meter_add. */
TINKC_API tinkc_code tinkc_meter_observe(tinkc_meter *meter, const char *name,
                                         double value, tinkc_error **err);

/* Resets all counts to 0, except those of work in flight, and removes the metrics of the
 * program's own. Accepts NULL. */
TINKC_API void tinkc_meter_reset(tinkc_meter *meter);

/* Releases the caller's reference and sets *meter to NULL. A service that the meter is
 * attached to keeps it until the service, its clients and its futures are all gone.
 * Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_meter_free(tinkc_meter **meter);

/* Copies all counts. The caller owns *out (tinkc_readings_free). TINKC_E_STATE when
 * `meter` is NULL, TINKC_E_INVALID when `out` is NULL, TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_meter_read(tinkc_readings **out,
                                                      tinkc_meter *meter,
                                                      tinkc_error **err);

/* Kinds of metrics. What is counted, and the name of the label of each metric:
 *   tinkc_operations_total, tinkc_operations_failed_total        operation
 *   tinkc_operations_in_flight, tinkc_http_requests_in_flight    -
 *   tinkc_operation_duration_seconds                             operation
 *   tinkc_http_request_duration_seconds                          endpoint
 *   tinkc_http_requests_total, tinkc_http_requests_failed_total  endpoint
 *   tinkc_http_answers_total                                     status
 *   tinkc_http_sent_bytes_total, tinkc_http_received_bytes_total -
 *   tinkc_errors_total                                           code
 *   tinkc_retries_total, tinkc_queue_pauses_total                reason
 *   tinkc_tokens_total                                           kind
 * Those of the program's own have no label. */
typedef enum tinkc_reading_kind {
    TINKC_READING_COUNTER = 0,  /* only grows */
    TINKC_READING_GAUGE = 1,    /* as it is now */
    TINKC_READING_HISTOGRAM = 2 /* durations */
} tinkc_reading_kind;

/* One row. Texts are borrowed from the readings. */
typedef struct tinkc_reading {
    size_t size;
    tinkc_reading_kind kind;
    const char *name;        /* "tinkc_operations_total" */
    const char *label;       /* "operation"; NULL: the metric has no label */
    const char *label_value; /* "sample" */
    const char *help;
    double value;    /* for a histogram: the sum in seconds */
    int64_t count;   /* from here on: histograms only */
    double min, max; /* 0 when count is 0 */
    double p50, p90, p99;
} tinkc_reading;

#define TINKC_READING_INIT                                                               \
    {                                                                                    \
        sizeof(tinkc_reading), TINKC_READING_COUNTER, NULL, NULL, NULL, NULL, 0, 0, 0,   \
            0, 0, 0, 0                                                                   \
    }

/* Sets *reading to TINKC_READING_INIT. */
TINKC_API void tinkc_reading_init(tinkc_reading *reading);

/* Returns the number of rows; 0 for NULL. */
TINKC_API size_t tinkc_readings_count(const tinkc_readings *readings);

/* Copies row `index` to *out, whose `size` must be set. Returns false and writes
 * nothing when `index` is past the end or `size` is not set. */
TINKC_API bool tinkc_readings_at(tinkc_reading *out, const tinkc_readings *readings,
                                 size_t index);

/* Finds the row with this name and label value (NULL: the first row of that name) and
 * copies it to *out. TINKC_E_MISSING when nothing was counted under it; TINKC_E_STATE
 * when `readings` is NULL; TINKC_E_INVALID when `name` or `out` is NULL or out->size
 * is not set. */
TINKC_API tinkc_code tinkc_readings_find(tinkc_reading *out,
                                         const tinkc_readings *readings, const char *name,
                                         const char *label_value, tinkc_error **err);

/* Writes the readings as JSON:
 * {"metrics":[{"name":...,"type":...,"labels":{...},"value":...},...]}. Histograms
 * have count, sum, min, max, p50, p90 and p99 instead of a value. The caller frees
 * *out with tinkc_text_free. TINKC_E_STATE for NULL, TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_readings_json(char **out,
                                                         const tinkc_readings *readings,
                                                         tinkc_error **err);

/* Writes the readings in the text format of Prometheus, version 0.0.4. The caller
 * frees *out with tinkc_text_free. TINKC_E_STATE for NULL, TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_readings_prometheus(char **out, const tinkc_readings *readings, tinkc_error **err);

/* Frees the readings and sets *readings to NULL. Accepts NULL and a pointer to
 * NULL. */
TINKC_API void tinkc_readings_free(tinkc_readings **readings);

TINKC_END_DECLS

#endif
