/* The transport contract: submits a request, reports when it is done, cancels it.
 *
 * A function table, so that tests can use a scripted transport and a second real one can
 * be added; nothing of libcurl shows here. Everything runs on the loop's thread:
 * `submit`, `cancel` and `process` are called there, and `done` is called from inside
 * `process` or `cancel`, exactly once per submitted request. */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include "base/err.h"
#include "base/str.h"
#include "base/tk.h"

/* Connection groups (docs/protocol.md §1.5). No group waits for a connection of another. */
typedef enum tk_http_group {
    TK_HTTP_SESSION,
    TK_HTTP_TRAIN, /* one request per connection */
    TK_HTTP_SAMPLE,
    TK_HTTP_FUTURES,
    TK_HTTP_REST,
    TK_HTTP_TELEMETRY,
    TK_HTTP_GROUPS
} tk_http_group;

typedef enum tk_http_method {
    TK_HTTP_GET,
    TK_HTTP_POST,
    TK_HTTP_PUT,
    TK_HTTP_PATCH,
    TK_HTTP_DELETE
} tk_http_method;

/* Why there is no (whole) response. */
typedef enum tk_http_failure {
    TK_HTTP_OK,        /* a whole response with some status */
    TK_HTTP_DNS,       /* name look-up */
    TK_HTTP_CONNECT,   /* refused, unreachable */
    TK_HTTP_TLS,       /* handshake broken off */
    TK_HTTP_TRUST,     /* a certificate is not accepted, or cannot be read */
    TK_HTTP_RESET,     /* connection lost before or inside the response */
    TK_HTTP_TIMEOUT,   /* the request's own deadline */
    TK_HTTP_TOO_LARGE, /* response over max_response_bytes */
    TK_HTTP_PROTOCOL,  /* not HTTP, bad encoding */
    TK_HTTP_CANCELLED, /* by tk_transport cancel or close */
    TK_HTTP_NOMEM,
    TK_HTTP_OTHER
} tk_http_failure;

typedef struct tk_http_field {
    tk_str name;
    tk_str value;
} tk_http_field;

/* Handed to `done`; borrowed for the time of the call. */
typedef struct tk_http_response {
    tk_http_failure failure;
    tk_err err; /* text of the failure */
    /* DNS, CONNECT: nothing is at the address. The host does not exist (EAI_NONAME), or
     * refuses the connection (ECONNREFUSED). */
    bool is_absent;
    int status; /* 0 when there was no response */
    const tk_http_field *headers;
    size_t headers_n;
    tk_str body; /* empty when on_data took it */
} tk_http_response;

typedef struct tk_http_request tk_http_request;

/* What becomes of a streamed body. */
typedef enum tk_http_flow {
    TK_HTTP_STOP, /* ends the transfer; done says CANCELLED */
    TK_HTTP_TAKE, /* the piece was taken */
    TK_HTTP_PAUSE /* not now: it comes again after `resume`, and nothing before */
} tk_http_flow;

#define TK_HTTP_BODY_FAILED SIZE_MAX
#define TK_HTTP_NOT_MINE    UINT64_MAX

/* Filled by the submitter, who keeps it and all it points to alive and unchanged until
 * `done`. */
struct tk_http_request {
    tk_http_method method;
    tk_http_group group;
    const char *url;
    const char *const *headers; /* "Name: value" */
    size_t headers_n;
    const void *body; /* NULL: none (POST and PUT then send Content-Length: 0) */
    size_t body_n;
    int64_t timeout_ms;         /* whole request; -1: none */
    int64_t connect_timeout_ms; /* -1: none */
    size_t max_response_bytes;  /* decompressed */
    size_t max_refusal_bytes;   /* of a status that is not 2xx; 0: the same */
    bool follow_redirects;      /* but never from https to http */
    bool fresh_connection;      /* after a bare 400 (docs/protocol.md §5.2) */
    /* A body that is not in memory: puts up to n of its body_n bytes from `offset` on
     * into p and says how many; TK_HTTP_BODY_FAILED ends the transfer (done says
     * CANCELLED). `body` is NULL then. May be asked for the same bytes again. */
    size_t (*read_body)(tk_http_request *request, uint64_t offset, char *p, size_t n);
    /* Limit for a silence, in whole seconds, and for all of a head, and of a response
     * that is not streamed, from the first byte on; 0: none. */
    int64_t idle_timeout_ms;
    /* Streaming: called with each piece of a 2xx body instead of collecting it. Before
     * the first one on_head, which may be NULL, gets status and headers. */
    void (*on_head)(tk_http_request *request, const tk_http_response *head);
    tk_http_flow (*on_data)(tk_http_request *request, const char *p, size_t n);
    void (*done)(tk_http_request *request, const tk_http_response *response);
    void *user;
    void *impl; /* the transport's own; NULL when not in flight */
};

typedef struct tk_transport tk_transport;

typedef struct tk_transport_ops {
    /* TINKC_OK: `done` will be called. Otherwise it will not, and err says why. */
    tinkc_code (*submit)(tk_transport *transport, tk_http_request *request, tk_err *err);
    /* Calls `done` with TK_HTTP_CANCELLED before it returns. No effect when not in
     * flight. */
    void (*cancel)(tk_transport *transport, tk_http_request *request);
    /* A paused body goes on. No effect when not in flight or not paused. */
    void (*resume)(tk_transport *transport, tk_http_request *request);
    /* An epoll, readable when process has something to do; -1: none. The loop may add
     * descriptors of its own with TK_HTTP_NOT_MINE as their data, which process passes over. */
    int (*fd)(tk_transport *transport);
    /* Monotonic milliseconds at which process must run; INT64_MAX: never. */
    int64_t (*deadline_ms)(tk_transport *transport);
    void (*process)(tk_transport *transport);
    /* Cancels what is in flight (calling `done`), frees the transport. Never waits for a
     * name look-up or a slow peer. */
    void (*close)(tk_transport *transport);
} tk_transport_ops;

struct tk_transport {
    const tk_transport_ops *ops;
};

/* Value of a response header by name, ASCII case ignored; NULL pointer when absent. */
tk_str tk_http_header(const tk_http_response *response, const char *name);

/* 301, 302, 303, 307, 308. */
bool tk_http_is_redirect(int status);

const char *tk_http_method_name(tk_http_method method);
const char *tk_http_failure_name(tk_http_failure failure);

/* The error code of a failure; TINKC_OK for TK_HTTP_OK. */
tinkc_code tk_http_failure_code(tk_http_failure failure);

#endif
