/* A service on the scripted peer: what most client tests start with. */
#ifndef SUPPORT_SERVICEFIX_H
#define SUPPORT_SERVICEFIX_H

#include <tinkc/service.h>

#include "support/fakeapi.h"
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
    for (; options != NULL && options[0] != NULL; options += 2) {
        assert_int_equal(tinkc_config_set(config, options[0], options[1], NULL),
                         TINKC_OK);
    }
    return config;
}

static inline tinkc_service *servicefix_open(fakeapi *api, const char *const *options)
{
    tinkc_config *config = servicefix_config(api, options);
    tinkc_service *service = NULL;
    assert_int_equal(tinkc_service_open(&service, config, NULL), TINKC_OK);
    tinkc_config_free(&config);
    return service;
}

#endif
