/* Which tokenizer a model has, by name.
 * Links: text */
#include "client/hub/tokenizer_rule.h"

#include "support/test.h"

#define LLAMA3 "thinkingmachineslabinc/meta-llama-3-instruct-tokenizer"

typedef struct row {
    const char *model, *said, *revision; /* what is known */
    const char *id, *at;                 /* what follows; NULL: refused */
} row;

static void check_rows(const row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const row *r = &rows[i];
        tk_tokenizer_id id;
        tk_err err = TK_ERR_INIT;
        tinkc_code code = tk_tokenizer_rule(&id, r->model, r->said, r->revision, &err);
        assert_int_equal(code, r->id != NULL ? TINKC_OK : TINKC_E_INVALID);
        if (r->id != NULL) {
            assert_string_equal(id.id, r->id);
            assert_string_equal(id.revision, r->at);
        }
    }
}

/* A-131: what the server says, without what follows ":", which is the revision. */
static void test_rule_said(void **unused)
{
    static const row rows[] = {
        {"Qwen/Qwen3-8B", "Qwen/Qwen3-8B-Base", NULL, "Qwen/Qwen3-8B-Base", "main"},
        {"Qwen/Qwen3-8B", "org/tok:v1.2", NULL, "org/tok", "v1.2"},
        {"Qwen/Qwen3-8B", "org/tok:v1.2", "refs/pr/7", "org/tok", "refs/pr/7"},
        {"Qwen/Qwen3-8B", "Qwen/Qwen3-8B:peft:1", NULL, "Qwen/Qwen3-8B", "main"},
        {"Qwen/Qwen3-8B", "", NULL, "Qwen/Qwen3-8B", "main"},
        {"meta-llama/Llama-3.1-8B", "org/tok", NULL, "org/tok", "main"},
        {"x", "gpt2", NULL, "gpt2", "main"},
    };
    check_rows(rows, TK_ARRAY_LEN(rows));
}

/* A-131, A-132, M-134: without it the model's name decides; Llama 3 has an ungated copy,
 * Kimi fixed revisions. */
static void test_rule_model(void **unused)
{
    static const row rows[] = {
        {"Qwen/Qwen3-8B", NULL, NULL, "Qwen/Qwen3-8B", "main"},
        {"Qwen/Qwen3-8B:peft:131072", NULL, NULL, "Qwen/Qwen3-8B", "main"},
        {"org/name/variant", NULL, NULL, "org/name", "main"},
        {"meta-llama/Llama-3.1-8B", NULL, NULL, LLAMA3, "main"},
        {"meta-llama/Llama-3.3-70B-Instruct:1", NULL, "v2", LLAMA3, "v2"},
        {"meta-llama/Llama-2-7b", NULL, NULL, "meta-llama/Llama-2-7b", "main"},
        {"meta-llama/Llama-4", NULL, NULL, "meta-llama/Llama-4", "main"},
        {"moonshotai/Kimi-K2-Thinking", NULL, NULL, "moonshotai/Kimi-K2-Thinking",
         "612681931a8c906ddb349f8ad0f582cb552189cd"},
        {"moonshotai/Kimi-K2.5:x", NULL, NULL, "moonshotai/Kimi-K2.5",
         "4d01dfe0332d63057c186e0b262165819efb6611"},
        {"moonshotai/Kimi-K2.5-Text-Only", NULL, NULL, "moonshotai/Kimi-K2.5",
         "4d01dfe0332d63057c186e0b262165819efb6611"},
        {"a/b", "moonshotai/Kimi-K2.5-Text-Only", NULL, "moonshotai/Kimi-K2.5",
         "4d01dfe0332d63057c186e0b262165819efb6611"},
        {"moonshotai/Kimi-K3", NULL, NULL, "moonshotai/Kimi-K3",
         "f831ab66814297da540d832a5235f8e904f29d06"},
        {"a/b", "moonshotai/Kimi-K2.6", NULL, "moonshotai/Kimi-K2.6",
         "b5aabbfb20227ed42becbf5541dbffd213942c58"},
        {"moonshotai/Kimi-K2.6", NULL, "main", "moonshotai/Kimi-K2.6", "main"},
    };
    check_rows(rows, TK_ARRAY_LEN(rows));
}

/* M-132: a name is part of paths and URLs: nothing leads out of a directory. */
static void test_rule_hostile(void **unused)
{
    static const row rows[] = {
        {"../x", NULL, NULL, NULL, NULL},        {"a/..", NULL, NULL, NULL, NULL},
        {"/etc", NULL, NULL, NULL, NULL},        {"a//b", NULL, NULL, NULL, NULL},
        {"a/b?x=1", NULL, NULL, NULL, NULL},     {"a/b#", NULL, NULL, NULL, NULL},
        {"a b/c", NULL, NULL, NULL, NULL},       {"a/.hidden", NULL, NULL, NULL, NULL},
        {"a--b/c", NULL, NULL, NULL, NULL},      {"", NULL, NULL, NULL, NULL},
        {"a/b", "x/../../y", NULL, NULL, NULL},  {"a/b", "c/d:../e", NULL, NULL, NULL},
        {"a/b", NULL, "../../x", NULL, NULL},    {"a/b", NULL, "/x", NULL, NULL},
        {"a/b", NULL, "x/", NULL, NULL},         {"a/b", NULL, "-x", NULL, NULL},
        {"a/b\r\nX: y", NULL, NULL, NULL, NULL},
    };
    char large[400];
    check_rows(rows, TK_ARRAY_LEN(rows));
    memset(large, 'a', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    const row limits[] = {{large, NULL, NULL, NULL, NULL},
                          {"a", NULL, large, NULL, NULL}};
    check_rows(limits, 2);
}

/* M-132: the hub has nothing of the service's own models. */
static void test_rule_private(void **unused)
{
    tk_tokenizer_id id;
    assert_int_equal(tk_tokenizer_rule(&id, "TML/x", NULL, NULL, NULL), TINKC_OK);
    assert_true(id.is_private);
    assert_int_equal(tk_tokenizer_rule(&id, "thinkingmachines/x", NULL, NULL, NULL),
                     TINKC_OK);
    assert_true(id.is_private);
    assert_int_equal(tk_tokenizer_rule(&id, "other/x", NULL, NULL, NULL), TINKC_OK);
    assert_false(id.is_private);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rule_said),
        cmocka_unit_test(test_rule_model),
        cmocka_unit_test(test_rule_hostile),
        cmocka_unit_test(test_rule_private),
    };
    return cmocka_run_group_tests_name("tokenizer_rule", tests, NULL, NULL);
}
