/* Terms on log-probabilities that are added to a custom loss; see <tinkc/regularizer.h>.
 * Values and gradients are computed in double and become float once, at the end. */
#include <tinkc/regularizer.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "client/values/error.h"
#include "client/values/types.h"

#define NORM_MIN 1e-8 /* a shorter vector has no direction */

/* A pipeline at work: all entries of all items, one after the other. */
typedef struct work {
    const tinkc_regularizer *term; /* the one that is computed now */
    const tinkc_custom_item *items;
    size_t items_n, entries;
    double *gradient; /* [entries] of the term, 0 at first */
    double *sums;     /* [entries] of everything so far */
    double total;     /* of the terms */
    tinkc_metrics *metrics;
} work;

static const char *const names[] = {
    [TINKC_REGULARIZER_L1] = "l1",
    [TINKC_REGULARIZER_L2] = "l2",
    [TINKC_REGULARIZER_ELASTIC_NET] = "elastic_net",
    [TINKC_REGULARIZER_ENTROPY] = "entropy",
    [TINKC_REGULARIZER_KL] = "kl",
    [TINKC_REGULARIZER_CONSISTENCY] = "consistency",
    [TINKC_REGULARIZER_ORTHOGONALITY] = "orthogonality",
};

const char *tinkc_regularizer_kind_name(tinkc_regularizer_kind kind)
{
    return (unsigned)kind < TK_ARRAY_LEN(names) ? names[kind] : NULL;
}

static const char *name_of(const tinkc_regularizer *term)
{
    return term->name != NULL ? term->name : tinkc_regularizer_kind_name(term->kind);
}

static bool has_reference(const tinkc_regularizer *term)
{
    return term->kind == TINKC_REGULARIZER_KL ||
           term->kind == TINKC_REGULARIZER_CONSISTENCY;
}

/* ---- rules ---- */

static tinkc_code bad(tk_err *err, const char *field, const char *why)
{
    tinkc_code code = tk_err_set(err, TINKC_E_INVALID, "%s", why);
    tk_err_under(err, field);
    return code;
}

static tinkc_code check(tinkc_regularizer *out, const tinkc_regularizer *term,
                        tk_err *err)
{
    tinkc_regularizer t = TINKC_REGULARIZER_INIT;
    tinkc_code code = tk_types_options(&t, sizeof(t), term, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (tinkc_regularizer_kind_name(t.kind) == NULL) {
        return bad(err, "kind", "is none of the regularizers");
    }
    if (!(t.weight >= 0.0) || !isfinite(t.weight)) {
        return bad(err, "weight", "must be 0 or more");
    }
    if (!isfinite(t.center)) {
        return bad(err, "center", "must be finite");
    }
    if (!(t.ratio >= 0.0 && t.ratio <= 1.0)) {
        return bad(err, "ratio", "must be within 0..1");
    }
    if ((unsigned)t.direction > TINKC_KL_SYMMETRIC) {
        return bad(err, "direction", "is none of the directions");
    }
    if (has_reference(&t) && t.reference == NULL) {
        return bad(err, "reference", "must be named");
    }
    *out = t;
    return TINKC_OK;
}

tinkc_code tinkc_regularizer_check(const tinkc_regularizer *regularizer,
                                   tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    tinkc_regularizer unused;
    tinkc_code code = check(&unused, regularizer, &e);
    return code == TINKC_OK ? TINKC_OK : tk_error_give(err, &e);
}

/* ---- one entry ---- */

typedef struct point {
    double value, slope; /* of the term, by x */
} point;

static point l1_of(const tinkc_regularizer *term, double x)
{
    double p = exp(x);
    if (term->of_probs) {
        return (point){p, p};
    }
    return (point){fabs(x), x > 0 ? 1 : x < 0 ? -1 : 0};
}

static point l2_of(const tinkc_regularizer *term, double x)
{
    double v = term->of_probs ? exp(x) : x, away = v - term->center;
    return (point){away * away, 2 * away * (term->of_probs ? v : 1)};
}

static point kl_of(const tinkc_regularizer *term, double x, double q)
{
    double p = exp(x), r = exp(q), gap = x - q;
    const point forward = {p * gap, p * gap + p}, reverse = {-r * gap, -r};
    switch (term->direction) {
    case TINKC_KL_REVERSE:
        return reverse;
    case TINKC_KL_SYMMETRIC:
        return (point){(forward.value + reverse.value) / 2,
                       (forward.slope + reverse.slope) / 2};
    case TINKC_KL_FORWARD:
        break;
    }
    return forward;
}

static point point_of(const tinkc_regularizer *term, double x, double q)
{
    point one, two;
    double p, sign;
    switch (term->kind) {
    case TINKC_REGULARIZER_L1:
        return l1_of(term, x);
    case TINKC_REGULARIZER_L2:
        return l2_of(term, x);
    case TINKC_REGULARIZER_ELASTIC_NET:
        one = l1_of(term, x);
        two = l2_of(term, x);
        return (point){term->ratio * one.value + (1 - term->ratio) * two.value,
                       term->ratio * one.slope + (1 - term->ratio) * two.slope};
    case TINKC_REGULARIZER_ENTROPY:
        p = exp(x);
        sign = term->maximize ? 1 : -1;
        return (point){sign * p * x, sign * p * (x + 1)};
    case TINKC_REGULARIZER_KL:
        return kl_of(term, x, q);
    case TINKC_REGULARIZER_CONSISTENCY:
        return (point){(x - q) * (x - q), 2 * (x - q)};
    case TINKC_REGULARIZER_ORTHOGONALITY:
        break;
    }
    return (point){0, 0};
}

/* ---- whole terms ---- */

/* NULL when the item has no reference that fits. */
static const float *reference_of(const work *w, const tinkc_custom_item *item)
{
    const tinkc_tensor *tensor = tinkc_custom_item_tensor(item, w->term->reference);
    return tensor != NULL && !tinkc_tensor_is_sparse(tensor) &&
                   tinkc_tensor_count(tensor) == item->n
               ? tinkc_tensor_f32(tensor)
               : NULL;
}

/* Adds up the entries; false when a reference is missing. */
static bool sum_entries(const work *w, double *value, double *count)
{
    size_t at = 0;
    for (size_t i = 0; i < w->items_n; i++) {
        const tinkc_custom_item *item = &w->items[i];
        const float *q = has_reference(w->term) ? reference_of(w, item) : NULL;
        if (has_reference(w->term) && q == NULL && item->n > 0) {
            return false;
        }
        for (size_t k = 0; k < item->n; k++, at++) {
            point here = point_of(w->term, (double)item->logprobs[k],
                                  q != NULL ? (double)q[k] : 0);
            *value += here.value;
            w->gradient[at] = here.slope;
        }
    }
    *count = (double)at;
    return true;
}

static double length_of(const tinkc_custom_item *item)
{
    double sum = 0;
    for (size_t k = 0; k < item->n; k++) {
        sum += (double)item->logprobs[k] * (double)item->logprobs[k];
    }
    return sqrt(sum);
}

/* Adds the square of the cosine of two items; their gradients begin at a_at and b_at. */
static double add_pair(const work *w, size_t a, size_t b, size_t a_at, size_t b_at)
{
    const tinkc_custom_item *x = &w->items[a], *y = &w->items[b];
    double length_x = length_of(x), length_y = length_of(y), dot = 0;
    if (length_x < NORM_MIN || length_y < NORM_MIN) {
        return 0;
    }
    for (size_t k = 0; k < TK_MIN(x->n, y->n); k++) {
        dot += (double)x->logprobs[k] * (double)y->logprobs[k];
    }
    double both = length_x * length_y, cosine = dot / both;
    for (size_t k = 0; k < x->n; k++) {
        double other = k < y->n ? (double)y->logprobs[k] / both : 0;
        w->gradient[a_at + k] +=
            2 * cosine *
            (other - cosine * (double)x->logprobs[k] / (length_x * length_x));
    }
    for (size_t k = 0; k < y->n; k++) {
        double other = k < x->n ? (double)x->logprobs[k] / both : 0;
        w->gradient[b_at + k] +=
            2 * cosine *
            (other - cosine * (double)y->logprobs[k] / (length_y * length_y));
    }
    return cosine * cosine;
}

static void sum_pairs(const work *w, double *value, double *count)
{
    size_t a_at = 0;
    for (size_t a = 0; a < w->items_n; a++) {
        size_t b_at = a_at + w->items[a].n;
        for (size_t b = a + 1; b < w->items_n; b++) {
            *value += add_pair(w, a, b, a_at, b_at);
            *count += 1;
            b_at += w->items[b].n;
        }
        a_at += w->items[a].n;
    }
}

/* Value and gradient of one term, not weighted. */
static bool evaluate(const work *w, double *value)
{
    double count = 0;
    *value = 0;
    if (w->term->kind == TINKC_REGULARIZER_ORTHOGONALITY) {
        sum_pairs(w, value, &count);
    } else if (!sum_entries(w, value, &count)) {
        return false;
    }
    if (w->term->mean && count > 0) {
        *value /= count;
        for (size_t i = 0; i < w->entries; i++) {
            w->gradient[i] /= count;
        }
    }
    return true;
}

/* ---- the pipeline ---- */

static double norm_of(const double *values, size_t n, double factor)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += factor * values[i] * factor * values[i];
    }
    return sqrt(sum);
}

static tinkc_code put(tinkc_metrics *metrics, const char *name, const char *suffix,
                      double value)
{
    char full[128];
    int n = snprintf(full, sizeof(full), "%s%s", name, suffix);
    return n > 0 && (size_t)n < sizeof(full)
               ? tinkc_metrics_put(metrics, full, value, NULL)
               : TINKC_E_LIMIT;
}

static bool is_repeated(const tinkc_regularized *r, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (strcmp(name_of(&r->terms[i]), name_of(&r->terms[at])) == 0) {
            return true;
        }
    }
    return false;
}

/* Adds one term to the sums, and reports it. */
static tinkc_code add_term(const tinkc_regularized *r, size_t index, work *w)
{
    tinkc_regularizer term = TINKC_REGULARIZER_INIT;
    double value = 0;
    tinkc_code code = check(&term, &r->terms[index], NULL);
    if (code != TINKC_OK) {
        return code;
    }
    w->term = &term;
    memset(w->gradient, 0, w->entries * sizeof(*w->gradient));
    if (is_repeated(r, index) || !evaluate(w, &value)) {
        return TINKC_E_INVALID;
    }
    for (size_t i = 0; i < w->entries; i++) {
        w->sums[i] += term.weight * w->gradient[i];
    }
    w->total += term.weight * value;
    code = put(w->metrics, name_of(&term), "", value);
    if (code == TINKC_OK) {
        code = put(w->metrics, name_of(&term), "_contribution", term.weight * value);
    }
    if (code == TINKC_OK && r->gradient_norms) {
        code = put(w->metrics, name_of(&term), "_grad_norm",
                   norm_of(w->gradient, w->entries, term.weight));
    }
    return code;
}

static void copy_gradients(double *sums, const tinkc_custom_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < items[i].n; k++) {
            *sums++ = (double)items[i].gradient[k];
        }
    }
}

static void write_gradients(const double *sums, tinkc_custom_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < items[i].n; k++) {
            items[i].gradient[k] = (float)*sums++;
        }
    }
}

static tinkc_code add_all(const tinkc_regularized *r, double *loss, work *w)
{
    double base = norm_of(w->sums, w->entries, 1);
    tinkc_code code = put(w->metrics, "base_loss", "", *loss);
    for (size_t i = 0; code == TINKC_OK && i < r->terms_n; i++) {
        code = add_term(r, i, w);
    }
    if (code == TINKC_OK) {
        code = put(w->metrics, "regularizer_total", "", w->total);
    }
    if (code == TINKC_OK && r->gradient_norms) {
        code = put(w->metrics, "base_grad_norm", "", base);
    }
    if (code == TINKC_OK && r->gradient_norms) {
        code = put(w->metrics, "total_grad_norm", "", norm_of(w->sums, w->entries, 1));
    }
    *loss += w->total;
    return code;
}

int tinkc_regularize(double *loss, tinkc_metrics *metrics, tinkc_custom_item *items,
                     size_t n, void *user)
{
    tinkc_regularized r = TINKC_REGULARIZED_INIT;
    work w = {.items = items, .items_n = n, .metrics = metrics};
    if (loss == NULL || user == NULL || (items == NULL && n > 0) ||
        tk_types_options(&r, sizeof(r), user, NULL) != TINKC_OK ||
        (r.terms == NULL && r.terms_n > 0)) {
        return TINKC_E_INVALID;
    }
    int status = r.loss != NULL ? r.loss(loss, metrics, items, n, r.user) : 0;
    if (status != 0) {
        return status;
    }
    for (size_t i = 0; i < n; i++) {
        w.entries += items[i].n;
    }
    w.sums = tk_array(w.entries, sizeof(*w.sums));
    w.gradient = tk_array(w.entries, sizeof(*w.gradient));
    tinkc_code code = TINKC_E_NOMEM;
    if (w.sums != NULL && w.gradient != NULL) {
        copy_gradients(w.sums, items, n);
        code = add_all(&r, loss, &w);
    }
    if (code == TINKC_OK) {
        write_gradients(w.sums, items, n);
    }
    tk_free(w.sums);
    tk_free(w.gradient);
    return (int)code;
}
