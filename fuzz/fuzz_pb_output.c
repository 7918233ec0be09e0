/* ForwardBackwardOutput: what the reader accepts must survive writing and reading again,
 * to the same bytes.
 *
 * Links: wire */
#include <string.h>

#include "fuzz.h"
#include "wire/pb_output.h"

#define ARENA_MAX_BYTES (64 * TK_MIB)

static tinkc_code read_message(tk_fwdbwd_output *out, tk_arena *arena, const void *p,
                               size_t n)
{
    tk_bytes input = {p, n};
    tk_err err = TK_ERR_INIT;
    tinkc_code code = tk_pb_output_decode(out, arena, input, &err);
    if (code != err.code || (code != TINKC_OK && err.message[0] == '\0')) {
        fuzz_fail("the error does not tell what the call returned");
    }
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tk_fwdbwd_output message;
    tk_arena arena;
    tk_buf first;
    tk_buf second;
    tk_arena_init(&arena, ARENA_MAX_BYTES);
    tk_buf_init(&first, ARENA_MAX_BYTES);
    tk_buf_init(&second, ARENA_MAX_BYTES);
    if (read_message(&message, &arena, data, size) != TINKC_OK) {
        goto out;
    }
    tinkc_code code = tk_pb_output_encode(&first, &message, NULL);
    bool is_ragged = code == TINKC_E_INVALID; /* the writer emits one record */
    bool is_nothing =
        message.loss_fn_outputs_n == 0 && message.loss_fn_output_type.n == 0;
    if (is_ragged || is_nothing) { /* nothing reads back as "ArrayRecord" */
        goto out;
    }
    if (code != TINKC_OK ||
        read_message(&message, &arena, first.p, first.n) != TINKC_OK ||
        tk_pb_output_encode(&second, &message, NULL) != TINKC_OK) {
        fuzz_fail("what was read cannot be written and read again");
    }
    if (first.n != second.n || (first.n > 0 && memcmp(first.p, second.p, first.n) != 0)) {
        fuzz_fail("the second writing differs from the first");
    }
out:
    tk_buf_dispose(&first);
    tk_buf_dispose(&second);
    tk_arena_dispose(&arena);
    return 0;
}
