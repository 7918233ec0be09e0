/* What a meter had counted: rows, JSON, Prometheus. Immutable. Numbers are written
 * without the locale's help. */
#include <string.h>

#include "base/json.h"
#include "base/json_num.h"
#include "base/mem.h"
#include "client/insight/meter.h"
#include "client/values/error.h"

#define TEXT_MAX_BYTES (16 * TK_MIB)

void tinkc_readings_free(tinkc_readings **readings)
{
    if (readings != NULL && *readings != NULL) {
        tk_arena_dispose(&(*readings)->arena);
        tk_free(*readings);
        *readings = NULL;
    }
}

size_t tinkc_readings_count(const tinkc_readings *readings)
{
    return readings != NULL ? readings->n : 0;
}

/* ---- rows ---- */

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static tinkc_reading metric_of(const tk_reading *row)
{
    const tk_histogram *h = row->histogram;
    tinkc_reading metric = {.kind = row->kind,
                            .name = row->name,
                            .label = row->label,
                            .label_value = row->label_value,
                            .help = row->help,
                            .value = row->is_real ? row->real : (double)row->value};
    if (h != NULL) {
        metric.value = seconds(h->sum_ns);
        metric.count = (int64_t)h->count;
        metric.min = seconds(h->min_ns);
        metric.max = seconds(h->max_ns);
        metric.p50 = seconds(tk_histogram_quantile(h, 0.5));
        metric.p90 = seconds(tk_histogram_quantile(h, 0.9));
        metric.p99 = seconds(tk_histogram_quantile(h, 0.99));
    }
    return metric;
}

bool tinkc_readings_at(tinkc_reading *out, const tinkc_readings *readings, size_t index)
{
    if (out == NULL || out->size < sizeof(out->size) ||
        index >= tinkc_readings_count(readings)) {
        return false;
    }
    tinkc_reading metric = metric_of(&readings->rows[index]);
    metric.size = out->size;
    memcpy(out, &metric, TK_MIN(metric.size, sizeof(metric)));
    return true;
}

tinkc_code tinkc_readings_find(tinkc_reading *out, const tinkc_readings *readings,
                               const char *name, const char *label_value,
                               tinkc_error **err)
{
    if (out == NULL || name == NULL || readings == NULL) {
        return readings == NULL
                   ? tk_error_tell(err, TINKC_E_STATE, "no readings")
                   : tk_error_tell(err, TINKC_E_INVALID, "no name, or no place for it");
    }
    for (size_t i = 0; i < readings->n; i++) {
        const tk_reading *row = &readings->rows[i];
        bool fits = label_value == NULL || (row->label_value != NULL &&
                                            strcmp(row->label_value, label_value) == 0);
        if (strcmp(row->name, name) == 0 && fits) {
            return tinkc_readings_at(out, readings, i)
                       ? TINKC_OK
                       : tk_error_tell(err, TINKC_E_INVALID,
                                       "the size of *out is not set");
        }
    }
    return tk_error_tell(err, TINKC_E_MISSING, "nothing of this name was counted");
}

/* ---- texts ---- */

static const char *kind_name(tinkc_reading_kind kind)
{
    switch (kind) {
    case TINKC_READING_COUNTER:
        return "counter";
    case TINKC_READING_GAUGE:
        return "gauge";
    case TINKC_READING_HISTOGRAM:
        break;
    }
    return "histogram";
}

static tinkc_code give(char **out, tk_buf *text, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    size_t n = 0;
    tk_buf_putc(text, '\0');
    tinkc_code code = tk_buf_status(text, &err);
    if (code == TINKC_OK) {
        *out = tk_buf_take(text, &n);
        return TINKC_OK;
    }
    tk_buf_dispose(text);
    return tk_error_give(error, &err);
}

static tinkc_code refuse(char *const *out, const tinkc_readings *readings,
                         tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    if (readings == NULL) {
        tk_err_set(&err, TINKC_E_STATE, "no readings");
    } else if (out == NULL) {
        tk_err_set(&err, TINKC_E_INVALID, "no place for the result");
    }
    return err.code != TINKC_OK ? tk_error_give(error, &err) : TINKC_OK;
}

static void put_double(tk_json_writer *w, const char *key, double value)
{
    tk_json_key(w, tk_str_of(key));
    tk_json_put_double(w, value);
}

static void put_text(tk_json_writer *w, const char *key, const char *text)
{
    tk_json_key(w, tk_str_of(key));
    tk_json_put_str(w, tk_str_of(text));
}

static void put_row(tk_json_writer *w, const tk_reading *row)
{
    tinkc_reading metric = metric_of(row);
    tk_json_begin_object(w);
    put_text(w, "name", row->name);
    put_text(w, "type", kind_name(row->kind));
    tk_json_key(w, TK_STR("labels"));
    tk_json_begin_object(w);
    if (row->label != NULL) {
        put_text(w, row->label, row->label_value);
    }
    tk_json_end_object(w);
    if (row->kind != TINKC_READING_HISTOGRAM) {
        tk_json_key(w, TK_STR("value"));
        if (row->is_real) {
            tk_json_put_double(w, row->real);
        } else {
            tk_json_put_i64(w, row->value);
        }
    } else {
        tk_json_key(w, TK_STR("count"));
        tk_json_put_i64(w, metric.count);
        put_double(w, "sum", metric.value);
        put_double(w, "min", metric.min);
        put_double(w, "max", metric.max);
        put_double(w, "p50", metric.p50);
        put_double(w, "p90", metric.p90);
        put_double(w, "p99", metric.p99);
    }
    tk_json_end_object(w);
}

tinkc_code tinkc_readings_json(char **out, const tinkc_readings *readings,
                               tinkc_error **error)
{
    tk_buf text;
    tk_json_writer w;
    tinkc_code code = refuse(out, readings, error);
    if (code != TINKC_OK) {
        return code;
    }
    tk_buf_init(&text, TEXT_MAX_BYTES);
    tk_json_writer_init(&w, &text);
    tk_json_begin_object(&w);
    tk_json_key(&w, TK_STR("metrics"));
    tk_json_begin_array(&w);
    for (size_t i = 0; i < readings->n; i++) {
        put_row(&w, &readings->rows[i]);
    }
    tk_json_end_array(&w);
    tk_json_end_object(&w);
    return give(out, &text, error);
}

/* ---- Prometheus ---- */

static void put_i64(tk_buf *text, int64_t value)
{
    char number[TK_JSON_NUM_BYTES];
    tk_buf_put(text, number, tk_json_num_put_i64(number, value));
}

static void put_real(tk_buf *text, double value)
{
    tk_json_writer w;
    tk_json_writer_init(&w, text);
    tk_json_put_double(&w, value);
}

/* name_suffix{label="value",le="edge"} ; values are names of ours, nothing to escape. */
static void put_sample(tk_buf *text, const tk_reading *row, const char *suffix,
                       const double *edge, bool is_last)
{
    tk_buf_puts(text, row->name);
    tk_buf_puts(text, suffix);
    bool has_edge = edge != NULL || is_last;
    if (row->label != NULL || has_edge) {
        tk_buf_putc(text, '{');
    }
    if (row->label != NULL) {
        tk_buf_printf(text, "%s=\"%s\"%s", row->label, row->label_value,
                      has_edge ? "," : "");
    }
    if (has_edge) {
        tk_buf_puts(text, "le=\"");
        if (is_last) {
            tk_buf_puts(text, "+Inf");
        } else {
            put_real(text, *edge);
        }
        tk_buf_putc(text, '"');
    }
    if (row->label != NULL || has_edge) {
        tk_buf_putc(text, '}');
    }
    tk_buf_putc(text, ' ');
}

static void put_histogram(tk_buf *text, const tk_reading *row)
{
    const tk_histogram *h = row->histogram;
    for (unsigned power = TK_READINGS_FIRST_POWER; power <= TK_READINGS_LAST_POWER;
         power += TK_READINGS_POWER_STEP) {
        double edge = (double)(UINT64_C(1) << power) / 1e6;
        put_sample(text, row, "_bucket", &edge, false);
        put_i64(text, (int64_t)tk_histogram_below(h, power));
        tk_buf_putc(text, '\n');
    }
    put_sample(text, row, "_bucket", NULL, true);
    put_i64(text, (int64_t)h->count);
    tk_buf_putc(text, '\n');
    put_sample(text, row, "_sum", NULL, false);
    put_real(text, seconds(h->sum_ns));
    tk_buf_putc(text, '\n');
    put_sample(text, row, "_count", NULL, false);
    put_i64(text, (int64_t)h->count);
    tk_buf_putc(text, '\n');
}

tinkc_code tinkc_readings_prometheus(char **out, const tinkc_readings *readings,
                                     tinkc_error **error)
{
    tk_buf text;
    const char *name = "";
    tinkc_code code = refuse(out, readings, error);
    if (code != TINKC_OK) {
        return code;
    }
    tk_buf_init(&text, TEXT_MAX_BYTES);
    for (size_t i = 0; i < readings->n; i++) {
        const tk_reading *row = &readings->rows[i];
        if (strcmp(row->name, name) != 0) {
            name = row->name;
            tk_buf_printf(&text, "# HELP %s %s\n# TYPE %s %s\n", name, row->help, name,
                          kind_name(row->kind));
        }
        if (row->kind == TINKC_READING_HISTOGRAM) {
            put_histogram(&text, row);
        } else {
            put_sample(&text, row, "", NULL, false);
            if (row->is_real) {
                put_real(&text, row->real);
            } else {
                put_i64(&text, row->value);
            }
            tk_buf_putc(&text, '\n');
        }
    }
    return give(out, &text, error);
}
