/* Polls of futures: what retrieve_future and retrieve_futures keep with their request
 * while it is parked, and the answers to them (docs/protocol.md §4, §4.1). Thread: the one that has the request, without
 * the server's lock. */
#ifndef SERVER_SRV_POLL_H
#define SERVER_SRV_POLL_H

#include "httpd/hd_request.h"
#include "server/run/srv_future.h"

/* A result above this size is announced first (complete_metadata) when the poll allows
 * it, so that a client can make room. */
#define SRV_METADATA_BYTES (4 * TK_MIB)

/* The text of 410. */
#define SRV_POLL_GONE                                                                      \
    "the result is not kept any more: it has expired, or the server was restarted, which " \
    "also unloads models and samplers"

struct srv_poll {
    hd_request *request;
    bool allow_metadata;
    /* while it is parked; under the server's lock */
    tk_list waiting;       /* in its future's list, or in a list on its way out */
    tk_heap_node deadline; /* in the table's heap of deadlines */
    srv_future *future;    /* that it waits for */
    /* What its future was when it left (srv_future_look): a copy, good without a lock. */
    bool done;
    bool starved;
    bool is_proto;
    tk_future_type type;
    hd_blob *result; /* owned; NULL = none, or not kept any more */
    srv_wait wait;   /* why it is still pending */
    /* Of a poll for all completions of a client of a sampling session. */
    bool is_many;
    int64_t clone, cursor;
    char id[]; /* of the future, or of the sampling session */
};

/* Makes the record of a poll for the future (or the session) `id`, owned by the request. Returns NULL when
 * out of memory. */
srv_poll *srv_poll_new(hd_request *request, tk_str id);

/* Answers the poll with what srv_future_look copied: the result, or "not yet"; one for
 * many with the completions after its cursor. Takes the server's lock for those. */
hd_verdict srv_poll_answer(srv_poll *poll);

/* Answers and resumes polls that their futures released, linked through `waiting`. */
void srv_poll_release(tk_list *released);

#endif
