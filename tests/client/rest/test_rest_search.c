/* Searches, storage, copies and URLs of external weights on the scripted peer: the bodies
 * are those that the official SDK 0.36.0 was recorded with (tests/data/wire).
 * Links: peer */
#include <math.h>

#include <tinkc/search.h>
#include <tinkc/weights.h>

#include "support/failmem.h"
#include "support/fakeapi.h"
#include "support/servicefix.h"

#define SESSION  "00000000-0000-4000-8000-000000000001"
#define EXTERNAL "tinker://" SESSION ":train:0/external_weights/e"
#define SOURCE   "tinker://" SESSION ":train:0/weights/0001"
#define CURSOR                                                                           \
    "{\"last_created_at\":\"2026-01-02T03:04:05Z\",\"last_session_id\":\"" SESSION "\"}"

#define FOUND                                                                            \
    "{\"sessions\":[{\"session_id\":\"" SESSION                                          \
    "\",\"created_at\":\"2026-01-02T03:04:05Z\",\"owner\":\"o\",\"project_id\":\"p\","   \
    "\"status\":{\"type\":\"client_finished\",\"reason\":{\"type\":\"success\"}},"       \
    "\"checkpoints_count\":3,\"display_name\":\"d\",\"user_metadata\":{\"a\":\"b\"},"    \
    "\"checkpoint_storage_bytes\":5},{\"session_id\":\"x\",\"created_at\":"              \
    "\"2026-01-02T03:04:05Z\",\"owner\":\"o\",\"project_id\":\"p\",\"status\":null,"     \
    "\"checkpoints_count\":0}],\"next_cursor\":" CURSOR "}"

typedef struct fix {
    fakeapi *api;
    tinkc_service *service;
} fix;

static fix begin_with(const char *const *options)
{
    fakeapi *api = fakeapi_start();
    fakeapi_default(api, "POST", "/api/v1/client/*", &fakeapi_json("{}"));
    return (fix){api, servicefix_open(api, options)};
}

static fix begin(void)
{
    return begin_with(NULL);
}

static void end(fix *f)
{
    assert_int_equal(fakeapi_count(f->api, "POST", "/api/v1/create_session"), 0);
    assert_int_equal(fakeapi_steps_left(f->api), 0);
    tinkc_service_close(&f->service);
    fakeapi_stop(&f->api);
}

static void test_rest_search_sessions(void **unused)
{
    static const char path[] = "/api/v1/sessions/search";
    static const char *const projects[] = {"p"}, *const owners[] = {"urn:1"},
                             *const statuses[] = {"active", "client_finished:errored"};
    const tinkc_pair pair = {"a", "b"};
    fix f = begin();
    tinkc_found_sessions *found = NULL;
    fakeapi_reply(f.api, "POST", path, &fakeapi_json(FOUND));
    fakeapi_reply(f.api, "POST", path, &fakeapi_json("{\"sessions\":[]}"));
    assert_int_equal(tinkc_rest_search_sessions_wait(&found, f.service, NULL, NULL),
                     TINKC_OK);
    assert_string_equal(
        fakeapi_nth(f.api, "POST", path, 0)->body,
        "{\"user_metadata\":{},\"owner\":{\"type\":\"own\"},\"limit\":50}");
    assert_int_equal(found->n, 2);
    assert_string_equal(found->items[0].id, SESSION);
    assert_string_equal(found->items[0].status, "client_finished");
    assert_string_equal(
        found->items[0].status_json,
        "{\"type\":\"client_finished\",\"reason\":{\"type\":\"success\"}}");
    assert_int_equal(found->items[0].checkpoints, 3);
    assert_int_equal(found->items[0].checkpoint_bytes, 5);
    assert_string_equal(found->items[0].display_name, "d");
    assert_string_equal(found->items[0].metadata[0].value, "b");
    assert_null(found->items[1].status);
    assert_null(found->items[1].display_name);
    assert_false(found->items[1].has_metadata);
    assert_int_equal(found->items[1].checkpoint_bytes, -1);
    assert_string_equal(found->next, CURSOR);
    tinkc_session_query query = TINKC_SESSION_QUERY_INIT;
    query.session_id = SESSION;
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
    query.cursor = found->next;
    tinkc_found_sessions *last = NULL;
    assert_int_equal(tinkc_rest_search_sessions_wait(&last, f.service, &query, NULL),
                     TINKC_OK);
    assert_int_equal(last->n, 0);
    assert_null(last->next);
    assert_string_equal(
        fakeapi_nth(f.api, "POST", path, 1)->body,
        "{\"session_id\":\"" SESSION
        "\",\"project_ids\":[\"p\"],\"user_metadata\":{\"a\":\"b\"},\"display_name\":"
        "\"x\",\"owner\":{\"type\":\"user\",\"owner_urns\":[\"urn:1\"]},\"statuses\":"
        "[{\"type\":\"active\"},{\"type\":\"client_finished\",\"reasons\":[\"errored\"]}],"
        "\"limit\":2,\"cursor\":" CURSOR "}");
    tinkc_found_sessions_free(&found);
    tinkc_found_sessions_free(&last);
    end(&f);
}

#define CHECKPOINT(more)                                                                 \
    "{\"checkpoint_id\":\"weights/0001\",\"checkpoint_type\":\"training\",\"time\":"     \
    "\"2026-07-13T08:00:00Z\",\"tinker_path\":\"" SOURCE "\"" more "}"

/* From the documentation of 0.39. */
static void test_rest_search_checkpoints(void **unused)
{
    static const char path[] = "/api/v1/checkpoints/search";
    static const char *const models[] = {"m", "n"};
    fix f = begin();
    tinkc_checkpoints *found = NULL;
    fakeapi_reply(
        f.api, "POST", path,
        &fakeapi_json("{\"checkpoints\":[" CHECKPOINT(
            ",\"base_model\":\"m\",\"user_metadata\":{\"k\":\"v\"}") "],"
                                                                     "\"next_cursor\":{\"last_created_at\":\"2026-01-02T03:04:05Z\","
                                                                     "\"last_checkpoint_uuid\":\"u\"}}"));
    fakeapi_reply(f.api, "POST", path,
                  &fakeapi_json("{\"checkpoints\":[" CHECKPOINT("") "]}"));
    assert_int_equal(tinkc_rest_search_checkpoints_wait(&found, f.service, NULL, NULL),
                     TINKC_OK);
    assert_string_equal(
        fakeapi_nth(f.api, "POST", path, 0)->body,
        "{\"user_metadata\":{},\"owner\":{\"type\":\"own\"},\"limit\":50}");
    assert_int_equal(found->n, 1);
    assert_string_equal(found->items[0].base_model, "m");
    assert_string_equal(found->items[0].metadata[0].name, "k");
    assert_int_equal(found->total, -1);
    tinkc_checkpoint_query query = TINKC_CHECKPOINT_QUERY_INIT;
    query.type = "external";
    query.base_models = models;
    query.base_models_n = 2;
    query.scope = TINKC_SCOPE_ACCESSIBLE;
    query.limit = 1;
    query.cursor = found->next;
    tinkc_checkpoints *last = NULL;
    assert_int_equal(tinkc_rest_search_checkpoints_wait(&last, f.service, &query, NULL),
                     TINKC_OK);
    assert_string_equal(
        fakeapi_nth(f.api, "POST", path, 1)->body,
        "{\"user_metadata\":{},\"checkpoint_type\":\"external\",\"owner\":{\"type\":"
        "\"accessible\"},\"base_models\":[\"m\",\"n\"],\"limit\":1,\"cursor\":"
        "{\"last_created_at\":\"2026-01-02T03:04:05Z\",\"last_checkpoint_uuid\":\"u\"}}");
    assert_null(last->next);
    assert_null(last->items[0].base_model);
    assert_false(last->items[0].has_metadata);
    tinkc_checkpoints_free(&found);
    tinkc_checkpoints_free(&last);
    end(&f);
}

static void test_rest_storage(void **unused)
{
    static const char path[] = "/api/v1/billing/usage/checkpoints/current";
    fix f = begin();
    tinkc_storage *storage = NULL;
    fakeapi_reply(
        f.api, "GET", path,
        &fakeapi_json("{\"effective_rate_usd_per_gigabyte_month\":0.1,\"data\":[{"
                      "\"project_id\":\"p\",\"org_user_urn\":\"u\",\"user_email\":\"e\","
                      "\"user_name\":\"n\",\"checkpoint_count\":1,\"size_bytes\":2,"
                      "\"size_gigabytes\":0.5,\"estimated_monthly_cost_usd\":0.05}]}"));
    fakeapi_reply(f.api, "GET", path,
                  &fakeapi_json("{\"data\":[{\"checkpoint_count\":0,\"size_bytes\":0,"
                                "\"size_gigabytes\":0}]}"));
    assert_int_equal(tinkc_rest_storage_wait(&storage, f.service, NULL, NULL), TINKC_OK);
    assert_string_equal(fakeapi_nth(f.api, "GET", path, 0)->query, "");
    assert_true(storage->usd_per_gigabyte_month == 0.1);
    assert_string_equal(storage->items[0].user_email, "e");
    assert_int_equal(storage->items[0].bytes, 2);
    assert_true(storage->items[0].monthly_cost_usd == 0.05);
    tinkc_storage_free(&storage);
    assert_int_equal(tinkc_rest_storage_wait(&storage, f.service, "project-1", NULL),
                     TINKC_OK);
    assert_string_equal(fakeapi_nth(f.api, "GET", path, 1)->query,
                        "project_id=project-1");
    assert_true(isnan(storage->usd_per_gigabyte_month));
    assert_true(isnan(storage->items[0].monthly_cost_usd));
    assert_null(storage->items[0].project_id);
    tinkc_storage_free(&storage);
    end(&f);
}

/* The key of the request is a bare UUID, the token of the other account is a header, and
 * both stay the same when the request is sent again. */
static void test_rest_copy_weights(void **unused)
{
    static const char path[] = "/api/v1/copy_weights";
    fix f = begin();
    char *copy = NULL;
    fakeapi_reply(f.api, "POST", path,
                  &(fakeapi_step){.status = 500, .headers = "Retry-After-Ms: 1\r\n"});
    fakeapi_reply(f.api, "POST", path,
                  &fakeapi_json("{\"tinker_path\":\"tinker://b/weights/0001\"}"));
    tinkc_copy_options options = TINKC_COPY_OPTIONS_INIT;
    options.project_id = "project-2";
    options.ttl_seconds = 3600;
    options.token = "tml-other";
    assert_int_equal(
        tinkc_rest_copy_weights_wait(&copy, f.service, SOURCE, &options, NULL), TINKC_OK);
    assert_string_equal(copy, "tinker://b/weights/0001");
    tinkc_text_free(&copy);
    const fakeapi_request *first = fakeapi_nth(f.api, "POST", path, 0);
    const fakeapi_request *again = fakeapi_nth(f.api, "POST", path, 1);
    assert_string_equal(first->body,
                        "{\"destination_project_id\":\"project-2\",\"source_path\":"
                        "\"" SOURCE "\",\"ttl_seconds\":3600}");
    assert_string_equal(fakeapi_header(first, "X-Tinker-Weights-Access-Token"),
                        "tml-other");
    assert_int_equal(strlen(fakeapi_header(first, "X-Idempotency-Key")), 36);
    assert_int_equal(fakeapi_header_count(first, "X-Idempotency-Key"), 1);
    assert_string_equal(fakeapi_header(first, "X-Idempotency-Key"),
                        fakeapi_header(again, "X-Idempotency-Key"));
    end(&f);
    /* The project of the service; none at all is refused. */
    static const char *const configured[] = {"project_id", "mine", NULL};
    f = begin_with(configured);
    fakeapi_reply(f.api, "POST", path,
                  &fakeapi_json("{\"tinker_path\":\"tinker://b/weights/0001\"}"));
    assert_int_equal(tinkc_rest_copy_weights_wait(NULL, f.service, SOURCE, NULL, NULL),
                     TINKC_OK);
    first = fakeapi_nth(f.api, "POST", path, 0);
    assert_string_equal(first->body, "{\"destination_project_id\":\"mine\","
                                     "\"source_path\":\"" SOURCE "\"}");
    assert_null(fakeapi_header(first, "X-Tinker-Weights-Access-Token"));
    end(&f);
}

static void test_rest_external_urls(void **unused)
{
    static const char path[] =
        "/api/v1/training_runs/" SESSION ":train:0/checkpoints/external_weights/e/"
        "external_weights_urls";
    fix f = begin();
    tinkc_file_urls *urls = NULL;
    char text[32];
    fakeapi_reply(
        f.api, "GET", path,
        &fakeapi_json("{\"urls\":{\"a.json\":\"http://x/1\",\"d/b\":\"http://x/2\"},"
                      "\"expires\":\"2026-01-02T03:04:05Z\"}"));
    assert_int_equal(tinkc_rest_external_urls_wait(&urls, f.service, EXTERNAL, NULL),
                     TINKC_OK);
    assert_int_equal(urls->n, 2);
    assert_string_equal(urls->items[1].name, "d/b");
    assert_string_equal(urls->items[1].value, "http://x/2");
    (void)tinkc_time_format(text, sizeof(text), urls->expires_us);
    assert_string_equal(text, "2026-01-02T03:04:05Z");
    tinkc_file_urls_free(&urls);
    assert_int_equal(tinkc_rest_external_urls_wait(&urls, f.service, SOURCE, NULL),
                     TINKC_E_INVALID);
    end(&f);
}

static void test_rest_search_refuses(void **unused)
{
    fix f = begin();
    const tinkc_pair null_pair = {"a", NULL};
    tinkc_session_query query = TINKC_SESSION_QUERY_INIT;
    query.limit = 201;
    assert_int_equal(tinkc_rest_search_sessions_wait(NULL, f.service, &query, NULL),
                     TINKC_E_INVALID);
    query.limit = 0;
    query.cursor = "[]";
    assert_int_equal(tinkc_rest_search_sessions_wait(NULL, f.service, &query, NULL),
                     TINKC_E_INVALID);
    query.cursor = NULL;
    query.metadata = &null_pair;
    query.metadata_n = 1;
    assert_int_equal(tinkc_rest_search_sessions_wait(NULL, f.service, &query, NULL),
                     TINKC_E_INVALID);
    query = (tinkc_session_query)TINKC_SESSION_QUERY_INIT;
    query.owners = (const char *const[11]){"a"};
    query.owners_n = 11;
    assert_int_equal(tinkc_rest_search_sessions_wait(NULL, f.service, &query, NULL),
                     TINKC_E_INVALID);
    tinkc_checkpoint_query checkpoints = TINKC_CHECKPOINT_QUERY_INIT;
    checkpoints.base_models_n = 1;
    assert_int_equal(
        tinkc_rest_search_checkpoints_wait(NULL, f.service, &checkpoints, NULL),
        TINKC_E_INVALID);
    tinkc_copy_options copy = TINKC_COPY_OPTIONS_INIT;
    assert_int_equal(tinkc_rest_copy_weights_wait(NULL, f.service, SOURCE, &copy, NULL),
                     TINKC_E_INVALID);
    copy.project_id = "p";
    copy.ttl_seconds = 0;
    assert_int_equal(tinkc_rest_copy_weights_wait(NULL, f.service, SOURCE, &copy, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_rest_copy_weights_wait(NULL, f.service, "x", &copy, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_rest_storage_wait(NULL, NULL, NULL, NULL), TINKC_E_STATE);
    assert_int_equal(fakeapi_total(f.api), 0);
    end(&f);
}

/* ---- without memory ---- */

static bool call_search(tinkc_service *service)
{
    const tinkc_pair pair = {"a", "b"};
    tinkc_session_query query = TINKC_SESSION_QUERY_INIT;
    query.metadata = &pair;
    query.metadata_n = 1;
    query.cursor = CURSOR;
    tinkc_found_sessions *found = NULL;
    bool ok = tinkc_rest_search_sessions_wait(&found, service, &query, NULL) == TINKC_OK;
    tinkc_found_sessions_free(&found);
    return ok;
}

static bool call_copy(tinkc_service *service)
{
    tinkc_copy_options options = TINKC_COPY_OPTIONS_INIT;
    options.project_id = "p";
    options.token = "tml-other";
    char *copy = NULL;
    bool ok =
        tinkc_rest_copy_weights_wait(&copy, service, SOURCE, &options, NULL) == TINKC_OK;
    tinkc_text_free(&copy);
    return ok;
}

typedef struct sweep_case {
    const char *path, *body;
    bool (*call)(tinkc_service *service);
} sweep_case;

static bool sweep_once(void *user)
{
    const sweep_case *row = user;
    fakeapi *api = fakeapi_start();
    fakeapi_default(api, "POST", "/api/v1/client/*", &fakeapi_json("{}"));
    fakeapi_default(api, "POST", row->path, &(fakeapi_step){.body = row->body});
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    bool ok = tinkc_config_new(&config, NULL) == TINKC_OK &&
              tinkc_config_set(config, "base_url", fakeapi_url(api), NULL) == TINKC_OK &&
              tinkc_config_set(config, "loop", "manual", NULL) == TINKC_OK &&
              tinkc_service_open(&service, config, NULL) == TINKC_OK &&
              row->call(service);
    tinkc_service_close(&service);
    tinkc_config_free(&config);
    fakeapi_stop(&api);
    return ok;
}

static void test_rest_search_allocation_sweep(void **unused)
{
    sweep_case rows[] = {{"/api/v1/sessions/search", FOUND, call_search},
                         {"/api/v1/copy_weights",
                          "{\"tinker_path\":\"tinker://b/weights/1\"}", call_copy}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        assert_true(failmem_sweep(sweep_once, &rows[i], 3) > 30);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rest_search_sessions),
        cmocka_unit_test(test_rest_search_checkpoints),
        cmocka_unit_test(test_rest_storage),
        cmocka_unit_test(test_rest_copy_weights),
        cmocka_unit_test(test_rest_external_urls),
        cmocka_unit_test(test_rest_search_refuses),
        cmocka_unit_test(test_rest_search_allocation_sweep),
    };
    return cmocka_run_group_tests_name("client/rest_search", tests, NULL, NULL);
}
