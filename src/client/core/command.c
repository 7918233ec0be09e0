/* The child gets its own process group, so that what it started dies with it; stderr
 * and the exit status are ignored, as the official SDK does. */
#include "client/core/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

#define OUTPUT_MAX_BYTES (64 * TK_KIB)
#define TICK_MS          50   /* between two looks at `killed` */
#define REAP_MS          5    /* between two looks at a process that closed its output */
#define KILLED_MS        1000 /* until one that was killed must have ended */

extern char **environ;

struct tk_command {
    tk_task task;
    tk_timer timer; /* loop thread: the end of its time */
    tk_command_spec spec;
    tk_thread thread;
    pid_t pid;
    int fd; /* its stdout */
    tk_buf output;
    tk_mutex lock; /* of `reaped`: a process that is not reaped keeps its number */
    bool reaped;
    atomic_bool killed; /* its output is not wanted any more */
    bool is_late;       /* loop thread */
    bool posted;        /* written by the thread before it ends */
    bool reported;      /* loop thread: `done` was called */
    bool stopped;
};

static void free_command(tk_command *command)
{
    close(command->fd);
    tk_mem_wipe(command->output.p, command->output.n);
    tk_buf_dispose(&command->output);
    tk_mutex_dispose(&command->lock);
    tk_free(command);
}

/* Loop thread. The reading thread has nothing left to do but to return. */
static void report(tk_task *task)
{
    tk_command *command = TK_CONTAINER_OF(task, tk_command, task);
    if (command->stopped) {
        free_command(command);
        return;
    }
    tk_loop_timer_clear(command->spec.loop, &command->timer);
    command->reported = true;
    command->spec.done(command->spec.user, tk_str_trim(tk_buf_str(&command->output)),
                       command->is_late);
}

/* The reading thread notices `killed` also when a process that left the group still
 * holds the output open. */
static void kill_group(tk_command *command)
{
    atomic_store(&command->killed, true);
    tk_mutex_lock(&command->lock);
    if (!command->reaped) {
        (void)kill(-command->pid, SIGKILL);
    }
    tk_mutex_unlock(&command->lock);
}

static void fire_timeout(tk_timer *timer)
{
    tk_command *command = TK_CONTAINER_OF(timer, tk_command, timer);
    command->is_late = true;
    kill_group(command);
}

/* Waits for the end first and takes the status second, so that kill_group never kills a
 * process id that has been given to another process. A process that the kill did not
 * reach, because it runs as another user (sudo) or left its group, is left alone. */
static void reap(tk_command *command)
{
    siginfo_t info = {.si_pid = 0};
    int64_t left_ms = KILLED_MS;
    while (left_ms > 0 &&
           waitid(P_PID, (id_t)command->pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
           info.si_pid == 0) {
        (void)poll(NULL, 0, REAP_MS);
        left_ms -= atomic_load(&command->killed) ? REAP_MS : 0;
    }
    tk_mutex_lock(&command->lock);
    (void)waitpid(command->pid, NULL, WNOHANG);
    command->reaped = true;
    tk_mutex_unlock(&command->lock);
}

/* Whether the next read would not block: output, or its end. */
static bool wait_for_output(tk_command *command)
{
    struct pollfd fd = {.fd = command->fd, .events = POLLIN};
    while (!atomic_load(&command->killed)) {
        if (poll(&fd, 1, TICK_MS) > 0) {
            return true;
        }
    }
    return false;
}

static void read_output(void *user)
{
    tk_command *command = user;
    char piece[4096];
    while (wait_for_output(command)) {
        ssize_t n = read(command->fd, piece, sizeof(piece));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        tk_buf_put(&command->output, piece, (size_t)n);
    }
    tk_mem_wipe(piece, sizeof(piece));
    reap(command);
    command->posted = tk_loop_post(command->spec.loop, &command->task);
}

static int spawn_shell(tk_command *command, const char *text, int out_fd)
{
    const char *const arguments[] = {"sh", "-c", text, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return ENOMEM;
    }
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    sigset_t none;
    sigemptyset(&none);
    int code = posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
    if (code == 0) {
        code = posix_spawnattr_setflags(&attributes,
                                        POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    }
    (void)posix_spawnattr_setsigmask(&attributes, &none); /* the loop blocks signals */
    if (code == 0) {
        code = posix_spawn(&command->pid, "/bin/sh", &actions, &attributes,
                           (char *const *)(uintptr_t)arguments, environ);
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

static tinkc_code open_child(tk_command *command, const char *text, tk_err *err)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) {
        return tk_err_set(err, TINKC_E_IO, "pipe: error %d", errno);
    }
    int code = spawn_shell(command, text, fds[1]);
    close(fds[1]);
    if (code != 0) {
        close(fds[0]);
        return tk_err_set(err, TINKC_E_IO, "credential command: error %d", code);
    }
    command->fd = fds[0];
    return TINKC_OK;
}

static void set_deadline(tk_command *command)
{
    tk_loop *loop = command->spec.loop;
    tk_timer_init(&command->timer, fire_timeout);
    if (command->spec.timeout_ms >= 0) {
        tk_loop_timer_set(loop, &command->timer,
                          tk_loop_now_ms(loop) + command->spec.timeout_ms);
    }
}

tinkc_code tk_command_start(tk_command **out, const tk_command_spec *spec, tk_err *err)
{
    tk_command *command = tk_zalloc(sizeof(*command));
    if (command == NULL) {
        return tk_err_nomem(err);
    }
    command->task.run = report;
    command->spec = *spec;
    tk_buf_init(&command->output, OUTPUT_MAX_BYTES);
    tinkc_code code = tk_mutex_init(&command->lock, err);
    if (code != TINKC_OK) {
        tk_free(command);
        return code;
    }
    code = open_child(command, spec->text, err);
    if (code != TINKC_OK) {
        tk_mutex_dispose(&command->lock);
        tk_free(command);
        return code;
    }
    code = tk_thread_start(&command->thread, "tinkc-command", read_output, command, err);
    if (code != TINKC_OK) {
        (void)kill(-command->pid, SIGKILL);
        (void)waitpid(command->pid, NULL, 0);
        free_command(command);
        return code;
    }
    set_deadline(command);
    *out = command;
    return TINKC_OK;
}

void tk_command_stop(tk_command **command_ref)
{
    tk_command *command = *command_ref;
    *command_ref = NULL;
    if (command == NULL) {
        return;
    }
    tk_loop_timer_clear(command->spec.loop, &command->timer);
    kill_group(command);
    tk_thread_join(&command->thread);
    command->stopped = true;
    if (command->reported || !command->posted) {
        free_command(command); /* otherwise the queued task does */
    }
}
