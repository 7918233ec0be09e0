/* Loading a further base model while the server runs. The files are read on the caller's
 * thread, by a pool of its own: the engine computes meanwhile, and no lock is held. */
#ifndef SERVER_SRV_LOAD_H
#define SERVER_SRV_LOAD_H

#include "server/run/srv_catalog.h"

/* Claims the right to load, which one thread has at a time. Returns false when another
 * has it. */
TK_NODISCARD bool srv_load_begin(srv *server);
void srv_load_end(srv *server);

/* Serves the model in `directory` (absolute) under `name`, or under the directory's own
 * name when it is NULL. *out is the model; *served is its name, until the stop. A
 * directory that is served already is not read again: it gets one more name at most.
 *
 * TINKC_E_MISSING when there is no such directory, TINKC_E_CONFLICT for the name of another
 * model, TINKC_E_CONFIG when the memory is too small (with what it needs and what there
 * is), TINKC_E_CANCELLED at the stop; and the errors of a model's files. Their texts have
 * absolute paths. */
TK_NODISCARD tinkc_code srv_load_model(const srv_base **out, const char **served,
                                       srv *server, const srv_pair *what, tk_err *err);

#endif
