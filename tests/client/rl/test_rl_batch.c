/* The collector of <tinkc/rl.h>: groups, order, staleness, counts, limits. */
#include <math.h>
#include <stdio.h>

#include <tinkc/rl.h>

#include "support/failmem.h"
#include "support/test.h"

/* An episode of two turns: tokens [100 + task, 7, 8, 9], of which the second and the last
 * were sampled; `extra` more sampled tokens follow. */
static tinkc_trajectory *talk(unsigned task, size_t extra)
{
    char json[1024], more[3][256] = {"", "", ""};
    tinkc_trajectory *t = NULL;
    for (size_t i = 0; i < extra; i++) {
        (void)snprintf(more[0] + strlen(more[0]), 64, ",%zu", 10 + i);
        (void)snprintf(more[1] + strlen(more[1]), 64, ",1");
        (void)snprintf(more[2] + strlen(more[2]), 64, ",-2.0");
    }
    (void)snprintf(json, sizeof(json),
                   "{\"id\": \"e\", \"sequences\": [{\"tokens\": [%u,7,8,9%s], \"mask\": "
                   "[0,1,0,1%s], \"logprobs\": [0,-0.5,0,-1.5%s], \"turns\": [0,1], "
                   "\"weights\": [\"w\",\"w\"]}]}",
                   100 + task, more[0], more[1], more[2]);
    return tinkc_trajectory_parse(&t, json, strlen(json), NULL) == TINKC_OK ? t : NULL;
}

static tinkc_rl_batch *open_batch(size_t group_size, int64_t max_lag)
{
    tinkc_rl_batch *batch = NULL;
    tinkc_rl_batch_options options = TINKC_RL_BATCH_OPTIONS_INIT;
    options.group_size = group_size;
    options.max_lag = max_lag;
    assert_int_equal(tinkc_rl_batch_new(&batch, &options, NULL), TINKC_OK);
    return batch;
}

static tinkc_rl_episode episode(uint64_t task, uint64_t index, double reward)
{
    tinkc_rl_episode e = TINKC_RL_EPISODE_INIT;
    e.task = task;
    e.index = index;
    e.reward = reward;
    return e;
}

static void add(tinkc_rl_batch *batch, uint64_t task, uint64_t index, double reward)
{
    const tinkc_rl_episode e = episode(task, index, reward);
    tinkc_trajectory *t = talk((unsigned)task, (size_t)index);
    assert_int_equal(tinkc_rl_batch_add(batch, &e, &t, NULL), TINKC_OK);
    assert_null(t);
}

static void add_failed(tinkc_rl_batch *batch, uint64_t task, uint64_t index)
{
    tinkc_rl_episode e = episode(task, index, NAN);
    e.failed = true;
    assert_int_equal(tinkc_rl_batch_add(batch, &e, NULL, NULL), TINKC_OK);
}

/* The datum of episode `index` of `task`: its first token and its length tell. */
static void check_datum(const tinkc_datum *datum, int32_t task, size_t index,
                        float advantage)
{
    int32_t tokens[16];
    size_t n = 0;
    assert_int_equal(
        tinkc_model_input_tokens(tokens, 16, &n, tinkc_datum_input(datum), NULL),
        TINKC_OK);
    assert_int_equal(n, 3 + index);
    assert_int_equal(tokens[0], 100 + task);
    const float *advantages = tinkc_tensor_f32(tinkc_datum_tensor(datum, "advantages"));
    assert_true(advantages[0] == advantage && advantages[1] == 0);
    assert_true(advantages[2] == advantage);
}

static tinkc_rl_datums take(tinkc_rl_counts *counts, tinkc_rl_batch *batch,
                            int64_t version)
{
    tinkc_rl_datums datums = {NULL, 0};
    tinkc_rl_counts_init(counts);
    assert_int_equal(tinkc_rl_batch_take(&datums, counts, batch, version, NULL),
                     TINKC_OK);
    return datums;
}

/* Whatever finished first, the datums come by task and episode. */
static void test_rl_batch_order(void **state)
{
    static const int orders[][4][2] = {{{3, 0}, {3, 1}, {9, 0}, {9, 1}},
                                       {{9, 1}, {3, 1}, {9, 0}, {3, 0}},
                                       {{3, 1}, {9, 1}, {3, 0}, {9, 0}}};
    (void)state;
    for (size_t i = 0; i < TK_ARRAY_LEN(orders); i++) {
        tinkc_rl_counts counts;
        tinkc_rl_batch *batch = open_batch(2, -1);
        for (size_t k = 0; k < 4; k++) {
            int task = orders[i][k][0], index = orders[i][k][1];
            add(batch, (uint64_t)task, (uint64_t)index, index == 0 ? 1 : 0);
        }
        assert_int_equal(tinkc_rl_batch_complete(batch), 2);
        tinkc_rl_datums d = take(&counts, batch, 0);
        assert_int_equal(d.n, 4);
        check_datum(d.items[0], 3, 0, 0.5F);
        check_datum(d.items[1], 3, 1, -0.5F);
        check_datum(d.items[2], 9, 0, 0.5F);
        check_datum(d.items[3], 9, 1, -0.5F);
        tinkc_rl_datums_free(&d);
        assert_null(d.items);
        tinkc_rl_batch_free(&batch);
        assert_null(batch);
    }
}

/* Three groups: one with both rewards, one with equal ones, one with a failure. The
 * incomplete fourth stays, and can be completed later. */
static void test_rl_batch_groups(void **state)
{
    tinkc_rl_counts c;
    tinkc_rl_batch *batch = open_batch(2, -1);
    (void)state;
    add(batch, 4, 0, 1); /* incomplete */
    add(batch, 1, 0, 3);
    add(batch, 1, 1, 1);
    add(batch, 2, 0, 0.5);
    add(batch, 2, 1, 0.5);
    add(batch, 3, 0, 1);
    add_failed(batch, 3, 1);
    assert_int_equal(tinkc_rl_batch_complete(batch), 3);
    tinkc_rl_datums d = take(&c, batch, 0);
    assert_int_equal(d.n, 2);
    check_datum(d.items[0], 1, 0, 1);
    check_datum(d.items[1], 1, 1, -1);
    tinkc_rl_datums_free(&d);
    assert_int_equal(c.episodes, 6);
    assert_int_equal(c.failed, 1);
    assert_int_equal(c.stale, 0);
    assert_int_equal(c.groups, 3);
    assert_int_equal(c.groups_kept, 1);
    assert_int_equal(c.groups_equal, 1);
    assert_int_equal(c.groups_small, 1);
    assert_int_equal(c.datums, 2);
    assert_int_equal(c.tokens, 4 + 5 + 4 + 5 + 4); /* those of index 1 have one more */
    assert_int_equal(c.tokens_sampled, 2 + 3 + 2 + 3 + 2);
    assert_int_equal(c.tokens_trained, 2 + 3);
    assert_int_equal(c.turns, 10);
    assert_int_equal(c.turns_max, 2);
    assert_int_equal(c.length_max, 3);
    assert_true(c.reward_min == 0.5 && c.reward_max == 3);
    assert_true(fabs(c.reward_mean - 1.2) < 1e-12); /* 3 1 0.5 0.5 1 */
    assert_true(fabs(c.reward_std - 0.9273618495495703) < 1e-12);
    assert_int_equal(tinkc_rl_batch_complete(batch), 0);
    add(batch, 4, 1, 0);
    d = take(&c, batch, 0);
    assert_int_equal(d.n, 2);
    assert_int_equal(c.groups, 1);
    tinkc_rl_datums_free(&d);
    d = take(&c, batch, 0); /* nothing is left */
    assert_int_equal(d.n, 0);
    assert_int_equal(c.episodes, 0);
    assert_true(isnan(c.reward_mean) && isnan(c.reward_max));
    tinkc_rl_datums_free(&d);
    tinkc_rl_batch_free(&batch);
}

/* Episodes of weights that are too old do not count, neither for the mean. */
static void test_rl_batch_stale(void **state)
{
    static const int64_t versions[] = {6, 8, 7, 9};
    static const double rewards[] = {100, 1, 0, 2};
    tinkc_rl_counts c;
    tinkc_rl_batch *batch = open_batch(4, 2);
    (void)state;
    for (uint64_t i = 0; i < 4; i++) {
        tinkc_rl_episode e = episode(0, i, rewards[i]);
        tinkc_trajectory *t = talk(0, (size_t)i);
        e.version = versions[i];
        assert_int_equal(tinkc_rl_batch_add(batch, &e, &t, NULL), TINKC_OK);
    }
    tinkc_rl_datums d = take(&c, batch, 9);
    assert_int_equal(c.stale, 1);
    assert_int_equal(d.n, 3);
    check_datum(d.items[0], 0, 1, 0);
    check_datum(d.items[1], 0, 2, -1);
    check_datum(d.items[2], 0, 3, 1);
    assert_true(c.reward_max == 100); /* it was played, and is reported */
    tinkc_rl_datums_free(&d);
    tinkc_rl_batch_free(&batch);
}

static void test_rl_batch_refused(void **state)
{
    tinkc_rl_batch_options o = TINKC_RL_BATCH_OPTIONS_INIT;
    tinkc_rl_batch *batch = NULL;
    tinkc_rl_counts unset = {.size = 0};
    tinkc_rl_datums d = {NULL, 0};
    tinkc_rl_episode e = episode(1, 0, 1);
    tinkc_trajectory *t = talk(1, 0);
    (void)state;
    o.group_size = 0;
    assert_int_equal(tinkc_rl_batch_new(&batch, &o, NULL), TINKC_E_INVALID);
    o.group_size = o.max_episodes + 1;
    assert_int_equal(tinkc_rl_batch_new(&batch, &o, NULL), TINKC_E_INVALID);
    o.group_size = 2;
    o.max_lag = -2;
    assert_int_equal(tinkc_rl_batch_new(&batch, &o, NULL), TINKC_E_INVALID);
    o.max_lag = -1;
    o.max_episodes = 3;
    o.max_tokens = 13;
    assert_int_equal(tinkc_rl_batch_new(&batch, &o, NULL), TINKC_OK);
    assert_int_equal(tinkc_rl_batch_add(batch, &e, NULL, NULL), TINKC_E_INVALID);
    e.index = 2;
    assert_int_equal(tinkc_rl_batch_add(batch, &e, &t, NULL), TINKC_E_INVALID);
    e.index = 0;
    e.reward = NAN;
    assert_int_equal(tinkc_rl_batch_add(batch, &e, &t, NULL), TINKC_E_INVALID);
    e.reward = 0;
    assert_non_null(t);
    assert_int_equal(tinkc_rl_batch_add(batch, &e, &t, NULL), TINKC_OK);
    t = talk(1, 0);
    assert_int_equal(tinkc_rl_batch_add(batch, &e, &t, NULL), TINKC_E_STATE);
    e.index = 1;
    assert_int_equal(tinkc_rl_batch_add(batch, &e, &t, NULL), TINKC_OK);
    e.task = 2;
    t = talk(2, 2); /* 8 + 6 tokens */
    assert_int_equal(tinkc_rl_batch_add(batch, &e, &t, NULL), TINKC_E_LIMIT);
    tinkc_trajectory_free(&t);
    add(batch, 2, 0, 1);
    t = talk(2, 0);
    assert_int_equal(tinkc_rl_batch_add(batch, &e, &t, NULL), TINKC_E_LIMIT);
    assert_int_equal(tinkc_rl_batch_take(&d, &unset, batch, 0, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_rl_batch_take(&d, NULL, batch, 0, NULL), TINKC_OK);
    assert_int_equal(d.n, 0);
    tinkc_rl_datums_free(&d);
    assert_int_equal(tinkc_rl_batch_add(batch, &e, &t, NULL), TINKC_OK); /* room again */
    tinkc_rl_batch_free(&batch);
}

/* An episode that cannot be trained on is named; the batch keeps everything. */
static void test_rl_batch_unknown_logprob(void **state)
{
    static const char json[] =
        "{\"id\": \"e\", \"sequences\": [{\"tokens\": [1, 2], \"mask\": [0, 1], "
        "\"logprobs\": [0, null], \"turns\": [0], \"weights\": [\"w\"]}]}";
    tinkc_rl_batch *batch = open_batch(2, -1);
    tinkc_rl_datums d = {NULL, 0};
    tinkc_trajectory *t = NULL;
    tinkc_error *err = NULL;
    const tinkc_rl_episode e = episode(5, 1, 0);
    (void)state;
    add(batch, 5, 0, 1);
    assert_int_equal(tinkc_trajectory_parse(&t, json, strlen(json), NULL), TINKC_OK);
    assert_int_equal(tinkc_rl_batch_add(batch, &e, &t, NULL), TINKC_OK);
    assert_int_equal(tinkc_rl_batch_take(&d, NULL, batch, 0, &err), TINKC_E_INVALID);
    assert_non_null(strstr(tinkc_error_message(err), "task 5, episode 1: "));
    assert_int_equal(tinkc_rl_batch_complete(batch), 1);
    assert_null(d.items);
    tinkc_error_free(&err);
    tinkc_rl_batch_free(&batch);
}

/* Two sequences share their first turn: it counts once, in tokens and in turns. */
static void test_rl_batch_shared(void **state)
{
    static const char json[] =
        "{\"id\": \"e\", \"sequences\": [{\"tokens\": [1,2,3,4], \"mask\": [0,1,0,1], "
        "\"logprobs\": [0,-1,0,-1], \"turns\": [0,1], \"weights\": [\"w\",\"w\"]},"
        "{\"tokens\": [1,2,5,6], \"mask\": [0,1,0,1], \"logprobs\": [0,-1,0,-1], "
        "\"fresh\": 2, \"turns\": [0,2], \"weights\": [\"w\",\"w\"]}]}";
    for (int repeat = 0; repeat < 2; repeat++) {
        tinkc_rl_batch_options o = TINKC_RL_BATCH_OPTIONS_INIT;
        tinkc_rl_batch *batch = NULL;
        tinkc_rl_counts c;
        o.group_size = 2;
        o.repeat_shared = repeat == 1;
        assert_int_equal(tinkc_rl_batch_new(&batch, &o, NULL), TINKC_OK);
        for (uint64_t i = 0; i < 2; i++) {
            const tinkc_rl_episode e = episode(0, i, (double)i);
            tinkc_trajectory *t = NULL;
            assert_int_equal(tinkc_trajectory_parse(&t, json, strlen(json), NULL),
                             TINKC_OK);
            assert_int_equal(tinkc_rl_batch_add(batch, &e, &t, NULL), TINKC_OK);
        }
        tinkc_rl_datums d = take(&c, batch, 0);
        assert_int_equal(d.n, 4);
        assert_int_equal(c.turns, 6);
        assert_int_equal(c.tokens_sampled, 6);
        assert_int_equal(c.tokens_trained, repeat == 1 ? 8 : 6);
        tinkc_rl_datums_free(&d);
        tinkc_rl_batch_free(&batch);
    }
    (void)state;
}

static bool scenario(void *user)
{
    tinkc_rl_batch *batch = NULL;
    tinkc_rl_batch_options o = TINKC_RL_BATCH_OPTIONS_INIT;
    tinkc_rl_counts counts = TINKC_RL_COUNTS_INIT;
    tinkc_rl_datums d = {NULL, 0};
    (void)user;
    o.group_size = 2;
    bool ok = tinkc_rl_batch_new(&batch, &o, NULL) == TINKC_OK;
    for (uint64_t i = 0; ok && i < 20; i++) {
        const tinkc_rl_episode e = episode(19 - i / 2, i % 2, (double)(i % 3));
        tinkc_trajectory *t = talk((unsigned)i, 1);
        ok = t != NULL && tinkc_rl_batch_add(batch, &e, &t, NULL) == TINKC_OK;
        tinkc_trajectory_free(&t);
    }
    ok = ok && tinkc_rl_batch_take(&d, &counts, batch, 0, NULL) == TINKC_OK && d.n == 20;
    tinkc_rl_datums_free(&d);
    tinkc_rl_batch_free(&batch);
    return ok;
}

static void test_rl_batch_without_memory(void **state)
{
    (void)state;
    assert_true(failmem_sweep(scenario, NULL, 1) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rl_batch_order),
        cmocka_unit_test(test_rl_batch_groups),
        cmocka_unit_test(test_rl_batch_stale),
        cmocka_unit_test(test_rl_batch_refused),
        cmocka_unit_test(test_rl_batch_unknown_logprob),
        cmocka_unit_test(test_rl_batch_shared),
        cmocka_unit_test(test_rl_batch_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
