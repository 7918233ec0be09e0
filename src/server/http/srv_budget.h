/* The server's memory: one limit, and what each part of the server takes of it; and the
 * files that answers hold open.
 *
 * Everything that grows with what clients send is counted here, before it is allocated
 * where that is possible: the code that takes bytes for a part gives the same number
 * back. Arenas and buffers do that themselves with the part's quota. A part may have a
 * limit of its own, so that one kind of load cannot take everything; a reserve is kept
 * for small blocks, so that heartbeats, polls and submissions are answered when large
 * requests are refused.
 *
 * Thread: any. */
#ifndef SERVER_SRV_BUDGET_H
#define SERVER_SRV_BUDGET_H

#include <stdatomic.h>

#include "base/err.h"
#include "base/quota.h"
#include "base/tk.h"

typedef enum srv_part_name {
    SRV_PART_MODELS,      /* base models */
    SRV_PART_CACHE,       /* keys and values of samples */
    SRV_PART_WORK,        /* what the engine computes in */
    SRV_PART_ADAPTERS,    /* models that are trained: weights, gradients, moments */
    SRV_PART_SAMPLERS,    /* weights of samplers */
    SRV_PART_REQUESTS,    /* bodies, decompressed, decoded, and answers */
    SRV_PART_JOBS,        /* inputs and outputs of training requests and samples */
    SRV_PART_RESULTS,     /* futures and their results */
    SRV_PART_STREAMS,     /* tokens that a slow reader has not taken */
    SRV_PART_CONNECTIONS, /* open connections */
    SRV_PARTS
} srv_part_name;

typedef struct srv_budget srv_budget;

typedef struct srv_part {
    tk_quota quota; /* for arenas and buffers of this part */
    srv_budget *budget;
    atomic_size_t used;
    size_t max;
} srv_part;

struct srv_budget {
    size_t max;
    atomic_size_t used;    /* of all parts */
    atomic_size_t peak;    /* the most that was used */
    atomic_size_t refused; /* how often there was no room */
    srv_part parts[SRV_PARTS];
    atomic_size_t files; /* that answers hold open */
    size_t max_files;
};

/* A block up to this size may use the reserve. */
#define SRV_BUDGET_SMALL_BYTES ((size_t)24 * 1024)

/* Returns the default limit: three quarters of the memory that this process may use. */
size_t srv_budget_default(void);

/* `max` 0 = the default. The number of files has no limit until max_files is set. */
void srv_budget_init(srv_budget *budget, size_t max);

/* Counts `n` bytes; returns false, and counts nothing, when the part or the whole has no
 * room for them. */
TK_NODISCARD bool srv_budget_take(srv_budget *budget, srv_part_name part, size_t n);
void srv_budget_give(srv_budget *budget, srv_part_name part, size_t n);

/* Counts bytes that are there anyway, beyond the limits if it must be. */
void srv_budget_add(srv_budget *budget, srv_part_name part, size_t n);

/* Counts a file that an answer holds open while it is sent; returns false, and counts
 * nothing, when there are max_files. */
TK_NODISCARD bool srv_budget_take_file(srv_budget *budget);
void srv_budget_give_file(srv_budget *budget);

/* Describes why `n` bytes of a part were refused: "<what> needs 12 MiB ...", with what
 * there is. Returns the status of the answer: 429 when they may fit later, 400 when they
 * never do. */
int srv_budget_refuse(const srv_budget *budget, srv_part_name part, size_t n,
                      const char *what, tk_err *err);

/* Whether the whole has room for `n` bytes of any part. */
bool srv_budget_has_room(const srv_budget *budget, size_t n);

/* Whether a part, or the whole, uses more than its limit. */
bool srv_budget_is_over(const srv_budget *budget, srv_part_name part);

/* Returns the quota of a part, for arenas and buffers. */
tk_quota *srv_budget_quota(srv_budget *budget, srv_part_name part);

const char *srv_budget_part_name(srv_part_name part); /* "requests"; static */

#endif
