/* Start and stop of the whole server: parts come up in the order of what they need and go
 * down in reverse, see docs/internals/server.md. */
#include "server/srv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "server/api/srv_model.h"
#include "server/api/srv_sampler.h"
#include "server/api/srv_session.h"
#include "server/api/srv_usage.h"
#include "server/http/srv_fault.h"
#include "server/http/srv_http.h"
#include "server/http/srv_listen.h"
#include "server/http/srv_work.h"
#include "server/run/srv_catalog.h"
#include "server/run/srv_engine.h"
#include "server/run/srv_keeper.h"
#include "server/srv_int.h"
#include "server/store/srv_store.h"

#define WORKERS 3

bool srv_count_body(srv *server, size_t n)
{
    size_t before = atomic_fetch_add(&server->body_bytes, n);
    if (before + n > TK_SRV_BODIES_BYTES) {
        atomic_fetch_sub(&server->body_bytes, n);
        return false;
    }
    return true;
}

void srv_uncount_body(srv *server, size_t n)
{
    atomic_fetch_sub(&server->body_bytes, n);
}

/* ---- the data directory ---- */

/* One server per directory. The lock file holds its URL, for whoever wants to join. */
static tinkc_code lock_data(srv *server, tk_err *err)
{
    char *path = tk_file_join(server->data, "lock");
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    server->data_lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    tinkc_code code = TINKC_OK;
    if (server->data_lock < 0) {
        code = tk_err_sys(err, errno, "%s", path);
    } else if (flock(server->data_lock, LOCK_EX | LOCK_NB) != 0) {
        code = tk_err_set(err, TINKC_E_STATE, "another server uses the data directory %s",
                          server->data);
        (void)close(server->data_lock);
        server->data_lock = -1; /* what it holds is the other's URL */
    }
    tk_free(path);
    return code;
}

static void write_url(srv *server)
{
    size_t n = strlen(server->url);
    if (ftruncate(server->data_lock, 0) != 0 ||
        pwrite(server->data_lock, server->url, n, 0) != (ssize_t)n) {
        tk_log_write(server->log, TINKC_LOG_WARN, "server",
                     "the lock file cannot be written");
    }
}

/* ---- start ---- */

static tinkc_code check(const srv_options *options, tk_err *err)
{
    const char *host = options->host != NULL ? options->host : "127.0.0.1";
    if (options->data == NULL || options->data[0] == '\0') {
        return tk_err_set(err, TINKC_E_CONFIG, "the server needs a data directory");
    }
    if (options->api_key != NULL && strncmp(options->api_key, "tml-", 4) != 0) {
        return tk_err_set(err, TINKC_E_CONFIG,
                          "an API key must start with \"tml-\": clients send no other");
    }
    if (options->api_key == NULL && !srv_listen_is_loopback(host)) {
        return tk_err_set(err, TINKC_E_CONFIG,
                          "listening on %s, which others can reach, needs an API key",
                          host);
    }
    return TINKC_OK;
}

static tinkc_code init(srv *server, const srv_options *options, tk_err *err)
{
    server->data_lock = -1;
    server->strict = options->strict;
    srv_adapters_init(&server->adapters, options->adapter_bytes);
    server->piece_rows = options->piece_rows;
    server->sequences = options->sequences > 0 ? options->sequences : SRV_SEQUENCES;
    server->on_step = options->on_step;
    server->hook_user = options->hook_user;
    server->poll_ms = options->poll_ms > 0 ? options->poll_ms : SRV_POLL_MS;
    tk_map_init(&server->sessions, TK_MAP_BORROW_KEYS);
    tk_map_init(&server->session_keys, TK_MAP_BORROW_KEYS);
    tk_map_init(&server->models, TK_MAP_BORROW_KEYS);
    tk_map_init(&server->samplers, TK_MAP_BORROW_KEYS);
    srv_futures_init(&server->futures);
    tinkc_code code = tk_mutex_init(&server->lock, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = tk_cond_init(&server->keeper_wake, err);
    if (code != TINKC_OK) {
        tk_mutex_dispose(&server->lock);
    }
    return code;
}

static tinkc_code copy_texts(srv *server, const srv_options *options, tk_err *err)
{
    server->data = tk_strdup(options->data);
    server->api_key = options->api_key != NULL ? tk_strdup(options->api_key) : NULL;
    if (server->data == NULL || (options->api_key != NULL && server->api_key == NULL)) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_log_new(&server->log, options->log_level, options->log,
                                 options->log_user, err);
    if (code == TINKC_OK && server->api_key != NULL) {
        code = tk_log_add_secret(server->log, tk_str_of(server->api_key), err);
    }
    if (code == TINKC_OK) {
        code = tk_rand_entropy(server->archive_key, sizeof(server->archive_key), err);
    }
    return code == TINKC_OK ? tk_rand_init_os(&server->rand, err) : code;
}

static tinkc_code open_parts(srv *server, const srv_options *options, tk_err *err)
{
    const char *host = options->host != NULL ? options->host : "127.0.0.1";
    tinkc_code code = copy_texts(server, options, err);
    if (code == TINKC_OK) {
        code = tk_file_mkdirs(server->data, 0777, err);
    }
    if (code == TINKC_OK) {
        code = lock_data(server, err);
    }
    if (code == TINKC_OK) {
        code = srv_store_open(&server->store, server->data, err);
    }
    if (code == TINKC_OK) {
        code = srv_usage_new(&server->usage, err);
    }
    if (code == TINKC_OK) {
        code = srv_catalog_new(&server->catalog, options, err);
    }
    if (code == TINKC_OK && options->faults != NULL) {
        code = srv_faults_open(&server->faults, options->faults, err);
    }
    if (code == TINKC_OK) {
        code = srv_engine_new(&server->engine, server, err);
    }
    if (code == TINKC_OK) {
        code = srv_keeper_start(server, err);
    }
    if (code == TINKC_OK) {
        code = srv_work_new(&server->work, WORKERS, err);
    }
    if (code == TINKC_OK) {
        code = srv_http_new(&server->http, server, host, options->port, err);
    }
    if (code == TINKC_OK) {
        bool v6 = strchr(host, ':') != NULL;
        (void)snprintf(server->url, sizeof(server->url), "http://%s%s%s:%u",
                       v6 ? "[" : "", host, v6 ? "]" : "", srv_http_port(server->http));
        write_url(server);
    }
    return code;
}

tinkc_code srv_start(srv **out, const srv_options *options, tk_err *err)
{
    tinkc_code code = check(options, err);
    if (code != TINKC_OK) {
        return code;
    }
    srv *server = tk_zalloc(sizeof(*server));
    if (server == NULL) {
        return tk_err_nomem(err);
    }
    code = init(server, options, err);
    if (code != TINKC_OK) {
        tk_free(server);
        return code;
    }
    code = open_parts(server, options, err);
    if (code != TINKC_OK) {
        srv_stop(&server);
        return code;
    }
    *out = server;
    return TINKC_OK;
}

/* ---- stop ---- */

static void write_usage(srv *server)
{
    tk_err err = TK_ERR_INIT;
    if (server->usage != NULL && server->store != NULL &&
        srv_usage_write(server->usage, server->store, &err) != TINKC_OK) {
        tk_log_write(server->log, TINKC_LOG_WARN, "usage", "%s", err.message);
    }
}

static void free_parts(srv *server)
{
    srv_engine_free(server->engine);
    srv_model_free_all(server);
    srv_sampler_free_all(server);
    srv_session_free_all(server);
    srv_futures_dispose(&server->futures);
    srv_catalog_free(server->catalog);
    srv_faults_free(server->faults);
    write_usage(server);
    srv_usage_free(server->usage);
    srv_store_close(server->store);
    if (server->data_lock >= 0) {
        (void)!ftruncate(server->data_lock, 0);
        (void)close(server->data_lock);
    }
    tk_cond_dispose(&server->keeper_wake);
    tk_mutex_dispose(&server->lock);
    tk_log_free(server->log);
    if (server->api_key != NULL) {
        tk_mem_wipe(server->api_key, strlen(server->api_key));
    }
    tk_free(server->api_key);
    tk_free(server->data);
    tk_free(server);
}

void srv_stop(srv **server_at)
{
    srv *server = *server_at;
    if (server == NULL) {
        return;
    }
    *server_at = NULL;
    /* Under the lock, so that no poll is parked behind the keeper's back. */
    tk_mutex_lock(&server->lock);
    atomic_store(&server->stopping, true);
    tk_mutex_unlock(&server->lock);
    if (server->http != NULL) {
        srv_http_quiesce(server->http);
    }
    srv_engine_stop(server->engine); /* after the jobs that have begun */
    srv_keeper_stop(server);
    srv_http_stop(server->http); /* waits for what workers have */
    srv_work_free(server->work);
    srv_http_free(server->http);
    free_parts(server);
}

unsigned srv_port(const srv *server)
{
    return srv_http_port(server->http);
}

const char *srv_url(const srv *server)
{
    return server->url;
}
