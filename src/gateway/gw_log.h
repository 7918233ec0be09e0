/* The log of episodes: records in files of a directory, appended, never changed.
 *
 * A record is written (write(2)) when append returns; a thread syncs what was written at
 * most TK_GW_SYNC_MS later, one sync for all that came meanwhile. After kill -9 every
 * record that append returned is there; after a power failure those of the last interval
 * may not be. At the start a torn record at the end is cut off, a damaged one is skipped
 * and counted. Once a sync has failed, nothing more is accepted: what the disk holds is not
 * known. docs/internals/gateway.md has the format.
 *
 * Files are removed oldest first only, after the owner has appended again what it needs of
 * them, so that a record that says "dropped" outlives what it drops. Blocking. Thread: any;
 * its own lock. */
#ifndef GATEWAY_GW_LOG_H
#define GATEWAY_GW_LOG_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"

typedef struct gw_log gw_log;

typedef enum gw_kind {
    GW_KIND_DATA = 1, /* belongs to the episode */
    GW_KIND_DROP = 2  /* the episode with this birth has ended */
} gw_kind;

typedef struct gw_place { /* of a record */
    uint64_t offset;
    uint32_t segment;
    uint32_t n; /* bytes, with its header */
} gw_place;

typedef struct gw_entry { /* what a record is about */
    gw_kind kind;
    uint64_t birth; /* tells episodes of the same name apart */
    uint32_t seq;   /* order among the records of the episode */
    tk_str id;
} gw_entry;

/* System calls, for tests; NULL = the real one. */
typedef struct gw_log_calls {
    ssize_t (*pwrite)(int fd, const void *data, size_t n, off_t offset);
    int (*sync)(int fd);
} gw_log_calls;

typedef struct gw_log_config {
    const char *dir;
    size_t segment_bytes; /* 0 = TK_GW_SEGMENT_BYTES */
    tk_log *log;
    gw_log_calls calls;
    /* Gets every record that is there, in the order of the files. Those that are needed
     * are then named with gw_log_need. */
    tinkc_code (*on_entry)(void *user, const gw_entry *entry, gw_place place,
                           tk_err *err);
    void *user;
} gw_log_config;

/* Claims the directory (made when missing; 0700) and reads it. TINKC_E_CONFIG: it belongs
 * to something else; TINKC_E_STATE: another process uses it; TINKC_E_UNSUPPORTED: a newer
 * version wrote it; TINKC_E_IO, TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code gw_log_open(gw_log **out, const gw_log_config *config,
                                    tk_err *err);
void gw_log_close(gw_log *log); /* syncs; accepts NULL */

/* Appends a record. On failure nothing is appended. TINKC_E_IO with the system's reason,
 * TINKC_E_LIMIT, TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code gw_log_append(gw_place *out, gw_log *log, const gw_entry *entry,
                                      tk_str body, tk_err *err);

/* Appends the body of a record to `out`. TINKC_E_IO: it cannot be read; TINKC_E_DECODE: it
 * is damaged. */
TK_NODISCARD tinkc_code gw_log_read(tk_buf *out, gw_log *log, gw_place place,
                                    tk_err *err);

/* Syncs now. */
TK_NODISCARD tinkc_code gw_log_sync(gw_log *log, tk_err *err);

/* The owner needs this record; an appended one is needed already. */
void gw_log_need(gw_log *log, gw_place place);
/* It needs it no more. */
void gw_log_forget(gw_log *log, gw_place place);

/* Whether the oldest file should go: nothing in it is needed, or the log is more than half
 * waste. *segment = its number. */
bool gw_log_is_due(uint32_t *segment, gw_log *log);
/* Removes the oldest file, whose records are no more needed. */
void gw_log_remove(gw_log *log, uint32_t segment);

typedef struct gw_log_stats {
    size_t segments, bytes, needed_bytes;
    size_t damaged, damaged_bytes; /* found at the start */
    size_t torn_bytes;             /* cut off at the start */
    size_t syncs;
} gw_log_stats;
void gw_log_get_stats(gw_log_stats *out, gw_log *log);

#endif
