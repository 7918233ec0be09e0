/* Looking at JSON values: members, elements, conversions at their borders. */
#include <math.h>

#include "base/json.h"
#include "support/test.h"

static tk_json integer(int64_t value)
{
    return (tk_json){.type = TK_JSON_INT, .as.integer = value};
}

static tk_json real(double value)
{
    return (tk_json){.type = TK_JSON_REAL, .as.real = value};
}

static tk_json uinteger(uint64_t value)
{
    return (tk_json){.type = TK_JSON_UINT, .as.uinteger = value};
}

static void test_get(void **unused)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_json *value;
    static const char text[] = "{\"a\":1,\"b\":null,\"a\":2,\"a\\u0000b\":3}";
    assert_int_equal(tk_json_parse(&value, &arena, text, sizeof(text) - 1, NULL, NULL),
                     TINKC_OK);
    assert_int_equal(tk_json_get(value, "a")->as.integer, 2);
    assert_int_equal(tk_json_get(value, "b")->type, TK_JSON_NULL);
    assert_null(tk_json_get(value, "A"));
    assert_null(tk_json_get(value, ""));
    assert_null(tk_json_get(NULL, "a"));
    assert_null(tk_json_get(tk_json_get(value, "a"), "a"));
    tk_arena_dispose(&arena);
}

static void test_elements(void **unused)
{
    static const int64_t ints[] = {5, -6};
    static const double reals[] = {0.5};
    static const tk_json items[] = {{.type = TK_JSON_NULL}, {.type = TK_JSON_BOOL}};
    tk_json a = {.type = TK_JSON_INTS, .as.ints = {ints, 2}};
    tk_json b = {.type = TK_JSON_REALS, .as.reals = {reals, 1}};
    tk_json c = {.type = TK_JSON_ARRAY, .as.array = {items, 2}};
    tk_json object = {.type = TK_JSON_OBJECT};
    assert_true(tk_json_is_array(&a) && tk_json_is_array(&b) && tk_json_is_array(&c));
    assert_false(tk_json_is_array(&object) || tk_json_is_array(NULL));
    assert_int_equal(tk_json_len(&a), 2);
    assert_int_equal(tk_json_len(&b), 1);
    assert_int_equal(tk_json_len(&c), 2);
    assert_int_equal(tk_json_len(&object), 0);
    assert_int_equal(tk_json_len(NULL), 0);
    assert_int_equal(tk_json_at(&a, 1).type, TK_JSON_INT);
    assert_int_equal(tk_json_at(&a, 1).as.integer, -6);
    assert_int_equal(tk_json_at(&b, 0).type, TK_JSON_REAL);
    assert_true(tk_json_at(&b, 0).as.real == 0.5);
    assert_int_equal(tk_json_at(&c, 1).type, TK_JSON_BOOL);
    assert_int_equal(tk_json_at(&a, 2).type, TK_JSON_NULL);
}

static void test_to_i64(void **unused)
{
    static const double good[] = {0.0, -0.0, 3.0, -9223372036854775808.0, 0x1p62};
    static const double bad[] = {
        0.5, 9223372036854775808.0, -9223372036854777856.0, 1e300, NAN, INFINITY};
    int64_t out = 42;
    for (size_t i = 0; i < TK_ARRAY_LEN(good); i++) {
        tk_json value = real(good[i]);
        assert_true(tk_json_to_i64(&value, &out));
        assert_true((double)out == good[i]);
    }
    tk_json value = integer(INT64_MIN);
    assert_true(tk_json_to_i64(&value, &out) && out == INT64_MIN);
    out = 42;
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        value = real(bad[i]);
        assert_false(tk_json_to_i64(&value, &out));
    }
    value = uinteger((uint64_t)INT64_MAX + 1);
    assert_false(tk_json_to_i64(&value, &out));
    value = (tk_json){.type = TK_JSON_BOOL, .as.boolean = true};
    assert_false(tk_json_to_i64(&value, &out));
    assert_false(tk_json_to_i64(NULL, &out));
    assert_int_equal(out, 42);
}

static void test_to_u64(void **unused)
{
    uint64_t out = 42;
    tk_json value = uinteger(UINT64_MAX);
    assert_true(tk_json_to_u64(&value, &out) && out == UINT64_MAX);
    value = integer(7);
    assert_true(tk_json_to_u64(&value, &out) && out == 7);
    value = real(0x1p63);
    assert_true(tk_json_to_u64(&value, &out) && out == UINT64_C(1) << 63);
    value = real(-0.0);
    assert_true(tk_json_to_u64(&value, &out) && out == 0);
    out = 42;
    value = integer(-1);
    assert_false(tk_json_to_u64(&value, &out));
    value = real(0x1p64);
    assert_false(tk_json_to_u64(&value, &out));
    value = real(1.5);
    assert_false(tk_json_to_u64(&value, &out));
    value = (tk_json){.type = TK_JSON_STRING, .as.string = TK_STR("7")};
    assert_false(tk_json_to_u64(&value, &out));
    assert_false(tk_json_to_u64(NULL, &out));
    assert_int_equal(out, 42);
}

static void test_to_double(void **unused)
{
    double out = 42;
    tk_json value = integer(-7);
    assert_true(tk_json_to_double(&value, &out) && out == -7);
    value = uinteger(UINT64_MAX);
    assert_true(tk_json_to_double(&value, &out) && out == 0x1p64);
    value = real(0.5);
    assert_true(tk_json_to_double(&value, &out) && out == 0.5);
    value = (tk_json){.type = TK_JSON_NULL};
    assert_false(tk_json_to_double(&value, &out));
    assert_false(tk_json_to_double(NULL, &out));
    assert_true(out == 0.5);
}

static void test_type_names(void **unused)
{
    static const char *const want[] = {"null",   "boolean", "integer", "integer",
                                       "number", "string",  "array",   "array",
                                       "array",  "object"};
    for (size_t i = 0; i < TK_ARRAY_LEN(want); i++) {
        assert_string_equal(tk_json_type_name((tk_json_type)i), want[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_get),       cmocka_unit_test(test_elements),
        cmocka_unit_test(test_to_i64),    cmocka_unit_test(test_to_u64),
        cmocka_unit_test(test_to_double), cmocka_unit_test(test_type_names),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
