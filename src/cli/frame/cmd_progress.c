/* The line of progress on standard error, and questions. Owns the text of the line, which
 * the thread that watches the waits adds to, and the time of the last one: more than ten
 * a second would only cost time. */
#include "cli/frame/cmd_progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/thread.h"
#include "cli/frame/cmd_out.h"
#include "cli/frame/cmd_print.h"

#define EVERY_MS   100
#define LINE_BYTES 256
#define WAIT_BYTES 640
#define LONGEST_MS 60000 /* between two lines about one wait */

static tk_mutex lock = TK_MUTEX_INIT;
static struct {
    char text[LINE_BYTES]; /* of the progress; "": none */
    int64_t shown_ms;      /* when it was last drawn; 0: it is not */
    int64_t made_ms;       /* when there was progress */
    int64_t due_ms;        /* how long a wait has lasted when its next line is due */
    bool has_wait;         /* the line tells of a wait */
} line;

void cmd_progress(const char *format, ...)
{
    int64_t now = tk_clock_mono_ms(NULL);
    va_list list;
    tk_mutex_lock(&lock);
    va_start(list, format);
    (void)vsnprintf(line.text, sizeof(line.text), format, list);
    va_end(list);
    line.made_ms = now;
    if (line.has_wait || now - line.shown_ms >= EVERY_MS) {
        cmd_print_line(line.text);
        line.shown_ms = now;
        line.has_wait = false;
    }
    tk_mutex_unlock(&lock);
}

void cmd_progress_end(void)
{
    tk_mutex_lock(&lock);
    memset(&line, 0, sizeof(line));
    line.made_ms = tk_clock_mono_ms(NULL);
    cmd_print_line(NULL);
    tk_mutex_unlock(&lock);
}

/* ---- waits ---- */

/* In a few words, for the place that the progress leaves. */
static const char *stage_word(const tinkc_wait *wait)
{
    switch ((int)wait->stage) {
    case TINKC_STAGE_BACKOFF:
        return wait->last_status < 0 ? ", no connection" : ", trying again";
    case TINKC_STAGE_QUEUED:
        return ", queued";
    case TINKC_STAGE_DOWNLOADING:
        return ", downloading";
    default:
        return "";
    }
}

static void show_wait(const tinkc_wait *wait, int64_t ms)
{
    char explained[WAIT_BYTES], text[LINE_BYTES + WAIT_BYTES];
    (void)tinkc_wait_explain(explained, sizeof(explained), wait);
    if (cmd_out_width(STDERR_FILENO) == 0) {
        if (ms >= line.due_ms) {
            cmd_print(stderr, "Waiting: %s\n", explained);
            line.due_ms = TK_MIN(2 * ms, ms + LONGEST_MS);
        }
        return;
    }
    if (line.text[0] != '\0') {
        (void)snprintf(text, sizeof(text), "%s  %s %lld s%s", line.text, wait->operation,
                       (long long)(wait->age_ms / 1000), stage_word(wait));
    } else {
        (void)snprintf(text, sizeof(text), "Waiting: %s", explained);
    }
    cmd_print_line(text);
    line.has_wait = true;
}

void cmd_progress_wait(const tinkc_wait *wait, int64_t after_ms)
{
    tk_mutex_lock(&lock);
    int64_t ms = 0;
    if (wait != NULL) {
        ms = TK_MIN(wait->age_ms, tk_clock_mono_ms(NULL) - line.made_ms);
    }
    if (wait != NULL && ms >= after_ms) {
        show_wait(wait, ms);
    } else {
        if (line.has_wait) {
            cmd_print_line(line.text[0] != '\0' ? line.text : NULL);
        }
        line.has_wait = false;
        line.due_ms = 0;
    }
    tk_mutex_unlock(&lock);
}

/* ---- questions ---- */

cmd_answer cmd_confirm(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    cmd_print_va(stderr, format, list);
    va_end(list);
    cmd_print(stderr, " [y/N]: ");
    fflush(stderr);
    char text[LINE_BYTES];
    if (fgets(text, sizeof(text), stdin) == NULL) {
        cmd_print(stderr, "\n");
        return CMD_NO_ANSWER;
    }
    tk_str answer = tk_str_trim(tk_str_of(text));
    bool is_yes = tk_str_is_nocase(answer, "y") || tk_str_is_nocase(answer, "yes");
    return is_yes ? CMD_YES : CMD_NO;
}
