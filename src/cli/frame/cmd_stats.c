/* Prints the readings of a meter (tinkc/metrics.h). Owns the meter. Counters that stayed
 * 0 are left out of the table. */
#include "cli/frame/cmd_stats.h"

#include <stdio.h>
#include <tinkc/meter.h>

#include "cli/frame/cmd_print.h"

static tinkc_meter *meter; /* NULL: no --stats */
static bool as_json;

void cmd_stats_start(tinkc_service *service, const cmd_args *args)
{
    tinkc_error *error = NULL;
    if (!cmd_has(args, "stats") || meter != NULL) {
        return;
    }
    as_json = cmd_wants_json(args);
    if (tinkc_meter_new(&meter, &error) != TINKC_OK ||
        tinkc_meter_attach(meter, service, &error) != TINKC_OK) {
        cmd_print(stderr, "Warning: no metrics: %s\n", tinkc_error_message(error));
        tinkc_error_free(&error);
        tinkc_meter_free(&meter);
    }
}

static void show_row(const tinkc_reading *metric)
{
    char name[96];
    if (metric->label != NULL) {
        (void)snprintf(name, sizeof(name), "%s{%s}", metric->name, metric->label_value);
    } else {
        (void)snprintf(name, sizeof(name), "%s", metric->name);
    }
    if (metric->kind == TINKC_READING_HISTOGRAM) {
        cmd_print(stderr, "%-58s %9lld  p50 %.1f ms  p90 %.1f ms  p99 %.1f ms\n", name,
                  (long long)metric->count, metric->p50 * 1e3, metric->p90 * 1e3,
                  metric->p99 * 1e3);
    } else if (metric->value > 0) {
        cmd_print(stderr, "%-58s %9.0f\n", name, metric->value);
    }
}

static void show(const tinkc_readings *readings)
{
    char *json = NULL;
    if (!as_json) {
        for (size_t i = 0; i < tinkc_readings_count(readings); i++) {
            tinkc_reading metric = TINKC_READING_INIT;
            if (tinkc_readings_at(&metric, readings, i)) {
                show_row(&metric);
            }
        }
    } else if (tinkc_readings_json(&json, readings, NULL) == TINKC_OK) {
        cmd_print(stderr, "%s\n", json);
        tinkc_text_free(&json);
    }
}

void cmd_stats_end(void)
{
    tinkc_readings *readings = NULL;
    if (meter != NULL && tinkc_meter_read(&readings, meter, NULL) == TINKC_OK) {
        show(readings);
    }
    tinkc_readings_free(&readings);
    tinkc_meter_free(&meter);
}
