/* fakefront: TLS and HTTP/2 in front of the scripted peer (fakeapi.h), for tests.
 *
 *     fakeapi *api = fakeapi_start();
 *     fakefront_options options = {.talk = FAKEFRONT_HTTP2};
 *     fakefront *front = fakefront_start(api, &options);
 *     ... a client on fakefront_url(front) that trusts fakefront_ca_file(front) ...
 *     fakefront_stop(&front);
 *     fakeapi_stop(&api);
 *
 * Over HTTP/1.1 it hands bytes through, one connection of the peer for each of its own,
 * so every fault of the peer shows as it is. Over HTTP/2 each stream becomes a request on
 * a separate connection to the peer, with two more headers that say where it came from:
 * "x-front-connection" (a number from 1) and "x-front-protocol: h2"; an answer that the
 * peer broke off becomes a reset of the stream. Its certificates are made at the start
 * and trusted by no system. One thread; functions may be called from any. Failures of the
 * machine abort with a message. */
#ifndef SUPPORT_FAKEFRONT_H
#define SUPPORT_FAKEFRONT_H

#include "support/fakeapi.h"

typedef struct fakefront fakefront;

/* What it agrees to by ALPN, and what it does then. */
typedef enum fakefront_talk {
    FAKEFRONT_HTTP1,   /* http/1.1 */
    FAKEFRONT_HTTP2,   /* h2 where the client offers it, else http/1.1 */
    FAKEFRONT_GARBAGE, /* the same, but what it sends then is not HTTP/2 */
    FAKEFRONT_GOAWAY,  /* the same, but the first request ends the connection: GOAWAY */
    FAKEFRONT_HANG_UP  /* the same, but with FIN and no GOAWAY */
} fakefront_talk;

typedef enum fakefront_cert {
    FAKEFRONT_CERT_GOOD, /* for 127.0.0.1 and localhost */
    FAKEFRONT_CERT_OTHER_HOST,
    FAKEFRONT_CERT_EXPIRED
} fakefront_cert;

typedef struct fakefront_options {
    fakefront_talk talk;
    fakefront_cert cert;
    bool wants_client; /* refuses clients without the certificate of fakefront_client_* */
    /* Of the requests over HTTP/2, counted over all connections, every nth; 0: none. */
    size_t goaway_every; /* is the last of its connection, and is answered: GOAWAY */
    size_t kill_every;   /* ends its connection: GOAWAY, and all open streams are lost */
    size_t refuse_every; /* is not looked at: RST_STREAM with REFUSED_STREAM */
} fakefront_options;

/* The peer must live longer. */
fakefront *fakefront_start(fakeapi *api, const fakefront_options *options);
void fakefront_stop(fakefront **front); /* accepts NULL */

const char *fakefront_url(const fakefront *front);     /* "https://127.0.0.1:PORT" */
const char *fakefront_ca_file(const fakefront *front); /* what a client has to trust */
const char *fakefront_ca_dir(const fakefront *front);  /* the same as a hashed folder */
const char *fakefront_client_cert(const fakefront *front);
const char *fakefront_client_key(const fakefront *front);

/* So far: handshakes that succeeded, that failed, and of the former those with h2. */
size_t fakefront_connections(const fakefront *front);
size_t fakefront_refused(const fakefront *front);
size_t fakefront_http2(const fakefront *front);

/* The client sees a refusal before the front does: waits for the next one, capped. */
bool fakefront_wait_refused(fakefront *front);

/* The most requests that were ever open at once on one HTTP/2 connection. */
size_t fakefront_peak_streams(const fakefront *front);

#endif
