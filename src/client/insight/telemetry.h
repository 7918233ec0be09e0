/* Telemetry (docs/protocol.md §9): reports what went wrong to the server, in batches.
 *
 * One reporter per session, and one for what happens while there is none; both send
 * through one call at a time on the service's loop. Queued events are text whose secrets
 * are masked already. What cannot be queued is counted and dropped; a server that does
 * not take events is tried again with growing pauses and then never again. Nothing here
 * makes an operation fail or wait.
 *
 * A NULL tk_telemetry is one that is switched off. Thread: any, unless a function says
 * otherwise; its lock is a leaf. */
#ifndef CLIENT_TELEMETRY_H
#define CLIENT_TELEMETRY_H

#include <tinkc/telemetry.h>

#include "base/json.h"
#include "base/log.h"
#include "base/rand.h"
#include "wire/msg_telemetry.h"

#define TK_TELEMETRY_BATCH       100           /* events of one request */
#define TK_TELEMETRY_QUEUE_MAX   10000         /* events that wait, of one service */
#define TK_TELEMETRY_QUEUE_BYTES (16 * TK_MIB) /* of all of them, encoded */
#define TK_TELEMETRY_FLUSH_MS    10000         /* longest that one waits for others */
#define TK_TELEMETRY_URGENT_MS   1000 /* least time between two that do not wait */
#define TK_TELEMETRY_TRIES       8    /* failures in a row, then it is given up */
#define TK_TELEMETRY_PAUSE_MS    1000 /* after the first failure; doubles */
#define TK_TELEMETRY_PAUSE_MAX   30000
#define TK_TELEMETRY_HURRY_MS    100 /* for the last ones, when work is cut off */
#define TK_TELEMETRY_EVENT_BYTES (16 * TK_KIB) /* of one event, encoded */
#define TK_TELEMETRY_NAME_BYTES  64            /* of an event's name */

typedef struct tk_core tk_core;
typedef struct tk_telemetry tk_telemetry;

/* Every name that the library gives an event. A name never contains an id. */
typedef enum tk_telemetry_name {
    TK_TELEMETRY_USER_ERROR,
    TK_TELEMETRY_CALL_FAILED,     /* L2 */
    TK_TELEMETRY_SAMPLE_FAILED,   /* L3 */
    TK_TELEMETRY_POLL_CONNECTION, /* this and the following: polls */
    TK_TELEMETRY_POLL_STATUS,
    TK_TELEMETRY_POLL_FAILED,
    TK_TELEMETRY_NAMES
} tk_telemetry_name;

/* ---- the reporter: telemetry.c ---- */

/* *out is NULL when the configuration or the build has it off. `seed` as tk_core_seams.
 * The core owns it. */
TK_NODISCARD tinkc_code tk_telemetry_new(tk_telemetry **out, tk_core *core, uint64_t seed,
                                         tk_err *err);
void tk_telemetry_free(tk_telemetry **telemetry); /* after the loop; accepts NULL */

/* Whether an event would go anywhere: ask before preparing one. */
bool tk_telemetry_is_on(const tk_telemetry *telemetry);

/* There is a session: events belong to it from now on. Queues SESSION_START. */
void tk_telemetry_begin(tk_telemetry *telemetry, const char *session_id);

/* Queues an event; kind, severity and the members of that kind are set, the rest is
 * filled in. Strings need not be masked. False when it was dropped. `urgent` does not
 * wait for others. */
bool tk_telemetry_add(tk_telemetry *telemetry, const tk_event *event, bool urgent);

/* Not on the loop's thread: sends all that is queued; true when it is all taken, false
 * when the timeout (real time) came first or it was given up. */
bool tk_telemetry_flush(tk_telemetry *telemetry, int64_t timeout_ms);

/* Not on the loop's thread, once: cancels what runs on the loop, queues SESSION_END when
 * there is a session, and flushes as far as that makes sense. */
void tk_telemetry_close(tk_telemetry *telemetry);

/* Loop thread, while it stops: what is left is dropped. */
void tk_telemetry_shutdown(tk_telemetry *telemetry);

void tk_telemetry_read_counts(tk_telemetry *telemetry, tinkc_telemetry_counts *out);

/* ---- events: telemetry_event.c ---- */

const char *tk_telemetry_name_text(tk_telemetry_name name);

/* Whether a name can be grouped by: letters, digits, '_', '.', '-', a letter first, not
 * long, and no run of digits that looks like an id. */
bool tk_telemetry_name_is_low(tk_str name);

/* One entry of an event's data; NULL text is null. */
tk_json_member tk_telemetry_text(const char *key, const char *text);
tk_json_member tk_telemetry_int(const char *key, int64_t number);
tk_json_member tk_telemetry_real(const char *key, double number);
tk_json_member tk_telemetry_bool(const char *key, bool truth);

/* The event as JSON, secrets masked by what `log` knows. */
TK_NODISCARD tinkc_code tk_telemetry_encode(tk_buf *out, tk_log *log,
                                            const tk_event *event, tk_err *err);

/* As Python prints a timedelta: "0:01:23.456000", "2 days, 0:00:05". */
void tk_telemetry_duration(char *out, size_t size, int64_t us);

/* A GENERIC_EVENT of ours. */
void tk_telemetry_note(tk_telemetry *telemetry, tk_telemetry_name name,
                       tk_severity severity, const tk_json_member *facts, size_t n);

/* A failure that reached the user: `user_error`, or UNHANDLED_EXCEPTION; urgent. Nothing
 * for a cancelled one. is_user: the user's error somewhere in the chain of causes. */
void tk_telemetry_failed(tk_telemetry *telemetry, const char *operation,
                         const tk_err *err, bool is_user);

/* A layer repeats itself: the 1st, 2nd, 4th, 8th ... time is worth an event. */
bool tk_telemetry_is_notable(int64_t count);

#endif
