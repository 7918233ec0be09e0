/* SampleResponse, read, written and read again (fuzz_pb.h).
 *
 * Links: wire */
#include "fuzz_pb.h"
#include "wire/pb_sample.h"

static tinkc_code decode(void *out, tk_arena *arena, tk_bytes input, tk_err *err)
{
    return tk_pb_sample_decode(out, arena, input, err);
}

static tinkc_code encode(tk_buf *out, const void *message)
{
    return tk_pb_sample_encode(out, message, NULL);
}

static bool is_unknown(bool has, const tk_tensor *tensor)
{
    return has && tensor->dtype == TK_DTYPE_UNSPECIFIED;
}

/* A stop reason or a dtype that is not known can be read, and is not written. */
static bool is_exempt(const void *message, tinkc_code written)
{
    const tk_sample_response *response = message;
    for (size_t i = 0; i < response->sequences_n; i++) {
        if (response->sequences[i].stop_reason == TK_STOP_OTHER) {
            return written == TINKC_E_INVALID;
        }
    }
    return written == TINKC_E_INVALID &&
           (is_unknown(response->has_target, &response->target_prompt_logprobs) ||
            is_unknown(response->has_alt, &response->alt.tokens) ||
            is_unknown(response->has_alt, &response->alt.logprobs));
}

int fuzz_record(const uint8_t *data, size_t size)
{
    tk_sample_response message;
    const fuzz_pb pb = {&message, decode, encode, is_exempt};
    return fuzz_pb_run(&pb, data, size);
}
