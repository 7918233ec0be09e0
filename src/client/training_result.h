/* What training operations give back: tinkc_fwdbwd, owned tinkc_metrics,
 * tinkc_model_info. Immutable once handed out. */
#ifndef CLIENT_TRAINING_RESULT_H
#define CLIENT_TRAINING_RESULT_H

#include <tinkc/training.h>

#include "base/arena.h"
#include "base/err.h"
#include "wire/value.h"

/* A copy that the caller owns; `metrics` may be NULL: none. NULL with *err set. */
TK_NODISCARD tinkc_metrics *tk_training_metrics(const tk_num_map *metrics, tk_err *err);
void tk_training_free_metrics(void *metrics);
const tk_num_map *tk_training_metrics_map(const tinkc_metrics *metrics);

void *tk_training_read_info(tk_str body, tk_err *err);
void tk_training_free_info(void *info);

#endif
