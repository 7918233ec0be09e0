/* Shared by types*.c only. */
#ifndef CLIENT_TYPES_INT_H
#define CLIENT_TYPES_INT_H

#include <tinkc/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "wire/value.h"

/* Converts the caller's array into the arena (or borrows it, when the array allows).
 * `name` decides the dtype where the array leaves that open. */
TK_NODISCARD tinkc_code tk_types_convert(tk_tensor *out, tk_arena *arena,
                                         const tinkc_array *array, tk_str name,
                                         tk_err *err);

/* Checks a tensor and copies it into the arena. */
TK_NODISCARD tinkc_code tk_types_copy_tensor(tk_tensor *out, tk_arena *arena,
                                             const tk_tensor *from, tk_err *err);

/* A copy of n bytes in the arena, NULL when out of memory. n may be 0. */
TK_NODISCARD void *tk_types_dup(tk_arena *arena, const void *data, size_t n);

#endif
