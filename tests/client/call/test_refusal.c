/* Which answers refuse the format of a body. */
#include "client/call/refusal.h"

#include "support/test.h"

static tk_refusal refusal(int status, const char *body)
{
    tk_http_response response = {.status = status, .body = tk_str_of(body)};
    return tk_refusal_of(&response);
}

static void test_refusal_format(void **unused)
{
    assert_int_equal(refusal(415, ""), TK_REFUSAL_FORMAT);
    assert_int_equal(refusal(422, "{\"detail\":[{\"loc\" : [ \"body\" ]}]}"),
                     TK_REFUSAL_FORMAT);
    assert_int_equal(refusal(400, "Invalid JSON"), TK_REFUSAL_FORMAT);
    assert_int_equal(refusal(500, "json.decoder.JSONDecodeError: Expecting value"),
                     TK_REFUSAL_FORMAT);
    assert_int_equal(refusal(500, "Unsupported Media Type"), TK_REFUSAL_FORMAT);
}

static void test_refusal_mute(void **unused)
{
    assert_int_equal(refusal(500, ""), TK_REFUSAL_MUTE);
    assert_int_equal(refusal(500, "Internal Server Error\n"), TK_REFUSAL_MUTE);
    assert_int_equal(refusal(500, "out of memory"), TK_REFUSAL_OTHER);
    assert_int_equal(refusal(400, ""), TK_REFUSAL_OTHER);
}

/* Refusals of the work, and answers that say nothing of the body. */
static void test_refusal_other(void **unused)
{
    static const int statuses[] = {0,   200, 401, 402, 403, 404, 408,
                                   409, 410, 429, 502, 503, 504};
    for (size_t i = 0; i < TK_ARRAY_LEN(statuses); i++) {
        assert_int_equal(refusal(statuses[i], "json_invalid"), TK_REFUSAL_OTHER);
    }
    assert_int_equal(refusal(422, "{\"detail\":[{\"loc\":[\"body\",\"loss_fn\"]}]}"),
                     TK_REFUSAL_OTHER);
    assert_int_equal(refusal(400, "{\"detail\":\"Model not found\"}"), TK_REFUSAL_OTHER);
    tk_http_response lost = {.failure = TK_HTTP_RESET, .status = 415};
    assert_int_equal(tk_refusal_of(&lost), TK_REFUSAL_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusal_format),
        cmocka_unit_test(test_refusal_mute),
        cmocka_unit_test(test_refusal_other),
    };
    return cmocka_run_group_tests_name("refusal", tests, NULL, NULL);
}
