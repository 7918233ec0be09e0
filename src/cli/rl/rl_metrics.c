/* Writes metrics.
 * Needs: text server */
#include "cli/rl/rl_metrics.h"

#include <math.h>
#include <stdio.h>

#include "base/buf.h"

#define NUMBERS_MAX (RL_KINDS + RL_REWARD_METRICS + 16)
#define NAME_BYTES  96

typedef struct numbers {
    tinkc_number at[NUMBERS_MAX];
    char names[NUMBERS_MAX][NAME_BYTES];
    size_t n;
} numbers;

static void add(numbers *to, const char *prefix, const char *name, double value)
{
    if (to->n == NUMBERS_MAX) {
        return;
    }
    char *text = to->names[to->n];
    (void)snprintf(text, NAME_BYTES, "%s%s", prefix, name);
    to->at[to->n++] = (tinkc_number){text, value};
}

/* What the agents did. */
static void add_outcome(numbers *to, const rl_outcome *outcome, bool is_eval)
{
    const char *failed = is_eval ? "eval/failed/" : "failed/";
    const char *agent = is_eval ? "eval/agent/" : "agent/";
    const char *prefix = is_eval ? "eval/" : "";
    for (size_t i = RL_KIND_OK + 1; i < RL_KINDS; i++) {
        if (outcome->troubles[i].n > 0) {
            add(to, failed, rl_kind_name((rl_kind)i), (double)outcome->troubles[i].n);
        }
    }
    if (outcome->refused > 0) {
        add(to, prefix, "turns/refused", (double)outcome->refused);
    }
    if (outcome->strays > 0) {
        add(to, prefix, "strays", (double)outcome->strays);
    }
    if (outcome->left > 0) {
        add(to, prefix, "strays/left", (double)outcome->left);
    }
    for (size_t i = 0; i < outcome->n_metrics; i++) {
        const rl_mean *m = &outcome->metrics[i];
        add(to, agent, m->name, m->sum / (double)m->n);
    }
    add(to, prefix, "rollout/seconds", outcome->seconds);
}

static tinkc_code put(rl_lines *lines, const tinkc_rl_report *report, tk_err *err)
{
    char *text = NULL;
    size_t n = 0;
    tinkc_error *error = NULL;
    tinkc_code code = tinkc_rl_report_json(&text, &n, report, &error);
    if (code != TINKC_OK) {
        code = tk_err_set(err, code, "%s", tinkc_error_message(error));
        tinkc_error_free(&error);
        return code;
    }
    code = rl_lines_put(lines, (tk_str){text, n}, err);
    tinkc_text_free(&text);
    return code;
}

tinkc_code rl_metrics_step(rl_lines *lines, const rl_record *record, double rate,
                           tk_err *err)
{
    numbers more = {.n = 0};
    tinkc_rl_report report;
    add(&more, "", "lag", (double)record->lag);
    add(&more, "", "lot", (double)record->outcome->lot);
    add_outcome(&more, record->outcome, false);
    tinkc_rl_report_init(&report);
    report.step = (int64_t)record->step;
    report.counts = &record->counts;
    report.gap = record->has_gap ? &record->gap : NULL;
    report.loss = record->loss;
    report.rate = rate;
    report.seconds = record->seconds;
    report.more = more.at;
    report.more_n = more.n;
    return put(lines, &report, err);
}

tinkc_code rl_metrics_eval(rl_lines *lines, size_t step, const rl_outcome *outcome,
                           tk_err *err)
{
    numbers more = {.n = 0};
    tinkc_rl_report report;
    if (outcome->rewarded > 0) {
        add(&more, "", "eval/reward", outcome->reward_sum / (double)outcome->rewarded);
    }
    add(&more, "", "eval/episodes", (double)outcome->episodes);
    add_outcome(&more, outcome, true);
    tinkc_rl_report_init(&report);
    report.step = (int64_t)step;
    report.more = more.at;
    report.more_n = more.n;
    return put(lines, &report, err);
}

/* ---- reading ---- */

static void add_point(void *user, size_t step, tk_str line, const tk_json *json)
{
    static const char *const keys[RL_LINES] = {
        [RL_LINE_STEPS] = "reward/mean", [RL_LINE_EVAL] = "eval/reward"};
    cmd_plot_line *curve = user;
    (void)line;
    for (size_t i = 0; i < RL_LINES; i++) {
        double value = NAN;
        const tk_json *number = tk_json_get(json, keys[i]);
        if (number != NULL && tk_json_to_double(number, &value)) {
            (void)!cmd_plot_add(&curve[i], (double)step, value);
        }
    }
}

tinkc_code rl_metrics_read(const char *path, size_t step, cmd_plot_line *curve,
                           tk_err *err)
{
    return rl_lines_read(path, step, add_point, curve, err);
}

const char *rl_metrics_worst(const rl_outcome *outcome)
{
    rl_kind worst = RL_KIND_OK + 1;
    for (size_t i = worst; i < RL_KINDS; i++) {
        if (outcome->troubles[i].n > outcome->troubles[worst].n) {
            worst = (rl_kind)i;
        }
    }
    return rl_kind_text(worst);
}
