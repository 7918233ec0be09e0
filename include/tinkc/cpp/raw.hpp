/* Requests for which the library has no function: <tinkc/raw.h>. Thread: any; a stream one
 * at a time, and not the loop's. */
#ifndef TINKC_CPP_RAW_HPP
#define TINKC_CPP_RAW_HPP

#include <tinkc/cpp/clients.hpp>

namespace tinkc
{

namespace detail
{

/* What responses offer. */
template <class D>
class raw_response_members
{
  public:
    int status() const noexcept { return tinkc_raw_response_status(self()); }
    /* Returns the first header of that name; NULL: there is none. */
    const char *header(cstring header_name) const noexcept
    {
        return tinkc_raw_response_header(self(), header_name.c_str());
    }
    /* Returns a header by its place; nothing past the end. */
    std::optional<tinkc_pair> header_at(std::size_t i) const noexcept
    {
        tinkc_pair out = {nullptr, nullptr};
        return tinkc_raw_response_header_at(&out, self(), i)
                   ? std::optional<tinkc_pair>(out)
                   : std::nullopt;
    }
    /* Returns the body, borrowed. */
    std::string_view body() const noexcept
    {
        std::size_t n = 0;
        const char *bytes = tinkc_raw_response_body(&n, self());
        return bytes != nullptr ? std::string_view(bytes, n) : std::string_view();
    }

  private:
    const tinkc_raw_response *self() const noexcept
    {
        return static_cast<const D *>(this)->c_ptr();
    }
};

} // namespace detail

/* A response. */
class raw_response : public detail::handle<tinkc_raw_response, tinkc_raw_response_free>,
                     public detail::raw_response_members<raw_response>
{
  public:
    using handle::handle;
};

/* The status and headers of a streamed response, which must outlive the view. */
class raw_head : public detail::raw_response_members<raw_head>
{
  public:
    explicit raw_head(const tinkc_raw_response *c) noexcept : c_(c) {}
    const tinkc_raw_response *c_ptr() const noexcept { return c_; }

  private:
    const tinkc_raw_response *c_;
};

namespace detail
{

template <>
struct result_of<raw_response>
    : owned_result<raw_response, tinkc_raw_response, tinkc_future_await_raw_response> {
};

} // namespace detail

/* Sends a request and collects the response. */
inline future<raw_response> send(const service &to, const raw_request &request)
{
    return future<raw_response>(tinkc_raw_send(to.c_ptr(), &request));
}

/* Sends a request and writes the body to a file, which appears complete or not at all;
 * returns its size. Blocks. */
template <template <class> class R = throwing>
R<std::uint64_t> save(const service &to, const raw_request &request, cstring file)
{
    std::uint64_t written = 0;
    tinkc_error *err = nullptr;
    tinkc_code code = tinkc_raw_save(&written, to.c_ptr(), &request, file.c_str(), &err);
    return detail::finish<R>(code, err, [&] { return written; });
}

/* A response whose body is read as it comes. */
class raw_stream : public detail::handle<tinkc_raw_stream, tinkc_raw_stream_close>
{
  public:
    using handle::handle;

    /* Sends a request and waits for status and headers. */
    template <template <class> class R = throwing>
    static R<raw_stream> open(const service &to, const raw_request &request)
    {
        return detail::own<R, raw_stream>([&](auto out, auto err) {
            return tinkc_raw_open(out, to.c_ptr(), &request, err);
        });
    }
    /* Returns the status and the headers. */
    raw_head head() const noexcept { return raw_head(tinkc_raw_stream_head(c_)); }
    /* Fills the start of `out` and returns how many bytes; 0 at the end. */
    template <template <class> class R = throwing>
    R<std::size_t> read(span<char> out, std::int64_t timeout_ms = TINKC_FOREVER)
    {
        std::size_t n = 0;
        tinkc_error *err = nullptr;
        tinkc_code code =
            tinkc_raw_stream_read(out.data(), out.size(), &n, c_, timeout_ms, &err);
        return detail::finish<R>(code, err, [&] { return n; });
    }
};

} // namespace tinkc

#endif
