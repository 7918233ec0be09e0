/* The pipes to an environment.
 * Needs: text server */
#include "cli/rl/rl_env.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define END_MS      1000 /* for an environment to end after its last line */
#define CHUNK_BYTES 65536

extern char **environ;

/* ---- signals ---- */

/* Its group, which a signal of the terminal does not reach, and its process, which may have
 * left the group; 0: none. */
static volatile pid_t group;
static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static struct sigaction before[TK_ARRAY_LEN(endings)];

static void end_both(int number)
{
    if (group > 0) {
        (void)kill(-group, SIGKILL);
        (void)kill(group, SIGKILL);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(endings); i++) {
        if (endings[i] == number) {
            (void)sigaction(number, &before[i], NULL);
        }
    }
    (void)raise(number); /* to what the program did before */
}

/* From now on these signals end the environment, too, unless they are ignored. */
static void catch_endings(void)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(endings); i++) {
        struct sigaction old, action = {.sa_handler = end_both};
        sigemptyset(&action.sa_mask);
        if (sigaction(endings[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN &&
            old.sa_handler != end_both) {
            before[i] = old;
            (void)sigaction(endings[i], &action, NULL);
        }
    }
}

/* ---- the process ---- */

/* While the signals are blocked; the process gets the mask that was there before. */
static int spawn_blocked(pid_t *pid, const char *command, const int *in, const int *out,
                         const sigset_t *mask)
{
    char shell[] = "sh", flag[] = "-c";
    char *words[] = {shell, flag, (char *)(uintptr_t)command, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    int failure = posix_spawn_file_actions_init(&files);
    if (failure != 0) {
        return failure;
    }
    failure = posix_spawnattr_init(&attributes);
    if (failure == 0) {
        sigemptyset(&defaults);
        sigaddset(&defaults, SIGPIPE); /* this program ignores it */
        (void)posix_spawnattr_setsigdefault(&attributes, &defaults);
        (void)posix_spawnattr_setpgroup(&attributes, 0);
        (void)posix_spawnattr_setsigmask(&attributes, mask);
        (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF |
                                                        POSIX_SPAWN_SETPGROUP |
                                                        POSIX_SPAWN_SETSIGMASK);
        failure = posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
        if (failure == 0) {
            failure = posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
        }
        if (failure == 0) {
            failure = posix_spawn(pid, "/bin/sh", &files, &attributes, words, environ);
        }
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&files);
    return failure;
}

static int spawn(pid_t *pid, const char *command, const int *in, const int *out)
{
    sigset_t blocked, mask;
    sigemptyset(&blocked);
    for (size_t i = 0; i < TK_ARRAY_LEN(endings); i++) {
        sigaddset(&blocked, endings[i]);
    }
    catch_endings();
    (void)pthread_sigmask(SIG_BLOCK, &blocked, &mask);
    int failure = spawn_blocked(pid, command, in, out, &mask);
    group = failure == 0 ? *pid : 0;
    (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return failure;
}

tinkc_code rl_env_open(rl_env *env, const char *command, int64_t timeout_ms, tk_err *err)
{
    int in[2], out[2];
    *env = (rl_env){.to = -1, .from = -1, .timeout_ms = timeout_ms};
    tk_buf_init(&env->lines, RL_ENV_LINE_BYTES);
    if (pipe2(in, O_CLOEXEC) != 0) {
        return tk_err_sys(err, errno, "cannot make a pipe");
    }
    if (pipe2(out, O_CLOEXEC) != 0) {
        int failure = errno;
        (void)close(in[0]);
        (void)close(in[1]);
        return tk_err_sys(err, failure, "cannot make a pipe");
    }
    env->to = in[1];
    env->from = out[0];
    (void)fcntl(env->to, F_SETFL, O_NONBLOCK);
    (void)fcntl(env->from, F_SETFL, O_NONBLOCK);
    int failure = spawn(&env->pid, command, in, out);
    (void)close(in[0]);
    (void)close(out[1]);
    if (failure != 0) {
        env->pid = 0;
        return tk_err_sys(err, failure, "cannot start the environment");
    }
    return TINKC_OK;
}

/* Kills what is left of its group, and the process itself, which may be in another one; then
 * takes the status of waitpid. In this order: until then nothing else has its number. */
static void take_end(rl_env *env, int *status)
{
    (void)kill(-env->pid, SIGKILL);
    (void)kill(env->pid, SIGKILL);
    group = 0;
    while (waitpid(env->pid, status, 0) < 0 && errno == EINTR) {
    }
    env->pid = 0;
}

/* Waits up to `ms` for its end, and ends what it left behind. */
static bool wait_end(rl_env *env, int *status, int64_t ms)
{
    int64_t end = tk_clock_mono_ms(NULL) + ms;
    while (env->pid > 0) {
        siginfo_t info = {.si_pid = 0};
        int failed = waitid(P_PID, (id_t)env->pid, &info, WEXITED | WNOHANG | WNOWAIT);
        if (failed == 0 && info.si_pid == env->pid) {
            take_end(env, status);
        } else if (failed != 0 && errno != EINTR) { /* somebody else has taken it */
            group = 0;
            env->pid = 0;
        } else if (tk_clock_mono_ms(NULL) >= end) {
            return false;
        } else {
            (void)poll(NULL, 0, 1);
        }
    }
    return true;
}

static void shut(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
    }
    *fd = -1;
}

void rl_env_close(rl_env *env, bool is_over)
{
    int status = 0;
    shut(&env->to);
    shut(&env->from);
    if (!wait_end(env, &status, is_over ? END_MS : 0)) {
        take_end(env, &status);
    }
    tk_buf_dispose(&env->lines);
}

/* ---- lines ---- */

static tinkc_code fail_ended(rl_env *env, tk_err *err)
{
    int status = 0;
    shut(&env->to);
    if (!wait_end(env, &status, END_MS)) {
        return tk_err_set(err, TINKC_E_IO, "the environment closed its output");
    }
    return WIFSIGNALED(status)
               ? tk_err_set(err, TINKC_E_IO,
                            "the environment ended by signal %d before it said done",
                            WTERMSIG(status))
               : tk_err_set(err, TINKC_E_IO,
                            "the environment ended with exit code %d before it said done",
                            WEXITSTATUS(status));
}

/* Waits for one of the two; *can_write tells which. */
static tinkc_code wait_ready(const rl_env *env, bool wants_write, int64_t end,
                             tk_err *err)
{
    struct pollfd at[2] = {{.fd = env->from, .events = POLLIN},
                           {.fd = wants_write ? env->to : -1, .events = POLLOUT}};
    int64_t left = end - tk_clock_mono_ms(NULL);
    if (left <= 0) {
        return tk_err_set(err, TINKC_E_TIMEOUT,
                          "the environment did not answer within %.3g s",
                          (double)env->timeout_ms / 1000);
    }
    (void)poll(at, 2, (int)TK_MIN(left, (int64_t)60000));
    return TINKC_OK;
}

/* Reads what is there; at the end of the output, fails. */
static tinkc_code read_some(rl_env *env, tk_err *err)
{
    char *room = tk_buf_reserve(&env->lines, CHUNK_BYTES);
    if (room == NULL) {
        return tk_err_set(err, TINKC_E_LIMIT, "a line of the environment is too long");
    }
    ssize_t n = read(env->from, room, CHUNK_BYTES);
    if (n > 0) {
        tk_buf_advance(&env->lines, (size_t)n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        return fail_ended(env, err);
    }
    return TINKC_OK;
}

static bool take_line(tk_str *out, rl_env *env)
{
    const tk_buf *lines = &env->lines;
    const char *from = lines->n > env->taken ? lines->p + env->taken : NULL;
    const char *end = from != NULL ? memchr(from, '\n', lines->n - env->taken) : NULL;
    if (end == NULL) {
        return false;
    }
    *out = tk_str_trim((tk_str){from, (size_t)(end - from)});
    env->taken += (size_t)(end - from) + 1;
    return true;
}

/* Forgets the lines that were taken. */
static void forget(rl_env *env)
{
    size_t left = env->lines.n - env->taken;
    if (left > 0 && env->taken > 0) {
        memmove(env->lines.p, env->lines.p + env->taken, left);
    }
    env->lines.n = left;
    env->taken = 0;
}

/* Blank lines are skipped. */
static tinkc_code exchange(tk_str *out, rl_env *env, tk_str line, tk_err *err)
{
    int64_t end = tk_clock_mono_ms(NULL) + env->timeout_ms;
    for (;;) {
        if (line.n == 0 && take_line(out, env)) {
            if (out->n > 0) {
                return TINKC_OK;
            }
            continue;
        }
        tinkc_code code = wait_ready(env, line.n > 0, end, err);
        if (code == TINKC_OK) {
            code = read_some(env, err);
        }
        if (code != TINKC_OK) {
            return code;
        }
        ssize_t n = line.n > 0 ? write(env->to, line.p, line.n) : 0;
        if (n > 0) {
            line = (tk_str){line.p + n, line.n - (size_t)n};
        } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
            return fail_ended(env, err);
        }
    }
}

tinkc_code rl_env_ask(tk_str *out, rl_env *env, tk_str line, tk_err *err)
{
    tk_buf text;
    forget(env);
    tk_buf_init(&text, line.n + 1);
    tk_buf_put(&text, line.p, line.n);
    tk_buf_putc(&text, '\n');
    tinkc_code code = tk_buf_status(&text, err);
    if (code == TINKC_OK) {
        code = exchange(out, env, tk_buf_str(&text), err);
    }
    tk_buf_dispose(&text);
    return code;
}
