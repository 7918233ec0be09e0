/* Options: the structs of the C API with their defaults set. They have the members of the C
 * struct, which its header explains, and are passed to C functions as they are. Texts and
 * arrays in them are borrowed until the call that takes them returns, except what a member
 * function or a constructor copies. Thread: any. */
#ifndef TINKC_CPP_OPTIONS_HPP
#define TINKC_CPP_OPTIONS_HPP

#include <tinkc/cpp/base.hpp>

namespace tinkc
{

/* A struct that starts from its TINKC_..._INIT, as every other one below. */
#define TINKC_CPP_OPTIONS(name, init)                                                    \
    struct name : tinkc_##name {                                                         \
        name() noexcept : tinkc_##name init {}                                           \
    }

TINKC_CPP_OPTIONS(sample_target, TINKC_SAMPLE_TARGET_INIT);
TINKC_CPP_OPTIONS(sample_retry, TINKC_SAMPLE_RETRY_INIT);
TINKC_CPP_OPTIONS(optimizer_config, TINKC_OPTIMIZER_CONFIG_INIT);
TINKC_CPP_OPTIONS(dimuon_params, TINKC_DIMUON_PARAMS_INIT);
TINKC_CPP_OPTIONS(optim_params, TINKC_OPTIM_PARAMS_INIT);
TINKC_CPP_OPTIONS(from_state_options, TINKC_FROM_STATE_OPTIONS_INIT);
TINKC_CPP_OPTIONS(custom_loss, TINKC_CUSTOM_LOSS_INIT);
TINKC_CPP_OPTIONS(fwdbwd_options, TINKC_FWDBWD_OPTIONS_INIT);
TINKC_CPP_OPTIONS(save_options, TINKC_SAVE_OPTIONS_INIT);
TINKC_CPP_OPTIONS(sample_batch, TINKC_SAMPLE_BATCH_INIT);
TINKC_CPP_OPTIONS(list_options, TINKC_LIST_OPTIONS_INIT);
TINKC_CPP_OPTIONS(pager_options, TINKC_PAGER_OPTIONS_INIT);
TINKC_CPP_OPTIONS(session_query, TINKC_SESSION_QUERY_INIT);
TINKC_CPP_OPTIONS(checkpoint_query, TINKC_CHECKPOINT_QUERY_INIT);
TINKC_CPP_OPTIONS(copy_options, TINKC_COPY_OPTIONS_INIT);
TINKC_CPP_OPTIONS(upload_options, TINKC_UPLOAD_OPTIONS_INIT);
TINKC_CPP_OPTIONS(raw_request, TINKC_RAW_REQUEST_INIT);
TINKC_CPP_OPTIONS(array, TINKC_ARRAY_INIT);
TINKC_CPP_OPTIONS(sparse, TINKC_SPARSE_INIT);
TINKC_CPP_OPTIONS(rows, TINKC_ROWS_INIT);
TINKC_CPP_OPTIONS(chat_options, TINKC_CHAT_OPTIONS_INIT);
TINKC_CPP_OPTIONS(encode_options, TINKC_ENCODE_OPTIONS_INIT);
TINKC_CPP_OPTIONS(context, TINKC_CONTEXT_INIT);
TINKC_CPP_OPTIONS(regularizer, TINKC_REGULARIZER_INIT);
TINKC_CPP_OPTIONS(regularized, TINKC_REGULARIZED_INIT);
TINKC_CPP_OPTIONS(rl_advantage_options, TINKC_RL_ADVANTAGE_OPTIONS_INIT);
TINKC_CPP_OPTIONS(rl_batch_options, TINKC_RL_BATCH_OPTIONS_INIT);
TINKC_CPP_OPTIONS(rl_episode, TINKC_RL_EPISODE_INIT);
TINKC_CPP_OPTIONS(rl_counts, TINKC_RL_COUNTS_INIT);
TINKC_CPP_OPTIONS(rl_gap, TINKC_RL_GAP_INIT);
TINKC_CPP_OPTIONS(rl_dpo_pairs, TINKC_RL_DPO_PAIRS_INIT);
TINKC_CPP_OPTIONS(rl_dpo_result, TINKC_RL_DPO_RESULT_INIT);
TINKC_CPP_OPTIONS(rl_dpo_options, TINKC_RL_DPO_OPTIONS_INIT);
TINKC_CPP_OPTIONS(download_options, TINKC_DOWNLOAD_OPTIONS_INIT);
TINKC_CPP_OPTIONS(push_options, TINKC_PUSH_OPTIONS_INIT);
TINKC_CPP_OPTIONS(pull_options, TINKC_PULL_OPTIONS_INIT);
TINKC_CPP_OPTIONS(tokenizer_options, TINKC_TOKENIZER_OPTIONS_INIT);
TINKC_CPP_OPTIONS(train_options, TINKC_TRAIN_OPTIONS_INIT);

#undef TINKC_CPP_OPTIONS

/* A line of metrics; NaN where nothing is known. */
struct rl_report : tinkc_rl_report {
    rl_report() noexcept { tinkc_rl_report_init(this); }
};

/* Parameters of a sample. */
struct sampling_params : tinkc_sampling_params {
    sampling_params() noexcept : tinkc_sampling_params TINKC_SAMPLING_PARAMS_INIT {}
    sampling_params(const sampling_params &from)
        : tinkc_sampling_params(from), stop_(from.stop_)
    {
        stop_tokens = from.owns_stop() ? stop_.data() : from.stop_tokens;
    }
    sampling_params &operator=(const sampling_params &from)
    {
        if (this != &from) {
            stop_ = from.stop_;
            tinkc_sampling_params::operator=(from);
            stop_tokens = from.owns_stop() ? stop_.data() : from.stop_tokens;
        }
        return *this;
    }

    /* Sets the seed. */
    sampling_params &with_seed(std::uint64_t value) noexcept
    {
        has_seed = true;
        seed = value;
        return *this;
    }
    /* Sets the tokens at which a sample stops, which are copied. */
    sampling_params &with_stop(span<const std::int32_t> tokens)
    {
        stop_ = std::vector<std::int32_t>(tokens.begin(), tokens.end());
        stop_tokens = stop_.data();
        stop_tokens_n = stop_.size();
        return *this;
    }

  private:
    bool owns_stop() const noexcept
    {
        return !stop_.empty() && stop_tokens == stop_.data();
    }
    std::vector<std::int32_t> stop_; /* unless the caller set stop_tokens itself */
};

/* Options of a sample. */
struct sample_options : tinkc_sample_options {
    sample_options() noexcept : tinkc_sample_options TINKC_SAMPLE_OPTIONS_INIT {}
    /* So many continuations of the prompt. */
    explicit sample_options(std::int64_t n) noexcept : sample_options()
    {
        num_samples = n;
    }
};

/* Which LoRA model to create. */
struct lora_config : tinkc_lora_config {
    lora_config() noexcept : tinkc_lora_config TINKC_LORA_CONFIG_INIT {}

    /* Sets the seed of the initial weights. */
    lora_config &with_seed(std::uint64_t value) noexcept
    {
        has_seed = true;
        seed = value;
        return *this;
    }
};

/* One step of AdamW. */
struct adam_params : tinkc_adam_params {
    adam_params() noexcept : tinkc_adam_params TINKC_ADAM_PARAMS_INIT {}
    explicit adam_params(double rate) noexcept : adam_params() { learning_rate = rate; }
};

/* A whole step. */
struct step_options : tinkc_step_options {
    step_options() noexcept : tinkc_step_options TINKC_STEP_OPTIONS_INIT {}
    /* With a copy of the parameters. */
    step_options(const adam_params &params) noexcept : step_options()
    {
        adam_ = params;
        adam = &adam_;
    }
    step_options(const step_options &from) noexcept
        : tinkc_step_options(from), adam_(from.adam_)
    {
        adam = from.adam == &from.adam_ ? &adam_ : from.adam;
    }
    step_options &operator=(const step_options &from) noexcept
    {
        const bool owns = from.adam == &from.adam_;
        tinkc_step_options::operator=(from);
        adam_ = from.adam_;
        adam = owns ? &adam_ : adam;
        return *this;
    }

  private:
    adam_params adam_; /* unless the caller set adam itself */
};

/* Checks parameters as the functions that take them do; a failure names the field. */
template <template <class> class R = throwing>
R<void> check(const tinkc_sampling_params &params)
{
    return detail::check<R>(
        [&](tinkc_error **err) { return tinkc_sampling_params_check(&params, err); });
}
template <template <class> class R = throwing>
R<void> check(const tinkc_sample_options &options)
{
    return detail::check<R>(
        [&](tinkc_error **err) { return tinkc_sample_options_check(&options, err); });
}
template <template <class> class R = throwing>
R<void> check(const tinkc_sample_target &target)
{
    return detail::check<R>(
        [&](tinkc_error **err) { return tinkc_sample_target_check(&target, err); });
}
template <template <class> class R = throwing>
R<void> check(const tinkc_sample_retry &retry)
{
    return detail::check<R>(
        [&](tinkc_error **err) { return tinkc_sample_retry_check(&retry, err); });
}
template <template <class> class R = throwing>
R<void> check(const tinkc_adam_params &params)
{
    return detail::check<R>(
        [&](tinkc_error **err) { return tinkc_adam_params_check(&params, err); });
}
template <template <class> class R = throwing>
R<void> check(const tinkc_optimizer_config &config)
{
    return detail::check<R>(
        [&](tinkc_error **err) { return tinkc_optimizer_config_check(&config, err); });
}
template <template <class> class R = throwing>
R<void> check(const tinkc_optim_params &params)
{
    return detail::check<R>(
        [&](tinkc_error **err) { return tinkc_optim_params_check(&params, err); });
}
template <template <class> class R = throwing>
R<void> check(const tinkc_lora_config &config)
{
    return detail::check<R>(
        [&](tinkc_error **err) { return tinkc_lora_config_check(&config, err); });
}
template <template <class> class R = throwing>
R<void> check(const tinkc_regularizer &regularizer)
{
    return detail::check<R>(
        [&](tinkc_error **err) { return tinkc_regularizer_check(&regularizer, err); });
}

/* Returns the loss with this name: tinkc_loss_parse. */
template <template <class> class R = throwing>
R<tinkc_loss> parse_loss(cstring name)
{
    tinkc_loss loss = TINKC_LOSS_CROSS_ENTROPY;
    tinkc_error *err = nullptr;
    tinkc_code code = tinkc_loss_parse(&loss, name.c_str(), &err);
    return detail::finish<R>(code, err, [&] { return loss; });
}

/* Returns the name of a value; NULL, or "?", where it is not known. Static storage. */
inline const char *name(tinkc_loss loss) noexcept
{
    return tinkc_loss_name(loss);
}
inline const char *name(tinkc_optimizer optimizer) noexcept
{
    return tinkc_optimizer_name(optimizer);
}
inline const char *name(tinkc_regularizer_kind kind) noexcept
{
    return tinkc_regularizer_kind_name(kind);
}
inline const char *name(tinkc_checkpoint_type type) noexcept
{
    return tinkc_checkpoint_type_name(type);
}
inline const char *name(tinkc_billing_kind kind) noexcept
{
    return tinkc_billing_kind_name(kind);
}
inline const char *name(tinkc_log_level level) noexcept
{
    return tinkc_log_level_name(level);
}
inline const char *name(tinkc_token_kind kind) noexcept
{
    return tinkc_token_kind_name(kind);
}

} // namespace tinkc

#endif
