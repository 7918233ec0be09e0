/* The search for a model's tokenizer: the server's answer, the order of places, the
 * environment, the error when there is none.
 * Links: peer text */
#include "client/hub/tokenizer_lookup.h"

#include <unistd.h>

#include <tinkc/sampling.h>
#include <tinkc/training.h>

#include "client/core/service.h"
#include "support/failmem.h"
#include "support/hubfix.h"

#define COMMIT "0123456789abcdef0123456789abcdef01234567"

/* ---- the server's answer ---- */

static tinkc_code of_training(hubfix *f, const char *info, tinkc_error **error)
{
    tinkc_training *training = NULL;
    tinkc_tokenizer *tokenizer = NULL;
    assert_int_equal(
        tinkc_service_create_training_wait(&training, f->service, "org/m", NULL, NULL),
        TINKC_OK);
    fakeapi_default(f->api, "POST", "/api/v1/get_info", &(fakeapi_step){.body = info});
    tinkc_code code =
        tinkc_training_get_tokenizer(&tokenizer, training, &f->options, error);
    if (code == TINKC_OK) {
        hubfix_works(&tokenizer);
    }
    tinkc_training_close(&training);
    return code;
}

#define INFO(data) "{\"model_id\":\"m\",\"type\":\"get_info\",\"model_data\":{" data "}}"

/* get_info with an id, with id:revision, without an id. */
static void test_lookup_get_info(void **unused)
{
    static const struct {
        const char *info, *path;
    } rows[] = {
        {INFO("\"model_name\":\"org/m\",\"tokenizer_id\":\"org/tok\""),
         "/org/tok/resolve/main/tokenizer.json"},
        {INFO("\"model_name\":\"org/m\",\"tokenizer_id\":\"org/tok:v7\""),
         "/org/tok/resolve/v7/tokenizer.json"},
        {INFO("\"model_name\":\"org/m:peft:1\",\"tokenizer_id\":null"),
         "/org/m/resolve/main/tokenizer.json"},
        {INFO("\"model_name\":\"meta-llama/Llama-3.2-1B\""),
         "/thinkingmachineslabinc/meta-llama-3-instruct-tokenizer/resolve/main/"
         "tokenizer.json"},
        {INFO("\"tokenizer_id\":\"org/tok\""), "/org/tok/resolve/main/tokenizer.json"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        hubfix f;
        tinkc_error *error = NULL;
        hubfix_begin(&f);
        hubfix_serve(f.hub, rows[i].path, f.json.p);
        if (of_training(&f, rows[i].info, &error) != TINKC_OK) {
            fail_msg("%s: %s", rows[i].info, tinkc_error_message(error));
        }
        assert_int_equal(fakeapi_count(f.hub, "GET", rows[i].path), 1);
        hubfix_end(&f);
    }
}

/* a server that says nothing of use. */
static void test_lookup_no_info(void **unused)
{
    hubfix f;
    tinkc_error *error = NULL;
    hubfix_begin(&f);
    assert_int_equal(of_training(&f, INFO(""), &error), TINKC_E_DECODE);
    tinkc_error_free(&error);
    assert_int_equal(
        of_training(&f, INFO("\"model_name\":\"org/m\",\"tokenizer_id\":\"../../x\""),
                    &error),
        TINKC_E_MISSING);
    assert_non_null(strstr(tinkc_error_message(error), "org/m"));
    tinkc_error_free(&error);
    assert_int_equal(fakeapi_count(f.hub, "GET", "*"), 0);
    hubfix_end(&f);
}

/* M-132, A-132: a sampling client is asked for its base model; the caller's counts before
 * the server's. */
static void test_lookup_sampling(void **unused)
{
    hubfix f;
    tinkc_sampling *sampling = NULL;
    tinkc_tokenizer *tokenizer = NULL;
    hubfix_begin(&f);
    assert_int_equal(
        tinkc_service_create_sampling_wait(&sampling, f.service, "org/base", NULL, NULL),
        TINKC_OK);
    hubfix_serve(f.hub, "/org/base/resolve/main/tokenizer.json", f.json.p);
    assert_int_equal(tinkc_sampling_get_tokenizer(&tokenizer, sampling, &f.options, NULL),
                     TINKC_OK);
    hubfix_works(&tokenizer);
    size_t asked = fakeapi_count(f.api, "GET", "/api/v1/samplers/*");
    assert_int_equal(asked, 1);
    hubfix_serve(f.hub, "/my/own/resolve/v1/tokenizer.json", f.json.p);
    f.options.tokenizer_id = "my/own:v1";
    assert_int_equal(tinkc_sampling_get_tokenizer(&tokenizer, sampling, &f.options, NULL),
                     TINKC_OK);
    hubfix_works(&tokenizer);
    assert_int_equal(fakeapi_count(f.api, "GET", "/api/v1/samplers/*"), asked);
    tinkc_sampling_close(&sampling);
    hubfix_end(&f);
}

/* ---- the order of places ---- */

/* A table of variables as an environment. */
static const char *from_table(const char *name, void *user)
{
    const char *const *pair = user;
    for (; *pair != NULL; pair += 2) {
        if (strcmp(pair[0], name) == 0) {
            return pair[1];
        }
    }
    return NULL;
}

static tinkc_code search_in(hubfix *f, const char *model, const char **variables,
                            tinkc_error **error)
{
    tk_env env = {from_table, (void *)variables};
    tk_tok *tok = NULL;
    tk_tokenizer_search search = {.handle = tk_service_handle(f->service),
                                  .has_server = true,
                                  .is_callers_word = true,
                                  .model = model,
                                  .options = &f->options,
                                  .env = &env};
    tinkc_code code = tk_tokenizer_lookup(&tok, &search, error);
    if (code == TINKC_OK) {
        tinkc_tokenizer *tokenizer = tk_tokenizer_of(tok);
        hubfix_works(&tokenizer);
    }
    return code;
}

/* M-132: each place in turn; the first that has it decides, and none after it is
 * asked. */
static void test_lookup_order(void **unused)
{
    hubfix f;
    char hub[96];
    tinkc_error *error = NULL;
    hubfix_begin(&f);
    (void)snprintf(hub, sizeof(hub), "%s/hf", f.folder);
    const char *variables[] = {"HF_HUB_CACHE", hub, NULL};
    hubfix_serve(f.hub, "/org/m/resolve/main/tokenizer.json", f.json.p);
    assert_int_equal(search_in(&f, "org/m", variables, &error), TINKC_OK);
    assert_int_equal(fakeapi_count(f.api, "GET", "/tinkc/v1/models/org/m/*"), 1);
    size_t asked = fakeapi_total(f.hub);
    assert_true(asked > 0);
    /* the library's cache has it now */
    assert_int_equal(search_in(&f, "org/m", variables, &error), TINKC_OK);
    assert_int_equal(fakeapi_total(f.hub), asked);
    /* the server's route, for another model */
    hubfix_serve(f.api, "/tinkc/v1/models/org/n/tokenizer.json", f.json.p);
    assert_int_equal(search_in(&f, "org/n", variables, &error), TINKC_OK);
    assert_int_equal(fakeapi_total(f.hub), asked);
    /* Hugging Face's cache: it comes before the server and before our own */
    size_t served = fakeapi_total(f.api);
    hubfix_put(&f, "hf/models--org--n/refs/main", COMMIT "\n");
    hubfix_put(&f, "hf/models--org--n/snapshots/" COMMIT "/tokenizer.json", f.json.p);
    assert_int_equal(search_in(&f, "org/n", variables, &error), TINKC_OK);
    assert_int_equal(fakeapi_total(f.api), served);
    f.options.revision = COMMIT; /* a commit needs no ref */
    assert_int_equal(search_in(&f, "org/n", variables, &error), TINKC_OK);
    f.options.revision = NULL;
    assert_int_equal(fakeapi_total(f.api), served);
    assert_int_equal(fakeapi_total(f.hub), asked);
    hubfix_end(&f);
}

/* M-137: where Hugging Face's programs keep their files. */
static void test_lookup_hf_places(void **unused)
{
    static const char *const names[] = {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE",
                                        "HF_HOME", "XDG_CACHE_HOME", "HOME"};
    static const char *const under[] = {"", "", "/hub", "/huggingface/hub",
                                        "/.cache/huggingface/hub"};
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        hubfix f;
        char place[96], file[256];
        tinkc_error *error = NULL;
        hubfix_begin(&f);
        (void)snprintf(place, sizeof(place), "%s/p", f.folder);
        (void)snprintf(file, sizeof(file), "p%s/models--org--m/refs/v1", under[i]);
        hubfix_put(&f, file, COMMIT);
        (void)snprintf(file, sizeof(file),
                       "p%s/models--org--m/snapshots/" COMMIT "/tokenizer.json",
                       under[i]);
        hubfix_put(&f, file, f.json.p);
        /* what comes later in the list does not count */
        const char *variables[] = {names[i], place, "HOME", "/nowhere", NULL};
        f.options.offline = true;
        f.options.revision = "v1";
        assert_int_equal(search_in(&f, "org/m", variables, &error), TINKC_OK);
        f.options.revision = "v2";
        assert_int_equal(search_in(&f, "org/m", variables, &error), TINKC_E_MISSING);
        tinkc_error_free(&error);
        hubfix_end(&f);
    }
}

/* M-137: a ref that leads out of the cache is not a ref. */
static void test_lookup_hostile_ref(void **unused)
{
    hubfix f;
    tinkc_error *error = NULL;
    hubfix_begin(&f);
    const char *variables[] = {"HF_HUB_CACHE", f.folder, NULL};
    hubfix_put(&f, "models--org--m/refs/main", "../../../secret");
    hubfix_put(&f, "secret/tokenizer.json", f.json.p);
    f.options.offline = true;
    assert_int_equal(search_in(&f, "org/m", variables, &error), TINKC_E_MISSING);
    tinkc_error_free(&error);
    hubfix_end(&f);
}

/* M-132: a directory by its name, or by the option, which then is the only place. */
static void test_lookup_directory(void **unused)
{
    hubfix f;
    char path[128];
    hubfix_begin(&f);
    hubfix_put(&f, "model/tokenizer.json", f.json.p);
    (void)snprintf(path, sizeof(path), "%s/model", f.folder);
    hubfix_find(&f, path);
    f.options.directory = path;
    hubfix_find(&f, "whatever");
    f.options.directory = f.folder;
    hubfix_lacks(&f, "org/m", TINKC_E_MISSING, "tokenizer.json");
    f.options.directory = NULL;
    hubfix_lacks(&f, f.folder, TINKC_E_MISSING, f.folder);
    assert_int_equal(fakeapi_total(f.hub), 0);
    /* one that a server names */
    char info[256];
    tinkc_error *error = NULL;
    (void)snprintf(info, sizeof(info),
                   INFO("\"model_name\":\"org/m\",\"tokenizer_id\":\"%s\""), path);
    assert_int_equal(of_training(&f, info, &error), TINKC_OK);
    assert_int_equal(fakeapi_total(f.hub), 0);
    hubfix_end(&f);
}

/* M-132: a relative directory is meant only when the caller, not a server, says so. */
static void test_lookup_relative(void **unused)
{
    hubfix f;
    char old[512];
    tinkc_error *error = NULL;
    hubfix_begin(&f);
    hubfix_put(&f, "org/m/tokenizer.json", f.json.p);
    assert_non_null(getcwd(old, sizeof(old)));
    assert_int_equal(chdir(f.folder), 0);
    hubfix_find(&f, "org/m");
    hubfix_find(&f, "./org/m");
    tinkc_code code = of_training(
        &f, INFO("\"model_name\":\"org/m\",\"tokenizer_id\":\"org/m\""), &error);
    assert_int_equal(chdir(old), 0);
    assert_int_equal(code, TINKC_E_MISSING);
    tinkc_error_free(&error);
    hubfix_end(&f);
}

/* The model that is built into `tinkc serve`, on a server that has no files of it (404 or
 * 405): its tokenizer is part of the library, and the hub is not asked. */
static void test_lookup_embedded(void **unused)
{
    static const int statuses[] = {404, 405};
    for (size_t i = 0; i < TK_ARRAY_LEN(statuses); i++) {
        hubfix f;
        tinkc_tokenizer *tokenizer = NULL;
        tinkc_error *error = NULL;
        hubfix_begin(&f);
        fakeapi_default(f.api, "GET", "*tokenizer*",
                        &(fakeapi_step){.status = statuses[i]});
        if (tinkc_service_get_tokenizer(&tokenizer, f.service, "tinkc/pebble-llama-2m:x",
                                        &f.options, &error) != TINKC_OK) {
            fail_msg("%s", tinkc_error_message(error));
        }
        assert_int_equal(tinkc_tokenizer_size(tokenizer), 2048);
        assert_int_equal(tinkc_tokenizer_end(tokenizer), 4);
        assert_int_equal(fakeapi_total(f.hub), 0);
        tinkc_tokenizer_free(&tokenizer);
        hubfix_end(&f);
    }
}

/* ---- nowhere ---- */

/* M-132: the message names every place, the causes each in full. */
static void test_lookup_nowhere(void **unused)
{
    hubfix f;
    char hub[96];
    tinkc_error *error = NULL;
    hubfix_begin(&f);
    (void)snprintf(hub, sizeof(hub), "%s/hf", f.folder);
    const char *variables[] = {"HF_HUB_CACHE", hub, NULL};
    assert_int_equal(search_in(&f, "org/m", variables, &error), TINKC_E_MISSING);
    static const char *const said[] = {"org/m", "Hugging Face's cache: no",
                                       "tinkc's cache: no", "the server: HTTP 404",
                                       "the hub: HTTP 404"};
    for (size_t i = 0; i < TK_ARRAY_LEN(said); i++) {
        if (strstr(tinkc_error_message(error), said[i]) == NULL) {
            fail_msg("\"%s\" lacks \"%s\"", tinkc_error_message(error), said[i]);
        }
    }
    size_t causes = 0;
    for (const tinkc_error *at = error; (at = tinkc_error_cause(at)) != NULL;) {
        causes++;
    }
    assert_int_equal(causes, 4);
    tinkc_error_free(&error);
    hubfix_end(&f);
}

/* M-132: bad arguments, in every function, are errors. */
static void test_lookup_bad_arguments(void **unused)
{
    hubfix f;
    tinkc_tokenizer *tokenizer = NULL;
    tinkc_tokenizer_options none = {.size = 0};
    hubfix_begin(&f);
    assert_int_equal(tinkc_training_get_tokenizer(&tokenizer, NULL, &f.options, NULL),
                     TINKC_E_STATE);
    assert_int_equal(tinkc_sampling_get_tokenizer(&tokenizer, NULL, &f.options, NULL),
                     TINKC_E_STATE);
    assert_int_equal(
        tinkc_service_get_tokenizer(NULL, f.service, "a/b", &f.options, NULL),
        TINKC_E_INVALID);
    assert_int_equal(
        tinkc_service_get_tokenizer(&tokenizer, f.service, "", &f.options, NULL),
        TINKC_E_INVALID);
    assert_int_equal(
        tinkc_service_get_tokenizer(&tokenizer, f.service, "a/b", &none, NULL),
        TINKC_E_INVALID);
    f.options.hub_url = "ftp://x";
    hubfix_lacks(&f, "a/b", TINKC_E_CONFIG, "http");
    hubfix_end(&f);
}

/* ---- no memory ---- */

static bool sweep_disk(void *user)
{
    const char *variables[] = {"HF_HUB_CACHE", user, NULL};
    tk_env env = {from_table, (void *)variables};
    tinkc_tokenizer_options options = TINKC_TOKENIZER_OPTIONS_INIT;
    options.offline = true;
    tk_tok *tok = NULL;
    tinkc_error *error = NULL;
    tk_tokenizer_search search = {.model = "org/m", .options = &options, .env = &env};
    tinkc_code code = tk_tokenizer_lookup(&tok, &search, &error);
    tk_tok_free(tok);
    tinkc_error_free(&error);
    tinkc_tokenizer_cache_clear();
    return code == TINKC_OK;
}

static void test_lookup_allocation_sweep(void **unused)
{
    hubfix f;
    hubfix_begin(&f);
    hubfix_put(&f, "models--org--m/refs/main", COMMIT);
    hubfix_put(&f, "models--org--m/snapshots/" COMMIT "/tokenizer.json", HUBFIX_SMALL);
    char folder[64];
    memcpy(folder, f.folder, sizeof(folder));
    tinkc_service_close(&f.service);
    assert_true(failmem_sweep(sweep_disk, folder, 1) > 20);
    hubfix_end(&f);
}

int main(void)
{
    (void)setenv("HF_HUB_CACHE", "/nowhere", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lookup_get_info),
        cmocka_unit_test(test_lookup_no_info),
        cmocka_unit_test(test_lookup_sampling),
        cmocka_unit_test(test_lookup_order),
        cmocka_unit_test(test_lookup_hf_places),
        cmocka_unit_test(test_lookup_hostile_ref),
        cmocka_unit_test(test_lookup_directory),
        cmocka_unit_test(test_lookup_relative),
        cmocka_unit_test(test_lookup_embedded),
        cmocka_unit_test(test_lookup_nowhere),
        cmocka_unit_test(test_lookup_bad_arguments),
        cmocka_unit_test(test_lookup_allocation_sweep),
    };
    return cmocka_run_group_tests_name("tokenizer_lookup", tests, NULL, NULL);
}
