/* Directories in which downloads are made: those of a crashed program go with the next
 * download of the same target, those in use stay.
 * Links: peer */
#include "client/transfer/staging.h"

#include "support/downloadfix.h"

#define LEFT ".tinkc-part-A1b2C3"

/* <folder>/<name>, a directory with a file in a directory in it. */
static void leave_behind(const char *folder, const char *name, const char *inner)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s/%s", folder, name, inner);
    assert_int_equal(tk_file_mkdirs(path, 0777, NULL), TINKC_OK);
    (void)snprintf(path, sizeof(path), "%s/%s/%s/file", folder, name, inner);
    assert_int_equal(tk_file_replace(path, "x", 1, 0666, NULL), TINKC_OK);
}

static bool is_there(const char *folder, const char *name)
{
    char path[256];
    struct stat info;
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return lstat(path, &info) == 0;
}

/* M-131: only directories that no process holds are removed, and only those with our
 * names. */
static void test_staging_sweep(void **unused)
{
    static const struct {
        const char *name, *inner;
        bool stays;
    } rows[] = {{"t" LEFT, "files", false},
                {"t.tinkc-part-kept00", "old", true},
                {"t.tinkc-part-backup7", "files", true},
                {"t.tinkc-part-ab-d_f", "files", true},
                {"t.part-backup", "files", true},
                {"u" LEFT, "files", true},
                {"t", "files", true}};
    char folder[] = "/tmp/tinkc-stage-XXXXXX", link[64];
    tk_staging stage = {NULL, -1}, other = {NULL, -1};
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        leave_behind(folder, rows[i].name, rows[i].inner);
    }
    (void)snprintf(link, sizeof(link), "%s/t.tinkc-part-linked", folder);
    assert_int_equal(symlink("t", link), 0);
    assert_int_equal(tk_staging_make(&stage, folder, "t", NULL), TINKC_OK);
    assert_int_equal(tk_staging_make(&other, folder, "t", NULL), TINKC_OK);
    tk_staging_sweep(folder, "t", "old");
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        if (is_there(folder, rows[i].name) != rows[i].stays) {
            fail_msg("%s", rows[i].name);
        }
    }
    assert_true(is_there(folder, "t/files/file"));
    assert_int_equal(access(stage.path, F_OK), 0);
    char *path = tk_strdup(stage.path);
    tk_staging_end(&stage, false); /* as when its maker dies */
    tk_staging_sweep(folder, "t", NULL);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_false(is_there(folder, rows[1].name));
    assert_int_equal(access(other.path, F_OK), 0);
    tk_staging_end(&other, true);
    assert_int_equal(downloadfix_entries(folder), TK_ARRAY_LEN(rows) - 1);
    tk_free(path);
    tk_staging_remove_tree(folder);
}

/* M-131: the next download of the target clears up, unless the only copy of what was
 * there before lies in it. */
static void test_staging_of_download(void **unused)
{
    downloadfix f;
    downloadfix_open(&f, downloadfix_checkpoint(ARCHIVE_FILTER_NONE), NULL);
    const char *name = strrchr(f.target, '/') + 1;
    char left[128], kept[128];
    (void)snprintf(left, sizeof(left), "%s" LEFT, name);
    (void)snprintf(kept, sizeof(kept), "%s.tinkc-part-kept00", name);
    leave_behind(f.folder, left, "files");
    leave_behind(f.folder, kept, "old");
    assert_int_equal(downloadfix_get(&f, NULL, NULL), TINKC_OK);
    assert_false(is_there(f.folder, left));
    assert_true(is_there(f.folder, kept));
    f.options.overwrite = true;
    assert_int_equal(downloadfix_get(&f, NULL, NULL), TINKC_OK);
    assert_int_equal(downloadfix_entries(f.folder), 1);
    downloadfix_content(&f);
    downloadfix_close(&f);
}

/* No directory, no stage, and nothing to free. */
static void test_staging_without_parent(void **unused)
{
    tk_staging stage = {NULL, -1};
    tk_staging_sweep("/nowhere/at/all", "t", NULL);
    assert_int_equal(tk_staging_make(&stage, "/nowhere/at/all", "t", NULL), TINKC_E_IO);
    assert_null(stage.path);
    tk_staging_end(&stage, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_staging_sweep),
        cmocka_unit_test(test_staging_of_download),
        cmocka_unit_test(test_staging_without_parent),
    };
    return cmocka_run_group_tests_name("stage", tests, NULL, NULL);
}
