/* What the library does, as numbers and events: meters, traces, the token ledger, hooks and
 * telemetry: <tinkc/meter.h>, <tinkc/trace.h>, <tinkc/ledger.h>, <tinkc/hooks.h>,
 * <tinkc/telemetry.h>. Thread: any. */
#ifndef TINKC_CPP_INSIGHT_HPP
#define TINKC_CPP_INSIGHT_HPP

#include <tinkc/cpp/clients.hpp>

namespace tinkc
{

/* A copy of the counts of a meter. */
class readings : public detail::handle<tinkc_readings, tinkc_readings_free>
{
  public:
    using handle::handle;
    /* Returns the number of rows, one of them, and the one of a name and label; nothing
     * when there is none. Texts are borrowed. */
    std::size_t size() const noexcept { return tinkc_readings_count(c_); }
    std::optional<tinkc_reading> at(std::size_t i) const noexcept
    {
        tinkc_reading out = TINKC_READING_INIT;
        return tinkc_readings_at(&out, c_, i) ? std::optional<tinkc_reading>(out)
                                              : std::nullopt;
    }
    std::optional<tinkc_reading> find(cstring metric,
                                      cstring label = nullptr) const noexcept
    {
        tinkc_reading out = TINKC_READING_INIT;
        return tinkc_readings_find(&out, c_, metric.c_str(), label.c_str(), nullptr) ==
                       TINKC_OK
                   ? std::optional<tinkc_reading>(out)
                   : std::nullopt;
    }
    /* Writes them as JSON, or in the text format of Prometheus. */
    template <template <class> class R = throwing>
    R<std::string> json() const
    {
        return detail::text<R>([&](char **out, std::size_t *, tinkc_error **err) {
            return tinkc_readings_json(out, c_, err);
        });
    }
    template <template <class> class R = throwing>
    R<std::string> prometheus() const
    {
        return detail::text<R>([&](char **out, std::size_t *, tinkc_error **err) {
            return tinkc_readings_prometheus(out, c_, err);
        });
    }
};

/* Counts what services do. */
class meter : public detail::handle<tinkc_meter, tinkc_meter_free>
{
  public:
    using handle::handle;

    /* Creates a meter; attach() lets it count a service. */
    template <template <class> class R = throwing>
    static R<meter> create()
    {
        return detail::own<R, meter>(tinkc_meter_new);
    }
    template <template <class> class R = throwing>
    R<void> attach(const service &to) const
    {
        return detail::check<R>(
            [&](auto err) { return tinkc_meter_attach(c_, to.c_ptr(), err); });
    }
    /* Count something of the program's own: a counter, a gauge, a histogram. */
    template <template <class> class R = throwing>
    R<void> add(cstring metric, double amount) const
    {
        return detail::check<R>(
            [&](auto err) { return tinkc_meter_add(c_, metric.c_str(), amount, err); });
    }
    template <template <class> class R = throwing>
    R<void> set(cstring metric, double value) const
    {
        return detail::check<R>(
            [&](auto err) { return tinkc_meter_set(c_, metric.c_str(), value, err); });
    }
    template <template <class> class R = throwing>
    R<void> observe(cstring metric, double value) const
    {
        return detail::check<R>([&](auto err) {
            return tinkc_meter_observe(c_, metric.c_str(), value, err);
        });
    }
    /* Sets all counts to 0, except those of work in flight. */
    void restart() const noexcept { tinkc_meter_reset(c_); }
    /* Returns a copy of all counts. */
    template <template <class> class R = throwing>
    R<readings> read() const
    {
        return detail::own<R, readings>(
            [&](auto out, auto err) { return tinkc_meter_read(out, c_, err); });
    }
};

namespace detail
{

inline void close_trace(tinkc_trace **trace) noexcept
{
    (void)tinkc_trace_close(trace, nullptr);
}

} // namespace detail

/* Records services in a file for Perfetto. */
class trace : public detail::handle<tinkc_trace, detail::close_trace>
{
  public:
    using handle::handle;

    /* Creates the file; attach() records a service from then on. */
    template <template <class> class R = throwing>
    static R<trace> open(cstring path)
    {
        return detail::own<R, trace>(
            [&](auto out, auto err) { return tinkc_trace_open(out, path.c_str(), err); });
    }
    template <template <class> class R = throwing>
    R<void> attach(const service &to) const
    {
        return detail::check<R>(
            [&](auto err) { return tinkc_trace_attach(c_, to.c_ptr(), err); });
    }
    /* Completes and closes the file; TINKC_E_IO when part of it could not be written, which
     * the destructor does not report. */
    template <template <class> class R = throwing>
    R<void> close()
    {
        return detail::check<R>([&](auto err) { return tinkc_trace_close(&c_, err); });
    }
};

/* A copy of the token ledger of a service. */
class ledger : public detail::handle<tinkc_ledger, tinkc_ledger_free>
{
  public:
    using handle::handle;

    /* Copies the ledger of a service; sets its budget (negative: none). */
    template <template <class> class R = throwing>
    static R<ledger> of(const service &from)
    {
        return detail::own<R, ledger>([&](auto out, auto err) {
            return tinkc_service_read_ledger(out, from.c_ptr(), err);
        });
    }
    template <template <class> class R = throwing>
    static R<void> set_budget(const service &to, std::int64_t tokens)
    {
        return detail::check<R>(
            [&](auto err) { return tinkc_service_set_budget(to.c_ptr(), tokens, err); });
    }
    /* Returns the tokens of a kind, those that may have been used, those that unfinished
     * work can still use, and what is left of the budget (-1: there is none). */
    std::int64_t total(tinkc_token_kind kind) const noexcept
    {
        return tinkc_ledger_total(c_, kind);
    }
    std::int64_t uncertain() const noexcept { return tinkc_ledger_uncertain(c_); }
    std::int64_t reserved() const noexcept { return tinkc_ledger_reserved(c_); }
    std::int64_t left() const noexcept { return tinkc_ledger_left(c_); }
    /* Returns the number of runs, and of each its id and its tokens of a kind. */
    std::size_t runs() const noexcept { return tinkc_ledger_runs(c_); }
    const char *run_id(std::size_t run) const noexcept
    {
        return tinkc_ledger_run_id(c_, run);
    }
    std::int64_t run_tokens(std::size_t run, tinkc_token_kind kind) const noexcept
    {
        return tinkc_ledger_run_tokens(c_, run, kind);
    }
    /* Returns the number of steps of a run, and the training tokens of one. */
    std::size_t steps(std::size_t run) const noexcept
    {
        return tinkc_ledger_steps(c_, run);
    }
    std::int64_t step_tokens(std::size_t run, std::size_t step) const noexcept
    {
        return tinkc_ledger_step_tokens(c_, run, step);
    }
};

/* Receives events of a service, on any thread. */
using hook_function = std::function<void(const tinkc_hook &event)>;

/* Adds a hook, which lives as long as the service, its clients and its futures. An
 * exception that leaves it is discarded: tinkc_service_add_hook. */
template <template <class> class R = throwing>
R<void> add_hook(const service &to, hook_function fn)
{
    using state = detail::callback<hook_function>;
    auto kept = std::make_unique<state>(std::move(fn));
    auto call = [](const tinkc_hook *event, void *user) {
        detail::contain(nullptr, 0, [&] { return state::of(user)->fn(*event), 0; });
    };
    tinkc_error *err = nullptr;
    tinkc_code code =
        tinkc_service_add_hook(to.c_ptr(), call, kept.get(), state::destroy, &err);
    if (code == TINKC_OK) {
        (void)kept.release();
    }
    return detail::finish<R>(code, err);
}

/* Events that the program reports to the server: <tinkc/telemetry.h>. */
namespace telemetry
{

/* Reports an event; `data` is a JSON object or NULL. */
template <template <class> class R = throwing>
R<void> event(const service &to, cstring event_name,
              tinkc_severity severity = TINKC_SEVERITY_INFO, cstring data = nullptr)
{
    return detail::check<R>([&](auto err) {
        return tinkc_telemetry_event(to.c_ptr(), event_name.c_str(), severity,
                                     data.c_str(), err);
    });
}
/* Reports a failure of the program, with or without a tinkc::error. */
template <template <class> class R = throwing>
R<void> failure(const service &to, const tinkc::error &what)
{
    return detail::check<R>(
        [&](auto err) { return tinkc_telemetry_error(to.c_ptr(), what.c_ptr(), err); });
}
template <template <class> class R = throwing>
R<void> exception(const service &to, cstring type, cstring message,
                  cstring stack = nullptr, tinkc_severity severity = TINKC_SEVERITY_ERROR)
{
    return detail::check<R>([&](auto err) {
        return tinkc_telemetry_exception(to.c_ptr(), type.c_str(), message.c_str(),
                                         stack.c_str(), severity, err);
    });
}
/* Sends what is queued and waits until the server has accepted it. */
template <template <class> class R = throwing>
R<void> flush(const service &to, std::int64_t timeout_ms = TINKC_FOREVER)
{
    return detail::check<R>(
        [&](auto err) { return tinkc_telemetry_flush(to.c_ptr(), timeout_ms, err); });
}
/* Counts the events of the service so far. */
template <template <class> class R = throwing>
R<tinkc_telemetry_counts> count(const service &of)
{
    tinkc_telemetry_counts out = TINKC_TELEMETRY_COUNTS_INIT;
    tinkc_error *err = nullptr;
    tinkc_code code = tinkc_telemetry_count(&out, of.c_ptr(), &err);
    return detail::finish<R>(code, err, [&] { return out; });
}

} // namespace telemetry
} // namespace tinkc

#endif
