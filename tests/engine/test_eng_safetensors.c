/* safetensors: what we write reads back, shards, and files with false headers. */
#include "engine/eng_safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "support/failmem.h"
#include "support/test.h"

static const float two_by_three[] = {1, 2, 3, 4, 5, 6};
static const uint16_t halves[] = {0x3F80, 0x4000};
static const size_t shape23[] = {2, 3}, shape2[] = {2}, shape0[] = {0, 4};

static eng_st_file sample(void)
{
    static const eng_st_entry entries[] = {
        {"b.matrix", ENG_F32, shape23, 2, two_by_three},
        {"a \"quoted\" vector", ENG_BF16, shape2, 1, halves},
        {"empty", ENG_F32, shape0, 2, NULL},
        {"scalar", ENG_F32, NULL, 0, two_by_three + 3},
    };
    static const char *const metadata[] = {"format", "pt", NULL};
    return (eng_st_file){entries, TK_ARRAY_LEN(entries), metadata};
}

static void put_sample(tk_buf *out)
{
    eng_st_file file = sample();
    tk_buf_init(out, 4096);
    eng_st_put(out, &file);
    assert_int_equal(out->failure, TINKC_OK);
}

static void check_data(const eng_st *st, const char *name, const void *want, size_t n)
{
    char have[64];
    tk_err err = TK_ERR_INIT;
    const eng_st_tensor *t = eng_st_find(st, tk_str_of(name));
    assert_true(t != NULL && t->n_bytes == n && n <= sizeof(have));
    const eng_st_part part = {0, t->count, have};
    assert_int_equal(eng_st_read(st, t, &part, &err), TINKC_OK);
    assert_memory_equal(have, want, n);
}

static void check_sample(const eng_st *st)
{
    assert_int_equal(eng_st_count(st), 4);
    const eng_st_tensor *t = eng_st_find(st, TK_STR("b.matrix"));
    assert_non_null(t);
    assert_int_equal(t->n_dims, 2);
    assert_int_equal(t->shape[1], 3);
    check_data(st, "b.matrix", two_by_three, sizeof(two_by_three));
    t = eng_st_find(st, TK_STR("a \"quoted\" vector"));
    assert_non_null(t);
    assert_true(t->known && t->dtype == ENG_BF16 && t->count == 2);
    check_data(st, "a \"quoted\" vector", halves, sizeof(halves));
    assert_int_equal(eng_st_find(st, TK_STR("empty"))->count, 0);
    t = eng_st_find(st, TK_STR("scalar"));
    assert_true(t->n_dims == 0 && t->count == 1);
    assert_null(eng_st_find(st, TK_STR("b.matri")));
    assert_true(tk_str_is(eng_st_metadata(st, "format"), "pt"));
    assert_int_equal(eng_st_metadata(st, "other").n, 0);
}

static void test_round_trip(void **unused)
{
    tk_buf bytes;
    tk_err err = TK_ERR_INIT;
    eng_st *st = NULL;
    put_sample(&bytes);
    uint64_t header;
    memcpy(&header, bytes.p, sizeof(header));
    assert_int_equal(header % 8, 0);
    assert_int_equal(eng_st_open_memory(&st, tk_buf_str(&bytes), "x", &err), TINKC_OK);
    check_sample(st);
    eng_st_close(st);
    tk_buf_dispose(&bytes);
}

/* Cut at every byte of the header and of the data: an error, never a crash. */
static void test_truncated(void **unused)
{
    tk_buf bytes;
    put_sample(&bytes);
    for (size_t n = 0; n < bytes.n; n++) {
        char *copy = tk_memdup(bytes.p, n); /* exactly n bytes, for ASan */
        tk_err err = TK_ERR_INIT;
        eng_st *st = NULL;
        tinkc_code code = eng_st_open_memory(&st, (tk_str){copy, n}, "cut", &err);
        assert_int_not_equal(code, TINKC_OK);
        assert_null(st);
        assert_non_null(strstr(err.message, "cut"));
        tk_free(copy);
    }
    tk_buf_dispose(&bytes);
}

typedef struct lie {
    const char *header;
    tinkc_code code;
    const char *says;
} lie;

/* Eight bytes of data follow each header. */
static const lie lies[] = {
    {"[]", TINKC_E_DECODE, "not an object"},
    {"{\"a\":3}", TINKC_E_DECODE, "dtype"},
    {"{\"a\":{\"dtype\":\"F32\"}}", TINKC_E_DECODE, "shape"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", TINKC_E_DECODE, "data_offsets"},
    {"{\"a\":{\"dtype\":7,\"shape\":[2],\"data_offsets\":[0,8]}}", TINKC_E_DECODE,
     "dtype"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,9]}}", TINKC_E_DECODE,
     "outside"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", TINKC_E_DECODE,
     "outside"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[-8,0]}}", TINKC_E_DECODE,
     "outside"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,1e300]}}",
     TINKC_E_DECODE, "outside"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", TINKC_E_DECODE,
     "do not fit"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904],\"data_offsets\":[0,8]}}",
     TINKC_E_DECODE, "do not fit"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,2],"
     "\"data_offsets\":[0,8]}}",
     TINKC_E_DECODE, "shape"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,2],\"data_offsets\":[0,8]}}",
     TINKC_E_DECODE, "shape"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2.5],\"data_offsets\":[0,8]}}", TINKC_E_DECODE,
     "shape"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]}}", TINKC_E_DECODE,
     "shape"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
     "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
     TINKC_E_DECODE, "twice"},
    /* the same bytes under two names, a part of them, a gap at each place */
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
     "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
     TINKC_E_DECODE, "overlap"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[3,8]},"
     "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
     TINKC_E_DECODE, "tensor a: data_offsets overlap"},
    {"{\"a\":{\"dtype\":\"NEW\",\"shape\":[1],\"data_offsets\":[0,8]},"
     "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
     TINKC_E_DECODE, "overlap"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", TINKC_E_DECODE,
     "tensor a: data_offsets leave a gap"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
     "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
     TINKC_E_DECODE, "tensor b: data_offsets leave a gap"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", TINKC_E_DECODE,
     "4 bytes after the last tensor"},
    {"{}", TINKC_E_DECODE, "8 bytes after the last tensor"},
    {"{\"a\":{\"dtype\":\"F32\"", TINKC_E_PARSE, "header"},
};

static tinkc_code open_header(const char *header, uint64_t length, eng_st **out,
                              tk_err *err)
{
    tk_buf bytes;
    tk_buf_init(&bytes, 4096);
    tk_buf_put(&bytes, &length, sizeof(length));
    tk_buf_puts(&bytes, header);
    tk_buf_put(&bytes, two_by_three, 8);
    tinkc_code code = eng_st_open_memory(out, tk_buf_str(&bytes), "liar", err);
    tk_buf_dispose(&bytes);
    return code;
}

static void test_lies(void **unused)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(lies); i++) {
        tk_err err = TK_ERR_INIT;
        eng_st *st = NULL;
        tinkc_code code = open_header(lies[i].header, strlen(lies[i].header), &st, &err);
        if (code != lies[i].code || strstr(err.message, lies[i].says) == NULL) {
            fail_msg("%s: %s (%d)", lies[i].header, err.message, (int)code);
        }
    }
    static const uint64_t lengths[] = {11, 1000, (uint64_t)1 << 40, UINT64_MAX};
    for (size_t i = 0; i < TK_ARRAY_LEN(lengths); i++) {
        tk_err err = TK_ERR_INIT;
        eng_st *st = NULL;
        assert_int_equal(open_header("{}", lengths[i], &st, &err), TINKC_E_DECODE);
    }
}

/* The order of the header is free, and tensors without elements take no place. */
static void test_any_order_covers_the_data(void **unused)
{
    static const char header[] =
        "{\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]},"
        "\"none\":{\"dtype\":\"F32\",\"shape\":[0,3],\"data_offsets\":[4,4]},"
        "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
        "\"end\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[8,8]}}";
    tk_err err = TK_ERR_INIT;
    eng_st *st = NULL;
    assert_int_equal(open_header(header, strlen(header), &st, &err), TINKC_OK);
    assert_int_equal(eng_st_count(st), 4);
    assert_int_equal(eng_st_find(st, TK_STR("b"))->offset, 8 + strlen(header) + 4);
    eng_st_close(st);
}

/* Types that we do not read may be in the file; only using them is an error. */
static void test_unknown_types_are_listed(void **unused)
{
    static const char *const headers[] = {
        "{\"a\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[0,8]}}",
        "{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[8],\"data_offsets\":[0,8]}}"};
    for (size_t i = 0; i < TK_ARRAY_LEN(headers); i++) {
        tk_err err = TK_ERR_INIT;
        eng_st *st = NULL;
        assert_int_equal(open_header(headers[i], strlen(headers[i]), &st, &err),
                         TINKC_OK);
        assert_false(eng_st_at(st, 0)->known);
        eng_st_close(st);
    }
}

/* ---- files ---- */

static void write_text(const char *directory, const char *name, const char *text,
                       size_t n)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static void remove_all(const char *directory, const char *const *names)
{
    for (; *names != NULL; names++) {
        char path[512];
        (void)snprintf(path, sizeof(path), "%s/%s", directory, *names);
        (void)unlink(path);
    }
    (void)rmdir(directory);
}

static char *new_directory(char *template)
{
    assert_non_null(mkdtemp(template));
    return template;
}

static const char *const files[] = {"model.safetensors", "one.safetensors",
                                    "two.safetensors", "model.safetensors.index.json",
                                    NULL};

static void write_shards(const char *directory)
{
    static const eng_st_entry one[] = {{"a", ENG_F32, shape2, 1, two_by_three}};
    static const eng_st_entry two[] = {{"b", ENG_F32, shape2, 1, two_by_three + 2}};
    const eng_st_entry *both[] = {one, two};
    for (size_t i = 0; i < 2; i++) {
        eng_st_file file = {both[i], 1, NULL};
        tk_err err = TK_ERR_INIT;
        char path[512];
        (void)snprintf(path, sizeof(path), "%s/%s", directory, files[i + 1]);
        tk_file_writer *writer = NULL;
        assert_int_equal(tk_file_writer_new(&writer, path, 0600, &err), TINKC_OK);
        assert_int_equal(eng_st_write(writer, &file, &err), TINKC_OK);
        assert_int_equal(tk_file_writer_commit(writer, &err), TINKC_OK);
    }
}

static tinkc_code open_with_index(const char *directory, const char *index, eng_st **out,
                                  tk_err *err)
{
    write_text(directory, "model.safetensors.index.json", index, strlen(index));
    return eng_st_open_directory(out, directory, err);
}

static void test_shards(void **unused)
{
    char template[] = "/tmp/eng-st-XXXXXX";
    char *directory = new_directory(template);
    eng_st *st = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(eng_st_open_directory(&st, directory, &err), TINKC_E_MISSING);
    write_shards(directory);
    tk_err_clear(&err);
    assert_int_equal(
        open_with_index(directory,
                        "{\"weight_map\":{\"a\":\"one.safetensors\","
                        "\"x\":\"one.safetensors\",\"b\":\"two.safetensors\"}}",
                        &st, &err),
        TINKC_OK);
    assert_int_equal(eng_st_count(st), 2);
    check_data(st, "b", two_by_three + 2, 8);
    eng_st_close(st);
    static const struct {
        const char *index;
        tinkc_code code;
    } bad[] = {
        {"{}", TINKC_E_DECODE},
        {"{\"weight_map\":[]}", TINKC_E_DECODE},
        {"{\"weight_map\":{\"a\":3}}", TINKC_E_DECODE},
        {"{\"weight_map\":{\"a\":\"../one.safetensors\"}}", TINKC_E_DECODE},
        {"{\"weight_map\":{\"a\":\".one\"}}", TINKC_E_DECODE},
        {"{\"weight_map\":{\"a\":\"\"}}", TINKC_E_DECODE},
        {"{\"weight_map\":{\"a\":\"one\\u0000.safetensors\"}}", TINKC_E_DECODE},
        {"{\"weight_map\":{\"a\":\"three.safetensors\"}}", TINKC_E_MISSING},
        {"{\"weight_map\":{\"a\":\"one.safetensors\",\"b\":", TINKC_E_PARSE},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        tk_err_clear(&err);
        st = NULL;
        assert_int_equal(open_with_index(directory, bad[i].index, &st, &err),
                         bad[i].code);
        assert_null(st);
    }
    remove_all(directory, files);
}

#ifdef TINKC_SANITIZED
#define INDEX_NAMES 50000 /* the property is the same, the time is not */
#else
#define INDEX_NAMES 400000
#endif

/* An index that names the last of its shards over and over: reading it takes a time in
 * proportion to its length. In proportion to the square it would take minutes. */
static void test_long_index(void **unused)
{
    char template[] = "/tmp/eng-st-XXXXXX";
    char *directory = new_directory(template);
    eng_st *st = NULL;
    tk_err err = TK_ERR_INIT;
    tk_buf index;
    write_shards(directory);
    tk_buf_init(&index, 64 * TK_MIB);
    tk_buf_puts(&index, "{\"weight_map\":{\"a\":\"one.safetensors\"");
    for (int i = 0; i < INDEX_NAMES; i++) {
        tk_buf_printf(&index, ",\"%d\":\"%s.safetensors\"", i,
                      i < INDEX_NAMES / 2 ? "one" : "two");
    }
    tk_buf_puts(&index, "}}");
    assert_int_equal(open_with_index(directory, tk_buf_cstr(&index), &st, &err),
                     TINKC_OK);
    assert_int_equal(eng_st_count(st), 2);
    eng_st_close(st);
    tk_buf_dispose(&index);
    remove_all(directory, files);
}

static void test_single_file_wins(void **unused)
{
    char template[] = "/tmp/eng-st-XXXXXX";
    char *directory = new_directory(template);
    tk_buf bytes;
    tk_err err = TK_ERR_INIT;
    eng_st *st = NULL;
    put_sample(&bytes);
    write_text(directory, "model.safetensors", bytes.p, bytes.n);
    assert_int_equal(open_with_index(directory, "not even JSON", &st, &err), TINKC_OK);
    check_sample(st);
    eng_st_close(st);
    write_text(directory, "model.safetensors", "", 0);
    assert_int_equal(eng_st_open_directory(&st, directory, &err), TINKC_E_DECODE);
    tk_buf_dispose(&bytes);
    remove_all(directory, files);
}

/* A FIFO without a writer is refused, not waited for. */
static void test_fifo(void **unused)
{
    char template[] = "/tmp/eng-st-XXXXXX", path[512];
    char *directory = new_directory(template);
    tk_err err = TK_ERR_INIT;
    eng_st *st = NULL;
    (void)snprintf(path, sizeof(path), "%s/model.safetensors", directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(eng_st_open_directory(&st, directory, &err), TINKC_E_DECODE);
    assert_non_null(strstr(err.message, "not a safetensors file"));
    remove_all(directory, files);
}

/* Parts of a tensor, and a file that is cut after it was opened: an error, not a
 * signal. */
static void test_cut_while_open(void **unused)
{
    char template[] = "/tmp/eng-st-XXXXXX", path[512];
    char *directory = new_directory(template);
    tk_buf bytes;
    tk_err err = TK_ERR_INIT;
    eng_st *st = NULL;
    put_sample(&bytes);
    write_text(directory, "model.safetensors", bytes.p, bytes.n);
    assert_int_equal(eng_st_open_directory(&st, directory, &err), TINKC_OK);
    check_sample(st);
    const eng_st_tensor *t = eng_st_find(st, TK_STR("b.matrix"));
    float have[6] = {0};
    const eng_st_part middle = {2, 3, have}, after = {4, 3, have};
    assert_int_equal(eng_st_read(st, t, &middle, &err), TINKC_OK);
    assert_memory_equal(have, two_by_three + 2, 3 * sizeof(float));
    assert_int_equal(eng_st_read(st, t, &after, &err), TINKC_E_INTERNAL);
    (void)snprintf(path, sizeof(path), "%s/model.safetensors", directory);
    assert_int_equal(truncate(path, (off_t)t->offset + 12), 0);
    tk_err_clear(&err);
    assert_int_equal(eng_st_read(st, t, &middle, &err), TINKC_E_DECODE);
    assert_non_null(strstr(err.message, "has become shorter"));
    char hex[TK_SHA256_HEX_BYTES];
    tk_err_clear(&err);
    assert_int_equal(eng_st_digest(hex, st, &err), TINKC_E_DECODE);
    eng_st_close(st);
    tk_buf_dispose(&bytes);
    remove_all(directory, files);
}

/* In one piece and in several: the digest of the whole file. */
static void test_digest(void **unused)
{
    static float many[700000];
    static const size_t shape[] = {700000};
    static const eng_st_entry entry = {"many", ENG_F32, shape, 1, many};
    const eng_st_file file = {&entry, 1, NULL};
    tk_buf bytes;
    tk_err err = TK_ERR_INIT;
    eng_st *st = NULL;
    char have[TK_SHA256_HEX_BYTES], want[TK_SHA256_HEX_BYTES];
    for (size_t i = 0; i < TK_ARRAY_LEN(many); i++) {
        many[i] = (float)i;
    }
    tk_buf_init(&bytes, 4 * TK_MIB);
    eng_st_put(&bytes, &file);
    assert_int_equal(eng_st_open_memory(&st, tk_buf_str(&bytes), "x", &err), TINKC_OK);
    assert_int_equal(eng_st_digest(have, st, &err), TINKC_OK);
    assert_int_equal(tk_sha256_hex(want, bytes.p, bytes.n, &err), TINKC_OK);
    assert_string_equal(have, want);
    eng_st_close(st);
    tk_buf_dispose(&bytes);
}

static bool scenario(void *user)
{
    const tk_buf *bytes = user;
    tk_err err = TK_ERR_INIT;
    eng_st *st = NULL;
    tk_buf again;
    tk_buf_init(&again, 4096);
    eng_st_file file = sample();
    eng_st_put(&again, &file);
    bool ok = again.failure == TINKC_OK &&
              eng_st_open_memory(&st, tk_buf_str(bytes), "x", &err) == TINKC_OK;
    tk_buf_dispose(&again);
    eng_st_close(st);
    return ok;
}

static void test_allocation_failures(void **unused)
{
    tk_buf bytes;
    put_sample(&bytes);
    assert_true(failmem_sweep(scenario, &bytes, 1) > 0);
    tk_buf_dispose(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_any_order_covers_the_data),
        cmocka_unit_test(test_unknown_types_are_listed),
        cmocka_unit_test(test_shards),
        cmocka_unit_test(test_long_index),
        cmocka_unit_test(test_single_file_wins),
        cmocka_unit_test(test_fifo),
        cmocka_unit_test(test_cut_while_open),
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests_name("eng_safetensors", tests, NULL, NULL);
}
