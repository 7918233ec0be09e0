/* Loss and gradient of a batch of sequences, through the engine's forward and backward
 * passes and their hook. */
#include <string.h>

#include "base/thread.h"
#include "engine/eng_head.h"
#include "net.h"

#define GROUP_ROWS 512 /* sequences run together until they have this many tokens */
#define GROUP_SEQS 64

typedef struct run {
    pre_net *net;
    pre_shard *shard;
    double scale, loss;
    const pre_seq *all; /* of all shards */
    size_t n_all, first;
    pre_seq seqs[GROUP_SEQS]; /* the group */
    size_t n_seqs, rows;
    float *logprobs; /* [rows] */
    tinkc_code code;
    tk_err err;
} run;

static pre_tensor *find(pre_net *net, const eng_grad_event *e)
{
    size_t layers = net->shape.layers;
    if (e->layer == layers) { /* the head is tied to the embedding */
        return strcmp(e->name, "norm") == 0 ? &net->tensors[net->n_tensors - 1]
                                            : &net->tensors[0];
    }
    if (e->kind == ENG_GRAD_NORM) {
        size_t first = 1 + layers * ENG_N_LINEAR + 2 * e->layer;
        return &net->tensors[first + (strcmp(e->name, "input_layernorm") == 0 ? 0 : 1)];
    }
    for (size_t w = 0; w < ENG_N_LINEAR; w++) {
        if (strcmp(e->name, eng_linear_name((eng_linear)w)) == 0) {
            return &net->tensors[1 + e->layer * ENG_N_LINEAR + w];
        }
    }
    return NULL;
}

static tinkc_code collect(void *user, const eng_grad_event *e, tk_err *err)
{
    run *r = user;
    const pre_tensor *t = find(r->net, e);
    if (t == NULL) {
        return tk_err_set(err, TINKC_E_UNSUPPORTED, "no gradient for %s", e->name);
    }
    eng_real *grad = r->shard->grads + t->at;
    if (e->kind == ENG_GRAD_LINEAR) {
        eng_outer outer = {.a = e->d_y,
                           .na = e->n,
                           .lda = e->n,
                           .b = e->x,
                           .nb = e->k,
                           .ldb = e->k,
                           .rows = e->rows,
                           .c = grad,
                           .c_a = e->k,
                           .c_b = 1};
        return eng_outer_run(r->shard->pool, &outer, err);
    }
    for (size_t row = 0; row < e->rows; row++) {
        const eng_real *d_y = e->d_y + row * e->n;
        if (e->kind == ENG_GRAD_NORM) {
            const eng_real *x = e->x + row * e->n;
            for (size_t i = 0; i < e->n; i++) {
                grad[i] += d_y[i] * x[i] * e->inv[row];
            }
        } else {
            eng_real *to = grad + (size_t)e->tokens[row] * e->n;
            for (size_t i = 0; i < e->n; i++) {
                to[i] += d_y[i];
            }
        }
    }
    return TINKC_OK;
}

static bool row_loss(void *user, size_t row, double *coef)
{
    const run *r = user;
    (void)row;
    coef[0] = -r->scale;
    return true;
}

static tinkc_code head(run *r, const eng_acts *acts, eng_head_args *args, tk_err *err)
{
    eng_work *work = &r->shard->model->work;
    const int32_t **targets = eng_work_array(work, r->rows, sizeof(*targets));
    size_t *k = eng_work_array(work, r->rows, sizeof(*k));
    float **logprobs = eng_work_array(work, r->rows, sizeof(*logprobs));
    r->logprobs = eng_work_array(work, r->rows, sizeof(*r->logprobs));
    args->d_hidden = eng_work_reals(work, r->rows, r->net->shape.hidden);
    if (targets == NULL || k == NULL || logprobs == NULL || r->logprobs == NULL ||
        args->d_hidden == NULL) {
        return tk_err_nomem(err);
    }
    size_t row = 0;
    for (size_t s = 0; s < r->n_seqs; s++) {
        for (size_t i = 0; i < r->seqs[s].n; i++, row++) {
            targets[row] = &r->seqs[s].tokens[i + 1];
            k[row] = 1;
            logprobs[row] = &r->logprobs[row];
        }
    }
    args->acts = acts;
    args->work = work;
    args->targets = targets;
    args->k = k;
    args->logprobs = logprobs;
    args->max_k = 1;
    bool active = false;
    tinkc_code code = eng_head_run(args, &active, err);
    for (row = 0; row < r->rows && code == TINKC_OK; row++) {
        r->loss -= (double)r->logprobs[row];
    }
    return code;
}

static tinkc_code run_group(run *r, tk_err *err)
{
    eng_model *model = r->shard->model;
    eng_work *work = &model->work;
    eng_work_reset(work);
    bool train = r->scale > 0;
    eng_seq *seqs = eng_work_array(work, r->n_seqs, sizeof(*seqs));
    for (size_t s = 0; seqs != NULL && s < r->n_seqs; s++) {
        seqs[s] = (eng_seq){.tokens = r->seqs[s].tokens, .n = r->seqs[s].n};
        if (eng_seq_make_blocks(&seqs[s], model, work) != TINKC_OK) {
            return tk_err_nomem(err);
        }
    }
    eng_acts acts;
    if (seqs == NULL ||
        eng_acts_init(&acts, model, work, seqs, r->n_seqs,
                      train ? ENG_KEEP_ALL : ENG_KEEP_NOTHING) != TINKC_OK) {
        return tk_err_nomem(err);
    }
    eng_grad_hook hook = {collect, r};
    eng_head_args args = {.loss = train ? row_loss : NULL, .user = r, .hook = &hook};
    tinkc_code code = eng_forward(&acts, err);
    if (code == TINKC_OK) {
        code = head(r, &acts, &args, err);
    }
    if (code != TINKC_OK || !train) {
        return code;
    }
    eng_backward_args back = {
        .acts = &acts, .d_hidden = args.d_hidden, .work = work, .hook = &hook};
    return eng_backward(&back, err);
}

/* Every PRE_SHARDS-th sequence, in groups. */
static void run_shard(void *user)
{
    run *r = user;
    size_t next = r->first;
    while (next < r->n_all && r->code == TINKC_OK) {
        r->n_seqs = 0;
        r->rows = 0;
        while (next < r->n_all && r->n_seqs < GROUP_SEQS &&
               (r->n_seqs == 0 || r->rows + r->all[next].n <= GROUP_ROWS)) {
            r->seqs[r->n_seqs++] = r->all[next];
            r->rows += r->all[next].n;
            next += PRE_SHARDS;
        }
        r->code = run_group(r, &r->err);
    }
}

tinkc_code pre_net_run(pre_net *net, const pre_seq *seqs, size_t n_seqs, double scale,
                       double *loss_out, tk_err *err)
{
    run runs[PRE_SHARDS];
    tk_thread threads[PRE_SHARDS];
    bool started[PRE_SHARDS] = {false};
    for (size_t s = 0; s < PRE_SHARDS; s++) {
        runs[s] = (run){.net = net,
                        .shard = &net->shards[s],
                        .scale = scale,
                        .all = seqs,
                        .n_all = n_seqs,
                        .first = s,
                        .err = TK_ERR_INIT};
    }
    for (size_t s = 1; s < PRE_SHARDS; s++) {
        started[s] =
            tk_thread_start(&threads[s], "shard", run_shard, &runs[s], NULL) == TINKC_OK;
    }
    double loss = 0;
    tinkc_code code = TINKC_OK;
    for (size_t s = 0; s < PRE_SHARDS; s++) {
        if (started[s]) {
            tk_thread_join(&threads[s]);
        } else {
            run_shard(&runs[s]);
        }
        loss += runs[s].loss;
        if (code == TINKC_OK && runs[s].code != TINKC_OK) {
            code = tk_err_set(err, runs[s].code, "%s", runs[s].err.message);
        }
    }
    if (code == TINKC_OK) {
        *loss_out = loss;
    }
    return code;
}
