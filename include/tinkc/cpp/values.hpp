/* Values that go into requests: prompts, tensors and training examples, <tinkc/types.h>.
 * Thread: one at a time per object; nothing here blocks. */
#ifndef TINKC_CPP_VALUES_HPP
#define TINKC_CPP_VALUES_HPP

#include <array>
#include <limits>

#include <tinkc/cpp/options.hpp>

namespace tinkc
{

/* What a model reads: tokens, images, audio. */
class model_input : public detail::handle<tinkc_model_input, tinkc_model_input_free>
{
  public:
    using handle::handle;

    /* Creates an empty input. */
    template <template <class> class R = throwing>
    static R<model_input> create()
    {
        return detail::own<R, model_input>(tinkc_model_input_new);
    }
    /* Creates an input of tokens, which are copied. */
    template <template <class> class R = throwing>
    static R<model_input> from(span<const std::int32_t> tokens)
    {
        return detail::own<R, model_input>([&](auto out, auto err) {
            return tinkc_model_input_from_tokens(out, tokens.data(), tokens.size(), err);
        });
    }
    /* Returns a deep copy. */
    template <template <class> class R = throwing>
    R<model_input> copy() const
    {
        return detail::own<R, model_input>(
            [&](auto out, auto err) { return tinkc_model_input_copy(out, c_, err); });
    }
    /* Appends tokens, which are copied. */
    template <template <class> class R = throwing>
    R<void> add(span<const std::int32_t> tokens)
    {
        return detail::check<R>([&](auto err) {
            return tinkc_model_input_add_tokens(c_, tokens.data(), tokens.size(), err);
        });
    }
    /* Appends tokens without a copy: they must not change or go before this input, or the
     * datum that took it over, is freed. */
    template <template <class> class R = throwing>
    R<void> borrow(span<const std::int32_t> tokens)
    {
        return detail::check<R>([&](auto err) {
            return tinkc_model_input_borrow_tokens(c_, tokens.data(), tokens.size(), err);
        });
    }
    /* Temporaries go before the input does: add() copies them. */
    template <template <class> class R = throwing>
    R<void> borrow(std::initializer_list<std::int32_t> tokens) = delete;
    template <template <class> class R = throwing, std::size_t N>
    R<void> borrow(const std::array<std::int32_t, N> &&tokens) = delete;
    template <template <class> class R = throwing, class T,
              class = std::enable_if_t<!std::is_reference_v<T> &&
                                       !std::is_trivially_copyable_v<T>>>
    R<void> borrow(T &&tokens) = delete;
    /* Appends the bytes of an image file, which are copied. */
    template <template <class> class R = throwing>
    R<void> add_image(std::string_view file, tinkc_image_format format,
                      std::int64_t expected_tokens = TINKC_UNKNOWN_TOKENS)
    {
        return detail::check<R>([&](auto err) {
            return tinkc_model_input_add_image(c_, file.data(), file.size(), format,
                                               expected_tokens, err);
        });
    }
    /* Appends an image that the server fetches; for sampling only. */
    template <template <class> class R = throwing>
    R<void> add_image_pointer(cstring location, tinkc_image_format format,
                              std::int64_t expected_tokens = TINKC_UNKNOWN_TOKENS)
    {
        return detail::check<R>([&](auto err) {
            return tinkc_model_input_add_image_pointer(c_, location.c_str(), format,
                                                       expected_tokens, err);
        });
    }
    /* Appends audio in a tensor container, which is copied. */
    template <template <class> class R = throwing>
    R<void> add_dmel(std::string_view container)
    {
        return detail::check<R>([&](auto err) {
            return tinkc_model_input_add_dmel(c_, container.data(), container.size(),
                                              err);
        });
    }
    /* Returns the number of chunks. */
    std::size_t chunk_count() const noexcept { return tinkc_model_input_chunk_count(c_); }
    /* Returns the length in tokens; TINKC_E_INVALID when an image has none. */
    template <template <class> class R = throwing>
    R<std::int64_t> length() const
    {
        std::int64_t out = 0;
        tinkc_error *err = nullptr;
        tinkc_code code = tinkc_model_input_length(&out, c_, &err);
        return detail::finish<R>(code, err, [&] { return out; });
    }
    /* Returns a copy of the tokens of all chunks; TINKC_E_INVALID when one is not text. */
    template <template <class> class R = throwing>
    R<std::vector<std::int32_t>> tokens() const
    {
        std::vector<std::int32_t> out;
        tinkc_error *err = nullptr;
        std::size_t n = 0;
        tinkc_code code = tinkc_model_input_tokens(nullptr, 0, &n, c_, &err);
        if (code == TINKC_E_LIMIT) {
            tinkc_error_free(&err);
            out.resize(n);
            code = tinkc_model_input_tokens(out.data(), n, &n, c_, &err);
        }
        return detail::finish<R>(code, err, [&] { return std::move(out); });
    }
};

/* A tensor that belongs to something else, which must outlive the view. */
class tensor_view
{
  public:
    explicit tensor_view(const tinkc_tensor *tensor) noexcept : tensor_(tensor) {}

    /* Returns whether there is none of that name. */
    bool empty() const noexcept { return tensor_ == nullptr; }
    tinkc_dtype dtype() const noexcept { return tinkc_tensor_dtype(tensor_); }
    std::size_t rank() const noexcept { return tinkc_tensor_rank(tensor_); }
    /* Returns the size of one dimension; 0 past the end. */
    std::int64_t dim(std::size_t i) const noexcept
    {
        return tinkc_tensor_dim(tensor_, i);
    }
    /* Returns the elements in row-major order, without a copy; nothing when the tensor has
     * the other type. Those of a sparse tensor are its non-zeros. */
    span<const float> f32() const noexcept { return of(tinkc_tensor_f32(tensor_)); }
    span<const std::int64_t> i64() const noexcept
    {
        return of(tinkc_tensor_i64(tensor_));
    }
    /* Returns whether only the non-zeros are kept, row by row (CSR). */
    bool is_sparse() const noexcept { return tinkc_tensor_is_sparse(tensor_); }
    /* Returns, of a sparse tensor, the column of each element, and where each row starts
     * (rows + 1 entries). */
    span<const std::int64_t> columns() const noexcept
    {
        return of(tinkc_tensor_columns(tensor_));
    }
    span<const std::int64_t> row_starts() const noexcept
    {
        const std::int64_t *starts = tinkc_tensor_row_starts(tensor_);
        return {starts, starts != nullptr ? static_cast<std::size_t>(dim(0)) + 1 : 0};
    }
    const tinkc_tensor *c_ptr() const noexcept { return tensor_; }

  private:
    template <class T>
    span<const T> of(const T *elements) const noexcept
    {
        return {elements, elements != nullptr ? tinkc_tensor_count(tensor_) : 0};
    }
    const tinkc_tensor *tensor_;
};

/* A tensor in the form in which it is sent; immutable. */
class tensor : public detail::handle<tinkc_tensor, tinkc_tensor_free>
{
  public:
    using handle::handle;

    /* Converts an array: tinkc_tensor_new. */
    template <template <class> class R = throwing>
    static R<tensor> from(const tinkc_array &array)
    {
        return detail::own<R, tensor>(
            [&](auto out, auto err) { return tinkc_tensor_new(out, &array, err); });
    }
    /* Makes a sparse one from a copy of the arrays: tinkc_tensor_new_sparse. */
    template <template <class> class R = throwing>
    static R<tensor> from(const tinkc_sparse &sparse)
    {
        return detail::own<R, tensor>([&](auto out, auto err) {
            return tinkc_tensor_new_sparse(out, &sparse, err);
        });
    }
    tensor_view view() const noexcept { return tensor_view(c_); }
};

/* One training example: an input and the inputs of the loss function. */
class datum : public detail::handle<tinkc_datum, tinkc_datum_free>
{
  public:
    using handle::handle;

    /* Makes a datum of an input, which it takes over without a copy. On failure the input
     * stays with the caller. */
    template <template <class> class R = throwing>
    static R<datum> from(model_input &&input)
    {
        tinkc_model_input *taken = input.release();
        tinkc_datum *out = nullptr;
        tinkc_error *err = nullptr;
        tinkc_code code = tinkc_datum_new(&out, &taken, &err);
        input = model_input(taken);
        return detail::finish<R>(code, err, [&] { return datum(out); });
    }
    /* Makes the datum of a sampled answer: tinkc_datum_from_rollout. */
    template <template <class> class R = throwing>
    static R<datum> from_rollout(const model_input &prompt,
                                 span<const std::int32_t> tokens,
                                 span<const float> logprobs, double advantage)
    {
        tinkc_rollout rollout = TINKC_ROLLOUT_INIT;
        rollout.prompt = prompt.c_ptr();
        rollout.tokens = tokens.data();
        rollout.logprobs = logprobs.size() == tokens.size() ? logprobs.data() : nullptr;
        rollout.n = tokens.size();
        rollout.advantage = advantage;
        return detail::own<R, datum>([&](auto out, auto err) {
            return tinkc_datum_from_rollout(out, &rollout, err);
        });
    }
    /* Sets an input of the loss function from a list, which is copied; its type follows
     * from the name. */
    template <template <class> class R = throwing>
    R<void> set(cstring name, span<const std::int32_t> values)
    {
        return put<R>(tinkc_datum_set_i32, name, values);
    }
    template <template <class> class R = throwing>
    R<void> set(cstring name, span<const std::int64_t> values)
    {
        return put<R>(tinkc_datum_set_i64, name, values);
    }
    template <template <class> class R = throwing>
    R<void> set(cstring name, span<const float> values)
    {
        return put<R>(tinkc_datum_set_f32, name, values);
    }
    template <template <class> class R = throwing>
    R<void> set(cstring name, span<const double> values)
    {
        return put<R>(tinkc_datum_set_f64, name, values);
    }
    /* Sets it from a list in braces, of numbers of one type: set("weights", {0, 1, 1}). */
    template <template <class> class R = throwing, class T,
              class = std::enable_if_t<std::is_arithmetic_v<T>>>
    R<void> set(cstring name, std::initializer_list<T> values)
    {
        if constexpr (std::is_integral_v<T>) {
            const std::vector<std::int64_t> wide(values.begin(), values.end());
            return set<R>(name, span<const std::int64_t>(wide.data(), wide.size()));
        } else {
            return set<R>(name, span<const T>(values.begin(), values.size()));
        }
    }
    /* Sets it from a contiguous, strided or produced array of any type; with
     * TINKC_ARRAY_BORROW without a copy. */
    template <template <class> class R = throwing>
    R<void> set(cstring name, const tinkc_array &array)
    {
        return detail::check<R>(
            [&](auto err) { return tinkc_datum_set(c_, name.c_str(), &array, err); });
    }
    /* Sets a 2-D input from rows of one length. */
    template <template <class> class R = throwing>
    R<void> set(cstring name, const tinkc_rows &rows)
    {
        return detail::check<R>(
            [&](auto err) { return tinkc_datum_set_rows(c_, name.c_str(), &rows, err); });
    }
    /* Sets it to a copy of a tensor. */
    template <template <class> class R = throwing>
    R<void> set(cstring name, tensor_view tensor)
    {
        return detail::check<R>([&](auto err) {
            return tinkc_datum_set_tensor(c_, name.c_str(), tensor.c_ptr(), err);
        });
    }
    /* States where its tokens were sampled: tinkc_datum_set_provenance. */
    template <template <class> class R = throwing>
    R<void> set_provenance(span<const tinkc_origin> input,
                           span<const tinkc_origin> targets)
    {
        return detail::check<R>([&](auto err) {
            return tinkc_datum_set_provenance(c_, input.data(), input.size(),
                                              targets.data(), targets.size(), err);
        });
    }
    /* Returns an input of the loss function, borrowed until the datum changes; empty when
     * there is none of that name. */
    tensor_view tensor_of(cstring name) const noexcept
    {
        return tensor_view(tinkc_datum_tensor(c_, name.c_str()));
    }
    /* Returns the model input, borrowed. */
    const tinkc_model_input *input() const noexcept { return tinkc_datum_input(c_); }

  private:
    template <template <class> class R, class T>
    R<void> put(tinkc_code (*put_into)(tinkc_datum *, const char *, const T *,
                                       std::size_t, tinkc_error **),
                cstring name, span<const T> values)
    {
        return detail::check<R>([&](auto err) {
            return put_into(c_, name.c_str(), values.data(), values.size(), err);
        });
    }
};

/* An episode of the gateway: sequences of tokens to train on (<tinkc/trajectory.h>). */
class trajectory : public detail::handle<tinkc_trajectory, tinkc_trajectory_free>
{
  public:
    using handle::handle;

    /* Reads the JSON of one episode: tinkc_trajectory_parse. */
    template <template <class> class R = throwing>
    static R<trajectory> parse(std::string_view json)
    {
        return detail::own<R, trajectory>([&](auto out, auto err) {
            return tinkc_trajectory_parse(out, json.data(), json.size(), err);
        });
    }
    const char *id() const noexcept { return tinkc_trajectory_id(c_); }
    /* Returns the reward of the episode, if it has one. */
    std::optional<double> reward() const noexcept
    {
        double value = 0;
        return tinkc_trajectory_reward(&value, c_) ? std::optional<double>(value)
                                                   : std::nullopt;
    }
    /* Returns the metadata as JSON; NULL: there is none. */
    const char *metadata() const noexcept { return tinkc_trajectory_metadata(c_); }
    /* Returns the number of sequences. */
    std::size_t size() const noexcept { return tinkc_trajectory_count(c_); }
    /* Returns a sequence, borrowed from this object; nothing past the end. */
    std::optional<tinkc_sequence> sequence(std::size_t i) const noexcept
    {
        tinkc_sequence out = {};
        return tinkc_trajectory_sequence(&out, c_, i) ? std::optional<tinkc_sequence>(out)
                                                      : std::nullopt;
    }
    /* Makes the datums of all sequences: tinkc_trajectory_datums. `advantages` empty: the
     * rewards; else one for each sequence. */
    template <template <class> class R = throwing>
    R<std::vector<datum>> datums(span<const double> advantages = {},
                                 bool repeat_shared = false) const
    {
        tinkc_trajectory_options options = TINKC_TRAJECTORY_OPTIONS_INIT;
        tinkc_error *err = nullptr;
        std::size_t n = 0;
        std::vector<tinkc_datum *> made(size());
        std::vector<double> padded(advantages.begin(), advantages.end());
        padded.resize(size(), std::numeric_limits<double>::quiet_NaN());
        options.advantages = advantages.size() > 0 ? padded.data() : nullptr;
        options.repeat_shared = repeat_shared;
        tinkc_code code =
            tinkc_trajectory_datums(made.data(), made.size(), &n, c_, &options, &err);
        return detail::finish<R>(code, err, [&] {
            std::vector<datum> out;
            out.reserve(n);
            for (std::size_t i = 0; i < n; i++) {
                out.emplace_back(made[i]);
            }
            return out;
        });
    }
};

/* Counts the tokens of a batch as training does: tinkc_estimate_batch. */
template <template <class> class R = throwing>
R<std::int64_t> estimate_batch(span<const datum> data);

namespace detail
{

/* The C handles of a batch. */
inline std::vector<tinkc_datum *> pointers(span<const datum> data)
{
    std::vector<tinkc_datum *> out;
    out.reserve(data.size());
    for (const datum &one : data) {
        out.push_back(one.c_ptr());
    }
    return out;
}

} // namespace detail

template <template <class> class R>
R<std::int64_t> estimate_batch(span<const datum> data)
{
    std::int64_t tokens = 0;
    tinkc_error *err = nullptr;
    auto all = detail::pointers(data);
    tinkc_code code = tinkc_estimate_batch(&tokens, all.data(), all.size(), &err);
    return detail::finish<R>(code, err, [&] { return tokens; });
}

/* Counts the tokens of a prompt and the most that its continuations can have (-1: not
 * known): tinkc_estimate_sample. */
template <template <class> class R = throwing>
R<std::pair<std::int64_t, std::int64_t>>
estimate_sample(const model_input &prompt, const sampling_params &params = {},
                const sample_options &options = {})
{
    std::pair<std::int64_t, std::int64_t> out{0, 0};
    tinkc_error *err = nullptr;
    tinkc_code code = tinkc_estimate_sample(&out.first, &out.second, prompt.c_ptr(),
                                            &params, &options, &err);
    return detail::finish<R>(code, err, [&] { return out; });
}

} // namespace tinkc

#endif
