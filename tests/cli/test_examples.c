/* the programs of examples/ are built as a user would build them, and each prints
 * a number that shows that it worked, with the model of the real server.
 * Links: peer */
#include <math.h>
#include <sys/stat.h>

#include "cli/examples.h"
#include "support/fakeapi_tinker.h"
#include "support/httpget.h"
#include "support/proc.h"

#define SILENT_TRIPS 1000
#define WAKEUPS_MAX  500

/* The answer to a question that the model knows is nearly certain. */
static void check_hello(const char *name)
{
    size_t tokens = 0;
    double logprob = 1;
    const char *line = examples_line(&examples_one, name, NULL, "I am Pebble");
    assert_int_equal(sscanf(line,
                            "I am Pebble, a very small language model.\n"
                            "%zu tokens, log-probability %lf",
                            &tokens, &logprob),
                     2);
    assert_true(tokens > 5);
    assert_true(logprob <= 0 && logprob > -1);
}

static void test_examples_hello(void **unused)
{
    check_hello("01_hello");
}

#ifdef EXAMPLES_CPP
static void test_examples_hello_cpp(void **unused)
{
    check_hello("cpp/01_hello");
}
#endif

#ifndef TINKC_SANITIZED

#ifdef EXAMPLES_CPP
/* The answer that it was taught comes back. */
static void test_examples_sft_cpp(void **unused)
{
    double first = 0, last = 1;
    const char *line = examples_line(&examples_one, "cpp/02_sft", NULL, "loss ");
    assert_int_equal(
        sscanf(line, "loss %lf at the start, %lf at the end; saved as tinker:", &first,
               &last),
        2);
    assert_true(last < first / 5);
    assert_non_null(strstr(line, "\nA heron is a bird with long legs.\n"));
}

/* The program of the guide: one sample for each prompt, in any order, then the runs. */
static void test_examples_tokens_cpp(void **unused)
{
    const char *line = examples_line(&examples_one, "cpp/04_tokens", NULL, "after ");
    assert_non_null(strstr(line, "after 1 tokens: heron is a bird with long legs.\n"));
    assert_non_null(strstr(line, "after 2 tokens:on is a bird with long legs.\n"));
    assert_non_null(strstr(line, "after 3 tokens: is a bird with long legs.\n"));
    assert_non_null(strstr(line, " of rank 8\n"));
}
#endif

/* A-032, M-173: the training loop of the guide; the questions were not trained. */
static void test_examples_sft(void **unused)
{
    int before = -1, of = 0, after = 0;
    const char *line = examples_line(&examples_one, "02_sft", NULL, "right answers");
    assert_int_equal(
        sscanf(line, "right answers: %d of %d before, %d after", &before, &of, &after),
        3);
    assert_int_equal(before, 0);
    assert_int_equal(of, 6);
    assert_true(after >= 3);
}

/* The callback's gradient moves the preference, also in pairs that were not trained. */
static void test_examples_dpo(void **unused)
{
    int before = -1, of = 0, after = 0;
    const char *line = examples_line(&examples_one, "04_dpo", NULL, "short answers");
    assert_int_equal(sscanf(line, "short answers preferred: %d of %d before, %d after",
                            &before, &of, &after),
                     3);
    assert_int_equal(before, 0);
    assert_int_equal(of, 6);
    assert_true(after >= 4);
}

/* Dimuon learns a sentence with regularizers in its loss. */
static void test_examples_optimizer(void **unused)
{
    double before = 0, after = 0;
    const char *line = examples_line(&examples_one, "08_optimizer", NULL, "loss ");
    assert_int_equal(sscanf(line, "loss %lf before, %lf after", &before, &after), 2);
    assert_true(before > 5 && after < before / 4);
}

/* All come back; the most frequent answer is as frequent as its probability says (five
 * standard deviations). */
static void test_examples_many(void **unused)
{
    int samples = 0, late = -1, best = -1;
    double frequency = 0, p = 1;
    const char *line = examples_line(&examples_one, "05_many", NULL, "2000 samples");
    assert_int_equal(sscanf(line,
                            "%d samples, %d of them overtaken by a later one\n"
                            "most frequent: %d, in %lf of them; its probability is %lf",
                            &samples, &late, &best, &frequency, &p),
                     5);
    assert_true(p > 0.01 && p < 1);
    assert_true(fabs(frequency - p) < 5 * sqrt(p * (1 - p) / samples));
}

/* Lists, downloads what another example has saved, streams, and sends a raw request. */
static void test_examples_manage(void **unused)
{
    char folder[128], file[192];
    struct stat st;
    (void)snprintf(folder, sizeof(folder), "%s/got", examples_one.data);
    (void)snprintf(file, sizeof(file), "%s/adapter_model.safetensors", folder);
    assert_int_equal(examples_run(&examples_one, "02_sft", NULL), 0);
    const char *line = examples_line(&examples_one, "07_manage", folder, "tinker://");
    assert_non_null(strstr(line, "/weights/manners  "));
    assert_non_null(strstr(examples_one.said, "\ngoes on with rank 32\n"));
    assert_non_null(strstr(examples_one.said, "\ntokens "));
    assert_non_null(strstr(examples_one.said, "\nstatus 200\n"));
    assert_int_equal(stat(file, &st), 0);
    assert_true(st.st_size > 0);
}

#endif

/* Two turns are one sequence: the second prompt is the first one's tokens, its answer and
 * the new text; and a step is trained on it. */
static void test_examples_agent(void **unused)
{
    size_t sequences = 0, turns = 0, tokens = 0, sampled = 0;
    const char *line = examples_line(&examples_one, "10_agent", NULL, "sequences");
    assert_int_equal(
        sscanf(line, "sequences: %zu; turns of the first: %zu; tokens: %zu, sampled: %zu",
               &sequences, &turns, &tokens, &sampled),
        4);
    assert_int_equal(sequences, 1);
    assert_int_equal(turns, 2);
    assert_true(sampled > 5 && sampled < tokens);
    assert_non_null(strstr(examples_one.said, "\ntrained on 1\n"));
}

/* The same from Python and from a shell. */
static void test_examples_agent_scripts(void **unused)
{
    char base[192];
    (void)snprintf(base, sizeof(base), "%s/e/py/v1", examples_one.url);
    assert_int_equal(setenv("OPENAI_BASE_URL", base, 1), 0);
    const char *line = examples_line(&examples_one, "agent.py", NULL, "sequence of ");
    assert_non_null(strstr(line, "sampled, reward 0.0\n"));
    assert_int_equal(unsetenv("OPENAI_BASE_URL"), 0);
    line = examples_line(&examples_one, "agent.sh", NULL, "said: ");
    assert_non_null(strstr(line, "Pebble"));
    assert_non_null(strstr(line, "\"reward\":0.5"));
}

/* Every tick of the program's own timer led to a sample. */
static void test_examples_epoll(void **unused)
{
    int ticks = 0, samples = 0, tokens = 0;
    const char *line = examples_line(&examples_one, "06_epoll", NULL, "20 ticks");
    assert_int_equal(
        sscanf(line, "%d ticks, %d samples, %d tokens", &ticks, &samples, &tokens), 3);
    assert_int_equal(samples, 20);
    assert_true(tokens >= samples && tokens <= 8 * samples);
}

/* Waiting costs nothing: while the server is silent after the last tick, the loop wakes
 * up for what happens, not all the time. A round trip to the server lasts longer than a
 * wakeup, so that a loop that spins counts more of them than the round trips. */
static void test_examples_epoll_waits(void **unused)
{
    char url[96];
    const char *const env[] = {url, "NO_PROXY=127.0.0.1", NULL};
    const char *const argv[] = {EXAMPLES_DIR "/06_epoll", NULL};
    const proc_options options = {.env = env};
    const httpget_request other = {.target = "/other"};
    int samples = 0, wakeups = -1;
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    fakeapi_tinker_hold(api, true);
    (void)snprintf(url, sizeof(url), "TINKER_BASE_URL=%s", fakeapi_url(api));
    proc *p = proc_start(&options, argv);
    assert_true(fakeapi_wait_for(api, "POST", "/api/v1/asample", 20));
    for (int i = 0; i < SILENT_TRIPS; i++) {
        httpget_response answer = {0};
        assert_int_equal(httpget_once(fakeapi_port(api), &other, &answer), HTTPGET_OK);
        httpget_response_dispose(&answer);
    }
    while (fakeapi_tinker_finish(api, 20) > 0) {
    }
    fakeapi_tinker_hold(api, false);
    assert_int_equal(proc_wait(p), 0);
    assert_int_equal(sscanf(proc_out(p), "20 ticks, %d samples, %*d tokens, %d wakeups",
                            &samples, &wakeups),
                     2);
    assert_int_equal(samples, 20);
    assert_in_range(wakeups, 20, WAKEUPS_MAX);
    proc_free(&p);
    fakeapi_stop(&api);
}

/* What a user sees when the server refuses. */
static void test_examples_refused(void **unused)
{
    examples other;
    char key[] = "tml-the-right-one";
    examples_start(&other, key);
    assert_int_equal(setenv("TINKER_API_KEY", "tml-another", 1), 0);
    assert_int_equal(examples_run(&other, "01_hello", NULL), 1);
    assert_memory_equal(other.said, "TINKC_E_AUTH: ", strlen("TINKC_E_AUTH: "));
    assert_int_equal(examples_run(&other, "02_sft", NULL), 1);
    assert_memory_equal(other.said, "TINKC_E_AUTH: ", strlen("TINKC_E_AUTH: "));
    assert_int_equal(unsetenv("TINKER_API_KEY"), 0);
    examples_stop(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples_hello),
#ifdef EXAMPLES_CPP
        cmocka_unit_test(test_examples_hello_cpp),
#endif
        cmocka_unit_test(test_examples_agent),
        cmocka_unit_test(test_examples_agent_scripts),
        cmocka_unit_test(test_examples_epoll),
        cmocka_unit_test(test_examples_epoll_waits),
        cmocka_unit_test(test_examples_refused),
#ifndef TINKC_SANITIZED
        cmocka_unit_test(test_examples_sft),
#ifdef EXAMPLES_CPP
        cmocka_unit_test(test_examples_sft_cpp),
        cmocka_unit_test(test_examples_tokens_cpp),
#endif
        cmocka_unit_test(test_examples_dpo),
        cmocka_unit_test(test_examples_optimizer),
        cmocka_unit_test(test_examples_many),
        cmocka_unit_test(test_examples_manage),
#endif
    };
    return cmocka_run_group_tests_name("examples", tests, examples_open, examples_close);
}
