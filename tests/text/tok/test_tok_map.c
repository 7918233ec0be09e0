/* Where text came from: ranges through one map and through two. */
#include "support/toktest.h"

typedef struct range_row {
    size_t begin, end, to_begin, to_end;
} range_row;

static void check(const tk_tok_map *map, const range_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t begin = rows[i].begin, end = rows[i].end;
        tk_tok_map_back(map, &begin, &end);
        if (begin != rows[i].to_begin || end != rows[i].to_end) {
            fail_msg("row %zu: [%zu, %zu)", i, begin, end);
        }
    }
}

/* "ab" + 3 bytes for 1 + "cd": old text of 5 bytes, new text of 7. */
static void make_grown(tk_tok_map *map)
{
    *map = (tk_tok_map){.off = false};
    tk_tok_map_add(map, 0, 0);
    tk_tok_map_add(map, 2, 2);
    tk_tok_map_add(map, 5, 3);
    tk_tok_map_add(map, 7, 5);
}

static void test_tok_map_ranges(void **unused)
{
    static const range_row rows[] = {
        {0, 7, 0, 5}, {0, 1, 0, 1}, {1, 2, 1, 2}, {2, 5, 2, 3}, {3, 4, 2, 3},
        {2, 3, 2, 3}, {1, 3, 1, 3}, {4, 6, 2, 4}, {5, 7, 3, 5}, {6, 7, 4, 5},
        {0, 0, 0, 0}, {2, 2, 2, 2}, {3, 3, 2, 2}, {5, 5, 3, 3}, {6, 6, 4, 4},
    };
    tk_tok_map map;
    make_grown(&map);
    check(&map, rows, TK_ARRAY_LEN(rows));
    tk_tok_map_dispose(&map);
    assert_int_equal(map.n, 0);
}

/* Without anchors nothing moves; a map that is off keeps none. */
static void test_tok_map_empty(void **unused)
{
    static const range_row same[] = {{0, 0, 0, 0}, {3, 9, 3, 9}};
    tk_tok_map map = {.off = false}, off = {.off = true};
    check(&map, same, TK_ARRAY_LEN(same));
    tk_tok_map_add(&off, 0, 0);
    tk_tok_map_add(&off, 5, 9);
    assert_int_equal(off.n, 0);
    check(&off, same, TK_ARRAY_LEN(same));
    tk_tok_map_dispose(&off);
    assert_true(off.off);
}

/* A text that was replaced as a whole: two bytes for five. */
static void test_tok_map_whole(void **unused)
{
    static const range_row rows[] = {{0, 2, 0, 5}, {0, 1, 0, 5}, {1, 2, 0, 5}};
    tk_tok_map map = {.off = false};
    tk_tok_map_add(&map, 0, 0);
    tk_tok_map_add(&map, 2, 5);
    check(&map, rows, TK_ARRAY_LEN(rows));
    tk_tok_map_dispose(&map);
}

/* The newer text has one byte in front of the new text of make_grown(). */
static void test_tok_map_compose(void **unused)
{
    static const range_row rows[] = {{1, 8, 0, 5}, {1, 2, 0, 1}, {3, 6, 2, 3},
                                     {4, 5, 2, 3}, {6, 8, 3, 5}, {7, 8, 4, 5}};
    tk_tok_map outer, inner = {.off = false};
    make_grown(&outer);
    tk_tok_map_add(&inner, 0, 0);
    tk_tok_map_add(&inner, 1, 0);
    tk_tok_map_add(&inner, 3, 2);
    tk_tok_map_add(&inner, 6, 5);
    tk_tok_map_add(&inner, 8, 7);
    tk_tok_map_compose(&outer, &inner);
    check(&outer, rows, TK_ARRAY_LEN(rows));
    tk_tok_map_dispose(&outer);
}

/* Many anchors: each byte of the new text comes from three of the old. */
static void test_tok_map_many(void **unused)
{
    enum { N = 1000 };
    tk_tok_map map = {.off = false};
    for (size_t i = 0; i <= N; i++) {
        tk_tok_map_add(&map, i, 3 * i);
    }
    for (size_t i = 0; i < N; i++) {
        size_t begin = i, end = i + 1;
        tk_tok_map_back(&map, &begin, &end);
        assert_true(begin == 3 * i && end == 3 * i + 3);
    }
    assert_false(map.failed);
    tk_tok_map_dispose(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_map_ranges), cmocka_unit_test(test_tok_map_empty),
        cmocka_unit_test(test_tok_map_whole),  cmocka_unit_test(test_tok_map_compose),
        cmocka_unit_test(test_tok_map_many),
    };
    return cmocka_run_group_tests_name("tok_map", tests, NULL, NULL);
}
