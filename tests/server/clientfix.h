/* libtinkc as a client of a server in this process; for tests that link the client. */
#ifndef SERVER_CLIENTFIX_H
#define SERVER_CLIENTFIX_H

#include <tinkc/config.h>
#include <tinkc/error.h>
#include <tinkc/service.h>

#include "server/srvfix.h"

/* Fails the test, with the error's text, unless the call that fills `err` succeeds. */
#define OK(call)                                                                         \
    do {                                                                                 \
        tinkc_error *err = NULL;                                                         \
        if ((call) != TINKC_OK) {                                                        \
            fail_msg("%s: %s", #call, tinkc_error_message(err));                         \
        }                                                                                \
    } while (0)

/* The configuration of a client of this server; the caller frees it. */
static inline tinkc_config *clientfix_config(srvfix *f)
{
    tinkc_config *config = NULL;
    OK(tinkc_config_new(&config, &err));
    OK(tinkc_config_set(config, "base_url", srv_url(f->server), &err));
    OK(tinkc_config_set(config, "api_key", "tml-test-key", &err));
    OK(tinkc_config_set(config, "proxy", "", &err));
    return config;
}

static inline tinkc_service *clientfix_service(srvfix *f)
{
    tinkc_service *service = NULL;
    tinkc_config *config = clientfix_config(f);
    OK(tinkc_service_open(&service, config, &err));
    tinkc_config_free(&config);
    return service;
}

#endif
