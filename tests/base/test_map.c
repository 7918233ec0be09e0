/* The map: order, replacement, holes, binary keys, failed growth, a model comparison. */
#include "base/map.h"

#include <stdio.h>

#include "base/rand.h"
#include "support/failmem.h"
#include "support/test.h"

static int numbers[4096];

static tk_str key_of(char text[16], size_t i)
{
    (void)snprintf(text, 16, "key-%zu", i);
    return tk_str_of(text);
}

static void put(tk_map *map, const char *key, void *value)
{
    assert_int_equal(tk_map_put(map, tk_str_of(key), value, NULL), TINKC_OK);
}

static void test_map_empty(void **unused)
{
    tk_map map;
    tk_map_init(&map, TK_MAP_COPY_KEYS);
    size_t cursor = 0;
    assert_null(tk_map_get(&map, TK_STR("x")));
    assert_false(tk_map_has(&map, TK_STR("")));
    assert_null(tk_map_remove(&map, TK_STR("x")));
    assert_false(tk_map_next(&map, &cursor, NULL, NULL));
    tk_map_dispose(&map);
}

static void test_map_keys_are_bytes(void **unused)
{
    tk_map map;
    tk_map_init(&map, TK_MAP_COPY_KEYS);
    put(&map, "", &numbers[0]);
    put(&map, "a", &numbers[1]);
    assert_int_equal(tk_map_put(&map, TK_STR("a\0b"), &numbers[2], NULL), TINKC_OK);
    put(&map, "null", NULL);
    assert_ptr_equal(tk_map_get(&map, tk_str_of(NULL)), &numbers[0]);
    assert_ptr_equal(tk_map_get(&map, TK_STR("a")), &numbers[1]);
    assert_ptr_equal(tk_map_get(&map, TK_STR("a\0b")), &numbers[2]);
    assert_true(tk_map_has(&map, TK_STR("null")));
    assert_null(tk_map_get(&map, TK_STR("null")));
    assert_int_equal(map.count, 4);
    tk_map_dispose(&map);
    assert_int_equal(map.count, 0);
    put(&map, "again", &numbers[0]);
    tk_map_dispose(&map);
}

static void test_map_keeps_the_order_of_insertion(void **unused)
{
    tk_map map;
    tk_map_init(&map, TK_MAP_COPY_KEYS);
    char text[16];
    for (size_t i = 0; i < 1000; i++) {
        put(&map, key_of(text, i).p, &numbers[i]);
    }
    put(&map, "key-10", &numbers[2000]); /* replaced: keeps its place */
    (void)tk_map_remove(&map, TK_STR("key-11"));
    put(&map, "key-11", &numbers[11]); /* new: goes to the end */
    size_t cursor = 0;
    tk_str key;
    void *value;
    for (size_t i = 0; i < 1000; i++) {
        size_t expected = i < 11 ? i : i < 999 ? i + 1 : 11;
        assert_true(tk_map_next(&map, &cursor, &key, &value));
        assert_true(tk_str_eq(key, key_of(text, expected)));
        assert_ptr_equal(value, &numbers[expected == 10 ? 2000 : expected]);
    }
    assert_false(tk_map_next(&map, &cursor, &key, &value));
    tk_map_dispose(&map);
}

static void test_map_copied_and_borrowed_keys(void **unused)
{
    char first[] = "key";
    char second[] = "key";
    tk_map map;
    tk_map_init(&map, TK_MAP_COPY_KEYS);
    put(&map, first, &numbers[0]);
    first[0] = 'X';
    assert_true(tk_map_has(&map, TK_STR("key")));
    size_t cursor = 0;
    tk_str key;
    assert_true(tk_map_next(&map, &cursor, &key, NULL));
    assert_string_equal(key.p, "key"); /* a NUL at the end */
    tk_map_dispose(&map);
    first[0] = 'k';
    tk_map_init(&map, TK_MAP_BORROW_KEYS);
    put(&map, first, &numbers[0]);
    put(&map, second, &numbers[1]); /* the first bytes may die now */
    first[0] = 'X';
    cursor = 0;
    assert_true(tk_map_next(&map, &cursor, &key, NULL));
    assert_ptr_equal(key.p, second);
    assert_int_equal(map.count, 1);
    tk_map_dispose(&map);
}

static void test_map_removing_during_the_walk(void **unused)
{
    tk_map map;
    tk_map_init(&map, TK_MAP_COPY_KEYS);
    char text[16];
    for (size_t i = 0; i < 100; i++) {
        put(&map, key_of(text, i).p, &numbers[i]);
    }
    size_t cursor = 0;
    tk_str key;
    void *value;
    while (tk_map_next(&map, &cursor, &key, &value)) {
        if (((int *)value - numbers) % 3 != 0) {
            assert_ptr_equal(tk_map_remove(&map, key), value);
        }
    }
    assert_int_equal(map.count, 34);
    assert_true(tk_map_has(&map, TK_STR("key-99")));
    assert_false(tk_map_has(&map, TK_STR("key-98")));
    tk_map_dispose(&map);
}

/* Put and remove in turn for long: holes are reused, memory stays small. */
static void test_map_holes_do_not_pile_up(void **unused)
{
    tk_map map;
    tk_map_init(&map, TK_MAP_COPY_KEYS);
    char text[16];
    for (size_t i = 0; i < 20000; i++) {
        put(&map, key_of(text, i).p, &numbers[i % 4096]);
        if (i >= 5) {
            assert_non_null(tk_map_remove(&map, key_of(text, i - 5)));
        }
    }
    assert_int_equal(map.count, 5);
    assert_true(map.n_slots <= 32);
    tk_map_dispose(&map);
}

/* Random operations against a plain array of flags. */
static void test_map_against_a_model(void **unused)
{
    void *model[300] = {NULL};
    tk_rand rand;
    tk_rand_init(&rand, 7);
    tk_map map;
    tk_map_init(&map, TK_MAP_COPY_KEYS);
    for (int step = 0; step < 30000; step++) {
        char text[16];
        size_t i = tk_rand_below(&rand, TK_ARRAY_LEN(model));
        tk_str key = key_of(text, i);
        if (tk_rand_below(&rand, 2) == 0) {
            model[i] = &numbers[tk_rand_below(&rand, 4096)];
            assert_int_equal(tk_map_put(&map, key, model[i], NULL), TINKC_OK);
        } else {
            assert_ptr_equal(tk_map_remove(&map, key), model[i]);
            model[i] = NULL;
        }
        i = tk_rand_below(&rand, TK_ARRAY_LEN(model));
        assert_ptr_equal(tk_map_get(&map, key_of(text, i)), model[i]);
    }
    size_t live = 0;
    for (size_t i = 0; i < TK_ARRAY_LEN(model); i++) {
        live += model[i] != NULL;
    }
    assert_int_equal(map.count, live);
    tk_map_dispose(&map);
}

static void test_map_hash_keys_differ(void **unused)
{
    tk_map a;
    tk_map b;
    tk_map_init(&a, TK_MAP_BORROW_KEYS);
    tk_map_init(&b, TK_MAP_BORROW_KEYS);
    put(&a, "x", &numbers[0]);
    put(&b, "x", &numbers[0]);
    assert_true(a.hash_key.k0 != b.hash_key.k0 || a.hash_key.k1 != b.hash_key.k1);
    tk_map_dispose(&a);
    tk_map_dispose(&b);
}

/* A failed put changes nothing: what was there is found, what failed is not. */
static bool fill(void *user)
{
    tk_map map;
    tk_map_init(&map, *(tk_map_keys *)user);
    static char keys[60][16];
    bool ok = true;
    size_t done = 0;
    for (; done < 60 && ok; done++) {
        tk_err err = TK_ERR_INIT;
        tk_str key = key_of(keys[done], done);
        tinkc_code code = tk_map_put(&map, key, &numbers[done], &err);
        ok = code == TINKC_OK;
        if (!ok) {
            assert_int_equal(err.code, TINKC_E_NOMEM);
            assert_false(tk_map_has(&map, key));
            assert_int_equal(map.count, done);
            assert_int_equal(tk_map_put(&map, key, &numbers[done], NULL), TINKC_OK);
        }
    }
    for (size_t i = 0; i < done; i++) {
        assert_ptr_equal(tk_map_get(&map, tk_str_of(keys[i])), &numbers[i]);
    }
    tk_map_dispose(&map);
    return ok;
}

static void test_map_sweep(void **unused)
{
    tk_map_keys keys = TK_MAP_COPY_KEYS;
    assert_in_range(failmem_sweep(fill, &keys, 1), 62, 80);
    keys = TK_MAP_BORROW_KEYS;
    assert_in_range(failmem_sweep(fill, &keys, 1), 2, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map_empty),
        cmocka_unit_test(test_map_keys_are_bytes),
        cmocka_unit_test(test_map_keeps_the_order_of_insertion),
        cmocka_unit_test(test_map_copied_and_borrowed_keys),
        cmocka_unit_test(test_map_removing_during_the_walk),
        cmocka_unit_test(test_map_holes_do_not_pile_up),
        cmocka_unit_test(test_map_against_a_model),
        cmocka_unit_test(test_map_hash_keys_differ),
        cmocka_unit_test(test_map_sweep),
    };
    return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
