/* The wire structs behind the public values of <tinkc/types.h>. Borrowed; thread: as the
 * public object. */
#ifndef CLIENT_TYPES_H
#define CLIENT_TYPES_H

#include <tinkc/metrics.h>
#include <tinkc/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "wire/value.h"

/* Never NULL; an empty input for NULL. Valid until the object changes or dies. */
const tk_model_input *tk_types_input(const tinkc_model_input *input);

/* Copies the tokens of all chunks, with room for `extra` more after them. The caller frees
 * *out, which is never NULL. TINKC_E_INVALID when a chunk is not text, TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code tk_types_copy_tokens(int32_t **out, size_t *n,
                                             const tinkc_model_input *input, size_t extra,
                                             tk_err *err);
/* What the losses of reinforcement learning read: one value for each target, which is one
 * less than tokens. */
typedef struct tk_types_rl {
    int32_t *tokens; /* [n + 1] */
    float *logprobs, *advantages;
    size_t n;
} tk_types_rl;

/* Makes a datum of them, with copies. The caller frees *out. */
TK_NODISCARD tinkc_code tk_types_rl_datum(tinkc_datum **out, const tk_types_rl *rl,
                                          tinkc_error **err);
const tk_datum *tk_types_datum(const tinkc_datum *datum);

/* Copies a tensor with everything it points to into the arena. TINKC_E_INVALID when it is
 * not sound, TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code tk_types_copy_tensor(tk_tensor *out, tk_arena *arena,
                                             const tk_tensor *from, tk_err *err);

/* The public face of a tensor or of metrics inside a result; it lives as long as those.
 * The names of the metrics must have a NUL after them, as JSON strings and the result of
 * tk_metrics_combine have. */
const tinkc_tensor *tk_types_tensor(const tk_tensor *tensor);
/* The other way; an empty tensor for NULL. */
const tk_tensor *tk_types_wire_tensor(const tinkc_tensor *tensor);
const tinkc_metrics *tk_types_metrics(const tk_num_map *metrics);

/* Reads an options struct that starts with its size: what a shorter (older) one lacks
 * keeps the value it has in *out, which the caller filled with defaults. TINKC_E_INVALID
 * when it was not initialised, TINKC_E_UNSUPPORTED when a longer (newer) one sets
 * something that this version does not know. `in` may be NULL: all defaults. */
TK_NODISCARD tinkc_code tk_types_options(void *out, size_t out_size, const void *in,
                                         tk_err *err);

#endif
