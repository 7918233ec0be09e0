/* The keeper: a thread for what is due by the clock. Ends long polls, forgets old
 * results, ends sessions without a sign of life, deletes checkpoints past their time and
 * rows of long ago, writes usage. Computes nothing. */
#ifndef SERVER_SRV_KEEPER_H
#define SERVER_SRV_KEEPER_H

#include "base/err.h"
#include "base/tk.h"

typedef struct srv srv;

TK_NODISCARD tinkc_code srv_keeper_start(srv *server, tk_err *err);
/* Answers every parked poll and ends the thread; `stopping` is set. */
void srv_keeper_stop(srv *server);

/* Deletes checkpoints past their time, rows first, then files. Thread: keeper or engine,
 * without the lock. */
void srv_keeper_expire(srv *server);

/* Deletes the rows of sessions that ended long ago and left no checkpoint, and of old
 * usage. Thread: keeper, without the lock. */
void srv_keeper_forget(srv *server);

#endif
