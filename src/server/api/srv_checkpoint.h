/* Routes of checkpoints (docs/protocol.md §2.5): lists, delete, publish, time to live.
 * Thread: a worker. */
#ifndef SERVER_SRV_CHECKPOINT_H
#define SERVER_SRV_CHECKPOINT_H

#include "httpd/hd_request.h"
#include "server/store/srv_store.h"
#include "wire/msg_rest.h"

hd_verdict srv_checkpoint_list_all(hd_request *request);
hd_verdict srv_checkpoint_list_run(hd_request *request);
hd_verdict srv_checkpoint_delete(hd_request *request);
hd_verdict srv_checkpoint_publish(hd_request *request);
hd_verdict srv_checkpoint_unpublish(hd_request *request);
hd_verdict srv_checkpoint_set_ttl(hd_request *request);
hd_verdict srv_checkpoint_refuse_bare(hd_request *request);

/* Fills in the wire's form of a row; strings in the arena. Returns false when out of
 * memory. */
TK_NODISCARD bool srv_checkpoint_fill(tk_checkpoint *out, tk_arena *arena,
                                      const srv_store_checkpoint *row);

/* Reads the checkpoint that the first two parameters of the path name (run,
 * "weights/<name>"); views into them. Returns false, with an answer, when they do not. */
TK_NODISCARD bool srv_checkpoint_path(tk_path *out, hd_request *request);

/* Reads limit and offset of the query. Returns false, with an answer, when they are not
 * counts. */
TK_NODISCARD bool srv_checkpoint_page(srv_store_page *out, hd_request *request,
                                      int64_t default_limit);

#endif
