/* Wall time by which data may be removed. The wall clock of a machine jumps: it starts in
 * 1970 or years ahead until the network corrects it, or is set by hand. Hiding what has
 * expired can be taken back, removing it cannot. So a jump is believed only after the
 * clock has kept to it for an hour; until then the earlier of both times counts.
 *
 * Thread: one at a time; the store has one under its lock. */
#ifndef SERVER_SRV_WALL_H
#define SERVER_SRV_WALL_H

#include "base/tk.h"

#define SRV_WALL_JUMP_US  (INT64_C(60) * 1000000)      /* more than this is a jump */
#define SRV_WALL_TRUST_NS (INT64_C(3600) * 1000000000) /* it must last */
#define SRV_WALL_AWAY_US                                                                 \
    (INT64_C(30 * 86400) * 1000000) /* more between two runs is one */

typedef struct srv_wall {
    int64_t wall_us, mono_ns; /* one moment by both clocks, before any jump */
    int64_t jump_us;          /* wall minus monotonic time after the jump */
    int64_t jumped_ns;        /* when it was noticed */
    bool jumped;
} srv_wall;

/* Begins at the moment (wall_us, mono_ns); `seen_us` is the latest time of an earlier run,
 * or 0. */
void srv_wall_init(srv_wall *wall, int64_t wall_us, int64_t mono_ns, int64_t seen_us);

/* Returns the time that counts at the moment (wall_us, mono_ns): of a jump, the earlier. */
int64_t srv_wall_read(srv_wall *wall, int64_t wall_us, int64_t mono_ns);

/* Returns the later of both times, from which a time to live is counted: what is saved
 * while the clock is in 1970 has not expired when it is corrected. */
int64_t srv_wall_latest(const srv_wall *wall, int64_t wall_us, int64_t mono_ns);

#endif
