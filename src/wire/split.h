/* Cutting a training batch into the requests that carry it (docs/protocol.md §6.2). Pure;
 * thread: any. */
#ifndef WIRE_SPLIT_H
#define WIRE_SPLIT_H

#include "base/arena.h"
#include "base/err.h"
#include "wire/value.h"

/* Datums [first, first + n) of the batch; `bytes` is their estimate. */
typedef struct tk_split_part {
    size_t first, n, bytes;
} tk_split_part;

typedef struct tk_split {
    const tk_split_part *parts;
    size_t n;
} tk_split;

typedef struct tk_split_limits {
    int64_t max_datums; /* fwdbwd_max_chunk_len; below 1 counts as 1 */
    int64_t max_bytes;  /* fwdbwd_max_chunk_bytes_count */
} tk_split_limits;

/* Greedy, in order: a part is closed when the next datum would take it over max_bytes, or
 * when it holds max_datums. A datum that is larger than max_bytes is a part by itself.
 * The parts live in the arena. TINKC_E_INVALID for an empty batch. */
TK_NODISCARD tinkc_code tk_split_batch(tk_split *out, tk_arena *arena,
                                       const tk_datum *data, size_t n,
                                       const tk_split_limits *limits, tk_err *err);

#endif
