/* Steps of reinforcement learning on <tinkc/rl.h>.
 * Needs: text server */
#include "cli/rl/rl_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tinkc/rest.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/rl/rl_metrics.h"

#define POLL_MS    200
#define NAME_BYTES 256
#define EVAL_SEED  0x6576616c /* "eval": held-out episodes have seeds of their own */
#define BARREN_MAX 3          /* steps in which no episode has a reward */

/* A step that is trained. */
typedef struct ticket {
    bool is_open;
    rl_record record;
    rl_outcome outcome;
    tinkc_rl_datums data;
    size_t ends[RL_SUBSTEPS_MAX]; /* of the datums of each substep */
    tinkc_future *steps[RL_SUBSTEPS_MAX];
    size_t n;
    tinkc_future *sampler, *save;
} ticket;

typedef struct loop {
    rl_run *run;
    size_t *rows;      /* owned: [batch], tasks of a step */
    size_t *eval_rows; /* owned: all held-out tasks */
    tinkc_rl_batch *batch;
    ticket ticket;
    int64_t version; /* steps that the agents' weights have */
    size_t n_barren; /* steps one after the other without a reward */
    int64_t last_ns;
    int64_t began_ns;
} loop;

/* ---- waiting ---- */

static tinkc_code wait_for(rl_run *run, tinkc_future *future)
{
    tinkc_code code;
    do {
        code = tinkc_future_wait(future, POLL_MS);
    } while (code == TINKC_E_TIMEOUT && !tinkc_future_is_done(future));
    if (code != TINKC_OK) {
        run->error = tinkc_future_take_error(future);
    }
    return code;
}

static tinkc_code take_path(rl_run *run, tinkc_future *future, const char **out)
{
    char *path = NULL;
    tk_str copy = {NULL, 0};
    tinkc_code code = wait_for(run, future);
    if (code == TINKC_OK) {
        code = tinkc_future_take_text(&path, future, &run->error);
    }
    if (code == TINKC_OK &&
        !tk_arena_dup(&run->state->arena, &copy, path, strlen(path))) {
        code = tk_err_nomem(&run->err);
    }
    if (code == TINKC_OK) {
        *out = copy.p;
    }
    tinkc_text_free(&path);
    return code;
}

/* ---- the weights of the agents ---- */

static tinkc_code use_sampler(loop *l, tinkc_future *future, size_t version)
{
    rl_run *run = l->run;
    tinkc_sampling *sampling = NULL;
    char weights[NAME_BYTES];
    (void)snprintf(weights, sizeof(weights), "%s@%zu", run->name, version);
    tinkc_code code = wait_for(run, future);
    if (code == TINKC_OK) {
        code = tinkc_future_take_sampling(&sampling, future, &run->error);
    }
    if (code == TINKC_OK) {
        code = rl_gate_use(run->rollout->gate, sampling, weights, &run->err);
    }
    return code;
}

/* ---- checkpoints ---- */

static bool is_due(size_t done, size_t every, size_t steps)
{
    return done == steps || (every > 0 && done % every == 0);
}

static tinkc_future *submit_save(const rl_run *run, size_t done)
{
    char name[NAME_BYTES];
    tinkc_save_options options = TINKC_SAVE_OPTIONS_INIT;
    options.overwrite = true;
    if (done == run->plan->steps) {
        (void)snprintf(name, sizeof(name), "%s", run->name);
    } else {
        (void)snprintf(name, sizeof(name), "%s-%06zu", run->name, done);
    }
    return tinkc_training_save_state(run->training, name, &options);
}

static tinkc_code end_save(rl_run *run, size_t done, tinkc_future *save)
{
    rl_state *state = run->state;
    const char *checkpoint = NULL, *old = state->checkpoint;
    if (run->events.on_save != NULL) {
        run->events.on_save(run->events.user, done);
    }
    tinkc_code code = take_path(run, save, &checkpoint);
    if (code != TINKC_OK) {
        return code;
    }
    state->checkpoint = checkpoint;
    state->step = done;
    code = rl_state_write(state, run->state_path, &run->err);
    if (code == TINKC_OK && !run->numbers->keep && old != NULL &&
        strcmp(old, checkpoint) != 0) {
        /* the run goes on if that fails */
        (void)tinkc_rest_delete_checkpoint_wait(run->service, old, NULL);
    }
    return code;
}

/* ---- evaluation ---- */

static tinkc_code evaluate(loop *l, size_t done)
{
    rl_run *run = l->run;
    rl_outcome outcome;
    const rl_ask ask = {.tasks = run->eval,
                        .rows = l->eval_rows,
                        .n = run->eval->n,
                        .group = (size_t)run->numbers->eval_group,
                        .step = done,
                        .is_eval = true,
                        .run = (uint64_t)run->numbers->seed ^ EVAL_SEED,
                        .version = (int64_t)done};
    if (run->events.on_eval_begin != NULL) {
        run->events.on_eval_begin(run->events.user, done);
    }
    tinkc_code code = rl_rollout_run(&outcome, run->rollout, &ask, &run->err);
    if (code != TINKC_OK || outcome.was_stopped) {
        run->was_stopped = run->was_stopped || code == TINKC_OK;
        return code;
    }
    run->eval_last =
        outcome.rewarded > 0 ? outcome.reward_sum / (double)outcome.rewarded : NAN;
    if (done == 0) {
        run->state->eval_first = run->eval_last;
    }
    if (!cmd_plot_add(&run->curve[RL_LINE_EVAL], (double)done, run->eval_last)) {
        return tk_err_nomem(&run->err);
    }
    if (run->events.on_eval != NULL) {
        run->events.on_eval(run->events.user, done, &outcome);
    }
    return rl_metrics_eval(run->metrics, done, &outcome, &run->err);
}

/* ---- a step ---- */

/* Runs the episodes of a step; they are in the batch then. */
static tinkc_code roll(loop *l, size_t step, rl_outcome *outcome)
{
    rl_run *run = l->run;
    const rl_ask ask = {.tasks = run->tasks,
                        .rows = l->rows,
                        .n = train_plan_batch(run->plan, step, l->rows),
                        .group = (size_t)run->numbers->group,
                        .step = step + 1,
                        .run = (uint64_t)run->numbers->seed,
                        .first_task = (uint64_t)step * run->plan->batch,
                        .version = l->version,
                        .batch = l->batch};
    tinkc_code code = rl_rollout_run(outcome, run->rollout, &ask, &run->err);
    run->was_stopped = run->was_stopped || (code == TINKC_OK && outcome->was_stopped);
    if (code != TINKC_OK || run->was_stopped) {
        return code;
    }
    l->n_barren = outcome->rewarded == 0 ? l->n_barren + 1 : 0;
    if (l->n_barren == BARREN_MAX) {
        return tk_err_set(
            &run->err, TINKC_E_INVALID,
            "no episode of the last %d steps has a reward; the last ones %s", BARREN_MAX,
            rl_metrics_worst(outcome));
    }
    return TINKC_OK;
}

static void submit_substeps(const rl_run *run, ticket *t)
{
    tinkc_adam_params adam = TINKC_ADAM_PARAMS_INIT;
    tinkc_step_options options = TINKC_STEP_OPTIONS_INIT;
    size_t parts = TK_MIN((size_t)run->numbers->substeps, t->data.n);
    adam.learning_rate = run->numbers->rate;
    adam.eps = 1e-8;
    options.adam = &adam;
    for (size_t i = 0; i < parts; i++) {
        size_t from = t->data.n * i / parts, to = t->data.n * (i + 1) / parts;
        t->ends[i] = to;
        t->steps[i] = tinkc_training_step(run->training, t->data.items + from, to - from,
                                          run->loss, &options);
    }
    t->n = parts;
}

/* Submits the training of a step whose episodes are in the batch. */
static tinkc_code submit(loop *l, size_t step, const rl_outcome *outcome)
{
    rl_run *run = l->run;
    ticket *t = &l->ticket;
    size_t done = step + 1, steps = run->plan->steps;
    *t = (ticket){.is_open = true, .outcome = *outcome};
    t->record = (rl_record){.step = done,
                            .loss = NAN,
                            .lag = (int64_t)step - outcome->version,
                            .outcome = &t->outcome};
    tinkc_rl_counts_init(&t->record.counts);
    tinkc_rl_gap_init(&t->record.gap);
    tinkc_code code = tinkc_rl_batch_take(&t->data, &t->record.counts, l->batch,
                                          (int64_t)step, &run->error);
    if (code != TINKC_OK) {
        return code;
    }
    submit_substeps(run, t);
    if (t->n > 0) {
        t->sampler = tinkc_training_save_and_sample(run->training);
    }
    if (is_due(done, (size_t)run->numbers->save_every, steps)) {
        t->save = submit_save(run, done);
    }
    return TINKC_OK;
}

static void free_ticket(ticket *t)
{
    for (size_t i = 0; i < t->n; i++) {
        tinkc_future_free(&t->steps[i]);
    }
    tinkc_future_free(&t->sampler);
    tinkc_future_free(&t->save);
    tinkc_rl_datums_free(&t->data);
    t->n = 0;
    t->is_open = false;
}

/* The result of one substep. The gap is that of the first: then the trainer has the weights
 * that the sampler had, or those one step later. */
static tinkc_code end_substep(rl_run *run, ticket *t, size_t i)
{
    tinkc_step *result = NULL;
    double loss = NAN;
    tinkc_code code = wait_for(run, t->steps[i]);
    if (code == TINKC_OK) {
        code = tinkc_future_take_step(&result, t->steps[i], &run->error);
    }
    if (code == TINKC_OK &&
        tinkc_fwdbwd_loss(&loss, tinkc_step_fwdbwd(result), NULL) == TINKC_OK) {
        t->record.loss = i == 0 ? loss : t->record.loss + loss;
    }
    if (code == TINKC_OK && i == 0) {
        t->record.has_gap =
            tinkc_rl_gap_compute(&t->record.gap, tinkc_step_fwdbwd(result), t->data.items,
                                 t->ends[0], NULL) == TINKC_OK;
    }
    tinkc_step_free(&result);
    return code;
}

static tinkc_code report(loop *l, ticket *t)
{
    rl_run *run = l->run;
    rl_record *record = &t->record;
    int64_t now = tk_clock_mono_ns(NULL);
    record->seconds = (double)(now - l->last_ns) / 1e9;
    l->last_ns = now;
    run->seconds = (double)(now - l->began_ns) / 1e9;
    run->done++;
    run->state->seconds += record->seconds;
    run->state->episodes += record->counts.episodes;
    run->state->tokens += record->counts.tokens_sampled;
    if (!cmd_plot_add(&run->curve[RL_LINE_STEPS], (double)record->step,
                      record->counts.reward_mean)) {
        return tk_err_nomem(&run->err);
    }
    if (run->events.on_step != NULL) {
        run->events.on_step(run->events.user, record);
    }
    return rl_metrics_step(run->metrics, record, run->numbers->rate, &run->err);
}

/* Takes the results of the step that is trained: metrics, weights, checkpoint,
 * evaluation. */
static tinkc_code end_step(loop *l)
{
    rl_run *run = l->run;
    ticket *t = &l->ticket;
    size_t done = t->record.step;
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && i < t->n; i++) {
        code = end_substep(run, t, i);
    }
    if (code == TINKC_OK && t->sampler != NULL) {
        code = use_sampler(l, t->sampler, done);
    }
    if (code == TINKC_OK) {
        l->version = (int64_t)done;
        code = report(l, t);
    }
    if (code == TINKC_OK && t->save != NULL) {
        code = end_save(run, done, t->save);
    }
    free_ticket(t);
    if (code == TINKC_OK && run->eval->n > 0 && !run->was_stopped &&
        is_due(done, (size_t)run->numbers->eval_every, run->plan->steps)) {
        code = evaluate(l, done);
    }
    return code;
}

/* Whether the next episodes may begin before this step is trained. */
static bool may_overlap(const rl_run *run, size_t done)
{
    return run->numbers->overlap && done < run->plan->steps &&
           !(run->eval->n > 0 &&
             is_due(done, (size_t)run->numbers->eval_every, run->plan->steps));
}

static tinkc_code one_step(loop *l, size_t step)
{
    rl_outcome outcome;
    tinkc_code code = roll(l, step, &outcome);
    if (code == TINKC_OK && l->ticket.is_open) {
        code = end_step(l);
    }
    if (code != TINKC_OK || l->run->was_stopped) {
        return code;
    }
    code = submit(l, step, &outcome);
    return code == TINKC_OK && !may_overlap(l->run, step + 1) ? end_step(l) : code;
}

/* ---- the run ---- */

/* Whether the held-out reward after state->step is missing: at the start, and when the run
 * was killed after a checkpoint. */
static bool lacks_evaluation(rl_run *run)
{
    const cmd_plot_line *line = &run->curve[RL_LINE_EVAL];
    size_t step = run->state->step;
    if (line->n > 0) {
        run->eval_last = line->points[line->n - 1].y;
    }
    return run->eval->n > 0 &&
           (step == 0 ||
            is_due(step, (size_t)run->numbers->eval_every, run->plan->steps)) &&
           !(line->n > 0 && line->points[line->n - 1].x == (double)step);
}

static tinkc_code begin(loop *l)
{
    rl_run *run = l->run;
    tinkc_future *future = tinkc_training_save_and_sample(run->training);
    l->version = (int64_t)run->state->step;
    tinkc_code code = use_sampler(l, future, run->state->step);
    tinkc_future_free(&future);
    if (code == TINKC_OK && lacks_evaluation(run)) {
        code = evaluate(l, run->state->step);
    }
    l->began_ns = l->last_ns = tk_clock_mono_ns(NULL);
    return code;
}

/* After a stop: what was trained is saved. */
static tinkc_code save_stopped(loop *l)
{
    rl_run *run = l->run;
    size_t done = (size_t)l->version;
    if (done == run->state->step) {
        return TINKC_OK;
    }
    tinkc_future *save = submit_save(run, done);
    tinkc_code code = end_save(run, done, save);
    tinkc_future_free(&save);
    return code;
}

/* After the last step: weights for sampling, and the run is finished. */
static tinkc_code finish(rl_run *run)
{
    rl_state *state = run->state;
    const char *path = NULL;
    tinkc_future *weights =
        tinkc_training_save_weights_for_sampler(run->training, run->name, NULL);
    tinkc_code code = take_path(run, weights, &path);
    tinkc_future_free(&weights);
    if (code == TINKC_OK) {
        state->weights = path;
        state->is_finished = true;
        code = rl_state_write(state, run->state_path, &run->err);
    }
    return code;
}

static tinkc_code run_steps(loop *l)
{
    rl_run *run = l->run;
    size_t steps = run->plan->steps;
    tinkc_code code = begin(l);
    for (size_t step = run->state->step;
         code == TINKC_OK && step < steps && !run->was_stopped; step++) {
        code = one_step(l, step);
    }
    if (code == TINKC_OK && l->ticket.is_open) { /* after a stop */
        code = end_step(l);
    }
    if (code != TINKC_OK) {
        return code;
    }
    return run->was_stopped ? save_stopped(l) : finish(run);
}

static tinkc_code make_batch(loop *l)
{
    const rl_numbers *numbers = l->run->numbers;
    tinkc_rl_advantage_options advantages = TINKC_RL_ADVANTAGE_OPTIONS_INIT;
    tinkc_rl_batch_options options = TINKC_RL_BATCH_OPTIONS_INIT;
    advantages.scale = numbers->scale;
    options.group_size = (size_t)numbers->group;
    options.max_episodes = (size_t)numbers->group * l->run->plan->batch;
    options.max_lag = numbers->overlap ? 1 : 0;
    options.advantages = &advantages;
    return tinkc_rl_batch_new(&l->batch, &options, &l->run->error);
}

tinkc_code rl_run_all(rl_run *run)
{
    static loop l; /* too large for the stack */
    l = (loop){.run = run};
    run->eval_last = NAN;
    l.rows = tk_array(run->plan->batch, sizeof(*l.rows));
    l.eval_rows = tk_array(run->eval->n + 1, sizeof(*l.eval_rows));
    tinkc_code code =
        l.rows != NULL && l.eval_rows != NULL ? make_batch(&l) : tk_err_nomem(&run->err);
    for (size_t i = 0; code == TINKC_OK && i < run->eval->n; i++) {
        l.eval_rows[i] = i;
    }
    if (code == TINKC_OK) {
        code = run_steps(&l);
    }
    free_ticket(&l.ticket);
    tinkc_rl_batch_free(&l.batch);
    tk_free(l.rows);
    tk_free(l.eval_rows);
    return code;
}
