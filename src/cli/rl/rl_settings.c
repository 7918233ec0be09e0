/* The table of the settings of `tinkc rl`.
 * Needs: text server */
#include "cli/rl/rl_settings.h"

#include <math.h>
#include <string.h>

#include "base/str.h"

const cmd_option rl_settings_options[] = {
    {"tasks", 't', CMD_TEXT, "FILE", "Tasks: one JSON value on each line.", false},
    {"agent", 'a', CMD_TEXT, "COMMAND",
     "Program that works on a task, run by /bin/sh for each episode.", false},
    {"env", 0, CMD_TEXT, "COMMAND",
     "Or an environment that the model acts in (see 'tinkc env --help').", false},
    {"match", 0, CMD_CHOICE, "exact|contains|number",
     "Or no program: tasks have \"question\" and \"answer\", compared like that.", false},
    {"cut-off", 0, CMD_NUMBER, "X",
     "With --match: added to the reward of an answer that --max-tokens cut off (0).",
     false},
    {"model", 'm', CMD_TEXT, "NAME",
     "Base model, or DIR with --local (default: the only one).", false},
    {"save", 's', CMD_TEXT, "NAME", "Name of the checkpoints (default: the task file's).",
     false},
    {"out", 'o', CMD_TEXT, "DIR",
     "Directory of the run: state, metrics, rollouts, curve (NAME.rl).", false},
    {"resume", 'r', CMD_FLAG, NULL, "Continue the last run where it stopped.", false},
    {"restart", 0, CMD_FLAG, NULL, "Discard an unfinished run and start over.", false},
    {"open", 0, CMD_FLAG, NULL, "Open the run in the server's console, in a browser.",
     false},
    {"eval", 'e', CMD_TEXT, "FILE", "Held-out tasks, to measure the reward on.", false},
    {"eval-every", 0, CMD_INT, "N",
     "Steps between evaluations (0: only at the start and the end).", false},
    {"eval-group", 0, CMD_INT, "N", "Episodes of each held-out task (1).", false},
    {"steps", 'n', CMD_INT, "N", "Number of steps (20).", false},
    {"batch", 'b', CMD_INT, "N", "Tasks of a step (16).", false},
    {"group", 'g', CMD_INT, "N", "Episodes of each task (8).", false},
    {"loss", 0, CMD_CHOICE, "importance_sampling|ppo|cispo",
     "Loss (importance_sampling).", false},
    {"substeps", 0, CMD_INT, "N",
     "Optimizer steps that share the episodes of a step (1).", false},
    {"scale", 0, CMD_FLAG, NULL, "Divide advantages by the group's standard deviation.",
     false},
    {"overlap", 0, CMD_FLAG, NULL,
     "Run the episodes of a step while the step before is trained.", false},
    {"lr", 0, CMD_TEXT, "RATE|auto",
     "Learning rate (auto: 1e-3 * (1e9 / parameters)^(1/4)).", false},
    {"rank", 0, CMD_INT, "N", "Rank of the LoRA (32).", false},
    {"seed", 0, CMD_INT, "N", "Seed of the run: LoRA, order of tasks, samples (1).",
     false},
    {"load", 0, CMD_TEXT, "NAME",
     "Start from these weights (or tinker://RUN/weights/NAME).", false},
    {"max-turns", 0, CMD_INT, "N", "Requests of an episode; more are refused (64).",
     false},
    {"max-tokens", 0, CMD_INT, "N", "Tokens of an answer (0: what the agent asks for).",
     false},
    {"failed-reward", 0, CMD_NUMBER, "X",
     "Reward of an episode that failed (default: it is left out).", false},
    {"timeout", 0, CMD_NUMBER, "SECONDS", "Time of an episode (300).", false},
    {"max-output", 0, CMD_INT, "BYTES", "What an agent may write (16777216).", false},
    {"concurrency", 'j', CMD_INT, "N", "Episodes at a time (16).", false},
    {"rollouts", 0, CMD_INT, "N", "Episodes of a step that are kept for reading (4).",
     false},
    {"tokens", 0, CMD_FLAG, NULL,
     "Keep their token ids and log-probabilities there, too.", false},
    {"save-every", 0, CMD_INT, "N", "Steps between checkpoints (10; 0: only at the end).",
     false},
    {"keep", 0, CMD_FLAG, NULL, "Keep every checkpoint, not only the last.", false},
    {"template", 0, CMD_TEXT, "FILE", "Chat template instead of the model's.", false},
    {"tool-format", 0, CMD_TEXT, "NAME",
     "How the model writes tool calls (default: by its template).", false},
    {0},
};

typedef enum type { TEXT, FLAG, WHOLE, REAL } type;

typedef struct row {
    const char *name;
    type type;
    size_t at; /* in rl_numbers */
    double fallback, low, high;
} row;

#define WHOLE_ROW(name, member, fallback, low, high)                                     \
    {                                                                                    \
        name, WHOLE, offsetof(rl_numbers, member), fallback, low, high                   \
    }

static const row rows[RL_SETTINGS] = {
    [RL_TASKS] = {"tasks", TEXT, 0, 0, 0, 0},
    [RL_AGENT] = {"agent", TEXT, 0, 0, 0, 0},
    [RL_ENV] = {"env", TEXT, 0, 0, 0, 0},
    [RL_MATCH] = {"match", TEXT, 0, 0, 0, 0},
    [RL_CUT_OFF] = {"cut-off", REAL, offsetof(rl_numbers, cut_off), 0, -1e30, 1e30},
    [RL_MODEL] = {"model", TEXT, 0, 0, 0, 0},
    [RL_LOAD] = {"load", TEXT, 0, 0, 0, 0},
    [RL_RANK] = WHOLE_ROW("rank", rank, 32, 1, 1024),
    [RL_LR] = {"lr", REAL, offsetof(rl_numbers, rate), 0, 0, 1e3},
    [RL_LOSS] = {"loss", TEXT, 0, 0, 0, 0},
    [RL_STEPS] = WHOLE_ROW("steps", steps, 20, 1, 1e8),
    [RL_BATCH] = WHOLE_ROW("batch", batch, 16, 1, 65536),
    [RL_GROUP] = WHOLE_ROW("group", group, 8, 2, 1024),
    [RL_SUBSTEPS] = WHOLE_ROW("substeps", substeps, 1, 1, 64),
    [RL_SCALE] = {"scale", FLAG, offsetof(rl_numbers, scale), 0, 0, 0},
    [RL_SEED] = WHOLE_ROW("seed", seed, 1, 0, 9e15),
    [RL_OVERLAP] = {"overlap", FLAG, offsetof(rl_numbers, overlap), 0, 0, 0},
    [RL_MAX_TURNS] = WHOLE_ROW("max-turns", max_turns, 64, 1, 1e6),
    [RL_MAX_TOKENS] = WHOLE_ROW("max-tokens", max_tokens, 0, 0, 1e8),
    [RL_FAILED_REWARD] = {"failed-reward", REAL, offsetof(rl_numbers, failed_reward), 0,
                          -1e30, 1e30},
    [RL_TEMPLATE] = {"template", TEXT, 0, 0, 0, 0},
    [RL_TOOL_FORMAT] = {"tool-format", TEXT, 0, 0, 0, 0},
    [RL_EVAL] = {"eval", TEXT, 0, 0, 0, 0},
    [RL_EVAL_EVERY] = WHOLE_ROW("eval-every", eval_every, 0, 0, 1e8),
    [RL_EVAL_GROUP] = WHOLE_ROW("eval-group", eval_group, 1, 1, 1024),
    [RL_SAVE_EVERY] = WHOLE_ROW("save-every", save_every, 10, 0, 1e8),
    [RL_TIMEOUT] = {"timeout", REAL, offsetof(rl_numbers, timeout), 300, 0.01, 1e6},
    [RL_MAX_OUTPUT] = WHOLE_ROW("max-output", max_output, 16777216, 1, 1e15),
    [RL_CONCURRENCY] = WHOLE_ROW("concurrency", concurrency, 16, 1, 512),
    [RL_ROLLOUTS] = WHOLE_ROW("rollouts", rollouts, 4, 0, 1e6),
    [RL_TOKENS] = {"tokens", FLAG, offsetof(rl_numbers, tokens), 0, 0, 0},
    [RL_KEEP] = {"keep", FLAG, offsetof(rl_numbers, keep), 0, 0, 0},
};

const char *rl_setting_name(rl_setting setting)
{
    return rows[setting].name;
}

void rl_settings_given(const char **out, const cmd_args *args)
{
    for (size_t i = 0; i < RL_SETTINGS; i++) {
        out[i] = rows[i].type != FLAG          ? cmd_text(args, rows[i].name, NULL)
                 : cmd_has(args, rows[i].name) ? "yes"
                                               : NULL;
    }
    if (out[RL_LR] != NULL && strcmp(out[RL_LR], "auto") == 0) {
        out[RL_LR] = NULL;
    }
}

static bool parse(rl_numbers *out, const row *r, const char *text)
{
    double real = r->fallback;
    int64_t whole = (int64_t)r->fallback;
    char *to = (char *)out + r->at;
    switch (r->type) {
    case FLAG:
        *(bool *)(void *)to = text != NULL;
        return true;
    case WHOLE:
        if (text != NULL && (!tk_str_to_i64(tk_str_of(text), &whole) ||
                             (double)whole < r->low || (double)whole > r->high)) {
            return false;
        }
        memcpy(to, &whole, sizeof(whole));
        return true;
    case REAL:
        if (text != NULL && (!tk_str_to_double(tk_str_of(text), &real) ||
                             !(real >= r->low && real <= r->high))) {
            return false;
        }
        memcpy(to, &real, sizeof(real));
        return true;
    case TEXT:
        break;
    }
    return true;
}

int rl_settings_parse(rl_numbers *out, const char *const *texts, const cmd_args *args)
{
    for (size_t i = 0; i < RL_SETTINGS; i++) {
        if (!parse(out, &rows[i], texts[i])) {
            return cmd_bad_usage(args, "Invalid value for '--%s': '%s'.", rows[i].name,
                                 texts[i]);
        }
    }
    out->has_failed_reward = texts[RL_FAILED_REWARD] != NULL;
    return CMD_OK;
}

const char *rl_settings_old(const tk_json *json, rl_setting setting)
{
    const tk_json *value = tk_json_get(json, rows[setting].name);
    return value != NULL && value->type == TK_JSON_STRING ? value->as.string.p : NULL;
}

rl_setting rl_settings_adopt(const char **given, const tk_json *json)
{
    for (size_t i = 0; i < RL_HABITS; i++) {
        const char *old = rl_settings_old(json, (rl_setting)i);
        if (given[i] != NULL && (old == NULL || strcmp(given[i], old) != 0)) {
            return (rl_setting)i;
        }
    }
    for (size_t i = 0; i < RL_SETTINGS; i++) {
        const char *old = rl_settings_old(json, (rl_setting)i);
        given[i] = given[i] != NULL ? given[i] : old;
    }
    return RL_SETTINGS;
}

void rl_settings_put(tk_json_writer *w, const char *const *texts)
{
    tk_json_begin_object(w);
    for (size_t i = 0; i < RL_SETTINGS; i++) {
        if (texts[i] != NULL) {
            tk_json_key(w, tk_str_of(rows[i].name));
            tk_json_put_str(w, tk_str_of(texts[i]));
        }
    }
    tk_json_end_object(w);
}
