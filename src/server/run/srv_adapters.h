/* Weights of samplers in memory. A reinforcement loop makes a sampler per step and seldom
 * uses an old one, so only those used last are kept, within SRV_PART_SAMPLERS of the
 * budget; the others are on disk and are loaded again, with the same bits, when they are
 * sampled from.
 *
 * Thread: engine, or the one that frees a sampler after the engine has ended. */
#ifndef SERVER_SRV_ADAPTERS_H
#define SERVER_SRV_ADAPTERS_H

#include "base/err.h"
#include "base/tk.h"
#include "engine/eng.h"

typedef struct srv srv;
typedef struct srv_base srv_base;
typedef struct srv_sampler srv_sampler;

/* Makes the sampler's weights resident, if it has any. TINKC_E_RATE_LIMIT when there is no
 * memory for them. */
TK_NODISCARD tinkc_code srv_adapters_load(srv *server, srv_sampler *sampler, tk_err *err);

/* Gives the sampler a copy of the weights of a model that is trained. Errors as above. */
TK_NODISCARD tinkc_code srv_adapters_copy(srv *server, srv_sampler *sampler,
                                          const eng_adapter *from, tk_err *err);

/* Warns, once in the server's life, when weights of a directory were made over an int8 model and
 * `base` is none. */
void srv_adapters_compare(srv *server, const srv_base *base, const char *dir);

/* Frees the weights, and what was written for them. */
void srv_adapters_forget(srv_sampler *sampler);

#endif
