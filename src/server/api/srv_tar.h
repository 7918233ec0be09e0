/* A checkpoint as a tar of adapter_config.json, adapter_model.safetensors and
 * checkpoint_complete, which is empty. The same checkpoint gives the same bytes every
 * time, so that a download can be resumed. Blocking. Thread: any. */
#ifndef SERVER_SRV_TAR_H
#define SERVER_SRV_TAR_H

#include "base/err.h"
#include "base/tk.h"

/* Writes the tar to a file without a name, below `scratch`; the caller closes *fd. All
 * members are dated `time_us`. TINKC_E_MISSING when a file of the checkpoint is missing;
 * TINKC_E_IO. */
TK_NODISCARD tinkc_code srv_tar_make(int *fd, int64_t *size, const char *directory,
                                     int64_t time_us, const char *scratch, tk_err *err);

#endif
