/* Keys from files, so that they do not appear in the list of processes. Thread: the main
 * one. */
#ifndef CLI_CMD_KEY_H
#define CLI_CMD_KEY_H

/* Longer keys are refused. */
#define CMD_KEY_MAX_BYTES 4096

/* Reads the key that the file holds, without the blanks around it. The caller frees *out
 * with cmd_key_free. Returns CMD_OK, or CMD_FAILED after a message: the file cannot be read
 * or holds nothing. */
int cmd_key_read(char **out, const char *path);

/* Wipes the key first; accepts NULL. */
void cmd_key_free(char *key);

#endif
