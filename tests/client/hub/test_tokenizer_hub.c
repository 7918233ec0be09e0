/* Tokenizer files from the hub: into the cache whole or not at all, with a token that
 * stays where it belongs, and not when offline.
 * Links: peer text */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <tinkc/raw.h>
#include <tinkc/telemetry.h>

#include "client/core/service.h"
#include "client/hub/tokenizer_lookup.h"
#include "support/failmem.h"
#include "support/hubfix.h"

#define MODEL  "org/m"
#define FILES  "/org/m/resolve/main/"
#define PLACE  "own/hub/models--org--m/main"
#define CONFIG "{\"eos_token\":\"<|b|>\"}"

/* Entries of a directory, also those that begin with a dot; 0 when it is not there. */
static size_t entries(const hubfix *f, const char *path)
{
    char name[256];
    size_t n = 0;
    (void)snprintf(name, sizeof(name), "%s/%s", f->folder, path);
    DIR *folder = opendir(name);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return n;
}

/* M-137: what the hub has is kept, all of it, and then no server is asked. */
static void test_hub_files(void **unused)
{
    hubfix f;
    tinkc_tokenizer *tokenizer = NULL;
    hubfix_begin(&f);
    hubfix_serve(f.hub, FILES "tokenizer.json", f.json.p);
    hubfix_serve(f.hub, FILES "tokenizer_config.json", CONFIG);
    hubfix_serve(f.hub, FILES "chat_template.jinja", "J");
    hubfix_find(&f, MODEL);
    assert_int_equal(entries(&f, PLACE), 3);
    assert_int_equal(entries(&f, "own/hub/models--org--m"), 1); /* nothing half done */
    size_t asked = fakeapi_total(f.hub);
    assert_int_equal(asked, 3);
    for (int i = 0; i < 2; i++) {
        f.options.offline = i == 1;
        tinkc_tokenizer_cache_clear();
        assert_int_equal(
            tinkc_service_get_tokenizer(&tokenizer, f.service, MODEL, &f.options, NULL),
            TINKC_OK);
        assert_string_equal(tinkc_tokenizer_special(tokenizer, "eos_token"), "<|b|>");
        assert_string_equal(tinkc_tokenizer_chat_template(tokenizer, NULL), "J");
        hubfix_works(&tokenizer);
    }
    assert_int_equal(fakeapi_total(f.hub), asked);
    f.options.offline = false;
    f.options.revision = "refs/pr/1"; /* another key in the cache */
    hubfix_lacks(&f, MODEL, TINKC_E_MISSING, "the hub: HTTP 404");
    const fakeapi_request *last = fakeapi_request_at(f.hub, fakeapi_total(f.hub) - 1);
    assert_string_equal(last->target, "/org/m/resolve/refs%2Fpr%2F1/tiktoken.model");
    hubfix_end(&f);
}

/* M-134: no tokenizer.json, but a tiktoken vocabulary, at the revision that is known. */
static void test_hub_kimi(void **unused)
{
    static const char base64[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char *const models[][2] = {
        {"moonshotai/Kimi-K2-Thinking", "612681931a8c906ddb349f8ad0f582cb552189cd"},
        {"moonshotai/Kimi-K2.5", "4d01dfe0332d63057c186e0b262165819efb6611"},
        {"moonshotai/Kimi-K2.6", "b5aabbfb20227ed42becbf5541dbffd213942c58"}};
    hubfix f;
    hubfix_begin(&f);
    tk_buf file;
    tk_buf_init(&file, TK_MIB);
    for (unsigned b = 0; b < 256; b++) {
        tk_buf_printf(&file, "%c%c== %u\n", base64[b >> 2], base64[(b & 3) << 4], b);
    }
    tk_buf_puts(&file, "dGg= 256\ndGhl 257\n");
    for (size_t i = 0; i < TK_ARRAY_LEN(models); i++) {
        char path[256];
        size_t n = 0;
        tinkc_tokenizer *tokenizer = NULL;
        (void)snprintf(path, sizeof(path), "/%s/resolve/%s/tiktoken.model", models[i][0],
                       models[i][1]);
        hubfix_serve(f.hub, path, tk_buf_cstr(&file));
        assert_int_equal(tinkc_service_get_tokenizer(&tokenizer, f.service, models[i][0],
                                                     &f.options, NULL),
                         TINKC_OK);
        assert_int_equal(tinkc_tokenizer_count(&n, tokenizer, "the", 3, NULL, NULL),
                         TINKC_OK);
        assert_int_equal(n, 1);
        tinkc_tokenizer_free(&tokenizer);
    }
    tk_buf_dispose(&file);
    hubfix_end(&f);
}

/* M-137: what another server answers is not reported to the service's telemetry, and does
 * not count as an answer of the service. */
static void test_hub_is_not_reported(void **unused)
{
    hubfix f;
    tinkc_telemetry_counts counts = TINKC_TELEMETRY_COUNTS_INIT;
    tinkc_raw_request request = TINKC_RAW_REQUEST_INIT;
    hubfix_begin(&f);
    tinkc_service_close(&f.service);
    tinkc_config *config = servicefix_config(f.api, NULL);
    assert_int_equal(tinkc_config_set(config, "telemetry", "true", NULL), TINKC_OK);
    assert_int_equal(tinkc_service_open(&f.service, config, NULL), TINKC_OK);
    tinkc_config_free(&config);
    f.options.revision = "main"; /* then the server is not asked for files */
    hubfix_lacks(&f, MODEL, TINKC_E_MISSING, "the hub: HTTP 404");
    request.path = fakeapi_url(f.hub);
    tinkc_future *future = tinkc_raw_send(f.service, &request);
    assert_int_equal(tinkc_future_wait(future, 60000), TINKC_E_NOT_FOUND);
    tinkc_future_free(&future);
    assert_int_equal(tinkc_telemetry_flush(f.service, 60000, NULL), TINKC_OK);
    assert_int_equal(tinkc_telemetry_count(&counts, f.service, NULL), TINKC_OK);
    assert_int_equal(counts.queued + counts.sent + counts.dropped, 0);
    hubfix_end(&f);
}

/* M-137: the token goes to the hub, not where the hub redirects to, not into the log, and
 * nothing of our own service goes along. */
static void test_hub_token(void **unused)
{
    hubfix f;
    char location[128];
    hubfix_begin(&f);
    fakeapi *store = fakeapi_start();
    (void)snprintf(location, sizeof(location), "location: %s/blob\r\n",
                   fakeapi_url(store));
    fakeapi_default(f.hub, "GET", FILES "tokenizer.json",
                    &(fakeapi_step){.status = 302, .headers = location});
    hubfix_serve(store, "/blob", f.json.p);
    f.options.hub_token = HUBFIX_TOKEN;
    hubfix_find(&f, MODEL);
    for (size_t i = 0; i < fakeapi_total(f.hub); i++) {
        const fakeapi_request *request = fakeapi_request_at(f.hub, i);
        assert_string_equal(fakeapi_header(request, "authorization"),
                            "Bearer " HUBFIX_TOKEN);
        assert_null(fakeapi_header(request, "x-api-key"));
    }
    assert_int_equal(fakeapi_total(store), 1);
    assert_null(fakeapi_header(fakeapi_request_at(store, 0), "authorization"));
    assert_null(fakeapi_header(fakeapi_request_at(store, 0), "x-api-key"));
    for (size_t i = 0; i < fakeapi_total(f.api); i++) {
        assert_null(fakeapi_header(fakeapi_request_at(f.api, i), "authorization"));
    }
    assert_null(strstr(f.log, "SECRET"));
    fakeapi_stop(&store);
    hubfix_end(&f);
}

/* A program that renews its token of the hub leaves room for other secrets. */
static void test_hub_many_tokens(void **unused)
{
    hubfix f;
    char token[32];
    hubfix_begin(&f);
    tk_log *log = tk_core_log(tk_service_core(f.service));
    f.options.hub_token = token;
    for (int i = 0; i <= TK_REDACT_SECRETS_MAX; i++) {
        (void)snprintf(token, sizeof(token), "renewed-%d", i);
        hubfix_lacks(&f, MODEL, TINKC_E_MISSING, "the hub: HTTP 404");
    }
    assert_int_equal(tk_log_add_secret(log, TK_STR("one more"), NULL), TINKC_OK);
    hubfix_end(&f);
}

typedef struct variables {
    const char *pairs[9];
} variables;

static const char *from_table(const char *name, void *user)
{
    const variables *v = user;
    for (size_t i = 0; v->pairs[i] != NULL; i += 2) {
        if (strcmp(v->pairs[i], name) == 0) {
            return v->pairs[i + 1];
        }
    }
    return NULL;
}

static tinkc_code search_in(hubfix *f, variables *v, tinkc_error **error)
{
    tk_env env = {from_table, v};
    tk_tok *tok = NULL;
    tk_tokenizer_search search = {.handle = tk_service_handle(f->service),
                                  .has_server = true,
                                  .model = MODEL,
                                  .options = &f->options,
                                  .env = &env};
    tinkc_code code = tk_tokenizer_lookup(&tok, &search, error);
    tk_tok_free(tok);
    return code;
}

/* M-137: where a token comes from, and which one counts. */
static void test_hub_token_sources(void **unused)
{
    hubfix f;
    char file[128];
    hubfix_begin(&f);
    hubfix_put(&f, "home/token", "hf_from_home\n");
    hubfix_put(&f, "other", "  hf_from_path \n");
    char home[128];
    (void)snprintf(home, sizeof(home), "%s/home", f.folder);
    (void)snprintf(file, sizeof(file), "%s/other", f.folder);
    const struct {
        variables v;
        const char *given, *wanted;
    } rows[] = {
        {{{NULL}}, NULL, NULL},
        {{{"HF_HOME", home, NULL}}, NULL, "Bearer hf_from_home"},
        {{{"HF_HOME", home, "HF_TOKEN_PATH", file, NULL}}, NULL, "Bearer hf_from_path"},
        {{{"HF_HOME", home, "HUGGING_FACE_HUB_TOKEN", "hf_old", NULL}},
         NULL,
         "Bearer hf_old"},
        {{{"HF_TOKEN", "hf_new", "HUGGING_FACE_HUB_TOKEN", "hf_old", NULL}},
         NULL,
         "Bearer hf_new"},
        {{{"HF_TOKEN", "hf_new", NULL}}, "hf_given", "Bearer hf_given"},
        {{{"HF_TOKEN", "hf_new", NULL}}, "", NULL},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        variables v = rows[i].v;
        tinkc_error *error = NULL;
        f.options.hub_token = rows[i].given;
        fakeapi_forget(f.hub);
        assert_int_equal(search_in(&f, &v, &error), TINKC_E_MISSING);
        tinkc_error_free(&error);
        const char *found = fakeapi_header(fakeapi_request_at(f.hub, 0), "authorization");
        assert_true((found == NULL) == (rows[i].wanted == NULL));
        if (found != NULL) {
            assert_string_equal(found, rows[i].wanted);
        }
    }
    hubfix_end(&f);
}

/* M-137: a token that no header can hold is an error when the hub is needed, which is not
 * asked without it; what the cache has needs none. */
static void test_hub_bad_token(void **unused)
{
    hubfix f;
    variables bad = {{"HF_TOKEN", "hf_a\r\nX-Evil: 1", NULL}};
    tinkc_error *error = NULL;
    hubfix_begin(&f);
    f.options.hub_token = NULL;
    assert_int_equal(search_in(&f, &bad, &error), TINKC_E_CONFIG);
    assert_null(strstr(tinkc_error_message(error), "Evil"));
    assert_int_equal(fakeapi_total(f.hub), 0);
    tinkc_error_free(&error);
    hubfix_put(&f, PLACE "/tokenizer.json", f.json.p);
    assert_int_equal(search_in(&f, &bad, &error), TINKC_OK);
    hubfix_end(&f);
}

/* A token that the log could not mask is not sent; one that is too short is not a
 * secret. */
static void test_hub_long_token(void **unused)
{
    hubfix f;
    tinkc_error *error = NULL;
    variables none = {{NULL}};
    char token[TK_REDACT_SECRET_MAX_BYTES + 2];
    memset(token, 'a', sizeof(token) - 1);
    token[sizeof(token) - 1] = '\0';
    hubfix_begin(&f);
    f.options.hub_token = token;
    assert_int_equal(search_in(&f, &none, &error), TINKC_E_LIMIT);
    assert_non_null(strstr(tinkc_error_message(error), "token of the hub"));
    assert_int_equal(fakeapi_total(f.hub), 0);
    tinkc_error_free(&error);
    f.options.hub_token = "abc";
    assert_int_equal(search_in(&f, &none, &error), TINKC_E_MISSING);
    assert_true(fakeapi_total(f.hub) > 0);
    tinkc_error_free(&error);
    hubfix_end(&f);
}

/* M-137: a malformed HF_ENDPOINT is an error when the hub is needed, and the message does
 * not quote it; the cache needs none. */
static void test_hub_bad_endpoint(void **unused)
{
    hubfix f;
    tinkc_error *error = NULL;
    variables bad = {{"HF_ENDPOINT", "https://me:secret@hub", NULL}};
    variables off = {{"HF_ENDPOINT", "ftp://hub", "HF_HUB_OFFLINE", "1", NULL}};
    hubfix_begin(&f);
    f.options.hub_url = NULL;
    assert_int_equal(search_in(&f, &bad, &error), TINKC_E_CONFIG);
    assert_non_null(strstr(tinkc_error_message(error), "HF_ENDPOINT"));
    assert_null(strstr(tinkc_error_message(error), "secret"));
    tinkc_error_free(&error);
    assert_int_equal(search_in(&f, &off, &error), TINKC_E_MISSING);
    tinkc_error_free(&error);
    hubfix_put(&f, PLACE "/tokenizer.json", f.json.p);
    assert_int_equal(search_in(&f, &bad, &error), TINKC_OK);
    assert_int_equal(fakeapi_total(f.hub), 0);
    hubfix_end(&f);
}

/* M-137: the hub's URL from the environment; offline it is not asked. */
static void test_hub_offline(void **unused)
{
    static const char *const names[] = {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"};
    hubfix f;
    tinkc_error *error = NULL;
    hubfix_begin(&f);
    hubfix_serve(f.hub, FILES "tokenizer.json", f.json.p);
    f.options.hub_url = NULL;
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        variables v = {{names[i], "1", "HF_ENDPOINT", fakeapi_url(f.hub), NULL}};
        assert_int_equal(search_in(&f, &v, &error), TINKC_E_MISSING);
        assert_non_null(strstr(tinkc_error_message(error), "the hub (offline)"));
        tinkc_error_free(&error);
    }
    assert_true(fakeapi_count(f.api, "GET", "/tinkc/*") > 0); /* no part of the hub */
    size_t asked = fakeapi_total(f.api);
    variables v = {{"HF_HUB_OFFLINE", "0", "HF_ENDPOINT", fakeapi_url(f.hub), NULL}};
    f.options.offline = true;
    assert_int_equal(search_in(&f, &v, &error), TINKC_E_MISSING);
    tinkc_error_free(&error);
    assert_int_equal(fakeapi_total(f.hub), 0);
    assert_int_equal(fakeapi_total(f.api), asked); /* no server at all */
    f.options.offline = false;
    assert_int_equal(search_in(&f, &v, &error), TINKC_OK);
    assert_true(fakeapi_total(f.hub) > 0);
    hubfix_end(&f);
}

/* M-137: a hub that refuses says so in the error; nothing is left. */
static void test_hub_refuses(void **unused)
{
    static const struct {
        int status;
        tinkc_code code;
    } rows[] = {{401, TINKC_E_AUTH}, {403, TINKC_E_PERMISSION}};
    hubfix f;
    hubfix_begin(&f);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        char text[32];
        fakeapi_default(f.hub, "GET", "*",
                        &(fakeapi_step){.status = rows[i].status, .body = "{}"});
        (void)snprintf(text, sizeof(text), "the hub: HTTP %d", rows[i].status);
        f.options.hub_token = HUBFIX_TOKEN;
        hubfix_lacks(&f, MODEL, rows[i].code, text);
    }
    assert_int_equal(fakeapi_total(f.hub), 2); /* no use in asking for other files */
    assert_int_equal(entries(&f, "own/hub/models--org--m"), 0);
    assert_null(strstr(f.log, "SECRET"));
    hubfix_end(&f);
}

/* M-137: a page instead of a file is not kept, nor is one that is cut short. */
static void test_hub_broken(void **unused)
{
    hubfix f;
    hubfix_begin(&f);
    hubfix_serve(f.hub, FILES "tokenizer.json", "<html>Please log in</html>");
    hubfix_lacks(&f, MODEL, TINKC_E_PARSE, "the hub's files");
    assert_int_equal(entries(&f, "own/hub/models--org--m"), 0);
    fakeapi_default(
        f.hub, "GET", FILES "tokenizer.json",
        &(fakeapi_step){.body = f.json.p, .fault = FAKEAPI_CUT_BODY, .cut = 9});
    f.options.fn = NULL;
    hubfix_lacks(&f, MODEL, TINKC_E_CONNECTION, "the hub");
    assert_int_equal(entries(&f, "own/hub/models--org--m"), 0);
    hubfix_serve(f.api, "/tinkc/v1/models/org/m/tokenizer.json", "{}");
    hubfix_lacks(&f, MODEL, TINKC_E_DECODE, "the server's files");
    hubfix_end(&f);
}

/* M-137: a cache that cannot be written to does not prevent a download. */
static void test_hub_no_cache(void **unused)
{
    hubfix f;
    hubfix_begin(&f);
    hubfix_serve(f.hub, FILES "tokenizer.json", f.json.p);
    f.options.cache_dir = "/proc/nowhere";
    hubfix_find(&f, MODEL);
    hubfix_find(&f, MODEL);
    assert_int_equal(fakeapi_count(f.hub, "GET", FILES "tokenizer.json"), 2);
    hubfix_end(&f);
}

static bool stop_at_once(const tinkc_progress *progress, void *user)
{
    size_t *calls = user;
    assert_non_null(progress->file);
    return ++*calls > 1;
}

/* M-137: the caller can end it; nothing is left. */
static void test_hub_cancel(void **unused)
{
    hubfix f;
    size_t calls = 0;
    hubfix_begin(&f);
    hubfix_serve(f.hub, FILES "tokenizer_config.json", CONFIG);
    hubfix_serve(f.hub, FILES "tokenizer.json", f.json.p);
    f.options.fn = stop_at_once;
    f.options.user = &calls;
    tinkc_tokenizer *tokenizer = NULL;
    assert_int_equal(
        tinkc_service_get_tokenizer(&tokenizer, NULL, MODEL, &f.options, NULL),
        TINKC_E_CANCELLED);
    assert_null(tokenizer);
    assert_int_equal(entries(&f, "own/hub/models--org--m"), 0);
    hubfix_end(&f);
}

static void *find_it(void *user)
{
    hubfix *f = user;
    tinkc_tokenizer *tokenizer = NULL;
    /* half of them without a service */
    tinkc_code code =
        tinkc_service_get_tokenizer(&tokenizer, NULL, MODEL, &f->options, NULL);
    bool good = code == TINKC_OK && tinkc_tokenizer_id(tokenizer, "<|a|>") == 301;
    tinkc_tokenizer_free(&tokenizer);
    return good ? NULL : user;
}

/* M-137: several at once, without a service: each gets it, the cache has it once. */
static void test_hub_at_once(void **unused)
{
    hubfix f;
    pthread_t threads[4];
    hubfix_begin(&f);
    hubfix_serve(f.hub, FILES "tokenizer.json", f.json.p);
    for (size_t i = 0; i < TK_ARRAY_LEN(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, find_it, &f), 0);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(threads); i++) {
        void *failed = NULL;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(entries(&f, "own/hub/models--org--m"), 1);
    assert_int_equal(entries(&f, PLACE), 1);
    assert_int_equal(fakeapi_total(f.api), 0);
    hubfix_end(&f);
}

/* M-137: what a crashed program left there goes with the next download. */
static void test_hub_stale_stage(void **unused)
{
    hubfix f;
    hubfix_begin(&f);
    hubfix_serve(f.hub, FILES "tokenizer.json", f.json.p);
    hubfix_put(&f, "own/hub/models--org--m/.tinkc-part-A1b2C3/tokenizer.json", "x");
    hubfix_find(&f, MODEL);
    assert_int_equal(entries(&f, "own/hub/models--org--m"), 1);
    hubfix_end(&f);
}

/* ---- no memory ---- */

typedef struct sweep {
    const char *hub_url, *cache;
} sweep;

/* What a run left in the cache. */
static void forget_files(const char *cache)
{
    static const char *const names[] = {"main/tokenizer.json", "main/chat_template.jinja",
                                        "main/tokenizer_config.json", "main"};
    char path[256];
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/hub/models--org--m/%s", cache, names[i]);
        (void)remove(path);
    }
    (void)snprintf(path, sizeof(path), "%s/hub/models--org--m", cache);
    assert_true(rmdir(path) == 0 || errno == ENOENT); /* nothing else was left */
}

static bool sweep_hub(void *user)
{
    const sweep *s = user;
    static variables none = {{NULL}};
    tk_env env = {from_table, &none};
    tinkc_tokenizer_options options = TINKC_TOKENIZER_OPTIONS_INIT;
    options.cache_dir = s->cache;
    options.hub_url = s->hub_url;
    options.hub_token = HUBFIX_TOKEN;
    tk_tok *tok = NULL;
    tinkc_error *error = NULL;
    tk_tokenizer_search search = {.model = MODEL, .options = &options, .env = &env};
    tinkc_code code = tk_tokenizer_lookup(&tok, &search, &error);
    tk_tok_free(tok);
    tinkc_error_free(&error);
    tinkc_tokenizer_cache_clear();
    forget_files(s->cache);
    return code == TINKC_OK;
}

static void test_hub_allocation_sweep(void **unused)
{
    hubfix f;
    char cache[96];
    hubfix_begin(&f);
    hubfix_serve(f.hub, FILES "tokenizer_config.json", "{}");
    hubfix_serve(f.hub, FILES "chat_template.jinja", "J");
    hubfix_serve(f.hub, FILES "tokenizer.json", HUBFIX_SMALL);
    tinkc_service_close(&f.service);
    memcpy(cache, f.cache, sizeof(cache));
    sweep s = {fakeapi_url(f.hub), cache};
    assert_true(failmem_sweep(sweep_hub, &s, 3) > 50);
    hubfix_end(&f);
}

int main(void)
{
    (void)setenv("HF_HUB_CACHE", "/nowhere", 1);
    (void)unsetenv("HF_HUB_OFFLINE");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hub_files),
        cmocka_unit_test(test_hub_kimi),
        cmocka_unit_test(test_hub_is_not_reported),
        cmocka_unit_test(test_hub_token),
        cmocka_unit_test(test_hub_many_tokens),
        cmocka_unit_test(test_hub_token_sources),
        cmocka_unit_test(test_hub_bad_token),
        cmocka_unit_test(test_hub_long_token),
        cmocka_unit_test(test_hub_bad_endpoint),
        cmocka_unit_test(test_hub_offline),
        cmocka_unit_test(test_hub_refuses),
        cmocka_unit_test(test_hub_broken),
        cmocka_unit_test(test_hub_no_cache),
        cmocka_unit_test(test_hub_cancel),
        cmocka_unit_test(test_hub_at_once),
        cmocka_unit_test(test_hub_stale_stage),
        cmocka_unit_test(test_hub_allocation_sweep),
    };
    return cmocka_run_group_tests_name("tokenizer_hub", tests, NULL, NULL);
}
