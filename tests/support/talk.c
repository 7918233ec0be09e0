/* See talk.h. One write per line, so that threads do not mix theirs. */
#include "support/talk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool talk_is_on(void)
{
    return getenv("TINKC_TALK") != NULL;
}

void talk_write(const char *kind, const char *text, size_t n)
{
    char path[512];
    if (!talk_is_on()) {
        return;
    }
    (void)snprintf(path, sizeof(path), "%s/%d.%s", getenv("TINKC_TALK"), (int)getpid(),
                   kind);
    FILE *file = fopen(path, "a");
    if (file == NULL || fwrite(text, 1, n, file) != n || fputc('\n', file) == EOF ||
        fclose(file) != 0) {
        perror(path);
        abort();
    }
}

void talk_log(tinkc_log_level level, const char *component, const char *line, void *user)
{
    char text[2048];
    (void)snprintf(text, sizeof(text), "%s %s: %s", tinkc_log_level_name(level),
                   component, line);
    talk_write("log", text, strlen(text));
}

const char *talk_trace_path(void)
{
    static char path[512];
    (void)snprintf(path, sizeof(path), "%s/%d.trace", getenv("TINKC_TALK"),
                   (int)getpid());
    return path;
}
