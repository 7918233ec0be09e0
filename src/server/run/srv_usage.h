/* What was used: tokens trained, prompted and sampled, and checkpoints, by hour, base
 * model and session. Counted in memory, written to the store by the keeper and at the
 * stop: a crash loses the numbers of the last seconds, for which nothing is billed.
 *
 * Thread: any; its own lock, which is a leaf. */
#ifndef SERVER_SRV_USAGE_H
#define SERVER_SRV_USAGE_H

#include "base/err.h"
#include "base/log.h"
#include "server/store/srv_store.h"
#include "wire/msg_rest.h"

#define SRV_USAGE_HOUR_US (INT64_C(3600) * 1000000)
#define SRV_USAGE_CACHED  256 /* added to the kind of a row: tokens found in the cache */

typedef struct srv_usage srv_usage;

TK_NODISCARD tinkc_code srv_usage_new(srv_usage **out, tk_err *err);
void srv_usage_free(srv_usage *usage); /* accepts NULL; what was not written is lost */

/* Adds to a counter. `session` may be the id of a model or sampler: what follows the
 * first ":" is left out. Without memory nothing is counted. */
void srv_usage_add(srv_usage *usage, tk_billing_kind kind, tk_str base_model,
                   tk_str session, uint64_t amount);

/* Adds tokens of prompts that were found in the cache. */
void srv_usage_add_cached(srv_usage *usage, tk_str base_model, tk_str session,
                          uint64_t amount);

/* Writes what was counted. On failure it is kept for the next time. Blocking. */
TK_NODISCARD tinkc_code srv_usage_write(srv_usage *usage, srv_store *store, tk_err *err);

/* Writes what was counted; logs a failure. */
void srv_usage_flush(srv_usage *usage, srv_store *store, tk_log *log);

#endif
