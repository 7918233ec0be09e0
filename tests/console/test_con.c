/* The routes of data over functions of the test: what they ask for, what they refuse, and
 * that hostile texts come out as JSON. */
#include <math.h>

#include "confix.h"

static con_series_query asked;
static con_samples_query asked_samples;
static bool asked_x; /* its texts are the request's */
static con_runs_query asked_runs;
static tinkc_code fails;

static const double spark[] = {3.0, (double)NAN, 1.25};
static const char hostile[] = "<script>\xFF\x01\xE2\x80\xAE\"\\";

static tinkc_code give(tk_err *err)
{
    return fails == TINKC_OK ? TINKC_OK : tk_err_set(err, fails, "told to fail");
}

static con_run a_run(void)
{
    return (con_run){.id = TK_STR("s:train:0"),
                     .name = tk_str_of(hostile),
                     .model = TK_STR("m"),
                     .session = TK_STR("s"),
                     .state = CON_IDLE,
                     .created_ms = 1,
                     .updated_ms = 2,
                     .step = 3,
                     .tokens = 4,
                     .rank = CON_UNKNOWN,
                     .loss = (double)NAN,
                     .metadata = TK_STR("{\"a\":[1,2.5]}"),
                     .spark = spark,
                     .n_spark = 3};
}

static tinkc_code runs(void *user, con_runs *out, tk_arena *arena,
                       const con_runs_query *query, tk_err *err)
{
    static con_run run;
    (void)arena;
    assert_ptr_equal(user, &asked);
    asked_runs = *query;
    run = a_run();
    *out = (con_runs){&run, 1, 7};
    return give(err);
}

static tinkc_code run(void *user, con_run_details *out, tk_arena *arena, tk_str id,
                      tk_err *err)
{
    static const con_metric metric = {TK_STR("loss"),  5, 1, 9, 0.5, 0.25,
                                      (double)INFINITY};
    static const con_checkpoint checkpoint = {
        TK_STR("tinker://x"), TK_STR("weights/x"), true, true, 10, CON_UNKNOWN, 20, 30};
    (void)user;
    (void)arena;
    if (!tk_str_is(id, "s:train:0")) {
        return tk_err_set(err, TINKC_E_MISSING, "there is no such run");
    }
    *out = (con_run_details){a_run(), &metric, 1, &checkpoint, 1, true};
    return give(err);
}

static tinkc_code series(void *user, con_series_list *out, tk_arena *arena,
                         const con_series_query *query, tk_err *err)
{
    static con_point points[2] = {{1, 100, 10, 1, 0.5, 0.5, 0.5},
                                  {2, 200, 20, 3, -1.0, (double)INFINITY, 0.5}};
    static con_series list[CON_NAMES_MAX];
    (void)user;
    (void)arena;
    asked = *query;
    for (size_t i = 0; i < query->n_names; i++) {
        list[i] = (con_series){query->names[i], 4, true, points, 2};
    }
    *out = (con_series_list){2, list, query->n_names};
    return give(err);
}

static tinkc_code samples(void *user, con_samples *out, tk_arena *arena,
                          const con_samples_query *query, tk_err *err)
{
    static const con_sample sample = {.id = 5,
                                      .group = 4,
                                      .model = TK_STR("m"),
                                      .text = {hostile, sizeof(hostile) - 1},
                                      .mean_logprob = -0.5,
                                      .stopped = true};
    (void)user;
    (void)arena;
    asked_samples = *query;
    asked_x = tk_str_is(query->search, "x");
    *out = (con_samples){&sample, 1, true, 5, true, 2};
    return give(err);
}

static tinkc_code sample(void *user, con_sample_details *out, tk_arena *arena, int64_t id,
                         tk_err *err)
{
    static const int32_t ids[] = {1, 2, 3, 4};
    static const float logprobs[] = {-0.5F, NAN, 0.0F, -INFINITY};
    /* "€" in three tokens, then a byte that is nothing */
    static const tk_str texts[] = {TK_STR("a\xE2"), TK_STR("\x82"), TK_STR("\xAC"),
                                   TK_STR("\xFFz\xC3")};
    (void)user;
    (void)arena;
    if (id != 5) {
        return tk_err_set(err, TINKC_E_MISSING, "there is no such sample");
    }
    *out = (con_sample_details){.sample = {.id = 5, .group = 5}};
    out->prompt = (con_tokens){ids, 4, NULL, texts};
    out->output = (con_tokens){ids, 4, logprobs, NULL};
    return give(err);
}

static int64_t forgot;

static tinkc_code forget(void *user, int64_t *n, int64_t id, tk_err *err)
{
    (void)user;
    forgot = id;
    *n = id == CON_UNKNOWN ? 9 : 1;
    return give(err);
}

static con_episode some_episodes[100];
static size_t n_some;

static tinkc_code episodes(void *user, con_episodes *out, tk_arena *arena, tk_err *err)
{
    (void)user;
    (void)arena;
    *out = (con_episodes){some_episodes, n_some};
    return give(err);
}

static tinkc_code decode(void *user, tk_str *texts, tk_arena *arena, tk_str model,
                         const int32_t *ids, size_t n, tk_err *err)
{
    (void)user;
    (void)arena;
    if (!tk_str_is(model, "m")) {
        return tk_err_set(err, TINKC_E_MISSING, "there is no such model");
    }
    for (size_t i = 0; i < n; i++) {
        texts[i] = ids[i] == 1 ? TK_STR("one") : TK_STR("\xF0\x9F");
    }
    return give(err);
}

static tinkc_code server(void *user, con_server *out, tk_arena *arena, tk_err *err)
{
    static const con_part part = {TK_STR("models"), 3};
    static const con_waiting waiting = {TK_STR("forward"), TK_STR("m"), TK_STR("active"),
                                        1, 2};
    static const con_session session = {TK_STR("s"), {NULL, 0}, 1, 2, 3, 4};
    static const con_error error = {7, {hostile, sizeof(hostile) - 1}};
    (void)user;
    (void)arena;
    *out = (con_server){.started_ms = 5, .is_full = true, .errors = &error};
    out->n_errors = 1;
    out->memory.parts = &part;
    out->memory.n_parts = 1;
    out->queue.items = &waiting;
    out->queue.n_items = 1;
    out->sessions = &session;
    out->n_sessions = 1;
    out->http.answers[2] = 12;
    out->recording.limit_bytes = 77;
    return give(err);
}

static const con_data everything = {.user = &asked,
                                    .kind = "serve",
                                    .runs = runs,
                                    .run = run,
                                    .series = series,
                                    .samples = samples,
                                    .sample = sample,
                                    .forget = forget,
                                    .episodes = episodes,
                                    .decode = decode,
                                    .server = server};
static const con_data nothing = {.kind = "console"};

static void test_con_runs(void **state)
{
    (void)state;
    confix it;
    confix_open(&it, &everything, NULL);
    confix_expect(
        &it, CON_API "runs",
        "{\"runs\":[{\"id\":\"s:train:0\",\"name\":\"<script>\xEF\xBF\xBD\\u0001"
        "\xE2\x80\xAE\\\"\\\\\",\"model\":\"m\",\"session\":\"s\",\"service\":null,\"state\":"
        "\"idle\",\"created_ms\":1,\"updated_ms\":2,\"step\":3,\"tokens\":4,"
        "\"loss\":null,\"rank\":null,\"metadata\":{\"a\":[1,2.5]},"
        "\"spark\":[3.0,null,1.25]}],\"total\":7}");
    assert_int_equal(asked_runs.limit, 50);
    confix_expect(&it, CON_API "runs?limit=5&offset=10&search=a%20b", "\"total\":7");
    assert_int_equal(asked_runs.limit, 5);
    assert_int_equal(asked_runs.offset, 10);
    confix_expect(
        &it, CON_API "runs/s%3Atrain%3A0",
        "\"metrics\":[{\"name\":\"loss\",\"n\":5,\"last\":0.5,\"min\":0.25,"
        "\"max\":null,\"first_step\":1,\"last_step\":9}],\"checkpoints\":[{"
        "\"path\":\"tinker://x\",\"id\":\"weights/x\",\"kind\":\"sampler\","
        "\"created_ms\":10,\"expires_ms\":null,\"size_bytes\":20,\"public\":true,"
        "\"step\":30}],\"actions\":true}");
    assert_int_equal(confix_status(&it, NULL, CON_API "runs/other", NULL, NULL), 404);
    static const char *const wrong[] = {"limit=0",   "limit=501",         "limit=x",
                                        "offset=-1", "offset=9999999999", "other=1"};
    for (size_t i = 0; i < TK_ARRAY_LEN(wrong); i++) {
        char target[128];
        (void)snprintf(target, sizeof(target), CON_API "runs?%s", wrong[i]);
        assert_int_equal(confix_status(&it, NULL, target, NULL, NULL), 422);
    }
    fails = TINKC_E_IO;
    assert_int_equal(confix_status(&it, NULL, CON_API "runs", NULL, NULL), 500);
    fails = TINKC_OK;
    confix_close(&it);
}

static void test_con_series(void **state)
{
    (void)state;
    confix it;
    confix_open(&it, &everything, NULL);
    confix_expect(&it, CON_API "runs/r/series?metric=loss",
                  "{\"run\":\"r\",\"by\":\"step\",\"last_step\":2,\"series\":[{\"name\":"
                  "\"loss\",\"total\":4,\"decimated\":true,\"step\":[1,2],\"time_ms\":"
                  "[100,200],\"tokens\":[10,20],\"min\":[0.5,-1.0],\"max\":[0.5,null],"
                  "\"mean\":[0.5,0.5],\"n\":[1,3]}]}");
    assert_int_equal(asked.points, 1000);
    assert_true(isinf(asked.from) && asked.from < 0 && isinf(asked.to) && asked.to > 0);
    confix_expect(
        &it, CON_API "runs/r/series?metric=loss,lr,&by=time&from=-5&to=1e3&points=4000",
        "\"by\":\"time\"");
    assert_int_equal(asked.n_names, 2);
    assert_true(asked.by == CON_BY_TIME && asked.from == -5.0 && asked.to == 1000.0);
    static const char *const wrong[] = {"",
                                        "?metric=",
                                        "?metric=,,",
                                        "?metric=a&points=0",
                                        "?metric=a&points=4001",
                                        "?metric=a&from=x",
                                        "?metric=a&to=1e999",
                                        "?metric=a&by=day"};
    for (size_t i = 0; i < TK_ARRAY_LEN(wrong); i++) {
        char target[128];
        (void)snprintf(target, sizeof(target), CON_API "runs/r/series%s", wrong[i]);
        if (confix_status(&it, NULL, target, NULL, NULL) != 422) {
            fail_msg("%s is not refused", target);
        }
    }
    char many[1024];
    size_t n = (size_t)snprintf(many, sizeof(many), CON_API "runs/r/series?metric=a");
    for (size_t i = 0; i < CON_NAMES_MAX; i++) {
        n += (size_t)snprintf(many + n, sizeof(many) - n, ",b");
    }
    assert_int_equal(confix_status(&it, NULL, many, NULL, NULL), 422);
    confix_close(&it);
}

static void test_con_samples(void **state)
{
    (void)state;
    confix it;
    confix_open(&it, &everything, NULL);
    confix_expect(&it, CON_API "samples",
                  "\"run\":null,\"path\":null,\"sampler\":null,\"stop\":\"stop\",");
    confix_expect(&it, CON_API "samples",
                  "\"more\":true,\"next\":5,\"recording\":true,\"dropped\":2}");
    assert_true(asked_samples.limit == 50 && asked_samples.group == CON_UNKNOWN &&
                asked_samples.before == INT64_MAX);
    confix_expect(&it, CON_API "samples?group=4&before=9&run=r&model=m&search=x", "[");
    assert_true(asked_samples.limit == CON_GROUP_MAX && asked_samples.group == 4 &&
                asked_samples.before == 9 && asked_x);
    confix_expect(
        &it, CON_API "samples/5",
        "\"prompt\":{\"ids\":[1,2,3,4],\"text\":[\"a\",\"\",\"\xE2\x82\xAC\","
        "\"\xEF\xBF\xBDz\xEF\xBF\xBD\"]},\"output\":{\"ids\":[1,2,3,4],\"text\":"
        "null,\"logprobs\":[-0.5,null,0.0,null]}}");
    assert_int_equal(confix_status(&it, NULL, CON_API "samples/6", NULL, NULL), 404);
    assert_int_equal(confix_status(&it, NULL, CON_API "samples/-5", NULL, NULL), 404);
    assert_int_equal(confix_status(&it, NULL, CON_API "samples/x", NULL, NULL), 404);
    assert_int_equal(confix_status(&it, NULL, CON_API "samples?group=x", NULL, NULL),
                     422);
    assert_int_equal(confix_status(&it, "DELETE", CON_API "samples/8", NULL, NULL), 200);
    assert_int_equal(forgot, 8);
    assert_int_equal(confix_status(&it, "DELETE", CON_API "samples", NULL, NULL), 200);
    assert_true(forgot == CON_UNKNOWN);
    confix_close(&it);
}

static void test_con_decode(void **state)
{
    (void)state;
    confix it;
    httpget_response response;
    confix_open(&it, &everything, NULL);
    assert_int_equal(confix_ask(&it, &response, "POST", CON_API "decode", NULL,
                                "{\"model\":\"m\",\"ids\":[1,2,1]}"),
                     200);
    /* the two bytes are not completed by what follows */
    assert_string_equal((const char *)response.body.p,
                        "{\"text\":[\"one\",\"\",\"\xEF\xBF\xBD\xEF\xBF\xBDone\"]}");
    httpget_response_dispose(&response);
    static const char *const wrong[] = {"",
                                        "[]",
                                        "{\"model\":\"m\"}",
                                        "{\"ids\":[1]}",
                                        "{\"model\":1,\"ids\":[]}",
                                        "{\"model\":\"m\",\"ids\":[-1]}",
                                        "{\"model\":\"m\",\"ids\":[1.5]}",
                                        "{\"model\":\"m\",\"ids\":[\"1\"]}",
                                        "{\"model\":\"m\",\"ids\":[4294967297]}"};
    for (size_t i = 0; i < TK_ARRAY_LEN(wrong); i++) {
        if (confix_status(&it, "POST", CON_API "decode", NULL, wrong[i]) != 422) {
            fail_msg("%s is not refused", wrong[i]);
        }
    }
    assert_int_equal(confix_status(&it, "POST", CON_API "decode", NULL,
                                   "{\"model\":\"other\",\"ids\":[]}"),
                     404);
    confix_close(&it);
}

static void test_con_episodes(void **state)
{
    (void)state;
    confix it;
    confix_open(&it, &everything, NULL);
    n_some = 0;
    confix_expect(&it, CON_API "episodes",
                  "{\"episodes\":[],\"total\":0,\"more\":false,\"histogram\":null}");
    n_some = 100;
    for (size_t i = 0; i < n_some; i++) {
        some_episodes[i] = (con_episode){TK_STR("e"), 1, (int64_t)i,
                                         i % 10 == 9 ? (double)NAN : (double)(i % 3) / 2};
    }
    confix_expect(
        &it, CON_API "episodes?limit=2&before=97",
        "{\"episodes\":[{\"id\":\"e\",\"turns\":1,\"used_ms\":97,\"reward\":0.5},"
        "{\"id\":\"e\",\"turns\":1,\"used_ms\":98,\"reward\":1.0}],\"total\":100,"
        "\"more\":true,\"histogram\":{\"min\":0.0,\"max\":1.0,\"counts\":["
        "30,0,0,0,0,0,0,0,0,30,0,0,0,0,0,0,0,0,30]}}");
    confix_expect(&it, CON_API "episodes?min=0.5&max=0.75&limit=1",
                  "\"total\":30,\"more\":true");
    confix_expect(&it, CON_API "episodes?min=2", "\"total\":0,\"more\":false");
    some_episodes[0].reward = -1.7e308; /* the difference does not fit a double */
    some_episodes[1].reward = 1.7e308;
    confix_expect(&it, CON_API "episodes",
                  "\"min\":-1.7e+308,\"max\":1.7e+308,\"counts\"");
    confix_close(&it);
}

static void test_con_server(void **state)
{
    (void)state;
    confix it;
    confix_open(&it, &everything, NULL);
    confix_expect(&it, CON_API "server",
                  "\"kind\":\"serve\",\"started_ms\":5,\"now_ms\":");
    confix_expect(&it, CON_API "server",
                  "\"answers\":{\"2xx\":12,\"3xx\":0,\"4xx\":0,\"5xx\":0}");
    confix_expect(&it, CON_API "server",
                  "\"errors\":[{\"time_ms\":7,\"text\":\"<script>");
    confix_close(&it);
}

/* What has no function is empty or missing. */
static void test_con_without_data(void **state)
{
    (void)state;
    confix it;
    confix_open(&it, &nothing, NULL);
    confix_expect(&it, CON_API "session", "{\"login\":\"none\"");
    confix_expect(&it, CON_API "session", "\"runs\":\"none\",\"kind\":\"console\"}");
    confix_expect(&it, CON_API "runs", "{\"runs\":[],\"total\":0}");
    confix_expect(&it, CON_API "samples",
                  "{\"samples\":[],\"more\":false,\"next\":null,\"recording\":false,");
    confix_expect(&it, CON_API "episodes", "\"histogram\":null");
    confix_expect(&it, CON_API "server", "\"started_ms\":null");
    assert_int_equal(confix_status(&it, NULL, CON_API "runs/x", NULL, NULL), 404);
    assert_int_equal(
        confix_status(&it, NULL, CON_API "runs/x/series?metric=a", NULL, NULL), 404);
    assert_int_equal(confix_status(&it, NULL, CON_API "samples/1", NULL, NULL), 404);
    assert_int_equal(confix_status(&it, "POST", CON_API "decode", NULL,
                                   "{\"model\":\"m\",\"ids\":[]}"),
                     404);
    assert_int_equal(confix_status(&it, NULL, "/console/main.js", NULL, NULL), 200);
    confix_close(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_con_runs),         cmocka_unit_test(test_con_series),
        cmocka_unit_test(test_con_samples),      cmocka_unit_test(test_con_decode),
        cmocka_unit_test(test_con_episodes),     cmocka_unit_test(test_con_server),
        cmocka_unit_test(test_con_without_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
