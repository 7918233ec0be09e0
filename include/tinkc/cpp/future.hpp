/* Futures of operations, and queues of completed futures: <tinkc/future.h>. A future is
 * like a std::future that can also be cancelled, explained and put into a queue. Thread:
 * any; get() not in a callback on the loop's thread. */
#ifndef TINKC_CPP_FUTURE_HPP
#define TINKC_CPP_FUTURE_HPP

#include <functional>
#include <mutex>

#include <tinkc/cpp/base.hpp>

namespace tinkc
{

template <class T>
class future;

namespace detail
{

/* The exception that left a callback of an operation, for get() to throw. */
class caught
{
  public:
#if TINKC_CPP_EXCEPTIONS
    void keep() noexcept
    {
        std::lock_guard<std::mutex> lock(mutex_);
        what_ = std::current_exception();
    }
    void rethrow()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        std::exception_ptr what = what_;
        lock.unlock();
        if (what) {
            std::rethrow_exception(what);
        }
    }

  private:
    std::mutex mutex_;
    std::exception_ptr what_;
#endif
};

/* Runs code of the program inside a C callback: an exception does not leave it, but is
 * kept, and `otherwise` is returned. `c` may be NULL: then it is discarded. */
template <class T, class Call>
T contain(caught *c, T otherwise, Call call) noexcept
{
#if TINKC_CPP_EXCEPTIONS
    try {
        return call();
    } catch (...) {
        if (c != nullptr) {
            c->keep();
        }
        return otherwise;
    }
#else
    (void)c, (void)otherwise;
    return call();
#endif
}

/* What a C callback gets as `user`: the function of the program. */
template <class F>
struct callback {
    F fn;
    std::shared_ptr<detail::caught> caught = std::make_shared<detail::caught>();

    explicit callback(F f) : fn(std::move(f)) {}
    static callback *of(void *user) noexcept { return static_cast<callback *>(user); }
    static void destroy(void *user) noexcept { delete of(user); }
};

/* In the throwing way, the exception of the callback itself is thrown. */
template <template <class> class R>
void rethrow(tinkc_code code, tinkc_error **err, caught *c)
{
#if TINKC_CPP_EXCEPTIONS
    if constexpr (throws<R>) {
        if (code != TINKC_OK && c != nullptr) {
            error kept(code, std::exchange(*err, nullptr));
            c->rethrow();
            throw kept;
        }
    }
#endif
    (void)code, (void)err, (void)c;
}

/* How the result of a future of T is awaited. */
template <class T>
struct result_of;

/* The usual way: T takes over what the C function hands out. */
template <class T, class C, tinkc_code (*Await)(C **, tinkc_future **, tinkc_error **)>
struct owned_result {
    template <template <class> class R>
    static R<T> get(tinkc_code *code, tinkc_future **future, caught *c)
    {
        C *out = nullptr;
        tinkc_error *err = nullptr;
        *code = Await(&out, future, &err);
        rethrow<R>(*code, &err, c);
        return finish<R>(*code, err, [&] { return T(out); });
    }
};

} // namespace detail

/* What a future is without the type of its result. */
class untyped_future : public detail::handle<tinkc_future, tinkc_future_free>
{
  public:
    using handle::handle;

    /* Returns whether the operation has completed, with a result or an error. */
    bool is_done() const noexcept { return tinkc_future_is_done(c_); }
    /* Waits until it is done, at most `timeout_ms`; returns whether it is. False at once in
     * a callback on the loop's thread, where a wait would never end, and when empty. */
    bool wait(std::int64_t timeout_ms = TINKC_FOREVER) const noexcept
    {
        (void)tinkc_future_wait(c_, timeout_ms);
        return is_done();
    }
    /* Returns the error of the operation: nothing before the end and after a success. */
    std::optional<error> failure() const
    {
        const tinkc_error *failed = tinkc_future_error(c_);
        if (failed == nullptr) {
            return std::nullopt;
        }
        return error(tinkc_error_code(failed), tinkc_future_take_error(c_));
    }
    /* Completes it with TINKC_E_CANCELLED unless it is done: tinkc_future_cancel. */
    void cancel() const noexcept { tinkc_future_cancel(c_); }
    /* Calls `fn` once when it is done: on the loop's thread, on the thread that cancels, or
     * before this returns. It must not block. An exception that leaves it is discarded. A
     * future can have one: tinkc_future_on_done. */
    template <template <class> class R = throwing>
    R<void> on_done(std::function<void()> fn) const
    {
        using state = detail::callback<std::function<void()>>;
        auto kept = std::make_unique<state>(std::move(fn));
        auto call = [](tinkc_future *, void *user) {
            std::unique_ptr<state> self(state::of(user));
            detail::contain(nullptr, 0, [&] { return self->fn(), 0; });
        };
        tinkc_error *err = nullptr;
        tinkc_code code = tinkc_future_on_done(c_, call, kept.get(), &err);
        if (code == TINKC_OK) {
            (void)kept.release();
        }
        return detail::finish<R>(code, err);
    }
    /* Returns what the operation is waiting for: tinkc_future_status. */
    template <template <class> class R = throwing>
    R<tinkc_wait> status() const
    {
        tinkc_wait wait = TINKC_WAIT_INIT;
        tinkc_error *err = nullptr;
        tinkc_code code = tinkc_future_status(&wait, c_, &err);
        return detail::finish<R>(code, err, [&] { return wait; });
    }
    /* Returns one sentence about what it is waiting for: tinkc_future_explain. */
    std::string explain() const
    {
        char text[512];
        (void)tinkc_future_explain(text, sizeof(text), c_);
        return text;
    }
    /* Returns the context that the operation was called with, borrowed; NULL: none. */
    const tinkc_context *context() const noexcept { return tinkc_future_context(c_); }
    /* Returns a second reference to the same operation. Only one of the two can get the
     * result. */
    untyped_future share() const { return with(tinkc_future_ref(c_), caught_); }
    /* Makes it a future of T, for what comes out of a queue. A result of another kind is
     * TINKC_E_STATE in get(). */
    template <class T>
    future<T> as() &&
    {
        return future<T>(std::move(*this));
    }

    /* Takes over a C future whose callbacks use `state`, which is deleted when the
     * operation has ended and its last reference is gone. */
    template <class F>
    static untyped_future with_callback(tinkc_future *c,
                                        std::unique_ptr<detail::callback<F>> state)
    {
        untyped_future out = with(c, state->caught);
        if (tinkc_future_on_free(c, detail::callback<F>::destroy, state.get(), nullptr) ==
            TINKC_OK) {
            (void)state.release();
        }
        return out;
    }

  protected:
    static untyped_future with(tinkc_future *c, std::shared_ptr<detail::caught> kept)
    {
        untyped_future out(c);
        out.caught_ = std::move(kept);
        return out;
    }
    std::shared_ptr<detail::caught> caught_; /* of the operation's callback, or empty */
};

/* The future of an operation whose result is a T (void: none). */
template <class T>
class [[nodiscard]] future : public untyped_future
{
  public:
    using untyped_future::untyped_future;
    explicit future(untyped_future &&from) : untyped_future(std::move(from)) {}

    /* Waits until the operation is done and returns its result; the future is empty then.
     * Where a callback of the operation threw, that exception is thrown. */
    template <template <class> class R = throwing>
    R<T> get()
    {
        tinkc_code code = TINKC_OK;
        auto kept = std::move(caught_);
        return detail::result_of<T>::template get<R>(&code, &c_, kept.get());
    }
};

namespace detail
{

template <>
struct result_of<void> {
    template <template <class> class R>
    static R<void> get(tinkc_code *code, tinkc_future **future, caught *c)
    {
        tinkc_error *err = nullptr;
        *code = tinkc_future_await(future, &err);
        rethrow<R>(*code, &err, c);
        return finish<R>(*code, err);
    }
};

template <>
struct result_of<std::string> {
    template <template <class> class R>
    static R<std::string> get(tinkc_code *code, tinkc_future **future, caught *)
    {
        return text<R>([&](char **out, std::size_t *, tinkc_error **err) {
            return *code = tinkc_future_await_text(out, future, err);
        });
    }
};

} // namespace detail

/* Returns one sentence about what an operation waits for, as service::waits lists it. */
inline std::string explain(const tinkc_wait &wait)
{
    char text[512];
    (void)tinkc_wait_explain(text, sizeof(text), &wait);
    return text;
}

/* Waits until all futures are done, at most `timeout_ms`; returns whether they are. */
template <class T>
bool wait_all(span<const future<T>> futures, std::int64_t timeout_ms = TINKC_FOREVER)
{
    std::vector<tinkc_future *> all;
    for (const future<T> &one : futures) {
        all.push_back(one.c_ptr());
    }
    (void)tinkc_future_wait_all(all.data(), all.size(), timeout_ms);
    for (const future<T> &one : futures) {
        if (!one.is_done()) {
            return false;
        }
    }
    return true;
}
template <class T>
bool wait_all(const std::vector<future<T>> &futures,
              std::int64_t timeout_ms = TINKC_FOREVER)
{
    return wait_all(span<const future<T>>(futures), timeout_ms);
}

/* Waits until one of the futures is done and returns its index; nothing when none is done
 * in time, there is none, or one is empty. For thousands of them use a queue. */
template <class T>
std::optional<std::size_t> wait_any(const std::vector<future<T>> &futures,
                                    std::int64_t timeout_ms = TINKC_FOREVER)
{
    std::vector<tinkc_future *> all;
    for (const future<T> &one : futures) {
        all.push_back(one.c_ptr());
    }
    std::size_t index = 0;
    return tinkc_future_wait_any(&index, all.data(), all.size(), timeout_ms) == TINKC_OK
               ? std::optional<std::size_t>(index)
               : std::nullopt;
}

/* What comes out of a queue. */
struct completed {
    untyped_future future; /* done; std::move(x.future).as<samples>().get() */
    std::uintptr_t tag = 0;
};

/* A queue of completed futures, in the order of their completion: wait-any over
 * thousands, and a descriptor for poll and epoll. */
class queue : public detail::handle<tinkc_queue, tinkc_queue_close>
{
  public:
    using handle::handle;

    /* Opens a queue: tinkc_queue_open. */
    template <template <class> class R = throwing>
    static R<queue> open()
    {
        return detail::own<R, queue>(tinkc_queue_open);
    }
    /* Attaches a future with a number of the caller's choice. The queue holds a reference:
     * the caller may drop its own. A future can be added once: tinkc_queue_add. */
    template <template <class> class R = throwing>
    R<void> add(const untyped_future &future, std::uintptr_t tag = 0) const
    {
        return detail::check<R>([&](tinkc_error **err) {
            return tinkc_queue_add(c_, future.c_ptr(), reinterpret_cast<void *>(tag),
                                   err);
        });
    }
    /* Takes the next completed future. Nothing when none completed in time, and when none
     * is attached (pending() tells): tinkc_queue_take. */
    template <template <class> class R = throwing>
    R<std::optional<completed>> take(std::int64_t timeout_ms = TINKC_FOREVER) const
    {
        tinkc_future *future = nullptr;
        void *tag = nullptr;
        tinkc_error *err = nullptr;
        tinkc_code code = tinkc_queue_take(&future, &tag, c_, timeout_ms, &err);
        if (code == TINKC_E_TIMEOUT || code == TINKC_E_MISSING) {
            tinkc_error_free(&err);
            return std::optional<completed>();
        }
        return detail::finish<R>(code, err, [&] {
            return std::optional<completed>(
                completed{untyped_future(future), reinterpret_cast<std::uintptr_t>(tag)});
        });
    }
    /* Returns how many futures are attached and not taken yet. */
    std::size_t pending() const noexcept { return tinkc_queue_pending(c_); }
    /* Returns a descriptor that is readable while a completed future can be taken; the
     * queue owns it. */
    int fd() const noexcept { return tinkc_queue_fd(c_); }
};

} // namespace tinkc

#endif
