/* The listening socket, and the limit of open descriptors. Thread: any. */
#ifndef HTTPD_HD_LISTEN_H
#define HTTPD_HD_LISTEN_H

#include "base/err.h"
#include "base/tk.h"

typedef struct hd_listen {
    int fd; /* -1 = none */
    unsigned port;
} hd_listen;

/* Listens. `host` is a numeric address, or "localhost". TINKC_E_CONFIG for another name,
 * TINKC_E_IO when the address cannot be used. */
TK_NODISCARD tinkc_code hd_listen_open(hd_listen *out, const char *host, unsigned port,
                                       tk_err *err);

/* Refuses new connections. The descriptor stays open: the daemon's thread may be about to
 * use it, and a closed number can be another file by then. */
void hd_listen_refuse(const hd_listen *listen);

void hd_listen_close(hd_listen *listen); /* accepts a closed one */

/* Whether only this machine can reach `host`. */
bool hd_listen_is_loopback(const char *host);
/* Whether a connection from this address comes from this machine's loopback. */
struct sockaddr;
bool hd_listen_is_loopback_peer(const struct sockaddr *from);

/* Both raise the soft limit of descriptors to the hard one.
 *
 * Returns how many connections fit, with some descriptors left for files. */
unsigned hd_listen_max_connections(void);
/* Returns how many of the descriptors that are left answers may hold. The rest is for the
 * database, saves and loads. */
unsigned hd_listen_max_files(void);

#endif
