/* <tinkc/trajectory.h>: an export of the gateway as sequences and datums. */
#include <math.h>
#include <stdio.h>

#include <tinkc/trajectory.h>

#include "support/failmem.h"
#include "support/test.h"

/* Two sequences that share their first turn; the second has a reward of its own. */
static const char episode[] =
    "{\"id\": \"task-1\", \"reward\": 2, \"metadata\": {\"a\": [1, \"x\"]}, \"turns\": [], "
    "\"sequences\": ["
    "{\"tokens\": [10, 11, 12, 13, 14, 15], \"mask\": [0, 0, 1, 0, 1, 1], \"logprobs\": "
    "[0.0, 0.0, -0.5, 0.0, -1.5, -2.5], \"fresh\": 0, \"turns\": [0, 1], \"weights\": "
    "[\"w0\", \"w1\"], \"reward\": 2.0},"
    "{\"tokens\": [10, 11, 12, 20, 21], \"mask\": [0, 0, 1, 0, 1], \"logprobs\": [0.0, "
    "0.0, -0.5, 0.0, -0.25], \"fresh\": 3, \"turns\": [0, 2], \"weights\": [\"w0\", "
    "\"w1\"], \"reward\": -1.0}]}";

static tinkc_trajectory *parse(const char *json)
{
    tinkc_trajectory *t = NULL;
    assert_int_equal(tinkc_trajectory_parse(&t, json, strlen(json), NULL), TINKC_OK);
    return t;
}

static void check_floats(const tinkc_datum *datum, const char *name, const float *want,
                         size_t n)
{
    const tinkc_tensor *tensor = tinkc_datum_tensor(datum, name);
    assert_non_null(tensor);
    const float *got = tinkc_tensor_f32(tensor);
    assert_int_equal(tinkc_tensor_count(tensor), n);
    for (size_t i = 0; i < n; i++) {
        assert_true(got[i] == want[i]);
    }
}

static void test_sequences(void **state)
{
    tinkc_trajectory *t = parse(episode);
    tinkc_sequence s;
    double reward = 0;
    assert_string_equal(tinkc_trajectory_id(t), "task-1");
    assert_string_equal(tinkc_trajectory_metadata(t), "{\"a\":[1,\"x\"]}");
    assert_true(tinkc_trajectory_reward(&reward, t));
    assert_true(reward == 2);
    assert_int_equal(tinkc_trajectory_count(t), 2);
    assert_true(tinkc_trajectory_sequence(&s, t, 1));
    assert_int_equal(s.n, 5);
    assert_int_equal(s.fresh, 3);
    assert_int_equal(s.tokens[3], 20);
    assert_int_equal(s.mask[4], 1);
    assert_true(s.logprobs[4] == -0.25F);
    assert_int_equal(s.turns[1], 2);
    assert_string_equal(s.weights[1], "w1");
    assert_true(s.has_reward && s.reward == -1);
    assert_false(tinkc_trajectory_sequence(&s, t, 2));
    tinkc_trajectory_free(&t);
    assert_null(t);
}

static void test_datums(void **state)
{
    static const float logprobs[] = {0, -0.5F, 0, -1.5F, -2.5F};
    static const float advantages[] = {0, 2, 0, 2, 2};
    static const float later[] = {0, 0, 0, -1};
    static const float both[] = {0, 7, 0, 7};
    double given[] = {3, 7};
    tinkc_trajectory *t = parse(episode);
    tinkc_datum *datums[2];
    size_t n = 0;
    assert_int_equal(tinkc_trajectory_datums(datums, 2, &n, t, NULL, NULL), TINKC_OK);
    assert_int_equal(n, 2);
    check_floats(datums[0], "logprobs", logprobs, 5);
    check_floats(datums[0], "advantages", advantages, 5);
    check_floats(datums[1], "advantages", later, 4); /* the shared turn counts once */
    tinkc_datum_free(&datums[0]);
    tinkc_datum_free(&datums[1]);
    tinkc_trajectory_options options = TINKC_TRAJECTORY_OPTIONS_INIT;
    options.advantages = given;
    options.repeat_shared = true;
    assert_int_equal(tinkc_trajectory_datums(datums, 2, &n, t, &options, NULL), TINKC_OK);
    check_floats(datums[1], "advantages", both, 4);
    tinkc_datum_free(&datums[0]);
    tinkc_datum_free(&datums[1]);
    assert_int_equal(tinkc_trajectory_datums(datums, 1, &n, t, NULL, NULL),
                     TINKC_E_LIMIT);
    given[1] = NAN;
    assert_int_equal(tinkc_trajectory_datums(datums, 2, &n, t, &options, NULL),
                     TINKC_E_INVALID);
    tinkc_trajectory_free(&t);
}

/* Nothing counts, no reward, a log-probability that is not known. */
static void test_what_cannot_be_trained(void **state)
{
    static const char *const form =
        "{\"id\": \"e\", \"reward\": %s, \"sequences\": [{\"tokens\": [1, 2], \"mask\": "
        "[0, %d], \"logprobs\": [0, %s], \"turns\": [0], \"weights\": [\"w\"]%s}]}";
    char json[512];
    tinkc_datum *datum = NULL;
    size_t n = 9;
    (void)snprintf(json, sizeof(json), form, "1", 0, "0", ", \"reward\": 1");
    tinkc_trajectory *t = parse(json);
    assert_int_equal(tinkc_trajectory_datums(&datum, 1, &n, t, NULL, NULL), TINKC_OK);
    assert_int_equal(n, 0);
    tinkc_trajectory_free(&t);
    (void)snprintf(json, sizeof(json), form, "null", 1, "0", "");
    t = parse(json);
    assert_int_equal(tinkc_trajectory_datums(&datum, 1, &n, t, NULL, NULL),
                     TINKC_E_INVALID);
    tinkc_trajectory_free(&t);
    (void)snprintf(json, sizeof(json), form, "null", 1, "null", ", \"reward\": 1");
    t = parse(json);
    assert_int_equal(tinkc_trajectory_datums(&datum, 1, &n, t, NULL, NULL),
                     TINKC_E_INVALID);
    tinkc_trajectory_free(&t);
}

static void test_hostile(void **state)
{
    static const char *const wrong[] = {
        "{}",
        "[]",
        "{\"id\": 1, \"sequences\": []}",
        "{\"id\": \"e\"}",
        "{\"id\": \"e\", \"sequences\": [1]}",
        "{\"id\": \"e\", \"sequences\": [{\"tokens\": [1], \"mask\": [1, 0]}]}",
        "{\"id\": \"e\", \"sequences\": [{\"tokens\": [1.5], \"mask\": [1]}]}",
        "{\"id\": \"e\", \"sequences\": [{\"tokens\": [-1], \"mask\": [1]}]}",
        "{\"id\": \"e\", \"sequences\": [{\"tokens\": [4294967296], \"mask\": [1]}]}",
        "{\"id\": \"e\", \"sequences\": [{\"tokens\": [1], \"mask\": [2]}]}",
        "{\"id\": \"e\", \"sequences\": [{\"tokens\": [1], \"mask\": [1], \"logprobs\": "
        "[\"x\"]}]}",
        "{\"id\": \"e\", \"sequences\": [{\"tokens\": [1], \"mask\": [1], \"logprobs\": "
        "[0], \"turns\": [0], \"weights\": [1]}]}",
        "{\"id\": \"e\", \"sequences\": [{\"tokens\": [1], \"mask\": [1], \"logprobs\": "
        "[0], \"turns\": [0], \"weights\": [\"w\"], \"fresh\": 2}]}",
        "{\"id\": \"e\", \"reward\": \"x\", \"sequences\": []}"};
    tinkc_trajectory *t = NULL;
    for (size_t i = 0; i < TK_ARRAY_LEN(wrong); i++) {
        assert_int_equal(tinkc_trajectory_parse(&t, wrong[i], strlen(wrong[i]), NULL),
                         TINKC_E_DECODE);
    }
    for (size_t n = 0; n + 1 < sizeof(episode) - 1; n++) { /* cut anywhere */
        assert_int_equal(tinkc_trajectory_parse(&t, episode, n, NULL), TINKC_E_PARSE);
    }
    assert_null(t);
}

static bool scenario(void *user)
{
    tinkc_trajectory *t = NULL;
    tinkc_datum *datums[2] = {NULL, NULL};
    size_t n = 0;
    bool is_ok =
        tinkc_trajectory_parse(&t, episode, sizeof(episode) - 1, NULL) == TINKC_OK &&
        tinkc_trajectory_datums(datums, 2, &n, t, NULL, NULL) == TINKC_OK;
    for (size_t i = 0; i < n; i++) {
        tinkc_datum_free(&datums[i]);
    }
    tinkc_trajectory_free(&t);
    return is_ok;
}

static void test_out_of_memory(void **state)
{
    assert_true(failmem_sweep(scenario, NULL, 1) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_datums),
        cmocka_unit_test(test_what_cannot_be_trained),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
