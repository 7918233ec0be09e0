/* M-093, M-114, A-041: ForwardBackwardOutput at its edges (docs/protocol.md §3.1, rules
 * 1-4). */
#include "support/test.h"
#include "wire/pb_output.h"

#include "base/mem.h"
#include "support/failmem.h"
#include "wire/pb_codec.h"
#include "wire/pb_hex.h"
#include "wire/pb_random.h"

#define I64(digit) "0" #digit "00000000000000"

typedef struct reading {
    pb_hex hex;
    tk_arena arena;
    tk_err err;
    tk_fwdbwd_output r;
    tinkc_code code;
} reading;

static void read_hex(reading *d, const char *hex)
{
    static const tk_err none = TK_ERR_INIT;
    d->err = none;
    tk_arena_init(&d->arena, 0);
    d->r = (tk_fwdbwd_output){.loss_fn_outputs_n = 99};
    d->code = tk_pb_output_decode(&d->r, &d->arena, pb_hex_bytes(&d->hex, hex), &d->err);
}

static void assert_refused(const char *hex, tinkc_code code)
{
    reading d;
    read_hex(&d, hex);
    assert_int_equal(d.code, code);
    assert_int_equal(d.err.code, code);
    assert_true(d.err.message[0] != '\0');
    assert_int_equal(d.r.loss_fn_outputs_n, 99);
    tk_arena_dispose(&d.arena);
}

/* Rule 1, and the name of the type with and without records. */
static void test_pb_output_type(void **unused)
{
    static const struct {
        const char *hex;
        const char *type;
    } cases[] = {
        {"", "ArrayRecord"},
        {"0a(613a62)", "a:b"},
        {"0a(613a62) 12()", "b"},
        {"0a(613a623a63) 12()", "c"},
        {"0a(613a) 12()", ""},
        {"0a(6162) 12()", "ab"},
        {"12()", ""},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        reading d;
        read_hex(&d, cases[i].hex);
        assert_int_equal(d.code, TINKC_OK);
        assert_true(tk_str_is(d.r.loss_fn_output_type, cases[i].type));
        assert_int_equal(d.r.loss_fn_outputs_n, 0);
        tk_arena_dispose(&d.arena);
    }
}

/* num_datums survives when all fields are stripped. */
static void test_pb_output_stripped(void **unused)
{
    reading d;
    read_hex(&d, "12(1802) 12(1801)");
    assert_int_equal(d.code, TINKC_OK);
    assert_int_equal(d.r.loss_fn_outputs_n, 3);
    assert_int_equal(d.r.loss_fn_outputs[2].n, 0);
    tk_arena_dispose(&d.arena);
}

/* Rule 3: without num_datums the slices count. */
static void test_pb_output_undeclared(void **unused)
{
    reading d;
    read_hex(&d, "12(12(0a(61) 12(0a(0000803f) 12(" I64(0) I64(0) I64(4) ") 1801)))");
    assert_int_equal(d.code, TINKC_OK);
    assert_int_equal(d.r.loss_fn_outputs_n, 2);
    assert_int_equal(d.r.loss_fn_outputs[0].items[0].tensor.n, 0);
    assert_int_equal(d.r.loss_fn_outputs[0].items[0].tensor.shape.p[0], 0);
    assert_int_equal(d.r.loss_fn_outputs[1].items[0].tensor.n, 1);
    tk_arena_dispose(&d.arena);
}

/* Two records: int32 with rows of 2, then bfloat16 without a trailing shape. */
static void test_pb_output_ragged(void **unused)
{
    reading d;
    read_hex(&d, "12( 12(0a(61) 12(0a(feffffff 07000000) 12(" I64(0)
                     I64(8) ") 1803 2002))"
                            "    1801 )"
                            "12( 12(0a(61) 12(0a(803f 0040 40c0) 12(" I64(0) I64(2)
                                I64(6) ") 1804))"
                                       "    1802 )");
    assert_int_equal(d.code, TINKC_OK);
    assert_int_equal(d.r.loss_fn_outputs_n, 3);
    const tk_tensor *t = &d.r.loss_fn_outputs[0].items[0].tensor;
    assert_int_equal(t->dtype, TK_DTYPE_I64);
    assert_int_equal(t->n, 2);
    assert_int_equal(((const int64_t *)t->data)[0], -2);
    assert_int_equal(t->shape.n, 2);
    assert_int_equal(t->shape.p[0], 1);
    assert_int_equal(t->shape.p[1], 2);
    t = &d.r.loss_fn_outputs[2].items[0].tensor;
    assert_int_equal(t->dtype, TK_DTYPE_F32);
    assert_int_equal(t->n, 2);
    assert_true(((const float *)t->data)[0] == 2.0F);
    assert_true(((const float *)t->data)[1] == -3.0F);
    assert_int_equal(t->shape.n, 1);
    tk_arena_dispose(&d.arena);
}

/* A newer server: a column whose dtype is not known is there, without elements; the
 * others are read. */
static void test_pb_output_newer_dtype(void **unused)
{
    reading d;
    read_hex(&d,
             "12( 12(0a(61) 12(0a(01020304 05060708) 12(" I64(0)
                 I64(8) ") 1807))"
                        "    12(0a(62) 12(0a(0000803f) 12(" I64(0) I64(4) ") 1801))"
                                                                          "    1801 )");
    assert_int_equal(d.code, TINKC_OK);
    const tk_tensor_map *map = &d.r.loss_fn_outputs[0];
    assert_int_equal(map->n, 2);
    assert_int_equal(map->items[0].tensor.dtype, TK_DTYPE_UNSPECIFIED);
    assert_int_equal(map->items[0].tensor.n, 0);
    assert_int_equal(map->items[1].tensor.dtype, TK_DTYPE_F32);
    assert_true(((const float *)map->items[1].tensor.data)[0] == 1.0F);
    tk_arena_dispose(&d.arena);
}

/* Rule 4: a trailing dimension of 0 gives a leading one of 0. */
static void test_pb_output_empty_rows(void **unused)
{
    reading d;
    read_hex(&d, "12(12(0a(61) 12(12(" I64(0) I64(0) ") 1801 22(0003))) 1801)");
    assert_int_equal(d.code, TINKC_OK);
    const tk_tensor *t = &d.r.loss_fn_outputs[0].items[0].tensor;
    assert_int_equal(t->n, 0);
    assert_int_equal(t->shape.n, 3);
    assert_int_equal(t->shape.p[0], 0);
    assert_int_equal(t->shape.p[2], 3);
    tk_arena_dispose(&d.arena);
    assert_refused("12(12(0a(61) 12(0a(00000000) 12(" I64(0) I64(4) ") 1801 2000)) 1801)",
                   TINKC_E_DECODE);
}

/* A field that comes twice: the later one counts; a value that comes twice merges. */
static void test_pb_output_merge(void **unused)
{
    reading d;
    read_hex(&d,
             "12( 12(0a(61) 12(12(" I64(0) ") 1803))"
                                           "    12(0a(61) 12(0a(01000000)) 12(12(" I64(0)
                                               I64(4) ") 1803))"
                                                      "    1805 1801 )");
    assert_int_equal(d.code, TINKC_OK);
    assert_int_equal(d.r.loss_fn_outputs_n, 1);
    assert_int_equal(d.r.loss_fn_outputs[0].n, 1);
    assert_int_equal(*(const int64_t *)d.r.loss_fn_outputs[0].items[0].tensor.data, 1);
    tk_arena_dispose(&d.arena);
}

static void test_pb_output_offset_refusals(void **unused)
{
    static const char *const offsets[] = {
        I64(4) I64(8),                    /* does not begin at 0 */
        I64(0) I64(4),                    /* ends before the data */
        I64(0) "0c00000000000000",        /* ends after the data */
        I64(0) I64(8) I64(4) I64(8),      /* goes back */
        I64(0) I64(2) I64(8),             /* inside an item */
        I64(0) "fcffffffffffffff" I64(8), /* negative */
        I64(0),                           /* data, but no slice */
        "",                               /* the same, without offsets */
        "00000000",                       /* not whole offsets */
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(offsets); i++) {
        char hex[256];
        (void)snprintf(hex, sizeof(hex),
                       "12(12(0a(61) 12(0a(00000000 00000000) 12(%s) 1801)))",
                       offsets[i]);
        assert_refused(hex, TINKC_E_DECODE);
    }
    /* half a row of [2]; rows larger than any data */
    assert_refused("12(12(0a(61) 12(0a(00000000) 12(" I64(0) I64(4) ") 1801 2002)) 1801)",
                   TINKC_E_DECODE);
    assert_refused("12(12(0a(61) 12(0a(00000000) 12(" I64(0)
                       I64(4) ") 1801 22(ffffffff0f ffffffff0f)) ) 1801)",
                   TINKC_E_DECODE);
    assert_refused("12(12(0a(61) 12(12(" I64(0) I64(0) ") 1801 20ffffffffffffffffff01)))",
                   TINKC_E_DECODE);
}

static void test_pb_output_record_refusals(void **unused)
{
#define SLICE "12(0a() 12(" I64(0) I64(0) ") 1801)"
    assert_refused("12(12(0a(61)))", TINKC_E_DECODE);                    /* no value */
    assert_refused("12(12(0a(61) 12(12(" I64(0) "))))", TINKC_E_DECODE); /* no dtype */
    assert_refused("12(12(0a(61) " SLICE ") 1802)", TINKC_E_DECODE); /* too few slices */
    assert_refused("12(12(0a(61) " SLICE ") 1802) 12(1801)", TINKC_E_DECODE);
    assert_refused("12(12(0a(61) " SLICE ")) 12(1801)", TINKC_E_DECODE); /* too many */
    assert_refused("12(12(0a(61) " SLICE ") 1801) 12(1801)", TINKC_E_DECODE);
    assert_refused("12(12(0a(61) " SLICE ") 1801) 12(12(0a(62) " SLICE ") 1801)",
                   TINKC_E_DECODE);                               /* other fields */
    assert_refused("12(18ffffffffffffffffff01)", TINKC_E_DECODE); /* -1 datums */
    assert_refused("12(18ffffffffffffffff7f)", TINKC_E_LIMIT);    /* 2^63 - 1 */
    assert_refused("12(18808040) 12(1801)", TINKC_E_LIMIT);       /* the sum */
    assert_refused("0a(ff)", TINKC_E_PARSE);
    assert_refused("12(0a(ff))", TINKC_E_PARSE);
    assert_refused("12(12(0a(ff)))", TINKC_E_PARSE);
    assert_refused("1a(0a(ff))", TINKC_E_PARSE);
#undef SLICE
}

/* ---- writing ---- */

/* Advice of docs/protocol.md: a datum without a field gets an empty slice, the count is
 * set. */
static void test_pb_output_missing_field(void **unused)
{
    static const float values[] = {1, 2};
    const tk_named_tensor a = {TK_STR("a"),
                               {.dtype = TK_DTYPE_F32, .data = values, .n = 2}};
    const tk_named_tensor b = {TK_STR("b"),
                               {.dtype = TK_DTYPE_F32, .data = values, .n = 1}};
    const tk_tensor_map maps[] = {{&a, 1}, {NULL, 0}, {&b, 1}};
    const tk_fwdbwd_output output = {.loss_fn_outputs = maps, .loss_fn_outputs_n = 3};
    tk_buf out;
    tk_arena arena;
    tk_fwdbwd_output back;
    tk_buf_init(&out, TK_MIB);
    tk_arena_init(&arena, 0);
    assert_int_equal(tk_pb_output_encode(&out, &output, NULL), TINKC_OK);
    tk_bytes bytes = {(const unsigned char *)out.p, out.n};
    assert_int_equal(tk_pb_output_decode(&back, &arena, bytes, NULL), TINKC_OK);
    assert_int_equal(back.loss_fn_outputs_n, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(back.loss_fn_outputs[i].n, 2);
        assert_int_equal(back.loss_fn_outputs[i].items[0].tensor.n, i == 0 ? 2 : 0);
        assert_int_equal(back.loss_fn_outputs[i].items[1].tensor.n, i == 2 ? 1 : 0);
    }
    tk_buf_dispose(&out);
    tk_arena_dispose(&arena);
}

static void assert_not_encoded(const tk_fwdbwd_output *output, tinkc_code code,
                               const char *path)
{
    tk_buf out;
    tk_err err = TK_ERR_INIT;
    tk_buf_init(&out, TK_KIB);
    assert_int_equal(tk_pb_output_encode(&out, output, &err), code);
    assert_int_equal(out.n, 0);
    assert_string_equal(err.path, path);
    tk_buf_dispose(&out);
}

static void test_pb_output_encode_refusals(void **unused)
{
    static const int64_t numbers[4] = {2, 2};
    const tk_tensor good = {.dtype = TK_DTYPE_I64, .data = numbers, .n = 4};
    tk_named_tensor items[] = {{TK_STR("a"), good}, {TK_STR("a"), good}};
    const tk_tensor_map maps[] = {{&items[0], 1}, {&items[1], 1}};
    tk_fwdbwd_output output = {.loss_fn_outputs = maps, .loss_fn_outputs_n = 2};
    tk_tensor *t = &items[1].tensor;
    const char *path = "loss_fn_outputs[1].a";
    t->dtype = TK_DTYPE_F32;
    assert_not_encoded(&output, TINKC_E_INVALID, path); /* another dtype */
    t->dtype = TK_DTYPE_BF16;
    assert_not_encoded(&output, TINKC_E_INVALID, path);
    *t = good;
    t->has_shape = true;
    t->shape = (tk_i64s){numbers, 2};
    assert_not_encoded(&output, TINKC_E_INVALID, path); /* another trailing shape */
    t->shape.n = 1;
    assert_not_encoded(&output, TINKC_E_INVALID, path); /* shape [2] of 4 values */
    *t = good;
    t->is_sparse = true;
    assert_not_encoded(&output, TINKC_E_INVALID, path);
    *t = good;
    t->n = SIZE_MAX / 2;
    assert_not_encoded(&output, TINKC_E_LIMIT, path);
    *t = good;
    items[1].name = TK_STR("\xFF");
    assert_not_encoded(&output, TINKC_E_INVALID, "loss_fn_outputs[1].?");
    output = (tk_fwdbwd_output){.loss_fn_output_type = TK_STR("\xFF")};
    assert_not_encoded(&output, TINKC_E_INVALID, "");
}

/* ---- both ---- */

static tk_fwdbwd_output long_output(pb_random *r)
{
    tk_fwdbwd_output output;
    do {
        output = pb_random_output(r);
    } while (output.loss_fn_outputs[0].n < 2 || output.loss_fn_outputs_n < 3 ||
             output.metrics.n == 0);
    return output;
}

static tinkc_code encode(tk_buf *out, const void *message, tk_err *err)
{
    return tk_pb_output_encode(out, message, err);
}

static tinkc_code decode(const void *message, tk_arena *arena, tk_bytes bytes,
                         tk_err *err)
{
    tk_fwdbwd_output back = {.loss_fn_outputs_n = 99};
    tinkc_code code = tk_pb_output_decode(&back, arena, bytes, err);
    assert_true(code == TINKC_OK || back.loss_fn_outputs_n == 99);
    return code;
}

static void test_pb_output_truncated(void **unused)
{
    pb_random r;
    pb_random_init(&r, 7);
    tk_fwdbwd_output output = long_output(&r);
    pb_codec_truncate(&(pb_codec){&output, encode, decode});
    tk_arena_dispose(&r.arena);
}

static void test_pb_output_sweep(void **unused)
{
    pb_random r;
    pb_random_init(&r, 7);
    tk_fwdbwd_output output = long_output(&r);
    pb_codec_sweep(&(pb_codec){&output, encode, decode});
    tk_arena_dispose(&r.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pb_output_type),
        cmocka_unit_test(test_pb_output_stripped),
        cmocka_unit_test(test_pb_output_undeclared),
        cmocka_unit_test(test_pb_output_ragged),
        cmocka_unit_test(test_pb_output_newer_dtype),
        cmocka_unit_test(test_pb_output_empty_rows),
        cmocka_unit_test(test_pb_output_merge),
        cmocka_unit_test(test_pb_output_offset_refusals),
        cmocka_unit_test(test_pb_output_record_refusals),
        cmocka_unit_test(test_pb_output_missing_field),
        cmocka_unit_test(test_pb_output_encode_refusals),
        cmocka_unit_test(test_pb_output_truncated),
        cmocka_unit_test(test_pb_output_sweep),
    };
    return cmocka_run_group_tests_name("pb_output", tests, NULL, NULL);
}
