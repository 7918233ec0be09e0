/* The _init functions of the option structs, and constants that are macros in C: what
 * programs in other languages call, since they cannot read a macro. Each function writes
 * what its macro says (those of tokenizers and chats are beside their functions); a
 * struct that grows gets a new symbol version for its function, because the old one must
 * not write beyond the struct that an old program has. Thread: any. */
#include <string.h>
#include <tinkc/tinkc.h>

#define INIT(name, macro)                                                                \
    void tinkc_##name##_init(tinkc_##name *out)                                          \
    {                                                                                    \
        static const tinkc_##name initial = TINKC_##macro##_INIT;                        \
        if (out != NULL) {                                                               \
            memcpy(out, &initial, sizeof(*out));                                         \
        }                                                                                \
    }

INIT(adam_params, ADAM_PARAMS)
INIT(array, ARRAY)
INIT(checkpoint_query, CHECKPOINT_QUERY)
INIT(context, CONTEXT)
INIT(copy_options, COPY_OPTIONS)
INIT(custom_loss, CUSTOM_LOSS)
INIT(dimuon_params, DIMUON_PARAMS)
INIT(download_options, DOWNLOAD_OPTIONS)
INIT(from_state_options, FROM_STATE_OPTIONS)
INIT(fwdbwd_options, FWDBWD_OPTIONS)
INIT(list_options, LIST_OPTIONS)
INIT(lora_config, LORA_CONFIG)
INIT(optim_params, OPTIM_PARAMS)
INIT(optimizer_config, OPTIMIZER_CONFIG)
INIT(pager_options, PAGER_OPTIONS)
INIT(pull_options, PULL_OPTIONS)
INIT(push_options, PUSH_OPTIONS)
INIT(raw_request, RAW_REQUEST)
INIT(reading, READING)
INIT(regularized, REGULARIZED)
INIT(regularizer, REGULARIZER)
INIT(rl_advantage_options, RL_ADVANTAGE_OPTIONS)
INIT(rl_batch_options, RL_BATCH_OPTIONS)
INIT(rl_counts, RL_COUNTS)
INIT(rl_dpo_options, RL_DPO_OPTIONS)
INIT(rl_dpo_pairs, RL_DPO_PAIRS)
INIT(rl_dpo_result, RL_DPO_RESULT)
INIT(rl_episode, RL_EPISODE)
INIT(rl_gap, RL_GAP)
INIT(rollout, ROLLOUT)
INIT(rows, ROWS)
INIT(sample_batch, SAMPLE_BATCH)
INIT(sample_options, SAMPLE_OPTIONS)
INIT(sample_retry, SAMPLE_RETRY)
INIT(sample_target, SAMPLE_TARGET)
INIT(sampling_params, SAMPLING_PARAMS)
INIT(save_options, SAVE_OPTIONS)
INIT(session_query, SESSION_QUERY)
INIT(sparse, SPARSE)
INIT(step_options, STEP_OPTIONS)
INIT(telemetry_counts, TELEMETRY_COUNTS)
INIT(upload_options, UPLOAD_OPTIONS)
INIT(wait, WAIT)

int64_t tinkc_time_none(void)
{
    return TINKC_NO_TIME;
}
