/* The agent that `tinkc rl --match` has built in: asks the model the question of a task, once,
 * and compares its answer. It needs no process; what comes out of it is what comes out of
 * an agent (rl_agent.h).
 *
 * A task is an object with "question" (or "problem", "prompt": a text) or "messages", and
 * "answer", a text or a number. Thread: one. */
#ifndef CLI_RL_ASK_H
#define CLI_RL_ASK_H

#include "cli/eval/eval_match.h"
#include "cli/rl/rl_agent.h"

typedef struct rl_asks rl_asks;

typedef struct rl_ask_config { /* borrowed during the call, `model` until it is closed */
    const char *url, *key;     /* of the gateway */
    const char *model;
    eval_match match;
    double cut_off; /* added to the reward of an answer that did not end */
} rl_ask_config;

TK_NODISCARD tinkc_code rl_asks_open(rl_asks **out, const rl_ask_config *config,
                                     tk_err *err);
void rl_asks_close(rl_asks *asks); /* accepts NULL */

/* Checks that a task can be asked: TINKC_E_INVALID. */
TK_NODISCARD tinkc_code rl_asks_check(tk_str task, tk_err *err);

/* Asks in the episode of this name. Errors of the question come out of wait. */
TK_NODISCARD tinkc_code rl_asks_start(rl_asks *asks, const char *episode, tk_str task,
                                      int64_t timeout_ms, void *user, tk_err *err);
size_t rl_asks_running(const rl_asks *asks);

/* Waits up to `ms` for one that has ended, and fills *out, whose texts are borrowed until the
 * next call. Returns false when there is none. */
TK_NODISCARD bool rl_asks_wait(rl_asks *asks, rl_ended *out, int ms);

/* Cancels all; they still come out of wait. */
void rl_asks_stop(rl_asks *asks);

#endif
