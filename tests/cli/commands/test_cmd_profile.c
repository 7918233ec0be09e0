/* `tinkc profile` and --profile: the file is for its owner only, keys never show, and each
 * server gets its own key and no other. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/clifix.h"

typedef struct home {
    clifix f;
    char dir[32], env[64], folder[64], file[96], key[64];
} home;

static void begin(home *h)
{
    tk_err err = TK_ERR_INIT;
    clifix_begin(&h->f);
    (void)snprintf(h->dir, sizeof(h->dir), "/tmp/tinkc-test-XXXXXX");
    assert_non_null(mkdtemp(h->dir));
    (void)snprintf(h->env, sizeof(h->env), "XDG_CONFIG_HOME=%s", h->dir);
    (void)snprintf(h->folder, sizeof(h->folder), "%s/tinkc", h->dir);
    (void)snprintf(h->file, sizeof(h->file), "%s/profiles.json", h->folder);
    (void)snprintf(h->key, sizeof(h->key), "%s/key", h->dir);
    assert_int_equal(tk_file_replace(h->key, " tml-lab-secret\n", 16, 0600, &err),
                     TINKC_OK);
    clifix_env(&h->f, h->env);
    h->f.retries = true; /* no --set of the test's own */
    fakeapi_default(h->f.api, "GET", CLI_API "healthz", &fakeapi_json("{}"));
}

static void end(home *h)
{
    (void)unlink(h->file);
    (void)unlink(h->key);
    (void)rmdir(h->folder);
    (void)rmdir(h->dir);
    clifix_end(&h->f);
}

/* Runs the program; neither key may show. `want` is in what it prints, or NULL. */
static void run(home *h, int status, const char *want, const char *format, ...)
    TK_PRINTF(4, 5);

static void run(home *h, int status, const char *want, const char *format, ...)
{
    char line[512];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(line, sizeof(line), format, list);
    va_end(list);
    proc *p = clifix_run(&h->f, line);
    bool has = want == NULL || strstr(proc_out(p), want) != NULL ||
               strstr(proc_err(p), want) != NULL;
    if (p->status != status || !has) {
        fail_msg("tinkc %s: %d\n%s%s", line, p->status, proc_out(p), proc_err(p));
    }
    assert_null(strstr(proc_out(p), "-secret"));
    assert_null(strstr(proc_err(p), "-secret"));
    proc_free(&p);
}

static void expect_file(home *h, const char *want)
{
    char *text = NULL;
    struct stat st;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_file_read(&text, NULL, h->file, 65536, &err), TINKC_OK);
    assert_string_equal(text, want);
    tk_free(text);
    assert_int_equal(stat(h->file, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

#define LAB                                                                              \
    "\"lab\":{\"base_url\":\"http://lab:1\",\"api_key\":\"tml-lab-secret\","             \
    "\"timeout\":\"5000\"}"

static void test_profile_file(void **unused)
{
    home h;
    begin(&h);
    run(&h, 1, "no profile \"lab\"", "profile use lab");
    run(&h, 0, NULL, "profile add lab http://lab:1 --key-file %s --set timeout=5000",
        h.key);
    expect_file(&h, "{\"profiles\":{" LAB "}}\n");
    run(&h, 0, NULL, "profile add here http://127.0.0.1:8000 --default");
    expect_file(&h, "{\"default\":\"here\",\"profiles\":{" LAB
                    ",\"here\":{\"base_url\":\"http://127.0.0.1:8000\"}}}\n");
    run(&h, 0, NULL, "profile use lab");
    run(&h, 0, NULL, "profile remove here");
    expect_file(&h, "{\"default\":\"lab\",\"profiles\":{" LAB "}}\n");
    clifix_expect(&h.f, "profile list -f jsonl",
                  "{\"name\": \"lab\", \"default\": true, \"base_url\": "
                  "\"http://lab:1\", \"has_key\": true}\n");
    run(&h, 0, NULL, "profile remove lab");
    expect_file(&h, "{\"profiles\":{}}\n");
    run(&h, 0, "There are no profiles; 'tinkc profile add NAME URL'", "profile list");
    run(&h, 0, "Stored profile lab and its key in",
        "profile add lab http://lab:1 --api-key tml-lab-secret --set timeout=5000");
    expect_file(&h, "{\"profiles\":{" LAB "}}\n");
    run(&h, 0, "Stored profile lab without a key in", "profile add lab http://lab:1");
    end(&h);
}

static void test_profile_refused(void **unused)
{
    home h;
    begin(&h);
    run(&h, 2, "A name is", "profile add -- -x http://lab");
    run(&h, 2, "A name is", "profile add a/b http://lab");
    run(&h, 2, "Missing argument: URL.", "profile add a");
    run(&h, 2, "one of --api-key and --key-file",
        "profile add a http://lab --api-key tml-a-secret --key-file %s", h.key);
    run(&h, 2, "NAME=VALUE", "profile add a http://lab --set timeout");
    run(&h, 1, "cannot set \"color\"", "profile add a http://lab --set color=red");
    run(&h, 1, "cannot set \"profile\"", "profile add a http://lab --set profile=b");
    run(&h, 1, "timeout", "profile add a http://lab --set timeout=x");
    run(&h, 1, "none", "profile add a http://lab --key-file none");
    run(&h, 2, "one of --local", "models --profile lab --base-url http://x");
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_file_replace(h.key, " \n", 2, 0600, &err), TINKC_OK);
    run(&h, 1, "key holds no key", "profile add a http://lab --key-file %s", h.key);
    run(&h, 1, "no profile \"lap\"", "models --profile lap");
    run(&h, 1, "Hint: 'tinkc profile list'", "models --profile lap");
    end(&h);
}

/* The key of the profile reaches its server; that of the environment does not, also for a
 * profile without one. */
static void test_profile_is_used(void **unused)
{
    home h;
    begin(&h);
    const char *url = fakeapi_url(h.f.api);
    h.f.env[0] = "TINKER_BASE_URL=http://127.0.0.1:1";
    h.f.env[1] = "TINKER_API_KEY=tml-env-secret";
    run(&h, 0, NULL, "profile add lab %s --key-file %s", url, h.key);
    run(&h, 0, NULL, "profile add bare %s", url);
    run(&h, 0, NULL, "health --profile lab");
    assert_string_equal(fakeapi_header(clifix_last(&h.f), "x-api-key"), "tml-lab-secret");
    run(&h, 0, NULL, "health --profile bare");
    const char *key = fakeapi_header(clifix_last(&h.f), "x-api-key");
    assert_true(key == NULL || strcmp(key, "tml-env-secret") != 0);
    clifix_env(&h.f, "TINKC_PROFILE=lab");
    run(&h, 0, NULL, "health");
    assert_string_equal(fakeapi_header(clifix_last(&h.f), "x-api-key"), "tml-lab-secret");
    run(&h, 0, "\"source\": \"profile\"", "config -f jsonl");
    run(&h, 0, NULL, "profile add new http://lab:1"); /* whatever the variable names */
    end(&h);
}

static void test_profile_default(void **unused)
{
    home h;
    begin(&h);
    h.f.env[0] = "TINKER_BASE_URL=";
    run(&h, 0, NULL, "profile add lab %s --key-file %s --default", fakeapi_url(h.f.api),
        h.key);
    run(&h, 0, NULL, "health");
    assert_string_equal(fakeapi_header(clifix_last(&h.f), "x-api-key"), "tml-lab-secret");
    h.f.env[0] = "TINKER_BASE_URL=http://127.0.0.1:1"; /* names a server */
    run(&h, 0, "http://127.0.0.1:1", "config -f jsonl");
    end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_profile_file),
        cmocka_unit_test(test_profile_refused),
        cmocka_unit_test(test_profile_is_used),
        cmocka_unit_test(test_profile_default),
    };
    return cmocka_run_group_tests_name("cmd_profile", tests, NULL, NULL);
}
