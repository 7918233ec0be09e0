/* What the program waits for, on standard error: a wait of more than two seconds is shown
 * (TINKC_SHOW_WAITS: another number of milliseconds, or off), and SIGUSR1 lists all of
 * them. */
#ifndef CLI_CMD_WAITS_H
#define CLI_CMD_WAITS_H

#include <tinkc/service.h>

/* Blocks the signal, which then stays pending. Call it before any thread starts. */
void cmd_waits_init(void);

/* Shows waits and answers the signal for this service until cmd_waits_end, which must
 * come before the service is closed. One service at a time. If its thread cannot start,
 * nothing is shown. */
void cmd_waits_begin(tinkc_service *service);
void cmd_waits_end(void); /* no effect without cmd_waits_begin */

#endif
