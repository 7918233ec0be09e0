/* The commands of the program, in the order in which the help shows them, and what their
 * groups are about. Everything else about a command is in its own file (cmd.h). */
#include "cli/frame/cmd_list.h"

#include <string.h>

#include "cli/frame/cmd_int.h"

const cmd_spec *const cmd_list[] = {
#if TINKC_HAVE_TEXT
    &cmd_train,
    &cmd_sample,
    &cmd_chat,
#endif
    &cmd_doctor,
    &cmd_config,
    &cmd_run_list,
    &cmd_run_info,
    &cmd_checkpoint_list,
    &cmd_checkpoint_info,
    &cmd_checkpoint_save,
    &cmd_checkpoint_publish,
    &cmd_checkpoint_unpublish,
    &cmd_checkpoint_set_ttl,
    &cmd_checkpoint_delete,
    &cmd_checkpoint_download,
    &cmd_checkpoint_push_hf,
    &cmd_session_list,
    &cmd_session_info,
    &cmd_session_assign,
    &cmd_session_export_trace,
    &cmd_billing_usage,
    &cmd_models,
    &cmd_weights_info,
    &cmd_sampler_info,
    &cmd_whoami,
    &cmd_audit,
    &cmd_health,
#if TINKC_HAVE_SERVER
    &cmd_serve,
#endif
#if TINKC_HAVE_TEXT
    &cmd_render,
    &cmd_tokenize,
    &cmd_detokenize,
#endif
    &cmd_completion_bash,
    &cmd_version,
    NULL,
};

static const struct {
    const char *name, *help;
} groups[] = {
    {"run", "Training runs: list, show."},
    {"checkpoint",
     "Checkpoints: list, show, save, share, expire, delete, download, push."},
    {"session", "Sessions: list, show, move, trace."},
    {"billing", "What was used."},
    {"completion", "Completion scripts for shells."},
    {NULL, NULL},
};

const char *cmd_list_group_help(const char *group, size_t n)
{
    for (size_t i = 0; groups[i].name != NULL; i++) {
        if (strlen(groups[i].name) == n && memcmp(groups[i].name, group, n) == 0) {
            return groups[i].help;
        }
    }
    return "";
}
