/* The tables of commands and groups. Each command is defined in its own file, which
 * includes this one to have its declaration checked. */
#ifndef CLI_CMD_LIST_H
#define CLI_CMD_LIST_H

#include "cli/frame/cmd.h"

extern const cmd_spec cmd_eval, cmd_distill, cmd_dpo, cmd_train, cmd_sample, cmd_chat,
    cmd_doctor, cmd_config, cmd_checkpoint_save;
extern const cmd_spec cmd_data_check, cmd_data_show;
extern const cmd_spec cmd_env, cmd_console, cmd_gateway, cmd_launch, cmd_rl;
extern const cmd_spec cmd_serve, cmd_render, cmd_tokenize, cmd_detokenize, cmd_version;
extern const cmd_spec cmd_auth_login, cmd_auth_logout, cmd_auth_status;
extern const cmd_spec cmd_profile_add, cmd_profile_list, cmd_profile_use,
    cmd_profile_remove;
extern const cmd_spec cmd_run_list, cmd_run_info, cmd_run_plot;
extern const cmd_spec cmd_checkpoint_list, cmd_checkpoint_info, cmd_checkpoint_publish,
    cmd_checkpoint_unpublish, cmd_checkpoint_set_ttl, cmd_checkpoint_delete,
    cmd_checkpoint_download, cmd_checkpoint_push_hf, cmd_checkpoint_upload,
    cmd_checkpoint_copy, cmd_checkpoint_search;
extern const cmd_spec cmd_session_list, cmd_session_info, cmd_session_assign,
    cmd_session_export_trace, cmd_session_search;
extern const cmd_spec cmd_billing_usage, cmd_billing_storage, cmd_model_list;
extern const cmd_spec cmd_whoami, cmd_models, cmd_pull, cmd_audit, cmd_health,
    cmd_weights_info, cmd_sampler_info;
extern const cmd_spec cmd_completion_bash, cmd_completion_zsh, cmd_completion_fish,
    cmd_completion_query, cmd_help_topic;

/* In the order in which the help shows them; they end in NULL and in a NULL name. */
extern const cmd_spec *const cmd_list[];
extern const cmd_group cmd_groups[];

#endif
