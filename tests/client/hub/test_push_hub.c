/* A hub that refuses, or whose answers make no sense: a clear error, and nothing goes
 * anywhere (M-138).
 * Links: peer */
#include "support/pushfix.h"

/* M-138: each step refused: the code of the status, the hub's message, no commit. */
static void test_push_refused(void **unused)
{
    static const struct {
        int status;
        tinkc_code code;
    } answers[] = {{401, TINKC_E_AUTH},
                   {403, TINKC_E_PERMISSION},
                   {307, TINKC_E_STATUS},
                   {500, TINKC_E_SERVER}};
    pushfix f;
    pushfix_begin(&f);
    for (size_t i = 0; i < TK_ARRAY_LEN(pushfix_steps); i++) {
        fakeapi *api = pushfix_steps[i].of_store ? f.store : f.hub;
        for (size_t a = 0; a < TK_ARRAY_LEN(answers); a++) {
            fakeapi_step step = {.status = answers[a].status,
                                 .body = "{\"error\":\"said so\"}"};
            bool is_readme = strcmp(pushfix_steps[i].path, PUSHFIX_README) == 0;
            if (answers[a].status == 307 && !pushfix_steps[i].of_store) {
                continue; /* asked of the storage only: a README may be elsewhere */
            }
            fakeapi_reply(api, pushfix_steps[i].method, pushfix_steps[i].path, &step);
            pushfix_refused(&f, answers[a].code, is_readme ? "README" : "said so");
            assert_int_equal(fakeapi_steps_left(api), 0);
        }
        size_t commits = fakeapi_count(f.hub, "POST", PUSHFIX_COMMIT);
        assert_int_equal(commits, i + 1 == TK_ARRAY_LEN(pushfix_steps)
                                      ? TK_ARRAY_LEN(answers) - 1
                                      : 0);
    }
    pushfix_end(&f);
}

/* M-138: malformed answers are refused, with a message. */
static void test_push_broken_answers(void **unused)
{
    static const struct {
        const char *method, *path, *body;
    } cases[] = {
        {"GET", "/api/whoami-v2", "{}"},
        {"GET", "/api/whoami-v2", "[]"},
        {"GET", "/api/whoami-v2", "<html>"},
        {"GET", "/api/whoami-v2", "{\"name\":5}"},
        {"GET", "/api/whoami-v2", "{\"name\":\"a/b\"}"},
        {"GET", "/api/whoami-v2", "{\"name\":\"../x\"}"},
        {"POST", PUSHFIX_SORT, "{}"},
        {"POST", PUSHFIX_SORT, "{\"files\":5}"},
        {"POST", PUSHFIX_SORT, "{\"files\":[1,null,\"x\",{\"path\":\"README.md\"}]}"},
        {"POST", PUSHFIX_SORT,
         "{\"files\":[{\"path\":\"README.md\",\"uploadMode\":\"pigeon\"}]}"},
        {"POST", PUSHFIX_SORT,
         "{\"files\":[{\"path\":\"README.md\",\"uploadMode\":\"regular\","
         "\"shouldIgnore\":\"no\"}]}"},
        {"POST", PUSHFIX_BATCH, "{}"},
        {"POST", PUSHFIX_BATCH, "{\"objects\":{}}"},
        {"POST", PUSHFIX_BATCH, "{\"objects\":[{\"oid\":\"other\",\"size\":1}]}"},
        {"POST", PUSHFIX_COMMIT, "{}"},
        {"POST", PUSHFIX_COMMIT, "{\"commitUrl\":1}"},
        {"POST", PUSHFIX_COMMIT, ""},
    };
    pushfix f;
    pushfix_begin(&f);
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        fakeapi_reply(f.hub, cases[i].method, cases[i].path,
                      &(fakeapi_step){.body = cases[i].body});
        pushfix_refused(&f, TINKC_E_DECODE, "the hub's answer");
        assert_int_equal(fakeapi_steps_left(f.hub), 0);
    }
    pushfix_end(&f);
}

/* M-138: actions that cannot be followed are refused, and nothing is sent. */
static void test_push_broken_actions(void **unused)
{
    static const char *const actions[] = {
        "5",
        "{\"upload\":{}}",
        "{\"upload\":{\"href\":5}}",
        "{\"upload\":{\"href\":\"ftp://x/y\"}}",
        "{\"upload\":{\"href\":\"/put\"}}",
        "{\"upload\":{\"href\":\"http://x/y\",\"header\":[]}}",
        "{\"upload\":{\"href\":\"http://x/y\",\"header\":{\"chunk_size\":0}}}",
        "{\"upload\":{\"href\":\"http://x/y\",\"header\":{\"chunk_size\":\"x\"}}}",
        "{\"upload\":{\"href\":\"http://x/y\",\"header\":{\"chunk_size\":1}}}",
        "{\"upload\":{\"href\":\"http://x/y\",\"header\":{\"chunk_size\":400000,"
        "\"1\":\"http://x/1\"}}}",
        "{\"upload\":{\"href\":\"http://x/y\",\"header\":{\"chunk_size\":400000,"
        "\"1\":\"http://x/1\",\"01\":\"http://x/1\"}}}",
        "{\"upload\":{\"href\":\"http://x/y\",\"header\":{\"chunk_size\":400000,"
        "\"1\":\"http://x/1\",\"3\":\"http://x/1\"}}}",
        "{\"upload\":{\"href\":\"http://x/y\",\"header\":{\"chunk_size\":400000,"
        "\"1\":\"gopher://x/1\",\"2\":\"http://x/1\"}}}",
    };
    pushfix f;
    char more[512];
    pushfix_begin(&f);
    for (size_t i = 0; i < TK_ARRAY_LEN(actions); i++) {
        (void)snprintf(more, sizeof(more), ",\"actions\":%s", actions[i]);
        pushfix_batch(&f, more);
        pushfix_refused(&f, TINKC_E_DECODE, "the hub's answer");
    }
    pushfix_batch(&f, ",\"error\":{\"code\":422,\"message\":\"too heavy\"}");
    pushfix_refused(&f, TINKC_E_REQUEST, "too heavy");
    (void)snprintf(more, sizeof(more),
                   ",\"actions\":{\"upload\":{\"href\":\"%s/put\",\"header\":"
                   "{\"X-A\":\"b\\r\\nc: d\"}}}",
                   fakeapi_url(f.store));
    pushfix_batch(&f, more);
    pushfix_refused(&f, TINKC_E_INVALID, "not a header");
    assert_int_equal(fakeapi_total(f.store), 0);
    pushfix_end(&f);
}

/* M-138: a NUL hides neither the name nor the end of what the hub says. */
static void test_push_hidden_actions(void **unused)
{
    static const char *const headers[] = {
        "{\"Host\\u0000\":\"evil\"}",
        "{\"Transfer-Encoding\\u0000\":\"chunked\"}",
        "{\"X-A\":\"b\\u0000c\"}",
        "{\"chunk_size\":800000,\"1\":\"http://127.0.0.1:1/p\\u0000q\"}",
    };
    pushfix f;
    char more[512];
    pushfix_begin(&f);
    for (size_t i = 0; i < TK_ARRAY_LEN(headers); i++) {
        (void)snprintf(more, sizeof(more),
                       ",\"actions\":{\"upload\":{\"href\":\"%s/put\",\"header\":%s}}",
                       fakeapi_url(f.store), headers[i]);
        pushfix_batch(&f, more);
        pushfix_refused(&f, TINKC_E_DECODE, "the hub's answer");
    }
    assert_int_equal(fakeapi_total(f.store), 0);
    pushfix_end(&f);
}

/* M-138: a part without an ETag cannot be reported. */
static void test_push_no_etag(void **unused)
{
    pushfix f;
    char more[512];
    pushfix_begin(&f);
    (void)snprintf(more, sizeof(more),
                   ",\"actions\":{\"upload\":{\"href\":\"%s/done\",\"header\":"
                   "{\"chunk_size\":%zu,\"1\":\"%s/put\"}}}",
                   fakeapi_url(f.store), WEIGHTS, fakeapi_url(f.store));
    pushfix_batch(&f, more);
    pushfix_refused(&f, TINKC_E_DECODE, "no ETag");
    assert_int_equal(fakeapi_count(f.store, "POST", "/done"), 0);
    pushfix_end(&f);
}

int main(void)
{
    pushfix_go_online();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_push_refused),
        cmocka_unit_test(test_push_broken_answers),
        cmocka_unit_test(test_push_broken_actions),
        cmocka_unit_test(test_push_hidden_actions),
        cmocka_unit_test(test_push_no_etag),
    };
    return cmocka_run_group_tests_name("push_hub", tests, NULL, NULL);
}
