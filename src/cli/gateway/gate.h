/* A Tinker server as the backend of the gateway, through the public functions of libtinkc:
 * models by name, checkpoints by path, samples as futures. Callbacks come on the thread of
 * the library's loop. Thread: any, after gate_new. */
#ifndef CLI_GATE_H
#define CLI_GATE_H

#include <tinkc/sampling.h>
#include <tinkc/service.h>
#include <tinkc/tokenizer.h>

#include "base/list.h"
#include "base/thread.h"
#include "gateway/gw_backend.h"

#define GATE_MODELS_MAX 64

typedef struct gate_config {   /* borrowed; outlives the gate */
    tinkc_service *service;    /* outlives it */
    const char *model;         /* what a request without a name means */
    const char *template_file; /* of all models; NULL = that of each */
    const char *tool_format;   /* NULL = by the template */
} gate_config;

typedef struct gate_place {
    gw_model *model; /* one ownership; NULL = free */
    uint64_t used;
} gate_place;

typedef struct gate {
    gate_config config;
    tinkc_capabilities *capabilities; /* or NULL: the server has no list */
    tk_mutex opening;                 /* of the models; held while one is opened */
    gate_place models[GATE_MODELS_MAX];
    uint64_t clock;
    tk_mutex lock; /* of the samples; a leaf */
    tk_cond wake;
    tk_list running, cancelled; /* gate_sample.link, .cancelled */
    bool is_stopping, is_closing;
    tk_thread
        canceller; /* futures are cancelled on a thread of their own: that calls back */
    bool has_thread;
} gate;

/* Asks the server for its models and opens config->model, so that what is wrong with it is
 * said at once. Returns false with *fault filled. */
TK_NODISCARD bool gate_new(gate **out, const gate_config *config, ca_fault *fault);
gw_backend gate_backend(gate *g);

/* Lets the model that a request without a name means be sampled by this client from now on;
 * requests that run keep theirs. `weights` is what turns are recorded with. The gate takes
 * the client over, also on failure. Returns false with *fault filled. */
TK_NODISCARD bool gate_use(gate *g, tinkc_sampling *sampling, const char *weights,
                           ca_fault *fault);

/* Ends every sample and takes no more. */
void gate_stop(gate *g);
void gate_free(gate *g); /* after the gateway; accepts NULL */

/* ---- models (gate_model.c) ---- */

typedef struct gate_sampler { /* gw_model.sampler */
    tinkc_sampling *sampling;
    tinkc_tokenizer *tokenizer;
} gate_sampler;

/* Opens a model of the server. Returns NULL with *fault filled. */
gw_model *gate_model_open(const gate *g, const char *name, ca_fault *fault);

/* Makes the model `name` of a client, which it takes over, also on failure. */
gw_model *gate_model_of(const gate *g, const char *name, const char *weights,
                        tinkc_sampling *sampling, ca_fault *fault);

/* Fills a fault from an error of the library, which it frees. Returns false. */
bool gate_model_blame(ca_fault *fault, tinkc_error **error);

/* ---- samples (gate_sample.c) ---- */

bool gate_sample_start(gw_sample **out, void *user, gw_model *model,
                       const gw_sample_request *request, const gw_listener *listener,
                       ca_fault *fault);
void gate_sample_cancel(void *user, gw_sample *sample);
/* The thread that cancels; `user` is the gate. */
void gate_sample_run_canceller(void *user);
/* Puts everything that runs on the canceller's list. Under the lock. */
void gate_sample_cancel_all(gate *g);

#endif
