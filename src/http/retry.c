/* Retry arithmetic; see retry.h. Pure. */
#include "http/retry.h"

#include "base/date.h"

#define L1_BASE_MS        500
#define L1_MAX_MS         10000
#define L1_JITTER         0.25
#define HINT_MAX_MS       60000 /* a longer hint is ignored, as the official SDK does */
#define L2_BUDGET_MS      300000
#define L2_MAX_MS         30000
#define BILLING_WAIT_MS   5000
#define BILLING_FORGET_MS 300000 /* no 402 for so long: a new incident */
#define BILLING_LOG_MS    60000

/* ---- reading a response ---- */

/* A number of `unit_ms` in decimal text, rounded down to milliseconds; -1 when it is
 * none. */
static int64_t parse_span(tk_str text, double unit_ms)
{
    double value;
    if (!tk_str_to_double(tk_str_trim(text), &value) || value < 0) {
        return -1;
    }
    double ms = value * unit_ms;
    return ms < 1e15 ? (int64_t)ms : (int64_t)1e15;
}

int64_t tk_retry_hint_ms(tk_str retry_after_ms, tk_str retry_after, int64_t wall_us)
{
    int64_t ms = parse_span(retry_after_ms, 1);
    if (ms < 0) {
        ms = parse_span(retry_after, 1000);
    }
    int64_t at_us;
    if (ms < 0 &&
        tk_date_parse_http(&at_us, tk_str_trim(retry_after), wall_us, NULL) == TINKC_OK) {
        ms = at_us > wall_us ? (at_us - wall_us) / 1000 : 0;
    }
    return ms;
}

static int parse_should_retry(tk_str text)
{
    return tk_str_is(text, "true") ? 1 : tk_str_is(text, "false") ? 0 : -1;
}

tk_retry_outcome tk_retry_outcome_of(const tk_http_response *response, int64_t wall_us)
{
    tk_retry_outcome outcome = {
        .failure = response->failure,
        .status = response->status,
        .should_retry = -1,
        .hint_ms = -1,
    };
    if (response->failure != TK_HTTP_OK) {
        return outcome;
    }
    outcome.should_retry = parse_should_retry(tk_http_header(response, "x-should-retry"));
    outcome.hint_ms = tk_retry_hint_ms(tk_http_header(response, "retry-after-ms"),
                                       tk_http_header(response, "retry-after"), wall_us);
    tk_str length = tk_http_header(response, "content-length");
    outcome.bare_400 =
        response->status == 400 && (length.p == NULL || tk_str_is(length, "0"));
    return outcome;
}

static bool is_success(const tk_retry_outcome *outcome)
{
    return outcome->failure == TK_HTTP_OK && !outcome->credential_failed &&
           outcome->status >= 200 && outcome->status <= 299;
}

/* Failures that a second try cannot mend: the caller's doing, or ours. */
static bool is_final_failure(tk_http_failure failure)
{
    return failure == TK_HTTP_CANCELLED || failure == TK_HTTP_TOO_LARGE ||
           failure == TK_HTTP_NOMEM;
}

bool tk_retry_is_transient(const tk_retry_outcome *outcome)
{
    if (outcome->credential_failed) {
        return true;
    }
    if (outcome->failure != TK_HTTP_OK) {
        return !is_final_failure(outcome->failure);
    }
    int status = outcome->status;
    return status == 408 || status == 409 || status == 429 || status >= 500;
}

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

static int64_t l1_delay(const tk_retry_outcome *outcome, int retries, tk_rand *rand)
{
    if (outcome->hint_ms > 0 && outcome->hint_ms <= HINT_MAX_MS) {
        return outcome->hint_ms;
    }
    double full = (double)doubled(L1_BASE_MS, retries, L1_MAX_MS);
    return (int64_t)(full * (1 - L1_JITTER * tk_rand_double(rand)));
}

tk_retry_decision tk_retry_l1(const tk_retry_outcome *outcome, int retries,
                              int max_retries, tk_rand *rand)
{
    if (is_success(outcome)) {
        return decision_done;
    }
    bool again = tk_retry_is_transient(outcome);
    if (outcome->failure == TK_HTTP_OK && outcome->should_retry >= 0) {
        again = outcome->should_retry == 1;
    }
    if (!again || retries >= max_retries) {
        return decision_fail;
    }
    return again_after(l1_delay(outcome, retries, rand));
}

void tk_retry_pool_note(tk_retry_pool *pool, tk_retry_outcome *outcome, bool *replace)
{
    *replace = false;
    if (is_success(outcome)) {
        pool->budget = TK_MIN(pool->budget + 1, TK_RETRY_POOL_BUDGET);
        return;
    }
    if (outcome->failure != TK_HTTP_OK || !outcome->bare_400) {
        return;
    }
    *replace = true;
    if (pool->budget > 0) {
        pool->budget--;
        outcome->failure = TK_HTTP_RESET;
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

tk_retry_decision tk_retry_l2(tk_retry_l2_state *state, const tk_retry_outcome *outcome,
                              bool billing_paused, int64_t now_ms)
{
    if (is_success(outcome)) {
        return decision_done;
    }
    if (outcome->failure == TK_HTTP_OK && outcome->status == 402 && billing_paused) {
        return again_after(BILLING_WAIT_MS);
    }
    int64_t elapsed = now_ms - state->started_ms;
    if (!tk_retry_is_transient(outcome) || elapsed >= L2_BUDGET_MS) {
        return decision_fail;
    }
    int64_t delay = doubled(1000, state->k, L2_MAX_MS);
    state->k++;
    return again_after(TK_MIN(delay, L2_BUDGET_MS - elapsed));
}

int64_t tk_retry_l3_delay(const tk_retry_l3_config *config, int attempt, tk_rand *rand)
{
    double full = (double)doubled(config->base_ms, attempt, config->max_ms);
    double swing = full * config->jitter * (2 * tk_rand_double(rand) - 1);
    double delay = full + swing;
    delay = TK_MIN(TK_MAX(delay, 0), (double)config->max_ms);
    return (int64_t)delay;
}
