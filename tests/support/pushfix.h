/* A checkpoint on a scripted server, a scripted hub and a scripted storage beside it:
 * what tests of pushing start with. The hub answers with defaults that a test may
 * change. */
#ifndef SUPPORT_PUSHFIX_H
#define SUPPORT_PUSHFIX_H

#include <tinkc/push.h>

#include "base/arena.h"
#include "base/json.h"
#include "support/downloadfix.h"

#define PUSHFIX_TOKEN  "hf_abcdefSECRETghijkl"
#define PUSHFIX_REPO   "me/tinker-Base-1B-r"
#define PUSHFIX_BRANCH "weights-1"
#define PUSHFIX_BATCH  "/*.git/info/lfs/objects/batch"
#define PUSHFIX_SORT   "/api/models/*/preupload/*"
#define PUSHFIX_COMMIT "/api/models/*/commit/*"
#define PUSHFIX_README "/*/resolve/*/README.md"
#define PUSHFIX_NOTES  "some notes\n"

typedef struct pushfix {
    downloadfix down; /* the server, the service, and a directory of this test */
    fakeapi *hub, *store;
    tinkc_push_options options;
    char *weights;
    char sha[TK_SHA256_HEX_BYTES];
    char temp[96];
    char text[4096];
} pushfix;

/* Every step of a push, the commit last. */
static const struct {
    const char *method, *path;
    bool of_store;
} pushfix_steps[] = {
    {"GET", "/api/whoami-v2", false},
    {"POST", "/api/repos/create", false},
    {"GET", PUSHFIX_README, false},
    {"POST", "/api/models/*/branch/*", false},
    {"POST", PUSHFIX_SORT, false},
    {"POST", PUSHFIX_BATCH, false},
    {"PUT", "/put", true},
    {"POST", "/verify", false},
    {"POST", PUSHFIX_COMMIT, false},
};

/* Whatever the environment of the tests says. */
static inline void pushfix_go_online(void)
{
    static const char *const names[] = {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"};
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        (void)unsetenv(names[i]);
    }
}

/* ---- what the hub says ---- */

static inline void pushfix_say(pushfix *f, const char *method, const char *path,
                               const char *body)
{
    fakeapi_default(f->hub, method, path, &(fakeapi_step){.body = body});
}

/* The weights are large, the rest is not. */
static inline void pushfix_sorts(pushfix *f)
{
    pushfix_say(
        f, "POST", PUSHFIX_SORT,
        "{\"files\":["
        "{\"path\":\"README.md\",\"uploadMode\":\"regular\",\"shouldIgnore\":false},"
        "{\"path\":\"adapter_config.json\",\"uploadMode\":\"regular\",\"oid\":null},"
        "{\"path\":\"adapter_model.safetensors\",\"uploadMode\":\"lfs\"},"
        "{\"path\":\"checkpoint_complete\",\"uploadMode\":\"lfs\"},"
        "{\"path\":\"sub/notes.txt\",\"uploadMode\":\"regular\"}]}");
}

/* The batch answer with these actions (or ""), which is a format for the two URLs. */
static inline void pushfix_batch(pushfix *f, const char *more)
{
    (void)snprintf(
        f->text, sizeof(f->text),
        "{\"transfer\":\"basic\",\"objects\":[{\"oid\":\"%s\",\"size\":%zu%s}]}", f->sha,
        WEIGHTS, more);
    pushfix_say(f, "POST", PUSHFIX_BATCH, f->text);
}

static inline void pushfix_basic(pushfix *f)
{
    char more[1024];
    (void)snprintf(more, sizeof(more),
                   ",\"actions\":{\"upload\":{\"href\":\"%s/put?sig=1\",\"header\":"
                   "{\"X-Store\":\"s1\"}},\"verify\":{\"href\":\"%s/verify\"}}",
                   fakeapi_url(f->store), fakeapi_url(f->hub));
    pushfix_batch(f, more);
}

static inline void pushfix_hub(pushfix *f)
{
    f->hub = fakeapi_start();
    f->store = fakeapi_start();
    pushfix_say(f, "GET", "/api/whoami-v2", "{\"type\":\"user\",\"name\":\"me\"}");
    pushfix_say(f, "POST", "/api/repos/create", "{\"url\":\"https://hub/me/x\"}");
    pushfix_say(f, "POST", "/api/models/*/branch/*", "{}");
    pushfix_sorts(f);
    pushfix_basic(f);
    pushfix_say(f, "POST", "/verify", "{}");
    pushfix_say(
        f, "POST", PUSHFIX_COMMIT,
        "{\"success\":true,\"commitUrl\":\"https://hub/c/1\",\"commitOid\":\"c1\","
        "\"pullRequestUrl\":\"https://hub/pr/7\"}");
    fakeapi_default(f->store, "PUT", "/put", &(fakeapi_step){.body = ""});
}

/* ---- life ---- */

/* Members as they are, the weights in the place of data that is NULL. */
static inline downloadfix_blob pushfix_archive(const downloadfix_member *members,
                                               size_t n, const char *weights)
{
    downloadfix_blob blob;
    struct archive *archive = downloadfix_tar(&blob, ARCHIVE_FILTER_NONE);
    for (size_t i = 0; i < n; i++) {
        downloadfix_member one = members[i];
        one.data = one.data == NULL && one.n > 0 ? weights : one.data;
        downloadfix_add(archive, &one);
    }
    downloadfix_tar_end(archive);
    return blob;
}

static inline void pushfix_begin_with(pushfix *f, const downloadfix_member *members,
                                      size_t n, const char *const *options)
{
    *f = (pushfix){.options = TINKC_PUSH_OPTIONS_INIT};
    f->weights = downloadfix_noise(WEIGHTS);
    assert_int_equal(tk_sha256_hex(f->sha, f->weights, WEIGHTS, NULL), TINKC_OK);
    downloadfix_open(&f->down, pushfix_archive(members, n, f->weights), options);
    fakeapi_default(f->down.api, "POST", "/api/v1/weights_info",
                    &fakeapi_json("{\"base_model\":\"org/Base-1B\",\"is_lora\":true,"
                                  "\"lora_rank\":16,\"train_mlp\":true,"
                                  "\"train_attn\":false}"));
    (void)snprintf(f->temp, sizeof(f->temp), "%s/temp", f->down.folder);
    assert_int_equal(mkdir(f->temp, 0700), 0);
    pushfix_hub(f);
    f->options.hub_url = fakeapi_url(f->hub);
    f->options.hub_token = PUSHFIX_TOKEN;
    f->options.temp_dir = f->temp;
    f->options.max_retries = 0;
}

static inline void pushfix_begin(pushfix *f)
{
    static const downloadfix_member members[] = {
        {"adapter_config.json", 0, NULL, 9, "{\"r\": 32}"},
        {"adapter_model.safetensors", 0, NULL, WEIGHTS, NULL},
        {"sub/notes.txt", 0, NULL, sizeof(PUSHFIX_NOTES) - 1, PUSHFIX_NOTES},
        {"checkpoint_complete", 0, NULL, 0, NULL},
    };
    pushfix_begin_with(f, members, TK_ARRAY_LEN(members), NULL);
}

static inline void pushfix_end(pushfix *f)
{
    downloadfix_close(&f->down);
    fakeapi_stop(&f->hub);
    fakeapi_stop(&f->store);
    free(f->weights);
}

/* ---- pushing ---- */

/* The token is in no request to the storage or the server; nothing is left here. */
static inline void pushfix_is_clean(pushfix *f)
{
    fakeapi *const others[] = {f->store, f->down.api};
    for (size_t i = 0; i < TK_ARRAY_LEN(others); i++) {
        for (size_t n = 0; n < fakeapi_total(others[i]); n++) {
            const fakeapi_request *r = fakeapi_request_at(others[i], n);
            assert_null(fakeapi_header(r, "authorization"));
            for (size_t h = 0; h < r->headers_n; h++) {
                assert_null(strstr(r->headers[h].value, "SECRET"));
            }
        }
    }
    for (size_t n = 0; n < fakeapi_total(f->hub); n++) {
        const fakeapi_request *r = fakeapi_request_at(f->hub, n);
        assert_null(fakeapi_header(r, "x-api-key"));
        assert_null(strstr(r->target, "SECRET"));
    }
    assert_int_equal(downloadfix_entries(f->temp), 0);
}

static inline tinkc_pushed *pushfix_push(pushfix *f)
{
    tinkc_pushed *pushed = NULL;
    tinkc_error *error = NULL;
    if (tinkc_push_checkpoint(&pushed, f->down.service, PATH, &f->options, &error) !=
        TINKC_OK) {
        fail_msg("%s", tinkc_error_message(error));
    }
    pushfix_is_clean(f);
    return pushed;
}

/* It fails so, with this in its text; the token is not there. */
static inline void pushfix_refused(pushfix *f, tinkc_code code, const char *text)
{
    tinkc_pushed *pushed = NULL;
    tinkc_error *error = NULL;
    tinkc_code got =
        tinkc_push_checkpoint(&pushed, f->down.service, PATH, &f->options, &error);
    if (got != code || strstr(tinkc_error_message(error), text) == NULL) {
        fail_msg("%s: \"%s\" lacks \"%s\"", tinkc_code_name(got),
                 tinkc_error_message(error), text);
    }
    assert_null(pushed);
    assert_null(strstr(tinkc_error_message(error), "SECRET"));
    tinkc_error_free(&error);
    pushfix_is_clean(f);
}

/* ---- what came ---- */

/* One line of the commit; `nth` counts from 0. The arena is the caller's. */
static inline const tk_json *pushfix_line(pushfix *f, tk_arena *arena, size_t nth)
{
    const fakeapi_request *r = fakeapi_nth(f->hub, "POST", PUSHFIX_COMMIT, 0);
    const tk_json *json = NULL;
    assert_non_null(r);
    assert_string_equal(fakeapi_header(r, "content-type"), "application/x-ndjson");
    tk_str rest = {r->body, r->body_n};
    tk_str line = tk_str_cut(&rest, '\n');
    for (; nth > 0; nth--) {
        line = tk_str_cut(&rest, '\n');
    }
    if (line.n == 0) {
        return NULL;
    }
    assert_int_equal(tk_json_parse(&json, arena, line.p, line.n, NULL, NULL), TINKC_OK);
    return json;
}

static inline const char *pushfix_text(const tk_json *object, const char *key)
{
    const tk_json *value = tk_json_get(object, key);
    assert_non_null(value);
    assert_int_equal(value->type, TK_JSON_STRING);
    return value->as.string.p;
}

/* Line `nth` brings this small file with this content. */
static inline void pushfix_brings(pushfix *f, size_t nth, const char *name,
                                  const char *content)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_json *line = pushfix_line(f, &arena, nth);
    assert_non_null(line);
    assert_string_equal(pushfix_text(line, "key"), "file");
    const tk_json *value = tk_json_get(line, "value");
    assert_string_equal(pushfix_text(value, "path"), name);
    assert_string_equal(pushfix_text(value, "encoding"), "base64");
    tk_str text = tk_str_of(pushfix_text(value, "content"));
    char *bytes = calloc(1, tk_base64_decoded_size(text) + 1);
    assert_non_null(bytes);
    assert_int_equal(tk_base64_decode(bytes, text, NULL), TINKC_OK);
    assert_string_equal(bytes, content);
    free(bytes);
    tk_arena_dispose(&arena);
}

#endif
