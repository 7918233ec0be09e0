/* What the files that read share. Private to srv_rec_*.c. */
#ifndef SERVER_SRV_REC_READ_INT_H
#define SERVER_SRV_REC_READ_INT_H

#include "server/record/srv_rec_int.h"
#include "server/record/srv_rec_read.h"

/* The series of a run by its row; under `reading`. */
TK_NODISCARD tinkc_code srv_rec_series_of(con_series_list *out, sqlite3 *db,
                                          tk_arena *arena, int64_t row,
                                          const con_series_query *query, tk_err *err);

#endif
