/* The state file of a training (`tinkc train`, `dpo`, `distill`), which --resume reads: the settings of a run, its data
 * and its last checkpoint, in a small JSON file. The file is replaced as a whole, after
 * the checkpoint that it names was saved. Thread: one. */
#ifndef CLI_TRAIN_STATE_H
#define CLI_TRAIN_STATE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/sha256.h"

/* Settings that the weights depend on; their values are the texts of the command line. */
typedef enum train_setting {
    TRAIN_MODEL = 0,
    TRAIN_LOAD,
    TRAIN_TOKENIZER,
    TRAIN_RANK,
    TRAIN_LR,
    TRAIN_SCHEDULE,
    TRAIN_WARMUP,
    TRAIN_CLIP,
    TRAIN_DECAY,
    TRAIN_BATCH,
    TRAIN_EPOCHS,
    TRAIN_STEPS,
    TRAIN_SEED,
    TRAIN_LOSS_ON,
    TRAIN_MAX_LENGTH,
    TRAIN_INPUT_FORMAT,
    TRAIN_BETA,    /* dpo */
    TRAIN_TEACHER, /* distill, like the rest */
    TRAIN_SAMPLES,
    TRAIN_MAX_TOKENS,
    TRAIN_TEMPERATURE,
    TRAIN_COEFFICIENT,
    TRAIN_SETTINGS
} train_setting;

/* Returns the option of a setting, such as "rank"; static. */
const char *train_setting_name(train_setting setting);

/* Options that the weights do not depend on. A resumed run keeps them unless they are
 * given again. */
typedef enum train_habit {
    TRAIN_EVAL = 0,
    TRAIN_EVAL_EVERY,
    TRAIN_SAVE_EVERY,
    TRAIN_METRICS,
    TRAIN_SVG,
    TRAIN_SKIP_BAD, /* "yes" */
    TRAIN_HABITS
} train_habit;

#define TRAIN_EXTRAS 8 /* numbers beside the loss */

/* Returns the option of a habit, such as "eval"; static. */
const char *train_habit_name(train_habit habit);

/* What steps took. */
typedef struct train_totals {
    size_t tokens; /* input tokens */
    double seconds;
} train_totals;

typedef struct train_state {
    const char *kind;                     /* command of the run: "train" */
    const char *settings[TRAIN_SETTINGS]; /* NULL: not given, the default */
    const char *habits[TRAIN_HABITS];     /* NULL: not given */
    char data[TK_SHA256_HEX_BYTES];       /* SHA-256 of the training data */
    size_t step;                          /* steps done */
    size_t steps;                         /* of the whole run */
    const char *checkpoint;               /* path of weights and optimizer after `step` */
    const char *weights; /* path for sampling, of a finished run; or NULL */
    bool is_finished;
    const char *anchor; /* what the run is held against, by its goal; or NULL */
    double eval_first;  /* held-out loss before the first step; NaN: not measured */
    double eval_extras[TRAIN_EXTRAS]; /* the numbers beside it */
    size_t eval_extras_n;
    double loss_first;   /* of the first step; NaN: it did not end yet */
    train_totals totals; /* of the first `step` steps */
    tk_arena arena;      /* owns the texts */
} train_state;

/* Reads a state file; the caller disposes of *out after success. TINKC_E_MISSING: no such
 * file; TINKC_E_DECODE: not a state file. */
TK_NODISCARD tinkc_code train_state_read(train_state *out, const char *path, tk_err *err);

/* Replaces the state file. */
TK_NODISCARD tinkc_code train_state_write(const train_state *state, const char *path,
                                          tk_err *err);

/* Removes the state file of a run that is not continued, if there is one. To be called before
 * anything of the new run replaces what belongs to the old one: else a run that is killed
 * before its first checkpoint leaves a state that --resume would take for its own. */
TK_NODISCARD tinkc_code train_state_discard(const char *path, tk_err *err);
void train_state_dispose(train_state *state);

/* Returns the first setting of `given` that differs from the state, or TRAIN_SETTINGS
 * when none does and all settings that were not given are taken from the state. */
train_setting train_state_adopt(const char **given, const train_state *state);

/* Takes all habits that were not given from the state. */
void train_state_keep(const char **given, const train_state *state);

#endif
