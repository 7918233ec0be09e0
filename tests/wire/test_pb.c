/* M-114: protobuf primitives at their edges. */
#include "support/test.h"
#include "wire/pb.h"
#include "wire/pb_array.h"
#include "wire/pb_hex.h"

typedef struct fixture {
    pb_hex hex;
    tk_arena arena;
    tk_err err;
    tk_pb_input in;
    tk_pb_reader rd;
} fixture;

static void open_hex(fixture *f, const char *hex)
{
    static const tk_err none = TK_ERR_INIT;
    tk_bytes bytes = pb_hex_bytes(&f->hex, hex);
    f->err = none;
    tk_arena_init(&f->arena, 0);
    f->in = (tk_pb_input){bytes.p, &f->arena, &f->err, false};
    f->rd = tk_pb_reader_of(&f->in, bytes);
}

static void test_pb_varint_sizes(void **unused)
{
    assert_int_equal(tk_pb_varint_size(0), 1);
    for (unsigned bits = 1; bits <= 64; bits++) {
        uint64_t largest = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
        unsigned char room[16];
        tk_pb_writer w;
        size_t n = tk_pb_uint_size(1, largest);
        assert_int_equal(tk_pb_varint_size(largest), (bits + 6) / 7);
        tk_pb_writer_init(&w, room, n);
        tk_pb_put_uint(&w, 1, largest);
        assert_true(tk_pb_writer_is_full(&w));
        fixture f;
        tk_pb_field field;
        open_hex(&f, "");
        f.rd = tk_pb_reader_of(&f.in, (tk_bytes){room, n});
        assert_true(tk_pb_next(&f.rd, &field));
        assert_true(field.value == largest);
        assert_false(tk_pb_next(&f.rd, &field));
        assert_int_equal(f.rd.code, TINKC_OK);
    }
}

/* A size that was computed too small is an error, not an overrun. */
static void test_pb_writer_refuses_overflow(void **unused)
{
    unsigned char room[4] = {9, 9, 9, 9};
    tk_pb_writer w;
    tk_pb_writer_init(&w, room, 3);
    tk_pb_put_str(&w, 1, TK_STR("ab"));
    assert_false(tk_pb_writer_is_full(&w));
    assert_true(w.overflow);
    assert_int_equal(room[2], 9);
    tk_pb_writer_init(&w, room, 3);
    tk_pb_put_uint(&w, 1, 1);
    assert_false(tk_pb_writer_is_full(&w));
    assert_false(w.overflow);
}

/* Negative int32 takes ten bytes; the low 32 bits count when it is read. */
static void test_pb_negative_int(void **unused)
{
    unsigned char room[11];
    tk_pb_writer w;
    fixture f;
    tk_pb_field field;
    tk_pb_writer_init(&w, room, sizeof(room));
    tk_pb_put_int(&w, 2, -2);
    assert_true(tk_pb_writer_is_full(&w));
    open_hex(&f, "10feffffffffffffffff01");
    assert_memory_equal(room, f.hex.p, sizeof(room));
    assert_true(tk_pb_next(&f.rd, &field));
    assert_int_equal(tk_pb_to_i32(&field), -2);
    open_hex(&f, "10 8180808010"); /* 2^32 + 1 */
    assert_true(tk_pb_next(&f.rd, &field));
    assert_int_equal(tk_pb_to_i32(&field), 1);
}

typedef struct refusal {
    const char *hex;
    size_t offset;
} refusal;

static void test_pb_malformed(void **unused)
{
    static const refusal bad[] = {
        {"80", 0},                         /* tag cut off */
        {"08", 1},                         /* value missing */
        {"0880", 1},                       /* value cut off */
        {"08 ffffffffffffffffff02", 1},    /* 65 bits */
        {"08 80808080808080808080 00", 1}, /* 11 bytes */
        {"0801 00", 2},                    /* field number 0 */
        {"8080808010 00", 0},              /* tag of 33 bits */
        {"0f", 0},                         /* wire type 7 */
        {"0e", 0},                         /* wire type 6 */
        {"0c", 0},                         /* group end alone */
        {"09 00000000000000", 1},          /* fixed64 cut off */
        {"0d 000000", 1},                  /* fixed32 cut off */
        {"0a05 61626364", 1},              /* length past the end */
        {"0affffffffffffffffff01", 1},     /* huge length */
        {"0b", 1},                         /* group never ends */
        {"0b14", 1},                       /* other group's end */
        {"0b 0880", 2},                    /* cut off inside a group */
        {"0b 0a05 0c", 2},                 /* length past the end in a group */
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        fixture f;
        tk_pb_field field;
        open_hex(&f, bad[i].hex);
        while (tk_pb_next(&f.rd, &field)) {
        }
        assert_int_equal(f.rd.code, TINKC_E_PARSE);
        assert_int_equal(f.err.code, TINKC_E_PARSE);
        assert_int_equal(f.err.offset, bad[i].offset);
        assert_false(tk_pb_next(&f.rd, &field)); /* sticky */
    }
}

/* A varint may carry leading zeros: protobuf accepts that. */
static void test_pb_padded_varint(void **unused)
{
    fixture f;
    tk_pb_field field;
    open_hex(&f, "08 81808080808080808000");
    assert_true(tk_pb_next(&f.rd, &field));
    assert_int_equal(field.value, 1);
}

static void test_pb_groups_are_skipped(void **unused)
{
    fixture f;
    tk_pb_field field;
    open_hex(&f, "0b 1001 1a0161 21 0000000000000000 2d00000000 33 34 0c 0807");
    assert_true(tk_pb_next(&f.rd, &field));
    assert_int_equal(field.tag, TK_PB_TAG(1, TK_PB_VARINT));
    assert_int_equal(field.value, 7);
    assert_false(tk_pb_next(&f.rd, &field));
    assert_int_equal(f.rd.code, TINKC_OK);
}

static tinkc_code nested_groups(size_t depth)
{
    fixture f;
    tk_pb_field field;
    open_hex(&f, "");
    memset(f.hex.p, 0x0b, depth);
    memset(f.hex.p + depth, 0x0c, depth);
    f.rd = tk_pb_reader_of(&f.in, (tk_bytes){f.hex.p, 2 * depth});
    assert_false(tk_pb_next(&f.rd, &field));
    return f.rd.code;
}

static void test_pb_group_depth(void **unused)
{
    assert_int_equal(nested_groups(TK_PB_MAX_DEPTH), TINKC_OK);
    assert_int_equal(nested_groups(TK_PB_MAX_DEPTH + 1), TINKC_E_PARSE);
}

/* Items keep their values while the list grows, and the limit is exact. */
static void test_pb_list(void **unused)
{
    fixture f;
    tk_pb_list list = {NULL, 0, 0};
    tinkc_code code = TINKC_OK;
    open_hex(&f, "");
    for (size_t i = 0; i < 100; i++) {
        size_t *item = tk_pb_list_add(&f.in, &list, sizeof(*item), 100, &code);
        assert_non_null(item);
        *item = i;
    }
    assert_null(tk_pb_list_add(&f.in, &list, sizeof(size_t), 100, &code));
    assert_int_equal(code, TINKC_E_LIMIT);
    assert_int_equal(list.n, 100);
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(((const size_t *)list.items)[i], i);
    }
    tk_arena_dispose(&f.arena);
}

/* Packed, single, and several pieces of a repeated int64 concatenate. */
static void test_pb_dims(void **unused)
{
    fixture f;
    tk_pb_field field;
    tk_pb_dims dims = {.n = 0};
    open_hex(&f, "22 03 02ac02 2005 2200 2201 07");
    while (tk_pb_next(&f.rd, &field)) {
        assert_int_equal(tk_pb_add_dims(&f.in, &field, &dims), TINKC_OK);
    }
    assert_int_equal(dims.n, 4);
    assert_int_equal(dims.v[0], 2);
    assert_int_equal(dims.v[1], 300);
    assert_int_equal(dims.v[2], 5);
    assert_int_equal(dims.v[3], 7);
    open_hex(&f, "2202 0180"); /* cut off inside the packed field */
    assert_true(tk_pb_next(&f.rd, &field));
    assert_int_equal(tk_pb_add_dims(&f.in, &field, &dims), TINKC_E_PARSE);
    assert_int_equal(f.err.offset, 3);
    dims.n = TK_TENSOR_MAX_DIMS;
    open_hex(&f, "2005");
    assert_true(tk_pb_next(&f.rd, &field));
    assert_int_equal(tk_pb_add_dims(&f.in, &field, &dims), TINKC_E_LIMIT);
}

static void test_pb_packed(void **unused)
{
    static const int64_t values[] = {0, 127, 128, -1};
    unsigned char room[32];
    fixture f;
    tk_pb_writer w;
    tk_i64s list = {values, TK_ARRAY_LEN(values)};
    size_t n = tk_pb_packed_size(4, list);
    tk_pb_writer_init(&w, room, n);
    tk_pb_put_packed(&w, 4, list);
    assert_true(tk_pb_writer_is_full(&w));
    open_hex(&f, "220e 00 7f 8001 ffffffffffffffffff01");
    assert_int_equal(n, f.hex.n);
    assert_memory_equal(room, f.hex.p, n);
    assert_int_equal(tk_pb_packed_size(4, (tk_i64s){NULL, 0}), 0);
}

/* The last of equal keys counts; a missing key is "", a missing value 0. */
static void test_pb_num_map(void **unused)
{
    fixture f;
    tk_pb_field field;
    tk_pb_list list = {NULL, 0, 0};
    open_hex(&f, "2a(0a(61) 11000000000000f03f) 2a() 2a(0a(62))"
                 "2a(0a(61) 110000000000000040)");
    while (tk_pb_next(&f.rd, &field)) {
        assert_int_equal(tk_pb_add_num(&f.in, &field, &list), TINKC_OK);
    }
    const tk_named_num *items = list.items;
    assert_int_equal(list.n, 3);
    assert_true(tk_str_is(items[0].name, "a"));
    assert_true(items[0].v == 2.0);
    assert_int_equal(items[1].name.n, 0);
    assert_true(items[1].v == 0.0);
    assert_true(tk_str_is(items[2].name, "b"));
    tk_arena_dispose(&f.arena);
    open_hex(&f, "2a(0a(c328))"); /* bad UTF-8 in a key */
    assert_true(tk_pb_next(&f.rd, &field));
    assert_int_equal(tk_pb_add_num(&f.in, &field, &list), TINKC_E_PARSE);
    tk_arena_dispose(&f.arena);
}

/* Aligned bytes are handed out as they lie; others are copied, with the same values. */
static void test_pb_array_alignment(void **unused)
{
    fixture f;
    open_hex(&f, "0001000000 02000000 00000000 000000");
    for (size_t at = 0; at < 8; at++) {
        tk_bytes bytes = {f.hex.p + at, 8};
        tk_i32s i32;
        tk_i64s i64;
        assert_int_equal(tk_pb_array_i32s(&f.in, bytes, &i32), TINKC_OK);
        assert_int_equal(tk_pb_array_i64s(&f.in, bytes, &i64), TINKC_OK);
        assert_int_equal(i32.n, 2);
        assert_int_equal(i64.n, 1);
        assert_memory_equal(i32.p, bytes.p, 8);
        assert_memory_equal(i64.p, bytes.p, 8);
        assert_int_equal((const void *)i32.p == bytes.p, at % 4 == 0);
        assert_int_equal((const void *)i64.p == bytes.p, at % 8 == 0);
        assert_int_equal((uintptr_t)i32.p % 4, 0);
        assert_int_equal((uintptr_t)i64.p % 8, 0);
    }
    tk_i32s odd;
    assert_int_equal(tk_pb_array_i32s(&f.in, (tk_bytes){f.hex.p, 7}, &odd),
                     TINKC_E_DECODE);
    tk_arena_dispose(&f.arena);
}

static void test_pb_array_counts(void **unused)
{
    size_t n;
    const int64_t wide[] = {INT64_MAX, INT64_MAX, 0};
    const int64_t negative[] = {0, -1};
    const int64_t small[] = {2, 3, 4};
    assert_true(tk_pb_array_count(small, 3, &n));
    assert_int_equal(n, 24);
    assert_true(tk_pb_array_count(small, 0, &n));
    assert_int_equal(n, 1);
    assert_true(tk_pb_array_count(wide, 3, &n));
    assert_int_equal(n, 0);
    assert_false(tk_pb_array_count(wide, 2, &n));
    assert_false(tk_pb_array_count(wide, 1, &n)); /* 2^63 items of 8 bytes */
    assert_false(tk_pb_array_count(negative, 2, &n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pb_varint_sizes),
        cmocka_unit_test(test_pb_writer_refuses_overflow),
        cmocka_unit_test(test_pb_negative_int),
        cmocka_unit_test(test_pb_malformed),
        cmocka_unit_test(test_pb_padded_varint),
        cmocka_unit_test(test_pb_groups_are_skipped),
        cmocka_unit_test(test_pb_group_depth),
        cmocka_unit_test(test_pb_list),
        cmocka_unit_test(test_pb_dims),
        cmocka_unit_test(test_pb_packed),
        cmocka_unit_test(test_pb_num_map),
        cmocka_unit_test(test_pb_array_alignment),
        cmocka_unit_test(test_pb_array_counts),
    };
    return cmocka_run_group_tests_name("pb", tests, NULL, NULL);
}
