/* The inside of tinkc_sampling: a caller's handle of one sampling session. Made by
 * create_sampling_session, or by the ephemeral save of a training client. */
#ifndef CLIENT_SAMPLING_H
#define CLIENT_SAMPLING_H

#include <tinkc/sampling.h>

#include "client/core/handle.h"
#include "client/sampling/sampler.h"

struct tinkc_sampling {
    tk_handle *handle;        /* a reference */
    tk_sampler *sampler;      /* a reference */
    tinkc_sample_retry retry; /* size 0: as the options of the service */
};

/* Makes the handle of a sampling session that the server has made: see tk_sampler_new.
 * Takes a reference of `handle`. The caller owns *out (tinkc_sampling_close). */
TK_NODISCARD tinkc_code tk_sampling_new(tinkc_sampling **out, tk_handle *handle,
                                        tk_str sampling_session_id, tk_err *err);

/* tinkc_sampling_close as a destructor of results. */
void tk_sampling_free(void *sampling);

#endif
