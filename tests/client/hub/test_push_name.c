/* The pure parts of a push: names, patterns, the two texts (M-138, M-139). */
#include "client/hub/push_card.h"
#include "client/hub/push_name.h"
#include "support/failmem.h"
#include "support/test.h"

/* C-066: every other character is a dash, dashes do not repeat, ends are trimmed. */
static void test_push_sanitized(void **unused)
{
    static const char *const cases[][2] = {
        {"tinker-Llama-3.1-8B-a1:train:0", "tinker-Llama-3.1-8B-a1-train-0"},
        {"a//b--c - d", "a-b-c-d"},
        {"-_.x_y.-", "x_y"},
        {"a-_b", "a-_b"},
        {"\xc3\xa9t\xc3\xa9", "t"},
        {"...", ""},
        {"", ""},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        tk_buf out;
        tk_buf_init(&out, TK_KIB);
        tk_buf_puts(&out, "o/");
        tk_push_put_name(&out, tk_str_of(cases[i][0]));
        const char *text = tk_buf_cstr(&out);
        assert_non_null(text);
        assert_string_equal(text + 2, cases[i][1]);
        tk_buf_dispose(&out);
    }
}

/* C-062: names that the hub takes, and others. */
static void test_push_names(void **unused)
{
    static const char *const good[] = {"a", "a/b", "A-1_2.x/y_", "_a/b", "0"};
    static const char *const bad[] = {"",        "/",        "a/",   "/a",   "a/b/c",
                                      "a b",     "-a",       "a-",   ".a",   "a.",
                                      "a--b",    "a..b",     "a/-b", "a/b.", "x.git",
                                      "a/x.git", "\xc3\xa9", "a\nb", "a?b",  "a%2fb"};
    static const char *const branches[] = {"main", "v1.0", "a/b", "refs/pr/1", "x+y"};
    static const char *const no_branches[] = {"",   "-x",   "a b", "a..b", "a\n",  "a~1",
                                              "a^", "a:b",  "a?",  "a*",   "a[",   "a\\b",
                                              ".",  "a/.b", "/a",  "a/",   "a//b", "a."};
    char longest[TK_PUSH_NAME_MAX + 2];
    for (size_t i = 0; i < TK_ARRAY_LEN(good); i++) {
        assert_int_equal(tk_push_check_repo(good[i], NULL), TINKC_OK);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        assert_int_equal(tk_push_check_repo(bad[i], NULL), TINKC_E_INVALID);
    }
    memset(longest, 'a', sizeof(longest));
    longest[TK_PUSH_NAME_MAX + 1] = '\0';
    assert_int_equal(tk_push_check_repo(longest, NULL), TINKC_E_INVALID);
    longest[TK_PUSH_NAME_MAX] = '\0';
    assert_int_equal(tk_push_check_repo(longest, NULL), TINKC_OK);
    for (size_t i = 0; i < TK_ARRAY_LEN(branches); i++) {
        assert_int_equal(tk_push_check_revision(branches[i], NULL), TINKC_OK);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(no_branches); i++) {
        assert_int_equal(tk_push_check_revision(no_branches[i], NULL), TINKC_E_INVALID);
    }
}

/* C-033: what a checkpoint path is. */
static void test_push_sources(void **unused)
{
    static const char *const bad[] = {"",
                                      "tinker://",
                                      "tinker://r/weights/",
                                      "tinker://r/other/1",
                                      "tinker:///weights/1",
                                      "r/weights/1",
                                      "tinker://r/weights/a b",
                                      "tinker://r/weights/a`b",
                                      "tinker://r/weights/a\n"};
    tk_push_source source;
    assert_int_equal(
        tk_push_source_read(&source, "tinker://a:b/sampler_weights/0001", NULL),
        TINKC_OK);
    assert_true(tk_str_is(source.run, "a:b"));
    assert_true(tk_str_is(source.kind, "sampler_weights"));
    assert_true(tk_str_is(source.name, "0001"));
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        assert_int_equal(tk_push_source_read(&source, bad[i], NULL), TINKC_E_INVALID);
    }
}

/* C-062, C-069, M-138: as Python's fnmatchcase, on the whole path. */
static void test_push_patterns(void **unused)
{
    static const struct {
        const char *pattern, *path;
        bool matches;
    } cases[] = {
        {"*", "a/b", true},
        {"*.json", "sub/x.json", true},
        {"x.json", "sub/x.json", false},
        {"sub/", "sub/deep/x", true},
        {"sub/", "sub", false},
        {"sub\\x", "sub/x", true},
        {"?.txt", "a.txt", true},
        {"?.txt", "ab.txt", false},
        {"?.txt", ".txt", false},
        {"?", "\xc3\xa9", true},
        {"??", "\xc3\xa9", false},
        {"[abc]x", "bx", true},
        {"[!abc]x", "bx", false},
        {"[!abc]x", "dx", true},
        {"[a-c]", "b", true},
        {"[a-c]", "d", false},
        {"[c-a]", "b", false},
        {"[a-]", "-", true},
        {"[-a]", "-", true},
        {"[]a]", "]", true},
        {"[!]a]", "]", false},
        {"[!]a]", "b", true},
        {"[a", "[a", true},
        {"[a", "a", false},
        {"[\xc3\xa0-\xc3\xbf]", "\xc3\xa9", true},
        {"[/]", "/", true},
        {"a*b*c", "axxbyyc", true},
        {"a*b*c", "axxbyy", false},
        {"**/x", "a/b/x", true},
        {"**/x", "x", false},
        {"", "", true},
        {"", "a", false},
        {"A", "a", false},
        {"a.b", "axb", false},
        {"***************************************b",
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        if (tk_push_matches(tk_str_of(cases[i].pattern), tk_str_of(cases[i].path)) !=
            cases[i].matches) {
            fail_msg("%s and %s", cases[i].pattern, cases[i].path);
        }
    }
}

static void check_patch(const char *config, const char *expected)
{
    tk_buf out;
    bool changed = expected == NULL;
    tk_buf_init(&out, TK_MIB);
    assert_int_equal(tk_push_patch(&out, &changed, tk_str_of(config), "org/m", NULL),
                     TINKC_OK);
    assert_int_equal(changed, expected != NULL);
    assert_string_equal(tk_buf_cstr(&out), expected != NULL ? expected : "");
    tk_buf_dispose(&out);
}

/* C-065: as json.dumps(indent=2, sort_keys=True) writes it; left alone when it names its
 * base model, or is nothing that could. */
static void test_push_patch(void **unused)
{
    check_patch("{}", "{\n  \"base_model_name_or_path\": \"org/m\"\n}\n");
    check_patch("{\"z\": [1.0, 1e-05, 1e22, -0.0, 12345678901234567890, true, null, "
                "\"\xc3\xa9\xf0\x9f\x98\x80\x7f\\n\"], \"a\": {\"y\": {}, \"b\": []}, "
                "\"\xc3\xa9\": 0.1, \"B\": 1e16, \"base_model_name_or_path\": null, "
                "\"k\": 1, \"k\": [2, 3]}",
                "{\n  \"B\": 1e+16,\n  \"a\": {\n    \"b\": [],\n    \"y\": {}\n  },\n"
                "  \"base_model_name_or_path\": \"org/m\",\n"
                "  \"k\": [\n    2,\n    3\n  ],\n  \"z\": [\n    1.0,\n    1e-05,\n"
                "    1e+22,\n    -0.0,\n    12345678901234567890,\n    true,\n    null,\n"
                "    \"\\u00e9\\ud83d\\ude00\\u007f\\n\"\n  ],\n  \"\\u00e9\": 0.1\n}\n");
    check_patch("{\"base_model_name_or_path\": \"\"}", NULL);
    check_patch("{\"base_model_name_or_path\": 5}",
                "{\n  \"base_model_name_or_path\": \"org/m\"\n}\n");
    check_patch("[1]", NULL);
    check_patch("not JSON", NULL);
    check_patch("", NULL);
}

/* C-067: the card without what is not known. */
static void test_push_card_unknown(void **unused)
{
    const tk_push_facts facts = {.base = "unknown", .lora_rank = -1};
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    tk_push_card(&out, &facts, "o/n", "tinker://r/weights/1");
    const char *text = tk_buf_cstr(&out);
    assert_non_null(text);
    assert_null(strstr(text, "adapter:"));
    assert_null(strstr(text, "rank"));
    assert_null(strstr(text, "Trained"));
    assert_non_null(strstr(text, "- lora\ntinker_path: tinker://r/weights/1\n---\n"));
    assert_non_null(strstr(text, "\n- Base model: unknown\n"));
    tk_buf_dispose(&out);
}

/* C-068: the first path that a README names. */
static void test_push_named_in(void **unused)
{
    static const char *const cases[][2] = {
        {"tinker://a/weights/1", "tinker://a/weights/1"},
        {"x `tinker://a/b` tinker://c", "tinker://a/b"},
        {"tinker:// tinker://c\n", "tinker://c"},
        {"tinker://", ""},
        {"Tinker://x", ""},
        {"", ""},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        tk_str named = tk_push_named_in(tk_str_of(cases[i][0]));
        assert_true(tk_str_is(named, cases[i][1]));
    }
}

static bool patch_once(void *user)
{
    tk_buf out;
    bool changed = false;
    tk_buf_init(&out, TK_MIB);
    bool ok = tk_push_patch(&out, &changed, TK_STR("{\"a\": {\"b\": [1, 2, null]}}"), "m",
                            NULL) == TINKC_OK;
    tk_buf_dispose(&out);
    return ok && changed;
}

/* M-139: with any allocation failing there is no text, or the whole. */
static void test_push_patch_sweep(void **unused)
{
    assert_true(failmem_sweep(patch_once, NULL, 1) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_push_sanitized), cmocka_unit_test(test_push_names),
        cmocka_unit_test(test_push_sources),   cmocka_unit_test(test_push_patterns),
        cmocka_unit_test(test_push_patch),     cmocka_unit_test(test_push_card_unknown),
        cmocka_unit_test(test_push_named_in),  cmocka_unit_test(test_push_patch_sweep),
    };
    return cmocka_run_group_tests_name("push_name", tests, NULL, NULL);
}
