/* The root and the keepers. A keeper polls the program's socket, the three pipes of the
 * agent and a descriptor of its process; at the end it kills its descendants until none is
 * left: as their reaper it inherits those whose parents are gone.
 * Needs: text server */
#include "cli/rl/rl_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/rl/rl_agent.h"

#define ROOT_MS  20    /* keepers that have ended are taken that often */
#define TICK_MS  500   /* other children are */
#define JOB_MS   30000 /* for the program to send the job */
#define SWEEP_MS 10000 /* for the descendants to die */
#define LIST_MAX 256   /* children that one round kills */

enum { SOCKET, INPUT, OUTPUT, ERRORS, PROCESS, PLACES };

typedef struct tail { /* the last bytes of an output */
    char *p;
    size_t n, size;
} tail;

typedef struct keeper {
    int fds[PLACES]; /* -1: closed, or there is none */
    rl_job_head head;
    char *job; /* the words, then the input */
    const char *input;
    size_t n_input; /* that is to be written */
    pid_t agent;
    bool is_ended;  /* the agent, by `end` with `status` */
    bool is_reaped; /* its number may be another's */
    rl_end end;
    int status;
    bool is_sweeping;
    bool is_orphan; /* the program is gone */
    bool is_asked;  /* to stop */
    uint64_t n_written;
    tail out, err;
    size_t strays;
} keeper;

/* ---- the root ---- */

/* Lists the children of a process; returns how many. */
static size_t list_children(pid_t of, pid_t *out, size_t size)
{
    char path[64], text[LIST_MAX * 12];
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)of, (int)of);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    size_t count = 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    tk_str rest = {text, n > 0 ? (size_t)n : 0};
    while (rest.p != NULL && count < size) {
        int64_t pid = 0;
        /* a number at the end of the room may be cut: it is in the next round */
        tk_str word = tk_str_cut(&rest, ' ');
        if (rest.p != NULL && tk_str_to_i64(word, &pid) && pid > 1) {
            out[count++] = (pid_t)pid;
        }
    }
    return count;
}

/* Descriptors that the program had open are nobody's here. */
static void leave_terminal(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; null >= 0 && fd < 3; fd++) {
        (void)dup2(null, fd);
    }
    (void)setpgid(0, 0); /* Ctrl-C is the program's */
}

/* Returns the socket, -1 at the end, -2 for a message without one. */
static int receive(int control)
{
    char byte;
    struct iovec part = {&byte, 1};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } more;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = more.room,
                             .msg_controllen = sizeof(more.room)};
    ssize_t n;
    do {
        n = recvmsg(control, &message, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    const struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    int fd = -2;
    if (n <= 0) {
        return -1;
    }
    if (head != NULL && head->cmsg_type == SCM_RIGHTS &&
        head->cmsg_len == CMSG_LEN(sizeof(int))) {
        memcpy(&fd, CMSG_DATA(head), sizeof(fd));
    }
    return fd;
}

typedef struct keepers {
    pid_t at[RL_AGENT_MAX];
    size_t n;
} keepers;

/* Forgets those that have ended. One that its agent has stopped would never end. */
static void take_keepers(keepers *all)
{
    int status = 0;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (WIFSTOPPED(status)) {
            (void)kill(pid, SIGKILL);
        }
        for (size_t i = 0; i < all->n && !WIFSTOPPED(status); i++) {
            if (all->at[i] == pid) {
                all->at[i] = all->at[--all->n];
                break;
            }
        }
    }
}

/* A child that is not a keeper is an orphan: its keeper was killed. */
static void kill_orphans(const keepers *all)
{
    pid_t children[LIST_MAX];
    size_t n = list_children(getpid(), children, LIST_MAX);
    for (size_t i = 0; i < n; i++) {
        bool is_keeper = false;
        for (size_t k = 0; k < all->n; k++) {
            is_keeper = is_keeper || all->at[k] == children[i];
        }
        if (!is_keeper) {
            (void)kill(-children[i], SIGKILL);
            (void)kill(children[i], SIGKILL);
        }
    }
}

static void start_keeper(keepers *all, int control, int fd)
{
    pid_t pid = all->n < RL_AGENT_MAX ? fork() : -1;
    if (pid == 0) {
        (void)close(control);
        rl_keeper_run(fd);
    }
    if (pid > 0) {
        all->at[all->n++] = pid;
    }
    (void)close(fd); /* without a keeper the program sees its end */
}

_Noreturn void rl_keeper_root(int control)
{
    static const int defaults[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD};
    static keepers all;
    for (size_t i = 0; i < TK_ARRAY_LEN(defaults); i++) {
        (void)signal(defaults[i], SIG_DFL);
    }
    leave_terminal();
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (bool is_open = true; is_open || all.n > 0;) {
        struct pollfd at = {.fd = is_open ? control : -1, .events = POLLIN};
        int fd = poll(&at, 1, all.n > 0 ? ROOT_MS : TICK_MS) > 0 ? receive(control) : -2;
        is_open = is_open && fd != -1;
        if (fd >= 0) {
            start_keeper(&all, control, fd);
        }
        take_keepers(&all);
        kill_orphans(&all);
    }
    _exit(0);
}

/* ---- the job ---- */

static bool read_all(int fd, void *to, size_t n)
{
    char *p = to;
    int64_t end = tk_clock_mono_ns(NULL) + (int64_t)JOB_MS * 1000000;
    while (n > 0) {
        struct pollfd at = {.fd = fd, .events = POLLIN};
        int64_t left = (end - tk_clock_mono_ns(NULL)) / 1000000;
        if (left <= 0) {
            return false;
        }
        (void)poll(&at, 1, (int)left);
        ssize_t got = recv(fd, p, n, MSG_DONTWAIT);
        if (got > 0) {
            p += got;
            n -= (size_t)got;
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            return false;
        }
    }
    return true;
}

static bool read_job(keeper *k)
{
    if (!read_all(k->fds[SOCKET], &k->head, sizeof(k->head)) || k->head.bytes == 0 ||
        k->head.n_input > k->head.bytes) {
        return false;
    }
    k->job = tk_malloc((size_t)k->head.bytes);
    k->n_input = (size_t)k->head.n_input;
    if (k->job == NULL || !read_all(k->fds[SOCKET], k->job, (size_t)k->head.bytes)) {
        return false;
    }
    k->input = k->job + k->head.bytes - k->n_input;
    return true;
}

/* ---- the agent ---- */

extern char **environ;

static bool is_replaced(const char *pair, char *const *by, size_t n)
{
    size_t name = strcspn(pair, "=");
    for (size_t i = 0; i < n; i++) {
        if (strcspn(by[i], "=") == name && memcmp(pair, by[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* The variables of the program, and those of the job in their place. */
static char **make_env(const keeper *k)
{
    size_t n_old = 0, n = 0, n_new = (size_t)k->head.n_words - 1;
    while (environ[n_old] != NULL) {
        n_old++;
    }
    char **env = tk_zarray(n_old + n_new + 1, sizeof(*env));
    char **fresh = tk_zarray(n_new + 1, sizeof(*fresh));
    if (env == NULL || fresh == NULL) {
        return NULL;
    }
    char *at = k->job + strlen(k->job) + 1;
    for (size_t i = 0; i < n_new; i++, at += strlen(at) + 1) {
        fresh[i] = at;
    }
    for (size_t i = 0; i < n_old; i++) {
        if (!is_replaced(environ[i], fresh, n_new)) {
            env[n++] = environ[i];
        }
    }
    for (size_t i = 0; i < n_new; i++) {
        if (strchr(fresh[i], '=') != NULL) {
            env[n++] = fresh[i];
        }
    }
    return env;
}

/* In the process that becomes the agent. */
static _Noreturn void become_agent(char *command, char **env, const int *ends,
                                   pid_t keeper_pid)
{
    char shell[] = "sh", flag[] = "-c";
    char *words[] = {shell, flag, command, NULL};
    sigset_t none;
    (void)setsid();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper_pid) {
        _exit(127); /* it died before that */
    }
    for (int fd = 0; fd < 3; fd++) {
        (void)dup2(ends[fd], fd);
    }
#ifdef SYS_close_range
    (void)syscall(SYS_close_range, 3U, ~0U, 0U);
#endif
    for (int number = 1; number < 32; number++) {
        (void)signal(number, SIG_DFL);
    }
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)execve("/bin/sh", words, env);
    _exit(127);
}

/* Makes the pipes: ends[] are the agent's. */
static bool make_pipes(keeper *k, int ends[3])
{
    int in[2], out[2], err[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 ||
        pipe2(err, O_CLOEXEC) != 0) {
        return false;
    }
    ends[0] = in[0];
    ends[1] = out[1];
    ends[2] = err[1];
    k->fds[INPUT] = in[1];
    k->fds[OUTPUT] = out[0];
    k->fds[ERRORS] = err[0];
    for (int i = INPUT; i <= ERRORS; i++) {
        (void)fcntl(k->fds[i], F_SETFL, O_NONBLOCK);
    }
    return true;
}

static bool start_agent(keeper *k)
{
    int ends[3];
    char **env = make_env(k);
    if (env == NULL || !make_pipes(k, ends)) {
        return false;
    }
    pid_t self = getpid();
    k->agent = vfork(); /* what the child does is in become_agent */
    if (k->agent == 0) {
        become_agent(k->job, env, ends, self);
    }
    for (int i = 0; i < 3; i++) {
        (void)close(ends[i]);
    }
#ifdef SYS_pidfd_open
    k->fds[PROCESS] = k->agent > 0 ? (int)syscall(SYS_pidfd_open, k->agent, 0U) : -1;
#endif
    return k->agent > 0;
}

/* ---- while it runs ---- */

static void shut(keeper *k, int place)
{
    if (k->fds[place] >= 0) {
        (void)close(k->fds[place]);
        k->fds[place] = -1;
    }
}

static void feed(keeper *k)
{
    while (k->n_input > 0) {
        ssize_t n = write(k->fds[INPUT], k->input, k->n_input);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            return;
        }
        if (n <= 0) {
            break; /* it does not read: that is its affair */
        }
        k->input += n;
        k->n_input -= (size_t)n;
    }
    shut(k, INPUT);
}

static void keep_tail(tail *t, const char *p, size_t n)
{
    if (n >= t->size) {
        p += n - t->size;
        n = t->size;
    }
    size_t kept = TK_MIN(t->n, t->size - n);
    memmove(t->p, t->p + t->n - kept, kept);
    memcpy(t->p + kept, p, n);
    t->n = kept + n;
}

static bool is_flood(const keeper *k)
{
    return k->n_written > k->head.max_output;
}

/* Reads what is there, up to the limit. */
static void drain(keeper *k, int place, tail *t)
{
    char chunk[16384];
    while (k->fds[place] >= 0 && !is_flood(k)) {
        ssize_t n = read(k->fds[place], chunk, sizeof(chunk));
        if (n > 0) {
            k->n_written += (uint64_t)n;
            keep_tail(t, chunk, (size_t)n);
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            shut(k, place);
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

/* Looks whether the agent has ended, and leaves it there: its number stays the number of
 * its group. */
static void look_at_agent(keeper *k)
{
    siginfo_t info = {.si_pid = 0};
    if (waitid(P_PID, (id_t)k->agent, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0) {
        return;
    }
    bool is_exit = info.si_code == CLD_EXITED;
    k->is_ended = true;
    k->status = info.si_status;
    k->end = !is_exit ? RL_END_SIGNAL : info.si_status != 0 ? RL_END_EXIT : RL_END_OK;
    shut(k, PROCESS);
}

/* Takes all that have ended, the agent when it is swept only. */
static void reap(keeper *k)
{
    int status = 0;
    pid_t pid;
    if (!k->is_sweeping) {
        look_at_agent(k);
    }
    while ((!k->is_ended || k->is_sweeping) &&
           (pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != k->agent) {
            k->strays += k->is_sweeping && WIFSIGNALED(status);
            continue;
        }
        k->is_reaped = true;
        if (!k->is_ended) { /* just now */
            k->is_ended = true;
            k->end = WIFSIGNALED(status)        ? RL_END_SIGNAL
                     : WEXITSTATUS(status) != 0 ? RL_END_EXIT
                                                : RL_END_OK;
            k->status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
            shut(k, PROCESS);
        }
    }
}

static void listen_to_program(keeper *k)
{
    char byte;
    ssize_t n = recv(k->fds[SOCKET], &byte, 1, MSG_DONTWAIT);
    if (n > 0) {
        k->is_asked = true;
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        k->is_orphan = true;
    }
}

/* Waits until something happens, at most until the deadline. */
static void look(keeper *k, int64_t deadline_ns)
{
    struct pollfd at[PLACES];
    int64_t left = (deadline_ns - tk_clock_mono_ns(NULL)) / 1000000 + 1;
    int tick = k->fds[PROCESS] >= 0 ? TICK_MS : 10;
    for (int i = 0; i < PLACES; i++) {
        at[i] = (struct pollfd){.fd = k->fds[i], .events = i == INPUT ? POLLOUT : POLLIN};
    }
    (void)poll(at, PLACES, (int)TK_MAX(TK_MIN(left, (int64_t)tick), (int64_t)0));
    feed(k);
    drain(k, OUTPUT, &k->out);
    drain(k, ERRORS, &k->err);
    reap(k);
    listen_to_program(k);
}

/* Goes on until the agent has ended, the program is gone or wants a stop, the limit of its
 * output is reached, or the time is over. */
static void watch(keeper *k, int64_t deadline_ns, bool may_stop)
{
    while (!k->is_ended && !k->is_orphan && !is_flood(k) && !(may_stop && k->is_asked) &&
           tk_clock_mono_ns(NULL) < deadline_ns) {
        look(k, deadline_ns);
    }
}

/* ---- the end ---- */

/* Signals the agent's group and every child, with the groups that they lead. */
static void signal_all(const keeper *k, int number)
{
    pid_t children[LIST_MAX];
    size_t n = list_children(getpid(), children, LIST_MAX);
    if (!k->is_reaped) {
        (void)kill(-k->agent, number);
    }
    for (size_t i = 0; i < n; i++) {
        (void)kill(-children[i], number);
        (void)kill(children[i], number);
    }
}

/* Kills all descendants; returns how many children are left. */
static size_t sweep(keeper *k)
{
    int64_t end = tk_clock_mono_ns(NULL) + (int64_t)SWEEP_MS * 1000000;
    k->is_sweeping = true;
    for (;;) {
        siginfo_t info;
        signal_all(k, SIGKILL);
        reap(k);
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 &&
            errno == ECHILD) {
            return 0;
        }
        if (tk_clock_mono_ns(NULL) > end) {
            pid_t children[LIST_MAX];
            return list_children(getpid(), children, LIST_MAX);
        }
        (void)poll(NULL, 0, 1);
    }
}

/* Asks it to end, and waits a while. */
static void terminate(keeper *k)
{
    signal_all(k, SIGTERM);
    signal_all(k, SIGCONT);
    watch(k, tk_clock_mono_ns(NULL) + k->head.grace_ms * 1000000, false);
}

static rl_report run_agent(keeper *k)
{
    rl_report report = {.end = RL_END_LOST};
    int64_t start = tk_clock_mono_ns(NULL);
    watch(k, start + k->head.timeout_ms * 1000000, true);
    rl_end end = is_flood(k)                     ? RL_END_FLOOD
                 : k->is_ended                   ? k->end
                 : (k->is_asked || k->is_orphan) ? RL_END_STOPPED
                                                 : RL_END_TIMEOUT;
    report.status = k->status;
    if (!k->is_ended && !k->is_orphan && end != RL_END_FLOOD) {
        terminate(k);
    }
    report.left = sweep(k);
    drain(k, OUTPUT, &k->out); /* what was written before the end */
    drain(k, ERRORS, &k->err);
    report.end = (int32_t)(is_flood(k) && end == RL_END_OK ? RL_END_FLOOD : end);
    report.ms = (tk_clock_mono_ns(NULL) - start) / 1000000;
    return report;
}

static void send_all(int fd, const void *data, size_t n)
{
    const char *p = data;
    while (n > 0) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return;
        }
        p += sent;
        n -= (size_t)sent;
    }
}

_Noreturn void rl_keeper_run(int socket)
{
    static char out[RL_AGENT_OUT_BYTES], err[RL_AGENT_ERR_BYTES];
    keeper k = {.fds = {socket, -1, -1, -1, -1},
                .out = {out, 0, sizeof(out)},
                .err = {err, 0, sizeof(err)}};
    rl_report report = {.end = RL_END_LOST};
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN); /* an agent that kills its parent */
    (void)signal(SIGHUP, SIG_IGN);
    if (read_job(&k) && start_agent(&k)) {
        report = run_agent(&k);
    }
    report.n_written = k.n_written;
    report.strays = k.strays;
    report.n_out = k.out.n;
    report.n_err = k.err.n;
    send_all(socket, &report, sizeof(report));
    send_all(socket, out, k.out.n);
    send_all(socket, err, k.err.n);
    _exit(0);
}
