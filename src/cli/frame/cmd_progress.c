/* The line of progress on standard error, and questions. Owns the parts of the line, which
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
#define PART_BYTES 256
#define NOTE_BYTES 64
#define LINE_BYTES 1024
#define WAIT_BYTES 640
#define LONGEST_MS 60000 /* between two lines about one wait */
#define BAR_MIN    4
#define BAR_MAX    24

static tk_mutex lock = TK_MUTEX_INIT;
static struct {
    char head[PART_BYTES];   /* before the bar, or all of the progress; "": none */
    char tail[PART_BYTES];   /* after the bar */
    char note[NOTE_BYTES];   /* what is being done beside it, or "" */
    char memory[NOTE_BYTES]; /* of the server, or "" */
    double share;            /* done, for the bar; negative: there is no bar */
    int64_t shown_ms;        /* when it was last drawn; 0: it is not */
    int64_t made_ms;         /* when there was progress */
    int64_t due_ms;          /* how long a wait has lasted when its next line is due */
    bool has_wait;           /* the line tells of a wait */
    bool is_stale;           /* it changed since it was drawn */
} line = {.share = -1};

/* ---- layout ---- */

/* Which parts a line has. */
typedef struct form {
    bool has_bar, has_memory;
    const char *after;
    bool has_no_tail;
} form;

static size_t columns_of(const char *text)
{
    return cmd_out_columns(tk_str_of(text));
}

/* Writes head, bar, tail, memory and what follows. Returns whether all of that fits, with
 * a bar of at least BAR_MIN columns if it has one. */
static bool lay_out(char out[LINE_BYTES], const form *f)
{
    char bar[BAR_MAX + 4] = "";
    const char *memory = f->has_memory ? line.memory : "";
    const char *tail = f->has_no_tail ? "" : line.tail;
    size_t columns = cmd_out_width(STDERR_FILENO);
    size_t others = columns_of(line.head) + columns_of(tail) + columns_of(memory) +
                    columns_of(f->after) + (f->has_bar ? 5 : 2);
    size_t room = columns > others ? columns - others : 0;
    if (f->has_bar) {
        size_t n = TK_MIN(TK_MAX(room, BAR_MIN), BAR_MAX);
        memcpy(bar, " [", 2);
        memset(bar + 2, '.', n);
        memset(bar + 2, '#', (size_t)((double)n * TK_MIN(line.share, 1)));
        memcpy(bar + n + 2, "]", 2);
    }
    (void)snprintf(out, LINE_BYTES, "%s%s%s%s%s%s", line.head, bar,
                   tail[0] != '\0' ? " " : "", tail, memory, f->after);
    return f->has_bar ? room >= BAR_MIN : columns >= others;
}

/* Draws the line in the first form that fits. */
static void draw(const char *full, const char *brief)
{
    const bool has_bar = line.share >= 0;
    const form forms[] = {{has_bar, true, full, false},  {has_bar, true, brief, false},
                          {has_bar, false, full, false}, {has_bar, false, brief, false},
                          {false, false, brief, false},  {false, false, brief, true}};
    /* without a wait a line that is cut says more than one without its tail */
    size_t n = TK_ARRAY_LEN(forms) - (brief[0] == '\0' ? 1 : 0);
    char text[LINE_BYTES];
    for (size_t i = 0; i < n && !lay_out(text, &forms[i]); i++) {
    }
    cmd_print_line(text);
    line.is_stale = false;
}

static void draw_progress(void)
{
    char note[NOTE_BYTES + 2];
    (void)snprintf(note, sizeof(note), "%s%s", line.note[0] != '\0' ? "  " : "",
                   line.note);
    draw(note, note);
    line.has_wait = false;
}

/* Draws what has just changed, unless that was done a moment ago. */
static void change(void)
{
    int64_t now = tk_clock_mono_ms(NULL);
    line.made_ms = now;
    line.is_stale = true;
    if (line.has_wait || now - line.shown_ms >= EVERY_MS) {
        draw_progress();
        line.shown_ms = now;
    }
}

/* ---- progress ---- */

void cmd_progress(const char *format, ...)
{
    va_list list;
    tk_mutex_lock(&lock);
    va_start(list, format);
    (void)vsnprintf(line.head, sizeof(line.head), format, list);
    va_end(list);
    line.tail[0] = line.note[0] = '\0';
    line.share = -1;
    change();
    tk_mutex_unlock(&lock);
}

void cmd_progress_bar(double share, const char *head, const char *tail)
{
    tk_mutex_lock(&lock);
    (void)snprintf(line.head, sizeof(line.head), "%s", head);
    (void)snprintf(line.tail, sizeof(line.tail), "%s", tail);
    line.note[0] = '\0';
    line.share = share;
    change();
    tk_mutex_unlock(&lock);
}

void cmd_progress_note(const char *text)
{
    tk_mutex_lock(&lock);
    (void)snprintf(line.note, sizeof(line.note), "%s", text);
    change();
    tk_mutex_unlock(&lock);
}

void cmd_progress_memory(int64_t bytes)
{
    char size[CMD_WORD_BYTES];
    tk_mutex_lock(&lock);
    (void)snprintf(line.memory, sizeof(line.memory), "  server %s",
                   cmd_out_size(size, bytes));
    line.is_stale = line.head[0] != '\0';
    tk_mutex_unlock(&lock);
}

void cmd_progress_end(void)
{
    tk_mutex_lock(&lock);
    memset(&line, 0, sizeof(line));
    line.share = -1;
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

static void draw_wait(const tinkc_wait *wait)
{
    char full[NOTE_BYTES + 64], brief[64];
    long long seconds = (long long)(wait->age_ms / 1000);
    const char *stage = stage_word(wait);
    (void)snprintf(full, sizeof(full), "  %s %lld s%s",
                   line.note[0] != '\0' ? line.note : wait->operation, seconds, stage);
    if (stage[0] != '\0') {
        (void)snprintf(brief, sizeof(brief), "  %lld s%s", seconds, stage);
    } else {
        (void)snprintf(brief, sizeof(brief), "  waits %lld s", seconds);
    }
    draw(full, brief);
}

static void show_wait(const tinkc_wait *wait, int64_t ms)
{
    char explained[WAIT_BYTES], text[WAIT_BYTES + 16];
    (void)tinkc_wait_explain(explained, sizeof(explained), wait);
    if (cmd_out_width(STDERR_FILENO) == 0) {
        if (ms >= line.due_ms) {
            cmd_print(stderr, "Waiting: %s\n", explained);
            line.due_ms = TK_MIN(2 * ms, ms + LONGEST_MS);
        }
        return;
    }
    if (line.head[0] != '\0') {
        draw_wait(wait);
    } else {
        (void)snprintf(text, sizeof(text), "Waiting: %s", explained);
        cmd_print_line(text);
    }
    line.has_wait = true;
}

/* Draws the line without a wait where that is missing. */
static void show_no_wait(void)
{
    if (line.head[0] != '\0' && (line.has_wait || line.is_stale)) {
        draw_progress();
    } else if (line.has_wait) {
        cmd_print_line(NULL);
    }
    line.has_wait = false;
    line.due_ms = 0;
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
        show_no_wait();
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
    char text[PART_BYTES];
    if (fgets(text, sizeof(text), stdin) == NULL) {
        cmd_print(stderr, "\n");
        return CMD_NO_ANSWER;
    }
    tk_str answer = tk_str_trim(tk_str_of(text));
    bool is_yes = tk_str_is_nocase(answer, "y") || tk_str_is_nocase(answer, "yes");
    return is_yes ? CMD_YES : CMD_NO;
}
