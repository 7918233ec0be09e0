/* One HTTP request from its last byte to its answer, without a type of the HTTP library.
 *
 * Ownership: the HTTP thread makes and frees it. From the moment a worker takes it until
 * srv_request_resume, exactly one thread at a time may touch it: the worker that runs its
 * handler, or whoever took it off a list of waiters (srv_future.h). An answer is set
 * once, then the request is resumed and not touched any more. */
#ifndef SERVER_SRV_REQUEST_H
#define SERVER_SRV_REQUEST_H

#include "base/arena.h"
#include "base/heap.h"
#include "base/list.h"
#include "server/http/srv_blob.h"
#include "wire/schema.h"

typedef struct srv srv;
typedef struct srv_route srv_route;
typedef struct srv_future srv_future;
typedef struct srv_stream srv_stream;

#define SRV_PARAMS_MAX  3
#define SRV_HEADERS_MAX 6

typedef struct srv_header {
    const char *name;  /* static */
    const char *value; /* in the request's arena, or static */
} srv_header;

typedef struct srv_query {
    tk_str name, value; /* decoded; in the arena */
} srv_query;

/* What of the answer does not arrive, on purpose (srv_fault.h). */
typedef enum srv_loss { SRV_LOSS_NONE, SRV_LOSS_HALF, SRV_LOSS_ALL } srv_loss;

/* A body that is a part of a file. */
typedef struct srv_file {
    int fd; /* owned; -1 = none */
    int64_t offset, size;
} srv_file;

/* What a poll was told when it left its future: a copy, good without a lock. */
typedef struct srv_poll {
    char *id; /* owned; of the future */
    bool allow_metadata;
    bool done;
    bool starved;
    bool is_proto;
    int type;         /* tk_future_type */
    srv_blob *result; /* owned; NULL = none (any more) */
    int state;        /* tk_queue_state */
    const char *reason;
} srv_poll;

typedef struct srv_request {
    srv *server;
    const srv_route *route;
    tk_arena arena;                /* parameters, headers, the decoded message */
    tk_buf body;                   /* as it came */
    size_t counted;                /* bytes of it in the server's total */
    tk_str params[SRV_PARAMS_MAX]; /* of the path */
    srv_query query[TK_SRV_QUERY_MAX];
    size_t n_query;
    tk_str idempotency_key; /* or empty */
    tk_str host;            /* header Host, for absolute URLs */
    tk_str range, if_range; /* headers of those names, or empty */
    bool sends_proto;       /* Content-Type is protobuf */
    bool sends_zstd;        /* Content-Encoding is zstd */
    bool wants_proto;       /* Accept names protobuf */

    /* the answer */
    int status;               /* 0 = none yet */
    const char *content_type; /* static; NULL with an empty body */
    srv_blob *answer;         /* owned; NULL = see `fixed` */
    tk_str fixed;             /* static bytes, when there is no blob */
    srv_header headers[SRV_HEADERS_MAX];
    size_t n_headers;
    srv_loss loss;
    srv_file file;      /* when there is one, the body */
    srv_stream *stream; /* one ownership; a body that is made while it is sent */

    /* parked */
    int64_t held_until_ns; /* by a fault; 0 = it was not */
    tk_list waiting;       /* in a future's list, or in a list on its way out */
    tk_heap_node deadline; /* in the table's heap of deadlines */
    srv_future *future;    /* that it waits for */
    srv_poll poll;         /* of retrieve_future */

    tk_list queued; /* in the workers' queue */
    void (*resume)(struct srv_request *request);
    void *http; /* of srv_http.c */
} srv_request;

/* What a handler did: set an answer, or handed the request to somebody who will (and must
 * not be touched any more). */
typedef enum srv_verdict { SRV_ANSWERED, SRV_PARKED } srv_verdict;

srv_request *srv_request_new(srv *server); /* NULL when out of memory */
void srv_request_free(srv_request *request);

/* Hands an answered request back to the HTTP thread. Thread: any, without locks held that
 * the HTTP thread takes. */
void srv_request_resume(srv_request *request);
/* All requests of a list linked through `waiting`. */
void srv_request_resume_all(tk_list *requests);

/* A parameter of the URL's query, or {NULL, 0}. */
tk_str srv_request_query(const srv_request *request, const char *name);

/* Frees the body and everything decoded: what is parked should be small. */
void srv_request_shrink(srv_request *request);

/* Decodes the JSON body; what is wrong is already answered (422) when it returns false.
 * An empty body reads as {}. */
TK_NODISCARD bool srv_request_decode(srv_request *request, const tk_schema *schema,
                                     void *msg);

#endif
