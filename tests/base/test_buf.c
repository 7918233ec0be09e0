/* Growable bytes: cap at the exact byte, sticky failure, ownership on take. */
#include "base/buf.h"
#include "base/mem.h"
#include "support/failmem.h"
#include "support/test.h"

static void test_buf_appends(void **unused)
{
    tk_buf buf;
    tk_buf_init(&buf, 4096);
    tk_buf_put(&buf, NULL, 0);
    assert_null(buf.p);
    tk_buf_puts(&buf, "ab");
    tk_buf_putc(&buf, '\0');
    tk_buf_printf(&buf, "%d-%s", 42, "x");
    char *room = tk_buf_reserve(&buf, 2);
    assert_non_null(room);
    room[0] = 'y';
    tk_buf_advance(&buf, 1);
    assert_int_equal(tk_buf_status(&buf, NULL), TINKC_OK);
    assert_true(tk_str_eq(tk_buf_str(&buf), TK_STR("ab\00042-xy")));
    assert_memory_equal(tk_buf_cstr(&buf), "ab\00042-xy", 9);
    tk_buf_clear(&buf);
    assert_string_equal(tk_buf_cstr(&buf), "");
    tk_buf_dispose(&buf);
    assert_null(buf.p);
    tk_buf_puts(&buf, "again");
    assert_string_equal(tk_buf_cstr(&buf), "again");
    tk_buf_dispose(&buf);
}

/* Every way of appending, over every border of the capacity. */
static void test_buf_growth(void **unused)
{
    for (size_t first = 250; first < 262; first++) {
        tk_buf buf;
        tk_buf_init(&buf, 10000);
        char text[300];
        memset(text, 'a', sizeof(text));
        tk_buf_put(&buf, text, first);
        assert_int_equal(strlen(tk_buf_cstr(&buf)), first);
        tk_buf_printf(&buf, "%s", "bcd");
        tk_buf_putc(&buf, 'e');
        tk_buf_put(&buf, text, sizeof(text));
        const char *whole = tk_buf_cstr(&buf);
        assert_int_equal(strlen(whole), first + 4 + sizeof(text));
        assert_memory_equal(whole + first, "bcdea", 5);
        assert_int_equal(whole[first + 3 + sizeof(text)], 'a');
        tk_buf_dispose(&buf);
    }
}

static void test_buf_reserve_all(void **unused)
{
    tk_buf buf;
    tk_buf_init(&buf, 600);
    char *room = tk_buf_reserve(&buf, 600);
    assert_non_null(room);
    memset(room, 'x', 600);
    tk_buf_advance(&buf, 600);
    assert_int_equal(buf.n, 600);
    assert_int_equal(strlen(tk_buf_cstr(&buf)), 600);
    assert_true(buf.capacity <= 601);
    tk_buf_dispose(&buf);
}

static void test_buf_cap_is_exact(void **unused)
{
    tk_buf buf;
    tk_buf_init(&buf, 5);
    tk_buf_puts(&buf, "12345");
    assert_string_equal(tk_buf_cstr(&buf), "12345"); /* the NUL does not count */
    assert_true(buf.capacity <= 6);
    tk_buf_advance(&buf, 1); /* room for the NUL is not room for data */
    assert_int_equal(buf.n, 5);
    tk_buf_putc(&buf, '6');
    assert_int_equal(buf.failure, TINKC_E_LIMIT);
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_buf_status(&buf, &err), TINKC_E_LIMIT);
    assert_non_null(strstr(err.message, "5 bytes"));
    tk_buf_clear(&buf);
    tk_buf_printf(&buf, "%s", "12345");
    assert_string_equal(tk_buf_cstr(&buf), "12345");
    tk_buf_printf(&buf, "%d", 6);
    assert_int_equal(buf.failure, TINKC_E_LIMIT);
    tk_buf_dispose(&buf);
}

static void test_buf_failure_is_sticky(void **unused)
{
    tk_buf buf;
    tk_buf_init(&buf, 64);
    tk_buf_puts(&buf, "good");
    tk_buf_fail(&buf, TINKC_E_INVALID);
    tk_buf_fail(&buf, TINKC_E_NOMEM); /* the first one wins */
    tk_buf_puts(&buf, "more");
    tk_buf_putc(&buf, 'm');
    tk_buf_printf(&buf, "m");
    tk_buf_advance(&buf, 1);
    assert_null(tk_buf_reserve(&buf, 1));
    assert_null(tk_buf_cstr(&buf));
    assert_int_equal(buf.n, 4);
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_buf_status(&buf, &err), TINKC_E_INVALID);
    size_t n = 9;
    assert_null(tk_buf_take(&buf, &n));
    assert_int_equal(n, 0);
    tk_buf_puts(&buf, "fresh"); /* taking emptied it, failure included */
    assert_string_equal(tk_buf_cstr(&buf), "fresh");
    tk_buf_dispose(&buf);
}

static void test_buf_huge_request(void **unused)
{
    tk_buf buf;
    tk_buf_init(&buf, 1000);
    tk_buf_puts(&buf, "x");
    assert_null(tk_buf_reserve(&buf, SIZE_MAX));
    assert_int_equal(buf.failure, TINKC_E_LIMIT);
    tk_buf_dispose(&buf);
}

static void test_buf_take(void **unused)
{
    tk_buf buf;
    tk_buf_init(&buf, 64);
    size_t n = 9;
    assert_null(tk_buf_take(&buf, &n));
    assert_int_equal(n, 0);
    assert_non_null(tk_buf_reserve(&buf, 10)); /* memory, but no bytes: still empty */
    assert_null(tk_buf_take(&buf, &n));
    tk_buf_puts(&buf, "mine");
    char *p = tk_buf_take(&buf, &n);
    assert_int_equal(n, 4);
    assert_memory_equal(p, "mine", 4);
    assert_null(buf.p);
    tk_free(p);
    tk_buf_dispose(&buf);
}

static bool grow_a_lot(void *user)
{
    tk_buf buf;
    tk_buf_init(&buf, 100000);
    for (int i = 0; i < 2000; i++) {
        tk_buf_printf(&buf, "%d,", i);
        tk_buf_put(&buf, "0123456789", 10);
    }
    const char *text = tk_buf_cstr(&buf);
    tk_err err = TK_ERR_INIT;
    tinkc_code code = tk_buf_status(&buf, &err);
    if (code != TINKC_OK) {
        assert_int_equal(code, TINKC_E_NOMEM);
        assert_int_equal(err.code, TINKC_E_NOMEM);
        assert_null(text);
    } else {
        assert_int_equal(strlen(text), 8890 + 20000);
    }
    tk_buf_dispose(&buf);
    return code == TINKC_OK;
}

static void test_buf_sweep(void **unused)
{
    assert_in_range(failmem_sweep(grow_a_lot, NULL, 1), 5, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buf_appends),
        cmocka_unit_test(test_buf_growth),
        cmocka_unit_test(test_buf_reserve_all),
        cmocka_unit_test(test_buf_cap_is_exact),
        cmocka_unit_test(test_buf_failure_is_sticky),
        cmocka_unit_test(test_buf_huge_request),
        cmocka_unit_test(test_buf_take),
        cmocka_unit_test(test_buf_sweep),
    };
    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
