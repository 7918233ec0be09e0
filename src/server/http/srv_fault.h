/* Faults on purpose, for tests of clients (--faults FILE): lost and cut answers, statuses
 * that were not earned, polls that say "not yet", delays. A file is
 *
 *     {"rules": [{"route": "optim_step", "action": "drop", "once": true}, ...]}
 *
 * and the first rule that fires for a request is applied. docs/faults.md has the fields.
 *
 * Thread: any, under the server's lock, except where it says otherwise. */
#ifndef SERVER_SRV_FAULT_H
#define SERVER_SRV_FAULT_H

#include "base/err.h"
#include "server/http/srv_request.h"

typedef struct srv_faults srv_faults;

/* Reads the file. TINKC_E_CONFIG with the rule's number and key for what is not a rule;
 * else what the file is refused with. */
TK_NODISCARD tinkc_code srv_faults_open(srv_faults **out, const char *path, tk_err *err);
void srv_faults_free(srv_faults *faults); /* accepts NULL */

/* Runs the request's handler, or what a rule has in its place. Without the lock. Thread:
 * a worker. */
srv_verdict srv_faults_handle(srv *server, srv_request *request);

/* When the next delayed request is due; TK_FOREVER when there is none. */
int64_t srv_faults_next(srv_faults *faults); /* accepts NULL */
/* Moves those that are due at `now_ns` to `out`, linked through `waiting`. Whoever calls
 * posts them again. Accepts NULL. */
void srv_faults_release(srv_faults *faults, int64_t now_ns, tk_list *out);

#endif
