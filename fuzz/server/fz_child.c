/* The server in a process of its own: this program again, started with --serve. What it
 * and its sanitizers print goes to server.log in the round's directory. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "fz.h"
#include "server/srv.h"

#define STOP_MS 60000

/* ---- in the child ---- */

static void log_line(tinkc_log_level level, const char *component, const char *line,
                     void *user)
{
    (void)user;
    fprintf(stderr, "%s %s: %s\n", tinkc_log_level_name(level), component, line);
}

int fz_child_serve(const char *data, size_t memory, int port)
{
    srv *server = NULL;
    tk_err err = TK_ERR_INIT;
    sigset_t ends;
    int got = 0;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &ends, NULL); /* inherited by all threads */
    const srv_options options = {.data = data,
                                 .port = (unsigned)port,
                                 .threads = 1,
                                 .api_key = FZ_KEY,
                                 .poll_ms = 500,
                                 .memory_bytes = memory,
                                 .log_level = TINKC_LOG_INFO,
                                 .log = log_line};
    if (srv_start(&server, &options, &err) != TINKC_OK) {
        fprintf(stderr, "srv_start: %s\n", err.message);
        return 1;
    }
    printf("%u\n", srv_port(server));
    (void)fflush(stdout);
    while (sigwait(&ends, &got) != 0 || got != SIGTERM) {
    }
    srv_stop(&server);
    return 0;
}

/* ---- in the parent ---- */

static void exec_child(fz_world *world, int out)
{
    char log[128], data[128], memory[32], port[16];
    (void)snprintf(log, sizeof(log), "%s/server.log", world->dir);
    (void)snprintf(data, sizeof(data), "%s/data", world->dir);
    (void)snprintf(memory, sizeof(memory), "%zu", world->options->memory);
    (void)snprintf(port, sizeof(port), "%d", atomic_load(&world->port));
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(fd, STDERR_FILENO);
    (void)close(out);
    (void)execl(world->options->program, "fuzz_server", "--serve", data, memory, port,
                (char *)NULL);
    _exit(127);
}

/* The line with the port; 0 when none comes. */
static int read_port(int fd)
{
    char line[16] = "";
    size_t n = 0;
    while (n + 1 < sizeof(line) && read(fd, line + n, 1) == 1 && line[n] != '\n') {
        n++;
    }
    line[n] = '\0';
    int64_t port = 0;
    return tk_str_to_i64(tk_str_of(line), &port) ? (int)port : 0;
}

/* Its status when it does not start, else 0. */
static int start_once(fz_world *world)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        fakeapi_die("pipe: %m");
    }
    pid_t pid = fork();
    if (pid < 0) {
        fakeapi_die("fork: %m");
    }
    if (pid == 0) {
        exec_child(world, ends[1]);
    }
    (void)close(ends[1]);
    int port = read_port(ends[0]);
    int status = 0;
    (void)close(ends[0]);
    if (port == 0) {
        (void)waitpid(pid, &status, 0);
        return status != 0 ? status : -1;
    }
    world->child = pid;
    atomic_store(&world->port, port);
    return 0;
}

bool fz_child_start(fz_world *world)
{
    int status = start_once(world);
    if (status > 0 && WIFEXITED(status) && atomic_exchange(&world->port, 0) != 0) {
        status = start_once(world); /* the port may be in use by another program */
    }
    if (status != 0) {
        fz_find(world, "the server does not start (status %#x)", (unsigned)status);
        return false;
    }
    atomic_fetch_add(&world->life, 1);
    atomic_store(&world->is_ending, false);
    return true;
}

/* Its status, or -1 when it still runs after ms. */
static int wait_end(pid_t pid, int64_t ms)
{
    int64_t end = tk_clock_mono_ms(NULL) + ms;
    int status = 0;
    for (;;) {
        pid_t got = waitpid(pid, &status, WNOHANG);
        if (got == pid) {
            return status;
        }
        if (tk_clock_mono_ms(NULL) > end) {
            return -1;
        }
        const struct timespec pause_for = {0, 2000000};
        (void)nanosleep(&pause_for, NULL);
    }
}

void fz_child_end(fz_world *world, int signal_number)
{
    pid_t pid = world->child;
    if (pid == 0) {
        return;
    }
    atomic_store(&world->is_ending, true);
    (void)kill(pid, signal_number);
    int status = wait_end(pid, STOP_MS);
    if (status == -1) {
        fz_find(world, "the server does not end within %d s of SIGTERM", STOP_MS / 1000);
        (void)kill(pid, SIGABRT); /* a core or a sanitizer's report, if they are on */
        status = wait_end(pid, 10000);
        (void)kill(pid, SIGKILL);
        if (status == -1) {
            (void)waitpid(pid, &status, 0);
        }
    } else if (signal_number == SIGTERM && status != 0) {
        fz_find(world, "the server ended with status %#x after SIGTERM",
                (unsigned)status);
    } else if (signal_number == SIGKILL && WIFEXITED(status)) {
        fz_find(world, "the server had ended by itself with %d", WEXITSTATUS(status));
    }
    world->child = 0;
}

bool fz_child_lives(fz_world *world)
{
    int status = 0;
    pid_t pid = world->child;
    if (pid != 0 && waitpid(pid, &status, WNOHANG) == pid) {
        atomic_store(&world->is_ending, true);
        world->child = 0;
        fz_find(world, "the server ended by itself: status %#x", (unsigned)status);
    }
    return world->child != 0;
}

size_t fz_child_rss(const fz_world *world)
{
    char path[64], line[256];
    size_t bytes = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)world->child);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "VmRSS:", 6) == 0) {
            bytes = (size_t)strtoul(line + 6, NULL, 10) * 1024;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return bytes;
}
