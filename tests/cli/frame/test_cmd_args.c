/* Keys of the command line disappear from the list of processes, and work.
 * Links: client text server */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/program.h"
#include "support/test.h"

#define SECRET "tml-secret-of-the-command-line"

/* Whether what `ps` shows of the program has the text. */
static bool shows(const program *p, const char *text)
{
    char path[64], line[4096];
    (void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)p->pid);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    ssize_t n = read(fd, line, sizeof(line) - 1);
    assert_true(n > 0);
    (void)close(fd);
    for (ssize_t i = 0; i < n; i++) {
        if (line[i] == '\0') {
            line[i] = ' ';
        }
    }
    line[n] = '\0';
    return strstr(line, text) != NULL;
}

static void test_args_hide_the_key_of_a_server(void **state)
{
    static const char *const forms[][3] = {{"--api-key", SECRET, NULL},
                                           {"--api-key=" SECRET, NULL, NULL}};
    program p, q;
    for (size_t i = 0; i < TK_ARRAY_LEN(forms); i++) {
        char url[64];
        program_open(&p, TINKC_PROGRAM);
        program_open(&q, TINKC_PROGRAM);
        program_start(&p, PROGRAM_ARGS("serve", "--port", "0", forms[i][0], forms[i][1]));
        assert_true(program_wait_text(&p, false, "listening on http://127.0.0.1:"));
        assert_true(program_wait_text(&p, false, "\n"));
        assert_true(shows(&p, "--api-key"));
        assert_false(shows(&p, SECRET));
        const char *at = strstr(p.out.p, "http://");
        (void)snprintf(url, sizeof(url), "%.*s", (int)strcspn(at, "\n"), at);
        program_run(&q, PROGRAM_ARGS("--base-url", url, "--api-key", SECRET, "health"));
        assert_int_equal(q.code, 0);
        program_run(&q, PROGRAM_ARGS("--base-url", url, "session", "list", "--set",
                                     "api_key=" SECRET));
        assert_int_equal(q.code, 0);
        program_run(&q, PROGRAM_ARGS("--base-url", url, "--api-key", SECRET "x",
                                     "session", "list"));
        assert_int_equal(q.code, 1);
        assert_int_equal(kill(p.pid, SIGTERM), 0);
        program_end(&p);
        program_close(&q);
        program_close(&p);
    }
}

static void wait_for(const char *path)
{
    int64_t end = tk_clock_mono_ns(NULL) + INT64_C(60000) * TK_NS_PER_MS;
    while (access(path, F_OK) != 0) {
        if (tk_clock_mono_ns(NULL) > end) {
            fail_msg("%s is not there after a minute", path);
        }
        (void)usleep(2000);
    }
}

/* A command that waits for its input, with its key in every form. */
static void test_args_hide_the_key_of_a_command(void **state)
{
    static const char *const forms[][2] = {{"--api-key", SECRET},
                                           {"--api-key=" SECRET, "--stats"},
                                           {"--set", "api_key=" SECRET},
                                           {"--set=api_key=" SECRET, "--stats"}};
    for (size_t i = 0; i < TK_ARRAY_LEN(forms); i++) {
        program p;
        program_open(&p, TINKC_PROGRAM);
        program_start(&p, PROGRAM_ARGS(forms[i][0], forms[i][1], "--local", "chat",
                                       "--model", "tinkc/pebble-llama-2m"));
        wait_for(program_path(&p, "data/tinkc/lock")); /* its options have been read */
        assert_true(shows(&p, "--local"));
        assert_false(shows(&p, SECRET));
        program_end(&p);
        program_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_args_hide_the_key_of_a_server),
        cmocka_unit_test(test_args_hide_the_key_of_a_command),
    };
    return cmocka_run_group_tests_name("cmd_args", tests, NULL, NULL);
}
