/* A server in this process on a free port, with its own data directory, and requests to
 * it. */
#ifndef SERVER_SRVFIX_H
#define SERVER_SRVFIX_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#include "base/arena.h"
#include "base/json.h"
#include "server/srv.h"
#include "support/httpget.h"
#include "support/test.h"

typedef struct srvfix {
    srv *server;
    char data[64];
    tk_arena arena; /* of answers */
    int status;     /* of the last answer */
    int port;       /* of a server in another process; 0 = of `server` */
} srvfix;

/* A new directory; in memory where there is room, because servers sync what they write
 * and disks are slow. */
static inline void srvfix_make_dir(char out[64])
{
    struct statvfs shm;
    bool room = statvfs("/dev/shm", &shm) == 0 &&
                (uint64_t)shm.f_bavail * shm.f_frsize > 256 * TK_MIB;
    (void)snprintf(out, 64, "/dev/shm/tinkc-test-XXXXXX");
    if (!room || mkdtemp(out) == NULL) {
        (void)snprintf(out, 64, "/tmp/tinkc-test-XXXXXX");
        assert_non_null(mkdtemp(out));
    }
}

static inline void srvfix_start(srvfix *f, srv_options options)
{
    tk_err err = TK_ERR_INIT;
    options.data = f->data;
    if (options.threads == 0) {
        options.threads = 1;
    }
    if (srv_start(&f->server, &options, &err) != TINKC_OK) {
        fail_msg("srv_start: %s", err.message);
    }
}

static inline void srvfix_open(srvfix *f, srv_options options)
{
    memset(f, 0, sizeof(*f));
    srvfix_make_dir(f->data);
    tk_arena_init(&f->arena, 0);
    srvfix_start(f, options);
}

/* Writes a file of faults with these rules; its name goes to `file`. */
static inline void srvfix_write_faults(char file[64], const char *rules)
{
    (void)snprintf(file, 64, "/tmp/tinkc-faults-XXXXXX");
    FILE *out = fdopen(mkstemp(file), "w");
    assert_non_null(out);
    assert_true(fprintf(out, "{\"rules\":[%s]}", rules) > 0);
    assert_int_equal(fclose(out), 0);
}

/* A server with these rules of faults; NULL: none. */
static inline void srvfix_open_faulty(srvfix *f, const char *rules)
{
    char file[64];
    if (rules == NULL) {
        srvfix_open(f, (srv_options){0});
        return;
    }
    srvfix_write_faults(file, rules);
    srvfix_open(f, (srv_options){.faults = file});
    assert_int_equal(remove(file), 0);
}

static inline void srvfix_restart(srvfix *f, srv_options options)
{
    srv_stop(&f->server);
    srvfix_start(f, options);
}

static inline void srvfix_close(srvfix *f)
{
    char command[96];
    srv_stop(&f->server);
    tk_arena_dispose(&f->arena);
    (void)snprintf(command, sizeof(command), "rm -rf %s", f->data);
    assert_int_equal(system(command), 0);
}

static inline int srvfix_port(srvfix *f)
{
    return f->port > 0 ? f->port : (int)srv_port(f->server);
}

/* One request; the JSON of the answer (NULL when it has none), the status in
 * f->status. */
static inline const tk_json *srvfix_ask(srvfix *f, const char *method, const char *path,
                                        const char *body)
{
    httpget_response response;
    const httpget_request request = {.method = method, .target = path, .body = body};
    assert_int_equal(httpget_once(srvfix_port(f), &request, &response), HTTPGET_OK);
    f->status = response.status;
    const tk_json *json = NULL;
    if (response.body.n > 0) {
        tk_err err = TK_ERR_INIT;
        (void)!tk_json_parse(&json, &f->arena, response.body.p, response.body.n, NULL,
                             &err);
    }
    httpget_response_dispose(&response);
    return json;
}

static inline const tk_json *srvfix_post(srvfix *f, const char *path, const char *body)
{
    return srvfix_ask(f, "POST", path, body);
}

/* The string under a key of an answer. */
static inline const char *srvfix_text(const tk_json *json, const char *key)
{
    const tk_json *value = tk_json_get(json, key);
    assert_non_null(value);
    assert_int_equal(value->type, TK_JSON_STRING);
    return value->as.string.p;
}

static inline const char *srvfix_session(srvfix *f)
{
    const tk_json *json =
        srvfix_post(f, "/api/v1/create_session",
                    "{\"tags\":[],\"user_metadata\":{},\"sdk_version\":\"0.25.0\","
                    "\"type\":\"create_session\"}");
    assert_int_equal(f->status, 200);
    return srvfix_text(json, "session_id");
}

#endif
