/* A request of an OpenAI or Anthropic client, decoded: messages, tools and sampling
 * parameters.
 *
 * Four dialects: chat/completions, completions and responses of OpenAI, messages of
 * Anthropic. What a dialect has and this does not do is refused by the name of its field;
 * what only describes the request (user, metadata, store, ...) is accepted, by a list
 * (docs/guide/agents.md). An unknown field is refused as one that might change the result,
 * except where the client libraries are known to send it. Input is hostile: limits of
 * base/limits.h. Pure. Thread: one at a time. */
#ifndef CHATAPI_CA_REQUEST_H
#define CHATAPI_CA_REQUEST_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "text/chat/chat.h"

typedef enum ca_dialect {
    CA_CHAT,        /* POST /v1/chat/completions */
    CA_COMPLETIONS, /* POST /v1/completions */
    CA_RESPONSES,   /* POST /v1/responses */
    CA_MESSAGES     /* POST /v1/messages, /v1/messages/count_tokens */
} ca_dialect;

/* Why a request is refused. */
typedef struct ca_fault {
    int status;       /* 400, 404, 413, 429, ... */
    char field[96];   /* "tool_choice", "messages[2].content[0].type"; or "" */
    tk_err err;       /* the message */
    bool is_too_long; /* the prompt does not fit: OpenAI's code context_length_exceeded */
} ca_fault;

typedef struct ca_prompt { /* of completions: text or ids */
    bool is_ids;
    tk_str text;
    const int32_t *ids;
    size_t n;
} ca_prompt;

typedef struct ca_params {
    bool has_max_tokens, has_seed, has_temperature, has_top_p, has_top_k;
    size_t max_tokens;
    double temperature, top_p;
    int64_t top_k;
    uint64_t seed;
    const tk_str *stops; /* stop strings */
    size_t n_stops;
    const int32_t *stop_ids; /* stop_token_ids, as vLLM has them */
    size_t n_stop_ids;
    size_t n;                   /* answers; at least 1 */
    bool logprobs;              /* of the sampled tokens */
    size_t top_logprobs;        /* alternatives at each; 0 = none */
    bool echo;                  /* completions: the prompt is part of the answer */
    bool prompt_logprobs;       /* of the prompt's tokens (also echo with logprobs) */
    size_t prompt_top_logprobs; /* alternatives at each of them; 0 = none */
    bool return_token_ids;      /* ids of the prompt and of the answer, vLLM's names */
    bool ignore_eos;            /* vLLM's name: the end of text does not stop it */
    bool no_special; /* completions: text is encoded without BOS and the like */
} ca_params;

typedef struct ca_request {
    ca_dialect dialect;
    tk_arena arena; /* of everything below */
    tk_str model;   /* "" = the only one */
    tk_chat chat;   /* messages as templates read them, variable "tools" and the like; not
                     * of completions */
    ca_prompt *prompts; /* of completions; at least one */
    size_t n_prompts;
    bool has_tools; /* variable "tools" is set, and calls are looked for */
    ca_params params;
    bool is_streamed;
    bool wants_usage;     /* a last chunk with usage (stream_options.include_usage) */
    bool continue_final;  /* the last message is the assistant's and is continued */
    bool seals_reasoning; /* responses: reasoning items get "encrypted_content" */
    const tk_json *body;  /* as it came, for the members that an answer repeats */
} ca_request;

/* What a caller may know beside the body; zeroed = nothing. */
typedef struct ca_request_how {
    tk_quota *quota; /* counts the arena; or NULL */
    tk_str ignore; /* header x-tinkc-ignore: names, with commas, of fields and of kinds of
                      * tools that are left out instead of refused ("web_search,strict") */
    bool is_count; /* messages/count_tokens: max_tokens is not required */
} ca_request_how;

/* Decodes a body. Returns false, with *fault filled and nothing to dispose, when it is
 * refused. `quota` counts the arena; may be NULL. */
TK_NODISCARD bool ca_request_parse(ca_request *out, ca_dialect dialect, tk_str body,
                                   tk_quota *quota, ca_fault *fault);
TK_NODISCARD bool ca_request_parse_how(ca_request *out, ca_dialect dialect, tk_str body,
                                       const ca_request_how *how, ca_fault *fault);
void ca_request_dispose(ca_request *request); /* accepts a zeroed one */

#endif
