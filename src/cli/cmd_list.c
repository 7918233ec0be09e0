/* The commands of the program and their groups, in the order in which the help shows
 * them. Everything else about a command is in its own file. */
#include "cli/cmd_list.h"

const cmd_spec *const cmd_list[] = {
#if TINKC_HAVE_TEXT
    &cmd_train,
    &cmd_dpo,
    &cmd_distill,
    &cmd_eval,
    &cmd_sample,
    &cmd_chat,
    &cmd_data_check,
    &cmd_data_show,
#endif
    &cmd_auth_login,
    &cmd_auth_logout,
    &cmd_auth_status,
    &cmd_profile_add,
    &cmd_profile_list,
    &cmd_profile_use,
    &cmd_profile_remove,
    &cmd_doctor,
    &cmd_config,
    &cmd_run_list,
    &cmd_run_info,
    &cmd_run_plot,
    &cmd_checkpoint_list,
    &cmd_checkpoint_info,
    &cmd_checkpoint_save,
    &cmd_checkpoint_publish,
    &cmd_checkpoint_unpublish,
    &cmd_checkpoint_set_ttl,
    &cmd_checkpoint_delete,
    &cmd_checkpoint_download,
    &cmd_checkpoint_push_hf,
    &cmd_checkpoint_upload,
    &cmd_checkpoint_copy,
    &cmd_checkpoint_search,
    &cmd_session_list,
    &cmd_session_info,
    &cmd_session_assign,
    &cmd_session_export_trace,
    &cmd_session_search,
    &cmd_billing_usage,
    &cmd_billing_storage,
    &cmd_model_list,
    &cmd_models,
    &cmd_pull,
    &cmd_weights_info,
    &cmd_sampler_info,
    &cmd_whoami,
    &cmd_audit,
    &cmd_health,
#if TINKC_HAVE_SERVER
    &cmd_serve,
    &cmd_console,
#endif
#if TINKC_HAVE_GATEWAY
    &cmd_gateway,
    &cmd_rl,
    &cmd_env,
#endif
    &cmd_launch,
#if TINKC_HAVE_TEXT
    &cmd_render,
    &cmd_tokenize,
    &cmd_detokenize,
#endif
    &cmd_help_topic,
    &cmd_completion_bash,
    &cmd_completion_zsh,
    &cmd_completion_fish,
    &cmd_completion_query,
    &cmd_version,
    NULL,
};

const cmd_group cmd_groups[] = {
#if TINKC_HAVE_TEXT
    {"data", "Check and show training data."},
#endif
    {"auth", "Store, remove and show the API key."},
    {"profile", "Store servers under names."},
    {"run", "List, show and plot training runs."},
    {"checkpoint",
     "List, search, save, share, copy, delete, download, push and upload checkpoints."},
    {"session", "List, search, show, move and trace sessions."},
    {"billing", "Show usage and storage."},
    {"model", "List models."},
    {"completion", "Print completion scripts for shells."},
    {NULL, NULL},
};
