/* Finds the private server of --local by its lock file, starts it, and waits for its end.
 * Owns the child process and the read lock on the file "users". The watching thread runs
 * in the server only.
 * Needs: server */
#include "cli/frame/cmd_local.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/env.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#define URL_BYTES 256
#define KEY_BYTES 256
#define KEY_FILE  "tinkc.key" /* SRV_KEY_FILE of the server */
#define START_MS  60000       /* until a server has printed its URL */
#define STOP_MS   20000       /* until it is killed */
#define TRIES     3           /* another `serve` may start at the same moment */

char *cmd_local_data(void)
{
    const char *xdg = tk_env_get_nonempty(NULL, "XDG_DATA_HOME");
    const char *home = tk_env_get_nonempty(NULL, "HOME");
    if (xdg != NULL) {
        return tk_file_join(xdg, "tinkc");
    }
    return home != NULL ? tk_file_join(home, ".local/share/tinkc") : NULL;
}

static struct {
    pid_t pid; /* 0: this process started none */
    int users; /* file that carries the read lock; -1: none */
    char url[URL_BYTES];
    char key[KEY_BYTES]; /* "": the server has made none */
} local = {.users = -1};

/* ---- users ---- */

#define USER_BYTE  0 /* in the file "users": read locks of commands */
#define START_BYTE 1 /* held while a command looks for a server and starts one */

/* The locks belong to the open file, not to the process, and so survive fork and other
 * opens of the file. */
static bool lock_byte(int fd, off_t byte, int command, short type)
{
    struct flock lock = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    return fcntl(fd, command, &lock) == 0;
}

static bool await_byte(int fd, off_t byte, short type)
{
    int64_t end = tk_clock_mono_ms(NULL) + START_MS;
    while (!lock_byte(fd, byte, F_OFD_SETLK, type)) {
        if (tk_clock_mono_ms(NULL) > end) {
            return false;
        }
        (void)poll(NULL, 0, 5);
    }
    return true;
}

static int open_users(const char *data)
{
    char *path = tk_file_join(data, "users");
    int fd = path != NULL ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    tk_free(path);
    return fd;
}

/* Takes the read lock; waits while a server without users stops. */
static bool become_user(const char *data)
{
    local.users = open_users(data);
    if (local.users >= 0 && !await_byte(local.users, USER_BYTE, F_RDLCK)) {
        (void)close(local.users);
        local.users = -1;
    }
    return local.users >= 0;
}

/* Returns whether other commands hold the read lock. The server's write lock does not
 * count. */
static bool has_users(int fd)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = USER_BYTE, .l_len = 1};
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_RDLCK;
}

static int watched = -1; /* the file of the server's watching thread; never closed */

static void *watch_users(void *unused)
{
    (void)unused;
    while (!lock_byte(watched, USER_BYTE, F_OFD_SETLKW, F_WRLCK)) {
        if (errno != EINTR) {
            break;
        }
    }
    (void)kill(getpid(), SIGTERM);
    return NULL;
}

/* The thread and its lock end with the process; only then can other commands start a
 * server. */
bool cmd_local_watch(const char *data)
{
    pthread_t thread;
    watched = open_users(data);
    return watched >= 0 && pthread_create(&thread, NULL, watch_users, NULL) == 0 &&
           pthread_detach(thread) == 0;
}

/* ---- a server that already runs ---- */

/* Returns whether a server holds the directory, with its URL (or "" while it starts) in
 * local.url. */
static bool look_up(const char *data)
{
    char *path = tk_file_join(data, "lock");
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    tk_free(path);
    if (fd < 0) {
        return false;
    }
    bool is_held = flock(fd, LOCK_SH | LOCK_NB) != 0;
    ssize_t n = is_held ? pread(fd, local.url, sizeof(local.url) - 1, 0) : 0;
    local.url[n > 0 ? n : 0] = '\0';
    (void)close(fd);
    return is_held;
}

/* Waits while a server starts. Returns false when there is none. */
static bool join(const char *data)
{
    int64_t end = tk_clock_mono_ms(NULL) + START_MS;
    while (look_up(data)) {
        if (local.url[0] != '\0') {
            return true;
        }
        if (tk_clock_mono_ms(NULL) > end) {
            return false;
        }
        (void)poll(NULL, 0, 20);
    }
    return false;
}

/* Reads the key that a private server has made, into local.key. */
static bool read_key(const char *data)
{
    char *path = tk_file_join(data, KEY_FILE);
    char *text = NULL;
    size_t n = 0;
    tk_err err = TK_ERR_INIT;
    tinkc_code code = path != NULL
                          ? tk_file_read(&text, &n, path, sizeof(local.key) - 1, &err)
                          : tk_err_nomem(&err);
    local.key[0] = '\0';
    if (code == TINKC_OK) {
        memcpy(local.key, text, n + 1);
        tk_mem_wipe(text, n);
    }
    tk_free(text);
    tk_free(path);
    return code == TINKC_OK || code == TINKC_E_MISSING;
}

/* ---- a new server ---- */

/* Runs in the child. The server gets its own process group, so that Ctrl-C reaches only
 * the command, which can finish its work, and other commands keep their server. */
static void become_server(const char *data, const char *log, int out)
{
    (void)setpgid(0, 0);
    int null = open("/dev/null", O_RDWR);
    int errors = log != NULL ? open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(out, STDOUT_FILENO);
    if (errors >= 0) {
        (void)dup2(errors, STDERR_FILENO);
    }
    (void)execl("/proc/self/exe", "tinkc", "serve", "--private", "--port", "0", "--data",
                data, (char *)NULL);
    _exit(CMD_FAILED);
}

/* Reads the line that a server prints when it is ready; its URL goes to local.url. */
static bool read_url(int fd)
{
    char line[URL_BYTES];
    size_t n = 0;
    int64_t end = tk_clock_mono_ms(NULL) + START_MS;
    while (n + 1 < sizeof(line)) {
        struct pollfd ready = {fd, POLLIN, 0};
        int64_t left = end - tk_clock_mono_ms(NULL);
        if (left <= 0 || poll(&ready, 1, (int)left) <= 0 || read(fd, line + n, 1) != 1) {
            return false;
        }
        if (line[n] == '\n') {
            break;
        }
        n++;
    }
    line[n] = '\0';
    const char *prefix = "listening on ";
    if (strncmp(line, prefix, strlen(prefix)) != 0) {
        return false;
    }
    (void)snprintf(local.url, sizeof(local.url), "%s", line + strlen(prefix));
    return true;
}

/* Waits until the server that this process started has stopped. If other commands may use
 * it, stops waiting as soon as one does. */
static void await_end(bool is_shared)
{
    int64_t end = tk_clock_mono_ms(NULL) + STOP_MS;
    while (local.pid > 0 && waitpid(local.pid, NULL, WNOHANG) == 0) {
        if (is_shared && has_users(local.users)) {
            break;
        }
        if (tk_clock_mono_ms(NULL) > end) {
            (void)kill(local.pid, SIGKILL);
            (void)waitpid(local.pid, NULL, 0);
            break;
        }
        (void)poll(NULL, 0, 2);
    }
    local.pid = 0;
}

static bool start(const char *data, const char *log)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    local.pid = fork();
    if (local.pid == 0) {
        become_server(data, log, ends[1]);
    }
    (void)close(ends[1]);
    bool ok = local.pid > 0 && read_url(ends[0]);
    (void)close(ends[0]);
    if (!ok && local.pid > 0) {
        (void)kill(local.pid, SIGTERM);
        await_end(false);
    }
    return ok;
}

/* Reports why the server did not start: the last line of its log. */
static int fail(const char *log)
{
    char *text = NULL;
    size_t n = 0;
    if (log == NULL || tk_file_read(&text, &n, log, TK_MIB, NULL) != TINKC_OK) {
        return cmd_fail("the local server did not start");
    }
    tk_str rest = tk_str_trim((tk_str){text, n}), line = {NULL, 0};
    while (rest.p != NULL) {
        line = tk_str_cut(&rest, '\n');
    }
    const char *reason = tk_str_has_prefix(line, "Error: ") ? line.p + 7 : line.p;
    size_t length = line.n - (size_t)(reason - line.p);
    int code = cmd_fail("the local server did not start: %.*s", (int)length, reason);
    tk_free(text);
    return code;
}

static bool find_or_start(const char *data, const char *log)
{
    /* one at a time: looking at a server's lock can keep another from taking it */
    bool ok = false;
    if (await_byte(local.users, START_BYTE, F_WRLCK)) {
        for (int i = 0; !ok && i < TRIES; i++) {
            ok = join(data) || start(data, log);
        }
        (void)lock_byte(local.users, START_BYTE, F_OFD_SETLK, F_UNLCK);
    }
    return ok;
}

static int begin(const char *data, const char *log)
{
    tk_err err = TK_ERR_INIT;
    if (tk_file_mkdirs(data, 0700, &err) != TINKC_OK) {
        return cmd_fail("the local server did not start: %s", err.message);
    }
    if (!become_user(data)) {
        return cmd_fail("the local server did not start: cannot lock %s/users", data);
    }
    if (!find_or_start(data, log)) {
        int code = fail(log);
        cmd_local_end();
        return code;
    }
    if (!read_key(data)) {
        cmd_local_end();
        return cmd_fail("cannot read the key of the local server: %s/%s", data, KEY_FILE);
    }
    return CMD_OK;
}

int cmd_local_start(cmd_local *out, const cmd_args *args)
{
    int code = CMD_OK;
    if (local.url[0] == '\0') {
        char *data = cmd_local_data();
        char *log = data != NULL && !cmd_has(args, "verbose")
                        ? tk_file_join(data, "local.log")
                        : NULL;
        code = data != NULL
                   ? begin(data, log)
                   : cmd_fail("HOME is not set: --local needs a place for its data");
        tk_free(log);
        tk_free(data);
    }
    if (code == CMD_OK) {
        *out = (cmd_local){local.url, local.key[0] != '\0' ? local.key : NULL};
    }
    return code;
}

bool cmd_local_is_used(void)
{
    return local.url[0] != '\0';
}

const char *cmd_local_url(void)
{
    return local.url;
}

void cmd_local_end(void)
{
    local.url[0] = '\0';
    tk_mem_wipe(local.key, sizeof(local.key));
    if (local.users >= 0) {
        (void)lock_byte(local.users, USER_BYTE, F_OFD_SETLK, F_UNLCK);
        await_end(true);
        (void)close(local.users);
        local.users = -1;
    }
}
