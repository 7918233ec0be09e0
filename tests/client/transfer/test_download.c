/* Downloads from a server that is interrupted at will: the right files or a clear error
 * and nothing left behind (M-131). What archives may hold is test_download_checks.c's.
 * Links: peer */
#include <tinkc/hooks.h>

#include "base/clock.h"
#include "client/transfer/fetch.h"
#include "support/downloadfix.h"

/* ---- what works ---- */

/* M-131: every compression that the official client takes, and zstd; both loops. */
static void test_download_formats(void **unused)
{
    static const int filters[] = {ARCHIVE_FILTER_NONE, ARCHIVE_FILTER_GZIP,
                                  ARCHIVE_FILTER_BZIP2, ARCHIVE_FILTER_XZ,
                                  ARCHIVE_FILTER_ZSTD};
    static const char *const manual[] = {"loop", "manual", NULL};
    for (size_t i = 0; i < TK_ARRAY_LEN(filters); i++) {
        downloadfix f;
        tinkc_progress result;
        downloadfix_open(&f, downloadfix_checkpoint(filters[i]),
                         i % 2 == 0 ? NULL : manual);
        assert_int_equal(downloadfix_get(&f, &result, NULL), TINKC_OK);
        assert_int_equal(result.received, f.blob.n);
        assert_int_equal(result.total, f.blob.n);
        assert_int_equal(result.written, WEIGHTS + 9);
        assert_int_equal(result.files, 3);
        assert_int_equal(result.connections, 1);
        downloadfix_content(&f);
        downloadfix_close(&f);
    }
}

/* M-131: twenty disconnects at random places; each byte is asked for once. */
static void test_download_disconnects(void **unused)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        downloadfix f;
        uint64_t cuts[20];
        tinkc_progress result;
        tk_rand rand;
        downloadfix_open(
            &f,
            downloadfix_checkpoint(seed == 1 ? ARCHIVE_FILTER_NONE : ARCHIVE_FILTER_GZIP),
            NULL);
        tk_rand_init(&rand, seed);
        for (size_t i = 0; i < TK_ARRAY_LEN(cuts); i++) { /* in ascending slices */
            uint64_t slice = f.blob.n / TK_ARRAY_LEN(cuts);
            cuts[i] = slice * i + 1 + tk_rand_u64(&rand) % (slice - 1);
        }
        f.cuts = cuts;
        f.cuts_n = TK_ARRAY_LEN(cuts);
        assert_int_equal(downloadfix_get(&f, &result, NULL), TINKC_OK);
        downloadfix_content(&f);
        assert_int_equal(result.connections, 21);
        assert_int_equal(fileserver_requests(f.files), 21);
        assert_int_equal(fileserver_ranges(f.files), 20);
        assert_int_equal(fileserver_sent(f.files), f.blob.n);
        downloadfix_close(&f);
    }
}

static void reset_first(downloadfix *f, size_t index, fileserver_reply *reply)
{
    reply->reset = index < f->cuts_n;
}

static void no_ranges(downloadfix *f, size_t index, fileserver_reply *reply)
{
    reply->ignore_range = true;
}

static void no_etag(downloadfix *f, size_t index, fileserver_reply *reply)
{
    reply->etag = NULL;
}

/* Whatever the table calls transient; the retries follow each other. */
static void busy(downloadfix *f, size_t index, fileserver_reply *reply)
{
    static const int statuses[] = {503, 409, 408, 429, 500};
    if (index >= 1 && index <= TK_ARRAY_LEN(statuses)) {
        reply->status = statuses[index - 1];
    }
}

/* M-131: a download also succeeds through resets, a server without ranges, one without
 * ETag, and one that is busy for a moment. */
static void test_download_odd_servers(void **unused)
{
    static void (*const ways[])(downloadfix *, size_t, fileserver_reply *) = {
        reset_first, no_ranges, no_etag, busy};
    static const uint64_t cuts[] = {100000, 300000, 500000};
    for (size_t i = 0; i < TK_ARRAY_LEN(ways); i++) {
        downloadfix f;
        downloadfix_open(&f, downloadfix_checkpoint(ARCHIVE_FILTER_NONE), NULL);
        f.cuts = cuts;
        f.cuts_n = TK_ARRAY_LEN(cuts);
        f.decide = ways[i];
        assert_int_equal(downloadfix_get(&f, NULL, NULL), TINKC_OK);
        downloadfix_content(&f);
        downloadfix_close(&f);
    }
}

static void forbid_second(downloadfix *f, size_t index, fileserver_reply *reply)
{
    if (index == 1 || index == 2) {
        reply->status = 403;
    }
}

/* M-131: a URL that has expired is asked for again, and the transfer goes on. */
static void test_download_expired_url(void **unused)
{
    static const uint64_t cuts[] = {200000};
    downloadfix f;
    tinkc_progress result;
    downloadfix_open(&f, downloadfix_checkpoint(ARCHIVE_FILTER_NONE), NULL);
    f.cuts = cuts;
    f.cuts_n = 1;
    f.decide = forbid_second;
    assert_int_equal(downloadfix_get(&f, &result, NULL), TINKC_OK);
    downloadfix_content(&f);
    assert_int_equal(fakeapi_count(f.api, "GET", ARCHIVE), 3);
    assert_int_equal(fileserver_sent(f.files), f.blob.n);
    downloadfix_close(&f);
}

static void always_forbidden(downloadfix *f, size_t index, fileserver_reply *reply)
{
    reply->status = 403;
}

/* A URL that never works is given up, with the server's status. */
static void test_download_forbidden(void **unused)
{
    downloadfix f;
    downloadfix_open(&f, downloadfix_checkpoint(ARCHIVE_FILTER_NONE), NULL);
    f.decide = always_forbidden;
    downloadfix_refused(&f, TINKC_E_PERMISSION, "403");
    assert_int_equal(fakeapi_count(f.api, "GET", ARCHIVE), 4);
    downloadfix_close(&f);
}

static void new_version(downloadfix *f, size_t index, fileserver_reply *reply)
{
    reply->etag = index == 0 ? "\"v1\"" : "\"v2\"";
}

/* M-131: the archive was built again in between: it starts over instead of mixing two. */
static void test_download_changed_archive(void **unused)
{
    static const uint64_t cuts[] = {200000};
    downloadfix f;
    downloadfix_open(&f, downloadfix_checkpoint(ARCHIVE_FILTER_NONE), NULL);
    f.cuts = cuts;
    f.cuts_n = 1;
    f.decide = new_version;
    assert_int_equal(downloadfix_get(&f, NULL, NULL), TINKC_OK);
    downloadfix_content(&f);
    downloadfix_close(&f);
}

/* M-131: what is at the target stays unless it is to be replaced; then it goes at the
 * end. */
static void test_download_overwrite(void **unused)
{
    downloadfix f;
    char path[100];
    tinkc_error *error = NULL;
    downloadfix_open(&f, downloadfix_checkpoint(ARCHIVE_FILTER_NONE), NULL);
    assert_int_equal(mkdir(f.target, 0777), 0);
    (void)snprintf(path, sizeof(path), "%s/old", f.target);
    assert_int_equal(tk_file_replace(path, "x", 1, 0666, NULL), TINKC_OK);
    assert_int_equal(downloadfix_get(&f, NULL, &error), TINKC_E_STATE);
    tinkc_error_free(&error);
    assert_int_equal(fileserver_requests(f.files), 0);
    f.options.overwrite = true;
    f.options.max_bytes = 5;
    assert_int_equal(downloadfix_get(&f, NULL, NULL), TINKC_E_LIMIT);
    assert_int_equal(access(path, F_OK), 0); /* the old one is untouched */
    assert_int_equal(downloadfix_entries(f.folder), 1);
    f.options.max_bytes = 0;
    assert_int_equal(downloadfix_get(&f, NULL, NULL), TINKC_OK);
    downloadfix_content(&f);
    downloadfix_close(&f);
}

/* ---- ends ---- */

static bool stop_after(const tinkc_progress *progress, void *user)
{
    const uint64_t *most = user;
    return progress->received < *most;
}

/* M-131: the callback stops it: early, in the middle, and while nothing comes. */
static void test_download_cancel(void **unused)
{
    uint64_t most[] = {0, 1, 300000};
    for (size_t i = 0; i < TK_ARRAY_LEN(most); i++) {
        downloadfix f;
        downloadfix_open(&f, downloadfix_checkpoint(ARCHIVE_FILTER_NONE), NULL);
        f.options.fn = stop_after;
        f.options.user = &most[i];
        downloadfix_refused(&f, TINKC_E_CANCELLED, "");
        downloadfix_close(&f);
    }
    downloadfix f;
    downloadfix_open(&f, downloadfix_checkpoint(ARCHIVE_FILTER_NONE), NULL);
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_reply(f.api, "GET", ARCHIVE, &(fakeapi_step){.gate = gate});
    f.options.fn = stop_after;
    f.options.user = &most[0];
    downloadfix_refused(&f, TINKC_E_CANCELLED, "");
    downloadfix_close(&f);
}

static void always_cut(downloadfix *f, size_t index, fileserver_reply *reply)
{
    reply->cut = 5000;
}

/* M-131: a server that never gets further is given up after a fixed number of tries
 * without a byte. */
static void test_download_gives_up(void **unused)
{
    downloadfix f;
    downloadfix_open(&f, downloadfix_checkpoint(ARCHIVE_FILTER_NONE), NULL);
    f.decide = always_cut;
    f.options.max_retries = 4;
    downloadfix_refused(&f, TINKC_E_CONNECTION, "");
    assert_int_equal(fileserver_requests(f.files), 5); /* one with bytes, four without */
    downloadfix_close(&f);
}

/* doubled up to 10 s; a longer hint rules, up to an hour. */
static void test_download_delays(void **unused)
{
    static const struct {
        int failures;
        int64_t hint_ms, delay_ms;
    } rows[] = {{1, -1, 200},    {2, -1, 400},      {6, -1, 6400},
                {7, -1, 10000},  {100, -1, 10000},  {1, 100, 200},
                {1, 5000, 5000}, {7, 61000, 61000}, {1, 3600001, 3600000}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        assert_int_equal(tk_fetch_delay_ms(200, rows[i].failures, rows[i].hint_ms),
                         rows[i].delay_ms);
    }
}

/* The checkpoint is not there: reported once, with the server's message. */
static void test_download_missing(void **unused)
{
    downloadfix f;
    downloadfix_open(&f, downloadfix_checkpoint(ARCHIVE_FILTER_NONE), NULL);
    fakeapi_default(f.api, "GET", ARCHIVE, &fakeapi_detail(404, "no such checkpoint"));
    downloadfix_refused(&f, TINKC_E_NOT_FOUND, "no such checkpoint");
    assert_int_equal(fakeapi_count(f.api, "GET", ARCHIVE), 1);
    assert_int_equal(tinkc_download_checkpoint(NULL, NULL, PATH, f.target, NULL, NULL),
                     TINKC_E_STATE);
    assert_int_equal(
        tinkc_download_checkpoint(NULL, f.service, "x", f.target, NULL, NULL),
        TINKC_E_INVALID);
    assert_int_equal(tinkc_download_checkpoint(NULL, f.service, PATH, "", NULL, NULL),
                     TINKC_E_INVALID);
    downloadfix_close(&f);
}

/* One file: cut and taken up again; a 404 is not asked for twice. */
static void test_download_url(void **unused)
{
    static const uint64_t cuts[] = {10, 300000};
    downloadfix f;
    char file[100], *data = NULL;
    size_t n = 0;
    tinkc_progress result;
    downloadfix_open(&f, (downloadfix_blob){downloadfix_noise(500000), 500000, 0}, NULL);
    f.cuts = cuts;
    f.cuts_n = 2;
    (void)snprintf(file, sizeof(file), "%s/new/trace", f.folder);
    assert_int_equal(tinkc_download_url(&result, f.service, fileserver_url(f.files), file,
                                        &f.options, NULL),
                     TINKC_OK);
    assert_int_equal(result.written, 500000);
    assert_int_equal(tk_file_read(&data, &n, file, 500001, NULL), TINKC_OK);
    assert_int_equal(n, 500000);
    assert_memory_equal(data, f.blob.p, n);
    tk_free(data);
    assert_int_equal(tinkc_download_url(NULL, f.service, fileserver_url(f.files), file,
                                        &f.options, NULL),
                     TINKC_E_STATE);
    f.decide = always_forbidden;
    (void)snprintf(file, sizeof(file), "%s/other", f.folder);
    assert_int_equal(tinkc_download_url(NULL, f.service, fileserver_url(f.files), file,
                                        &f.options, NULL),
                     TINKC_E_PERMISSION);
    assert_int_equal(access(file, F_OK), -1);
    assert_int_equal(fileserver_requests(f.files), 4);
    downloadfix_close(&f);
}

/* A server that sends a byte per request is asked ten times a second, also when the options
 * want no delay: five requests take four tenths of a second at least. */
static void test_download_pace(void **unused)
{
    static const uint64_t cuts[] = {1, 2, 3, 4};
    downloadfix f;
    char file[100];
    downloadfix_open(&f, (downloadfix_blob){downloadfix_noise(500), 500, 0}, NULL);
    f.cuts = cuts;
    f.cuts_n = TK_ARRAY_LEN(cuts);
    (void)snprintf(file, sizeof(file), "%s/bytes", f.folder);
    int64_t begin_ms = tk_clock_mono_ms(NULL);
    assert_int_equal(tinkc_download_url(NULL, f.service, fileserver_url(f.files), file,
                                        &f.options, NULL),
                     TINKC_OK);
    assert_true(tk_clock_mono_ms(NULL) - begin_ms >= 400);
    assert_int_equal(fileserver_requests(f.files), 5);
    downloadfix_close(&f);
}

/* The deadline of a context is for the whole download, not for each of its tries. */
static void test_download_deadline(void **unused)
{
    downloadfix f;
    char file[100], url[200];
    tinkc_service *limited = NULL;
    tinkc_context context = TINKC_CONTEXT_INIT;
    context.deadline_ms = 300;
    downloadfix_open(&f, (downloadfix_blob){downloadfix_noise(10), 10, 0}, NULL);
    fakeapi_default(f.api, "GET", "/silent", &(fakeapi_step){.fault = FAKEAPI_NEVER});
    assert_int_equal(tinkc_service_with_context(&limited, f.service, &context, NULL),
                     TINKC_OK);
    f.options.max_retries = 4;
    (void)snprintf(url, sizeof(url), "%s/silent", fakeapi_url(f.api));
    (void)snprintf(file, sizeof(file), "%s/file", f.folder);
    assert_int_equal(tinkc_download_url(NULL, limited, url, file, &f.options, NULL),
                     TINKC_E_TIMEOUT);
    assert_int_equal(fakeapi_count(f.api, "GET", "/silent"), 1);
    tinkc_service_close(&limited);
    downloadfix_close(&f);
}

/* ---- memory ---- */

#ifdef TINKC_SANITIZED
#define FLAT_MB 10 /* the property is the same, the time is not */
#else
#define FLAT_MB 50
#endif

/* M-131: 50 MB through a few hundred kilobytes. */
static void test_download_flat_memory(void **unused)
{
    enum { SIZE = FLAT_MB * 1000 * 1000 };
    downloadfix_blob b;
    struct archive *archive = downloadfix_tar(&b, ARCHIVE_FILTER_NONE);
    downloadfix_add(
        archive, &(downloadfix_member){"adapter_model.safetensors", 0, NULL, SIZE, NULL});
    downloadfix_tar_end(archive);
    failmem_start();
    downloadfix f;
    tinkc_progress result;
    downloadfix_open(&f, b, NULL);
    assert_int_equal(downloadfix_get(&f, &result, NULL), TINKC_OK);
    assert_int_equal(result.written, SIZE);
    assert_true(failmem_peak_bytes() < 1000000);
    downloadfix_close(&f);
    assert_int_equal(failmem_stop(), 0);
}

static bool sweep_once(void *user)
{
    const downloadfix_blob *b = user;
    static const uint64_t cuts[] = {3000};
    downloadfix f = {
        .blob = *b, .options = TINKC_DOWNLOAD_OPTIONS_INIT, .cuts = cuts, .cuts_n = 1};
    (void)snprintf(f.folder, sizeof(f.folder), "/tmp/tinkc-download-XXXXXX");
    assert_non_null(mkdtemp(f.folder));
    (void)snprintf(f.target, sizeof(f.target), "%s/out", f.folder);
    f.options.retry_ms = 0;
    f.api = fakeapi_start();
    fakeapi_default(f.api, "POST", "/api/v1/client/*", &fakeapi_json("{}"));
    fileserver_options server = {f.blob.n, downloadfix_read, downloadfix_decide, &f};
    f.files = fileserver_start(&server);
    downloadfix_point(&f);
    tinkc_config *config = NULL;
    bool ok =
        tinkc_config_new(&config, NULL) == TINKC_OK &&
        tinkc_config_set(config, "base_url", fakeapi_url(f.api), NULL) == TINKC_OK &&
        tinkc_config_set(config, "loop", "manual", NULL) == TINKC_OK &&
        tinkc_service_open(&f.service, config, NULL) == TINKC_OK &&
        downloadfix_get(&f, NULL, NULL) == TINKC_OK;
    tinkc_config_free(&config);
    assert_int_equal(downloadfix_entries(f.folder), ok ? 1 : 0);
    f.blob.p = NULL;
    downloadfix_close(&f);
    return ok;
}

static void test_download_allocation_sweep(void **unused)
{
    downloadfix_blob b;
    struct archive *archive = downloadfix_tar(&b, ARCHIVE_FILTER_GZIP);
    char *weights = downloadfix_noise(6000);
    downloadfix_add(archive, &(downloadfix_member){"a/b", 0, NULL, 6000, weights});
    downloadfix_tar_end(archive);
    assert_true(failmem_sweep(sweep_once, &b, 3) > 50);
    free(weights);
    free(b.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_download_formats),
        cmocka_unit_test(test_download_disconnects),
        cmocka_unit_test(test_download_odd_servers),
        cmocka_unit_test(test_download_expired_url),
        cmocka_unit_test(test_download_forbidden),
        cmocka_unit_test(test_download_changed_archive),
        cmocka_unit_test(test_download_overwrite),
        cmocka_unit_test(test_download_cancel),
        cmocka_unit_test(test_download_gives_up),
        cmocka_unit_test(test_download_delays),
        cmocka_unit_test(test_download_missing),
        cmocka_unit_test(test_download_url),
        cmocka_unit_test(test_download_pace),
        cmocka_unit_test(test_download_deadline),
        cmocka_unit_test(test_download_flat_memory),
        cmocka_unit_test(test_download_allocation_sweep),
    };
    return cmocka_run_group_tests_name("download", tests, NULL, NULL);
}
