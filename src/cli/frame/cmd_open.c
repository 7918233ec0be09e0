/* xdg-open as a process of its own, without the program's input and output. */
#include "cli/frame/cmd_open.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

#include "cli/frame/cmd_print.h"

extern char **environ; /* POSIX has no header for it */

/* Signals that the program blocks or ignores reach the browser again. */
static bool set_signals(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    return posix_spawnattr_setsigmask(attributes, &none) == 0 &&
           posix_spawnattr_setsigdefault(attributes, &all) == 0 &&
           posix_spawnattr_setpgroup(attributes, 0) == 0 &&
           posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETPGROUP) == 0;
}

static bool set_files(posix_spawn_file_actions_t *files)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (posix_spawn_file_actions_addopen(files, fd, "/dev/null", O_RDWR, 0) != 0) {
            return false;
        }
    }
    return true;
}

static bool start(const char *url)
{
    char name[] = "xdg-open", text[512];
    char *const argv[] = {name, text, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    pid_t pid;
    size_t n = strlen(url);
    if (n >= sizeof(text) || posix_spawn_file_actions_init(&files) != 0) {
        return false;
    }
    memcpy(text, url, n + 1);
    bool ok = posix_spawnattr_init(&attributes) == 0;
    if (ok) {
        ok = set_signals(&attributes) && set_files(&files) &&
             posix_spawnp(&pid, name, &files, &attributes, argv, environ) == 0;
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&files);
    return ok;
}

void cmd_open(const char *url)
{
    if (!start(url)) {
        cmd_print(stderr, "No browser could be started (xdg-open). Open %.*s in one.\n",
                  (int)strcspn(url, "#"), url);
    }
}
