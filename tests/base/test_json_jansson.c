/* Random documents, whole and damaged, through our reader and through jansson's.
 * Links: jansson */
#include <stdio.h>

#include "support/json_oracle.h"
#include "support/test.h"

static uint64_t state = 1;

static size_t pick(size_t n)
{
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (size_t)(state >> 33) % n;
}

static void put_blank(tk_buf *out)
{
    static const char *const blanks[] = {"", "", "", "", " ", "\n", "\t\r ", "  "};
    tk_buf_puts(out, blanks[pick(TK_ARRAY_LEN(blanks))]);
}

static void put_number(tk_buf *out)
{
    switch (pick(6)) {
    case 0:
        tk_buf_printf(out, "%d", (int)pick(200000) - 1000);
        break;
    case 1:
        tk_buf_printf(out, "%lld", (long long)(state * 0x9E3779B97F4A7C15U));
        break;
    case 2:
        tk_buf_printf(out, "-%zu.%zu", pick(30), pick(1000000000));
        break;
    case 3:
        tk_buf_printf(out, "%zue%d", pick(100000), (int)pick(630) - 330);
        break;
    case 4:
        tk_buf_printf(out, "%.*e", (int)pick(30), (double)state / 3e12);
        break;
    default:
        tk_buf_printf(out, "%zu%09zu%09zu", pick(100) + 1, pick(1000000000),
                      pick(1000000000));
        break;
    }
}

static void put_string(tk_buf *out)
{
    static const char *const parts[] = {"a",
                                        "token",
                                        "plain text of some length",
                                        "\\n",
                                        "\\\"",
                                        "\\u00e9",
                                        "\u00e9",
                                        "\\u20ac",
                                        "\U0001F600",
                                        "\\ud83d\\ude00",
                                        "\\/",
                                        "\\\\",
                                        "\x7f",
                                        "\\u0001",
                                        "\u4e2d\u6587",
                                        "k1",
                                        "k2"};
    tk_buf_putc(out, '"');
    for (size_t n = pick(5); n > 0; n--) {
        tk_buf_puts(out, parts[pick(TK_ARRAY_LEN(parts))]);
    }
    tk_buf_putc(out, '"');
}

static void put_random(tk_buf *out, size_t depth);

static void put_items(tk_buf *out, size_t depth)
{
    bool numbers = pick(2) == 0;
    size_t n = pick(numbers ? 40 : 6);
    tk_buf_putc(out, '[');
    for (size_t i = 0; i < n; i++) {
        tk_buf_puts(out, i > 0 ? "," : "");
        put_blank(out);
        if (numbers && pick(60) != 0) {
            put_number(out);
        } else {
            put_random(out, depth - 1);
        }
        put_blank(out);
    }
    tk_buf_putc(out, ']');
}

static void put_members(tk_buf *out, size_t depth)
{
    size_t n = pick(6);
    tk_buf_putc(out, '{');
    for (size_t i = 0; i < n; i++) {
        tk_buf_puts(out, i > 0 ? "," : "");
        put_blank(out);
        put_string(out);
        put_blank(out);
        tk_buf_putc(out, ':');
        put_random(out, depth - 1);
        put_blank(out);
    }
    tk_buf_putc(out, '}');
}

static void put_random(tk_buf *out, size_t depth)
{
    static const char *const words[] = {"null", "true", "false"};
    put_blank(out);
    switch (pick(depth > 0 ? 7 : 3)) {
    case 0:
        tk_buf_puts(out, words[pick(3)]);
        break;
    case 1:
        put_number(out);
        break;
    case 2:
        put_string(out);
        break;
    case 3:
    case 4:
        put_members(out, depth);
        break;
    default:
        put_items(out, depth);
        break;
    }
}

/* A byte changed, removed or doubled, or the end cut off. */
static void damage(tk_buf *text)
{
    static const char bytes[] = "[]{},:\"\\0123456789-+.eE tfnu/x\n\x80\xc3\xed\xff";
    if (text->n == 0) {
        return;
    }
    size_t at = pick(text->n);
    switch (pick(4)) {
    case 0:
        text->p[at] = bytes[pick(sizeof(bytes))];
        break;
    case 1:
        memmove(text->p + at, text->p + at + 1, text->n - at - 1);
        text->n--;
        break;
    case 2:
        text->n = at;
        break;
    default:
        text->p[at] = text->p[pick(text->n)];
        break;
    }
}

static void check(const tk_buf *text)
{
    const char *verdict = json_oracle_check(text->p, text->n);
    if (verdict != NULL) {
        fail_msg("%s: %.*s", verdict, (int)text->n, text->p);
    }
}

static void test_random_documents(void **unused)
{
    size_t accepted = 0;
    for (uint64_t seed = 1; seed <= 6000; seed++) {
        state = seed;
        tk_buf text;
        tk_buf_init(&text, TK_MIB);
        put_random(&text, 5);
        assert_int_equal(tk_buf_status(&text, NULL), TINKC_OK);
        check(&text);
        tk_arena arena = {0};
        const tk_json *value;
        accepted += tk_json_parse(&value, &arena, text.p, text.n, NULL, NULL) == TINKC_OK;
        tk_arena_dispose(&arena);
        for (size_t n = pick(3) + 1; n > 0; n--) {
            damage(&text);
            check(&text);
        }
        tk_buf_dispose(&text);
    }
    assert_int_equal(accepted, 6000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_documents),
    };
    return cmocka_run_group_tests_name("json_jansson", tests, NULL, NULL);
}
