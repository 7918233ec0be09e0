/* The JSON reader: what it accepts and how, what it refuses and where, its limits. */
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "support/failmem.h"
#include "support/test.h"

/* Parses a copy that ends exactly where the text ends, so that ASan sees a read past
 * it. */
static tinkc_code parse_limited(const tk_json **out, tk_arena *arena, tk_str text,
                                const tk_json_limits *limits, tk_err *err)
{
    char *exact = malloc(text.n > 0 ? text.n : 1);
    assert_non_null(exact);
    if (text.n > 0) {
        memcpy(exact, text.p, text.n);
    }
    tinkc_code rc = tk_json_parse(out, arena, exact, text.n, limits, err);
    free(exact);
    return rc;
}

static const tk_json *parse(tk_arena *arena, const char *text)
{
    const tk_json *value = NULL;
    tk_err err = TK_ERR_INIT;
    tinkc_code rc = parse_limited(&value, arena, tk_str_of(text), NULL, &err);
    if (rc != TINKC_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    return value;
}

static void check_rewrite(const char *text, const char *want)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_json *value = parse(&arena, text);
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    tk_json_writer w;
    tk_json_writer_init(&w, &out);
    tk_json_put_value(&w, value);
    assert_int_equal(tk_json_finish(&w, NULL), TINKC_OK);
    assert_string_equal(tk_buf_cstr(&out), want);
    tk_buf_dispose(&out);
    tk_arena_dispose(&arena);
}

static void test_accepted(void **unused)
{
    static const char *const rows[][2] = {
        {"null", "null"},
        {"true", "true"},
        {"false", "false"},
        {"0", "0"},
        {"-0", "0"},
        {"-0.0", "-0.0"},
        {"0e0", "0.0"},
        {"7", "7"},
        {"-7", "-7"},
        {"1E2", "100.0"},
        {"1e+2", "100.0"},
        {"1e-2", "0.01"},
        {"12.5e1", "125.0"},
        {"1e-400", "0.0"},
        {"9223372036854775807", "9223372036854775807"},
        {"9223372036854775808", "9223372036854775808"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"-9223372036854775809", "-9.223372036854776e+18"},
        {"18446744073709551615", "18446744073709551615"},
        {"18446744073709551616", "1.8446744073709552e+19"},
        {"\"\"", "\"\""},
        {"\"a\"", "\"a\""},
        {" \t\r\n[ \t\r\n] \t\r\n", "[]"},
        {" { } ", "{}"},
        {"[1]", "[1]"},
        {"[ 1 , 2 , 3 ]", "[1,2,3]"},
        {"[1,2.5,3]", "[1.0,2.5,3.0]"},
        {"[[],{},[[]]]", "[[],{},[[]]]"},
        {"[1,[2,[3]],4]", "[1,[2,[3]],4]"},
        {"[1,\"a\",null,true,false,{\"b\":[2]}]",
         "[1,\"a\",null,true,false,{\"b\":[2]}]"},
        {"{\"a\":1,\"b\":[1,2],\"c\":{\"d\":null}}",
         "{\"a\":1,\"b\":[1,2],\"c\":{\"d\":null}}"},
        {"{\"\":\"\"}", "{\"\":\"\"}"},
        {"{\"a\" : 1 , \"a\" : 2}", "{\"a\":1,\"a\":2}"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\""},
        {"\"\\u0000\\u001f\\u007f\"", "\"\\u0000\\u001f\x7f\""},
        {"\"\\u00e9\\u20AC\\ud83d\\uDE00\"", "\"\u00e9\u20ac\U0001F600\""},
        {"\"\u00e9 caf\u00e9 \U0001F600 plain tail that is long\"",
         "\"\u00e9 caf\u00e9 \U0001F600 plain tail that is long\""},
        {"\"long plain text, \\n then an escape, then more\"",
         "\"long plain text, \\n then an escape, then more\""},
        {"\"\xf4\x8f\xbf\xbf\xed\x9f\xbf\xee\x80\x80\xc2\x80\"",
         "\"\xf4\x8f\xbf\xbf\xed\x9f\xbf\xee\x80\x80\xc2\x80\""},
        {"[0,10,200,3000,40000,500000,6000000,70000000,800000000,9000000000]",
         "[0,10,200,3000,40000,500000,6000000,70000000,800000000,9000000000]"},
        {"[1,  2,\t3,\n4 ,5]", "[1,2,3,4,5]"},
        {"[1, 22,333, 4444,55555, 666666,7, 8]", "[1,22,333,4444,55555,666666,7,8]"},
        {"[1,22, 333,4444, 55555,666666, 7,8]", "[1,22,333,4444,55555,666666,7,8]"},
        {"[1, 22,\n333, 4444,  55555, 6,7, 8]", "[1,22,333,4444,55555,6,7,8]"},
        {"[-1,-22,-333,4444444,-55555555,666666666]",
         "[-1,-22,-333,4444444,-55555555,666666666]"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        check_rewrite(rows[i][0], rows[i][1]);
    }
}

typedef struct refusal {
    const char *text;
    size_t offset;
    const char *says;
} refusal;

static void check_refusal(tk_str text, size_t offset, const char *says)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    tk_json marker;
    const tk_json *value = &marker;
    tk_err err = TK_ERR_INIT;
    tinkc_code rc = parse_limited(&value, &arena, text, NULL, &err);
    if (rc != TINKC_E_PARSE || err.code != TINKC_E_PARSE || err.offset != offset ||
        strstr(err.message, says) == NULL) {
        fail_msg("'%.*s': code %d at %zu '%s', want offset %zu '%s'", (int)text.n, text.p,
                 (int)rc, err.offset, err.message, offset, says);
    }
    assert_null(value);
    tk_arena_dispose(&arena);
}

static void test_refused_structure(void **unused)
{
    static const refusal rows[] = {
        {"", 0, "unexpected end"},
        {" \n ", 3, "unexpected end"},
        {"[", 1, "unexpected end"},
        {"[1", 2, "unexpected end"},
        {"[1,", 3, "unexpected end"},
        {"[1,]", 3, "expected a value"},
        {"[1,2,3,]", 7, "expected a value"},
        {"[1,2,3,,4]", 7, "expected a value"},
        {"[1,,,,,,,,,,,,,,,,,]", 3, "expected a value"},
        {"[\"a\",]", 5, "expected a value"},
        {"[,1]", 1, "expected a value"},
        {"[1 2]", 3, "expected ',' or ']'"},
        {"[11,22 33,44,55,66]", 7, "expected ',' or ']'"},
        {"[1}", 2, "expected ',' or ']'"},
        {"[1:2]", 2, "expected ',' or ']'"},
        {"[\"a\" \"b\"]", 5, "expected ',' or ']'"},
        {"]", 0, "expected a value"},
        {"{", 1, "unexpected end"},
        {"{,}", 1, "expected a key"},
        {"{1:2}", 1, "expected a key"},
        {"{\"a\"}", 4, "expected ':'"},
        {"{\"a\":}", 5, "expected a value"},
        {"{\"a\":1,}", 7, "expected a key"},
        {"{\"a\":1 \"b\":2}", 7, "expected ',' or '}'"},
        {"{\"a\":1]", 6, "expected ',' or '}'"},
        {"{\"a\":1", 6, "unexpected end"},
        {"{'a':1}", 1, "expected a key"},
        {"[] []", 3, "text after the value"},
        {"1 2", 2, "text after the value"},
        {"nulll", 4, "text after the value"},
        {"nul", 0, "expected a value"},
        {"True", 0, "expected a value"},
        {"[tru]", 1, "expected a value"},
        {"NaN", 0, "expected a value"},
        {"[1,NaN]", 3, "expected a value"},
        {"Infinity", 0, "expected a value"},
        {"/*x*/1", 0, "expected a value"},
        {"\xef\xbb\xbf[]", 0, "expected a value"},
        {"\f1", 0, "expected a value"},
        {"\xc2\xa0"
         "1",
         0, "expected a value"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        check_refusal(tk_str_of(rows[i].text), rows[i].offset, rows[i].says);
    }
    check_refusal(TK_STR("1\0"), 1, "text after the value");
    check_refusal(TK_STR("[1,\0]"), 3, "expected a value");
    check_refusal(TK_STR("\0"), 0, "expected a value");
}

static void test_refused_numbers(void **unused)
{
    static const refusal rows[] = {
        {"-", 1, "unexpected end"},
        {"-a", 1, "expected a digit"},
        {"+1", 0, "expected a value"},
        {".5", 0, "expected a value"},
        {"01", 0, "leading zero"},
        {"-01", 1, "leading zero"},
        {"[1,02,3,4,5,6,7,8]", 3, "leading zero"},
        {"[00]", 1, "leading zero"},
        {"1.", 2, "unexpected end"},
        {"[1.]", 3, "after the decimal point"},
        {"1.e1", 2, "after the decimal point"},
        {"[1e]", 3, "in the exponent"},
        {"[1e+]", 4, "in the exponent"},
        {"1e", 2, "unexpected end"},
        {"0x10", 1, "text after the value"},
        {"1e400", 0, "too large"},
        {"[1,-1e400]", 3, "too large"},
        {"[1.5,1e309]", 5, "too large"},
        {"[1-2]", 2, "expected ',' or ']'"},
        {"[--1]", 2, "expected a digit"},
        {"[1,-,2,3,4,5,6]", 4, "expected a digit"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        check_refusal(tk_str_of(rows[i].text), rows[i].offset, rows[i].says);
    }
    char huge[401];
    memset(huge, '9', sizeof(huge));
    check_refusal((tk_str){huge, sizeof(huge)}, 0, "too large");
}

static void test_refused_strings(void **unused)
{
    static const refusal rows[] = {
        {"\"", 1, "unexpected end"},
        {"\"abcdefghijk", 12, "unexpected end"},
        {"\"abc\\", 5, "unexpected end"},
        {"\"abc\\\"", 6, "unexpected end"},
        {"\"a\nb\"", 2, "control character"},
        {"\"0123456789\x1f\"", 11, "control character"},
        {"\"\\n\t\"", 3, "control character"},
        {"\"\\x41\"", 1, "unknown escape"},
        {"\"\\'\"", 1, "unknown escape"},
        {"\"\\U0041\"", 1, "unknown escape"},
        {"\"ab\\u12\"", 3, "four hexadecimal digits"},
        {"\"ab\\u12g4\"", 3, "four hexadecimal digits"},
        {"\"ab\\u\"", 3, "four hexadecimal digits"},
        {"\"\\ud800\"", 1, "surrogate"},
        {"\"\\udc00\\ud800\"", 1, "surrogate"},
        {"\"\\ud800\\u0041\"", 1, "surrogate"},
        {"\"\\ud83d\\ud83d\\ude00\"", 1, "surrogate"},
        {"\"\\ude00\"", 1, "surrogate"},
        {"\"a\x80\"", 2, "invalid UTF-8"},
        {"\"a\xc0\xaf\"", 2, "invalid UTF-8"},
        {"\"a\xc1\xbf\"", 2, "invalid UTF-8"},
        {"\"\xe0\x9f\xbf\"", 1, "invalid UTF-8"},
        {"\"\xed\xa0\x80\"", 1, "invalid UTF-8"},
        {"\"\xf0\x8f\xbf\xbf\"", 1, "invalid UTF-8"},
        {"\"\xf4\x90\x80\x80\"", 1, "invalid UTF-8"},
        {"\"\xf5\x80\x80\x80\"", 1, "invalid UTF-8"},
        {"\"\xff\"", 1, "invalid UTF-8"},
        {"\"\xc3\"", 1, "invalid UTF-8"},
        {"\"\xe2\x82\"", 1, "invalid UTF-8"},
        {"\"\xf0\x9f\x98\"", 1, "invalid UTF-8"},
        {"\"\xc3\xa9\\n\xe2\x82", 5, "invalid UTF-8"},
        {"\"\xf0\x9f\x98", 1, "invalid UTF-8"},
        {"{\"k\xff\":1}", 3, "invalid UTF-8"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        check_refusal(tk_str_of(rows[i].text), rows[i].offset, rows[i].says);
    }
    check_refusal(TK_STR("\"a\0b\""), 2, "control character");
    check_refusal(TK_STR("\"a\\\0b\""), 2, "unknown escape");
}

/* No prefix of a document is a document, and none is read beyond its end. */
static void test_every_prefix(void **unused)
{
    static const char text[] =
        "{\"a\":[1,22,333,4444,55555,-6.5e-3],\"b\":[true,false,null,\"x\\u00e9\\ud83d"
        "\\ude00\\n\u00e9\U0001F600\"],\"c\":{\"d\":{},\"e\":[]},\"f\":1234567890123}";
    for (size_t n = 0; n < sizeof(text) - 1; n++) {
        tk_arena arena;
        tk_arena_init(&arena, 0);
        const tk_json *value;
        tk_err err = TK_ERR_INIT;
        tk_str cut = {text, n};
        assert_int_equal(parse_limited(&value, &arena, cut, NULL, &err), TINKC_E_PARSE);
        assert_true(err.offset <= n);
        tk_arena_dispose(&arena);
    }
}

static void test_strings(void **unused)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_json *value = parse(&arena, "\"a\\u0000b\"");
    assert_int_equal(value->type, TK_JSON_STRING);
    assert_int_equal(value->as.string.n, 3);
    assert_memory_equal(value->as.string.p, "a\0b", 4); /* with the NUL at the end */
    value = parse(&arena, "\"\\ud83d\\ude00\"");
    assert_string_equal(value->as.string.p, "\xf0\x9f\x98\x80");
    value = parse(&arena, "\"\\uD7FF\\uE000\\uFFFF\"");
    assert_string_equal(value->as.string.p, "\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf");
    value = parse(&arena, "\"\"");
    assert_int_equal(value->as.string.n, 0);
    assert_string_equal(value->as.string.p, "");
    tk_arena_dispose(&arena);
}

static void test_packed_arrays(void **unused)
{
    static const struct {
        const char *text;
        tk_json_type type;
        size_t n;
    } rows[] = {
        {"[]", TK_JSON_ARRAY, 0},
        {"[1]", TK_JSON_INTS, 1},
        {"[1,-9223372036854775808,9223372036854775807]", TK_JSON_INTS, 3},
        {"[1.5]", TK_JSON_REALS, 1},
        {"[1,2,3,4,5,6,7,8,9.5]", TK_JSON_REALS, 9},
        {"[9.5,1,2,3]", TK_JSON_REALS, 4},
        {"[1,1e0]", TK_JSON_REALS, 2},
        {"[9007199254740992,-9007199254740992,0.5]", TK_JSON_REALS, 3},
        {"[9007199254740993,0.5]", TK_JSON_ARRAY, 2},
        {"[0.5,-9007199254740993]", TK_JSON_ARRAY, 2},
        {"[1,18446744073709551615]", TK_JSON_ARRAY, 2},
        {"[0.5,18446744073709551615]", TK_JSON_ARRAY, 2},
        {"[1,18446744073709551616]", TK_JSON_REALS, 2},
        {"[1,2,3,\"x\"]", TK_JSON_ARRAY, 4},
        {"[1,2.5,null]", TK_JSON_ARRAY, 3},
        {"[1,2.5,[3]]", TK_JSON_ARRAY, 3},
        {"[1,2,true]", TK_JSON_ARRAY, 3},
        {"[null,-0.5,-0.25]", TK_JSON_ARRAY, 3},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_arena arena;
        tk_arena_init(&arena, 0);
        const tk_json *value = parse(&arena, rows[i].text);
        assert_int_equal(value->type, rows[i].type);
        assert_int_equal(tk_json_len(value), rows[i].n);
        tk_arena_dispose(&arena);
    }
}

/* The result of a switch in the middle: reals keep their values, mixed arrays keep the
 * type of each element. */
static void test_packed_switches(void **unused)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_json *value = parse(&arena, "[1,20,300,-4,5.25,6,7e2]");
    static const double want[] = {1, 20, 300, -4, 5.25, 6, 700};
    assert_int_equal(value->type, TK_JSON_REALS);
    assert_memory_equal(value->as.reals.items, want, sizeof(want));
    value = parse(&arena, "[1,2,0.5,9007199254740993]");
    assert_int_equal(value->type, TK_JSON_ARRAY);
    assert_int_equal(value->as.array.items[0].type, TK_JSON_INT);
    assert_int_equal(value->as.array.items[2].type, TK_JSON_REAL);
    assert_int_equal(value->as.array.items[3].type, TK_JSON_INT);
    assert_true(value->as.array.items[3].as.integer == 9007199254740993);
    value = parse(&arena, "[7,2.5,\"x\",[8]]");
    assert_int_equal(value->as.array.items[0].type, TK_JSON_INT);
    assert_int_equal(value->as.array.items[1].type, TK_JSON_REAL);
    assert_int_equal(value->as.array.items[3].type, TK_JSON_INTS);
    tk_arena_dispose(&arena);
}

/* What is shown again keeps the kind of each number; arrays of one kind are packed. */
static void test_kinds_kept(void **unused)
{
    static const char text[] =
        "{\"a\":[1.0,2],\"b\":[1,2,3,4,5,6,7,8,9.5,10],\"c\":[1,2],\"d\":[0.5,1.5]}";
    tk_arena arena;
    tk_buf out;
    tk_json_writer w;
    const tk_json *value = NULL;
    tk_arena_init(&arena, 0);
    tk_buf_init(&out, TK_KIB);
    assert_int_equal(
        tk_json_parse(&value, &arena, text, strlen(text), TK_JSON_AS_WRITTEN, NULL),
        TINKC_OK);
    tk_json_writer_init(&w, &out);
    tk_json_put_value(&w, value);
    assert_int_equal(out.n, strlen(text));
    assert_memory_equal(out.p, text, out.n);
    assert_int_equal(tk_json_get(value, "c")->type, TK_JSON_INTS);
    assert_int_equal(tk_json_get(value, "d")->type, TK_JSON_REALS);
    tk_buf_dispose(&out);
    tk_arena_dispose(&arena);
}

/* Every length and digit count, so that each alignment of the block scan and of the
 * eight-character loop is met. */
static void test_packed_sizes(void **unused)
{
    static const char *const separators[] = {",", ", ", " ,\n "};
    for (size_t n = 1; n < 150; n++) {
        for (size_t k = 0; k < TK_ARRAY_LEN(separators); k++) {
            char text[4096];
            int64_t want[150];
            size_t used = (size_t)snprintf(text, sizeof(text), "[");
            uint64_t random = n * 7919 + k;
            for (size_t i = 0; i < n; i++) {
                random = random * 6364136223846793005U + 1442695040888963407U;
                want[i] = (int64_t)(random >> 32) >> (random >> 8) % 32;
                used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%lld",
                                         i > 0 ? separators[k] : "", (long long)want[i]);
            }
            (void)snprintf(text + used, sizeof(text) - used, "]");
            tk_arena arena;
            tk_arena_init(&arena, 0);
            const tk_json *value = parse(&arena, text);
            assert_int_equal(value->type, TK_JSON_INTS);
            assert_int_equal(value->as.ints.n, n);
            assert_memory_equal(value->as.ints.items, want, n * sizeof(want[0]));
            tk_arena_dispose(&arena);
        }
    }
}

static void test_duplicate_keys(void **unused)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_json *value = parse(&arena, "{\"a\":1,\"b\":2,\"\\u0061\":3}");
    assert_int_equal(value->as.object.n, 3);
    assert_int_equal(tk_json_get(value, "a")->as.integer, 3);
    assert_true(tk_str_is(value->as.object.members[0].key, "a"));
    tk_arena_dispose(&arena);
}

static tinkc_code parse_nested(size_t depth, char open, size_t max_depth, tk_err *err)
{
    char text[2048];
    size_t n = 0;
    for (size_t i = 0; i < depth; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, open == '{' ? "{\"\":" : "[");
    }
    text[n++] = '1';
    memset(text + n, open == '{' ? '}' : ']', depth);
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_json *value;
    tk_json_limits limits = {.max_depth = max_depth};
    tk_str view = {text, n + depth};
    tinkc_code rc = parse_limited(&value, &arena, view, &limits, err);
    assert_true((value != NULL) == (rc == TINKC_OK));
    tk_arena_dispose(&arena);
    return rc;
}

static void test_depth_limit(void **unused)
{
    tk_err err = TK_ERR_INIT;
    assert_int_equal(parse_nested(TK_JSON_MAX_DEPTH, '[', 0, &err), TINKC_OK);
    assert_int_equal(parse_nested(TK_JSON_MAX_DEPTH, '{', 0, &err), TINKC_OK);
    assert_int_equal(parse_nested(TK_JSON_MAX_DEPTH + 1, '[', 0, &err), TINKC_E_LIMIT);
    assert_int_equal(err.offset, TK_JSON_MAX_DEPTH);
    tk_err_clear(&err);
    assert_int_equal(parse_nested(TK_JSON_MAX_DEPTH + 1, '{', 0, &err), TINKC_E_LIMIT);
    assert_int_equal(err.offset, TK_JSON_MAX_DEPTH * 4);
    assert_int_equal(parse_nested(3, '[', 3, NULL), TINKC_OK);
    assert_int_equal(parse_nested(4, '[', 3, NULL), TINKC_E_LIMIT);
    assert_int_equal(parse_nested(TK_JSON_MAX_DEPTH + 1, '[', 100000, NULL),
                     TINKC_E_LIMIT);
    /* Closed brackets do not count. */
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_json *value;
    tk_json_limits limits = {.max_depth = 2};
    static const char flat[] = "[[],{},[1],[[2]]]";
    assert_int_equal(tk_json_parse(&value, &arena, flat, sizeof(flat) - 1, &limits, NULL),
                     TINKC_E_LIMIT);
    assert_int_equal(tk_json_parse(&value, &arena, "[[],{},[1],[]]", 14, &limits, NULL),
                     TINKC_OK);
    tk_arena_dispose(&arena);
}

static void test_byte_limit(void **unused)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_json *value;
    tk_err err = TK_ERR_INIT;
    tk_json_limits limits = {.max_bytes = 4};
    assert_int_equal(tk_json_parse(&value, &arena, "true", 4, &limits, &err), TINKC_OK);
    assert_int_equal(tk_json_parse(&value, &arena, "false", 5, &limits, &err),
                     TINKC_E_LIMIT);
    assert_null(value);
    assert_int_equal(err.offset, 4);
    assert_int_equal(tk_json_parse(&value, &arena, NULL, 0, NULL, NULL), TINKC_E_PARSE);
    tk_arena_dispose(&arena);
}

/* A document that does not fit the arena's cap is over a limit, not out of memory. */
static void test_arena_limit(void **unused)
{
    static const char *const texts[] = {
        "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]",
        "\"a string that is longer than the sixty-four bytes that the arena has\"",
        "[[],[],[],[]]",
        "{\"a\":1,\"b\":2}",
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(texts); i++) {
        tk_arena arena;
        tk_arena_init(&arena, 64);
        const tk_json *value;
        tk_err err = TK_ERR_INIT;
        assert_int_equal(
            tk_json_parse(&value, &arena, texts[i], strlen(texts[i]), NULL, &err),
            TINKC_E_LIMIT);
        assert_null(value);
        assert_true(err.offset <= strlen(texts[i]));
        tk_arena_dispose(&arena);
    }
}

/* Commas alone reserve no memory: the mistake is found first. */
static void test_comma_flood(void **unused)
{
    char text[2000];
    memset(text, ',', sizeof(text));
    memcpy(text, "[1", 2);
    text[sizeof(text) - 1] = ']';
    tk_arena arena;
    tk_arena_init(&arena, 1024);
    const tk_json *value;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_json_parse(&value, &arena, text, sizeof(text), NULL, &err),
                     TINKC_E_PARSE);
    assert_int_equal(err.offset, 3);
    tk_arena_dispose(&arena);
}

static bool parse_scenario(void *user)
{
    static const char text[] =
        "{\"ints\":[1,2,3,4,5],\"reals\":[1,2.5],\"mixed\":[1,\"a\\n\",[[],{}],null],"
        "\"big\":[9007199254740993,0.5],\"many\":[0,\"1\",2,3,4,5,6,7,8,9,10,11,12,13,14,"
        "15,16,17,18,19],\"k\\u00e9y\":{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,"
        "\"g\":7,\"h\":8,\"i\":9,\"j\":0,\"k\":1,\"l\":2,\"m\":3,\"n\":4,\"o\":5}}";
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_json *value;
    tk_err err = TK_ERR_INIT;
    tinkc_code rc = tk_json_parse(&value, &arena, text, sizeof(text) - 1, NULL, &err);
    assert_true(rc == TINKC_OK || (rc == TINKC_E_NOMEM && err.code == rc));
    assert_true((value != NULL) == (rc == TINKC_OK));
    tk_arena_dispose(&arena);
    return rc == TINKC_OK;
}

static void test_allocation_failures(void **unused)
{
    assert_true(failmem_sweep(parse_scenario, NULL, 1) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_refused_structure),
        cmocka_unit_test(test_refused_numbers),
        cmocka_unit_test(test_refused_strings),
        cmocka_unit_test(test_every_prefix),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_packed_arrays),
        cmocka_unit_test(test_packed_switches),
        cmocka_unit_test(test_packed_sizes),
        cmocka_unit_test(test_kinds_kept),
        cmocka_unit_test(test_duplicate_keys),
        cmocka_unit_test(test_depth_limit),
        cmocka_unit_test(test_byte_limit),
        cmocka_unit_test(test_arena_limit),
        cmocka_unit_test(test_comma_flood),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests_name("json_read", tests, NULL, NULL);
}
