/* What `tinkc train --resume` needs: the settings of a run and how far it came, in one
 * small JSON file that is replaced whole, after the checkpoint it names was saved.
 * Thread: one. */
#ifndef CLI_TRAIN_STATE_H
#define CLI_TRAIN_STATE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/sha256.h"

/* Settings that the weights depend on, as texts: what the command line says. */
typedef enum train_setting {
    TRAIN_MODEL = 0,
    TRAIN_LOAD,
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
    TRAIN_SETTINGS
} train_setting;

/* The option of a setting, e.g. "rank". Static storage. */
const char *train_setting_name(train_setting setting);

typedef struct train_state {
    const char *settings[TRAIN_SETTINGS]; /* NULL: not given, the default counts */
    char data[TK_SHA256_HEX_BYTES];       /* of the training data */
    size_t step;                          /* steps done */
    size_t steps;                         /* of the whole run */
    const char *checkpoint;               /* weights and optimizer after `step` */
    const char *weights;                  /* for sampling, of a finished run; or NULL */
    bool is_finished;
    double eval_first; /* held-out loss before the first step; NaN: not measured */
    tk_arena arena;    /* owns texts that were read */
} train_state;

/* The caller disposes of *out after success. TINKC_E_MISSING: no such file;
 * TINKC_E_DECODE: not one of ours. */
TK_NODISCARD tinkc_code train_state_read(train_state *out, const char *path, tk_err *err);
TK_NODISCARD tinkc_code train_state_write(const train_state *state, const char *path,
                                          tk_err *err);
void train_state_dispose(train_state *state);

/* The first setting of `given` that the state has otherwise, or TRAIN_SETTINGS. A setting
 * that is not given is taken from the state. */
train_setting train_state_adopt(const char **given, const train_state *state);

#endif
