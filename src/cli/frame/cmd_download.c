/* Options of a download: how often it resumes, and a callback that shows progress and
 * notices Ctrl-C. */
#include "cli/frame/cmd_download.h"

#include <string.h>

#include "cli/frame/cmd_out.h"
#include "cli/frame/cmd_progress.h"

#define RETRIES 10 /* in a row without a byte received */

static bool show_progress(const tinkc_progress *progress, void *user)
{
    char done[CMD_WORD_BYTES], all[CMD_WORD_BYTES];
    (void)user;
    if (progress->total >= 0) {
        cmd_progress("Downloading: %s of %s (%d%%)",
                     cmd_out_size(done, (int64_t)progress->received),
                     cmd_out_size(all, progress->total),
                     progress->total > 0 ? (int)(100.0 * (double)progress->received /
                                                 (double)progress->total)
                                         : 100);
    } else {
        cmd_progress("Downloading: %s", cmd_out_size(done, (int64_t)progress->received));
    }
    return !cmd_interrupted();
}

tinkc_download_options cmd_download_options(const cmd_args *args)
{
    tinkc_download_options options = TINKC_DOWNLOAD_OPTIONS_INIT;
    options.fn = show_progress;
    options.max_retries = RETRIES;
    for (size_t i = 0; i < cmd_count(args, "set"); i++) {
        if (strncmp(cmd_at(args, "set", i), "max_retries=", 12) == 0) {
            options.max_retries = -1;
        }
    }
    return options;
}

const char *cmd_download_failed(tinkc_code code)
{
    switch ((int)code) {
    case TINKC_E_PARSE:
    case TINKC_E_DECODE:
    case TINKC_E_LIMIT:
        return "Failed to extract archive";
    case TINKC_E_IO:
        return "Failed to save checkpoint";
    default:
        return "Failed to download checkpoint";
    }
}
