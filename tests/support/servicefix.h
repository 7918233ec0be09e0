/* A service on the scripted peer: what most client tests start with. */
#ifndef SUPPORT_SERVICEFIX_H
#define SUPPORT_SERVICEFIX_H

#include <stdlib.h>

#include <tinkc/service.h>
#include <tinkc/trace.h>

#include "support/failmem.h"
#include "support/fakeapi.h"
#include "support/talk.h"
#include "support/test.h"

/* A configuration for the peer: its URL, a key, HTTP/1.1, no environment. The caller
 * frees it. Options are name, value pairs ending in NULL, or NULL. */
static inline tinkc_config *servicefix_config(fakeapi *api, const char *const *options)
{
    tinkc_config *config = NULL;
    assert_int_equal(tinkc_config_new(&config, NULL), TINKC_OK);
    assert_int_equal(tinkc_config_set(config, "base_url", fakeapi_url(api), NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_config_set(config, "api_key", "tml-test-key", NULL), TINKC_OK);
    assert_int_equal(tinkc_config_set(config, "proxy", "", NULL), TINKC_OK);
    if (talk_is_on()) {
        assert_int_equal(tinkc_config_set(config, "wire_dump", "true", NULL), TINKC_OK);
        tinkc_config_set_log(config, talk_log, NULL);
    }
    for (; options != NULL && options[0] != NULL; options += 2) {
        assert_int_equal(tinkc_config_set(config, options[0], options[1], NULL),
                         TINKC_OK);
    }
    return config;
}

static tinkc_trace *servicefix_trace;

static inline void servicefix_end_trace(void)
{
    (void)tinkc_trace_close(&servicefix_trace, NULL);
}

/* One trace for all services of the program, closed with it. */
static inline void servicefix_record(tinkc_service *service)
{
    if (servicefix_trace == NULL) {
        assert_int_equal(tinkc_trace_open(&servicefix_trace, talk_trace_path(), NULL),
                         TINKC_OK);
        assert_int_equal(atexit(servicefix_end_trace), 0);
    }
    assert_int_equal(tinkc_trace_attach(servicefix_trace, service, NULL), TINKC_OK);
}

/* For tests that count requests: none is sent because time goes by. */
#define SERVICEFIX_QUIET                                                                 \
    ((const char *const[]){"heartbeat", "none", "telemetry", "false", NULL})

static inline tinkc_service *servicefix_open(fakeapi *api, const char *const *options)
{
    tinkc_config *config = servicefix_config(api, options);
    tinkc_service *service = NULL;
    assert_int_equal(tinkc_service_open(&service, config, NULL), TINKC_OK);
    tinkc_config_free(&config);
    if (talk_is_on() && !failmem_is_on()) { /* the trace outlives the counting hooks */
        servicefix_record(service);
    }
    return service;
}

#endif
