/* The last warnings and errors of the log, for the console. A sink between the log and that
 * of the program. Thread: any; its own lock, a leaf. */
#ifndef SERVER_SRV_NOTICES_H
#define SERVER_SRV_NOTICES_H

#include <tinkc/log.h>

#include "base/arena.h"
#include "base/thread.h"
#include "console/con_data.h"

#define SRV_NOTICE_BYTES 400

typedef struct srv_notices {
    tinkc_log_fn next; /* or NULL; constant, as the two below */
    void *user;
    tinkc_log_level level; /* of lines for `next` */
    tk_mutex lock;
    size_t n; /* so far */
    struct {
        int64_t time_ms;
        char text[SRV_NOTICE_BYTES];
    } ring[CON_ERRORS_MAX];
} srv_notices;

TK_NODISCARD tinkc_code srv_notices_new(srv_notices **out, tinkc_log_level level,
                                        tinkc_log_fn next, void *user, tk_err *err);
void srv_notices_free(srv_notices *notices); /* accepts NULL */

/* A tinkc_log_fn; `user` is the srv_notices. */
void srv_notices_log(tinkc_log_level level, const char *component, const char *line,
                     void *user);

/* Lists them, newest first. Arena. Returns false when out of memory. */
TK_NODISCARD bool srv_notices_list(srv_notices *notices, const con_error **out, size_t *n,
                                   tk_arena *arena);

#endif
