/* ForwardBackwardRequest, read, written and read again (fuzz_pb.h).
 *
 * Links: wire */
#include "fuzz_pb.h"
#include "wire/pb_fwdbwd.h"

static tinkc_code decode(void *out, tk_arena *arena, tk_bytes input, tk_err *err)
{
    return tk_pb_fwdbwd_decode(out, arena, input, err);
}

static tinkc_code encode(tk_buf *out, const void *message)
{
    return tk_pb_fwdbwd_encode(out, message, NULL);
}

int fuzz_record(const uint8_t *data, size_t size)
{
    tk_fwdbwd_request message;
    const fuzz_pb pb = {&message, decode, encode, NULL};
    return fuzz_pb_run(&pb, data, size);
}
