/* tinker:// paths (M-113, docs/protocol.md §8.7). */
#include "support/test.h"
#include "wire/path.h"

/* M-113: a path and its parts. */
static void test_path_parts(void **unused)
{
    tk_path path;
    tk_err err = TK_ERR_INIT;
    tk_str text = TK_STR("tinker://a-b:train:0/weights/step-3");
    assert_int_equal(tk_path_parse(&path, text, &err), TINKC_OK);
    assert_true(tk_str_is(path.run, "a-b:train:0"));
    assert_true(tk_str_is(path.name, "step-3"));
    assert_true(tk_str_is(path.checkpoint_id, "weights/step-3"));
    assert_int_equal(path.kind, TK_PATH_WEIGHTS);
    text = TK_STR("tinker://r/sampler_weights/x");
    assert_int_equal(tk_path_parse(&path, text, &err), TINKC_OK);
    assert_int_equal(path.kind, TK_PATH_SAMPLER_WEIGHTS);
    assert_string_equal(tk_path_checkpoint_type(path.kind), "sampler");
    text = TK_STR("tinker://r/external_weights/x");
    assert_int_equal(tk_path_parse(&path, text, &err), TINKC_OK);
    assert_int_equal(path.kind, TK_PATH_EXTERNAL_WEIGHTS);
    assert_true(tk_str_is(path.checkpoint_id, "external_weights/x"));
    assert_string_equal(tk_path_checkpoint_type(path.kind), "external");
}

/* M-113: some servers (SkyRL) name weights for sampling without their kind. */
static void test_path_bare(void **unused)
{
    tk_path path;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_path_parse(&path, TK_STR("tinker://model_1/ss0_seq1"), &err),
                     TINKC_OK);
    assert_true(path.is_bare);
    assert_true(tk_str_is(path.run, "model_1"));
    assert_true(tk_str_is(path.name, "ss0_seq1"));
    assert_true(tk_str_is(path.checkpoint_id, "ss0_seq1"));
    assert_int_equal(path.kind, TK_PATH_SAMPLER_WEIGHTS);
    assert_int_equal(tk_path_parse(&path, TK_STR("tinker://r/weights/x"), &err),
                     TINKC_OK);
    assert_false(path.is_bare);
}

/* One server (twinkle) has a scheme of its own. */
static void test_path_other_scheme(void **unused)
{
    tk_path path;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_path_parse(&path, TK_STR("twinkle://r-1/weights/x"), &err),
                     TINKC_OK);
    assert_true(tk_str_is(path.run, "r-1"));
    assert_true(tk_str_is(path.checkpoint_id, "weights/x"));
    assert_int_equal(tk_path_scheme(TK_STR("tinker://")), 9);
    assert_int_equal(tk_path_scheme(TK_STR("twinkle://r")), 10);
    assert_int_equal(tk_path_scheme(TK_STR("twinkler://r")), 0);
}

/* M-113: what is not a path is refused. */
static void test_path_refusals(void **unused)
{
    static const char *const bad[] = {
        "",
        "tinker:/r/weights/x",
        "TINKER://r/weights/x",
        "tinker://",
        "tinker://r",
        "tinker://r/",
        "tinker://r/x/",
        "tinker://r/weights",
        "tinker://r/sampler_weights",
        "tinker:///x",
        "tinker:///weights/x",
        "tinker://r/weights/x/y",
        "tinker://r/weights/x/",
        "tinker://r/Weights/x",
        "tinker://r/other/x",
        "https://r/weights/x",
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        tk_err err = TK_ERR_INIT;
        tk_path path = {.name = TK_STR("untouched")};
        assert_int_equal(tk_path_parse(&path, tk_str_of(bad[i]), &err), TINKC_E_INVALID);
        assert_true(err.message[0] != '\0');
        assert_true(tk_str_is(path.name, "untouched"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path_parts),
        cmocka_unit_test(test_path_bare),
        cmocka_unit_test(test_path_other_scheme),
        cmocka_unit_test(test_path_refusals),
    };
    return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
