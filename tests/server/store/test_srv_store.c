/* The store when SQLite refuses: what failed is not there, and the next change works; and
 * how much of it a page reads. */
#include "server/store/storefix.h"

static void run_sql(storefix *f, const char *text)
{
    tk_err err = TK_ERR_INIT;
    if (srv_sql_exec(f->store->db, text, &err) != TINKC_OK) {
        fail_msg("%s: %s", text, err.message);
    }
}

/* Rows of `table` name a parent that does not exist, which SQLite finds out at COMMIT and
 * leaves the transaction open. */
static void break_commits(storefix *f, const char *table, const char *change)
{
    char trigger[256];
    run_sql(f, "PRAGMA foreign_keys = ON;"
               "CREATE TABLE parents(id INTEGER PRIMARY KEY);"
               "CREATE TABLE orphans(id REFERENCES parents(id)"
               " DEFERRABLE INITIALLY DEFERRED);");
    (void)snprintf(trigger, sizeof(trigger),
                   "CREATE TRIGGER broken AFTER %s ON %s BEGIN"
                   " INSERT INTO orphans VALUES(1); END",
                   change, table);
    run_sql(f, trigger);
}

static void mend_commits(storefix *f)
{
    run_sql(f, "DROP TRIGGER broken");
}

/* A commit that fails ends its transaction: the next one can begin. */
static void test_srv_failed_checkpoint_is_rolled_back(void **state)
{
    storefix f;
    srv_store_checkpoint found;
    storefix_open(&f);
    break_commits(&f, "checkpoints", "INSERT");
    assert_int_not_equal(storefix_save(&f, "name", "1", false), TINKC_OK);
    assert_false(storefix_find(&f, "name", &found));
    storefix_shell(&f, "test -z \"$(find checkpoints -name 'adapter*')\"");
    mend_commits(&f);
    assert_int_equal(storefix_save(&f, "name", "1", false), TINKC_OK);
    storefix_close(&f);
}

/* A change or a deletion that is not committed leaves the label as it was. */
static void test_srv_failed_changes_leave_the_label(void **state)
{
    storefix f;
    srv_store_checkpoint found;
    tk_str dir;
    tk_err err = TK_ERR_INIT;
    const tk_path path = storefix_path("name");
    storefix_open(&f);
    assert_int_equal(storefix_save(&f, "name", "1", false), TINKC_OK);
    break_commits(&f, "checkpoints", "UPDATE");
    assert_int_not_equal(
        srv_store_publish_checkpoint(f.store, &f.arena, &path, true, &err), TINKC_OK);
    mend_commits(&f);
    tk_err_clear(&err);
    run_sql(&f, "CREATE TRIGGER broken AFTER DELETE ON checkpoints BEGIN"
                " INSERT INTO orphans VALUES(1); END");
    assert_int_not_equal(
        srv_store_delete_checkpoint(&dir, f.store, &f.arena, &path, &err), TINKC_OK);
    mend_commits(&f);
    srv_store_close(f.store);
    storefix_shell(&f, "rm tinkc.db*");
    storefix_start(&f);
    assert_true(storefix_find(&f, "name", &found));
    assert_false(found.is_public);
    storefix_close(&f);
}

/* Fails as a full disk does while the files of a checkpoint are there. */
static void need_room(sqlite3_context *context, int n, sqlite3_value **args)
{
    const storefix *f = sqlite3_user_data(context);
    char command[192];
    (void)snprintf(command, sizeof(command),
                   "test -z \"$(find %s/checkpoints -name 'adapter*')\"", f->data);
    if (system(command) != 0) {
        sqlite3_result_error_code(context, SQLITE_FULL);
    }
}

/* What is deleted makes the room that the database needs for it. */
static void test_srv_full_disk_deletes(void **state)
{
    storefix f;
    srv_store_checkpoint found;
    tk_str dir;
    tk_err err = TK_ERR_INIT;
    const tk_path path = storefix_path("name");
    storefix_open(&f);
    assert_int_equal(storefix_save(&f, "name", "1", false), TINKC_OK);
    assert_int_equal(sqlite3_create_function(f.store->db, "room", 0, SQLITE_UTF8, &f,
                                             need_room, NULL, NULL),
                     SQLITE_OK);
    run_sql(&f, "CREATE TEMP TRIGGER broken AFTER DELETE ON checkpoints BEGIN"
                " SELECT room(); END");
    assert_int_equal(srv_store_delete_checkpoint(&dir, f.store, &f.arena, &path, &err),
                     TINKC_OK);
    assert_false(storefix_find(&f, "name", &found));
    run_sql(&f, "DROP TRIGGER broken");
    storefix_close(&f);
}

static void test_srv_failed_usage_is_rolled_back(void **state)
{
    storefix f;
    srv_store_usages list = {0};
    tk_err err = TK_ERR_INIT;
    const int64_t span[2] = {0, 10};
    const srv_store_usage row = {
        .base_model = TK_STR("m"), .session_id = TK_STR("s"), .amount = 3};
    storefix_open(&f);
    break_commits(&f, "usage", "INSERT");
    assert_int_not_equal(srv_store_add_usage(f.store, &row, 1, &err), TINKC_OK);
    mend_commits(&f);
    assert_int_equal(srv_store_add_usage(f.store, &row, 1, &err), TINKC_OK);
    assert_int_equal(srv_store_list_usage(&list, f.store, &f.arena, span, &err),
                     TINKC_OK);
    assert_int_equal(list.n, 1);
    assert_int_equal(list.p[0].amount, 3);
    storefix_close(&f);
}

static int on_run(unsigned what, void *user, void *statement, void *text)
{
    int *runs = user;
    (*runs)++;
    return 0;
}

/* A statement whose last row was read is not run once more when it is ended. */
static void test_srv_statements_run_once(void **state)
{
    storefix f;
    int runs = 0;
    srv_sql sql;
    tk_err err = TK_ERR_INIT;
    storefix_open(&f);
    (void)sqlite3_trace_v2(f.store->db, SQLITE_TRACE_STMT, on_run, &runs);
    srv_sql_begin(&sql, f.store->db, "SELECT 1 UNION ALL SELECT 2");
    assert_true(srv_sql_row(&sql));
    assert_true(srv_sql_row(&sql));
    assert_int_equal(srv_sql_get_i64(&sql, 0), 2);
    assert_false(srv_sql_row(&sql));
    assert_false(srv_sql_row(&sql));
    assert_int_equal(srv_sql_done(&sql, &err), TINKC_OK);
    assert_int_equal(runs, 1);
    storefix_close(&f);
}

/* ---- pages ---- */

#define SESSIONS 1000
#define PAGE     5

static void add_sessions(storefix *f)
{
    char text[256];
    (void)snprintf(text, sizeof(text),
                   "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c"
                   " WHERE i < %d)"
                   " INSERT INTO sessions SELECT printf('s%%04d', i * 7 %% %d), i, '[]',"
                   " NULL, NULL, NULL, NULL FROM c",
                   SESSIONS, SESSIONS);
    run_sql(f, text);
}

/* Adds up the rows that a statement went through without looking for them. */
static int on_statement(unsigned what, void *user, void *statement, void *unused)
{
    int *steps = user;
    *steps += sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1);
    return 0;
}

static void expect_short_pages(storefix *f)
{
    tk_err err = TK_ERR_INIT;
    tk_strs ids = {0};
    srv_store_founds found = {0};
    int steps = 0;
    const srv_store_page page = {.limit = PAGE, .offset = 0};
    const srv_store_search search = {
        .before_us = SESSIONS / 2, .before_id = TK_STR(""), .limit = PAGE};
    assert_int_equal(
        sqlite3_trace_v2(f->store->db, SQLITE_TRACE_PROFILE, on_statement, &steps),
        SQLITE_OK);
    assert_int_equal(srv_store_list_sessions(&ids, f->store, &f->arena, &page, &err),
                     TINKC_OK);
    assert_int_equal(ids.n, PAGE);
    assert_true(tk_str_is(ids.p[0], "s0000")); /* 7000 modulo 1000: the newest */
    assert_true(tk_str_is(ids.p[1], "s0993"));
    assert_in_range(steps, 0, 2 * PAGE);
    steps = 0;
    assert_int_equal(
        srv_store_search_sessions(&found, f->store, &f->arena, &search, &err), TINKC_OK);
    assert_int_equal(found.n, PAGE);
    assert_int_equal(found.p[0].created_us, SESSIONS / 2 - 1);
    assert_in_range(steps, 0, 2 * PAGE);
    (void)sqlite3_trace_v2(f->store->db, 0, NULL, NULL);
}

/* A page of sessions reads no more of them than it shows, also in a database that was
 * made before there was an index. */
static void test_srv_session_pages_use_an_index(void **state)
{
    storefix f;
    storefix_open(&f);
    add_sessions(&f);
    expect_short_pages(&f);
    run_sql(&f, "DROP INDEX sessions_by_time; DROP TABLE clock; DROP TABLE finished;"
                "PRAGMA user_version = 2;"
                "ALTER TABLE checkpoints DROP COLUMN user_metadata;"
                "ALTER TABLE sessions DROP COLUMN display_name;"
                "ALTER TABLE runs DROP COLUMN project_id");
    storefix_restart(&f);
    expect_short_pages(&f);
    storefix_close(&f);
}

/* A page with long metadata is short: the lock is not held for all of it. */
static void test_srv_search_pages_are_short(void **state)
{
    storefix f;
    tk_err err = TK_ERR_INIT;
    srv_store_founds found = {0};
    const srv_store_search search = {
        .before_us = INT64_MAX, .before_id = TK_STR(""), .limit = 100};
    storefix_open(&f);
    run_sql(&f, "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c"
                " WHERE i < 8) INSERT INTO sessions SELECT 's' || i, i, '[]',"
                " hex(zeroblob(262144)), NULL, NULL, NULL FROM c");
    assert_int_equal(srv_store_search_sessions(&found, f.store, &f.arena, &search, &err),
                     TINKC_OK);
    assert_int_equal(found.n, 2);
    assert_int_equal(found.bytes, TK_MIB);
    assert_true(found.more);
    storefix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_failed_checkpoint_is_rolled_back),
        cmocka_unit_test(test_srv_failed_changes_leave_the_label),
        cmocka_unit_test(test_srv_full_disk_deletes),
        cmocka_unit_test(test_srv_failed_usage_is_rolled_back),
        cmocka_unit_test(test_srv_statements_run_once),
        cmocka_unit_test(test_srv_session_pages_use_an_index),
        cmocka_unit_test(test_srv_search_pages_are_short),
    };
    return cmocka_run_group_tests_name("srv_store", tests, NULL, NULL);
}
