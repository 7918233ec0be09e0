/* One stream of changes for any number of readers: a ring of the last events, and a thread
 * that sends what is new to every reader, five times in a second at most. A reader that is
 * too slow is disconnected; it comes back with the id of its last event.
 *
 * Thread: any; its own lock. Who notes a change waits for no reader. */
#ifndef CONSOLE_CON_EVENTS_H
#define CONSOLE_CON_EVENTS_H

#include "console/con_data.h"
#include "httpd/hd_request.h"

#define CON_EVENTS_RING    4096
#define CON_EVENTS_BYTES   (4 * TK_MIB) /* of the ring */
#define CON_EVENTS_READERS 256

typedef struct con_events con_events;

/* `data` (borrowed) tells whether something is being computed. */
TK_NODISCARD tinkc_code con_events_new(con_events **out, hd_budget *budget,
                                       const con_data *data, tk_err *err);
void con_events_quiesce(con_events *events); /* ends all streams; accepts NULL */
void con_events_free(con_events *events);    /* accepts NULL */

/* Adds an event; `data` is one line of JSON. Without memory, or when it is too long, every
 * reader reads everything again. */
void con_events_put(con_events *events, const char *name, tk_str data);

/* Tells all readers to read everything again: a change could not be described. */
void con_events_lose(con_events *events);

/* The handler: answers with the stream, from Last-Event-ID on. */
hd_verdict con_events_get(con_events *events, hd_request *request);

#endif
