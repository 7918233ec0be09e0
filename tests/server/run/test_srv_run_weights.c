/* Weights of a checkpoint whose base model was held otherwise.
 * Links: wire */
#include <stdatomic.h>

#include "server/wirefix.h"

typedef struct scene {
    fix t;
    atomic_int warnings;
} scene;

static void on_log(tinkc_log_level level, const char *component, const char *message,
                   void *user)
{
    scene *s = user;
    atomic_fetch_add(&s->warnings, level == TINKC_LOG_WARN &&
                                       strstr(message, "--weights int8") != NULL);
}

static void start(scene *s, const char *weights)
{
    const srv_options options = {
        .weights = weights, .log_level = TINKC_LOG_WARN, .log = on_log, .log_user = s};
    if (s->t.f.server == NULL) {
        open_fix(&s->t, options);
        (void)result_of(&s->t,
                        submit(&s->t, API "save_weights", save_body(&s->t, 1, "false")));
    } else {
        srvfix_restart(&s->t.f, options);
    }
    assert_int_equal(atomic_load(&s->warnings), 0);
}

/* Makes a model of the checkpoint. */
static void load(scene *s, const char *session, int seq)
{
    const char *body =
        format_body(&s->t,
                    "{\"session_id\":\"%s\",\"model_seq_id\":%d,\"optimizer\":false,"
                    "\"path\":\"tinker://%s/weights/n\"}",
                    session, seq, s->t.model);
    (void)result_of(&s->t, submit(&s->t, API "load_weights", body));
    assert_int_equal(s->t.f.status, 200);
}

/* Whether a server warns that loads, twice, what one with `made` has saved. */
static int warnings(const char *made, const char *loaded)
{
    scene s = {.warnings = 0};
    start(&s, made);
    start(&s, loaded);
    const char *session = srvfix_session(&s.t.f);
    load(&s, session, 0);
    load(&s, session, 1);
    close_fix(&s.t);
    return atomic_load(&s.warnings);
}

static void test_srv_run_weights_of_int8(void **state)
{
    assert_int_equal(warnings("int8", "file"), 1);
    assert_int_equal(warnings("int8", "int8"), 0);
    assert_int_equal(warnings("file", "file"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_run_weights_of_int8),
    };
    return cmocka_run_group_tests_name("srv_run_weights", tests, NULL, NULL);
}
