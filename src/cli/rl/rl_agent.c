/* The side of the program: sockets to the keepers, what comes from them.
 * Needs: text server */
#include "cli/rl/rl_agent.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cli/rl/rl_keeper.h"

#define SEND_MS     30000 /* for a keeper to take its job */
#define ROOT_MS     500   /* the root is looked at that often */
#define CHUNK_BYTES 4096
/* the longest report, and room for the read that finds its end */
#define REPORT_BYTES                                                                     \
    (sizeof(rl_report) + RL_AGENT_OUT_BYTES + RL_AGENT_ERR_BYTES + CHUNK_BYTES)

typedef struct running {
    int fd;
    void *user;
    tk_buf report;
} running;

struct rl_agents {
    int control; /* to the root */
    pid_t root;
    running at[RL_AGENT_MAX];
    size_t n;
    tk_buf last; /* report of the one that ended last */
};

/* ---- the root ---- */

/* A send that nobody takes fails with EAGAIN, so that the root can be looked at. */
static void limit_sends(int fd)
{
    const struct timeval limit = {.tv_usec = ROOT_MS * 1000};
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

tinkc_code rl_agents_open(rl_agents **out, tk_err *err)
{
    int pair[2];
    rl_agents *agents = tk_zalloc(sizeof(*agents));
    if (agents == NULL) {
        return tk_err_nomem(err);
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        tk_free(agents);
        return tk_err_sys(err, errno, "cannot make a socket for agents");
    }
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(pair[0]);
        rl_keeper_root(pair[1]);
    }
    int failure = errno;
    (void)close(pair[1]);
    if (pid < 0) {
        (void)close(pair[0]);
        tk_free(agents);
        return tk_err_sys(err, failure, "cannot start a process for agents");
    }
    limit_sends(pair[0]);
    agents->control = pair[0];
    agents->root = pid;
    tk_buf_init(&agents->last, REPORT_BYTES);
    *out = agents;
    return TINKC_OK;
}

/* Lets a root go on that an agent has stopped: without it nothing starts or ends. */
static void wake_root(const rl_agents *agents)
{
    siginfo_t info = {.si_pid = 0};
    if (waitid(P_PID, (id_t)agents->root, &info, WSTOPPED | WNOHANG) == 0 &&
        info.si_pid == agents->root) {
        (void)kill(agents->root, SIGCONT);
    }
}

static void wait_root(const rl_agents *agents)
{
    int status = 0;
    for (;;) {
        pid_t pid = waitpid(agents->root, &status, WUNTRACED);
        if (pid == agents->root && WIFSTOPPED(status)) {
            (void)kill(agents->root, SIGCONT);
        } else if (pid >= 0 || errno != EINTR) {
            return;
        }
    }
}

static void forget(rl_agents *agents, size_t index)
{
    running *r = &agents->at[index];
    (void)close(r->fd);
    tk_buf_dispose(&r->report);
    *r = agents->at[--agents->n];
}

void rl_agents_close(rl_agents *agents)
{
    if (agents == NULL) {
        return;
    }
    while (agents->n > 0) {
        forget(agents, agents->n - 1); /* its keeper sees that */
    }
    (void)close(agents->control);
    wait_root(agents);
    tk_buf_dispose(&agents->last);
    tk_free(agents);
}

/* ---- starting ---- */

/* Whether a send that failed is to be tried again: until its time is over, and a root that is
 * stopped was woken. */
static bool tries_again(const rl_agents *agents, int64_t end_ms)
{
    if (errno != EAGAIN && errno != EINTR) {
        return false;
    }
    wake_root(agents);
    errno = ETIMEDOUT;
    return tk_clock_mono_ms(NULL) < end_ms;
}

static tinkc_code send_all(const rl_agents *agents, int fd, const tk_buf *job,
                           int64_t end_ms, tk_err *err)
{
    for (size_t n = 0; n < job->n;) {
        ssize_t sent = send(fd, job->p + n, job->n - n, MSG_NOSIGNAL);
        if (sent < 0 && !tries_again(agents, end_ms)) {
            return tk_err_sys(err, errno, "an agent cannot be started");
        }
        n += sent > 0 ? (size_t)sent : 0;
    }
    return TINKC_OK;
}

/* Gives a socket to the root, which gives it to a new keeper. */
static tinkc_code send_socket(const rl_agents *agents, int fd, int64_t end_ms,
                              tk_err *err)
{
    char byte = 'k';
    struct iovec part = {&byte, 1};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } more;
    memset(&more, 0, sizeof(more));
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = more.room,
                             .msg_controllen = sizeof(more.room)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &fd, sizeof(fd));
    ssize_t n;
    do {
        n = sendmsg(agents->control, &message, MSG_NOSIGNAL);
    } while (n < 0 && tries_again(agents, end_ms));
    return n == 1 ? TINKC_OK
                  : tk_err_sys(err, errno, "the process that starts agents is gone");
}

static tinkc_code encode(tk_buf *out, const rl_job *job, tk_err *err)
{
    rl_job_head head = {.timeout_ms = job->timeout_ms,
                        .grace_ms = job->grace_ms,
                        .max_output = job->max_output,
                        .n_input = job->input.n,
                        .n_words = 1 + job->n_variables};
    tk_buf_put(out, &head, sizeof(head));
    tk_buf_put(out, job->command, strlen(job->command) + 1);
    for (size_t i = 0; i < job->n_variables; i++) {
        size_t n = strlen(job->variables[i]) + 1;
        if (n > RL_AGENT_ENV_BYTES) {
            return tk_err_set(err, TINKC_E_LIMIT, "a variable for an agent has %zu bytes",
                              n);
        }
        tk_buf_put(out, job->variables[i], n);
    }
    tk_buf_put(out, job->input.p != NULL ? job->input.p : "", job->input.n);
    tinkc_code code = tk_buf_status(out, err);
    if (code == TINKC_OK) {
        head.bytes = out->n - sizeof(head);
        memcpy(out->p, &head, sizeof(head));
    }
    return code;
}

/* Makes a keeper and gives it the job. *fd is the end of the program. */
static tinkc_code make_keeper(int *fd, const rl_agents *agents, const tk_buf *job,
                              tk_err *err)
{
    int pair[2];
    int64_t end_ms = tk_clock_mono_ms(NULL) + SEND_MS;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return tk_err_sys(err, errno, "cannot make a socket for an agent");
    }
    limit_sends(pair[0]);
    tinkc_code code = send_socket(agents, pair[1], end_ms, err);
    (void)close(pair[1]);
    if (code == TINKC_OK) {
        code = send_all(agents, pair[0], job, end_ms, err);
    }
    if (code != TINKC_OK) {
        (void)close(pair[0]);
        return code;
    }
    *fd = pair[0];
    return TINKC_OK;
}

tinkc_code rl_agents_start(rl_agents *agents, const rl_job *job, void *user, tk_err *err)
{
    tk_buf text;
    int fd = -1;
    if (agents->n == RL_AGENT_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT, "%d agents are running", RL_AGENT_MAX);
    }
    if (job->input.n > RL_AGENT_TASK_BYTES) {
        return tk_err_set(err, TINKC_E_LIMIT, "a task has %zu bytes; the limit is %d",
                          job->input.n, RL_AGENT_TASK_BYTES);
    }
    tk_buf_init(&text, RL_AGENT_TASK_BYTES + 8 * TK_MIB);
    tinkc_code code = encode(&text, job, err);
    if (code == TINKC_OK) {
        code = make_keeper(&fd, agents, &text, err);
    }
    tk_buf_dispose(&text);
    if (code != TINKC_OK) {
        return code;
    }
    running *r = &agents->at[agents->n++];
    *r = (running){.fd = fd, .user = user};
    tk_buf_init(&r->report, REPORT_BYTES);
    return TINKC_OK;
}

size_t rl_agents_running(const rl_agents *agents)
{
    return agents->n;
}

void rl_agents_stop(rl_agents *agents)
{
    for (size_t i = 0; i < agents->n; i++) {
        (void)send(agents->at[i].fd, "s", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

/* ---- ends ---- */

/* Reads what is there; returns whether it was the last. */
static bool read_some(running *r)
{
    char *room = tk_buf_reserve(&r->report, CHUNK_BYTES);
    char spare[CHUNK_BYTES];
    ssize_t n = recv(r->fd, room != NULL ? room : spare, sizeof(spare), MSG_DONTWAIT);
    if (n > 0 && room != NULL) {
        tk_buf_advance(&r->report, (size_t)n);
    }
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static void read_report(rl_ended *out, const tk_buf *from)
{
    rl_report report;
    if (from->n < sizeof(report)) {
        return;
    }
    memcpy(&report, from->p, sizeof(report));
    size_t rest = from->n - sizeof(report);
    if (report.n_out > rest || report.n_err != rest - report.n_out ||
        report.end < RL_END_OK || report.end > RL_END_LOST) {
        return;
    }
    out->end = (rl_end)report.end;
    out->status = report.status;
    out->n_written = report.n_written;
    out->strays = (size_t)report.strays;
    out->left = (size_t)report.left;
    out->ms = report.ms;
    out->out = (tk_str){from->p + sizeof(report), (size_t)report.n_out};
    out->err = (tk_str){from->p + sizeof(report) + report.n_out, (size_t)report.n_err};
}

static void take(rl_agents *agents, size_t index, rl_ended *out)
{
    running *r = &agents->at[index];
    *out = (rl_ended){.user = r->user, .end = RL_END_LOST};
    tk_buf_dispose(&agents->last);
    agents->last = r->report;
    tk_buf_init(&r->report, 0);
    forget(agents, index);
    read_report(out, &agents->last);
}

bool rl_agents_wait(rl_agents *agents, rl_ended *out, int ms)
{
    struct pollfd fds[RL_AGENT_MAX];
    int64_t end = tk_clock_mono_ns(NULL) + (int64_t)ms * 1000000;
    for (;;) {
        int64_t left = (end - tk_clock_mono_ns(NULL)) / 1000000;
        wake_root(agents);
        for (size_t i = 0; i < agents->n; i++) {
            fds[i] = (struct pollfd){.fd = agents->at[i].fd, .events = POLLIN};
        }
        int n = poll(fds, agents->n, left > 0 ? (int)TK_MIN(left, (int64_t)ROOT_MS) : 0);
        for (size_t i = 0; n > 0 && i < agents->n; i++) {
            if (fds[i].revents != 0 && read_some(&agents->at[i])) {
                take(agents, i, out);
                return true;
            }
        }
        if ((n == 0 && left <= 0) || (n < 0 && errno == EINTR) || agents->n == 0) {
            return false;
        }
    }
}
