/* See series.h. A table in the order of the first use, searched from its start: programs
 * have a handful of metrics. */
#include "client/insight/series.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define FIRST_ROOM 8
#define NS_PER_S   1e9
#define MOST_S     2199023.0 /* what the buckets of a histogram cover */

void tk_series_dispose(tk_series_table *table)
{
    for (size_t i = 0; i < table->n; i++) {
        tk_free(table->rows[i].histogram);
    }
    tk_free(table->rows);
    *table = (tk_series_table){NULL, 0, 0};
}

static bool is_name(tk_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!is_letter && (i == 0 || c < '0' || c > '9')) {
            return false;
        }
    }
    return name.n > 0;
}

/* Those that the text for Prometheus adds to the name of a histogram. */
static bool has_reserved_end(tk_str name)
{
    static const char *const ends[] = {"_bucket", "_sum", "_count"};
    for (size_t i = 0; i < TK_ARRAY_LEN(ends); i++) {
        size_t n = strlen(ends[i]);
        if (name.n >= n && memcmp(name.p + name.n - n, ends[i], n) == 0) {
            return true;
        }
    }
    return false;
}

static tinkc_code check_name(tk_str name, tk_err *err)
{
    if (name.n > TK_SERIES_NAME_BYTES || !is_name(name)) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "the name of a metric has letters, digits and _, starts with "
                          "no digit, and has at most %d bytes",
                          TK_SERIES_NAME_BYTES);
    }
    if (tk_str_has_prefix(name, "tinkc_") || has_reserved_end(name)) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "names of metrics do not start with tinkc_ and do not end in "
                          "_bucket, _sum or _count");
    }
    return TINKC_OK;
}

static tinkc_code check_value(tinkc_reading_kind kind, double value, tk_err *err)
{
    if (!isfinite(value)) {
        return tk_err_set(err, TINKC_E_INVALID, "the value is not finite");
    }
    if (kind != TINKC_READING_GAUGE && value < 0) {
        return tk_err_set(err, TINKC_E_INVALID, "only a gauge takes a negative value");
    }
    if (kind == TINKC_READING_HISTOGRAM && value > MOST_S) {
        return tk_err_set(err, TINKC_E_INVALID, "a histogram takes at most %.0f", MOST_S);
    }
    return TINKC_OK;
}

static tk_series *find(tk_series_table *table, tk_str name)
{
    for (size_t i = 0; i < table->n; i++) {
        if (tk_str_is(name, table->rows[i].name)) {
            return &table->rows[i];
        }
    }
    return NULL;
}

static bool make_room(tk_series_table *table)
{
    if (table->n < table->room) {
        return true;
    }
    size_t room = table->room == 0 ? FIRST_ROOM : 2 * table->room;
    tk_series *rows = tk_realloc_array(table->rows, room, sizeof(*rows));
    if (rows == NULL) {
        return false;
    }
    table->rows = rows;
    table->room = room;
    return true;
}

static tinkc_code make(tk_series **out, tk_series_table *table, tk_str name,
                       tinkc_reading_kind kind, tk_err *err)
{
    if (table->n == TK_SERIES_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT, "the meter has %d metrics already",
                          TK_SERIES_MAX);
    }
    tk_histogram *histogram = NULL;
    if (kind == TINKC_READING_HISTOGRAM) {
        histogram = tk_zalloc(sizeof(*histogram));
    }
    if ((kind == TINKC_READING_HISTOGRAM && histogram == NULL) || !make_room(table)) {
        tk_free(histogram);
        return tk_err_nomem(err);
    }
    tk_series *row = &table->rows[table->n++];
    *row = (tk_series){.kind = kind, .histogram = histogram};
    memcpy(row->name, name.p, name.n);
    *out = row;
    return TINKC_OK;
}

tinkc_code tk_series_put(tk_series_table *table, const char *name,
                         tinkc_reading_kind kind, double value, tk_err *err)
{
    tk_str text = tk_str_of(name);
    tinkc_code code = check_name(text, err);
    if (code == TINKC_OK) {
        code = check_value(kind, value, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    tk_series *row = find(table, text);
    if (row != NULL && row->kind != kind) {
        return tk_err_set(err, TINKC_E_INVALID, "%s is a metric of another kind", name);
    }
    if (row == NULL) {
        code = make(&row, table, text, kind, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    if (kind == TINKC_READING_HISTOGRAM) {
        tk_histogram_add(row->histogram, (int64_t)(value * NS_PER_S));
    } else {
        row->value = kind == TINKC_READING_COUNTER ? row->value + value : value;
    }
    return TINKC_OK;
}
