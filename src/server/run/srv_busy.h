/* The share of the last seconds in which the engine computed. The engine thread notes each
 * piece; any thread reads. No lock. */
#ifndef SERVER_SRV_BUSY_H
#define SERVER_SRV_BUSY_H

#include <stdatomic.h>

#include "base/tk.h"

#define SRV_BUSY_SECONDS 10
#define SRV_BUSY_SLOTS   16 /* more than the seconds */

typedef struct srv_busy {
    _Atomic int64_t second[SRV_BUSY_SLOTS]; /* which one a slot is of */
    _Atomic int64_t ns[SRV_BUSY_SLOTS];
    _Atomic int64_t since_ns; /* a piece that is being computed; 0 = none */
} srv_busy;

/* Thread: engine. */
void srv_busy_begin(srv_busy *busy, int64_t now_ns);
void srv_busy_end(srv_busy *busy, int64_t now_ns);

/* Returns the share, 0 to 1. */
double srv_busy_share(const srv_busy *busy, int64_t now_ns);

#endif
