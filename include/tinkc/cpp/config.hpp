/* The configuration of a service: <tinkc/config.h>, <tinkc/log.h>. Thread: one at a time
 * per configuration. */
#ifndef TINKC_CPP_CONFIG_HPP
#define TINKC_CPP_CONFIG_HPP

#include <tinkc/cpp/future.hpp>

namespace tinkc
{

/* Receives a line of the log; called on any thread. */
using log_function =
    std::function<void(tinkc_log_level level, const char *component, const char *line)>;

/* The configuration of a service, from the environment and what is set here. */
class config : public detail::handle<tinkc_config, tinkc_config_free>
{
  public:
    using handle::handle;

    /* Creates one with the defaults and the values of the environment. */
    template <template <class> class R = throwing>
    static R<config> create()
    {
        return detail::own<R, config>(tinkc_config_new);
    }
    /* Returns an independent copy; the log function is shared. */
    template <template <class> class R = throwing>
    R<config> copy() const
    {
        tinkc_config *out = nullptr;
        tinkc_error *err = nullptr;
        tinkc_code code = tinkc_config_copy(&out, c_, &err);
        return detail::finish<R>(code, err, [&] {
            config twin(out);
            twin.log_ = log_;
            return twin;
        });
    }
    /* Sets an option by its name (docs/config.md); NULL: its default. */
    template <template <class> class R = throwing>
    R<void> set(cstring option, cstring value)
    {
        return put<R>(tinkc_config_set, option, value);
    }
    /* Sets a header, a query parameter, or an entry of the session's metadata; NULL removes
     * the first two. */
    template <template <class> class R = throwing>
    R<void> set_header(cstring header, cstring value)
    {
        return put<R>(tinkc_config_set_header, header, value);
    }
    template <template <class> class R = throwing>
    R<void> set_query(cstring parameter, cstring value)
    {
        return put<R>(tinkc_config_set_query, parameter, value);
    }
    template <template <class> class R = throwing>
    R<void> set_metadata(cstring key, cstring value)
    {
        return put<R>(tinkc_config_set_metadata, key, value);
    }
    /* Adds a tag to the session. */
    template <template <class> class R = throwing>
    R<void> add_tag(cstring tag)
    {
        return detail::check<R>(
            [&](auto err) { return tinkc_config_add_tag(c_, tag.c_str(), err); });
    }
    /* Returns the effective value of an option: "" when it is not set, "***" of a secret. */
    std::string get(cstring option) const
    {
        std::string out(tinkc_config_get(nullptr, 0, c_, option.c_str()), '\0');
        (void)tinkc_config_get(out.data(), out.size() + 1, c_, option.c_str());
        return out;
    }
    /* Sets the function that receives log lines; an exception that leaves it is
     * discarded. Services opened with this configuration keep it alive. */
    void set_log(log_function fn)
    {
        log_ = std::make_shared<log_function>(std::move(fn));
        auto call = [](tinkc_log_level level, const char *component, const char *line,
                       void *user) {
            detail::contain(nullptr, 0, [&] {
                (*static_cast<log_function *>(user))(level, component, line);
                return 0;
            });
        };
        tinkc_config_set_log(c_, *log_ ? static_cast<tinkc_log_fn>(call) : nullptr,
                             log_.get());
    }
    /* Returns a row of the table of options; nothing past the end. */
    static std::optional<tinkc_config_option> option_at(std::size_t index) noexcept
    {
        tinkc_config_option out = {};
        return tinkc_config_option_at(&out, index)
                   ? std::optional<tinkc_config_option>(out)
                   : std::nullopt;
    }

  private:
    friend class service;
    using setter = tinkc_code(tinkc_config *, const char *, const char *, tinkc_error **);

    template <template <class> class R>
    R<void> put(setter *set_one, cstring key, cstring value)
    {
        return detail::check<R>(
            [&](auto err) { return set_one(c_, key.c_str(), value.c_str(), err); });
    }
    std::shared_ptr<log_function> log_;
};

/* Reads the name of a log level; nothing for anything else. */
inline std::optional<tinkc_log_level> parse_log_level(cstring text) noexcept
{
    tinkc_log_level level = TINKC_LOG_OFF;
    return tinkc_log_level_parse(&level, text.c_str())
               ? std::optional<tinkc_log_level>(level)
               : std::nullopt;
}

} // namespace tinkc

#endif
