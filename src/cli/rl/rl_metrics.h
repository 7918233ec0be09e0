/* The metrics of a run of `tinkc rl`: lines for a file, and what people read about agents
 * that failed. Thread: one. */
#ifndef CLI_RL_METRICS_H
#define CLI_RL_METRICS_H

#include "cli/frame/cmd_plot.h"
#include "cli/rl/rl_lines.h"
#include "cli/rl/rl_run.h"

/* Add the line of a step: that of tinkc_rl_report_json, then "lag", "lot", "rollout/seconds",
 * "turns/refused", "strays" and "strays/left" where there are some, "failed/KIND" for each
 * kind that there was, and "agent/NAME" for each metric of the agents. */
TK_NODISCARD tinkc_code rl_metrics_step(rl_lines *lines, const rl_record *record,
                                        double rate, tk_err *err);
/* Add the line of an evaluation: "eval/reward", "eval/episodes", and what rl_metrics_step adds
 * from "rollout/seconds" on, with "eval/" before it. */
TK_NODISCARD tinkc_code rl_metrics_eval(rl_lines *lines, size_t step,
                                        const rl_outcome *outcome, tk_err *err);

/* Reads the curve of a run that is resumed. */
TK_NODISCARD tinkc_code rl_metrics_read(const char *path, size_t step,
                                        cmd_plot_line *curve, tk_err *err);

/* Returns what most of the episodes that failed did, for people; static. */
const char *rl_metrics_worst(const rl_outcome *outcome);

#endif
