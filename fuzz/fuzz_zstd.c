/* zstd: no input makes the content larger than the cap, an accepted content comes back
 * from a frame of ours.
 *
 * Links: wire */
#include <string.h>

#include "fuzz.h"
#include "wire/zstd.h"

#define CAP_BYTES TK_MIB

int fuzz_record(const uint8_t *data, size_t size)
{
    static tk_zstd z; /* kept, so that a context that was used badly is used again */
    tk_buf plain;
    tk_buf packed;
    tk_buf again;
    tk_buf_init(&plain, CAP_BYTES);
    tk_buf_init(&packed, 2 * CAP_BYTES);
    tk_buf_init(&again, CAP_BYTES);
    tk_bytes input = {data, size};
    tinkc_code code = tk_zstd_decompress(&z, &plain, input, NULL);
    if (plain.n > CAP_BYTES || (code != TINKC_OK && plain.n != 0)) {
        fuzz_fail("over the cap, or a partial result");
    }
    if (code == TINKC_OK) {
        tk_bytes content = {(const unsigned char *)plain.p, plain.n};
        code = tk_zstd_compress(&z, &packed, content, 1, NULL);
        tk_bytes frame = {(const unsigned char *)packed.p, packed.n};
        if (code != TINKC_OK || tk_zstd_decompress(&z, &again, frame, NULL) != TINKC_OK ||
            again.n != plain.n ||
            (plain.n > 0 && memcmp(again.p, plain.p, plain.n) != 0)) {
            fuzz_fail("the content does not come back");
        }
    }
    tk_buf_dispose(&plain);
    tk_buf_dispose(&packed);
    tk_buf_dispose(&again);
    return 0;
}
