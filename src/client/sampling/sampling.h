/* The inside of tinkc_sampling, for whoever makes one: create_sampling_session here, the
 * ephemeral save of a training client there. */
#ifndef CLIENT_SAMPLING_H
#define CLIENT_SAMPLING_H

#include <tinkc/sampling.h>

#include "client/core/core.h"

/* A handle for a sampling session that the server has made. Takes a reference of core,
 * copies the id. TINKC_E_DECODE for an empty id, TINKC_E_NOMEM. Thread: the loop's (it
 * reads the server's flags). The caller owns *out (tinkc_sampling_close). */
TK_NODISCARD tinkc_code tk_sampling_new(tinkc_sampling **out, tk_core *core,
                                        tk_str sampling_session_id, tk_err *err);

/* tinkc_sampling_close as a destructor of results. */
void tk_sampling_free(void *sampling);

#endif
