/* Options and variables of the environment reach the server, whatever the command. */
#include "cli/clifix.h"

/* M-159, C-088, C-089: scope, project and offset reach the server. */
static void test_cli_list_options(void **unused)
{
    clifix f;
    clifix_begin(&f);
    proc *p = clifix_run(
        &f, "run list --limit 5 --offset 7 --access-scope accessible --project p");
    assert_int_equal(p->status, 0);
    proc_free(&p);
    assert_string_equal(clifix_last(&f)->query,
                        "limit=5&offset=7&access_scope=accessible&project_id=p");
    p = clifix_run(&f, "run info S:train:0 --access-scope accessible");
    proc_free(&p);
    assert_string_equal(clifix_last(&f)->query, "access_scope=accessible");
    p = clifix_run(&f, "checkpoint list --limit 5 --offset 1");
    proc_free(&p);
    assert_string_equal(clifix_last(&f)->query, "limit=5&offset=1");
    clifix_end(&f);
}

/* M-159, C-005: credentials and server as options; they win over the environment. */
static void test_cli_connection_options(void **unused)
{
    clifix f;
    char line[256];
    clifix_begin(&f);
    (void)snprintf(line, sizeof(line),
                   "health --base-url %s --api-key tml-other-key-0000000 --timeout 50.5",
                   fakeapi_url(f.api));
    f.env[0] = "TINKER_BASE_URL=http://127.0.0.1:1"; /* would not answer */
    fakeapi_default(f.api, "GET", CLI_API "healthz", &fakeapi_json("{}"));
    clifix_expect(&f, line, "ok\n");
    assert_string_equal(fakeapi_header(clifix_last(&f), "x-api-key"),
                        "tml-other-key-0000000");
    clifix_refused(&f, "health --timeout x", 2, "'x' is not a valid number.");
    clifix_refused(&f, "health --timeout -1", 2, "--timeout must be 0.001 to 604800 ");
    clifix_refused(&f, "health --timeout 0", 2, "--timeout must be 0.001 to 604800 ");
    clifix_refused(&f, "health --timeout 604801", 2,
                   "--timeout must be 0.001 to 604800 ");
    clifix_refused(&f, "health --set nosuch=1", 1, "nosuch");
    clifix_refused(&f, "health --local --base-url http://127.0.0.1:1", 2, "Give one of");
    clifix_end(&f);
}

/* M-008: C-079 to C-085: what the environment says reaches the server; questions make
 * no session and report nothing. */
static void test_cli_environment(void **unused)
{
    clifix f;
    clifix_begin(&f);
    clifix_env(&f, "TINKER_CREDENTIAL_CMD=echo tml-from-the-command");
    clifix_env(&f, "CLOUDFLARE_ACCESS_CLIENT_ID=id");
    clifix_env(&f, "CLOUDFLARE_ACCESS_CLIENT_SECRET=hush-hush");
    clifix_env(&f, "TINKER_TELEMETRY=1");
    clifix_env(&f, "TINKER_TAGS=a,b");
    clifix_env(&f, "TINKER_PROJECT_ID=p");
    f.env[1] = "TINKER_API_KEY=";
    proc *p = clifix_run(&f, "run info " CLI_RUN);
    assert_int_equal(p->status, 0);
    proc_free(&p);
    assert_string_equal(fakeapi_header(clifix_last(&f), "x-api-key"),
                        "tml-from-the-command");
    assert_string_equal(fakeapi_header(clifix_last(&f), "cf-access-client-id"), "id");
    assert_string_equal(fakeapi_header(clifix_last(&f), "cf-access-client-secret"),
                        "hush-hush");
    assert_int_equal(fakeapi_count(f.api, "POST", CLI_API "create_session"), 0);
    assert_int_equal(fakeapi_count(f.api, "POST", CLI_API "telemetry*"), 0);
    f.env[1] = "TINKER_API_KEY=" CLI_KEY;
    f.env[4] = "X=";
    p = clifix_run(&f, "run info " CLI_RUN);
    proc_free(&p);
    assert_string_equal(fakeapi_header(clifix_last(&f), "x-api-key"), CLI_KEY);
    clifix_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_list_options),
        cmocka_unit_test(test_cli_connection_options),
        cmocka_unit_test(test_cli_environment),
    };
    return cmocka_run_group_tests_name("cli_settings", tests, NULL, NULL);
}
