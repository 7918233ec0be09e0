/* Seeds and advantages of <tinkc/rl.h>. Pure functions. */
#include "client/rl/rl.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "client/values/error.h"
#include "client/values/types.h"

/* Rewards that are closer than this, relative to the largest, differ by rounding only. */
#define SAME 1e-9

#define SEED_SHIFT 34 /* 64 - 30 */

uint64_t tinkc_rl_seed(uint64_t run, uint64_t task, uint64_t episode, uint64_t turn)
{
    const uint64_t values[] = {run, task, episode, turn};
    uint64_t h = 0;
    for (size_t i = 0; i < TK_ARRAY_LEN(values); i++) {
        h += values[i] + UINT64_C(0x9e3779b97f4a7c15);
        h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
        h ^= h >> 31;
    }
    return h >> SEED_SHIFT;
}

/* ---- shared ---- */

tinkc_code tk_rl_check_reward(double reward, tk_err *err)
{
    return isfinite((float)reward)
               ? TINKC_OK
               : tk_err_set(err, TINKC_E_INVALID,
                            "the reward is not a number within the range of a float");
}

void tk_rl_moments(double *mean, double *deviation, const double *values, size_t n)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += values[i];
    }
    *mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        squares += (values[i] - *mean) * (values[i] - *mean);
    }
    *deviation = sqrt(squares / (double)n);
}

void tk_rl_give(void *out, const void *full, size_t full_size)
{
    size_t size = 0;
    memcpy(&size, out, sizeof(size));
    memcpy(out, full, TK_MIN(size, full_size));
    memcpy(out, &size, sizeof(size));
}

tinkc_code tk_rl_read_advantage_options(tinkc_rl_advantage_options *out,
                                        const tinkc_rl_advantage_options *options,
                                        tk_err *err)
{
    tinkc_rl_advantage_options full = TINKC_RL_ADVANTAGE_OPTIONS_INIT;
    tinkc_code code = tk_types_options(&full, sizeof(full), options, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (full.baseline != TINKC_RL_BASELINE_MEAN &&
        full.baseline != TINKC_RL_BASELINE_OTHERS) {
        return tk_err_set(err, TINKC_E_INVALID, "there is no baseline %d",
                          (int)full.baseline);
    }
    *out = full;
    return TINKC_OK;
}

/* ---- advantages ---- */

static tinkc_code check_rewards(const double *rewards, size_t n, tk_err *err)
{
    for (size_t i = 0; i < n; i++) {
        tinkc_code code = tk_rl_check_reward(rewards[i], err);
        if (code != TINKC_OK) {
            tk_err_under_index(err, i);
            tk_err_under(err, "rewards");
            return code;
        }
    }
    return TINKC_OK;
}

static bool rewards_differ(const double *rewards, size_t n)
{
    double low = rewards[0], high = rewards[0];
    for (size_t i = 1; i < n; i++) {
        low = fmin(low, rewards[i]);
        high = fmax(high, rewards[i]);
    }
    return high - low > SAME * fmax(fabs(low), fabs(high));
}

tinkc_code tinkc_rl_advantages(double *out, bool *differ, const double *rewards, size_t n,
                               const tinkc_rl_advantage_options *options,
                               tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tinkc_rl_advantage_options o = TINKC_RL_ADVANTAGE_OPTIONS_INIT;
    double mean = 0, deviation = 0;
    if (out == NULL || rewards == NULL || n == 0) {
        return tk_error_tell(error, TINKC_E_INVALID, "there are no rewards");
    }
    tinkc_code code = tk_rl_read_advantage_options(&o, options, &err);
    if (code == TINKC_OK) {
        code = check_rewards(rewards, n, &err);
    }
    if (code != TINKC_OK) {
        return tk_error_give(error, &err);
    }
    bool they_differ = rewards_differ(rewards, n); /* with n = 1 they do not */
    tk_rl_moments(&mean, &deviation, rewards, n);
    double factor = o.baseline == TINKC_RL_BASELINE_OTHERS && n > 1
                        ? (double)n / (double)(n - 1) /* r - mean of the n - 1 others */
                        : 1;
    factor = o.scale && they_differ ? factor / deviation : factor;
    for (size_t i = 0; i < n; i++) {
        out[i] = they_differ ? (rewards[i] - mean) * factor : 0;
    }
    if (differ != NULL) {
        *differ = they_differ;
    }
    return TINKC_OK;
}
