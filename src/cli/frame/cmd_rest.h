/* Shared by the commands over tinkc/rest.h: checks of their arguments, the options of
 * lists, and runs and checkpoints as JSON with the keys of the official program. */
#ifndef CLI_CMD_REST_H
#define CLI_CMD_REST_H

#include <tinkc/rest.h>

#include "cli/frame/cmd_json.h"
#include "cli/frame/cmd_table.h"

/* ---- arguments ---- */

/* Returns how long "tinker://", or "twinkle://", is at the start of a path; 0 when it is
 * the name of a model. */
size_t cmd_rest_scheme(const char *path);

/* Checks that every operand is the path of a checkpoint,
 * "tinker://RUN/weights/NAME", ".../sampler_weights/NAME" or "tinker://RUN/NAME", or may
 * be a name of one. For cmd_spec.check. */
int cmd_rest_check_paths(const cmd_args *args);

/* The option --access-scope, and its value. */
#define CMD_REST_SCOPE                                                                   \
    {                                                                                    \
        "access-scope", 0, CMD_CHOICE, "owned|accessible",                               \
            "Whether to include what others share (default: owned).", false              \
    }
tinkc_scope cmd_rest_scope(const cmd_args *args);

/* Checks --limit and --offset. For cmd_spec.check. */
int cmd_rest_check_page(const cmd_args *args);

/* Returns what --limit, --offset, --access-scope and --project say, as a command has
 * them. */
tinkc_pager_options cmd_rest_page(const cmd_args *args);

/* ---- tables ---- */

/* Writes "Rank 8", "Yes" or "No" into `out` and returns it; with `in_words` "Yes (Rank
 * 8)". */
const char *cmd_rest_lora(char out[CMD_WORD_BYTES], bool is_lora, int64_t rank,
                          bool in_words);

#define CMD_REST_MORE_BYTES 96

/* Writes the part of a list's title that counts the items not shown into `out` and
 * returns it; "" when all are shown. */
const char *cmd_rest_more(char out[CMD_REST_MORE_BYTES], int64_t left);

/* ---- JSON ---- */

void cmd_rest_put_checkpoint(cmd_json *json, const tinkc_checkpoint *checkpoint);
void cmd_rest_put_checkpoint_keys(cmd_json *json, const tinkc_checkpoint *checkpoint);
void cmd_rest_put_run(cmd_json *json, const tinkc_run *run);
void cmd_rest_put_metadata(cmd_json *json, const tinkc_pair *pairs, size_t n, bool has);

#endif
