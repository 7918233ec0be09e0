/* Rows and directories that disagree when the store is opened: what was answered is kept,
 * what was deleted stays deleted, and nothing is removed that is not certainly the
 * server's. */
#include "server/store/storefix.h"

#include "support/failmem.h"

static void lose_database(storefix *f)
{
    srv_store_close(f->store);
    storefix_shell(f, "rm tinkc.db*");
    storefix_start(f);
}

static void set(storefix *f, const char *name, bool is_public, int64_t expires_us)
{
    const tk_path path = storefix_path(name);
    tk_err err = TK_ERR_INIT;
    assert_int_equal(
        srv_store_publish_checkpoint(f->store, &f->arena, &path, is_public, &err),
        TINKC_OK);
    assert_int_equal(
        srv_store_expire_checkpoint(f->store, &f->arena, &path, expires_us, &err),
        TINKC_OK);
}

static void delete_one(storefix *f, const char *name, bool remove)
{
    const tk_path path = storefix_path(name);
    tk_err err = TK_ERR_INIT;
    tk_str dir;
    assert_int_equal(srv_store_delete_checkpoint(&dir, f->store, &f->arena, &path, &err),
                     TINKC_OK);
    if (remove) {
        srv_store_remove_dir(f->store, dir);
    }
}

/* Everything of a row, its run and its session comes back. */
static void test_srv_rows_are_rebuilt(void **state)
{
    storefix f;
    srv_store_checkpoint before, after;
    srv_store_run run;
    tk_strs runs;
    tk_err err = TK_ERR_INIT;
    char instance[SRV_DATA_INSTANCE_SIZE];
    storefix_open(&f);
    (void)snprintf(instance, sizeof(instance), "%s", srv_store_instance(f.store));
    assert_int_equal(storefix_save(&f, "one", "1", false), TINKC_OK);
    assert_int_equal(storefix_save(&f, "two", "2", false), TINKC_OK);
    set(&f, "two", true, INT64_C(4102444800000123));
    assert_true(storefix_find(&f, "two", &before));
    lose_database(&f);
    storefix_expect(&f, "one", "1");
    storefix_expect(&f, "two", "2");
    assert_true(storefix_find(&f, "two", &after));
    assert_int_equal(after.row, before.row);
    assert_int_equal(after.created_us, 1000);
    assert_int_equal(after.expires_us, INT64_C(4102444800000123));
    assert_int_equal(after.size_bytes, 1);
    assert_true(after.is_public);
    assert_true(after.has_optimizer);
    assert_true(tk_str_eq(after.dir, before.dir));
    assert_int_equal(
        srv_store_get_run(&run, f.store, &f.arena, TK_STR(STOREFIX_RUN), &err), TINKC_OK);
    assert_true(tk_str_is(run.base_model, "base"));
    assert_true(tk_str_is(run.user_metadata, "{\"colour\":\"green\"}"));
    assert_int_equal(run.rank, 4);
    assert_true(run.train_mlp && !run.train_attn && !run.train_unembed);
    assert_int_equal(
        srv_store_list_session_runs(&runs, f.store, &f.arena, TK_STR("session"), &err),
        TINKC_OK);
    assert_int_equal(runs.n, 1);
    assert_string_equal(srv_store_instance(f.store), instance);
    storefix_close(&f);
}

/* An old copy of the database knows neither later saves nor later changes, and still has
 * what was deleted and overwritten since. */
static void test_srv_labels_win_over_an_old_copy(void **state)
{
    storefix f;
    srv_store_checkpoint row;
    storefix_open(&f);
    assert_int_equal(storefix_save(&f, "kept", "1", false), TINKC_OK);
    assert_int_equal(storefix_save(&f, "deleted", "1", false), TINKC_OK);
    assert_int_equal(storefix_save(&f, "half", "1", false), TINKC_OK);
    assert_int_equal(storefix_save(&f, "again", "1", false), TINKC_OK);
    srv_store_close(f.store);
    storefix_shell(&f, "cp tinkc.db old.db");
    storefix_start(&f);
    set(&f, "kept", true, INT64_C(4102444800000000));
    delete_one(&f, "deleted", true);
    delete_one(&f, "half", false); /* cut off before its files were removed */
    assert_int_equal(storefix_save(&f, "again", "2", true), TINKC_OK);
    assert_int_equal(storefix_save(&f, "later", "3", false), TINKC_OK);
    srv_store_close(f.store);
    storefix_shell(&f, "rm -f tinkc.db* && mv old.db tinkc.db");
    storefix_start(&f);
    storefix_expect(&f, "kept", "1");
    storefix_expect(&f, "again", "2");
    storefix_expect(&f, "later", "3");
    assert_true(storefix_find(&f, "kept", &row));
    assert_true(row.is_public);
    assert_int_equal(row.expires_us, INT64_C(4102444800000000));
    assert_false(storefix_find(&f, "deleted", &row));
    assert_false(storefix_find(&f, "half", &row));
    storefix_shell(&f, "test \"$(ls checkpoints/*/weights | wc -l)\" = 3");
    storefix_close(&f);
}

/* A new database is no proof that a directory is superfluous. */
static void test_srv_new_database_removes_nothing(void **state)
{
    storefix f;
    srv_store_checkpoint row;
    storefix_open(&f);
    assert_int_equal(storefix_save(&f, "one", "1", false), TINKC_OK);
    assert_int_equal(storefix_save(&f, "gone", "2", false), TINKC_OK);
    delete_one(&f, "gone", false);
    storefix_shell(&f, "mkdir checkpoints/.work/cut && echo > checkpoints/.work/cut/a");
    storefix_shell(&f, "find checkpoints -type f | sort > before");
    lose_database(&f);
    storefix_shell(&f, "find checkpoints -type f | sort | cmp - before");
    assert_false(storefix_find(&f, "gone", &row));
    storefix_restart(&f); /* now it is known */
    storefix_shell(&f, "test \"$(ls checkpoints/*/weights | wc -l)\" = 1 && "
                       "test ! -e checkpoints/.work/cut");
    storefix_expect(&f, "one", "1");
    storefix_close(&f);
}

/* A crash between the new directory of a name and the commit of its row: the newer one
 * counts. */
static void test_srv_newer_of_two_counts(void **state)
{
    storefix f;
    storefix_open(&f);
    assert_int_equal(storefix_save(&f, "one", "1", false), TINKC_OK);
    srv_store_close(f.store);
    storefix_shell(&f, "cp -r . ../$(basename $PWD).copy");
    storefix_start(&f);
    assert_int_equal(storefix_save(&f, "one", "2", true), TINKC_OK);
    srv_store_close(f.store);
    storefix_shell(&f, "cp -rn ../$(basename $PWD).copy/checkpoints/. checkpoints && "
                       "cp ../$(basename $PWD).copy/tinkc.db . && "
                       "test \"$(ls checkpoints/*/weights | wc -l)\" = 2");
    storefix_shell(&f, "cp -r checkpoints before");
    storefix_start(&f);
    storefix_expect(&f, "one", "2");
    storefix_shell(&f, "test \"$(ls checkpoints/*/weights | wc -l)\" = 1");
    srv_store_close(f.store); /* the same after the database was lost: moved aside */
    storefix_shell(&f, "rm -r tinkc.db* checkpoints && mv before checkpoints");
    storefix_start(&f);
    storefix_expect(&f, "one", "2");
    storefix_shell(&f, "grep -q 1 aside/*/checkpoints/*/weights/one.*/adapter_*");
    storefix_shell(&f, "rm -r ../$(basename $PWD).copy");
    storefix_close(&f);
}

/* A directory of an earlier version: rows without labels, and modes that others read. */
static void test_srv_earlier_versions_are_upgraded(void **state)
{
    storefix f;
    tk_err err = TK_ERR_INIT;
    storefix_open(&f);
    assert_int_equal(storefix_save(&f, "one", "1", false), TINKC_OK);
    assert_int_equal(storefix_save(&f, "two", "2", false), TINKC_OK);
    assert_int_equal(srv_sql_exec(f.store->db,
                                  "DROP TABLE clock; DROP TABLE finished;"
                                  "PRAGMA user_version = 3;"
                                  "ALTER TABLE checkpoints DROP COLUMN user_metadata;"
                                  "ALTER TABLE sessions DROP COLUMN display_name;"
                                  "ALTER TABLE runs DROP COLUMN project_id",
                                  &err),
                     TINKC_OK);
    srv_store_close(f.store);
    storefix_shell(&f, "rm tinkc.json checkpoints/*/weights/*/tinkc.json && "
                       "rm -r checkpoints/.work && chmod -R a+rX . && "
                       "mkdir -p checkpoints/r/weights/cut && "
                       "echo 3 > checkpoints/r/weights/cut/file");
    storefix_start(&f);
    storefix_expect(&f, "one", "1");
    storefix_shell(&f, "test -s tinkc.json && "
                       "test \"$(ls checkpoints/*/weights/*/tinkc.json | wc -l)\" = 2 && "
                       "grep -q 3 aside/*/checkpoints/r/weights/cut/file");
    storefix_shell(&f, "test -z \"$(find . -path ./aside -prune -o -perm /077 -print)\"");
    lose_database(&f);
    storefix_expect(&f, "one", "1");
    storefix_expect(&f, "two", "2");
    storefix_close(&f);
}

/* A server that was killed while its log was copied leaves a page half written; the log
 * still has the page. */
static void test_srv_half_copied_logs_are_used(void **state)
{
    storefix f;
    storefix_open(&f);
    assert_int_equal(storefix_save(&f, "one", "1", false), TINKC_OK);
    storefix_shell(&f, "mkdir kept && cp tinkc.db tinkc.db-wal kept");
    srv_store_close(f.store);
    storefix_shell(&f, "mv kept/* . && rmdir kept && truncate -s -1 tinkc.db");
    storefix_start(&f);
    storefix_expect(&f, "one", "1");
    storefix_shell(&f, "test ! -e aside");
    storefix_close(&f);
}

#define BREAK_ONE "echo '{' > \"$(ls -d one.*)/tinkc.json\""

/* Labels that are damaged, missing or of another place. */
static void test_srv_bad_labels(void **state)
{
    storefix f;
    srv_store_checkpoint row;
    storefix_open(&f);
    assert_int_equal(storefix_save(&f, "one", "1", false), TINKC_OK);
    assert_int_equal(storefix_save(&f, "two", "2", false), TINKC_OK);
    srv_store_close(f.store);
    storefix_shell(&f, "cd checkpoints/*/weights && " BREAK_ONE " && "
                       "cp -r two.* two.copy");
    storefix_start(&f); /* written again from the row */
    storefix_shell(&f,
                   "grep -q tinkc_checkpoint checkpoints/*/weights/one.*/tinkc.json &&"
                   " test -e aside/*/checkpoints/*/weights/two.copy/tinkc.json");
    srv_store_close(f.store);
    storefix_shell(&f, "rm tinkc.db* && cd checkpoints/*/weights && " BREAK_ONE);
    storefix_start(&f);
    assert_false(storefix_find(&f, "one", &row));
    storefix_expect(&f, "two", "2");
    storefix_shell(&f, "grep -q 1 aside/*/checkpoints/*/weights/one.*/adapter_*");
    storefix_close(&f);
}

/* What the server makes is for this user only, whatever the umask. */
static void test_srv_files_are_private(void **state)
{
    storefix f;
    mode_t old = umask(0);
    storefix_open(&f);
    assert_int_equal(storefix_save(&f, "one", "1", false), TINKC_OK);
    set(&f, "one", true, 0);
    storefix_shell(&f, "test -e tinkc.db-wal && test -z \"$(find . -perm /077)\"");
    storefix_close(&f);
    (void)umask(old);
}

/* A number that another row has: both stay. */
static void test_srv_numbers_collide(void **state)
{
    storefix f;
    storefix_open(&f);
    assert_int_equal(storefix_save(&f, "one", "1", false), TINKC_OK);
    assert_int_equal(storefix_save(&f, "two", "2", false), TINKC_OK);
    srv_store_close(f.store);
    storefix_shell(&f, "rm tinkc.db* && sed -i s/'\"row\":2'/'\"row\":1'/"
                       " checkpoints/*/weights/two.*/tinkc.json");
    storefix_start(&f);
    storefix_expect(&f, "one", "1");
    storefix_expect(&f, "two", "2");
    storefix_restart(&f);
    storefix_expect(&f, "one", "1");
    storefix_expect(&f, "two", "2");
    assert_int_equal(storefix_save(&f, "three", "3", false), TINKC_OK);
    storefix_close(&f);
}

/* ---- every allocation fails once ---- */

typedef struct scenario {
    storefix *f;
} scenario;

static bool rebuild(void *user)
{
    storefix *f = ((scenario *)user)->f;
    tk_err err = TK_ERR_INIT;
    srv_store *store = NULL;
    storefix_shell(f, "rm -f tinkc.db*");
    bool ok = srv_store_open(&store, f->data, NULL, &err) == TINKC_OK;
    assert_true(ok || err.code == TINKC_E_NOMEM || err.code == TINKC_E_IO);
    srv_store_close(store);
    return ok;
}

/* Without memory the store does not open; nothing is lost, moved or leaked. */
static void test_srv_rebuilding_without_memory(void **state)
{
    storefix f;
    scenario s = {&f};
    storefix_open(&f);
    assert_int_equal(storefix_save(&f, "one", "1", false), TINKC_OK);
    srv_store_close(f.store);
    failmem_sweep(rebuild, &s, 1);
    storefix_start(&f);
    storefix_expect(&f, "one", "1");
    storefix_shell(&f, "test ! -e aside");
    storefix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_rows_are_rebuilt),
        cmocka_unit_test(test_srv_labels_win_over_an_old_copy),
        cmocka_unit_test(test_srv_new_database_removes_nothing),
        cmocka_unit_test(test_srv_newer_of_two_counts),
        cmocka_unit_test(test_srv_earlier_versions_are_upgraded),
        cmocka_unit_test(test_srv_half_copied_logs_are_used),
        cmocka_unit_test(test_srv_bad_labels),
        cmocka_unit_test(test_srv_files_are_private),
        cmocka_unit_test(test_srv_numbers_collide),
        cmocka_unit_test(test_srv_rebuilding_without_memory),
    };
    return cmocka_run_group_tests_name("srv_store_reconcile", tests, NULL, NULL);
}
