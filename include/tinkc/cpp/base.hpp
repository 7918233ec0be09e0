/* The ground of <tinkc/tinkc.hpp>: errors, expected, views of arrays and texts, and the
 * class of which every handle is made. Thread: an error may be read from any thread. */
#ifndef TINKC_CPP_BASE_HPP
#define TINKC_CPP_BASE_HPP

#if __cplusplus < 201703L
#error "<tinkc/tinkc.hpp> needs C++17 or later: compile with -std=c++17"
#endif

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <tinkc/tinkc.h>

#if defined(__cpp_exceptions)
#define TINKC_CPP_EXCEPTIONS 1
#else
#define TINKC_CPP_EXCEPTIONS 0
#endif

namespace tinkc
{

/* ---- errors ---- */

/* What a failed call reports: the exception that is thrown, and the error of an expected.
 * A copy shares the C error, which is immutable. */
class error : public std::exception
{
  public:
    /* Takes the C error over; `err` may be NULL, then only the code is known. */
    error(tinkc_code code, tinkc_error *err) : code_(code), err_(err, release) {}

    /* Makes one of a C error that is borrowed, such as a callback gets. */
    static error of(const tinkc_error *err)
    {
        return error(tinkc_error_code(err), tinkc_error_ref(err));
    }

    /* Returns the message of the error: tinkc_error_message. */
    const char *what() const noexcept override
    {
        return err_ ? tinkc_error_message(err_.get()) : tinkc_code_name(code_);
    }
    /* Returns the code, and its name, e.g. "TINKC_E_TIMEOUT". */
    tinkc_code code() const noexcept { return code_; }
    const char *code_name() const noexcept { return tinkc_code_name(code_); }
    /* Returns which side caused the failure, according to the server, and its name. */
    tinkc_category category() const noexcept { return tinkc_error_category(err_.get()); }
    const char *category_name() const noexcept { return tinkc_category_name(category()); }
    /* Returns what the failure means for another attempt, and its name; the table at the
     * top of <tinkc/error.h>. */
    tinkc_class error_class() const noexcept { return tinkc_error_class(err_.get()); }
    const char *class_name() const noexcept { return tinkc_class_name(error_class()); }
    /* Returns the HTTP status; 0: no response was involved. */
    int http_status() const noexcept { return tinkc_error_http_status(err_.get()); }
    /* Returns the server's request id, or NULL. Borrowed from this object. */
    const char *request_id() const noexcept { return tinkc_error_request_id(err_.get()); }
    /* Returns the server's hint in milliseconds; -1: it gave none. */
    std::int64_t retry_after_ms() const noexcept
    {
        return tinkc_error_retry_after_ms(err_.get());
    }
    /* Returns whether the same call may succeed when it is repeated later. */
    bool is_retryable() const noexcept { return tinkc_error_is_retryable(err_.get()); }
    /* Returns whether the server attributes the failure to the caller. */
    bool is_user_error() const noexcept { return tinkc_error_is_user_error(err_.get()); }
    /* Returns whether the object that reported it can only be closed. */
    bool is_fatal() const noexcept { return tinkc_error_is_fatal(err_.get()); }
    /* Returns the error that led to this one. */
    std::optional<error> cause() const
    {
        const tinkc_error *cause = tinkc_error_cause(err_.get());
        if (cause == nullptr) {
            return std::nullopt;
        }
        return error(std::shared_ptr<const tinkc_error>(err_, cause));
    }
    /* Returns the C error, borrowed from this object; may be NULL. */
    const tinkc_error *c_ptr() const noexcept { return err_.get(); }

  private:
    explicit error(std::shared_ptr<const tinkc_error> err)
        : code_(tinkc_error_code(err.get())), err_(std::move(err))
    {
    }
    static void release(tinkc_error *err) noexcept { tinkc_error_free(&err); }

    tinkc_code code_;
    std::shared_ptr<const tinkc_error> err_;
};

/* A value, or the error that took its place: the part of std::expected<T, tinkc::error>
 * (C++23) that programs use. */
template <class T>
class [[nodiscard]] expected
{
  public:
    using value_type = T;
    using error_type = tinkc::error;

    expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    expected(tinkc::error e) : state_(std::in_place_index<1>, std::move(e)) {}

    bool has_value() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }
    /* The value; has_value() must be true. */
    T &operator*() &noexcept { return *std::get_if<0>(&state_); }
    const T &operator*() const &noexcept { return *std::get_if<0>(&state_); }
    T &&operator*() &&noexcept { return std::move(*std::get_if<0>(&state_)); }
    T *operator->() noexcept { return std::get_if<0>(&state_); }
    const T *operator->() const noexcept { return std::get_if<0>(&state_); }
    /* The error; has_value() must be false. */
    const tinkc::error &error() const noexcept { return *std::get_if<1>(&state_); }
    /* Returns the value, or `other` when there is none. */
    template <class U>
    T value_or(U &&other) &&
    {
        return has_value() ? std::move(**this) : static_cast<T>(std::forward<U>(other));
    }
#if TINKC_CPP_EXCEPTIONS
    /* Returns the value, or throws the error. */
    T &value() &
    {
        check();
        return **this;
    }
    T value() &&
    {
        check();
        return std::move(**this);
    }

  private:
    void check() const
    {
        if (!has_value()) {
            throw error();
        }
    }
#endif

  private:
    std::variant<T, tinkc::error> state_;
};

/* The outcome of a call without a result. */
template <>
class [[nodiscard]] expected<void>
{
  public:
    using value_type = void;
    using error_type = tinkc::error;

    expected() = default;
    expected(tinkc::error e) : error_(std::move(e)) {}

    bool has_value() const noexcept { return !error_; }
    explicit operator bool() const noexcept { return has_value(); }
    const tinkc::error &error() const noexcept { return *error_; }
#if TINKC_CPP_EXCEPTIONS
    /* Throws the error, if there is one. */
    void value() const
    {
        if (error_) {
            throw *error_;
        }
    }
#endif

  private:
    std::optional<tinkc::error> error_;
};

/* The other way to report: the value itself; a failure is thrown. The default. */
template <class T>
using throwing = T;

/* ---- views ---- */

/* A borrowed array, as std::span of C++20, to and from which it converts. */
template <class T>
class span
{
  public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using iterator = T *;

    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <std::size_t N>
    constexpr span(T (&array)[N]) noexcept : data_(array), size_(N)
    {
    }
    /* From anything with data() and size() and elements of this type. */
    template <class C, class P = decltype(std::declval<C &>().data()),
              class = decltype(std::declval<C &>().size()),
              class = std::enable_if_t<
                  std::is_convertible_v<std::remove_pointer_t<P> (*)[], T (*)[]>>>
    constexpr span(C &&from) noexcept : data_(from.data()), size_(from.size())
    {
    }
    /* From a list in braces; it lives until the end of the expression. */
    template <class U = T, class = std::enable_if_t<std::is_const_v<U>>>
    constexpr span(std::initializer_list<value_type> list) noexcept
        : data_(std::data(list)), size_(list.size())
    {
    }

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }
    constexpr T &front() const noexcept { return data_[0]; }
    constexpr T &back() const noexcept { return data_[size_ - 1]; }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/* A NUL-terminated text as an argument, borrowed for the call; NULL where the C function
 * accepts it. A std::string_view does not convert: it need not end with a NUL. */
class cstring
{
  public:
    constexpr cstring(const char *text) noexcept : text_(text) {}
    constexpr cstring(std::nullptr_t) noexcept {}
    cstring(const std::string &text) noexcept : text_(text.c_str()) {}

    constexpr const char *c_str() const noexcept { return text_; }

  private:
    const char *text_ = nullptr;
};

/* Returns the text as a view, "" for NULL: for members of results that may be missing. */
inline std::string_view view(const char *text) noexcept
{
    return text != nullptr ? std::string_view(text) : std::string_view();
}

/* ---- version, names ---- */

/* Returns the version of the library that is loaded, as text and as a number, and the level
 * of the official SDK that it matches. */
inline const char *version() noexcept
{
    return tinkc_version();
}
inline int version_number() noexcept
{
    return tinkc_version_number();
}
inline const char *sdk_level() noexcept
{
    return tinkc_sdk_level();
}

/* What a program does not call. */
namespace detail
{

template <template <class> class R>
inline constexpr bool throws = std::is_same_v<R<int>, int>;

template <template <class> class R>
inline constexpr bool usable = TINKC_CPP_EXCEPTIONS || !throws<R>;

/* Reports a failure in the way of R. */
template <template <class> class R, class T>
R<T> fail(error e)
{
    static_assert(usable<R>, "without exceptions, call this with <tinkc::expected>");
#if TINKC_CPP_EXCEPTIONS
    if constexpr (throws<R>) {
        throw e;
    }
#endif
    if constexpr (!throws<R>) {
        return R<T>(std::move(e));
    }
}

/* The end of a call without a result. */
template <template <class> class R>
R<void> finish(tinkc_code code, tinkc_error *err)
{
    if (code != TINKC_OK) {
        return fail<R, void>(error(code, err));
    }
    return R<void>();
}

/* The end of a call: what `make` returns, or the failure. */
template <template <class> class R, class Make>
auto finish(tinkc_code code, tinkc_error *err, Make make) -> R<decltype(make())>
{
    if (code != TINKC_OK) {
        return fail<R, decltype(make())>(error(code, err));
    }
    return make();
}

/* Calls a C function with its `out` and `err`, and makes a T of what it hands out. */
template <template <class> class R, class T, class Call>
R<T> own(Call call)
{
    typename T::c_type *out = nullptr;
    tinkc_error *err = nullptr;
    tinkc_code code = call(&out, &err);
    return finish<R>(code, err, [&] { return T(out); });
}

/* Calls a C function with its `err`. */
template <template <class> class R, class Call>
R<void> check(Call call)
{
    tinkc_error *err = nullptr;
    tinkc_code code = call(&err);
    return finish<R>(code, err);
}

/* Calls a C function that hands out a text, with its length unless it ends at a NUL. */
template <template <class> class R, class Call>
R<std::string> text(Call call)
{
    char *out = nullptr;
    std::size_t n = std::string::npos;
    tinkc_error *err = nullptr;
    tinkc_code code = call(&out, &n, &err);
    std::unique_ptr<char, void (*)(char *)> owner(out,
                                                  [](char *p) { tinkc_text_free(&p); });
    return finish<R>(code, err, [&] {
        return n == std::string::npos ? std::string(view(out)) : std::string(out, n);
    });
}

/* For range-for over something with next<R>(): ends at the first NULL. */
struct pull_end {
};

/* The iterator of such a loop. */
template <class Source, class T>
class pull_iterator
{
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T *;
    using reference = const T &;

    pull_iterator(Source &source)
        : source_(&source), item_(source.template next<throwing>())
    {
    }
    const T &operator*() const noexcept { return *item_; }
    const T *operator->() const noexcept { return item_; }
    pull_iterator &operator++()
    {
        item_ = source_->template next<throwing>();
        return *this;
    }
    bool operator!=(pull_end) const noexcept { return item_ != nullptr; }
    bool operator==(pull_end) const noexcept { return item_ == nullptr; }

  private:
    Source *source_;
    const T *item_;
};

/* One C handle, freed at the end. */
template <class C, void (*Free)(C **)>
class handle
{
  public:
    using c_type = C;

    handle() noexcept = default;
    /* Takes the C handle over. */
    explicit handle(C *c) noexcept : c_(c) {}
    handle(handle &&from) noexcept : c_(from.release()) {}
    handle &operator=(handle &&from) noexcept
    {
        if (this != &from) {
            Free(&c_);
            c_ = from.release();
        }
        return *this;
    }
    handle(const handle &) = delete;
    handle &operator=(const handle &) = delete;
    ~handle() { Free(&c_); }

    /* Returns whether there is none: after a move, and before anything was assigned. */
    bool empty() const noexcept { return c_ == nullptr; }
    /* Returns the C handle, borrowed from this object. */
    C *c_ptr() const noexcept { return c_; }
    /* Gives the C handle to the caller; this object is empty then. */
    C *release() noexcept { return std::exchange(c_, nullptr); }
    /* Frees or closes it now. */
    void reset() noexcept { Free(&c_); }

  protected:
    C *c_ = nullptr;
};

/* A result that is a struct: its members are read with ->. */
template <class C, void (*Free)(C **)>
class record : public handle<C, Free>
{
  public:
    using handle<C, Free>::handle;
    const C *operator->() const noexcept { return this->c_; }
    const C &operator*() const noexcept { return *this->c_; }
};

/* A result that is a list of structs: a range of them. */
template <class C, class Item, void (*Free)(C **)>
class list : public record<C, Free>
{
  public:
    using record<C, Free>::record;
    std::size_t size() const noexcept { return this->c_ != nullptr ? this->c_->n : 0; }
    const Item *begin() const noexcept
    {
        return this->c_ != nullptr ? this->c_->items : nullptr;
    }
    const Item *end() const noexcept { return begin() + size(); }
    const Item &operator[](std::size_t i) const noexcept { return begin()[i]; }
};

} // namespace detail
} // namespace tinkc

#endif
