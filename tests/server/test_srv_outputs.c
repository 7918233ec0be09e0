/* Results of several data, and of samples without a session. */
#include "server/restfix.h"

#define API  "/api/v1/"
#define DATA 5

/* Datum i has 1 + 3 * (i % 3) tokens; two of them have two targets per token. */
static void put_datum(tk_buf *out, unsigned i)
{
    unsigned tokens = 1 + 3 * (i % 3), columns = i == 1 || i == 4 ? 2 : 1;
    tk_buf_puts(out, "{\"loss_fn_inputs\":{\"target_tokens\":{\"data\":[");
    for (unsigned k = 0; k < tokens * columns; k++) {
        tk_buf_printf(out, "%s%u", k > 0 ? "," : "", 20 + 11 * i + k);
    }
    tk_buf_printf(out, "],\"dtype\":\"int64\",\"shape\":[%u%s]},\"weights\":{\"data\":[",
                  tokens, columns == 2 ? ",2" : "");
    for (unsigned k = 0; k < tokens * columns; k++) {
        tk_buf_printf(out, "%s1.0", k > 0 ? "," : "");
    }
    tk_buf_printf(out,
                  "],\"dtype\":\"float32\",\"shape\":[%u%s]}},\"model_input\":{"
                  "\"chunks\":[{\"type\":\"encoded_text\",\"tokens\":[",
                  tokens, columns == 2 ? ",2" : "");
    for (unsigned k = 0; k < tokens; k++) {
        tk_buf_printf(out, "%s%u", k > 0 ? "," : "", 10 + 7 * i + k);
    }
    tk_buf_puts(out, "]}]}}");
}

/* The outputs of data [first, first + n), as forward. */
static const tk_json *outputs_of(restfix *t, unsigned first, unsigned n)
{
    tk_buf body;
    tk_buf_init(&body, TK_MIB);
    tk_buf_puts(&body, "{\"forward_input\":{\"data\":[");
    for (unsigned i = 0; i < n; i++) {
        tk_buf_puts(&body, i > 0 ? "," : "");
        put_datum(&body, first + i);
    }
    tk_buf_printf(&body, "],\"loss_fn\":\"cross_entropy\"},\"model_id\":\"%s\"}", t->run);
    tk_buf_put(&body, "", 1);
    const tk_json *json =
        restfix_result(&t->srv, srvfix_post(&t->srv, API "forward", body.p));
    tk_buf_dispose(&body);
    const tk_json *outputs = tk_json_get(json, "loss_fn_outputs");
    assert_int_equal(tk_json_len(outputs), n);
    return outputs;
}

static void expect_equal(const tk_json *a, const tk_json *b, const char *field)
{
    static const char *const parts[] = {"data", "shape"};
    for (size_t p = 0; p < TK_ARRAY_LEN(parts); p++) {
        const tk_json *x = tk_json_get(tk_json_get(a, field), parts[p]);
        const tk_json *y = tk_json_get(tk_json_get(b, field), parts[p]);
        assert_true(tk_json_len(x) > 0);
        assert_int_equal(tk_json_len(x), tk_json_len(y));
        for (size_t i = 0; i < tk_json_len(x); i++) {
            tk_json u = tk_json_at(x, i), v = tk_json_at(y, i);
            double du = 0, dv = 0;
            assert_true(tk_json_to_double(&u, &du) && tk_json_to_double(&v, &dv));
            assert_true(du == dv);
        }
    }
}

/* S-015: one output per datum, in the order of the data, of the shape of its targets:
 * each is what the datum gives alone. */
static void test_srv_outputs_are_in_order(void **state)
{
    restfix t;
    restfix_open(&t);
    const tk_json *all = outputs_of(&t, 0, DATA);
    for (unsigned i = 0; i < DATA; i++) {
        tk_json together = tk_json_at(all, i);
        tk_json alone = tk_json_at(outputs_of(&t, i, 1), 0);
        expect_equal(&together, &alone, "logprobs");
        expect_equal(&together, &alone, "elementwise_loss");
        const tk_json *shape = tk_json_get(tk_json_get(&together, "logprobs"), "shape");
        assert_int_equal(tk_json_at(shape, 0).as.integer, 1 + 3 * (i % 3));
        assert_int_equal(tk_json_len(shape), i == 1 || i == 4 ? 2 : 1);
    }
    srvfix_close(&t.srv);
}

static const tk_json *poll_for(restfix *t, const char *id)
{
    char body[512];
    (void)snprintf(body, sizeof(body), "{\"request_id\":\"%s\"}", id);
    return srvfix_post(&t->srv, API "retrieve_future", body);
}

/* S-011: results of samples by base_model and model_path, which belong to no session, are
 * lost with a restart (410), not unknown (404). */
static void test_srv_loose_samples_are_lost(void **state)
{
    restfix t;
    char ids[2][160], which[256], body[512];
    restfix_open(&t);
    restfix_save(&t, 1, "save_weights", "\"path\":\"one\"");
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(which, sizeof(which), "\"model_path\":\"tinker://%s/weights/one\"",
                       t.run);
        (void)snprintf(body, sizeof(body),
                       "{\"num_samples\":1,\"prompt\":{\"chunks\":[{\"type\":"
                       "\"encoded_text\",\"tokens\":[5]}]},\"sampling_params\":{"
                       "\"max_tokens\":1},%s}",
                       i == 0 ? "\"base_model\":\"" RESTFIX_MODEL "\"" : which);
        const tk_json *json = srvfix_post(&t.srv, API "asample", body);
        (void)snprintf(ids[i], sizeof(ids[i]), "%s", srvfix_text(json, "request_id"));
        (void)restfix_result(&t.srv, json);
    }
    srvfix_restart(&t.srv, (srv_options){0});
    for (size_t i = 0; i < 2; i++) {
        const tk_json *json = poll_for(&t, ids[i]);
        assert_int_equal(t.srv.status, 410);
        assert_non_null(strstr(srvfix_text(json, "detail"), "the server was restarted"));
    }
    (void)poll_for(&t, "00000000000000000000000000000000:sample:1");
    assert_int_equal(t.srv.status, 404);
    srvfix_close(&t.srv);
}

/* S-011: what belonged to a session that has ended: its results are lost, the rest is not
 * there any more. */
static void test_srv_ended_sessions_are_missing(void **state)
{
    restfix t;
    char body[256], id[160];
    restfix_open(&t);
    restfix_save(&t, 1, "save_weights_for_sampler", "\"sampling_session_seq_id\":0");
    (void)snprintf(body, sizeof(body), API "sessions/%s/finish", t.session);
    (void)srvfix_post(&t.srv, body, "{}");
    assert_int_equal(t.srv.status, 200);
    (void)snprintf(
        body, sizeof(body),
        "{\"prompt\":{\"chunks\":[{\"type\":\"encoded_text\",\"tokens\":[5]}]},"
        "\"sampling_params\":{\"max_tokens\":1},\"sampling_session_id\":"
        "\"%s:sample:0\",\"seq_id\":0}",
        t.session);
    const tk_json *json = srvfix_post(&t.srv, API "asample", body);
    assert_int_equal(t.srv.status, 404);
    assert_non_null(strstr(srvfix_text(json, "detail"), "the server was restarted"));
    (void)snprintf(
        body, sizeof(body),
        "{\"session_id\":\"%s\",\"sampling_session_seq_id\":1,\"base_model\":\"" RESTFIX_MODEL
        "\"}",
        t.session);
    (void)srvfix_post(&t.srv, API "create_sampling_session", body);
    assert_int_equal(t.srv.status, 404);
    (void)snprintf(body, sizeof(body), "{\"model_id\":\"%s\"}", t.run);
    do { /* the engine unloads it */
        (void)srvfix_post(&t.srv, API "get_info", body);
    } while (t.srv.status == 200);
    assert_int_equal(t.srv.status, 404);
    (void)snprintf(id, sizeof(id), "%s:7", t.run);
    (void)poll_for(&t, id);
    assert_int_equal(t.srv.status, 410);
    srvfix_close(&t.srv);
}

/* Searching for stop strings is work for each token of each sample: how many there may be
 * is limited, and the answer says so at once. */
static void test_srv_too_many_stops_are_refused(void **state)
{
    restfix t;
    tk_buf body;
    restfix_open(&t);
    for (int i = 0; i < 2; i++) {
        tk_buf_init(&body, TK_MIB);
        tk_buf_puts(&body, "{\"num_samples\":1,\"prompt\":{\"chunks\":[{\"type\":"
                           "\"encoded_text\",\"tokens\":[5]}]},\"base_model\":"
                           "\"" RESTFIX_MODEL "\",\"sampling_params\":{\"max_tokens\":1,"
                           "\"stop\":[\"x\"");
        for (size_t k = 1; k < TK_STOPS_MAX + (size_t)i; k++) {
            tk_buf_printf(&body, ",\"stop %zu\"", k);
        }
        tk_buf_puts(&body, "]}}");
        const tk_json *json = srvfix_post(&t.srv, API "asample", tk_buf_cstr(&body));
        if (i == 0) {
            (void)restfix_result(&t.srv, json);
        } else {
            assert_int_equal(t.srv.status, 400);
            assert_string_equal(srvfix_text(json, "detail"),
                                "1025 stop strings; at most 1024 are possible");
        }
        tk_buf_dispose(&body);
    }
    srvfix_close(&t.srv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_outputs_are_in_order),
        cmocka_unit_test(test_srv_loose_samples_are_lost),
        cmocka_unit_test(test_srv_ended_sessions_are_missing),
        cmocka_unit_test(test_srv_too_many_stops_are_refused),
    };
    return cmocka_run_group_tests_name("srv_outputs", tests, NULL, NULL);
}
