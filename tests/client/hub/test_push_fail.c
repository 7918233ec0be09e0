/* Pushes that do not work: a clear error, the token nowhere, nothing left on this machine
 * (M-138, M-139).
 * Links: peer */
#include "base/thread.h"
#include "support/pushfix.h"

/* ---- the token ---- */

/* C-063: without a token, or with one that the hub does not know, nothing is begun. */
static void test_push_not_logged_in(void **unused)
{
    pushfix f;
    pushfix_begin(&f);
    f.options.hub_token = "";
    pushfix_refused(&f, TINKC_E_AUTH, "Not logged in");
    assert_int_equal(fakeapi_total(f.hub), 0);
    f.options.hub_token = PUSHFIX_TOKEN;
    fakeapi_default(f.hub, "GET", "/api/whoami-v2",
                    &fakeapi_status(401, "{\"error\":\"Invalid user token.\"}"));
    pushfix_refused(&f, TINKC_E_AUTH, "HTTP 401: Invalid user token.");
    assert_int_equal(fakeapi_total(f.hub), 1);
    f.options.hub_token = "x-SECRET-0123";
    fakeapi_reply(f.hub, "GET", "/api/whoami-v2",
                  &fakeapi_status(401, "{\"error\":\"x-SECRET-0123 is not known\"}"));
    pushfix_refused(&f, TINKC_E_AUTH, " is not known");
    f.options.hub_token = "two words";
    pushfix_refused(&f, TINKC_E_CONFIG, "blank");
    assert_int_equal(fileserver_requests(f.down.files), 0);
    pushfix_end(&f);
}

/* C-086: offline, the push is refused and the hub is not asked. */
static void test_push_offline(void **unused)
{
    pushfix f;
    pushfix_begin(&f);
    assert_int_equal(setenv("HF_HUB_OFFLINE", "1", 1), 0);
    pushfix_refused(&f, TINKC_E_STATE, "HF_HUB_OFFLINE");
    assert_int_equal(unsetenv("HF_HUB_OFFLINE"), 0);
    assert_int_equal(fakeapi_total(f.hub), 0);
    pushfix_end(&f);
}

/* Lines come from several threads. */
typedef struct kept_log {
    tk_mutex lock;
    tk_buf text;
} kept_log;

static void keep_log(tinkc_log_level level, const char *component, const char *line,
                     void *user)
{
    kept_log *log = user;
    tk_mutex_lock(&log->lock);
    tk_buf_puts(&log->text, line);
    tk_buf_putc(&log->text, '\n');
    tk_mutex_unlock(&log->lock);
}

/* M-138: the log has the requests, with headers, and not the token. */
static void test_push_log(void **unused)
{
    pushfix f;
    kept_log log = {.lock = TK_MUTEX_INIT};
    tk_buf_init(&log.text, 16 * TK_MIB);
    pushfix_begin(&f);
    tinkc_service_close(&f.down.service);
    tinkc_config *config = servicefix_config(f.down.api, NULL);
    assert_int_equal(tinkc_config_set(config, "log_level", "debug", NULL), TINKC_OK);
    assert_int_equal(tinkc_config_set(config, "wire_dump", "true", NULL), TINKC_OK);
    tinkc_config_set_log(config, keep_log, &log);
    assert_int_equal(tinkc_service_open(&f.down.service, config, NULL), TINKC_OK);
    tinkc_config_free(&config);
    f.options.hub_token = "x-SECRET-0123"; /* nothing else gives it away */
    pushfix_say(&f, "POST", PUSHFIX_COMMIT, "{\"commitUrl\":\"x-SECRET-0123\"}");
    tinkc_pushed *pushed = pushfix_push(&f);
    tinkc_pushed_free(&pushed);
    tinkc_service_close(&f.down.service);
    const char *text = tk_buf_cstr(&log.text);
    assert_non_null(text);
    assert_non_null(strstr(text, "/api/whoami-v2"));
    assert_null(strstr(text, "SECRET"));
    tk_buf_dispose(&log.text);
    tk_mutex_dispose(&log.lock);
    pushfix_end(&f);
}

/* ---- what comes from the server ---- */

/* C-064: what is not a whole adapter is not pushed. */
static void test_push_content(void **unused)
{
    static const downloadfix_member members[] = {
        {"adapter_config.json", 0, NULL, 2, "{}"},
        {"adapter_model.safetensors", 0, NULL, 3, "abc"},
        {"checkpoint_complete", 0, NULL, 0, NULL},
        {"sub/adapter_model.safetensors", 0, NULL, 3, "abc"},
    };
    static const char *const words[] = {"does not contain a PEFT adapter",
                                        "does not contain a PEFT adapter",
                                        "missing 'checkpoint_complete'"};
    for (size_t i = 0; i < TK_ARRAY_LEN(words); i++) {
        downloadfix_member some[TK_ARRAY_LEN(members)];
        size_t n = 0;
        for (size_t m = 0; m < TK_ARRAY_LEN(members); m++) {
            if (m != i) {
                some[n++] = members[m];
            }
        }
        pushfix f;
        pushfix_begin_with(&f, some, n, NULL);
        pushfix_refused(&f, TINKC_E_UNSUPPORTED, words[i]);
        assert_int_equal(fakeapi_total(f.hub), 1); /* asks for the user */
        pushfix_end(&f);
    }
}

/* M-138: an archive that cannot be had, or must not be. */
static void test_push_download(void **unused)
{
    static const downloadfix_member links[] = {
        {"adapter_config.json", AE_IFLNK, "/etc/passwd", 0, NULL}};
    pushfix f;
    pushfix_begin_with(&f, links, 1, NULL);
    pushfix_refused(&f, TINKC_E_DECODE, "link");
    fakeapi_default(f.down.api, "GET", ARCHIVE, &fakeapi_detail(404, "no such"));
    pushfix_refused(&f, TINKC_E_NOT_FOUND, "no such");
    f.options.temp_dir = "/dev/null/x";
    tinkc_error *error = NULL;
    assert_int_equal(
        tinkc_push_checkpoint(NULL, f.down.service, PATH, &f.options, &error),
        TINKC_E_IO);
    tinkc_error_free(&error);
    pushfix_end(&f);
}

/* ---- trying again ---- */

/* M-138: what may be asked twice is; a commit whose answer is lost is not made again. */
static void test_push_retries(void **unused)
{
    pushfix f;
    pushfix_begin(&f);
    f.options.max_retries = 2;
    for (size_t i = 0; i < TK_ARRAY_LEN(pushfix_steps) - 1; i++) {
        fakeapi_step step = {.status = 503, .headers = FAKEAPI_AFTER_MS(1), .body = "{}"};
        fakeapi_reply(pushfix_steps[i].of_store ? f.store : f.hub,
                      pushfix_steps[i].method, pushfix_steps[i].path, &step);
    }
    tinkc_pushed *pushed = pushfix_push(&f);
    tinkc_pushed_free(&pushed);
    assert_int_equal(fakeapi_steps_left(f.hub) + fakeapi_steps_left(f.store), 0);
    const fakeapi_request *again = fakeapi_nth(f.store, "PUT", "/put", 1);
    assert_int_equal(again->body_n, WEIGHTS);
    assert_memory_equal(again->body, f.weights, WEIGHTS);
    fakeapi_reply(f.hub, "POST", PUSHFIX_COMMIT,
                  &(fakeapi_step){.status = 503, .headers = FAKEAPI_AFTER_MS(1)});
    pushfix_refused(&f, TINKC_E_SERVER, "committing: HTTP 503");
    assert_int_equal(fakeapi_count(f.hub, "POST", PUSHFIX_COMMIT), 2);
    pushfix_end(&f);
}

/* M-138: the transport does not repeat a commit either, when a connection that was used
 * before ends without an answer: the hub may have committed. */
static void test_push_commit_lost(void **unused)
{
    static const fakeapi_fault faults[] = {FAKEAPI_DROP, FAKEAPI_RESET};
    for (size_t i = 0; i < TK_ARRAY_LEN(faults); i++) {
        pushfix f;
        pushfix_begin(&f);
        f.options.max_retries = 2;
        fakeapi_default(f.hub, "POST", PUSHFIX_COMMIT,
                        &(fakeapi_step){.fault = faults[i]});
        pushfix_refused(&f, TINKC_E_CONNECTION, "committing");
        assert_int_equal(fakeapi_count(f.hub, "POST", PUSHFIX_COMMIT), 1);
        pushfix_end(&f);
    }
}

/* M-138: a question is repeated five times at most, also where the configuration has
 * more. */
static void test_push_retries_most(void **unused)
{
    static const char *const config[] = {"max_retries", "9", NULL};
    pushfix f;
    pushfix_begin(&f);
    tinkc_service_close(&f.down.service);
    f.down.service = servicefix_open(f.down.api, config);
    f.options.max_retries = -1;
    fakeapi_default(
        f.hub, "GET", "/api/whoami-v2",
        &(fakeapi_step){.status = 503, .headers = FAKEAPI_AFTER_MS(1), .body = "{}"});
    pushfix_refused(&f, TINKC_E_SERVER, "HTTP 503");
    assert_int_equal(fakeapi_total(f.hub), 6);
    pushfix_end(&f);
}

/* ---- being stopped ---- */

static bool stop_at(const tinkc_push_progress *progress, void *user)
{
    const tinkc_push_stage *stage = user;
    return progress->stage != *stage;
}

/* M-138: the callback ends it at every stage. */
static void test_push_stopped(void **unused)
{
    pushfix f;
    tinkc_push_stage stage = TINKC_PUSH_LOGIN;
    pushfix_begin(&f);
    f.options.fn = stop_at;
    f.options.user = &stage;
    for (; stage <= TINKC_PUSH_COMMIT; stage++) {
        pushfix_refused(&f, TINKC_E_CANCELLED, "stopped");
    }
    assert_int_equal(fakeapi_count(f.hub, "POST", PUSHFIX_COMMIT), 0);
    pushfix_end(&f);
}

/* Stops when the storage has the request and is silent. */
static bool stop_when_sent(const tinkc_push_progress *progress, void *user)
{
    fakeapi *store = user;
    return fakeapi_total(store) == 0;
}

/* M-138: also while an answer is waited for. */
static void test_push_stopped_waiting(void **unused)
{
    pushfix f;
    pushfix_begin(&f);
    f.options.fn = stop_when_sent;
    f.options.user = f.store;
    fakeapi_default(f.store, "PUT", "/put", &(fakeapi_step){.fault = FAKEAPI_NEVER});
    pushfix_refused(&f, TINKC_E_CANCELLED, "");
    pushfix_end(&f);
}

typedef struct stop_once {
    fakeapi *api;
    const char *path;
    size_t calls; /* counted from the one that returned stop */
} stop_once;

static bool stop_once_sent(const tinkc_push_progress *progress, void *user)
{
    stop_once *s = user;
    bool stops = s->calls == 0 && fakeapi_count(s->api, "*", s->path) > 0;
    s->calls += stops || s->calls > 0 ? 1 : 0;
    return !stops;
}

/* M-138: the callback needs to stop only once, also where an unanswered request would
 * otherwise do no harm. */
static void test_push_stopped_once(void **unused)
{
    pushfix f;
    for (int i = 0; i < 2; i++) {
        pushfix_begin(&f);
        stop_once once = {i == 0 ? f.down.api : f.hub,
                          i == 0 ? "/api/v1/weights_info" : "/api/models/org/x", 0};
        f.options.fn = stop_once_sent;
        f.options.user = &once;
        f.options.repo = "org/x";
        fakeapi_default(f.hub, "POST", "/api/repos/create", &fakeapi_status(403, "{}"));
        fakeapi_default(once.api, i == 0 ? "POST" : "GET", once.path,
                        &(fakeapi_step){.fault = FAKEAPI_NEVER});
        pushfix_refused(&f, TINKC_E_CANCELLED, "");
        assert_int_equal(once.calls, 1);
        assert_int_equal(fakeapi_count(f.hub, "POST", "/api/models/*"), 0);
        pushfix_end(&f);
    }
}

/* ---- misuse ---- */

/* M-138: bad arguments are refused before anything is asked. */
static void test_push_misuse(void **unused)
{
    static const char *const nothing[] = {NULL};
    pushfix f;
    pushfix_begin(&f);
    assert_int_equal(tinkc_push_checkpoint(NULL, NULL, PATH, &f.options, NULL),
                     TINKC_E_STATE);
    assert_int_equal(tinkc_push_checkpoint(NULL, f.down.service, NULL, &f.options, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(
        tinkc_push_checkpoint(NULL, f.down.service, "tinker://x", &f.options, NULL),
        TINKC_E_INVALID);
    f.options.repo = "a--b";
    pushfix_refused(&f, TINKC_E_INVALID, "a--b");
    f.options.repo = NULL;
    f.options.revision = "a b";
    pushfix_refused(&f, TINKC_E_INVALID, "branch");
    f.options.revision = "\xff";
    pushfix_refused(&f, TINKC_E_INVALID, "branch");
    f.options.revision = NULL;
    f.options.commit_message = "caf\xe9";
    pushfix_refused(&f, TINKC_E_INVALID, "UTF-8");
    f.options.commit_message = NULL;
    f.options.allow = nothing;
    f.options.allow_n = 1;
    pushfix_refused(&f, TINKC_E_INVALID, "pattern");
    f.options.allow_n = 0;
    f.options.hub_url = "ftp://x";
    pushfix_refused(&f, TINKC_E_CONFIG, "");
    f.options.size = 3;
    pushfix_refused(&f, TINKC_E_INVALID, "");
    assert_int_equal(fakeapi_total(f.hub), 0);
    tinkc_pushed_free(NULL);
    pushfix_end(&f);
}

static bool push_once(void *user)
{
    pushfix *f = user;
    tinkc_pushed *pushed = NULL;
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    bool ok =
        tinkc_config_new(&config, NULL) == TINKC_OK &&
        tinkc_config_set(config, "base_url", fakeapi_url(f->down.api), NULL) ==
            TINKC_OK &&
        tinkc_config_set(config, "api_key", "tml-test-key", NULL) == TINKC_OK &&
        tinkc_config_set(config, "proxy", "", NULL) == TINKC_OK &&
        tinkc_config_set(config, "max_retries", "0", NULL) == TINKC_OK &&
        tinkc_config_set(config, "retry_total", "0", NULL) == TINKC_OK &&
        tinkc_service_open(&service, config, NULL) == TINKC_OK &&
        tinkc_push_checkpoint(&pushed, service, PATH, &f->options, NULL) == TINKC_OK;
    tinkc_pushed_free(&pushed);
    tinkc_service_close(&service);
    tinkc_config_free(&config);
    assert_int_equal(downloadfix_entries(f->temp), 0);
    return ok;
}

/* M-138: with any allocation failing nothing leaks, and nothing is left. */
static void test_push_allocation_sweep(void **unused)
{
    pushfix f;
    pushfix_begin(&f);
    tinkc_service_close(&f.down.service);         /* each run has its own */
    pushfix_say(&f, "GET", PUSHFIX_README, PATH); /* the message of a 404 may get lost */
    assert_true(failmem_sweep(push_once, &f, 7) > 100);
    pushfix_end(&f);
}

/* M-138: memory does not grow with the files, whether they go to the storage or, because
 * the hub calls them small, into the commit. */
static void test_push_flat_memory(void **unused)
{
    const size_t size = 4 * TK_MIB;
    char *large = downloadfix_noise(size);
    const downloadfix_member members[] = {
        {"adapter_config.json", 0, NULL, 9, "{\"r\": 32}"},
        {"adapter_model.safetensors", 0, NULL, size, large},
        {"checkpoint_complete", 0, NULL, 0, NULL},
    };
    pushfix f;
    pushfix_begin_with(&f, members, TK_ARRAY_LEN(members), NULL);
    tinkc_service_close(&f.down.service);
    assert_int_equal(tk_sha256_hex(f.sha, large, size, NULL), TINKC_OK);
    pushfix_basic(&f);
    for (int small = 0; small < 2; small++) {
        if (small == 1) {
            pushfix_say(
                &f, "POST", PUSHFIX_SORT,
                "{\"files\":[{\"path\":\"README.md\",\"uploadMode\":\"regular\"},"
                "{\"path\":\"adapter_config.json\",\"uploadMode\":\"regular\"},"
                "{\"path\":\"adapter_model.safetensors\",\"uploadMode\":\"regular\"}]}");
        }
        failmem_start();
        bool ok = push_once(&f);
        size_t peak = failmem_peak_bytes();
        assert_int_equal(failmem_stop(), 0);
        assert_true(ok);
        assert_in_range(peak, 1, 2 * TK_MIB);
    }
    assert_memory_equal(fakeapi_nth(f.store, "PUT", "/put", 0)->body, large, size);
    const fakeapi_request *commit = fakeapi_nth(f.hub, "POST", PUSHFIX_COMMIT, 1);
    assert_true(commit->body_n > size * 4 / 3);
    free(large);
    pushfix_end(&f);
}

int main(void)
{
    pushfix_go_online();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_push_not_logged_in),
        cmocka_unit_test(test_push_offline),
        cmocka_unit_test(test_push_log),
        cmocka_unit_test(test_push_content),
        cmocka_unit_test(test_push_download),
        cmocka_unit_test(test_push_retries),
        cmocka_unit_test(test_push_commit_lost),
        cmocka_unit_test(test_push_retries_most),
        cmocka_unit_test(test_push_stopped),
        cmocka_unit_test(test_push_stopped_waiting),
        cmocka_unit_test(test_push_stopped_once),
        cmocka_unit_test(test_push_misuse),
        cmocka_unit_test(test_push_allocation_sweep),
        cmocka_unit_test(test_push_flat_memory),
    };
    return cmocka_run_group_tests_name("push_fail", tests, NULL, NULL);
}
