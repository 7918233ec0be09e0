/* Runs the programs of examples/ against the real `tinkc serve`, which gets its own data
 * directory. */
#ifndef CLI_EXAMPLES_H
#define CLI_EXAMPLES_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

#define EXAMPLES_SAID_BYTES 8192

typedef struct examples {
    char data[64];
    char url[128];
    pid_t server;
    char said[EXAMPLES_SAID_BYTES]; /* stdout and stderr of the last example */
} examples;

/* Starts argv[0] with its stdout (and stderr) in a pipe; *fd is the end to read from. */
static inline pid_t examples_spawn(char *const *argv, bool with_stderr, int *fd)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when an assertion fails */
        (void)dup2(ends[1], STDOUT_FILENO);
        if (with_stderr) {
            (void)dup2(ends[1], STDERR_FILENO);
        }
        (void)execv(argv[0], argv);
        _exit(127);
    }
    (void)close(ends[1]);
    *fd = ends[0];
    return child;
}

/* `key` NULL: the server asks for none. */
static inline void examples_start(examples *e, char *key)
{
    char program[] = TINKC_PROGRAM, line[128] = "";
    char *argv[] = {program,
                    "serve",
                    "--port",
                    "0",
                    "--data",
                    e->data,
                    key != NULL ? "--api-key" : NULL,
                    key,
                    NULL};
    int fd = -1;
    size_t n = 0;
    memset(e, 0, sizeof(*e));
    (void)snprintf(e->data, sizeof(e->data), "/tmp/tinkc-test-XXXXXX");
    assert_non_null(mkdtemp(e->data));
    e->server = examples_spawn(argv, false, &fd);
    while (n + 1 < sizeof(line) && read(fd, line + n, 1) == 1 && line[n] != '\n') {
        n++;
    }
    line[n] = '\0';
    (void)close(fd);
    assert_int_equal(unsetenv("TINKER_API_KEY"), 0);
    assert_int_equal(sscanf(line, "listening on %127s", e->url), 1);
}

static inline void examples_stop(examples *e)
{
    char command[96];
    int status = 0;
    assert_int_equal(kill(e->server, SIGTERM), 0);
    assert_int_equal(waitpid(e->server, &status, 0), e->server);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    (void)snprintf(command, sizeof(command), "rm -rf %s", e->data);
    assert_int_equal(system(command), 0);
}

/* The server of a group of tests, which asks for no key. */
static examples examples_one;

static inline int examples_open(void **unused)
{
    examples_start(&examples_one, NULL);
    return 0;
}

static inline int examples_close(void **unused)
{
    examples_stop(&examples_one);
    return 0;
}

/* Returns the exit status of an example. `argument` may be NULL. */
static inline int examples_run(examples *e, const char *name, char *argument)
{
    char path[512];
    char *argv[] = {path, argument, NULL};
    int fd = -1, status = 0;
    size_t n = 0;
    ssize_t got = 0;
    (void)snprintf(path, sizeof(path), "%s/%s", EXAMPLES_DIR, name);
    assert_int_equal(setenv("TINKER_BASE_URL", e->url, 1), 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", e->data, 1), 0);
    assert_int_equal(setenv("NO_PROXY", "127.0.0.1", 1), 0);
    pid_t child = examples_spawn(argv, true, &fd);
    while (n < sizeof(e->said) - 1 &&
           (got = read(fd, e->said + n, sizeof(e->said) - 1 - n)) > 0) {
        n += (size_t)got;
    }
    e->said[n] = '\0';
    (void)close(fd);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        print_message("%s said:\n%s\n", name, e->said);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Runs an example that must succeed, and returns the line of its output that starts with
 * `start`. */
static inline const char *examples_line(examples *e, const char *name, char *argument,
                                        const char *start)
{
    assert_int_equal(examples_run(e, name, argument), 0);
    const char *line = e->said;
    while (line != NULL && strncmp(line, start, strlen(start)) != 0) {
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    if (line == NULL) {
        fail_msg("%s said:\n%s", name, e->said);
    }
    return line;
}

#endif
