/* `tinkc distill`: on-policy distillation. The student, which is trained, answers prompts;
 * the teacher says how likely it finds every token of the answers, and the difference of the
 * log-probabilities is the token's advantage.
 * Needs: text */
#include <string.h>
#include <tinkc/rl.h>

#include "base/mem.h"
#include "cli/cmd_list.h"
#include "cli/distill/distill_roll.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_progress.h"
#include "cli/frame/cmd_resolve.h"
#include "cli/frame/cmd_rest.h"
#include "cli/frame/cmd_served.h"
#include "cli/train/cmd_train.h"

#define LOSS        "importance_sampling"
#define RATE_SCALE  0.5        /* of the rate that suits cross entropy */
#define EVAL_SEED   0x6576616c /* "eval": held-out prompts have seeds of their own */
#define ANSWERS_MAX 65536      /* of a step */

typedef struct distill {
    train_goal goal;   /* `each` is the number of samples */
    distill_ask ask;   /* of a step and of an evaluation, but for what is asked */
    distill_sums sums; /* of the step */
    tinkc_sampling *teacher;
    int32_t end;
} distill;

static distill the_distill;

/* ---- the goal ---- */

/* Opens the student as it is now; the caller closes it. */
static tinkc_code open_student(tinkc_sampling **out, train_run *run)
{
    tinkc_future *future = tinkc_training_save_and_sample(run->training);
    tinkc_code code = train_run_wait(run, future);
    if (code == TINKC_OK) {
        code = tinkc_future_take_sampling(out, future, &run->error);
    }
    tinkc_future_free(&future);
    return code;
}

/* Answers with the weights of this moment. */
static tinkc_code roll(distill_sums *out, train_run *run, distill_ask *ask)
{
    tinkc_code code = open_student(&ask->student, run);
    if (code == TINKC_OK) {
        code = distill_roll(out, run, ask);
    }
    tinkc_sampling_close(&ask->student);
    return code;
}

static tinkc_code make(train_run *run, train_batch *batch)
{
    distill *d = run->goal->user;
    distill_ask ask = d->ask;
    ask.set = run->data;
    ask.rows = batch->rows;
    ask.n = batch->n_rows;
    ask.task = (uint64_t)(batch->step - 1) * run->plan->batch;
    ask.data = batch->data;
    tinkc_code code = roll(&d->sums, run, &ask);
    if (code == TINKC_OK && d->sums.data == 0) {
        code = tk_err_set(&run->err, TINKC_E_INVALID, "no answer of step %zu has a token",
                          batch->step);
    }
    if (code == TINKC_OK) {
        batch->n = d->sums.data;
        batch->tokens = d->sums.inputs;
        batch->weight = (double)d->sums.tokens;
    }
    return code;
}

static tinkc_future *submit(train_run *run, const train_batch *batch)
{
    return tinkc_training_forward_backward(run->training, batch->data, batch->n, LOSS,
                                           NULL);
}

/* The trainer should agree with the sampler; what it says is only compared. */
static tinkc_code read(train_run *run, const train_batch *batch,
                       const tinkc_fwdbwd *result, train_record *record)
{
    const distill *d = run->goal->user;
    tinkc_rl_gap gap = TINKC_RL_GAP_INIT;
    distill_roll_record(record, &d->sums);
    tinkc_code code = tinkc_rl_gap_compute(&gap, result, batch->data, batch->n, NULL);
    if (code == TINKC_OK) {
        train_record_put(record, "gap", gap.abs_mean, false);
    }
    return TINKC_OK;
}

static tinkc_code evaluate(train_run *run, train_record *record)
{
    const distill *d = run->goal->user;
    distill_ask ask = d->ask;
    distill_sums sums;
    ask.set = run->eval;
    ask.rows = NULL;
    ask.n = run->eval->n;
    ask.seed ^= EVAL_SEED;
    tinkc_code code = roll(&sums, run, &ask);
    if (code == TINKC_OK) {
        distill_roll_record(record, &sums);
    }
    return code;
}

/* ---- the teacher ---- */

/* Returns whether both tokenizers give the same meaning to every id. */
static bool are_same(const tinkc_tokenizer *a, const tinkc_tokenizer *b)
{
    size_t n = tinkc_tokenizer_size(a);
    bool same = n == tinkc_tokenizer_size(b);
    for (size_t i = 0; same && i < n; i++) {
        size_t lengths[2] = {0, 0};
        const char *one = tinkc_tokenizer_token(&lengths[0], a, (int32_t)i);
        const char *other = tinkc_tokenizer_token(&lengths[1], b, (int32_t)i);
        same = (one == NULL) == (other == NULL) && lengths[0] == lengths[1] &&
               (one == NULL || memcmp(one, other, lengths[0]) == 0);
    }
    return same;
}

static int compare_tokenizers(const distill *d, const train_job *job)
{
    const char *typed = job->settings[TRAIN_TEACHER];
    tinkc_tokenizer *other = NULL;
    tinkc_error *error = NULL;
    cmd_progress("Loading the tokenizer of %s", typed);
    if (tinkc_sampling_get_tokenizer(&other, d->teacher, NULL, &error) != TINKC_OK) {
        return cmd_fail_error(&error, "Cannot find the tokenizer of the teacher");
    }
    bool same = are_same(job->tokenizer, other);
    tinkc_tokenizer_free(&other);
    return same
               ? CMD_OK
               : cmd_fail_hint("The teacher scores the tokens of the student, so it must "
                               "be a model with the same tokens.",
                               "%s and the teacher %s have different tokenizers",
                               job->model, typed);
}

/* Opens the teacher: of a run that is resumed the one that it began with, also when its name
 * now means a later checkpoint. */
static int open_teacher(distill *d, train_job *job)
{
    const char *typed = job->settings[TRAIN_TEACHER];
    bool is_known = job->from_step > 0 && !cmd_resolve_is_directory(typed);
    const char *known = is_known ? job->state.anchor : NULL;
    tk_str copy = {NULL, 0};
    char *name = NULL;
    tinkc_error *error = NULL;
    int result = cmd_resolve(&name, job->service, job->args,
                             known != NULL ? known : typed, CMD_MODEL);
    if (result != CMD_OK) {
        return result;
    }
    bool is_path = cmd_rest_scheme(name) > 0;
    bool kept = tk_arena_dup(&job->state.arena, &copy, name, strlen(name));
    job->state.anchor = copy.p;
    if (!kept) {
        result = cmd_fail("out of memory");
    } else if (tinkc_service_create_sampling_wait(
                   &d->teacher, job->service, is_path ? NULL : name,
                   is_path ? name : NULL, &error) != TINKC_OK) {
        result = cmd_served_fail(job->service, name, CMD_MODEL, &error);
    } else if (strcmp(name, job->model) != 0) {
        result = compare_tokenizers(d, job);
    }
    tk_free(name);
    return result;
}

/* ---- the kind ---- */

static int begin(train_job *job)
{
    distill *d = &the_distill;
    memset(d, 0, sizeof(*d));
    int result = open_teacher(d, job);
    if (result != CMD_OK) {
        return result;
    }
    const train_numbers *numbers = &job->numbers;
    d->end = tinkc_tokenizer_end(job->tokenizer);
    tinkc_sampling_params_init(&d->ask.params);
    d->ask.params.max_tokens = numbers->max_tokens;
    d->ask.params.temperature = numbers->temperature;
    if (d->end >= 0) { /* not every server stops there by itself */
        d->ask.params.stop_tokens = &d->end;
        d->ask.params.stop_tokens_n = 1;
    }
    d->ask.teacher = d->teacher;
    d->ask.samples = (size_t)numbers->samples;
    d->ask.seed = numbers->seed;
    d->ask.coefficient = numbers->coefficient;
    d->goal = (train_goal){.measure = "KL",
                           .key = "kl",
                           .axis = "KL (nats per token)",
                           .each = d->ask.samples,
                           .ahead = 1,
                           .make = make,
                           .submit = submit,
                           .read = read,
                           .evaluate = evaluate,
                           .user = d};
    job->goal = &d->goal;
    return CMD_OK;
}

/* Checks what the command line or, when a run is resumed, its state file says. */
static int check_settings(const cmd_args *args, const char *teacher, int64_t batch,
                          int64_t samples)
{
    if (teacher == NULL) {
        return cmd_bad_usage(args, "Missing option '--teacher'.");
    }
    if (samples > 0 && batch > ANSWERS_MAX / samples) {
        return cmd_bad_usage(args,
                             "A step has at most %d answers (--batch times --samples).",
                             ANSWERS_MAX);
    }
    return CMD_OK;
}

static int begin_checked(train_job *job)
{
    int result = check_settings(job->args, job->settings[TRAIN_TEACHER],
                                job->numbers.batch, job->numbers.samples);
    return result == CMD_OK ? begin(job) : result;
}

static void end(train_job *job)
{
    (void)job;
    tinkc_sampling_close(&the_distill.teacher);
}

static const train_kind kind = {.name = "distill",
                                .title = "Distilling into",
                                .noun = "prompts",
                                .want = DATA_PROMPTS,
                                .rows_each = 1,
                                .rate_scale = RATE_SCALE,
                                .begin = begin_checked,
                                .end = end};

/* ---- the command ---- */

static int run(const cmd_args *args)
{
    return cmd_train_job(args, &kind);
}

static int check(const cmd_args *args)
{
    bool is_begun = cmd_has(args, "resume"); /* then the state file knows it */
    int result = check_settings(args, cmd_text(args, "teacher", is_begun ? "" : NULL),
                                cmd_int(args, "batch", 0), cmd_int(args, "samples", 1));
    return result == CMD_OK ? cmd_train_check(args) : result;
}

static const cmd_option options[] = {
    CMD_TRAIN_OPTIONS("Prompts"),
    {"teacher", 't', CMD_TEXT, "NAME",
     "Model or checkpoint to learn from, with the same tokenizer.", false},
    {"samples", 'k', CMD_INT, "K", "Answers to each prompt in a step (4).", false},
    {"max-tokens", 0, CMD_INT, "N", "Most tokens of an answer (128).", false},
    {"temperature", 0, CMD_NUMBER, "T", "Randomness of the answers (1).", false},
    {"coefficient", 0, CMD_NUMBER, "X", "Factor of the advantages (1).", false},
    {"eval", 'e', CMD_TEXT, "FILE", "Held-out prompts, to measure the KL on.", false},
    {"lr", 0, CMD_TEXT, "RATE|auto",
     "Learning rate (auto: half of that of 'tinkc train').", false},
    {"seed", 0, CMD_INT, "N",
     "Seed of the LoRA, of the order of the prompts and of the answers (1).", false},
    {"max-length", 0, CMD_INT, "N",
     "Longest prompt, in tokens (default: what the answers leave of the context).",
     false},
    {"svg", 0, CMD_TEXT, "FILE", "Draw the curve to FILE, and again while it trains.",
     false},
    {"state", 0, CMD_TEXT, "FILE", "State file for --resume (NAME.distill.json).", false},
    {0},
};

const cmd_spec cmd_distill = {
    .name = "distill",
    .operands = "FILE...",
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .help = "Train a model to answer as another one does (on-policy distillation).",
    .more =
        "FILE has prompts, in every format that 'tinkc train' reads (answers in it are left out) and\n"
        "as plain text, each line a message. In each step the student (--model) answers the prompts,\n"
        "the teacher scores every token of the answers, and tokens that the teacher finds likelier\n"
        "than the student are reinforced. Shown is the divergence KL(student || teacher) per token,\n"
        "estimated on the answers. See docs/guide/distillation.md. Ctrl-C saves a checkpoint and\n"
        "stops; --resume continues from the last checkpoint with the same result as an uninterrupted\n"
        "run.",
    .examples =
        "tinkc distill prompts.jsonl --teacher my-sft --model tinkc/pebble-llama-2m --local\n"
        "tinkc distill prompts.jsonl --resume --eval held-out.jsonl",
    .options = options,
    .check = check,
    .run = run,
};
