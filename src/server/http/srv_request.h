/* One HTTP request from its last byte to its answer, without a type of the HTTP library
 * and without one of the application.
 *
 * Ownership: the HTTP thread makes and frees it. From the moment a worker takes it until
 * srv_request_resume, exactly one thread at a time may touch it: the worker that runs its
 * handler, or the thread that a handler gave it to (SRV_PARKED). An answer is set once;
 * then the request is resumed and not touched again. */
#ifndef SERVER_SRV_REQUEST_H
#define SERVER_SRV_REQUEST_H

#include "base/arena.h"
#include "base/heap.h"
#include "base/limits.h"
#include "base/list.h"
#include "server/http/srv_blob.h"
#include "server/http/srv_budget.h"

typedef struct srv_route srv_route;
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

/* What part of the answer is lost on purpose (srv_fault.h). */
typedef enum srv_loss { SRV_LOSS_NONE, SRV_LOSS_HALF, SRV_LOSS_ALL } srv_loss;

/* A body that is a part of a file. */
typedef struct srv_file {
    int fd; /* owned; -1 = none */
    int64_t offset, size;
} srv_file;

/* A body that is computed while it is sent. `read` gets the request's state, fills
 * out[0..max) with the bytes from `at` on, and returns their number, at least 1; or -1
 * when it cannot: then the connection is closed. Thread: the HTTP thread. */
typedef struct srv_source {
    long (*read)(void *state, int64_t at, char *out, size_t max); /* NULL = none */
    int64_t offset, size;                                         /* the part to send */
} srv_source;

typedef struct srv_request {
    void *app; /* the application, for handlers (srv_http_config.app) */
    const srv_route *route;
    srv_budget *budget;            /* of memory; outlives the request */
    tk_arena arena;                /* parameters, headers, the decoded message */
    tk_buf body;                   /* as it came */
    tk_str params[SRV_PARAMS_MAX]; /* of the path */
    srv_query query[TK_SRV_QUERY_MAX];
    size_t n_query;
    tk_str idempotency_key; /* or empty */
    tk_str host;            /* header Host, for absolute URLs */
    tk_str range, if_range; /* headers of those names, or empty */
    bool came_by_https;     /* to a proxy, which says so */
    bool is_local;          /* from this machine, and not through a proxy */
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
    bool holds_file;    /* counted: a file is open until the answer has been sent */
    srv_file file;      /* when there is one, the body */
    srv_source source;  /* when there is one, the body */
    srv_stream *stream; /* one ownership; a body that is made while it is sent */

    /* what a handler keeps with a parked request, or for its source; freed with the
     * request */
    void *state;
    void (*free_state)(void *state); /* NULL with no state */

    bool may_wait;      /* its worker may wait for the disk; see srv_request_wait */
    tk_list queued;     /* in the workers' queue */
    int64_t due_ns;     /* of SRV_LATER; 0 = it was never delayed */
    tk_heap_node later; /* in the workers' heap of delayed requests */
    void (*resume)(struct srv_request *request);
    void *http; /* of srv_http.c */
} srv_request;

/* What a handler did. */
typedef enum srv_verdict {
    SRV_ANSWERED, /* the answer is set */
    SRV_PARKED,   /* another thread has the request now and will answer it */
    SRV_LATER /* nothing yet: handle it again at due_ns, or sooner when the server stops */
} srv_verdict;

/* Returns NULL when out of memory. */
srv_request *srv_request_new(void *app, srv_budget *budget);
void srv_request_free(srv_request *request);

/* Hands an answered request back to the HTTP thread. Thread: any, without locks held that
 * the HTTP thread takes. */
void srv_request_resume(srv_request *request);

/* Returns a parameter of the URL's query, or {NULL, 0}. */
tk_str srv_request_query(const srv_request *request, const char *name);

/* Returns the quota that counts what the request allocates. */
tk_quota *srv_request_quota(const srv_request *request);

/* Gives the request to a worker that may wait for the disk, where its handler runs again,
 * from the start and with `may_wait` set. What the handler keeps with it is freed. The
 * handler returns what this returns. */
srv_verdict srv_request_wait(srv_request *request);

/* Frees the body and everything decoded: what is parked should be small. */
void srv_request_shrink(srv_request *request);

/* ---- memory that outlives its request ---- */

/* The bytes of a request and what was decoded from them, for work that goes on after the
 * answer. */
typedef struct srv_memory {
    tk_arena arena;
    tk_buf body;
} srv_memory;

void srv_request_init_memory(srv_memory *memory, srv_budget *budget);
void srv_request_free_memory(srv_memory *memory);

/* Moves the request's arena and body to `memory`. The request's own strings are gone with
 * them. */
void srv_request_move_memory(srv_memory *memory, srv_request *request);

#endif
