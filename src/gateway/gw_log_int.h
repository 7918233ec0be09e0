/* The parts of the log: its files (gw_log_scan.c), its directory (gw_log_dir.c). Only for
 * gw_log*.c. */
#ifndef GATEWAY_GW_LOG_INT_H
#define GATEWAY_GW_LOG_INT_H

#include "base/hash.h"
#include "base/thread.h"
#include "gateway/gw_log.h"

#define GW_LOG_MAGIC   UINT32_C(0x31527767) /* "gwR1" in the file */
#define GW_LOG_TITLE   "tinkc gateway 1\n"  /* 16 bytes */
#define GW_LOG_HEAD    40                   /* of a file: title, key, check */
#define GW_RECORD_HEAD 24                   /* magic, length, check, check of these */
#define GW_RECORD_MIN  16                   /* kind, bytes of the id, seq, birth */

typedef struct gw_segment {
    uint32_t number;
    bool is_foreign; /* its head is damaged: left alone */
    tk_hash_key key; /* of the checks */
    uint64_t bytes;  /* of the file */
    uint64_t needed; /* of its records */
} gw_segment;

struct gw_log {
    char *dir;
    size_t segment_bytes;
    tk_log *log;
    gw_log_calls calls;
    int lock_fd;
    tk_mutex lock;
    tk_cond wake; /* of the thread, and of those who wait for it */
    tk_thread thread;
    bool has_thread, is_closing;
    gw_segment *segments; /* oldest first */
    size_t n, cap;
    int fd; /* of the last one; -1 = not open yet */
    bool is_dirty, is_syncing;
    tk_err broken; /* a sync failed */
    gw_log_stats stats;
};

/* ---- numbers in files: little-endian ---- */

uint64_t gw_log_get(const char *p, size_t n);
void gw_log_put(char *p, uint64_t value, size_t n);

/* "DIR/episodes-00000001.log"; the caller frees it, NULL when out of memory. */
char *gw_log_path(const gw_log *log, uint32_t number);

/* Claims the directory: lock, mark. Opens log->lock_fd. */
TK_NODISCARD tinkc_code gw_log_claim(gw_log *log, tk_err *err);
/* Finds the files of the log: log->segments with their numbers, in order. */
TK_NODISCARD tinkc_code gw_log_list(gw_log *log, tk_err *err);
TK_NODISCARD tinkc_code gw_log_add_segment(gw_log *log, const gw_segment *segment,
                                           tk_err *err);

/* Writes the head of a file. `out` has GW_LOG_HEAD bytes. */
void gw_log_make_head(char *out, tk_hash_key key);

/* Checks a record at p[0..n): its bytes, or 0. Fills *entry (borrows) and *body. */
size_t gw_log_check(gw_entry *entry, tk_str *body, tk_hash_key key, const char *p,
                    size_t n);

/* Reads a file of the log, calls config->on_entry for each record; cuts a torn end off
 * when it is the last one. */
TK_NODISCARD tinkc_code gw_log_scan(gw_log *log, gw_segment *segment, bool is_last,
                                    const gw_log_config *config, tk_err *err);

#endif
