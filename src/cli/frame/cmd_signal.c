/* Ctrl-C, SIGTERM and closed pipes. Owns the flag that the handler sets, and the last
 * words. By default SIGINT ends the program at once with 130; after cmd_signal_catch it is
 * only noted. A second SIGTERM is not another request: `timeout` sends two. SIGPIPE is
 * ignored: the write fails with EPIPE, which cmd_main sees. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/frame/cmd_int.h"
#include "cli/frame/cmd_print.h"

#define WORDS_BYTES 160

static volatile sig_atomic_t is_caught, is_noted;
static char words[2][WORDS_BYTES]; /* one is read by the handler, the other written */
static _Atomic(const char *) last_words;

static void write_text(const char *text)
{
    ssize_t n = write(STDERR_FILENO, text, strlen(text));
    (void)n;
}

/* Ends the program, with a whole line on the terminal. */
static void quit(void)
{
    const char *text = atomic_load(&last_words);
    if (cmd_print_has_line()) {
        write_text("\r\033[K");
    }
    if (is_noted != 0 && text != NULL) {
        write_text(text);
    }
    _exit(CMD_INTERRUPTED);
}

static void on_interrupt(int number)
{
    if (is_caught == 0 || (is_noted != 0 && number == SIGINT)) {
        quit();
    }
    is_noted = 1;
}

void cmd_signal_words(const char *text)
{
    char *spare = words[atomic_load(&last_words) == words[0]];
    (void)snprintf(spare, WORDS_BYTES, "%s\n", text);
    atomic_store(&last_words, spare);
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
