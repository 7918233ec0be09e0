/* What each kind of job does. Thread: engine. */
#ifndef SERVER_SRV_RUN_H
#define SERVER_SRV_RUN_H

#include "server/run/srv_job.h"

/* Runs the job, of a training request one piece. True when that was all: its future is
 * finished and it is freed; an unload frees its model too. Without the server's lock. */
bool srv_run_job(srv_job *job);

/* Finishes a job that saves or loads (srv_run_weights.c). */
TK_NODISCARD tinkc_code srv_run_save(srv_job *job, tk_err *err);
TK_NODISCARD tinkc_code srv_run_snapshot(srv_job *job, tk_err *err);
/* Loads job->path into the model's adapter. */
TK_NODISCARD tinkc_code srv_run_load(srv_job *job, tk_err *err);

#endif
