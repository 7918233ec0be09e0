/* The JSON writer: exact bytes, refusal of what JSON cannot hold, refusal of misuse. */
#include <math.h>

#include "base/json.h"
#include "support/failmem.h"
#include "support/test.h"

typedef struct fixture {
    tk_buf out;
    tk_json_writer w;
} fixture;

static void begin(fixture *f)
{
    tk_buf_init(&f->out, TK_MIB);
    tk_json_writer_init(&f->w, &f->out);
}

static void expect(fixture *f, const char *want)
{
    assert_int_equal(tk_json_finish(&f->w, NULL), TINKC_OK);
    assert_string_equal(tk_buf_cstr(&f->out), want);
    tk_buf_dispose(&f->out);
}

static void expect_failure(fixture *f, tinkc_code want)
{
    tk_err err = TK_ERR_INIT;
    size_t n = f->out.n;
    assert_int_equal(f->out.failure, want);
    tk_json_put_null(&f->w); /* sticky: nothing is written any more */
    tk_json_end_array(&f->w);
    assert_int_equal(f->out.n, n);
    assert_int_equal(tk_json_finish(&f->w, &err), want);
    assert_int_equal(err.code, want);
    tk_buf_dispose(&f->out);
}

static void test_document(void **unused)
{
    fixture f;
    begin(&f);
    tk_json_begin_object(&f.w);
    tk_json_key(&f.w, TK_STR("a"));
    tk_json_begin_array(&f.w);
    tk_json_put_null(&f.w);
    tk_json_put_bool(&f.w, true);
    tk_json_put_bool(&f.w, false);
    tk_json_put_i64(&f.w, INT64_MIN);
    tk_json_put_u64(&f.w, UINT64_MAX);
    tk_json_put_double(&f.w, 0.25);
    tk_json_begin_object(&f.w);
    tk_json_end_object(&f.w);
    tk_json_begin_array(&f.w);
    tk_json_end_array(&f.w);
    tk_json_end_array(&f.w);
    tk_json_key(&f.w, TK_STR("b\n"));
    tk_json_put_str(&f.w, TK_STR("x"));
    tk_json_key(&f.w, TK_STR(""));
    tk_json_put_str(&f.w, (tk_str){NULL, 0});
    tk_json_end_object(&f.w);
    expect(&f, "{\"a\":[null,true,false,-9223372036854775808,18446744073709551615,0.25,{}"
               ",[]],\"b\\n\":\"x\",\"\":\"\"}");
}

static void test_string_escapes(void **unused)
{
    fixture f;
    begin(&f);
    tk_json_put_str(&f.w, TK_STR("\"\\/\b\f\n\r\t\x01\x1f\x7f\0z"));
    expect(&f, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\\u0000z\"");
    begin(&f);
    tk_json_put_str(&f.w, TK_STR("plain and long \u00e9\u20ac\U0001F600 tail"));
    expect(&f, "\"plain and long \u00e9\u20ac\U0001F600 tail\"");
}

static void test_bad_utf8_is_refused(void **unused)
{
    static const char *const bad[] = {"\x80",         "ok \xff",          "\xc0\xaf",
                                      "\xed\xa0\x80", "\xf4\x90\x80\x80", "cut \xe2\x82",
                                      "\xc3"};
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        fixture f;
        begin(&f);
        tk_json_begin_array(&f.w);
        tk_json_put_str(&f.w, tk_str_of(bad[i]));
        expect_failure(&f, TINKC_E_INVALID);
        begin(&f);
        tk_json_begin_object(&f.w);
        tk_json_key(&f.w, tk_str_of(bad[i]));
        expect_failure(&f, TINKC_E_INVALID);
    }
}

static void test_base64(void **unused)
{
    static const char *const want[] = {"\"\"",        "\"Zg==\"",     "\"Zm8=\"",
                                       "\"Zm9v\"",    "\"Zm9vYg==\"", "\"Zm9vYmE=\"",
                                       "\"Zm9vYmFy\""};
    for (size_t n = 0; n < TK_ARRAY_LEN(want); n++) {
        fixture f;
        begin(&f);
        tk_json_put_base64(&f.w, "foobar", n);
        expect(&f, want[n]);
    }
    /* Longer than one block: no padding in the middle. */
    static unsigned char data[10000];
    memset(data, 0xFF, sizeof(data));
    fixture f;
    begin(&f);
    tk_json_put_base64(&f.w, data, sizeof(data));
    assert_int_equal(tk_json_finish(&f.w, NULL), TINKC_OK);
    assert_int_equal(f.out.n, 13336 + 2);
    const char *text = tk_buf_cstr(&f.out);
    assert_int_equal(strspn(text + 1, "/"), 13333); /* 79,999 of 80,000 bits in sixes */
    assert_string_equal(text + 1 + 13333, "w==\"");
    tk_buf_dispose(&f.out);
}

static void test_number_arrays(void **unused)
{
    static const int32_t i32s[] = {0, -1, INT32_MIN, INT32_MAX, 151643};
    static const int64_t i64s[] = {INT64_MIN, INT64_MAX, 99999999, 100000000};
    static const float f32s[] = {0.1F, -0.0F, 16777216.0F, 1e-45F, 3.0F};
    static const double doubles[] = {0.1, 1e300, -2.0};
    fixture f;
    begin(&f);
    tk_json_begin_array(&f.w);
    tk_json_put_i32s(&f.w, i32s, TK_ARRAY_LEN(i32s));
    tk_json_put_i64s(&f.w, i64s, TK_ARRAY_LEN(i64s));
    tk_json_put_f32s(&f.w, f32s, TK_ARRAY_LEN(f32s), false);
    tk_json_put_doubles(&f.w, doubles, TK_ARRAY_LEN(doubles));
    tk_json_put_i32s(&f.w, NULL, 0);
    tk_json_put_i64s(&f.w, NULL, 0);
    tk_json_put_f32s(&f.w, NULL, 0, true);
    tk_json_put_doubles(&f.w, NULL, 0);
    tk_json_end_array(&f.w);
    expect(&f, "[[0,-1,-2147483648,2147483647,151643],[-9223372036854775808,"
               "9223372036854775807,99999999,100000000],[0.1,-0.0,16777216.0,1e-45,3.0],"
               "[0.1,1e+300,-2.0],[],[],[],[]]");
}

/* Blocks are seamless: many lengths of many widths read back. */
static void test_long_arrays(void **unused)
{
    static int64_t values[3000];
    uint64_t random = 1;
    for (size_t i = 0; i < TK_ARRAY_LEN(values); i++) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        values[i] = (int64_t)random >> (random >> 40) % 64;
    }
    for (size_t n = 1; n <= TK_ARRAY_LEN(values); n += n < 300 ? 1 : 450) {
        fixture f;
        begin(&f);
        tk_json_put_i64s(&f.w, values, n);
        assert_int_equal(tk_json_finish(&f.w, NULL), TINKC_OK);
        tk_arena arena;
        tk_arena_init(&arena, 0);
        const tk_json *back;
        assert_int_equal(tk_json_parse(&back, &arena, f.out.p, f.out.n, NULL, NULL),
                         TINKC_OK);
        assert_int_equal(back->as.ints.n, n);
        assert_memory_equal(back->as.ints.items, values, n * sizeof(values[0]));
        tk_arena_dispose(&arena);
        tk_buf_dispose(&f.out);
    }
}

static void test_not_finite(void **unused)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    static const float mixed[] = {NAN, -0.5F};
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        fixture f;
        float single = (float)bad[i];
        begin(&f);
        tk_json_put_double(&f.w, bad[i]);
        expect_failure(&f, TINKC_E_INVALID);
        begin(&f);
        tk_json_put_doubles(&f.w, &bad[i], 1);
        expect_failure(&f, TINKC_E_INVALID);
        begin(&f);
        tk_json_put_f32s(&f.w, &single, 1, false);
        expect_failure(&f, TINKC_E_INVALID);
    }
    fixture f;
    begin(&f);
    tk_json_put_f32s(&f.w, mixed, 2, true);
    expect(&f, "[null,-0.5]");
    float infinite = INFINITY;
    begin(&f);
    tk_json_put_f32s(&f.w, &infinite, 1, true);
    expect_failure(&f, TINKC_E_INVALID);
}

/* Each row is a sequence of calls, one letter each: [ ] { } k(ey) v(alue) a(rray). */
static tinkc_code run_calls(const char *calls, bool *whole)
{
    static const int32_t ids[] = {1, 2};
    fixture f;
    begin(&f);
    for (const char *c = calls; *c != '\0'; c++) {
        switch (*c) {
        case '[':
            tk_json_begin_array(&f.w);
            break;
        case ']':
            tk_json_end_array(&f.w);
            break;
        case '{':
            tk_json_begin_object(&f.w);
            break;
        case '}':
            tk_json_end_object(&f.w);
            break;
        case 'k':
            tk_json_key(&f.w, TK_STR("k"));
            break;
        case 'v':
            tk_json_put_i64(&f.w, 1);
            break;
        default:
            tk_json_put_i32s(&f.w, ids, 2);
            break;
        }
    }
    tinkc_code failure = f.out.failure;
    *whole = tk_json_finish(&f.w, NULL) == TINKC_OK;
    tk_buf_dispose(&f.out);
    return failure;
}

static void test_misuse(void **unused)
{
    static const char *const good[] = {"v",    "[]",     "{}",        "a",
                                       "[vv]", "{kvka}", "{k{k[a]}}", "[{}[]{kv}v]"};
    static const char *const bad[] = {"vv",  "[]v",   "]",    "}",    "[}",   "{]",
                                      "{v",  "{a",    "{[",   "{{",   "k",    "[k",
                                      "{kk", "{k}",   "{k]",  "[v]]", "{kvv", "aa",
                                      "v]",  "{kv}}", "{k[}", "[{]",  "{kv[", "[]k"};
    static const char *const open[] = {"", "[", "{", "{k", "[v", "{kv", "[[]"};
    bool whole;
    for (size_t i = 0; i < TK_ARRAY_LEN(good); i++) {
        assert_int_equal(run_calls(good[i], &whole), TINKC_OK);
        assert_true(whole);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        if (run_calls(bad[i], &whole) != TINKC_E_INVALID || whole) {
            fail_msg("'%s' was not refused", bad[i]);
        }
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(open); i++) {
        assert_int_equal(run_calls(open[i], &whole), TINKC_OK);
        assert_false(whole);
    }
}

static void test_depth_limit(void **unused)
{
    fixture f;
    begin(&f);
    for (int i = 0; i < TK_JSON_MAX_DEPTH; i++) {
        if (i % 2 == 0) {
            tk_json_begin_array(&f.w);
        } else {
            tk_json_begin_object(&f.w);
            tk_json_key(&f.w, TK_STR("k"));
        }
    }
    tk_json_put_i64(&f.w, 1);
    for (int i = TK_JSON_MAX_DEPTH; i-- > 0;) {
        if (i % 2 == 0) {
            tk_json_end_array(&f.w);
        } else {
            tk_json_end_object(&f.w);
        }
    }
    assert_int_equal(tk_json_finish(&f.w, NULL), TINKC_OK);
    tk_buf_dispose(&f.out);
    begin(&f);
    for (int i = 0; i <= TK_JSON_MAX_DEPTH; i++) {
        tk_json_begin_array(&f.w);
    }
    expect_failure(&f, TINKC_E_LIMIT);
    /* A value that contains itself ends at the limit, too. */
    tk_json loop = {.type = TK_JSON_ARRAY};
    loop.as.array.items = &loop;
    loop.as.array.n = 1;
    begin(&f);
    tk_json_put_value(&f.w, &loop);
    expect_failure(&f, TINKC_E_LIMIT);
}

/* The buffer's cap counts bytes written, not bytes that a fast path would like to
 * have. */
static void test_byte_limit(void **unused)
{
    static const int32_t ids[] = {1, 2, 3};
    for (size_t max = 1; max < 9; max++) {
        tk_buf out;
        tk_json_writer w;
        tk_buf_init(&out, max);
        tk_json_writer_init(&w, &out);
        tk_json_put_i32s(&w, ids, 3);
        assert_int_equal(tk_json_finish(&w, NULL), max < 7 ? TINKC_E_LIMIT : TINKC_OK);
        tk_buf_dispose(&out);
    }
}

static bool write_scenario(void *user)
{
    static const int32_t ids[2000] = {1};
    static const float logprobs[500] = {-0.25F};
    fixture f;
    begin(&f);
    tk_json_begin_object(&f.w);
    tk_json_key(&f.w, TK_STR("ids"));
    tk_json_put_i32s(&f.w, ids, TK_ARRAY_LEN(ids));
    tk_json_key(&f.w, TK_STR("logprobs"));
    tk_json_put_f32s(&f.w, logprobs, TK_ARRAY_LEN(logprobs), false);
    tk_json_key(&f.w, TK_STR("text"));
    tk_json_put_str(&f.w, TK_STR("line\n"));
    tk_json_key(&f.w, TK_STR("data"));
    tk_json_put_base64(&f.w, ids, sizeof(ids));
    tk_json_end_object(&f.w);
    tinkc_code rc = tk_json_finish(&f.w, NULL);
    assert_true(rc == TINKC_OK || rc == TINKC_E_NOMEM);
    tk_buf_dispose(&f.out);
    return rc == TINKC_OK;
}

static void test_allocation_failures(void **unused)
{
    assert_true(failmem_sweep(write_scenario, NULL, 1) >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_document),
        cmocka_unit_test(test_string_escapes),
        cmocka_unit_test(test_bad_utf8_is_refused),
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_number_arrays),
        cmocka_unit_test(test_long_arrays),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_depth_limit),
        cmocka_unit_test(test_byte_limit),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests_name("json_write", tests, NULL, NULL);
}
