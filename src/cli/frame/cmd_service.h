/* A service from the global options: --api-key, --base-url, --local, --timeout, --set,
 * --verbose and --stats over the environment. Opening makes no request; a session comes
 * into being when something needs one. */
#ifndef CLI_CMD_SERVICE_H
#define CLI_CMD_SERVICE_H

#include <tinkc/service.h>

#include "cli/frame/cmd.h"

/* How patient it is when a server cannot be reached or has no time. */
typedef enum cmd_patience {
    CMD_BRIEF,  /* a question: a few tries, seconds */
    CMD_PATIENT /* work of hours: as the library does by itself, minutes */
} cmd_patience;

/* The configuration alone, for whoever wants to change it first; CMD_OK, or another exit
 * code after having said what is wrong. With --local (or the base URL "local") a server
 * is started first; it lives until cmd_service_end. The caller frees *out. */
int cmd_service_config(tinkc_config **out, const cmd_args *args, cmd_patience patience);

/* A service with that configuration; the same results. */
int cmd_service_open(tinkc_service **out, const cmd_args *args, cmd_patience patience);

/* Closes the service (NULL allowed), shows --stats and ends what --local started. For
 * every cmd_service_open and every cmd_service_config that said CMD_OK. */
void cmd_service_end(tinkc_service **service);

#endif
