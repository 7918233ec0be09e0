/* Rows of long ago: sessions without a checkpoint go, with their runs and samplers; those
 * with one stay. */
#include "base/clock.h"
#include "server/store/storefix.h"

#define DAY_US (INT64_C(86400) * 1000000)

static void run_sql(storefix *f, const char *format, ...) TK_PRINTF(2, 3);

static void run_sql(storefix *f, const char *format, ...)
{
    char text[512];
    tk_err err = TK_ERR_INIT;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (srv_sql_exec(f->store->db, text, &err) != TINKC_OK) {
        fail_msg("%s: %s", text, err.message);
    }
}

static void add_session(storefix *f, const char *id, int64_t created_us)
{
    run_sql(f, "INSERT INTO sessions VALUES('%s',%lld,'[]',NULL,NULL,NULL,NULL)", id,
            (long long)created_us);
}

static tk_strs list(storefix *f, int64_t limit, int64_t after_us, const char *after_id)
{
    tk_strs ids = {0};
    int64_t last = 0, before = 0;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(srv_store_stale_time(&before, f->store, 1000 * DAY_US, &err),
                     TINKC_OK);
    const srv_store_stale stale = {before, after_us, tk_str_of(after_id), limit};
    assert_int_equal(srv_store_list_stale(&ids, &last, f->store, &f->arena, &stale, &err),
                     TINKC_OK);
    return ids;
}

static int64_t count(storefix *f, const char *table)
{
    char text[64];
    srv_sql sql;
    int64_t n = -1;
    tk_err err = TK_ERR_INIT;
    (void)snprintf(text, sizeof(text), "SELECT count(*) FROM %s", table);
    srv_sql_begin(&sql, f->store->db, text);
    if (srv_sql_row(&sql)) {
        n = srv_sql_get_i64(&sql, 0);
    }
    assert_int_equal(srv_sql_done(&sql, &err), TINKC_OK);
    return n;
}

static void test_srv_old_sessions_are_listed(void **state)
{
    storefix f;
    storefix_open(&f);
    add_session(&f, "session", 1 * DAY_US); /* has a checkpoint */
    assert_int_equal(storefix_save(&f, "one", "1", false), TINKC_OK);
    add_session(&f, "a", 909 * DAY_US);
    add_session(&f, "b", 909 * DAY_US);
    add_session(&f, "c", 908 * DAY_US);
    add_session(&f, "young", 911 * DAY_US);
    tk_strs ids = list(&f, 10, 0, "");
    assert_int_equal(ids.n, 3);
    assert_true(tk_str_is(ids.p[0], "c"));
    assert_true(tk_str_is(ids.p[2], "b"));
    ids = list(&f, 1, 909 * DAY_US, "a");
    assert_int_equal(ids.n, 1);
    assert_true(tk_str_is(ids.p[0], "b"));
    storefix_close(&f);
}

/* Runs of copies and uploads belong to no session: they go when their checkpoint has. */
static void test_srv_runs_of_no_session_are_forgotten(void **state)
{
    storefix f;
    tk_err err = TK_ERR_INIT;
    const srv_store_run more = {.id = TK_STR("copy:train:0"),
                                .session_id = TK_STR("copy"),
                                .base_model = TK_STR("base")};
    storefix_open(&f); /* with a run of "session", which has no row */
    assert_int_equal(storefix_save(&f, "one", "1", false), TINKC_OK);
    assert_int_equal(srv_store_add_run(f.store, &more, &err), TINKC_OK);
    int64_t now = tk_clock_wall_us(NULL);
    assert_int_equal(srv_store_forget_runs(f.store, now - DAY_US, &err), TINKC_OK);
    assert_int_equal(count(&f, "runs"), 2); /* both are young */
    assert_int_equal(srv_store_forget_runs(f.store, now + DAY_US, &err), TINKC_OK);
    assert_int_equal(count(&f, "runs"), 1); /* that with a checkpoint */
    add_session(&f, "copy", DAY_US);
    assert_int_equal(srv_store_add_run(f.store, &more, &err), TINKC_OK);
    assert_int_equal(srv_store_forget_runs(f.store, now + DAY_US, &err), TINKC_OK);
    assert_int_equal(count(&f, "runs"), 2); /* that with a session */
    storefix_close(&f);
}

static void test_srv_old_sessions_are_forgotten(void **state)
{
    storefix f;
    tk_err err = TK_ERR_INIT;
    srv_store_run run;
    storefix_open(&f);
    add_session(&f, "session", DAY_US);
    add_session(&f, "other", DAY_US);
    const srv_store_run more = {.id = TK_STR("other:train:0"),
                                .session_id = TK_STR("other"),
                                .base_model = TK_STR("base")};
    const srv_store_sampler sampler = {.id = TK_STR("other:sample:0"),
                                       .session_id = TK_STR("other"),
                                       .base_model = TK_STR("base")};
    assert_int_equal(srv_store_add_run(f.store, &more, &err), TINKC_OK);
    assert_int_equal(srv_store_add_sampler(f.store, &sampler, &err), TINKC_OK);
    assert_int_equal(storefix_save(&f, "one", "1", false), TINKC_OK);
    assert_int_equal(srv_store_forget_session(f.store, TK_STR("other"), &err), TINKC_OK);
    assert_int_equal(srv_store_forget_session(f.store, TK_STR("session"), &err),
                     TINKC_OK); /* stays: it has a checkpoint */
    assert_int_equal(srv_store_find_session(f.store, TK_STR("session"), &err), TINKC_OK);
    assert_int_equal(
        srv_store_get_run(&run, f.store, &f.arena, TK_STR(STOREFIX_RUN), &err), TINKC_OK);
    assert_int_equal(count(&f, "sessions"), 1);
    assert_int_equal(count(&f, "runs"), 1);
    assert_int_equal(count(&f, "samplers"), 0);
    storefix_expect(&f, "one", "1");
    storefix_close(&f);
}

/* Beyond the limit of rows, those that are not old go too. */
static void test_srv_too_many_sessions_are_old(void **state)
{
    storefix f;
    storefix_open(&f);
    run_sql(
        &f,
        "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < %d)"
        " INSERT INTO sessions SELECT printf('s%%08d', i), %lld + i, '[]', NULL, NULL,"
        " NULL, NULL FROM c",
        TK_SRV_SESSION_ROWS_MAX + 3, (long long)(999 * DAY_US));
    tk_strs ids = list(&f, 10, 0, "");
    assert_int_equal(ids.n, 3);
    assert_true(tk_str_is(ids.p[2], "s00000003"));
    storefix_close(&f);
}

static void test_srv_old_usage_is_forgotten(void **state)
{
    storefix f;
    tk_err err = TK_ERR_INIT;
    storefix_open(&f);
    const srv_store_usage rows[] = {
        {.bucket_us = 599 * DAY_US, .base_model = TK_STR("m"), .session_id = TK_STR("s")},
        {.bucket_us = 601 * DAY_US,
         .base_model = TK_STR("m"),
         .session_id = TK_STR("s")}};
    assert_int_equal(srv_store_add_usage(f.store, rows, 2, &err), TINKC_OK);
    assert_int_equal(srv_store_forget_usage(f.store, 1000 * DAY_US, &err), TINKC_OK);
    assert_int_equal(count(&f, "usage"), 1);
    storefix_close(&f);
}

/* A start with the clock far ahead of the last run hides what has expired by it, but does
 * not remove it. */
static void test_srv_clock_ahead_removes_nothing(void **state)
{
    storefix f;
    tk_err err = TK_ERR_INIT;
    srv_store_expiry at = {0};
    int64_t now = tk_clock_wall_us(NULL);
    storefix_open(&f);
    assert_int_equal(storefix_save(&f, "one", "1", false), TINKC_OK);
    assert_int_equal(srv_store_note_time(f.store, &err), TINKC_OK);
    assert_in_range(srv_store_removal_us(f.store), now, now + 60 * INT64_C(1000000));
    /* as if the clock had been years behind until now */
    run_sql(&f,
            "UPDATE clock SET seen_us = seen_us - %lld; UPDATE checkpoints SET"
            " expires_us = %lld",
            (long long)(3650 * DAY_US), (long long)(now - DAY_US));
    srv_store_close(f.store);
    storefix_shell(&f, "sed -i 's/\"size_bytes\"/\"expires_at\":\"2020-01-01T00:00:00Z\","
                       "&/' checkpoints/*/weights/*/tinkc.json");
    storefix_start(&f);
    assert_true(srv_store_removal_us(f.store) < now - 3000 * DAY_US);
    assert_int_equal(srv_store_take_expired(&at, f.store, &f.arena,
                                            srv_store_removal_us(f.store), &err),
                     TINKC_OK);
    assert_int_equal(at.dir.n, 0);
    storefix_shell(&f, "test -e checkpoints/*/weights/one.*/tinkc.json");
    assert_int_equal(srv_store_take_expired(&at, f.store, &f.arena, now, &err), TINKC_OK);
    assert_true(at.dir.n > 0);
    storefix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_old_sessions_are_listed),
        cmocka_unit_test(test_srv_old_sessions_are_forgotten),
        cmocka_unit_test(test_srv_runs_of_no_session_are_forgotten),
        cmocka_unit_test(test_srv_too_many_sessions_are_old),
        cmocka_unit_test(test_srv_old_usage_is_forgotten),
        cmocka_unit_test(test_srv_clock_ahead_removes_nothing),
    };
    return cmocka_run_group_tests_name("srv_store_stale", tests, NULL, NULL);
}
