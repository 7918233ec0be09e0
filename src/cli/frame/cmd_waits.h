/* SIGUSR1 lists what the program waits for, on standard error. */
#ifndef CLI_CMD_WAITS_H
#define CLI_CMD_WAITS_H

#include <tinkc/service.h>

/* From the program's start on the signal waits for somebody to take it. Before any thread
 * is started. */
void cmd_waits_init(void);

/* Takes it for this service, until cmd_waits_end, which comes before the service is
 * closed. One service at a time; without memory for a thread nothing happens. */
void cmd_waits_begin(tinkc_service *service);
void cmd_waits_end(void); /* no effect when nothing was begun */

#endif
