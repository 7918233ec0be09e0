/* Values that the official SDK's own functions computed (tests/data/wire): CSR decisions,
 * list conversion, tinker:// paths (A-052..A-057, A-067, M-110..M-113, M-118). */
#include "wire/fixtures.h"
#include "wire/path.h"
#include "wire/tensor.h"

static tk_arena arena;

static int teardown(void **unused)
{
    tk_arena_dispose(&arena);
    return 0;
}

/* ---- tensors ---- */

static void expect_i64s(tk_i64s got, const tk_json *want)
{
    assert_int_equal(got.n, tk_json_len(want));
    for (size_t i = 0; i < got.n; i++) {
        int64_t number = 0;
        tk_json value = tk_json_at(want, i);
        assert_true(tk_json_to_i64(&value, &number));
        assert_true(got.p[i] == number);
    }
}

static void expect_tensor(const tk_tensor *got, const tk_json *want)
{
    assert_string_equal(tk_dtype_name(got->dtype), fixture_text(want, "dtype"));
    const tk_json *data = fixture_need(want, "data");
    if (got->dtype == TK_DTYPE_I64) {
        expect_i64s((tk_i64s){got->data, got->n}, data);
    } else {
        const float *floats = got->data;
        assert_int_equal(got->n, tk_json_len(data));
        for (size_t i = 0; i < got->n; i++) {
            tk_json value = tk_json_at(data, i);
            assert_true(fixture_same_number((double)floats[i], fixture_number(&value)));
        }
    }
    assert_true(got->has_shape);
    expect_i64s(got->shape, fixture_need(want, "shape"));
    const tk_json *crow = tk_json_get(want, "sparse_crow_indices");
    assert_int_equal(got->is_sparse, crow != NULL);
    if (crow != NULL) {
        expect_i64s(got->crow, crow);
        expect_i64s(got->col, fixture_need(want, "sparse_col_indices"));
    }
}

static tk_i64s shape_of(const tk_json *list)
{
    int64_t *dims = tk_arena_array(&arena, TK_TENSOR_MAX_DIMS, sizeof(*dims));
    assert_non_null(dims);
    tk_i64s out = {dims, tk_json_len(list)};
    for (size_t i = 0; i < out.n; i++) {
        tk_json value = tk_json_at(list, i);
        assert_true(tk_json_to_i64(&value, &dims[i]));
    }
    return out;
}

static void check_compact(const tk_json *conversion)
{
    const tk_json *data = fixture_need(conversion, "data");
    bool ints = strcmp(fixture_text(conversion, "dtype"), "int64") == 0;
    size_t n = tk_json_len(data);
    int64_t *whole = tk_arena_array(&arena, n + 1, sizeof(*whole));
    float *real = tk_arena_array(&arena, n + 1, sizeof(*real));
    assert_true(whole != NULL && real != NULL);
    for (size_t i = 0; i < n; i++) {
        tk_json value = tk_json_at(data, i);
        real[i] = (float)fixture_number(&value);
        whole[i] = ints ? (int64_t)real[i] : 0;
    }
    tk_tensor dense = {.dtype = ints ? TK_DTYPE_I64 : TK_DTYPE_F32,
                       .data = ints ? (const void *)whole : (const void *)real,
                       .n = n,
                       .has_shape = true,
                       .shape = shape_of(fixture_need(conversion, "shape"))};
    tk_tensor got;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_tensor_compact(&got, &arena, &dense, &err), TINKC_OK);
    expect_tensor(&got, fixture_need(conversion, "result"));
}

/* Around the border where CSR becomes the smaller form, and NaN and -0. */
static void test_fixture_golden_csr(void **unused)
{
    const tk_json *file = fixture_load(&arena, FIXTURE_OLD, "goldens/csr.json");
    const tk_json *conversions = fixture_need(file, "conversions");
    assert_true(tk_json_len(conversions) >= 40);
    for (size_t i = 0; i < tk_json_len(conversions); i++) {
        check_compact(fixture_at(&arena, conversions, i));
    }
}

/* ---- lists ---- */

/* A nested JSON list as one array of the type that C has for its elements. */
typedef struct flat {
    tk_elem elem;
    int64_t dims[4];
    size_t ndim;
    void *items;
    size_t n;
    bool is_c; /* false: ragged, or elements that no C array holds */
} flat;

static void flatten_leaf(flat *out, const tk_json *value)
{
    double *reals = out->items;
    int64_t *ints = out->items;
    bool *flags = out->items;
    switch ((int)value->type) {
    case TK_JSON_INT:
        out->elem = TK_ELEM_I64;
        ints[out->n++] = value->as.integer;
        break;
    case TK_JSON_UINT:
        out->elem = TK_ELEM_U64;
        ints[out->n++] = (int64_t)value->as.uinteger;
        break;
    case TK_JSON_REAL:
        out->elem = TK_ELEM_F64;
        reals[out->n++] = value->as.real;
        break;
    case TK_JSON_BOOL:
        out->elem = TK_ELEM_BOOL;
        flags[out->n++] = value->as.boolean;
        break;
    default:
        out->is_c = false;
        break;
    }
}

static void flatten(flat *out, const tk_json *value, size_t depth)
{
    if (!tk_json_is_array(value)) {
        flatten_leaf(out, value);
        return;
    }
    int64_t n = (int64_t)tk_json_len(value);
    if (depth >= TK_ARRAY_LEN(out->dims)) {
        fail_msg("nested deeper than any golden");
        return;
    }
    if (depth < out->ndim && out->dims[depth] != n) {
        out->is_c = false;
    }
    if (depth >= out->ndim) {
        out->ndim = depth + 1;
        out->dims[depth] = n;
    }
    for (size_t i = 0; i < (size_t)n; i++) {
        tk_json item = tk_json_at(value, i);
        flatten(out, &item, depth + 1);
    }
}

/* Where we refuse what the SDK casts in silence. */
static bool loses_value(const tk_json *conversion)
{
    static const char *const texts[] = {"[1.0,2.9,-2.9]", "[9223372036854775808]",
                                        "[0.1,1e40]"};
    fixture_cmp cmp = {.where = TK_ERR_INIT};
    for (size_t i = 0; i < TK_ARRAY_LEN(texts); i++) {
        const tk_json *value;
        tk_err err = TK_ERR_INIT;
        assert_int_equal(
            tk_json_parse(&value, &arena, texts[i], strlen(texts[i]), NULL, &err),
            TINKC_OK);
        if (fixture_same(&cmp, fixture_need(conversion, "value"), value)) {
            return true;
        }
    }
    return false;
}

static bool check_list(const tk_json *conversion, size_t index)
{
    const tk_json *value = fixture_need(conversion, "value");
    const tk_json *want = tk_json_get(conversion, "result");
    flat list = {.elem = TK_ELEM_F64, .is_c = tk_json_is_array(value)};
    list.items = tk_arena_alloc(&arena, 256);
    assert_non_null(list.items);
    flatten(&list, value, 0);
    if (!list.is_c) {
        return false;
    }
    tk_dtype dtype = TK_DTYPE_UNSPECIFIED;
    tk_err err = TK_ERR_INIT;
    tk_tensor got;
    tk_tensor_source source = {
        .elem = list.elem, .data = list.items, .shape = list.dims, .ndim = list.ndim};
    tinkc_code code =
        tk_tensor_field_dtype(&dtype, tk_str_of(fixture_text(conversion, "name")), &err);
    if (code == TINKC_OK) {
        code = tk_tensor_from(&got, &arena, &source, dtype, NULL, &err);
    }
    bool accept = want != NULL && !loses_value(conversion);
    if ((code == TINKC_OK) != accept) {
        fail_msg("conversion %zu: %s", index, accept ? "refused" : "accepted");
    }
    if (accept) {
        expect_tensor(&got, want);
    }
    return true;
}

/* Lists under the names that have a type, nested and empty ones included. */
static void test_fixture_golden_lists(void **unused)
{
    const tk_json *file = fixture_load(&arena, FIXTURE_OLD, "goldens/lists.json");
    const tk_json *conversions = fixture_need(file, "conversions");
    size_t checked = 0;
    for (size_t i = 0; i < tk_json_len(conversions); i++) {
        checked += check_list(fixture_at(&arena, conversions, i), i) ? 1 : 0;
    }
    assert_true(checked >= 15);
}

/* ---- paths ---- */

/* M-113: what 0.36 parses, and into what; what it refuses. A run without a name is
 * refused by us only: no request can be made for it. */
static void test_fixture_golden_paths(void **unused)
{
    const tk_json *file = fixture_load(&arena, FIXTURE_NEW, "goldens/paths.json");
    const tk_json *paths = fixture_need(file, "paths");
    assert_true(tk_json_len(paths) >= 20);
    for (size_t i = 0; i < tk_json_len(paths); i++) {
        const tk_json *item = fixture_at(&arena, paths, i);
        const tk_json *want = tk_json_get(item, "result");
        const char *text = fixture_text(item, "path");
        tk_path got;
        tk_err err = TK_ERR_INIT;
        tinkc_code code = tk_path_parse(&got, tk_str_of(text), &err);
        if (strcmp(text, "tinker:///weights/x") == 0) {
            assert_true(code != TINKC_OK && want != NULL);
            continue;
        }
        if ((code == TINKC_OK) != (want != NULL)) {
            fail_msg("%s: %s", text, want != NULL ? "refused" : "accepted");
        }
        if (want != NULL) {
            assert_true(tk_str_is(got.run, fixture_text(want, "training_run_id")));
            assert_true(
                tk_str_is(got.checkpoint_id, fixture_text(want, "checkpoint_id")));
            assert_string_equal(tk_path_checkpoint_type(got.kind),
                                fixture_text(want, "checkpoint_type"));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_fixture_golden_csr, teardown),
        cmocka_unit_test_teardown(test_fixture_golden_lists, teardown),
        cmocka_unit_test_teardown(test_fixture_golden_paths, teardown),
    };
    return cmocka_run_group_tests_name("fixtures_golden", tests, NULL, NULL);
}
