/* Full logs of tests, for scripts/check-secrets.sh: when TINKC_TALK names a directory,
 * services log every request whole and record traces there, and what peers get as
 * telemetry is kept beside it. Otherwise nothing of this happens. Thread: any. */
#ifndef SUPPORT_TALK_H
#define SUPPORT_TALK_H

#include <stdbool.h>
#include <stddef.h>

#include <tinkc/log.h>

bool talk_is_on(void);

/* Appends a line to <directory>/<process>.<kind>. */
void talk_write(const char *kind, const char *text, size_t n);

/* A tinkc_log_fn. */
void talk_log(tinkc_log_level level, const char *component, const char *line, void *user);

/* <directory>/<process>.trace; static storage. */
const char *talk_trace_path(void);

#endif
