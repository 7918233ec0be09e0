/* A checkpoint as a tar of adapter_config.json, adapter_model.safetensors and
 * checkpoint_complete, which is empty. The same checkpoint gives the same bytes every
 * time, so that a download can go on where it stopped. Blocking. Thread: any. */
#ifndef SERVER_SRV_TAR_H
#define SERVER_SRV_TAR_H

#include "base/err.h"
#include "base/tk.h"

/* Writes it to a file without a name, below `scratch`, whose descriptor goes to *fd for
 * the caller to close. `time_us` is what all members are dated. TINKC_E_MISSING when a
 * file of the checkpoint is not there; TINKC_E_IO. */
TK_NODISCARD tinkc_code srv_tar_make(int *fd, int64_t *size, const char *directory,
                                     int64_t time_us, const char *scratch, tk_err *err);

#endif
