/* The state of a run of `tinkc rl`, which --resume reads: settings, tasks, and the last
 * checkpoint. The file is replaced as a whole, after the checkpoint that it names was saved.
 * Thread: one. */
#ifndef CLI_RL_STATE_H
#define CLI_RL_STATE_H

#include "base/arena.h"
#include "base/sha256.h"
#include "cli/rl/rl_settings.h"

typedef struct rl_state {
    const char *texts[RL_SETTINGS]; /* of the settings; NULL: the default */
    char tasks[TK_SHA256_HEX_BYTES];
    size_t step, steps;     /* steps done; of the whole run */
    const char *checkpoint; /* weights and optimizer after `step` */
    const char *weights;    /* for sampling, of a finished run; or NULL */
    bool is_finished;
    double eval_first; /* held-out reward before the first step; NaN: not measured */
    uint64_t episodes, tokens; /* of the first `step` steps; tokens that were sampled */
    double seconds;
    const tk_json *settings; /* of the file that was read; else NULL */
    tk_arena arena;          /* owns the texts */
} rl_state;

/* Reads a state; the caller disposes of *out after success. TINKC_E_MISSING: no such file;
 * TINKC_E_DECODE: not a state. */
TK_NODISCARD tinkc_code rl_state_read(rl_state *out, const char *path, tk_err *err);
TK_NODISCARD tinkc_code rl_state_write(const rl_state *state, const char *path,
                                       tk_err *err);
void rl_state_dispose(rl_state *state);

#endif
