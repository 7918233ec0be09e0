/* What the recorder keeps of runs and samples, and what it does when the queue has no room. */
#include "server/record/srv_rec.h"

#include <math.h>

#include "base/thread.h"
#include "recfix.h"
#include "server/store/srv_sql.h"
#include "support/failmem.h"

static void test_srv_rec_runs(void **state)
{
    recfix it;
    tk_err err = TK_ERR_INIT;
    con_run_details details;
    recfix_make(&it);
    recfix_open(&it, NULL);
    recfix_begin(it.rec);
    recfix_step(it.rec, 1, 3.0);
    recfix_step(it.rec, 2, (double)NAN); /* not a number: that step has no loss */
    recfix_step(it.rec, 3, 1.0);
    srv_rec_add_checkpoint(it.rec, RECFIX_RUN, TK_STR("weights/x"), 3);
    srv_rec_flush(it.rec);
    con_run run = recfix_only_run(&it);
    assert_true(tk_str_eq(run.id, RECFIX_RUN) && tk_str_is(run.name, "demo"));
    assert_true(tk_str_is(run.session, "0f0c") && tk_str_is(run.model, "base"));
    assert_true(tk_str_is(run.metadata, "{\"a\":1}"));
    assert_true(run.step == 3 && run.tokens == 30 && run.rank == 8 && run.loss == 1.0);
    assert_int_equal(run.n_spark, 2);
    assert_true(run.spark[0] == 3.0 && run.spark[1] == 1.0);
    assert_int_equal(srv_rec_read_run(&details, it.rec, &it.arena, RECFIX_RUN, &err),
                     TINKC_OK);
    assert_true(tk_str_is(details.metrics[0].name, "loss"));
    assert_true(details.metrics[0].n == 2 && details.metrics[0].min == 1.0 &&
                details.metrics[0].max == 3.0 && details.metrics[0].first_step == 1 &&
                details.metrics[0].last_step == 3);
    assert_int_equal(details.n_metrics, 9); /* with those of the loss and of time */
    assert_int_equal(srv_rec_read_step(it.rec, RECFIX_RUN, TK_STR("weights/x")), 3);
    assert_true(srv_rec_read_step(it.rec, RECFIX_RUN, TK_STR("weights/y")) ==
                CON_UNKNOWN);
    assert_int_equal(srv_rec_read_run(&details, it.rec, &it.arena, TK_STR("no"), &err),
                     TINKC_E_MISSING);
    srv_rec_end_run(it.rec, RECFIX_RUN);
    recfix_close(&it);
    recfix_open(&it, NULL);
    assert_int_equal(recfix_only_run(&it).step, 3);
    recfix_close(&it);
    recfix_remove(&it);
}

/* Several requests for one step count together, each by its tokens. */
static void test_srv_rec_step_of_several_requests(void **state)
{
    recfix it;
    const srv_rec_metric kl[] = {{TK_STR("kl:mean"), 1.0}, {TK_STR("n:sum"), 2.0}};
    const srv_rec_metric more[] = {{TK_STR("kl:mean"), 4.0}, {TK_STR("n:sum"), 3.0}};
    srv_rec_train train = {.run = RECFIX_RUN,
                           .model = RECFIX_MODEL,
                           .loss_sum = 10,
                           .weight = 10,
                           .tokens = 12,
                           .metrics = kl,
                           .n_metrics = 2};
    const srv_rec_optim optim = {.run = RECFIX_RUN, .model = RECFIX_MODEL, .step = 1};
    recfix_make(&it);
    recfix_open(&it, NULL);
    srv_rec_add_train(it.rec, &train); /* its beginning was lost */
    train.loss_sum = 80;
    train.weight = 20;
    train.metrics = more;
    srv_rec_add_train(it.rec, &train);
    srv_rec_add_optim(it.rec, &optim);
    srv_rec_flush(it.rec);
    assert_true(recfix_only_run(&it).loss == 3.0 && recfix_only_run(&it).tokens == 24);
    assert_true(tk_str_eq(recfix_only_run(&it).name, RECFIX_RUN));
    assert_true(recfix_series(&it, "kl:mean", CON_BY_STEP, 0, 9, 9).p[0].mean == 3.0);
    assert_true(recfix_series(&it, "n:sum", CON_BY_STEP, 0, 9, 9).p[0].mean == 5.0);
    recfix_close(&it);
    recfix_remove(&it);
}

/* ---- samples ---- */

static void test_srv_rec_samples(void **state)
{
    recfix it;
    tk_err err = TK_ERR_INIT;
    con_sample_details one;
    con_samples_query query = recfix_everything;
    int64_t n = 0;
    recfix_make(&it);
    recfix_open(&it, NULL);
    recfix_add_sample(it.rec, 7, 3);
    recfix_add_sample(it.rec, 9, 1);
    srv_rec_flush(it.rec);
    con_samples all = recfix_samples(&it, &query);
    assert_int_equal(all.n, 4);
    assert_true(all.recording && !all.more);
    assert_true(all.p[0].id == 4 && all.p[0].group == 4 && all.p[3].group == 1);
    /* a NUL, and a byte that is not UTF-8, are replaced */
    assert_true(tk_str_is(all.p[0].text, "<B>9??"));
    assert_true(tk_str_is(all.p[0].run, "0f0c:train:0") && all.p[0].mean_logprob == -2.0);
    assert_true(all.p[3].stopped && !all.p[2].stopped);
    query.search = TK_STR("<b>7");
    assert_int_equal(recfix_samples(&it, &query).n, 3);
    query.search = TK_STR("%");
    assert_int_equal(recfix_samples(&it, &query).n, 0);
    query = recfix_everything;
    query.group = 1;
    assert_int_equal(recfix_samples(&it, &query).n, 3);
    query = recfix_everything;
    query.limit = 3;
    all = recfix_samples(&it, &query);
    assert_true(all.n == 3 && all.more && all.next == 2);
    query.before = all.next;
    assert_int_equal(recfix_samples(&it, &query).n, 1);
    assert_int_equal(srv_rec_read_sample(&one, it.rec, &it.arena, 3, &err), TINKC_OK);
    assert_true(one.prompt.n == 3 && one.prompt.ids[2] == 3 && one.output.n == 3 &&
                one.output.logprobs[1] == -2.0F);
    assert_int_equal(srv_rec_forget(it.rec, &n, 3, &err), TINKC_OK);
    assert_int_equal(n, 1);
    assert_int_equal(srv_rec_read_sample(&one, it.rec, &it.arena, 3, &err),
                     TINKC_E_MISSING);
    recfix_add_sample(it.rec, 9, 1); /* not written yet: it goes, too */
    assert_int_equal(srv_rec_forget(it.rec, &n, CON_UNKNOWN, &err), TINKC_OK);
    assert_int_equal(n, 4);
    assert_int_equal(recfix_samples(&it, &recfix_everything).n, 0);
    recfix_close(&it);
    recfix_remove(&it);
}

/* One sequence of a request is deleted, then all of them: the others are as they were. */
static void test_srv_rec_deletes_of_a_group(void **state)
{
    static const int32_t ids[] = {1, 2, 3, 4};
    static const float logprobs[] = {-1.0F, -2.0F, -3.0F, -4.0F};
    const srv_rec_sequence sequences[] = {{ids, logprobs, 1, true},
                                          {ids + 1, logprobs + 1, 3, false},
                                          {ids + 3, logprobs + 3, 1, true}};
    const srv_rec_sample sample = {.model = RECFIX_MODEL,
                                   .tok = "",
                                   .prompt = ids,
                                   .n_prompt = 2,
                                   .sequences = sequences,
                                   .n = 3};
    recfix it;
    tk_err err = TK_ERR_INIT;
    con_sample_details one;
    con_samples_query query = recfix_everything;
    int64_t n = 0;
    recfix_make(&it);
    recfix_open(&it, NULL);
    srv_rec_add_sample(it.rec, &sample);
    assert_int_equal(srv_rec_forget(it.rec, &n, 2, &err), TINKC_OK);
    assert_int_equal(n, 1);
    assert_int_equal(srv_rec_forget(it.rec, &n, 2, &err), TINKC_OK);
    assert_int_equal(n, 0);
    assert_int_equal(srv_rec_read_sample(&one, it.rec, &it.arena, 3, &err), TINKC_OK);
    assert_true(one.output.n == 1 && one.output.ids[0] == 4 &&
                one.output.logprobs[0] == -4.0F && one.prompt.n == 2);
    assert_true(tk_str_is(one.sample.text, "<B>4") && one.sample.group == 1);
    assert_true(one.sample.stopped && one.sample.mean_logprob == -4.0);
    query.before = 3;
    con_samples all = recfix_samples(&it, &query);
    assert_true(all.n == 1 && all.p[0].id == 1 && tk_str_is(all.p[0].text, "<B>1"));
    assert_int_equal(srv_rec_forget(it.rec, &n, 1, &err), TINKC_OK);
    assert_int_equal(srv_rec_forget(it.rec, &n, 3, &err), TINKC_OK);
    assert_int_equal(recfix_samples(&it, &recfix_everything).n, 0);
    recfix_close(&it);
    recfix_remove(&it);
}

/* Of a token that is long the beginning is kept as text; of one that is larger than all that is
 * kept, the ids. */
static void test_srv_rec_long_tokens(void **state)
{
    int32_t ids[] = {10, RECFIX_LONG};
    static const float logprobs[] = {-1.0F, -2.0F};
    srv_rec_sequence sequences[9];
    const srv_rec_sample sample = {.model = RECFIX_MODEL,
                                   .tok = "",
                                   .sequences = sequences,
                                   .n = TK_ARRAY_LEN(sequences)};
    recfix it;
    tk_err err = TK_ERR_INIT;
    con_sample_details one;
    srv_rec_stats stats;
    recfix_make(&it);
    recfix_open(&it, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(sequences); i++) {
        sequences[i] = (srv_rec_sequence){ids, logprobs, 2, true};
    }
    srv_rec_add_sample(it.rec, &sample);
    ids[1] = RECFIX_LARGE;
    srv_rec_add_sample(it.rec, &sample);
    assert_true(srv_rec_flush(it.rec));
    srv_rec_get_stats(it.rec, &stats);
    assert_int_equal(stats.dropped, 0);
    assert_int_equal(srv_rec_read_sample(&one, it.rec, &it.arena, 9, &err), TINKC_OK);
    assert_int_equal(one.sample.text.n, 16 * TK_KIB - 1); /* no character is cut */
    assert_true(tk_str_has_prefix(one.sample.text, "<B>10\xC3\xA4\xC3\xA4"));
    assert_int_equal(srv_rec_read_sample(&one, it.rec, &it.arena, 18, &err), TINKC_OK);
    assert_true(one.sample.text.n == 0 && one.output.ids[1] == RECFIX_LARGE);
    recfix_close(&it);
    recfix_remove(&it);
}

/* Also after a restart, and when the newest ones were deleted. */
static void test_srv_rec_numbers_are_used_once(void **state)
{
    recfix it;
    tk_err err = TK_ERR_INIT;
    int64_t n = 0;
    recfix_make(&it);
    recfix_open(&it, NULL);
    recfix_add_sample(it.rec, 7, 3);
    assert_int_equal(srv_rec_forget(it.rec, &n, CON_UNKNOWN, &err), TINKC_OK);
    assert_int_equal(n, 3);
    recfix_close(&it);
    recfix_open(&it, NULL);
    recfix_add_sample(it.rec, 7, 3);
    srv_rec_flush(it.rec);
    con_samples all = recfix_samples(&it, &recfix_everything);
    assert_true(all.n == 3 && all.p[0].id == 6 && all.p[0].group == 4);
    recfix_close(&it);
    recfix_remove(&it);
}

static void test_srv_rec_no_samples(void **state)
{
    const srv_rec_config none = {.no_samples = true};
    recfix it;
    recfix_make(&it);
    recfix_open(&it, &none);
    recfix_add_sample(it.rec, 7, 1);
    recfix_step(it.rec, 1, 1.0);
    srv_rec_flush(it.rec);
    con_samples all = recfix_samples(&it, &recfix_everything);
    assert_true(all.n == 0 && !all.recording);
    assert_int_equal(recfix_only_run(&it).step, 1);
    recfix_close(&it);
    recfix_remove(&it);
}

/* The ring of samples: the oldest ones go. */
static void test_srv_rec_samples_are_bounded(void **state)
{
    const srv_rec_config small = {.limit_bytes = SRV_REC_LIMIT_MIN};
    static int32_t prompt[40000]; /* longer than what is kept */
    static float logprobs[4000];
    srv_rec_sequence sequence = {prompt, logprobs, 4000, true};
    const srv_rec_sample sample = {.model = RECFIX_MODEL,
                                   .prompt = prompt,
                                   .n_prompt = 40000,
                                   .sequences = &sequence,
                                   .n = 1};
    recfix it;
    recfix_make(&it);
    recfix_open(&it, &small);
    for (int i = 0; i < 400; i++) {
        srv_rec_add_sample(it.rec, &sample);
        if (i % 10 == 0) {
            srv_rec_flush(it.rec);
        }
    }
    tk_err err = TK_ERR_INIT;
    int64_t n = 0;
    assert_int_equal(srv_rec_forget(it.rec, &n, 1, &err), TINKC_OK);
    recfix_add_sample(it.rec, 7, 1); /* the limits are looked at after a deletion */
    srv_rec_flush(it.rec);
    con_samples all = recfix_samples(&it, &recfix_everything);
    assert_true(all.n > 5 && all.n < 32); /* of 160 KB each, in half of 8 MiB */
    assert_int_equal(all.p[1].id, 400);   /* the newest ones */
    assert_int_equal(all.p[1].prompt_tokens, 40000);
    assert_true(recfix_size(&it) < SRV_REC_LIMIT_MIN + 16 * TK_MIB);
    recfix_close(&it);
    recfix_remove(&it);
}

static void run_sql(const recfix *it, const char *sql)
{
    char path[128];
    sqlite3 *db = NULL;
    (void)snprintf(path, sizeof(path), "%s/console.db", it->data);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_busy_timeout(db, 10000), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* A run that is deleted while it is loaded comes back when it goes on, and not in the place
 * of another. */
static void test_srv_rec_loaded_runs_are_deleted(void **state)
{
    const tk_str old = TK_STR("old:train:0"), next = TK_STR("next:train:0");
    recfix it;
    tk_err err = TK_ERR_INIT;
    int64_t n = 0;
    recfix_make(&it);
    recfix_open(&it, NULL);
    recfix_step(it.rec, 1, 1.0);
    recfix_step_of(it.rec, old, 1, 2.0);
    srv_rec_flush(it.rec);
    run_sql(&it, "UPDATE runs SET updated_ms = 1 WHERE id = 'old:train:0'");
    assert_int_equal(srv_rec_forget(it.rec, &n, CON_UNKNOWN, &err), TINKC_OK);
    recfix_step(it.rec, 2, 1.0); /* the limits are looked at after a deletion */
    srv_rec_flush(it.rec);
    assert_int_equal(recfix_only_run(&it).step, 2);
    recfix_step_of(it.rec, next, 5, 4.0); /* has the row that is free again */
    srv_rec_flush(it.rec);
    recfix_step_of(it.rec, old, 2, 3.0);
    srv_rec_flush(it.rec);
    con_series s = recfix_series_of(&it, next, "loss", CON_BY_STEP, 0, 9, 9);
    assert_int_equal(s.total, 1);
    s = recfix_series_of(&it, old, "loss", CON_BY_STEP, 0, 9, 9);
    assert_int_equal(s.total, 1);
    assert_true(s.p[0].step == 2 && s.p[0].mean == 3.0);
    run_sql(&it, "UPDATE runs SET updated_ms = 1 WHERE id = 'old:train:0'");
    assert_int_equal(srv_rec_forget(it.rec, &n, CON_UNKNOWN, &err), TINKC_OK);
    recfix_step(it.rec, 3, 1.0);
    srv_rec_flush(it.rec);
    srv_rec_end_run(it.rec, old); /* its end does not bring it back */
    srv_rec_end_run(it.rec, next);
    srv_rec_flush(it.rec);
    assert_int_equal(recfix_runs(&it).n, 2);
    recfix_close(&it);
    recfix_remove(&it);
}

/* Samples and runs that are older than the limit go; those of today stay. */
static void test_srv_rec_old_ones_go(void **state)
{
    const tk_str old = TK_STR("old:train:0");
    const srv_rec_config days = {.keep_days = 2};
    recfix it;
    recfix_make(&it);
    recfix_open(&it, &days);
    recfix_add_sample(it.rec, 7, 2);
    recfix_step_of(it.rec, old, 1, 2.0);
    srv_rec_end_run(it.rec, old);
    srv_rec_flush(it.rec);
    recfix_add_sample(it.rec, 9, 1);
    srv_rec_flush(it.rec);
    /* one of three days ago, the other of one day */
    run_sql(&it,
            "UPDATE sample_groups SET time_ms = time_ms - 86400000 * iif(grp = 1, 3, 1);"
            "UPDATE runs SET updated_ms = updated_ms - 86400000 * 3");
    recfix_close(&it);
    recfix_open(&it, &days);
    recfix_step(it.rec, 1, 1.0); /* the limits are looked at with the first batch */
    srv_rec_flush(it.rec);
    con_samples all = recfix_samples(&it, &recfix_everything);
    assert_int_equal(all.n, 1);
    assert_int_equal(all.p[0].id, 3);
    assert_true(tk_str_eq(recfix_only_run(&it).id, RECFIX_RUN));
    recfix_close(&it);
    recfix_remove(&it);
}

/* A queue that is full drops and counts; nothing waits. */
static void test_srv_rec_queue_is_bounded(void **state)
{
    recfix it;
    tk_err err = TK_ERR_INIT;
    srv_rec_stats stats;
    recfix_make(&it);
    recfix_open(&it, NULL);
    srv_rec_free(it.rec); /* one whose thread does not run */
    const srv_rec_config config = {
        .data = it.data, .log = it.log, .budget = &it.memory, .part = HD_PART_REQUESTS};
    assert_int_equal(srv_rec_new(&it.rec, &config, &err), TINKC_OK);
    for (int64_t i = 1; i <= 100000; i++) {
        recfix_step(it.rec, i, 1.0);
    }
    assert_true(atomic_load(&it.memory.used) <= 4 * TK_MIB);
    srv_rec_get_stats(it.rec, &stats);
    assert_true(stats.dropped > 100000 && stats.dropped < 200000);
    recfix_close(&it);
    recfix_remove(&it);
}

/* The end of a run is heard although nothing else is, and with it all of the run's memory
 * is given back. */
static void test_srv_rec_end_finds_room(void **state)
{
    static char metadata[60000];
    const srv_rec_begin begin = {.run = RECFIX_RUN,
                                 .session = TK_STR("0f0c"),
                                 .model = RECFIX_MODEL,
                                 .metadata = {metadata, sizeof(metadata)}};
    recfix it;
    tk_err err = TK_ERR_INIT;
    recfix_make(&it);
    recfix_open(&it, NULL);
    memset(metadata, 'm', sizeof(metadata));
    srv_rec_begin_run(it.rec, &begin);
    srv_rec_flush(it.rec);
    assert_true(atomic_load(&it.memory.used) > sizeof(metadata));
    srv_rec_free(it.rec); /* one whose thread does not run */
    const srv_rec_config config = {
        .data = it.data, .log = it.log, .budget = &it.memory, .part = HD_PART_REQUESTS};
    assert_int_equal(srv_rec_new(&it.rec, &config, &err), TINKC_OK);
    srv_rec_begin_run(it.rec, &begin);
    for (int64_t i = 1; i <= 20000; i++) {
        recfix_step(it.rec, i, 1.0);
    }
    srv_rec_end_run(it.rec, RECFIX_RUN);
    assert_int_equal(srv_rec_start(it.rec, NULL, &err), TINKC_OK);
    srv_rec_flush(it.rec);
    assert_int_equal(atomic_load(&it.memory.used), 0);
    recfix_close(&it);
    recfix_remove(&it);
}

/* ---- memory ---- */

static bool read_everything(void *user)
{
    recfix *it = user;
    tk_err err = TK_ERR_INIT;
    srv_rec *rec = NULL;
    con_runs runs = {0};
    con_run_details details = {0};
    con_samples some = {0};
    con_sample_details one;
    tk_arena arena;
    tk_arena_init(&arena, TK_MIB);
    const srv_rec_config config = {
        .data = it->data, .budget = &it->memory, .part = HD_PART_REQUESTS};
    const con_runs_query query = {.limit = 10, .search = TK_STR("de")};
    bool ok =
        srv_rec_new(&rec, &config, &err) == TINKC_OK &&
        srv_rec_read_runs(&runs, rec, &arena, &query, &err) == TINKC_OK && runs.n == 1 &&
        srv_rec_read_run(&details, rec, &arena, RECFIX_RUN, &err) == TINKC_OK &&
        srv_rec_read_samples(&some, rec, &arena, &recfix_everything, &err) == TINKC_OK &&
        some.n == 3 && srv_rec_read_sample(&one, rec, &arena, 1, &err) == TINKC_OK;
    srv_rec_free(rec);
    tk_arena_dispose(&arena);
    return ok;
}

static void test_srv_rec_sweep(void **state)
{
    recfix it;
    recfix_make(&it);
    recfix_open(&it, NULL);
    recfix_begin(it.rec);
    recfix_step(it.rec, 1, 1.0);
    recfix_add_sample(it.rec, 7, 3);
    recfix_close(&it);
    hd_budget_init(&it.memory, TK_GIB, NULL);
    assert_true(failmem_sweep(read_everything, &it, 1) > 5);
    recfix_remove(&it);
}

/* Many threads record while others read. */
static void keep_recording(void *user)
{
    recfix *it = user;
    for (int64_t i = 1; i <= 300; i++) {
        recfix_step(it->rec, i, 1.0);
        recfix_add_sample(it->rec, (int32_t)i % 90, 2);
    }
}

static void test_srv_rec_threads(void **state)
{
    recfix it;
    tk_err err = TK_ERR_INIT;
    tk_thread threads[4];
    recfix_make(&it);
    recfix_open(&it, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(threads); i++) {
        assert_int_equal(tk_thread_start(&threads[i], "test", keep_recording, &it, &err),
                         TINKC_OK);
    }
    for (int i = 0; i < 20; i++) {
        int64_t n = 0;
        (void)recfix_samples(&it, &recfix_everything);
        assert_int_equal(srv_rec_forget(it.rec, &n, i, &err), TINKC_OK);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(threads); i++) {
        tk_thread_join(&threads[i]);
    }
    srv_rec_flush(it.rec);
    assert_true(recfix_only_run(&it).step >= 300);
    recfix_close(&it);
    recfix_remove(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_rec_runs),
        cmocka_unit_test(test_srv_rec_step_of_several_requests),
        cmocka_unit_test(test_srv_rec_samples),
        cmocka_unit_test(test_srv_rec_deletes_of_a_group),
        cmocka_unit_test(test_srv_rec_long_tokens),
        cmocka_unit_test(test_srv_rec_numbers_are_used_once),
        cmocka_unit_test(test_srv_rec_no_samples),
        cmocka_unit_test(test_srv_rec_samples_are_bounded),
        cmocka_unit_test(test_srv_rec_loaded_runs_are_deleted),
        cmocka_unit_test(test_srv_rec_old_ones_go),
        cmocka_unit_test(test_srv_rec_queue_is_bounded),
        cmocka_unit_test(test_srv_rec_end_finds_room),
        cmocka_unit_test(test_srv_rec_sweep),
        cmocka_unit_test(test_srv_rec_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
