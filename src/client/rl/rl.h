/* What the parts of <tinkc/rl.h> share. Thread: any. */
#ifndef CLIENT_RL_H
#define CLIENT_RL_H

#include <tinkc/rl.h>

#include "base/err.h"

/* TINKC_OK when the reward is a number that fits a float; else TINKC_E_INVALID. */
TK_NODISCARD tinkc_code tk_rl_check_reward(double reward, tk_err *err);

/* Mean and standard deviation (of the numbers themselves, not of what they were drawn
 * from); n is at least 1, and every value passes tk_rl_check_reward. */
void tk_rl_moments(double *mean, double *deviation, const double *values, size_t n);

/* Copies *full to an output struct of the caller, which may be an older and shorter one:
 * both start with their size, and that of `out` stays. */
void tk_rl_give(void *out, const void *full, size_t full_size);

/* Reads options, for the checks that computing and collecting share. */
TK_NODISCARD tinkc_code
tk_rl_read_advantage_options(tinkc_rl_advantage_options *out,
                             const tinkc_rl_advantage_options *options, tk_err *err);

#endif
