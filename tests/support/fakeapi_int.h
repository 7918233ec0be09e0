/* Inside the scripted peer: what its files share. Everything here is guarded by
 * api->lock; functions are called with it held unless they say otherwise. Only the loop
 * thread touches sockets, connections and waiting lists.
 *
 *     fakeapi.c         life, epoll loop, accept, timers
 *     fakeapi_conn.c    one connection: bytes in, answer out, faults
 *     fakeapi_script.c  routes, steps, gates
 *     fakeapi_record.c  what was asked, counts, waits
 *     fakeapi_http.c    request parser (no I/O) */
#ifndef SUPPORT_FAKEAPI_INT_H
#define SUPPORT_FAKEAPI_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "support/fakeapi.h"

typedef struct fakeapi_conn fakeapi_conn;
typedef struct fakeapi_route fakeapi_route;
typedef struct fakeapi_entry fakeapi_entry;

/* Connections that wait for the same thing, in order. A connection is in at most one. */
typedef struct fakeapi_waiters {
    fakeapi_conn *first;
    fakeapi_conn *last;
    size_t n;
} fakeapi_waiters;

/* The answer of a handler. `body` is moved into the connection. */
typedef struct fakeapi_answer {
    int status;
    const char *content_type; /* static; NULL = application/json */
    fakeapi_bytes body;
} fakeapi_answer;

/* Answers what the script does not. `answer` either fills *out and returns true, or has
 * put the connection into a list with fakeapi_waiters_add and calls fakeapi_conn_answer
 * later (a connection that ends leaves the list by itself); `alarm` is called when the
 * deadline that it set for such a connection passes. `tick` runs on each turn of the
 * loop. `dispose` frees `user`, after the thread has ended. */
typedef struct fakeapi_handler {
    bool (*answer)(void *user, fakeapi_conn *conn, const fakeapi_request *request,
                   fakeapi_answer *out);
    void (*alarm)(void *user, fakeapi_conn *conn);
    void (*tick)(void *user);
    void (*dispose)(void *user);
    void *user;
} fakeapi_handler;

typedef enum fakeapi_phase {
    FAKEAPI_READING,    /* a request, or idle */
    FAKEAPI_AT_HANDLER, /* parked by the handler */
    FAKEAPI_AT_GATE,
    FAKEAPI_AT_DELAY,
    FAKEAPI_AT_HEAD,
    FAKEAPI_AT_DRIP, /* waits for the permit or pause of the next piece */
    FAKEAPI_AT_BODY,
    FAKEAPI_AT_END,    /* the last chunk, where there is one */
    FAKEAPI_AT_FINISH, /* all was sent: end as the step says */
    FAKEAPI_SILENT,    /* sends nothing more; ends when the client leaves */
    FAKEAPI_DRAINING,  /* answer sent, unread input is thrown away until the client leaves
                        */
    FAKEAPI_CLOSED
} fakeapi_phase;

struct fakeapi_conn {
    fakeapi *api;
    int fd;
    size_t number;
    size_t served;
    fakeapi_phase phase;
    unsigned events;       /* what epoll watches */
    fakeapi_http http;     /* the request being read */
    fakeapi_bytes pending; /* received after the request in work */
    bool has_eof;
    bool keep_alive; /* as far as the request is concerned */
    bool is_head_method;
    fakeapi_entry *entry; /* the request in work */
    fakeapi_step step;    /* its answer; strings borrowed from the script or `content` */
    fakeapi_bytes content;
    size_t body_done;  /* of step.body */
    fakeapi_bytes out; /* to be sent now */
    size_t out_done;
    uint64_t deadline_ns;   /* 0 = none */
    unsigned handler_flags; /* the handler's, while parked by it */
    fakeapi_waiters *waits_in;
    fakeapi_conn *wait_prev, *wait_next;
    fakeapi_conn *prev, *next; /* all connections */
};

struct fakeapi_gate {
    fakeapi *api;
    fakeapi_gate *next;
    bool is_open;
    size_t permits;
    fakeapi_waiters waiters;
};

struct fakeapi {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a request came, finished, parked, or a connection ended */
    pthread_t thread;
    bool should_stop;
    int epoll_fd, listen_fd, wake_fd;
    int port;
    char url[40];
    bool is_listening; /* false while out of file descriptors */
    fakeapi_conn *conns, *dead;
    size_t open_n, accepted_n, abandoned_n, reset_next;
    uint64_t next_deadline_ns; /* not later than the earliest; 0 = none */
    bool clock_is_manual;
    uint64_t manual_ns;
    fakeapi_route *routes, **routes_end;
    fakeapi_gate *gates;
    fakeapi_handler handler; /* .answer NULL = none */
    fakeapi_entry **entries;
    size_t entries_n, entries_capacity;
    uint64_t event_count; /* arrivals and ends, for peaks */
};

/* fakeapi.c */
void fakeapi_wake(fakeapi *api);             /* makes the loop look around; any thread */
uint64_t fakeapi_now_ns(const fakeapi *api); /* the peer's clock */
void fakeapi_conn_watch(fakeapi_conn *conn, unsigned events);
void fakeapi_conn_alarm(fakeapi_conn *conn, unsigned ms); /* sets deadline_ns */
void fakeapi_set_handler(fakeapi *api,
                         const fakeapi_handler *handler); /* takes the lock */

/* fakeapi_conn.c; each may end the connection (phase FAKEAPI_CLOSED, freed by the
 * loop) */
void fakeapi_conn_readable(fakeapi_conn *conn);
void fakeapi_conn_writable(fakeapi_conn *conn);
void fakeapi_conn_resume(fakeapi_conn *conn); /* its permit or pause has come */
void fakeapi_conn_answer(fakeapi_conn *conn, fakeapi_answer *answer); /* was parked */
void fakeapi_conn_close(fakeapi_conn *conn, bool with_reset);
void fakeapi_conn_free(fakeapi_conn *conn);

void fakeapi_waiters_add(fakeapi_waiters *list, fakeapi_conn *conn);
void fakeapi_waiters_remove(fakeapi_conn *conn);

/* fakeapi_script.c */
bool fakeapi_matches(const char *pattern, const char *text);
/* The step for a request, without using it up / using it up. False: the handler's turn,
 * with a passing step in *out. */
bool fakeapi_script_peek(fakeapi *api, const char *method, const char *path,
                         fakeapi_step *out);
bool fakeapi_script_take(fakeapi *api, const fakeapi_request *request, fakeapi_step *out);
bool fakeapi_gate_pass(fakeapi_gate *gate, fakeapi_conn *conn); /* false: waits there */
void fakeapi_gates_run(fakeapi *api);                           /* passes what may go */
void fakeapi_script_dispose(fakeapi *api);

/* fakeapi_record.c */
fakeapi_entry *fakeapi_record_add(fakeapi_conn *conn, bool is_whole);
const fakeapi_request *fakeapi_record_request(const fakeapi_entry *entry);
void fakeapi_record_end(fakeapi *api, fakeapi_entry *entry);
void fakeapi_record_dispose(fakeapi *api);

#endif
