/* The data directory as a whole: whether it belongs to tinkc, who may read it, and where
 * things go that the server will not touch.
 *
 * A directory of the server carries the file tinkc.json. One that is not empty and has
 * neither that file nor a database of an earlier version is refused, before anything is
 * written to it. Blocking. Thread: one. */
#ifndef SERVER_SRV_DATA_H
#define SERVER_SRV_DATA_H

#include "base/err.h"
#include "base/log.h"
#include "base/tk.h"

#define SRV_DATA_MARK_FILE     "tinkc.json"
#define SRV_DATA_DATABASE      "tinkc.db"
#define SRV_DATA_INSTANCE_SIZE 40

/* Makes the directory when it is missing, and closes it to other users (0700).
 * TINKC_E_CONFIG when it belongs to something else; TINKC_E_IO. */
TK_NODISCARD tinkc_code srv_data_claim(const char *data, tk_log *log, tk_err *err);

/* Writes the mark of a directory, with the name of this instance. */
TK_NODISCARD tinkc_code srv_data_write_mark(const char *directory, const char *instance,
                                            tk_err *err);
/* Reads it. TINKC_E_MISSING when there is none, TINKC_E_UNSUPPORTED when a newer version
 * wrote it, TINKC_E_DECODE and the like when it is damaged. */
TK_NODISCARD tinkc_code srv_data_read_mark(char instance[SRV_DATA_INSTANCE_SIZE],
                                           const char *directory, tk_err *err);

/* Moves `name`, a path below `data`, to aside/<time>/<name> below it, and logs that with
 * the reason. Nothing there is read or removed by the server. */
TK_NODISCARD tinkc_code srv_data_set_aside(const char *data, const char *name,
                                           const char *why, tk_log *log, tk_err *err);

#endif
