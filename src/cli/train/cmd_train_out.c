/* The output of `tinkc train`: progress on standard error, the summary on standard
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

#define LINES        20 /* of progress without a terminal */
#define BAR_MIN      4
#define BAR_MAX      24
#define WAIT_COLUMNS 24 /* "  forward_backward 12 s" */

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

/* Writes the bar that fits beside the other text of a line, with room for what a slow
 * step waits for. */
static void put_bar(char out[BAR_MAX + 1], const train_record *record, size_t steps,
                    size_t others)
{
    size_t columns = cmd_out_width(STDERR_FILENO);
    size_t room = columns > others + WAIT_COLUMNS ? columns - others - WAIT_COLUMNS : 0;
    size_t n = TK_MIN(TK_MAX(room, BAR_MIN), BAR_MAX);
    memset(out, '.', n);
    memset(out, '#', n * record->step / steps);
    out[n] = '\0';
}

void cmd_train_progress(void *user, const train_record *record)
{
    const train_run *run = user;
    size_t steps = run->plan->steps, done = record->step - run->first;
    size_t every = TK_MAX(steps / LINES, 1);
    double rate = run->seconds > 0 ? (double)run->tokens / run->seconds : 0;
    char left[32], head[64], tail[96], bar[BAR_MAX + 1];
    (void)clock_text(left, run->seconds / (double)done * (double)(steps - record->step));
    (void)snprintf(head, sizeof(head), "step %zu/%zu", record->step, steps);
    (void)snprintf(tail, sizeof(tail), "loss %.4f  %.0f tokens/s  ETA %s", record->loss,
                   rate, left);
    put_bar(bar, record, steps, strlen(head) + strlen(tail) + 4);
    cmd_progress("%s [%s] %s", head, bar, tail);
    bool is_due = record->step % every == 0 || done == 1 || record->step == steps;
    if (is_due && cmd_out_width(STDERR_FILENO) == 0) {
        cmd_print(stderr, "%s  %s\n", head, tail);
    }
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

/* Returns the first or the last loss of the curve; NaN without one. */
static double loss_at(const train_line *line, bool is_last)
{
    return line->n > 0 ? line->points[is_last ? line->n - 1 : 0].loss : NAN;
}

static int summary_json(const train_run *run, const char *model, size_t from_step,
                        const cmd_args *args)
{
    cmd_json json;
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    cmd_json_pair(&json, "model", model);
    put_count(&json, "step", run->state->step);
    put_count(&json, "steps", run->plan->steps);
    cmd_json_key(&json, "resumed_from");
    cmd_json_count(&json, from_step > 0 ? (int64_t)from_step : -1);
    put_count(&json, "rows", run->data->n);
    put_count(&json, "tokens", run->tokens);
    put_number(&json, "seconds", run->seconds);
    put_number(&json, "loss_first", loss_at(&run->curve.train, false));
    put_number(&json, "loss_last", loss_at(&run->curve.train, true));
    put_number(&json, "eval_loss_first", run->state->eval_first);
    put_number(&json, "eval_loss_last", run->eval_last);
    cmd_json_pair(&json, "checkpoint", run->state->checkpoint);
    cmd_json_pair(&json, "weights", run->state->weights);
    tk_json_end_object(&json.w);
    return cmd_json_print(&json, args);
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

static int summary_text(const train_run *run, const char *model)
{
    tk_buf curve;
    tk_buf_init(&curve, TK_MIB);
    size_t columns = cmd_out_width(STDOUT_FILENO);
    train_curve_text(&run->curve, columns > 0 ? columns : 80, &curve);
    cmd_print(stdout, "Trained %s on %zu lines: %zu steps, %zu tokens in %.1f s\n\n",
              model, run->data->n, run->state->step, run->tokens, run->seconds);
    if (curve.n > 0) {
        cmd_print_lines(stdout, tk_buf_str(&curve));
        cmd_print(stdout, "\n");
    }
    tk_buf_dispose(&curve);
    put_row("loss", loss_at(&run->curve.train, false), loss_at(&run->curve.train, true));
    put_row("held-out loss", run->state->eval_first, run->eval_last);
    cmd_print(stdout, "%-14s %s\n", "checkpoint", run->state->checkpoint);
    if (run->state->weights != NULL) {
        cmd_print(stdout, "%-14s %s\n", "weights", run->state->weights);
    }
    return CMD_OK;
}

int cmd_train_summary(const train_run *run, const char *model, size_t from_step,
                      const cmd_args *args)
{
    return cmd_wants_json(args) ? summary_json(run, model, from_step, args)
                                : summary_text(run, model);
}
