/* proxy: a TCP proxy on loopback between any client and any server, that delays, drops,
 * duplicates, reorders, halves and stalls messages, by seed. tools/proxy is the same as a
 * program (docs/guide/proxy.md).
 *
 *     proxy_options options = {.to_port = port, .seed = 7, .rate[PROXY_DROP] = 50};
 *     proxy *net = proxy_start(&options);
 *     ... a client on proxy_url(net) ...
 *     proxy_stop(&net);
 *
 * It draws one fate per exchange (a request and its response) with proxy_decide: a pure
 * function of the options, the number of the connection in the order of arrival, and the
 * number of the exchange on it, both from 1. The same seed and the same sequence of
 * connections give the same decisions; how the threads of client and server interleave is
 * not decided here.
 *
 * What it knows of HTTP/1.1: the first line, where a head ends, Content-Length, chunked
 * bodies, bodies until the close, 1xx, 204, 304 and HEAD. It changes no byte. From bytes
 * that it does not understand on, and after 101, a connection is forwarded as it is. With
 * pipelined requests the answer to HEAD and the option `only` are guesses.
 *
 * One thread; buffers are bounded, except the copy of a request that is sent twice
 * (PROXY_COPY_MAX). Allocates through fakeapi_mem.h. Functions may be called from any
 * thread; failures of the machine abort with a message. */
#ifndef SUPPORT_PROXY_H
#define SUPPORT_PROXY_H

#include <stddef.h>

#include "base/limits.h"
#include "base/tk.h"

#define PROXY_COPY_MAX (64 * TK_MIB) /* a longer request is not duplicated */

typedef enum proxy_act {
    PROXY_PASS,
    PROXY_DELAY,     /* the message begins `ms` later */
    PROXY_DROP,      /* nothing of the message passes; both connections are closed */
    PROXY_DUPLICATE, /* the request is sent once more, on a new connection to the server,
                        whose answer is thrown away: a middlebox that retries */
    PROXY_REORDER,   /* the request waits until one of another connection was answered, or
                        `ms` */
    PROXY_HALVE,     /* a part of the message passes; then both connections are closed */
    PROXY_STALL,     /* a part passes, then nothing for `ms`, then the rest */
    PROXY_HANG,      /* a part passes, then nothing until the client gives up */
    PROXY_ACTS
} proxy_act;

typedef struct proxy_fate {
    proxy_act act;
    bool of_response;  /* the act hits the response, else the request */
    bool with_reset;   /* DROP, HALVE: RST instead of FIN */
    unsigned permille; /* HALVE, STALL, HANG: what passes of a message; of one whose
                          length its head does not give: its head and as many bytes */
    unsigned ms;       /* DELAY, REORDER, STALL */
} proxy_fate;

/* One line per decision, without a newline; on the thread of the proxy. */
typedef void (*proxy_log_fn)(const char *line, void *user);

typedef struct proxy_options {
    int port;    /* to listen on; 0 = any free one */
    int to_port; /* of the server, on 127.0.0.1 */
    uint64_t seed;
    unsigned rate[PROXY_ACTS]; /* of 1,000 exchanges; the rest passes */
    unsigned max_ms;           /* the longest delay, reordering or stall; 0 = 20 */
    const char *only;          /* only requests whose first line has this text; or NULL */
    proxy_log_fn log;          /* or NULL */
    void *log_user;
} proxy_options;

typedef struct proxy proxy;

/* Options are copied; `only` must live as long as the proxy. */
proxy *proxy_start(const proxy_options *options);
void proxy_stop(proxy **net); /* closes every connection; accepts a NULL in it */

const char *proxy_url(const proxy *net); /* "http://127.0.0.1:PORT" */
int proxy_port(const proxy *net);

/* Where new connections go from now on: the server was restarted on another port. */
void proxy_set_to_port(proxy *net, int to_port);

/* How many exchanges have had this act so far. */
size_t proxy_count(const proxy *net, proxy_act act);

/* Returns what happens to an exchange; see above. */
proxy_fate proxy_decide(const proxy_options *options, uint64_t connection,
                        uint64_t exchange);

const char *proxy_act_name(proxy_act act); /* "pass", "delay", ... */

#endif
