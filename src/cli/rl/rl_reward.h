/* The reward of an episode: the last line that its agent wrote. A number, or a JSON object
 * with the member "reward" and further numbers, which become metrics. Thread: any. */
#ifndef CLI_RL_REWARD_H
#define CLI_RL_REWARD_H

#include "base/str.h"

#define RL_REWARD_METRICS    16 /* of one episode; more are left out */
#define RL_REWARD_NAME_BYTES 48
#define RL_REWARD_MAX        1e30 /* and its negative: advantages are floats */

typedef struct rl_metric {
    char name[RL_REWARD_NAME_BYTES];
    double value;
} rl_metric;

typedef enum rl_reward_kind {
    RL_REWARD_OK = 0,
    RL_REWARD_NONE,      /* no line, or one that is neither a number nor such an object */
    RL_REWARD_NOT_FINITE /* NaN, infinite, or beyond RL_REWARD_MAX */
} rl_reward_kind;

typedef struct rl_reward {
    double value;
    rl_metric metrics[RL_REWARD_METRICS];
    size_t n_metrics;
} rl_reward;

/* Reads the reward from the end of an output. */
rl_reward_kind rl_reward_read(rl_reward *out, tk_str output);

/* Returns the last line that is not blank, without white space at its ends. */
tk_str rl_reward_line(tk_str output);

#endif
