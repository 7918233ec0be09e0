/* Where the console of a server shows a run. Thread: the main one. */
#ifndef CLI_CMD_PAGE_H
#define CLI_CMD_PAGE_H

#include "base/buf.h"
#include "cli/frame/cmd.h"

/* Prints the address of a run on standard error when the service's server records runs for its
 * console, and with --open also opens it in a browser: a server that wants a key is asked for a code that
 * logs in once. Whatever goes wrong is no failure of the command; with --open a line says it. */
void cmd_page_show(const cmd_args *args, tinkc_service *service, const char *run);

/* Appends a part of the path of an address. */
void cmd_page_encode(tk_buf *out, const char *text);

#endif
