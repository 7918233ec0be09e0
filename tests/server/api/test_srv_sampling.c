/* Sampling, request by request: streams, checks, overload (docs/protocol.md §11).
 * Links: wire */
#include "server/wirefix.h"

/* Appendix B: tokens as they are drawn, then why it ended. */
static void test_srv_samples_are_streamed(void **state)
{
    fix t;
    open_fix(&t, (srv_options){0});
    httpget_response response;
    const httpget_request request = {
        .method = "POST",
        .target = API "stream_sample",
        .headers = "Accept: text/event-stream\r\n",
        .body = "{\"base_model\":\"" MODEL "\",\"prompt\":{\"chunks\":[{\"tokens\":[5,7],"
                "\"type\":\"encoded_text\"}]},\"sampling_params\":{\"max_tokens\":5,"
                "\"stop\":[],\"seed\":1}}"};
    assert_int_equal(httpget_once(srvfix_port(&t.f), &request, &response), HTTPGET_OK);
    assert_int_equal(response.status, 200);
    assert_string_equal(httpget_header(&response, "Content-Type"), "text/event-stream");
    tk_str rest = {response.body.p, response.body.n};
    int tokens = 0, ends = 0;
    while (rest.n > 0) {
        tk_str line = tk_str_cut(&rest, '\n');
        const tk_json *json = NULL;
        tk_err err = TK_ERR_INIT;
        if (line.n == 0) {
            continue;
        }
        assert_true(tk_str_has_prefix(line, "data: "));
        assert_int_equal(
            tk_json_parse(&json, &t.f.arena, line.p + 6, line.n - 6, NULL, &err),
            TINKC_OK);
        if (tk_json_get(json, "finish_reason") != NULL) {
            assert_string_equal(srvfix_text(json, "finish_reason"), "length");
            assert_int_equal(tk_json_get(json, "total_tokens")->as.integer, 5);
            ends++;
        } else {
            assert_int_equal(tk_json_get(json, "index")->as.integer, tokens);
            tokens++;
        }
    }
    assert_int_equal(tokens, 5);
    assert_int_equal(ends, 1);
    httpget_response_dispose(&response);
    close_fix(&t);
}

/* So hot that every token is as likely as any: the seed begins with the two tokens of a
 * Greek letter, one byte each. */
#define LETTER "\xCE\xA7"
#define HOT                                                                              \
    "{\"base_model\":\"" MODEL "\",\"prompt\":{\"chunks\":[{\"tokens\":[5,7],"           \
    "\"type\":\"encoded_text\"}]},\"sampling_params\":{\"temperature\":100,"             \
    "\"seed\":406,\"max_tokens\":%d,\"stop\":%s}}"

/* A stop string is found whatever tokens its bytes are in. */
static void test_srv_stops_in_parts_of_characters(void **state)
{
    static const struct {
        const char *stop;
        size_t tokens;
        const char *reason;
    } rows[] = {{"[]", 4, "length"}, {"[\"" LETTER "\"]", 2, "stop"}};
    fix t;
    open_fix(&t, (srv_options){0});
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        const char *body = format_body(&t, HOT, 4, rows[i].stop);
        const tk_json *result = result_of(&t, submit(&t, API "asample", body));
        tk_json sequence = tk_json_at(tk_json_get(result, "sequences"), 0);
        const tk_json *tokens = tk_json_get(&sequence, "tokens");
        assert_int_equal(tk_json_at(tokens, 0).as.integer, 211);
        assert_int_equal(tk_json_at(tokens, 1).as.integer, 172);
        assert_int_equal(tk_json_len(tokens), rows[i].tokens);
        assert_string_equal(srvfix_text(&sequence, "stop_reason"), rows[i].reason);
    }
    close_fix(&t);
}

/* The next event of the stream that `rest` is what is left of. */
static const tk_json *next_event(fix *t, tk_str *rest)
{
    const tk_json *json = NULL;
    tk_err err = TK_ERR_INIT;
    tk_str line = tk_str_cut(rest, '\n');
    assert_true(tk_str_has_prefix(line, "data: "));
    assert_int_equal(
        tk_json_parse(&json, &t->f.arena, line.p + 6, line.n - 6, NULL, &err), TINKC_OK);
    (void)tk_str_cut(rest, '\n');
    return json;
}

/* The first token of a letter has no text yet, the second one has all of it. When there is no
 * second one, U+FFFD is in its place, and the event that ends the stream has no text. */
static void test_srv_streams_have_whole_characters(void **state)
{
    static const struct {
        int tokens;
        const char *wanted[2];
    } rows[] = {{2, {"", LETTER}}, {1, {"\xEF\xBF\xBD"}}};
    fix t;
    open_fix(&t, (srv_options){0});
    for (size_t k = 0; k < TK_ARRAY_LEN(rows); k++) {
        httpget_response response;
        const httpget_request request = {.method = "POST",
                                         .target = API "stream_sample",
                                         .headers = "Accept: text/event-stream\r\n",
                                         .body =
                                             format_body(&t, HOT, rows[k].tokens, "[]")};
        assert_int_equal(httpget_once(srvfix_port(&t.f), &request, &response),
                         HTTPGET_OK);
        assert_int_equal(response.status, 200);
        tk_str rest = {response.body.p, response.body.n};
        for (int i = 0; i < rows[k].tokens; i++) {
            assert_string_equal(srvfix_text(next_event(&t, &rest), "token"),
                                rows[k].wanted[i]);
        }
        const tk_json *end = next_event(&t, &rest);
        assert_string_equal(srvfix_text(end, "finish_reason"), "length");
        assert_null(tk_json_get(end, "token"));
        httpget_response_dispose(&response);
    }
    close_fix(&t);
}

static void test_srv_samples_are_checked(void **state)
{
    static const char *const bad[] = {
        "\"num_samples\":0",
        "\"num_samples\":1000000",
        "\"topk_prompt_logprobs\":-1",
        "\"model_path\":\"tinker://x/weights/y\"",
    };
    fix t;
    open_fix(&t, (srv_options){0});
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        (void)srvfix_post(&t.f, API "asample",
                          format_body(&t,
                                      "{\"base_model\":\"" MODEL "\",\"prompt\":{"
                                      "\"chunks\":[{\"tokens\":[5],\"type\":"
                                      "\"encoded_text\"}]},\"sampling_params\":{},%s}",
                                      bad[i]));
        assert_int_equal(t.f.status, 400);
    }
    (void)srvfix_post(&t.f, API "asample",
                      "{\"base_model\":\"" MODEL "\",\"prompt\":{\"chunks\":[]},"
                      "\"sampling_params\":{\"max_tokens\":1}}");
    assert_int_equal(t.f.status, 400);
    (void)srvfix_post(&t.f, API "asample",
                      "{\"sampling_session_id\":\"nobody\",\"seq_id\":0,\"prompt\":{"
                      "\"chunks\":[{\"tokens\":[5],\"type\":\"encoded_text\"}]},"
                      "\"sampling_params\":{\"max_tokens\":1}}");
    assert_int_equal(t.f.status, 404);
    /* A token that the model does not have fails there. */
    const char *id = submit(&t, API "asample",
                            "{\"base_model\":\"" MODEL "\",\"prompt\":{\"chunks\":["
                            "{\"tokens\":[99999999],\"type\":\"encoded_text\"}]},"
                            "\"sampling_params\":{\"max_tokens\":1}}");
    assert_string_equal(srvfix_text(result_of(&t, id), "category"), "user");
    close_fix(&t);
}

static const char *refuse_model(fix *t, const char *name)
{
    const tk_json *json = srvfix_post(
        &t->f, API "asample",
        format_body(t,
                    "{\"base_model\":\"%s\",\"prompt\":{\"chunks\":[{\"tokens\":[5],"
                    "\"type\":\"encoded_text\"}]},\"sampling_params\":{}}",
                    name));
    assert_int_equal(t->f.status, 400);
    return srvfix_text(json, "detail");
}

/* Who names a model that is not there reads which are; a path belongs elsewhere. */
static void test_srv_unknown_models_are_explained(void **state)
{
    fix t;
    char wrong[128], wanted[256], longest[301];
    open_fix(&t, (srv_options){0});
    (void)snprintf(wrong, sizeof(wrong), "%sx", MODEL);
    (void)snprintf(wanted, sizeof(wanted),
                   "base_model \"%s\" is not served; did you mean \"" MODEL
                   "\"?; served: " MODEL,
                   wrong);
    assert_string_equal(refuse_model(&t, wrong), wanted);
    assert_string_equal(refuse_model(&t, "zzz"),
                        "base_model \"zzz\" is not served; served: " MODEL);
    assert_non_null(
        strstr(refuse_model(&t, "tinker://x/weights/y"), "give it as model_path"));
    memset(longest, 'z', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_non_null(strstr(refuse_model(&t, longest), "; served: " MODEL));
    close_fix(&t);
}

/* S-019: too many samples are refused with 429, and the server goes on. */
static void test_srv_overload_is_429(void **state)
{
    fix t;
    int accepted = 0;
    open_fix(&t, (srv_options){0});
    do {
        (void)srvfix_post(&t.f, API "asample",
                          "{\"base_model\":\"" MODEL "\",\"num_samples\":1024,"
                          "\"prompt\":{\"chunks\":[{\"tokens\":[5],\"type\":"
                          "\"encoded_text\"}]},\"sampling_params\":{\"max_tokens\":"
                          "400,\"stop\":[]}}");
        accepted += t.f.status == 200;
    } while (t.f.status == 200 && accepted < 100);
    assert_int_equal(t.f.status, 429);
    assert_true(accepted >= (int)(TK_SRV_SAMPLES_MAX / 1024));
    (void)srvfix_session(&t.f);
    close_fix(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_samples_are_streamed),
        cmocka_unit_test(test_srv_stops_in_parts_of_characters),
        cmocka_unit_test(test_srv_streams_have_whole_characters),
        cmocka_unit_test(test_srv_samples_are_checked),
        cmocka_unit_test(test_srv_unknown_models_are_explained),
        cmocka_unit_test(test_srv_overload_is_429),
    };
    return cmocka_run_group_tests_name("srv_sampling", tests, NULL, NULL);
}
