/* `tinkc dpo`: direct preference optimization. The loss of a batch is a custom loss of the
 * library (tinkc_rl_dpo_loss), which every server can train: a forward pass, the derivative
 * of the loss by each log-probability, and a backward pass with these as weights.
 * Needs: text */
#include <string.h>
#include <tinkc/rl.h>

#include "base/mem.h"
#include "cli/cmd_list.h"
#include "cli/dpo/dpo_reference.h"
#include "cli/frame/cmd_print.h"

#define EACH       2   /* rows of a pair */
#define RATE_SCALE 0.1 /* of the rate that suits cross entropy */

typedef struct dpo {
    dpo_reference reference;
    tinkc_rl_dpo_options options[TRAIN_AHEAD]; /* of the batches in flight */
    double *slots[TRAIN_AHEAD];                /* owned: their references */
    double *sums;                              /* owned: of a result */
    double beta;
} dpo;

/* ---- the goal ---- */

static tinkc_code make(train_run *run, train_batch *batch)
{
    dpo *d = run->goal->user;
    tinkc_code code =
        train_run_data(run, batch, batch->rows != NULL ? run->data : run->eval, EACH);
    for (size_t i = 0; code == TINKC_OK && batch->rows != NULL && i < batch->n; i++) {
        d->slots[batch->slot][i] =
            d->reference.rows[batch->rows[i / EACH] * EACH + i % EACH];
    }
    return code;
}

static tinkc_future *submit(train_run *run, const train_batch *batch)
{
    dpo *d = run->goal->user;
    tinkc_rl_dpo_options *options = &d->options[batch->slot];
    tinkc_rl_dpo_options_init(options);
    options->beta = d->beta;
    options->reference = d->slots[batch->slot];
    return tinkc_training_forward_backward_custom(run->training, batch->data, batch->n,
                                                  tinkc_rl_dpo_loss, options);
}

static tinkc_code read(train_run *run, const train_batch *batch,
                       const tinkc_fwdbwd *result, train_record *record)
{
    dpo *d = run->goal->user;
    tinkc_rl_dpo_result found = TINKC_RL_DPO_RESULT_INIT;
    tinkc_rl_dpo_pairs pairs = TINKC_RL_DPO_PAIRS_INIT;
    tinkc_code code = tinkc_rl_sums(d->sums, result, batch->data, batch->n, &run->error);
    if (code != TINKC_OK) {
        return code;
    }
    pairs.beta = d->beta;
    pairs.logprobs = d->sums;
    pairs.reference = batch->rows != NULL ? d->slots[batch->slot] : d->reference.eval;
    pairs.pairs = batch->n / EACH;
    code = tinkc_rl_dpo(&found, NULL, &pairs, &run->error);
    if (code != TINKC_OK) {
        return code;
    }
    record->loss = found.loss;
    train_record_put(record, "accuracy", found.accuracy, true);
    train_record_put(record, "margin", found.margin, true);
    train_record_put(record, "chosen_reward", found.chosen_reward, false);
    train_record_put(record, "rejected_reward", found.rejected_reward, false);
    return TINKC_OK;
}

/* ---- the kind ---- */

static dpo the_dpo;

static const train_goal goal = {.measure = "loss",
                                .key = "loss",
                                .axis = "loss (nats per pair)",
                                .each = EACH,
                                .ahead = TRAIN_AHEAD,
                                .passes = 2,
                                .make = make,
                                .submit = submit,
                                .read = read,
                                .user = &the_dpo};

static int begin(train_job *job)
{
    dpo *d = &the_dpo;
    size_t most = TK_MAX(job->plan.batch * EACH, job->eval.n);
    memset(d, 0, sizeof(*d));
    d->beta = job->numbers.beta;
    d->sums = tk_zarray(most, sizeof(*d->sums));
    bool ok = d->sums != NULL;
    for (size_t i = 0; i < TRAIN_AHEAD; i++) {
        d->slots[i] = tk_zarray(job->plan.batch * EACH, sizeof(**d->slots));
        ok = ok && d->slots[i] != NULL;
    }
    if (!ok) {
        return cmd_fail("out of memory");
    }
    int result = dpo_reference_get(&d->reference, job);
    job->state.anchor = d->reference.digest;
    job->goal = &goal;
    return result;
}

static void end(train_job *job)
{
    (void)job;
    dpo_reference_dispose(&the_dpo.reference);
    for (size_t i = 0; i < TRAIN_AHEAD; i++) {
        tk_free(the_dpo.slots[i]);
    }
    tk_free(the_dpo.sums);
    memset(&the_dpo, 0, sizeof(the_dpo));
}

static const train_kind kind = {.name = "dpo",
                                .title = "Training",
                                .noun = "pairs",
                                .want = DATA_PREFERENCES,
                                .rows_each = EACH,
                                .rate_scale = RATE_SCALE,
                                .begin = begin,
                                .end = end};

/* ---- the command ---- */

static int run(const cmd_args *args)
{
    return cmd_train_job(args, &kind);
}

static int check(const cmd_args *args)
{
    if (cmd_has(args, "beta") && !(cmd_number(args, "beta", 0) > 0)) {
        return cmd_bad_usage(args, "--beta must be above 0.");
    }
    return cmd_train_check(args);
}

static const cmd_option options[] = {
    CMD_TRAIN_OPTIONS("Pairs"),
    {"beta", 0, CMD_NUMBER, "X",
     "How much a change of log-probability counts; small: may move far (0.1).", false},
    {"eval", 'e', CMD_TEXT, "FILE", "Held-out pairs, to measure loss and accuracy on.",
     false},
    {"lr", 0, CMD_TEXT, "RATE|auto",
     "Learning rate (auto: a tenth of that of 'tinkc train').", false},
    {"seed", 0, CMD_INT, "N", "Seed of the LoRA and of the order of the pairs (1).",
     false},
    {"max-length", 0, CMD_INT, "N",
     "Longest prompt with an answer, in tokens (default: the model's context).", false},
    {"svg", 0, CMD_TEXT, "FILE",
     "Draw the loss curve to FILE, and again while it trains.", false},
    {"state", 0, CMD_TEXT, "FILE", "State file for --resume (NAME.dpo.json).", false},
    {0},
};

const cmd_spec cmd_dpo = {
    .name = "dpo",
    .operands = "FILE...",
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .help = "Train a model on preferences between answers (DPO).",
    .more =
        "FILE has a pair in each record: \"prompt\", \"chosen\" and \"rejected\", as texts or as lists\n"
        "of messages; or two whole conversations under \"chosen\" and \"rejected\", as messages or as\n"
        "text with Human: and Assistant: turns. Files may be JSONL, a JSON array or CSV, also packed\n"
        "with gzip or zstd; - is standard input. See docs/guide/preferences.md. The log-probabilities\n"
        "of the start weights are computed once, and kept beside the state file. Ctrl-C saves a\n"
        "checkpoint and stops; --resume continues from the last checkpoint with the same result\n"
        "as an uninterrupted run.",
    .examples = "tinkc dpo pairs.jsonl --model tinkc/pebble-llama-2m --local\n"
                "tinkc dpo pairs.jsonl --load my-sft --beta 0.1 --eval held-out.jsonl",
    .options = options,
    .check = check,
    .run = run,
};
