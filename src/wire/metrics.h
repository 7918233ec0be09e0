/* Putting the results of a split batch together (docs/protocol.md §6.4). Pure; thread:
 * any. */
#ifndef WIRE_METRICS_H
#define WIRE_METRICS_H

#include "base/arena.h"
#include "base/err.h"
#include "wire/value.h"

/* One output from the outputs of all parts, in part order: records concatenated, type of
 * the first, metrics reduced by the suffix of their name, which is NUL-terminated. New
 * arrays live in the arena, the rest borrows from the parts.
 *
 * Where the official SDK fails or drops, a name without exactly one ':' or with an
 * unknown suffix is kept as it is when there is one part (docs/protocol.md §12 row 4) and
 * dropped otherwise; a mean over no datums at all is the plain mean. TINKC_E_INVALID
 * without parts. */
TK_NODISCARD tinkc_code tk_metrics_combine(tk_fwdbwd_output *out, tk_arena *arena,
                                           const tk_fwdbwd_output *parts, size_t n,
                                           tk_err *err);

/* A metric by its whole name, or NULL. */
const double *tk_metrics_find(const tk_num_map *metrics, tk_str name);

/* Returns the metric that is the loss of the batch, borrowed: `loss`, else `loss:sum`,
 * else the first `loss:<reduction>`, else the same of `total_loss`. NULL: none. */
const tk_named_num *tk_metrics_loss(const tk_num_map *metrics);

/* CPython's hash of the tuple of values, truncated to integers and sorted ascending
 * (docs/protocol.md Appendix C). Sorts `values` in place. */
int64_t tk_metrics_hash(double *values, size_t n);

/* The sum of the values as unsigned 64-bit integers, modulo 2^64: the reducer `hash2`. A
 * value that is not finite counts as 0. */
uint64_t tk_metrics_hash2(const double *values, size_t n);

#endif
