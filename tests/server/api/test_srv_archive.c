/* S-022: downloads of checkpoints: the signed link, the tar, parts of it, our client.
 * Links: client */
#include <tinkc/download.h>

#include "server/api/srv_link.h"
#include "server/restfix.h"

/* The path and query of the link for a checkpoint. */
static void ask_link(restfix *t, const char *id, char out[1024])
{
    char path[256];
    httpget_response r;
    (void)snprintf(path, sizeof(path), "/api/v1/training_runs/%s/checkpoints/%s/archive",
                   t->run, id);
    const httpget_request request = {.target = path};
    assert_int_equal(httpget_once(srvfix_port(&t->srv), &request, &r), HTTPGET_OK);
    assert_int_equal(r.status, 302);
    assert_non_null(httpget_header(&r, "Expires"));
    const char *location = httpget_header(&r, "Location");
    assert_non_null(location);
    size_t n = strlen("http://127.0.0.1");
    assert_memory_equal(location, "http://127.0.0.1", n);
    (void)snprintf(out, 1024, "%s", strchr(location + n, '/'));
    httpget_response_dispose(&r);
}

static int get(restfix *t, const char *target, const char *headers, httpget_response *r)
{
    const httpget_request request = {.target = target, .headers = headers};
    assert_int_equal(httpget_once(srvfix_port(&t->srv), &request, r), HTTPGET_OK);
    return r->status;
}

static int status_of(restfix *t, const char *target, const char *headers)
{
    httpget_response r;
    int status = get(t, target, headers, &r);
    httpget_response_dispose(&r);
    return status;
}

static void open_with_one(restfix *t, char link[1024])
{
    restfix_open(t);
    restfix_save(t, 1, "save_weights_for_sampler", "\"path\":\"one\"");
    ask_link(t, "sampler_weights/one", link);
}

/* A client that came by https, through a proxy in front of the server, does not go on
 * to http. */
static void test_srv_archive_link_has_scheme_of_proxy(void **state)
{
    static const struct {
        const char *headers, *begin;
    } rows[] = {
        {"X-Forwarded-Proto: https\r\n", "https://127.0.0.1"},
        {"X-Forwarded-Proto: HTTPS\r\n", "https://127.0.0.1"},
        {"X-Forwarded-Proto: http\r\n", "http://127.0.0.1"},
        {"X-Forwarded-Proto: evil://example.org/\r\n", "http://127.0.0.1"},
    };
    restfix t;
    char link[1024], path[256];
    open_with_one(&t, link);
    (void)snprintf(path, sizeof(path),
                   "/api/v1/training_runs/%s/checkpoints/sampler_weights/one/archive",
                   t.run);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        httpget_response r;
        assert_int_equal(get(&t, path, rows[i].headers, &r), 302);
        assert_memory_equal(httpget_header(&r, "Location"), rows[i].begin,
                            strlen(rows[i].begin));
        httpget_response_dispose(&r);
    }
    srvfix_close(&t.srv);
}

/* S-022: docs/protocol.md §11 row 22. */
static void test_srv_archive_is_a_tar(void **state)
{
    restfix t;
    char link[1024];
    httpget_response r;
    open_with_one(&t, link);
    assert_int_equal(get(&t, link, NULL, &r), 200);
    assert_true(r.has_length);
    assert_int_equal(r.length, r.body.n);
    assert_string_equal(httpget_header(&r, "Content-Type"), "application/octet-stream");
    assert_string_equal(httpget_header(&r, "Content-Disposition"),
                        "attachment; filename=\"one.tar\"");
    char file[96], command[256];
    (void)snprintf(file, sizeof(file), "%s/got.tar", t.srv.data);
    FILE *out = fopen(file, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(r.body.p, 1, r.body.n, out), r.body.n);
    assert_int_equal(fclose(out), 0);
    (void)snprintf(command, sizeof(command),
                   "test \"$(tar tf %s | tr '\\n' ' ')\" = \"adapter_config.json "
                   "adapter_model.safetensors checkpoint_complete \"",
                   file);
    assert_int_equal(system(command), 0);
    httpget_response_dispose(&r);
    srvfix_close(&t.srv);
}

/* S-022: a download that was cut goes on: same bytes, from any place. */
static void test_srv_parts_fit_together(void **state)
{
    restfix t;
    char link[1024], headers[256];
    httpget_response all, part;
    open_with_one(&t, link);
    assert_int_equal(get(&t, link, NULL, &all), 200);
    (void)snprintf(headers, sizeof(headers), "Range: bytes=1000-\r\nIf-Range: %s\r\n",
                   httpget_header(&all, "ETag"));
    assert_int_equal(get(&t, link, headers, &part), 206);
    assert_int_equal(part.body.n, all.body.n - 1000);
    assert_memory_equal(part.body.p, all.body.p + 1000, part.body.n);
    char range[96];
    (void)snprintf(range, sizeof(range), "bytes 1000-%zu/%zu", all.body.n - 1,
                   all.body.n);
    assert_string_equal(httpget_header(&part, "Content-Range"), range);
    httpget_response_dispose(&part);
    assert_int_equal(get(&t, link, "Range: bytes=5-9\r\n", &part), 206);
    assert_int_equal(part.body.n, 5);
    assert_memory_equal(part.body.p, all.body.p + 5, 5);
    httpget_response_dispose(&part);
    assert_int_equal(status_of(&t, link, "Range: bytes=0-\r\nIf-Range: \"other\"\r\n"),
                     200);
    assert_int_equal(status_of(&t, link, "Range: bytes=99999999-\r\n"), 416);
    httpget_response_dispose(&all);
    srvfix_close(&t.srv);
}

/* Bytes that this process has written to files so far. */
static int64_t written(void)
{
    long long n = -1;
    FILE *in = fopen("/proc/self/io", "r");
    assert_non_null(in);
    assert_int_equal(fscanf(in, "rchar: %*s wchar: %lld", &n), 1);
    assert_int_equal(fclose(in), 0);
    return n;
}

/* A part costs no copy of the whole. */
static void test_srv_parts_write_nothing(void **state)
{
    restfix t;
    char link[1024];
    httpget_response all, part;
    open_with_one(&t, link);
    assert_int_equal(get(&t, link, NULL, &all), 200);
    int64_t before = written();
    for (int i = 0; i < 10; i++) {
        assert_int_equal(get(&t, link, "Range: bytes=5-5\r\n", &part), 206);
        assert_int_equal(part.body.n, 1);
        httpget_response_dispose(&part);
    }
    assert_in_range(written() - before, 0, all.body.n);
    httpget_response_dispose(&all);
    srvfix_close(&t.srv);
}

static void test_srv_ranges_are_read(void **state)
{
    static const struct {
        const char *header;
        srv_range_kind kind;
        int64_t first, last;
    } rows[] = {
        {"bytes=0-", SRV_RANGE_PART, 0, 99},    {"bytes=99-", SRV_RANGE_PART, 99, 99},
        {"bytes=-10", SRV_RANGE_PART, 90, 99},  {"bytes=-1000", SRV_RANGE_PART, 0, 99},
        {"bytes=3-500", SRV_RANGE_PART, 3, 99}, {"bytes=100-", SRV_RANGE_OUTSIDE, 0, 0},
        {"bytes=-0", SRV_RANGE_OUTSIDE, 0, 0},  {"bytes=5-3", SRV_RANGE_ALL, 0, 0},
        {"bytes=-", SRV_RANGE_ALL, 0, 0},       {"bytes=1-2,4-5", SRV_RANGE_ALL, 0, 0},
        {"lines=1-2", SRV_RANGE_ALL, 0, 0},     {"", SRV_RANGE_ALL, 0, 0},
        {"bytes=x-", SRV_RANGE_ALL, 0, 0},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        srv_range range = {0, 0};
        assert_int_equal(srv_link_range(&range, tk_str_of(rows[i].header), 100),
                         rows[i].kind);
        assert_int_equal(range.first, rows[i].first);
        assert_int_equal(range.last, rows[i].last);
    }
}

/* S-022: only this server's links work, for this checkpoint, without a key. */
static void test_srv_links_are_signed(void **state)
{
    restfix t;
    char link[1024], other[1024];
    open_with_one(&t, link);
    memcpy(other, link, sizeof(other));
    char *last = other + strlen(other) - 1;
    *last = *last == '0' ? '1' : '0';
    assert_int_equal(status_of(&t, other, NULL), 403);
    memcpy(other, link, sizeof(other));
    strstr(other, "expires=")[strlen("expires=")] = '9'; /* longer life */
    assert_int_equal(status_of(&t, other, NULL), 403);
    *strchr(other, '?') = '\0';
    assert_int_equal(status_of(&t, other, NULL), 403);
    srvfix_restart(&t.srv, (srv_options){.api_key = "tml-secret"});
    assert_int_equal(status_of(&t, link, NULL), 403);
    srvfix_restart(&t.srv, (srv_options){0});
    ask_link(&t, "sampler_weights/one", link);
    char path[256];
    (void)snprintf(path, sizeof(path),
                   "/api/v1/training_runs/%s/checkpoints/sampler_weights/one", t.run);
    (void)srvfix_ask(&t.srv, "DELETE", path, NULL);
    assert_int_equal(t.srv.status, 204);
    assert_int_equal(status_of(&t, link, NULL), 404);
    srvfix_close(&t.srv);
}

/* S-022: the files that our client unpacks are those of the checkpoint. */
static void test_srv_client_downloads(void **state)
{
    restfix t;
    char link[1024], path[256], target[96], command[512];
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    tinkc_progress progress;
    open_with_one(&t, link);
    assert_int_equal(tinkc_config_new(&config, NULL), TINKC_OK);
    assert_int_equal(tinkc_config_set(config, "base_url", srv_url(t.srv.server), NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_config_set(config, "api_key", "tml-test-key", NULL), TINKC_OK);
    assert_int_equal(tinkc_config_set(config, "proxy", "", NULL), TINKC_OK);
    assert_int_equal(tinkc_service_open(&service, config, NULL), TINKC_OK);
    tinkc_config_free(&config);
    (void)snprintf(path, sizeof(path), "tinker://%s/sampler_weights/one", t.run);
    (void)snprintf(target, sizeof(target), "%s/got", t.srv.data);
    assert_int_equal(
        tinkc_download_checkpoint(&progress, service, path, target, NULL, NULL),
        TINKC_OK);
    assert_int_equal(progress.files, 3);
    (void)snprintf(command, sizeof(command),
                   "cd %s && for f in adapter_config.json adapter_model.safetensors; do "
                   "cmp $f ../checkpoints/*/sampler_weights/one.*/$f || exit 1; done; "
                   "test ! -s checkpoint_complete",
                   target);
    assert_int_equal(system(command), 0);
    tinkc_service_close(&service);
    srvfix_close(&t.srv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_archive_is_a_tar),
        cmocka_unit_test(test_srv_archive_link_has_scheme_of_proxy),
        cmocka_unit_test(test_srv_parts_fit_together),
        cmocka_unit_test(test_srv_parts_write_nothing),
        cmocka_unit_test(test_srv_ranges_are_read),
        cmocka_unit_test(test_srv_links_are_signed),
        cmocka_unit_test(test_srv_client_downloads),
    };
    return cmocka_run_group_tests_name("srv_archive", tests, NULL, NULL);
}
