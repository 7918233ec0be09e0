/* The arithmetic of delays: doubling without overflow, jitter, hints. Pure. */
#include "http/retry.h"

#define L1_BASE_MS        500
#define L1_MAX_MS         10000
#define L1_JITTER         0.25
#define L2_MAX_MS         30000
#define BILLING_FORGET_MS 300000 /* without a 402 for that time: a new incident */
#define BILLING_LOG_MS    60000

/* ---- layers ---- */

static const tk_retry_decision decision_done = {TK_RETRY_DONE, 0};
static const tk_retry_decision decision_fail = {TK_RETRY_FAIL, 0};

static tk_retry_decision again_after(int64_t delay_ms)
{
    tk_retry_decision decision = {TK_RETRY_AGAIN, delay_ms};
    return decision;
}

/* base * 2^n, at most max; safe for any n. */
static int64_t doubled(int64_t base, int n, int64_t max)
{
    return n >= 20 ? max : TK_MIN(base << n, max);
}

int64_t tk_retry_after(int64_t plain_ms, int64_t hint_ms)
{
    return hint_ms > 0 ? TK_MIN(hint_ms, TK_RETRY_HINT_MAX_MS) : plain_ms;
}

int64_t tk_retry_pace_left_ms(const tk_retry_pace *pace, int64_t now_ms)
{
    return TK_MAX(pace->next_ms - now_ms, 0);
}

void tk_retry_pace_note(tk_retry_pace *pace, int64_t every_ms, int64_t now_ms)
{
    pace->next_ms =
        TK_MIN(TK_MAX(pace->next_ms, now_ms) + every_ms, now_ms + 2 * every_ms);
}

/* For the layers without a limit on the number of requests: a hint only makes the delay
 * longer, so that a server that asks for a millisecond is not asked a thousand times a
 * second. */
static int64_t at_least(int64_t plain_ms, int64_t hint_ms)
{
    return TK_MAX(plain_ms, tk_retry_after(plain_ms, hint_ms));
}

static int64_t l1_delay(const tk_retry_outcome *outcome, int retries, int64_t left_ms,
                        tk_rand *rand)
{
    double full = (double)doubled(L1_BASE_MS, retries, L1_MAX_MS);
    int64_t plain = (int64_t)(full * (1 - L1_JITTER * tk_rand_double(rand)));
    return TK_MIN(tk_retry_after(plain, outcome->hint_ms), TK_MAX(left_ms, plain));
}

tk_retry_decision tk_retry_l1(const tk_retry_outcome *outcome, int retries,
                              int max_retries, int64_t left_ms, tk_rand *rand)
{
    if (outcome->success) {
        return decision_done;
    }
    bool again = outcome->transient;
    if (outcome->status != 0 && outcome->should_retry >= 0) {
        again = outcome->should_retry == 1;
    }
    if (!again || retries >= max_retries) {
        return decision_fail;
    }
    return again_after(l1_delay(outcome, retries, left_ms, rand));
}

void tk_retry_pool_note(tk_retry_pool *pool, tk_retry_outcome *outcome, bool *replace)
{
    *replace = false;
    if (outcome->success) {
        pool->budget = TK_MIN(pool->budget + 1, TK_RETRY_POOL_BUDGET);
        return;
    }
    if (!outcome->bare_400) {
        return;
    }
    *replace = true;
    if (pool->budget > 0) {
        pool->budget--;
        outcome->status = 0;
        outcome->bare_400 = false;
        outcome->transient = true;
    }
}

bool tk_retry_billing_pause(tk_retry_billing *billing, int64_t now_ms, bool *log_now)
{
    *log_now = false;
    if (billing->has_logged && now_ms - billing->logged_ms > BILLING_FORGET_MS) {
        billing->has_logged = false;
        billing->has_first = false;
    }
    if (billing->has_first && now_ms - billing->first_ms > billing->max_pause_ms) {
        return false;
    }
    if (!billing->has_logged || now_ms - billing->logged_ms > BILLING_LOG_MS) {
        *log_now = true;
        billing->has_logged = true;
        billing->logged_ms = now_ms;
    }
    if (!billing->has_first) {
        billing->has_first = true;
        billing->first_ms = now_ms;
    }
    return true;
}

int64_t tk_retry_l2_left_ms(const tk_retry_l2_state *state, int64_t now_ms)
{
    return state->budget_ms - (now_ms - state->started_ms);
}

tk_retry_decision tk_retry_l2(tk_retry_l2_state *state, const tk_retry_outcome *outcome,
                              bool billing_paused, int64_t now_ms)
{
    if (outcome->success) {
        return decision_done;
    }
    if (outcome->status == 402 && billing_paused) {
        return again_after(at_least(TK_RETRY_BILLING_MS, outcome->hint_ms));
    }
    int64_t left = tk_retry_l2_left_ms(state, now_ms);
    if (!outcome->transient || left <= 0) {
        return decision_fail;
    }
    int64_t delay = at_least(doubled(1000, state->k, L2_MAX_MS), outcome->hint_ms);
    state->k++;
    return again_after(TK_MIN(delay, left));
}

int64_t tk_retry_l3_delay(const tk_retry_l3_config *config, int attempt, tk_rand *rand)
{
    double full = (double)doubled(config->base_ms, attempt, config->max_ms);
    double swing = full * config->jitter * (2 * tk_rand_double(rand) - 1);
    double delay = full + swing;
    delay = TK_MIN(TK_MAX(delay, 0), (double)config->max_ms);
    return (int64_t)delay;
}
