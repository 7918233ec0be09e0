/* Ctrl-C, SIGTERM and closed pipes. Owns the flag that the handler sets. By default
 * SIGINT ends the program at once with 130; after cmd_signal_catch it is only noted.
 * SIGPIPE is ignored: the write fails with EPIPE, which cmd_main sees. */
#include <signal.h>
#include <unistd.h>

#include "cli/frame/cmd_int.h"

static volatile sig_atomic_t is_caught, is_noted;

static void on_interrupt(int number)
{
    (void)number;
    if (is_caught == 0 || is_noted != 0) {
        _exit(CMD_INTERRUPTED);
    }
    is_noted = 1;
}

void cmd_signal_init(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    struct sigaction old;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGINT, NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
        sigaction(SIGINT, &action, NULL);
    }
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
}

void cmd_signal_catch(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    is_caught = 1;
}

void cmd_signal_release(void)
{
    is_caught = 0;
    is_noted = 0;
}

bool cmd_interrupted(void)
{
    return is_noted != 0;
}
