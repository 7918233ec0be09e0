/* Runs the real program. Both outputs are read by one poll loop, so that neither pipe can
 * fill up unseen; input is written at once and must fit a pipe. A program that does not
 * end is killed after a generous time. */
#include "support/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "support/test.h"

#define END_MS    240000
#define MAX_BYTES (64 * TK_MIB)

void program_open(program *p, const char *path)
{
    memset(p, 0, sizeof(*p));
    p->path = path;
    p->pid = -1;
    p->in_fd = p->out_fd = p->err_fd = -1;
    (void)snprintf(p->dir, sizeof(p->dir), "/tmp/tinkc-prog-XXXXXX");
    assert_non_null(mkdtemp(p->dir));
    tk_buf_init(&p->out, MAX_BYTES);
    tk_buf_init(&p->err, MAX_BYTES);
}

void program_close(program *p)
{
    char command[128];
    assert_true(p->pid < 0);
    tk_buf_dispose(&p->out);
    tk_buf_dispose(&p->err);
    (void)snprintf(command, sizeof(command), "rm -rf %s", p->dir);
    assert_int_equal(system(command), 0);
}

void program_env(program *p, const char *pair)
{
    size_t name = strcspn(pair, "=") + 1, i = 0;
    while (p->env[i] != NULL && strncmp(p->env[i], pair, name) != 0) {
        i++;
    }
    assert_true(i + 1 < PROGRAM_WORDS_MAX);
    p->env[i] = pair;
}

/* ---- the child ---- */

static void exec_child(const program *p, const char *const *args)
{
    char home[96], xdg[96];
    const char *words[PROGRAM_WORDS_MAX + 1] = {"tinkc"};
    const char *own[] = {home,
                         xdg,
                         "PATH=/usr/bin:/bin",
                         "TINKER_TELEMETRY=0",
                         "HF_HUB_OFFLINE=1",
                         "TINKC_SHOW_WAITS=off"};
    const char *env[PROGRAM_WORDS_MAX + 8] = {NULL};
    size_t n = 0;
    (void)snprintf(home, sizeof(home), "HOME=%s", p->dir);
    (void)snprintf(xdg, sizeof(xdg), "XDG_DATA_HOME=%s/data", p->dir);
    for (; p->env[n] != NULL; n++) {
        env[n] = p->env[n]; /* first: of two with the same name the first counts */
    }
    memcpy(env + n, own, sizeof(own));
    for (size_t i = 0; args[i] != NULL && i + 2 < PROGRAM_WORDS_MAX; i++) {
        words[i + 1] = args[i];
    }
    char *argv[PROGRAM_WORDS_MAX + 1], *envp[PROGRAM_WORDS_MAX + 8];
    memcpy(argv, words, sizeof(argv)); /* exec does not write to them */
    memcpy(envp, env, sizeof(envp));
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (chdir(p->dir) == 0) {
        (void)execve(p->path, argv, envp);
    }
    _exit(127);
}

static void start_on_terminal(program *p, const char *const *args)
{
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)p->columns};
    int master = -1;
    p->pid = forkpty(&master, NULL, NULL, &size);
    assert_true(p->pid >= 0);
    if (p->pid == 0) {
        exec_child(p, args);
    }
    p->out_fd = master;
    p->in_fd = dup(master);
}

static void start_on_pipes(program *p, const char *const *args)
{
    int in[2], out[2], err[2];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    if (p->no_reader) {
        (void)close(out[0]);
        out[0] = -1;
    }
    p->pid = fork();
    assert_true(p->pid >= 0);
    if (p->pid == 0) {
        (void)dup2(in[0], STDIN_FILENO);
        (void)dup2(out[1], STDOUT_FILENO);
        (void)dup2(err[1], STDERR_FILENO);
        exec_child(p, args);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    (void)close(err[1]);
    p->in_fd = in[1];
    p->out_fd = out[0];
    p->err_fd = err[0];
}

void program_start(program *p, const char *const *args)
{
    assert_true(p->pid < 0);
    (void)signal(SIGPIPE, SIG_IGN);
    tk_buf_clear(&p->out);
    tk_buf_clear(&p->err);
    if (p->columns > 0) {
        start_on_terminal(p, args);
    } else {
        start_on_pipes(p, args);
    }
}

/* ---- what it writes ---- */

static void shut(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
    }
    *fd = -1;
}

static void take(int *fd, tk_buf *buf)
{
    char *room = tk_buf_reserve(buf, 64 * TK_KIB);
    assert_non_null(room);
    ssize_t n = read(*fd, room, 64 * TK_KIB - 1);
    if (n > 0) {
        tk_buf_advance(buf, (size_t)n);
        assert_non_null(tk_buf_cstr(buf));
    } else if (n == 0 || errno == EIO) { /* EIO: a terminal whose program has ended */
        shut(fd);
    }
}

/* One round; false when both outputs are closed or time is up. */
static bool listen_once(program *p, int64_t end)
{
    struct pollfd fds[2] = {{p->out_fd, POLLIN, 0}, {p->err_fd, POLLIN, 0}};
    int64_t left = end - tk_clock_mono_ms(NULL);
    if ((p->out_fd < 0 && p->err_fd < 0) || left <= 0) {
        return false;
    }
    if (poll(fds, 2, (int)left) > 0) {
        if (p->out_fd >= 0 && fds[0].revents != 0) {
            take(&p->out_fd, &p->out);
        }
        if (p->err_fd >= 0 && fds[1].revents != 0) {
            take(&p->err_fd, &p->err);
        }
    }
    return true;
}

bool program_said(const tk_buf *buf, const char *text)
{
    return buf->n > 0 && memmem(buf->p, buf->n, text, strlen(text)) != NULL;
}

bool program_wait_text(program *p, bool is_err, const char *text)
{
    int64_t end = tk_clock_mono_ms(NULL) + END_MS;
    const tk_buf *buf = is_err ? &p->err : &p->out;
    while (!program_said(buf, text)) {
        if (!listen_once(p, end)) {
            return false;
        }
    }
    return true;
}

bool program_wait_more(program *p)
{
    size_t before = p->out.n + p->err.n;
    int64_t end = tk_clock_mono_ms(NULL) + END_MS;
    while (p->out.n + p->err.n == before) {
        if (!listen_once(p, end)) {
            return false;
        }
    }
    return true;
}

void program_send(program *p, const char *text)
{
    size_t n = strlen(text);
    while (n > 0) {
        ssize_t sent = write(p->in_fd, text, n);
        assert_true(sent > 0);
        text += sent;
        n -= (size_t)sent;
    }
}

void program_end(program *p)
{
    int status = 0;
    int64_t end = tk_clock_mono_ms(NULL) + END_MS;
    if (p->columns == 0) {
        shut(&p->in_fd);
    }
    while (listen_once(p, end)) {
    }
    if (tk_clock_mono_ms(NULL) >= end) {
        (void)kill(p->pid, SIGKILL);
        (void)waitpid(p->pid, &status, 0);
        p->pid = -1;
        fail_msg("it does not end; errors so far: %s", p->err.n > 0 ? p->err.p : "");
    }
    assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
    p->pid = -1;
    shut(&p->in_fd);
    shut(&p->out_fd);
    shut(&p->err_fd);
    p->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    (void)!tk_buf_cstr(&p->out);
    (void)!tk_buf_cstr(&p->err);
}

void program_run(program *p, const char *const *args)
{
    program_start(p, args);
    size_t n = p->input == NULL ? 0 : p->input_n > 0 ? p->input_n : strlen(p->input);
    for (size_t sent = 0; sent < n;) { /* input of tests fits a pipe */
        ssize_t part = write(p->in_fd, p->input + sent, n - sent);
        if (part <= 0) {
            break; /* it reads no more */
        }
        sent += (size_t)part;
    }
    program_end(p);
}

/* ---- files ---- */

const char *program_path(const program *p, const char *name)
{
    static char paths[8][160];
    static unsigned at;
    at = (at + 1) % 8;
    (void)snprintf(paths[at], sizeof(paths[at]), "%s/%s", p->dir, name);
    return paths[at];
}

bool program_read_file(const program *p, const char *name, char **out, size_t *n)
{
    return tk_file_read(out, n, program_path(p, name), MAX_BYTES, NULL) == TINKC_OK;
}

void program_write_file(const program *p, const char *name, const char *text)
{
    assert_int_equal(
        tk_file_replace(program_path(p, name), text, strlen(text), 0600, NULL), TINKC_OK);
}
