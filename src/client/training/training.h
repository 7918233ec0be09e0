/* The inside of tinkc_training: a caller's handle of one model. */
#ifndef CLIENT_TRAINING_H
#define CLIENT_TRAINING_H

#include <tinkc/training.h>

#include "client/call/op.h"
#include "client/core/handle.h"
#include "client/training/model.h"

struct tinkc_training {
    tk_handle *handle; /* a reference */
    tk_model *model;   /* a reference */
};

/* Makes the handle of a model that the server has just made: see tk_model_new. Takes a
 * reference of `handle`. The caller owns *out (tinkc_training_close). */
TK_NODISCARD tinkc_code tk_training_new(tinkc_training **out, tk_handle *handle,
                                        tk_str model_id, int64_t first_id, tk_err *err);

/* tinkc_training_close as a destructor of results that were not taken. */
void tk_training_free(void *training);

/* Checks a path of save_state: TINKC_E_INVALID for NULL, anything else, or a sampler's
 * path. */
TK_NODISCARD tinkc_code tk_training_check_path(const char *path, tk_err *err);

#endif
