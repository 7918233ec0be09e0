/* Polls of results: held, released, answered "not yet" (docs/protocol.md §11).
 * Links: wire */
#include "server/run/srv_model.h"
#include "server/run/srv_state.h"
#include "server/wirefix.h"

/* S-007, S-011: results stay; unknown ids are 404, lost ones 410. */
static void test_srv_results_stay(void **state)
{
    fix t;
    open_fix(&t, (srv_options){0});
    const char *id = submit(&t, API "optim_step", step_body(&t, 1, "0.1"));
    for (int i = 0; i < 3; i++) {
        assert_non_null(tk_json_get(result_of(&t, id), "metrics"));
        assert_int_equal(t.f.status, 200);
    }
    (void)result_of(&t, format_body(&t, "%s:9", t.model));
    assert_int_equal(t.f.status, 404);
    (void)result_of(&t, "nonsense");
    assert_int_equal(t.f.status, 404);
    const char *save = submit(
        &t, API "save_weights",
        format_body(&t, "{\"model_id\":\"%s\",\"path\":\"a-1\",\"seq_id\":2}", t.model));
    (void)result_of(&t, save);
    srvfix_restart(&t.f, (srv_options){0});
    (void)result_of(&t, id);
    assert_int_equal(t.f.status, 410);
    const tk_json *json = srvfix_post(&t.f, API "optim_step", step_body(&t, 3, "0.1"));
    assert_int_equal(t.f.status, 404);
    assert_non_null(strstr(srvfix_text(json, "detail"), "/weights/a-1"));
    close_fix(&t);
}

/* S-011: what no id of a result looks like was never given out, loaded or not. */
static void test_srv_other_ids_are_unknown(void **state)
{
    static const char *const ends[] = {"-1", "00", "01",  "+1",
                                       "",   " 1", "0x1", "9223372036854775808"};
    fix t;
    open_fix(&t, (srv_options){0});
    (void)result_of(&t, submit(&t, API "optim_step", step_body(&t, 1, "0.1")));
    for (int restarts = 0; restarts < 2; restarts++) {
        for (size_t i = 0; i < TK_ARRAY_LEN(ends); i++) {
            (void)result_of(&t, format_body(&t, "%s:%s", t.model, ends[i]));
            assert_int_equal(t.f.status, 404);
        }
        static const char *const owners[] = {
            "",          ":train",    ":train:",  ":save:0",
            ":train:00", ":train:-1", ":train:x", ":sample:0:0"};
        for (size_t i = 0; i < TK_ARRAY_LEN(owners); i++) {
            (void)result_of(&t, format_body(&t, "%s%s:1", t.session, owners[i]));
            assert_int_equal(t.f.status, 404);
        }
        srvfix_restart(&t.f, (srv_options){0});
    }
    close_fix(&t);
}

/* S-005, S-006: a request is accepted before it runs; a poll that comes early is held,
 * then answered "not yet", with the reason. */
static void test_srv_polls_are_held(void **state)
{
    fix t;
    open_fix(&t, (srv_options){.poll_ms = 20});
    /* Held by rule 17: the first part has not come. */
    const char *id =
        submit(&t, API "forward_backward", train_body(&t, 2, "cross_entropy"));
    const char *body = format_body(&t, "{\"request_id\":\"%s\"}", id);
    const tk_json *json = srvfix_post(&t.f, API "retrieve_future", body);
    assert_int_equal(t.f.status, 408);
    assert_string_equal(srvfix_text(json, "type"), "try_again");
    assert_string_equal(srvfix_text(json, "queue_state"), "active");
    assert_string_equal(srvfix_text(json, "request_id"), id);
    const char *first =
        submit(&t, API "forward_backward", train_body(&t, 1, "cross_entropy"));
    json = result_of(&t, id);
    assert_int_equal(t.f.status, 200);
    assert_int_equal(tk_json_len(tk_json_get(json, "loss_fn_outputs")), 1);
    (void)result_of(&t, first);
    assert_int_equal(t.f.status, 200);
    close_fix(&t);
}

/* S-017: the number of a request that is refused for good is not waited for. */
static void test_srv_refused_requests_hold_nothing(void **state)
{
    fix t;
    open_fix(&t, (srv_options){0});
    (void)srvfix_post(
        &t.f, API "forward_backward",
        format_body(&t,
                    "{\"forward_backward_input\":{\"data\":[{\"loss_fn_inputs\":{},"
                    "\"model_input\":{\"chunks\":[{\"type\":\"image_asset_pointer\","
                    "\"location\":\"x\",\"format\":\"png\"}]}}],\"loss_fn\":"
                    "\"cross_entropy\"},\"model_id\":\"%s\",\"seq_id\":1}",
                    t.model));
    assert_int_equal(t.f.status, 400);
    srv *server = t.f.server;
    tk_mutex_lock(&server->lock);
    const srv_model *model = srv_model_find(server, tk_str_of(t.model));
    int64_t next = model != NULL ? model->order.next : 0;
    tk_mutex_unlock(&server->lock);
    assert_int_equal(next, 2);
    (void)result_of(
        &t, submit(&t, API "forward_backward", train_body(&t, 2, "cross_entropy")));
    assert_int_equal(t.f.status, 200);
    close_fix(&t);
}

/* S-007, S-025: many polls for one id, all released by the result. */
static void test_srv_parked_polls_are_released(void **state)
{
    enum { POLLS = 40 };
    fix t;
    httpget *polls[POLLS];
    open_fix(&t, (srv_options){0});
    const char *id =
        submit(&t, API "forward_backward", train_body(&t, 2, "cross_entropy"));
    for (int i = 0; i < POLLS; i++) {
        polls[i] = send_poll(&t, id);
    }
    (void)submit(&t, API "optim_step", step_body(&t, 3, "0.1"));
    for (int i = 0; i < POLLS; i++) {
        httpget_response response;
        assert_int_equal(httpget_read(polls[i], &response), HTTPGET_OK);
        assert_int_equal(response.status, 200);
        httpget_response_dispose(&response);
        httpget_close(&polls[i]);
    }
    close_fix(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_results_stay),
        cmocka_unit_test(test_srv_other_ids_are_unknown),
        cmocka_unit_test(test_srv_polls_are_held),
        cmocka_unit_test(test_srv_refused_requests_hold_nothing),
        cmocka_unit_test(test_srv_parked_polls_are_released),
    };
    return cmocka_run_group_tests_name("srv_poll", tests, NULL, NULL);
}
