/* Prints the readings of a meter (tinkc/meter.h), and asks the server for its memory: only
 * `tinkc serve` says that, in GET /metrics. Owns the meter and the request. Counters that
 * stayed 0 are left out of the table. */
#include "cli/frame/cmd_stats.h"

#include <stdio.h>
#include <string.h>
#include <tinkc/meter.h>
#include <tinkc/raw.h>

#include "base/clock.h"
#include "base/str.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_progress.h"

#define ASK_EVERY_MS 1000
#define ASK_MS       1000 /* for the answer */
#define METRICS_PATH "/metrics"

static tinkc_meter *meter; /* NULL: no --stats */
static bool as_json;
static struct {
    tinkc_future *future; /* NULL: none is out */
    int64_t asked_ms;
    bool is_unknown; /* the server does not say it */
} memory;            /* thread: that of the waits; the main one after its end */

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

/* ---- the memory of the server ---- */

/* Gives the number after `name` at the start of a line. */
static bool find_metric(double *out, const char *text, const char *name)
{
    size_t n = strlen(name);
    for (tk_str rest = tk_str_of(text); rest.p != NULL;) {
        tk_str row = tk_str_cut(&rest, '\n');
        if (row.n > n && memcmp(row.p, name, n) == 0 && row.p[n] == ' ') {
            return tk_str_to_double((tk_str){row.p + n + 1, row.n - n - 1}, out);
        }
    }
    return false;
}

static void ask(tinkc_service *service)
{
    tinkc_raw_request request = TINKC_RAW_REQUEST_INIT;
    request.path = METRICS_PATH;
    request.timeout_ms = ASK_MS;
    request.max_retries = 0;
    memory.asked_ms = tk_clock_mono_ms(NULL);
    memory.future = tinkc_raw_send(service, &request);
}

static void take_answer(void)
{
    tinkc_raw_response *response = NULL;
    double used = 0, peak = 0;
    const char *text = NULL;
    if (tinkc_future_await_raw_response(&response, &memory.future, NULL) == TINKC_OK) {
        text = tinkc_raw_response_body(NULL, response);
    }
    if (text == NULL || !find_metric(&used, text, "tinkc_memory_used_bytes") ||
        !find_metric(&peak, text, "tinkc_memory_peak_bytes") || !(used >= 0) ||
        used > 1e18) {
        memory.is_unknown = true;
    } else {
        cmd_progress_memory((int64_t)used);
        (void)tinkc_meter_set(meter, "server_memory_used_bytes", used, NULL);
        (void)tinkc_meter_set(meter, "server_memory_peak_bytes", peak, NULL);
    }
    tinkc_raw_response_free(&response);
}

void cmd_stats_look(tinkc_service *service)
{
    if (meter == NULL || memory.is_unknown) {
        return;
    }
    if (memory.future != NULL && tinkc_future_is_done(memory.future)) {
        take_answer();
    }
    if (memory.future == NULL && !memory.is_unknown &&
        tk_clock_mono_ms(NULL) - memory.asked_ms >= ASK_EVERY_MS) {
        ask(service);
    }
}

void cmd_stats_last_look(tinkc_service *service)
{
    if (meter == NULL || service == NULL) {
        return;
    }
    if (memory.future == NULL && !memory.is_unknown) {
        ask(service);
    }
    if (memory.future != NULL) {
        take_answer(); /* ASK_MS is the longest that it takes */
    }
    memset(&memory, 0, sizeof(memory));
}

/* ---- showing ---- */

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
