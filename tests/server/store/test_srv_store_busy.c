/* A database that another process holds: only one call waits for it, the others fail at
 * once; a save waits longer, but not with the lock. This program's poll, by which the
 * store waits, counts the calls. */
#include <poll.h>
#include <pthread.h>

#include "server/store/storefix.h"

static int n_polls;
static void (*on_poll)(void);

int poll(struct pollfd *fds, nfds_t n, int ms)
{
    assert_null(fds);
    assert_int_equal(n, 0);
    n_polls++;
    if (on_poll != NULL) {
        on_poll();
    }
    return 0;
}

static sqlite3 *other;

static void hold(const storefix *f)
{
    char path[96];
    (void)snprintf(path, sizeof(path), "%s/tinkc.db", f->data);
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
}

static void let_go(void)
{
    if (other != NULL) {
        assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_close(other), SQLITE_OK);
        other = NULL;
    }
}

static tinkc_code add_session(storefix *f, const char *id)
{
    const tk_create_session_request msg = {0};
    tk_err err = TK_ERR_INIT;
    return srv_store_add_session(f->store, id, &msg, &err);
}

static void test_srv_one_call_waits_for_all(void **state)
{
    storefix f;
    tk_err err = TK_ERR_INIT;
    storefix_open(&f);
    assert_int_equal(add_session(&f, "first"), TINKC_OK);
    hold(&f);
    n_polls = 0;
    assert_int_equal(add_session(&f, "waits"), TINKC_E_IO);
    assert_true(n_polls > 0);
    n_polls = 0;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(add_session(&f, "fails"), TINKC_E_IO);
        assert_int_equal(srv_store_find_session(f.store, TK_STR("first"), &err),
                         TINKC_OK); /* readers need not wait */
    }
    assert_int_equal(n_polls, 0);
    let_go();
    assert_int_equal(add_session(&f, "works"), TINKC_OK);
    storefix_close(&f);
}

static storefix *saving;

/* Runs while a save waits. Another call gets the lock, and then the database is free. */
static void read_and_let_go(void)
{
    tk_err err = TK_ERR_INIT;
    void (*self)(void) = on_poll;
    if (pthread_mutex_trylock(&saving->store->lock.os) == 0) {
        tk_mutex_unlock(&saving->store->lock);
        on_poll = NULL;
        assert_int_equal(srv_store_find_session(saving->store, TK_STR("x"), &err),
                         TINKC_E_MISSING);
        on_poll = self;
        let_go();
    }
}

static void test_srv_saves_are_patient(void **state)
{
    storefix f;
    storefix_open(&f);
    hold(&f);
    saving = &f;
    on_poll = read_and_let_go;
    assert_int_equal(storefix_save(&f, "one", "1", false), TINKC_OK);
    on_poll = NULL;
    assert_null(other);
    storefix_expect(&f, "one", "1");
    storefix_close(&f);
}

/* "I do not know" is not "there is none". */
static void test_srv_broken_database_is_not_an_answer(void **state)
{
    storefix f;
    tk_err err = TK_ERR_INIT;
    storefix_open(&f);
    assert_int_equal(add_session(&f, "first"), TINKC_OK);
    assert_int_equal(srv_sql_exec(f.store->db, "ALTER TABLE sessions RENAME TO s", &err),
                     TINKC_OK);
    assert_int_equal(srv_store_find_session(f.store, TK_STR("first"), &err), TINKC_E_IO);
    storefix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_one_call_waits_for_all),
        cmocka_unit_test(test_srv_saves_are_patient),
        cmocka_unit_test(test_srv_broken_database_is_not_an_answer),
    };
    return cmocka_run_group_tests_name("srv_store_busy", tests, NULL, NULL);
}
