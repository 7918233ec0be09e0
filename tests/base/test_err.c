/* tk_err: the first error wins, text is one clean line, paths grow inside out. */
#include "base/err.h"

#include <errno.h>

#include "base/str.h"
#include "support/test.h"

static void test_err_first_wins(void **unused)
{
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_err_set(&err, TINKC_E_LIMIT, "first %d", 1), TINKC_E_LIMIT);
    assert_int_equal(tk_err_at(&err, TINKC_E_PARSE, 9, "second"), TINKC_E_PARSE);
    assert_int_equal(err.code, TINKC_E_LIMIT);
    assert_true(err.offset == TK_ERR_NO_OFFSET);
    assert_string_equal(err.message, "first 1");
    tk_err_clear(&err);
    assert_int_equal(err.code, TINKC_OK);
    assert_int_equal(err.retry_after_ms, -1);
    assert_int_equal(tk_err_at(&err, TINKC_E_PARSE, 9, "third"), TINKC_E_PARSE);
    assert_int_equal(err.offset, 9);
}

static void test_err_null_is_accepted(void **unused)
{
    assert_int_equal(tk_err_set(NULL, TINKC_E_IO, "x"), TINKC_E_IO);
    assert_int_equal(tk_err_nomem(NULL), TINKC_E_NOMEM);
    tk_err_under(NULL, "a");
    tk_err_under_index(NULL, 1);
    tk_err_clear(NULL);
}

static void test_err_long_text_is_cut_at_a_character(void **unused)
{
    for (size_t lead = 0; lead < 4; lead++) {
        char text[TK_ERR_MESSAGE_BYTES * 2];
        memset(text, 'a', lead);
        for (size_t i = lead; i + 4 < sizeof(text); i += 4) {
            memcpy(text + i, "\xF0\x9F\x98\x80", 5);
        }
        tk_err err = TK_ERR_INIT;
        (void)tk_err_set(&err, TINKC_E_INVALID, "%s", text);
        size_t n = strlen(err.message);
        assert_true(n < TK_ERR_MESSAGE_BYTES);
        assert_true(n + 4 >= TK_ERR_MESSAGE_BYTES);
        assert_int_equal((n - lead) % 4, 0);
    }
}

/* The text that is longer than there is room by exactly one byte. */
static void test_err_text_one_byte_too_long(void **unused)
{
    char text[TK_ERR_MESSAGE_BYTES + 1];
    memset(text, 'a', sizeof(text));
    memcpy(text + TK_ERR_MESSAGE_BYTES - 2, "\xC3\xA9", 3);
    tk_err err = TK_ERR_INIT;
    (void)tk_err_set(&err, TINKC_E_INVALID, "%s", text);
    assert_int_equal(strlen(err.message), TK_ERR_MESSAGE_BYTES - 2);
    assert_null(strchr(err.message, '?'));
}

static void test_err_hostile_text_is_one_clean_line(void **unused)
{
    tk_err err = TK_ERR_INIT;
    (void)tk_err_set(&err, TINKC_E_STATUS, "a\r\nb\x1b[31m\x7f \xC3\xA9 \xFF");
    assert_string_equal(err.message, "a  b [31m  \xC3\xA9 ?");
}

static void test_err_paths(void **unused)
{
    tk_err err = TK_ERR_INIT;
    tk_err_under(&err, "ignored"); /* no error yet */
    assert_string_equal(err.path, "");
    (void)tk_err_set(&err, TINKC_E_DECODE, "wrong type");
    tk_err_under(&err, "weights");
    tk_err_under_index(&err, 3);
    tk_err_under(&err, "data");
    assert_string_equal(err.path, "data[3].weights");
    for (int i = 0; i < 40; i++) {
        tk_err_under(&err, "deep\xC3\xA9");
    }
    assert_true(strlen(err.path) < TK_ERR_PATH_BYTES);
    assert_int_equal(strncmp(err.path, "deep\xC3\xA9.deep", 11), 0);
}

static void test_err_sys(void **unused)
{
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_err_sys(&err, ENOENT, "open %s", "/x"), TINKC_E_IO);
    assert_string_equal(err.message, "open /x: No such file or directory");
    tk_err_clear(&err);
    assert_int_equal(tk_err_sys(&err, ENOMEM, "mmap"), TINKC_E_NOMEM);
    tk_err_clear(&err);
    assert_int_equal(tk_err_sys(&err, 987654, "x"), TINKC_E_IO);
    assert_string_equal(err.message, "x: unknown error");
    tk_err_clear(&err);
    char path[1000];
    memset(path, 'p', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(tk_err_sys(&err, EACCES, "open %s", path), TINKC_E_IO);
    assert_non_null(strstr(err.message, "p: Permission denied")); /* the end survives */
}

static void test_err_code_of_every_status(void **unused)
{
    static const int known[] = {400, 401, 402, 403, 404, 409, 410, 422, 429};
    for (int status = -1; status < 1000; status++) {
        tinkc_code expected = TINKC_E_STATUS;
        for (size_t i = 0; i < TK_ARRAY_LEN(known); i++) {
            if (known[i] == status) {
                expected = (tinkc_code)(TINKC_E_BAD_REQUEST + i);
            }
        }
        if (status >= 500 && status < 600) {
            expected = TINKC_E_SERVER;
        }
        assert_int_equal(tk_err_code_of_status(status), expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_err_first_wins),
        cmocka_unit_test(test_err_null_is_accepted),
        cmocka_unit_test(test_err_long_text_is_cut_at_a_character),
        cmocka_unit_test(test_err_text_one_byte_too_long),
        cmocka_unit_test(test_err_hostile_text_is_one_clean_line),
        cmocka_unit_test(test_err_paths),
        cmocka_unit_test(test_err_sys),
        cmocka_unit_test(test_err_code_of_every_status),
    };
    return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
