/* `tinkc doctor` with each part of the way broken in turn, and `tinkc config`.
 * Links: peer front client text server */
#include "server/srvfix.h"
#include "support/fakeapi_tinker.h"
#include "support/fakefront.h"
#include "support/program.h"

#define CHECKS 10

/* A name that cannot be one, so that no name server is asked: a label has 63 bytes. */
#define NO_HOST                                                                          \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"   \
    ".invalid"

typedef struct fix {
    program p;
    fakeapi *api;
    tk_arena arena;
    char url[64];
} fix;

static void fix_open(fix *f)
{
    static const fakeapi_tinker_options options = {.api_key = "tml-right"};
    memset(f, 0, sizeof(*f));
    tk_arena_init(&f->arena, 0);
    f->api = fakeapi_start();
    fakeapi_tinker(f->api, &options);
    program_open(&f->p, TINKC_PROGRAM);
    (void)snprintf(f->url, sizeof(f->url), "TINKER_BASE_URL=%s", fakeapi_url(f->api));
    program_env(&f->p, f->url);
    program_env(&f->p, "TINKER_API_KEY=tml-right");
}

static void fix_close(fix *f)
{
    program_close(&f->p);
    fakeapi_stop(&f->api);
    tk_arena_dispose(&f->arena);
}

/* Runs it: the check called `broken` failed, those before it did not, those after it were
 * not tried. NULL: all is well. */
static void expect_broken(fix *f, const char *broken, const char *hint)
{
    const tk_json *json = NULL;
    tk_err err = TK_ERR_INIT;
    program_run(&f->p, PROGRAM_ARGS("doctor", "--format", "json"));
    assert_int_equal(tk_json_parse(&json, &f->arena, f->p.out.p, f->p.out.n, NULL, &err),
                     TINKC_OK);
    const tk_json *list = tk_json_get(json, "checks");
    assert_int_equal(tk_json_len(list), CHECKS);
    bool is_behind = false;
    for (size_t i = 0; i < CHECKS; i++) {
        const tk_json one = tk_json_at(list, i);
        const char *name = srvfix_text(&one, "check"),
                   *result = srvfix_text(&one, "state");
        bool is_it = broken != NULL && strcmp(name, broken) == 0;
        bool is_good = strcmp(result, "ok") == 0 || strcmp(result, "not_needed") == 0;
        const char *wanted = is_it ? "failed" : "not_tried";
        if (is_it || is_behind ? strcmp(result, wanted) != 0 : !is_good) {
            fail_msg("%s: %s (%s)\n%s", name, result, srvfix_text(&one, "detail"),
                     f->p.err.n > 0 ? f->p.err.p : "");
        }
        is_behind = is_behind || is_it;
    }
    assert_int_equal(f->p.code, broken != NULL ? 1 : 0);
    assert_true(broken != NULL ? program_said(&f->p.err, "Error: ") : f->p.err.n == 0);
    if (hint != NULL && !program_said(&f->p.err, hint)) {
        fail_msg("no such hint: %s\n%s", hint, f->p.err.p);
    }
}

static void test_doctor_all_is_well(void **state)
{
    fix f;
    srvfix real;
    char url[64];
    fix_open(&f);
    expect_broken(&f, NULL, NULL);
    srvfix_open(&real, (srv_options){.log_level = TINKC_LOG_OFF});
    (void)snprintf(url, sizeof(url), "TINKER_BASE_URL=%s", srv_url(real.server));
    program_env(&f.p, url);
    expect_broken(&f, NULL, NULL); /* the real server, too */
    f.p.columns = 40;
    program_run(&f.p, PROGRAM_ARGS("doctor"));
    assert_int_equal(f.p.code, 0);
    assert_true(program_said(&f.p.out, "sampling"));
    f.p.columns = 0;
    f.p.no_reader = true;
    program_run(&f.p, PROGRAM_ARGS("doctor", "--format", "jsonl"));
    assert_int_equal(f.p.code, 1);
    program_run(&f.p, PROGRAM_ARGS("config"));
    assert_int_equal(f.p.code, 1);
    srvfix_close(&real);
    fix_close(&f);
}

static void test_doctor_network(void **state)
{
    fix f;
    fix_open(&f);
    program_env(&f.p, "TINKER_BASE_URL=nonsense");
    expect_broken(&f, "configuration", "TINKER_BASE_URL");
    program_env(&f.p, "TINKER_BASE_URL=https://" NO_HOST);
    expect_broken(&f, "DNS", "name server");
    program_env(&f.p, "TINKER_BASE_URL=http://127.0.0.1:1");
    expect_broken(&f, "connection", "tinkc serve");
    program_env(&f.p, "https_proxy=http://user:secret@127.0.0.1:1");
    program_env(&f.p, "TINKER_BASE_URL=https://tinker.example");
    expect_broken(&f, "connection", "the proxy runs");
    assert_true(program_said(&f.p.out, "127.0.0.1 port 1 (https_proxy)"));
    assert_false(program_said(&f.p.out, "secret"));
    program_env(&f.p, "no_proxy=other.example, .invalid");
    program_env(&f.p, "TINKER_BASE_URL=https://" NO_HOST);
    expect_broken(&f, "DNS", "name server"); /* not through the proxy */
    program_env(&f.p, "https_proxy=http://" NO_HOST ":3128");
    program_env(&f.p, "TINKER_BASE_URL=https://tinker.example");
    expect_broken(&f, "DNS", "name of the proxy");
    fix_close(&f);
}

static void test_doctor_tls(void **state)
{
    static const fakefront_cert bad[] = {FAKEFRONT_CERT_EXPIRED,
                                         FAKEFRONT_CERT_OTHER_HOST};
    fix f;
    char url[80], ca[200];
    fix_open(&f);
    for (size_t i = 0; i < 2; i++) {
        const fakefront_options options = {.talk = FAKEFRONT_HTTP2, .cert = bad[i]};
        fakefront *front = fakefront_start(f.api, &options);
        (void)snprintf(url, sizeof(url), "TINKER_BASE_URL=%s", fakefront_url(front));
        (void)snprintf(ca, sizeof(ca), "SSL_CERT_FILE=%s", fakefront_ca_file(front));
        program_env(&f.p, url);
        program_env(&f.p, ca);
        expect_broken(&f, "TLS", "SSL_CERT_FILE");
        fakefront_stop(&front);
    }
    fakefront *front = fakefront_start(f.api, &(fakefront_options){.cert = 0});
    (void)snprintf(url, sizeof(url), "TINKER_BASE_URL=%s", fakefront_url(front));
    (void)snprintf(ca, sizeof(ca), "SSL_CERT_FILE=%s", fakefront_ca_file(front));
    expect_broken(&f, NULL, NULL);
    assert_true(program_said(&f.p.out, "the certificate is valid"));
    fakefront_stop(&front);
    fix_close(&f);
}

static void test_doctor_service(void **state)
{
    static const struct {
        const char *method, *path;
        fakeapi_step step;
        const char *broken, *hint;
    } cases[] = {
        {"GET", "/api/v1/healthz", {.status = 404}, "server", "of a Tinker server"},
        {"GET", "/api/v1/healthz", {.status = 500}, "server", NULL},
        {"GET", "/api/v1/get_server_capabilities", {.body = "[3"}, "version", NULL},
        {"GET",
         "/api/v1/get_server_capabilities",
         {.body = "{\"supported_models\":[]}"},
         "version",
         "with a model"},
        {"POST",
         "/api/v1/create_session",
         {.status = 400, .body = "{\"detail\":\"no\"}"},
         "session",
         NULL},
        {"POST",
         "/api/v1/create_sampling_session",
         {.status = 400, .body = "{\"detail\":\"no\"}"},
         "session",
         NULL},
        {"POST",
         "/api/v1/asample",
         {.status = 400, .body = "{\"detail\":\"no\"}"},
         "sampling",
         NULL},
    };
    fix f;
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        fix_open(&f);
        fakeapi_default(f.api, cases[i].method, cases[i].path, &cases[i].step);
        expect_broken(&f, cases[i].broken, cases[i].hint);
        fix_close(&f);
    }
    fix_open(&f);
    program_env(&f.p, "TINKER_API_KEY=tml-wrong");
    program_run(&f.p, PROGRAM_ARGS("doctor"));
    assert_int_equal(f.p.code, 1);
    if (!program_said(&f.p.err, "TINKER_API_KEY")) {
        fail_msg("%s", f.p.err.p);
    }
    assert_false(program_said(&f.p.out, "tml-wrong"));
    assert_false(program_said(&f.p.err, "tml-wrong"));
    fix_close(&f);
}

/* ---- config ---- */

static void expect_option(fix *f, const char *name, const char *value, const char *source)
{
    const tk_json *json = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_json_parse(&json, &f->arena, f->p.out.p, f->p.out.n, NULL, &err),
                     TINKC_OK);
    const tk_json *list = tk_json_get(json, "options");
    for (size_t i = 0; i < tk_json_len(list); i++) {
        const tk_json one = tk_json_at(list, i);
        if (strcmp(srvfix_text(&one, "name"), name) == 0) {
            assert_string_equal(srvfix_text(&one, "value"), value);
            assert_string_equal(srvfix_text(&one, "source"), source);
            return;
        }
    }
    fail_msg("no option %s", name);
}

static void test_config_sources(void **state)
{
    fix f;
    fix_open(&f);
    program_env(&f.p, "TINKER_BASE_URL=https://env.example");
    program_env(&f.p, "TINKER_CREDENTIAL_CMD=print tml-a-very-secret-key-12345");
    program_env(&f.p, "TINKER_PROJECT_ID=p1");
    program_run(&f.p, PROGRAM_ARGS("config", "--format", "json", "--timeout", "7",
                                   "--set", "heartbeat=500"));
    assert_int_equal(f.p.code, 0);
    assert_int_equal(f.p.err.n, 0);
    expect_option(&f, "base_url", "https://env.example", "TINKER_BASE_URL");
    expect_option(&f, "api_key", "***", "TINKER_API_KEY");
    expect_option(&f, "project_id", "p1", "TINKER_PROJECT_ID");
    expect_option(&f, "timeout", "7000", "--timeout");
    expect_option(&f, "heartbeat", "500", "--set");
    expect_option(&f, "max_retries", "10", "default");
    expect_option(&f, "telemetry", "false", "TINKER_TELEMETRY");
    assert_false(program_said(&f.p.out, "secret-key"));
    assert_false(program_said(&f.p.out, "tml-right"));
    program_run(&f.p, PROGRAM_ARGS("config", "--base-url", "https://arg.example",
                                   "--api-key", "tml-other"));
    assert_int_equal(f.p.code, 0);
    assert_true(program_said(&f.p.out, "https://arg.example"));
    assert_true(program_said(&f.p.out, "--api-key"));
    assert_false(program_said(&f.p.out, "tml-other"));
    program_env(&f.p, "TINKER_TELEMETRY="); /* an empty one means off, too */
    program_run(&f.p, PROGRAM_ARGS("config", "--format", "json"));
    expect_option(&f, "telemetry", "false", "TINKER_TELEMETRY");
    program_run(&f.p, PROGRAM_ARGS("config", "--format", "jsonl"));
    assert_true(program_said(&f.p.out, "{\"name\": \"base_url\""));
    program_run(&f.p, PROGRAM_ARGS("config", "--set", "nosuch=1"));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "nosuch"));
    fix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doctor_all_is_well), cmocka_unit_test(test_doctor_network),
        cmocka_unit_test(test_doctor_tls),         cmocka_unit_test(test_doctor_service),
        cmocka_unit_test(test_config_sources),
    };
    return cmocka_run_group_tests_name("cmd_doctor", tests, NULL, NULL);
}
