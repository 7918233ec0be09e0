/* The budget of memory: parts, the reserve for small blocks, and what arenas and buffers
 * count in it. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/thread.h"
#include "httpd/hd_budget.h"
#include "support/test.h"

#define MAX   (16 * TK_MIB)
#define LARGE (HD_BUDGET_SMALL_BYTES + 1)

/* The parts of an application. */
enum { PART_MODELS = HD_PARTS, PART_WORK, PART_ADAPTERS, PART_RESULTS, PARTS };

static const hd_part_row own[PARTS - HD_PARTS] = {{"models", 1, true},
                                                  {"work", 1, true},
                                                  {"adapters", 1, false},
                                                  {"results", 4, false}};
static const hd_part_rows rows = {own, TK_ARRAY_LEN(own)};

static hd_budget budget;

static int setup(void **state)
{
    hd_budget_init(&budget, MAX, &rows);
    return 0;
}

/* Everything was given back. */
static int teardown(void **state)
{
    assert_int_equal(atomic_load(&budget.used), 0);
    for (size_t i = 0; i < PARTS; i++) {
        assert_int_equal(atomic_load(&budget.parts[i].used), 0);
    }
    return 0;
}

/* An eighth is for small blocks; a refused one counts nothing. */
static void test_hd_budget_keeps_a_reserve(void **state)
{
    size_t most = MAX - MAX / 8;
    assert_true(hd_budget_take(&budget, PART_ADAPTERS, most));
    assert_false(hd_budget_take(&budget, HD_PART_REQUESTS, LARGE));
    assert_int_equal(atomic_load(&budget.used), most);
    assert_int_equal(atomic_load(&budget.refused), 1);
    size_t n = 0;
    while (hd_budget_take(&budget, HD_PART_REQUESTS, HD_BUDGET_SMALL_BYTES)) {
        n += HD_BUDGET_SMALL_BYTES;
    }
    assert_in_range(most + n, MAX - HD_BUDGET_SMALL_BYTES, MAX);
    assert_int_equal(atomic_load(&budget.peak), most + n);
    hd_budget_give(&budget, HD_PART_REQUESTS, n);
    hd_budget_give(&budget, PART_ADAPTERS, most);
}

/* One kind of load cannot take everything. */
static void test_hd_budget_limits_parts(void **state)
{
    assert_true(hd_budget_take(&budget, HD_PART_REQUESTS, MAX / 2));
    assert_false(hd_budget_take(&budget, HD_PART_REQUESTS, LARGE));
    assert_true(hd_budget_take(&budget, HD_PART_REQUESTS, 1));
    assert_true(hd_budget_take(&budget, PART_ADAPTERS, LARGE));
    hd_budget_give(&budget, HD_PART_REQUESTS, MAX / 2 + 1);
    hd_budget_give(&budget, PART_ADAPTERS, LARGE);
}

/* The front's parts come first, then the application's. */
static void test_hd_budget_names_parts(void **state)
{
    assert_int_equal(budget.n_parts, PARTS);
    assert_string_equal(hd_budget_part_name(&budget, HD_PART_REQUESTS), "requests");
    assert_string_equal(hd_budget_part_name(&budget, PART_RESULTS), "results");
    assert_int_equal(budget.parts[PART_RESULTS].max, MAX / 4);
}

/* What never fits is the client's mistake, what may fit later is not; both numbers are
 * named. */
static void test_hd_budget_names_both_numbers(void **state)
{
    tk_err err = TK_ERR_INIT;
    assert_true(hd_budget_take(&budget, PART_MODELS, 4 * TK_MIB));
    assert_int_equal(hd_budget_refuse(&budget, PART_ADAPTERS, 11 * TK_MIB, "it", &err),
                     400);
    assert_string_equal(err.message,
                        "it needs 11.0 MiB of memory; this server has 10.0 MiB for that");
    tk_err_clear(&err);
    assert_int_equal(hd_budget_refuse(&budget, PART_ADAPTERS, 9 * TK_MIB, "it", &err),
                     429);
    assert_non_null(strstr(err.message, "9.0 MiB"));
    hd_budget_give(&budget, PART_MODELS, 4 * TK_MIB);
}

/* Working memory grows to what it needs: what it has is part of that. */
static void test_hd_budget_counts_what_grows_once(void **state)
{
    tk_err err = TK_ERR_INIT;
    assert_true(hd_budget_take(&budget, PART_MODELS, 4 * TK_MIB));
    assert_true(hd_budget_take(&budget, PART_WORK, 6 * TK_MIB));
    assert_int_equal(hd_budget_refuse(&budget, PART_WORK, 8 * TK_MIB, "it", &err), 429);
    tk_err_clear(&err);
    assert_int_equal(hd_budget_refuse(&budget, PART_WORK, 11 * TK_MIB, "it", &err), 400);
    hd_budget_give(&budget, PART_WORK, 6 * TK_MIB);
    hd_budget_give(&budget, PART_MODELS, 4 * TK_MIB);
}

#define ROUNDS 2000000

static atomic_bool ended;

static void ask_for_too_much(void *user)
{
    size_t *taken = user;
    for (int i = 0; i < ROUNDS; i++) {
        *taken += hd_budget_take(&budget, PART_ADAPTERS, 2 * MAX);
    }
    atomic_store(&ended, true);
}

/* Requests that are refused take nothing from the others, not even for a moment. */
static void test_hd_budget_refusals_take_nothing(void **state)
{
    tk_thread thread;
    tk_err err = TK_ERR_INIT;
    size_t refused = 0, over = 0, too_much = 0;
    assert_int_equal(tk_thread_start(&thread, "test", ask_for_too_much, &too_much, &err),
                     TINKC_OK);
    while (!atomic_load(&ended)) {
        bool taken = hd_budget_take(&budget, HD_PART_REQUESTS, 1024);
        over += hd_budget_is_over(&budget, PART_RESULTS);
        refused += !taken;
        if (taken) {
            hd_budget_give(&budget, HD_PART_REQUESTS, 1024);
        }
    }
    tk_thread_join(&thread);
    assert_int_equal(too_much, 0);
    assert_int_equal(refused, 0);
    assert_int_equal(over, 0);
}

/* Arenas and buffers ask first, and say when they were refused. */
static void test_hd_budget_counts_containers(void **state)
{
    tk_quota *quota = hd_budget_quota(&budget, HD_PART_REQUESTS);
    tk_arena arena;
    tk_buf buf;
    tk_arena_init_quota(&arena, 0, quota);
    tk_buf_init_quota(&buf, TK_GIB, quota);
    assert_non_null(tk_arena_alloc(&arena, TK_MIB));
    assert_in_range(atomic_load(&budget.used), TK_MIB, TK_MIB + TK_KIB);
    assert_null(tk_arena_alloc(&arena, MAX / 2));
    assert_true(arena.refused);
    assert_non_null(tk_buf_reserve(&buf, TK_MIB));
    assert_in_range(atomic_load(&budget.used), 2 * TK_MIB, 2 * TK_MIB + TK_KIB);
    assert_null(tk_buf_reserve(&buf, MAX / 2));
    assert_int_equal(buf.failure, TINKC_E_RATE_LIMIT);
    tk_arena_dispose(&arena);
    assert_false(arena.refused);
    tk_buf_dispose(&buf);
}

/* The reader of JSON needs as much again while it reads: that is counted too. */
static void test_hd_budget_counts_json(void **state)
{
    tk_arena arena;
    tk_buf text;
    tk_err err = TK_ERR_INIT;
    const tk_json *json = NULL;
    tk_buf_init(&text, TK_MIB);
    tk_buf_puts(&text, "[[]");
    while (text.n < 64 * TK_KIB) {
        tk_buf_puts(&text, ",[]");
    }
    tk_buf_putc(&text, ']');
    tk_arena_init_quota(&arena, 0, hd_budget_quota(&budget, HD_PART_REQUESTS));
    assert_int_equal(tk_json_parse(&json, &arena, text.p, text.n, NULL, &err), TINKC_OK);
    size_t kept = atomic_load(&budget.used);
    assert_true(kept > text.n);
    assert_true(atomic_load(&budget.peak) >= kept + tk_json_len(json) * sizeof(tk_json));
    tk_arena_dispose(&arena);
    assert_int_equal(atomic_load(&budget.used), 0);
    hd_budget_add(&budget, PART_ADAPTERS, MAX - MAX / 8 - TK_MIB / 2);
    assert_int_equal(tk_json_parse(&json, &arena, text.p, text.n, NULL, &err),
                     TINKC_E_NOMEM);
    assert_true(arena.refused);
    tk_arena_dispose(&arena);
    hd_budget_give(&budget, PART_ADAPTERS, MAX - MAX / 8 - TK_MIB / 2);
    tk_buf_dispose(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_hd_budget_keeps_a_reserve, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hd_budget_limits_parts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hd_budget_names_parts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hd_budget_names_both_numbers, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_hd_budget_counts_what_grows_once, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_hd_budget_refusals_take_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_hd_budget_counts_containers, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_hd_budget_counts_json, setup, teardown),
    };
    return cmocka_run_group_tests_name("hd_budget", tests, NULL, NULL);
}
