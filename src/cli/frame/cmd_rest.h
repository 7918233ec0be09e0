/* Shared by the commands that ask for runs, checkpoints, sessions and the like: a service
 * around a function, lists in the three formats, and the objects of the API as JSON, with
 * the keys of the official program. */
#ifndef CLI_CMD_REST_H
#define CLI_CMD_REST_H

#include <tinkc/rest.h>

#include "cli/frame/cmd.h"
#include "cli/frame/cmd_out.h"
#include "cli/frame/cmd_service.h"

/* Runs `ask` on a service made from the global options; its exit code, or that of the
 * failure to make one. */
int cmd_rest_with(const cmd_args *args, int (*ask)(const cmd_args *, tinkc_service *));

/* "tinker://<run>/weights/<name>" or ".../sampler_weights/<name>". */
bool cmd_rest_is_path(const char *path);
int cmd_rest_bad_path(const cmd_args *args, const char *path); /* says so; CMD_USAGE */

/* The option --access-scope. */
#define CMD_REST_SCOPE                                                                   \
    {                                                                                    \
        "access-scope", 0, CMD_CHOICE, "owned|accessible",                               \
            "Also what others share (default: owned).", false                            \
    }
tinkc_scope cmd_rest_scope(const cmd_args *args);

/* --limit and --offset into a pager's options; CMD_USAGE after having said what is wrong
 * when they are negative. */
int cmd_rest_page(tinkc_pager_options *out, const cmd_args *args);

/* "Rank 8", "Yes" or "No"; with `in_words` "Yes (Rank 8)". */
const char *cmd_rest_lora(char out[CMD_WORD_BYTES], bool is_lora, int64_t rank,
                          bool in_words);

#define CMD_REST_MORE_BYTES 96

/* What the title of a list says of those that it does not show; "" for none. */
const char *cmd_rest_more(char out[CMD_REST_MORE_BYTES], int64_t left);

void cmd_rest_put_checkpoint(cmd_json *json, const tinkc_checkpoint *checkpoint);
void cmd_rest_put_checkpoint_keys(cmd_json *json, const tinkc_checkpoint *checkpoint);
void cmd_rest_put_run(cmd_json *json, const tinkc_run *run);
void cmd_rest_put_metadata(cmd_json *json, const tinkc_pair *pairs, size_t n, bool has);

/* ---- lists ----
 *
 * --format json: one object with `key` and whatever was put before it; jsonl: each item
 * at once in a line; table: all rows at the end. */
typedef struct cmd_listing {
    const cmd_args *args;
    cmd_format format;
    cmd_json json;    /* write an item there unless the format is CMD_TABLE */
    cmd_table *table; /* put a row there when it is */
    size_t n;         /* items so far */
} cmd_listing;

void cmd_listing_begin(cmd_listing *list, const cmd_args *args,
                       const char *const *columns, size_t n_columns);
void cmd_listing_key(cmd_listing *list, const char *key); /* before the first item */

/* After each item; false when nobody reads any more. */
bool cmd_listing_next(cmd_listing *list);

int cmd_listing_end(cmd_listing *list);      /* shows the rest */
void cmd_listing_abandon(cmd_listing *list); /* after a failure: shows nothing more */

#endif
