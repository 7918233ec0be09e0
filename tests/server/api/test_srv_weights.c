/* Saving, loading and unloading, request by request (docs/protocol.md §11).
 * Links: wire */
#include "server/wirefix.h"

/* Names that would leave the directory, or that cannot be typed. */
static void test_srv_names_are_checked(void **state)
{
    fix t;
    static const char *const bad[] = {"../x",    "a/b", "",          ".",     "..",
                                      ".hidden", "a b", "a\\u0000b", "%2e%2e"};
    open_fix(&t, (srv_options){0});
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        (void)srvfix_post(
            &t.f, API "save_weights",
            format_body(&t, "{\"model_id\":\"%s\",\"path\":\"%s\",\"seq_id\":1}", t.model,
                        bad[i]));
        assert_int_equal(t.f.status, 422);
    }
    close_fix(&t);
}

/* A name of the largest size is one like any other, though no file system takes it with
 * anything after it. */
static void test_srv_long_names_are_saved(void **state)
{
    fix t;
    char name[TK_SRV_NAME_BYTES + 1];
    memset(name, 'n', TK_SRV_NAME_BYTES);
    name[TK_SRV_NAME_BYTES] = '\0';
    open_fix(&t, (srv_options){0});
    const char *path = format_body(&t, "tinker://%s/weights/%s", t.model, name);
    const char *body = format_body(
        &t, "{\"model_id\":\"%s\",\"path\":\"%s\",\"seq_id\":1}", t.model, name);
    const tk_json *json = result_of(&t, submit(&t, API "save_weights", body));
    assert_null(tk_json_get(json, "error"));
    assert_string_equal(srvfix_text(json, "path"), path);
    json = srvfix_post(&t.f, API "copy_weights",
                       format_body(&t, "{\"source_path\":\"%s\"}", path));
    assert_int_equal(t.f.status, 200);
    const char *copy = srvfix_text(json, "tinker_path");
    srvfix_restart(&t.f, (srv_options){0});
    t.session = srvfix_session(&t.f);
    const char *load = format_body(&t,
                                   "{\"session_id\":\"%s\",\"model_seq_id\":0,"
                                   "\"path\":\"%s\",\"optimizer\":true}",
                                   t.session, copy);
    json = result_of(&t, submit(&t, API "load_weights", load));
    assert_null(tk_json_get(json, "error"));
    close_fix(&t);
}

/* S-020: a name is saved once, unless it may be overwritten; paths as the SDK reads
 * them. */
static void test_srv_checkpoints_are_not_lost(void **state)
{
    fix t;
    open_fix(&t, (srv_options){0});
    const char *path = API "save_weights";
    const tk_json *json = result_of(&t, submit(&t, path, save_body(&t, 1, "false")));
    assert_string_equal(srvfix_text(json, "path"),
                        format_body(&t, "tinker://%s/weights/n", t.model));
    json = result_of(&t, submit(&t, path, save_body(&t, 2, "false")));
    assert_string_equal(srvfix_text(json, "category"), "user");
    json = result_of(&t, submit(&t, path, save_body(&t, 3, "true")));
    (void)srvfix_text(json, "path");
    json = srvfix_post(
        &t.f, API "weights_info",
        format_body(&t, "{\"tinker_path\":\"tinker://%s/weights/n\"}", t.model));
    assert_int_equal(t.f.status, 200);
    assert_int_equal(tk_json_get(json, "lora_rank")->as.integer, 4);
    (void)srvfix_post(&t.f, API "weights_info",
                      "{\"tinker_path\":\"tinker://nobody/weights/n\"}");
    assert_int_equal(t.f.status, 404);
    close_fix(&t);
}

/* A model made by loading: its id is computed by the client. */
static void test_srv_models_are_made_by_loading(void **state)
{
    fix t;
    open_fix(&t, (srv_options){0});
    (void)result_of(&t, submit(&t, API "save_weights",
                               format_body(&t,
                                           "{\"model_id\":\"%s\",\"path\":\"n\","
                                           "\"seq_id\":1}",
                                           t.model)));
    const char *id = submit(
        &t, API "load_weights",
        format_body(&t,
                    "{\"session_id\":\"%s\",\"model_seq_id\":1,\"path\":\"tinker://%s/"
                    "weights/n\",\"optimizer\":true}",
                    t.session, t.model));
    assert_string_equal(srvfix_text(result_of(&t, id), "model_id"),
                        format_body(&t, "%s:train:1", t.session));
    t.model = format_body(&t, "%s:train:1", t.session);
    const char *step = submit(&t, API "optim_step", step_body(&t, 1, "0.1"));
    assert_non_null(tk_json_get(result_of(&t, step), "metrics"));
    close_fix(&t);
}

/* S-026: get_info names the model until it is unloaded. */
static void test_srv_unloaded_models_are_gone(void **state)
{
    fix t;
    open_fix(&t, (srv_options){0});
    const char *held =
        submit(&t, API "forward_backward", train_body(&t, 5, "cross_entropy"));
    const char *body = format_body(&t, "{\"model_id\":\"%s\"}", t.model);
    const tk_json *json = srvfix_post(&t.f, API "get_info", body);
    assert_int_equal(t.f.status, 200);
    assert_string_equal(srvfix_text(tk_json_get(json, "model_data"), "model_name"),
                        MODEL);
    const char *id = submit(&t, API "unload_model", body);
    assert_string_equal(srvfix_text(result_of(&t, id), "model_id"), t.model);
    (void)result_of(&t, held); /* ran before it, because the unload is a barrier */
    assert_int_equal(t.f.status, 200);
    (void)srvfix_post(&t.f, API "get_info", body);
    assert_int_equal(t.f.status, 404);
    close_fix(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_names_are_checked),
        cmocka_unit_test(test_srv_long_names_are_saved),
        cmocka_unit_test(test_srv_checkpoints_are_not_lost),
        cmocka_unit_test(test_srv_models_are_made_by_loading),
        cmocka_unit_test(test_srv_unloaded_models_are_gone),
    };
    return cmocka_run_group_tests_name("srv_weights", tests, NULL, NULL);
}
