/* `tinkc checkpoint upload` and `copy`: weights of other places become checkpoints. The
 * official program has neither. */
#include <stdio.h>
#include <tinkc/upload.h>
#include <tinkc/weights.h>

#include "base/mem.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_json.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_resolve.h"

/* Shows the path of the new checkpoint and frees it. */
static int show(const cmd_args *args, const char *source, char **path)
{
    int result = CMD_OK;
    if (cmd_wants_json(args)) {
        cmd_json json;
        cmd_json_init(&json);
        tk_json_begin_object(&json.w);
        cmd_json_pair(&json, "source", source);
        cmd_json_pair(&json, "tinker_path", *path);
        tk_json_end_object(&json.w);
        result = cmd_json_print(&json, args);
    } else {
        cmd_print(stdout, "%s\n", *path);
    }
    tinkc_text_free(path);
    return result;
}

/* ---- upload ---- */

static int upload_for(const cmd_args *args, tinkc_service *service, const char *model)
{
    const char *directory = cmd_operand(args, 0);
    tinkc_upload_options options = TINKC_UPLOAD_OPTIONS_INIT;
    tinkc_error *error = NULL;
    char *path = NULL;
    options.base_model = model;
    options.project_id = cmd_text(args, "project-id", NULL);
    if (tinkc_upload_adapter(&path, service, directory, &options, &error) != TINKC_OK) {
        return cmd_fail_error(&error, "Cannot upload %s", directory);
    }
    return show(args, directory, &path);
}

static int upload(const cmd_args *args, tinkc_service *service)
{
    const char *typed = cmd_text(args, "model", NULL);
    char *model = NULL;
    int result =
        typed != NULL ? cmd_resolve(&model, service, args, typed, CMD_BASE) : CMD_OK;
    result = result == CMD_OK ? upload_for(args, service, model) : result;
    tk_free(model);
    return result;
}

static const cmd_option upload_options[] = {
    {"model", 'm', CMD_TEXT, "NAME", "Base model (default: as adapter_config.json says).",
     false},
    {"project-id", 0, CMD_TEXT, "ID", "Project that owns the checkpoint.", false},
    {0},
};

const cmd_spec cmd_checkpoint_upload = {
    .name = "checkpoint upload",
    .operands = "DIR",
    .min_operands = 1,
    .max_operands = 1,
    .help = "Upload an adapter that was trained elsewhere.",
    .more =
        "DIR holds adapter_config.json and adapter_model.safetensors, as PEFT writes\n"
        "them. Prints the path of the new checkpoint, which can be sampled from,\n"
        "trained on and downloaded.",
    .examples = "tinkc checkpoint upload ./adapter -m tinkc/pebble-llama-2m",
    .options = upload_options,
    .ask = upload,
};

/* ---- copy ---- */

static int copy(const cmd_args *args, tinkc_service *service)
{
    const char *source = cmd_operand(args, 0);
    tinkc_copy_options options = TINKC_COPY_OPTIONS_INIT;
    tinkc_error *error = NULL;
    char *path = NULL;
    options.project_id = cmd_text(args, "project-id", NULL);
    options.ttl_seconds = cmd_int(args, "ttl", -1);
    options.token = cmd_text(args, "token", NULL);
    if (tinkc_rest_copy_weights_wait(&path, service, source, &options, &error) !=
        TINKC_OK) {
        return cmd_fail_error(&error, "Cannot copy %s", source);
    }
    return show(args, source, &path);
}

static int check_copy(const cmd_args *args)
{
    return cmd_int(args, "ttl", 1) < 1 ? cmd_bad_usage(args, "--ttl must be 1 or more.")
                                       : CMD_OK;
}

static const cmd_option copy_options[] = {
    {"project-id", 0, CMD_TEXT, "ID",
     "Project that owns the copy (default: TINKER_PROJECT_ID).", false},
    {"ttl", 0, CMD_INT, "SECONDS", "Expire after this many seconds (never).", false},
    {"token", 0, CMD_SECRET, "KEY", "Key of another account that may read the source.",
     false},
    {0},
};

const cmd_spec cmd_checkpoint_copy = {
    .name = "checkpoint copy",
    .operands = "CHECKPOINT",
    .min_operands = 1,
    .max_operands = 1,
    .wants = CMD_CHECKPOINT,
    .help = "Copy a checkpoint into a project.",
    .more = "The copy belongs to a new run that cannot be trained. Prints its path.",
    .examples = "tinkc checkpoint copy tinker://RUN/weights/0001 --project-id archive",
    .options = copy_options,
    .check = check_copy,
    .ask = copy,
};
