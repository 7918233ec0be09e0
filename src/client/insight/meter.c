/* See <tinkc/meter.h>: counts events of hooks. Hooks run on several threads: one lock,
 * held for some additions; starts only change a gauge. Labels are the static names that
 * the hooks give, found by their address first. */
#include <stdatomic.h>
#include <string.h>

#include <tinkc/hooks.h>

#include "base/mem.h"
#include "base/thread.h"
#include "client/insight/meter.h"
#include "client/insight/series.h"
#include "client/values/error.h"

#define LABELS 48 /* of one metric; more are counted as "other" */
#define KINDS  4

/* A number for each value of a label. */
typedef struct counts {
    size_t n;
    struct {
        const char *label;
        int64_t value;
    } rows[LABELS];
} counts;

/* Spans of one name. */
typedef struct spans {
    const char *name;
    int64_t done, failed;
    tk_histogram *seconds; /* NULL: there was no memory for it */
} spans;

typedef struct span_table {
    size_t n;
    spans rows[LABELS];
} span_table;

struct tinkc_meter {
    atomic_size_t refs;             /* the caller's, and one of each service */
    atomic_int_least64_t active[2]; /* by tinkc_span_kind */
    tk_mutex lock;
    span_table table[2];
    counts errors, answers, retries, pauses;
    int64_t sent, received;
    int64_t tokens[KINDS];
    tk_series_table own; /* what the program counts itself */
};

/* ---- counting ---- */

static bool is_same(const char *a, const char *b)
{
    return a == b || strcmp(a, b) == 0;
}

static void count(counts *table, const char *label)
{
    size_t i = 0;
    while (i < table->n && table->rows[i].label != label) {
        i++;
    }
    for (size_t k = 0; i == table->n && k < table->n; k++) {
        i = is_same(table->rows[k].label, label) ? k : i;
    }
    if (i == table->n && table->n == LABELS) {
        i = LABELS - 1;
        table->rows[i].label = "other";
    } else if (i == table->n) {
        table->rows[table->n++].label = label;
    }
    table->rows[i].value++;
}

static spans *spans_of(span_table *table, const char *name)
{
    size_t i = 0;
    while (i < table->n && table->rows[i].name != name) {
        i++;
    }
    for (size_t k = 0; i == table->n && k < table->n; k++) {
        i = is_same(table->rows[k].name, name) ? k : i;
    }
    if (i == table->n && table->n == LABELS) {
        i = LABELS - 1;
        table->rows[i].name = "other";
    } else if (i == table->n) {
        table->rows[table->n++].name = name;
    }
    spans *row = &table->rows[i];
    if (row->seconds == NULL) {
        row->seconds = tk_zalloc(sizeof(*row->seconds));
    }
    return row;
}

static const char *status_text(int status)
{
    static const char *const text[] = {"none", "1xx", "2xx", "3xx", "4xx", "5xx"};
    static const struct {
        int status;
        const char *text;
    } known[] = {{200, "200"}, {408, "408"}, {429, "429"}, {404, "404"}, {402, "402"},
                 {400, "400"}, {401, "401"}, {403, "403"}, {409, "409"}, {410, "410"},
                 {422, "422"}, {500, "500"}, {502, "502"}, {503, "503"}, {504, "504"}};
    for (size_t i = 0; i < TK_ARRAY_LEN(known); i++) {
        if (known[i].status == status) {
            return known[i].text;
        }
    }
    return text[status >= 100 && status < 600 ? status / 100 : 0];
}

static void count_end(tinkc_meter *meter, const tinkc_hook *event)
{
    bool is_http = event->kind == TINKC_SPAN_HTTP;
    spans *row = spans_of(&meter->table[is_http], event->name);
    row->done++;
    row->failed += event->event == TINKC_HOOK_ERROR;
    if (row->seconds != NULL) {
        tk_histogram_add(row->seconds, event->duration_ns);
    }
    if (is_http) {
        count(&meter->answers, status_text(event->http_status));
        meter->sent += event->bytes_out;
        meter->received += event->bytes_in;
    } else if (event->event == TINKC_HOOK_ERROR) {
        count(&meter->errors, tinkc_code_name(event->code));
    }
}

static void count_pause(tinkc_meter *meter, const tinkc_hook *event)
{
    if (event->queue_state == TINKC_QUEUE_PAUSED_CAPACITY) {
        count(&meter->pauses, "capacity");
    } else if (event->queue_state == TINKC_QUEUE_PAUSED_RATE_LIMIT) {
        count(&meter->pauses, "rate_limit");
    }
}

static void on_event(const tinkc_hook *event, void *user)
{
    tinkc_meter *meter = user;
    if (event->event == TINKC_HOOK_START) {
        atomic_fetch_add(&meter->active[event->kind == TINKC_SPAN_HTTP], 1);
        return;
    }
    tk_mutex_lock(&meter->lock);
    switch (event->event) {
    case TINKC_HOOK_START:
        break;
    case TINKC_HOOK_STOP:
    case TINKC_HOOK_ERROR:
        atomic_fetch_sub(&meter->active[event->kind == TINKC_SPAN_HTTP], 1);
        count_end(meter, event);
        break;
    case TINKC_HOOK_RETRY:
        count(&meter->retries, event->reason);
        break;
    case TINKC_HOOK_QUEUE:
        count_pause(meter, event);
        break;
    case TINKC_HOOK_TOKENS:
        meter->tokens[(size_t)event->token_kind % KINDS] += event->tokens;
        break;
    }
    tk_mutex_unlock(&meter->lock);
}

/* ---- life ---- */

static void forget(tinkc_meter *meter)
{
    for (size_t t = 0; t < TK_ARRAY_LEN(meter->table); t++) {
        for (size_t i = 0; i < meter->table[t].n; i++) {
            tk_free(meter->table[t].rows[i].seconds);
        }
    }
    memset(meter->table, 0, sizeof(meter->table));
    tk_series_dispose(&meter->own);
}

static void unref(void *user)
{
    tinkc_meter *meter = user;
    if (atomic_fetch_sub(&meter->refs, 1) == 1) {
        forget(meter);
        tk_mutex_dispose(&meter->lock);
        tk_free(meter);
    }
}

tinkc_code tinkc_meter_new(tinkc_meter **out, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tinkc_meter *meter = out != NULL ? tk_zalloc(sizeof(*meter)) : NULL;
    if (out == NULL) {
        tk_err_set(&err, TINKC_E_INVALID, "no place for the result");
    } else if (meter == NULL) {
        tk_err_nomem(&err);
    } else if (tk_mutex_init(&meter->lock, &err) == TINKC_OK) {
        atomic_init(&meter->refs, 1);
        *out = meter;
        return TINKC_OK;
    }
    tk_free(meter);
    return tk_error_give(error, &err);
}

tinkc_code tinkc_meter_attach(tinkc_meter *meter, tinkc_service *service,
                              tinkc_error **error)
{
    if (meter == NULL) {
        return tk_error_tell(error, TINKC_E_STATE, "no meter");
    }
    atomic_fetch_add(&meter->refs, 1);
    tinkc_code code = tinkc_service_add_hook(service, on_event, meter, unref, error);
    if (code != TINKC_OK) {
        unref(meter);
    }
    return code;
}

void tinkc_meter_reset(tinkc_meter *meter)
{
    if (meter == NULL) {
        return;
    }
    tk_mutex_lock(&meter->lock);
    forget(meter);
    memset(&meter->errors, 0, sizeof(meter->errors));
    memset(&meter->answers, 0, sizeof(meter->answers));
    memset(&meter->retries, 0, sizeof(meter->retries));
    memset(&meter->pauses, 0, sizeof(meter->pauses));
    memset(meter->tokens, 0, sizeof(meter->tokens));
    meter->sent = meter->received = 0;
    tk_mutex_unlock(&meter->lock);
}

void tinkc_meter_free(tinkc_meter **meter)
{
    if (meter != NULL && *meter != NULL) {
        unref(*meter);
        *meter = NULL;
    }
}

/* ---- the program's own ---- */

static tinkc_code put(tinkc_meter *meter, const char *name, tinkc_reading_kind kind,
                      double value, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    if (meter == NULL || name == NULL) {
        tk_err_set(&err, meter == NULL ? TINKC_E_STATE : TINKC_E_INVALID,
                   "no meter, or no name");
        return tk_error_give(error, &err);
    }
    tk_mutex_lock(&meter->lock);
    tinkc_code code = tk_series_put(&meter->own, name, kind, value, &err);
    tk_mutex_unlock(&meter->lock);
    return code == TINKC_OK ? TINKC_OK : tk_error_give(error, &err);
}

tinkc_code tinkc_meter_add(tinkc_meter *meter, const char *name, double amount,
                           tinkc_error **err)
{
    return put(meter, name, TINKC_READING_COUNTER, amount, err);
}

tinkc_code tinkc_meter_set(tinkc_meter *meter, const char *name, double value,
                           tinkc_error **err)
{
    return put(meter, name, TINKC_READING_GAUGE, value, err);
}

tinkc_code tinkc_meter_observe(tinkc_meter *meter, const char *name, double value,
                               tinkc_error **err)
{
    return put(meter, name, TINKC_READING_HISTOGRAM, value, err);
}

/* ---- reading ---- */

/* What rows of one metric have in common. */
typedef struct family {
    const char *name, *label, *help;
} family;

static const family span_families[2][3] = {
    {{"tinkc_operations_total", "operation", "Operations that have ended."},
     {"tinkc_operations_failed_total", "operation", "Operations that have failed."},
     {"tinkc_operation_duration_seconds", "operation",
      "From the call to its completion."}},
    {{"tinkc_http_requests_total", "endpoint", "Requests that have ended."},
     {"tinkc_http_requests_failed_total", "endpoint", "Requests without an answer 2xx."},
     {"tinkc_http_request_duration_seconds", "endpoint",
      "From sending to the end of the answer; polls wait for results."}}};

static const family active_families[2] = {
    {"tinkc_operations_in_flight", NULL, "Operations under way."},
    {"tinkc_http_requests_in_flight", NULL, "Requests under way."}};

static void add(tinkc_readings *out, const family *of, tinkc_reading_kind kind,
                const char *label_value, int64_t value)
{
    out->rows[out->n++] = (tk_reading){.name = of->name,
                                       .label = of->label,
                                       .label_value = label_value,
                                       .help = of->help,
                                       .kind = kind,
                                       .value = value};
}

static void add_counts(tinkc_readings *out, const family *of, const counts *table)
{
    for (size_t i = 0; i < table->n; i++) {
        add(out, of, TINKC_READING_COUNTER, table->rows[i].label, table->rows[i].value);
    }
}

static bool add_histogram(tinkc_readings *out, const family *of, const char *label_value,
                          const tk_histogram *histogram)
{
    if (histogram == NULL) {
        return true;
    }
    tk_histogram *copy = tk_arena_alloc(&out->arena, sizeof(*copy));
    if (copy == NULL) {
        return false;
    }
    *copy = *histogram;
    add(out, of, TINKC_READING_HISTOGRAM, label_value, 0);
    out->rows[out->n - 1].histogram = copy;
    return true;
}

static bool add_own(tinkc_readings *out, const tk_series *series)
{
    tk_str name = {NULL, 0};
    if (!tk_arena_dup(&out->arena, &name, series->name, strlen(series->name))) {
        return false;
    }
    family of = {name.p, NULL, "Counted by the program."};
    if (series->kind == TINKC_READING_HISTOGRAM) {
        return add_histogram(out, &of, NULL, series->histogram);
    }
    add(out, &of, series->kind, NULL, 0);
    out->rows[out->n - 1].real = series->value;
    out->rows[out->n - 1].is_real = true;
    return true;
}

static bool add_spans(tinkc_readings *out, tinkc_meter *meter, size_t kind)
{
    const span_table *table = &meter->table[kind];
    bool ok = true;
    for (size_t i = 0; i < table->n; i++) {
        add(out, &span_families[kind][0], TINKC_READING_COUNTER, table->rows[i].name,
            table->rows[i].done);
    }
    for (size_t i = 0; i < table->n; i++) {
        add(out, &span_families[kind][1], TINKC_READING_COUNTER, table->rows[i].name,
            table->rows[i].failed);
    }
    add(out, &active_families[kind], TINKC_READING_GAUGE, NULL,
        atomic_load(&meter->active[kind]));
    for (size_t i = 0; ok && i < table->n; i++) {
        ok = add_histogram(out, &span_families[kind][2], table->rows[i].name,
                           table->rows[i].seconds);
    }
    return ok;
}

static void add_numbers(tinkc_readings *out, const tinkc_meter *meter)
{
    static const family sent = {"tinkc_http_sent_bytes_total", NULL,
                                "Bytes of request bodies."};
    static const family received = {"tinkc_http_received_bytes_total", NULL,
                                    "Bytes of answer bodies."};
    static const family tokens = {"tinkc_tokens_total", "kind",
                                  "Tokens that the server has worked on."};
    add(out, &sent, TINKC_READING_COUNTER, NULL, meter->sent);
    add(out, &received, TINKC_READING_COUNTER, NULL, meter->received);
    for (size_t i = 0; i < KINDS; i++) {
        add(out, &tokens, TINKC_READING_COUNTER,
            tinkc_token_kind_name((tinkc_token_kind)i), meter->tokens[i]);
    }
}

static void add_tables(tinkc_readings *out, const tinkc_meter *meter)
{
    static const family errors = {"tinkc_errors_total", "code",
                                  "Failed operations by what went wrong."};
    static const family answers = {"tinkc_http_answers_total", "status",
                                   "Requests by the status of their answer."};
    static const family retries = {"tinkc_retries_total", "reason",
                                   "What was tried again, by what had gone wrong."};
    static const family pauses = {"tinkc_queue_pauses_total", "reason",
                                  "Work that the server has paused."};
    add_counts(out, &errors, &meter->errors);
    add_counts(out, &answers, &meter->answers);
    add_counts(out, &retries, &meter->retries);
    add_counts(out, &pauses, &meter->pauses);
}

/* Under the lock. */
static bool fill(tinkc_readings *out, tinkc_meter *meter)
{
    size_t most = 3 * (meter->table[0].n + meter->table[1].n) + 4 * LABELS + KINDS + 4 +
                  meter->own.n;
    out->rows = tk_arena_array(&out->arena, most, sizeof(*out->rows));
    if (out->rows == NULL || !add_spans(out, meter, 0) || !add_spans(out, meter, 1)) {
        return false;
    }
    add_numbers(out, meter);
    add_tables(out, meter);
    bool ok = true;
    for (size_t i = 0; ok && i < meter->own.n; i++) {
        ok = add_own(out, &meter->own.rows[i]);
    }
    return ok;
}

tinkc_code tinkc_meter_read(tinkc_readings **out, tinkc_meter *meter, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    if (meter == NULL || out == NULL) {
        tk_err_set(&err, meter == NULL ? TINKC_E_STATE : TINKC_E_INVALID,
                   "no meter, or no place for the result");
        return tk_error_give(error, &err);
    }
    tinkc_readings *readings = tk_zalloc(sizeof(*readings));
    bool ok = readings != NULL;
    if (ok) {
        tk_arena_init(&readings->arena, 0);
        tk_mutex_lock(&meter->lock);
        ok = fill(readings, meter);
        tk_mutex_unlock(&meter->lock);
    }
    if (!ok) {
        tinkc_readings_free(&readings);
        tk_err_nomem(&err);
        return tk_error_give(error, &err);
    }
    *out = readings;
    return TINKC_OK;
}
