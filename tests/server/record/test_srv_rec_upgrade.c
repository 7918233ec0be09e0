/* A database of version 1, which had a row for each sequence: what it has is shown as before,
 * and recording goes on in it. */
#include "server/record/srv_rec_upgrade.h"

#include <math.h>

#include "recfix.h"
#include "server/record/srv_rec_db.h"
#include "support/failmem.h"

static const char old_schema[] =
    "PRAGMA auto_vacuum = INCREMENTAL;"
    "CREATE TABLE runs("
    " row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, session TEXT NOT NULL,"
    " name TEXT, checkpoint TEXT, model TEXT NOT NULL, rank INTEGER NOT NULL,"
    " metadata TEXT, created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL,"
    " step INTEGER NOT NULL, tokens INTEGER NOT NULL, loss REAL);"
    "CREATE INDEX runs_by_time ON runs(updated_ms);"
    "CREATE TABLE metrics("
    " run INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL,"
    " n INTEGER NOT NULL, last REAL, min REAL, max REAL,"
    " first_step INTEGER NOT NULL, last_step INTEGER NOT NULL,"
    " PRIMARY KEY(run, number)) WITHOUT ROWID;"
    "CREATE TABLE points("
    " run INTEGER NOT NULL, level INTEGER NOT NULL, first INTEGER NOT NULL,"
    " step INTEGER NOT NULL, time_ms INTEGER NOT NULL, tokens INTEGER NOT NULL,"
    " data BLOB NOT NULL, PRIMARY KEY(run, level, first)) WITHOUT ROWID;"
    "CREATE TABLE checkpoints("
    " run INTEGER NOT NULL, id TEXT NOT NULL, step INTEGER NOT NULL,"
    " PRIMARY KEY(run, id)) WITHOUT ROWID;"
    "CREATE TABLE prompts(id INTEGER PRIMARY KEY, ids BLOB NOT NULL);"
    "CREATE TABLE samples("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, grp INTEGER NOT NULL,"
    " time_ms INTEGER NOT NULL, model TEXT NOT NULL, run TEXT, path TEXT, sampler TEXT,"
    " stopped INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL, tokens INTEGER NOT NULL,"
    " mean REAL, bytes INTEGER NOT NULL, text TEXT NOT NULL, ids BLOB NOT NULL,"
    " logprobs BLOB);"
    "CREATE INDEX samples_by_group ON samples(grp);"
    "PRAGMA application_id = 1953199939;"
    "PRAGMA user_version = 1;";

/* A run of 3 steps; a group of three, whose second one was deleted; one with a path; and a
 * newer one that was deleted. */
static const char old_rows[] =
    "INSERT INTO runs VALUES(1, '0f0c:train:0', '0f0c', 'demo', NULL, 'base', 8, NULL, 5,"
    " strftime('%s', 'now') * 1000, 3, 30, 1.5);"
    "INSERT INTO prompts VALUES(4, x'0700000008000000'), (7, x'');"
    "INSERT INTO samples VALUES"
    "(4, 4, strftime('%s', 'now') * 1000, 'base', NULL, NULL, 's', 1, 99, 2, -1.5, 300,"
    " 'one <B>', x'0100000002000000', x'000080bf000000c0'),"
    "(6, 4, strftime('%s', 'now') * 1000, 'base', NULL, NULL, 's', 0, 99, 1, NULL, 300,"
    " 'three', x'03000000', NULL),"
    "(7, 7, strftime('%s', 'now') * 1000, 'base', '0f0c:train:0',"
    " 'tinker://0f0c:train:0/weights/x', NULL, 0, 0, 0, NULL, 200, '', x'', x''),"
    "(9, 9, strftime('%s', 'now') * 1000, 'base', NULL, NULL, NULL, 0, 0, 0, NULL, 200,"
    " '', x'', x'');"
    "DELETE FROM samples WHERE id = 9;";

static void run_sql(const recfix *it, const char *sql)
{
    char path[128];
    sqlite3 *db = NULL;
    (void)snprintf(path, sizeof(path), "%s/console.db", it->data);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void check_list(recfix *it)
{
    con_samples_query query = recfix_everything;
    con_samples all = recfix_samples(it, &query);
    assert_int_equal(all.n, 3);
    assert_true(all.p[0].id == 7 && all.p[0].group == 7 && all.p[0].tokens == 0);
    assert_true(tk_str_is(all.p[0].run, "0f0c:train:0") && all.p[0].sampler.p == NULL);
    assert_true(all.p[1].id == 6 && all.p[1].group == 4 && !all.p[1].stopped);
    assert_true(tk_str_is(all.p[1].text, "three") && isnan(all.p[1].mean_logprob));
    assert_true(all.p[2].id == 4 && all.p[2].stopped && all.p[2].mean_logprob == -1.5);
    assert_true(all.p[2].prompt_tokens == 99 && tk_str_is(all.p[2].sampler, "s"));
    query.group = 4;
    assert_int_equal(recfix_samples(it, &query).n, 2);
    query = recfix_everything;
    query.search = TK_STR("one <b");
    assert_int_equal(recfix_samples(it, &query).n, 1);
}

static void check_each(recfix *it)
{
    tk_err err = TK_ERR_INIT;
    con_sample_details one;
    assert_int_equal(srv_rec_read_sample(&one, it->rec, &it->arena, 4, &err), TINKC_OK);
    assert_true(one.prompt.n == 2 && one.prompt.ids[1] == 8);
    assert_true(one.output.n == 2 && one.output.ids[1] == 2);
    assert_true(one.output.logprobs[0] == -1.0F && one.output.logprobs[1] == -2.0F);
    assert_int_equal(srv_rec_read_sample(&one, it->rec, &it->arena, 6, &err), TINKC_OK);
    assert_true(one.prompt.n == 2 && one.output.n == 1 && one.output.ids[0] == 3 &&
                isnan(one.output.logprobs[0]));
    assert_int_equal(srv_rec_read_sample(&one, it->rec, &it->arena, 5, &err),
                     TINKC_E_MISSING);
}

static void test_srv_rec_upgrade_shows_what_was_there(void **state)
{
    recfix it;
    recfix_make(&it);
    run_sql(&it, old_schema);
    run_sql(&it, old_rows);
    recfix_open(&it, NULL);
    assert_int_equal(atomic_load(&it.warnings), 0);
    check_list(&it);
    check_each(&it);
    assert_int_equal(recfix_only_run(&it).step, 3);
    recfix_add_sample(it.rec, 7, 2);
    srv_rec_flush(it.rec);
    con_samples all = recfix_samples(&it, &recfix_everything);
    assert_int_equal(all.n, 5);
    assert_true(all.p[0].id == 11 && all.p[1].id == 10); /* 9 was given to another one */
    recfix_close(&it);
    recfix_open(&it, NULL); /* once is enough */
    assert_int_equal(recfix_samples(&it, &recfix_everything).n, 5);
    recfix_close(&it);
    recfix_remove(&it);
}

/* More samples than are looked at in one go, in groups of 64. */
static void test_srv_rec_upgrade_of_many(void **state)
{
    recfix it;
    recfix_make(&it);
    run_sql(&it, old_schema);
    run_sql(&it,
            "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i <"
            " 6400) INSERT INTO samples SELECT i, (i - 1) / 64 * 64 + 1,"
            " strftime('%s', 'now') * 1000, 'base', NULL, NULL, NULL, 1, 2, 50, -1,"
            " 600, 'sample ' || i, randomblob(200), randomblob(200) FROM n;"
            "INSERT INTO prompts SELECT grp, x'01000000' FROM samples WHERE id = grp");
    recfix_open(&it, NULL);
    con_samples_query query = recfix_everything;
    for (int64_t id = 6400; id > 0; id -= 100) {
        con_samples page = recfix_samples(&it, &query);
        assert_int_equal(page.n, 100);
        assert_true(page.p[0].id == id && page.p[99].id == id - 99);
        assert_true(page.p[99].group == (id - 100) / 64 * 64 + 1);
        assert_true(page.more == (id > 100));
        query.before = page.next;
    }
    query = recfix_everything;
    query.search = TK_STR("sample 6399");
    assert_true(recfix_samples(&it, &query).p[0].id == 6399);
    recfix_close(&it);
    recfix_remove(&it);
}

/* More text than a group has room for, as a token of a million characters makes it. */
static void test_srv_rec_upgrade_of_long_texts(void **state)
{
    recfix it;
    tk_err err = TK_ERR_INIT;
    con_sample_details one;
    recfix_make(&it);
    run_sql(&it, old_schema);
    run_sql(&it,
            "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i <"
            " 20) INSERT INTO samples SELECT i, 1, strftime('%s', 'now') * 1000,"
            " 'base', NULL, NULL, NULL, 1, 2, 50, -1, 600,"
            " 'x' || replace(hex(zeroblob(500000)), '00', char(228)), x'01000000',"
            " x'00000000' FROM n");
    recfix_open(&it, NULL);
    assert_int_equal(atomic_load(&it.warnings), 0);
    assert_int_equal(recfix_samples(&it, &recfix_everything).n, 20);
    assert_int_equal(srv_rec_read_sample(&one, it.rec, &it.arena, 20, &err), TINKC_OK);
    assert_int_equal(one.sample.text.n, 16 * TK_KIB - 1); /* no character is cut */
    assert_int_equal(one.output.n, 1);
    recfix_close(&it);
    recfix_remove(&it);
}

/* Samples that are deleted afterwards are not in the pages that the old tables had, also where
 * SQLite does not overwrite them by itself. */
static void test_srv_rec_upgrade_overwrites(void **state)
{
    recfix it;
    char text[256];
    sqlite3 *db = NULL;
    tk_err err = TK_ERR_INIT;
    recfix_make(&it);
    run_sql(&it, old_schema);
    run_sql(&it,
            "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i <"
            " 100) INSERT INTO samples SELECT i, i, 5, 'base', NULL, NULL, NULL, 1, 2,"
            " 50, -1, 600, 'a secret of ' || i, randomblob(9000), x'' FROM n");
    (void)snprintf(text, sizeof(text), "%s/console.db", it.data);
    assert_int_equal(sqlite3_open(text, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA secure_delete = OFF", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(srv_rec_upgrade_run(db, &err), TINKC_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "PRAGMA secure_delete = ON;"
                                  "DELETE FROM sample_groups",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    (void)snprintf(text, sizeof(text), "grep -aq secret %s/console.db", it.data);
    assert_int_not_equal(system(text), 0);
    recfix_remove(&it);
}

static int64_t number(sqlite3 *db, const char *sql)
{
    tk_err err = TK_ERR_INIT;
    int64_t out = 0;
    assert_int_equal(srv_rec_db_number(&out, db, sql, &err), TINKC_OK);
    return out;
}

/* Memory ends somewhere: the database is as it was. */
static bool upgrade(void *user)
{
    const recfix *it = user;
    char text[256];
    sqlite3 *db = NULL;
    tk_err err = TK_ERR_INIT;
    (void)snprintf(text, sizeof(text), "cp %s/console.db %s/copy.db", it->data, it->data);
    assert_int_equal(system(text), 0);
    (void)snprintf(text, sizeof(text), "%s/copy.db", it->data);
    assert_int_equal(sqlite3_open(text, &db), SQLITE_OK);
    tinkc_code code = srv_rec_upgrade_run(db, &err);
    if (code == TINKC_OK) {
        assert_int_equal(number(db, "PRAGMA user_version"), 2);
        assert_int_equal(number(db, "SELECT count(*) FROM sample_groups"), 2);
    } else {
        assert_int_equal(number(db, "PRAGMA user_version"), 1);
        assert_int_equal(number(db, "SELECT count(*) FROM samples"), 3);
        assert_int_equal(number(db, "SELECT count(*) FROM sqlite_master WHERE name ="
                                    " 'sample_groups'"),
                         0);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return code == TINKC_OK;
}

static void test_srv_rec_upgrade_without_memory(void **state)
{
    recfix it;
    recfix_make(&it);
    run_sql(&it, old_schema);
    run_sql(&it, old_rows);
    assert_true(failmem_sweep(upgrade, &it, 1) > 3);
    recfix_remove(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_rec_upgrade_shows_what_was_there),
        cmocka_unit_test(test_srv_rec_upgrade_of_many),
        cmocka_unit_test(test_srv_rec_upgrade_of_long_texts),
        cmocka_unit_test(test_srv_rec_upgrade_overwrites),
        cmocka_unit_test(test_srv_rec_upgrade_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
