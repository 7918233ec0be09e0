/* forward_backward: checks the whole request, runs data in groups of rows, adds gradients
 * in datum order. On failure the gradients are put back as they were. Between two groups
 * nothing is kept in the model's working memory, so other requests may use it. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "engine/eng_head.h"
#include "engine/eng_inputs.h"
#include "engine/eng_math.h"

#define GROUP_ROWS    512  /* data are run together until they have this many tokens */
#define LOG_RATIO_MAX 20.0 /* in metrics only: a sentinel reference must not give inf */

typedef struct result {
    eng_result public;
    float *values; /* owned; the outputs point into it */
} result;

typedef struct totals { /* for the ppo_* metrics */
    double ratio, clipped, kl;
    size_t n;
} totals;

struct eng_train {
    eng_adapter *adapter;
    eng_model *model;
    const eng_train_request *request;
    const eng_loss *loss;
    eng_loss_token settings;
    eng_item *items; /* [n_data] */
    result *out;
    double loss_sum;
    totals all, active;
    eng_real *backup; /* gradients before the call; NULL = they were zero */
    bool touched;     /* the gradients may have changed */
    size_t next;      /* the first datum that has not run */
    eng_work inputs;  /* of `items` */
    /* the group that runs now */
    size_t *row_item, *row_pos;
    tk_err *err; /* `failure` */
    tk_err failure;
};

static void add_ratio(totals *t, const eng_loss_token *token)
{
    double gap = token->logprob - token->reference;
    double bounded = gap < -LOG_RATIO_MAX  ? -LOG_RATIO_MAX
                     : gap > LOG_RATIO_MAX ? LOG_RATIO_MAX
                                           : gap;
    double ratio = eng_exp(bounded);
    t->ratio += ratio;
    t->clipped += ratio < token->low || ratio > token->high ? 1 : 0;
    t->kl -= bounded;
    t->n++;
}

static eng_loss_token token_at(const eng_train *t, const eng_item *item, size_t i)
{
    eng_loss_token token = t->settings;
    if (item->weights != NULL) {
        token.weight = (double)item->weights[i];
    } else {
        token.reference = (double)item->reference[i];
        token.advantage = (double)item->advantage[i];
    }
    token.low = item->low != NULL ? (double)item->low[i] : token.low;
    token.high = item->high != NULL ? (double)item->high[i] : token.high;
    return token;
}

static void report_bad(eng_train *t, size_t index, size_t pos, const char *what)
{
    if (t->err->code != TINKC_OK) {
        return; /* the path is the first one's */
    }
    (void)tk_err_set(t->err, TINKC_E_INVALID,
                     "datum %zu, token %zu: the %s is not finite", index, pos, what);
    tk_err_under_index(t->err, index);
    tk_err_under(t->err, "data");
}

/* As a float, which is what outputs and gradients are. */
static bool is_finite(double value)
{
    return fabs(value) <= (double)FLT_MAX;
}

/* Value and derivative of all targets of one row. */
static bool loss_row(void *user, size_t row, double *coef)
{
    eng_train *t = user;
    size_t index = t->row_item[row], pos = t->row_pos[row];
    const eng_item *item = &t->items[index];
    const eng_output *output = &t->out->public.outputs[index];
    bool any = false;
    for (size_t k = 0; k < item->columns; k++) {
        size_t i = pos * item->columns + k;
        eng_loss_token token = token_at(t, item, i);
        token.logprob = (double)output->logprobs[i];
        if (!isfinite(token.logprob)) {
            report_bad(t, index, pos, "log-probability");
            return false;
        }
        if (t->loss->sequence) {
            token.reference = token.logprob - item->log_ratio;
        }
        eng_loss_value value = t->loss->value(&token);
        if (!is_finite(value.loss) || !is_finite(value.grad)) {
            report_bad(t, index, pos, "loss");
            return false;
        }
        t->loss_sum += value.loss;
        ((float *)(uintptr_t)output->elementwise_loss)[i] = (float)value.loss;
        if (t->loss->ratio_metrics) {
            add_ratio(&t->all, &token);
            if (token.advantage < 0 || token.advantage > 0) {
                add_ratio(&t->active, &token);
            }
        }
        coef[k] = value.grad;
        any = any || value.grad < 0 || value.grad > 0;
    }
    return any;
}

typedef struct group {
    size_t first, n; /* data */
    size_t rows, max_k;
    eng_seq *seqs;
    const int32_t **targets;
    size_t *k;
    float **logprobs;
} group;

static tinkc_code group_rows(eng_train *t, group *g, eng_work *work)
{
    g->seqs = eng_work_array(work, g->n, sizeof(*g->seqs));
    g->targets = eng_work_array(work, g->rows, sizeof(*g->targets));
    g->k = eng_work_array(work, g->rows, sizeof(*g->k));
    g->logprobs = eng_work_array(work, g->rows, sizeof(*g->logprobs));
    t->row_item = eng_work_array(work, g->rows, sizeof(*t->row_item));
    t->row_pos = eng_work_array(work, g->rows, sizeof(*t->row_pos));
    if (g->seqs == NULL || g->targets == NULL || g->k == NULL || g->logprobs == NULL ||
        t->row_item == NULL || t->row_pos == NULL) {
        return TINKC_E_NOMEM;
    }
    size_t row = 0;
    for (size_t i = 0; i < g->n; i++) {
        const eng_item *item = &t->items[g->first + i];
        const eng_output *output = &t->out->public.outputs[g->first + i];
        g->seqs[i] =
            (eng_seq){.tokens = item->tokens, .n = item->n, .adapter = t->adapter};
        if (eng_seq_make_blocks(&g->seqs[i], t->model, work) != TINKC_OK) {
            return TINKC_E_NOMEM;
        }
        for (size_t pos = 0; pos < item->n; pos++, row++) {
            g->targets[row] = item->targets + pos * item->columns;
            g->k[row] = item->columns;
            g->logprobs[row] = (float *)(uintptr_t)output->logprobs + pos * item->columns;
            t->row_item[row] = g->first + i;
            t->row_pos[row] = pos;
        }
    }
    return TINKC_OK;
}

/* The mean of the masked tokens' log-ratios, of each datum of the group. */
static void find_ratios(eng_train *t, const group *g)
{
    for (size_t i = g->first; i < g->first + g->n; i++) {
        eng_item *item = &t->items[i];
        const float *logprobs = t->out->public.outputs[i].logprobs;
        double sum = 0, n = 0;
        for (size_t k = 0; k < item->n; k++) {
            if (item->mask[k] < 0 || item->mask[k] > 0) {
                sum += (double)logprobs[k] - (double)item->reference[k];
                n++;
            }
        }
        item->log_ratio = sum / n;
    }
}

/* The ratio of a sequence needs all of its log-probabilities before the first loss. */
static tinkc_code run_ratios(eng_train *t, const group *g, const eng_head_args *args)
{
    bool unused;
    eng_head_args head = *args;
    head.loss = NULL;
    tinkc_code code = eng_head_run(&head, &unused, t->err);
    if (code == TINKC_OK) {
        find_ratios(t, g);
    }
    return code;
}

static tinkc_code run_head(eng_train *t, const group *g, const eng_acts *acts,
                           eng_real *d_hidden, bool *active)
{
    eng_work *work = &t->model->work;
    bool forward_only = t->request->forward_only;
    eng_head_args head = {.acts = acts,
                          .adapter = t->adapter,
                          .work = work,
                          .targets = g->targets,
                          .k = g->k,
                          .logprobs = g->logprobs,
                          .loss = forward_only ? NULL : loss_row,
                          .user = t,
                          .max_k = g->max_k,
                          .d_hidden = d_hidden};
    tinkc_code code = TINKC_OK;
    if (t->loss->sequence) {
        code = run_ratios(t, g, &head);
    }
    if (code == TINKC_OK) {
        code = eng_head_run(&head, active, t->err);
    }
    if (code == TINKC_OK && forward_only) {
        double *coef = eng_work_array(work, g->max_k, sizeof(*coef));
        if (coef == NULL) {
            return tk_err_nomem(t->err);
        }
        for (size_t row = 0; row < g->rows; row++) {
            (void)loss_row(t, row, coef);
        }
    }
    return code == TINKC_OK ? t->err->code : code;
}

static eng_keep what_to_keep(const eng_train *t, const group *g)
{
    if (t->request->forward_only || !eng_adapter_trains_layers(t->adapter)) {
        return ENG_KEEP_NOTHING;
    }
    double bytes = eng_acts_bytes(&t->model->config, g->rows, t->adapter->config.rank);
    return bytes > t->model->keep_max_bytes ? ENG_KEEP_INPUTS : ENG_KEEP_ALL;
}

static tinkc_code run_group(eng_train *t, group *g)
{
    eng_work *work = &t->model->work;
    eng_work_reset(work);
    eng_acts acts;
    eng_keep keep = what_to_keep(t, g);
    if (group_rows(t, g, work) != TINKC_OK ||
        eng_acts_init(&acts, t->model, work, g->seqs, g->n, keep) != TINKC_OK) {
        return tk_err_nomem(t->err);
    }
    eng_real *d_hidden = eng_work_reals(work, g->rows, t->model->config.hidden);
    if (d_hidden == NULL) {
        return tk_err_nomem(t->err);
    }
    bool active = false;
    tinkc_code code = eng_forward(&acts, t->err);
    if (code == TINKC_OK) {
        code = run_head(t, g, &acts, d_hidden, &active);
    }
    if (code != TINKC_OK || !active) {
        return code;
    }
    eng_backward_args back = {
        .acts = &acts, .adapter = t->adapter, .d_hidden = d_hidden, .work = work};
    return eng_backward(&back, t->err);
}

/* A group that may be given up between the pieces of its loops; what it has added to the
 * gradients is then undone with the request. */
static tinkc_code run_stoppable(eng_train *t, group *g)
{
    eng_pool *pool = t->model->pool;
    tinkc_code code = eng_pool_check(pool, t->err);
    if (code != TINKC_OK) {
        return code;
    }
    eng_pool_allow_stop(pool, true);
    code = run_group(t, g);
    eng_pool_allow_stop(pool, false);
    tinkc_code stopped = eng_pool_check(pool, t->err);
    return stopped != TINKC_OK ? stopped : code;
}

/* The next data, as many as run together. */
static tinkc_code run_next(eng_train *t)
{
    size_t n = t->request->n_data;
    size_t most = t->request->piece_rows > 0 ? t->request->piece_rows : GROUP_ROWS;
    group g = {.first = t->next};
    while (g.first + g.n < n && (g.n == 0 || g.rows < most)) {
        const eng_item *item = &t->items[g.first + g.n];
        if (g.n > 0 && g.rows + item->n > most) {
            break;
        }
        g.rows += item->n;
        g.max_k = TK_MAX(g.max_k, item->columns);
        g.n++;
    }
    t->next += g.n;
    return run_stoppable(t, &g);
}

static void add_metric(eng_result *out, const char *name, double value)
{
    eng_metric *metric = &out->metrics[out->n_metrics++];
    size_t n = TK_MIN(strlen(name), sizeof(metric->name) - 1);
    memcpy(metric->name, name, n);
    metric->name[n] = '\0';
    metric->value = value;
}

static void fill_metrics(const eng_train *t)
{
    eng_result *out = &t->out->public;
    add_metric(out, "loss:sum", t->loss_sum);
    if (!t->loss->ratio_metrics) {
        return;
    }
    double all = (double)TK_MAX(t->all.n, (size_t)1);
    double active = (double)TK_MAX(t->active.n, (size_t)1);
    add_metric(out, "ppo_mean_ratio:mean", t->all.ratio / all);
    add_metric(out, "ppo_clipped_fraction:mean", t->all.clipped / all);
    add_metric(out, "ppo_kl_div:mean", t->all.kl / all);
    add_metric(out, "ppo_active_mean_ratio:mean", t->active.ratio / active);
    add_metric(out, "ppo_active_clipped_fraction:mean", t->active.clipped / active);
    add_metric(out, "ppo_active_kl_div:mean", t->active.kl / active);
}

static tinkc_code bad_input(const eng_train *t, const char *name, const char *why)
{
    tinkc_code code = tk_err_set(t->err, TINKC_E_INVALID, "%s: %s", name, why);
    tk_err_under(t->err, "loss_fn_inputs");
    return code;
}

/* A sequence loss needs a token in its ratio, and bounds. */
static tinkc_code check_sequence(const eng_train *t, const eng_item *item)
{
    bool marks = false;
    for (size_t i = 0; i < item->n; i++) {
        marks = marks || item->mask[i] < 0 || item->mask[i] > 0;
    }
    if (!marks) {
        return bad_input(t, "sequence_ratio_mask", "marks no token");
    }
    bool low = item->low != NULL || !isnan(t->settings.low);
    bool high = item->high != NULL || !isnan(t->settings.high);
    return low && high ? TINKC_OK
                       : bad_input(t, low ? "clip_high_threshold" : "clip_low_threshold",
                                   "is missing, in loss_fn_config too; this loss has no "
                                   "default for it");
}

/* Bounds per token, against each other or against the settings; where the advantage is 0
 * they may be padding. */
static tinkc_code check_clips(const eng_train *t, const eng_item *item)
{
    if (t->loss->sequence) {
        tinkc_code code = check_sequence(t, item);
        if (code != TINKC_OK) {
            return code;
        }
    }
    bool any = item->low != NULL || item->high != NULL;
    for (size_t i = 0; any && i < item->n * item->columns; i++) {
        eng_loss_token token = token_at(t, item, i);
        bool counts = token.advantage < 0 || token.advantage > 0;
        if (counts && token.low > token.high) {
            (void)tk_err_set(t->err, TINKC_E_INVALID,
                             "token %zu: clip_low_threshold is above clip_high_threshold",
                             i);
            tk_err_under(t->err, "loss_fn_inputs");
            return TINKC_E_INVALID;
        }
    }
    return TINKC_OK;
}

static tinkc_code read_items(eng_train *t, eng_work *work)
{
    const eng_train_request *request = t->request;
    t->items = eng_work_array(work, request->n_data, sizeof(*t->items));
    if (t->items == NULL) {
        return tk_err_nomem(t->err);
    }
    eng_inputs_reader reader = {
        .model = t->model, .loss = t->loss, .strict = request->strict, .work = work};
    for (size_t i = 0; i < request->n_data; i++) {
        tinkc_code code =
            eng_inputs_read(&reader, &request->data[i], &t->items[i], t->err);
        if (code == TINKC_OK) {
            code = check_clips(t, &t->items[i]);
        }
        if (code != TINKC_OK) {
            tk_err_under_index(t->err, i);
            tk_err_under(t->err, "data");
            return code;
        }
    }
    return TINKC_OK;
}

static tinkc_code make_result(eng_train *t)
{
    size_t n = t->request->n_data, values = 0;
    for (size_t i = 0; i < n; i++) {
        values += t->items[i].n * t->items[i].columns;
    }
    t->out = tk_zalloc(sizeof(*t->out));
    if (t->out == NULL) {
        return tk_err_nomem(t->err);
    }
    eng_result *out = &t->out->public;
    out->outputs = tk_zarray(n, sizeof(*out->outputs));
    t->out->values = tk_zarray(values, 2 * sizeof(float));
    if (out->outputs == NULL || t->out->values == NULL) {
        return tk_err_nomem(t->err);
    }
    out->n_outputs = n;
    float *at = t->out->values;
    for (size_t i = 0; i < n; i++) {
        const eng_item *item = &t->items[i];
        size_t count = item->n * item->columns;
        out->outputs[i] = (eng_output){.rows = item->n,
                                       .columns = item->columns,
                                       .n_dims = item->n_dims,
                                       .logprobs = at,
                                       .elementwise_loss = at + count};
        at += 2 * count;
    }
    return TINKC_OK;
}

static tinkc_code save_grads(eng_train *t)
{
    if (t->request->forward_only || !t->adapter->has_grads) {
        return TINKC_OK;
    }
    t->backup = tk_memdup(t->adapter->grads, t->adapter->n * sizeof(eng_real));
    return t->backup != NULL ? TINKC_OK : tk_err_nomem(t->err);
}

static void restore_grads(eng_train *t)
{
    size_t bytes = t->adapter->n * sizeof(eng_real);
    if (!t->touched) {
        return;
    }
    if (t->backup != NULL) {
        memcpy(t->adapter->grads, t->backup, bytes);
    } else if (!t->adapter->has_grads) {
        memset(t->adapter->grads, 0, bytes);
    }
    t->touched = false;
}

static tinkc_code check_grads(const eng_train *t)
{
    for (size_t i = 0; i < t->adapter->n; i++) {
        if (!isfinite(t->adapter->grads[i])) {
            return tk_err_set(t->err, TINKC_E_INVALID,
                              "a gradient is NaN or infinite; the request was undone");
        }
    }
    return TINKC_OK;
}

/* Everything that can be refused, before anything is computed. */
static tinkc_code prepare(eng_train *t)
{
    const eng_train_request *request = t->request;
    tinkc_code code = request->forward_only
                          ? TINKC_OK
                          : eng_adapter_check_trainable(t->adapter, t->err);
    if (code != TINKC_OK) {
        return code;
    }
    t->loss = eng_loss_find(request->loss_fn);
    if (t->loss == NULL) {
        return eng_loss_refuse(request->loss_fn, t->err);
    }
    code = eng_loss_configure(t->loss, request->settings, request->n_settings,
                              &t->settings, t->err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_items(t, &t->inputs);
    if (code != TINKC_OK) {
        goto out;
    }
    code = make_result(t);
    if (code != TINKC_OK) {
        goto out;
    }
    code = save_grads(t);
    if (code != TINKC_OK) {
        goto out;
    }
    t->touched = !request->forward_only;
out:
    return code;
}

static tinkc_code pass_on(const eng_train *t, tinkc_code code, tk_err *err)
{
    if (code != TINKC_OK && err != NULL && err->code == TINKC_OK) {
        *err = t->failure;
    }
    return code;
}

tinkc_code eng_train_begin(eng_train **out, eng_adapter *adapter,
                           const eng_train_request *request, tk_err *err)
{
    eng_train *t = tk_zalloc(sizeof(*t));
    if (t == NULL) {
        return tk_err_nomem(err);
    }
    t->adapter = adapter;
    t->model = adapter->model;
    t->request = request;
    t->failure = (tk_err)TK_ERR_INIT;
    t->err = &t->failure;
    tinkc_code code = pass_on(t, prepare(t), err);
    if (code != TINKC_OK) {
        eng_train_free(t);
        return code;
    }
    *out = t;
    return TINKC_OK;
}

tinkc_code eng_train_step(eng_train *t, bool *more, tk_err *err)
{
    tinkc_code code = t->failure.code;
    if (code == TINKC_OK && t->next < t->request->n_data) {
        code = run_next(t);
        eng_work_reset(&t->model->work);
    }
    if (code != TINKC_OK) {
        return pass_on(t, code, err);
    }
    *more = t->next < t->request->n_data;
    return TINKC_OK;
}

tinkc_code eng_train_end(eng_result **out, eng_train *t, tk_err *err)
{
    bool more = true;
    tinkc_code code = TINKC_OK;
    while (code == TINKC_OK && more) {
        code = eng_train_step(t, &more, err);
    }
    if (code == TINKC_OK && !t->request->forward_only) {
        code = pass_on(t, check_grads(t), err);
    }
    if (code == TINKC_OK) {
        fill_metrics(t);
        t->adapter->has_grads = t->adapter->has_grads || !t->request->forward_only;
        t->touched = false;
        *out = &t->out->public;
        t->out = NULL;
    }
    eng_train_free(t);
    return code;
}

void eng_train_free(eng_train *t)
{
    if (t == NULL) {
        return;
    }
    restore_grads(t);
    eng_result_free(t->out != NULL ? &t->out->public : NULL);
    eng_work_dispose(&t->inputs);
    tk_free(t->backup);
    tk_free(t);
}

tinkc_code eng_adapter_forward_backward(eng_result **out, eng_adapter *adapter,
                                        const eng_train_request *request, tk_err *err)
{
    eng_train *t = NULL;
    tinkc_code code = eng_train_begin(&t, adapter, request, err);
    return code == TINKC_OK ? eng_train_end(out, t, err) : code;
}

void eng_result_free(eng_result *out)
{
    if (out == NULL) {
        return;
    }
    result *whole = TK_CONTAINER_OF(out, result, public);
    tk_free(whole->values);
    tk_free(out->outputs);
    tk_free(whole);
}
