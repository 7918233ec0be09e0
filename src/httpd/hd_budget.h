/* The process's memory: one limit, and what each part of it takes; and the files that
 * answers hold open. The front has a few parts, the application names the others.
 *
 * Everything that grows with what clients send is counted here, before it is allocated
 * where that is possible: the code that takes bytes for a part gives the same number
 * back. Arenas and buffers do that themselves with the part's quota. A part may have a
 * limit of its own, so that one kind of load cannot take everything; a reserve is kept
 * for small blocks, so that heartbeats, polls and submissions are answered when large
 * requests are refused.
 *
 * Thread: any. */
#ifndef HTTPD_HD_BUDGET_H
#define HTTPD_HD_BUDGET_H

#include <stdatomic.h>

#include "base/err.h"
#include "base/quota.h"
#include "base/tk.h"

/* The parts of the front. Those of the application have the numbers from HD_PARTS on. */
enum {
    HD_PART_REQUESTS,    /* bodies, decompressed, decoded, and answers */
    HD_PART_STREAMS,     /* what a slow reader has not taken */
    HD_PART_CONNECTIONS, /* open connections */
    HD_PARTS
};

#define HD_PARTS_MAX 16 /* with the application's */

/* A part of the application; static. */
typedef struct hd_part_row {
    const char *name;
    size_t
        share;  /* the part of the whole that it may take, as a divisor; 1 = all of it */
    bool stays; /* what it takes is not given back soon: others cannot wait for it */
} hd_part_row;

typedef struct hd_part_rows {
    const hd_part_row *p; /* of the parts HD_PARTS, HD_PARTS + 1, ... */
    size_t n;             /* at most HD_PARTS_MAX - HD_PARTS */
} hd_part_rows;

typedef struct hd_budget hd_budget;

typedef struct hd_part {
    tk_quota quota; /* for arenas and buffers of this part */
    hd_budget *budget;
    const hd_part_row *row; /* constant */
    atomic_size_t used;
    size_t max;
} hd_part;

struct hd_budget {
    size_t max;
    atomic_size_t used;    /* of all parts */
    atomic_size_t peak;    /* the most that was used */
    atomic_size_t refused; /* how often there was no room */
    hd_part parts[HD_PARTS_MAX];
    unsigned n_parts;
    atomic_size_t files; /* that answers hold open */
    size_t max_files;
};

/* A block up to this size may use the reserve. */
#define HD_BUDGET_SMALL_BYTES ((size_t)24 * 1024)

/* Returns the default limit: three quarters of the memory that this process may use. */
size_t hd_budget_default(void);

/* `max` 0 = the default; `rows` NULL = the front's parts only. The number of files has no
 * limit until max_files is set. */
void hd_budget_init(hd_budget *budget, size_t max, const hd_part_rows *rows);

/* Counts `n` bytes; returns false, and counts nothing, when the part or the whole has no
 * room for them. */
TK_NODISCARD bool hd_budget_take(hd_budget *budget, unsigned part, size_t n);
void hd_budget_give(hd_budget *budget, unsigned part, size_t n);

/* Counts bytes that are there anyway, beyond the limits if it must be. */
void hd_budget_add(hd_budget *budget, unsigned part, size_t n);

/* Counts a file that an answer holds open while it is sent; returns false, and counts
 * nothing, when there are max_files. */
TK_NODISCARD bool hd_budget_take_file(hd_budget *budget);
void hd_budget_give_file(hd_budget *budget);

/* Describes why `n` bytes of a part were refused: "<what> needs 12 MiB ...", with what
 * there is. Returns the status of the answer: 429 when they may fit later, 400 when they
 * never do. */
int hd_budget_refuse(const hd_budget *budget, unsigned part, size_t n, const char *what,
                     tk_err *err);

/* Whether the whole has room for `n` bytes of any part. */
bool hd_budget_has_room(const hd_budget *budget, size_t n);

/* Whether a part, or the whole, uses more than its limit. */
bool hd_budget_is_over(const hd_budget *budget, unsigned part);

/* Returns the quota of a part, for arenas and buffers. */
tk_quota *hd_budget_quota(hd_budget *budget, unsigned part);

/* Returns the name of a part, e.g. "requests"; static. */
const char *hd_budget_part_name(const hd_budget *budget, unsigned part);

#endif
