/* Lines that a person types: every allocation of the reader fails once, with the editor and
 * without it.
 * Links: client */
#include "cli/frame/cmd_line.h"

#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "support/failmem.h"
#include "support/test.h"

#ifdef __SANITIZE_ADDRESS__
/* The editor's library reads a terminal's description once, and keeps a few bytes of it. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:_nc_trim_sgr0\n";
}
#endif

/* Standard input and output of this process, put away while a terminal has their place. */
typedef struct terminal {
    int ours, in, out;
} terminal;

static void enter(terminal *t)
{
    int theirs = -1;
    (void)fflush(stdout);
    assert_int_equal(openpty(&t->ours, &theirs, NULL, NULL, NULL), 0);
    t->in = dup(STDIN_FILENO);
    t->out = dup(STDOUT_FILENO);
    assert_true(dup2(theirs, STDIN_FILENO) == STDIN_FILENO &&
                dup2(theirs, STDOUT_FILENO) == STDOUT_FILENO);
    (void)close(theirs);
}

static void leave(terminal *t)
{
    (void)fflush(stdout);
    (void)dup2(t->in, STDIN_FILENO);
    (void)dup2(t->out, STDOUT_FILENO);
    (void)close(t->in);
    (void)close(t->out);
    (void)close(t->ours);
    clearerr(stdin);
}

/* Types a line, which must then be in the history; user: the file, or NULL. */
static bool type_line(void *user)
{
    terminal t;
    tk_buf line;
    const char *history = user;
    if (history != NULL) {
        (void)unlink(history);
    }
    enter(&t);
    tk_buf_init(&line, 64);
    cmd_line_begin("history");
    bool is_typed = write(t.ours, "a line\n", 7) == 7;
    cmd_line_result result = cmd_line_next(&line, "> ");
    bool is_read = is_typed && result == CMD_LINE_READ && line.failure == TINKC_OK &&
                   tk_str_is(tk_buf_str(&line), "a line");
    cmd_line_end();
    tk_buf_dispose(&line);
    leave(&t);
    return is_read && (history == NULL || access(history, F_OK) == 0);
}

static void test_line_sweep(void **state)
{
    char dir[] = "/tmp/tinkc-line-XXXXXX", command[64], history[64];
    assert_non_null(mkdtemp(dir));
    (void)snprintf(history, sizeof(history), "%s/tinkc/history", dir);
    assert_int_equal(setenv("XDG_STATE_HOME", dir, 1), 0);
    assert_int_equal(setenv("LC_ALL", "C.UTF-8", 1), 0);
    assert_int_equal(setenv("TERM", "xterm", 1), 0);
    assert_true(failmem_sweep(type_line, history, 1) > 2);
    assert_int_equal(setenv("TERM", "dumb", 1), 0);
    assert_true(failmem_sweep(type_line, NULL, 1) > 0);
    (void)snprintf(command, sizeof(command), "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_line_sweep)};
    return cmocka_run_group_tests_name("cmd_line", tests, NULL, NULL);
}
