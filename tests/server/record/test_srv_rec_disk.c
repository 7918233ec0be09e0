/* What the recorder does when the disk or the database does not take what it writes. */
#include "server/record/srv_rec.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "recfix.h"
#include "server/record/srv_rec_db.h"

/* Each of these in the place of the database: one warning, and nothing else happens; what is
 * no database is moved aside, and recording goes on. */
static void test_srv_rec_other_things_in_its_place(void **state)
{
    static const char *const commands[] = {
        "mkdir $D/console.db",
        "printf hello > $D/console.db",
        "head -c 100000 /dev/urandom > $D/console.db",
        "printf 'SQLite format 3\\0garbage' > $D/console.db",
        ": > $D/console.db",
        "ln -s $D/missing/place $D/console.db",
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(commands); i++) {
        recfix it;
        char command[256];
        srv_rec_stats stats;
        recfix_make(&it);
        (void)snprintf(command, sizeof(command), "D=%s; %s", it.data, commands[i]);
        assert_int_equal(system(command), 0);
        recfix_open(&it, NULL);
        recfix_begin(it.rec);
        recfix_step(it.rec, 1, 1.0);
        recfix_step(it.rec, 2, 1.0);
        srv_rec_flush(it.rec);
        srv_rec_get_stats(it.rec, &stats);
        bool fails = i == 0 || i == 5;
        if (stats.works == fails || (fails && atomic_load(&it.warnings) != 1)) {
            fail_msg("%s: works %d, %d warnings", command, stats.works,
                     atomic_load(&it.warnings));
        }
        if (!fails) {
            assert_int_equal(recfix_only_run(&it).step, 2);
        }
        recfix_close(&it);
        recfix_remove(&it);
    }
}

static sqlite3 *open_beside(const recfix *it, const char *sql)
{
    char path[128];
    sqlite3 *db = NULL;
    (void)snprintf(path, sizeof(path), "%s/console.db", it->data);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    return db;
}

/* While another has the database, everything waits; nothing is lost, and nothing is warned of. */
static void test_srv_rec_busy(void **state)
{
    recfix it;
    srv_rec_stats stats;
    recfix_make(&it);
    recfix_open(&it, NULL);
    recfix_step(it.rec, 1, 1.0);
    srv_rec_flush(it.rec);
    sqlite3 *db = open_beside(&it, "BEGIN IMMEDIATE");
    recfix_step(it.rec, 2, 4.0);
    recfix_add_sample(it.rec, 7, 1);
    assert_false(srv_rec_flush(it.rec));
    recfix_step(it.rec, 3, 5.0);
    srv_rec_get_stats(it.rec, &stats);
    assert_int_equal(stats.dropped, 0);
    assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    recfix_step(it.rec, 4, 1.0);
    assert_true(srv_rec_flush(it.rec));
    srv_rec_get_stats(it.rec, &stats);
    assert_true(stats.works && stats.dropped == 0);
    assert_int_equal(atomic_load(&it.warnings), 0);
    assert_int_equal(recfix_only_run(&it).step, 4);
    con_series s = recfix_series_of(&it, RECFIX_RUN, "loss", CON_BY_STEP, 0, 9, 9);
    assert_int_equal(s.n, 4);
    assert_true(s.p[1].mean == 4.0 && s.p[2].mean == 5.0);
    assert_int_equal(recfix_samples(&it, &recfix_everything).n, 1);
    recfix_close(&it);
    recfix_remove(&it);
}

/* Samples are not deleted while some wait, which would be written afterwards. */
static void test_srv_rec_busy_deletes_nothing(void **state)
{
    recfix it;
    tk_err err = TK_ERR_INIT;
    int64_t n = 0;
    recfix_make(&it);
    recfix_open(&it, NULL);
    sqlite3 *db = open_beside(&it, "BEGIN IMMEDIATE");
    recfix_add_sample(it.rec, 7, 1);
    assert_int_equal(srv_rec_forget(it.rec, &n, CON_UNKNOWN, &err), TINKC_E_STATE);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(srv_rec_forget(it.rec, &n, CON_UNKNOWN, &err), TINKC_OK);
    assert_int_equal(n, 1);
    recfix_close(&it);
    recfix_remove(&it);
}

/* The same while the recorder opens it. */
static void test_srv_rec_busy_at_the_start(void **state)
{
    recfix it;
    srv_rec_stats stats;
    recfix_make(&it);
    recfix_open(&it, NULL);
    recfix_step(it.rec, 1, 1.0);
    recfix_close(&it);
    sqlite3 *db = open_beside(&it, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    recfix_open(&it, NULL);
    recfix_step(it.rec, 2, 4.0);
    assert_false(srv_rec_flush(it.rec));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_true(srv_rec_flush(it.rec));
    srv_rec_get_stats(it.rec, &stats);
    assert_true(stats.works && stats.dropped == 0);
    assert_int_equal(atomic_load(&it.warnings), 0);
    assert_int_equal(recfix_only_run(&it).step, 2);
    recfix_close(&it);
    recfix_remove(&it);
}

/* Takes all that is left of the budget; returns how much it was. */
static size_t fill_budget(recfix *it)
{
    size_t taken = 0;
    for (size_t n = TK_GIB; n > 0; n /= 2) {
        while (hd_budget_take(&it->memory, HD_PART_REQUESTS, n)) {
            taken += n;
        }
    }
    return taken;
}

/* Without memory for their run, a step is lost, which two requests made. */
static void test_srv_rec_counts_what_is_lost_once(void **state)
{
    recfix it;
    srv_rec_stats stats;
    recfix_make(&it);
    recfix_open(&it, NULL);
    sqlite3 *db = open_beside(&it, "BEGIN IMMEDIATE");
    recfix_step(it.rec, 1, 1.0);
    size_t taken = fill_budget(&it);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_true(srv_rec_flush(it.rec));
    srv_rec_get_stats(it.rec, &stats);
    assert_int_equal(stats.dropped, 1);
    hd_budget_give(&it.memory, HD_PART_REQUESTS, taken);
    recfix_close(&it);
    recfix_remove(&it);
}

/* What goes by the limits is not overwritten, whatever SQLite was built to do: each page of it
 * would be written once more. */
static void test_srv_rec_overwrites_what_costs_nothing(void **state)
{
    recfix it;
    tk_err err = TK_ERR_INIT;
    sqlite3 *db = NULL;
    bool damaged = false;
    int64_t how = 0;
    recfix_make(&it);
    assert_int_equal(srv_rec_db_open(&db, it.data, &damaged, &err), TINKC_OK);
    assert_int_equal(srv_rec_db_number(&how, db, "PRAGMA secure_delete", &err), TINKC_OK);
    assert_int_equal(how, 2); /* FAST */
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    recfix_remove(&it);
}

/* Runs in a child of its own, whose files cannot grow. */
static void fill_the_disk(recfix *it)
{
    const struct rlimit limit = {300000, 300000};
    srv_rec_stats stats;
    (void)signal(SIGXFSZ, SIG_IGN);
    recfix_open(it, NULL);
    recfix_begin(it->rec);
    recfix_step(it->rec, 1, 1.0);
    srv_rec_flush(it->rec);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int64_t i = 2; i <= 20000; i++) {
        recfix_step(it->rec, i, 1.0);
        recfix_add_sample(it->rec, 7, 1);
        if (i % 1000 == 0) {
            srv_rec_flush(it->rec);
        }
    }
    srv_rec_flush(it->rec);
    srv_rec_get_stats(it->rec, &stats);
    assert_false(stats.works);
    assert_true(stats.dropped > 1000);
    assert_int_equal(atomic_load(&it->warnings), 1);
    assert_true(recfix_only_run(it).step >= 1); /* what is there can still be read */
    recfix_close(it);
}

static void in_child(void (*run)(recfix *it), recfix *it, int want_signal)
{
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        run(it);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (want_signal != 0) {
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == want_signal);
    } else {
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static void test_srv_rec_full_disk(void **state)
{
    recfix it;
    recfix_make(&it);
    in_child(fill_the_disk, &it, 0);
    recfix_open(&it, NULL); /* there is room again */
    assert_true(recfix_only_run(&it).step >= 1);
    recfix_step(it.rec, 30000, 1.0);
    srv_rec_flush(it.rec);
    assert_int_equal(recfix_only_run(&it).step, 30000);
    recfix_close(&it);
    recfix_remove(&it);
}

/* A sample of about 160 KB. */
static void add_large_sample(srv_rec *rec)
{
    static int32_t ids[20000];
    static float logprobs[20000];
    const srv_rec_sequence sequence = {ids, logprobs, TK_ARRAY_LEN(ids), true};
    const srv_rec_sample sample = {.model = RECFIX_MODEL, .sequences = &sequence, .n = 1};
    srv_rec_add_sample(rec, &sample);
}

/* Lets the files of this process grow by `more` bytes beyond the database's log. */
static void limit_files(const recfix *it, size_t more)
{
    char path[128];
    struct stat st;
    (void)snprintf(path, sizeof(path), "%s/console.db-wal", it->data);
    assert_int_equal(stat(path, &st), 0);
    const struct rlimit limit = {(rlim_t)st.st_size + more, RLIM_INFINITY};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Runs in a child of its own. What was not written does not count as samples, and neither
 * does it count as written. */
static void fill_and_empty_the_disk(recfix *it)
{
    const srv_rec_config config = {.limit_bytes = SRV_REC_LIMIT_MIN, .retry_ns = 1};
    const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    srv_rec_stats stats;
    (void)signal(SIGXFSZ, SIG_IGN);
    recfix_open(it, &config);
    for (int i = 0; i < 6; i++) {
        add_large_sample(it->rec);
    }
    srv_rec_flush(it->rec);
    limit_files(it, 0);
    for (int i = 0; i < 5; i++) { /* of 2 MB each */
        for (int k = 0; k < 12; k++) {
            add_large_sample(it->rec);
        }
        srv_rec_flush(it->rec);
    }
    recfix_step(it->rec, 1, 1.0);
    srv_rec_flush(it->rec);
    srv_rec_get_stats(it->rec, &stats);
    assert_false(stats.works);
    assert_int_equal(stats.dropped, 61); /* with the step */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    for (int i = 0; i < 4; i++) { /* more than half a MB: the limits are looked at */
        add_large_sample(it->rec);
    }
    srv_rec_flush(it->rec);
    srv_rec_get_stats(it->rec, &stats);
    assert_true(stats.works);
    assert_int_equal(recfix_samples(it, &recfix_everything).n, 10);
    assert_int_equal(recfix_only_run(it).step,
                     1); /* although it did nothing since then */
    recfix_close(it);
}

static void test_srv_rec_full_disk_is_emptied(void **state)
{
    recfix it;
    recfix_make(&it);
    in_child(fill_and_empty_the_disk, &it, 0);
    recfix_remove(&it);
}

static void record_and_die(recfix *it)
{
    recfix_open(it, NULL);
    recfix_begin(it->rec);
    for (int64_t i = 1; i <= 5000; i++) {
        recfix_step(it->rec, i, 1.0);
        if (i == 4000) {
            srv_rec_flush(it->rec);
        }
    }
    (void)kill(getpid(), SIGKILL);
}

/* kill -9: what was written is there, and the database is whole. */
static void test_srv_rec_killed(void **state)
{
    recfix it;
    recfix_make(&it);
    for (int i = 0; i < 5; i++) {
        in_child(record_and_die, &it, SIGKILL);
    }
    recfix_open(&it, NULL);
    assert_int_equal(atomic_load(&it.warnings), 0);
    assert_true(recfix_only_run(&it).step >= 4000);
    con_series s = recfix_series(&it, "loss", CON_BY_STEP, 1, 4000, 4000);
    assert_int_equal(s.total, 4000);
    recfix_close(&it);
    char command[256];
    (void)snprintf(command, sizeof(command), "ls -d %s/aside 2>/dev/null", it.data);
    assert_int_not_equal(system(command), 0); /* nothing was moved aside */
    recfix_remove(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_rec_other_things_in_its_place),
        cmocka_unit_test(test_srv_rec_busy),
        cmocka_unit_test(test_srv_rec_busy_deletes_nothing),
        cmocka_unit_test(test_srv_rec_busy_at_the_start),
        cmocka_unit_test(test_srv_rec_counts_what_is_lost_once),
        cmocka_unit_test(test_srv_rec_overwrites_what_costs_nothing),
        cmocka_unit_test(test_srv_rec_full_disk),
        cmocka_unit_test(test_srv_rec_full_disk_is_emptied),
        cmocka_unit_test(test_srv_rec_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
