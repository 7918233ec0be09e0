/* What training operations give back: tinkc_fwdbwd, owned tinkc_metrics,
 * tinkc_model_info. Immutable once handed out. */
#ifndef CLIENT_TRAINING_RESULT_H
#define CLIENT_TRAINING_RESULT_H

#include <tinkc/training.h>

#include "base/arena.h"
#include "base/err.h"
#include "client/call/poll.h"
#include "wire/value.h"

/* Result of one request, or of a whole batch, which then owns its parts. */
struct tinkc_fwdbwd {
    tk_arena arena;
    tk_fwdbwd_output out;
    const char *output_type;
    const char *const **names; /* [datum][tensor], NUL-terminated */
    tinkc_fwdbwd **parts;
    size_t parts_n;
    tinkc_metrics *more; /* owned; what is shown instead of the metrics of `out` */
    double loss; /* computed from what was sent, where the metrics have none; else NAN */
};

/* From the bytes of a result, protobuf or JSON, which are copied. NULL with *err set. */
TK_NODISCARD tinkc_fwdbwd *tk_fwdbwd_read(const tk_poll_result *said, tk_err *err);

/* The whole from its parts, which it takes (and the array) on success only. */
TK_NODISCARD tinkc_fwdbwd *tk_fwdbwd_combine(tinkc_fwdbwd **parts, size_t n, tk_err *err);

void tk_fwdbwd_free(void *result);

/* Computes the loss from the log-probabilities of the result and what was asked for.
 * TINKC_E_UNSUPPORTED: a loss that is not known here; TINKC_E_MISSING: a value is. */
TK_NODISCARD tinkc_code tk_fwdbwd_compute(double *out, const tinkc_fwdbwd *result,
                                          const tk_fwdbwd_request *request, tk_err *err);

/* A copy that the caller owns; `metrics` may be NULL: none. NULL with *err set. */
TK_NODISCARD tinkc_metrics *tk_training_metrics(const tk_num_map *metrics, tk_err *err);
void tk_training_free_metrics(void *metrics);
const tk_num_map *tk_training_metrics_map(const tinkc_metrics *metrics);

void *tk_training_read_info(tk_str body, tk_err *err);
void tk_training_free_info(void *info);

/* The server's text, including what follows ":"; NULL: none. Borrowed. */
const char *tk_training_info_tokenizer(const tinkc_model_info *info);

#endif
