/* The keeper: a thread for what is due by the clock. Ends long polls, forgets old
 * results, reaps sessions without a heartbeat, deletes checkpoints past their time. */
#ifndef SERVER_SRV_KEEPER_H
#define SERVER_SRV_KEEPER_H

#include "base/err.h"
#include "server/http/srv_request.h"

TK_NODISCARD tinkc_code srv_keeper_start(srv *server, tk_err *err);
/* After `stopping` was set: answers every parked poll and ends the thread. */
void srv_keeper_stop(srv *server);

#endif
