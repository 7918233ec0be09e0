/* The REST client on the scripted peer (M-120 to M-129, M-045); where time passes, see
 * test_rest_poll.c.
 * Links: peer */
#include <math.h>
#include <stdio.h>

#include <tinkc/rest.h>

#include "support/failmem.h"
#include "support/fakeapi.h"
#include "support/servicefix.h"
#include "support/textfix.h"

#define CKPT "/api/v1/training_runs/S:train:0/checkpoints/weights/0001"
#define PATH "tinker://S:train:0/weights/0001"

#define CHECKPOINT                                                                       \
    "{\"checkpoint_id\":\"weights/0001\",\"checkpoint_type\":\"training\",\"time\":"     \
    "\"2026-07-13T08:00:00Z\",\"tinker_path\":\"" PATH                                   \
    "\",\"size_bytes\":4096,\"public\":true,\"expires_at\":\"2026-08-01T00:00:00Z\"}"
#define RUN                                                                              \
    "{\"training_run_id\":\"S:train:0\",\"base_model\":\"m\",\"model_owner\":\"me\","    \
    "\"is_lora\":true,\"corrupted\":true,\"lora_rank\":8,\"last_request_time\":"         \
    "\"2026-07-13T08:00:00.250000Z\",\"last_checkpoint\":" CHECKPOINT                    \
    ",\"last_sampler_checkpoint\":null,\"user_metadata\":{\"a\":\"b\"}}"

static fakeapi *start_peer(void)
{
    fakeapi *api = fakeapi_start();
    fakeapi_default(api, "POST", "/api/v1/client/*", &fakeapi_json("{}"));
    return api;
}

typedef struct fix {
    fakeapi *api;
    tinkc_service *service;
} fix;

static fix begin(void)
{
    fakeapi *api = start_peer();
    return (fix){api, servicefix_open(api, NULL)};
}

/* Nothing here may have made a session. */
static void end(fix *f)
{
    assert_int_equal(fakeapi_count(f->api, "POST", "/api/v1/create_session"), 0);
    assert_int_equal(fakeapi_steps_left(f->api), 0);
    tinkc_service_close(&f->service);
    fakeapi_stop(&f->api);
}

static const char *query_of(fix *f, const char *method, const char *path)
{
    return fakeapi_nth(f->api, method, path, 0)->query;
}

/* M-120: one run, by id and by the path of a checkpoint, with scope. */
static void test_rest_get_run(void **unused)
{
    static const char path[] = "/api/v1/training_runs/S:train:0";
    fix f = begin();
    tinkc_run *run = NULL;
    char text[32];
    fakeapi_reply(f.api, "GET", path, &fakeapi_json(RUN));
    fakeapi_reply(f.api, "GET", path, &fakeapi_json(RUN));
    assert_int_equal(tinkc_rest_get_run_wait(&run, f.service, "S:train:0",
                                             TINKC_SCOPE_ACCESSIBLE, NULL),
                     TINKC_OK);
    assert_string_equal(query_of(&f, "GET", path), "access_scope=accessible");
    assert_string_equal(run->id, "S:train:0");
    assert_string_equal(run->owner, "me");
    assert_true(run->is_lora && run->is_corrupted);
    assert_int_equal(run->lora_rank, 8);
    assert_int_equal(tinkc_time_format(text, sizeof(text), run->last_request_us), 27);
    assert_string_equal(text, "2026-07-13T08:00:00.250000Z");
    assert_string_equal(run->last_checkpoint->path, PATH);
    assert_int_equal(run->last_checkpoint->size_bytes, 4096);
    assert_true(run->last_checkpoint->is_public);
    assert_null(run->last_sampler_checkpoint);
    assert_int_equal(run->metadata_n, 1);
    assert_string_equal(run->metadata[0].name, "a");
    assert_string_equal(run->metadata[0].value, "b");
    tinkc_run_free(&run);
    assert_null(run);
    assert_int_equal(
        tinkc_rest_get_run_of_path_wait(&run, f.service, PATH, TINKC_SCOPE_OWNED, NULL),
        TINKC_OK);
    assert_string_equal(fakeapi_nth(f.api, "GET", path, 1)->query, "access_scope=owned");
    tinkc_run_free(&run);
    end(&f);
}

/* M-120: a page of runs; the project filter is left out when it is not set. */
static void test_rest_list_runs(void **unused)
{
    static const char path[] = "/api/v1/training_runs";
    static const char body[] =
        "{\"training_runs\":[" RUN
        "],\"cursor\":{\"offset\":0,\"limit\":20,\"total_count\":41}}";
    fix f = begin();
    tinkc_runs *runs = NULL;
    fakeapi_reply(f.api, "GET", path, &fakeapi_json(body));
    fakeapi_reply(f.api, "GET", path, &fakeapi_json(body));
    assert_int_equal(tinkc_rest_list_runs_wait(&runs, f.service, NULL, NULL), TINKC_OK);
    assert_int_equal(runs->n, 1);
    assert_int_equal(runs->total, 41);
    tinkc_runs_free(&runs);
    assert_string_equal(query_of(&f, "GET", path),
                        "limit=20&offset=0&access_scope=owned");
    tinkc_list_options options = TINKC_LIST_OPTIONS_INIT;
    options.limit = 5;
    options.offset = 7;
    options.project_id = "p";
    assert_int_equal(tinkc_rest_list_runs_wait(&runs, f.service, &options, NULL),
                     TINKC_OK);
    tinkc_runs_free(&runs);
    assert_string_equal(fakeapi_nth(f.api, "GET", path, 1)->query,
                        "limit=5&offset=7&access_scope=owned&project_id=p");
    end(&f);
}

/* M-121: the lists of checkpoints. */
static void test_rest_list_checkpoints(void **unused)
{
    fix f = begin();
    tinkc_checkpoints *list = NULL;
    fakeapi_reply(f.api, "GET", "/api/v1/training_runs/r/checkpoints",
                  &fakeapi_json("{\"checkpoints\":[" CHECKPOINT "],\"cursor\":null}"));
    fakeapi_reply(f.api, "GET", "/api/v1/checkpoints",
                  &fakeapi_json("{\"checkpoints\":[]}"));
    assert_int_equal(tinkc_rest_list_checkpoints_wait(&list, f.service, "r", NULL),
                     TINKC_OK);
    assert_int_equal(list->n, 1);
    assert_int_equal(list->total, -1);
    assert_string_equal(list->items[0].id, "weights/0001");
    assert_int_equal(list->items[0].type, TINKC_CHECKPOINT_TRAINING);
    assert_true(list->items[0].expires_us > list->items[0].time_us);
    tinkc_checkpoints_free(&list);
    assert_int_equal(tinkc_rest_list_user_checkpoints_wait(&list, f.service, NULL, NULL),
                     TINKC_OK);
    assert_int_equal(list->n, 0);
    tinkc_checkpoints_free(&list);
    assert_string_equal(query_of(&f, "GET", "/api/v1/checkpoints"), "limit=100&offset=0");
    end(&f);
}

/* M-121: delete, publish, unpublish and the two forms of a time to live. */
static void test_rest_change_checkpoint(void **unused)
{
    fix f = begin();
    fakeapi_reply(f.api, "DELETE", CKPT, &(fakeapi_step){.status = 204});
    fakeapi_reply(f.api, "POST", CKPT "/publish", &fakeapi_json("anything at all"));
    fakeapi_reply(f.api, "DELETE", CKPT "/publish", &fakeapi_json("{}"));
    fakeapi_reply(f.api, "PUT", CKPT "/ttl", &fakeapi_json("{}"));
    fakeapi_reply(f.api, "PUT", CKPT "/ttl", &fakeapi_json("{}"));
    assert_int_equal(tinkc_rest_delete_checkpoint_wait(f.service, PATH, NULL), TINKC_OK);
    assert_int_equal(tinkc_rest_publish_checkpoint_wait(f.service, PATH, NULL), TINKC_OK);
    assert_int_equal(tinkc_rest_unpublish_checkpoint_wait(f.service, PATH, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_rest_set_checkpoint_ttl_wait(f.service, PATH, 3600, NULL),
                     TINKC_OK);
    assert_int_equal(
        tinkc_rest_set_checkpoint_ttl_wait(f.service, PATH, TINKC_NO_TTL, NULL),
        TINKC_OK);
    assert_string_equal(fakeapi_nth(f.api, "PUT", CKPT "/ttl", 0)->body,
                        "{\"ttl_seconds\":3600}");
    assert_string_equal(fakeapi_nth(f.api, "PUT", CKPT "/ttl", 1)->body,
                        "{\"ttl_seconds\":null}");
    const fakeapi_request *publish = fakeapi_nth(f.api, "POST", CKPT "/publish", 0);
    assert_int_equal(publish->body_n, 0);
    assert_string_equal(fakeapi_header(publish, "content-length"), "0");
    end(&f);
}

/* M-123. */
static void test_rest_weights_and_sampler(void **unused)
{
    fix f = begin();
    tinkc_weights_info *info = NULL;
    tinkc_sampler_info *sampler = NULL;
    fakeapi_reply(f.api, "POST", "/api/v1/weights_info",
                  &fakeapi_json("{\"base_model\":\"m\",\"is_lora\":true,\"lora_rank\":16,"
                                "\"train_mlp\":false,\"train_attn\":null}"));
    fakeapi_reply(f.api, "GET", "/api/v1/samplers/S:sample:0",
                  &fakeapi_json("{\"sampler_id\":\"S:sample:0\",\"base_model\":\"m\","
                                "\"model_path\":null}"));
    assert_int_equal(tinkc_rest_weights_info_wait(&info, f.service, PATH, NULL),
                     TINKC_OK);
    assert_int_equal(info->lora_rank, 16);
    assert_int_equal(info->train_mlp, TINKC_CHOICE_NO);
    assert_int_equal(info->train_attn, TINKC_CHOICE_UNSET);
    assert_string_equal(fakeapi_nth(f.api, "POST", "/api/v1/weights_info", 0)->body,
                        "{\"tinker_path\":\"" PATH "\"}");
    tinkc_weights_info_free(&info);
    assert_int_equal(tinkc_rest_get_sampler_wait(&sampler, f.service, "S:sample:0", NULL),
                     TINKC_OK);
    assert_string_equal(sampler->base_model, "m");
    assert_null(sampler->model_path);
    tinkc_sampler_info_free(&sampler);
    end(&f);
}

/* M-124. */
static void test_rest_sessions(void **unused)
{
    fix f = begin();
    tinkc_sessions *sessions = NULL;
    tinkc_session_info *info = NULL;
    fakeapi_reply(f.api, "GET", "/api/v1/sessions",
                  &fakeapi_json("{\"sessions\":[\"a\",\"b\"]}"));
    fakeapi_reply(f.api, "GET", "/api/v1/sessions/a",
                  &fakeapi_json("{\"training_run_ids\":[\"a:train:0\"],"
                                "\"sampler_ids\":[]}"));
    fakeapi_reply(f.api, "PUT", "/api/v1/sessions/a/project", &fakeapi_json("{}"));
    assert_int_equal(tinkc_rest_list_sessions_wait(&sessions, f.service, NULL, NULL),
                     TINKC_OK);
    assert_int_equal(sessions->n, 2);
    assert_string_equal(sessions->ids[1], "b");
    tinkc_sessions_free(&sessions);
    assert_int_equal(
        tinkc_rest_get_session_wait(&info, f.service, "a", TINKC_SCOPE_OWNED, NULL),
        TINKC_OK);
    assert_int_equal(info->run_ids_n, 1);
    assert_string_equal(info->run_ids[0], "a:train:0");
    assert_int_equal(info->sampler_ids_n, 0);
    tinkc_session_info_free(&info);
    assert_int_equal(tinkc_rest_assign_project_wait(f.service, "a", "p", NULL), TINKC_OK);
    assert_string_equal(fakeapi_nth(f.api, "PUT", "/api/v1/sessions/a/project", 0)->body,
                        "{\"project_id\":\"p\"}");
    end(&f);
}

/* M-127. */
static void test_rest_audit(void **unused)
{
    fix f = begin();
    tinkc_audit *audit = NULL;
    fakeapi_reply(f.api, "GET", "/api/v1/audit",
                  &fakeapi_json("{\"entries\":[{\"timestamp\":\"2026-07-13T00:00:01Z\","
                                "\"event\":\"save\",\"model_id\":\"x\"}]}"));
    fakeapi_reply(f.api, "GET", "/api/v1/audit",
                  &fakeapi_json("{\"entries\":[{\"timestamp\":\"2026-07-13T00:00:01Z\","
                                "\"event\":\"team_add\",\"event_details\":{\"who\":"
                                "{\"id\":1}}}]}"));
    assert_int_equal(tinkc_rest_audit_wait(&audit, f.service, TINKC_AUDIT_CHECKPOINTS,
                                           "2026-07-13", NULL),
                     TINKC_OK);
    assert_int_equal(audit->n, 1);
    assert_string_equal(audit->items[0].event, "save");
    assert_string_equal(audit->items[0].model_id, "x");
    assert_null(audit->items[0].purpose);
    assert_null(audit->items[0].details);
    tinkc_audit_free(&audit);
    assert_string_equal(query_of(&f, "GET", "/api/v1/audit"),
                        "event_type=checkpoints&day=2026-07-13");
    assert_int_equal(
        tinkc_rest_audit_wait(&audit, f.service, TINKC_AUDIT_ORGANIZATIONS, NULL, NULL),
        TINKC_OK);
    assert_string_equal(audit->items[0].details, "{\"who\":{\"id\":1}}");
    tinkc_audit_free(&audit);
    assert_string_equal(fakeapi_nth(f.api, "GET", "/api/v1/audit", 1)->query,
                        "event_type=organizations");
    assert_int_equal(
        tinkc_rest_audit_wait(&audit, f.service, (tinkc_audit_events)9, NULL, NULL),
        TINKC_E_INVALID);
    end(&f);
}

/* M-128: all five kinds, sessions with and without metadata; times as the server reads
 * them. */
static void test_rest_billing(void **unused)
{
    static const char path[] = "/api/v1/billing/usage/events";
    static const char body[] =
        "{\"data\":[{\"bucket_start\":\"2026-07-13T00:00:00Z\",\"bucket_end\":"
        "\"2026-07-13T01:00:00Z\",\"session_id\":\"a\",\"event_info\":{\"type\":"
        "\"sampling_prefill\",\"cached\":true,\"token_count\":12},"
        "\"estimated_cost_usd\":0.25,\"effective_rate_usd_per_million_tokens\":2.5},"
        "{\"bucket_start\":\"2026-07-13T00:00:00Z\",\"bucket_end\":"
        "\"2026-07-13T01:00:00Z\",\"event_info\":{\"type\":\"storage\","
        "\"gigabyte_hours\":0.5}}],\"sessions\":{\"a\":{\"user_metadata\":{\"k\":\"v\"}},"
        "\"b\":{\"user_metadata\":null}},"
        "\"cost_data_through\":\"2026-07-13T00:00:00Z\"}";
    fix f = begin();
    tinkc_billing *billing = NULL;
    int64_t start = 0, stop = 0;
    fakeapi_reply(f.api, "GET", path, &fakeapi_json(body));
    assert_int_equal(tinkc_time_parse(&start, "2026-07-13", NULL), TINKC_OK);
    assert_int_equal(tinkc_time_parse(&stop, "2026-07-13T02:00:00+01:00", NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_rest_billing_wait(&billing, f.service, start, stop, NULL),
                     TINKC_OK);
    assert_string_equal(query_of(&f, "GET", path),
                        "starting_on=2026-07-13T00%3A00%3A00Z&"
                        "ending_before=2026-07-13T01%3A00%3A00Z");
    assert_int_equal(billing->n, 2);
    assert_int_equal(billing->items[0].kind, TINKC_BILLING_SAMPLING_PREFILL);
    assert_true(billing->items[0].is_cached);
    assert_int_equal(billing->items[0].token_count, 12);
    assert_true(billing->items[0].cost_usd == 0.25);
    assert_true(billing->items[0].usd_per_million_tokens == 2.5);
    assert_true(isnan(billing->items[0].usd_per_gigabyte_month));
    assert_true(isnan(billing->items[1].cost_usd));
    assert_int_equal(billing->cost_data_through_us, start);
    assert_string_equal(tinkc_billing_kind_name(billing->items[1].kind), "storage");
    assert_true(billing->items[1].gigabyte_hours == 0.5);
    assert_int_equal(billing->items[1].token_count, -1);
    assert_int_equal(billing->sessions_n, 2);
    assert_string_equal(billing->sessions[0].metadata[0].value, "v");
    assert_false(billing->sessions[1].has_metadata);
    tinkc_billing_free(&billing);
    end(&f);
}

/* M-126: claims of the exchanged token; a plain key says nothing. */
static void test_rest_whoami(void **unused)
{
    static const char claims[] =
        "{\"sub\":\"urn:user:1\",\"email\":\"\",\"org_id\":\"7\",\"exp\":99999999999}";
    fix f = begin();
    tinkc_whoami *who = NULL;
    tinkc_error *error = NULL;
    assert_int_equal(tinkc_rest_whoami_wait(&who, f.service, &error),
                     TINKC_E_UNSUPPORTED);
    tinkc_error_free(&error);
    end(&f);

    tk_buf body;
    tk_buf_init(&body, 4096);
    tk_buf_puts(&body, "{\"jwt\":\"eyJh.");
    textfix_put_base64_url(&body, claims, strlen(claims));
    tk_buf_puts(&body, ".sig\"}");
    fakeapi *api = fakeapi_start();
    fakeapi_default(api, "POST", "/api/v1/client/config",
                    &fakeapi_json("{\"pjwt_auth_enabled\":true}"));
    fakeapi_default(api, "POST", "/api/v1/client/dynamic_config", &fakeapi_json("{}"));
    fakeapi_default(api, "POST", "/api/v1/auth/token",
                    &(fakeapi_step){.body = tk_buf_cstr(&body), .body_n = body.n});
    tinkc_service *service = servicefix_open(api, NULL);
    assert_int_equal(tinkc_rest_whoami_wait(&who, service, NULL), TINKC_OK);
    assert_string_equal(who->user_urn, "urn:user:1");
    assert_null(who->email);
    assert_string_equal(who->org_urn, "tml:organization:7");
    tinkc_whoami_free(&who);
    assert_int_equal(fakeapi_total(api), 3);
    tk_buf_dispose(&body);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

/* M-122: 302 with Location and Expires, not followed; JSON; a relative Location. */
static void test_rest_archive_url(void **unused)
{
    fix f = begin();
    tinkc_archive *archive = NULL;
    tinkc_error *error = NULL;
    char text[32], url[96];
    fakeapi_reply(f.api, "GET", CKPT "/archive",
                  &(fakeapi_step){.status = 302,
                                  .headers =
                                      "Location: https://cdn.example/a?x=1\r\n"
                                      "Expires: Mon, 13 Jul 2026 08:00:00 GMT\r\n"});
    fakeapi_reply(f.api, "GET", CKPT "/archive",
                  &fakeapi_json("{\"url\":\"https://cdn.example/b\",\"expires\":"
                                "\"2026-07-13T09:00:00Z\"}"));
    fakeapi_reply(f.api, "GET", CKPT "/archive",
                  &(fakeapi_step){.status = 302, .headers = "Location: /get/it\r\n"});
    fakeapi_reply(f.api, "GET", CKPT "/archive", &(fakeapi_step){.status = 302});
    assert_int_equal(tinkc_rest_archive_url_wait(&archive, f.service, PATH, NULL),
                     TINKC_OK);
    assert_string_equal(archive->url, "https://cdn.example/a?x=1");
    (void)tinkc_time_format(text, sizeof(text), archive->expires_us);
    assert_string_equal(text, "2026-07-13T08:00:00Z");
    tinkc_archive_free(&archive);
    assert_int_equal(tinkc_rest_archive_url_wait(&archive, f.service, PATH, NULL),
                     TINKC_OK);
    assert_string_equal(archive->url, "https://cdn.example/b");
    tinkc_archive_free(&archive);
    assert_int_equal(tinkc_rest_archive_url_wait(&archive, f.service, PATH, NULL),
                     TINKC_OK);
    (void)snprintf(url, sizeof(url), "%s/get/it", fakeapi_url(f.api));
    assert_string_equal(archive->url, url);
    tinkc_archive_free(&archive);
    assert_int_equal(tinkc_rest_archive_url_wait(&archive, f.service, PATH, &error),
                     TINKC_E_DECODE);
    tinkc_error_free(&error);
    end(&f);
}

/* Nothing that could name something else reaches the server. */
static void test_rest_refuses(void **unused)
{
    static const char *const ids[] = {NULL, "", ".", "..", "a/b", "a\nb"};
    static const char *const paths[] = {NULL,
                                        "",
                                        "weights/1",
                                        "tinker://r/weights/..",
                                        "tinker://r/weights/",
                                        "tinker://../weights/a",
                                        "tinker://r/other/a",
                                        "tinker://r/weights/a/b"};
    fix f = begin();
    tinkc_run *run = NULL;
    for (size_t i = 0; i < TK_ARRAY_LEN(ids); i++) {
        assert_int_equal(
            tinkc_rest_get_run_wait(&run, f.service, ids[i], TINKC_SCOPE_OWNED, NULL),
            TINKC_E_INVALID);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(paths); i++) {
        assert_int_equal(tinkc_rest_delete_checkpoint_wait(f.service, paths[i], NULL),
                         TINKC_E_INVALID);
        assert_int_equal(tinkc_rest_archive_url_wait(&(tinkc_archive *){NULL}, f.service,
                                                     paths[i], NULL),
                         TINKC_E_INVALID);
    }
    assert_int_equal(tinkc_rest_set_checkpoint_ttl_wait(f.service, PATH, 0, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_rest_audit_wait(&(tinkc_audit *){NULL}, f.service,
                                           TINKC_AUDIT_ALL, "2026-13-01", NULL),
                     TINKC_E_INVALID);
    assert_int_equal(
        tinkc_rest_billing_wait(&(tinkc_billing *){NULL}, f.service, 5, 5, NULL),
        TINKC_E_INVALID);
    assert_int_equal(tinkc_rest_assign_project_wait(f.service, "a", "", NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_rest_get_run_wait(&run, NULL, "r", TINKC_SCOPE_OWNED, NULL),
                     TINKC_E_STATE);
    assert_int_equal(tinkc_rest_whoami_wait(&(tinkc_whoami *){NULL}, NULL, NULL),
                     TINKC_E_STATE);
    assert_int_equal(fakeapi_total(f.api), 0);
    end(&f);
}

/* Errors keep status and message; malformed answers are errors too. */
static void test_rest_errors(void **unused)
{
    fix f = begin();
    tinkc_error *error = NULL;
    tinkc_sessions *sessions = NULL;
    fakeapi_reply(f.api, "DELETE", CKPT, &fakeapi_detail(404, "no such checkpoint"));
    fakeapi_reply(f.api, "GET", "/api/v1/sessions", &fakeapi_json("{\"sessions\":1}"));
    fakeapi_reply(f.api, "GET", "/api/v1/sessions", &fakeapi_json("<html>"));
    assert_int_equal(tinkc_rest_delete_checkpoint_wait(f.service, PATH, &error),
                     TINKC_E_NOT_FOUND);
    assert_non_null(strstr(tinkc_error_message(error), "no such checkpoint"));
    tinkc_error_free(&error);
    assert_int_equal(tinkc_rest_list_sessions_wait(&sessions, f.service, NULL, NULL),
                     TINKC_E_DECODE);
    assert_int_equal(tinkc_rest_list_sessions_wait(&sessions, f.service, NULL, NULL),
                     TINKC_E_PARSE);
    assert_null(sessions);
    end(&f);
}

typedef struct sweep_case {
    const char *path, *body;
    bool (*call)(tinkc_service *service);
} sweep_case;

static bool call_run(tinkc_service *service)
{
    tinkc_run *run = NULL;
    bool ok =
        tinkc_rest_get_run_wait(&run, service, "r", TINKC_SCOPE_OWNED, NULL) == TINKC_OK;
    tinkc_run_free(&run);
    return ok;
}

static bool call_archive(tinkc_service *service)
{
    tinkc_archive *archive = NULL;
    bool ok = tinkc_rest_archive_url_wait(&archive, service, PATH, NULL) == TINKC_OK;
    tinkc_archive_free(&archive);
    return ok;
}

static bool sweep_once(void *user)
{
    const sweep_case *row = user;
    fakeapi *api = start_peer();
    fakeapi_step step = {.body = row->body};
    if (row->body == NULL) {
        step.status = 302;
        step.headers = "Location: /x\r\n";
    }
    fakeapi_default(api, "GET", row->path, &step);
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

static void test_rest_allocation_sweep(void **unused)
{
    sweep_case rows[] = {{"/api/v1/training_runs/r", RUN, call_run},
                         {CKPT "/archive", NULL, call_archive}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        assert_true(failmem_sweep(sweep_once, &rows[i], 3) > 30);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rest_get_run),
        cmocka_unit_test(test_rest_list_runs),
        cmocka_unit_test(test_rest_list_checkpoints),
        cmocka_unit_test(test_rest_change_checkpoint),
        cmocka_unit_test(test_rest_weights_and_sampler),
        cmocka_unit_test(test_rest_sessions),
        cmocka_unit_test(test_rest_audit),
        cmocka_unit_test(test_rest_billing),
        cmocka_unit_test(test_rest_whoami),
        cmocka_unit_test(test_rest_archive_url),
        cmocka_unit_test(test_rest_refuses),
        cmocka_unit_test(test_rest_errors),
        cmocka_unit_test(test_rest_allocation_sweep),
    };
    return cmocka_run_group_tests_name("client/rest", tests, NULL, NULL);
}
