/* The tinker:// grammar (docs/protocol.md §8.7). Pure. Thread: any. */
#ifndef WIRE_PATH_H
#define WIRE_PATH_H

#include "base/err.h"
#include "base/str.h"

typedef enum tk_path_kind {
    TK_PATH_WEIGHTS,         /* training state */
    TK_PATH_SAMPLER_WEIGHTS, /* for sampling only */
    TK_PATH_EXTERNAL_WEIGHTS /* files for other programs */
} tk_path_kind;

typedef struct tk_path {
    tk_str run; /* "<uuid>:train:0" */
    tk_path_kind kind;
    tk_str name;
    tk_str checkpoint_id; /* "weights/<name>", as REST paths want it; if bare, "<name>" */
    bool is_bare; /* tinker://<run>/<name>: weights for sampling, without a kind */
} tk_path;

/* Returns how long the scheme is that the text starts with: that of "tinker://", or of
 * "twinkle://", which one server gives to its checkpoints; 0: it is neither. */
size_t tk_path_scheme(tk_str text);

/* Views into `text`. A bare path is one that some servers give to weights for sampling.
 * TINKC_E_INVALID with the reason when it is not a checkpoint path. */
TK_NODISCARD tinkc_code tk_path_parse(tk_path *out, tk_str text, tk_err *err);

/* "weights", "sampler_weights" or "external_weights"; "training", "sampler" or
 * "external". Static storage. */
const char *tk_path_kind_name(tk_path_kind kind);
const char *tk_path_checkpoint_type(tk_path_kind kind);

/* Finds a kind by the first of these words; false when it is none. */
bool tk_path_find_kind(tk_path_kind *out, tk_str text);

#endif
