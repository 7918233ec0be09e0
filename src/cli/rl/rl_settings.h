/* The options of `tinkc rl` that belong to a run: their texts come from the command line
 * or, when a run is resumed, from its state; their numbers from the texts. Thread: one. */
#ifndef CLI_RL_SETTINGS_H
#define CLI_RL_SETTINGS_H

#include "base/json.h"
#include "cli/frame/cmd.h"

/* The weights depend on those before RL_HABITS; a run that is resumed must have the same.
 * The others may change. */
typedef enum rl_setting {
    RL_TASKS = 0,
    RL_AGENT,
    RL_ENV,
    RL_MATCH,
    RL_CUT_OFF,
    RL_MODEL,
    RL_LOAD,
    RL_RANK,
    RL_LR,
    RL_LOSS,
    RL_STEPS,
    RL_BATCH,
    RL_GROUP,
    RL_SUBSTEPS,
    RL_SCALE,
    RL_SEED,
    RL_OVERLAP,
    RL_MAX_TURNS,
    RL_MAX_TOKENS,
    RL_FAILED_REWARD,
    RL_TEMPLATE,
    RL_TOOL_FORMAT,
    RL_HABITS,
    RL_EVAL = RL_HABITS,
    RL_EVAL_EVERY,
    RL_EVAL_GROUP,
    RL_SAVE_EVERY,
    RL_TIMEOUT,
    RL_MAX_OUTPUT,
    RL_CONCURRENCY,
    RL_ROLLOUTS,
    RL_TOKENS,
    RL_KEEP,
    RL_SETTINGS
} rl_setting;

extern const cmd_option rl_settings_options[];

/* Returns the option of a setting, such as "rank"; static. */
const char *rl_setting_name(rl_setting setting);

typedef struct rl_numbers {
    int64_t rank, steps, batch, group, substeps, seed, max_turns, max_tokens;
    int64_t eval_every, eval_group, save_every, max_output, concurrency, rollouts;
    double rate; /* 0: --lr auto */
    double failed_reward, cut_off, timeout;
    bool scale, overlap, has_failed_reward, tokens, keep;
} rl_numbers;

/* Gives the texts of the command line; NULL where one is not given; "yes" for a flag. */
void rl_settings_given(const char **out, const cmd_args *args);

/* Parses texts (NULL: the default). Returns CMD_USAGE after an error line. */
int rl_settings_parse(rl_numbers *out, const char *const *texts, const cmd_args *args);

/* Takes what was not given from the object of a state. Returns the first setting that was
 * given otherwise, or RL_SETTINGS. Texts are borrowed from `json`. */
rl_setting rl_settings_adopt(const char **given, const tk_json *json);

/* Returns what the object says; NULL: not set. */
const char *rl_settings_old(const tk_json *json, rl_setting setting);

/* Writes those that are set as an object. */
void rl_settings_put(tk_json_writer *w, const char *const *texts);

#endif
