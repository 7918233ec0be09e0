/* The pipeline of training steps. A ticket holds what was submitted for one step: the
 * batch, the optimizer step and, where they are due, a checkpoint and an evaluation after
 * it. Results are taken in the same order, and the state file is replaced after each
 * checkpoint.
 * Needs: text */
#include "cli/train/train_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tinkc/ledger.h>
#include <tinkc/rest.h>

#include "base/clock.h"
#include "base/mem.h"

#define AHEAD      TRAIN_AHEAD /* steps in flight, at most */
#define POLL_MS    50          /* so that Ctrl-C is answered at once */
#define NAME_BYTES 320

typedef struct ticket {
    train_record record;
    train_batch batch; /* its datums are in the ticket's part of the pipeline's arrays */
    bool is_evaluated; /* held-out data is evaluated after this step */
    tinkc_future *grads, *optim;
    tinkc_future *save;    /* or NULL: weights and optimizer */
    tinkc_future *weights; /* or NULL: for sampling, after the last step */
    tinkc_future *eval;    /* or NULL */
} ticket;

typedef struct pipeline {
    train_run *run;
    size_t *rows;       /* of all tickets, owned array */
    tinkc_datum **data; /* of all tickets, owned array */
    train_batch eval;   /* all held-out datums, owned array */
    ticket tickets[AHEAD];
    size_t first, n; /* a ring */
    size_t next;     /* step to submit */
    int64_t began_ns, last_ns;
} pipeline;

/* ---- submitting ---- */

static bool is_due(size_t done, size_t every, size_t steps)
{
    return done == steps || (every > 0 && done % every == 0);
}

static void free_data(train_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++) {
        tinkc_datum_free(&batch->data[i]);
    }
    batch->n = 0;
}

tinkc_code train_run_data(train_run *run, train_batch *batch, const data_set *set,
                          size_t each)
{
    batch->n = batch->tokens = 0;
    batch->weight = 0;
    for (size_t i = 0; i < batch->n_rows * each; i++) {
        size_t line = batch->rows != NULL ? batch->rows[i / each] : i / each;
        const data_row *row = &set->rows[line * each + i % each];
        tinkc_code code =
            data_set_datum(&batch->data[i], set, line * each + i % each, &run->err);
        if (code != TINKC_OK) {
            free_data(batch);
            return code;
        }
        batch->n++;
        batch->tokens += row->tokens;
        batch->weight += row->weight;
    }
    return TINKC_OK;
}

/* Fills the batch of the next step into the ticket after the last one, which *out is. The
 * caller submits it or frees its data. */
static tinkc_code fill(pipeline *p, ticket **out)
{
    train_run *run = p->run;
    train_plan *plan = run->plan;
    size_t done = p->next + 1;
    size_t slot = (p->first + p->n) % AHEAD;
    ticket *t = &p->tickets[slot];
    size_t *rows = p->rows + slot * plan->batch;
    memset(t, 0, sizeof(*t));
    t->batch = (train_batch){.slot = slot,
                             .step = done,
                             .rows = rows,
                             .n_rows = train_plan_batch(plan, p->next, rows),
                             .data = p->data + slot * plan->batch * run->goal->each};
    tinkc_code code = run->goal->make(run, &t->batch);
    if (code != TINKC_OK) {
        return code;
    }
    t->record.tokens = t->batch.tokens;
    t->record.step = done;
    t->record.epoch = TK_MIN((double)done * (double)plan->batch, (double)plan->total) /
                      (double)plan->rows;
    t->record.rate = train_plan_rate(plan, p->next);
    t->is_evaluated = run->eval->n > 0 && is_due(done, run->eval_every, plan->steps);
    *out = t;
    return TINKC_OK;
}

/* Returns whether the budget covers the step and the evaluation after it. */
static bool fits(const pipeline *p, const ticket *t)
{
    const train_run *run = p->run;
    int64_t step = 0, eval = 0;
    tinkc_ledger *ledger = NULL;
    if (run->budget < 0 ||
        tinkc_service_read_ledger(&ledger, run->service, NULL) != TINKC_OK) {
        return true; /* if it does not fit, the call fails */
    }
    (void)tinkc_estimate_batch(&step, t->batch.data, t->batch.n, NULL);
    step *= (int64_t)TK_MAX(run->goal->passes, (size_t)1);
    if (t->is_evaluated && p->eval.n > 0) {
        (void)tinkc_estimate_batch(&eval, p->eval.data, p->eval.n, NULL);
    }
    bool ok = step + eval <= tinkc_ledger_left(ledger);
    tinkc_ledger_free(&ledger);
    return ok;
}

static tinkc_future *submit_eval(pipeline *p)
{
    return tinkc_training_forward(p->run->training, p->eval.data, p->eval.n, TRAIN_LOSS,
                                  NULL);
}

/* Writes the name of the checkpoint after `done` steps, which at the end is that of the
 * run. */
static void name_of(char out[NAME_BYTES], const train_run *run, size_t done)
{
    if (done == run->plan->steps) {
        (void)snprintf(out, NAME_BYTES, "%s", run->name);
    } else {
        (void)snprintf(out, NAME_BYTES, "%s-%06zu", run->name, done);
    }
}

static tinkc_future *submit_save(train_run *run, size_t done)
{
    char name[NAME_BYTES];
    tinkc_save_options options = TINKC_SAVE_OPTIONS_INIT;
    options.overwrite = true;
    name_of(name, run, done);
    return tinkc_training_save_state(run->training, name, &options);
}

/* Submits the step of the ticket that fill returned. */
static void submit(pipeline *p, ticket *t)
{
    train_run *run = p->run;
    size_t done = t->record.step;
    tinkc_adam_params adam = run->adam;
    adam.learning_rate = t->record.rate;
    t->grads = run->goal->submit(run, &t->batch);
    t->optim = tinkc_training_optim_step(run->training, &adam);
    if (is_due(done, run->save_every, run->plan->steps)) {
        t->save = submit_save(run, done);
    }
    if (done == run->plan->steps) {
        t->weights =
            tinkc_training_save_weights_for_sampler(run->training, run->name, NULL);
    }
    if (t->is_evaluated && run->goal->evaluate == NULL) {
        t->eval = submit_eval(p);
    }
    p->n++;
    p->next++;
    run->submitted = p->next;
}

/* ---- waiting ---- */

static bool is_stopped(train_run *run)
{
    const train_events *events = &run->events;
    if (!run->was_stopped && run->is_stopped()) {
        run->was_stopped = true;
        if (events->on_stop != NULL) {
            events->on_stop(events->user, run->submitted);
        }
    }
    return run->was_stopped;
}

tinkc_code train_run_wait(train_run *run, tinkc_future *future)
{
    tinkc_code code;
    do {
        code = tinkc_future_wait(future, POLL_MS);
        (void)is_stopped(run);
    } while (code == TINKC_E_TIMEOUT && !tinkc_future_is_done(future));
    if (code != TINKC_OK) {
        run->error = tinkc_future_take_error(future);
    }
    return code;
}

/* Gives loss and extras of a batch. */
static tinkc_code take_result(train_run *run, tinkc_future *future,
                              const train_batch *batch, train_record *out)
{
    tinkc_fwdbwd *result = NULL;
    tinkc_code code = train_run_wait(run, future);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_future_take_fwdbwd(&result, future, &run->error);
    if (code != TINKC_OK) {
        goto out;
    }
    code = run->goal->read(run, batch, result, out);
out:
    tinkc_fwdbwd_free(&result);
    return code;
}

/* ---- checkpoints ---- */

/* Gives the path of a saved checkpoint, in the state's arena. */
static tinkc_code take_path(train_run *run, tinkc_future *future, const char **out)
{
    char *path = NULL;
    tk_str copy = {NULL, 0};
    tinkc_code code = train_run_wait(run, future);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_future_take_text(&path, future, &run->error);
    if (code != TINKC_OK) {
        goto out;
    }
    if (!tk_arena_dup(&run->state->arena, &copy, path, strlen(path))) {
        code = tk_err_nomem(&run->err);
        goto out;
    }
    *out = copy.p;
out:
    tinkc_text_free(&path);
    return code;
}

/* Deletes the earlier checkpoint once the state file names a later one. The run continues
 * if that fails. */
static void delete_old(train_run *run, const char *path)
{
    if (path != NULL) {
        (void)tinkc_rest_delete_checkpoint_wait(run->service, path, NULL);
    }
}

static tinkc_code end_save(train_run *run, size_t done, tinkc_future *save,
                           tinkc_future *weights)
{
    train_state next = *run->state;
    const char *old = run->state->checkpoint;
    if (run->events.on_save != NULL) {
        run->events.on_save(run->events.user, done);
    }
    tinkc_code code = take_path(run, save, &next.checkpoint);
    next.arena = run->state->arena;
    if (code == TINKC_OK && weights != NULL) {
        code = take_path(run, weights, &next.weights);
        next.arena = run->state->arena;
    }
    if (code != TINKC_OK) {
        return code;
    }
    next.step = done;
    next.is_finished = weights != NULL;
    next.totals.tokens = run->before.tokens + run->tokens;
    next.totals.seconds = run->before.seconds + run->seconds;
    code = train_state_write(&next, run->state_path, &run->err);
    if (code == TINKC_OK) {
        *run->state = next;
        delete_old(run, old);
    }
    return code;
}

/* ---- ending a step ---- */

/* The run stops as at a step that does not fit, and saves what it has. */
static void use_up(train_run *run)
{
    tinkc_error_free(&run->error);
    run->was_stopped = run->is_used_up = true;
}

static tinkc_code end_eval(const pipeline *p, size_t done, tinkc_future *future)
{
    train_run *run = p->run;
    const train_events *events = &run->events;
    train_record *record = &run->eval_record;
    if (events->on_eval_begin != NULL) {
        events->on_eval_begin(events->user, done);
    }
    *record = (train_record){.step = done, .loss = NAN};
    tinkc_code code = run->goal->evaluate != NULL
                          ? run->goal->evaluate(run, record)
                          : take_result(run, future, &p->eval, record);
    if (code == TINKC_E_BUDGET && run->goal->evaluate != NULL) {
        run->eval_last = NAN; /* these weights have none */
        run->eval_is_missing = true;
        use_up(run);
        return TINKC_OK;
    }
    if (code != TINKC_OK) {
        return code;
    }
    run->eval_last = record->loss;
    if (!train_curve_add_eval(&run->curve, done, run->eval_last)) {
        return tk_err_nomem(&run->err);
    }
    if (events->on_eval != NULL) {
        events->on_eval(events->user, done, run->eval_last);
    }
    return train_metrics_eval(&run->metrics, record, &run->err);
}

static void alarm_about(const train_run *run, const train_record *record)
{
    if (run->events.on_alarm != NULL) {
        run->events.on_alarm(run->events.user, record);
    }
}

static tinkc_code end_batch(pipeline *p, ticket *t)
{
    train_run *run = p->run;
    tinkc_code code = take_result(run, t->grads, &t->batch, &t->record);
    if (code != TINKC_OK) {
        return code;
    }
    code = train_run_wait(run, t->optim);
    if (code != TINKC_OK) {
        return code;
    }
    if (!isfinite(t->record.loss)) {
        alarm_about(run, &t->record);
        return tk_err_set(&run->err, TINKC_E_INVALID,
                          "the %s of step %zu is not a number", run->goal->measure,
                          t->record.step);
    }
    if (!isfinite(run->state->loss_first)) {
        run->state->loss_first = t->record.loss;
    }
    int64_t now = tk_clock_mono_ns(NULL);
    t->record.seconds = (double)(now - p->last_ns) / 1e9;
    p->last_ns = now;
    if (!train_curve_add(&run->curve, t->record.step, t->record.loss)) {
        return tk_err_nomem(&run->err);
    }
    code = train_metrics_step(&run->metrics, &t->record, &run->err);
    if (code != TINKC_OK) {
        return code;
    }
    const cmd_plot plot = train_curve_plot(&run->curve, run->title);
    cmd_picture_update(&run->picture, &plot);
    run->tokens += t->record.tokens;
    run->seconds = (double)(now - p->began_ns) / 1e9;
    if (run->events.on_step != NULL) {
        run->events.on_step(run->events.user, &t->record);
    }
    if (train_watch_add(&run->watch, t->record.loss)) {
        alarm_about(run, &t->record);
    }
    return TINKC_OK;
}

static void free_ticket(ticket *t)
{
    free_data(&t->batch);
    tinkc_future_free(&t->grads);
    tinkc_future_free(&t->optim);
    tinkc_future_free(&t->save);
    tinkc_future_free(&t->weights);
    tinkc_future_free(&t->eval);
}

/* Frees the oldest ticket. */
static void drop_ticket(pipeline *p)
{
    free_ticket(&p->tickets[p->first]);
    p->first = (p->first + 1) % AHEAD;
    p->n--;
}

/* Takes the results of the oldest ticket and frees it. */
static tinkc_code end_ticket(pipeline *p)
{
    ticket *t = &p->tickets[p->first];
    tinkc_code code = end_batch(p, t);
    if (code == TINKC_OK && t->is_evaluated) {
        code = end_eval(p, t->record.step, t->eval);
    }
    if (code == TINKC_OK && t->save != NULL) {
        code = end_save(p->run, t->record.step, t->save, t->weights);
    }
    drop_ticket(p);
    return code;
}

/* ---- the run ---- */

/* Evaluates the weights that training starts from. */
static tinkc_code begin_eval(pipeline *p)
{
    train_run *run = p->run;
    if (run->eval->n == 0 || run->state->step > 0) {
        return TINKC_OK;
    }
    tinkc_future *future = run->goal->evaluate == NULL ? submit_eval(p) : NULL;
    tinkc_code code = end_eval(p, 0, future);
    tinkc_future_free(&future);
    run->state->eval_first = run->eval_last;
    run->state->eval_extras_n = run->eval_record.n_extras;
    for (size_t i = 0; i < run->eval_record.n_extras; i++) {
        run->state->eval_extras[i] = run->eval_record.extras[i].value;
    }
    return code;
}

/* After a stop: saves a checkpoint unless the last one has all steps. */
static tinkc_code save_stopped(pipeline *p)
{
    train_run *run = p->run;
    if (p->next == run->state->step) {
        return TINKC_OK;
    }
    tinkc_future *save = submit_save(run, p->next);
    tinkc_code code = end_save(run, p->next, save, NULL);
    tinkc_future_free(&save);
    return code;
}

/* Submits steps until enough are in flight, unless the run is stopped. */
static tinkc_code submit_ahead(pipeline *p)
{
    train_run *run = p->run;
    while (!run->was_stopped && p->n < run->goal->ahead && p->next < run->plan->steps) {
        ticket *t = NULL;
        tinkc_code code = fill(p, &t);
        if (code == TINKC_E_BUDGET) {
            use_up(run);
            return TINKC_OK;
        }
        if (code != TINKC_OK) {
            return code;
        }
        if (fits(p, t)) {
            submit(p, t);
        } else {
            use_up(run);
            free_data(&t->batch);
        }
    }
    return TINKC_OK;
}

static tinkc_code run_steps(pipeline *p)
{
    train_run *run = p->run;
    tinkc_code code = begin_eval(p);
    p->began_ns = tk_clock_mono_ns(NULL);
    p->last_ns = p->began_ns;
    while (code == TINKC_OK) {
        (void)is_stopped(run);
        code = submit_ahead(p);
        if (code != TINKC_OK || p->n == 0) {
            break;
        }
        code = end_ticket(p);
    }
    if (code == TINKC_OK && run->was_stopped && p->next < run->plan->steps) {
        code = save_stopped(p);
    } else if (code == TINKC_OK) {
        run->was_stopped = run->is_used_up = false; /* the stop came too late */
    }
    while (p->n > 0) {
        drop_ticket(p);
    }
    return code;
}

tinkc_code train_run_all(train_run *run)
{
    pipeline p = {.run = run, .next = run->state->step};
    run->eval_last = NAN;
    run->first = run->submitted = run->state->step;
    run->before = run->state->totals;
    p.rows = tk_array(AHEAD * run->plan->batch, sizeof(*p.rows));
    p.data = tk_array(AHEAD * run->plan->batch * run->goal->each, sizeof(*p.data));
    p.eval.data = tk_array(run->eval->n + 1, sizeof(*p.eval.data));
    p.eval.n_rows = run->eval->n / run->rows_each;
    tinkc_code code = TINKC_OK;
    if (p.rows == NULL || p.data == NULL || p.eval.data == NULL) {
        code = tk_err_nomem(&run->err);
        goto out;
    }
    if (run->goal->evaluate == NULL) {
        code = run->goal->make(run, &p.eval);
    }
    if (code != TINKC_OK) {
        goto out;
    }
    code = run_steps(&p);
    free_data(&p.eval);
out:
    tk_free(p.rows);
    tk_free(p.data);
    tk_free(p.eval.data);
    return code;
}
