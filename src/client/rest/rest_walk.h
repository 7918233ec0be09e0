/* All checkpoints of a user, run by run, for servers that have no list of them: the runs
 * are walked, and the checkpoints of each are asked for. Blocks; thread: the caller's. */
#ifndef CLIENT_REST_WALK_H
#define CLIENT_REST_WALK_H

#include <tinkc/rest.h>

#include "base/err.h"

typedef struct tk_rest_walk {
    tinkc_checkpoints **lists; /* one of each run, owned */
    size_t lists_n, lists_room;
    const tinkc_checkpoint **items; /* of all lists, the newest first */
    size_t n;
} tk_rest_walk;

/* Asks for everything. TINKC_E_LIMIT when there are more runs or checkpoints than
 * docs/limits.md allows. The caller disposes of *walk, also after a failure. */
TK_NODISCARD tinkc_code tk_rest_walk_ask(tk_rest_walk *walk, tinkc_service *service,
                                         tk_err *err);
void tk_rest_walk_dispose(tk_rest_walk *walk); /* accepts a zeroed one */

#endif
