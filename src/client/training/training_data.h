/* The caller's datums as one array of wire datums, checked. Thread: the caller's. */
#ifndef CLIENT_TRAINING_DATA_H
#define CLIENT_TRAINING_DATA_H

#include <tinkc/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "wire/value.h"

typedef struct tk_training_data {
    const tinkc_datum *const *items;
    size_t n;
} tk_training_data;

/* Fills data and data_n of the request; the array lives in the arena, what it points to
 * is the caller's. TINKC_E_INVALID, with the place in err->path: no datums, a NULL among
 * them, NaN in a tensor. TINKC_E_LIMIT: too many. */
TK_NODISCARD tinkc_code tk_training_data_read(tk_fwdbwd_request *request, tk_arena *arena,
                                              const tk_training_data *data, tk_err *err);

#endif
