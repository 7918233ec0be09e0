/* REST requests of this client against those of the official SDK (M-120 to M-129).
 * Links: level peer */
#include <tinkc/search.h>
#include <tinkc/weights.h>

#include "support/levelfix.h"
#include "support/test.h"

#define WEIGHTS "tinker://" LEVEL_RUN "/weights/0001"
#define SAMPLER "tinker://" LEVEL_RUN "/sampler_weights/final"

#define OK(call) assert_int_equal((call), TINKC_OK)

static tinkc_service *open_rest(levelfix *f)
{
    level_open(f, NULL);
    level_record(f);
    return f->service;
}

static void get_training_run(levelfix *f)
{
    tinkc_service *s = open_rest(f);
    OK(tinkc_rest_get_run_wait(NULL, s, LEVEL_RUN, TINKC_SCOPE_OWNED, NULL));
    OK(tinkc_rest_get_run_wait(NULL, s, LEVEL_RUN, TINKC_SCOPE_ACCESSIBLE, NULL));
    OK(tinkc_rest_get_run_of_path_wait(NULL, s, WEIGHTS, TINKC_SCOPE_OWNED, NULL));
}

static void list_training_runs(levelfix *f)
{
    tinkc_service *s = open_rest(f);
    tinkc_list_options options = TINKC_LIST_OPTIONS_INIT;
    OK(tinkc_rest_list_runs_wait(NULL, s, NULL, NULL));
    options.limit = 5;
    options.offset = 10;
    options.scope = TINKC_SCOPE_ACCESSIBLE;
    options.project_id = "project-1";
    OK(tinkc_rest_list_runs_wait(NULL, s, &options, NULL));
}

static void list_checkpoints(levelfix *f)
{
    OK(tinkc_rest_list_checkpoints_wait(NULL, open_rest(f), LEVEL_RUN, NULL));
}

static void list_user_checkpoints(levelfix *f)
{
    OK(tinkc_rest_list_user_checkpoints_wait(NULL, open_rest(f), NULL, NULL));
}

static void delete_checkpoint(levelfix *f)
{
    OK(tinkc_rest_delete_checkpoint_wait(open_rest(f), SAMPLER, NULL));
}

static void publish(levelfix *f)
{
    tinkc_service *s = open_rest(f);
    OK(tinkc_rest_publish_checkpoint_wait(s, WEIGHTS, NULL));
    OK(tinkc_rest_unpublish_checkpoint_wait(s, WEIGHTS, NULL));
}

static void ttl(levelfix *f)
{
    tinkc_service *s = open_rest(f);
    OK(tinkc_rest_set_checkpoint_ttl_wait(s, WEIGHTS, 3600, NULL));
    OK(tinkc_rest_set_checkpoint_ttl_wait(s, WEIGHTS, TINKC_NO_TTL, NULL));
}

static void archive_url(levelfix *f)
{
    tinkc_service *s = open_rest(f);
    OK(tinkc_rest_archive_url_wait(NULL, s, WEIGHTS, NULL));
    OK(tinkc_rest_archive_url_wait(NULL, s, SAMPLER, NULL));
}

static void sessions(levelfix *f)
{
    tinkc_service *s = open_rest(f);
    tinkc_list_options options = TINKC_LIST_OPTIONS_INIT;
    OK(tinkc_rest_get_session_wait(NULL, s, LEVEL_SESSION, TINKC_SCOPE_OWNED, NULL));
    OK(tinkc_rest_get_session_wait(NULL, s, LEVEL_SESSION, TINKC_SCOPE_ACCESSIBLE, NULL));
    OK(tinkc_rest_list_sessions_wait(NULL, s, NULL, NULL));
    options.limit = 7;
    options.offset = 1;
    options.scope = TINKC_SCOPE_ACCESSIBLE;
    OK(tinkc_rest_list_sessions_wait(NULL, s, &options, NULL));
}

static void assign_project(levelfix *f)
{
    OK(tinkc_rest_assign_project_wait(open_rest(f), LEVEL_SESSION, "project-1", NULL));
}

static void trace_export(levelfix *f)
{
    OK(tinkc_rest_export_trace_wait(NULL, open_rest(f), LEVEL_SESSION, NULL));
}

static void get_sampler(levelfix *f)
{
    OK(tinkc_rest_get_sampler_wait(NULL, open_rest(f), LEVEL_SESSION ":sample:0", NULL));
}

static void audit(levelfix *f)
{
    tinkc_service *s = open_rest(f);
    OK(tinkc_rest_audit_wait(NULL, s, TINKC_AUDIT_ALL, NULL, NULL));
    OK(tinkc_rest_audit_wait(NULL, s, TINKC_AUDIT_CHECKPOINTS, "2026-01-02", NULL));
}

static void billing_usage(levelfix *f)
{
    tinkc_service *s = open_rest(f);
    const int64_t hour_us = INT64_C(3600000000);
    int64_t day_us = 0;
    OK(tinkc_time_parse(&day_us, "2026-01-02", NULL));
    OK(tinkc_rest_billing_wait(NULL, s, day_us, day_us + 24 * hour_us, NULL));
    OK(tinkc_rest_billing_wait(NULL, s, day_us + 3 * hour_us, day_us + 24 * hour_us,
                               NULL));
}

static void trace_pending(levelfix *f)
{
    fakeapi_reply(f->api, "GET", "*/trace_export",
                  &(fakeapi_step){.body = "{\"status\":\"pending\"}", .repeat = 2});
    level_open(f, (const char *const[]){"trace_poll", "1", NULL});
    OK(tinkc_rest_export_trace_wait(NULL, f->service, LEVEL_SESSION, NULL));
}

static void weights_info(levelfix *f)
{
    OK(tinkc_rest_weights_info_wait(NULL, open_rest(f), WEIGHTS, NULL));
}

static void retried(levelfix *f)
{
    fakeapi_reply(f->api, "POST", "/api/v1/weights_info",
                  &(fakeapi_step){.status = 503,
                                  .headers = "retry-after-ms: 1\r\n",
                                  .body = "{\"detail\":\"busy\"}"});
    weights_info(f);
    const char *key = fakeapi_header(
        fakeapi_nth(f->api, "POST", "/api/v1/weights_info", 0), "x-idempotency-key");
    assert_string_equal(
        key, fakeapi_header(fakeapi_nth(f->api, "POST", "/api/v1/weights_info", 1),
                            "x-idempotency-key"));
}

static void admin(levelfix *f)
{
    static const tinkc_audit_events events[] = {TINKC_AUDIT_PROJECTS, TINKC_AUDIT_TEAMS,
                                                TINKC_AUDIT_ORGANIZATIONS};
    tinkc_service *s = open_rest(f);
    const int64_t day = INT64_C(24) * 3600000000;
    int64_t day_us = 0;
    for (size_t i = 0; i < TK_ARRAY_LEN(events); i++) {
        OK(tinkc_rest_audit_wait(NULL, s, events[i], "2026-01-02", NULL));
    }
    OK(tinkc_time_parse(&day_us, "2026-01-02", NULL));
    OK(tinkc_rest_billing_wait(NULL, s, day_us, day_us + day, NULL));
    OK(tinkc_rest_storage_wait(NULL, s, NULL, NULL));
}

static void copy_weights(levelfix *f)
{
    tinkc_service *s = open_rest(f);
    tinkc_copy_options options = TINKC_COPY_OPTIONS_INIT;
    options.project_id = "project-2";
    OK(tinkc_rest_copy_weights_wait(NULL, s, WEIGHTS, &options, NULL));
    options.ttl_seconds = 3600;
    options.token = "tml-other";
    OK(tinkc_rest_copy_weights_wait(NULL, s, WEIGHTS, &options, NULL));
}

static void search_sessions(levelfix *f)
{
    static const char *const projects[] = {"p"}, *const owners[] = {"urn:1"},
                             *const statuses[] = {"active", "client_finished:errored"};
    const tinkc_pair pair = {"a", "b"};
    tinkc_service *s = open_rest(f);
    tinkc_session_query query = TINKC_SESSION_QUERY_INIT;
    OK(tinkc_rest_search_sessions_wait(NULL, s, NULL, NULL));
    query.session_id = LEVEL_SESSION;
    query.display_name = "x";
    query.project_ids = projects;
    query.project_ids_n = 1;
    query.metadata = &pair;
    query.metadata_n = 1;
    query.owners = owners;
    query.owners_n = 1;
    query.statuses = statuses;
    query.statuses_n = 2;
    query.limit = 2;
    query.cursor = "{\"last_created_at\":\"2026-01-02T03:04:05Z\",\"last_session_id\":"
                   "\"" LEVEL_SESSION "\"}";
    OK(tinkc_rest_search_sessions_wait(NULL, s, &query, NULL));
}

static void storage_usage(levelfix *f)
{
    tinkc_service *s = open_rest(f);
    OK(tinkc_rest_storage_wait(NULL, s, NULL, NULL));
    OK(tinkc_rest_storage_wait(NULL, s, "project-1", NULL));
}

static void external_urls(levelfix *f)
{
    OK(tinkc_rest_external_urls_wait(
        NULL, open_rest(f), "tinker://" LEVEL_SESSION ":train:0/external_weights/e",
        NULL));
}

static const level_case cases[] = {
    {LEVEL("rest/get_training_run", get_training_run)},
    {LEVEL("rest/list_training_runs", list_training_runs)},
    {LEVEL("rest/list_checkpoints", list_checkpoints)},
    {LEVEL("rest/list_user_checkpoints", list_user_checkpoints), .without = 1u << 1,
     .why = "a limit of 0 is the default here"},
    {LEVEL("rest/delete_checkpoint", delete_checkpoint), .without = 1u << 0,
     .why = "checkpoints are named by their path only"},
    {LEVEL("rest/publish", publish)},
    {LEVEL("rest/ttl", ttl)},
    {LEVEL("rest/archive_url", archive_url)},
    {LEVEL("rest/sessions", sessions)},
    {LEVEL("rest/assign_project", assign_project)},
    {LEVEL("rest/trace_export", trace_export)},
    {LEVEL("rest/trace_export_pending", trace_pending)},
    {LEVEL("rest/get_sampler", get_sampler)},
    {LEVEL("rest/audit", audit)},
    {LEVEL("rest/billing_usage", billing_usage)},
    {LEVEL("rest/weights_info", weights_info)},
    {LEVEL("rest/retried", retried)},
    {LEVEL("rest/admin", admin)},
    {LEVEL("rest/copy_weights", copy_weights)},
    {LEVEL("rest/search_sessions", search_sessions)},
    {LEVEL("rest/storage_usage", storage_usage)},
    {LEVEL("rest/external_weights_urls", external_urls)},
};

static void test_level_rest(void **unused)
{
    level_run("rest/", cases, TK_ARRAY_LEN(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_level_rest)};
    return cmocka_run_group_tests_name("level_rest", tests, NULL, NULL);
}
