/* Which part of a text belongs to which message and what is trained; templates for which
 * that cannot be known; conversations that were made to be slow to lay out. */
#include "base/buf.h"
#include "support/failmem.h"
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

/* Variables are compared with each other: an absurd number is refused, and the
 * conversation is as it was. */
static void test_chat_many_variables(void **unused)
{
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

/* ---- what is trained ---- */

static const char plain[] = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>\n"
                            "{% endfor %}{% if add_generation_prompt %}<assistant>"
                            "{% endif %}";
static const char marked[] = "{% for m in messages %}<{{ m.role }}>{% generation %}"
                             "{{ m.content if m.role == 'assistant' }}{% endgeneration %}"
                             "{{ m.content if m.role != 'assistant' }};{% endfor %}";
static const char header[] =
    "BOS{% for m in messages %}[{{ m.role }}]{{ m.content|trim }};"
    "{% endfor %}{{ '[assistant]' if add_generation_prompt }}";
/* Shows reasoning in the last turn only, as several families do. */
static const char forgetful[] = "{% for m in messages %}{{ m.content if loop.last else "
                                "m.content.split('T')[-1] }};{% endfor %}";
static const char strict[] =
    "{% if not messages %}{{ raise_exception('empty') }}{% endif %}"
    "{% for m in messages %}{{ m.role }}={{ m.content }};"
    "{% endfor %}{{ 'assistant=' if add_generation_prompt }}";

static const char two[] = "[{\"role\":\"user\",\"content\":\"Hi\"},"
                          "{\"role\":\"assistant\",\"content\":\"Yo\"}]";
static const char four[] = "[{\"role\":\"user\",\"content\":\"a\"},"
                           "{\"role\":\"assistant\",\"content\":\"b\"},"
                           "{\"role\":\"user\",\"content\":\"assistant\"},"
                           "{\"role\":\"assistant\",\"content\":\"d \"}]";

/* Each part as MESSAGE KIND TRAINED "text": a message's number or -, c for its content or
 * t for the template's text, + or -. */
static void put_parts(tk_buf *out, const tk_chat_layout *layout)
{
    size_t at = 0;
    for (size_t i = 0; i < layout->n; i++) {
        const tk_chat_part *p = &layout->parts[i];
        assert_int_equal(p->begin, at); /* the parts cover the text */
        at = p->end;
        if (p->message < 0) {
            tk_buf_puts(out, "-");
        } else {
            tk_buf_printf(out, "%d", (int)p->message);
        }
        tk_buf_printf(out, "%c%c", p->is_content ? 'c' : 't', p->is_trained ? '+' : '-');
        tk_buf_put(out, layout->text.p + p->begin, p->end - p->begin);
        tk_buf_puts(out, "|");
    }
    assert_int_equal(layout->text.n, at);
}

static tinkc_code lay_out(tk_chat_layout *out, const char *source, const char *json,
                          tk_chat_loss loss, tk_err *err)
{
    tk_chat_template *tpl = NULL;
    tk_chat chat;
    tk_chat_how how = {.strict = true};
    tk_chat_init(&chat);
    tinkc_code code = tk_chat_template_new(&tpl, tk_str_of(source), err);
    if (code == TINKC_OK) {
        code = tk_chat_add_json(&chat, tk_str_of(json), err);
    }
    if (code == TINKC_OK) {
        code = tk_chat_lay_out(out, tpl, &chat, &how, loss, err);
    }
    tk_chat_dispose(&chat);
    tk_chat_template_free(tpl);
    return code;
}

static const struct {
    const char *source, *json;
    tk_chat_loss loss;
    const char *parts;
} masks[] = {
    {plain, two, TK_CHAT_LOSS_ASSISTANT,
     "0t-<user>|0c-Hi|0t-</>\n|1t-<assistant>|1c+Yo|1t+</>|1t-\n|"},
    {plain, two, TK_CHAT_LOSS_LAST,
     "0t-<user>|0c-Hi|0t-</>\n|1t-<assistant>|1c+Yo|1t+</>|1t-\n|"},
    {plain, two, TK_CHAT_LOSS_ALL,
     "0t+<user>|0c+Hi|0t+</>\n|1t+<assistant>|1c+Yo|1t+</>\n|"},
    {plain, four, TK_CHAT_LOSS_ASSISTANT,
     "0t-<user>|0c-a|0t-</>\n|1t-<assistant>|1c+b|1t+</>|1t-\n|2t-<user>|2c-assistant|"
     "2t-</>\n|3t-<assistant>|3c+d |3t+</>|3t-\n|"},
    {plain, four, TK_CHAT_LOSS_LAST,
     "0t-<user>|0c-a|0t-</>\n|1t-<assistant>|1c-b|1t-</>\n|2t-<user>|2c-assistant|"
     "2t-</>\n|3t-<assistant>|3c+d |3t+</>|3t-\n|"},
    {plain, "[{\"role\":\"user\",\"content\":\"x\"}]", TK_CHAT_LOSS_ASSISTANT,
     "0t-<user>|0c-x|0t-</>\n|"},
    {plain, "[]", TK_CHAT_LOSS_ALL, ""},
    {plain, "[{\"role\":\"assistant\",\"content\":\"\"}]", TK_CHAT_LOSS_ASSISTANT,
     "0t-<assistant>|0t+</>|0t-\n|"},
    {marked, two, TK_CHAT_LOSS_ASSISTANT,
     "0t-<user>|0c-Hi|0t-;|1t-<assistant>|1c+Yo|1t-;|"},
    {marked, four, TK_CHAT_LOSS_ASSISTANT,
     "0t-<user>|0c-a|0t-;|1t-<assistant>|1c+b|1t-;|2t-<user>|2c-assistant|2t-;|"
     "3t-<assistant>|3c+d |3t-;|"},
    {marked, four, TK_CHAT_LOSS_LAST,
     "0t-<user>|0c-a|0t-;|1t-<assistant>|1c-b|1t-;|2t-<user>|2c-assistant|2t-;|"
     "3t-<assistant>|3c+d |3t-;|"},
    {header, two, TK_CHAT_LOSS_ASSISTANT,
     "-t-BOS|0t-[user]|0c-Hi|0t-;|1t-[assistant]|1c+Yo|1t+;|"},
    {header, four, TK_CHAT_LOSS_LAST,
     "-t-BOS|0t-[user]|0c-a|0t-;|1t-[assistant]|1c-b|1t-;|2t-[user]|2c-assistant|2t-;|"
     "3t-[assistant]|3c+d|3t+;|"},
    {strict, two, TK_CHAT_LOSS_ASSISTANT,
     "0t-user=|0c-Hi|0t-;|1t-assistant=|1c+Yo|1t+;|"},
    {forgetful,
     "[{\"role\":\"user\",\"content\":\"1T2\"},{\"role\":\"assistant\","
     "\"content\":\"3\"}]",
     TK_CHAT_LOSS_ALL, "-t+2;3;|"},
    /* A generation block that is never reached marks nothing. */
    {"{% if 0 %}{% generation %}{% endgeneration %}{% endif %}{% for m in messages %}"
     "{{ m.role }}={{ m.content }};{% endfor %}{{ 'assistant=' if add_generation_prompt }}",
     two, TK_CHAT_LOSS_ASSISTANT, "0t-user=|0c-Hi|0t-;|1t-assistant=|1c+Yo|1t+;|"},
    /* Beginnings of the text that grow shorter tell nothing about the messages. */
    {"{{ ['', 'ab', 'a', 'abc'][messages|length] }}", "[{}, {}, {}]", TK_CHAT_LOSS_ALL,
     "-t+a|-t+b|-t+c|"},
    {"no messages at all", two, TK_CHAT_LOSS_ALL, "-t+no messages at all|"},
};

static void test_chat_layout_masks(void **unused)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(masks); i++) {
        tk_chat_layout layout = {.n = 0};
        tk_err err = TK_ERR_INIT;
        tk_buf got;
        tk_buf_init(&got, TK_MIB);
        if (lay_out(&layout, masks[i].source, masks[i].json, masks[i].loss, &err) !=
            TINKC_OK) {
            fail_msg("row %zu: %s", i, err.message);
        }
        put_parts(&got, &layout);
        if (!tk_str_is(tk_buf_str(&got), masks[i].parts)) {
            fail_msg("row %zu: %.*s", i, (int)got.n, got.p != NULL ? got.p : "");
        }
        tk_buf_dispose(&got);
        tk_chat_layout_dispose(&layout);
    }
}

/* A turn that cannot be found is refused, naming the message. */
static void test_chat_layout_unstable(void **unused)
{
    static const struct {
        const char *source, *json, *text;
    } rows[] = {
        {"{% for m in messages %}{{ m.content }}{% endfor %}{{ messages|length }}", two,
         "message 1: what comes before it, with the generation prompt, is not a beginning"},
        {"{{ 'X' if add_generation_prompt }}{% for m in messages %}{{ m.content }}"
         "{% endfor %}",
         two,
         "message 1: what comes before it, with the generation prompt, is not a beginning"},
        {"{% if messages|length == 1 and add_generation_prompt %}{{ raise_exception('one') "
         "}}{% endif %}{% for m in messages %}{{ m.content }}{% endfor %}",
         two,
         "message 1: what comes before it, with the generation prompt, is not a beginning "
         "of the whole conversation's text: template line 1: one;"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_chat_layout layout = {.n = 0};
        tk_err err = TK_ERR_INIT;
        assert_int_equal(
            lay_out(&layout, rows[i].source, rows[i].json, TK_CHAT_LOSS_ASSISTANT, &err),
            TINKC_E_UNSUPPORTED);
        if (strncmp(err.message, rows[i].text, strlen(rows[i].text)) != 0) {
            fail_msg("row %zu: %s", i, err.message);
        }
        assert_int_equal(layout.n, 0);
    }
}

/* The template's own refusal is reported as it is. */
static void test_chat_layout_raises(void **unused)
{
    tk_chat_layout layout = {.n = 0};
    tk_err err = TK_ERR_INIT;
    assert_int_equal(
        lay_out(&layout, "{{ raise_exception('no') }}", two, TK_CHAT_LOSS_ALL, &err),
        TINKC_E_INVALID);
    assert_string_equal(err.message, "template line 1: no");
}

static bool lay_out_once(void *user)
{
    tk_chat_layout layout = {.n = 0};
    tk_err err = TK_ERR_INIT;
    const char *source = user;
    tinkc_code code = lay_out(&layout, source, four, TK_CHAT_LOSS_ASSISTANT, &err);
    tk_chat_layout_dispose(&layout);
    return code == TINKC_OK;
}

static void test_chat_layout_out_of_memory(void **unused)
{
    char copy[sizeof(plain)];
    memcpy(copy, plain, sizeof(plain));
    assert_true(failmem_sweep(lay_out_once, copy, 1) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chat_many_parts),
        cmocka_unit_test(test_chat_search_is_bounded),
        cmocka_unit_test(test_chat_many_variables),
        cmocka_unit_test(test_chat_texts),
        cmocka_unit_test(test_chat_layout_masks),
        cmocka_unit_test(test_chat_layout_unstable),
        cmocka_unit_test(test_chat_layout_raises),
        cmocka_unit_test(test_chat_layout_out_of_memory),
    };
    return cmocka_run_group_tests_name("chat_layout", tests, NULL, NULL);
}
