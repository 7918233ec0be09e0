/* Shuffles the rows of an epoch when a step needs them; keeps one epoch at a time.
 * Needs: text */
#include "cli/train/train_plan.h"

#include <math.h>

#include "base/mem.h"
#include "base/rand.h"

#define STEPS_MAX ((size_t)100 * 1000 * 1000)
#define PI        3.14159265358979323846

/* A Fisher-Yates shuffle whose generator depends on the seed and the epoch. */
static void shuffle(train_plan *plan, size_t epoch)
{
    tk_rand rand;
    tk_rand_init(&rand, plan->seed + UINT64_C(0x9E3779B97F4A7C15) * (epoch + 1));
    for (size_t i = 0; i < plan->rows; i++) {
        plan->order[i] = (uint32_t)i;
    }
    for (size_t i = plan->rows; i > 1; i--) {
        size_t j = (size_t)tk_rand_below(&rand, i);
        uint32_t row = plan->order[i - 1];
        plan->order[i - 1] = plan->order[j];
        plan->order[j] = row;
    }
    plan->epoch = epoch;
}

tinkc_code train_plan_init(train_plan *plan, size_t epochs, size_t steps, tk_err *err)
{
    if (plan->rows == 0 || plan->batch == 0 || (steps == 0 && epochs == 0)) {
        return tk_err_set(err, TINKC_E_INVALID, "nothing to train on");
    }
    if (plan->rows > UINT32_MAX || steps > STEPS_MAX ||
        !tk_size_mul(&plan->total, steps > 0 ? steps : epochs,
                     steps > 0 ? plan->batch : plan->rows) ||
        plan->total > SIZE_MAX - plan->batch) {
        return tk_err_set(err, TINKC_E_LIMIT, "more than %zu steps", STEPS_MAX);
    }
    plan->steps = (plan->total + plan->batch - 1) / plan->batch;
    plan->order = tk_array(plan->rows, sizeof(*plan->order));
    if (plan->steps > STEPS_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT, "more than %zu steps", STEPS_MAX);
    }
    if (plan->order == NULL) {
        return tk_err_nomem(err);
    }
    shuffle(plan, 0);
    return TINKC_OK;
}

void train_plan_dispose(train_plan *plan)
{
    tk_free(plan->order);
    plan->order = NULL;
}

size_t train_plan_batch(train_plan *plan, size_t step, size_t *out)
{
    size_t first = step * plan->batch, n = 0;
    for (; n < plan->batch && first + n < plan->total; n++) {
        size_t epoch = (first + n) / plan->rows;
        if (epoch != plan->epoch) {
            shuffle(plan, epoch);
        }
        out[n] = plan->order[(first + n) % plan->rows];
    }
    return n;
}

double train_plan_rate(const train_plan *plan, size_t step)
{
    if (step < plan->warmup) {
        return plan->rate * (double)(step + 1) / (double)(plan->warmup + 1);
    }
    double done =
        (double)(step - plan->warmup) / (double)TK_MAX(plan->steps - plan->warmup, 1);
    switch (plan->schedule) {
    case TRAIN_LINEAR:
        return plan->rate * (1 - done);
    case TRAIN_COSINE:
        return plan->rate * 0.5 * (1 + cos(PI * done));
    case TRAIN_CONSTANT:
        break;
    }
    return plan->rate;
}
