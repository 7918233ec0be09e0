/* The clients: service, training, sampling and streams of tokens: <tinkc/service.h>,
 * <tinkc/training.h>, <tinkc/sampling.h>, <tinkc/stream.h>. Destroying a
 * service closes it, which must not happen in one of its callbacks. Thread: any; a
 * stream one at a time. */
#ifndef TINKC_CPP_CLIENTS_HPP
#define TINKC_CPP_CLIENTS_HPP

#include <tinkc/cpp/config.hpp>
#include <tinkc/cpp/results.hpp>

namespace tinkc
{

/* Receives news of the server's queue, on the loop's thread. */
using queue_function =
    std::function<void(tinkc_queue_state state, const char *reason, const char *what)>;

/* Receives an event of a stream, on the loop's thread; false stops the stream. */
using stream_function = std::function<bool(const tinkc_stream_event &event)>;

/* Receives the samples of one prompt of a batch, or why there are none; false stops. */
using batch_function =
    std::function<bool(std::size_t index, const expected<samples_view> &result)>;

/* ---- sampling ---- */

/* One continuation, token by token: a range of tinkc_stream_event. */
class token_stream : public detail::handle<tinkc_stream, tinkc_stream_close>
{
  public:
    using handle::handle;

    /* Returns the next event, borrowed until the next call; NULL after the last one.
     * TINKC_E_TIMEOUT when none arrived in time: call again. */
    template <template <class> class R = throwing>
    R<const tinkc_stream_event *> next(std::int64_t timeout_ms = TINKC_FOREVER)
    {
        const tinkc_stream_event *event = nullptr;
        tinkc_error *err = nullptr;
        tinkc_code code = tinkc_stream_next(&event, c_, timeout_ms, &err);
        if (code == TINKC_E_MISSING) {
            tinkc_error_free(&err);
            code = TINKC_OK;
        }
        return detail::finish<R>(code, err, [&] { return event; });
    }
    /* The events in order, the last one of kind TINKC_STREAM_DONE; a failure is thrown. */
    template <class Iterator = detail::pull_iterator<token_stream, tinkc_stream_event>>
    Iterator begin()
    {
        return Iterator(*this);
    }
    detail::pull_end end() const noexcept { return {}; }
};

/* Samples from a model or a checkpoint; any number of threads at once. */
class sampling : public detail::handle<tinkc_sampling, tinkc_sampling_close>
{
  public:
    using handle::handle;

    /* Samples continuations of a prompt. */
    future<samples> sample(const model_input &prompt, const sampling_params &params = {},
                           const sample_options &options = {}) const
    {
        return future<samples>(
            tinkc_sampling_sample(c_, prompt.c_ptr(), &params, &options));
    }
    /* Computes the log-probability of each token of a prompt, or of its last ones. */
    future<logprobs> compute_logprobs(const model_input &prompt) const
    {
        return future<logprobs>(tinkc_sampling_compute_logprobs(c_, prompt.c_ptr()));
    }
    future<logprobs> compute_last_logprobs(const model_input &prompt,
                                           std::int64_t last_n) const
    {
        return future<logprobs>(
            tinkc_sampling_compute_last_logprobs(c_, prompt.c_ptr(), last_n));
    }
    /* Samples one continuation, whose tokens the caller takes: for (auto &event : stream). */
    template <template <class> class R = throwing>
    R<token_stream> stream(const model_input &prompt,
                           const sampling_params &params = {}) const
    {
        return detail::own<R, token_stream>([&](auto out, auto err) {
            return tinkc_stream_open(out, c_, prompt.c_ptr(), &params, err);
        });
    }
    /* Samples one continuation and calls `fn` for each event on the loop's thread. An
     * exception that leaves it stops the stream, and get() throws it. */
    future<void> stream_to(const model_input &prompt, const sampling_params &params,
                           stream_function fn) const
    {
        using state = detail::callback<stream_function>;
        auto kept = std::make_unique<state>(std::move(fn));
        auto call = [](const tinkc_stream_event *event, void *user) {
            state *self = state::of(user);
            return detail::contain(self->caught.get(), false,
                                   [&] { return self->fn(*event); });
        };
        tinkc_future *out =
            tinkc_sampling_stream(c_, prompt.c_ptr(), &params, call, kept.get());
        return future<void>(untyped_future::with_callback(out, std::move(kept)));
    }
    /* Samples all prompts, `max_in_flight` at a time, and passes the results to `fn` in the
     * order of the prompts, on this thread: tinkc_sampling_batch. Blocks. What `fn` throws
     * is thrown when all work has been cancelled. */
    template <template <class> class R = throwing>
    R<void> batch(span<const model_input> prompts, const sampling_params &params,
                  const sample_options &options, batch_function fn,
                  std::size_t max_in_flight = 400) const;
    /* Returns a second handle of the same sampler with other rules for retries. */
    template <template <class> class R = throwing>
    R<sampling> with_retry(const sample_retry &retry) const
    {
        return detail::own<R, sampling>([&](auto out, auto err) {
            return tinkc_sampling_with_retry(out, c_, &retry, err);
        });
    }
    /* Returns a second handle whose calls carry the context. */
    template <template <class> class R = throwing>
    R<sampling> with_context(const tinkc_context &what) const
    {
        return detail::own<R, sampling>([&](auto out, auto err) {
            return tinkc_sampling_with_context(out, c_, &what, err);
        });
    }
    /* Returns the id of the sampling session; NULL: there is none. */
    const char *session_id() const noexcept { return tinkc_sampling_session_id(c_); }
    /* Returns a text with which another process joins: service::import_sampling. */
    template <template <class> class R = throwing>
    R<std::string> export_handle() const
    {
        return detail::text<R>([&](char **out, std::size_t *, tinkc_error **err) {
            return tinkc_sampling_export(out, c_, err);
        });
    }
    /* Asks for the name of the base model. */
    future<std::string> base_model() const
    {
        return future<std::string>(tinkc_sampling_get_base_model(c_));
    }
    /* Finds the tokenizer of the model; blocks. */
    template <template <class> class R = throwing>
    R<tokenizer> get_tokenizer(const tokenizer_options &options = {}) const
    {
        return detail::own<R, tokenizer>([&](auto out, auto err) {
            return tinkc_sampling_get_tokenizer(out, c_, &options, err);
        });
    }
};

template <template <class> class R>
R<void> sampling::batch(span<const model_input> prompts, const sampling_params &params,
                        const sample_options &options, batch_function fn,
                        std::size_t max_in_flight) const
{
    using state = detail::callback<batch_function>;
    state self(std::move(fn));
    std::vector<tinkc_model_input *> all;
    for (const model_input &one : prompts) {
        all.push_back(one.c_ptr());
    }
    tinkc_sample_batch what = TINKC_SAMPLE_BATCH_INIT;
    what.prompts = all.data();
    what.prompts_n = all.size();
    what.params = &params;
    what.options = &options;
    what.max_in_flight = max_in_flight;
    what.user = &self;
    what.fn = [](std::size_t index, const tinkc_samples *got, const tinkc_error *failed,
                 void *user) {
        state *s = state::of(user);
        return detail::contain(s->caught.get(), false, [&] {
            return got != nullptr
                       ? s->fn(index, expected<samples_view>(samples_view(got)))
                       : s->fn(index, expected<samples_view>(error::of(failed)));
        });
    };
    tinkc_error *err = nullptr;
    tinkc_code code = tinkc_sampling_batch(c_, &what, &err);
    detail::rethrow<R>(code, &err, self.caught.get());
    return detail::finish<R>(code, err);
}

/* ---- training ---- */

/* One datum of a custom loss: its log-probabilities in, its gradient out. */
class loss_item
{
  public:
    explicit loss_item(tinkc_custom_item *item) noexcept : item_(item) {}
    /* Returns the log-probabilities, in the flattened shape of the targets. */
    span<const float> logprobs() const noexcept { return {item_->logprobs, item_->n}; }
    /* Returns where dLoss/dlogprobs is written; it is 0 at first. */
    span<float> gradient() const noexcept { return {item_->gradient, item_->n}; }
    /* Returns an input of the datum; empty when there is none of that name. */
    tensor_view tensor_of(cstring input) const noexcept
    {
        return tensor_view(tinkc_custom_item_tensor(item_, input.c_str()));
    }

  private:
    tinkc_custom_item *item_;
};

/* What a custom loss works on; valid until it returns. */
class loss_batch
{
  public:
    loss_batch(tinkc_custom_item *items, std::size_t n, tinkc_metrics *found) noexcept
        : items_(items), n_(n), metrics_(found)
    {
    }
    std::size_t size() const noexcept { return n_; }
    loss_item operator[](std::size_t i) const noexcept { return loss_item(items_ + i); }
    /* Adds a metric to the result. */
    template <template <class> class R = throwing>
    R<void> put_metric(cstring metric, double value)
    {
        return detail::check<R>([&](auto err) {
            return tinkc_metrics_put(metrics_, metric.c_str(), value, err);
        });
    }

  private:
    tinkc_custom_item *items_;
    std::size_t n_;
    tinkc_metrics *metrics_;
};

/* Computes the loss of a batch and the gradient of each item, on a thread of the library.
 * An exception that leaves it, or nothing instead of a number, makes the operation fail
 * before anything is applied. */
using loss_function = std::function<std::optional<double>(loss_batch &batch)>;

/* Trains one LoRA model. Operations reach the server in the order of the calls. */
class training : public detail::handle<tinkc_training, tinkc_training_close>
{
  public:
    using handle::handle;

    /* Returns the id of the model. */
    const char *model_id() const noexcept { return tinkc_training_model_id(c_); }
    /* Computes loss and log-probabilities; forward_backward also adds the gradients. */
    future<fwdbwd> forward(span<const datum> data, cstring loss,
                           const fwdbwd_options &options = {}) const
    {
        auto all = detail::pointers(data);
        return future<fwdbwd>(
            tinkc_training_forward(c_, all.data(), all.size(), loss.c_str(), &options));
    }
    future<fwdbwd> forward_backward(span<const datum> data, cstring loss,
                                    const fwdbwd_options &options = {}) const
    {
        auto all = detail::pointers(data);
        return future<fwdbwd>(tinkc_training_forward_backward(c_, all.data(), all.size(),
                                                              loss.c_str(), &options));
    }
    /* Computes the gradients of a loss of the program: see loss_function. get() throws what
     * it threw. */
    future<fwdbwd> forward_backward_custom(span<const datum> data,
                                           loss_function fn) const;
    /* The same with a C function, such as tinkc_regularize with a tinkc::regularized. */
    future<fwdbwd> forward_backward_custom(span<const datum> data,
                                           tinkc_custom_loss_fn fn, void *user) const
    {
        auto all = detail::pointers(data);
        return future<fwdbwd>(
            tinkc_training_forward_backward_custom(c_, all.data(), all.size(), fn, user));
    }
    /* Performs a step of AdamW, or of the optimizer that the model was created with. */
    future<metrics> optim_step(const adam_params &params = {}) const
    {
        return future<metrics>(tinkc_training_optim_step(c_, &params));
    }
    future<metrics> optim_step(const optim_params &params) const
    {
        return future<metrics>(tinkc_training_optim_step_with(c_, &params));
    }
    /* Submits forward_backward and the optim_step that uses its gradients. */
    future<tinkc::step> step(span<const datum> data, cstring loss,
                             const step_options &options = {}) const
    {
        auto all = detail::pointers(data);
        return future<tinkc::step>(
            tinkc_training_step(c_, all.data(), all.size(), loss.c_str(), &options));
    }
    /* Save weights and optimizer, weights for sampling, files for other programs; the result
     * is the path of the checkpoint. */
    future<std::string> save_state(cstring to, const save_options &options = {}) const
    {
        return future<std::string>(tinkc_training_save_state(c_, to.c_str(), &options));
    }
    future<std::string> save_weights_for_sampler(cstring to,
                                                 const save_options &options = {}) const
    {
        return future<std::string>(
            tinkc_training_save_weights_for_sampler(c_, to.c_str(), &options));
    }
    future<std::string> save_weights_external(cstring to,
                                              const save_options &options = {}) const
    {
        return future<std::string>(
            tinkc_training_save_weights_external(c_, to.c_str(), &options));
    }
    /* Creates a sampling client for the weights as they are at this point. */
    future<sampling> save_and_sample() const
    {
        return future<sampling>(tinkc_training_save_and_sample(c_));
    }
    /* Loads a checkpoint of save_state; `token`: a key that may read it. */
    future<void> load_state(cstring path, bool with_optimizer = false,
                            cstring token = nullptr) const
    {
        return future<void>(
            tinkc_training_load_state(c_, path.c_str(), with_optimizer, token.c_str()));
    }
    /* Asks what the server knows about the model. */
    future<model_info> info() const
    {
        return future<model_info>(tinkc_training_get_info(c_));
    }
    /* Unloads the model on the server, after all operations called before. */
    future<void> unload() const { return future<void>(tinkc_training_unload(c_)); }
    /* Finds the tokenizer of the model; blocks. */
    template <template <class> class R = throwing>
    R<tokenizer> get_tokenizer(const tokenizer_options &options = {}) const
    {
        return detail::own<R, tokenizer>([&](auto out, auto err) {
            return tinkc_training_get_tokenizer(out, c_, &options, err);
        });
    }
    /* Returns a second handle of the same model whose calls carry the context. */
    template <template <class> class R = throwing>
    R<training> with_context(const tinkc_context &what) const
    {
        return detail::own<R, training>([&](auto out, auto err) {
            return tinkc_training_with_context(out, c_, &what, err);
        });
    }
};

inline future<fwdbwd> training::forward_backward_custom(span<const datum> data,
                                                        loss_function fn) const
{
    using state = detail::callback<loss_function>;
    auto kept = std::make_unique<state>(std::move(fn));
    auto call = [](double *loss, tinkc_metrics *found, tinkc_custom_item *items,
                   std::size_t n, void *user) {
        state *self = state::of(user);
        return detail::contain(self->caught.get(), 1, [&] {
            loss_batch batch(items, n, found);
            std::optional<double> value = self->fn(batch);
            *loss = value.value_or(0);
            return value ? 0 : 1;
        });
    };
    auto all = detail::pointers(data);
    tinkc_future *out = tinkc_training_forward_backward_custom(c_, all.data(), all.size(),
                                                               call, kept.get());
    return future<fwdbwd>(untyped_future::with_callback(out, std::move(kept)));
}

namespace detail
{

template <>
struct result_of<sampling>
    : owned_result<sampling, tinkc_sampling, tinkc_future_await_sampling> {
};
template <>
struct result_of<training>
    : owned_result<training, tinkc_training, tinkc_future_await_training> {
};

/* What callbacks of a service use; it goes after the service was closed. */
struct keeper {
    std::vector<std::shared_ptr<void>> kept_;
};

} // namespace detail

/* ---- service ---- */

/* One server, one credential, one session, one I/O loop. */
class service : private detail::keeper,
                public detail::handle<tinkc_service, tinkc_service_close>
{
  public:
    using handle::handle;
    service(service &&) noexcept = default;
    service &operator=(service &&from) noexcept
    {
        handle::operator=(std::move(from)); /* closes the old one, then lets go */
        kept_ = std::move(from.kept_);
        return *this;
    }

    /* Opens a service; sends nothing. Without a configuration: the environment's. */
    template <template <class> class R = throwing>
    static R<service> open()
    {
        return detail::own<R, service>(
            [&](auto out, auto err) { return tinkc_service_open(out, nullptr, err); });
    }
    template <template <class> class R = throwing>
    static R<service> open(const config &from)
    {
        tinkc_service *out = nullptr;
        tinkc_error *err = nullptr;
        tinkc_code code = tinkc_service_open(&out, from.c_ptr(), &err);
        return detail::finish<R>(code, err, [&] {
            service opened(out);
            opened.kept_.push_back(from.log_);
            return opened;
        });
    }
    /* Sets how the session ended and why, which closing reports. */
    template <template <class> class R = throwing>
    R<void> set_finish(tinkc_finish finish, cstring detail_text = nullptr) const
    {
        return detail::check<R>([&](auto err) {
            return tinkc_service_set_finish(c_, finish, detail_text.c_str(), err);
        });
    }
    /* With TINKC_LOOP_MANUAL: the descriptor to wait for, in how many milliseconds process()
     * must be called (-1: no deadline), and the call that does the work. */
    int fd() const noexcept { return tinkc_service_fd(c_); }
    std::int64_t deadline_ms() const noexcept { return tinkc_service_deadline_ms(c_); }
    template <template <class> class R = throwing>
    R<void> process() const
    {
        return detail::check<R>([&](auto err) { return tinkc_service_process(c_, err); });
    }
    /* Asks what the server offers, and whether it responds. */
    future<capabilities> get_capabilities() const
    {
        return future<capabilities>(tinkc_service_capabilities(c_));
    }
    future<void> health() const { return future<void>(tinkc_service_health(c_)); }
    /* Returns the session id; NULL: there is no session yet. */
    const char *session_id() const noexcept { return tinkc_service_session_id(c_); }
    /* Lists up to `max` operations that are not done, the oldest first. */
    std::vector<tinkc_wait> waits(std::size_t max = 64) const
    {
        std::vector<tinkc_wait> out(max + 1, tinkc_wait TINKC_WAIT_INIT);
        std::size_t n = tinkc_service_waits(out.data(), max, c_);
        out.resize(n < max ? n : max);
        return out;
    }
    /* Creates a sampling client for a base model, or for a checkpoint ("tinker://..."). */
    future<sampling> create_sampling(cstring model) const
    {
        bool is_path = view(model.c_str()).substr(0, 9) == "tinker://";
        return future<sampling>(tinkc_service_create_sampling(
            c_, is_path ? nullptr : model.c_str(), is_path ? model.c_str() : nullptr));
    }
    /* Opens one without a sampling session; joins that of another process. */
    future<sampling> open_sampling(const sample_target &target) const
    {
        return future<sampling>(tinkc_service_open_sampling(c_, &target));
    }
    future<sampling> import_sampling(cstring text) const
    {
        return future<sampling>(tinkc_service_import_sampling(c_, text.c_str()));
    }
    /* Creates a LoRA model and a training client for it. */
    future<training> create_training(cstring base_model,
                                     const lora_config &lora = {}) const
    {
        return future<training>(
            tinkc_service_create_training(c_, base_model.c_str(), &lora));
    }
    /* Creates one that continues from a checkpoint of save_state. */
    future<training>
    create_training_from_state(cstring path, const from_state_options &options = {}) const
    {
        return future<training>(
            tinkc_service_create_training_from_state(c_, path.c_str(), &options));
    }
    /* Creates a loss that runs at the server; the result is its id. */
    future<std::string> create_custom_loss(const custom_loss &loss) const
    {
        return future<std::string>(tinkc_service_create_custom_loss(c_, &loss));
    }
    /* Finds the tokenizer of a model by its name or directory; blocks. */
    template <template <class> class R = throwing>
    R<tokenizer> get_tokenizer(cstring model, const tokenizer_options &options = {}) const
    {
        return detail::own<R, tokenizer>([&](auto out, auto err) {
            return tinkc_service_get_tokenizer(out, c_, model.c_str(), &options, err);
        });
    }
    /* Sets the observer of the server's queue; before the first operation. */
    template <template <class> class R = throwing>
    R<void> on_queue_state(queue_function fn)
    {
        auto kept = std::make_shared<queue_function>(std::move(fn));
        auto call = [](tinkc_queue_state state, const char *reason, const char *what,
                       void *user) {
            detail::contain(nullptr, 0, [&] {
                (*static_cast<queue_function *>(user))(state, reason, what);
                return 0;
            });
        };
        kept_.push_back(kept);
        return detail::check<R>([&](auto err) {
            return tinkc_service_on_queue_state(c_, call, kept.get(), err);
        });
    }
    /* Returns a second handle of the same service whose calls carry the context; the
     * service is closed through the first one. */
    template <template <class> class R = throwing>
    R<service> with_context(const tinkc_context &what) const
    {
        return detail::own<R, service>([&](auto out, auto err) {
            return tinkc_service_with_context(out, c_, &what, err);
        });
    }
};

} // namespace tinkc

#endif
