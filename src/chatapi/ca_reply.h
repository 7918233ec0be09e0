/* Results as the bodies and the server-sent events of OpenAI's and Anthropic's APIs. Pure.
 * Failure is the buffer's. Thread: one at a time. */
#ifndef CHATAPI_CA_REPLY_H
#define CHATAPI_CA_REPLY_H

#include "chatapi/ca_parser.h"
#include "chatapi/ca_request.h"
#include "text/tok/tok.h"

typedef enum ca_finish {
    CA_FINISH_STOP,        /* the model ended its turn */
    CA_FINISH_STOP_STRING, /* a stop string of the request */
    CA_FINISH_LENGTH,      /* max_tokens, or the context is full */
    CA_FINISH_CALLS,       /* tool calls */
    CA_FINISH_FAILED       /* a stream that could not go on */
} ca_finish;

/* Tokens with their scores; borrowed. */
typedef struct ca_tokens {
    const int32_t *ids;
    const float *logprobs;     /* NULL when not wanted; NaN = not known */
    const int32_t *top_ids;    /* [n][k], the likeliest first; NULL when not wanted */
    const float *top_logprobs; /* [n][k] */
    size_t n, k;
} ca_tokens;

typedef struct ca_choice {
    size_t index;
    const ca_output *output;     /* taken apart */
    tk_str text;                 /* of completions: as it was sampled */
    const char *const *call_ids; /* one for each call */
    ca_finish finish;
    tk_str stop; /* which stop string; "" = none */
    ca_tokens sampled;
    const ca_tokens *prompt; /* completions with several prompts: of this choice; NULL =
                              * the reply's, with its text */
    tk_str prompt_text;      /* with `prompt`, and with echo */
} ca_choice;

typedef struct ca_usage {
    size_t prompt, sampled, cached, reasoning; /* tokens; cached is a part of prompt */
} ca_usage;

/* One request as it is answered: what every body and event of it repeats. */
typedef struct ca_reply {
    const ca_request *request;
    const tk_tok *tok;  /* for the text of tokens */
    char id[64];        /* "chatcmpl-...", "cmpl-...", "resp_...", "msg_..." */
    int64_t created;    /* seconds since 1970 */
    tk_str model;       /* the name that the client used */
    ca_tokens prompt;   /* ids with echo, prompt_logprobs or return_token_ids */
    tk_str prompt_text; /* with echo */
} ca_reply;

/* Fills reply->id for the dialect from random bytes. */
void ca_reply_make_id(ca_reply *reply, const unsigned char random[16]);
/* Writes an id of a tool call: "call_..." or "toolu_...". `out` has 64 bytes. */
void ca_reply_make_call_id(char *out, ca_dialect dialect, const unsigned char random[16]);

/* Writes the whole answer of a request that is not streamed. */
void ca_reply_body(tk_buf *out, const ca_reply *reply, const ca_choice *choices, size_t n,
                   const ca_usage *usage);

/* Fills the fault of a prompt that does not fit: the dialect's own words with both
 * numbers, status 400. */
void ca_reply_too_long(ca_fault *fault, ca_dialect dialect, size_t n, size_t max);

/* Writes an error in the dialect's shape, with its "type" and "code" for the status. */
void ca_reply_error(tk_buf *out, ca_dialect dialect, const ca_fault *fault);

/* {"input_tokens": n}: messages/count_tokens. */
void ca_reply_count(tk_buf *out, size_t n);

/* GET /v1/models, /v1/models/ID; in Anthropic's shape when `dialect` is CA_MESSAGES. */
typedef struct ca_model {
    tk_str id;
    int64_t created; /* seconds since 1970: since when it is offered */
    size_t context;  /* 0 = not known */
} ca_model;
void ca_reply_models(tk_buf *out, ca_dialect dialect, const ca_model *models, size_t n);
void ca_reply_model(tk_buf *out, ca_dialect dialect, const ca_model *model);

/* ---- streams ----
 *
 * Order: begin; then for each choice any number of events and tokens, and one end; then
 * close. Every call appends whole server-sent events. */
typedef struct ca_stream ca_stream; /* which blocks are open, sequence numbers */

TK_NODISCARD tinkc_code ca_stream_new(ca_stream **out, const ca_reply *reply,
                                      tk_err *err);
void ca_stream_free(ca_stream *stream); /* accepts NULL */

void ca_stream_begin(tk_buf *out, ca_stream *stream, const ca_usage *usage);
/* An event of choice `index` with the tokens that gave it (n may be 0: their scores went
 * with an earlier event; several events may share tokens: the first one has them).
 * event NULL: tokens that show nothing (yet) and whose ids or scores are wanted. */
void ca_stream_event(tk_buf *out, ca_stream *stream, size_t index, const ca_event *event,
                     const char *call_id, const ca_tokens *tokens);
/* Completions: the text of choice `index` as it was sampled; with echo the prompt comes
 * first, as a text of its own. */
void ca_stream_text(tk_buf *out, ca_stream *stream, size_t index, tk_str text,
                    const ca_tokens *tokens);
/* The choice is done. Only its index, finish and stop are read. */
void ca_stream_end(tk_buf *out, ca_stream *stream, const ca_choice *choice);
void ca_stream_close(tk_buf *out, ca_stream *stream, const ca_usage *usage);
/* Instead of the rest: the stream ends with an error in the dialect's shape. */
void ca_stream_fail(tk_buf *out, ca_stream *stream, const ca_fault *fault);

#endif
