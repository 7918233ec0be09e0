/* Life, shutdown and the small shared things. How a core becomes ready is in
 * session.c. */
#include "client/core/core_int.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "client/call/poll_group.h"
#include "client/core/credentials.h"
#include "client/core/headers.h"
#include "http/curl_transport.h"
#include "http/url.h"

#define SERVER_MAX_BYTES  (64 * TK_KIB)
#define SOURCE_MAX_BYTES  (64 * TK_KIB)
#define HEADERS_MAX_BYTES (256 * TK_KIB)
#define DRIVE_MS          20

/* ---- life ---- */

tk_core *tk_core_ref(tk_core *core)
{
    atomic_fetch_add(&core->refs, 1);
    return core;
}

static void destroy(tk_core *core)
{
    if (core->pid == getpid()) {
        tk_loop_close(&core->loop); /* in a forked child its thread is not there */
    }
    tk_poll_group_free_all(&core->poll_groups);
    tk_cancel_dispose(&core->cancels);
    tk_finish_dispose(&core->finish);
    tk_telemetry_free(&core->telemetry);
    tk_limiter_close(&core->limiter);
    tk_auth_free(&core->auth);
    tk_log_free(core->log);
    tinkc_config_free(&core->config);
    tk_free(core->base_url);
    tk_mem_wipe(core->common_headers.p, core->common_headers.n);
    tk_buf_dispose(&core->common_headers);
    tk_free(atomic_load(&core->session_id));
    tk_arena_dispose(&core->flags_arena);
    tk_hooks_dispose(&core->hooks);
    tk_waits_dispose(&core->waits);
    if (core->pid == getpid()) {
        tk_worker_dispose(&core->worker); /* in a forked child it would wait for ever for
                                           * the thread that sleeps in the parent */
    }
    tk_ledger_dispose(&core->ledger);
    tk_free(core);
}

void tk_core_unref(tk_core **core_ref)
{
    tk_core *core = *core_ref;
    *core_ref = NULL;
    if (core != NULL && atomic_fetch_sub(&core->refs, 1) == 1) {
        destroy(core);
    }
}

static tinkc_code check_url(tk_core *core, tk_url *url, tk_err *err)
{
    const char *text = core->config->base_url;
    if (strcmp(text, "local") == 0) {
        return tk_err_set(
            err, TINKC_E_CONFIG,
            "base_url \"local\" is for the tinkc program; start a server with "
            "`tinkc serve` and set its URL");
    }
    tinkc_code code = tk_url_parse(url, tk_str_of(text), err);
    if (code != TINKC_OK) {
        return code;
    }
    core->base_url = tk_strdup(text);
    return core->base_url != NULL ? TINKC_OK : tk_err_nomem(err);
}

static tinkc_code make_log(tk_core *core, tk_err *err)
{
    const tinkc_config *config = core->config;
    tinkc_log_level level =
        config->wire_dump != 0 ? TINKC_LOG_DEBUG : (tinkc_log_level)config->log_level;
    tinkc_code code =
        tk_log_new(&core->log, level, config->log_fn, config->log_user, err);
    const char *secrets[] = {config->api_key, config->cf_access_secret};
    static const char *const names[] = {"api_key", "cf_access_secret"};
    for (size_t i = 0; code == TINKC_OK && i < TK_ARRAY_LEN(secrets); i++) {
        if (secrets[i] != NULL) {
            code = tk_log_add_secret(core->log, tk_str_of(secrets[i]), err);
        }
        if (code == TINKC_E_INVALID) {
            tk_err_clear(err);
            code = tk_err_set(err, code, "%s: %zu bytes are too short%s", names[i],
                              strlen(secrets[i]),
                              i == 0 ? "; an API key starts with \"tml-\"" : "");
        }
    }
    return code;
}

static tinkc_code make_transport(tk_transport **out, const tk_core *core, tk_err *err)
{
    const tinkc_config *config = core->config;
    tk_curl_options options = {.clock = core->clock,
                               .ca_file = config->ca_file,
                               .ca_dir = config->ca_dir,
                               .client_cert = config->client_cert,
                               .client_key = config->client_key,
                               .client_url = core->base_url,
                               .proxy = config->proxy,
                               .no_proxy = config->no_proxy};
    for (size_t i = 0; i < TK_HTTP_GROUPS; i++) {
        bool http1 = config->http1_only != 0 || config->http1[i] != 0;
        options.protocol[i] = http1 ? TK_CURL_HTTP1 : TK_CURL_AUTO;
        options.max_connections[i] = (size_t)config->connections[i];
    }
    if (config->train_single_connection != 0) {
        options.max_connections[TK_HTTP_TRAIN] = 1;
    }
    return tk_curl_transport_new(out, &options, err);
}

/* Services with the same server and the same key or command share the limits. */
static tinkc_code make_limiter(tk_core *core, const tk_url *url, tk_err *err)
{
    tk_auth_kind kind;
    const char *key = NULL;
    tk_buf server, source;
    tk_buf_init(&server, SERVER_MAX_BYTES);
    tk_buf_init(&source, SOURCE_MAX_BYTES);
    tinkc_code code =
        tk_auth_choose(&kind, &key, core->config, url->is_loopback, false, err);
    if (code != TINKC_OK) {
        goto out;
    }
    tk_url_key(&server, url);
    tk_buf_puts(&source, kind == TK_AUTH_KEY ? "key " : "command ");
    tk_buf_puts(&source, kind == TK_AUTH_KEY ? key : core->config->credential_cmd);
    code = tk_buf_status(&server, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tk_buf_status(&source, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tk_limiter_open(&core->limiter, tk_buf_str(&server), tk_buf_str(&source), err);
out:
    tk_mem_wipe(source.p, source.n);
    tk_buf_dispose(&server);
    tk_buf_dispose(&source);
    return code;
}

static void on_stop(void *user)
{
    tk_core *core = user;
    tk_op_cancel_all(&core->running);
    tk_poll_group_shutdown(&core->poll_groups);
    tk_cancel_shutdown(&core->cancels);
    tk_finish_shutdown(&core->finish);
    tk_session_shutdown(core);
    tk_auth_shutdown(core->auth);
    tk_telemetry_shutdown(core->telemetry);
    tk_waits_shutdown(&core->waits);
}

static tinkc_code make_loop(tk_core *core, const tk_core_seams *seams, tk_err *err)
{
    tk_transport *transport = seams->transport;
    if (transport == NULL) {
        tinkc_code code = make_transport(&transport, core, err);
        if (code != TINKC_OK) {
            return code;
        }
    }
    tk_loop_options options = {.clock = core->clock,
                               .transport = transport,
                               .threaded = !core->is_manual,
                               .thread_name = "tinkc",
                               .on_stop = on_stop,
                               .user = core};
    tinkc_code code = tk_loop_new(&core->loop, &options, err);
    if (code != TINKC_OK && seams->transport == NULL) {
        transport->ops->close(transport);
    }
    return code;
}

static void init_members(tk_core *core, const tk_core_seams *seams)
{
    atomic_init(&core->refs, 1);
    core->clock = seams->clock != NULL ? seams->clock : &tk_clock_real;
    core->is_manual = core->config->loop == TINKC_LOOP_MANUAL;
    core->most_pause_ms = seams->most_pause_ms;
    core->pid = getpid();
    tk_list_init(&core->running);
    tk_list_init(&core->waiting);
    tk_buf_init(&core->common_headers, HEADERS_MAX_BYTES);
    tk_arena_init(&core->flags_arena, TK_MIB);
    tk_schema_init(&core->flags, &tk_msg_client_config);
    core->billing.max_pause_ms =
        core->flags.billing_exception_max_pause_duration_sec.v * 1000;
    tk_budget_init(&core->response_budget,
                   core->flags.inflight_response_bytes_semaphore_size.v);
    tk_budget_init(&core->fwdbwd_budget,
                   core->flags.fwdbwd_dispatch_bytes_semaphore_size.v);
    for (size_t i = 0; i < TK_HTTP_GROUPS; i++) {
        core->pools[i].budget = TK_RETRY_POOL_BUDGET;
    }
    tk_session_init(core);
}

/* What needs nothing but the configuration. The caller destroys the core on failure. */
static tinkc_code fill_basics(tk_core *core, tk_url *url, uint64_t seed, tk_err *err)
{
    tinkc_code code = tk_hooks_init(&core->hooks, core->clock, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = tk_ledger_init(&core->ledger, err);
    if (code != TINKC_OK) {
        return code;
    }
    tk_headers_common(&core->common_headers, core->config);
    code = tk_buf_status(&core->common_headers, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = check_url(core, url, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (seed != 0) {
        tk_rand_init(&core->rand, seed);
        return make_log(core, err);
    }
    code = tk_rand_init_os(&core->rand, err);
    return code == TINKC_OK ? make_log(core, err) : code;
}

/* What uses those. */
static tinkc_code fill_services(tk_core *core, const tk_url *url,
                                const tk_core_seams *seams, tk_err *err)
{
    tinkc_code code = tk_auth_new(&core->auth, core, url->is_loopback, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = make_limiter(core, url, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = tk_cancel_init(&core->cancels, core, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = tk_finish_init(&core->finish, core, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = tk_waits_init(&core->waits, core, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = tk_telemetry_new(&core->telemetry, core, seams->seed, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = make_loop(core, seams, err);
    if (code != TINKC_OK) {
        return code;
    }
    tk_limiter_port_init(&core->port, core->limiter, core->loop);
    return tk_worker_init(&core->worker, core->loop, core->is_manual, err);
}

/* Neither the caller nor the environment gave a credential: the stored one is used. A
 * server on this machine does not get it. */
static tinkc_code take_stored_key(tk_core *core, const tk_url *url, tk_err *err)
{
    tinkc_config *config = core->config;
    char *key = NULL;
    bool is_given = (config->api_key != NULL && config->api_key[0] != '\0') ||
                    (config->credential_cmd != NULL && config->credential_cmd[0] != '\0');
    if (is_given || url->is_loopback || config->credentials_file == NULL ||
        config->credentials_file[0] == '\0') {
        return TINKC_OK;
    }
    tinkc_code code = tk_credentials_read(&key, config->credentials_file, err);
    if (code == TINKC_OK && key != NULL) {
        code = tk_config_set(config, "api_key", key, err);
        tk_mem_wipe(key, strlen(key));
    }
    tk_free(key);
    return code;
}

static tinkc_code fill(tk_core *core, const tinkc_config *config,
                       const tk_core_seams *seams, tk_err *err)
{
    tk_url url;
    tinkc_code code = config != NULL ? tk_config_copy(&core->config, config, err)
                                     : tk_config_new(&core->config, NULL, err);
    if (code != TINKC_OK) {
        return code;
    }
    init_members(core, seams);
    code = fill_basics(core, &url, seams->seed, err);
    if (code == TINKC_OK) {
        code = take_stored_key(core, &url, err);
    }
    return code == TINKC_OK ? fill_services(core, &url, seams, err) : code;
}

tinkc_code tk_core_new(tk_core **out, const tinkc_config *config,
                       const tk_core_seams *seams, tk_err *err)
{
    static const tk_core_seams real = {0};
    tk_core *core = tk_zalloc(sizeof(*core));
    if (core == NULL) {
        return tk_err_nomem(err);
    }
    tk_list_init(&core->poll_groups); /* for destroy */
    tinkc_code code = fill(core, config, seams != NULL ? seams : &real, err);
    if (code != TINKC_OK) {
        destroy(core);
        return code;
    }
    *out = core;
    return TINKC_OK;
}

bool tk_core_end_work(tk_core *core)
{
    core->had_work = core->had_work || !tk_list_is_empty(&core->running);
    tk_op_cancel_all(&core->running);
    return core->had_work;
}

void tk_core_wait(tk_core *core, tk_cond *changed, tk_mutex *lock, int64_t deadline_ns)
{
    if (core->is_manual) {
        tk_mutex_unlock(lock);
        bool driven = tk_loop_drive(core->loop, DRIVE_MS);
        tk_mutex_lock(lock);
        int64_t slice = tk_clock_mono_ns(&tk_clock_real) + DRIVE_MS * TK_NS_PER_MS;
        deadline_ns = driven ? 0 : TK_MIN(slice, deadline_ns);
    }
    if (deadline_ns > 0) {
        (void)tk_cond_wait_until(changed, lock, deadline_ns);
    }
}

void tk_core_heard(tk_core *core, bool answered)
{
    atomic_store(&core->heard, answered);
    if (answered) {
        atomic_store(&core->was_heard, true);
    }
}

bool tk_core_was_heard(const tk_core *core)
{
    return atomic_load(&core->was_heard);
}

bool tk_core_is_heard(const tk_core *core)
{
    return atomic_load(&core->heard);
}

/* The loop stops first: a callback on the worker may wait for a future, and every future
 * is done then. */
void tk_core_shutdown(tk_core *core)
{
    atomic_store(&core->closed, true);
    tk_cancel_close(&core->cancels);
    tk_finish_close(&core->finish);
    tk_telemetry_close(core->telemetry);
    tk_loop_stop(core->loop);
    tk_worker_stop(&core->worker);
}

bool tk_core_is_inside(tk_core *core)
{
    return tk_loop_is_inside(core->loop) || tk_worker_is_inside(&core->worker);
}

tinkc_code tk_core_check(tk_core *core, tk_err *err)
{
    if (core->pid != getpid()) {
        return tk_err_set(err, TINKC_E_STATE,
                          "this handle belongs to the parent process; open a new "
                          "service after fork()");
    }
    if (atomic_load(&core->closed)) {
        return tk_err_set(err, TINKC_E_CANCELLED, "the service was closed");
    }
    return TINKC_OK;
}

tinkc_code tk_core_check_blocking(tk_core *core, tk_err *err)
{
    return tk_loop_is_inside(core->loop)
               ? tk_err_set(err, TINKC_E_STATE,
                            "this call blocks: it cannot be made from a callback")
               : TINKC_OK;
}

/* ---- shared things ---- */

bool tk_core_billing_pause(tk_core *core)
{
    bool log_now = false;
    bool paused =
        tk_retry_billing_pause(&core->billing, tk_loop_now_ms(core->loop), &log_now);
    if (!paused) {
        tk_log_write(core->log, TINKC_LOG_ERROR, "billing",
                     "the server still refuses work for billing reasons; giving up");
    } else if (log_now) {
        tk_log_write(core->log, TINKC_LOG_WARN, "billing",
                     "paused: the server refuses work for billing reasons (HTTP 402)");
    }
    return paused;
}

static const char *default_reason(tinkc_queue_state state)
{
    return state == TINKC_QUEUE_PAUSED_RATE_LIMIT ? "too many models or samplers at once"
           : state == TINKC_QUEUE_PAUSED_CAPACITY ? "the service is short of capacity"
                                                  : "unknown";
}

void tk_core_queue_state(tk_core *core, tinkc_queue_state state, tk_str reason,
                         const char *what)
{
    char text[160];
    (void)snprintf(text, sizeof(text), TK_STR_FMT, TK_STR_ARG(reason));
    const char *why = reason.n > 0 ? text : default_reason(state);
    if (core->observer != NULL) {
        tk_loop_run_late(core->loop); /* code of the user, see tk_driver_ops */
        core->observer(state, why, what, core->observer_user);
    }
    int64_t now = tk_loop_now_ms(core->loop);
    bool paused = state != TINKC_QUEUE_ACTIVE;
    if (paused && (!core->paused_logged || now - core->paused_log_ms >= 60000)) {
        core->paused_logged = true;
        core->paused_log_ms = now;
        tk_log_write(core->log, TINKC_LOG_WARN, "queue", "%s is paused: %s", what, why);
    }
}

void tk_core_set_observer(tk_core *core, tinkc_queue_state_fn fn, void *user)
{
    core->observer = fn;
    core->observer_user = user;
}

/* ---- accessors ---- */

bool tk_core_is_manual(const tk_core *core)
{
    return core->is_manual;
}

tk_loop *tk_core_loop(tk_core *core)
{
    return core->loop;
}

const tinkc_config *tk_core_config(const tk_core *core)
{
    return core->config;
}

const tk_clock *tk_core_clock(const tk_core *core)
{
    return core->clock;
}

int64_t tk_core_pause_end_ms(const tk_core *core, int64_t delay_ms)
{
    if (core->most_pause_ms > 0) {
        delay_ms = TK_MIN(delay_ms, core->most_pause_ms);
    }
    return tk_loop_now_ms(core->loop) + delay_ms;
}

tk_log *tk_core_log(tk_core *core)
{
    return core->log;
}

tk_hooks *tk_core_hooks(tk_core *core)
{
    return &core->hooks;
}

tk_telemetry *tk_core_telemetry(tk_core *core)
{
    return core->telemetry;
}

tk_waits *tk_core_waits(tk_core *core)
{
    return &core->waits;
}

tk_worker *tk_core_worker(tk_core *core)
{
    return &core->worker;
}

tk_ledger *tk_core_ledger(tk_core *core)
{
    return &core->ledger;
}

tk_str tk_core_common_headers(const tk_core *core)
{
    return tk_buf_str(&core->common_headers);
}

const char *tk_core_base_url(const tk_core *core)
{
    return core->base_url;
}

const tk_client_config *tk_core_flags(const tk_core *core)
{
    return &core->flags;
}

const tk_dynamic_config *tk_core_dynamic(const tk_core *core)
{
    return &core->dynamic;
}

const char *tk_core_session_id(const tk_core *core)
{
    return atomic_load(&core->session_id);
}

const tk_err *tk_core_session_over(const tk_core *core)
{
    return core->over.code != TINKC_OK ? &core->over : NULL;
}

tk_deprecation *tk_core_deprecation(tk_core *core)
{
    return &core->deprecation;
}

tk_manners *tk_core_manners(tk_core *core)
{
    return &core->manners;
}

int64_t tk_core_next_model_seq(tk_core *core)
{
    return atomic_fetch_add(&core->model_seq, 1);
}

int64_t tk_core_next_loss_seq(tk_core *core)
{
    return atomic_fetch_add(&core->loss_seq, 1);
}

int64_t tk_core_next_sampling_seq(tk_core *core)
{
    return atomic_fetch_add(&core->sampling_seq, 1);
}

tk_list *tk_core_running(tk_core *core)
{
    return &core->running;
}

tk_list *tk_core_poll_groups(tk_core *core)
{
    return &core->poll_groups;
}

tk_cancels *tk_core_cancels(tk_core *core)
{
    return &core->cancels;
}

tk_finish *tk_core_finish(tk_core *core)
{
    return &core->finish;
}

tk_auth *tk_core_auth(tk_core *core)
{
    return core->auth;
}

tk_rand *tk_core_rand(tk_core *core)
{
    return &core->rand;
}

tk_retry_pool *tk_core_pool(tk_core *core, tk_http_group group)
{
    return &core->pools[group];
}

tk_budget *tk_core_response_budget(tk_core *core)
{
    return &core->response_budget;
}

tk_budget *tk_core_fwdbwd_budget(tk_core *core)
{
    return &core->fwdbwd_budget;
}

tk_limiter_port *tk_core_limiter_port(tk_core *core)
{
    return &core->port;
}
