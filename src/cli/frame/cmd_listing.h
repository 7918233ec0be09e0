/* Lists in the three formats of --format. json: one object in which `key` holds the
 * items, after what the command put before it; jsonl: one line per item, at once; table:
 * all rows at the end. Thread: the main one. */
#ifndef CLI_CMD_LISTING_H
#define CLI_CMD_LISTING_H

#include "cli/frame/cmd_json.h"
#include "cli/frame/cmd_table.h"

typedef struct cmd_listing {
    const cmd_args *args;
    cmd_format format;
    cmd_json json;    /* write an item here unless the format is CMD_TABLE */
    cmd_table *table; /* put a row here when the format is CMD_TABLE */
    size_t n;         /* items so far */
} cmd_listing;

void cmd_listing_begin(cmd_listing *list, const cmd_args *args,
                       const char *const *columns, size_t n_columns);

/* Opens the array of items; call it once, before the first item. */
void cmd_listing_key(cmd_listing *list, const char *key);

/* Call it after each item. Returns false when standard output is closed. */
bool cmd_listing_next(cmd_listing *list);

/* Ends the list: cmd_listing_end shows what was not shown yet, cmd_listing_abandon, after
 * a failure, discards it. */
int cmd_listing_end(cmd_listing *list);
void cmd_listing_abandon(cmd_listing *list);

#endif
