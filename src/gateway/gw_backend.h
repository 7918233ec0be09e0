/* What samples for the gateway: an engine in the same process (`tinkc serve`), or a Tinker
 * server behind libtinkc (`tinkc gateway`). The gateway links neither.
 *
 * Thread: any may call; callbacks come on any thread. */
#ifndef GATEWAY_GW_BACKEND_H
#define GATEWAY_GW_BACKEND_H

#include <stdatomic.h>

#include "base/err.h"
#include "chatapi/ca_format.h"
#include "chatapi/ca_request.h"
#include "text/chat/chat.h"
#include "text/tok/tok.h"

/* A model that can be sampled. Immutable, with a count of owners. */
typedef struct gw_model gw_model;
struct gw_model {
    atomic_size_t owners;
    void (*free)(gw_model *model); /* of the backend, at the last release */
    char *name;                    /* as clients ask for it */
    char *weights;                 /* what is sampled: a base model or a tinker:// path */
    tk_tok *tok;                   /* owned */
    tk_chat_template *tpl;         /* owned; NULL: the model has none, chat is refused */
    ca_format format;
    size_t context;   /* tokens of prompt and answer; 0 = not known */
    int32_t *end_ids; /* owned: tokens that end an answer */
    size_t n_end_ids;
    void *sampler; /* of the backend */
};

gw_model *gw_model_retain(gw_model *model); /* returns its argument */
void gw_model_release(gw_model *model);     /* accepts NULL */

typedef struct gw_sample_request { /* borrowed during the call */
    const int32_t *ids;
    size_t n;
    const ca_params *params; /* n, seed, temperature, ..., stop strings and ids, scores */
    bool is_streamed;        /* on_token is wanted while it runs */
} gw_sample_request;

typedef struct gw_sequence {
    const int32_t *ids; /* a token that ended it included */
    const float *logprobs;
    const int32_t *top_ids; /* [n][k]; NULL unless asked for */
    const float *top_logprobs;
    size_t n, k;
    bool is_stopped; /* false: max_tokens or the context */
} gw_sequence;

typedef struct gw_sample_result { /* borrowed during on_done */
    const gw_sequence *sequences;
    size_t n;
    const float *prompt_logprobs;  /* of each id of the prompt, [0] = NaN; or NULL */
    const int32_t *prompt_top_ids; /* [n_prompt][k]; or NULL */
    const float *prompt_top_logprobs;
    size_t prompt_k;
    size_t cached; /* tokens of the prompt that were not computed again */
} gw_sample_result;

typedef struct gw_listener {
    /* Each token as it is drawn, in order for each sequence. A backend that cannot stream
     * calls it for all tokens before on_done. NULL unless is_streamed. */
    void (*on_token)(void *user, size_t sequence, int32_t id, float logprob);
    /* Exactly once for each sample that was accepted, also after a cancel: the result, or
     * NULL and why (fault->status 429, 4xx, 5xx, 499 after a cancel). */
    void (*on_done)(void *user, const gw_sample_result *result, const ca_fault *fault);
    void *user;
} gw_listener;

typedef struct gw_sample gw_sample; /* one that runs; of the backend */

typedef struct gw_backend {
    void *user;

    /* Finds a model by the name of a request; "" = the only one. May wait for a server or
     * the disk. Returns a reference, or NULL with *fault filled (404 with the names that
     * there are). */
    gw_model *(*find)(void *user, tk_str name, ca_fault *fault);

    /* Calls `each` for the name of every model, with its context. */
    tinkc_code (*list)(void *user, void (*each)(void *list, tk_str name, size_t context),
                       void *list, tk_err *err);

    /* Starts a sample. Returns false, with *fault filled and no callback, when it is
     * refused. *out stays valid until on_done returns. Never waits. */
    bool (*sample)(gw_sample **out, void *user, gw_model *model,
                   const gw_sample_request *request, const gw_listener *listener,
                   ca_fault *fault);
    /* Asks it to end soon. Must not be called after on_done began to run. */
    void (*cancel)(void *user, gw_sample *sample);
} gw_backend;

#endif
