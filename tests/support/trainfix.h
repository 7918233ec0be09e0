/* A training client on the scripted peer. */
#ifndef SUPPORT_TRAINFIX_H
#define SUPPORT_TRAINFIX_H

#include <tinkc/training.h>

#include "support/fakeapi_tinker.h"
#include "support/servicefix.h"

#define POST_STEP    "/api/v1/optim_step"
#define POST_SAMPLER "/api/v1/save_weights_for_sampler"
#define POST_POLL    "/api/v1/retrieve_future"
#define BASE_MODEL   "Qwen/Qwen3-8B"

typedef struct trainfix {
    fakeapi *api;
    tinkc_service *service;
    tinkc_training *training;
} trainfix;

static inline trainfix trainfix_open(const fakeapi_tinker_options *options,
                                     const char *const *settings)
{
    trainfix f = {.api = fakeapi_start()};
    fakeapi_tinker(f.api, options);
    f.service = servicefix_open(f.api, settings);
    assert_int_equal(tinkc_service_create_training_wait(&f.training, f.service,
                                                        BASE_MODEL, NULL, NULL),
                     TINKC_OK);
    return f;
}

static inline void trainfix_close(trainfix *f)
{
    tinkc_training_close(&f->training);
    tinkc_service_close(&f->service);
    fakeapi_stop(&f->api);
}

#endif
