/* The service of a command, made from the global options: --api-key, --base-url, --local,
 * --timeout, --set, --verbose and --stats, which win over the environment. Opening makes
 * no request; a session is created when a call needs one. */
#ifndef CLI_CMD_SERVICE_H
#define CLI_CMD_SERVICE_H

#include "cli/frame/cmd.h"

/* How long it retries when the server cannot be reached or is busy. */
typedef enum cmd_patience {
    CMD_BRIEF,  /* a query: a few retries, seconds */
    CMD_PATIENT /* work of hours: the library's defaults, minutes */
} cmd_patience;

/* Makes the configuration alone, for a command that changes it first. Returns CMD_OK, or
 * another exit code after an error line. With --local (or the base URL "local") a server
 * is started; it runs until cmd_service_end. The caller frees *out. */
int cmd_service_config(tinkc_config **out, const cmd_args *args, cmd_patience patience);

/* Opens a service with that configuration. Returns the same codes. */
int cmd_service_open(tinkc_service **out, const cmd_args *args, cmd_patience patience);

/* Does for a service that a command opened by itself what --verbose and --stats want, and
 * starts to show its waits. */
void cmd_service_begin(tinkc_service *service, const cmd_args *args);

/* Returns the base URL of the service that was opened last; "" when it is too long to keep. */
const char *cmd_service_url(void);

/* Closes the service (NULL is allowed), prints --stats and ends the server of --local. The
 * exit code of the command is how its session ended. Call it after every cmd_service_open
 * and cmd_service_config that returned CMD_OK. */
void cmd_service_end(tinkc_service **service, int result);

/* Opens a brief service, finds what the operands name, calls `ask` and closes it. Returns the exit code of
 * `ask`, or that of the failure to open. */
int cmd_service_ask(const cmd_args *args, int (*ask)(const cmd_args *, tinkc_service *));

#endif
