/* Computes the loss and compares it with the server's, in every sense that its name
 * allows. */
#include "cli/train/train_loss.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Servers that compute in bfloat16 round the loss and the log-probabilities apart. */
#define TOLERANCE  0.02
#define LEAST      1e-3
#define TEXT_BYTES 256

/* Returns whether the number of this name is a mean; a sum otherwise. */
static bool is_mean(const char *name)
{
    const char *suffix = strchr(name, ':');
    return suffix != NULL &&
           (strcmp(suffix, ":mean") == 0 || strcmp(suffix, ":avg") == 0);
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= TOLERANCE * fmax(fabs(a), fabs(b)) + LEAST;
}

/* Returns whether the server's number is the loss, as a sum, a mean over tokens, or a mean
 * over lines. A name without reduction may be any of them. */
static bool agrees(const char *name, double said, double sum,
                   const train_loss_batch *batch)
{
    bool is_open = strchr(name, ':') == NULL;
    bool mean =
        is_near(said, sum / batch->weight) || is_near(said, sum / (double)batch->n);
    return is_open ? mean || is_near(said, sum)
                   : (is_mean(name) ? mean : is_near(said, sum));
}

static void warn(train_loss *loss, const char *name, double said, double mean)
{
    char text[TEXT_BYTES];
    if (loss->warn == NULL || loss->has_warned) {
        return;
    }
    (void)snprintf(
        text, sizeof(text),
        "the server reports %s = %.4g, but its log-probabilities give a loss of "
        "%.4g per token, which is shown",
        name, said, mean);
    loss->has_warned = true;
    loss->warn(text);
}

tinkc_code train_loss_read(train_loss *loss, const tinkc_fwdbwd *result,
                           const train_loss_batch *batch, double *out, tk_err *err)
{
    const tinkc_metrics *metrics = tinkc_fwdbwd_metrics(result);
    const char *name = tinkc_metrics_loss_name(metrics);
    double said = NAN, sum = NAN;
    (void)tinkc_metrics_loss(&said, metrics, NULL);
    if (tinkc_fwdbwd_computed_loss(&sum, result, batch->data, batch->n, TRAIN_LOSS,
                                   NULL) != TINKC_OK) {
        if (name == NULL) {
            return tk_err_set(err, TINKC_E_DECODE,
                              "the server sent neither log-probabilities nor a loss");
        }
        *out = is_mean(name) ? said : said / batch->weight;
        return TINKC_OK;
    }
    *out = sum / batch->weight;
    if (name != NULL && isfinite(sum) && !agrees(name, said, sum, batch)) {
        warn(loss, name, said, *out);
    }
    return TINKC_OK;
}
