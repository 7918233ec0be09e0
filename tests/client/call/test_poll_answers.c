/* The polling loop on a scripted transport and a fake clock: the rows of the
 * retrieve_future table about answers (docs/protocol.md §4, 12 to 19; A-152). */
#include "support/pollfix.h"

/* A-152, M-093: row 12. */
static void test_poll_row_12_protobuf(void **unused)
{
    pollfix p;
    pollfix_open_as(&p, TK_FUTURE_SAMPLE, NULL);
    char accept[64];
    assert_true(faketransport_header(faketransport_nth(&p.f.net, POLL, 0), "accept",
                                     accept, sizeof(accept)));
    assert_string_equal(accept, "application/x-protobuf");
    pollfix_answer(&p, (fakeanswer){.body = "{\"type\":\"try_again\"}",
                                    .headers = {"content-type",
                                                "application/x-protobuf; charset=x"}});
    assert_true(p.done && p.is_protobuf);
    assert_int_equal(p.code, TINKC_OK);
    assert_string_equal(p.body, "{\"type\":\"try_again\"}"); /* not looked into */
    pollfix_close(&p);
}

/* Protobuf for a result that is JSON, whatever is in it; every type of future with every
 * content type ends in a result of its own form or in an error. */
static void test_poll_content_types(void **unused)
{
    static const char *const types[] = {"application/json", "application/x-protobuf",
                                        "text/html", ""};
    static const char *const bodies[] = {"", "{}", "{\"type\":\"x\"}", "\n\x02hi",
                                         "null"};
    for (int type = 0; type < TK_FUTURE_TYPES; type++) {
        bool wants_proto = tk_future_info_of((tk_future_type)type)->is_proto;
        for (size_t i = 0; i < TK_ARRAY_LEN(types) * TK_ARRAY_LEN(bodies); i++) {
            const char *said = types[i % TK_ARRAY_LEN(types)];
            pollfix p;
            pollfix_open_as(&p, (tk_future_type)type, NULL);
            pollfix_answer(&p, (fakeanswer){.body = bodies[i / TK_ARRAY_LEN(types)],
                                            .headers = {"content-type", said}});
            assert_true(p.done);
            bool is_proto = strcmp(said, "application/x-protobuf") == 0;
            if (is_proto != wants_proto) {
                assert_true(p.code == TINKC_OK || p.code == TINKC_E_DECODE);
            }
            if (p.code == TINKC_OK) {
                assert_int_equal(p.is_protobuf, is_proto);
                assert_int_equal(p.has_json, !is_proto);
                assert_true(wants_proto || !is_proto);
            }
            pollfix_close(&p);
        }
    }
}

/* row 13. */
static void test_poll_row_13_try_again(void **unused)
{
    pollfix p;
    pollfix_open(&p);
    pollfix_answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
    pollfix_again(&p, 1000);
    for (int i = 0; i < 3; i++) {
        pollfix_answer(&p, (fakeanswer){.body = "{\"type\":\"try_again\"}"});
        pollfix_again(&p, 0);
    }
    pollfix_answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
    pollfix_again(&p, 1000);
    pollfix_close(&p);
}

static const fakeanswer metadata = {
    .body = "{\"status\":\"complete_metadata\",\"response_payload_size\":60}"};

/* A-152, M-092: row 14: asks again at once, now for all of it. */
static void test_poll_row_14_metadata(void **unused)
{
    pollfix p;
    pollfix_open_as(&p, TK_FUTURE_SAMPLE, NULL);
    assert_non_null(strstr(faketransport_nth(&p.f.net, POLL, 0)->body,
                           "\"allow_metadata_only\":true"));
    pollfix_answer(&p, metadata);
    pollfix_again(&p, 0);
    assert_non_null(strstr(faketransport_nth(&p.f.net, POLL, 1)->body,
                           "\"allow_metadata_only\":false"));
    pollfix_close(&p);
}

/* row 15: a server that answers with metadata a second time, too. */
static void test_poll_row_15_metadata(void **unused)
{
    pollfix p;
    pollfix_open_as(&p, TK_FUTURE_SAMPLE, NULL);
    pollfix_answer(&p, metadata);
    pollfix_again(&p, 0);
    pollfix_answer(&p, metadata);
    pollfix_failed(&p, TINKC_E_DECODE);
    pollfix_close(&p);
}

/* M-092: row 14: the payload waits for the budget of large results, and gives it back. */
static void test_poll_row_14_budget(void **unused)
{
    pollfix p;
    pollfix_open_as(&p, TK_FUTURE_SAMPLE,
                    "{\"inflight_response_bytes_semaphore_size\":50}");
    tk_budget *budget = tk_core_response_budget(tk_service_core(p.f.service));
    pollfix second = {.f = {.service = NULL}};
    second.poll = p.poll;
    second.poll.user = &second;
    tk_poll_start(&second.poll);
    pollfix_answer(&p, metadata); /* 60 of 50: admitted, as anything was left */
    pollfix_answer(&p, metadata); /* the second one's */
    assert_int_equal(faketransport_open(&p.f.net, POLL), 1);
    assert_int_equal(budget->remaining, -10);
    pollfix_answer(
        &p,
        (fakeanswer){.body = "", .headers = {"content-type", "application/x-protobuf"}});
    assert_true(p.done);
    assert_int_equal(faketransport_open(&p.f.net, POLL), 1);
    pollfix_answer(&p, (fakeanswer){.status = 404});
    assert_true(second.done);
    assert_int_equal(budget->remaining, 50);
    pollfix_close(&p);
}

/* row 16: any value under "error" fails; category in any case. */
static void test_poll_row_16_failed(void **unused)
{
    static const struct {
        const char *body, *text;
        tinkc_category category;
    } rows[] = {
        {"{\"error\":\"bad\",\"category\":\"user\"}", "bad", TINKC_CATEGORY_USER},
        {"{\"error\":\"bad\",\"category\":\"server\"}", "bad", TINKC_CATEGORY_SERVER},
        {"{\"error\":\"bad\",\"category\":\"unknown\"}", "bad", TINKC_CATEGORY_UNKNOWN},
        {"{\"error\":\"bad\"}", "bad", TINKC_CATEGORY_UNKNOWN},
        {"{\"error\":null}", "null", TINKC_CATEGORY_UNKNOWN},
        {"{\"error\":{\"a\":1},\"category\":7}", "{\"a\":1}", TINKC_CATEGORY_UNKNOWN}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        pollfix p;
        pollfix_open(&p);
        pollfix_answer(&p, (fakeanswer){.body = rows[i].body});
        pollfix_failed(&p, TINKC_E_REQUEST);
        assert_int_equal(p.err.category, rows[i].category);
        assert_non_null(strstr(p.err.message, rows[i].text));
        pollfix_close(&p);
    }
}

/* A failure always has a text, also when the server gave none. */
static void test_poll_failed_without_text(void **unused)
{
    pollfix p;
    pollfix_open(&p);
    pollfix_answer(&p, (fakeanswer){.body = "{\"error\":\"\",\"category\":\"user\"}"});
    pollfix_failed(&p, TINKC_E_REQUEST);
    assert_string_equal(p.err.message, "the server gave no reason");
    pollfix_close(&p);
}

/* row 17: a server without protobuf; that it is one is logged once. */
static void test_poll_row_17_legacy(void **unused)
{
    static const tk_future_type types[] = {TK_FUTURE_SAMPLE, TK_FUTURE_FORWARD,
                                           TK_FUTURE_FORWARD_BACKWARD};
    for (size_t i = 0; i < TK_ARRAY_LEN(types); i++) {
        pollfix p;
        pollfix_open_as(&p, types[i], NULL);
        pollfix_answer(&p, (fakeanswer){.body = "{\"sequences\":[]}"});
        assert_true(p.done && p.has_json && !p.is_protobuf);
        assert_int_equal(p.code, TINKC_OK);
        assert_string_equal(p.body, "{\"sequences\":[]}");
        assert_non_null(strstr(p.f.log, "results are read as JSON"));
        pollfix_close(&p);
    }
}

/* row 18. */
static void test_poll_row_18_result(void **unused)
{
    pollfix p;
    pollfix_open(&p);
    pollfix_answer(&p, (fakeanswer){.body = "{\"metrics\":{\"a\":1}}"});
    assert_true(p.done && p.has_json && !p.is_protobuf);
    assert_int_equal(p.code, TINKC_OK);
    assert_string_equal(p.body, "{\"metrics\":{\"a\":1}}");
    pollfix_close(&p);
}

/* row 18: what a newer server calls otherwise is not this result. */
static void test_poll_row_18_other(void **unused)
{
    pollfix p;
    pollfix_open(&p);
    pollfix_answer(&p, (fakeanswer){.body = "{\"type\":\"half_done\",\"metrics\":{}}"});
    pollfix_failed(&p, TINKC_E_DECODE);
    assert_non_null(strstr(p.err.message, "\"half_done\""));
    assert_non_null(strstr(p.err.message, "\"optim_step\""));
    pollfix_close(&p);
}

/* row 19. */
static void test_poll_row_19_malformed(void **unused)
{
    static const char *const bodies[] = {"", "<html>", "[]", "7", "{\"a\":"};
    for (size_t i = 0; i < TK_ARRAY_LEN(bodies); i++) {
        pollfix p;
        pollfix_open(&p);
        pollfix_answer(&p, (fakeanswer){.body = bodies[i]});
        pollfix_failed(&p, TINKC_E_DECODE);
        pollfix_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_poll_row_12_protobuf),
        cmocka_unit_test(test_poll_content_types),
        cmocka_unit_test(test_poll_row_13_try_again),
        cmocka_unit_test(test_poll_row_14_metadata),
        cmocka_unit_test(test_poll_row_15_metadata),
        cmocka_unit_test(test_poll_row_14_budget),
        cmocka_unit_test(test_poll_row_16_failed),
        cmocka_unit_test(test_poll_failed_without_text),
        cmocka_unit_test(test_poll_row_17_legacy),
        cmocka_unit_test(test_poll_row_18_result),
        cmocka_unit_test(test_poll_row_18_other),
        cmocka_unit_test(test_poll_row_19_malformed),
    };
    return cmocka_run_group_tests_name("poll_answers", tests, NULL, NULL);
}
