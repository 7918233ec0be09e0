/* Start and stop of the whole server: parts start in the order of what they need and stop
 * in the reverse order, see docs/internals/server.md. */
#include "server/srv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "console/con.h"
#include "httpd/hd_http.h"
#include "httpd/hd_listen.h"
#include "server/api/srv_api.h"
#include "server/api/srv_console.h"
#include "server/api/srv_fault_file.h"
#include "server/api/srv_gateway.h"
#include "server/api/srv_link.h"
#include "server/record/srv_notices.h"
#include "server/record/srv_rec.h"
#include "server/run/srv_catalog.h"
#include "server/run/srv_engine.h"
#include "server/run/srv_head.h"
#include "server/run/srv_keeper.h"
#include "server/run/srv_model.h"
#include "server/run/srv_sampler.h"
#include "server/run/srv_session.h"
#include "server/run/srv_state.h"
#include "server/run/srv_usage.h"
#include "server/store/srv_data.h"
#include "server/store/srv_store.h"

#define KEY_PREFIX "tml-local-"
#define KEY_BYTES  32

/* ---- the data directory ---- */

/* Names the server that has the directory; it has no URL yet while it starts. */
static tinkc_code refuse_taken(const srv *server, tk_err *err)
{
    char url[256];
    ssize_t n = pread(server->data_lock, url, sizeof(url) - 1, 0);
    url[n > 0 ? n : 0] = '\0';
    return tk_err_set(err, TINKC_E_STATE,
                      "another server uses the data directory %s%s%s%s", server->data,
                      n > 0 ? " (" : "", url, n > 0 ? ")" : "");
}

/* One server per directory. The lock file holds its URL, for programs that join it. */
static tinkc_code lock_data(srv *server, tk_err *err)
{
    char *path = tk_file_join(server->data, "lock");
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    server->data_lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    tinkc_code code = TINKC_OK;
    if (server->data_lock < 0) {
        code = tk_err_sys(err, errno, "%s", path);
    } else if (flock(server->data_lock, LOCK_EX | LOCK_NB) != 0) {
        code = errno == EWOULDBLOCK
                   ? refuse_taken(server, err)
                   : tk_err_sys(err, errno, "%s: its file system has no locks", path);
        (void)close(server->data_lock);
        server->data_lock = -1; /* the file holds the URL of the other server */
    } else {
        (void)!fchmod(server->data_lock, 0600); /* earlier versions made it 0644 */
    }
    tk_free(path);
    return code;
}

static void write_url(srv *server, const char *host)
{
    bool v6 = strchr(host, ':') != NULL;
    (void)snprintf(server->url, sizeof(server->url), "http://%s%s%s:%u", v6 ? "[" : "",
                   host, v6 ? "]" : "", hd_http_port(server->http));
    size_t n = strlen(server->url);
    if (ftruncate(server->data_lock, 0) != 0 ||
        pwrite(server->data_lock, server->url, n, 0) != (ssize_t)n) {
        tk_log_write(server->log, TINKC_LOG_WARN, "server",
                     "the lock file cannot be written");
    }
}

/* ---- the key ---- */

/* Makes a key and writes it for those who can read the data directory's files. */
static tinkc_code make_key(srv *server, const char *path, tk_err *err)
{
    unsigned char bytes[KEY_BYTES];
    char key[sizeof(KEY_PREFIX) + 2 * KEY_BYTES] = KEY_PREFIX;
    tinkc_code code = tk_rand_entropy(bytes, sizeof(bytes), err);
    if (code != TINKC_OK) {
        goto out;
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        (void)snprintf(key + sizeof(KEY_PREFIX) - 1 + 2 * i, 3, "%02x", bytes[i]);
    }
    code = tk_file_replace(path, key, strlen(key), 0600, err);
    if (code != TINKC_OK) {
        goto out;
    }
    server->api_key = tk_strdup(key);
    code = server->api_key != NULL ? TINKC_OK : tk_err_nomem(err);
out:
    tk_mem_wipe(key, sizeof(key));
    tk_mem_wipe(bytes, sizeof(bytes));
    return code;
}

/* Sets the key that callers must send, and the file of it. The directory is locked. */
static tinkc_code set_key(srv *server, const srv_options *options, tk_err *err)
{
    char *path = tk_file_join(server->data, SRV_KEY_FILE);
    tinkc_code code = path != NULL ? TINKC_OK : tk_err_nomem(err);
    if (code == TINKC_OK) {
        (void)unlink(path); /* of a server that was killed */
    }
    if (code == TINKC_OK && options->own_key) {
        server->key_file = path;
        path = NULL;
        code = make_key(server, server->key_file, err);
    } else if (code == TINKC_OK && options->api_key != NULL) {
        server->api_key = tk_strdup(options->api_key);
        code = server->api_key != NULL ? TINKC_OK : tk_err_nomem(err);
    }
    tk_free(path);
    if (code == TINKC_OK && server->api_key != NULL) {
        code = tk_log_add_secret(server->log, tk_str_of(server->api_key), err);
    } else if (code == TINKC_OK) {
        tk_log_write(server->log, TINKC_LOG_WARN, "server",
                     "no API key: every user and program of this machine can use the "
                     "server and its checkpoints");
    }
    return code;
}

/* ---- start ---- */

static const char *host_of(const srv_options *options)
{
    return options->host != NULL ? options->host : "127.0.0.1";
}

static tinkc_code check(const srv_options *options, tk_err *err)
{
    const char *host = host_of(options);
    if (options->data == NULL || options->data[0] == '\0') {
        return tk_err_set(err, TINKC_E_CONFIG, "the server needs a data directory");
    }
    if (options->api_key != NULL && strncmp(options->api_key, "tml-", 4) != 0) {
        return tk_err_set(err, TINKC_E_CONFIG,
                          "an API key must start with \"tml-\": clients send no other");
    }
    if (options->api_key == NULL && !options->own_key && !hd_listen_is_loopback(host)) {
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
    hd_budget_init(&server->memory, options->memory_bytes, &srv_part_rows);
    server->memory.max_files = hd_listen_max_files();
    if (options->adapter_bytes > 0) {
        server->memory.parts[SRV_PART_SAMPLERS].max = options->adapter_bytes;
    }
    tk_list_init(&server->adapters);
    server->piece_rows = options->piece_rows;
    server->sequences = options->sequences > 0 ? options->sequences : SRV_SEQUENCES;
    server->on_step = options->on_step;
    server->hook_user = options->hook_user;
    server->poll_ms = options->poll_ms > 0 ? options->poll_ms : SRV_POLL_MS;
    tk_map_init(&server->sessions, TK_MAP_BORROW_KEYS);
    tk_map_init(&server->session_keys, TK_MAP_BORROW_KEYS);
    tk_map_init(&server->models, TK_MAP_BORROW_KEYS);
    tk_map_init(&server->samplers, TK_MAP_BORROW_KEYS);
    tk_list_init(&server->finishing);
    srv_futures_init(&server->futures, &server->memory);
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
    if (server->data == NULL) {
        return tk_err_nomem(err);
    }
    server->started_ms = tk_clock_wall_us(NULL) / 1000;
    tinkc_code code = srv_notices_new(&server->notices, options->log_level, options->log,
                                      options->log_user, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tk_log_new(&server->log, TK_MAX(options->log_level, TINKC_LOG_WARN),
                      srv_notices_log, server->notices, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tk_rand_entropy(server->archive_key, sizeof(server->archive_key), err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tk_rand_init_os(&server->rand, err);
out:
    return code;
}

/* Asked by the engine before each piece of a computation, on its threads. */
static bool is_stopping(void *user)
{
    srv *server = user;
    return atomic_load(&server->stopping);
}

static bool put_token(const void *tok, int32_t id, tk_buf *out)
{
    return srv_text_bytes(tok, id, out);
}

static tinkc_code open_record(srv *server, const srv_options *options, tk_err *err)
{
    const srv_rec_config config = {.data = server->data,
                                   .log = server->log,
                                   .budget = &server->memory,
                                   .part = SRV_PART_RECORD,
                                   .limit_bytes = options->recording_bytes,
                                   .keep_days = options->recording_days,
                                   .no_samples = options->no_samples,
                                   .put_token = put_token};
    return options->no_recording ? TINKC_OK : srv_rec_new(&server->record, &config, err);
}

/* What the requests work on: data directory, store, models, faults. */
static tinkc_code open_state(srv *server, const srv_options *options, tk_err *err)
{
    tinkc_code code = copy_texts(server, options, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_data_claim(server->data, server->log, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = lock_data(server, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = set_key(server, options, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_store_open(&server->store, server->data, server->log, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = open_record(server, options, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_usage_new(&server->usage, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_catalog_new(&server->catalog, options, server->memory.max, err);
    if (code != TINKC_OK) {
        goto out;
    }
    eng_pool_set_stop(server->catalog->pool, is_stopping, server);
    if (options->faults != NULL) {
        code = srv_fault_file_open(&server->faults, options->faults, server->log, err);
    }
out:
    return code;
}

static void log_answer(void *app, const hd_http_answered *a)
{
    const srv *server = app;
    tk_log_write(server->log, TINKC_LOG_DEBUG, "request",
                 "%s %s %d, %lld ms, %llu bytes in, %llu out%s", a->method, a->path,
                 a->status, (long long)a->ms, (unsigned long long)a->n_in,
                 (unsigned long long)a->n_out, a->is_streamed ? " (a stream)" : "");
}

/* The threads, the one of HTTP last: its requests come at once and use everything. */
static tinkc_code start_threads(srv *server, const srv_options *options, tk_err *err)
{
    const hd_dispatch dispatch =
        server->faults != NULL ? hd_faults_dispatch(server->faults) : hd_route_dispatch;
    hd_http_config http = {
        .host = host_of(options),
        .port = options->port,
        .api_key = server->api_key,
        .routes = &srv_api_routes,
        .budget = &server->memory,
        .app = server,
        .encoding = "zstd",
        .single = srv_head_single,
        .refuse = srv_gateway_refuse,
        .on_head = srv_head_check,
        .admit = srv_link_admit,
        .knows_cookie = srv_console_knows,
        .cookie_mark = SRV_CONSOLE_MARK,
        .on_answer = tk_log_wants(server->log, TINKC_LOG_DEBUG) ? log_answer : NULL,
    };
    tinkc_code code = srv_engine_new(&server->engine, server, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_gateway_new(&server->gateway, server, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_console_new(server, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_keeper_start(server, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = hd_work_new(&server->work, &dispatch, err);
    if (code != TINKC_OK) {
        goto out;
    }
    http.work = server->work;
    code = hd_http_new(&server->http, &http, err);
    if (code != TINKC_OK) {
        goto out;
    }
    write_url(server, http.host);
    con_set_port(server->console, hd_http_port(server->http));
    code = hd_http_start(server->http, err);
out:
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
    code = open_state(server, options, err);
    if (code == TINKC_OK) {
        code = start_threads(server, options, err);
    }
    if (code != TINKC_OK) {
        srv_stop(&server);
        return code;
    }
    tk_log_write(server->log, TINKC_LOG_DEBUG, "server", "computes with %s",
                 eng_kern_in_use());
    *out = server;
    return TINKC_OK;
}

/* ---- stop ---- */

static void free_parts(srv *server)
{
    srv_engine_free(server->engine);
    server->engine = NULL;
    srv_model_free_all(server);
    srv_sampler_free_all(server);
    srv_session_free_all(server);
    srv_futures_dispose(&server->futures);
    srv_catalog_free(server->catalog);
    hd_faults_free(server->faults);
    if (server->usage != NULL) {
        srv_usage_flush(server->usage, server->store, server->log);
    }
    srv_usage_free(server->usage);
    srv_rec_free(server->record);
    srv_store_close(server->store);
    if (server->data_lock >= 0) {
        if (server->key_file != NULL) {
            (void)unlink(server->key_file);
        }
        (void)!ftruncate(server->data_lock, 0);
        (void)close(server->data_lock);
    }
    tk_cond_dispose(&server->keeper_wake);
    tk_mutex_dispose(&server->lock);
    tk_log_free(server->log);
    srv_notices_free(server->notices);
    if (server->api_key != NULL) {
        tk_mem_wipe(server->api_key, strlen(server->api_key));
    }
    tk_free(server->api_key);
    tk_free(server->key_file);
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
    /* Under the lock, so that no poll is parked after the keeper has looked. */
    tk_mutex_lock(&server->lock);
    atomic_store(&server->stopping, true);
    tk_mutex_unlock(&server->lock);
    if (server->http != NULL) {
        hd_http_quiesce(server->http);
    }
    con_quiesce(server->console);    /* its streams have no end of their own */
    srv_engine_stop(server->engine); /* finishes the piece or save that has begun */
    srv_keeper_stop(server);
    hd_http_stop(server->http); /* waits for what workers and the gateway have */
    hd_work_free(server->work);
    srv_gateway_free(server->gateway);
    hd_http_free(server->http);
    srv_rec_stop(server->record); /* writes what is queued */
    con_free(server->console);
    free_parts(server);
}

unsigned srv_port(const srv *server)
{
    return hd_http_port(server->http);
}

_Static_assert(SRV_FRAGMENT_BYTES == CON_FRAGMENT_BYTES, "the same buffer");

tinkc_code srv_console_fragment(srv *server, char out[SRV_FRAGMENT_BYTES], tk_err *err)
{
    return con_fragment(server->console, out, err);
}

const char *srv_url(const srv *server)
{
    return server->url;
}
