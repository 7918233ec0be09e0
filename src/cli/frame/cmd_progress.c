/* The line of progress on standard error, and questions. Owns the time of the last line:
 * more than ten a second would only cost time. */
#include "cli/frame/cmd_progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "cli/frame/cmd_print.h"

#define EVERY_MS   100
#define LINE_BYTES 256

static int64_t shown_ms;
static bool is_shown;

void cmd_progress(const char *format, ...)
{
    int64_t now = tk_clock_mono_ms(NULL);
    if (isatty(STDERR_FILENO) != 1 || (is_shown && now - shown_ms < EVERY_MS)) {
        return;
    }
    char text[LINE_BYTES];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    cmd_print(stderr, "\r\033[K%s", text);
    fflush(stderr);
    is_shown = true;
    shown_ms = now;
}

void cmd_progress_end(void)
{
    if (is_shown) {
        cmd_print(stderr, "\r\033[K");
        fflush(stderr);
        is_shown = false;
    }
}

cmd_answer cmd_confirm(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    cmd_print_va(stderr, format, list);
    va_end(list);
    cmd_print(stderr, " [y/N]: ");
    fflush(stderr);
    char line[LINE_BYTES];
    if (fgets(line, sizeof(line), stdin) == NULL) {
        cmd_print(stderr, "\n");
        return CMD_NO_ANSWER;
    }
    tk_str answer = tk_str_trim(tk_str_of(line));
    bool is_yes = tk_str_is_nocase(answer, "y") || tk_str_is_nocase(answer, "yes");
    return is_yes ? CMD_YES : CMD_NO;
}
