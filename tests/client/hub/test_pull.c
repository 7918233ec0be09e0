/* Models from a hub: the layout of the cache, what is resumed and what is not, checksums, a
 * full disk, hostile lists, and where the token goes.
 * Links: front */
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>

#include <tinkc/pull.h>

#include "support/failmem.h"
#include "support/fakefront.h"
#include "support/pullfix.h"
#include "support/servicefix.h"

#define TOKEN "hf_abcdefSECRETghijkl"

typedef struct fix {
    pullfix pull;
    tinkc_pull_options options;
    char said[512]; /* the last error */
} fix;

static void begin(fix *f)
{
    memset(f, 0, sizeof(*f));
    pullfix_open(&f->pull);
    f->options = (tinkc_pull_options)TINKC_PULL_OPTIONS_INIT;
    f->options.cache_dir = f->pull.dir;
    f->options.hub_url = fakeapi_url(f->pull.hub);
    f->options.hub_token = "";
    f->options.max_retries = 0;
    f->options.retry_ms = 1;
}

static void end(fix *f)
{
    pullfix_close(&f->pull);
}

static tinkc_code pull(fix *f, const char *name)
{
    tinkc_error *error = NULL;
    char *dir = NULL;
    tinkc_code code = tinkc_pull_model(&dir, NULL, name, &f->options, &error);
    (void)snprintf(f->said, sizeof(f->said), "%s",
                   code != TINKC_OK ? tinkc_error_message(error) : dir);
    assert_true((code == TINKC_OK) == (dir != NULL));
    tinkc_error_free(&error);
    tinkc_text_free(&dir);
    return code;
}

static void expect(fix *f, tinkc_code code, const char *text)
{
    tinkc_code got = pull(f, "org/m");
    if (got != code || strstr(f->said, text) == NULL) {
        fail_msg("%s instead of %s, without '%s': %s", tinkc_code_name(got),
                 tinkc_code_name(code), text, f->said);
    }
}

static bool is_found(fix *f, const char *name, const char *revision)
{
    char *dir = NULL;
    f->options.revision = revision;
    tinkc_code code = tinkc_pull_find(&dir, name, &f->options, NULL);
    f->options.revision = NULL;
    assert_true(code == TINKC_OK || code == TINKC_E_MISSING || code == TINKC_E_INVALID);
    if (code == TINKC_OK) {
        assert_string_equal(dir, pullfix_path(&f->pull, PULLFIX_SNAP));
    }
    tinkc_text_free(&dir);
    return code == TINKC_OK;
}

static size_t fetched(fix *f)
{
    return fakeapi_count(f->pull.hub, "GET", PULLFIX_RESOLVE "*");
}

/* ---- what it makes ---- */

static void test_pull_layout(void **unused)
{
    fix f;
    char link[128] = "", *ref = NULL;
    begin(&f);
    assert_false(is_found(&f, "org/m", NULL));
    expect(&f, TINKC_OK, PULLFIX_SNAP);
    pullfix_whole(&f.pull);
    assert_int_equal(pullfix_size(&f.pull, PULLFIX_SNAP "/config.json"), 2);
    assert_true(readlink(pullfix_path(&f.pull, PULLFIX_SNAP "/config.json"), link,
                         sizeof(link) - 1) > 0);
    assert_string_equal(link, "../../blobs/" PULLFIX_BLOB);
    assert_int_equal(tk_file_read(&ref, NULL,
                                  pullfix_path(&f.pull, PULLFIX_FOLDER "/refs/main"), 100,
                                  NULL),
                     TINKC_OK);
    assert_string_equal(ref, PULLFIX_COMMIT);
    tk_free(ref);
    assert_true(is_found(&f, "org/m", NULL));
    assert_true(is_found(&f, "org/m", PULLFIX_COMMIT));
    assert_false(is_found(&f, "org/m", "other"));
    assert_false(is_found(&f, "org/n", NULL));
    assert_false(is_found(&f, "../m", NULL));
    assert_false(is_found(&f, "org/m", "../main"));
    /* again: nothing is fetched */
    assert_int_equal(fetched(&f), 2);
    expect(&f, TINKC_OK, PULLFIX_SNAP);
    assert_int_equal(fetched(&f), 2);
    /* into a directory: plain files, and again only what has changed */
    const char *dir = pullfix_path(&f.pull, "own/dir");
    f.options.directory = dir;
    expect(&f, TINKC_OK, dir);
    assert_int_equal(pullfix_size(&f.pull, "own/dir/model.safetensors"), PULLFIX_BYTES);
    size_t before = fetched(&f);
    assert_int_equal(truncate(pullfix_path(&f.pull, "own/dir/model.safetensors"), 10), 0);
    expect(&f, TINKC_OK, dir);
    assert_int_equal(fakeapi_count(f.pull.hub, "GET", PULLFIX_WEIGHTS), 3);
    assert_int_equal(fetched(&f),
                     before + 2); /* config.json has no checksum to compare */
    end(&f);
}

static bool count_calls(const tinkc_pull_progress *progress, void *user)
{
    tinkc_pull_progress *last = user;
    assert_true(progress->done >= last->done || progress->files < last->files);
    assert_true(progress->total < 0 || progress->done <= (uint64_t)progress->total);
    *last = *progress;
    return true;
}

static bool stop_late(const tinkc_pull_progress *progress, void *user)
{
    (void)user;
    return progress->done < 1000;
}

static void test_pull_progress(void **unused)
{
    fix f;
    tinkc_pull_progress last = {0};
    begin(&f);
    f.options.fn = stop_late;
    expect(&f, TINKC_E_CANCELLED, "");
    long kept = pullfix_size(&f.pull, pullfix_partial(&f.pull));
    assert_in_range(kept, 1000, PULLFIX_BYTES);
    assert_false(is_found(&f, "org/m", NULL));
    f.options.fn = count_calls;
    f.options.user = &last;
    expect(&f, TINKC_OK, "");
    pullfix_whole(&f.pull);
    assert_int_equal(last.total, PULLFIX_BYTES + 2);
    assert_int_equal(last.files_n, 2);
    end(&f);
}

/* ---- interruptions ---- */

/* The same call goes on after a cut; another one, after a failure, does, too. */
static void test_pull_resumes(void **unused)
{
    fix f;
    begin(&f);
    pullfix_cut(&f.pull, 50000);
    expect(&f, TINKC_E_CONNECTION, "");
    assert_int_equal(pullfix_size(&f.pull, pullfix_partial(&f.pull)), 50000);
    assert_false(is_found(&f, "org/m", NULL));
    assert_int_equal(pullfix_size(&f.pull, PULLFIX_SNAP "/model.safetensors"), -1);
    pullfix_range(&f.pull, 50000);
    expect(&f, TINKC_OK, "");
    const fakeapi_request *last = fakeapi_nth(f.pull.hub, "GET", PULLFIX_WEIGHTS, 1);
    assert_string_equal(fakeapi_header(last, "range"), "bytes=50000-");
    pullfix_whole(&f.pull);
    assert_int_equal(pullfix_size(&f.pull, pullfix_partial(&f.pull)), -1);
    end(&f);
    /* within one call */
    begin(&f);
    f.options.max_retries = 3;
    pullfix_cut(&f.pull, 70000);
    pullfix_range(&f.pull, 70000);
    expect(&f, TINKC_OK, "");
    pullfix_whole(&f.pull);
    end(&f);
    /* a hub without ranges sends all again */
    begin(&f);
    pullfix_cut(&f.pull, 60000);
    expect(&f, TINKC_E_CONNECTION, "");
    expect(&f, TINKC_OK, "");
    pullfix_whole(&f.pull);
    end(&f);
}

/* Partial files that an earlier program has left: whole, too long, or other bytes. */
static void test_pull_strange_partials(void **unused)
{
    fix f;
    begin(&f);
    for (int i = 0; i < 3; i++) {
        char *bytes = calloc(1, PULLFIX_BYTES + 5);
        assert_non_null(bytes);
        if (i == 0) {
            memcpy(bytes, f.pull.weights, PULLFIX_BYTES);
        }
        size_t n = i == 0 ? PULLFIX_BYTES : i == 1 ? PULLFIX_BYTES + 5 : 1000;
        assert_int_equal(
            tk_file_mkdirs(pullfix_path(&f.pull, PULLFIX_FOLDER "/blobs"), 0777, NULL),
            TINKC_OK);
        assert_int_equal(tk_file_replace(pullfix_path(&f.pull, pullfix_partial(&f.pull)),
                                         bytes, n, 0644, NULL),
                         TINKC_OK);
        free(bytes);
        if (i == 2) { /* the wrong beginning is noticed at the end, and thrown away */
            pullfix_range(&f.pull, 1000);
            expect(&f, TINKC_E_DECODE, "checksum");
            assert_int_equal(pullfix_size(&f.pull, pullfix_partial(&f.pull)), -1);
        }
        expect(&f, TINKC_OK, "");
        pullfix_whole(&f.pull);
        assert_int_equal(fakeapi_count(f.pull.hub, "GET", PULLFIX_WEIGHTS), i == 0   ? 0
                                                                            : i == 1 ? 1
                                                                                     : 3);
        char blob[160];
        (void)snprintf(blob, sizeof(blob), PULLFIX_FOLDER "/blobs/%s", f.pull.sha);
        assert_int_equal(unlink(pullfix_path(&f.pull, blob)), 0);
    }
    /* another process is at it */
    int fd =
        open(pullfix_path(&f.pull, pullfix_partial(&f.pull)), O_RDWR | O_CREAT, 0644);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    expect(&f, TINKC_E_STATE, "another process");
    (void)close(fd);
    /* a link in its place is not followed */
    assert_int_equal(unlink(pullfix_path(&f.pull, pullfix_partial(&f.pull))), 0);
    assert_int_equal(
        symlink("/dev/null", pullfix_path(&f.pull, pullfix_partial(&f.pull))), 0);
    expect(&f, TINKC_E_IO, "");
    end(&f);
}

/* ---- what is wrong at the hub ---- */

static void test_pull_checksum(void **unused)
{
    fix f;
    begin(&f);
    f.pull.weights[100] ^= 1;
    fakeapi_default(f.pull.hub, "GET", PULLFIX_WEIGHTS,
                    &(fakeapi_step){.body = f.pull.weights, .body_n = PULLFIX_BYTES});
    expect(&f, TINKC_E_DECODE, "checksum");
    assert_int_equal(pullfix_size(&f.pull, pullfix_partial(&f.pull)), -1);
    assert_int_equal(pullfix_size(&f.pull, PULLFIX_SNAP "/model.safetensors"), -1);
    assert_false(is_found(&f, "org/m", NULL));
    /* files of another length than the list says */
    for (int i = -1; i <= 1; i += 2) {
        fakeapi_default(f.pull.hub, "GET", PULLFIX_WEIGHTS,
                        &(fakeapi_step){.body = f.pull.weights,
                                        .body_n = (size_t)(PULLFIX_BYTES / 2 + i)});
        char weights[512];
        pullfix_entry(weights, sizeof(weights), "model.safetensors", PULLFIX_BYTES / 2,
                      NULL);
        pullfix_list(&f.pull, weights);
        expect(&f, TINKC_E_DECODE, i < 0 ? "shorter" : "longer");
    }
    end(&f);
}

static void test_pull_hostile_lists(void **unused)
{
    static const char *const names[] = {
        "../x.json",     "/x.json",   "a/../x.json", "a//x.json", "..", "a/..",
        "x\\u0000.json", "x\\n.json", "a\\\\b.json", "./x.json",  ""};
    static const char *const harmless[] = {
        "onnx/model.json", "original/x.safetensors", ".hidden.json", "-x.json",
        "a b.json",        "\xc3\xa9.json",          "weights.bin",  "README.md"};
    static const char *const answers[] = {
        "[]",
        "{}",
        "{\"sha\":7}",
        "{\"sha\":\"" PULLFIX_COMMIT "\"}",
        "{\"sha\":\"../../../../../../../../../../../tmp/xx\",\"siblings\":[]}",
        "{\"sha\":\"" PULLFIX_COMMIT "\",\"siblings\":[7]}",
        "{\"sha\":\"" PULLFIX_COMMIT
        "\",\"siblings\":[{\"rfilename\":\"a.json\",\"size\":1}]}",
        "{\"sha\":\"" PULLFIX_COMMIT
        "\",\"siblings\":[{\"rfilename\":\"a.json\",\"size\":1,\"blobId\":\"../../x\"}]}",
        "{\"sha\":\"" PULLFIX_COMMIT
        "\",\"siblings\":[{\"rfilename\":\"a.json\",\"size\":-1,\"blobId\":\"" PULLFIX_BLOB
        "\"}]}",
        "{\"sha\":\"" PULLFIX_COMMIT
        "\",\"siblings\":[{\"rfilename\":\"a.json\",\"blobId\":\"" PULLFIX_BLOB "\"}]}",
        "{\"sha\":\"" PULLFIX_COMMIT
        "\",\"siblings\":[{\"rfilename\":\"a.json\",\"size\":9223372036854775807,\"blobId\":\"" PULLFIX_BLOB
        "\"}]}",
    };
    fix f;
    char more[512];
    begin(&f);
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        more[0] = ',';
        pullfix_entry(more + 1, sizeof(more) - 1, names[i], 3, NULL);
        pullfix_usual(&f.pull, f.pull.sha, more);
        expect(&f, TINKC_E_DECODE, "file name that is refused");
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(answers); i++) {
        fakeapi_default(f.pull.hub, "GET", PULLFIX_LIST, &fakeapi_json(answers[i]));
        tinkc_code code = pull(&f, "org/m");
        assert_true(code == TINKC_E_DECODE || code == TINKC_E_UNSUPPORTED);
    }
    pullfix_usual(&f.pull, f.pull.sha,
                  ",{\"rfilename\":\"config.json\",\"size\":2,\"blobId\":\"" PULLFIX_BLOB
                  "\"}");
    expect(&f, TINKC_E_DECODE, "twice");
    assert_int_equal(fetched(&f), 0);
    for (size_t i = 0; i < TK_ARRAY_LEN(harmless); i++) {
        more[0] = ',';
        pullfix_entry(more + 1, sizeof(more) - 1, harmless[i], 3, NULL);
        pullfix_usual(&f.pull, f.pull.sha, more);
        expect(&f, TINKC_OK, "");
    }
    assert_int_equal(fetched(&f), 2);
    /* names that are not asked for at all */
    assert_int_equal(pull(&f, "../m"), TINKC_E_INVALID);
    assert_int_equal(pull(&f, "org/m/x"), TINKC_E_INVALID);
    assert_int_equal(pull(&f, "a--b"), TINKC_E_INVALID);
    assert_int_equal(pull(&f, NULL), TINKC_E_INVALID);
    f.options.revision = "a/../b";
    assert_int_equal(pull(&f, "org/m"), TINKC_E_INVALID);
    f.options.revision = NULL;
    assert_int_equal(pull(&f, "org/none"), TINKC_E_NOT_FOUND);
    end(&f);
}

/* ---- the disk ---- */

/* More than there is: said before a byte is asked for. In the middle: what has arrived is
 * kept, and the next call goes on. */
static void test_pull_full_disk(void **unused)
{
    fix f;
    char weights[512];
    struct rlimit old, small;
    begin(&f);
    pullfix_entry(weights, sizeof(weights), "model.safetensors", (long long)1 << 43,
                  f.pull.sha);
    pullfix_list(&f.pull, weights);
    expect(&f, TINKC_E_IO, "MiB more on the disk");
    assert_int_equal(fetched(&f), 0);
    pullfix_usual(&f.pull, f.pull.sha, "");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){.rlim_cur = 100000, .rlim_max = old.rlim_max};
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    tinkc_code code = pull(&f, "org/m");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    (void)signal(SIGXFSZ, before);
    assert_int_equal(code, TINKC_E_IO);
    assert_non_null(strstr(f.said, "the disk is full"));
    assert_int_equal(pullfix_size(&f.pull, pullfix_partial(&f.pull)), 100000);
    assert_false(is_found(&f, "org/m", NULL));
    pullfix_range(&f.pull, 100000);
    expect(&f, TINKC_OK, "");
    pullfix_whole(&f.pull);
    end(&f);
}

/* ---- the token, and redirects ---- */

static void test_pull_token(void **unused)
{
    fix f;
    char location[128];
    begin(&f);
    fakeapi *store = fakeapi_start();
    fakeapi_default(store, "GET", "/blob",
                    &(fakeapi_step){.body = f.pull.weights, .body_n = PULLFIX_BYTES});
    (void)snprintf(location, sizeof(location), "location: %s/blob\r\n",
                   fakeapi_url(store));
    fakeapi_default(f.pull.hub, "GET", PULLFIX_WEIGHTS,
                    &(fakeapi_step){.status = 302, .headers = location});
    f.options.hub_token = TOKEN;
    expect(&f, TINKC_OK, "");
    pullfix_whole(&f.pull);
    for (size_t i = 0; i < fakeapi_total(f.pull.hub); i++) {
        assert_string_equal(
            fakeapi_header(fakeapi_request_at(f.pull.hub, i), "authorization"),
            "Bearer " TOKEN);
    }
    assert_int_equal(fakeapi_total(store), 1);
    assert_null(fakeapi_header(fakeapi_request_at(store, 0), "authorization"));
    fakeapi_default(f.pull.hub, "GET", PULLFIX_LIST,
                    &fakeapi_status(401, "{\"error\":\"who?\"}"));
    expect(&f, TINKC_E_AUTH, "who?");
    fakeapi_stop(&store);
    end(&f);
}

/* A hub of https may not lead us to a plain server. */
static void test_pull_downgrade(void **unused)
{
    fix f;
    char location[128];
    tinkc_error *error = NULL;
    begin(&f);
    fakeapi *store = fakeapi_start(), *api = fakeapi_start();
    fakefront *front =
        fakefront_start(f.pull.hub, &(fakefront_options){.talk = FAKEFRONT_HTTP1});
    const char *const options[] = {"ca_file", fakefront_ca_file(front), "connect_timeout",
                                   "120000", NULL};
    tinkc_service *service = servicefix_open(api, options);
    (void)snprintf(location, sizeof(location), "location: %s/blob\r\n",
                   fakeapi_url(store));
    fakeapi_reply(f.pull.hub, "GET", PULLFIX_WEIGHTS,
                  &(fakeapi_step){.status = 302, .headers = location});
    f.options.hub_url = fakefront_url(front);
    assert_int_equal(tinkc_pull_model(NULL, service, "org/m", &f.options, &error),
                     TINKC_E_CONNECTION);
    tinkc_error_free(&error);
    assert_int_equal(fakeapi_total(store), 0);
    assert_int_equal(tinkc_pull_model(NULL, service, "org/m", &f.options, NULL),
                     TINKC_OK);
    pullfix_whole(&f.pull);
    tinkc_service_close(&service);
    fakefront_stop(&front);
    fakeapi_stop(&store);
    fakeapi_stop(&api);
    end(&f);
}

/* ---- allocations ---- */

static bool sweep(void *user)
{
    const fix *f = user;
    char command[128], *dir = NULL, *found = NULL;
    tinkc_error *error = NULL;
    tinkc_code code = tinkc_pull_model(&dir, NULL, "org/m", &f->options, &error);
    tinkc_error_free(&error);
    if (code == TINKC_OK) {
        code = tinkc_pull_find(&found, "org/m", &f->options, &error);
        tinkc_error_free(&error);
    }
    tinkc_text_free(&dir);
    tinkc_text_free(&found);
    (void)snprintf(command, sizeof(command), "rm -rf %s/*", f->pull.dir);
    assert_int_equal(system(command), 0);
    return code == TINKC_OK;
}

static void test_pull_allocation_sweep(void **unused)
{
    fix f;
    begin(&f);
    assert_true(failmem_sweep(sweep, &f, 3) > 50);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pull_layout),
        cmocka_unit_test(test_pull_progress),
        cmocka_unit_test(test_pull_resumes),
        cmocka_unit_test(test_pull_strange_partials),
        cmocka_unit_test(test_pull_checksum),
        cmocka_unit_test(test_pull_hostile_lists),
        cmocka_unit_test(test_pull_full_disk),
        cmocka_unit_test(test_pull_token),
        cmocka_unit_test(test_pull_downgrade),
        cmocka_unit_test(test_pull_allocation_sweep),
    };
    return cmocka_run_group_tests_name("pull", tests, NULL, NULL);
}
