/* Prompts of conversations: the first turn, and the next ones after what was sampled
 * (M-136). Sampled tokens are never tokenized again; what does not fit is refused with the
 * place. The templates are those of tests/data, the tokenizer is the embedded model's.
 * Links: text */
#include <stdlib.h>
#include <tinkc/chat.h>
#include <tinkc/service.h>

#include "support/failmem.h"
#include "support/test.h"

#define PEBBLE     TEST_DATA_DIR "/../../models/pebble-llama-2m"
#define TEMPLATES  TEST_DATA_DIR "/text/templates/"
#define TOKENS_MAX 512

typedef struct kit {
    tinkc_tokenizer *tokenizer;
    tinkc_chat_template *tpl;
    tinkc_chat *chat;
    tinkc_model_input *prompt;
} kit;

static kit open_kit(const char *path)
{
    kit k = {NULL, NULL, NULL, NULL};
    assert_int_equal(tinkc_tokenizer_load(&k.tokenizer, PEBBLE, NULL), TINKC_OK);
    assert_int_equal(path != NULL
                         ? tinkc_chat_template_load(&k.tpl, path, NULL, NULL)
                         : tinkc_chat_template_of(&k.tpl, k.tokenizer, NULL, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_chat_new(&k.chat, NULL), TINKC_OK);
    if (path != NULL) {
        static const char *const vars[][2] = {{"bos_token", "\"<|endoftext|>\""},
                                              {"eos_token", "\"<|end|>\""},
                                              {"date_string", "\"1 Jan 2026\""}};
        for (size_t i = 0; i < TK_ARRAY_LEN(vars); i++) {
            assert_int_equal(tinkc_chat_set(k.chat, vars[i][0], vars[i][1], NULL),
                             TINKC_OK);
        }
    }
    return k;
}

static void close_kit(kit *k)
{
    tinkc_model_input_free(&k->prompt);
    tinkc_chat_free(&k->chat);
    tinkc_chat_template_free(&k->tpl);
    tinkc_tokenizer_free(&k->tokenizer);
}

static void say(kit *k, const char *role, const char *text)
{
    assert_int_equal(tinkc_chat_add(k->chat, role, text, NULL), TINKC_OK);
}

static size_t tokens_of(const kit *k, int32_t out[TOKENS_MAX])
{
    size_t n = 0;
    assert_int_equal(tinkc_model_input_tokens(out, TOKENS_MAX, &n, k->prompt, NULL),
                     TINKC_OK);
    return n;
}

/* As a model might: letter by letter, which is not how the tokenizer does it. */
static size_t spell(const kit *k, const char *text, int32_t *out)
{
    size_t n = 0;
    for (const char *c = text; *c != '\0'; c++) {
        tinkc_encoding *one = NULL;
        size_t got = 0;
        assert_int_equal(tinkc_tokenizer_encode(&one, k->tokenizer, c, 1, NULL, NULL),
                         TINKC_OK);
        const int32_t *ids = tinkc_encoding_ids(&got, one);
        memcpy(out + n, ids, got * sizeof(*ids));
        n += got;
        tinkc_encoding_free(&one);
    }
    return n;
}

static char *render(const kit *k)
{
    char *text = NULL;
    tinkc_chat_options options = TINKC_CHAT_OPTIONS_INIT;
    options.add_generation_prompt = true;
    assert_int_equal(tinkc_chat_render(&text, NULL, k->tpl, k->chat, &options, NULL),
                     TINKC_OK);
    return text;
}

/* The text of the prompt's tokens is that of the template. */
static void check_text(const kit *k)
{
    int32_t tokens[TOKENS_MAX];
    char *text = NULL, *wanted = render(k);
    assert_int_equal(tinkc_tokenizer_text(&text, k->tokenizer, tokens,
                                          tokens_of(k, tokens), false, NULL),
                     TINKC_OK);
    assert_string_equal(text, wanted);
    tinkc_text_free(&text);
    tinkc_text_free(&wanted);
}

static tinkc_code next(kit *k, tinkc_error **error)
{
    return tinkc_chat_continue(k->prompt, k->tpl, k->chat, k->tokenizer, NULL, error);
}

/* Two turns after the first; `sampled` is what the model says, `end` its last token. */
static void talk(const char *path, const char *sampled, const char *end)
{
    int32_t before[TOKENS_MAX], after[TOKENS_MAX], spelled[TOKENS_MAX];
    kit k = open_kit(path);
    say(&k, "user", "Hi there");
    assert_int_equal(tinkc_chat_prompt(&k.prompt, k.tpl, k.chat, k.tokenizer, NULL, NULL),
                     TINKC_OK);
    check_text(&k);
    for (int turn = 0; turn < 2; turn++) {
        size_t n = spell(&k, sampled, spelled);
        int32_t stop = tinkc_tokenizer_id(k.tokenizer, end);
        assert_int_equal(tinkc_model_input_add_tokens(k.prompt, spelled, n, NULL),
                         TINKC_OK);
        if (stop >= 0) { /* a model stops with its end token, or at max_tokens without */
            assert_int_equal(tinkc_model_input_add_tokens(k.prompt, &stop, 1, NULL),
                             TINKC_OK);
        }
        n = tokens_of(&k, before);
        say(&k, "assistant", sampled);
        say(&k, "user", "And then?");
        assert_int_equal(next(&k, NULL), TINKC_OK);
        assert_true(tokens_of(&k, after) > n);
        assert_memory_equal(before, after, n * sizeof(*before));
        check_text(&k);
    }
    close_kit(&k);
}

static void test_chat_prompt_turns(void **unused)
{
    (void)unused;
    talk(NULL, "Hello you", "<|end|>");
    talk(NULL, "Hello you", "none");
    talk(TEMPLATES "chatml.jinja", "Hello you", "none");
    talk(TEMPLATES "headers.jinja", "Hello you", "none");
    talk(TEMPLATES "brackets.jinja", " Hello you", "<|end|>");
}

/* The first turn is what rendering and encoding give; text beyond ASCII; again: nothing. */
static void test_chat_prompt_first(void **unused)
{
    (void)unused;
    kit k = open_kit(NULL);
    tinkc_model_input *again = NULL;
    int32_t tokens[TOKENS_MAX], wanted[TOKENS_MAX];
    size_t n = 0;
    say(&k, "user", "Gr\xc3\xbc\xc3\x9f dich \xe2\x82\xac");
    assert_int_equal(tinkc_chat_prompt(&k.prompt, k.tpl, k.chat, k.tokenizer, NULL, NULL),
                     TINKC_OK);
    char *text = render(&k);
    assert_int_equal(tinkc_tokenizer_input(&again, k.tokenizer, text, NULL), TINKC_OK);
    assert_int_equal(tinkc_model_input_tokens(wanted, TOKENS_MAX, &n, again, NULL),
                     TINKC_OK);
    assert_int_equal(tokens_of(&k, tokens), n);
    assert_memory_equal(tokens, wanted, n * sizeof(*tokens));
    assert_int_equal(next(&k, NULL), TINKC_OK);
    assert_int_equal(tokens_of(&k, tokens), n);
    tinkc_text_free(&text);
    tinkc_model_input_free(&again);
    close_kit(&k);
}

/* Sampled tokens that end inside a character, which the message shows as U+FFFD. */
static void test_chat_prompt_cut_character(void **unused)
{
    (void)unused;
    kit k = open_kit(NULL);
    int32_t bytes[TOKENS_MAX], before[TOKENS_MAX], after[TOKENS_MAX];
    char *text = NULL;
    say(&k, "user", "Hi");
    assert_int_equal(tinkc_chat_prompt(&k.prompt, k.tpl, k.chat, k.tokenizer, NULL, NULL),
                     TINKC_OK);
    tinkc_encoding *euro = NULL;
    size_t n = 0;
    assert_int_equal(
        tinkc_tokenizer_encode(&euro, k.tokenizer, "\xf0\x9f\xa6\x84", 4, NULL, NULL),
        TINKC_OK);
    const int32_t *ids = tinkc_encoding_ids(&n, euro);
    assert_true(n > 1); /* no single token has it */
    memcpy(bytes, ids, n * sizeof(*ids));
    tinkc_encoding_free(&euro);
    assert_int_equal(tinkc_model_input_add_tokens(k.prompt, bytes, n - 1, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_tokenizer_text(&text, k.tokenizer, bytes, n - 1, true, NULL),
                     TINKC_OK);
    n = tokens_of(&k, before);
    say(&k, "assistant", text);
    say(&k, "user", "What?");
    assert_int_equal(next(&k, NULL), TINKC_OK);
    assert_true(tokens_of(&k, after) > n);
    assert_memory_equal(before, after, n * sizeof(*before));
    check_text(&k);
    tinkc_text_free(&text);
    close_kit(&k);
}

/* The token of one byte. */
static int32_t byte_token(const kit *k, unsigned char byte)
{
    for (int32_t id = 0; id < (int32_t)tinkc_tokenizer_size(k->tokenizer); id++) {
        size_t n = 0;
        const char *token = tinkc_tokenizer_token(&n, k->tokenizer, id);
        /* the spelling of ByteLevel: these bytes are themselves, as code points */
        bool is_two = token != NULL && n == 2 && byte >= 0xae;
        if (is_two && (unsigned char)token[0] == (0xc0 | (byte >> 6)) &&
            (unsigned char)token[1] == (0x80 | (byte & 0x3f))) {
            return id;
        }
    }
    fail_msg("no token for byte %02x", byte);
    return -1;
}

/* Says "H", the bytes, and what follows; the next turn begins right after them. */
static void continue_bytes(const char *bytes, size_t n, const char *after, bool is_ended)
{
    int32_t said[16], before[TOKENS_MAX], tokens[TOKENS_MAX];
    kit k = open_kit(NULL);
    char *text = NULL;
    size_t said_n = spell(&k, "H", said);
    for (size_t i = 0; i < n; i++) {
        said[said_n++] = byte_token(&k, (unsigned char)bytes[i]);
    }
    said_n += spell(&k, after, said + said_n);
    say(&k, "user", "Hi");
    assert_int_equal(tinkc_chat_prompt(&k.prompt, k.tpl, k.chat, k.tokenizer, NULL, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_tokenizer_text(&text, k.tokenizer, said, said_n, false, NULL),
                     TINKC_OK);
    if (is_ended) {
        said[said_n++] = tinkc_tokenizer_end(k.tokenizer);
    }
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(tinkc_model_input_add_tokens(k.prompt, said, said_n, NULL),
                         TINKC_OK);
        size_t before_n = tokens_of(&k, before);
        say(&k, "assistant", text);
        say(&k, "user", "And?");
        assert_int_equal(next(&k, NULL), TINKC_OK);
        assert_true(tokens_of(&k, tokens) > before_n);
        assert_memory_equal(before, tokens, before_n * sizeof(*before));
        assert_int_equal(
            tokens[before_n],
            tinkc_tokenizer_id(k.tokenizer, is_ended ? "<|user|>" : "<|end|>"));
        check_text(&k);
    }
    tinkc_text_free(&text);
    close_kit(&k);
}

/* The beginning of a character that was not finished, for each length that UTF-8 has; EF
 * and EF BF also begin U+FFFD itself, which the message has in their place. */
static void test_chat_prompt_unfinished_characters(void **unused)
{
    (void)unused;
    static const char *const bytes[] = {"\xef",
                                        "\xef\xbf",
                                        "\xef\xef",
                                        "\xef\xbf\xef\xbf",
                                        "\xef\xbf\xbd",
                                        "\xef\xbf\xbd\xef",
                                        "\xef\xbf\xbd\xbd",
                                        "\xbd",
                                        "\xbf\xbd",
                                        "\xef\xbb",
                                        "\xc3",
                                        "\xe2",
                                        "\xe2\xb2",
                                        "\xf0",
                                        "\xf0\xbf",
                                        "\xf0\xbf\xb6",
                                        "\xff",
                                        "\xc0",
                                        "\xf4\xbf"};
    static const char *const after[] = {"", "H", "\n"};
    for (size_t i = 0; i < TK_ARRAY_LEN(bytes); i++) {
        for (size_t a = 0; a < TK_ARRAY_LEN(after); a++) {
            continue_bytes(bytes[i], strlen(bytes[i]), after[a], true);
            continue_bytes(bytes[i], strlen(bytes[i]), after[a], false);
        }
    }
}

/* A message that has the finished character where the tokens have its beginning is not
 * what was sampled. */
static void test_chat_prompt_other_character(void **unused)
{
    (void)unused;
    kit k = open_kit(NULL);
    tinkc_error *error = NULL;
    int32_t tokens[TOKENS_MAX], first = byte_token(&k, 0xf0);
    say(&k, "user", "Hi");
    assert_int_equal(tinkc_chat_prompt(&k.prompt, k.tpl, k.chat, k.tokenizer, NULL, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_model_input_add_tokens(k.prompt, &first, 1, NULL), TINKC_OK);
    size_t n = tokens_of(&k, tokens);
    say(&k, "assistant", "\xf0\x9f\xa6\x84");
    assert_int_equal(next(&k, &error), TINKC_E_UNSUPPORTED);
    assert_int_equal(tokens_of(&k, tokens), n);
    tinkc_error_free(&error);
    close_kit(&k);
}

/* A tokenizer with tokens for single bytes reads a run of them as a whole: with one byte
 * too few, each is a U+FFFD. */
static void test_chat_prompt_byte_runs(void **unused)
{
    (void)unused;
    static const char json[] =
        "{\"version\":\"1.0\",\"added_tokens\":[],\"normalizer\":null,"
        "\"pre_tokenizer\":null,\"post_processor\":null,\"decoder\":{\"type\":"
        "\"Sequence\",\"decoders\":[{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]},"
        "\"model\":{\"type\":\"BPE\",\"unk_token\":null,\"byte_fallback\":true,"
        "\"vocab\":{\"<0xEF>\":0,\"<0xBF>\":1,\"<0xBD>\":2,\"a\":3},\"merges\":[]}}";
    static const int32_t said[][8] = {
        {0}, {0, 1}, {0, 1, 2}, {0, 1, 2, 0}, {0, 1, 2, 0, 1}};
    for (size_t i = 0; i < TK_ARRAY_LEN(said); i++) {
        kit k = {NULL, NULL, NULL, NULL};
        char *text = NULL;
        int32_t tokens[TOKENS_MAX];
        assert_int_equal(tinkc_tokenizer_from_json(&k.tokenizer, json, NULL, NULL),
                         TINKC_OK);
        assert_int_equal(
            tinkc_chat_template_new(
                &k.tpl, "{% for m in messages %}{{ m.content }}{% endfor %}", NULL),
            TINKC_OK);
        assert_int_equal(tinkc_chat_new(&k.chat, NULL), TINKC_OK);
        assert_int_equal(tinkc_model_input_from_tokens(&k.prompt, said[i], i + 1, NULL),
                         TINKC_OK);
        assert_int_equal(
            tinkc_tokenizer_text(&text, k.tokenizer, said[i], i + 1, false, NULL),
            TINKC_OK);
        say(&k, "assistant", text);
        say(&k, "user", "a");
        assert_int_equal(next(&k, NULL), TINKC_OK);
        assert_int_equal(tokens_of(&k, tokens), i + 2);
        assert_memory_equal(tokens, said[i], (i + 1) * sizeof(*tokens));
        assert_int_equal(tokens[i + 1], 3);
        tinkc_text_free(&text);
        close_kit(&k);
    }
}

/* A message with the token that the template writes after it would end its turn twice. */
static void test_chat_prompt_double_end(void **unused)
{
    (void)unused;
    static const char *const messages[] = {
        "{\"role\":\"assistant\",\"content\":\"7<|end|>\"}",
        "{\"role\":\"assistant\",\"content\":\"7\"}"};
    for (int wrong = 1; wrong >= 0; wrong--) {
        for (int is_ended = 0; is_ended < 2; is_ended++) {
            kit k = open_kit(NULL);
            tinkc_error *error = NULL;
            int32_t said[TOKENS_MAX];
            say(&k, "user", "Hi");
            assert_int_equal(
                tinkc_chat_prompt(&k.prompt, k.tpl, k.chat, k.tokenizer, NULL, NULL),
                TINKC_OK);
            size_t n = spell(&k, "7", said);
            said[n] = tinkc_tokenizer_end(k.tokenizer);
            assert_int_equal(
                tinkc_model_input_add_tokens(k.prompt, said, n + (size_t)is_ended, NULL),
                TINKC_OK);
            n = tokens_of(&k, said);
            const char *json = messages[1 - wrong];
            assert_int_equal(tinkc_chat_add_json(k.chat, json, strlen(json), NULL),
                             TINKC_OK);
            say(&k, "user", "And?");
            assert_int_equal(next(&k, &error), wrong ? TINKC_E_INVALID : TINKC_OK);
            if (wrong) {
                assert_non_null(strstr(tinkc_error_message(error),
                                       "message 1 ends with \"<|end|>\""));
                assert_int_equal(tokens_of(&k, said), n);
            }
            tinkc_error_free(&error);
            close_kit(&k);
        }
    }
}

/* A message that is not what was sampled, and a template that leaves reasoning out: the
 * error has the byte and both texts; the prompt stays as it was. */
static void test_chat_prompt_refused(void **unused)
{
    (void)unused;
    static const char forgetful[] =
        "{% for m in messages %}<|{{ m.role }}|>"
        "{{ m.content if loop.last else m.content.split('</t>')[-1] }}<|end|>{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}";
    kit k = open_kit(NULL);
    tinkc_error *error = NULL;
    int32_t spelled[TOKENS_MAX], tokens[TOKENS_MAX];
    tinkc_chat_template_free(&k.tpl);
    assert_int_equal(tinkc_chat_template_new(&k.tpl, forgetful, NULL), TINKC_OK);
    say(&k, "user", "Hi");
    assert_int_equal(tinkc_chat_prompt(&k.prompt, k.tpl, k.chat, k.tokenizer, NULL, NULL),
                     TINKC_OK);
    size_t n = spell(&k, "why</t>Hello", spelled);
    assert_int_equal(tinkc_model_input_add_tokens(k.prompt, spelled, n, NULL), TINKC_OK);
    n = tokens_of(&k, tokens);
    say(&k, "assistant", "why</t>Hello");
    say(&k, "user", "And?");
    assert_int_equal(next(&k, &error), TINKC_E_UNSUPPORTED);
    /* <|user|>Hi<|end|><|assistant|> are 30 bytes */
    assert_non_null(strstr(tinkc_error_message(error), "at byte 30 "));
    assert_non_null(strstr(tinkc_error_message(error), "\"Hello<|end|>"));
    assert_non_null(strstr(tinkc_error_message(error), "\"why</t>Hello\""));
    assert_int_equal(tokens_of(&k, tokens), n);
    tinkc_error_free(&error);
    assert_int_equal(next(&(kit){NULL, NULL, NULL, NULL}, &error), TINKC_E_INVALID);
    tinkc_error_free(&error);
    assert_int_equal(
        tinkc_model_input_add_image(k.prompt, "x", 1, TINKC_IMAGE_PNG, 1, NULL),
        TINKC_OK);
    assert_int_equal(next(&k, &error), TINKC_E_INVALID);
    tinkc_error_free(&error);
    close_kit(&k);
}

/* With options: no generation prompt, so that a message of the environment can be added
 * without asking for an answer. */
static void test_chat_prompt_options(void **unused)
{
    (void)unused;
    kit k = open_kit(NULL);
    tinkc_chat_options options = TINKC_CHAT_OPTIONS_INIT;
    int32_t tokens[TOKENS_MAX];
    say(&k, "user", "Hi");
    assert_int_equal(
        tinkc_chat_prompt(&k.prompt, k.tpl, k.chat, k.tokenizer, &options, NULL),
        TINKC_OK);
    size_t n = tokens_of(&k, tokens);
    assert_int_equal(tokens[n - 1], tinkc_tokenizer_id(k.tokenizer, "<|end|>"));
    assert_int_equal(next(&k, NULL), TINKC_OK);
    assert_int_equal(tokens_of(&k, tokens), n + 1);
    assert_int_equal(tokens[n], tinkc_tokenizer_id(k.tokenizer, "<|assistant|>"));
    close_kit(&k);
}

static bool prompt_scenario(void *user)
{
    kit *k = user;
    tinkc_model_input *prompt = NULL;
    bool ok =
        tinkc_chat_prompt(&prompt, k->tpl, k->chat, k->tokenizer, NULL, NULL) == TINKC_OK;
    int32_t odd = 7;
    if (ok && tinkc_model_input_add_tokens(prompt, &odd, 1, NULL) == TINKC_OK) {
        tinkc_error *error = NULL;
        tinkc_code code =
            tinkc_chat_continue(prompt, k->tpl, k->chat, k->tokenizer, NULL, &error);
        ok = code == TINKC_E_UNSUPPORTED && tinkc_error_code(error) == code;
        tinkc_error_free(&error);
    } else {
        ok = false;
    }
    tinkc_model_input_free(&prompt);
    return ok;
}

/* A tokenizer that puts a blank, token 3, in front of every text. */
static tinkc_code continue_blank(const char *content, const int32_t *so_far, size_t n,
                                 int32_t out[TOKENS_MAX], size_t *out_n)
{
    static const char json[] =
        "{\"version\":\"1.0\",\"added_tokens\":[],\"normalizer\":null,"
        "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,"
        "\"trim_offsets\":true,\"use_regex\":true},\"post_processor\":null,"
        "\"decoder\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,"
        "\"trim_offsets\":true,\"use_regex\":true},"
        "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"c\":2,"
        "\"\xc4\xa0\":3,\"bc\":4},\"merges\":[\"b c\"]}}";
    kit k = {NULL, NULL, NULL, NULL};
    assert_int_equal(tinkc_tokenizer_from_json(&k.tokenizer, json, NULL, NULL), TINKC_OK);
    assert_int_equal(
        tinkc_chat_template_new(
            &k.tpl, "{% for m in messages %}{{ m.content }}{% endfor %}", NULL),
        TINKC_OK);
    assert_int_equal(tinkc_chat_new(&k.chat, NULL), TINKC_OK);
    say(&k, "user", content);
    assert_int_equal(tinkc_model_input_from_tokens(&k.prompt, so_far, n, NULL), TINKC_OK);
    tinkc_code code = next(&k, NULL);
    *out_n = tokens_of(&k, out);
    close_kit(&k);
    return code;
}

/* Tokens without text are not added twice, and no blank gets inside the text. */
static void test_chat_prompt_blank(void **unused)
{
    int32_t out[TOKENS_MAX];
    size_t n = 0;
    assert_int_equal(continue_blank("ab", (int32_t[]){3}, 1, out, &n), TINKC_OK);
    assert_int_equal(n, 3);
    assert_memory_equal(out, ((int32_t[]){3, 0, 1}), 3 * sizeof(out[0]));
    assert_int_equal(continue_blank("ab", (int32_t[]){3, 0}, 2, out, &n), TINKC_OK);
    assert_int_equal(n, 3);
    assert_memory_equal(out, ((int32_t[]){3, 0, 1}), 3 * sizeof(out[0]));
    /* "bc" is one token of the text; after "b" only " c" could follow */
    assert_int_equal(continue_blank("abc", (int32_t[]){3, 0, 1}, 3, out, &n),
                     TINKC_E_UNSUPPORTED);
    assert_int_equal(n, 3);
}

static void test_chat_prompt_allocation_sweep(void **unused)
{
    (void)unused;
    kit k = open_kit(NULL);
    say(&k, "user", "Hi");
    assert_true(prompt_scenario(&k)); /* what the tokenizer makes once, and keeps */
    failmem_sweep(prompt_scenario, &k, 1);
    close_kit(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chat_prompt_turns),
        cmocka_unit_test(test_chat_prompt_first),
        cmocka_unit_test(test_chat_prompt_cut_character),
        cmocka_unit_test(test_chat_prompt_unfinished_characters),
        cmocka_unit_test(test_chat_prompt_other_character),
        cmocka_unit_test(test_chat_prompt_byte_runs),
        cmocka_unit_test(test_chat_prompt_double_end),
        cmocka_unit_test(test_chat_prompt_refused),
        cmocka_unit_test(test_chat_prompt_options),
        cmocka_unit_test(test_chat_prompt_blank),
        cmocka_unit_test(test_chat_prompt_allocation_sweep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
