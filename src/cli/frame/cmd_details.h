/* What `tinkc serve` says about its models and other servers do not: parameters, precision,
 * source. Thread: the main one. */
#ifndef CLI_CMD_DETAILS_H
#define CLI_CMD_DETAILS_H

#include "base/arena.h"
#include "base/json.h"
#include "cli/frame/cmd.h"

typedef struct cmd_details {
    tk_arena arena;
    const tk_json *models; /* a list of objects; NULL: the server has no such route */
} cmd_details;

/* Asks the server, once and not for long. One that does not know the question, or answers
 * with something else, has no details. The caller disposes of `out`. */
void cmd_details_read(cmd_details *out, tinkc_service *service);
void cmd_details_dispose(cmd_details *details);

/* Returns what is known of a model, or null; valid until cmd_details_dispose. */
tk_json cmd_details_find(const cmd_details *details, const char *model);

/* Returns how many parameters the model has; -1: not known. */
int64_t cmd_details_parameters(const tk_json *model);

#endif
