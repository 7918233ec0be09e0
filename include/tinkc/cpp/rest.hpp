/* What the server stores: runs, checkpoints, sessions, audit and billing, with pagers,
 * searches, downloads and uploads: <tinkc/rest.h>, <tinkc/search.h>, <tinkc/weights.h>,
 * <tinkc/download.h>, <tinkc/push.h>, <tinkc/pull.h>, <tinkc/upload.h>. Results are the
 * structs of the C API, read with ->; lists are ranges of them. Thread: any; a pager one at
 * a time. */
#ifndef TINKC_CPP_REST_HPP
#define TINKC_CPP_REST_HPP

#include <tinkc/cpp/clients.hpp>

namespace tinkc
{

/* ---- results ---- */

using run = detail::record<tinkc_run, tinkc_run_free>;
using runs = detail::list<tinkc_runs, tinkc_run, tinkc_runs_free>;
using checkpoints =
    detail::list<tinkc_checkpoints, tinkc_checkpoint, tinkc_checkpoints_free>;
using archive = detail::record<tinkc_archive, tinkc_archive_free>;
using weights_info = detail::record<tinkc_weights_info, tinkc_weights_info_free>;
using sampler_info = detail::record<tinkc_sampler_info, tinkc_sampler_info_free>;
using session_info = detail::record<tinkc_session_info, tinkc_session_info_free>;
using sessions = detail::record<tinkc_sessions, tinkc_sessions_free>;
using whoami = detail::record<tinkc_whoami, tinkc_whoami_free>;
using audit = detail::list<tinkc_audit, tinkc_audit_entry, tinkc_audit_free>;
using billing = detail::list<tinkc_billing, tinkc_billing_event, tinkc_billing_free>;
using found_sessions =
    detail::list<tinkc_found_sessions, tinkc_found_session, tinkc_found_sessions_free>;
using storage = detail::list<tinkc_storage, tinkc_storage_item, tinkc_storage_free>;
using file_urls = detail::list<tinkc_file_urls, tinkc_pair, tinkc_file_urls_free>;
using pushed = detail::record<tinkc_pushed, tinkc_pushed_free>;

namespace detail
{

template <>
struct result_of<run> : owned_result<run, tinkc_run, tinkc_future_await_run> {
};
template <>
struct result_of<runs> : owned_result<runs, tinkc_runs, tinkc_future_await_runs> {
};
template <>
struct result_of<checkpoints>
    : owned_result<checkpoints, tinkc_checkpoints, tinkc_future_await_checkpoints> {
};
template <>
struct result_of<archive>
    : owned_result<archive, tinkc_archive, tinkc_future_await_archive> {
};
template <>
struct result_of<weights_info>
    : owned_result<weights_info, tinkc_weights_info, tinkc_future_await_weights_info> {
};
template <>
struct result_of<sampler_info>
    : owned_result<sampler_info, tinkc_sampler_info, tinkc_future_await_sampler_info> {
};
template <>
struct result_of<session_info>
    : owned_result<session_info, tinkc_session_info, tinkc_future_await_session_info> {
};
template <>
struct result_of<sessions>
    : owned_result<sessions, tinkc_sessions, tinkc_future_await_sessions> {
};
template <>
struct result_of<whoami> : owned_result<whoami, tinkc_whoami, tinkc_future_await_whoami> {
};
template <>
struct result_of<audit> : owned_result<audit, tinkc_audit, tinkc_future_await_audit> {
};
template <>
struct result_of<billing>
    : owned_result<billing, tinkc_billing, tinkc_future_await_billing> {
};
template <>
struct result_of<found_sessions> : owned_result<found_sessions, tinkc_found_sessions,
                                                tinkc_future_await_found_sessions> {
};
template <>
struct result_of<storage>
    : owned_result<storage, tinkc_storage, tinkc_future_await_storage> {
};
template <>
struct result_of<file_urls>
    : owned_result<file_urls, tinkc_file_urls, tinkc_future_await_file_urls> {
};

/* The functions of a pager over one kind of items. */
template <class T>
struct pages;
template <>
struct pages<tinkc_run> {
    static constexpr auto open = tinkc_pager_runs;
    static constexpr auto next = tinkc_pager_next_run;
};
template <>
struct pages<tinkc_checkpoint> {
    static constexpr auto open = tinkc_pager_checkpoints;
    static constexpr auto next = tinkc_pager_next_checkpoint;
};
template <>
struct pages<char> {
    static constexpr auto open = tinkc_pager_sessions;
    static constexpr auto next = tinkc_pager_next_session;
};

} // namespace detail

/* ---- pagers ---- */

/* A walk over a list of any length: for (const tinkc_run &run : pager), with
 * `pager` from rest.all_runs(). The pages are fetched while it goes on; a failure is thrown. The service must stay open. An item is
 * valid until the next one. */
template <class T>
class pager : public detail::handle<tinkc_pager, tinkc_pager_close>
{
  public:
    using handle::handle;

    /* Returns the next item, borrowed until the next call; NULL at the end. After a failure
     * the call may be repeated. */
    template <template <class> class R = throwing>
    R<const T *> next()
    {
        const T *item = nullptr;
        tinkc_error *err = nullptr;
        tinkc_code code = detail::pages<T>::next(&item, c_, &err);
        if (code == TINKC_E_MISSING) {
            tinkc_error_free(&err);
            code = TINKC_OK;
        }
        return detail::finish<R>(code, err, [&] { return item; });
    }
    /* Returns whether there is another item; may fetch a page. */
    template <template <class> class R = throwing>
    R<bool> has_next()
    {
        bool has = false;
        tinkc_error *err = nullptr;
        tinkc_code code = tinkc_pager_has_next(&has, c_, &err);
        return detail::finish<R>(code, err, [&] { return has; });
    }
    /* Returns the number of items according to the last page; -1: not known. */
    std::int64_t total() const noexcept { return tinkc_pager_total(c_); }
    detail::pull_iterator<pager, T> begin() { return {*this}; }
    detail::pull_end end() const noexcept { return {}; }
};

using run_pager = pager<tinkc_run>;
using checkpoint_pager = pager<tinkc_checkpoint>;
/* Of session ids: next() gives a NUL-terminated text. */
using session_pager = pager<char>;

/* ---- requests ---- */

/* Called on the calling thread while a transfer goes on; false stops it. What it throws is
 * thrown at the end. */
using progress_function = std::function<bool(const tinkc_progress &progress)>;
using push_function = std::function<bool(const tinkc_push_progress &progress)>;
using pull_function = std::function<bool(const tinkc_pull_progress &progress)>;

/* What can be asked about stored things, for a service that must stay open. A path is that
 * of a checkpoint, "tinker://<run>/weights/<name>". */
class rest
{
  public:
    explicit rest(const service &of) noexcept : c_(of.c_ptr()) {}
    rest(const service &&of) = delete; /* the service must outlive it */

    /* Pagers over all runs, checkpoints and sessions of the user. */
    template <template <class> class R = throwing>
    R<run_pager> all_runs(const pager_options &options = {}) const
    {
        return open<R, tinkc_run>(options);
    }
    template <template <class> class R = throwing>
    R<checkpoint_pager> all_checkpoints(const pager_options &options = {}) const
    {
        return open<R, tinkc_checkpoint>(options);
    }
    template <template <class> class R = throwing>
    R<session_pager> all_sessions(const pager_options &options = {}) const
    {
        return open<R, char>(options);
    }

    /* One run, by its id or by a checkpoint of it, and one page of runs. */
    future<run> get_run(cstring id, tinkc_scope scope = TINKC_SCOPE_OWNED) const
    {
        return future<run>(tinkc_rest_get_run(c_, id.c_str(), scope));
    }
    future<run> get_run_of_path(cstring path, tinkc_scope scope = TINKC_SCOPE_OWNED) const
    {
        return future<run>(tinkc_rest_get_run_of_path(c_, path.c_str(), scope));
    }
    future<runs> list_runs(const list_options &options = {}) const
    {
        return future<runs>(tinkc_rest_list_runs(c_, &options));
    }

    /* The checkpoints of a run, and one page of the user's. */
    future<checkpoints> list_checkpoints(cstring run_id) const
    {
        return future<checkpoints>(tinkc_rest_list_checkpoints(c_, run_id.c_str()));
    }
    future<checkpoints> list_user_checkpoints(const list_options &options = {}) const
    {
        return future<checkpoints>(tinkc_rest_list_user_checkpoints(c_, &options));
    }
    /* Deletes a checkpoint; makes it public, or private again; sets when it expires. */
    future<void> delete_checkpoint(cstring path) const
    {
        return future<void>(tinkc_rest_delete_checkpoint(c_, path.c_str()));
    }
    future<void> publish_checkpoint(cstring path) const
    {
        return future<void>(tinkc_rest_publish_checkpoint(c_, path.c_str()));
    }
    future<void> unpublish_checkpoint(cstring path) const
    {
        return future<void>(tinkc_rest_unpublish_checkpoint(c_, path.c_str()));
    }
    future<void> set_checkpoint_ttl(cstring path, std::int64_t ttl_seconds) const
    {
        return future<void>(tinkc_rest_set_checkpoint_ttl(c_, path.c_str(), ttl_seconds));
    }
    /* Where its archive can be fetched, what kind of weights it holds, a copy of it in a
     * project (the result is its path), and the URLs of external weights. */
    future<archive> archive_url(cstring path) const
    {
        return future<archive>(tinkc_rest_archive_url(c_, path.c_str()));
    }
    future<weights_info> get_weights_info(cstring path) const
    {
        return future<weights_info>(tinkc_rest_weights_info(c_, path.c_str()));
    }
    future<std::string> copy_weights(cstring path, const copy_options &options = {}) const
    {
        return future<std::string>(tinkc_rest_copy_weights(c_, path.c_str(), &options));
    }
    future<file_urls> external_urls(cstring path) const
    {
        return future<file_urls>(tinkc_rest_external_urls(c_, path.c_str()));
    }

    /* Samplers and sessions. */
    future<sampler_info> get_sampler(cstring id) const
    {
        return future<sampler_info>(tinkc_rest_get_sampler(c_, id.c_str()));
    }
    future<session_info> get_session(cstring id,
                                     tinkc_scope scope = TINKC_SCOPE_OWNED) const
    {
        return future<session_info>(tinkc_rest_get_session(c_, id.c_str(), scope));
    }
    future<sessions> list_sessions(const list_options &options = {}) const
    {
        return future<sessions>(tinkc_rest_list_sessions(c_, &options));
    }
    future<void> assign_project(cstring session_id, cstring project_id) const
    {
        return future<void>(
            tinkc_rest_assign_project(c_, session_id.c_str(), project_id.c_str()));
    }
    /* Lets the server write a trace of a session; the result is its URL. */
    future<std::string> export_trace(cstring session_id) const
    {
        return future<std::string>(tinkc_rest_export_trace(c_, session_id.c_str()));
    }

    /* Searches, one page each, and what the checkpoints take. */
    future<found_sessions> search_sessions(const session_query &query = {}) const
    {
        return future<found_sessions>(tinkc_rest_search_sessions(c_, &query));
    }
    future<checkpoints> search_checkpoints(const checkpoint_query &query = {}) const
    {
        return future<checkpoints>(tinkc_rest_search_checkpoints(c_, &query));
    }
    future<storage> get_storage(cstring project_id = nullptr) const
    {
        return future<storage>(tinkc_rest_storage(c_, project_id.c_str()));
    }

    /* The account, its audit log of a day (NULL: today), its usage per hour. */
    future<whoami> get_whoami() const { return future<whoami>(tinkc_rest_whoami(c_)); }
    future<audit> get_audit(tinkc_audit_events events = TINKC_AUDIT_ALL,
                            cstring day = nullptr) const
    {
        return future<audit>(tinkc_rest_audit(c_, events, day.c_str()));
    }
    future<billing> get_billing(std::int64_t start_us, std::int64_t end_us) const
    {
        return future<billing>(tinkc_rest_billing(c_, start_us, end_us));
    }

    /* Downloads the files of a checkpoint into the new directory `target`; blocks. */
    template <template <class> class R = throwing>
    R<tinkc_progress> download(cstring path, cstring target,
                               const download_options &options = {},
                               progress_function fn = nullptr) const
    {
        return fetch<R>(tinkc_download_checkpoint, path, target, options, std::move(fn));
    }
    /* Downloads a URL to a file, without credentials; blocks. */
    template <template <class> class R = throwing>
    R<tinkc_progress> download_url(cstring url, cstring file,
                                   const download_options &options = {},
                                   progress_function fn = nullptr) const
    {
        return fetch<R>(tinkc_download_url, url, file, options, std::move(fn));
    }
    /* Pushes a checkpoint to the Hugging Face Hub; blocks. */
    template <template <class> class R = throwing>
    R<pushed> push(cstring path, push_options options = {},
                   push_function fn = nullptr) const
    {
        detail::callback<push_function> self(std::move(fn));
        if (self.fn) {
            options.user = &self;
            options.fn = call_back<push_function, tinkc_push_progress>;
        }
        tinkc_pushed *out = nullptr;
        tinkc_error *err = nullptr;
        tinkc_code code = tinkc_push_checkpoint(&out, c_, path.c_str(), &options, &err);
        detail::rethrow<R>(code, &err, self.caught.get());
        return detail::finish<R>(code, err, [&] { return pushed(out); });
    }
    /* Fetches a model from the Hugging Face Hub; returns its directory; blocks. */
    template <template <class> class R = throwing>
    R<std::string> pull(cstring model, pull_options options = {},
                        pull_function fn = nullptr) const
    {
        detail::callback<pull_function> self(std::move(fn));
        if (self.fn) {
            options.user = &self;
            options.fn = call_back<pull_function, tinkc_pull_progress>;
        }
        return detail::text<R>([&](char **out, std::size_t *, tinkc_error **err) {
            tinkc_code code = tinkc_pull_model(out, c_, model.c_str(), &options, err);
            detail::rethrow<R>(code, err, self.caught.get());
            return code;
        });
    }
    /* Uploads an adapter in PEFT's format; returns the path of the checkpoint; blocks. */
    template <template <class> class R = throwing>
    R<std::string> upload(cstring directory, const upload_options &options = {}) const
    {
        return detail::text<R>([&](char **out, std::size_t *, tinkc_error **err) {
            return tinkc_upload_adapter(out, c_, directory.c_str(), &options, err);
        });
    }

  private:
    template <class F, class P>
    static bool call_back(const P *progress, void *user)
    {
        auto *self = detail::callback<F>::of(user);
        return detail::contain(self->caught.get(), false,
                               [&] { return self->fn(*progress); });
    }
    template <template <class> class R, class T>
    R<pager<T>> open(const pager_options &options) const
    {
        return detail::own<R, pager<T>>([&](auto out, auto err) {
            return detail::pages<T>::open(out, c_, &options, err);
        });
    }
    using fetcher = tinkc_code(tinkc_progress *, tinkc_service *, const char *,
                               const char *, const tinkc_download_options *,
                               tinkc_error **);
    template <template <class> class R>
    R<tinkc_progress> fetch(fetcher *get, cstring from, cstring to,
                            download_options options, progress_function fn) const
    {
        detail::callback<progress_function> self(std::move(fn));
        if (self.fn) {
            options.user = &self;
            options.fn = call_back<progress_function, tinkc_progress>;
        }
        tinkc_progress out = {};
        tinkc_error *err = nullptr;
        tinkc_code code = get(&out, c_, from.c_str(), to.c_str(), &options, &err);
        detail::rethrow<R>(code, &err, self.caught.get());
        return detail::finish<R>(code, err, [&] { return out; });
    }

    tinkc_service *c_;
};

/* Returns the directory of a model in the cache of Hugging Face's programs; sends nothing:
 * tinkc_pull_find. */
template <template <class> class R = throwing>
R<std::string> find_pulled(cstring model, const pull_options &options = {})
{
    return detail::text<R>([&](char **out, std::size_t *, tinkc_error **err) {
        return tinkc_pull_find(out, model.c_str(), &options, err);
    });
}

/* ---- times ---- */

/* Writes a time (microseconds since 1970) as RFC 3339, and reads one. */
inline std::string format_time(std::int64_t time_us)
{
    char text[40];
    (void)tinkc_time_format(text, sizeof(text), time_us);
    return text;
}
template <template <class> class R = throwing>
R<std::int64_t> parse_time(cstring text)
{
    std::int64_t out = 0;
    tinkc_error *err = nullptr;
    tinkc_code code = tinkc_time_parse(&out, text.c_str(), &err);
    return detail::finish<R>(code, err, [&] { return out; });
}

} // namespace tinkc

#endif
