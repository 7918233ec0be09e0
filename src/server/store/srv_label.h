/* The label of a checkpoint: the file tinkc.json in its directory, with the checkpoint's
 * row and what its run's row needs. It shows that the server wrote the directory, and a
 * lost database is rebuilt from the labels (srv_store_reconcile.c). It is never part of an
 * archive.
 *
 * A label is replaced by rename and synced: a crash leaves the old one or the new one. A
 * checkpoint that is deleted gets its label renamed first, which needs no room on the
 * disk; a directory with such a label may be removed at any time. Blocking. Thread: one
 * at a time per directory. */
#ifndef SERVER_SRV_LABEL_H
#define SERVER_SRV_LABEL_H

#include "base/arena.h"
#include "base/err.h"
#include "server/store/srv_store.h"

#define SRV_LABEL_FILE         "tinkc.json"
#define SRV_LABEL_DELETED_FILE "tinkc.deleted.json"

typedef struct srv_label {
    srv_store_checkpoint checkpoint; /* `dir` is the last part only: "name.0123" */
    srv_store_run run;               /* without last_request_us */
} srv_label;

/* Writes or replaces the label of a directory. */
TK_NODISCARD tinkc_code srv_label_write(const char *directory, const srv_label *label,
                                        tk_err *err);

/* Reads a label; strings live in the arena. TINKC_E_MISSING when there is none,
 * TINKC_E_PARSE, TINKC_E_DECODE or TINKC_E_LIMIT when the file is not a label, TINKC_E_IO,
 * TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code srv_label_read(srv_label *out, tk_arena *arena,
                                       const char *directory, tk_err *err);

/* Marks a checkpoint as deleted, or takes that back. TINKC_E_MISSING when the directory or
 * its label is missing. */
TK_NODISCARD tinkc_code srv_label_bury(const char *directory, tk_err *err);
TK_NODISCARD tinkc_code srv_label_unearth(const char *directory, tk_err *err);

/* Whether a directory is that of a deleted checkpoint. */
bool srv_label_is_buried(const char *directory);

#endif
