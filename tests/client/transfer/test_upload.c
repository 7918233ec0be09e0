/* Uploads of adapters to the scripted peer: the requests, hostile answers, files that are
 * not an adapter.
 * Links: peer */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tinkc/upload.h>

#include "base/limits.h"
#include "support/servicefix.h"

#define START  "/api/v1/external_weights_upload_start"
#define FINISH "/api/v1/external_weights_upload_finish"
#define CONFIG "adapter_config.json"
#define MODEL  "adapter_model.safetensors"
#define HEADER                                                                           \
    "{\"base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight\":"               \
    "{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"
#define PATH "tinker://u:train:0/external_weights/uploaded"

typedef struct fix {
    fakeapi *api;
    tinkc_service *service;
    char folder[64];
    char *path; /* the result */
} fix;

static void write_file(const fix *f, const char *name, const void *p, size_t n)
{
    char path[160];
    (void)snprintf(path, sizeof(path), "%s/%s", f->folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(p, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

/* A file of weights with this header, whose length is said to be `n`. */
static void write_weights(const fix *f, const char *header, uint64_t n)
{
    char text[1024];
    for (size_t i = 0; i < 8; i++) {
        text[i] = (char)(n >> (8 * i));
    }
    size_t end = 8 + (size_t)snprintf(text + 8, sizeof(text) - 8, "%sDATA", header);
    write_file(f, MODEL, text, end);
}

static void begin(fix *f)
{
    char answer[512];
    *f = (fix){0};
    (void)snprintf(f->folder, sizeof(f->folder), "/tmp/tinkc-upload-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    const char *config = "{\"r\":4,\"base_model_name_or_path\":\"m\"}";
    write_file(f, CONFIG, config, strlen(config));
    write_weights(f, HEADER, strlen(HEADER));
    f->api = fakeapi_start();
    fakeapi_default(f->api, "POST", "/api/v1/client/*", &fakeapi_json("{}"));
    (void)snprintf(answer, sizeof(answer),
                   "{\"upload_id\":\"u\",\"urls\":{\"" MODEL "\":\"%s/put/model?s=1\","
                   "\"" CONFIG
                   "\":\"%s/put/config\"},\"expires\":\"2124-01-01T00:00:00Z\"}",
                   fakeapi_url(f->api), fakeapi_url(f->api));
    fakeapi_default(f->api, "POST", START, &fakeapi_json(answer));
    fakeapi_default(f->api, "PUT", "/put/*", &fakeapi_json(""));
    fakeapi_default(f->api, "POST", FINISH,
                    &fakeapi_json("{\"tinker_path\":\"" PATH "\"}"));
}

static void start(fix *f)
{
    begin(f);
    f->service = servicefix_open(f->api, SERVICEFIX_QUIET);
}

static void end(fix *f)
{
    char command[128];
    tinkc_text_free(&f->path);
    tinkc_service_close(&f->service);
    fakeapi_stop(&f->api);
    (void)snprintf(command, sizeof(command), "rm -rf %s", f->folder);
    assert_int_equal(system(command), 0);
}

static tinkc_code upload(fix *f, const tinkc_upload_options *options, tinkc_error **error)
{
    tinkc_text_free(&f->path);
    return tinkc_upload_adapter(&f->path, f->service, f->folder, options, error);
}

/* It fails so, with this in its text. */
static void refused(fix *f, tinkc_code code, const char *text)
{
    tinkc_error *error = NULL;
    tinkc_code got = upload(f, NULL, &error);
    const char *message = tinkc_error_message(error);
    if (got != code || strstr(message, text) == NULL) {
        fail_msg("%d: \"%s\", not %d: \"%s\"", (int)got, message, (int)code, text);
    }
    assert_null(f->path);
    tinkc_error_free(&error);
}

/* ---- requests ---- */

/* The requests that the documentation of 0.39 states; links get no key. */
static void test_upload_requests(void **unused)
{
    fix f;
    start(&f);
    assert_int_equal(upload(&f, NULL, NULL), TINKC_OK);
    assert_string_equal(f.path, PATH);
    assert_string_equal(fakeapi_nth(f.api, "POST", START, 0)->body,
                        "{\"base_model\":\"m\",\"lora_config\":{\"rank\":4,"
                        "\"train_unembed\":false,\"train_mlp\":false,"
                        "\"train_attn\":true}}");
    const fakeapi_request *put = fakeapi_nth(f.api, "PUT", "/put/model", 0);
    assert_string_equal(put->query, "s=1");
    assert_int_equal(put->body_n, 8 + strlen(HEADER "DATA"));
    assert_memory_equal(put->body + 8, HEADER "DATA", strlen(HEADER "DATA"));
    assert_null(fakeapi_header(put, "X-API-Key"));
    assert_null(fakeapi_header(put, "X-SDK-Version"));
    assert_string_equal(fakeapi_nth(f.api, "PUT", "/put/config", 0)->body,
                        "{\"r\":4,\"base_model_name_or_path\":\"m\"}");
    assert_string_equal(fakeapi_nth(f.api, "POST", FINISH, 0)->body,
                        "{\"upload_id\":\"u\"}");
    assert_non_null(fakeapi_header(fakeapi_nth(f.api, "POST", FINISH, 0), "X-API-Key"));
    /* Options win over the file, and the project of the configuration. */
    tinkc_upload_options options = TINKC_UPLOAD_OPTIONS_INIT;
    options.base_model = "other";
    options.project_id = "p";
    assert_int_equal(upload(&f, &options, NULL), TINKC_OK);
    const char *body = fakeapi_nth(f.api, "POST", START, 1)->body;
    assert_non_null(strstr(body, "\"base_model\":\"other\""));
    assert_non_null(strstr(body, "\"destination_project_id\":\"p\""));
    end(&f);
}

/* Which parts are trained is seen from the names of the tensors. */
static void test_upload_parts(void **unused)
{
    static const struct {
        const char *name, *expected;
    } rows[] = {
        {"x.mlp.up_proj.lora_A.weight",
         "\"train_unembed\":false,\"train_mlp\":true,\"train_attn\":false"},
        {"x.lm_head.lora_A.weight",
         "\"train_unembed\":true,\"train_mlp\":false,\"train_attn\":false"},
        {"x.unembed_tokens.lora_B.weight",
         "\"train_unembed\":true,\"train_mlp\":false,\"train_attn\":false"},
    };
    fix f;
    char header[256];
    start(&f);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        (void)snprintf(header, sizeof(header), "{\"%s\":{}}", rows[i].name);
        write_weights(&f, header, strlen(header));
        assert_int_equal(upload(&f, NULL, NULL), TINKC_OK);
        const char *body = fakeapi_nth(f.api, "POST", START, i)->body;
        if (strstr(body, rows[i].expected) == NULL) {
            fail_msg("%s: %s", rows[i].name, body);
        }
    }
    end(&f);
}

/* A PUT that meets a busy storage or a lost connection is sent again, whole. */
static void test_upload_is_sent_again(void **unused)
{
    fix f;
    start(&f);
    fakeapi_reply(f.api, "PUT", "/put/model", &(fakeapi_step){.fault = FAKEAPI_RESET});
    fakeapi_default(f.api, "PUT", "/put/model", &fakeapi_json(""));
    assert_int_equal(upload(&f, NULL, NULL), TINKC_OK);
    assert_int_equal(fakeapi_count(f.api, "PUT", "/put/model"), 2);
    assert_int_equal(fakeapi_nth(f.api, "PUT", "/put/model", 1)->body_n,
                     8 + strlen(HEADER "DATA"));
    end(&f);
}

/* ---- servers ---- */

/* What a server can answer: nothing is finished that was not sent. */
static void test_upload_hostile_answers(void **unused)
{
    static const struct {
        const char *urls;
        tinkc_code code;
        const char *text;
    } rows[] = {
        {"{}", TINKC_E_DECODE, "links"},
        {"{\"" CONFIG "\":\"%s/put/config\"}", TINKC_E_DECODE, "links"},
        {"{\"" CONFIG "\":\"%s/put/config\",\"" MODEL "\":\"%s/put/m\",\"/etc/passwd\":"
         "\"%s/put/secrets\"}",
         TINKC_E_UNSUPPORTED, "/etc/passwd"},
        {"{\"" CONFIG "\":\"file:///etc/x\",\"" MODEL "\":\"%s/put/m\"}", TINKC_E_INVALID,
         ""},
        {"{\"" CONFIG "\":\"\",\"" MODEL "\":\"%s/put/m\"}", TINKC_E_INVALID, ""},
    };
    fix f;
    char urls[512], answer[1024];
    start(&f);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        const char *url = fakeapi_url(f.api);
        size_t n = 0;
        for (const char *at = rows[i].urls; *at != '\0'; at++) { /* %s: the peer's URL */
            bool is_url = at[0] == '%' && at[1] == 's';
            n += (size_t)snprintf(urls + n, sizeof(urls) - n, "%.*s",
                                  is_url ? (int)strlen(url) : 1, is_url ? url : at);
            at += is_url;
        }
        (void)snprintf(answer, sizeof(answer),
                       "{\"upload_id\":\"u\",\"urls\":%s,"
                       "\"expires\":\"2124-01-01T00:00:00Z\"}",
                       urls);
        fakeapi_default(f.api, "POST", START, &fakeapi_json(answer));
        refused(&f, rows[i].code, rows[i].text);
    }
    assert_int_equal(fakeapi_count(f.api, "PUT", "/put/secrets"), 0);
    assert_int_equal(fakeapi_count(f.api, "POST", FINISH), 0);
    end(&f);
}

/* A server of the level 0.25, a link that has ended or leads elsewhere, files that are
 * refused, and an answer without a path. */
static void test_upload_failures(void **unused)
{
    fix f;
    start(&f);
    fakeapi_reply(f.api, "POST", START, &fakeapi_detail(404, "Not Found"));
    refused(&f, TINKC_E_NOT_FOUND, "Not Found");
    fakeapi_reply(f.api, "PUT", "/put/model",
                  &(fakeapi_step){.status = 403, .body = "<Error>expired</Error>"});
    refused(&f, TINKC_E_PERMISSION, "");
    fakeapi_reply(f.api, "PUT", "/put/model",
                  &(fakeapi_step){.status = 302, .headers = "Location: /put/other\r\n"});
    refused(&f, TINKC_E_STATUS, "302");
    assert_int_equal(fakeapi_count(f.api, "PUT", "/put/other"), 0);
    assert_int_equal(fakeapi_count(f.api, "POST", FINISH), 0);
    fakeapi_reply(f.api, "POST", FINISH, &fakeapi_detail(400, "rank is 4, not 8"));
    refused(&f, TINKC_E_BAD_REQUEST, "rank is 4, not 8");
    fakeapi_reply(f.api, "POST", FINISH, &fakeapi_json("{}"));
    refused(&f, TINKC_E_DECODE, "tinker_path");
    fakeapi_reply(f.api, "POST", START, &fakeapi_json("[]"));
    refused(&f, TINKC_E_DECODE, "");
    end(&f);
}

/* ---- files ---- */

/* Nothing is sent for files that are not an adapter. */
static void test_upload_hostile_files(void **unused)
{
    static const char *const configs[][2] = {
        {"", "JSON"},
        {"[]", "JSON"},
        {"{\"base_model_name_or_path\":\"m\"}", "rank"},
        {"{\"r\":0,\"base_model_name_or_path\":\"m\"}", "rank"},
        {"{\"r\":\"4\",\"base_model_name_or_path\":\"m\"}", "rank"},
        {"{\"r\":1e30,\"base_model_name_or_path\":\"m\"}", "rank"},
        {"{\"r\":4}", "base model"},
        {"{\"r\":4,\"base_model_name_or_path\":null}", "base model"},
    };
    fix f;
    char path[160];
    start(&f);
    const char *good = "{\"r\":4,\"base_model_name_or_path\":\"m\"}";
    for (size_t i = 0; i < TK_ARRAY_LEN(configs); i++) {
        write_file(&f, CONFIG, configs[i][0], strlen(configs[i][0]));
        refused(&f, TINKC_E_INVALID, configs[i][1]);
    }
    write_file(&f, CONFIG, good, strlen(good));
    write_weights(&f, HEADER, strlen(HEADER) + 5);
    refused(&f, TINKC_E_INVALID, "safetensors");
    write_weights(&f, HEADER, UINT64_MAX);
    refused(&f, TINKC_E_INVALID, "safetensors");
    write_weights(&f, HEADER, 0);
    refused(&f, TINKC_E_INVALID, "safetensors");
    write_weights(&f, HEADER, strlen(HEADER) - 1);
    refused(&f, TINKC_E_INVALID, "safetensors");
    write_weights(&f, "{\"x\":{}}", 8);
    refused(&f, TINKC_E_INVALID, "no tensors of a LoRA");
    write_file(&f, MODEL, "1234567", 7);
    refused(&f, TINKC_E_INVALID, "safetensors");
    (void)snprintf(path, sizeof(path), "%s/" MODEL, f.folder);
    assert_int_equal(remove(path), 0);
    refused(&f, TINKC_E_MISSING, MODEL);
    assert_int_equal(mkfifo(path, 0600), 0);
    refused(&f, TINKC_E_IO, MODEL);
    (void)snprintf(path, sizeof(path), "%s/" CONFIG, f.folder);
    assert_int_equal(remove(path), 0);
    refused(&f, TINKC_E_MISSING, CONFIG);
    assert_int_equal(tinkc_upload_adapter(NULL, f.service, "", NULL, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_upload_adapter(NULL, f.service, NULL, NULL, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_upload_adapter(NULL, NULL, f.folder, NULL, NULL),
                     TINKC_E_STATE);
    assert_int_equal(fakeapi_count(f.api, "POST", "*upload*"), 0);
    end(&f);
}

/* The weights are not held in memory. */
static void test_upload_of_large_files(void **unused)
{
    const size_t n = 24 * TK_MIB;
    fix f;
    char path[160];
    failmem_start();
    start(&f);
    (void)snprintf(path, sizeof(path), "%s/" MODEL, f.folder);
    assert_int_equal(truncate(path, (off_t)n), 0);
    size_t before = failmem_begin_peak();
    assert_int_equal(upload(&f, NULL, NULL), TINKC_OK);
    assert_true(failmem_peak_bytes() - before < 4 * TK_MIB);
    assert_int_equal(fakeapi_nth(f.api, "PUT", "/put/model", 0)->body_n, n);
    end(&f);
    assert_int_equal(failmem_stop(), 0);
}

/* ---- memory ---- */

static bool sweep_once(void *unused)
{
    fix f;
    begin(&f);
    tinkc_config *config = NULL;
    bool ok =
        tinkc_config_new(&config, NULL) == TINKC_OK &&
        tinkc_config_set(config, "base_url", fakeapi_url(f.api), NULL) == TINKC_OK &&
        tinkc_service_open(&f.service, config, NULL) == TINKC_OK &&
        upload(&f, NULL, NULL) == TINKC_OK;
    tinkc_config_free(&config);
    end(&f);
    return ok;
}

static void test_upload_allocation_sweep(void **unused)
{
    assert_true(failmem_sweep(sweep_once, NULL, 7) > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_upload_requests),
        cmocka_unit_test(test_upload_parts),
        cmocka_unit_test(test_upload_is_sent_again),
        cmocka_unit_test(test_upload_hostile_answers),
        cmocka_unit_test(test_upload_failures),
        cmocka_unit_test(test_upload_hostile_files),
        cmocka_unit_test(test_upload_of_large_files),
        cmocka_unit_test(test_upload_allocation_sweep),
    };
    return cmocka_run_group_tests_name("upload", tests, NULL, NULL);
}
