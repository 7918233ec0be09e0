/* Results of training and sampling: <tinkc/training.h>, <tinkc/sampling.h>. Arrays and
 * texts that they return are views, borrowed until the result is freed. Thread: one at a
 * time per object. */
#ifndef TINKC_CPP_RESULTS_HPP
#define TINKC_CPP_RESULTS_HPP

#include <tinkc/cpp/future.hpp>
#include <tinkc/cpp/text.hpp>
#include <tinkc/cpp/values.hpp>

namespace tinkc
{

namespace detail
{

/* What metrics offer: names with numbers. */
template <class D>
class metrics_members
{
  public:
    std::size_t size() const noexcept { return tinkc_metrics_count(self()); }
    /* Returns one metric; its name is NULL past the end. */
    std::pair<const char *, double> operator[](std::size_t i) const noexcept
    {
        std::pair<const char *, double> out{nullptr, 0};
        (void)tinkc_metrics_at(&out.first, &out.second, self(), i);
        return out;
    }
    /* Returns the value of the metric with this whole name, e.g. "loss:sum". */
    std::optional<double> find(cstring name) const noexcept
    {
        double value = 0;
        return tinkc_metrics_get(&value, self(), name.c_str(), nullptr) == TINKC_OK
                   ? std::optional<double>(value)
                   : std::nullopt;
    }
    /* Returns the loss as the server sent it, and the name of that metric (NULL: none):
     * tinkc_metrics_loss. */
    template <template <class> class R = throwing>
    R<double> loss() const
    {
        double value = 0;
        tinkc_error *err = nullptr;
        tinkc_code code = tinkc_metrics_loss(&value, self(), &err);
        return detail::finish<R>(code, err, [&] { return value; });
    }
    const char *loss_name() const noexcept { return tinkc_metrics_loss_name(self()); }

  private:
    const tinkc_metrics *self() const noexcept
    {
        return static_cast<const D *>(this)->c_ptr();
    }
};

} // namespace detail

/* Metrics that belong to something else, which must outlive the view. */
class metrics_view : public detail::metrics_members<metrics_view>
{
  public:
    explicit metrics_view(const tinkc_metrics *c) noexcept : c_(c) {}
    const tinkc_metrics *c_ptr() const noexcept { return c_; }

  private:
    const tinkc_metrics *c_;
};

/* Metrics of an optimizer step. */
class metrics : public detail::handle<tinkc_metrics, tinkc_metrics_free>,
                public detail::metrics_members<metrics>
{
  public:
    using handle::handle;
};

namespace detail
{

/* What results of forward and forward_backward offer. */
template <class D>
class fwdbwd_members
{
  public:
    /* Returns the number of datums. */
    std::size_t size() const noexcept { return tinkc_fwdbwd_count(self()); }
    /* Returns the server's name for the kind of outputs. */
    const char *output_type() const noexcept { return tinkc_fwdbwd_output_type(self()); }
    /* Returns the loss: that of the metrics, or else the computed one. */
    template <template <class> class R = throwing>
    R<double> loss() const
    {
        double value = 0;
        tinkc_error *err = nullptr;
        tinkc_code code = tinkc_fwdbwd_loss(&value, self(), &err);
        return detail::finish<R>(code, err, [&] { return value; });
    }
    /* Computes the loss of the batch from its log-probabilities, with the settings that it
     * was sent with: tinkc_fwdbwd_computed_loss_with. */
    template <template <class> class R = throwing>
    R<double> computed_loss(span<const datum> data, cstring loss,
                            const fwdbwd_options &options = {}) const
    {
        double value = 0;
        tinkc_error *err = nullptr;
        auto all = detail::pointers(data);
        tinkc_code code = tinkc_fwdbwd_computed_loss_with(
            &value, self(), all.data(), all.size(), loss.c_str(), &options, &err);
        return detail::finish<R>(code, err, [&] { return value; });
    }
    metrics_view metrics() const noexcept
    {
        return metrics_view(tinkc_fwdbwd_metrics(self()));
    }
    /* Returns a named tensor of one datum, without a copy: tinkc_fwdbwd_f32, _i64. */
    template <template <class> class R = throwing>
    R<span<const float>> f32(std::size_t datum, cstring name) const
    {
        return get<R>(tinkc_fwdbwd_f32, datum, name);
    }
    template <template <class> class R = throwing>
    R<span<const std::int64_t>> i64(std::size_t datum, cstring name) const
    {
        return get<R>(tinkc_fwdbwd_i64, datum, name);
    }
    /* Returns the shape of a named tensor of one datum. */
    template <template <class> class R = throwing>
    R<span<const std::int64_t>> shape(std::size_t datum, cstring name) const
    {
        return get<R>(tinkc_fwdbwd_shape, datum, name);
    }
    /* Returns the log-probabilities of one datum. */
    template <template <class> class R = throwing>
    R<span<const float>> logprobs(std::size_t datum) const
    {
        return f32<R>(datum, "logprobs");
    }
    /* Returns the name of a tensor of a datum; NULL past the end. */
    const char *tensor_name(std::size_t datum, std::size_t index) const noexcept
    {
        return tinkc_fwdbwd_name(self(), datum, index);
    }

  private:
    template <template <class> class R, class T>
    R<span<const T>> get(tinkc_code (*read)(const T **, std::size_t *,
                                            const tinkc_fwdbwd *, std::size_t,
                                            const char *, tinkc_error **),
                         std::size_t datum, cstring name) const
    {
        const T *values = nullptr;
        std::size_t n = 0;
        tinkc_error *err = nullptr;
        tinkc_code code = read(&values, &n, self(), datum, name.c_str(), &err);
        return detail::finish<R>(code, err, [&] { return span<const T>(values, n); });
    }
    const tinkc_fwdbwd *self() const noexcept
    {
        return static_cast<const D *>(this)->c_ptr();
    }
};

} // namespace detail

/* The part of a step that is its forward_backward. */
class fwdbwd_view : public detail::fwdbwd_members<fwdbwd_view>
{
  public:
    explicit fwdbwd_view(const tinkc_fwdbwd *c) noexcept : c_(c) {}
    const tinkc_fwdbwd *c_ptr() const noexcept { return c_; }

  private:
    const tinkc_fwdbwd *c_;
};

/* The result of forward or forward_backward. */
class fwdbwd : public detail::handle<tinkc_fwdbwd, tinkc_fwdbwd_free>,
               public detail::fwdbwd_members<fwdbwd>
{
  public:
    using handle::handle;
};

/* Results of both parts of a whole step. */
class step : public detail::handle<tinkc_step, tinkc_step_free>
{
  public:
    using handle::handle;
    /* Returns the result of forward_backward, and the metrics of the optimizer. */
    fwdbwd_view fwdbwd() const noexcept { return fwdbwd_view(tinkc_step_fwdbwd(c_)); }
    metrics_view metrics() const noexcept { return metrics_view(tinkc_step_metrics(c_)); }
    /* Returns the loss of the batch. */
    template <template <class> class R = throwing>
    R<double> loss() const
    {
        double value = 0;
        tinkc_error *err = nullptr;
        tinkc_code code = tinkc_step_loss(&value, c_, &err);
        return detail::finish<R>(code, err, [&] { return value; });
    }
};

/* What the server knows about a model; NULL where it gave nothing. */
class model_info : public detail::handle<tinkc_model_info, tinkc_model_info_free>
{
  public:
    using handle::handle;
    const char *model_id() const noexcept { return tinkc_model_info_model_id(c_); }
    const char *model_name() const noexcept { return tinkc_model_info_model_name(c_); }
    const char *arch() const noexcept { return tinkc_model_info_arch(c_); }
    const char *tokenizer_id() const noexcept
    {
        return tinkc_model_info_tokenizer_id(c_);
    }
    bool is_lora() const noexcept { return tinkc_model_info_is_lora(c_); }
    /* Returns the rank; -1: not known. */
    std::int64_t lora_rank() const noexcept { return tinkc_model_info_lora_rank(c_); }
    tinkc_optimizer optimizer() const noexcept { return tinkc_model_info_optimizer(c_); }
    const char *optimizer_name() const noexcept
    {
        return tinkc_model_info_optimizer_name(c_);
    }
};

namespace detail
{

/* What samples offer. */
template <class D>
class samples_members
{
  public:
    /* Returns the number of continuations. */
    std::size_t size() const noexcept { return tinkc_samples_count(self()); }
    /* Returns the tokens of a continuation, and the log-probability of each; nothing past
     * the end, and when the server sent none. */
    span<const std::int32_t> tokens(std::size_t i = 0) const noexcept
    {
        std::size_t n = 0;
        const std::int32_t *values = tinkc_samples_tokens(&n, self(), i);
        return {values, n};
    }
    span<const float> logprobs(std::size_t i = 0) const noexcept
    {
        std::size_t n = 0;
        const float *values = tinkc_samples_logprobs(&n, self(), i);
        return {values, n};
    }
    /* Decodes a continuation: tinkc_samples_text. */
    template <template <class> class R = throwing>
    R<std::string> text(std::size_t i, const tokenizer &tokens,
                        bool skip_special = true) const
    {
        return detail::text<R>([&](char **out, std::size_t *, tinkc_error **err) {
            return tinkc_samples_text(out, self(), i, tokens.c_ptr(), skip_special, err);
        });
    }
    /* Appends a continuation to the prompt that it was sampled after, and to the
     * conversation as a message of the assistant: tinkc_chat_add_sample. */
    template <template <class> class R = throwing>
    R<void> add_to(chat &to, model_input &prompt, const tokenizer &tokens,
                   std::size_t i = 0) const
    {
        return detail::check<R>([&](auto err) {
            return tinkc_chat_add_sample(to.c_ptr(), prompt.c_ptr(), tokens.c_ptr(),
                                         self(), i, err);
        });
    }
    /* Makes the datum of a continuation for the losses of reinforcement learning:
     * tinkc_samples_datum. */
    template <template <class> class R = throwing>
    R<datum> rollout(std::size_t i, const model_input &prompt, double advantage) const
    {
        return detail::own<R, datum>([&](auto out, auto err) {
            return tinkc_samples_datum(out, self(), i, prompt.c_ptr(), advantage, err);
        });
    }
    /* Returns why a continuation ended, as a value and as the server's word. */
    tinkc_stop_reason stop_reason(std::size_t i = 0) const noexcept
    {
        return tinkc_samples_stop_reason(self(), i);
    }
    const char *stop_text(std::size_t i = 0) const noexcept
    {
        return tinkc_samples_stop_text(self(), i);
    }
    /* Returns the server's id of a continuation; NULL: it gives none. */
    const char *sequence_id(std::size_t i = 0) const noexcept
    {
        return tinkc_samples_sequence_id(self(), i);
    }
    /* Returns one value per prompt token, NaN where there is none; nothing when they were
     * not requested. */
    span<const float> prompt_logprobs() const noexcept
    {
        std::size_t n = 0;
        const float *values = tinkc_samples_prompt_logprobs(&n, self());
        return {values, n};
    }
    /* Returns the number of rows of the top-k table of the prompt, and one row: ids and
     * log-probabilities, the most likely first. */
    std::size_t topk_rows() const noexcept { return tinkc_samples_topk_rows(self()); }
    template <template <class> class R = throwing>
    R<tinkc_topk> topk(std::size_t position) const
    {
        tinkc_topk row = {nullptr, nullptr, 0};
        tinkc_error *err = nullptr;
        tinkc_code code = tinkc_samples_topk(&row.token_ids, &row.logprobs, &row.k,
                                             self(), position, &err);
        return detail::finish<R>(code, err, [&] { return row; });
    }
    /* The same for a continuation (topk_sample_logprobs). */
    std::size_t sampled_topk_rows(std::size_t i) const noexcept
    {
        return tinkc_samples_sampled_topk_rows(self(), i);
    }
    template <template <class> class R = throwing>
    R<tinkc_topk> sampled_topk(std::size_t i, std::size_t position) const
    {
        tinkc_topk row = {nullptr, nullptr, 0};
        tinkc_error *err = nullptr;
        tinkc_code code = tinkc_samples_sampled_topk(&row, self(), i, position, &err);
        return detail::finish<R>(code, err, [&] { return row; });
    }
    /* Return what target_prompt_logprobs and prompt_alt_tokens_k asked for; empty when
     * they did not. */
    tensor_view target_logprobs() const noexcept
    {
        return tensor_view(tinkc_samples_target_logprobs(self()));
    }
    tensor_view alt_tokens() const noexcept
    {
        return tensor_view(tinkc_samples_alt_tokens(self()));
    }
    tensor_view alt_logprobs() const noexcept
    {
        return tensor_view(tinkc_samples_alt_logprobs(self()));
    }
    /* Returns how many prompt tokens the server found in its prefix cache. */
    std::int64_t cache_hits() const noexcept { return tinkc_samples_cache_hits(self()); }

  private:
    const tinkc_samples *self() const noexcept
    {
        return static_cast<const D *>(this)->c_ptr();
    }
};

} // namespace detail

/* Samples that belong to something else, such as those that a callback gets. */
class samples_view : public detail::samples_members<samples_view>
{
  public:
    explicit samples_view(const tinkc_samples *c) noexcept : c_(c) {}
    const tinkc_samples *c_ptr() const noexcept { return c_; }

  private:
    const tinkc_samples *c_;
};

/* The continuations of a prompt. */
class samples : public detail::handle<tinkc_samples, tinkc_samples_free>,
                public detail::samples_members<samples>
{
  public:
    using handle::handle;
};

/* The log-probability of each token of a prompt. */
class logprobs : public detail::handle<tinkc_logprobs, tinkc_logprobs_free>
{
  public:
    using handle::handle;
    /* Returns one value per prompt token, NaN where the server computed none. */
    span<const float> values() const noexcept
    {
        std::size_t n = 0;
        const float *values = tinkc_logprobs_values(&n, c_);
        return {values, n};
    }
};

/* What the server offers: its models. */
class capabilities : public detail::handle<tinkc_capabilities, tinkc_capabilities_free>
{
  public:
    using handle::handle;
    /* Returns the number of models, and of each its name (NULL: none) and the length of its
     * context (-1: not known). */
    std::size_t size() const noexcept { return tinkc_capabilities_count(c_); }
    const char *name(std::size_t i) const noexcept
    {
        return tinkc_capabilities_name(c_, i);
    }
    std::int64_t context(std::size_t i) const noexcept
    {
        return tinkc_capabilities_context(c_, i);
    }
    /* Returns whether a model can be trained, and sampled from. */
    tinkc_choice trainable(std::size_t i) const noexcept
    {
        return tinkc_capabilities_trainable(c_, i);
    }
    tinkc_choice sampleable(std::size_t i) const noexcept
    {
        return tinkc_capabilities_sampleable(c_, i);
    }
};

namespace detail
{

template <>
struct result_of<metrics>
    : owned_result<metrics, tinkc_metrics, tinkc_future_await_metrics> {
};
template <>
struct result_of<fwdbwd> : owned_result<fwdbwd, tinkc_fwdbwd, tinkc_future_await_fwdbwd> {
};
template <>
struct result_of<step> : owned_result<step, tinkc_step, tinkc_future_await_step> {
};
template <>
struct result_of<model_info>
    : owned_result<model_info, tinkc_model_info, tinkc_future_await_model_info> {
};
template <>
struct result_of<samples>
    : owned_result<samples, tinkc_samples, tinkc_future_await_samples> {
};
template <>
struct result_of<logprobs>
    : owned_result<logprobs, tinkc_logprobs, tinkc_future_await_logprobs> {
};
template <>
struct result_of<capabilities>
    : owned_result<capabilities, tinkc_capabilities, tinkc_future_await_capabilities> {
};

} // namespace detail
} // namespace tinkc

#endif
