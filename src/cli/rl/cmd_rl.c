/* `tinkc rl`: trains a model on what agents of the user's do. Reads and checks everything
 * before the first episode, with --resume also the state of the earlier run, then trains
 * (rl_run.h) and shows the result (cmd_rl_out.c).
 * Needs: text server */
#include "cli/rl/cmd_rl.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tinkc/training.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_details.h"
#include "cli/frame/cmd_page.h"
#include "cli/frame/cmd_paste.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_progress.h"
#include "cli/frame/cmd_resolve.h"
#include "cli/frame/cmd_served.h"
#include "cli/frame/cmd_service.h"
#include "cli/rl/rl_metrics.h"
#include "cli/train/train_name.h"
#include "cli/train/train_rate.h"
#include "cli/train/train_state.h"

#define NAME_BYTES     256
#define PATH_BYTES     4096
#define UNLOAD_MS      5000
#define GRACE_MS       2000 /* between SIGTERM and SIGKILL, at most */
#define ROLLOUTS_BYTES (256 * TK_MIB)
#define WANTED         "Give --tasks FILE, and --agent COMMAND, --env COMMAND or --match HOW."

typedef struct rl {
    const cmd_args *args;
    const char *texts[RL_SETTINGS];
    rl_numbers numbers;
    char rate[32]; /* text of --lr auto */
    char name[NAME_BYTES];
    char *dir, *state_path, *metrics_path, *rollouts_path, *curve_path; /* owned */
    char *command; /* owned: of an agent */
    int lock;      /* or -1 */
    rl_state state;
    size_t from_step;
    rl_tasks tasks, eval;
    char *model, *load; /* owned */
    tinkc_service *service;
    tinkc_training *training;
    tinkc_tokenizer *tokenizer;
    rl_agents *agents;
    rl_asks *asks; /* NULL without --match */
    rl_gate *gate;
    train_plan plan;
    rl_lines metrics, rollouts;
    rl_run run;
} rl;

/* ---- names and files ---- */

/* Sets the name of the checkpoints: --save, or the task file without folder and ending. */
static int set_name(rl *t)
{
    const char *given = cmd_text(t->args, "save", NULL);
    const char *file = t->texts[RL_TASKS];
    const char *slash = file != NULL ? strrchr(file, '/') : NULL;
    if (given != NULL && !train_name_is_good(given)) {
        return cmd_bad_usage(t->args,
                             "Invalid value for '--save': '%s' is not a name (letters, "
                             "digits, _, - and .).",
                             given);
    }
    (void)snprintf(t->name, sizeof(t->name), "%.200s",
                   given != NULL   ? given
                   : slash != NULL ? slash + 1
                   : file != NULL  ? file
                                   : "rl");
    char *dot = given == NULL ? strrchr(t->name, '.') : NULL;
    if (dot != NULL && dot != t->name) {
        *dot = '\0';
    }
    for (char *c = t->name; *c != '\0'; c++) {
        *c = train_name_is_plain(*c) && (c > t->name || *c != '.') ? *c : '-';
    }
    return CMD_OK;
}

/* Two programs must not write to the same directory. Processes that agents left behind do
 * not hold this lock. */
static int lock_dir(rl *t)
{
    char *path = tk_file_join(t->dir, "lock");
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    t->lock = path != NULL ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
    tk_free(path);
    if (t->lock < 0) {
        return cmd_fail("cannot write to %s", t->dir);
    }
    return fcntl(t->lock, F_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES)
               ? CMD_OK /* a file system may have no locks */
               : cmd_fail("another tinkc rl is running in %s", t->dir);
}

static int set_paths(rl *t)
{
    const char *given = cmd_text(t->args, "out", NULL);
    char folder[NAME_BYTES + 8];
    tk_err err = TK_ERR_INIT;
    (void)snprintf(folder, sizeof(folder), "%s.rl", t->name);
    t->dir = tk_strdup(given != NULL ? given : folder);
    t->state_path = t->dir != NULL ? tk_file_join(t->dir, "state.json") : NULL;
    t->metrics_path = t->dir != NULL ? tk_file_join(t->dir, "metrics.jsonl") : NULL;
    t->rollouts_path = t->dir != NULL ? tk_file_join(t->dir, "rollouts.jsonl") : NULL;
    t->curve_path = t->dir != NULL ? tk_file_join(t->dir, "reward.svg") : NULL;
    if (t->state_path == NULL || t->metrics_path == NULL || t->rollouts_path == NULL ||
        t->curve_path == NULL) {
        return cmd_fail("out of memory");
    }
    return tk_file_mkdirs(t->dir, 0777, &err) == TINKC_OK ? lock_dir(t)
                                                          : cmd_fail("%s", err.message);
}

/* Reads the state that an earlier run left. With --resume its settings become those of this
 * run; without, an unfinished run must not be overwritten. */
static int read_state(rl *t)
{
    tk_err err = TK_ERR_INIT;
    bool resume = cmd_has(t->args, "resume");
    tinkc_code code = rl_state_read(&t->state, t->state_path, &err);
    if (code != TINKC_OK && code != TINKC_E_MISSING) {
        return cmd_fail("%s", err.message);
    }
    if (code == TINKC_OK && !resume && !t->state.is_finished &&
        !cmd_has(t->args, "restart")) {
        return cmd_fail_hint("Continue it with --resume, or start over with --restart.",
                             "%s belongs to a run that stopped after step %zu of %zu",
                             t->dir, t->state.step, t->state.steps);
    }
    if (code == TINKC_OK && !resume) {
        rl_state_dispose(&t->state);
        code = TINKC_E_MISSING;
    }
    if (code == TINKC_E_MISSING) {
        t->state = (rl_state){.eval_first = NAN};
        tk_arena_init(&t->state.arena, 0);
        return CMD_OK;
    }
    rl_setting other = rl_settings_adopt(t->texts, t->state.settings);
    if (other != RL_SETTINGS) {
        const char *was = rl_settings_old(t->state.settings, other);
        return cmd_fail_hint(
            "With --resume, options that are not given keep their values.",
            "--%s was %s when the run started", rl_setting_name(other),
            was != NULL ? was : "not set");
    }
    t->from_step = t->state.step;
    return CMD_OK;
}

/* The command of an agent: the user's, or this program with the user's environment. */
static int set_command(rl *t)
{
    char path[PATH_BYTES];
    tk_buf line;
    if (t->texts[RL_ENV] == NULL) {
        t->command = tk_strdup(t->texts[RL_AGENT] != NULL ? t->texts[RL_AGENT] : "");
        return t->command != NULL ? CMD_OK : cmd_fail("out of memory");
    }
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (n <= 0) {
        return cmd_fail("this program does not find itself in /proc");
    }
    path[n] = '\0';
    tk_buf_init(&line, TK_MIB);
    tk_buf_puts(&line, "exec");
    const char *const words[] = {path, "env", "--", t->texts[RL_ENV], NULL};
    cmd_paste_words(&line, words);
    tk_buf_putc(&line, '\0');
    size_t taken = 0;
    t->command = tk_buf_take(&line, &taken);
    tk_buf_dispose(&line);
    return t->command != NULL ? CMD_OK : cmd_fail("out of memory");
}

static int read_tasks(rl *t)
{
    tk_err err = TK_ERR_INIT;
    int n = (t->texts[RL_AGENT] != NULL) + (t->texts[RL_ENV] != NULL) +
            (t->texts[RL_MATCH] != NULL);
    if (t->texts[RL_TASKS] == NULL || n != 1) {
        return cmd_bad_usage(t->args, WANTED);
    }
    int result = set_command(t);
    if (result != CMD_OK) {
        return result;
    }
    if (rl_tasks_read(&t->tasks, t->texts[RL_TASKS], &err) != TINKC_OK ||
        (t->texts[RL_EVAL] != NULL &&
         rl_tasks_read(&t->eval, t->texts[RL_EVAL], &err) != TINKC_OK)) {
        return cmd_fail("%s", err.message);
    }
    for (size_t i = 0; t->texts[RL_MATCH] != NULL && i < t->tasks.n + t->eval.n; i++) {
        tk_str task = i < t->tasks.n ? t->tasks.at[i] : t->eval.at[i - t->tasks.n];
        if (rl_asks_check(task, &err) != TINKC_OK) {
            return cmd_fail("%s", err.message);
        }
    }
    if (t->from_step > 0 && strcmp(t->state.tasks, t->tasks.digest) != 0) {
        return cmd_fail("%s does not have the tasks of the run in %s", t->texts[RL_TASKS],
                        t->dir);
    }
    memcpy(t->state.tasks, t->tasks.digest, sizeof(t->state.tasks));
    return CMD_OK;
}

/* ---- the model ---- */

static int resolve(rl *t)
{
    const char *load = t->from_step > 0 ? NULL : t->texts[RL_LOAD];
    int result =
        cmd_resolve(&t->model, t->service, t->args, t->texts[RL_MODEL], CMD_BASE);
    if (result == CMD_OK && load != NULL) {
        result = cmd_resolve(&t->load, t->service, t->args, load, CMD_TRAINING);
    }
    return result;
}

static int open_model(rl *t)
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
        lora.seed = (uint64_t)t->numbers.seed;
        code = tinkc_service_create_training_wait(&t->training, t->service, t->model,
                                                  &lora, &error);
    }
    return code == TINKC_OK ? CMD_OK
                            : cmd_served_fail(t->service, from != NULL ? from : t->model,
                                              CMD_BASE, &error);
}

/* Sets the rate of --lr auto; the state gets the number. */
static void choose_rate(rl *t)
{
    cmd_details details;
    if (t->texts[RL_LR] != NULL) {
        return;
    }
    cmd_details_read(&details, t->service);
    const tk_json model = cmd_details_find(&details, t->model);
    int64_t n = cmd_details_parameters(&model);
    t->numbers.rate =
        train_rate_auto(n > 0 ? (double)n : train_rate_parameters(t->model));
    cmd_details_dispose(&details);
    (void)snprintf(t->rate, sizeof(t->rate), "%g", t->numbers.rate);
    t->texts[RL_LR] = t->rate;
}

static int make_plan(rl *t)
{
    tk_err err = TK_ERR_INIT;
    t->plan = (train_plan){.rows = t->tasks.n,
                           .batch = (size_t)t->numbers.batch,
                           .seed = (uint64_t)t->numbers.seed,
                           .rate = t->numbers.rate};
    tinkc_code code = train_plan_init(&t->plan, 1, (size_t)t->numbers.steps, &err);
    t->state.steps = t->plan.steps;
    memcpy(t->state.texts, t->texts, sizeof(t->texts));
    return code == TINKC_OK ? CMD_OK : cmd_fail("%s", err.message);
}

/* Opens the agent that is built in. */
static int open_asks(rl *t)
{
    tk_err err = TK_ERR_INIT;
    const char *match = t->texts[RL_MATCH];
    if (match == NULL) {
        return CMD_OK;
    }
    const rl_ask_config config = {.url = rl_gate_url(t->gate),
                                  .key = rl_gate_key(t->gate),
                                  .model = t->model,
                                  .cut_off = t->numbers.cut_off,
                                  .match = strcmp(match, "exact") == 0 ? EVAL_EXACT
                                           : strcmp(match, "number") == 0
                                               ? EVAL_NUMBER
                                               : EVAL_CONTAINS};
    return rl_asks_open(&t->asks, &config, &err) == TINKC_OK
               ? CMD_OK
               : cmd_fail("%s", err.message);
}

static int open_gate(rl *t)
{
    tk_err err = TK_ERR_INIT;
    const rl_gate_config config = {.service = t->service,
                                   .model = t->model,
                                   .template_file = t->texts[RL_TEMPLATE],
                                   .tool_format = t->texts[RL_TOOL_FORMAT],
                                   .max_turns = (size_t)t->numbers.max_turns,
                                   .max_tokens = (size_t)t->numbers.max_tokens};
    return rl_gate_open(&t->gate, &config, &err) == TINKC_OK
               ? CMD_OK
               : cmd_fail("%s", err.message);
}

/* ---- the run ---- */

static int fail_run(rl *t)
{
    rl_run *run = &t->run;
    cmd_signal_release(); /* the user must see that nothing was saved */
    if (run->error == NULL) {
        (void)cmd_fail("%s", run->err.message);
    } else {
        (void)cmd_fail_error(&run->error, "Training stopped");
    }
    if (t->state.step > 0) {
        cmd_print(stderr, "The last checkpoint is that of step %zu.\n", t->state.step);
        cmd_rl_continue(t->args);
    }
    return CMD_FAILED;
}

static int end_run(rl *t, tinkc_code code)
{
    tk_err err = TK_ERR_INIT;
    cmd_progress_end();
    const cmd_plot plot = cmd_rl_plot(&t->run, t->model);
    if (cmd_plot_save(&plot, t->curve_path, &err) != TINKC_OK) {
        cmd_print(stderr, "Warning: %s\n", err.message);
    }
    if (code != TINKC_OK) {
        return fail_run(t);
    }
    if (t->run.was_stopped) {
        cmd_print(stderr, "Stopped after step %zu of %zu.\n", t->state.step,
                  t->plan.steps);
        if (t->state.step > 0) {
            cmd_rl_continue(t->args);
        }
        return CMD_INTERRUPTED;
    }
    return cmd_rl_summary(&t->run, t->model, t->args);
}

static int open_files(rl *t)
{
    tk_err err = TK_ERR_INIT;
    tinkc_code code = TINKC_OK;
    if (t->from_step == 0) { /* the state goes first: what it tells of is cut now */
        code = train_state_discard(t->state_path, &err);
    } else {
        code = rl_metrics_read(t->metrics_path, t->from_step, t->run.curve, &err);
    }
    if (code == TINKC_OK) {
        code =
            rl_lines_open(&t->metrics, t->metrics_path, t->from_step, UINT64_MAX, &err);
    }
    if (code == TINKC_OK) {
        code = rl_lines_open(&t->rollouts, t->rollouts_path, t->from_step, ROLLOUTS_BYTES,
                             &err);
    }
    return code == TINKC_OK ? CMD_OK : cmd_fail("%s", err.message);
}

static int train(rl *t)
{
    /* the gate has found it already; without one, the rollouts have no texts */
    (void)!tinkc_training_get_tokenizer(&t->tokenizer, t->training, NULL, NULL);
    rl_rollout rollout = {
        .agents = t->agents,
        .asks = t->asks,
        .gate = t->gate,
        .model = t->model,
        .command = t->command,
        .timeout_ms = (int64_t)(t->numbers.timeout * 1000),
        .grace_ms = TK_MIN((int64_t)(t->numbers.timeout * 250), (int64_t)GRACE_MS),
        .max_output = (uint64_t)t->numbers.max_output,
        .concurrency = (size_t)t->numbers.concurrency,
        .has_failed_reward = t->numbers.has_failed_reward,
        .failed_reward = t->numbers.failed_reward,
        .lines = &t->rollouts,
        .n_kept = (size_t)t->numbers.rollouts,
        .tokenizer = t->tokenizer,
        .with_tokens = t->numbers.tokens,
        .max_turns = (size_t)t->numbers.max_turns,
        .is_stopped = cmd_interrupted,
        .on_episode = cmd_rl_on_episode,
        .user = &t->run};
    const char *loss = t->texts[RL_LOSS];
    t->run = (rl_run){.service = t->service,
                      .training = t->training,
                      .rollout = &rollout,
                      .tasks = &t->tasks,
                      .eval = &t->eval,
                      .plan = &t->plan,
                      .numbers = &t->numbers,
                      .loss = loss != NULL ? loss : "importance_sampling",
                      .name = t->name,
                      .state_path = t->state_path,
                      .metrics = &t->metrics,
                      .state = &t->state,
                      .events = cmd_rl_events(&t->run),
                      .err = TK_ERR_INIT};
    int result = open_files(t);
    if (result != CMD_OK) {
        return result;
    }
    if (t->from_step > 0) {
        cmd_print(stderr, "Resuming after step %zu of %zu\n", t->from_step,
                  t->plan.steps);
    }
    cmd_rl_intro(&t->run, t->model);
    cmd_page_show(t->args, t->service, tinkc_training_model_id(t->training));
    cmd_signal_catch();
    return end_run(t, rl_run_all(&t->run));
}

/* ---- the command ---- */

static int prepare_and_train(rl *t)
{
    int result = cmd_service_open(&t->service, t->args, CMD_PATIENT);
    if (result == CMD_OK) {
        result = resolve(t);
    }
    if (result != CMD_OK) {
        return result;
    }
    choose_rate(t);
    result = make_plan(t);
    if (result != CMD_OK) {
        return result;
    }
    cmd_progress("Loading %s", t->model);
    result = open_model(t);
    if (result == CMD_OK) {
        result = open_gate(t);
    }
    if (result == CMD_OK) {
        result = open_asks(t);
    }
    return result == CMD_OK ? train(t) : result;
}

static int rl_on(rl *t)
{
    tk_err err = TK_ERR_INIT;
    int result = set_name(t);
    if (result == CMD_OK) {
        result = set_paths(t);
    }
    if (result == CMD_OK) {
        result = read_state(t);
    }
    if (result == CMD_OK) {
        result = rl_settings_parse(&t->numbers, t->texts, t->args);
    }
    if (result == CMD_OK) {
        result = read_tasks(t);
    }
    if (result != CMD_OK) {
        return result;
    }
    if (t->state.is_finished) {
        cmd_print(stderr, "This run is already finished: %s\n", t->state.weights);
        return CMD_OK;
    }
    /* before the first thread */
    return rl_agents_open(&t->agents, &err) == TINKC_OK ? prepare_and_train(t)
                                                        : cmd_fail("%s", err.message);
}

/* Frees the place of the model on the server. */
static void unload(rl *t)
{
    if (t->training != NULL) {
        tinkc_future *future = tinkc_training_unload(t->training);
        if (tinkc_future_wait(future, UNLOAD_MS) == TINKC_E_TIMEOUT) {
            tinkc_future_cancel(future);
        }
        tinkc_future_free(&future);
    }
    tinkc_training_close(&t->training);
}

static void dispose(rl *t, int result)
{
    rl_agents_close(t->agents);
    rl_asks_close(t->asks);
    rl_gate_close(t->gate);
    rl_lines_close(&t->metrics);
    rl_lines_close(&t->rollouts);
    for (size_t i = 0; i < RL_LINES; i++) {
        cmd_plot_dispose(&t->run.curve[i]);
    }
    tinkc_error_free(&t->run.error);
    rl_tasks_dispose(&t->tasks);
    rl_tasks_dispose(&t->eval);
    train_plan_dispose(&t->plan);
    tinkc_tokenizer_free(&t->tokenizer);
    unload(t);
    if (t->service != NULL) {
        cmd_service_end(&t->service, result);
    }
    rl_state_dispose(&t->state);
    tk_free(t->model);
    tk_free(t->load);
    tk_free(t->command);
    tk_free(t->dir);
    tk_free(t->state_path);
    tk_free(t->metrics_path);
    tk_free(t->rollouts_path);
    tk_free(t->curve_path);
    if (t->lock >= 0) {
        (void)close(t->lock);
    }
}

static int run(const cmd_args *args)
{
    static rl t; /* too large for the stack */
    memset(&t, 0, sizeof(t));
    t.args = args;
    t.metrics.fd = t.rollouts.fd = t.lock = -1;
    tk_arena_init(&t.state.arena, 0);
    rl_settings_given(t.texts, args);
    int result = rl_on(&t);
    dispose(&t, result);
    return result;
}

/* Returns whether the option asks for something: --eval-every 0 does not. */
static bool is_asked(const cmd_args *args, const char *option)
{
    return cmd_has(args, option) &&
           (strcmp(option, "eval-every") != 0 || cmd_int(args, option, 0) != 0);
}

/* Refuses options that would have no effect beside the others. */
static int check_pairs(const cmd_args *args)
{
    static const char *const needs[][2] = {
        {"cut-off", "match"}, {"eval-every", "eval"}, {"eval-group", "eval"}};
    bool is_known = cmd_has(args, "resume"); /* what is needed may be in the state */
    for (size_t i = 0; i < TK_ARRAY_LEN(needs) && !is_known; i++) {
        if (is_asked(args, needs[i][0]) && !cmd_has(args, needs[i][1])) {
            return cmd_bad_usage(args, "--%s has no effect without --%s.", needs[i][0],
                                 needs[i][1]);
        }
    }
    return cmd_has(args, "match") && cmd_has(args, "max-output")
               ? cmd_bad_usage(args, "--max-output has no effect with --match.")
               : CMD_OK;
}

static int check(const cmd_args *args)
{
    if (cmd_has(args, "resume") && cmd_has(args, "restart")) {
        return cmd_bad_usage(args, "Give --resume or --restart, not both.");
    }
    int n = cmd_has(args, "agent") + cmd_has(args, "env") + cmd_has(args, "match");
    if (n > 1 || (!cmd_has(args, "resume") && (!cmd_has(args, "tasks") || n == 0))) {
        return cmd_bad_usage(args, WANTED);
    }
    return check_pairs(args);
}

const cmd_spec cmd_rl = {
    .name = "rl",
    .operands = "",
    .help = "Train a model on what an agent does, by reward.",
    .more =
        "Each task is given to several episodes: processes of COMMAND, in any language, that\n"
        "find the model in OPENAI_BASE_URL and ANTHROPIC_BASE_URL (with keys and _MODEL) and\n"
        "the task in TINKC_TASK and on standard input. The last line that an agent writes is\n"
        "its reward: a number, or JSON with \"reward\" and further numbers. Episodes that did\n"
        "better than the others of their task become more likely. An agent that fails, floods\n"
        "or does not end is counted, explained and ended with all of its processes. Ctrl-C\n"
        "saves a checkpoint and stops; --resume continues. DIR has the metrics, the rewards\n"
        "as a curve, and episodes for reading; see docs/guide/rl.md.",
    .examples =
        "tinkc rl --local --tasks tasks.jsonl --agent ./agent.sh\n"
        "tinkc rl --local --tasks tasks.jsonl --env ./grid\n"
        "tinkc rl -t tasks.jsonl -a 'python agent.py' -m Qwen/Qwen3-8B -e held-out.jsonl",
    .options = rl_settings_options,
    .check = check,
    .run = run,
};
