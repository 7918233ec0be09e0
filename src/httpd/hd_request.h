/* One HTTP request from its last byte to its answer, without a type of the HTTP library
 * and without one of the application.
 *
 * Ownership: the HTTP thread makes and frees it. From the moment a worker takes it until
 * hd_request_resume, exactly one thread at a time may touch it: the worker that runs its
 * handler, or the thread that a handler gave it to (HD_PARKED). An answer is set once;
 * then the request is resumed and not touched again. */
#ifndef HTTPD_HD_REQUEST_H
#define HTTPD_HD_REQUEST_H

#include "base/arena.h"
#include "base/err.h"
#include "base/heap.h"
#include "base/limits.h"
#include "base/list.h"
#include "httpd/hd_blob.h"
#include "httpd/hd_budget.h"

typedef struct hd_route hd_route;
typedef struct hd_stream hd_stream;

#define HD_PARAMS_MAX  3
#define HD_HEADERS_MAX 6

typedef struct hd_header {
    const char *name;  /* static */
    const char *value; /* in the request's arena, or static */
} hd_header;

typedef struct hd_query {
    tk_str name, value; /* decoded; in the arena */
} hd_query;

/* What part of the answer is lost on purpose (hd_fault.h). */
typedef enum hd_loss { HD_LOSS_NONE, HD_LOSS_HALF, HD_LOSS_ALL } hd_loss;

/* A body that is a part of a file. */
typedef struct hd_file {
    int fd; /* owned; -1 = none */
    int64_t offset, size;
} hd_file;

/* A body that is computed while it is sent. `read` gets the request's state, fills
 * out[0..max) with the bytes from `at` on, and returns their number, at least 1; or -1
 * when it cannot: then the connection is closed. Thread: the HTTP thread. */
typedef struct hd_source {
    long (*read)(void *state, int64_t at, char *out, size_t max); /* NULL = none */
    int64_t offset, size;                                         /* the part to send */
} hd_source;

typedef struct hd_request {
    void *app; /* the application, for handlers (hd_http_config.app) */
    const hd_route *route;
    hd_budget *budget; /* of memory; outlives the request */
    tk_arena arena;    /* parameters, headers, the decoded message */
    tk_buf body;       /* as it came */
    /* Decoded, without the query; empty when the head was not read; the pattern of the
     * route after the arena was moved or freed. */
    tk_str path;
    tk_str params[HD_PARAMS_MAX]; /* of the path */
    hd_query query[TK_HD_QUERY_MAX];
    size_t n_query;
    tk_str host;            /* header Host, for absolute URLs */
    tk_str range, if_range; /* headers of those names, or empty */
    bool came_by_https;     /* to a proxy, which says so */
    bool is_local;          /* from this machine, and not through a proxy */
    bool is_encoded;        /* Content-Encoding is the application's (hd_http_config) */

    /* the answer */
    int status;               /* 0 = none yet */
    const char *content_type; /* static; NULL with an empty body */
    hd_blob *answer;          /* owned; NULL = see `fixed` */
    tk_str fixed;             /* static bytes, when there is no blob */
    hd_header headers[HD_HEADERS_MAX];
    size_t n_headers;
    hd_loss loss;
    bool holds_file;   /* counted: a file is open until the answer has been sent */
    hd_file file;      /* when there is one, the body */
    hd_source source;  /* when there is one, the body */
    hd_stream *stream; /* one ownership; a body that is made while it is sent */

    /* what a handler keeps with a parked request, or for its source; freed with the
     * request */
    void *state;
    void (*free_state)(void *state); /* NULL with no state */

    /* Writes the body of an error (hd_http_config.refuse); NULL = its text. */
    void (*refuse)(struct hd_request *request, int status, const tk_err *err);
    int refusals; /* of hd_reply.c */

    bool is_inline;     /* its handler runs on the HTTP thread; see hd_request_hop */
    bool may_wait;      /* its worker may wait for the disk; see hd_request_wait */
    tk_list queued;     /* in the workers' queue */
    int64_t due_ns;     /* of HD_LATER; 0 = it was never delayed */
    tk_heap_node later; /* in the workers' heap of delayed requests */
    void (*resume)(struct hd_request *request);
    /* Returns a header, or {NULL, 0}; NULL = there are none. */
    tk_str (*header)(const struct hd_request *request, const char *name);
    bool (*is_gone)(const struct hd_request *request); /* NULL = never */
    void *http;                                        /* of hd_http.c */
} hd_request;

/* What a handler did. */
typedef enum hd_verdict {
    HD_ANSWERED, /* the answer is set */
    HD_PARKED,   /* another thread has the request now and will answer it */
    HD_LATER /* nothing yet: handle it again at due_ns, or sooner when the server stops */
} hd_verdict;

/* Returns NULL when out of memory. */
hd_request *hd_request_new(void *app, hd_budget *budget);
void hd_request_free(hd_request *request);

/* Hands an answered request back to the HTTP thread. Thread: any, without locks held that
 * the HTTP thread takes. */
void hd_request_resume(hd_request *request);

/* Returns a parameter of the URL's query, or {NULL, 0}. */
tk_str hd_request_query(const hd_request *request, const char *name);

/* Returns a header of the request, whose name has any case, or {NULL, 0}. The text ends
 * with a NUL and is there until the request is resumed or its handler has answered, also
 * after hd_request_shrink and hd_request_move_memory. */
tk_str hd_request_header(const hd_request *request, const char *name);

/* Returns whether the client of a parked request, or of one that a worker has, has left, so
 * that the work for it can be ended; one that has closed its sending side counts as gone.
 * The request must be answered and resumed all the same. A system call: ask now and then.
 * For the producer of a stream, which has no request, there is hd_stream_is_gone. Thread:
 * the one that has the request. */
bool hd_request_is_gone(const hd_request *request);

/* Returns the quota that counts what the request allocates. */
tk_quota *hd_request_quota(const hd_request *request);

/* Gives the request to a worker that may wait for the disk, where its handler runs again,
 * from the start and with `may_wait` set. What the handler keeps with it is freed. The
 * handler returns what this returns. */
hd_verdict hd_request_wait(hd_request *request);

/* Gives the request to a worker, where its handler runs again, from the start and without
 * `is_inline`: what a handler of a PROMPT route does when it would have to wait for a lock
 * that another thread holds, or has more to do than a few microseconds' work. The handler
 * returns what this returns. */
hd_verdict hd_request_hop(hd_request *request);

/* Frees the body and everything decoded: what is parked should be small. */
void hd_request_shrink(hd_request *request);

/* ---- memory that outlives its request ---- */

/* The bytes of a request and what was decoded from them, for work that goes on after the
 * answer. */
typedef struct hd_memory {
    tk_arena arena;
    tk_buf body;
} hd_memory;

void hd_request_init_memory(hd_memory *memory, hd_budget *budget);
void hd_request_free_memory(hd_memory *memory);

/* Moves the request's arena and body to `memory`. The request's own strings are gone with
 * them. */
void hd_request_move_memory(hd_memory *memory, hd_request *request);

#endif
