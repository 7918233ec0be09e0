/* Shared by the commands that train, `tinkc train`, `dpo` and `distill`: their options
 * (cmd_train_options.c), a run from the command line to its last checkpoint
 * (cmd_train_job.c, its files in cmd_train_files.c) and its output (cmd_train_out.c). The
 * training itself is in train_run.h. */
#ifndef CLI_CMD_TRAIN_H
#define CLI_CMD_TRAIN_H

#include "cli/data/data_read.h"
#include "cli/frame/cmd.h"
#include "cli/train/train_run.h"

#define TRAIN_LR_AUTO "auto"

/* The settings as numbers. */
typedef struct train_numbers {
    int64_t rank, warmup, batch, epochs, steps, max_length;
    uint64_t seed;
    double rate, clip, decay;
    train_schedule schedule;
    tinkc_loss_on loss_on;
    double beta;                     /* dpo */
    int64_t samples, max_tokens;     /* distill */
    double temperature, coefficient; /* distill */
} train_numbers;

/* ---- a run ---- */

#define TRAIN_NAME_BYTES 256

struct train_job;

/* What distinguishes the commands. */
typedef struct train_kind {
    const char *name;  /* of the command, and in state files: "train" */
    const char *title; /* "Training" */
    const char *noun;  /* what a step takes: "lines" */
    data_want want;
    size_t rows_each;  /* rows of a set that make one of them */
    double rate_scale; /* of --lr auto */
    /* Makes job->goal when data and model are there. Returns CMD_OK, or another exit code
     * after an error line. NULL: the goal is train_goal_lines. */
    int (*begin)(struct train_job *job);
    void (*end)(struct train_job *job); /* after the service was closed; or NULL */
} train_kind;

/* Everything of one run, for as long as the command takes. */
typedef struct train_job {
    const train_kind *kind;
    const cmd_args *args;
    const char *settings[TRAIN_SETTINGS];
    const char *habits[TRAIN_HABITS];
    train_numbers numbers;
    char rate[32];     /* text of --lr auto */
    double parameters; /* of the model; 0: not known */
    char name[TRAIN_NAME_BYTES];
    char state_path[TRAIN_NAME_BYTES + 16];
    train_state state;
    size_t from_step;
    char *model, *load; /* owned: what --model and --load mean */
    tinkc_service *service;
    tinkc_training *training;
    tinkc_tokenizer *tokenizer;
    tinkc_chat_template *tpl;
    size_t context; /* of the model, in tokens; 0: not known */
    data_files data_paths, eval_paths;
    data_set data, eval;
    char eval_digest[TK_SHA256_HEX_BYTES]; /* of the held-out data, if there is any */
    train_plan plan;
    train_run run;
    const train_goal *goal;
    bool is_lost; /* the server does not answer any more */
} train_job;

/* The command: reads and checks everything before the first step, with --resume also the
 * state file of the earlier run, trains, and shows the result. Returns the exit code. */
int cmd_train_job(const cmd_args *args, const train_kind *kind);

/* Checks the options that all of them have. */
int cmd_train_check(const cmd_args *args);

/* Opens a training client with the weights that the run started from, also when it is
 * resumed. The caller unloads and closes it. Returns CMD_OK, or another exit code after an
 * error line. */
int cmd_train_open_start(tinkc_training **out, train_job *job);

/* Frees the place of a model on the server, and closes the client. Accepts a pointer to
 * NULL. */
void cmd_train_unload(tinkc_training **training);

/* ---- its files ---- */

/* Sets the name of the checkpoints, which is --save or the data file without its folder
 * and ending, and the path of the state file. */
int cmd_train_set_name(train_job *job);

/* Checks now that a file can be written which is only written hours later. Accepts NULL. */
bool cmd_train_can_write(const char *path);

/* The same for one that is not replaced but written to, such as /dev/stdout. */
bool cmd_train_can_append(const char *path);

/* Reads the state file that an earlier run left. With --resume its settings and its step
 * become those of this run; without, an unfinished run must not be overwritten. */
int cmd_train_read_state(train_job *job);

/* ---- options ---- */

/* Rows for a table of options: first those that every training has. */
#define CMD_TRAIN_OPTIONS(noun)                                                            \
    {"model",                                                                              \
     'm',                                                                                  \
     CMD_TEXT,                                                                             \
     "NAME",                                                                               \
     "Base model, or DIR with --local (default: the only one).",                           \
     false},                                                                               \
        {"save",                                                                           \
         's',                                                                              \
         CMD_TEXT,                                                                         \
         "NAME",                                                                           \
         "Name of the checkpoints (default: the data file's).",                            \
         false},                                                                           \
        {"resume", 'r', CMD_FLAG, NULL, "Continue the last run where it stopped.", false}, \
        {"restart", 0, CMD_FLAG, NULL, "Discard an unfinished run and start over.",        \
         false},                                                                           \
        {"open", 0, CMD_FLAG, NULL, "Open the run in the server's console, in a browser.", \
         false},                                                                           \
        {"epochs", 0, CMD_INT, "N", "Passes over the data (3).", false},                   \
        {"steps", 'n', CMD_INT, "N", "Number of steps, instead of --epochs.", false},      \
        {"batch", 'b', CMD_INT, "N", noun " per step (16).", false},                       \
        {"schedule",                                                                       \
         0,                                                                                \
         CMD_CHOICE,                                                                       \
         "constant|linear|cosine",                                                         \
         "How the learning rate falls (linear).",                                          \
         false},                                                                           \
        {"warmup", 0, CMD_INT, "N", "Steps during which the learning rate rises (0).",     \
         false},                                                                           \
        {"rank", 0, CMD_INT, "N", "Rank of the LoRA (32).", false},                        \
        {"clip", 0, CMD_NUMBER, "NORM", "Clip gradients to this norm (0: off).", false},   \
        {"weight-decay", 0, CMD_NUMBER, "X", "Weight decay of AdamW (0).", false},         \
        {"tokenizer",                                                                      \
         0,                                                                                \
         CMD_TEXT,                                                                         \
         "DIR|NAME",                                                                       \
         "Tokenizer: a directory, or a name at the hub (default: the model's).",           \
         false},                                                                           \
        {"load",                                                                           \
         0,                                                                                \
         CMD_TEXT,                                                                         \
         "NAME",                                                                           \
         "Start from these weights (or tinker://RUN/weights/NAME).",                       \
         false},                                                                           \
        {"save-every",                                                                     \
         0,                                                                                \
         CMD_INT,                                                                          \
         "N",                                                                              \
         "Steps between checkpoints (50; 0: only at the end).",                            \
         false},                                                                           \
        {"eval-every",                                                                     \
         0,                                                                                \
         CMD_INT,                                                                          \
         "N",                                                                              \
         "Steps between evaluations (0: only at the start and the end).",                  \
         false},                                                                           \
        {"budget-tokens",                                                                  \
         0,                                                                                \
         CMD_INT,                                                                          \
         "N",                                                                              \
         "Save and stop before more tokens are used.",                                     \
         false},                                                                           \
        {"metrics",                                                                        \
         0,                                                                                \
         CMD_TEXT,                                                                         \
         "FILE",                                                                           \
         "Write the metrics of each step to FILE, as JSONL.",                              \
         false},                                                                           \
        {"skip-bad", 0, CMD_FLAG, NULL, "Leave out lines that cannot be used.", false},    \
    {                                                                                      \
        "check", 0, CMD_FLAG, NULL, "Check the data and stop.", false                      \
    }

/* Give the settings and the habits of the command line; NULL where one is not given
 * (--lr auto counts as not given). */
void cmd_train_given(const char **out, const cmd_args *args);
void cmd_train_habits(const char **out, const cmd_args *args);

/* Parses settings (NULL: the default; a rate of 0: --lr auto). Returns CMD_USAGE after an
 * error line. */
int cmd_train_parse(train_numbers *out, const char *const *settings,
                    const cmd_args *args);

/* ---- standard error ---- */

/* Shows a warning of the run. */
void cmd_train_warn(const char *text);

/* Shows what will be trained, and how. `parameters`: what --lr auto was computed from; 0:
 * not known; negative: --lr was given. */
void cmd_train_intro(const train_job *job, double parameters);

/* Returns the events that show a run: steps on a terminal in one line that changes in
 * place, elsewhere in about twenty lines for the whole run; evaluations in lines, what a
 * stop does, and a loss that goes wrong. */
train_events cmd_train_events(train_job *job);

/* Writes the likely cause of a loss that goes wrong into `out` and returns it. */
const char *cmd_train_cause(char out[256], const train_run *run);

/* Show command lines to paste: what can be done with the weights of a finished run, and
 * how one that stopped is continued. */
void cmd_train_next(const train_job *job);
void cmd_train_continue(const train_job *job);

/* ---- standard output ---- */

/* Shows the losses, the curve and the checkpoints of a finished run. */
int cmd_train_summary(train_job *job);

#endif
