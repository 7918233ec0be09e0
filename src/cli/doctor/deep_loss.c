/* Checks of `tinkc doctor --deep`: what each loss gives, compared with its formula
 * (docs/protocol-messages.md §8.6) over the log-probabilities of the same answer. Gradients
 * are left on the model, which takes no step afterwards. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/doctor/deep.h"

#define TEXT   11 /* number of the text that the rollout consists of */
#define TOKENS 8
#define LOW    0.8
#define HIGH   1.2
#define BETA   0.05

/* Returns whether the name of a metric says that it is a mean. */
static bool is_mean(const char *name)
{
    return strstr(name, ":mean") != NULL;
}

/* Compares the loss that the server sent with the sum that the formula gives; n is what a
 * mean divides by. */
static deep_verdict compare(deep *d, const deep_pass *pass, double sum, double n)
{
    if (!pass->has_loss) {
        (void)snprintf(d->why, sizeof(d->why),
                       "The server takes this loss and sends no value, so only its "
                       "log-probabilities could be checked.");
        return deep_note(d, DEEP_OK, "accepted, no value");
    }
    double wanted = is_mean(pass->name) ? sum / n : sum;
    double gap = fabs(pass->loss - wanted), size = TK_MAX(fabs(wanted), 1);
    if (gap > DEEP_REDUCE * size && fabs(pass->loss - sum / n) <= DEEP_REDUCE * size) {
        (void)snprintf(d->why, sizeof(d->why),
                       "The server sends a mean as %s, which should be a sum.",
                       pass->name);
    }
    return deep_note(d, gap <= DEEP_REDUCE * size ? DEEP_OK : DEEP_OFF,
                     "%s %.4f, computed %.4f", pass->name, pass->loss, wanted);
}

static deep_verdict check_cross_entropy(deep *d)
{
    deep_pass pass;
    double n = 0;
    if (d->model == NULL) {
        return deep_skip(d, "there is no model that can be trained");
    }
    const deep_call call = {.model = d->model, .batch = &d->batch, .n = d->batch.n};
    if (!deep_backward(d, &call, &pass)) {
        return deep_failed(d);
    }
    for (size_t i = 0; i < d->batch.weights.n; i++) {
        n += (double)d->batch.weights.v[i];
    }
    return compare(d, &pass, deep_batch_loss(&d->batch, 0, &pass.lp), n);
}

/* ---- losses of reinforcement learning ---- */

typedef struct token {
    double lp, sampled, advantage;
} token;

static double clip(double ratio)
{
    return TK_MIN(TK_MAX(ratio, LOW), HIGH);
}

static double importance_sampling(const token *t)
{
    return -exp(t->lp - t->sampled) * t->advantage;
}

static double ppo(const token *t)
{
    double ratio = exp(t->lp - t->sampled);
    return -TK_MIN(ratio * t->advantage, clip(ratio) * t->advantage);
}

static double cispo(const token *t)
{
    return -clip(exp(t->lp - t->sampled)) * t->lp * t->advantage;
}

static double dro(const token *t)
{
    double gap = t->lp - t->sampled;
    return -(t->lp * t->advantage - 0.5 * BETA * gap * gap);
}

/* Makes a rollout whose ratios lie below, between and above the bounds of the clipping,
 * with advantages of both signs. */
static bool make_rollout(deep *d, deep_batch *out, deep_values *sampled,
                         deep_values *advantages)
{
    static const float shifts[TOKENS] = {0.1F, -0.1F, 0.6F, -0.6F, 0, 0.6F, -0.6F, 0.05F};
    static const float values[TOKENS] = {1, -0.5F, 1.5F, 1, 0.25F, -1, -0.75F, 2};
    deep_pass pass;
    tinkc_error_free(&d->error);
    bool ok = deep_batch_text(out, TOKENS, TEXT, &d->error) == TINKC_OK &&
              deep_forward(d, d->model, out, &pass);
    deep_batch_close(out);
    if (!ok) {
        return false;
    }
    *sampled = *advantages = (deep_values){.n = TOKENS};
    for (size_t i = 0; i < TOKENS; i++) {
        sampled->v[i] = pass.lp.v[i] - shifts[i];
        advantages->v[i] = values[i];
    }
    return deep_batch_rl(out, TEXT, sampled, advantages, &d->error) == TINKC_OK;
}

static deep_verdict check_rl(deep *d, const char *name, double (*formula)(const token *),
                             bool is_clipped)
{
    const tinkc_number bounds[] = {{"clip_low_threshold", LOW},
                                   {"clip_high_threshold", HIGH}};
    tinkc_fwdbwd_options options = TINKC_FWDBWD_OPTIONS_INIT;
    deep_values sampled, advantages;
    deep_batch batch = {.n = 0};
    deep_pass pass;
    double sum = 0;
    if (d->model == NULL) {
        return deep_skip(d, "there is no model that can be trained");
    }
    options.config = is_clipped ? bounds : NULL;
    options.config_n = is_clipped ? TK_ARRAY_LEN(bounds) : 0;
    if (!make_rollout(d, &batch, &sampled, &advantages)) {
        deep_batch_close(&batch);
        return deep_failed(d);
    }
    const deep_call call = {d->model, &batch, 0, 1, name, &options};
    bool ok = deep_backward(d, &call, &pass);
    deep_batch_close(&batch);
    if (!ok) {
        return deep_refused(d);
    }
    for (size_t i = 0; i < TOKENS; i++) {
        const token t = {(double)pass.lp.v[i], (double)sampled.v[i],
                         (double)advantages.v[i]};
        sum += formula(&t);
    }
    return compare(d, &pass, sum, TOKENS);
}

static deep_verdict check_importance_sampling(deep *d)
{
    return check_rl(d, "importance_sampling", importance_sampling, false);
}

static deep_verdict check_ppo(deep *d)
{
    return check_rl(d, "ppo", ppo, true);
}

static deep_verdict check_cispo(deep *d)
{
    return check_rl(d, "cispo", cispo, true);
}

static deep_verdict check_dro(deep *d)
{
    return check_rl(d, "dro", dro, false);
}

#define EXPECTED "the sum of its formula"
#define GOOD     "The loss is the sum that its formula gives."
#define BAD      "The loss is not the sum that its formula gives."

const deep_check deep_loss_checks[] = {
    {"cross_entropy", "the loss of a weighted batch", EXPECTED, GOOD, BAD,
     check_cross_entropy},
    {"importance_sampling", "the loss of a rollout", EXPECTED, GOOD, BAD,
     check_importance_sampling},
    {"ppo", "the loss, clipped to 0.8 to 1.2", EXPECTED, GOOD, BAD, check_ppo},
    {"cispo", "the loss, clipped to 0.8 to 1.2", EXPECTED, GOOD, BAD, check_cispo},
    {"dro", "the loss of a rollout", EXPECTED, GOOD, BAD, check_dro},
    {0},
};
