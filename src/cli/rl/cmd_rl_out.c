/* The output of `tinkc rl`: progress and what agents did wrong on standard error, the
 * summary on standard output.
 * Needs: text server */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/frame/cmd_json.h"
#include "cli/frame/cmd_paste.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_progress.h"
#include "cli/rl/cmd_rl.h"

#define BARREN_STEPS 3 /* without a group that differs: people should know */

void cmd_rl_intro(const rl_run *run, const char *model)
{
    const rl_numbers *n = run->numbers;
    cmd_print(
        stderr,
        "Training %s on %zu tasks: %zu steps of %lld tasks x %lld episodes, %lld at "
        "a time\n",
        model, run->tasks->n, run->plan->steps, (long long)n->batch, (long long)n->group,
        (long long)n->concurrency);
    cmd_print(stderr, "Learning rate %g, rank %lld, %s%s\n", n->rate, (long long)n->rank,
              run->loss, n->overlap ? ", overlapped" : "");
}

/* ---- progress ---- */

static void clock_text(char out[32], double seconds)
{
    int64_t s = seconds < 1e9 ? (int64_t)(seconds + 0.5) : (int64_t)1e9;
    if (s >= 3600) {
        (void)snprintf(out, 32, "%lld:%02lld:%02lld", (long long)(s / 3600),
                       (long long)(s / 60 % 60), (long long)(s % 60));
    } else {
        (void)snprintf(out, 32, "%lld:%02lld", (long long)(s / 60), (long long)(s % 60));
    }
}

void cmd_rl_on_episode(void *user, const rl_outcome *so_far, size_t total)
{
    const rl_run *run = user;
    char head[64], tail[64];
    (void)snprintf(head, sizeof(head), "step %zu/%zu%s", so_far->step, run->plan->steps,
                   so_far->is_eval ? ", held-out" : "");
    (void)snprintf(
        tail, sizeof(tail), "episode %zu/%zu  reward %.3f", so_far->episodes, total,
        so_far->rewarded > 0 ? so_far->reward_sum / (double)so_far->rewarded : 0.0);
    cmd_progress_bar((double)so_far->episodes / (double)total, head, tail);
}

/* One line for each kind of trouble that there was. */
static void show_troubles(const char *when, const rl_outcome *outcome)
{
    for (size_t i = RL_KIND_OK + 1; i < RL_KINDS; i++) {
        const rl_trouble *t = &outcome->troubles[i];
        if (t->n > 0) {
            cmd_print(stderr, "%s: %zu of %zu episodes %s (%s%s%s)\n", when, t->n,
                      outcome->episodes, rl_kind_text((rl_kind)i), t->episode,
                      t->why[0] != '\0' ? ": " : "", t->why);
        }
    }
    if (outcome->refused > 0) {
        cmd_print(stderr, "%s: %zu episodes wanted %zu turns more than --max-turns\n",
                  when, outcome->full, outcome->refused);
    }
    if (outcome->strays > 0) {
        cmd_print(stderr, "%s: agents left %zu processes behind, which were ended\n",
                  when, outcome->strays);
    }
    if (outcome->left > 0) {
        cmd_print(stderr, "%s: %zu processes of agents could not be ended\n", when,
                  outcome->left);
    }
}

/* Nothing to learn: all episodes of each task have the same reward. */
static void warn_equal(const rl_record *record)
{
    static size_t barren;
    const tinkc_rl_counts *c = &record->counts;
    barren = c->groups > 0 && c->groups_kept == 0 ? barren + 1 : 0;
    if (barren != BARREN_STEPS) {
        return;
    }
    cmd_print(stderr,
              "Warning: for %d steps no group of episodes had rewards that differ (%.3g "
              "to %.3g): there is nothing to learn from. %s\n",
              BARREN_STEPS, c->reward_min, c->reward_max,
              c->reward_min == c->reward_max && c->reward_min > 0
                  ? "Does the reward depend on what the model answers?"
                  : "Easier tasks, more episodes (--group) or a reward with steps in "
                    "between may help.");
}

static void on_step(void *user, const rl_record *record)
{
    const rl_run *run = user;
    const tinkc_rl_counts *c = &record->counts;
    char head[64], left[32], gap[32] = "";
    size_t steps = run->plan->steps;
    (void)snprintf(head, sizeof(head), "step %zu/%zu", record->step, steps);
    if (record->has_gap) {
        (void)snprintf(gap, sizeof(gap), "  gap %.1e", record->gap.abs_mean);
    }
    clock_text(left, run->seconds / (double)run->done * (double)(steps - record->step));
    show_troubles(head, record->outcome);
    cmd_print(stderr, "%s  reward %.3f  kept %zu/%zu  tokens %zu%s  %.1f s  ETA %s\n",
              head, c->reward_mean, c->groups_kept, c->groups, c->tokens_sampled, gap,
              record->seconds, left);
    warn_equal(record);
    char words[128];
    (void)snprintf(words, sizeof(words), "Quit; --resume continues from step %zu.",
                   run->state->step);
    cmd_signal_words(run->state->step > 0 ? words : "Quit; nothing is saved.");
}

static void on_eval_begin(void *user, size_t step)
{
    const rl_run *run = user;
    (void)step;
    cmd_progress("Evaluating %zu held-out tasks", run->eval->n);
}

static void on_eval(void *user, size_t step, const rl_outcome *outcome)
{
    const rl_run *run = user;
    char head[64];
    (void)snprintf(head, sizeof(head), "step %zu/%zu, held-out", step, run->plan->steps);
    show_troubles(head, outcome);
    cmd_print(stderr, "step %zu/%zu  held-out reward %.3f (%zu episodes)\n", step,
              run->plan->steps, run->eval_last, outcome->rewarded);
}

static void on_save(void *user, size_t step)
{
    (void)user;
    (void)step;
    cmd_progress_note("saving");
}

rl_events cmd_rl_events(rl_run *run)
{
    return (rl_events){.on_step = on_step,
                       .on_eval_begin = on_eval_begin,
                       .on_eval = on_eval,
                       .on_save = on_save,
                       .user = run};
}

/* ---- summary ---- */

cmd_plot cmd_rl_plot(rl_run *run, const char *title)
{
    run->curve[RL_LINE_STEPS].name = "reward";
    run->curve[RL_LINE_EVAL].name = "held-out";
    run->curve[RL_LINE_EVAL].is_dotted = true;
    return (cmd_plot){.title = title,
                      .x_name = "step",
                      .y_name = "reward",
                      .lines = run->curve,
                      .n = RL_LINES};
}

static double edge(const cmd_plot_line *line, bool is_last)
{
    return line->n > 0 ? line->points[is_last ? line->n - 1 : 0].y : NAN;
}

static int summary_json(const rl_run *run, const char *model, const cmd_args *args)
{
    const rl_state *state = run->state;
    cmd_json json;
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    cmd_json_pair(&json, "model", model);
    cmd_json_key(&json, "steps");
    cmd_json_count(&json, (int64_t)state->step);
    cmd_json_key(&json, "episodes");
    cmd_json_count(&json, (int64_t)state->episodes);
    cmd_json_key(&json, "tokens");
    cmd_json_count(&json, (int64_t)state->tokens);
    cmd_json_key(&json, "seconds");
    cmd_json_real(&json, state->seconds);
    cmd_json_key(&json, "reward_first");
    cmd_json_real(&json, edge(&run->curve[RL_LINE_STEPS], false));
    cmd_json_key(&json, "reward_last");
    cmd_json_real(&json, edge(&run->curve[RL_LINE_STEPS], true));
    cmd_json_key(&json, "eval_first");
    cmd_json_real(&json, state->eval_first);
    cmd_json_key(&json, "eval_last");
    cmd_json_real(&json, run->eval_last);
    cmd_json_pair(&json, "checkpoint", state->checkpoint);
    cmd_json_pair(&json, "weights", state->weights);
    tk_json_end_object(&json.w);
    return cmd_json_print(&json, args);
}

static void put_row(const char *name, double first, double last)
{
    if (isfinite(last)) {
        cmd_print(stdout, "%-14s %.3f -> %.3f\n", name, first, last);
    }
}

int cmd_rl_summary(rl_run *run, const char *model, const cmd_args *args)
{
    const rl_state *state = run->state;
    tk_buf curve;
    if (cmd_wants_json(args)) {
        return summary_json(run, model, args);
    }
    const cmd_plot plot = cmd_rl_plot(run, NULL);
    size_t columns = cmd_out_width(STDOUT_FILENO);
    tk_buf_init(&curve, TK_MIB);
    cmd_plot_text(&plot, columns > 0 ? columns : 80, &curve);
    cmd_print(stdout,
              "Trained %s: %zu steps, %llu episodes, %llu sampled tokens in %.1f s\n\n",
              model, state->step, (unsigned long long)state->episodes,
              (unsigned long long)state->tokens, state->seconds);
    if (curve.n > 0) {
        cmd_print_lines(stdout, tk_buf_str(&curve));
        cmd_print(stdout, "\n");
    }
    tk_buf_dispose(&curve);
    put_row("reward", edge(&run->curve[RL_LINE_STEPS], false),
            edge(&run->curve[RL_LINE_STEPS], true));
    put_row("held-out", state->eval_first, run->eval_last);
    cmd_print(stdout, "%-14s %s\n", "checkpoint", state->checkpoint);
    if (state->weights != NULL) {
        cmd_print(stdout, "%-14s %s\n", "weights", state->weights);
    }
    return CMD_OK;
}

void cmd_rl_continue(const cmd_args *args)
{
    tk_buf line;
    (void)args;
    tk_buf_init(&line, 64 * TK_KIB);
    cmd_paste_command(&line, CMD_PASTE_WORDS("rl"));
    cmd_paste_given(&line, "save");
    cmd_paste_given(&line, "out");
    cmd_paste_given(&line, "tasks");
    cmd_paste_word(&line, "--resume");
    if (line.failure == TINKC_OK) {
        cmd_print(stderr, "Continue:\n  " TK_STR_FMT "\n", TK_STR_ARG(tk_buf_str(&line)));
    }
    tk_buf_dispose(&line);
}
