/* Child processes of tests. */
#include "support/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"

#define ENV_MAX 64

typedef struct ends {
    int ours, theirs;
} ends;

static ends make_pipe(bool we_read)
{
    int both[2];
    if (pipe2(both, O_CLOEXEC) != 0) {
        fakeapi_die("proc: no pipe");
    }
    return we_read ? (ends){both[0], both[1]} : (ends){both[1], both[0]};
}

static ends make_terminal(int columns)
{
    int ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (ours < 0 || grantpt(ours) != 0 || unlockpt(ours) != 0) {
        fakeapi_die("proc: no terminal");
    }
    const char *name = ptsname(ours);
    int theirs = name != NULL ? open(name, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
    struct termios how;
    if (theirs < 0 || ioctl(ours, TIOCSWINSZ, &size) != 0 ||
        tcgetattr(theirs, &how) != 0) {
        fakeapi_die("proc: no terminal");
    }
    how.c_oflag &= (tcflag_t)~OPOST; /* "\n" stays "\n" */
    (void)tcsetattr(theirs, TCSANOW, &how);
    return (ends){ours, theirs};
}

/* What of our own environment the child gets: nothing that changes what it says. */
static size_t inherit(char **env)
{
    static const char *const names[] = {"ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS",
                                        "LSAN_OPTIONS", "TMPDIR"};
    size_t n = 0;
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        const char *value = getenv(names[i]);
        fakeapi_bytes text = {0};
        if (value != NULL) {
            fakeapi_bytes_printf(&text, "%s=%s", names[i], value);
            (void)fakeapi_bytes_cstr(&text);
            env[n++] = text.p;
        }
    }
    return n;
}

static void child(const proc_options *o, const ends *e, char *const *env,
                  const char *const *argv)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when an assertion fails */
    if (o->all_terminal) {
        (void)setsid();
        (void)ioctl(e[0].theirs, TIOCSCTTY, 0);
    }
    for (int i = 0; i < 3; i++) {
        (void)dup2(e[i].theirs, i);
    }
    (void)signal(SIGPIPE, SIG_DFL);
    if (o->cwd != NULL && chdir(o->cwd) != 0) {
        _exit(126);
    }
    char *const *args = NULL;
    memcpy(&args, &argv, sizeof(args)); /* execve's type is older than const */
    (void)execvpe(argv[0], args, env);
    _exit(127);
}

static void make_ends(const proc_options *o, ends e[3])
{
    if (o->all_terminal) {
        e[0] = e[1] = e[2] = make_terminal(o->out_columns > 0 ? o->out_columns : 80);
        return;
    }
    e[0] = make_pipe(false);
    e[1] = o->out_columns > 0 ? make_terminal(o->out_columns) : make_pipe(true);
    e[2] = o->err_columns > 0 ? make_terminal(o->err_columns) : make_pipe(true);
    if (o->out_path != NULL) {
        (void)close(e[1].theirs);
        e[1].theirs = open(o->out_path, O_WRONLY | O_CLOEXEC | O_CREAT, 0666);
    }
    if (o->close_out) {
        (void)close(e[1].ours);
        e[1].ours = -1;
    }
}

/* The program is found by its name, as an installed one is. */
static char *path_with(const char *program)
{
    fakeapi_bytes text = {0};
    const char *slash = strrchr(program, '/'), *path = getenv("PATH");
    fakeapi_bytes_printf(&text, "PATH=%s:%.*s", path != NULL ? path : "/usr/bin:/bin",
                         slash != NULL ? (int)(slash - program) : 0, program);
    (void)fakeapi_bytes_cstr(&text);
    return text.p;
}

/* The test's come first: of two variables with one name the first counts. */
static void fill_env(char **env, const proc_options *o, const char *program)
{
    size_t n = 0;
    for (size_t i = 0; o->env != NULL && o->env[i] != NULL && n < ENV_MAX / 2; i++) {
        env[n++] = fakeapi_dup_text(o->env[i]);
    }
    env[n++] = path_with(program);
    n += inherit(env + n);
    env[n++] = fakeapi_dup_text("HOME=/nonexistent");
    env[n++] = fakeapi_dup_text("TINKC_SHOW_WAITS=off"); /* a slow machine has many */
}

proc *proc_start(const proc_options *options, const char *const *argv)
{
    const proc_options none = {0};
    const proc_options *o = options != NULL ? options : &none;
    ends e[3];
    char *env[ENV_MAX] = {0};
    proc *p = fakeapi_alloc(sizeof(*p));
    make_ends(o, e);
    fill_env(env, o, argv[0]);
    p->status = -1;
    p->pid = fork();
    if (p->pid == 0) {
        child(o, e, env, argv);
    }
    if (p->pid < 0) {
        fakeapi_die("proc: no child");
    }
    for (size_t i = 0; env[i] != NULL; i++) {
        fakeapi_release(env[i]);
    }
    (void)close(e[0].theirs);
    if (!o->all_terminal) {
        (void)close(e[1].theirs);
        (void)close(e[2].theirs);
    }
    p->in = e[0].ours;
    p->out = o->all_terminal ? dup(e[1].ours) : e[1].ours;
    p->err = o->all_terminal ? -1 : e[2].ours;
    if (!o->all_terminal) {
        proc_write(p, o->input != NULL ? o->input : "");
        (void)close(p->in);
        p->in = -1;
    }
    return p;
}

/* One read of what there is; closes the end that is over. */
static void take(int *fd, fakeapi_bytes *to)
{
    char piece[4096];
    ssize_t n = read(*fd, piece, sizeof(piece));
    if (n > 0) {
        fakeapi_bytes_put(to, piece, (size_t)n);
    } else if (n == 0 || errno != EINTR) { /* a terminal without a child says EIO */
        (void)close(*fd);
        *fd = -1;
    }
}

/* Waits for something to read; false when both ends are over. */
static bool read_some(proc *p, int64_t deadline_ms)
{
    struct pollfd both[2] = {{p->out, POLLIN, 0}, {p->err, POLLIN, 0}};
    int64_t left = deadline_ms - tk_clock_mono_ms(NULL);
    if (p->out < 0 && p->err < 0) {
        return false;
    }
    if (left <= 0) {
        (void)kill(p->pid, SIGKILL);
        fakeapi_die("proc: no end after %d s; output so far: %s%s", PROC_CAP_S,
                    proc_out(p), proc_err(p));
    }
    if (poll(both, 2, (int)left) > 0) {
        if (p->out >= 0 && both[0].revents != 0) {
            take(&p->out, &p->said);
        }
        if (p->err >= 0 && both[1].revents != 0) {
            take(&p->err, &p->complained);
        }
    }
    return true;
}

bool proc_wait_for(proc *p, const char *text)
{
    int64_t deadline_ms = tk_clock_mono_ms(NULL) + 1000 * PROC_CAP_S;
    while (strstr(proc_out(p), text) == NULL && strstr(proc_err(p), text) == NULL) {
        if (!read_some(p, deadline_ms)) {
            return false;
        }
    }
    return true;
}

void proc_write(proc *p, const char *text)
{
    size_t n = strlen(text);
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
    (void)sigaction(SIGPIPE, &ignore, &old); /* a child that reads nothing is fine */
    while (n > 0) {
        ssize_t written = write(p->in, text, n);
        if (written <= 0) {
            break;
        }
        text += written;
        n -= (size_t)written;
    }
    (void)sigaction(SIGPIPE, &old, NULL);
}

void proc_signal(proc *p, int number)
{
    (void)kill(p->pid, number);
}

int proc_wait(proc *p)
{
    int64_t deadline_ms = tk_clock_mono_ms(NULL) + 1000 * PROC_CAP_S;
    int status = 0;
    while (read_some(p, deadline_ms)) {
    }
    if (p->status < 0 && waitpid(p->pid, &status, 0) == p->pid) {
        p->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return p->status;
}

const char *proc_out(proc *p)
{
    return fakeapi_bytes_cstr(&p->said);
}

const char *proc_err(proc *p)
{
    return fakeapi_bytes_cstr(&p->complained);
}

void proc_free(proc **p)
{
    if (p == NULL || *p == NULL) {
        return;
    }
    if ((*p)->status < 0) {
        (void)kill((*p)->pid, SIGKILL);
        (void)waitpid((*p)->pid, NULL, 0);
    }
    int fds[] = {(*p)->in, (*p)->out, (*p)->err};
    for (size_t i = 0; i < TK_ARRAY_LEN(fds); i++) {
        if (fds[i] >= 0) {
            (void)close(fds[i]);
        }
    }
    fakeapi_bytes_dispose(&(*p)->said);
    fakeapi_bytes_dispose(&(*p)->complained);
    fakeapi_release(*p);
    *p = NULL;
}

proc *proc_run(const proc_options *options, const char *const *argv)
{
    proc *p = proc_start(options, argv);
    (void)proc_wait(p);
    return p;
}
