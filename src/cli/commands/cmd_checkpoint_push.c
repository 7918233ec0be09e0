/* `tinkc checkpoint push-hf`: uploads a checkpoint to the Hugging Face Hub.
 * tinkc_push_checkpoint does the work; the command turns the stage at which it failed
 * into an error line and a hint. */
#include <stdio.h>
#include <string.h>
#include <tinkc/push.h>

#include "base/mem.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_download.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_progress.h"
#include "cli/frame/cmd_rest.h"

/* ---- progress ---- */

static bool show_progress(const tinkc_push_progress *progress, void *user)
{
    char done[CMD_WORD_BYTES], all[CMD_WORD_BYTES];
    tinkc_push_stage *stage = user;
    *stage = progress->stage;
    (void)cmd_out_size(done, (int64_t)progress->done);
    (void)cmd_out_size(all, progress->total);
    switch (progress->stage) {
    case TINKC_PUSH_LOGIN:
    case TINKC_PUSH_CHECK:
    case TINKC_PUSH_REPO:
        break;
    case TINKC_PUSH_DOWNLOAD:
        cmd_progress("Downloading: %s%s%s", done, progress->total >= 0 ? " of " : "",
                     progress->total >= 0 ? all : "");
        break;
    case TINKC_PUSH_UPLOAD:
        cmd_progress("Uploading: %s%s%s", done, progress->total >= 0 ? " of " : "",
                     progress->total >= 0 ? all : "");
        break;
    case TINKC_PUSH_COMMIT:
        cmd_progress("Committing");
        break;
    }
    return !cmd_interrupted();
}

/* ---- failures ---- */

static const char login_hint[] =
    "Run 'hf auth login', or set HF_TOKEN to a token that may write.";

static const char *hub_hint(tinkc_code code)
{
    switch ((int)code) {
    case TINKC_E_AUTH:
    case TINKC_E_PERMISSION:
        return "The token must be allowed to write to the repository; HF_TOKEN sets another "
               "token.";
    case TINKC_E_CONFLICT:
        return "Choose another --repo or --revision.";
    case TINKC_E_NOT_FOUND:
        return "Check --repo and --revision.";
    case TINKC_E_CONNECTION:
    case TINKC_E_TIMEOUT:
    case TINKC_E_SERVER:
    case TINKC_E_RATE_LIMIT:
        return "Try again later; files that the hub already has are not sent again.";
    default:
        return NULL;
    }
}

static int fail_login(tinkc_error **error)
{
    tinkc_code code = tinkc_error_code(*error);
    bool is_unknown = code == TINKC_E_AUTH || code == TINKC_E_PERMISSION;
    return cmd_fail_elsewhere(
        error, is_unknown ? "Not logged in" : "Failed to log in to the hub",
        is_unknown ? login_hint : "Check the network and HF_ENDPOINT.");
}

static int fail(const cmd_args *args, tinkc_push_stage stage, tinkc_error **error)
{
    tinkc_code code = tinkc_error_code(*error);
    switch (stage) {
    case TINKC_PUSH_LOGIN:
        return fail_login(error);
    case TINKC_PUSH_DOWNLOAD:
        return cmd_fail_error(error, "%s", cmd_download_failed(code));
    case TINKC_PUSH_CHECK:
        return cmd_fail_elsewhere(error, "Failed to prepare the checkpoint", NULL);
    case TINKC_PUSH_REPO:
    case TINKC_PUSH_UPLOAD:
    case TINKC_PUSH_COMMIT:
        return cmd_fail_elsewhere(error, "Failed to push to the hub", hub_hint(code));
    }
    if (code == TINKC_E_INVALID) { /* before the first stage */
        int result = cmd_bad_usage(args, "%s", tinkc_error_message(*error));
        tinkc_error_free(error);
        return result;
    }
    return cmd_fail_elsewhere(error, "Failed to push to the hub", NULL);
}

/* ---- the result ---- */

static int show(const cmd_args *args, const tinkc_pushed *pushed)
{
    const char *path = cmd_operand(args, 0);
    const char *revision = cmd_text(args, "revision", NULL);
    bool is_public = cmd_has(args, "public");
    if (cmd_wants_json(args)) {
        cmd_json json;
        cmd_json_init(&json);
        tk_json_begin_object(&json.w);
        cmd_json_pair(&json, "checkpoint_path", path);
        cmd_json_pair(&json, "repo_id", pushed->repo);
        if (revision != NULL) {
            cmd_json_pair(&json, "revision", revision);
        }
        cmd_json_key(&json, "public");
        tk_json_put_bool(&json.w, is_public);
        tk_json_end_object(&json.w);
        return cmd_json_print(&json, args);
    }
    cmd_table *table = cmd_table_properties();
    cmd_table_title(table, "Checkpoint Hub Upload: %s", path);
    cmd_table_row(table, "Checkpoint Path", path);
    cmd_table_row(table, "Repo ID", pushed->repo);
    if (revision != NULL) {
        cmd_table_row(table, "Revision", revision);
    }
    cmd_table_row(table, "Public", is_public ? "Yes" : "No");
    return cmd_table_print(&table, args);
}

/* Standard output has what the official program prints; the rest goes to standard
 * error. */
static void show_place(const tinkc_pushed *pushed)
{
    if (pushed->pr_url != NULL) {
        cmd_print(stderr, "Pull request: %s\n", pushed->pr_url);
    } else if (pushed->commit_url == NULL) {
        cmd_print(stderr,
                  "The repository already has these files; nothing was changed.\n");
    }
}

/* ---- the command ---- */

/* Returns all values of an option that repeats; NULL when memory ran out. */
static const char **list_of(const cmd_args *args, const char *option, size_t *n)
{
    *n = cmd_count(args, option);
    const char **list = tk_array(*n + 1, sizeof(*list));
    for (size_t i = 0; list != NULL && i < *n; i++) {
        list[i] = cmd_at(args, option, i);
    }
    return list;
}

static int push_with(const cmd_args *args, tinkc_service *service,
                     tinkc_push_options *options)
{
    tinkc_pushed *pushed = NULL;
    tinkc_error *error = NULL;
    tinkc_push_stage stage = 0;
    options->repo = cmd_text(args, "repo", NULL);
    options->is_public = cmd_has(args, "public");
    options->revision = cmd_text(args, "revision", NULL);
    options->commit_message = cmd_text(args, "commit-message", NULL);
    options->create_pr = cmd_has(args, "create-pr");
    options->no_model_card = cmd_has(args, "no-model-card");
    options->max_retries = cmd_download_options(args).max_retries;
    options->fn = show_progress;
    options->user = &stage;
    cmd_signal_catch();
    tinkc_code code =
        tinkc_push_checkpoint(&pushed, service, cmd_operand(args, 0), options, &error);
    cmd_progress_end();
    if (code != TINKC_OK) {
        return fail(args, stage, &error);
    }
    show_place(pushed);
    int result = show(args, pushed);
    tinkc_pushed_free(&pushed);
    return result;
}

static int push(const cmd_args *args, tinkc_service *service)
{
    tinkc_push_options options = TINKC_PUSH_OPTIONS_INIT;
    const char **allow = list_of(args, "allow-pattern", &options.allow_n);
    const char **ignore = list_of(args, "ignore-pattern", &options.ignore_n);
    options.allow = allow;
    options.ignore = ignore;
    int result = allow != NULL && ignore != NULL ? push_with(args, service, &options)
                                                 : cmd_fail("out of memory");
    tk_free(allow);
    tk_free(ignore);
    return result;
}

static const cmd_option options[] = {
    {"repo", 'r', CMD_TEXT, "REPO",
     "NAME or OWNER/NAME (default: from the base model and the run).", false},
    {"public", 0, CMD_FLAG, NULL, "Create a public repository (default: private).",
     false},
    {"revision", 0, CMD_TEXT, "BRANCH", "Branch to upload to; created if it is missing.",
     false},
    {"commit-message", 0, CMD_TEXT, "TEXT", "Message of the commit.", false},
    {"create-pr", 0, CMD_FLAG, NULL,
     "Open a pull request instead of committing to the branch.", false},
    {"allow-pattern", 0, CMD_TEXT, "PATTERN", "Upload only files that match.", true},
    {"ignore-pattern", 0, CMD_TEXT, "PATTERN", "Do not upload files that match.", true},
    {"no-model-card", 0, CMD_FLAG, NULL, "Do not create a README.md.", false},
    {0},
};

const cmd_spec cmd_checkpoint_push_hf = {
    .name = "checkpoint push-hf",
    .operands = "CHECKPOINT",
    .min_operands = 1,
    .max_operands = 1,
    .wants = CMD_CHECKPOINT,
    .help = "Upload a checkpoint to the Hugging Face Hub as a PEFT adapter.",
    .more =
        "The token comes from HF_TOKEN, HUGGING_FACE_HUB_TOKEN or 'hf auth login'.\n"
        "HF_ENDPOINT sets another hub, and TMPDIR the place of temporary files. A\n"
        "repository whose README names another checkpoint is not touched. Without --repo\n"
        "the branch is named after the checkpoint. In patterns * also matches \"/\".",
    .examples = "tinkc checkpoint push-hf tinker://run-123/sampler_weights/final\n"
                "tinkc checkpoint push-hf -r me/my-adapter --public "
                "tinker://run-123/sampler_weights/final",
    .options = options,
    .check = cmd_rest_check_paths,
    .ask = push,
};
