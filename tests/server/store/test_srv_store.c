/* The store when SQLite refuses: what failed is not there, and the next change works; and
 * how much of it a page reads. */
#include "server/srvfix.h"
#include "server/store/srv_store_int.h"

typedef struct fix {
    char data[64];
    srv_store *store;
    tk_arena arena;
} fix;

static void open_fix(fix *f)
{
    tk_err err = TK_ERR_INIT;
    srvfix_make_dir(f->data);
    tk_arena_init(&f->arena, 0);
    assert_int_equal(srv_store_open(&f->store, f->data, &err), TINKC_OK);
}

static void close_fix(fix *f)
{
    char command[96];
    srv_store_close(f->store);
    tk_arena_dispose(&f->arena);
    (void)snprintf(command, sizeof(command), "rm -rf %s", f->data);
    assert_int_equal(system(command), 0);
}

static void run_sql(fix *f, const char *text)
{
    tk_err err = TK_ERR_INIT;
    if (srv_sql_exec(f->store->db, text, &err) != TINKC_OK) {
        fail_msg("%s: %s", text, err.message);
    }
}

/* Rows of `table` name a parent that does not exist, which SQLite finds out at COMMIT and
 * leaves the transaction open. */
static void break_commits(fix *f, const char *table)
{
    char trigger[256];
    run_sql(f, "PRAGMA foreign_keys = ON;"
               "CREATE TABLE parents(id INTEGER PRIMARY KEY);"
               "CREATE TABLE orphans(id REFERENCES parents(id)"
               " DEFERRABLE INITIALLY DEFERRED);");
    (void)snprintf(trigger, sizeof(trigger),
                   "CREATE TRIGGER broken AFTER INSERT ON %s BEGIN"
                   " INSERT INTO orphans VALUES(1); END",
                   table);
    run_sql(f, trigger);
}

static void mend_commits(fix *f)
{
    run_sql(f, "DROP TRIGGER broken");
}

static tinkc_code add_checkpoint(fix *f)
{
    const srv_store_checkpoint row = {.run_id = TK_STR("run"),
                                      .kind = TK_PATH_WEIGHTS,
                                      .name = TK_STR("name"),
                                      .dir = TK_STR("run/weights/name.1"),
                                      .created_us = 1};
    tk_str old;
    tk_err err = TK_ERR_INIT;
    return srv_store_add_checkpoint(f->store, &f->arena, &row, false, &old, &err);
}

/* A commit that fails ends its transaction: the next one can begin. */
static void test_srv_failed_checkpoint_is_rolled_back(void **state)
{
    fix f;
    srv_store_checkpoint found;
    tk_err err = TK_ERR_INIT;
    const tk_path path = {
        .run = TK_STR("run"), .kind = TK_PATH_WEIGHTS, .name = TK_STR("name")};
    open_fix(&f);
    break_commits(&f, "checkpoints");
    assert_int_not_equal(add_checkpoint(&f), TINKC_OK);
    assert_int_equal(srv_store_get_checkpoint(&found, f.store, &f.arena, &path, &err),
                     TINKC_E_MISSING);
    mend_commits(&f);
    assert_int_equal(add_checkpoint(&f), TINKC_OK);
    close_fix(&f);
}

static void test_srv_failed_usage_is_rolled_back(void **state)
{
    fix f;
    srv_store_usages list = {0};
    tk_err err = TK_ERR_INIT;
    const int64_t span[2] = {0, 10};
    const srv_store_usage row = {
        .base_model = TK_STR("m"), .session_id = TK_STR("s"), .amount = 3};
    open_fix(&f);
    break_commits(&f, "usage");
    assert_int_not_equal(srv_store_add_usage(f.store, &row, 1, &err), TINKC_OK);
    mend_commits(&f);
    assert_int_equal(srv_store_add_usage(f.store, &row, 1, &err), TINKC_OK);
    assert_int_equal(srv_store_list_usage(&list, f.store, &f.arena, span, &err),
                     TINKC_OK);
    assert_int_equal(list.n, 1);
    assert_int_equal(list.p[0].amount, 3);
    close_fix(&f);
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
    fix f;
    int runs = 0;
    srv_sql sql;
    tk_err err = TK_ERR_INIT;
    open_fix(&f);
    (void)sqlite3_trace_v2(f.store->db, SQLITE_TRACE_STMT, on_run, &runs);
    srv_sql_begin(&sql, f.store->db, "SELECT 1 UNION ALL SELECT 2");
    assert_true(srv_sql_row(&sql));
    assert_true(srv_sql_row(&sql));
    assert_int_equal(srv_sql_get_i64(&sql, 0), 2);
    assert_false(srv_sql_row(&sql));
    assert_false(srv_sql_row(&sql));
    assert_int_equal(srv_sql_done(&sql, &err), TINKC_OK);
    assert_int_equal(runs, 1);
    close_fix(&f);
}

/* ---- pages ---- */

#define SESSIONS 1000
#define PAGE     5

static void add_sessions(fix *f)
{
    char text[256];
    (void)snprintf(text, sizeof(text),
                   "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c"
                   " WHERE i < %d)"
                   " INSERT INTO sessions SELECT printf('s%%04d', i * 7 %% %d), i, '[]',"
                   " NULL, NULL, NULL FROM c",
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

static void expect_short_pages(fix *f)
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
    fix f;
    tk_err err = TK_ERR_INIT;
    open_fix(&f);
    add_sessions(&f);
    expect_short_pages(&f);
    run_sql(&f, "DROP INDEX sessions_by_time; PRAGMA user_version = 2");
    srv_store_close(f.store);
    assert_int_equal(srv_store_open(&f.store, f.data, &err), TINKC_OK);
    expect_short_pages(&f);
    close_fix(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_failed_checkpoint_is_rolled_back),
        cmocka_unit_test(test_srv_failed_usage_is_rolled_back),
        cmocka_unit_test(test_srv_statements_run_once),
        cmocka_unit_test(test_srv_session_pages_use_an_index),
    };
    return cmocka_run_group_tests_name("srv_store", tests, NULL, NULL);
}
