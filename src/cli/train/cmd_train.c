/* `tinkc train`: fine-tunes a model on training data (cli/data). Reads and checks everything before
 * the first step, with --resume also the state file of the earlier run (read_state), then
 * trains (train_run.h) and shows the result (cmd_train_out.c). Owns everything of the run
 * for as long as the command takes.
 * Needs: text */
#include "cli/train/cmd_train.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tinkc/ledger.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/cmd_list.h"
#include "cli/data/data_read.h"
#include "cli/frame/cmd_details.h"
#include "cli/frame/cmd_json.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_progress.h"
#include "cli/frame/cmd_resolve.h"
#include "cli/frame/cmd_served.h"
#include "cli/frame/cmd_service.h"
#include "cli/train/train_rate.h"

#define NAME_BYTES 256
#define UNLOAD_MS  5000 /* the user waits for that at the end */

typedef struct train {
    const cmd_args *args;
    const char *settings[TRAIN_SETTINGS];
    const char *habits[TRAIN_HABITS];
    train_numbers numbers;
    char rate[32];     /* text of --lr auto */
    double parameters; /* of the model; 0: not known */
    char name[NAME_BYTES];
    char state_path[NAME_BYTES + 16];
    train_state state;
    size_t from_step;
    char *model, *load; /* owned: what --model and --load mean */
    tinkc_service *service;
    tinkc_training *training;
    tinkc_tokenizer *tokenizer;
    tinkc_chat_template *tpl;
    data_files data_paths, eval_paths;
    data_set data, eval;
    train_plan plan;
    train_run run;
    bool is_lost; /* the server does not answer any more */
} train;

/* ---- names and files ---- */

/* Returns whether the name of a checkpoint may have this character. A server would refuse
 * others, but only at the first save. */
static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '-' || c == '.';
}

static bool is_name(const char *name)
{
    size_t n = 0;
    while (is_plain(name[n])) {
        n++;
    }
    return n > 0 && n <= 200 && name[n] == '\0' && name[0] != '.';
}

/* Returns whether a file with this ending is usually called like another one before it. */
static bool is_packed_ending(const char *ending)
{
    return strcmp(ending, ".gz") == 0 || strcmp(ending, ".zst") == 0 ||
           strcmp(ending, ".bz2") == 0 || strcmp(ending, ".xz") == 0;
}

/* Sets the name of the checkpoints, which is --save or the data file without its folder
 * and ending, and the path of the state file. */
static int set_name(train *t)
{
    bool is_stdin = strcmp(cmd_operand(t->args, 0), "-") == 0;
    const char *data = is_stdin ? "stdin" : cmd_operand(t->args, 0);
    const char *slash = strrchr(data, '/');
    const char *name = cmd_text(t->args, "save", NULL);
    const char *state = cmd_text(t->args, "state", NULL);
    if (name != NULL && !is_name(name)) {
        return cmd_bad_usage(t->args,
                             "Invalid value for '--save': '%s' is not a name (letters, "
                             "digits, _, - and .).",
                             name);
    }
    (void)snprintf(t->name, sizeof(t->name), "%.200s",
                   name != NULL    ? name
                   : slash != NULL ? slash + 1
                                   : data);
    if (name == NULL) {
        char *dot = strrchr(t->name, '.');
        if (dot != NULL && is_packed_ending(dot)) {
            *dot = '\0';
            dot = strrchr(t->name, '.');
        }
        if (dot != NULL && dot != t->name) {
            *dot = '\0';
        }
        for (char *c = t->name; *c != '\0'; c++) {
            *c = is_plain(*c) && (c > t->name || *c != '.') ? *c : '-';
        }
    }
    if (state != NULL && strlen(state) >= sizeof(t->state_path)) {
        return cmd_bad_usage(t->args,
                             "Invalid value for '--state': the path is too long.");
    }
    (void)snprintf(t->state_path, sizeof(t->state_path), "%s%s",
                   state != NULL ? state : t->name, state != NULL ? "" : ".train.json");
    return CMD_OK;
}

/* Checks now that a file can be written which is only written hours later. */
static bool can_write(const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    size_t n = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    char *parent = n > 0 ? tk_strndup(path, n) : tk_strdup(".");
    /* the dot at the end makes access fail if the parent is a file */
    char *folder = parent != NULL ? tk_file_join(parent, ".") : NULL;
    bool ok = folder != NULL && access(folder, W_OK) == 0;
    if (path != NULL && !ok) {
        tk_err err = TK_ERR_INIT;
        (void)tk_err_sys(&err, errno, "cannot write %s", path);
        (void)cmd_fail("%s", err.message);
    }
    tk_free(parent);
    tk_free(folder);
    return ok || path == NULL;
}

/* Reads the state file that an earlier run left. With --resume its settings and its step
 * become those of this run; without, an unfinished run must not be overwritten. */
static int read_state(train *t)
{
    tk_err err = TK_ERR_INIT;
    bool resume = cmd_has(t->args, "resume");
    bool may_ignore = cmd_has(t->args, "restart") || cmd_has(t->args, "check");
    tinkc_code code = train_state_read(&t->state, t->state_path, &err);
    if (code != TINKC_OK && code != TINKC_E_MISSING) {
        return cmd_fail("%s", err.message);
    }
    if (code == TINKC_OK && !resume && !t->state.is_finished && !may_ignore) {
        return cmd_fail_hint("Continue it with --resume, or start over with --restart.",
                             "%s belongs to a run that stopped after step %zu of %zu",
                             t->state_path, t->state.step, t->state.steps);
    }
    if (code == TINKC_OK && !resume) {
        train_state_dispose(&t->state);
        code = TINKC_E_MISSING;
    }
    if (code == TINKC_E_MISSING) {
        memset(&t->state, 0, sizeof(t->state));
        tk_arena_init(&t->state.arena, 0);
        t->state.eval_first = t->state.loss_first = NAN;
        return CMD_OK;
    }
    train_setting other = train_state_adopt(t->settings, &t->state);
    if (other != TRAIN_SETTINGS) {
        const char *was = t->state.settings[other];
        return cmd_fail_hint(
            "With --resume, options that are not given keep their values.",
            "--%s was %s when the run started", train_setting_name(other),
            was != NULL ? was : "not set");
    }
    train_state_keep(t->habits, &t->state);
    t->from_step = t->state.step;
    return CMD_OK;
}

/* ---- the model ---- */

/* Finds the base model and the weights to start from. */
static int resolve_names(train *t)
{
    const char *load = t->from_step > 0 ? NULL : t->settings[TRAIN_LOAD];
    int result =
        cmd_resolve(&t->model, t->service, t->args, t->settings[TRAIN_MODEL], CMD_BASE);
    if (result == CMD_OK && load != NULL) {
        result = cmd_resolve(&t->load, t->service, t->args, load, CMD_TRAINING);
    }
    return result;
}

static int open_model(train *t)
{
    tinkc_error *error = NULL;
    const char *from = t->from_step > 0 ? t->state.checkpoint : t->load;
    tinkc_code code;
    if (from != NULL) {
        tinkc_from_state_options options = TINKC_FROM_STATE_OPTIONS_INIT;
        options.with_optimizer = t->from_step > 0;
        options.base_model = t->model;
        code = tinkc_service_create_training_from_state_wait(&t->training, t->service,
                                                             from, &options, &error);
    } else {
        tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
        lora.rank = t->numbers.rank;
        lora.has_seed = true;
        lora.seed = t->numbers.seed;
        code = tinkc_service_create_training_wait(&t->training, t->service, t->model,
                                                  &lora, &error);
    }
    if (code != TINKC_OK) {
        return cmd_served_fail(t->service, from != NULL ? from : t->model, CMD_BASE,
                               &error);
    }
    return CMD_OK;
}

static int open_tokenizer(train *t)
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
static int ask_context(train *t, size_t *out)
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
static int read_data(train *t, data_set *set, data_files *files, size_t context,
                     char digest[TK_SHA256_HEX_BYTES])
{
    size_t most = (size_t)t->numbers.max_length;
    data_source source = {.tokenizer = t->tokenizer,
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

static int compare_digest(const train *t, const char *digest)
{
    return strcmp(t->state.data, digest) == 0
               ? CMD_OK
               : cmd_fail("%s is not the data of the run in %s",
                          data_read_name(&t->data_paths), t->state_path);
}

/* Reads training data and held-out data; a run that is resumed must have the same. */
static int read_all(train *t, size_t context)
{
    char digest[TK_SHA256_HEX_BYTES], other[TK_SHA256_HEX_BYTES];
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
    return t->eval_paths.n == 0 ? CMD_OK
                                : read_data(t, &t->eval, &t->eval_paths, context, other);
}

/* Shows the result of --check. */
static int show_data(const train *t)
{
    cmd_json json;
    if (!cmd_wants_json(t->args)) {
        cmd_print(stdout,
                  "%zu lines with %zu tokens, %.0f of them trained; %zu lines left out\n",
                  t->data.n, t->data.tokens, t->data.weight, t->data.problems);
        return CMD_OK;
    }
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    cmd_json_key(&json, "rows");
    cmd_json_count(&json, (int64_t)t->data.n);
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
static size_t steps_of(const train *t, train_habit habit, size_t fallback)
{
    uint64_t value = fallback;
    const char *text = t->habits[habit];
    return text != NULL && tk_str_to_u64(tk_str_of(text), &value) && value <= SIZE_MAX
               ? (size_t)value
               : fallback;
}

/* Finds out how large the model is: `tinkc serve` has counted; of other servers' models the
 * name may say it. */
static void count_parameters(train *t)
{
    cmd_details details;
    cmd_details_read(&details, t->service);
    const tk_json model = cmd_details_find(&details, t->model);
    int64_t n = cmd_details_parameters(&model);
    t->parameters = n > 0 ? (double)n : train_rate_parameters(t->model);
    cmd_details_dispose(&details);
}

/* Sets the rate of --lr auto. The state file gets the number, so that --resume does not
 * depend on the rule. Returns the rate that suits the model. */
static double choose_rate(train *t)
{
    double suited = train_rate_auto(t->parameters);
    if (t->settings[TRAIN_LR] == NULL) {
        (void)snprintf(t->rate, sizeof(t->rate), "%g", suited);
        t->settings[TRAIN_LR] = t->rate;
        t->numbers.rate = suited;
    }
    return suited;
}

static int make_plan(train *t)
{
    tk_err err = TK_ERR_INIT;
    count_parameters(t);
    t->run.suited_rate = choose_rate(t);
    t->plan = (train_plan){.rows = t->data.n,
                           .batch = (size_t)t->numbers.batch,
                           .seed = t->numbers.seed,
                           .rate = t->numbers.rate,
                           .warmup = (size_t)t->numbers.warmup,
                           .schedule = t->numbers.schedule};
    tinkc_code code = train_plan_init(&t->plan, (size_t)t->numbers.epochs,
                                      (size_t)t->numbers.steps, &err);
    t->state.steps = t->plan.steps;
    memcpy(t->state.settings, t->settings, sizeof(t->settings));
    memcpy(t->state.habits, t->habits, sizeof(t->habits));
    return code == TINKC_OK ? CMD_OK : cmd_fail("%s", err.message);
}

static bool is_lost(const tinkc_error *error)
{
    tinkc_code code = tinkc_error_code(error);
    return code == TINKC_E_CONNECTION || code == TINKC_E_TIMEOUT || code == TINKC_E_AUTH;
}

static int fail_run(train *t)
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
        cmd_train_continue(t->args);
    }
    return CMD_FAILED;
}

static int end_run(train *t, tinkc_code code)
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
            cmd_train_continue(t->args);
        }
        return result;
    }
    int shown = cmd_train_summary(&t->run, t->model, t->from_step, t->args);
    if (!cmd_wants_json(t->args)) {
        (void)fflush(stdout);
        cmd_train_next(&t->run, t->model, t->args);
    }
    return result != CMD_OK ? result : shown;
}

static int run_training(train *t)
{
    tinkc_adam_params adam = TINKC_ADAM_PARAMS_INIT;
    double suited = t->run.suited_rate;
    adam.grad_clip_norm = t->numbers.clip;
    adam.weight_decay = t->numbers.decay;
    t->run = (train_run){.service = t->service,
                         .training = t->training,
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
                         .events = cmd_train_events(&t->run),
                         .state = &t->state,
                         .loss = {.warn = cmd_train_warn},
                         .picture = {.path = t->habits[TRAIN_SVG]},
                         .title = t->model,
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
        cmd_train_intro(&t->run, t->model, &t->numbers,
                        t->settings[TRAIN_LR] == t->rate ? t->parameters : -1);
        cmd_signal_catch();
        result = end_run(t, train_run_all(&t->run));
    }
    train_metrics_close(&t->run.metrics);
    train_curve_dispose(&t->run.curve);
    return result;
}

/* ---- the command ---- */

/* Reads the data with the tokenizer of the model, then trains. */
static int prepare_and_run(train *t)
{
    size_t context = 0;
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
    result = ask_context(t, &context);
    if (result != CMD_OK) {
        return result;
    }
    result = open_tokenizer(t);
    if (result != CMD_OK) {
        return result;
    }
    result = read_all(t, context);
    if (result != CMD_OK || cmd_has(t->args, "check")) {
        return result != CMD_OK ? result : show_data(t);
    }
    result = make_plan(t);
    if (result != CMD_OK) {
        return result;
    }
    cmd_progress("Loading %s", t->model);
    result = open_model(t);
    return result == CMD_OK ? run_training(t) : result;
}

/* Compares the data with that of the run that is resumed. */
static int check_digest(const train *t)
{
    char digest[TK_SHA256_HEX_BYTES];
    bool has = false;
    int result = data_read_digest(digest, &has, &t->data_paths);
    return result == CMD_OK && has ? compare_digest(t, digest) : result;
}

/* Looks at the files before anything is asked of a server. */
static int open_files(train *t)
{
    data_source source = {.tokenizer = NULL};
    int result = read_state(t);
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

static int check(const cmd_args *args)
{
    if (cmd_int(args, "budget-tokens", 0) < 0) {
        return cmd_bad_usage(args, "--budget-tokens must be 0 or more.");
    }
    if (cmd_int(args, "save-every", 1) < 0 || cmd_int(args, "eval-every", 1) < 0) {
        return cmd_bad_usage(args, "--save-every and --eval-every must be 0 or more.");
    }
    if (cmd_has(args, "resume") && cmd_has(args, "restart")) {
        return cmd_bad_usage(args, "Give --resume or --restart, not both.");
    }
    return CMD_OK;
}

/* Everything up to the first request, then the run. */
static int train_on(train *t)
{
    int result = set_name(t);
    if (result != CMD_OK) {
        return result;
    }
    if (!cmd_has(t->args, "check") &&
        (!can_write(t->state_path) || !can_write(cmd_text(t->args, "svg", NULL)))) {
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
    return prepare_and_run(t);
}

/* Frees the place of the model on the server, which has room for a few. Nothing is lost
 * if that fails: a server unloads the models of a session that has ended. */
static void unload(train *t)
{
    if (t->training != NULL && !t->is_lost) {
        tinkc_future *future = tinkc_training_unload(t->training);
        if (tinkc_future_wait(future, UNLOAD_MS) == TINKC_E_TIMEOUT) {
            tinkc_future_cancel(future);
        }
        tinkc_future_free(&future);
    }
    tinkc_training_close(&t->training);
}

static int run(const cmd_args *args)
{
    static train t; /* too large for the stack */
    memset(&t, 0, sizeof(t));
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
    unload(&t);
    if (t.service != NULL) {
        cmd_service_end(&t.service, result);
    }
    tk_free(t.model);
    tk_free(t.load);
    return result;
}

const cmd_spec cmd_train = {
    .name = "train",
    .operands = "FILE...",
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .help = "Fine-tune a model on conversations or text.",
    .more =
        "FILE is JSONL, a JSON array, CSV or plain text, also packed with gzip or zstd; - is\n"
        "standard input. Records are recognised by their keys: messages (OpenAI chat),\n"
        "prompt and completion, instruction and output (Alpaca), conversations (ShareGPT),\n"
        "question and answer, or text; see docs/guide/data.md. Conversations are rendered by\n"
        "the model's chat template; a message may have a \"weight\". Every record is checked\n"
        "before the first step ('tinkc data show' shows what is trained). Ctrl-C saves a\n"
        "checkpoint and stops; --resume continues from the last checkpoint with the same\n"
        "result as an uninterrupted run.",
    .examples = "tinkc train data.jsonl --model tinkc/pebble-llama-2m --local\n"
                "tinkc train data.jsonl --resume --eval held-out.jsonl --svg loss.svg",
    .options = cmd_train_options,
    .check = check,
    .run = run,
};
