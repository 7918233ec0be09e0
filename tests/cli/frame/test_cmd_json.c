/* The layout of JSON.
 * Links: client */
#include "cli/frame/cmd_json.h"

#include "support/test.h"

/* C-012: indented by two as Python does it, or in one line; ASCII always. */
static void test_cmd_json_layout(void **unused)
{
    static const struct {
        const char *compact, *line, *lines;
    } cases[] = {
        {"{}", "{}", "{}"},
        {"[]", "[]", "[]"},
        {"[1,[],{\"a\":{}}]", "[1, [], {\"a\": {}}]",
         "[\n  1,\n  [],\n  {\n    \"a\": {}\n  }\n]"},
        {"{\"a\":\"{[,:]}\\\"\\\\\",\"b\":null}",
         "{\"a\": \"{[,:]}\\\"\\\\\", \"b\": null}",
         "{\n  \"a\": \"{[,:]}\\\"\\\\\",\n  \"b\": null\n}"},
        {"\"h\xc3\xa9\xf0\x9f\x98\x80\"", "\"h\\u00e9\\ud83d\\ude00\"",
         "\"h\\u00e9\\ud83d\\ude00\""},
        {"-1.5e3", "-1.5e3", "-1.5e3"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        for (int in_lines = 0; in_lines < 2; in_lines++) {
            tk_buf out;
            tk_buf_init(&out, 4096);
            cmd_json_layout(&out, tk_str_of(cases[i].compact), in_lines == 1);
            assert_string_equal(tk_buf_cstr(&out),
                                in_lines == 1 ? cases[i].lines : cases[i].line);
            tk_buf_dispose(&out);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cmd_json_layout),
    };
    return cmocka_run_group_tests_name("cmd_json", tests, NULL, NULL);
}
