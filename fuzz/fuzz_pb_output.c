/* ForwardBackwardOutput, read, written and read again (fuzz_pb.h).
 *
 * Links: wire */
#include "fuzz_pb.h"
#include "wire/pb_output.h"

static tinkc_code decode(void *out, tk_arena *arena, tk_bytes input, tk_err *err)
{
    return tk_pb_output_decode(out, arena, input, err);
}

static tinkc_code encode(tk_buf *out, const void *message)
{
    return tk_pb_output_encode(out, message, NULL);
}

/* The writer emits one record, so that a ragged message is refused; nothing at all reads
 * back as "ArrayRecord". */
static bool is_exempt(const void *message, tinkc_code written)
{
    const tk_fwdbwd_output *output = message;
    bool is_nothing =
        output->loss_fn_outputs_n == 0 && output->loss_fn_output_type.n == 0;
    return written == TINKC_E_INVALID || is_nothing;
}

int fuzz_record(const uint8_t *data, size_t size)
{
    tk_fwdbwd_output message;
    const fuzz_pb pb = {&message, decode, encode, is_exempt};
    return fuzz_pb_run(&pb, data, size);
}
