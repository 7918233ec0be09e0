/* The output of the commands that train: progress on standard error, the summary on standard
 * output.
 * Needs: text */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/frame/cmd_json.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_progress.h"
#include "cli/train/cmd_train.h"
#include "cli/train/train_rate.h"

#define LINES     20 /* of progress without a terminal */
#define HIGH_RATE 3  /* times that of --lr auto */

void cmd_train_warn(const char *text)
{
    cmd_print(stderr, "Warning: %s\n", text);
}

/* ---- progress ---- */

/* Writes "1:02:03" or "2:03" into `out` and returns it. */
static const char *clock_text(char out[32], double seconds)
{
    int64_t s = seconds < 1e9 ? (int64_t)(seconds + 0.5) : (int64_t)1e9;
    if (s >= 3600) {
        (void)snprintf(out, 32, "%lld:%02lld:%02lld", (long long)(s / 3600),
                       (long long)(s / 60 % 60), (long long)(s % 60));
    } else {
        (void)snprintf(out, 32, "%lld:%02lld", (long long)(s / 60), (long long)(s % 60));
    }
    return out;
}

void cmd_train_intro(const train_job *job, double parameters)
{
    char from[96] = "";
    const train_plan *plan = &job->plan;
    if (parameters > 0) {
        (void)snprintf(from, sizeof(from), " (--lr auto for %.3g%s parameters)",
                       parameters >= 1e9 ? parameters / 1e9 : parameters / 1e6,
                       parameters >= 1e9 ? "B" : "M");
    } else if (parameters == 0) {
        (void)snprintf(from, sizeof(from), " (--lr auto for a model of unknown size)");
    }
    cmd_print(stderr, "%s %s: %zu %s, %zu steps of %zu, rank %lld\n", job->kind->title,
              job->model, plan->rows, job->kind->noun, plan->steps, plan->batch,
              (long long)job->numbers.rank);
    cmd_print(stderr, "Learning rate %g%s\n", plan->rate, from);
}

/* What a second Ctrl-C loses. */
static void set_words(const train_run *run, size_t step)
{
    char text[128];
    size_t saved = run->state->step;
    if (saved == 0) {
        (void)snprintf(text, sizeof(text), "Quit at step %zu; nothing is saved.", step);
    } else {
        (void)snprintf(text, sizeof(text),
                       "Quit at step %zu; --resume continues from step %zu.", step,
                       saved);
    }
    cmd_signal_words(text);
}

/* Writes "loss 0.5  accuracy 0.9" into `out` and returns it. */
static const char *values_text(char out[128], const train_goal *goal,
                               const train_record *record)
{
    int n = snprintf(out, 128, "%s %.4f", goal->measure, record->loss);
    for (size_t i = 0; i < record->n_extras; i++) {
        const train_extra *extra = &record->extras[i];
        if (extra->is_shown && n > 0 && n < 127) {
            n += snprintf(out + n, 128 - (size_t)n, "  %s %.3f", extra->name,
                          extra->value);
        }
    }
    return out;
}

static void on_step(void *user, const train_record *record)
{
    const train_run *run = &((const train_job *)user)->run;
    set_words(run, record->step);
    size_t steps = run->plan->steps, done = record->step - run->first;
    size_t every = TK_MAX(steps / LINES, 1);
    double rate = run->seconds > 0 ? (double)run->tokens / run->seconds : 0;
    char left[32], head[64], values[128], tail[200];
    (void)clock_text(left, run->seconds / (double)done * (double)(steps - record->step));
    (void)snprintf(head, sizeof(head), "step %zu/%zu", record->step, steps);
    (void)snprintf(tail, sizeof(tail), "%s  %.0f tokens/s  ETA %s",
                   values_text(values, run->goal, record), rate, left);
    cmd_progress_bar((double)record->step / (double)steps, head, tail);
    bool is_due = record->step % every == 0 || done == 1 || record->step == steps;
    if (is_due && cmd_out_width(STDERR_FILENO) == 0) {
        cmd_print(stderr, "%s  %s\n", head, tail);
    }
}

static void on_eval_begin(void *user, size_t step)
{
    const train_job *job = user;
    const train_run *run = &job->run;
    if (step == run->first) { /* there is no step to show yet */
        cmd_progress("Evaluating %zu held-out %s", run->eval->n / run->rows_each,
                     job->kind->noun);
    } else {
        cmd_progress_note("evaluating");
    }
}

static void on_eval(void *user, size_t step, double loss)
{
    const train_run *run = &((const train_job *)user)->run;
    char values[128];
    (void)loss; /* and more: */
    cmd_print(stderr, "step %zu/%zu  held-out %s\n", step, run->plan->steps,
              values_text(values, run->goal, &run->eval_record));
}

static void on_save(void *user, size_t step)
{
    (void)user;
    (void)step;
    cmd_progress_note("saving");
}

static void on_stop(void *user, size_t step)
{
    const train_run *run = &((const train_job *)user)->run;
    if (step == run->state->step) {
        cmd_print(stderr, "Stopping; Ctrl-C again to quit now.\n");
    } else {
        cmd_print(stderr, "Finishing step %zu, saving; Ctrl-C again to quit now.\n",
                  step);
    }
}

const char *cmd_train_cause(char out[256], const train_run *run)
{
    double rate = run->plan->rate, suited = run->suited_rate;
    if (rate > HIGH_RATE * suited) {
        (void)snprintf(out, 256,
                       "The learning rate is probably too high: it is %g, and --lr auto "
                       "would take %g.",
                       rate, suited);
    } else {
        (void)snprintf(
            out, 256,
            "The learning rate may be too high for this data: try --lr %.2g%s, "
            "and look for lines that are very different.",
            rate / 4, run->adam.grad_clip_norm > 0 ? "" : " or --clip 1");
    }
    return out;
}

static void on_alarm(void *user, const train_record *record)
{
    const train_run *run = &((const train_job *)user)->run;
    const char *measure = run->goal->measure;
    char cause[256];
    (void)cmd_train_cause(cause, run);
    if (isfinite(record->loss)) {
        cmd_print(stderr, "Warning: the %s rose from %.2f to %.2f (step %zu). %s\n",
                  measure, run->watch.lowest, run->watch.mean, record->step, cause);
    } else {
        cmd_print(stderr, "Warning: the %s of step %zu is not a number. %s\n", measure,
                  record->step, cause);
    }
}

train_events cmd_train_events(train_job *job)
{
    return (train_events){.on_step = on_step,
                          .on_eval_begin = on_eval_begin,
                          .on_eval = on_eval,
                          .on_save = on_save,
                          .on_stop = on_stop,
                          .on_alarm = on_alarm,
                          .user = job};
}

/* ---- summary ---- */

static void put_number(cmd_json *json, const char *key, double value)
{
    cmd_json_key(json, key);
    cmd_json_real(json, value);
}

static void put_count(cmd_json *json, const char *key, size_t value)
{
    cmd_json_key(json, key);
    cmd_json_count(json, (int64_t)value);
}

/* Adds KEY_first and KEY_last, with "eval_" before them for held-out data. */
static void put_both(cmd_json *json, const char *prefix, const char *key, double first,
                     double last)
{
    char name[96];
    (void)snprintf(name, sizeof(name), "%s%s_first", prefix, key);
    put_number(json, name, first);
    (void)snprintf(name, sizeof(name), "%s%s_last", prefix, key);
    put_number(json, name, last);
}

/* The number beside the first held-out loss; NaN: not measured. */
static double first_extra(const train_run *run, size_t i)
{
    return i < run->state->eval_extras_n ? run->state->eval_extras[i] : NAN;
}

static int summary_json(const train_job *job)
{
    const train_run *run = &job->run;
    size_t from_step = job->from_step;
    cmd_json json;
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    cmd_json_pair(&json, "model", job->model);
    put_count(&json, "step", run->state->step);
    put_count(&json, "steps", run->plan->steps);
    cmd_json_key(&json, "resumed_from");
    cmd_json_count(&json, from_step > 0 ? (int64_t)from_step : -1);
    put_count(&json, "rows", run->plan->rows);
    put_count(&json, "tokens", run->state->totals.tokens);
    put_number(&json, "seconds", run->state->totals.seconds);
    put_number(&json, "learning_rate", run->plan->rate);
    put_both(&json, "", run->goal->key, run->state->loss_first,
             train_curve_last(&run->curve, TRAIN_CURVE_STEPS));
    put_both(&json, "eval_", run->goal->key, run->state->eval_first, run->eval_last);
    for (size_t i = 0; i < run->eval_record.n_extras; i++) {
        const train_extra *extra = &run->eval_record.extras[i];
        put_both(&json, "eval_", extra->name, first_extra(run, i), extra->value);
    }
    cmd_json_pair(&json, "checkpoint", run->state->checkpoint);
    cmd_json_pair(&json, "weights", run->state->weights);
    tk_json_end_object(&json.w);
    return cmd_json_print(&json, job->args);
}

static void put_row(const char *name, double first, double last)
{
    if (isfinite(last) && isfinite(first)) {
        cmd_print(stdout, "%-14s %.4f -> %.4f\n", name, first, last);
    } else if (isfinite(
                   last)) { /* --eval was added with --resume: there is no first loss */
        cmd_print(stdout, "%-14s %.4f\n", name, last);
    }
}

static int summary_text(train_job *job)
{
    train_run *run = &job->run;
    size_t from_step = job->from_step;
    char held_out[64];
    tk_buf curve;
    const cmd_plot plot = train_curve_plot(&run->curve, NULL);
    tk_buf_init(&curve, TK_MIB);
    size_t columns = cmd_out_width(STDOUT_FILENO);
    cmd_plot_text(&plot, columns > 0 ? columns : 80, &curve);
    const train_totals *all = &run->state->totals;
    cmd_print(stdout,
              "Trained %s on %zu %s: %zu steps, %zu tokens in %.1f s (%.0f tokens/s)\n",
              job->model, run->plan->rows, job->kind->noun, run->state->step, all->tokens,
              all->seconds, all->seconds > 0 ? (double)all->tokens / all->seconds : 0);
    if (from_step > 0) {
        cmd_print(stdout,
                  "Resumed after step %zu: %zu tokens in %.1f s were of this run\n",
                  from_step, run->tokens, run->seconds);
    }
    cmd_print(stdout, "\n");
    if (curve.n > 0) {
        cmd_print_lines(stdout, tk_buf_str(&curve));
        cmd_print(stdout, "\n");
    }
    tk_buf_dispose(&curve);
    put_row(run->goal->measure, run->state->loss_first,
            train_curve_last(&run->curve, TRAIN_CURVE_STEPS));
    (void)snprintf(held_out, sizeof(held_out), "held-out %s", run->goal->measure);
    put_row(held_out, run->state->eval_first, run->eval_last);
    for (size_t i = 0; i < run->eval_record.n_extras; i++) {
        if (run->eval_record.extras[i].is_shown) {
            (void)snprintf(held_out, sizeof(held_out), "  %s",
                           run->eval_record.extras[i].name);
            put_row(held_out, first_extra(run, i), run->eval_record.extras[i].value);
        }
    }
    cmd_print(stdout, "%-14s %s\n", "checkpoint", run->state->checkpoint);
    if (run->state->weights != NULL) {
        cmd_print(stdout, "%-14s %s\n", "weights", run->state->weights);
    }
    return CMD_OK;
}

int cmd_train_summary(train_job *job)
{
    return cmd_wants_json(job->args) ? summary_json(job) : summary_text(job);
}
