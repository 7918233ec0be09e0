/* Opens an address in the browser of whoever runs the program. Thread: the main one. */
#ifndef CLI_CMD_OPEN_H
#define CLI_CMD_OPEN_H

/* Starts xdg-open with the address, which may hold a code that logs in once, and does not
 * wait for it. When that is not possible, a line on standard error says what to do, with
 * the address up to its fragment. */
void cmd_open(const char *url);

#endif
