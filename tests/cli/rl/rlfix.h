/* For tests of `tinkc rl`: a real server with the embedded model, and agents. These are shell
 * commands, and the test itself: `PROGRAM agent MODE` asks the model and writes a reward. */
#ifndef CLI_RL_RLFIX_H
#define CLI_RL_RLFIX_H

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/modelfix.h"
#include "support/httpget.h"
#include "support/test.h"

#define WAIT_MS 60000
#define TASKS   "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n"

/* ---- the agent ---- */

/* Asks once; returns the status. The text of the answer is in `said`. */
static inline int ask(char *said, size_t size, unsigned turn)
{
    const char *url = getenv("OPENAI_BASE_URL"), *key = getenv("OPENAI_API_KEY");
    char target[256], headers[256], body[256];
    httpget_response response;
    const char *port = strchr(url + 7, ':');
    (void)snprintf(target, sizeof(target), "%s/chat/completions", strchr(port, '/'));
    (void)snprintf(headers, sizeof(headers), "Authorization: Bearer %s\r\n", key);
    (void)snprintf(body, sizeof(body),
                   "{\"messages\":[{\"role\":\"user\",\"content\":\"Say something about "
                   "%u\"}],\"max_tokens\":4}",
                   turn);
    const httpget_request request = {
        .method = "POST", .target = target, .headers = headers, .body = body};
    if (httpget_once((int)strtol(port + 1, NULL, 10), &request, &response) !=
        HTTPGET_OK) {
        return 0;
    }
    const char *at =
        response.body.p != NULL ? strstr(response.body.p, "\"content\":\"") : NULL;
    (void)snprintf(said, size, "%s", at != NULL ? at + strlen("\"content\":\"") : "");
    int status = response.status;
    httpget_response_dispose(&response);
    return status;
}

/* once: the reward depends on the first letter. many: 2,000 turns, as far as they go. */
static inline int run_agent(const char *mode)
{
    char said[64] = "";
    unsigned turns = strcmp(mode, "many") == 0 ? 2000 : 1, refused = 0;
    for (unsigned i = 0; i < turns; i++) {
        int status = ask(said, sizeof(said), turns > 1 ? i : 7);
        refused += status == 400;
        if (status != 200 && status != 400) {
            return 9;
        }
        if (refused > 2) {
            break;
        }
    }
    printf("{\"reward\":%d,\"refused\":%u}\n", said[0] % 2 + (said[1] == 'o'), refused);
    return 0;
}

/* ---- the program ---- */

static char self[512];  /* this program */
static char agent[600]; /* "... agent once" */
static inline void open_fix(modelfix *f, const char *faults)
{
    modelfix_open(f, faults);
    program_write_file(&f->p, "t.jsonl", TASKS);
    program_env(&f->p, "TEST_RL_MARK=here");
}

#define RL_ARGS(name)                                                                    \
    "rl", "-t", "t.jsonl", "-a", agent, "-m", MODELFIX_NAME, "-b", "2", "-g", "4",       \
        "--rank", "2", "--lr", "3e-3", "--save", name

static inline void run_ok(modelfix *f, const char *const *args)
{
    program_run(&f->p, args);
    if (f->p.code != 0) {
        fail_msg("%s", f->p.err.p);
    }
}

static inline void said(modelfix *f, const char *text)
{
    if (!program_said(&f->p.err, text)) {
        fail_msg("not '%s' in: %s", text, f->p.err.p);
    }
}

static inline bool file_has(const modelfix *f, const char *name, const char *text)
{
    char *data = NULL;
    size_t n = 0;
    bool found = program_read_file(&f->p, name, &data, &n) && strstr(data, text) != NULL;
    tk_free(data);
    return found;
}

static inline void expect_file(const modelfix *f, const char *name, const char *text)
{
    if (!file_has(f, name, text)) {
        fail_msg("%s has no %s", name, text);
    }
}

/* Counts the processes whose environment has the folder of this test. */
static inline size_t count_left(const modelfix *f)
{
    DIR *dir = opendir("/proc");
    size_t left = 0;
    for (const struct dirent *at = readdir(dir); at != NULL; at = readdir(dir)) {
        char path[300], text[16384];
        (void)snprintf(path, sizeof(path), "/proc/%s/environ", at->d_name);
        int fd = at->d_name[0] >= '1' && at->d_name[0] <= '9' ? open(path, O_RDONLY) : -1;
        ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
        for (ssize_t i = 0; i < n; i += (ssize_t)strlen(text + i) + 1) {
            text[n] = '\0';
            left +=
                strncmp(text + i, "HOME=", 5) == 0 && strcmp(text + i + 5, f->p.dir) == 0;
        }
        if (fd >= 0) {
            (void)close(fd);
        }
    }
    (void)closedir(dir);
    return left;
}

static inline void wait_none_left(const modelfix *f)
{
    int64_t end = tk_clock_mono_ms(NULL) + WAIT_MS;
    while (count_left(f) > 0) {
        assert_true(tk_clock_mono_ms(NULL) < end);
        (void)poll(NULL, 0, 2);
    }
}

static inline void wait_file(const modelfix *f, const char *name, const char *text)
{
    int64_t end = tk_clock_mono_ms(NULL) + WAIT_MS;
    while (!file_has(f, name, text)) {
        assert_true(tk_clock_mono_ms(NULL) < end);
        (void)poll(NULL, 0, 2);
    }
}

/* The weights of a run, as they are stored: those of the checkpoint in its state. */
static inline void read_weights(modelfix *f, const char *name, tk_buf *out)
{
    char command[1024];
    char *data = NULL;
    size_t n = 0;
    (void)snprintf(
        command, sizeof(command),
        "run=$(sed 's|.*\"tinker://\\([^/]*\\)/weights/.*|\\1|' %s/%s.rl/state.json); "
        "cat $(find %s/checkpoints/$run -path '*/weights/%s.*/*' -type f "
        "-name '*.safetensors' | sort) >%s/all",
        f->p.dir, name, f->srv.data, name, f->p.dir);
    assert_int_equal(system(command), 0);
    assert_true(program_read_file(&f->p, "all", &data, &n));
    tk_buf_put(out, data, n);
    tk_free(data);
    assert_int_equal(unlink(program_path(&f->p, "all")), 0);
}

/* Removes what a run left in the folder of the test. */
static inline void remove_run(const modelfix *f, const char *name)
{
    char command[512];
    (void)snprintf(command, sizeof(command), "rm -r %s/%s.rl", f->p.dir, name);
    assert_int_equal(system(command), 0);
}

/* Every step is in the metrics once, and no lot of episodes is in two of them. */
static inline void expect_steps_once(const modelfix *f, const char *name, size_t steps)
{
    char *text = NULL;
    size_t n = 0, seen = 0;
    double lots[16];
    assert_true(program_read_file(&f->p, name, &text, &n));
    for (const char *at = text; (at = strstr(at, "\"lot\":")) != NULL; at += 6) {
        assert_true(seen < 16);
        lots[seen] = strtod(at + 6, NULL);
        for (size_t i = 0; i < seen; i++) {
            assert_true(lots[i] != lots[seen]);
        }
        seen++;
    }
    assert_int_equal(seen, steps);
    for (size_t i = 1; i <= steps; i++) {
        char step[32];
        (void)snprintf(step, sizeof(step), "{\"step\":%zu,", i);
        const char *at = strstr(text, step);
        assert_non_null(at);
        assert_null(strstr(at + 1, step));
    }
    tk_free(text);
}

/* The main function of a test: it is the agent, too. Returns -1 when it is not now. */
static inline int rlfix_agent(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "agent") == 0) {
        return run_agent(argv[2]);
    }
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    assert_true(n > 0);
    (void)snprintf(agent, sizeof(agent), "'%s' agent once", self);
    return -1;
}

#endif
