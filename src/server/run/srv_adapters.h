/* Weights of samplers in memory. A reinforcement loop makes a sampler per step and seldom
 * uses an old one, so only those used last are kept, within a budget; the others are on
 * disk and are loaded again, with the same bits, when they are sampled from.
 *
 * Thread: engine, or the one that frees a sampler after the engine has ended. */
#ifndef SERVER_SRV_ADAPTERS_H
#define SERVER_SRV_ADAPTERS_H

#include "base/err.h"
#include "base/list.h"
#include "base/tk.h"

typedef struct srv srv;
typedef struct srv_sampler srv_sampler;

typedef struct srv_adapters {
    tk_list used; /* srv_sampler.resident, least recently used first */
    size_t limit; /* bytes */
} srv_adapters;

/* Begins empty; `limit` 0 = an eighth of the machine's memory. */
void srv_adapters_init(srv_adapters *adapters, size_t limit);

/* Makes the sampler's weights resident, if it has any. */
TK_NODISCARD tinkc_code srv_adapters_load(srv *server, srv_sampler *sampler, tk_err *err);

/* Notes that the sampler was given weights or uses them. Others may leave memory for it;
 * those that cannot be written to disk stay. */
void srv_adapters_use(srv *server, srv_sampler *sampler);

/* Frees the weights, and what was written for them. */
void srv_adapters_forget(srv_sampler *sampler);

#endif
