/* `tinkc checkpoint push-hf` as a user sees it: options, output, messages. What arrives
 * at the hub is tested in test_push.
 * Links: peer client */
#include <signal.h>

#include "support/proc.h"
#include "support/pushfix.h"

#define KEY "tml-cli-secret-0123456789"

typedef struct fix {
    pushfix push;
    char pairs[6][160];
    const char *env[12];
    size_t n_env;
} fix;

static void set_env(fix *f, const char *name, const char *value)
{
    size_t i = 0;
    size_t n = strlen(name);
    while (i < f->n_env && (strncmp(f->env[i], name, n) != 0 || f->env[i][n] != '=')) {
        i++;
    }
    assert_true(i < TK_ARRAY_LEN(f->pairs));
    (void)snprintf(f->pairs[i], sizeof(f->pairs[i]), "%s=%s", name, value);
    f->env[i] = f->pairs[i];
    f->n_env = TK_MAX(f->n_env, i + 1);
}

static void begin(fix *f)
{
    memset(f, 0, sizeof(*f));
    pushfix_begin(&f->push);
    set_env(f, "TINKER_BASE_URL", fakeapi_url(f->push.down.api));
    set_env(f, "TINKER_API_KEY", KEY);
    set_env(f, "HF_ENDPOINT", fakeapi_url(f->push.hub));
    set_env(f, "TMPDIR", f->push.temp);
    set_env(f, "HF_TOKEN", PUSHFIX_TOKEN);
}

static void end(fix *f)
{
    pushfix_is_clean(&f->push);
    pushfix_end(&f->push);
}

static proc *start(fix *f, const char *line)
{
    static char copy[1024];
    const char *argv[40] = {TINKC_PROGRAM, "--set", "max_retries=0", "checkpoint",
                            "push-hf"};
    size_t n = 5;
    char *rest = copy;
    proc_options options = {.env = f->env};
    (void)snprintf(copy, sizeof(copy), "%s", line);
    for (char *word; (word = strsep(&rest, " ")) != NULL && n + 1 < TK_ARRAY_LEN(argv);) {
        argv[n++] = word;
    }
    return proc_start(&options, argv);
}

/* Exactly this on standard output and `err` on standard error. */
static void expect(fix *f, const char *line, const char *out, const char *err)
{
    proc *p = start(f, line);
    (void)proc_wait(p);
    assert_string_equal(proc_err(p), err);
    assert_string_equal(proc_out(p), out);
    assert_int_equal(p->status, 0);
    proc_free(&p);
}

static void refused(fix *f, const char *line, int status, const char *words)
{
    proc *p = start(f, line);
    (void)proc_wait(p);
    if (strstr(proc_err(p), words) == NULL) {
        fail_msg("%s\n%s", line, proc_err(p));
    }
    assert_null(strstr(proc_err(p), "SECRET"));
    assert_string_equal(proc_out(p), "");
    assert_int_equal(p->status, status);
    proc_free(&p);
}

/* M-151, C-062, C-070: every option arrives; the keys of the official program. */
static void test_cli_push_json(void **unused)
{
    fix f;
    begin(&f);
    expect(&f, "-f jsonl " PATH,
           "{\"checkpoint_path\": \"" PATH "\", \"repo_id\": \"" PUSHFIX_REPO
           "\", \"public\": false}\n",
           "");
    expect(&f,
           "--format json -r me/x --public --revision v1 --commit-message hello "
           "--allow-pattern *.txt --allow-pattern *.md --ignore-pattern README* "
           "--no-model-card " PATH,
           "{\n  \"checkpoint_path\": \"" PATH "\",\n  \"repo_id\": \"me/x\",\n"
           "  \"revision\": \"v1\",\n  \"public\": true\n}\n",
           "");
    const fakeapi_request *r =
        fakeapi_nth(f.push.hub, "POST", "/api/models/me/x/commit/v1", 0);
    assert_non_null(r);
    assert_string_equal(
        r->body, "{\"key\":\"header\",\"value\":{\"summary\":\"hello\","
                 "\"description\":\"\"}}\n{\"key\":\"file\",\"value\":{\"content\":"
                 "\"c29tZSBub3Rlcwo=\",\"path\":\"sub/notes.txt\",\"encoding\":"
                 "\"base64\"}}\n");
    assert_string_equal(fakeapi_header(r, "authorization"), "Bearer " PUSHFIX_TOKEN);
    end(&f);
}

/* C-070: the table, and where a pull request is. */
static void test_cli_push_table(void **unused)
{
    fix f;
    begin(&f);
    expect(&f, "--repo me/x --create-pr " PATH,
           "Checkpoint Hub Upload: " PATH "\nProperty         Value\n"
           "---------------  --------------------\n"
           "Checkpoint Path  " PATH "\nRepo ID          me/x\nPublic           No\n",
           "Pull request: https://hub/pr/7\n");
    fakeapi_reply(f.push.hub, "POST", PUSHFIX_COMMIT,
                  &fakeapi_json("{\"commitUrl\":\"x\",\"pullRequestUrl\":"
                                "\"a\\u001b[31mb\"}"));
    proc *p = start(&f, "-f json --create-pr " PATH);
    assert_int_equal(proc_wait(p), 0);
    assert_null(strchr(proc_err(p), '\033')); /* text of the hub is not printed raw */
    assert_non_null(strstr(proc_err(p), "Pull request: a"));
    proc_free(&p);
    end(&f);
}

/* C-063: no token, a token that is not known, a hub that does not answer. */
static void test_cli_push_login(void **unused)
{
    fix f;
    begin(&f);
    set_env(&f, "HF_TOKEN", "");
    refused(&f, PATH, 1, "Error: Not logged in");
    refused(&f, PATH, 1, "\nHint: Run 'hf auth login'");
    assert_int_equal(fakeapi_total(f.push.hub), 0);
    set_env(&f, "HF_TOKEN", PUSHFIX_TOKEN);
    fakeapi_reply(f.push.hub, "GET", "/api/whoami-v2", &fakeapi_status(401, "{}"));
    refused(&f, PATH, 1, "Error: Not logged in");
    fakeapi_reply(f.push.hub, "GET", "/api/whoami-v2", &fakeapi_status(500, "{}"));
    refused(&f, PATH, 1, "Hint: Check the network and HF_ENDPOINT");
    end(&f);
}

/* C-086: HF_TOKEN, HUGGING_FACE_HUB_TOKEN, the file of HF_TOKEN_PATH or of HF_HOME, in
 * this order; offline. */
static void test_cli_push_environment(void **unused)
{
    fix f;
    char path[160];
    begin(&f);
    (void)snprintf(path, sizeof(path), "%s/token", f.push.down.folder);
    assert_int_equal(tk_file_replace(path, "hf_SECRETfile\n", 14, 0600, NULL), TINKC_OK);
    static const char *const names[] = {"HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH",
                                        "HF_HOME"};
    const char *values[] = {"hf_SECRETother", path, f.push.down.folder};
    static const char *const sent[] = {"Bearer hf_SECRETother", "Bearer hf_SECRETfile",
                                       "Bearer hf_SECRETfile"};
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        set_env(&f, "HF_TOKEN", PUSHFIX_TOKEN);
        set_env(&f, names[i], values[i]);
        fakeapi_forget(f.push.hub);
        for (size_t again = 0; again < 2; again++) {
            proc *p = start(&f, "-f json " PATH);
            assert_int_equal(proc_wait(p), 0);
            proc_free(&p);
            const fakeapi_request *r =
                fakeapi_nth(f.push.hub, "GET", "/api/whoami-v2", again);
            assert_string_equal(fakeapi_header(r, "authorization"),
                                again == 0 ? "Bearer " PUSHFIX_TOKEN : sent[i]);
            set_env(&f, "HF_TOKEN", "");
        }
        f.n_env--; /* the last one: names[i] */
        f.env[f.n_env] = NULL;
    }
    set_env(&f, "HF_HUB_OFFLINE", "1");
    refused(&f, PATH, 1, "HF_HUB_OFFLINE");
    end(&f);
}

/* C-033, C-062: a command line that makes no sense is refused before anything is
 * asked. */
static void test_cli_push_usage(void **unused)
{
    fix f;
    begin(&f);
    refused(&f, "tinker:x", 2,
            "Invalid checkpoint path: tinker:x (expected tinker://RUN/weights/NAME or "
            "tinker://RUN/sampler_weights/NAME)");
    refused(&f, "--repo a--b " PATH, 2, "a--b");
    refused(&f, "--revision a..b " PATH, 2, "a..b");
    refused(&f, "", 2, "");
    assert_int_equal(fakeapi_total(f.push.hub), 0);
    end(&f);
}

/* C-064, C-068: messages of failures, with what to do about them. */
static void test_cli_push_failures(void **unused)
{
    fix f;
    begin(&f);
    fakeapi_reply(f.push.hub, "GET", PUSHFIX_README,
                  &(fakeapi_step){.body = "tinker://other/weights/1"});
    refused(&f, PATH, 1,
            "found tinker://other/weights/1, expected " PATH
            "\nHint: Choose another --repo or --revision.");
    fakeapi_reply(f.push.hub, "POST", PUSHFIX_COMMIT,
                  &fakeapi_status(403, "{\"error\":\"read-only\"}"));
    refused(&f, PATH, 1,
            "Error: Failed to push to the hub: committing: HTTP 403: read-only\n"
            "Hint: The token must be allowed to write");
    fakeapi_reply(f.push.down.api, "GET", ARCHIVE, &fakeapi_detail(404, "no such"));
    refused(&f, PATH, 1, "Error: Failed to download checkpoint: ");
    refused(&f, "--allow-pattern nothing " PATH, 1, "leave no file");
    end(&f);
}

/* C-010: Ctrl-C in the middle: exit code 130, nothing left. */
static void test_cli_push_interrupted(void **unused)
{
    fix f;
    begin(&f);
    fakeapi_default(f.push.store, "PUT", "/put", &(fakeapi_step){.fault = FAKEAPI_NEVER});
    proc *p = start(&f, PATH);
    assert_true(fakeapi_wait_for(f.push.store, "PUT", "/put", 1));
    proc_signal(p, SIGINT);
    assert_int_equal(proc_wait(p), 130);
    assert_string_equal(proc_out(p), "");
    assert_string_equal(proc_err(p), "");
    proc_free(&p);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_push_json),
        cmocka_unit_test(test_cli_push_table),
        cmocka_unit_test(test_cli_push_login),
        cmocka_unit_test(test_cli_push_environment),
        cmocka_unit_test(test_cli_push_usage),
        cmocka_unit_test(test_cli_push_failures),
        cmocka_unit_test(test_cli_push_interrupted),
    };
    return cmocka_run_group_tests_name("cmd_checkpoint_push", tests, NULL, NULL);
}
