/* Records are the same however the bytes come: whole, or one by one.
 * Links: text */
#include <stdio.h>

#include "base/limits.h"
#include "base/mem.h"
#include "cli/data/data_split.h"
#include "support/test.h"

/* Appends "LINE[TEXT]" or "LINE!PROBLEM" for each record. */
static void put(tk_buf *out, const data_piece *piece)
{
    if (piece->problem != NULL) {
        tk_buf_printf(out, "%zu!%s ", piece->line, piece->problem);
    } else {
        tk_buf_printf(out, "%zu[" TK_STR_FMT "] ", piece->line, TK_STR_ARG(piece->text));
    }
}

static void cut(tk_buf *out, data_layout layout, const char *text, size_t n, size_t step)
{
    data_split split;
    data_piece piece;
    data_split_init(&split, layout, ',');
    for (size_t at = 0; at < n; at += step) {
        tk_str rest = {text + at, TK_MIN(step, n - at)};
        while (data_split_next(&split, &rest, &piece)) {
            put(out, &piece);
        }
    }
    while (data_split_end(&split, &piece)) {
        put(out, &piece);
    }
    assert_false(split.is_starved);
    data_split_dispose(&split);
}

static void test_data_split_records(void **state)
{
    static const struct {
        data_layout layout;
        const char *text, *records;
    } cases[] = {
        {DATA_LINES, "", ""},
        {DATA_LINES, "a\n\n  \r\n b \r\nc", "1[a] 4[b] 5[c] "},
        {DATA_LINES, "{\n\"x\n", "1[{] 2[\"x] "},
        {DATA_ARRAY, "[]", ""},
        {DATA_ARRAY, "[ 1,\n[2,3] ,\n\n {\"a]\": \"\\\"],\"}]\n",
         "1[1] 2[[2,3]] 4[{\"a]\": \"\\\"],\"}] "},
        {DATA_ARRAY, "[1,,2,]", "1[1] 1[2] "},
        {DATA_ARRAY, "[1,\n[2", "1[1] 2!the file ends inside its JSON array "},
        {DATA_ARRAY, "[1]\nx", "1[1] 2!text outside the JSON array "},
        {DATA_ARRAY, " x[1]", "1!text outside the JSON array "},
        {DATA_VALUES, "{\n}\n{\"}\": [\n]}  3\n\"}\"\n",
         "1[{\n}] 3[{\"}\": [\n]}] 4[3] 5[\"}\"] "},
        {DATA_CSV, "a,b\r\n\r\n1,\"2\r\n\"\"3\"\r4,5\"6\n7",
         "1[a,b] 3[1,\"2\r\n\"\"3\"] "
         "5[4,5\"6] 6[7] "},
        {DATA_CSV, "a\n\"b\nc", "1[a] 2!the file ends inside quotes "},
        {DATA_PLAIN, "a\n\nb", "1[a\n\nb] "},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        size_t n = strlen(cases[i].text);
        for (size_t step = 1; step <= n + 1; step++) {
            tk_buf out;
            tk_buf_init(&out, TK_MIB);
            cut(&out, cases[i].layout, cases[i].text, n, step);
            tk_buf_putc(&out, '\0');
            if (strcmp(out.p, cases[i].records) != 0) {
                fail_msg("case %zu, step %zu: %s", i, step, out.p);
            }
            tk_buf_dispose(&out);
        }
    }
}

/* A record that is too long is left out; the one after it is found. */
static void test_data_split_too_long(void **state)
{
    size_t n = TK_DATA_RECORD_BYTES + 2;
    char *text = tk_malloc(n + 3);
    tk_buf out;
    assert_non_null(text);
    memset(text, 'x', n);
    memcpy(text + n, "\nb\n", 3);
    tk_buf_init(&out, TK_MIB);
    cut(&out, DATA_LINES, text, n + 3, 65536);
    tk_buf_putc(&out, '\0');
    assert_string_equal(out.p, "1!longer than 16 MiB 2[b] ");
    tk_buf_clear(&out);
    cut(&out, DATA_LINES, text + 2, n + 1, 65536); /* exactly as long as it may be */
    assert_true(out.n > TK_MIB || out.failure == TINKC_E_LIMIT);
    tk_buf_dispose(&out);
    tk_free(text);
}

/* Plain text is cut at a line where one ends in time, and never inside a character. */
static void test_data_split_plain(void **state)
{
    size_t n = 3 * TK_MIB;
    char *text = tk_malloc(n);
    data_split split;
    data_piece piece;
    size_t lines = 0, bytes = 0;
    assert_non_null(text);
    for (size_t i = 0; i < n; i++) {
        text[i] = "\xe6\xbc\xa2"[i % 3];
    }
    text[40 * TK_KIB + 1] = '\n'; /* the character is broken, which is not looked at */
    data_split_init(&split, DATA_PLAIN, 0);
    tk_str rest = {text, n};
    while (data_split_next(&split, &rest, &piece)) {
        if (lines++ == 0) {
            assert_int_equal(piece.text.n, 40 * TK_KIB + 2);
        } else {
            assert_true(piece.text.n >= TK_DATA_PLAIN_BYTES);
            assert_true(piece.text.n < TK_DATA_PLAIN_BYTES + 4);
            assert_int_equal(piece.line, 2);
        }
        bytes += piece.text.n;
    }
    assert_true(data_split_end(&split, &piece));
    assert_int_equal(bytes + piece.text.n, n);
    assert_int_equal(lines, 3);
    data_split_dispose(&split);
    tk_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data_split_records),
        cmocka_unit_test(test_data_split_too_long),
        cmocka_unit_test(test_data_split_plain),
    };
    return cmocka_run_group_tests_name("data_split", tests, NULL, NULL);
}
