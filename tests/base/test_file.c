/* Files: caps at the exact byte, atomic replacement under failure, directories. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "support/failmem.h"
#include "support/test.h"

static char root[64];
static char path[160]; /* of the test that runs */

static const char *in_root(const char *name)
{
    (void)snprintf(path, sizeof(path), "%s/%s", root, name);
    return path;
}

static int make_root(void **unused)
{
    (void)snprintf(root, sizeof(root), "/tmp/tinkc-test-XXXXXX");
    return mkdtemp(root) != NULL ? 0 : -1;
}

static int remove_one(const char *name, const struct stat *info, int type,
                      struct FTW *where)
{
    return remove(name);
}

static int remove_root(void **unused)
{
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static size_t entries_in_root(void)
{
    DIR *dir = opendir(root);
    assert_non_null(dir);
    size_t n = 0;
    while (readdir(dir) != NULL) {
        n++;
    }
    (void)closedir(dir);
    return n - 2;
}

static void put(const char *name, const char *text)
{
    tinkc_code code = tk_file_replace(in_root(name), text, strlen(text), 0644, NULL);
    assert_int_equal(code, TINKC_OK);
}

static void assert_holds(const char *name, const char *text)
{
    char *data = NULL;
    size_t n = 0;
    assert_int_equal(tk_file_read(&data, &n, in_root(name), 100000, NULL), TINKC_OK);
    assert_string_equal(data, text);
    assert_int_equal(n, strlen(text));
    tk_free(data);
}

static void test_file_round_trip(void **unused)
{
    put("a", "hello");
    assert_holds("a", "hello");
    put("a", "");
    assert_holds("a", "");
    put("a", "new");
    assert_holds("a", "new");
    assert_int_equal(entries_in_root(), 1); /* no temporary files */
    char *data = NULL;
    assert_int_equal(tk_file_read(&data, NULL, in_root("a"), 3, NULL), TINKC_OK);
    assert_string_equal(data, "new");
    tk_free(data);
}

static void test_file_cap_is_exact(void **unused)
{
    put("a", "12345");
    char *data = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_file_read(&data, NULL, in_root("a"), 4, &err), TINKC_E_LIMIT);
    assert_non_null(strstr(err.message, "larger than 4 bytes"));
    assert_null(data);
    assert_int_equal(tk_file_read(&data, NULL, in_root("a"), 5, NULL), TINKC_OK);
    assert_string_equal(data, "12345");
    tk_free(data);
}

/* Files of /proc say that they hold 0 bytes: the cap must hold while reading, too. */
static void test_file_size_is_not_believed(void **unused)
{
    char *data = NULL;
    size_t n = 0;
    assert_int_equal(tk_file_read(&data, &n, "/proc/self/status", 100000, NULL),
                     TINKC_OK);
    assert_true(n > 16);
    assert_non_null(strstr(data, "Name:"));
    tk_free(data);
    data = NULL;
    assert_int_equal(tk_file_read(&data, &n, "/proc/self/status", 16, NULL),
                     TINKC_E_LIMIT);
    assert_null(data);
}

static void test_file_large(void **unused)
{
    size_t n = 300001;
    char *text = tk_malloc(n + 1);
    assert_non_null(text);
    for (size_t i = 0; i < n; i++) {
        text[i] = (char)('a' + i % 23);
    }
    text[n] = '\0';
    assert_int_equal(tk_file_replace(in_root("a"), text, n, 0600, NULL), TINKC_OK);
    char *data = NULL;
    size_t got = 0;
    assert_int_equal(tk_file_read(&data, &got, path, n, NULL), TINKC_OK);
    assert_int_equal(got, n);
    assert_memory_equal(data, text, n + 1);
    tk_free(data);
    assert_int_equal(tk_file_read(&data, &got, path, n - 1, NULL), TINKC_E_LIMIT);
    tk_free(text);
}

static void test_file_read_refusals(void **unused)
{
    char *data = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_file_read(&data, NULL, in_root("x"), 9, &err), TINKC_E_MISSING);
    assert_non_null(strstr(err.message, "No such file"));
    assert_int_equal(tk_file_read(&data, NULL, root, 9, NULL), TINKC_E_IO);
    assert_int_equal(mkfifo(in_root("fifo"), 0600), 0);
    assert_int_equal(tk_file_read(&data, NULL, path, 9, NULL), TINKC_E_IO); /* at once */
    assert_null(data);
}

static void test_file_mode_and_links(void **unused)
{
    struct stat info;
    put("target", "old");
    assert_int_equal(symlink("target", in_root("link")), 0);
    assert_int_equal(tk_file_replace(path, "new", 3, 0600, NULL), TINKC_OK);
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISREG(info.st_mode));
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_holds("target", "old");
}

static void test_file_failed_write_changes_nothing(void **unused)
{
    put("a", "old");
    struct rlimit usual;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    struct rlimit small = {10, usual.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    tk_err err = TK_ERR_INIT;
    tinkc_code code = tk_file_replace(in_root("a"), "0123456789+", 11, 0644, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
    (void)signal(SIGXFSZ, handler);
    assert_int_equal(code, TINKC_E_IO);
    assert_non_null(strstr(err.message, "File too large"));
    assert_holds("a", "old");
    assert_int_equal(entries_in_root(), 1);
}

static void test_file_published(void **unused)
{
    tk_file_writer *writer = NULL;
    put("a", "old");
    assert_int_equal(tk_file_writer_new(&writer, in_root("a"), 0644, NULL), TINKC_OK);
    assert_int_equal(tk_file_writer_put(writer, "new", 3, NULL), TINKC_OK);
    assert_holds("a", "old");
    assert_int_equal(tk_file_writer_publish(writer, NULL), TINKC_OK);
    assert_holds("a", "new");
    assert_int_equal(mkdir(in_root("dir"), 0700), 0);
    assert_int_equal(tk_file_writer_new(&writer, path, 0644, NULL), TINKC_OK);
    assert_int_equal(tk_file_writer_publish(writer, NULL), TINKC_E_IO);
    assert_int_equal(entries_in_root(), 2);
}

static void test_file_replace_refusals(void **unused)
{
    tk_err err = TK_ERR_INIT;
    tinkc_code code = tk_file_replace(in_root("no/such/a"), "x", 1, 0644, &err);
    assert_int_equal(code, TINKC_E_MISSING);
    assert_int_equal(mkdir(in_root("dir"), 0700), 0);
    tk_err_clear(&err);
    code = tk_file_replace(path, "x", 1, 0644, &err); /* the rename fails */
    assert_int_equal(code, TINKC_E_IO);
    assert_int_equal(entries_in_root(), 1);
}

static void test_file_writer(void **unused)
{
    tk_file_writer *writer = NULL;
    assert_int_equal(tk_file_writer_new(&writer, in_root("a"), 0644, NULL), TINKC_OK);
    assert_int_equal(tk_file_writer_put(writer, "ab", 2, NULL), TINKC_OK);
    assert_int_equal(tk_file_writer_put(writer, NULL, 0, NULL), TINKC_OK);
    assert_int_equal(access(path, F_OK), -1); /* not before the commit */
    assert_int_equal(tk_file_writer_put(writer, "c", 1, NULL), TINKC_OK);
    assert_int_equal(tk_file_writer_commit(writer, NULL), TINKC_OK);
    assert_holds("a", "abc");
    assert_int_equal(tk_file_writer_new(&writer, in_root("a"), 0644, NULL), TINKC_OK);
    assert_int_equal(tk_file_writer_put(writer, "lost", 4, NULL), TINKC_OK);
    tk_file_writer_abort(writer);
    tk_file_writer_abort(NULL);
    assert_holds("a", "abc");
    assert_int_equal(entries_in_root(), 1);
}

/* A path without a directory is in the current one. */
static void test_file_relative_path(void **unused)
{
    char before[4096];
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(root), 0);
    tinkc_code code = tk_file_replace("plain", "x", 1, 0644, NULL);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(code, TINKC_OK);
    assert_holds("plain", "x");
}

static void test_file_mkdirs(void **unused)
{
    struct stat info;
    assert_int_equal(tk_file_mkdirs(in_root("a/b//c/"), 0755, NULL), TINKC_OK);
    assert_int_equal(tk_file_mkdirs(path, 0755, NULL), TINKC_OK);
    assert_int_equal(stat(in_root("a/b/c"), &info), 0);
    assert_true(S_ISDIR(info.st_mode));
    assert_int_equal(tk_file_mkdirs("/", 0755, NULL), TINKC_OK);
    assert_int_equal(tk_file_mkdirs("//", 0755, NULL), TINKC_OK);
    assert_int_equal(tk_file_mkdirs("", 0755, NULL), TINKC_E_INVALID);
    put("a/file", "x");
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_file_mkdirs(in_root("a/file/x"), 0755, &err), TINKC_E_IO);
    assert_non_null(strstr(err.message, "Not a directory"));
    assert_int_equal(tk_file_mkdirs(in_root("a/file"), 0755, NULL), TINKC_E_IO);
}

static void test_file_join(void **unused)
{
    static const char *const cases[][3] = {
        {"a", "b", "a/b"},       {"a/", "b", "a/b"}, {"/", "b", "/b"},
        {"a//", "b/c", "a/b/c"}, {"", "b", "b"},     {"a", "", "a/"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        char *joined = tk_file_join(cases[i][0], cases[i][1]);
        assert_string_equal(joined, cases[i][2]);
        tk_free(joined);
    }
}

static void test_file_find_other(void **unused)
{
    static const char *const known[] = {"mine", "lock"};
    char found[256] = "before";
    tk_err err = TK_ERR_INIT;
    char *dir = tk_file_join(root, "whose");
    assert_non_null(dir);
    assert_int_equal(tk_file_find_other(found, dir, known, 2, &err), TINKC_E_IO);
    assert_int_equal(tk_file_mkdirs(dir, 0755, &err), TINKC_OK);
    assert_int_equal(tk_file_find_other(found, dir, known, 2, &err), TINKC_OK);
    assert_string_equal(found, "");
    assert_int_equal(tk_file_replace(in_root("whose/lock"), "", 0, 0644, &err), TINKC_OK);
    assert_int_equal(tk_file_find_other(found, dir, known, 2, &err), TINKC_OK);
    assert_string_equal(found, "");
    assert_int_equal(tk_file_replace(in_root("whose/mined"), "", 0, 0644, &err),
                     TINKC_OK);
    assert_int_equal(tk_file_find_other(found, dir, known, 2, &err), TINKC_OK);
    assert_string_equal(found, "mined");
    tk_free(dir);
}

/* The file is as large as the cap: the NUL after it needs one more byte. */
static bool everything(void *user)
{
    const char *text = user;
    tk_err err = TK_ERR_INIT;
    char *data = NULL;
    char *joined = tk_file_join(root, "deep/down");
    bool ok = joined != NULL;
    ok = ok && tk_file_mkdirs(joined, 0755, &err) == TINKC_OK;
    ok = ok && tk_file_replace(in_root("deep/down/a"), text, 600, 0644, &err) == TINKC_OK;
    ok = ok && tk_file_read(&data, NULL, path, 600, &err) == TINKC_OK;
    assert_true(!ok || strlen(data) == 600);
    assert_true(ok || joined == NULL || err.code == TINKC_E_NOMEM);
    tk_free(joined);
    tk_free(data);
    return ok;
}

static void test_file_sweep(void **unused)
{
    char text[601];
    memset(text, 'x', 600);
    text[600] = '\0';
    assert_int_equal(failmem_sweep(everything, text, 1), 8);
    assert_holds("deep/down/a", text);
}

#define file_test(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        file_test(test_file_round_trip),
        file_test(test_file_cap_is_exact),
        file_test(test_file_size_is_not_believed),
        file_test(test_file_large),
        file_test(test_file_read_refusals),
        file_test(test_file_mode_and_links),
        file_test(test_file_failed_write_changes_nothing),
        file_test(test_file_published),
        file_test(test_file_replace_refusals),
        file_test(test_file_writer),
        file_test(test_file_relative_path),
        file_test(test_file_mkdirs),
        file_test(test_file_join),
        file_test(test_file_find_other),
        file_test(test_file_sweep),
    };
    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
