/* Conversations that were made to be slow to lay out. */
#include "base/buf.h"
#include "support/test.h"
#include "text/chat/chat.h"

typedef struct kit {
    tk_chat_template *tpl;
    tk_chat chat;
    tk_err err;
} kit;

/* One message of a role whose content is n times the part. */
static void open_kit(kit *k, const char *source, const char *role, const char *part,
                     size_t n)
{
    tk_buf json;
    k->err = (tk_err)TK_ERR_INIT;
    tk_buf_init(&json, 64 * TK_MIB);
    tk_buf_printf(&json, "{\"role\": \"%s\", \"content\": [", role);
    for (size_t i = 0; i < n; i++) {
        tk_buf_puts(&json, i > 0 ? "," : "");
        tk_buf_puts(&json, part);
    }
    tk_buf_puts(&json, "]}");
    tk_chat_init(&k->chat);
    assert_int_equal(tk_chat_add_json(&k->chat, tk_buf_str(&json), &k->err), TINKC_OK);
    assert_int_equal(tk_chat_template_new(&k->tpl, tk_str_of(source), &k->err), TINKC_OK);
    tk_buf_dispose(&json);
}

static void close_kit(kit *k)
{
    tk_chat_template_free(k->tpl);
    tk_chat_dispose(&k->chat);
}

/* The texts of a message are visited once each: counting up to each would not end. */
static void test_chat_many_parts(void **unused)
{
    (void)unused;
    kit k;
    open_kit(&k, "<{{ messages[0].content[0].text }}>", "assistant", "{\"text\":\"a\"}",
             100000);
    tk_chat_how how = {.continue_final = true};
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    assert_int_equal(tk_chat_render(&out, k.tpl, &k.chat, &how, &k.err), TINKC_OK);
    assert_true(tk_str_is(tk_buf_str(&out), "<a"));
    tk_buf_dispose(&out);
    close_kit(&k);
}

/* Each part is searched for in its message: what would take the square of a long one is
 * refused. */
static void test_chat_search_is_bounded(void **unused)
{
    (void)unused;
    static const char source[] =
        "{% for m in messages %}{% for p in m.content %}{{ p.text }}"
        "{% endfor %}{% endfor %}";
    static const struct {
        size_t n;
        tinkc_code wanted;
    } rows[] = {{100, TINKC_OK}, {40000, TINKC_E_LIMIT}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        kit k;
        open_kit(&k, source, "user", "{\"text\":\"the same\"}", rows[i].n);
        tk_chat_layout layout = {.n = 0};
        tk_chat_how how = {.strict = true};
        assert_int_equal(
            tk_chat_lay_out(&layout, k.tpl, &k.chat, &how, TK_CHAT_LOSS_ALL, &k.err),
            rows[i].wanted);
        assert_int_equal(layout.n, rows[i].wanted == TINKC_OK ? 2 : 0);
        tk_chat_layout_dispose(&layout);
        close_kit(&k);
    }
}

/* Variables are compared with each other: more than anybody sets are refused, and the
 * conversation is as it was. */
static void test_chat_many_variables(void **unused)
{
    (void)unused;
    tk_buf json;
    kit k;
    open_kit(&k, "{{ v1 }}{{ messages|length }}", "user", "1", 1);
    assert_int_equal(tk_chat_set(&k.chat, TK_STR("v1"), TK_STR("5"), &k.err), TINKC_OK);
    tk_buf_init(&json, 16 * TK_MIB);
    tk_buf_puts(&json, "{\"messages\": [{}]");
    for (size_t i = 0; i < 100000; i++) {
        tk_buf_printf(&json, ",\"v%zu\":%zu", i, i);
    }
    tk_buf_puts(&json, "}");
    assert_int_equal(tk_chat_add_json(&k.chat, tk_buf_str(&json), &k.err), TINKC_E_LIMIT);
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    assert_int_equal(tk_chat_render(&out, k.tpl, &k.chat, &(tk_chat_how){0}, &k.err),
                     TINKC_OK);
    assert_true(tk_str_is(tk_buf_str(&out), "51"));
    tk_buf_dispose(&out);
    tk_buf_dispose(&json);
    close_kit(&k);
}

/* Reasoning comes before the content; a part without text, and arrays of numbers, have
 * none. */
static void test_chat_texts(void **unused)
{
    (void)unused;
    static const char json[] =
        "{\"content\": [{\"text\": \"c\"}, {\"type\": \"image\"}, 5, {\"text\": \"d\"}],"
        "\"thinking\": [1, 2, 3], \"reasoning_content\": \"r\"}";
    static const char *const wanted[] = {"r", "c", "d"};
    kit k;
    open_kit(&k, "", "user", "1", 3);
    assert_int_equal(tk_chat_add_json(&k.chat, tk_str_of(json), &k.err), TINKC_OK);
    tk_chat_texts at = {.message = &k.chat.messages[1]};
    tk_str text;
    for (size_t i = 0; i < TK_ARRAY_LEN(wanted); i++) {
        assert_true(tk_chat_text_next(&at, &text) && tk_str_is(text, wanted[i]));
    }
    assert_false(tk_chat_text_next(&at, &text));
    assert_false(tk_chat_text_next(&at, &text));
    at = (tk_chat_texts){.message = &k.chat.messages[0]};
    assert_false(tk_chat_text_next(&at, &text));
    close_kit(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chat_many_parts),
        cmocka_unit_test(test_chat_search_is_bounded),
        cmocka_unit_test(test_chat_many_variables),
        cmocka_unit_test(test_chat_texts),
    };
    return cmocka_run_group_tests_name("chat_layout", tests, NULL, NULL);
}
