/* Reducers of training metrics; see metrics.h. A metric is looked up in each part by
 * name, so parts may list them in any order. */
#include "wire/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

typedef enum reduction {
    REDUCE_NONE, /* no suffix, or one that is not known */
    REDUCE_MEAN,
    REDUCE_SLACK,
    REDUCE_SUM,
    REDUCE_MIN,
    REDUCE_MAX,
    REDUCE_UNIQUE,
    REDUCE_HASH,
    REDUCE_HASH2
} reduction;

/* The values of one metric over all parts. */
typedef struct column {
    double *values;
    const double *weights; /* datums of each part */
    size_t n;
} column;

static reduction reduction_of(tk_str name)
{
    static const struct {
        const char *suffix;
        reduction reduce;
    } table[] = {
        {"mean", REDUCE_MEAN},     {"avg", REDUCE_MEAN}, /* twinkle's word for it */
        {"slack", REDUCE_SLACK},   {"sum", REDUCE_SUM},
        {"min", REDUCE_MIN},       {"max", REDUCE_MAX},
        {"unique", REDUCE_UNIQUE}, {"hash_unordered", REDUCE_HASH}, /* up to 0.25 */
        {"hash2", REDUCE_HASH2},                                    /* from 0.36 on */
    };
    tk_str suffix = name;
    (void)tk_str_cut(&suffix, ':');
    for (size_t i = 0; i < TK_ARRAY_LEN(table); i++) {
        if (suffix.p != NULL && tk_str_is(suffix, table[i].suffix)) {
            return table[i].reduce;
        }
    }
    return REDUCE_NONE;
}

const double *tk_metrics_find(const tk_num_map *metrics, tk_str name)
{
    for (size_t i = 0; i < metrics->n; i++) {
        if (tk_str_eq(metrics->items[i].name, name)) {
            return &metrics->items[i].v;
        }
    }
    return NULL;
}

/* How well a name fits the loss of a batch, 0 best; -1: it is another metric. Sums come
 * before means: a mean may be one over tokens or one over datums. */
static int loss_rank(tk_str name)
{
    static const char *const ranks[] = {
        "loss", "loss:sum", "loss:", "total_loss", "total_loss:sum", "total_loss:"};
    for (size_t i = 0; i < TK_ARRAY_LEN(ranks); i++) {
        bool is_open = ranks[i][strlen(ranks[i]) - 1] == ':';
        if (is_open ? tk_str_has_prefix(name, ranks[i]) : tk_str_is(name, ranks[i])) {
            return (int)i;
        }
    }
    return -1;
}

const tk_named_num *tk_metrics_loss(const tk_num_map *metrics)
{
    const tk_named_num *best = NULL;
    int best_rank = -1;
    for (size_t i = 0; i < metrics->n; i++) {
        int rank = loss_rank(metrics->items[i].name);
        if (rank >= 0 && (best == NULL || rank < best_rank)) {
            best = &metrics->items[i];
            best_rank = rank;
        }
    }
    return best;
}

static double weighted_mean(const column *c)
{
    double sum = 0.0;
    double weight = 0.0;
    double plain = 0.0;
    for (size_t i = 0; i < c->n; i++) {
        sum += c->weights[i] * c->values[i];
        weight += c->weights[i];
        plain += c->values[i];
    }
    return weight > 0.0 ? sum / weight : plain / (double)c->n;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* hash(int) of CPython for the integer part of a value. */
static uint64_t hash_int(double value)
{
    const uint64_t modulus = (UINT64_C(1) << 61) - 1;
    double magnitude = fabs(trunc(value));
    uint64_t rest = 0;
    if (magnitude < 0x1p62) {
        rest = (uint64_t)magnitude;
    } else {
        int exponent;
        double fraction = frexp(magnitude, &exponent); /* magnitude = m * 2^e, m < 2^53 */
        uint64_t mantissa = (uint64_t)ldexp(fraction, 53);
        unsigned shift = (unsigned)(exponent - 53) % 61; /* 2^61 = 1 modulo 2^61 - 1 */
        rest = mantissa % modulus;
        for (unsigned i = 0; i < shift; i++) {
            rest = (rest << 1) % modulus;
        }
    }
    uint64_t hash = rest % modulus;
    if (value < 0.0) {
        hash = hash == 1 ? (uint64_t)-2 : (uint64_t)0 - hash;
    }
    return hash;
}

int64_t tk_metrics_hash(double *values, size_t n)
{
    const uint64_t p1 = UINT64_C(11400714785074694791);
    const uint64_t p2 = UINT64_C(14029467366897019727);
    const uint64_t p5 = UINT64_C(2870177450012600261);
    for (size_t i = 0; i < n; i++) {
        values[i] = isfinite(values[i]) ? trunc(values[i]) : 0.0;
    }
    qsort(values, n, sizeof(*values), by_value);
    uint64_t acc = p5;
    for (size_t i = 0; i < n; i++) {
        acc += hash_int(values[i]) * p2;
        acc = (acc << 31) | (acc >> 33);
        acc *= p1;
    }
    acc += n ^ (p5 ^ UINT64_C(3527539));
    if (acc == UINT64_MAX) {
        return INT64_C(1546275796);
    }
    int64_t result;
    memcpy(&result, &acc, sizeof(result));
    return result;
}

/* The integer part of a value modulo 2^64. */
static uint64_t wrap(double value)
{
    double rest = isfinite(value) ? fmod(trunc(value), 0x1p64) : 0.0;
    return rest < 0.0 ? (uint64_t)0 - (uint64_t)-rest : (uint64_t)rest;
}

uint64_t tk_metrics_hash2(const double *values, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += wrap(values[i]);
    }
    return sum;
}

/* The larger (smaller) of two; NaN once there is one, as numpy has it. */
static double larger(double a, double b)
{
    return isnan(b) || b > a ? b : a;
}

static double smaller(double a, double b)
{
    return isnan(b) || b < a ? b : a;
}

static double reduce(reduction how, const column *c)
{
    double result = c->values[0];
    double high = c->values[0];
    for (size_t i = 1; i < c->n; i++) {
        double v = c->values[i];
        high = larger(high, v);
        result = how == REDUCE_SUM   ? result + v
                 : how == REDUCE_MIN ? smaller(result, v)
                                     : result;
    }
    switch (how) {
    case REDUCE_MEAN:
        return weighted_mean(c);
    case REDUCE_SLACK:
        return high - weighted_mean(c);
    case REDUCE_MAX:
        return high;
    case REDUCE_HASH:
        return (double)tk_metrics_hash(c->values, c->n);
    case REDUCE_HASH2:
        return (double)tk_metrics_hash2(c->values, c->n);
    case REDUCE_SUM:
    case REDUCE_MIN:
    case REDUCE_UNIQUE:
    case REDUCE_NONE:
        break;
    }
    return result;
}

/* Collects one metric of all parts; false when a part lacks it. */
static bool collect(column *c, const tk_fwdbwd_output *parts, tk_str name)
{
    for (size_t i = 0; i < c->n; i++) {
        const double *value = tk_metrics_find(&parts[i].metrics, name);
        if (value == NULL) {
            return false;
        }
        c->values[i] = *value;
    }
    return true;
}

/* The name, followed by a NUL; from the second part on with a number, "u:unique_1". */
static bool name_item(tk_named_num *item, tk_arena *arena, tk_str name, size_t part)
{
    char suffix[24] = "";
    int digits = part > 0 ? snprintf(suffix, sizeof(suffix), "_%zu", part) : 0;
    char *text = tk_arena_alloc(arena, name.n + (size_t)digits + 1);
    if (text == NULL) {
        return false;
    }
    if (name.n > 0) {
        memcpy(text, name.p, name.n);
    }
    memcpy(text + name.n, suffix, (size_t)digits + 1);
    item->name = (tk_str){text, name.n + (size_t)digits};
    return true;
}

/* Room for the reduced metrics: one each, but `unique` gives one for each part. */
static tk_named_num *room_for(tk_arena *arena, const tk_fwdbwd_output *parts, size_t n)
{
    size_t count = 0;
    const tk_num_map *first = &parts[0].metrics;
    for (size_t i = 0; i < first->n; i++) {
        bool unique = reduction_of(first->items[i].name) == REDUCE_UNIQUE;
        if (!tk_size_add(&count, count, unique ? n : 1)) {
            return NULL;
        }
    }
    return tk_arena_array(arena, count, sizeof(tk_named_num));
}

static tinkc_code combine_metrics(tk_num_map *out, tk_arena *arena, column *c,
                                  const tk_fwdbwd_output *parts, tk_err *err)
{
    const tk_num_map *first = &parts[0].metrics;
    tk_named_num *items = room_for(arena, parts, c->n);
    if (items == NULL) {
        return tk_err_nomem(err);
    }
    size_t count = 0;
    for (size_t i = 0; i < first->n; i++) {
        tk_str name = first->items[i].name;
        reduction how = reduction_of(name);
        if (!collect(c, parts, name) || (how == REDUCE_NONE && c->n > 1)) {
            continue;
        }
        size_t copies = how == REDUCE_UNIQUE ? c->n : 1;
        for (size_t part = 0; part < copies; part++) {
            if (!name_item(&items[count], arena, name, part)) {
                return tk_err_nomem(err);
            }
            items[count++].v = how == REDUCE_UNIQUE ? c->values[part] : reduce(how, c);
        }
    }
    out->items = items;
    out->n = count;
    return TINKC_OK;
}

static tinkc_code combine_records(tk_fwdbwd_output *out, tk_arena *arena,
                                  const tk_fwdbwd_output *parts, size_t n, tk_err *err)
{
    size_t total = 0;
    bool fits = true;
    for (size_t i = 0; i < n; i++) {
        fits = fits && tk_size_add(&total, total, parts[i].loss_fn_outputs_n);
    }
    tk_tensor_map *records = fits ? tk_arena_array(arena, total, sizeof(*records)) : NULL;
    if (records == NULL) {
        return tk_err_nomem(err);
    }
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (parts[i].loss_fn_outputs_n > 0) {
            memcpy(records + at, parts[i].loss_fn_outputs,
                   parts[i].loss_fn_outputs_n * sizeof(*records));
        }
        at += parts[i].loss_fn_outputs_n;
    }
    out->loss_fn_outputs = records;
    out->loss_fn_outputs_n = total;
    return TINKC_OK;
}

tinkc_code tk_metrics_combine(tk_fwdbwd_output *out, tk_arena *arena,
                              const tk_fwdbwd_output *parts, size_t n, tk_err *err)
{
    if (n == 0) {
        return tk_err_set(err, TINKC_E_INVALID, "no results to combine");
    }
    double *values = tk_arena_array(arena, n, sizeof(*values));
    double *weights = tk_arena_array(arena, n, sizeof(*weights));
    if (values == NULL || weights == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        weights[i] = (double)parts[i].loss_fn_outputs_n;
    }
    tk_fwdbwd_output sum = {.loss_fn_output_type = parts[0].loss_fn_output_type};
    column c = {values, weights, n};
    tinkc_code code = combine_records(&sum, arena, parts, n, err);
    if (code == TINKC_OK) {
        code = combine_metrics(&sum.metrics, arena, &c, parts, err);
    }
    if (code == TINKC_OK) {
        *out = sum;
    }
    return code;
}
