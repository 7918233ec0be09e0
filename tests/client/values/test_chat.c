/* <tinkc/chat.h>: templates and conversations (A-133, A-134, M-136), what is trained and
 * what is warned about, the datum. The tokenizer is the embedded model's.
 * Links: text */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <tinkc/chat.h>
#include <tinkc/service.h>
#include <unistd.h>

#include "base/file.h"
#include "support/failmem.h"
#include "support/test.h"

#define PEBBLE TEST_DATA_DIR "/../../models/pebble-llama-2m"

static const char talk[] =
    "[{\"role\": \"user\", \"content\": \"Hi\"}, {\"role\": \"assistant\", \"content\": "
    "\"Hello\"}, {\"role\": \"user\", \"content\": \"assistant\"}, {\"role\": \"assistant\", "
    "\"content\": \"Bye \"}]";

/* With reasoning that is shown for the last turn only, as several families do it. */
static const char forgetful[] =
    "{% for m in messages %}<|{{ m.role }}|>"
    "{{ m.content if loop.last else m.content.split('</t>')[-1] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}";

typedef struct kit {
    tinkc_tokenizer *tokenizer;
    tinkc_chat_template *tpl;
    tinkc_chat *chat;
    tinkc_rendered *rendered;
    tinkc_error *error;
} kit;

static kit open_kit(const char *source, const char *json)
{
    kit k = {.tpl = NULL};
    assert_int_equal(tinkc_tokenizer_load(&k.tokenizer, PEBBLE, NULL), TINKC_OK);
    if (source != NULL) {
        assert_int_equal(tinkc_chat_template_new(&k.tpl, source, &k.error), TINKC_OK);
    } else {
        assert_int_equal(tinkc_chat_template_of(&k.tpl, k.tokenizer, NULL, &k.error),
                         TINKC_OK);
    }
    assert_int_equal(tinkc_chat_new(&k.chat, &k.error), TINKC_OK);
    assert_int_equal(tinkc_chat_add_json(k.chat, json, strlen(json), &k.error), TINKC_OK);
    return k;
}

static void close_kit(kit *k)
{
    tinkc_rendered_free(&k->rendered);
    tinkc_chat_free(&k->chat);
    tinkc_chat_template_free(&k->tpl);
    tinkc_tokenizer_free(&k->tokenizer);
    tinkc_error_free(&k->error);
}

static tinkc_code tokens(kit *k, tinkc_loss_on loss_on)
{
    tinkc_train_options options = TINKC_TRAIN_OPTIONS_INIT;
    options.loss_on = loss_on;
    tinkc_rendered_free(&k->rendered);
    return tinkc_chat_tokens(&k->rendered, k->tpl, k->chat, k->tokenizer, &options,
                             &k->error);
}

/* The text of the tokens with a weight, "|" between runs. */
static void check_trained(const kit *k, const char *wanted)
{
    size_t n = 0;
    const int32_t *ids = tinkc_rendered_tokens(&n, k->rendered);
    const float *weights = tinkc_rendered_weights(NULL, k->rendered);
    char text[512] = "";
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        tinkc_decode what = {sizeof(what), ids + i, 1, false};
        char *piece = NULL;
        assert_int_equal(tinkc_tokenizer_decode(&piece, NULL, k->tokenizer, &what, NULL),
                         TINKC_OK);
        if (weights[i] > 0) {
            at += (size_t)snprintf(text + at, sizeof(text) - at, "%s", piece);
        } else if (i > 0 && weights[i - 1] > 0) {
            at += (size_t)snprintf(text + at, sizeof(text) - at, "|");
        }
        tinkc_text_free(&piece);
    }
    assert_string_equal(text, wanted);
}

static void check_text(const kit *k, tinkc_chat_options options, const char *wanted)
{
    char *text = NULL;
    size_t n = 0;
    assert_int_equal(tinkc_chat_render(&text, &n, k->tpl, k->chat, &options, NULL),
                     TINKC_OK);
    assert_string_equal(text, wanted);
    assert_int_equal(n, strlen(wanted));
    tinkc_text_free(&text);
}

/* a conversation as text, with and without the generation prompt, and one to be
 * continued. */
static void test_chat_text(void **unused)
{
    kit k = open_kit(NULL, "{\"messages\": [], \"x\": 1}");
    assert_int_equal(tinkc_chat_add(k.chat, "user", "Hi", &k.error), TINKC_OK);
    tinkc_chat_options options = TINKC_CHAT_OPTIONS_INIT;
    check_text(&k, options, "<|endoftext|><|user|>Hi<|end|>");
    options.add_generation_prompt = true;
    check_text(&k, options, "<|endoftext|><|user|>Hi<|end|><|assistant|>");
    options.continue_final = true;
    char *text = NULL;
    assert_int_equal(tinkc_chat_render(&text, NULL, k.tpl, k.chat, &options, NULL),
                     TINKC_E_INVALID);
    assert_null(text);
    options.add_generation_prompt = false;
    assert_int_equal(tinkc_chat_add(k.chat, "assistant", "The answer", NULL), TINKC_OK);
    check_text(&k, options, "<|endoftext|><|user|>Hi<|end|><|assistant|>The answer");
    assert_int_equal(tinkc_chat_count(k.chat), 2);
    close_kit(&k);
}

/* variables, tools, the time; what the caller sets wins over the template's
 * own. */
static void test_chat_variables(void **unused)
{
    kit k =
        open_kit("{{ strftime_now('%Y') }} {{ bos_token }} {{ tools|tojson }} {{ x }}",
                 "{\"messages\": [], \"x\": {\"a\": [1, 2.5]}, \"bos_token\": \"B\"}");
    assert_int_equal(tinkc_chat_set(k.chat, "tools", "[{\"name\": \"f\"}]", NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_chat_set(k.chat, "x", "true", NULL), TINKC_OK);
    assert_int_equal(tinkc_chat_set(k.chat, "x", "{", NULL), TINKC_E_PARSE);
    tinkc_chat_options options = TINKC_CHAT_OPTIONS_INIT;
    options.now_us = 0;
    check_text(&k, options, "1970 B [{\"name\": \"f\"}] True");
    close_kit(&k);
}

/* a string, a list of named templates, a file. */
static void test_chat_template_sources(void **unused)
{
    char dir[] = "/tmp/tinkc-chat.XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/tokenizer_config.json", dir);
    static const char config[] =
        "{\"bos_token\": {\"content\": \"<s>\"}, \"chat_template\": [{\"name\": \"default\", "
        "\"template\": \"D{{ bos_token }}\"}, {\"name\": \"tool_use\", \"template\": \"T\"}]}";
    assert_int_equal(tk_file_replace(path, config, sizeof(config) - 1, 0600, NULL),
                     TINKC_OK);
    static const struct {
        const char *name, *tools, *wanted;
    } rows[] = {{NULL, NULL, "D<s>"},
                {NULL, "[]", "T"},
                {"default", "[]", "D<s>"},
                {"tool_use", NULL, "T"}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        kit k = {.tpl = NULL};
        assert_int_equal(
            tinkc_chat_template_load(&k.tpl, i % 2 == 0 ? dir : path, rows[i].name, NULL),
            TINKC_OK);
        assert_int_equal(tinkc_chat_new(&k.chat, NULL), TINKC_OK);
        if (rows[i].tools != NULL) {
            assert_int_equal(tinkc_chat_set(k.chat, "tools", rows[i].tools, NULL),
                             TINKC_OK);
        }
        tinkc_chat_options options = TINKC_CHAT_OPTIONS_INIT;
        check_text(&k, options, rows[i].wanted);
        close_kit(&k);
    }
    tinkc_chat_template *tpl = NULL;
    assert_int_equal(tinkc_chat_template_load(&tpl, dir, "nosuch", NULL),
                     TINKC_E_MISSING);
    assert_int_equal(tinkc_chat_template_load(&tpl, "/nonexistent", NULL, NULL),
                     TINKC_E_MISSING);
    assert_null(tpl);
    (void)unlink(path);
    (void)snprintf(path, sizeof(path), "%s/chat_template.jinja", dir);
    assert_int_equal(tk_file_replace(path, "J", 1, 0600, NULL), TINKC_OK);
    assert_int_equal(tinkc_chat_template_load(&tpl, dir, NULL, NULL), TINKC_OK);
    tinkc_chat_template_free(&tpl);
    assert_int_equal(tinkc_chat_template_load(&tpl, path, NULL, NULL), TINKC_OK);
    tinkc_chat_template_free(&tpl);
    (void)unlink(path);
    (void)rmdir(dir);
}

/* M-136: the tokens that are trained on, for each choice of the loss. */
static void test_chat_trained(void **unused)
{
    kit k = open_kit(NULL, talk);
    assert_int_equal(tokens(&k, TINKC_LOSS_ON_ASSISTANT), TINKC_OK);
    check_trained(&k, "Hello<|end|>|Bye <|end|>");
    assert_null(tinkc_rendered_warning(k.rendered, 0));
    assert_int_equal(tokens(&k, TINKC_LOSS_ON_LAST), TINKC_OK);
    check_trained(&k, "Bye <|end|>");
    assert_int_equal(tokens(&k, TINKC_LOSS_ON_ALL), TINKC_OK);
    check_trained(&k, tinkc_rendered_text(NULL, k.rendered));
    close_kit(&k);
}

/* A newline after the end of a turn is the template's: it is not trained. */
static void test_chat_newline_behind_turn(void **unused)
{
    kit k =
        open_kit("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{{ '\n' }}"
                 "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
                 talk);
    assert_int_equal(tokens(&k, TINKC_LOSS_ON_ASSISTANT), TINKC_OK);
    check_trained(&k, "Hello<|end|>|Bye <|end|>|");
    close_kit(&k);
}

/* M-136: each part of a rendered conversation names its message, its role and whether
 * it is trained on. */
static void test_chat_parts(void **unused)
{
    kit k = open_kit(NULL, talk);
    assert_int_equal(tokens(&k, TINKC_LOSS_ON_ASSISTANT), TINKC_OK);
    static const struct {
        int64_t message;
        const char *role;
        bool is_content, is_trained;
    } want[] = {{-1, "", false, false},         {0, "user", false, false},
                {0, "user", true, false},       {0, "user", false, false},
                {1, "assistant", false, false}, {1, "assistant", true, true},
                {1, "assistant", false, true},  {2, "user", false, false},
                {2, "user", true, false},       {2, "user", false, false},
                {3, "assistant", false, false}, {3, "assistant", true, true},
                {3, "assistant", false, true}};
    assert_int_equal(tinkc_rendered_part_count(k.rendered), TK_ARRAY_LEN(want));
    size_t token = 0, n = 0;
    tinkc_chat_part part;
    for (size_t i = 0; i < TK_ARRAY_LEN(want); i++) {
        assert_true(tinkc_rendered_part(&part, k.rendered, i));
        assert_int_equal(part.begin, token);
        assert_int_equal(part.message, want[i].message);
        assert_string_equal(part.role, want[i].role);
        assert_int_equal(part.is_content, want[i].is_content);
        assert_int_equal(part.is_trained, want[i].is_trained);
        token = part.end;
    }
    (void)tinkc_rendered_tokens(&n, k.rendered);
    assert_int_equal(token, n);
    assert_false(tinkc_rendered_part(&part, k.rendered, TK_ARRAY_LEN(want)));
    close_kit(&k);
}

/* With {% generation %} the template decides, stable or not. */
static void test_chat_generation_blocks(void **unused)
{
    kit k =
        open_kit("{{ messages|length }}{% for m in messages %}<|{{ m.role }}|>"
                 "{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|end|>"
                 "{% endgeneration %}{% else %}{{ m.content }}{% endif %}{% endfor %}",
                 talk);
    assert_int_equal(tokens(&k, TINKC_LOSS_ON_ASSISTANT), TINKC_OK);
    check_trained(&k, "Hello<|end|>|Bye <|end|>");
    assert_int_equal(tokens(&k, TINKC_LOSS_ON_LAST), TINKC_OK);
    check_trained(&k, "Bye <|end|>");
    close_kit(&k);
}

static void test_chat_not_prefix_stable(void **unused)
{
    static const char thinking[] =
        "[{\"role\": \"user\", \"content\": \"Hi\"}, {\"role\": \"assistant\", \"content\": "
        "\"<t>hm</t>Hello\"}, {\"role\": \"user\", \"content\": \"So\"}, {\"role\": "
        "\"assistant\", \"content\": \"<t>so</t>Bye\"}]";
    kit k = open_kit(forgetful, thinking);
    assert_int_equal(tokens(&k, TINKC_LOSS_ON_ASSISTANT), TINKC_E_UNSUPPORTED);
    assert_null(k.rendered);
    assert_non_null(strstr(tinkc_error_message(k.error), "message 1"));
    assert_non_null(strstr(tinkc_error_message(k.error), "not prefix-stable"));
    assert_int_equal(tokens(&k, TINKC_LOSS_ON_LAST), TINKC_OK);
    check_trained(&k, "<t>so</t>Bye<|end|>");
    assert_int_equal(tokens(&k, TINKC_LOSS_ON_ALL), TINKC_OK);
    close_kit(&k);
}

static void check_warning(const char *source, const char *json, const char *wanted)
{
    kit k = open_kit(source, json);
    assert_int_equal(tokens(&k, TINKC_LOSS_ON_ASSISTANT), TINKC_OK);
    const char *first = tinkc_rendered_warning(k.rendered, 0);
    assert_non_null(first);
    if (strstr(first, wanted) == NULL) {
        fail_msg("%s", first);
    }
    assert_null(tinkc_rendered_warning(k.rendered, 1));
    close_kit(&k);
}

static void test_chat_warnings(void **unused)
{
    static const char turns[] =
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}";
    char doubled[512];
    (void)snprintf(doubled, sizeof(doubled), "<|endoftext|><|endoftext|>%s", turns);
    check_warning(doubled, talk, "two BOS");
    check_warning("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
                  "{% if add_generation_prompt %}<|assistant|>{% endif %}",
                  "[{\"role\": \"assistant\", \"content\": \"Hello\"}]", "end-of-turn");
    check_warning(NULL, "[{\"role\": \"user\", \"content\": \"Hi\"}]",
                  "nothing to train");
    check_warning("{% for m in messages %}{{ m.role }} {{ m.content }}<|end|>{% endfor %}"
                  "{% if add_generation_prompt %}assistant {% endif %}",
                  "[{\"role\": \"assistant\", \"content\": \"the\"}]",
                  "crosses the border");
    check_warning(
        NULL, "[{\"role\": \"assistant\", \"content\": \"Hello<|end|>\"}]",
        "message 0 ends with \"<|end|>\", and the template writes it once more");
}

/* M-136: input without the last token, targets without the first, weights of the
 * targets. */
static void test_chat_datum(void **unused)
{
    kit k = open_kit(NULL, talk);
    assert_int_equal(tokens(&k, TINKC_LOSS_ON_LAST), TINKC_OK);
    size_t n = 0, n_input = 0;
    const int32_t *ids = tinkc_rendered_tokens(&n, k.rendered);
    const float *weights = tinkc_rendered_weights(NULL, k.rendered);
    tinkc_datum *datum = NULL;
    tinkc_train_options options = TINKC_TRAIN_OPTIONS_INIT;
    options.loss_on = TINKC_LOSS_ON_LAST;
    assert_int_equal(tinkc_chat_datum(&datum, k.tpl, k.chat, k.tokenizer, &options, NULL),
                     TINKC_OK);
    int32_t input[128];
    assert_int_equal(
        tinkc_model_input_tokens(input, 128, &n_input, tinkc_datum_input(datum), NULL),
        TINKC_OK);
    assert_int_equal(n_input, n - 1);
    const tinkc_tensor *target = tinkc_datum_tensor(datum, "target_tokens");
    const tinkc_tensor *weight = tinkc_datum_tensor(datum, "weights");
    assert_int_equal(tinkc_tensor_count(target), n - 1);
    assert_int_equal(tinkc_tensor_count(weight), n - 1);
    for (size_t i = 0; i + 1 < n; i++) {
        assert_int_equal(input[i], ids[i]);
        assert_int_equal(tinkc_tensor_i64(target)[i], ids[i + 1]);
        assert_true(fabsf(tinkc_tensor_f32(weight)[i] - weights[i + 1]) <= 0);
    }
    tinkc_datum_free(&datum);
    close_kit(&k);
}

static float by_role(const tinkc_chat_part *part, void *user)
{
    return strcmp(part->role, "user") == 0 && part->is_content ? 0.5F : 0.0F;
}

static void test_chat_custom_weights(void **unused)
{
    kit k = open_kit(NULL, talk);
    tinkc_train_options options = TINKC_TRAIN_OPTIONS_INIT;
    options.weigh = by_role;
    assert_int_equal(
        tinkc_chat_tokens(&k.rendered, k.tpl, k.chat, k.tokenizer, &options, NULL),
        TINKC_OK);
    check_trained(&k, "Hi|assistant|");
    close_kit(&k);
}

static void test_chat_refuses(void **unused)
{
    tinkc_chat *chat = NULL;
    tinkc_chat_template *tpl = NULL;
    tinkc_error *error = NULL;
    assert_int_equal(tinkc_chat_new(NULL, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_chat_new(&chat, NULL), TINKC_OK);
    assert_int_equal(tinkc_chat_add(chat, "user", "\xff", NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_chat_add(chat, NULL, "x", NULL), TINKC_E_INVALID);
    static const char *const bad[] = {"3", "\"x\"", "[3]", "{\"messages\": 3}",
                                      "[{\"role\": \"user\"}, 4]"};
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        assert_int_equal(tinkc_chat_add_json(chat, bad[i], strlen(bad[i]), NULL),
                         TINKC_E_DECODE);
    }
    assert_int_equal(tinkc_chat_add_json(chat, "[", 1, NULL), TINKC_E_PARSE);
    assert_int_equal(tinkc_chat_count(chat), 0);
    assert_int_equal(tinkc_chat_template_new(&tpl, "{% if %}", &error), TINKC_E_PARSE);
    assert_non_null(strstr(tinkc_error_message(error), "line 1"));
    tinkc_error_free(&error);
    assert_null(tpl);
    assert_int_equal(tinkc_chat_render(NULL, NULL, NULL, NULL, NULL, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_chat_tokens(NULL, NULL, NULL, NULL, NULL, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_rendered_datum(NULL, NULL, NULL), TINKC_E_INVALID);
    tinkc_chat_free(&chat);
    tinkc_chat_free(&chat);
    tinkc_rendered_free(NULL);
    tinkc_chat_template_free(NULL);
}

static bool all_of_it(void *user)
{
    tinkc_tokenizer *tokenizer = user;
    tinkc_chat_template *tpl = NULL;
    tinkc_chat *chat = NULL;
    tinkc_datum *datum = NULL;
    char *text = NULL;
    bool ok = tinkc_chat_template_of(&tpl, tokenizer, NULL, NULL) == TINKC_OK &&
              tinkc_chat_new(&chat, NULL) == TINKC_OK &&
              tinkc_chat_add_json(chat, talk, sizeof(talk) - 1, NULL) == TINKC_OK &&
              tinkc_chat_add(chat, "user", "So?", NULL) == TINKC_OK &&
              tinkc_chat_set(chat, "x", "[1]", NULL) == TINKC_OK &&
              tinkc_chat_render(&text, NULL, tpl, chat, NULL, NULL) == TINKC_OK &&
              tinkc_chat_datum(&datum, tpl, chat, tokenizer, NULL, NULL) == TINKC_OK;
    tinkc_text_free(&text);
    tinkc_datum_free(&datum);
    tinkc_chat_free(&chat);
    tinkc_chat_template_free(&tpl);
    return ok;
}

static void test_chat_out_of_memory(void **unused)
{
    tinkc_tokenizer *tokenizer = NULL;
    assert_int_equal(tinkc_tokenizer_load(&tokenizer, PEBBLE, NULL), TINKC_OK);
    assert_true(all_of_it(tokenizer)); /* it keeps what it makes for its first text */
    assert_true(failmem_sweep(all_of_it, tokenizer, 1) > 20);
    tinkc_tokenizer_free(&tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chat_text),
        cmocka_unit_test(test_chat_variables),
        cmocka_unit_test(test_chat_template_sources),
        cmocka_unit_test(test_chat_trained),
        cmocka_unit_test(test_chat_newline_behind_turn),
        cmocka_unit_test(test_chat_parts),
        cmocka_unit_test(test_chat_generation_blocks),
        cmocka_unit_test(test_chat_not_prefix_stable),
        cmocka_unit_test(test_chat_warnings),
        cmocka_unit_test(test_chat_datum),
        cmocka_unit_test(test_chat_custom_weights),
        cmocka_unit_test(test_chat_refuses),
        cmocka_unit_test(test_chat_out_of_memory),
    };
    return cmocka_run_group_tests_name("chat", tests, NULL, NULL);
}
