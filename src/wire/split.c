/* Greedy splitting; see split.h. */
#include "wire/split.h"

#include "wire/input.h"

tinkc_code tk_split_batch(tk_split *out, tk_arena *arena, const tk_datum *data, size_t n,
                          const tk_split_limits *limits, tk_err *err)
{
    if (n == 0) {
        return tk_err_set(err, TINKC_E_INVALID, "the batch is empty");
    }
    size_t max_n = limits->max_datums > 0 ? (size_t)limits->max_datums : 1;
    size_t max_bytes = limits->max_bytes > 0 ? (size_t)limits->max_bytes : 0;
    tk_split_part *parts = tk_arena_array(arena, n, sizeof(*parts));
    if (parts == NULL) {
        return tk_err_nomem(err);
    }
    tk_split_part part = {0, 0, 0};
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        size_t bytes = tk_datum_bytes(&data[i]);
        bool over = part.bytes > max_bytes || bytes > max_bytes - part.bytes;
        if (part.n > 0 && (over || part.n == max_n)) {
            parts[count++] = part;
            part = (tk_split_part){i, 0, 0};
        }
        part.n++;
        part.bytes = bytes > SIZE_MAX - part.bytes ? SIZE_MAX : part.bytes + bytes;
    }
    parts[count++] = part;
    tk_arena_shrink_last(arena, parts, n * sizeof(*parts), count * sizeof(*parts));
    out->parts = parts;
    out->n = count;
    return TINKC_OK;
}
