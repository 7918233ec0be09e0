/* The libcurl transport: HTTP/1.1 and HTTP/2, TLS, proxies.
 *
 * Several multi handles ("shards") of at most 100 transfers share one epoll, because
 * libcurl looks through all connections of a multi for each request. A shard belongs to
 * one group, so groups share no connection; over plain HTTP polls and samples do, one after
 * the other. libcurl is used in src/http only. */
#ifndef HTTP_CURL_TRANSPORT_H
#define HTTP_CURL_TRANSPORT_H

#include "base/clock.h"
#include "http/http.h"

typedef enum tk_curl_protocol {
    TK_CURL_AUTO,  /* HTTP/2 where TLS negotiates it; HTTP/1.1 after it failed in a group
                    */
    TK_CURL_HTTP1, /* HTTP/1.1 only */
} tk_curl_protocol;

/* Texts are copied. Zeroed = defaults. */
typedef struct tk_curl_options {
    const tk_clock *clock; /* NULL: the real one; borrowed */
    const char *ca_file;   /* NULL: the system's trust store */
    const char *ca_dir;
    const char *client_cert;
    const char *client_key;
    const char *client_url; /* the server that gets the certificate; NULL: each one */
    const char *proxy;      /* NULL: the environment's; "": none */
    const char *no_proxy;   /* NULL: the environment's */
    tk_curl_protocol protocol[TK_HTTP_GROUPS];
    size_t max_connections[TK_HTTP_GROUPS]; /* 0: no limit beyond the file table */
} tk_curl_options;

TK_NODISCARD tinkc_code tk_curl_transport_new(tk_transport **out,
                                              const tk_curl_options *options,
                                              tk_err *err);

#endif
