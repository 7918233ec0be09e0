/* What was recorded, as the console shows it. Strings and arrays live in the arena. Numbers
 * that are not recorded stay as they were. Blocking; thread: any. Without a database lists
 * are empty. TINKC_E_MISSING, TINKC_E_IO. */
#ifndef SERVER_SRV_REC_READ_H
#define SERVER_SRV_REC_READ_H

#include "server/record/srv_rec.h"

/* The state is that of the recorder: the caller knows which runs are loaded. */
TK_NODISCARD tinkc_code srv_rec_read_runs(con_runs *out, srv_rec *rec, tk_arena *arena,
                                          const con_runs_query *query, tk_err *err);

/* Without checkpoints. */
TK_NODISCARD tinkc_code srv_rec_read_run(con_run_details *out, srv_rec *rec,
                                         tk_arena *arena, tk_str id, tk_err *err);

/* Returns the step of a checkpoint ("weights/x") of a run, or CON_UNKNOWN. */
int64_t srv_rec_read_step(srv_rec *rec, tk_str run, tk_str id);

TK_NODISCARD tinkc_code srv_rec_read_series(con_series_list *out, srv_rec *rec,
                                            tk_arena *arena,
                                            const con_series_query *query, tk_err *err);

TK_NODISCARD tinkc_code srv_rec_read_samples(con_samples *out, srv_rec *rec,
                                             tk_arena *arena,
                                             const con_samples_query *query, tk_err *err);

/* Without the text of tokens. */
TK_NODISCARD tinkc_code srv_rec_read_sample(con_sample_details *out, srv_rec *rec,
                                            tk_arena *arena, int64_t id, tk_err *err);

/* Deletes one, or all with CON_UNKNOWN, also those that are not written yet; what was
 * deleted is overwritten. *n is how many. */
TK_NODISCARD tinkc_code srv_rec_forget(srv_rec *rec, int64_t *n, int64_t id, tk_err *err);

#endif
