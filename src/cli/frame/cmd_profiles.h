/* The file of the profiles, for `tinkc profile`, `tinkc config` and the default server of
 * the program. Written whole or not at all, for its owner only. Thread: the main one. */
#ifndef CLI_CMD_PROFILES_H
#define CLI_CMD_PROFILES_H

#include "base/json.h"
#include "cli/frame/cmd.h"

#define CMD_PROFILE_BYTES 64 /* for a name; `tinkc profile add` takes 60 */

typedef struct cmd_profiles {
    char path[4096];
    char *text;
    size_t n;
    tk_arena arena;
    const tk_json *all; /* object: name -> options, or NULL */
    tk_str preferred;   /* name of the default; empty: none */
} cmd_profiles;

/* Reads the file; one that is not there is an empty one. Returns CMD_OK, or CMD_FAILED
 * after an error line. Needs cmd_profiles_close in any case. */
int cmd_profiles_open(cmd_profiles *out);
void cmd_profiles_close(cmd_profiles *profiles);

/* Returns the profile with this name, or NULL. */
const tk_json *cmd_profiles_find(const cmd_profiles *profiles, const char *name);

/* Returns a text of the profile, or NULL. */
const char *cmd_profiles_text(const tk_json *profile, const char *option);

typedef struct cmd_profile_option {
    tk_str name;
    const char *value;
} cmd_profile_option;

/* Writes the file without the profile `name`, then with these options under that name
 * unless `n` is 0, and with `preferred` as the default unless it is empty. */
int cmd_profiles_save(const cmd_profiles *profiles, const char *name,
                      const cmd_profile_option *options, size_t n, tk_str preferred);

/* Copies the name of the profile that the program uses to `out`: --profile,
 * TINKC_PROFILE, or the default when nothing else names a server; "" when there is none.
 * Returns CMD_OK or CMD_FAILED. */
int cmd_profiles_used(char *out, size_t size, const cmd_args *args);

#endif
