/* A run of a command that trains (cmd_train.h). Reads and checks everything before the
 * first step, with --resume also the state file of the earlier run, then trains (train_run.h)
 * and shows the result (cmd_train_out.c). Owns everything of the run for as long as the
 * command takes.
 * Needs: text */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tinkc/ledger.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/data/data_read.h"
#include "cli/frame/cmd_details.h"
#include "cli/frame/cmd_json.h"
#include "cli/frame/cmd_page.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_progress.h"
#include "cli/frame/cmd_resolve.h"
#include "cli/frame/cmd_served.h"
#include "cli/frame/cmd_service.h"
#include "cli/train/cmd_train.h"
#include "cli/train/train_rate.h"

#define UNLOAD_MS 5000 /* the user waits for that at the end */

/* ---- the model ---- */

/* Finds the base model and the weights to start from. */
static int resolve_names(train_job *t)
{
    const char *load = t->from_step > 0 ? NULL : t->settings[TRAIN_LOAD];
    int result =
        cmd_resolve(&t->model, t->service, t->args, t->settings[TRAIN_MODEL], CMD_BASE);
    if (result == CMD_OK && load != NULL) {
        result = cmd_resolve(&t->load, t->service, t->args, load, CMD_TRAINING);
    }
    return result;
}

/* Opens a training client: from a checkpoint, or (NULL) with a new LoRA. */
static int open_weights(tinkc_training **out, train_job *t, const char *from,
                        bool with_optimizer)
{
    tinkc_error *error = NULL;
    tinkc_code code;
    if (from != NULL) {
        tinkc_from_state_options options = TINKC_FROM_STATE_OPTIONS_INIT;
        options.with_optimizer = with_optimizer;
        options.base_model = t->model;
        code = tinkc_service_create_training_from_state_wait(out, t->service, from,
                                                             &options, &error);
    } else {
        tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
        lora.rank = t->numbers.rank;
        lora.has_seed = true;
        lora.seed = t->numbers.seed;
        code =
            tinkc_service_create_training_wait(out, t->service, t->model, &lora, &error);
    }
    if (code != TINKC_OK) {
        return cmd_served_fail(t->service, from != NULL ? from : t->model, CMD_BASE,
                               &error);
    }
    return CMD_OK;
}

static int open_model(train_job *t)
{
    bool is_resumed = t->from_step > 0;
    return open_weights(&t->training, t, is_resumed ? t->state.checkpoint : t->load,
                        is_resumed);
}

int cmd_train_open_start(tinkc_training **out, train_job *job)
{
    const char *load = job->settings[TRAIN_LOAD];
    int result = CMD_OK;
    if (job->load == NULL && load != NULL) { /* resumed */
        result = cmd_resolve(&job->load, job->service, job->args, load, CMD_TRAINING);
    }
    return result == CMD_OK ? open_weights(out, job, job->load, false) : result;
}

static int open_tokenizer(train_job *t)
{
    tinkc_error *error = NULL;
    tinkc_tokenizer_options options = TINKC_TOKENIZER_OPTIONS_INIT;
    options.tokenizer_id = t->settings[TRAIN_TOKENIZER];
    if (tinkc_service_get_tokenizer(&t->tokenizer, t->service, t->model, &options,
                                    &error) != TINKC_OK) {
        return cmd_served_fail(t->service, t->model, CMD_BASE, &error);
    }
    tinkc_code code = tinkc_chat_template_of(&t->tpl, t->tokenizer, NULL, &error);
    if (code != TINKC_OK && code != TINKC_E_MISSING) {
        return cmd_fail_error(&error, "Cannot use the chat template of %s", t->model);
    }
    tinkc_error_free(&error);
    return CMD_OK;
}

/* Gives the context of the model in tokens; 0 when the server does not say. */
static int ask_context(train_job *t, size_t *out)
{
    tinkc_capabilities *all = NULL;
    tinkc_error *error = NULL;
    if (tinkc_service_capabilities_wait(&all, t->service, &error) != TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    *out = 0;
    for (size_t i = 0; i < tinkc_capabilities_count(all); i++) {
        const char *name = tinkc_capabilities_name(all, i);
        if (name != NULL && strcmp(name, t->model) == 0 &&
            tinkc_capabilities_context(all, i) > 0) {
            *out = (size_t)tinkc_capabilities_context(all, i);
        }
    }
    tinkc_capabilities_free(&all);
    return CMD_OK;
}

/* ---- data ---- */

/* Reads the files into the set and gives the digest of what was in them. */
static int read_data(train_job *t, data_set *set, data_files *files, size_t context,
                     char digest[TK_SHA256_HEX_BYTES])
{
    size_t most = (size_t)t->numbers.max_length;
    if (t->kind->want == DATA_PROMPTS && context > 0) { /* the answers need room, too */
        size_t answer = (size_t)t->numbers.max_tokens;
        if (answer >= context) {
            return cmd_fail(
                "--max-tokens %zu leaves no room for a prompt: the context of "
                "%s is %zu tokens",
                answer, t->model, context);
        }
        context -= answer;
    }
    data_source source = {.want = t->kind->want,
                          .tokenizer = t->tokenizer,
                          .tpl = t->tpl,
                          .max_tokens = most > 0 ? most : context,
                          .loss_on = t->numbers.loss_on};
    data_read_format(&source, t->settings[TRAIN_INPUT_FORMAT]);
    data_set_init(set, tinkc_tokenizer_size(t->tokenizer));
    int result = data_read(set, files, &source, digest);
    if (result != CMD_OK) {
        return result;
    }
    data_read_show(stderr, files);
    if (set->problems > 0 && t->habits[TRAIN_SKIP_BAD] == NULL) {
        return cmd_fail_hint("Fix them, or leave them out with --skip-bad.",
                             "%zu of %zu lines of %s cannot be used for training",
                             set->problems, set->problems + data_read_records(files),
                             data_read_name(files));
    }
    return set->n > 0 ? CMD_OK
                      : cmd_fail("%s has no line to train on", data_read_name(files));
}

static int compare_digest(const train_job *t, const char *digest)
{
    return strcmp(t->state.data, digest) == 0
               ? CMD_OK
               : cmd_fail("%s is not the data of the run in %s",
                          data_read_name(&t->data_paths), t->state_path);
}

/* Reads training data and held-out data; a run that is resumed must have the same. */
static int read_all(train_job *t, size_t context)
{
    char digest[TK_SHA256_HEX_BYTES];
    int result = read_data(t, &t->data, &t->data_paths, context, digest);
    if (result != CMD_OK) {
        return result;
    }
    if (t->from_step > 0) {
        result = compare_digest(t, digest); /* standard input was not looked at before */
    }
    if (result != CMD_OK) {
        return result;
    }
    memcpy(t->state.data, digest, sizeof(t->state.data));
    return t->eval_paths.n == 0
               ? CMD_OK
               : read_data(t, &t->eval, &t->eval_paths, context, t->eval_digest);
}

/* Shows the result of --check. */
static int show_data(const train_job *t)
{
    cmd_json json;
    size_t rows = t->data.n / t->kind->rows_each;
    if (!cmd_wants_json(t->args)) {
        cmd_print(stdout,
                  "%zu %s with %zu tokens, %.0f of them trained; %zu lines left out\n",
                  rows, t->kind->noun, t->data.tokens, t->data.weight, t->data.problems);
        return CMD_OK;
    }
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    cmd_json_key(&json, "rows");
    cmd_json_count(&json, (int64_t)rows);
    cmd_json_key(&json, "problems");
    cmd_json_count(&json, (int64_t)t->data.problems);
    cmd_json_key(&json, "tokens");
    cmd_json_count(&json, (int64_t)t->data.tokens);
    cmd_json_key(&json, "trained_tokens");
    tk_json_put_double(&json.w, t->data.weight);
    tk_json_end_object(&json.w);
    return cmd_json_print(&json, t->args);
}

/* ---- the run ---- */

/* Returns how many steps lie between two of something; the parser has checked the text of
 * the command line, and that of a state file may be anything. */
static size_t steps_of(const train_job *t, train_habit habit, size_t fallback)
{
    uint64_t value = fallback;
    const char *text = t->habits[habit];
    return text != NULL && tk_str_to_u64(tk_str_of(text), &value) && value <= SIZE_MAX
               ? (size_t)value
               : fallback;
}

/* Finds out how large the model is: `tinkc serve` has counted; of other servers' models the
 * name may say it. */
static void count_parameters(train_job *t)
{
    cmd_details details;
    cmd_details_read(&details, t->service);
    const tk_json model = cmd_details_find(&details, t->model);
    int64_t n = cmd_details_parameters(&model);
    t->parameters = n > 0 ? (double)n : train_rate_parameters(t->model);
    cmd_details_dispose(&details);
}

/* Sets the rate of --lr auto. The state file gets the number, so that --resume does not
 * depend on the rule, and this run takes what is read from there: the product has more
 * digits. Returns the rate that suits the model. */
static double choose_rate(train_job *t)
{
    double suited = train_rate_auto(t->parameters) * t->kind->rate_scale;
    if (t->settings[TRAIN_LR] == NULL) {
        (void)snprintf(t->rate, sizeof(t->rate), "%g", suited);
        t->settings[TRAIN_LR] = t->rate;
        if (!tk_str_to_double(tk_str_of(t->rate), &t->numbers.rate)) {
            t->numbers.rate = suited;
        }
    }
    return suited;
}

static int make_plan(train_job *t)
{
    tk_err err = TK_ERR_INIT;
    count_parameters(t);
    t->run.suited_rate = choose_rate(t);
    t->plan = (train_plan){.rows = t->data.n / t->kind->rows_each,
                           .batch = (size_t)t->numbers.batch,
                           .seed = t->numbers.seed,
                           .rate = t->numbers.rate,
                           .warmup = (size_t)t->numbers.warmup,
                           .schedule = t->numbers.schedule};
    tinkc_code code = train_plan_init(&t->plan, (size_t)t->numbers.epochs,
                                      (size_t)t->numbers.steps, &err);
    t->state.steps = t->plan.steps;
    t->state.kind = t->kind->name;
    memcpy(t->state.settings, t->settings, sizeof(t->settings));
    memcpy(t->state.habits, t->habits, sizeof(t->habits));
    return code == TINKC_OK ? CMD_OK : cmd_fail("%s", err.message);
}

static bool is_lost(const tinkc_error *error)
{
    tinkc_code code = tinkc_error_code(error);
    return code == TINKC_E_CONNECTION || code == TINKC_E_TIMEOUT || code == TINKC_E_AUTH;
}

static int fail_run(train_job *t)
{
    train_run *run = &t->run;
    t->is_lost = run->error != NULL && is_lost(run->error);
    cmd_signal_release(); /* after Ctrl-C, too, the user must see that nothing was saved
                           */
    if (run->error == NULL) {
        (void)cmd_fail("%s", run->err.message);
    } else {
        (void)cmd_fail_error(&run->error, "Training stopped");
    }
    if (run->state->step > 0) {
        cmd_print(stderr, "The last checkpoint is that of step %zu.\n", run->state->step);
        cmd_train_continue(t);
    }
    return CMD_FAILED;
}

static int end_run(train_job *t, tinkc_code code)
{
    cmd_progress_end();
    if (code != TINKC_OK) {
        return fail_run(t);
    }
    const cmd_plot plot = train_curve_plot(&t->run.curve, t->model);
    int result = cmd_picture_write(&t->run.picture, &plot);
    if (t->run.is_used_up) {
        result = cmd_fail(
            "the budget of %lld tokens is too small for another step; stopped after "
            "step %zu of %zu",
            (long long)t->run.budget, t->state.step, t->plan.steps);
    } else if (t->run.was_stopped) {
        cmd_print(stderr, "Stopped after step %zu of %zu.\n", t->state.step,
                  t->plan.steps);
        result = CMD_INTERRUPTED;
    }
    if (t->run.is_used_up || t->run.was_stopped) {
        if (t->state.step > 0) { /* before that nothing was saved */
            cmd_train_continue(t);
        }
        return result;
    }
    if (t->run.eval_is_missing) {
        cmd_print(stderr,
                  "Warning: the budget of %lld tokens was too small for the evaluation "
                  "after step %zu\n",
                  (long long)t->run.budget, t->run.eval_record.step);
    }
    int shown = cmd_train_summary(t);
    if (!cmd_wants_json(t->args)) {
        (void)fflush(stdout);
        cmd_train_next(t);
    }
    return result != CMD_OK ? result : shown;
}

static int run_training(train_job *t)
{
    tinkc_adam_params adam = TINKC_ADAM_PARAMS_INIT;
    double suited = t->run.suited_rate;
    adam.grad_clip_norm = t->numbers.clip;
    adam.weight_decay = t->numbers.decay;
    t->run = (train_run){.service = t->service,
                         .training = t->training,
                         .goal = t->goal,
                         .rows_each = t->kind->rows_each,
                         .data = &t->data,
                         .eval = &t->eval,
                         .plan = &t->plan,
                         .adam = adam,
                         .name = t->name,
                         .save_every = steps_of(t, TRAIN_SAVE_EVERY, 50),
                         .eval_every = steps_of(t, TRAIN_EVAL_EVERY, 0),
                         .state_path = t->state_path,
                         .budget = cmd_int(t->args, "budget-tokens", -1),
                         .is_stopped = cmd_interrupted,
                         .suited_rate = suited,
                         .events = cmd_train_events(t),
                         .state = &t->state,
                         .loss = {.warn = cmd_train_warn},
                         .picture = {.path = t->habits[TRAIN_SVG]},
                         .title = t->model,
                         .curve = {.y_name = t->goal->axis},
                         .metrics = {.key = t->goal->key},
                         .err = TK_ERR_INIT};
    int result = CMD_FAILED;
    if (train_metrics_open(&t->run.metrics, t->habits[TRAIN_METRICS], t->from_step,
                           &t->run.curve, &t->run.err) != TINKC_OK) {
        (void)cmd_fail("%s", t->run.err.message);
    } else {
        if (t->from_step > 0) {
            cmd_print(stderr, "Resuming after step %zu of %zu\n", t->from_step,
                      t->plan.steps);
        }
        cmd_train_intro(t, t->settings[TRAIN_LR] == t->rate ? t->parameters : -1);
        cmd_page_show(t->args, t->service, tinkc_training_model_id(t->training));
        cmd_signal_catch();
        result = end_run(t, train_run_all(&t->run));
    }
    train_metrics_close(&t->run.metrics);
    train_curve_dispose(&t->run.curve);
    return result;
}

/* ---- the command ---- */

/* A run that does not go on from its state file ends that one. */
static int discard_old(const train_job *t)
{
    tk_err err = TK_ERR_INIT;
    return t->from_step > 0 || train_state_discard(t->state_path, &err) == TINKC_OK
               ? CMD_OK
               : cmd_fail("%s", err.message);
}

/* Reads the data with the tokenizer of the model, then trains. */
static int prepare_and_run(train_job *t)
{
    int result = cmd_service_open(&t->service, t->args, CMD_PATIENT);
    if (result != CMD_OK) {
        return result;
    }
    (void)tinkc_service_set_budget(t->service, cmd_int(t->args, "budget-tokens", -1),
                                   NULL);
    result = resolve_names(t);
    if (result != CMD_OK) {
        return result;
    }
    cmd_progress("Loading the tokenizer of %s", t->model);
    result = ask_context(t, &t->context);
    if (result != CMD_OK) {
        return result;
    }
    result = open_tokenizer(t);
    if (result != CMD_OK) {
        return result;
    }
    result = read_all(t, t->context);
    if (result != CMD_OK || cmd_has(t->args, "check")) {
        return result != CMD_OK ? result : show_data(t);
    }
    result = make_plan(t);
    if (result != CMD_OK) {
        return result;
    }
    cmd_progress("Loading %s", t->model);
    result = open_model(t);
    t->goal = &train_goal_lines;
    if (result == CMD_OK && t->kind->begin != NULL) {
        result = t->kind->begin(t);
    }
    if (result == CMD_OK) { /* the last thing: until here the old run can be resumed */
        result = discard_old(t);
    }
    return result == CMD_OK ? run_training(t) : result;
}

/* Compares the data with that of the run that is resumed. */
static int check_digest(const train_job *t)
{
    char digest[TK_SHA256_HEX_BYTES];
    bool has = false;
    int result = data_read_digest(digest, &has, &t->data_paths);
    return result == CMD_OK && has ? compare_digest(t, digest) : result;
}

/* Looks at the files before anything is asked of a server. */
static int open_files(train_job *t)
{
    data_source source = {.want = t->kind->want};
    int result = cmd_train_read_state(t);
    const char *eval = t->habits[TRAIN_EVAL]; /* given, or that of the run */
    if (result == CMD_OK) {
        result = cmd_train_parse(&t->numbers, t->settings, t->args);
    }
    data_read_format(&source, t->settings[TRAIN_INPUT_FORMAT]);
    for (size_t i = 0; result == CMD_OK && i < cmd_operands(t->args); i++) {
        const char *word = cmd_operand(t->args, i);
        result = data_read_open(&t->data_paths, &word, 1, &source);
    }
    if (result == CMD_OK && t->from_step > 0) {
        result = check_digest(t);
    }
    return result == CMD_OK && eval != NULL
               ? data_read_open(&t->eval_paths, &eval, 1, &source)
               : result;
}

/* Everything up to the first request, then the run. */
static int train_on(train_job *t)
{
    int result = cmd_train_set_name(t);
    if (result != CMD_OK) {
        return result;
    }
    bool writes = !cmd_has(t->args, "check");
    if (writes && !cmd_train_can_write(t->state_path)) {
        return CMD_FAILED;
    }
    result = open_files(t);
    if (result != CMD_OK) {
        return result;
    }
    if (t->state.is_finished) {
        cmd_print(stderr, "This run is already finished: %s\n", t->state.weights);
        return CMD_OK;
    }
    if (writes && (!cmd_train_can_write(t->habits[TRAIN_SVG]) ||
                   !cmd_train_can_append(t->habits[TRAIN_METRICS]))) {
        return CMD_FAILED;
    }
    return prepare_and_run(t);
}

/* A server has room for a few models. Nothing is lost if that fails: it unloads the
 * models of a session that has ended. */
void cmd_train_unload(tinkc_training **training)
{
    if (*training != NULL) {
        tinkc_future *future = tinkc_training_unload(*training);
        if (tinkc_future_wait(future, UNLOAD_MS) == TINKC_E_TIMEOUT) {
            tinkc_future_cancel(future);
        }
        tinkc_future_free(&future);
    }
    tinkc_training_close(training);
}

int cmd_train_job(const cmd_args *args, const train_kind *kind)
{
    static train_job t; /* too large for the stack */
    memset(&t, 0, sizeof(t));
    t.kind = kind;
    t.args = args;
    cmd_train_given(t.settings, args);
    cmd_train_habits(t.habits, args);
    int result = train_on(&t);
    data_set_dispose(&t.data);
    data_set_dispose(&t.eval);
    data_files_dispose(&t.data_paths);
    data_files_dispose(&t.eval_paths);
    train_plan_dispose(&t.plan);
    train_state_dispose(&t.state);
    tinkc_chat_template_free(&t.tpl);
    tinkc_tokenizer_free(&t.tokenizer);
    if (!t.is_lost) {
        cmd_train_unload(&t.training);
    }
    tinkc_training_close(&t.training);
    if (t.service != NULL) {
        cmd_service_end(&t.service, result);
    }
    if (kind->end != NULL) {
        kind->end(&t);
    }
    tk_free(t.model);
    tk_free(t.load);
    return result;
}
