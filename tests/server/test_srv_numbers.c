/* Numbers and keys by which a repeated request is recognised: what cannot be used is
 * refused, never ignored, because an ignored one runs its request again.
 * Links: wire */
#include "server/wirefix.h"

#define STEP "{\"adam_params\":{\"learning_rate\":0.1},\"model_id\":\"%s\"%s}"
#define SAVE "{\"model_id\":\"%s\",\"path\":\"n\"%s}"
#define LOAD                                                                             \
    "{\"model_id\":\"%s\",\"path\":\"tinker://x/weights/n\",\"optimizer\":false%s}"
#define TRAIN                                                                            \
    "{\"forward_backward_input\":{\"data\":[{\"loss_fn_inputs\":{\"target_tokens\":{"    \
    "\"data\":[7],\"dtype\":\"int64\"},\"weights\":{\"data\":[1.0],\"dtype\":"           \
    "\"float32\"}},\"model_input\":{\"chunks\":[{\"tokens\":[5],\"type\":"               \
    "\"encoded_text\"}]}}],\"loss_fn\":\"cross_entropy\"},\"model_id\":\"%s\"%s}"
#define FORWARD                                                                          \
    "{\"forward_input\":{\"data\":[{\"loss_fn_inputs\":{\"target_tokens\":{"             \
    "\"data\":[7],\"dtype\":\"int64\"},\"weights\":{\"data\":[1.0],\"dtype\":"           \
    "\"float32\"}},\"model_input\":{\"chunks\":[{\"tokens\":[5],\"type\":"               \
    "\"encoded_text\"}]}}],\"loss_fn\":\"cross_entropy\"},\"model_id\":\"%s\"%s}"

static void check(fix *t, const char *path, const char *format, const char *number,
                  bool accepted)
{
    char body[1024];
    assert_true(strstr(format, "%s") != NULL);
    char *at = strstr(format, "%s");
    (void)snprintf(body, sizeof(body), "%.*s%s", (int)(at - format), format, t->model);
    const char *rest = at + 2;
    at = strstr(rest, "%s");
    size_t n = strlen(body);
    (void)snprintf(body + n, sizeof(body) - n, "%.*s%s%s", (int)(at - rest), rest, number,
                   at + 2);
    (void)srvfix_post(&t->f, path, body);
    bool refused = t->f.status == 400 || t->f.status == 422;
    if (accepted ? t->f.status != 200 : !refused) {
        fail_msg("%s %s: %d", path, body, t->f.status);
    }
}

/* A training request without a seq_id is taken; one with a seq_id below 1 is refused. */
static void test_srv_numbers_of_training(void **state)
{
    static const struct {
        const char *path, *body;
    } routes[] = {
        {API "optim_step", STEP},
        {API "save_weights", SAVE},
        {API "save_weights_for_sampler", SAVE},
        {API "load_weights", LOAD},
        {API "forward_backward", TRAIN},
        {API "forward", FORWARD},
    };
    static const char *const wrong[] = {
        ",\"seq_id\":0",
        ",\"seq_id\":-1",
        ",\"seq_id\":-9223372036854775808",
        ",\"seq_id\":9223372036854775807",
        ",\"seq_id\":1e300",
        ",\"seq_id\":1.5",
        ",\"seq_id\":\"1\"",
    };
    fix t;
    open_fix(&t, (srv_options){0});
    for (size_t i = 0; i < TK_ARRAY_LEN(routes); i++) {
        for (size_t k = 0; k < TK_ARRAY_LEN(wrong); k++) {
            check(&t, routes[i].path, routes[i].body, wrong[k], false);
        }
        check(&t, routes[i].path, routes[i].body, "", true);
    }
    close_fix(&t);
}

/* Samples, models and sampling sessions are numbered from 0. */
static void test_srv_numbers_from_zero(void **state)
{
    static const char *const wrong[] = {"-1", "-9223372036854775808", "0.5"};
    fix t;
    open_fix(&t, (srv_options){0});
    for (size_t i = 0; i < TK_ARRAY_LEN(wrong); i++) {
        (void)srvfix_post(&t.f, API "create_model",
                          format_body(&t,
                                      "{\"session_id\":\"%s\",\"model_seq_id\":%s,"
                                      "\"base_model\":\"" MODEL "\"}",
                                      t.session, wrong[i]));
        assert_int_equal(t.f.status, 422);
        (void)srvfix_post(
            &t.f, API "create_sampling_session",
            format_body(&t,
                        "{\"session_id\":\"%s\",\"sampling_session_seq_id\":%s,"
                        "\"base_model\":\"" MODEL "\"}",
                        t.session, wrong[i]));
        assert_int_equal(t.f.status, 422);
        (void)srvfix_post(
            &t.f, API "asample",
            format_body(&t,
                        "{\"prompt\":{\"chunks\":[{\"tokens\":[5],\"type\":"
                        "\"encoded_text\"}]},\"sampling_params\":{\"max_tokens\":1},"
                        "\"sampling_session_id\":\"%s:sample:0\",\"seq_id\":%s}",
                        t.session, wrong[i]));
        assert_int_equal(t.f.status, 422);
    }
    close_fix(&t);
}

static int create_with_key(fix *t, size_t n)
{
    char headers[512] = "X-Idempotency-Key: ";
    size_t at = strlen(headers);
    memset(headers + at, 'k', n);
    memcpy(headers + at + n, "\r\n", 3);
    const httpget_request request = {.method = "POST",
                                     .target = API "create_session",
                                     .headers = headers,
                                     .body = "{\"tags\":[],\"sdk_version\":\"0.25.0\"}"};
    httpget_response response;
    assert_int_equal(httpget_once(srvfix_port(&t->f), &request, &response), HTTPGET_OK);
    int status = response.status;
    httpget_response_dispose(&response);
    return status;
}

static void test_srv_numbers_long_key(void **state)
{
    fix t;
    open_fix(&t, (srv_options){0});
    assert_int_equal(create_with_key(&t, TK_SRV_ID_BYTES), 200);
    assert_int_equal(create_with_key(&t, TK_SRV_ID_BYTES + 1), 400);
    close_fix(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_numbers_of_training),
        cmocka_unit_test(test_srv_numbers_from_zero),
        cmocka_unit_test(test_srv_numbers_long_key),
    };
    return cmocka_run_group_tests_name("srv_numbers", tests, NULL, NULL);
}
