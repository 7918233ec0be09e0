/* `tinkc checkpoint download` as a user sees it: the right files, or a clear error and
 * nothing left behind. How the library does it is tested in test_download. */
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/clifix.h"
#include "support/fileserver.h"

#define ARCHIVE CLI_RUNS "/" CLI_RUN "/checkpoints/weights/0001/archive"
#define NAME    "S:train:0_weights_0001"

/* ---- archives ---- */

/* One member as ustar has it; `n` bytes of content, zeros where data is NULL. */
static void put(fakeapi_bytes *tar, const char *name, char type, const char *link,
                const char *data, size_t n)
{
    char head[512] = {0};
    unsigned sum = 0;
    (void)snprintf(head, 100, "%s", name);
    (void)snprintf(head + 100, 8, "%07o", 0644U);
    (void)snprintf(head + 108, 8, "%07o", 0U);
    (void)snprintf(head + 116, 8, "%07o", 0U);
    (void)snprintf(head + 124, 12, "%011zo", n);
    (void)snprintf(head + 136, 12, "%011o", 0U);
    memset(head + 148, ' ', 8);
    head[156] = type;
    (void)snprintf(head + 157, 100, "%s", link);
    memcpy(head + 257, "ustar\00000", 8);
    for (size_t i = 0; i < sizeof(head); i++) {
        sum += (unsigned char)head[i];
    }
    (void)snprintf(head + 148, 8, "%06o", sum);
    fakeapi_bytes_put(tar, head, sizeof(head));
    size_t padded = (n + 511) / 512 * 512;
    fakeapi_bytes_reserve(tar, padded);
    memset(tar->p + tar->n, 0, padded);
    if (data != NULL) {
        memcpy(tar->p + tar->n, data, n);
    }
    tar->n += padded;
}

static void put_end(fakeapi_bytes *tar)
{
    static const char zeros[1024];
    fakeapi_bytes_put(tar, zeros, sizeof(zeros));
}

static void put_good(fakeapi_bytes *tar)
{
    put(tar, "adapter_config.json", '0', "", "{\"r\": 32}", 9);
    put(tar, "deep/weights", '0', "", NULL, 300000);
    put_end(tar);
}

/* ---- the fixture ---- */

typedef struct fix {
    clifix cli;
    fakeapi_bytes tar;
    fileserver *files;
    char dir[64];
    char location[128];
    char line[256];
    size_t cuts; /* how many transfers break off */
} fix;

static void read_tar(void *user, uint64_t offset, char *p, size_t n)
{
    fix *f = user;
    memcpy(p, f->tar.p + offset, n);
}

static void decide(void *user, size_t index, const char *head, fileserver_reply *reply)
{
    fix *f = user;
    reply->etag = "\"one\"";
    if (index < f->cuts) {
        reply->cut = f->tar.n * (index + 1) / (f->cuts + 1);
    }
}

static void begin(fix *f)
{
    *f = (fix){.dir = "/tmp/tinkc-get.XXXXXX"};
    clifix_begin(&f->cli);
    assert_non_null(mkdtemp(f->dir));
    f->cli.options.cwd = f->dir;
}

static void serve(fix *f)
{
    const fileserver_options options = {f->tar.n, read_tar, decide, f};
    f->files = fileserver_start(&options);
    (void)snprintf(f->location, sizeof(f->location), "location: %s\r\n",
                   fileserver_url(f->files));
    fakeapi_default(f->cli.api, "GET", ARCHIVE,
                    &(fakeapi_step){.status = 302, .headers = f->location});
}

static size_t count_left(const char *path)
{
    size_t n = 0;
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    closedir(dir);
    return n;
}

static void end(fix *f)
{
    proc *p = proc_run(NULL, (const char *[]){"rm", "-rf", f->dir, NULL});
    proc_free(&p);
    fileserver_stop(&f->files);
    fakeapi_bytes_dispose(&f->tar);
    clifix_end(&f->cli);
}

static void check_files(const fix *f, const char *where)
{
    char path[256];
    char *data = NULL;
    size_t n = 0;
    (void)snprintf(path, sizeof(path), "%s/%s" NAME "/adapter_config.json", f->dir,
                   where);
    assert_int_equal(tk_file_read(&data, &n, path, 1000, NULL), TINKC_OK);
    assert_string_equal(data, "{\"r\": 32}");
    tk_free(data);
    (void)snprintf(path, sizeof(path), "%s/%s" NAME "/deep/weights", f->dir, where);
    assert_int_equal(tk_file_read(&data, &n, path, 400000, NULL), TINKC_OK);
    assert_int_equal(n, 300000);
    tk_free(data);
}

/* ---- tests ---- */

/* M-151, C-056, C-057, C-060: a directory named after the path, here or elsewhere. */
static void test_cli_download(void **unused)
{
    fix f;
    char out[512];
    begin(&f);
    put_good(&f.tar);
    serve(&f);
    (void)snprintf(out, sizeof(out),
                   "{\"checkpoint_path\": \"" CLI_ONE "\", \"destination\": "
                   "\"%s/" NAME "\", \"file_size_bytes\": %zu}\n",
                   f.dir, f.tar.n);
    clifix_expect(&f.cli, "checkpoint download -f jsonl " CLI_ONE, out);
    check_files(&f, "");
    proc *p = clifix_run(&f.cli, "checkpoint download -o new/dir " CLI_ONE);
    assert_non_null(strstr(proc_out(p), "Checkpoint Download: " CLI_ONE "\nProperty"));
    assert_non_null(strstr(proc_out(p), "\nArchive Size     295.5 KB\n"
                                        "Extracted to     new/dir/" NAME "\n"));
    assert_string_equal(proc_err(p), "");
    proc_free(&p);
    check_files(&f, "new/dir/");
    end(&f);
}

/* C-057: what is there stays, unless --force replaces it. */
static void test_cli_download_force(void **unused)
{
    fix f;
    char path[256];
    begin(&f);
    put_good(&f.tar);
    serve(&f);
    (void)snprintf(path, sizeof(path), "%s/" NAME, f.dir);
    assert_int_equal(mkdir(path, 0777), 0);
    (void)snprintf(path, sizeof(path), "%s/" NAME "/mine", f.dir);
    assert_int_equal(tk_file_replace(path, "x", 1, 0666, NULL), TINKC_OK);
    clifix_refused(&f.cli, "checkpoint download " CLI_ONE, 1,
                   "Error: Target directory already exists: ");
    assert_int_equal(fileserver_requests(f.files), 0);
    assert_int_equal(access(path, F_OK), 0);
    proc *p = clifix_run(&f.cli, "checkpoint download --force " CLI_ONE);
    assert_int_equal(p->status, 0);
    proc_free(&p);
    assert_int_equal(access(path, F_OK), -1);
    check_files(&f, "");
    assert_int_equal(count_left(f.dir), 1);
    end(&f);
}

/* M-166, C-058, C-090: transfers that are cut go on where they were. */
static void test_cli_download_resumes(void **unused)
{
    fix f;
    begin(&f);
    put_good(&f.tar);
    f.cuts = 2;
    f.cli.retries = true;
    serve(&f);
    proc *p = clifix_run(&f.cli, "checkpoint download " CLI_ONE);
    assert_string_equal(proc_err(p), "");
    assert_int_equal(p->status, 0);
    proc_free(&p);
    check_files(&f, "");
    assert_int_equal(fileserver_requests(f.files), 3);
    assert_int_equal(fileserver_ranges(f.files), 2);
    assert_int_equal(fileserver_sent(f.files), f.tar.n);
    end(&f);
}

/* M-166: a URL that has expired is asked for again. */
static void test_cli_download_expired(void **unused)
{
    fix f;
    begin(&f);
    put_good(&f.tar);
    (void)snprintf(f.location, sizeof(f.location), "location: %s/file\r\n",
                   fakeapi_url(f.cli.api));
    fakeapi_default(f.cli.api, "GET", ARCHIVE,
                    &(fakeapi_step){.status = 302, .headers = f.location});
    fakeapi_reply(f.cli.api, "GET", "/file", &fakeapi_status(403, "expired"));
    fakeapi_default(f.cli.api, "GET", "/file",
                    &(fakeapi_step){.body = f.tar.p, .body_n = f.tar.n});
    proc *p = clifix_run(&f.cli, "checkpoint download " CLI_ONE);
    assert_string_equal(proc_err(p), "");
    assert_int_equal(p->status, 0);
    proc_free(&p);
    check_files(&f, "");
    assert_int_equal(fakeapi_count(f.cli.api, "GET", ARCHIVE), 2);
    end(&f);
}

typedef struct hostile {
    const char *name;
    char type;
    const char *link;
    const char *words;
} hostile;

/* M-165, C-059, C-061: links, devices and names that lead elsewhere are refused; nothing
 * of the archive stays. */
static void test_cli_download_hostile(void **unused)
{
    static const hostile cases[] = {
        {"link", '2', "/etc/passwd", "link"},
        {"hard", '1', "adapter_config.json", "link"},
        {"device", '3', "", "Failed to extract archive"},
        {"fifo", '6', "", "Failed to extract archive"},
        {"../out", '0', "", "Failed to extract archive"},
        {"/nowhere/out", '0', "", "Failed to extract archive"},
        {"a/../../out", '0', "", "Failed to extract archive"},
        {"adapter_config.json", '0', "", "Failed to extract archive"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        fix f;
        begin(&f);
        put(&f.tar, "adapter_config.json", '0', "", "{}", 2);
        put(&f.tar, cases[i].name, cases[i].type, cases[i].link, NULL, 0);
        put_end(&f.tar);
        serve(&f);
        clifix_refused(&f.cli, "checkpoint download " CLI_ONE, 1, cases[i].words);
        assert_int_equal(count_left(f.dir), 0);
        end(&f);
    }
}

/* M-165, M-166, C-061: an archive that ends too early, and bytes that are not an
 * archive. */
static void test_cli_download_broken(void **unused)
{
    fix f;
    begin(&f);
    put_good(&f.tar);
    f.tar.n -= 200000;
    serve(&f);
    clifix_refused(&f.cli, "checkpoint download " CLI_ONE, 1,
                   "Error: Failed to extract archive: Malformed response: ");
    assert_int_equal(count_left(f.dir), 0);
    end(&f);
    begin(&f);
    fakeapi_bytes_puts(&f.tar, "this is a text and no archive");
    serve(&f);
    clifix_refused(&f.cli, "checkpoint download " CLI_ONE, 1,
                   "Error: Failed to extract archive: ");
    assert_int_equal(count_left(f.dir), 0);
    end(&f);
    begin(&f);
    put_good(&f.tar);
    serve(&f);
    clifix_refused(&f.cli, "checkpoint download -o /dev/null/x " CLI_ONE, 1,
                   "Error: Failed to save checkpoint: ");
    end(&f);
}

/* M-156, C-010: Ctrl-C in the middle: exit code 130, nothing left. */
static void test_cli_download_interrupted(void **unused)
{
    fix f;
    begin(&f);
    put_good(&f.tar);
    fakeapi_gate *gate = fakeapi_gate_new(f.cli.api);
    (void)snprintf(f.location, sizeof(f.location), "location: %s/file\r\n",
                   fakeapi_url(f.cli.api));
    fakeapi_default(f.cli.api, "GET", ARCHIVE,
                    &(fakeapi_step){.status = 302, .headers = f.location});
    fakeapi_default(
        f.cli.api, "GET", "/file",
        &(fakeapi_step){
            .body = f.tar.p, .body_n = f.tar.n, .drip = 100000, .drip_gate = gate});
    fakeapi_gate_let(gate, 1);
    proc *p = clifix_start(&f.cli, "checkpoint download " CLI_ONE);
    assert_true(fakeapi_gate_wait(gate, 1));
    proc_signal(p, SIGINT);
    assert_int_equal(proc_wait(p), 130);
    assert_string_equal(proc_out(p), "");
    assert_string_equal(proc_err(p), "");
    proc_free(&p);
    assert_int_equal(count_left(f.dir), 0);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_download),
        cmocka_unit_test(test_cli_download_force),
        cmocka_unit_test(test_cli_download_resumes),
        cmocka_unit_test(test_cli_download_expired),
        cmocka_unit_test(test_cli_download_hostile),
        cmocka_unit_test(test_cli_download_broken),
        cmocka_unit_test(test_cli_download_interrupted),
    };
    return cmocka_run_group_tests_name("cmd_checkpoint_download", tests, NULL, NULL);
}
