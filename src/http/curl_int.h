/* Shared by the two files of the libcurl transport. */
#ifndef HTTP_CURL_INT_H
#define HTTP_CURL_INT_H

#include <curl/curl.h>

#include "base/buf.h"
#include "base/list.h"
#include "http/curl_transport.h"
#include "http/lookup.h"

#define TK_CURL_SHARD_TRANSFERS 100
#define TK_CURL_FIELDS          128
#define TK_CURL_IDLE_TRANSFERS  64 /* kept for reuse, with their easy handle */

typedef struct tk_curl tk_curl;
typedef struct tk_curl_shard tk_curl_shard;
typedef struct tk_curl_transfer tk_curl_transfer;
typedef struct tk_curl_watch tk_curl_watch;

/* One request in flight, or waiting for a file descriptor; or none, kept for the next. */
struct tk_curl_transfer {
    tk_list node; /* in shard->transfers, curl->waiting or curl->idle */
    tk_curl *owner;
    tk_curl_shard *shard; /* NULL while waiting */
    tk_http_request *request;
    CURL *easy;
    struct curl_slist *lines; /* an array; the texts are the request's */
    size_t lines_capacity;
    tk_buf header_text; /* of the last response */
    tk_buf body;
    tk_http_failure why; /* set by a callback that stops the transfer */
    bool is_absent;      /* nothing is at the address */
    bool head_is_whole;
    bool head_was_told;
    uint64_t sent;       /* of a body that is read from its owner */
    bool out_of_sockets; /* EMFILE, ENFILE: to be tried again */
    int64_t deadline_ms; /* monotonic; counts waiting for a descriptor too */
    int64_t head_ms;     /* monotonic; when the head began, if a silence is limited */
    char error_text[CURL_ERROR_SIZE];
};

struct tk_curl_shard {
    tk_curl_shard *next;
    tk_curl *owner;
    CURLM *multi;
    tk_http_group group;
    uint32_t index;
    size_t active;
    int64_t timer_ms; /* monotonic; INT64_MAX: none */
    tk_list transfers;
};

struct tk_curl {
    tk_transport base;
    const tk_clock *clock;
    tk_curl_options options; /* texts are owned */
    int epoll_fd;
    tk_curl_watch *watches; /* by descriptor */
    size_t watches_n;
    uint32_t turn; /* counts calls of process */
    tk_curl_shard **shards;
    size_t shards_n, shards_capacity;
    bool closing;
    bool http1_only[TK_HTTP_GROUPS];
    int http2_trouble[TK_HTTP_GROUPS]; /* -1: it has worked */
    tk_list waiting;                   /* for a file descriptor */
    int64_t waiting_until_ms;
    tk_list idle; /* of transfers, the warmest first */
    size_t idle_n;
    tk_lookup *lookup; /* of the host that was not found; or NULL */
};

/* ---- curl_watch.c ---- */

/* libcurl wants to know of `events` (EPOLLIN, EPOLLOUT) of a socket, or no more. */
void tk_curl_watch_set(tk_curl *curl, int fd, uint32_t shard, uint32_t events);
void tk_curl_watch_end(tk_curl *curl, int fd);

/* Whether what the epoll said of a socket is for libcurl. One that no request uses is taken
 * out; an event of one that had the same number before is only passed over. */
TK_NODISCARD bool tk_curl_watch_is_wanted(tk_curl *curl, int fd);

/* Opens a socket: -1 and errno on failure. The other is CURLOPT_CLOSESOCKETFUNCTION. */
TK_NODISCARD int tk_curl_watch_open(tk_curl *curl, const struct curl_sockaddr *address);
int tk_curl_watch_close(void *curl, curl_socket_t fd);

/* ---- curl_easy.c ---- */

/* Makes transfer->easy and sets the options that all requests share. */
TK_NODISCARD tinkc_code tk_curl_easy_open(tk_curl_transfer *transfer, tk_err *err);

/* Sets every other option of transfer->easy for its request. */
TK_NODISCARD tinkc_code tk_curl_easy_setup(tk_curl_transfer *transfer, tk_err *err);

/* Sets what is left until the transfer's deadline; part of the set-up, and again before a
 * second start. */
TK_NODISCARD bool tk_curl_easy_set_timeouts(tk_curl_transfer *transfer);

/* Fills status and headers of a response; `fields` has room for `max`. */
void tk_curl_easy_head(const tk_curl_transfer *transfer, tk_http_response *out,
                       tk_http_field *fields, size_t max);

/* Why the transfer ended, in the transport's terms. */
tk_http_failure tk_curl_easy_failure(const tk_curl_transfer *transfer, CURLcode code);

/* Whether it failed because nothing is at the address (tk_http_response.is_absent). A
 * name counts from the second failure on: the first one starts the question. */
bool tk_curl_easy_is_absent(tk_curl_transfer *transfer, CURLcode code);

#endif
