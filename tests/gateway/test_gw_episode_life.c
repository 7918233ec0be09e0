/* Episodes at their edges: rewards, memory, the end of an episode, restarts, threads. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/thread.h"
#include "gateway/episodefix.h"
#include "support/failmem.h"

/* ---- rewards ---- */

/* G-011 */
static void test_rewards(void **state)
{
    fix f;
    double one = 1.5, two = -2, bad = 1 / 0.0;
    tk_str e = TK_STR("e");
    fix_init(&f, gwfix_template);
    (void)must(&f, "[" USER("q") "]", "a<|end|>");
    (void)must(&f, "[" USER("q2") "]", "b<|end|>");
    gw_mark whole = {-1, &one, TK_STR("{\"task\": 3}")}, turn = {1, &two, {NULL, 0}};
    assert_int_equal(gw_episodes_mark(f.episodes, e, &whole, NULL), TINKC_OK);
    assert_int_equal(gw_episodes_mark(f.episodes, e, &turn, NULL), TINKC_OK);
    turn.turn = 2;
    assert_int_equal(gw_episodes_mark(f.episodes, e, &turn, NULL), TINKC_E_MISSING);
    assert_int_equal(gw_episodes_mark(f.episodes, TK_STR("x"), &whole, NULL),
                     TINKC_E_MISSING);
    whole.reward = &bad;
    assert_int_equal(gw_episodes_mark(f.episodes, e, &whole, NULL), TINKC_E_INVALID);
    whole = (gw_mark){-1, NULL, TK_STR("[1]")};
    assert_int_equal(gw_episodes_mark(f.episodes, e, &whole, NULL), TINKC_E_INVALID);
    reopen(&f);
    char *text = export_of(&f, "e");
    assert_non_null(
        strstr(text, "{\"id\":\"e\",\"reward\":1.5,\"metadata\":{\"task\":3}"));
    assert_non_null(
        strstr(text, "\"turns\":[0],\"weights\":[\"tinker://a\"],\"reward\":1.5"));
    assert_non_null(
        strstr(text, "\"turns\":[1],\"weights\":[\"tinker://a\"],\"reward\":-2.0"));
    tk_free(text);
    fix_dispose(&f);
}

/* Lists show no reward of an episode whose records cannot be read, and looking for one does
 * not count as a use. */
static bool on_info(void *user, const gw_episode_info *info)
{
    gw_episode_info *seen = user;
    *seen = *info;
    return true;
}

static gw_episode_info only_info(fix *f)
{
    gw_episode_info info = {.turns = 0};
    gw_episodes_each(f->episodes, on_info, &info);
    return info;
}

static void test_reward_of_records_that_cannot_be_read(void **state)
{
    fix f;
    char path[128];
    int64_t number = 0;
    double reward = 1.5, seen = 0;
    size_t turns = 0;
    gw_plan plan;
    ca_request request;
    const gw_mark mark = {-1, &reward, {NULL, 0}};
    fix_init(&f, gwfix_template);
    (void)must(&f, "[" USER("q") "]", "a<|end|>");
    assert_int_equal(gw_episodes_mark(f.episodes, TK_STR("e"), &mark, NULL), TINKC_OK);
    assert_int_equal(only_info(&f).turns, 1);
    assert_true(gwfix_request(&request, TK_STR("[" USER("r") "]")));
    gw_ask ask = {.episode = TK_STR("e"), .model = f.model, .request = &request};
    assert_int_equal(gw_episodes_plan(&plan, f.episodes, &ask, NULL), TINKC_OK);
    reopen(&f);
    const gw_episode_info before = only_info(&f);
    assert_false(before.knows_reward);
    assert_int_equal(before.turns, 2); /* what the log has: an answer and a reward */
    fakeclock_advance_ms(&f.clock, 5000);
    assert_int_equal(gw_episodes_reward(&seen, &turns, f.episodes, TK_STR("e"), NULL),
                     TINKC_OK);
    assert_int_equal(turns, 1);
    assert_int_equal(only_info(&f).turns, 1);
    assert_true(seen == reward && only_info(&f).reward == reward);
    assert_true(only_info(&f).used_ms == before.used_ms);
    reopen(&f);
    (void)snprintf(path, sizeof(path), "%s/episodes-00000001.log", f.dir);
    assert_int_equal(remove(path), 0);
    const gw_turn turn = {&ask, &plan, NULL, NULL, 0};
    assert_int_equal(gw_episodes_record(f.episodes, &turn, &number, NULL), TINKC_E_IO);
    assert_false(only_info(&f).knows_reward);
    gw_plan_dispose(&plan);
    gwfix_request_dispose(&request);
    fix_dispose(&f);
}

/* ---- memory, the end, files ---- */

/* G-010 */
static void test_memory(void **state)
{
    fix f;
    gw_stats stats;
    char *before[6];
    fix_init(&f, gwfix_template);
    f.config.max_bytes = 2 * TK_ARENA_BLOCK_BYTES + 4096;
    reopen(&f);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 6; i++) {
            char id[16], messages[128];
            (void)snprintf(id, sizeof(id), "m%d", i);
            (void)snprintf(messages, sizeof(messages), "[" USER("q%d") "]", round);
            step s = {.episode = id, .messages = messages, .sampled = "a<|end|>"};
            assert_int_equal(run(&f, &s, NULL, NULL), TINKC_OK);
        }
    }
    gw_episodes_stats(&stats, f.episodes);
    assert_int_equal(stats.episodes, 6);
    assert_true(stats.loaded <= 2);
    assert_true(stats.bytes <= f.config.max_bytes);
    for (int i = 0; i < 6; i++) {
        char id[16];
        (void)snprintf(id, sizeof(id), "m%d", i);
        before[i] = export_of(&f, id);
    }
    f.config.max_bytes = 0;
    reopen(&f);
    for (int i = 0; i < 6; i++) {
        char id[16];
        (void)snprintf(id, sizeof(id), "m%d", i);
        char *after = export_of(&f, id);
        assert_string_equal(after, before[i]);
        tk_free(after);
        tk_free(before[i]);
    }
    fix_dispose(&f);
}

/* G-010 */
static void test_in_memory_only(void **state)
{
    fix f;
    tk_err err = TK_ERR_INIT;
    fix_init(&f, gwfix_template);
    f.config = (gw_episodes_config){.max_bytes = 1};
    reopen(&f);
    (void)must(&f, "[" USER("q") "]", "a<|end|>");
    step s = {.episode = "f", .messages = "[" USER("q") "]", .sampled = "a<|end|>"};
    assert_int_equal(run(&f, &s, NULL, &err), TINKC_E_LIMIT);
    assert_int_equal(gw_episodes_drop(f.episodes, TK_STR("e"), NULL), TINKC_OK);
    assert_int_equal(run(&f, &s, NULL, NULL), TINKC_OK);
    fix_dispose(&f);
}

static void test_drop(void **state)
{
    fix f;
    gw_stats stats;
    fix_init(&f, gwfix_template);
    f.config.segment_bytes = 2000;
    f.config.keep_s = 100;
    reopen(&f);
    for (int i = 0; i < 40; i++) { /* one stays, the others come and go */
        char id[16];
        (void)snprintf(id, sizeof(id), "d%d", i);
        step s = {.episode = id, .messages = "[" USER("q") "]", .sampled = "a<|end|>"};
        assert_int_equal(run(&f, &s, NULL, NULL), TINKC_OK);
        fakeclock_advance_ms(&f.clock, 1500);
        if (i > 0) {
            assert_int_equal(gw_episodes_drop(f.episodes, tk_str_of(id), NULL), TINKC_OK);
        }
    }
    gw_episodes_stats(&stats, f.episodes);
    assert_int_equal(stats.episodes, 1);
    assert_true(stats.disk_bytes < 12000); /* old files went, what is needed was moved */
    reopen(&f);
    gw_episodes_stats(&stats, f.episodes);
    assert_int_equal(stats.episodes, 1);
    assert_int_equal(stats.damaged, 0);
    char *text = export_of(&f, "d0");
    assert_non_null(strstr(text, "\"sampled_tokens\":2"));
    tk_free(text);
    fakeclock_advance_ms(&f.clock, 101000);
    gw_episodes_tidy(f.episodes);
    gw_episodes_stats(&stats, f.episodes);
    assert_int_equal(stats.episodes, 0);
    reopen(&f);
    gw_episodes_stats(&stats, f.episodes);
    assert_int_equal(stats.episodes, 0);
    fix_dispose(&f);
}

/* A plan outlives the episode that it was made for. */
static void test_drop_before_record(void **state)
{
    fix f;
    ca_request request;
    gw_plan plan;
    int64_t number = -1;
    int32_t sampled[] = {70, 71};
    float logprobs[] = {-1, -2};
    ca_output output = {.n_calls = 0};
    fix_init(&f, gwfix_template);
    (void)must(&f, "[" USER("q") "]", "a<|end|>");
    assert_true(gwfix_request(
        &request, TK_STR("[" USER("q") "," ASSISTANT("a") "," USER("r") "]")));
    gw_ask ask = {.episode = TK_STR("e"), .model = f.model, .request = &request};
    assert_int_equal(gw_episodes_plan(&plan, f.episodes, &ask, NULL), TINKC_OK);
    assert_int_equal(plan.parent, 0);
    assert_int_equal(gw_episodes_drop(f.episodes, TK_STR("e"), NULL), TINKC_OK);
    gw_sequence sequence = {.ids = sampled, .logprobs = logprobs, .n = 2};
    gw_turn turn = {&ask, &plan, &sequence, &output, 1};
    assert_int_equal(gw_episodes_record(f.episodes, &turn, &number, NULL), TINKC_OK);
    assert_int_equal(number, 0);
    char *text = export_of(&f, "e");
    assert_non_null(strstr(text, "dropped meanwhile"));
    tk_free(text);
    gw_plan_dispose(&plan);
    gwfix_request_dispose(&request);
    fix_dispose(&f);
}

static void test_names(void **state)
{
    static const char *const wrong[] = {"",    ".",    "..",   "a/b",
                                        "a b", "a%62", "\x7f", "\xc3"};
    char large[TK_GW_ID_BYTES + 2];
    memset(large, 'a', sizeof(large));
    for (size_t i = 0; i < TK_ARRAY_LEN(wrong); i++) {
        assert_false(gw_episodes_is_name(tk_str_of(wrong[i])));
    }
    assert_true(gw_episodes_is_name((tk_str){large, TK_GW_ID_BYTES}));
    assert_false(gw_episodes_is_name((tk_str){large, TK_GW_ID_BYTES + 1}));
}

/* A record in the middle is damaged: its turn is lost, the others are as they were. */
static void test_damaged_record(void **state)
{
    fix f;
    char path[128], *bytes = NULL;
    size_t n = 0;
    gw_stats stats;
    fix_init(&f, gwfix_template);
    (void)must(&f, "[" USER("q") "]", "a<|end|>");
    (void)must(&f, "[" USER("damaged") "]", "b<|end|>");
    (void)must(&f, "[" USER("damaged") "," ASSISTANT("b") "," USER("r") "]", "b<|end|>");
    (void)must(&f, "[" USER("q") "," ASSISTANT("a") "," USER("r") "]", "c<|end|>");
    gw_episodes_close(f.episodes);
    f.episodes = NULL;
    (void)snprintf(path, sizeof(path), "%s/episodes-00000001.log", f.dir);
    assert_int_equal(tk_file_read(&bytes, &n, path, TK_MIB, NULL), TINKC_OK);
    char *at = memmem(bytes, n, "\"turn\":1,", 9);
    assert_non_null(at);
    *at ^= 1;
    assert_int_equal(tk_file_replace(path, bytes, n, 0600, NULL), TINKC_OK);
    tk_free(bytes);
    reopen(&f);
    char *text = export_of(&f, "e");
    assert_non_null(strstr(text, "\"lost\":2")); /* and the one that continued it */
    assert_non_null(strstr(text, "\"turns\":[0,3]"));
    tk_free(text);
    gw_episodes_stats(&stats, f.episodes);
    assert_int_equal(stats.damaged, 2);
    assert_int_equal(
        must(&f, "[" USER("q") "," ASSISTANT("a") "," USER("s") "]", "d<|end|>").parent,
        0);
    fix_dispose(&f);
}

/* A file may not grow beyond this; no signal says so. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* G-008: it is refused, and was never there: neither now nor after a restart. */
static void test_turn_that_cannot_be_written(void **state)
{
    fix f;
    char path[128];
    struct stat st;
    tk_err err = TK_ERR_INIT;
    const step second = {.episode = "e",
                         .messages =
                             "[" USER("q") "," ASSISTANT("a") "," USER("lost") "]",
                         .sampled = "x<|end|>"};
    fix_init(&f, gwfix_template);
    (void)must(&f, "[" USER("q") "]", "a<|end|>");
    (void)snprintf(path, sizeof(path), "%s/episodes-00000001.log", f.dir);
    assert_int_equal(stat(path, &st), 0);
    limit_files((rlim_t)st.st_size + 9); /* a part of it is written */
    assert_int_equal(run(&f, &second, NULL, &err), TINKC_E_IO);
    limit_files(RLIM_INFINITY);
    gw_plan plan =
        must(&f, "[" USER("q") "," ASSISTANT("a") "," USER("r") "]", "b<|end|>");
    assert_int_equal(plan.parent, 0);
    char *before = export_of(&f, "e");
    assert_null(strstr(before, "\"turn\":2"));
    assert_non_null(strstr(before, "\"turns\":[0,1]"));
    reopen(&f);
    char *after = export_of(&f, "e");
    assert_string_equal(before, after);
    tk_free(before);
    tk_free(after);
    fix_dispose(&f);
}

/* G-011 */
static void test_export_all(void **state)
{
    fix f;
    char path[128], *text = NULL;
    size_t n = 0;
    fix_init(&f, gwfix_template);
    for (int i = 0; i < 3; i++) {
        char id[16];
        (void)snprintf(id, sizeof(id), "x%d", i);
        step s = {.episode = id, .messages = "[" USER("q") "]", .sampled = "a<|end|>"};
        assert_int_equal(run(&f, &s, NULL, NULL), TINKC_OK);
    }
    (void)snprintf(path, sizeof(path), "%s.jsonl", f.dir);
    assert_int_equal(gw_episodes_export_all(&n, f.episodes, path, NULL), TINKC_OK);
    assert_int_equal(n, 3);
    assert_int_equal(tk_file_read(&text, &n, path, TK_MIB, NULL), TINKC_OK);
    size_t lines = 0;
    for (size_t i = 0; i < n; i++) {
        lines += text[i] == '\n' ? 1 : 0;
    }
    assert_int_equal(lines, 3);
    tk_free(text);
    assert_int_equal(unlink(path), 0);
    fix_dispose(&f);
}

/* ---- threads, and memory that fails ---- */

static void talk(void *user)
{
    fix *f = user;
    for (int i = 0; i < 30; i++) {
        char id[16], messages[256];
        tk_buf out;
        tk_err err = TK_ERR_INIT;
        double reward = i;
        gw_mark mark = {-1, &reward, {NULL, 0}};
        (void)snprintf(id, sizeof(id), "t%d", i % 3);
        (void)snprintf(messages, sizeof(messages),
                       i % 2 == 0 ? "[" USER("q%d") "]"
                                  : "[" USER("q%d") "," ASSISTANT("a") "," USER("r") "]",
                       i / 2 * 2);
        step s = {.episode = id, .messages = messages, .sampled = "a<|end|>"};
        assert_int_equal(run(f, &s, NULL, NULL), TINKC_OK);
        tinkc_code code = gw_episodes_mark(f->episodes, tk_str_of(id), &mark, &err);
        assert_true(code == TINKC_OK || code == TINKC_E_MISSING);
        tk_buf_init(&out, TK_MIB);
        tk_err_clear(&err);
        code = gw_episodes_export(&out, f->episodes, tk_str_of(id), &err);
        assert_true(code == TINKC_OK || code == TINKC_E_MISSING);
        tk_buf_dispose(&out);
        if (i % 10 == 9) {
            tk_err_clear(&err);
            code = gw_episodes_drop(f->episodes, tk_str_of(id), &err);
            assert_true(code == TINKC_OK || code == TINKC_E_MISSING);
        }
    }
}

static void test_threads(void **state)
{
    fix f;
    tk_thread threads[4];
    gw_stats stats;
    fix_init(&f, gwfix_template);
    f.config.clock = NULL;
    f.config.max_bytes = TK_ARENA_BLOCK_BYTES; /* they come and go */
    f.config.segment_bytes = 4000;
    reopen(&f);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(tk_thread_start(&threads[i], "talk", talk, &f, NULL), TINKC_OK);
    }
    for (size_t i = 0; i < 4; i++) {
        tk_thread_join(&threads[i]);
    }
    reopen(&f);
    gw_episodes_stats(&stats, f.episodes);
    assert_true(stats.episodes <= 3);
    assert_int_equal(stats.damaged, 0);
    fix_dispose(&f);
}

static bool scenario(void *user)
{
    fix *f = user;
    tk_err err = TK_ERR_INIT;
    tk_buf out;
    double reward = 1;
    gw_mark mark = {0, &reward, TK_STR("{\"a\": 1}")};
    step first = {.episode = "e",
                  .messages = "[" USER("q") "]",
                  .sampled = "<think>x</think>a<|im_end|>"};
    step next = {.episode = "e",
                 .messages = "[" USER("q") "," ASSISTANT("a") "," USER("r") "]",
                 .sampled = "b<|im_end|>"};
    gw_plan plan = {.parent = -1};
    bool is_ok = true;
    tk_buf_init(&out, TK_MIB);
    for (int round = 0; is_ok && round < 2; round++) {
        is_ok = gw_episodes_open(&f->episodes, &f->config, &err) == TINKC_OK;
        is_ok = is_ok && run(f, round == 0 ? &first : &next, &plan, &err) == TINKC_OK;
        is_ok =
            is_ok && gw_episodes_mark(f->episodes, TK_STR("e"), &mark, &err) == TINKC_OK;
        is_ok =
            is_ok && gw_episodes_export(&out, f->episodes, TK_STR("e"), &err) == TINKC_OK;
        gw_episodes_close(f->episodes);
        f->episodes = NULL;
    }
    is_ok = is_ok && plan.parent == 0;
    tk_buf_dispose(&out);
    gwfix_remove(f->dir);
    return is_ok;
}

static void test_out_of_memory(void **state)
{
    fix f;
    fix_init(&f, thinking);
    gw_episodes_close(f.episodes);
    f.episodes = NULL;
    gwfix_remove(f.dir);
    assert_true(scenario(&f)); /* the tokenizer keeps the words that it has seen */
    assert_true(failmem_sweep(scenario, &f, 1) > 100);
    fix_dispose(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rewards),
        cmocka_unit_test(test_reward_of_records_that_cannot_be_read),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_in_memory_only),
        cmocka_unit_test(test_drop),
        cmocka_unit_test(test_drop_before_record),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_damaged_record),
        cmocka_unit_test(test_turn_that_cannot_be_written),
        cmocka_unit_test(test_export_all),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
