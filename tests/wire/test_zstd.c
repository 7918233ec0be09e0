/* M-032: zstd bodies, hostile ones too. */
#include "support/test.h"
#include "wire/zstd.h"

#include <stdlib.h>

#include "base/mem.h"
#include "support/failmem.h"

#define SAMPLE_BYTES ((size_t)300000)

typedef struct fixture {
    tk_zstd z;
    tk_buf packed;
    tk_buf plain;
    unsigned char *sample; /* SAMPLE_BYTES of mixed compressibility */
    tk_err err;
} fixture;

static int setup(void **state)
{
    static const tk_err none = TK_ERR_INIT;
    fixture *f = calloc(1, sizeof(*f));
    f->sample = malloc(SAMPLE_BYTES);
    uint64_t x = 88172645463325252U;
    for (size_t i = 0; i < SAMPLE_BYTES; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        f->sample[i] = i % 4 < 2 ? (unsigned char)x : 0;
    }
    f->err = none;
    tk_zstd_init(&f->z);
    tk_buf_init(&f->packed, TK_MIB);
    tk_buf_init(&f->plain, TK_MIB);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    tk_zstd_dispose(&f->z);
    tk_buf_dispose(&f->packed);
    tk_buf_dispose(&f->plain);
    free(f->sample);
    free(f);
    return 0;
}

static tk_bytes bytes_of(const tk_buf *buf)
{
    return (tk_bytes){(const unsigned char *)buf->p, buf->n};
}

static tinkc_code pack(fixture *f, const void *p, size_t n)
{
    return tk_zstd_compress(&f->z, &f->packed, (tk_bytes){p, n}, 0, &f->err);
}

static tinkc_code unpack(fixture *f, tk_bytes input)
{
    tk_err_clear(&f->err);
    tk_buf_clear(&f->plain);
    return tk_zstd_decompress(&f->z, &f->plain, input, &f->err);
}

/* One object for many bodies, every level, and what was in the buffers before stays. */
static void test_zstd_round_trip(void **state)
{
    fixture *f = *state;
    static const size_t sizes[] = {0, 1, 100, 131072, SAMPLE_BYTES};
    static const int levels[] = {0, 1, 3, 9, -5};
    for (size_t i = 0; i < TK_ARRAY_LEN(sizes); i++) {
        tk_bytes data = {f->sample, sizes[i]};
        tk_buf_clear(&f->packed);
        tk_buf_put(&f->packed, "head", 4);
        assert_int_equal(tk_zstd_compress(&f->z, &f->packed, data, levels[i], &f->err),
                         TINKC_OK);
        assert_memory_equal(f->packed.p, "head", 4);
        tk_bytes frame = {(const unsigned char *)f->packed.p + 4, f->packed.n - 4};
        tk_buf_clear(&f->plain);
        tk_buf_put(&f->plain, "front", 5);
        assert_int_equal(tk_zstd_decompress(&f->z, &f->plain, frame, &f->err), TINKC_OK);
        assert_int_equal(f->plain.n, 5 + sizes[i]);
        assert_memory_equal(f->plain.p, "front", 5);
        assert_memory_equal(f->plain.p + 5, f->sample, sizes[i]);
    }
}

static void test_zstd_level_refused(void **state)
{
    fixture *f = *state;
    tk_bytes data = {f->sample, 10};
    assert_int_equal(tk_zstd_compress(&f->z, &f->packed, data, 100, &f->err),
                     TINKC_E_INVALID);
    assert_int_equal(f->packed.n, 0);
}

/* Several frames are one body; a skippable frame holds nothing. */
static void test_zstd_concatenated(void **state)
{
    fixture *f = *state;
    static const unsigned char skippable[] = {0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 7, 7};
    assert_int_equal(pack(f, f->sample, 1000), TINKC_OK);
    tk_buf_put(&f->packed, skippable, sizeof(skippable));
    assert_int_equal(pack(f, f->sample + 1000, 2000), TINKC_OK);
    assert_int_equal(unpack(f, bytes_of(&f->packed)), TINKC_OK);
    assert_int_equal(f->plain.n, 3000);
    assert_memory_equal(f->plain.p, f->sample, 3000);
}

/* Exactly at the cap is fine, one byte less is too much: with and without a size in the
 * header, and no matter how far over. */
static void test_zstd_cap(void **state)
{
    fixture *f = *state;
    assert_int_equal(pack(f, f->sample, 5000), TINKC_OK);
    f->plain.max = 5000;
    assert_int_equal(unpack(f, bytes_of(&f->packed)), TINKC_OK);
    assert_int_equal(f->plain.n, 5000);
    tk_buf_dispose(&f->plain);
    f->plain.max = 4999;
    assert_int_equal(unpack(f, bytes_of(&f->packed)), TINKC_E_LIMIT);
    assert_int_equal(f->plain.n, 0);
    assert_int_equal(f->plain.capacity, 0); /* refused by its header: nothing was
                                             * allocated */
}

/* A frame without a content size: 4096 times a raw or RLE block of `block` bytes. */
static void put_rle_frame(tk_buf *out, size_t blocks, uint32_t block)
{
    static const unsigned char head[] = {0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x58}; /* 2 MiB */
    tk_buf_put(out, head, sizeof(head));
    for (size_t i = 0; i < blocks; i++) {
        uint32_t word = block << 3 | 1U << 1 | (i + 1 == blocks);
        unsigned char rle[] = {(unsigned char)word, (unsigned char)(word >> 8),
                               (unsigned char)(word >> 16), 'x'};
        tk_buf_put(out, rle, sizeof(rle));
    }
}

/* 64 KiB that would become 2 GiB: refused with no more memory than the cap. */
static void test_zstd_bomb(void **state)
{
    fixture *f = *state;
    put_rle_frame(&f->packed, 16384, 128 * 1024);
    assert_int_equal(tk_buf_status(&f->packed, NULL), TINKC_OK);
    tk_buf_dispose(&f->plain);
    failmem_start();
    assert_int_equal(unpack(f, bytes_of(&f->packed)), TINKC_E_LIMIT);
    size_t peak = failmem_peak_bytes();
    tk_buf_dispose(&f->plain);
    assert_int_equal(failmem_stop(), 0);
    assert_true(peak <= f->plain.max + 1);
    tk_buf_clear(&f->packed);
    put_rle_frame(&f->packed, 8, 128 * 1024); /* exactly the cap of 1 MiB */
    assert_int_equal(unpack(f, bytes_of(&f->packed)), TINKC_OK);
    assert_int_equal(f->plain.n, TK_MIB);
    tk_buf_clear(&f->packed);
    put_rle_frame(&f->packed, 8, 128 * 1024);
    put_rle_frame(&f->packed, 1, 1);
    assert_int_equal(unpack(f, bytes_of(&f->packed)), TINKC_E_LIMIT);
}

/* A header that claims 900 KB for 14 bytes of body does not get 900 KB up front. */
static void test_zstd_claimed_size(void **state)
{
    fixture *f = *state;
    static const unsigned char frame[] = {0x28, 0xB5, 0x2F, 0xFD, 0xA0, 0xA0, 0xBB,
                                          0x0D, 0x00, 0x0B, 0x00, 0x00, 'x'};
    tk_buf_dispose(&f->plain);
    failmem_start();
    assert_int_equal(unpack(f, (tk_bytes){frame, sizeof(frame)}), TINKC_E_PARSE);
    size_t peak = failmem_peak_bytes();
    tk_buf_dispose(&f->plain);
    assert_int_equal(failmem_stop(), 0);
    assert_true(peak <= 256 * TK_KIB);
}

static void test_zstd_truncated(void **state)
{
    fixture *f = *state;
    assert_int_equal(pack(f, f->sample, 700), TINKC_OK);
    for (size_t n = 0; n < f->packed.n; n++) {
        tk_bytes cut = {(const unsigned char *)f->packed.p, n};
        assert_int_equal(unpack(f, cut), TINKC_E_PARSE);
        assert_int_equal(f->plain.n, 0);
        assert_true(f->err.message[0] != '\0');
    }
}

static void test_zstd_garbage(void **state)
{
    fixture *f = *state;
    for (size_t extra = 1; extra <= 9; extra++) {
        tk_buf_clear(&f->packed);
        assert_int_equal(pack(f, f->sample, 700), TINKC_OK);
        tk_buf_put(&f->packed, "not a frame", extra);
        assert_int_equal(unpack(f, bytes_of(&f->packed)), TINKC_E_PARSE);
        assert_int_equal(f->plain.n, 0);
    }
    assert_int_equal(unpack(f, (tk_bytes){f->sample, 100}), TINKC_E_PARSE);
}

/* Every byte of a frame changed: an error, or at least nothing beyond the cap. */
static void test_zstd_flipped(void **state)
{
    fixture *f = *state;
    assert_int_equal(pack(f, f->sample, 700), TINKC_OK);
    for (size_t i = 0; i < f->packed.n; i++) {
        f->packed.p[i] = (char)(f->packed.p[i] ^ 0x55);
        tinkc_code code = unpack(f, bytes_of(&f->packed));
        assert_true(code == TINKC_OK || f->plain.n == 0);
        f->packed.p[i] = (char)(f->packed.p[i] ^ 0x55);
    }
    assert_int_equal(unpack(f, bytes_of(&f->packed)), TINKC_OK);
}

/* The compressed form does not fit: the buffer's limit, nothing appended. */
static void test_zstd_compress_limit(void **state)
{
    fixture *f = *state;
    f->packed.max = 100;
    assert_int_equal(pack(f, f->sample, 5000), TINKC_E_LIMIT);
    assert_int_equal(f->packed.n, 0);
}

static bool scenario(void *user)
{
    fixture *f = user;
    tk_buf packed;
    tk_buf plain;
    tk_buf_init(&packed, TK_MIB);
    tk_buf_init(&plain, TK_MIB);
    tk_bytes data = {f->sample, SAMPLE_BYTES};
    bool ok = tk_zstd_compress(&f->z, &packed, data, 1, NULL) == TINKC_OK;
    put_rle_frame(&packed, 3, 128 * 1024); /* grows step by step */
    ok = ok && tk_zstd_decompress(&f->z, &plain, bytes_of(&packed), NULL) == TINKC_OK;
    tk_buf_dispose(&packed);
    tk_buf_dispose(&plain);
    return ok;
}

static void test_zstd_sweep(void **state)
{
    assert_true(failmem_sweep(scenario, *state, 1) >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_zstd_round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_zstd_level_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_zstd_concatenated, setup, teardown),
        cmocka_unit_test_setup_teardown(test_zstd_cap, setup, teardown),
        cmocka_unit_test_setup_teardown(test_zstd_bomb, setup, teardown),
        cmocka_unit_test_setup_teardown(test_zstd_claimed_size, setup, teardown),
        cmocka_unit_test_setup_teardown(test_zstd_truncated, setup, teardown),
        cmocka_unit_test_setup_teardown(test_zstd_garbage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_zstd_flipped, setup, teardown),
        cmocka_unit_test_setup_teardown(test_zstd_compress_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_zstd_sweep, setup, teardown),
    };
    return cmocka_run_group_tests_name("zstd", tests, NULL, NULL);
}
