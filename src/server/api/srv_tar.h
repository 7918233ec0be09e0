/* A checkpoint as a tar of adapter_config.json, adapter_model.safetensors and
 * checkpoint_complete, which is empty. The tar is computed while it is read, from any
 * place, and is nowhere stored: only its headers and adapter_config.json are in memory. The
 * same checkpoint gives the same bytes every time, so that a download can be resumed. It
 * holds one file open, the weights: a checkpoint that is deleted meanwhile can be read to
 * its end. Blocking. Thread: one at a time. */
#ifndef SERVER_SRV_TAR_H
#define SERVER_SRV_TAR_H

#include "base/arena.h"
#include "base/err.h"
#include "base/tk.h"

typedef struct srv_tar srv_tar;

/* Opens the files of a checkpoint. All members are dated `time_us`. The arena holds the
 * small one and outlives the tar. TINKC_E_MISSING when a file of the checkpoint is missing;
 * TINKC_E_IO, TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code srv_tar_open(srv_tar **out, tk_arena *arena,
                                     const char *directory, int64_t time_us, tk_err *err);
void srv_tar_free(void *tar); /* accepts NULL */

int64_t srv_tar_size(const srv_tar *tar);

/* Copies bytes from `at` (below the size) on to out[0..max). Returns their number, at least
 * 1 and seldom `max`; -1 when a file cannot be read or is shorter than it was. */
long srv_tar_read(void *tar, int64_t at, char *out, size_t max);

#endif
