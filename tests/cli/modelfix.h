/* The program and a real server with the embedded model, which TINKER_BASE_URL names; and
 * a scripted peer for what a real server does not do. */
#ifndef CLI_MODELFIX_H
#define CLI_MODELFIX_H

#include "server/srvfix.h"
#include "support/fakeapi_tinker.h"
#include "support/program.h"

#define MODELFIX_NAME      "tinkc/pebble-llama-2m"
#define MODELFIX_URL_BYTES 64

typedef struct modelfix {
    srvfix srv;
    program p;
    char url[MODELFIX_URL_BYTES];
} modelfix;

/* faults: text of the server's file of faults, or NULL. */
static inline void modelfix_open(modelfix *f, const char *faults)
{
    srv_options options = {.log_level = TINKC_LOG_OFF};
    memset(f, 0, sizeof(*f));
    program_open(&f->p, TINKC_PROGRAM);
    if (faults != NULL) {
        program_write_file(&f->p, "faults.json", faults);
        options.faults = program_path(&f->p, "faults.json");
    }
    srvfix_open(&f->srv, options);
    (void)snprintf(f->url, sizeof(f->url), "TINKER_BASE_URL=%s", srv_url(f->srv.server));
    program_env(&f->p, f->url);
}

static inline void modelfix_close(modelfix *f)
{
    program_close(&f->p);
    srvfix_close(&f->srv);
}

/* Sessions that the program ended with this reason. */
static inline size_t modelfix_finished(modelfix *f, const char *reason)
{
    char body[128];
    (void)snprintf(body, sizeof(body),
                   "{\"statuses\":[{\"type\":\"client_finished\",\"reasons\":[\"%s\"]}]}",
                   reason);
    const tk_json *json = srvfix_post(&f->srv, "/api/v1/sessions/search", body);
    assert_int_equal(f->srv.status, 200);
    return tk_json_len(tk_json_get(json, "sessions"));
}

/* A peer that takes only this key (NULL: any), and the variable that names it. */
static inline fakeapi *modelfix_peer(char url[MODELFIX_URL_BYTES], const char *key)
{
    const fakeapi_tinker_options options = {.api_key = key};
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, key != NULL ? &options : NULL);
    (void)snprintf(url, MODELFIX_URL_BYTES, "TINKER_BASE_URL=%s", fakeapi_url(api));
    return api;
}

#endif
