/* Routes of checkpoints (wire.md §2.5): lists, delete, publish, time to live; and the end
 * of those that are past their time. Thread: a worker, except the sweep. */
#ifndef SERVER_SRV_CHECKPOINT_H
#define SERVER_SRV_CHECKPOINT_H

#include "server/http/srv_request.h"
#include "server/store/srv_store.h"
#include "wire/msg_rest.h"

srv_verdict srv_checkpoint_list_all(srv *server, srv_request *request);
srv_verdict srv_checkpoint_list_run(srv *server, srv_request *request);
srv_verdict srv_checkpoint_delete(srv *server, srv_request *request);
srv_verdict srv_checkpoint_publish(srv *server, srv_request *request);
srv_verdict srv_checkpoint_unpublish(srv *server, srv_request *request);
srv_verdict srv_checkpoint_set_ttl(srv *server, srv_request *request);
srv_verdict srv_checkpoint_refuse_bare(srv *server, srv_request *request);

/* The wire's form of a row; strings in the arena. False when out of memory. */
TK_NODISCARD bool srv_checkpoint_fill(tk_checkpoint *out, tk_arena *arena,
                                      const srv_store_checkpoint *row);

/* The checkpoint that the first two parameters of the path name (run, "weights/<name>");
 * views into them. False when they do not: then it is answered. */
TK_NODISCARD bool srv_checkpoint_path(tk_path *out, srv_request *request);

/* Reads limit and offset of the query; false when they are no counts: then it is
 * answered. */
TK_NODISCARD bool srv_checkpoint_page(srv_store_page *out, srv_request *request,
                                      int64_t default_limit);

/* A directory for a new checkpoint, which does not exist yet: its name for the row in
 * *dir, its path in *full (arena). */
TK_NODISCARD tinkc_code srv_checkpoint_new_dir(tk_str *dir, const char **full,
                                               srv *server, tk_arena *arena,
                                               const tk_path *path, tk_err *err);

/* Deletes what is past its time, rows first, then files. Thread: keeper or engine. */
void srv_checkpoint_sweep(srv *server);

#endif
