/* Splitting a batch by count and bytes (A-034; docs/protocol.md §6.2). */
#include "wire/split.h"

#include "base/limits.h"
#include "support/failmem.h"
#include "support/test.h"
#include "wire/input.h"

static tk_arena arena;

static int teardown(void **unused)
{
    tk_arena_dispose(&arena);
    return 0;
}

static const int32_t tokens[1000] = {0};

/* A datum of 4 * n bytes. */
static tk_datum datum_of(tk_chunk *chunk, size_t n)
{
    *chunk = (tk_chunk){.kind = TK_CHUNK_TEXT, .tokens = {tokens, n}};
    return (tk_datum){.model_input = {chunk, 1}};
}

/* Sizes in tokens to "first+n" pairs. */
static void expect_parts(const size_t *sizes, size_t n, tk_split_limits limits,
                         const size_t *want, size_t want_n)
{
    tk_chunk chunks[8];
    tk_datum data[8];
    assert_true(n <= TK_ARRAY_LEN(data));
    for (size_t i = 0; i < n; i++) {
        data[i] = datum_of(&chunks[i], sizes[i]);
    }
    tk_split split;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_split_batch(&split, &arena, data, n, &limits, &err), TINKC_OK);
    assert_int_equal(split.n, want_n);
    size_t next = 0;
    for (size_t i = 0; i < split.n; i++) {
        assert_int_equal(split.parts[i].first, next);
        assert_int_equal(split.parts[i].n, want[i]);
        size_t bytes = 0;
        for (size_t j = 0; j < split.parts[i].n; j++) {
            bytes += 4 * sizes[next + j];
        }
        assert_int_equal(split.parts[i].bytes, bytes);
        next += split.parts[i].n;
    }
    assert_int_equal(next, n);
}

/* A-034, M-054: a part ends at the largest number of datums. */
static void test_split_by_count(void **unused)
{
    const size_t sizes[] = {1, 1, 1, 1, 1};
    expect_parts(sizes, 5, (tk_split_limits){2, 5000000}, (size_t[]){2, 2, 1}, 3);
    expect_parts(sizes, 5, (tk_split_limits){5, 5000000}, (size_t[]){5}, 1);
    expect_parts(sizes, 5, (tk_split_limits){0, 5000000}, (size_t[]){1, 1, 1, 1, 1}, 5);
}

/* A-034, M-054: a part ends before its estimated bytes exceed the limit. */
static void test_split_by_bytes(void **unused)
{
    const size_t sizes[] = {10, 10, 10, 11, 30, 10};
    /* 40 bytes fit exactly; 41 do not. */
    expect_parts(sizes, 6, (tk_split_limits){1024, 80}, (size_t[]){2, 1, 1, 1, 1}, 5);
    expect_parts(sizes, 6, (tk_split_limits){1024, 84}, (size_t[]){2, 2, 1, 1}, 4);
    expect_parts(sizes, 6, (tk_split_limits){1024, 0}, (size_t[]){1, 1, 1, 1, 1, 1}, 6);
}

/* one oversized datum is a part by itself, at the start, in the middle, at the
 * end. */
static void test_split_oversized(void **unused)
{
    expect_parts((size_t[]){100, 1, 1}, 3, (tk_split_limits){9, 8}, (size_t[]){1, 2}, 2);
    expect_parts((size_t[]){1, 100, 1}, 3, (tk_split_limits){9, 8}, (size_t[]){1, 1, 1},
                 3);
    expect_parts((size_t[]){1, 1, 100}, 3, (tk_split_limits){9, 8}, (size_t[]){2, 1}, 2);
}

static void test_split_empty(void **unused)
{
    tk_split split = {NULL, 7};
    tk_err err = TK_ERR_INIT;
    const tk_split_limits limits = {1024, 5000000};
    assert_int_equal(tk_split_batch(&split, &arena, NULL, 0, &limits, &err),
                     TINKC_E_INVALID);
    assert_int_equal(split.n, 7);
}

static bool split_scenario(void *user)
{
    tk_arena own;
    tk_arena_init(&own, 0);
    tk_chunk chunk;
    tk_datum datum = datum_of(&chunk, 3);
    const tk_split_limits limits = {1024, 5000000};
    tk_split split;
    tk_err err = TK_ERR_INIT;
    bool ok = tk_split_batch(&split, &own, &datum, 1, &limits, &err) == TINKC_OK;
    tk_arena_dispose(&own);
    return ok;
}

static void test_split_sweep(void **unused)
{
    assert_true(failmem_sweep(split_scenario, NULL, 1) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_split_by_count, teardown),
        cmocka_unit_test_teardown(test_split_by_bytes, teardown),
        cmocka_unit_test_teardown(test_split_oversized, teardown),
        cmocka_unit_test(test_split_empty),
        cmocka_unit_test(test_split_sweep),
    };
    return cmocka_run_group_tests_name("split", tests, NULL, NULL);
}
