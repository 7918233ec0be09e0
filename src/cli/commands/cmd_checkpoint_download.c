/* `tinkc checkpoint download`: the files of a checkpoint in a directory named after it.
 * tinkc_download_checkpoint does the work: the directory is complete or not there. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_download.h"
#include "cli/frame/cmd_progress.h"
#include "cli/frame/cmd_rest.h"

#define DIR_BYTES 4096

/* Returns "DIR/run_weights_name" for "tinker://run/weights/name", and "DIR/name" for a
 * checkpoint that was found by its name; the caller frees it with tk_free. */
static char *target_of(const cmd_args *args)
{
    char here[DIR_BYTES];
    const char *dir = cmd_text(args, "output", NULL);
    const char *path = cmd_operand(args, 0);
    bool is_typed = strcmp(path, cmd_typed(args, 0)) == 0;
    const char *from = is_typed ? path + cmd_rest_scheme(path) : strrchr(path, '/') + 1;
    char *name = tk_strdup(from);
    if (dir == NULL) {
        dir = getcwd(here, sizeof(here)) != NULL ? here : ".";
    }
    for (char *p = name; p != NULL && *p != '\0'; p++) {
        *p = *p == '/' ? '_' : *p;
    }
    char *target = name != NULL ? tk_file_join(dir, name) : NULL;
    tk_free(name);
    return target;
}

static int show(const cmd_args *args, const char *target, const tinkc_progress *result)
{
    char word[CMD_WORD_BYTES];
    const char *path = cmd_operand(args, 0);
    if (cmd_wants_json(args)) {
        cmd_json json;
        cmd_json_init(&json);
        tk_json_begin_object(&json.w);
        cmd_json_pair(&json, "checkpoint_path", path);
        cmd_json_pair(&json, "destination", target);
        cmd_json_key(&json, "file_size_bytes");
        tk_json_put_u64(&json.w, result->received);
        tk_json_end_object(&json.w);
        return cmd_json_print(&json, args);
    }
    cmd_table *table = cmd_table_properties();
    cmd_table_title(table, "Checkpoint Download: %s", path);
    cmd_table_row(table, "Checkpoint Path", path);
    cmd_table_row(table, "Archive Size", cmd_out_size(word, (int64_t)result->received));
    cmd_table_row(table, "Extracted to", target);
    return cmd_table_print(&table, args);
}

static int download_to(const cmd_args *args, tinkc_service *service, const char *target)
{
    struct stat there;
    tinkc_progress result = {0};
    tinkc_error *error = NULL;
    tinkc_download_options options = cmd_download_options(args);
    options.overwrite = cmd_has(args, "force");
    if (!options.overwrite && lstat(target, &there) == 0) {
        return cmd_fail_hint("Use --force to overwrite or choose a different --output.",
                             "Target directory already exists: %s", target);
    }
    cmd_signal_catch();
    tinkc_code code = tinkc_download_checkpoint(&result, service, cmd_operand(args, 0),
                                                target, &options, &error);
    cmd_progress_end();
    return code == TINKC_OK ? show(args, target, &result)
                            : cmd_fail_error(&error, "%s", cmd_download_failed(code));
}

static int download(const cmd_args *args, tinkc_service *service)
{
    char *target = target_of(args);
    int result =
        target != NULL ? download_to(args, service, target) : cmd_fail("out of memory");
    tk_free(target);
    return result;
}

static const cmd_option options[] = {
    {"output", 'o', CMD_TEXT, "DIR",
     "Parent of the new directory (default: the current one).", false},
    {"force", 0, CMD_FLAG, NULL, "Replace the directory if it exists.", false},
    {0},
};

const cmd_spec cmd_checkpoint_download = {
    .name = "checkpoint download",
    .operands = "CHECKPOINT",
    .min_operands = 1,
    .max_operands = 1,
    .wants = CMD_CHECKPOINT,
    .help = "Download a checkpoint and unpack it.",
    .more =
        "The files go to a new directory named after the checkpoint. An interrupted\n"
        "transfer is resumed. The directory appears only when it is complete. Links,\n"
        "devices and names that lead out of the directory are refused.",
    .examples = "tinkc checkpoint download tinker://run-123/weights/final -o models",
    .options = options,
    .check = cmd_rest_check_paths,
    .ask = download,
};
