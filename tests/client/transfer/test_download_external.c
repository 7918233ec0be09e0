/* Downloads of external weights, a file each, and of training checkpoints through them
 * where the server has no archives (M-131). The server is hostile.
 * Links: peer */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <tinkc/download.h>

#include "support/fakeapi_tinker.h"
#include "support/httpget.h"
#include "support/servicefix.h"

#define RUN      "/api/v1/training_runs/r/checkpoints/"
#define EXTERNAL "tinker://r/external_weights/1"
#define URLS     "*/external_weights_urls"
#define MADE     "00000001-0000-4000-8000-000000000000:train:0" /* the peer's first run */
#define TRAINED  "tinker://" MADE "/weights/1"
#define ARCHIVE  "/api/v1/training_runs/" MADE "/checkpoints/weights/1/archive"
#define EXPORTED "/api/v1/training_runs/*/checkpoints/external_weights/download"
#define CONFIG   "{\"r\":4}"
#define MODEL    "0123456789abcdef"
#define LATER    "2124-01-01T00:00:00Z"

typedef struct fix {
    fakeapi *api;
    tinkc_service *service;
    char folder[64], target[80];
    tinkc_download_options options;
} fix;

/* The answer with the files below /`place`. */
static const char *two_files(const fix *f, const char *place, const char *expires)
{
    static char text[512];
    (void)snprintf(
        text, sizeof(text),
        "{\"urls\":{\"sub/model\":\"%s/%s/model\",\"config\":\"%s/%s/config\"},"
        "\"expires\":\"%s\"}",
        fakeapi_url(f->api), place, fakeapi_url(f->api), place, expires);
    return text;
}

static void begin(fix *f)
{
    *f = (fix){.options = TINKC_DOWNLOAD_OPTIONS_INIT};
    (void)snprintf(f->folder, sizeof(f->folder), "/tmp/tinkc-external-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->target, sizeof(f->target), "%s/out", f->folder);
    f->options.retry_ms = 0;
    f->options.max_retries = 3;
    f->api = fakeapi_start();
    fakeapi_tinker(f->api, NULL);
    fakeapi_default(f->api, "POST", "/api/v1/weights_info",
                    &fakeapi_json("{\"base_model\":\"m\",\"is_lora\":true,"
                                  "\"lora_rank\":4}"));
    fakeapi_default(f->api, "GET", URLS, &fakeapi_json(two_files(f, "files", LATER)));
    fakeapi_default(f->api, "GET", "/files/config", &fakeapi_json(CONFIG));
    fakeapi_default(f->api, "GET", "/files/model", &fakeapi_json(MODEL));
}

static void post(const fix *f, const char *route, const char *body)
{
    httpget_response response;
    const httpget_request request = {.target = route, .body = body};
    assert_int_equal(httpget_once(fakeapi_port(f->api), &request, &response), HTTPGET_OK);
    assert_int_equal(response.status, 200);
    httpget_response_dispose(&response);
}

/* Saves the checkpoint TRAINED at a server without archives. */
static void save(const fix *f, int status)
{
    post(f, "/api/v1/create_session",
         "{\"tags\":[],\"sdk_version\":\"0.36.0\",\"type\":\"create_session\"}");
    post(f, "/api/v1/create_model",
         "{\"session_id\":\"00000001-0000-4000-8000-000000000000\",\"model_seq_id\":0,"
         "\"base_model\":\"m\",\"lora_config\":{\"rank\":4},\"type\":\"create_model\"}");
    post(f, "/api/v1/save_weights",
         "{\"model_id\":\"" MADE "\",\"seq_id\":1,\"path\":\"1\","
         "\"type\":\"save_weights\"}");
    fakeapi_forget(f->api);
    fakeapi_default(
        f->api, "GET", ARCHIVE,
        &(fakeapi_step){.status = status, .body = "{\"detail\":\"no archives\"}"});
    fakeapi_default(f->api, "DELETE", EXPORTED, &(fakeapi_step){.status = 204});
}

static void start(fix *f)
{
    begin(f);
    static const char *const options[] = {"heartbeat",   "none", "telemetry", "false",
                                          "max_retries", "0",    NULL};
    f->service = servicefix_open(f->api, options);
}

static void end(fix *f)
{
    char command[128];
    tinkc_service_close(&f->service);
    fakeapi_stop(&f->api);
    (void)snprintf(command, sizeof(command), "rm -rf %s", f->folder);
    assert_int_equal(system(command), 0);
}

static size_t entries(const char *path)
{
    size_t n = 0;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    (void)closedir(folder);
    return n;
}

static void expect_file(const fix *f, const char *name, const char *content)
{
    char path[160], text[64];
    (void)snprintf(path, sizeof(path), "%s/%s", f->target, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof(text), file), strlen(content));
    assert_memory_equal(text, content, strlen(content));
    assert_int_equal(fclose(file), 0);
}

/* Both files are there, nothing else, and no request for them had a key. */
static void expect_whole(fix *f)
{
    expect_file(f, "config", CONFIG);
    expect_file(f, "sub/model", MODEL);
    assert_int_equal(entries(f->target), 2);
    assert_int_equal(entries(f->folder), 1);
    for (size_t i = 0; i < fakeapi_count(f->api, "GET", "/files/*"); i++) {
        assert_null(
            fakeapi_header(fakeapi_nth(f->api, "GET", "/files/*", i), "X-API-Key"));
    }
}

static tinkc_code get(fix *f, const char *path, tinkc_error **error)
{
    return tinkc_download_checkpoint(NULL, f->service, path, f->target, &f->options,
                                     error);
}

/* It fails so, with this in its text, and leaves nothing. */
static void refused(fix *f, const char *path, tinkc_code code, const char *text)
{
    tinkc_error *error = NULL;
    tinkc_code got = get(f, path, &error);
    const char *message = tinkc_error_message(error);
    if (got != code || strstr(message, text) == NULL) {
        fail_msg("%d: \"%s\", not %d: \"%s\"", (int)got, message, (int)code, text);
    }
    tinkc_error_free(&error);
    assert_int_equal(entries(f->folder), 0);
}

/* ---- files ---- */

/* M-131: every file, in order, and what is said about it. */
static void test_external_files(void **unused)
{
    fix f;
    tinkc_progress result;
    start(&f);
    assert_int_equal(tinkc_download_checkpoint(&result, f.service, EXTERNAL, f.target,
                                               &f.options, NULL),
                     TINKC_OK);
    assert_int_equal(result.files, 2);
    assert_int_equal(result.received, strlen(CONFIG MODEL));
    assert_int_equal(result.written, strlen(CONFIG MODEL));
    assert_null(result.file);
    assert_int_equal(fakeapi_count(f.api, "GET", URLS), 1);
    assert_int_equal(fakeapi_count(f.api, "POST", "/api/v1/load_weights"), 0);
    expect_whole(&f);
    /* An existing target is replaced only when asked. */
    assert_int_equal(get(&f, EXTERNAL, NULL), TINKC_E_STATE);
    f.options.overwrite = true;
    assert_int_equal(get(&f, EXTERNAL, NULL), TINKC_OK);
    expect_whole(&f);
    end(&f);
}

/* M-131: links that a storage does not take any more are asked for again, whatever their
 * end was said to be. */
static void test_external_expired_links(void **unused)
{
    static const int statuses[] = {403, 410};
    for (size_t i = 0; i < TK_ARRAY_LEN(statuses); i++) {
        fix f;
        start(&f);
        fakeapi_reply(f.api, "GET", URLS, &fakeapi_json(two_files(&f, "old", LATER)));
        fakeapi_default(f.api, "GET", "/old/*",
                        &(fakeapi_step){.status = statuses[i], .body = "<Error/>"});
        assert_int_equal(get(&f, EXTERNAL, NULL), TINKC_OK);
        assert_int_equal(fakeapi_count(f.api, "GET", URLS), 2);
        assert_int_equal(fakeapi_count(f.api, "GET", "/old/*"), 1);
        expect_whole(&f);
        end(&f);
    }
}

/* M-131: links that end within minutes are renewed before each file, and those of a
 * server whose clock is wrong are used. */
static void test_external_links_that_end_soon(void **unused)
{
    fix f;
    start(&f);
    fakeapi_default(f.api, "GET", URLS,
                    &fakeapi_json(two_files(&f, "files", "2001-01-01T00:00:00Z")));
    assert_int_equal(get(&f, EXTERNAL, NULL), TINKC_OK);
    assert_int_equal(fakeapi_count(f.api, "GET", URLS), 3);
    expect_whole(&f);
    end(&f);
}

/* M-131: a transfer that is cut off goes on; one that always is fails, and leaves
 * nothing. */
static void test_external_truncated_files(void **unused)
{
    fix f;
    start(&f);
    fakeapi_reply(f.api, "GET", "/files/model",
                  &(fakeapi_step){.body = MODEL, .fault = FAKEAPI_CUT_BODY, .cut = 5});
    assert_int_equal(get(&f, EXTERNAL, NULL), TINKC_OK);
    assert_string_equal(
        fakeapi_header(fakeapi_nth(f.api, "GET", "/files/model", 1), "Range"),
        "bytes=5-");
    expect_whole(&f);
    end(&f);
    start(&f);
    f.options.max_retries = 2;
    fakeapi_default(f.api, "GET", "/files/model",
                    &(fakeapi_step){.body = MODEL, .fault = FAKEAPI_CUT_BODY, .cut = 5});
    refused(&f, EXTERNAL, TINKC_E_CONNECTION, "");
    end(&f);
}

/* M-131: sizes that contradict each other. */
static void test_external_wrong_sizes(void **unused)
{
    fix f;
    start(&f);
    fakeapi_reply(f.api, "GET", "/files/model",
                  &(fakeapi_step){.body = MODEL, .fault = FAKEAPI_CUT_BODY, .cut = 5});
    fakeapi_reply(f.api, "GET", "/files/model", &fakeapi_json(MODEL MODEL));
    refused(&f, EXTERNAL, TINKC_E_CONNECTION, "changed");
    fakeapi_reply(
        f.api, "GET", "/files/model",
        &(fakeapi_step){.body = MODEL,
                        .headers = "x-amz-checksum-sha256: "
                                   "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n"});
    refused(&f, EXTERNAL, TINKC_E_DECODE, "checksum");
    f.options.max_bytes = 20;
    refused(&f, EXTERNAL, TINKC_E_LIMIT, "too large");
    f.options.max_bytes = 0;
    f.options.max_files = 1;
    refused(&f, EXTERNAL, TINKC_E_LIMIT, "too many");
    end(&f);
}

/* M-131: a name leads nowhere but below the target. */
static void test_external_hostile_names(void **unused)
{
    static const char *const names[] = {
        "..",
        "../x",
        "/etc/x",
        "a/../../x",
        "a//b",
        "",
        ".",
        "./x",
        "a/.",
        "a/",
        "a\\\\b",
        "a\\nb",
        "a\\u007f",
        "a/..",
        "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25/26/27/28/29/"
        "30/31/32/33/34/35/36/37/38/39/40/41/42/43/44/45/46/47/48/49/50/51/52/53/54/55/"
        "56/57/58/59/60/61/62/63/64/65/66/67/68/69/70"};
    fix f;
    char answer[1024];
    start(&f);
    f.options.overwrite = true;
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        (void)snprintf(answer, sizeof(answer),
                       "{\"urls\":{\"good\":\"%s/files/config\","
                       "\"%s\":\"%s/files/config\"},\"expires\":\"" LATER "\"}",
                       fakeapi_url(f.api), names[i], fakeapi_url(f.api));
        fakeapi_default(f.api, "GET", URLS, &fakeapi_json(answer));
        tinkc_error *error = NULL;
        tinkc_code code = get(&f, EXTERNAL, &error);
        if (code != TINKC_E_DECODE) {
            fail_msg("%s: %d %s", names[i], (int)code, tinkc_error_message(error));
        }
        tinkc_error_free(&error);
        assert_int_equal(entries(f.folder), 0);
    }
    assert_int_equal(fakeapi_count(f.api, "GET", "/files/*"), 0); /* nothing was begun */
    end(&f);
}

/* M-131: two names that are one, a name that is a file and a directory, and no names at all. */
static void test_external_names_that_collide(void **unused)
{
    static const char *const names[][2] = {{"a", "a\\u0000b"}, {"a", "a/b"}};
    fix f;
    char answer[512];
    start(&f);
    f.options.overwrite = true;
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        (void)snprintf(answer, sizeof(answer),
                       "{\"urls\":{\"%s\":\"%s/files/config\",\"%s\":\"%s/files/model\"},"
                       "\"expires\":\"" LATER "\"}",
                       names[i][0], fakeapi_url(f.api), names[i][1], fakeapi_url(f.api));
        fakeapi_default(f.api, "GET", URLS, &fakeapi_json(answer));
        refused(&f, EXTERNAL, TINKC_E_DECODE, "a");
    }
    fakeapi_default(f.api, "GET", URLS,
                    &fakeapi_json("{\"urls\":{},\"expires\":\"" LATER "\"}"));
    refused(&f, EXTERNAL, TINKC_E_DECODE, "no files");
    end(&f);
}

/* M-131: what is not a URL of http fails, and so does a file that is not there. */
static void test_external_hostile_links(void **unused)
{
    static const char *const urls[] = {
        "file:///etc/passwd", "ftp://127.0.0.1/x",   "", "http://",
        "http://a b/",        "tinker://r/weights/1"};
    fix f;
    char answer[512];
    start(&f);
    for (size_t i = 0; i < TK_ARRAY_LEN(urls); i++) {
        (void)snprintf(answer, sizeof(answer),
                       "{\"urls\":{\"x\":\"%s\"},\"expires\":\"" LATER "\"}", urls[i]);
        fakeapi_default(f.api, "GET", URLS, &fakeapi_json(answer));
        tinkc_error *error = NULL;
        if (get(&f, EXTERNAL, &error) == TINKC_OK) {
            fail_msg("%s was downloaded", urls[i]);
        }
        tinkc_error_free(&error);
        assert_int_equal(entries(f.folder), 0);
    }
    fakeapi_default(f.api, "GET", URLS, &fakeapi_json(two_files(&f, "gone", LATER)));
    size_t before = fakeapi_count(f.api, "GET", URLS);
    refused(&f, EXTERNAL, TINKC_E_NOT_FOUND, "");
    assert_int_equal(fakeapi_count(f.api, "GET", URLS) - before,
                     4); /* three times more */
    end(&f);
}

/* A checkpoint that the server does not have, and a server of the level 0.25. */
static void test_external_missing(void **unused)
{
    fix f;
    start(&f);
    fakeapi_default(f.api, "GET", URLS, &fakeapi_detail(404, "Checkpoint not found"));
    refused(&f, EXTERNAL, TINKC_E_NOT_FOUND, "Checkpoint not found");
    assert_int_equal(fakeapi_count(f.api, "POST", "/api/v1/*load*"), 0);
    end(&f);
}

/* M-131: a redirect of the storage is followed, without a key. */
static void test_external_redirects(void **unused)
{
    fix f;
    char location[160];
    start(&f);
    (void)snprintf(location, sizeof(location), "Location: %s/files/config?again\r\n",
                   fakeapi_url(f.api));
    fakeapi_reply(f.api, "GET", "/files/config",
                  &(fakeapi_step){.status = 307, .headers = location});
    assert_int_equal(get(&f, EXTERNAL, NULL), TINKC_OK);
    assert_int_equal(fakeapi_count(f.api, "GET", "/files/config"), 2);
    expect_whole(&f);
    end(&f);
}

/* A checksum is that of an archive: there is none of several files. */
static void test_external_with_a_checksum(void **unused)
{
    fix f;
    start(&f);
    f.options.sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    refused(&f, EXTERNAL, TINKC_E_INVALID, "sha256");
    fakeapi_default(f.api, "GET", ARCHIVE, &fakeapi_detail(410, "gone for good"));
    refused(&f, TRAINED, TINKC_E_GONE, "gone for good");
    assert_int_equal(fakeapi_count(f.api, "POST", "/api/v1/load_weights"), 0);
    end(&f);
}

/* ---- exports ---- */

/* M-131: a server without archives exports a training checkpoint; the export is deleted
 * and the model unloaded. */
static void test_external_exports(void **unused)
{
    static const int statuses[] = {404, 400, 410};
    for (size_t i = 0; i < TK_ARRAY_LEN(statuses); i++) {
        fix f;
        start(&f);
        save(&f, statuses[i]);
        tinkc_error *error = NULL;
        tinkc_code code = get(&f, TRAINED, &error);
        if (code != TINKC_OK) {
            fail_msg("%d: %s", statuses[i], tinkc_error_message(error));
        }
        expect_whole(&f);
        assert_int_equal(fakeapi_count(f.api, "GET", ARCHIVE), 1);
        const fakeapi_request *save =
            fakeapi_nth(f.api, "POST", "/api/v1/save_weights_external", 0);
        assert_non_null(strstr(save->body, "\"ttl_seconds\":3600"));
        assert_int_equal(fakeapi_count(f.api, "DELETE", EXPORTED), 1);
        assert_int_equal(fakeapi_count(f.api, "POST", "/api/v1/unload_model"), 1);
        end(&f);
    }
}

/* M-131: an archive is used where there is one; a key that is not accepted, a busy server
 * and sampler weights are not a reason for an export. */
static void test_external_is_not_exported(void **unused)
{
    fix f;
    start(&f);
    f.options.max_retries = 0;
    fakeapi_default(f.api, "GET", ARCHIVE, &fakeapi_detail(401, "Invalid API key"));
    refused(&f, TRAINED, TINKC_E_AUTH, "Invalid API key");
    fakeapi_default(f.api, "GET", RUN "sampler_weights/1/archive",
                    &fakeapi_detail(404, "no archives"));
    refused(&f, "tinker://r/sampler_weights/1", TINKC_E_NOT_FOUND, "no archives");
    /* An archive that is there and cannot be fetched. */
    char location[160];
    (void)snprintf(location, sizeof(location), "Location: %s/nothing\r\n",
                   fakeapi_url(f.api));
    fakeapi_default(f.api, "GET", ARCHIVE,
                    &(fakeapi_step){.status = 302, .headers = location});
    refused(&f, TRAINED, TINKC_E_NOT_FOUND, "");
    assert_int_equal(fakeapi_count(f.api, "POST", "/api/v1/create_model"), 0);
    assert_int_equal(fakeapi_count(f.api, "POST", "/api/v1/load_weights"), 0);
    end(&f);
}

/* M-131: a checkpoint that is missing, or a server of the level 0.25: what the server
 * answered about the archive is the error. */
static void test_external_export_of_nothing(void **unused)
{
    fix f;
    start(&f);
    save(&f, 404);
    fakeapi_default(f.api, "POST", "/api/v1/weights_info",
                    &fakeapi_detail(404, "Not Found"));
    refused(&f, TRAINED, TINKC_E_NOT_FOUND, "no archives");
    fakeapi_default(f.api, "POST", "/api/v1/weights_info",
                    &fakeapi_json("{\"base_model\":\"m\",\"is_lora\":true,"
                                  "\"lora_rank\":4}"));
    fakeapi_default(f.api, "POST", "/api/v1/save_weights_external",
                    &fakeapi_detail(404, "Not Found"));
    refused(&f, TRAINED, TINKC_E_NOT_FOUND, "no archives");
    assert_int_equal(fakeapi_count(f.api, "POST", "/api/v1/unload_model"), 1);
    end(&f);
}

/* M-131: an export that fails later is deleted, too; and while it is fetched its time to
 * live is renewed with its links. */
static void test_external_export_is_deleted(void **unused)
{
    fix f;
    start(&f);
    save(&f, 410);
    fakeapi_default(f.api, "PUT", EXPORTED "/ttl", &fakeapi_json("{}"));
    fakeapi_default(f.api, "GET", URLS, &fakeapi_json(two_files(&f, "gone", LATER)));
    refused(&f, TRAINED, TINKC_E_NOT_FOUND, "");
    assert_int_equal(fakeapi_count(f.api, "DELETE", EXPORTED), 1);
    assert_int_equal(fakeapi_count(f.api, "POST", "/api/v1/unload_model"), 1);
    assert_int_equal(fakeapi_count(f.api, "PUT", EXPORTED "/ttl"), 3);
    assert_non_null(strstr(fakeapi_nth(f.api, "PUT", EXPORTED "/ttl", 0)->body, "3600"));
    end(&f);
}

static bool stop(const tinkc_progress *progress, void *user)
{
    return fakeapi_count(user, "POST", "/api/v1/*") < 4;
}

/* M-131: a progress function ends an export. */
static void test_external_export_is_cancelled(void **unused)
{
    fix f;
    start(&f);
    save(&f, 410);
    fakeapi_tinker_hold(f.api, true);
    f.options.fn = stop;
    f.options.user = f.api;
    refused(&f, TRAINED, TINKC_E_CANCELLED, "");
    end(&f);
}

/* ---- memory ---- */

static char external[] = EXTERNAL, trained[] = TRAINED;

static bool sweep_once(void *path)
{
    fix f;
    begin(&f);
    save(&f, 410);
    tinkc_config *config = NULL;
    bool ok =
        tinkc_config_new(&config, NULL) == TINKC_OK &&
        tinkc_config_set(config, "base_url", fakeapi_url(f.api), NULL) == TINKC_OK &&
        tinkc_config_set(config, "heartbeat", "none", NULL) == TINKC_OK &&
        tinkc_config_set(config, "finish_session", "false", NULL) == TINKC_OK &&
        tinkc_service_open(&f.service, config, NULL) == TINKC_OK &&
        get(&f, path, NULL) == TINKC_OK;
    tinkc_config_free(&config);
    assert_int_equal(entries(f.folder), ok ? 1 : 0);
    if (ok) {
        expect_whole(&f);
        ok = path == external ||
             !failmem_fired(); /* an export may stay until it expires */
    }
    end(&f);
    return ok;
}

static void test_external_allocation_sweep(void **unused)
{
    assert_true(failmem_sweep(sweep_once, external, 7) > 50);
    assert_true(failmem_sweep(sweep_once, trained, 23) > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_external_files),
        cmocka_unit_test(test_external_expired_links),
        cmocka_unit_test(test_external_links_that_end_soon),
        cmocka_unit_test(test_external_truncated_files),
        cmocka_unit_test(test_external_wrong_sizes),
        cmocka_unit_test(test_external_hostile_names),
        cmocka_unit_test(test_external_names_that_collide),
        cmocka_unit_test(test_external_hostile_links),
        cmocka_unit_test(test_external_missing),
        cmocka_unit_test(test_external_redirects),
        cmocka_unit_test(test_external_with_a_checksum),
        cmocka_unit_test(test_external_exports),
        cmocka_unit_test(test_external_is_not_exported),
        cmocka_unit_test(test_external_export_of_nothing),
        cmocka_unit_test(test_external_export_is_deleted),
        cmocka_unit_test(test_external_export_is_cancelled),
        cmocka_unit_test(test_external_allocation_sweep),
    };
    return cmocka_run_group_tests_name("download_external", tests, NULL, NULL);
}
