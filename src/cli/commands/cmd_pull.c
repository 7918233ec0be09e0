/* `tinkc pull`: fetches a model from the Hugging Face Hub. tinkc_pull_model does the work:
 * what has arrived stays, and the next call goes on from there. */
#include <stdio.h>
#include <tinkc/pull.h>

#include "cli/cmd_list.h"
#include "cli/frame/cmd_json.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_progress.h"

#define RETRIES 10 /* in a row without a byte received */

static bool show_progress(const tinkc_pull_progress *progress, void *user)
{
    tinkc_pull_progress *last = user;
    char done[CMD_WORD_BYTES], all[CMD_WORD_BYTES];
    *last = *progress;
    if (progress->total >= 0) {
        cmd_progress("Pulling file %zu of %zu, %s: %s of %s (%d%%)", progress->files + 1,
                     progress->files_n, progress->file != NULL ? progress->file : "",
                     cmd_out_size(done, (int64_t)progress->done),
                     cmd_out_size(all, progress->total),
                     progress->total > 0
                         ? (int)(100.0 * (double)progress->done / (double)progress->total)
                         : 100);
    } else {
        cmd_progress("Asking the hub");
    }
    return !cmd_interrupted();
}

static int show(const cmd_args *args, const char *directory,
                const tinkc_pull_progress *last)
{
    if (!cmd_wants_json(args)) {
        cmd_print(stdout, "%s\n", directory);
        return CMD_OK;
    }
    cmd_json json;
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    cmd_json_pair(&json, "model", cmd_operand(args, 0));
    cmd_json_pair(&json, "directory", directory);
    cmd_json_key(&json, "files");
    cmd_json_count(&json, (int64_t)last->files_n);
    cmd_json_key(&json, "size_bytes");
    cmd_json_count(&json, last->total);
    tk_json_end_object(&json.w);
    return cmd_json_print(&json, args);
}

static int fail(const cmd_args *args, tinkc_error **error, bool has_some)
{
    char what[512];
    tinkc_code code = tinkc_error_code(*error);
    bool is_token = code == TINKC_E_AUTH || code == TINKC_E_PERMISSION;
    const char *hint =
        is_token ? "Set HF_TOKEN, and accept the model's licence at the hub."
        : code == TINKC_E_NOT_FOUND
            ? "Check the name and the revision; a private model needs HF_TOKEN."
        : code != TINKC_E_CANCELLED && code != TINKC_E_CONNECTION &&
                code != TINKC_E_TIMEOUT
            ? NULL
        : has_some
            ? "What has arrived is kept: repeat the command to go on."
            : "Check the network, the proxy (HTTPS_PROXY) and the hub (HF_ENDPOINT).";
    (void)snprintf(what, sizeof(what), "Cannot pull %.400s", cmd_operand(args, 0));
    return cmd_fail_elsewhere(error, what, hint);
}

static int run(const cmd_args *args)
{
    tinkc_pull_options options = TINKC_PULL_OPTIONS_INIT;
    tinkc_pull_progress last = {.total = -1};
    tinkc_error *error = NULL;
    char *directory = NULL;
    options.revision = cmd_text(args, "revision", NULL);
    options.directory = cmd_text(args, "output", NULL);
    options.max_retries = RETRIES;
    options.fn = show_progress;
    options.user = &last;
    cmd_signal_catch();
    tinkc_code code =
        tinkc_pull_model(&directory, NULL, cmd_operand(args, 0), &options, &error);
    cmd_progress_end();
    if (code != TINKC_OK) {
        return fail(args, &error, last.total >= 0);
    }
    int result = show(args, directory, &last);
    tinkc_text_free(&directory);
    return result;
}

static const cmd_option options[] = {
    {"revision", 0, CMD_TEXT, "REVISION", "Branch, tag or commit (main).", false},
    {"output", 'o', CMD_TEXT, "DIR", "Put the files into DIR (default: the cache).",
     false},
    {0},
};

const cmd_spec cmd_pull = {
    .name = "pull",
    .operands = "NAME",
    .min_operands = 1,
    .max_operands = 1,
    .help = "Fetch a model from the Hugging Face Hub.",
    .more =
        "The files go to the cache of Hugging Face's programs (HF_HUB_CACHE, HF_HOME),\n"
        "where 'tinkc serve NAME' and '-m NAME --local' find them. An interrupted pull is\n"
        "resumed by the next one. Checksums are verified. Prints the directory. The token\n"
        "comes from HF_TOKEN or 'hf auth login'; HF_ENDPOINT sets another hub.",
    .examples = "tinkc pull Qwen/Qwen3-0.6B\n"
                "tinkc serve Qwen/Qwen3-0.6B",
    .options = options,
    .run = run,
};
