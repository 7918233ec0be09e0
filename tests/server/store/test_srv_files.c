/* Directories of checkpoints survive a crash: the directory that holds the name is
 * synced. This program's fsync only notes which directory it was called for. */
#include "server/store/srv_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/srvfix.h"

#define SYNCED_MAX 16

static struct stat synced[SYNCED_MAX];
static size_t n_synced;

int fsync(int fd)
{
    assert_true(n_synced < SYNCED_MAX);
    return fstat(fd, &synced[n_synced++]);
}

static bool was_synced(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    for (size_t i = 0; i < n_synced; i++) {
        if (synced[i].st_ino == st.st_ino && synced[i].st_dev == st.st_dev) {
            return true;
        }
    }
    return false;
}

typedef struct fix {
    char root[64], from[72], run[72], kind[96], to[128], file[160];
} fix;

static void open_fix(fix *f)
{
    srvfix_make_dir(f->root);
    (void)snprintf(f->from, sizeof(f->from), "%s/from", f->root);
    (void)snprintf(f->run, sizeof(f->run), "%s/run", f->root);
    (void)snprintf(f->kind, sizeof(f->kind), "%s/weights", f->run);
    (void)snprintf(f->to, sizeof(f->to), "%s/name", f->kind);
    (void)snprintf(f->file, sizeof(f->file), "%s/file", f->from);
    assert_int_equal(mkdir(f->from, 0700), 0);
    int fd = open(f->file, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    n_synced = 0;
}

static void close_fix(const fix *f)
{
    char command[96];
    (void)snprintf(command, sizeof(command), "rm -rf %s", f->root);
    assert_int_equal(system(command), 0);
}

/* A copy, and every directory that had to be made for it, is there after a crash. */
static void test_srv_linked_directories_last(void **state)
{
    fix f;
    tk_err err = TK_ERR_INIT;
    struct stat a, b;
    open_fix(&f);
    assert_int_equal(srv_files_link_dir(f.from, f.to, &err), TINKC_OK);
    assert_true(was_synced(f.to));
    assert_true(was_synced(f.kind));
    assert_true(was_synced(f.run));
    assert_true(was_synced(f.root));
    assert_int_equal(stat(f.file, &a), 0);
    (void)snprintf(f.file, sizeof(f.file), "%s/file", f.to);
    assert_int_equal(stat(f.file, &b), 0);
    assert_int_equal(a.st_ino, b.st_ino);
    close_fix(&f);
}

/* A directory whose files are being deleted is not copied as an empty one. */
static void test_srv_nothing_is_not_linked(void **state)
{
    fix f;
    tk_err err = TK_ERR_INIT;
    open_fix(&f);
    assert_int_equal(unlink(f.file), 0);
    assert_int_equal(srv_files_link_dir(f.from, f.to, &err), TINKC_E_MISSING);
    assert_int_equal(access(f.to, F_OK), -1);
    close_fix(&f);
}

/* Labels stay with their directory, also one that is being written: it is renamed at any
 * moment. */
static void test_srv_labels_are_not_linked(void **state)
{
    static const char *const names[] = {"tinkc.json", "tinkc.deleted.json",
                                        "tinkc.json.0123456789abcdef.tmp"};
    fix f;
    tk_err err = TK_ERR_INIT;
    open_fix(&f);
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        (void)snprintf(f.file, sizeof(f.file), "%s/%s", f.from, names[i]);
        FILE *out = fopen(f.file, "w");
        assert_non_null(out);
        assert_int_equal(fputs("{}", out) < 0, 0);
        assert_int_equal(fclose(out), 0);
    }
    assert_int_equal(srv_files_size(f.from), 0);
    assert_int_equal(srv_files_link_dir(f.from, f.to, &err), TINKC_OK);
    assert_true(srv_files_is_linked(f.from, f.to));
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        (void)snprintf(f.file, sizeof(f.file), "%s/%s", f.to, names[i]);
        assert_int_equal(access(f.file, F_OK), -1);
    }
    close_fix(&f);
}

/* So is what a save writes its directory into; what is there already costs nothing. */
static void test_srv_made_parents_last(void **state)
{
    fix f;
    tk_err err = TK_ERR_INIT;
    open_fix(&f);
    assert_int_equal(srv_files_make_parent(f.to, &err), TINKC_OK);
    assert_true(was_synced(f.run));
    assert_true(was_synced(f.root));
    assert_int_equal(n_synced, 2);
    assert_int_equal(srv_files_make_parent(f.to, &err), TINKC_OK);
    assert_int_equal(n_synced, 2);
    close_fix(&f);
}

/* A file in the way is an error, not a directory. */
static void test_srv_parents_are_directories(void **state)
{
    fix f;
    tk_err err = TK_ERR_INIT;
    char path[192];
    open_fix(&f);
    (void)snprintf(path, sizeof(path), "%s/name", f.file);
    assert_int_equal(srv_files_make_parent(path, &err), TINKC_E_IO);
    tk_err_clear(&err);
    (void)snprintf(path, sizeof(path), "%s/more/name", f.file);
    assert_int_equal(srv_files_make_parent(path, &err), TINKC_E_IO);
    close_fix(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_linked_directories_last),
        cmocka_unit_test(test_srv_nothing_is_not_linked),
        cmocka_unit_test(test_srv_labels_are_not_linked),
        cmocka_unit_test(test_srv_made_parents_last),
        cmocka_unit_test(test_srv_parents_are_directories),
    };
    return cmocka_run_group_tests_name("srv_files", tests, NULL, NULL);
}
