/* One answer while it is sampled: from ids to text, to what a client sees of it.
 *
 * Ids become text (special tokens as pieces of their own), the text ends before a stop
 * string, and the rest goes through the parser of the model's family. What may be the
 * beginning of a stop string or of a marker waits. The ids are kept as they were sampled,
 * whatever is shown of them. Thread: one at a time. */
#ifndef GATEWAY_GW_CHOICE_H
#define GATEWAY_GW_CHOICE_H

#include "chatapi/ca_parser.h"
#include "chatapi/ca_reply.h"
#include "gateway/gw_backend.h"

#define GW_CALL_ID_BYTES 64
#define GW_SPANS_MAX     32

typedef struct gw_choice_config { /* borrowed as long as the choice */
    const gw_model *model;
    const ca_request *request;
    bool starts_thinking;
    /* Called for what can be shown; NULL = only the whole is wanted. */
    void (*on_event)(void *user, const ca_event *event);
    void (*on_text)(void *user, tk_str text); /* of completions */
    void *user;
} gw_choice_config;

typedef struct gw_span {
    size_t from, to;
} gw_span;

typedef struct gw_choice {
    gw_choice_config config;
    tk_tok_stream decoder;
    tk_buf piece;                /* text of one token */
    tk_buf pending;              /* text that may hold the beginning of a stop string */
    gw_span spans[GW_SPANS_MAX]; /* of special tokens in it */
    size_t n_spans;
    ca_parser *parser; /* NULL for completions */
    tk_buf text;       /* of completions */
    int32_t *ids;      /* owned, as sampled */
    float *logprobs;
    size_t n, cap;
    size_t n_reasoning; /* tokens until the end of the reasoning */
    tk_str stop;        /* the stop string that was found; p NULL = none */
    bool is_stopped;    /* by the model or a stop; false: max_tokens */
    bool is_finished;
    char (*call_ids)[GW_CALL_ID_BYTES]; /* owned: of each call */
    const char **call_ptrs;
    size_t n_call_ids, cap_call_ids;
} gw_choice;

/* On failure there is nothing to dispose. */
TK_NODISCARD tinkc_code gw_choice_init(gw_choice *choice, const gw_choice_config *config,
                                       tk_err *err);
void gw_choice_dispose(gw_choice *choice); /* accepts a zeroed one */

/* Takes the next token. TINKC_E_NOMEM, TINKC_E_LIMIT. */
TK_NODISCARD tinkc_code gw_choice_push(gw_choice *choice, int32_t id, float logprob,
                                       tk_err *err);
/* No more come. */
TK_NODISCARD tinkc_code gw_choice_finish(gw_choice *choice, bool is_stopped, tk_err *err);

ca_finish gw_choice_reason(const gw_choice *choice);
const ca_output *gw_choice_output(const gw_choice *choice); /* NULL for completions */

/* Returns the id of a call that was reported: the model's own, or one that was made. */
const char *gw_choice_call_id(const gw_choice *choice, size_t call);

#endif
