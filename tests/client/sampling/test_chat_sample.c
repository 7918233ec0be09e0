/* A sampled answer, added to the prompt and to the conversation together (M-136): which of
 * its tokens are the message, and that both stay as they were when it fails.
 * Links: text */
#include <stdio.h>
#include <tinkc/chat.h>

#include "client/sampling/sampling_result.h"
#include "support/failmem.h"
#include "support/test.h"
#include "wire/pb_sample.h"

#define PEBBLE     TEST_DATA_DIR "/../../models/pebble-llama-2m"
#define TOKENS_MAX 128

typedef struct kit {
    tinkc_tokenizer *tokenizer;
    tinkc_chat_template *tpl;
    tinkc_chat *chat;
    tinkc_model_input *prompt;
    tinkc_samples *samples;
} kit;

/* One continuation with these tokens, as the server sends it. */
static tinkc_samples *make_samples(const int32_t *tokens, size_t n, tk_stop_reason stop)
{
    const tk_sequence sequence = {.tokens = {tokens, n}, .stop_reason = stop};
    const tk_sample_response response = {.sequences = &sequence, .sequences_n = 1};
    const tk_sampling_result_wanted wanted = {.alt_tokens = false};
    tk_buf body;
    tk_buf_init(&body, 4096);
    assert_int_equal(tk_pb_sample_encode(&body, &response, NULL), TINKC_OK);
    tk_poll_result result = {.body = tk_buf_str(&body), .is_protobuf = true};
    tinkc_samples *samples =
        tk_sampling_result_read(&result, (tk_strs){NULL, 0}, &wanted, NULL);
    tk_buf_dispose(&body);
    assert_non_null(samples);
    return samples;
}

static size_t tokens_of(const kit *k, int32_t out[TOKENS_MAX])
{
    size_t n = 0;
    assert_int_equal(tinkc_model_input_tokens(out, TOKENS_MAX, &n, k->prompt, NULL),
                     TINKC_OK);
    return n;
}

static void close_kit(kit *k)
{
    tinkc_samples_free(&k->samples);
    tinkc_model_input_free(&k->prompt);
    tinkc_chat_free(&k->chat);
    tinkc_chat_template_free(&k->tpl);
    tinkc_tokenizer_free(&k->tokenizer);
}

/* A conversation that asked "Hi", and an answer to it. */
static kit open_kit(const char *sampled, tk_stop_reason stop)
{
    kit k = {NULL, NULL, NULL, NULL, NULL};
    tinkc_encoding *encoding = NULL;
    size_t n = 0;
    assert_int_equal(tinkc_tokenizer_load(&k.tokenizer, PEBBLE, NULL), TINKC_OK);
    assert_int_equal(tinkc_chat_template_of(&k.tpl, k.tokenizer, NULL, NULL), TINKC_OK);
    assert_int_equal(tinkc_chat_new(&k.chat, NULL), TINKC_OK);
    assert_int_equal(tinkc_chat_add(k.chat, "user", "Hi", NULL), TINKC_OK);
    assert_int_equal(tinkc_chat_prompt(&k.prompt, k.tpl, k.chat, k.tokenizer, NULL, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_tokenizer_encode(&encoding, k.tokenizer, sampled,
                                            strlen(sampled), NULL, NULL),
                     TINKC_OK);
    const int32_t *ids = tinkc_encoding_ids(&n, encoding);
    k.samples = make_samples(ids, n, stop);
    tinkc_encoding_free(&encoding);
    return k;
}

/* Adds the answer and asks again: the sampled tokens stay, `message` is in the conversation,
 * and the turn ends once. */
static void add(const char *sampled, tk_stop_reason stop, const char *message)
{
    kit k = open_kit(sampled, stop);
    int32_t tokens[TOKENS_MAX], before[TOKENS_MAX];
    char *text = NULL, wanted[256];
    size_t n = 0, sampled_n = 0;
    size_t before_n = tokens_of(&k, before);
    assert_int_equal(
        tinkc_chat_add_sample(k.chat, k.prompt, k.tokenizer, k.samples, 0, NULL),
        TINKC_OK);
    assert_int_equal(tinkc_chat_count(k.chat), 2);
    assert_string_equal(tinkc_chat_content(&n, k.chat, 1), message);
    assert_int_equal(n, strlen(message));
    const int32_t *said = tinkc_samples_tokens(&sampled_n, k.samples, 0);
    assert_int_equal(tokens_of(&k, tokens), before_n + sampled_n);
    assert_memory_equal(tokens, before, before_n * sizeof(*tokens));
    assert_memory_equal(tokens + before_n, said, sampled_n * sizeof(*tokens));
    assert_int_equal(tinkc_chat_add(k.chat, "user", "And?", NULL), TINKC_OK);
    assert_int_equal(
        tinkc_chat_continue(k.prompt, k.tpl, k.chat, k.tokenizer, NULL, NULL), TINKC_OK);
    n = tokens_of(&k, tokens);
    assert_memory_equal(tokens + before_n, said, sampled_n * sizeof(*tokens));
    assert_int_equal(tinkc_tokenizer_text(&text, k.tokenizer, tokens + before_n,
                                          n - before_n, false, NULL),
                     TINKC_OK);
    (void)snprintf(wanted, sizeof(wanted), "%s<|end|><|user|>And?<|end|><|assistant|>",
                   message);
    assert_string_equal(text, wanted);
    tinkc_text_free(&text);
    close_kit(&k);
}

static void test_chat_sample_turns(void **unused)
{
    (void)unused;
    add("Hello you<|end|>", TK_STOP_STOP, "Hello you");
    add("Hello you", TK_STOP_LENGTH, "Hello you");
    add(" Hello ", TK_STOP_STOP, " Hello "); /* at a stop text */
    add("<|end|>", TK_STOP_STOP, "");
    /* special tokens that do not end it are part of what was said */
    add("7<|user|>8<|end|>", TK_STOP_STOP, "7<|user|>8");
    add("7<|assistant|>", TK_STOP_LENGTH, "7<|assistant|>");
}

/* The token of byte EF, which is no character alone. */
static void test_chat_sample_unfinished_character(void **unused)
{
    (void)unused;
    for (int ended = 0; ended < 2; ended++) {
        kit k = open_kit("H", TK_STOP_STOP);
        int32_t tokens[TOKENS_MAX];
        int32_t said[] = {tinkc_tokenizer_id(k.tokenizer, "\xc3\xaf"),
                          tinkc_tokenizer_end(k.tokenizer)};
        tinkc_samples_free(&k.samples);
        k.samples = make_samples(said, (size_t)(1 + ended),
                                 ended ? TK_STOP_STOP : TK_STOP_LENGTH);
        size_t n = tokens_of(&k, tokens);
        assert_int_equal(
            tinkc_chat_add_sample(k.chat, k.prompt, k.tokenizer, k.samples, 0, NULL),
            TINKC_OK);
        assert_string_equal(tinkc_chat_content(NULL, k.chat, 1), "\xef\xbf\xbd");
        assert_int_equal(
            tinkc_chat_continue(k.prompt, k.tpl, k.chat, k.tokenizer, NULL, NULL),
            TINKC_OK);
        assert_int_equal(tokens_of(&k, tokens), n + 3);
        assert_int_equal(tokens[n], said[0]);
        assert_int_equal(tokens[n + 1], said[1]);
        assert_int_equal(tokens[n + 2], tinkc_tokenizer_id(k.tokenizer, "<|assistant|>"));
        close_kit(&k);
    }
}

/* A decoder that takes the blank off the front of a text does not take it from an answer. */
static void test_chat_sample_blank(void **unused)
{
    (void)unused;
    static const char json[] =
        "{\"version\":\"1.0\",\"added_tokens\":[],\"normalizer\":null,"
        "\"pre_tokenizer\":null,\"post_processor\":null,\"decoder\":{\"type\":"
        "\"Sequence\",\"decoders\":[{\"type\":\"Fuse\"},{\"type\":\"Strip\",\"content\":"
        "\" \",\"start\":1,\"stop\":0}]},\"model\":{\"type\":\"BPE\",\"vocab\":"
        "{\"a\":0,\" \":1},\"merges\":[]}}";
    static const int32_t said[] = {1, 0}, asked = 0;
    kit k = {NULL, NULL, NULL, NULL, NULL};
    assert_int_equal(tinkc_tokenizer_from_json(&k.tokenizer, json, NULL, NULL), TINKC_OK);
    assert_int_equal(tinkc_chat_new(&k.chat, NULL), TINKC_OK);
    assert_int_equal(tinkc_model_input_from_tokens(&k.prompt, &asked, 1, NULL), TINKC_OK);
    k.samples = make_samples(said, 2, TK_STOP_LENGTH);
    assert_int_equal(
        tinkc_chat_add_sample(k.chat, k.prompt, k.tokenizer, k.samples, 0, NULL),
        TINKC_OK);
    assert_string_equal(tinkc_chat_content(NULL, k.chat, 0), " a");
    close_kit(&k);
}

static void test_chat_sample_refused(void **unused)
{
    (void)unused;
    kit k = open_kit("Hello<|end|>", TK_STOP_STOP);
    int32_t tokens[TOKENS_MAX];
    size_t n = tokens_of(&k, tokens);
    assert_int_equal(
        tinkc_chat_add_sample(k.chat, k.prompt, k.tokenizer, k.samples, 1, NULL),
        TINKC_E_MISSING);
    assert_int_equal(
        tinkc_chat_add_sample(NULL, k.prompt, k.tokenizer, k.samples, 0, NULL),
        TINKC_E_INVALID);
    assert_int_equal(tinkc_chat_add_sample(k.chat, NULL, k.tokenizer, k.samples, 0, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_chat_add_sample(k.chat, k.prompt, NULL, k.samples, 0, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_chat_add_sample(k.chat, k.prompt, k.tokenizer, NULL, 0, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tokens_of(&k, tokens), n);
    assert_int_equal(
        tinkc_model_input_add_image(k.prompt, "x", 1, TINKC_IMAGE_PNG, 1, NULL),
        TINKC_OK);
    assert_int_equal(
        tinkc_chat_add_sample(k.chat, k.prompt, k.tokenizer, k.samples, 0, NULL),
        TINKC_E_INVALID);
    assert_int_equal(tinkc_chat_count(k.chat), 1);
    close_kit(&k);
}

/* Texts of messages; content of another type. */
static void test_chat_sample_content(void **unused)
{
    (void)unused;
    static const char parts[] =
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Hi\"}]}";
    tinkc_chat *chat = NULL;
    size_t n = 7;
    assert_int_equal(tinkc_chat_new(&chat, NULL), TINKC_OK);
    assert_int_equal(tinkc_chat_add_json(chat, parts, strlen(parts), NULL), TINKC_OK);
    assert_null(tinkc_chat_content(&n, chat, 0));
    assert_int_equal(n, 0);
    assert_null(tinkc_chat_content(NULL, chat, 1));
    assert_null(tinkc_chat_content(NULL, NULL, 0));
    tinkc_chat_free(&chat);
}

static bool add_scenario(void *user)
{
    kit *k = user;
    tinkc_model_input *prompt = NULL;
    tinkc_chat *chat = NULL;
    bool ok = tinkc_model_input_copy(&prompt, k->prompt, NULL) == TINKC_OK &&
              tinkc_chat_new(&chat, NULL) == TINKC_OK &&
              tinkc_chat_add_sample(chat, prompt, k->tokenizer, k->samples, 0, NULL) ==
                  TINKC_OK;
    int64_t before = 0, after = 0;
    if (prompt != NULL && chat != NULL) { /* both, or neither */
        assert_int_equal(tinkc_model_input_length(&before, k->prompt, NULL), TINKC_OK);
        assert_int_equal(tinkc_model_input_length(&after, prompt, NULL), TINKC_OK);
        assert_int_equal(after - before, ok ? 2 : 0);
        assert_int_equal(tinkc_chat_count(chat), ok ? 1 : 0);
    }
    tinkc_model_input_free(&prompt);
    tinkc_chat_free(&chat);
    return ok;
}

static void test_chat_sample_allocation_sweep(void **unused)
{
    (void)unused;
    kit k = open_kit("Hello<|end|>", TK_STOP_STOP);
    failmem_sweep(add_scenario, &k, 1);
    close_kit(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chat_sample_turns),
        cmocka_unit_test(test_chat_sample_unfinished_character),
        cmocka_unit_test(test_chat_sample_blank),
        cmocka_unit_test(test_chat_sample_refused),
        cmocka_unit_test(test_chat_sample_content),
        cmocka_unit_test(test_chat_sample_allocation_sweep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
