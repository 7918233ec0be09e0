/* What the writers of bodies and events share: members of objects, scores of tokens, usage,
 * and the parts of each dialect that bodies and streams both have. Failure is the
 * buffer's. Thread: one at a time. */
#ifndef CHATAPI_CA_WRITE_H
#define CHATAPI_CA_WRITE_H

#include "chatapi/ca_reply.h"

/* The signature of thinking blocks, which a client sends back and nothing here checks. */
#define CA_SIGNATURE "tinkc1"

/* ---- members ---- */

void ca_put_str(tk_json_writer *w, const char *key, tk_str value);
void ca_put_text(tk_json_writer *w, const char *key, const char *value);
void ca_put_size(tk_json_writer *w, const char *key, size_t value);
void ca_put_bool(tk_json_writer *w, const char *key, bool value);
void ca_put_null(tk_json_writer *w, const char *key);
void ca_put_json(tk_json_writer *w, const char *key, tk_str json); /* written before */
void ca_open_object(tk_json_writer *w, const char *key);
void ca_open_array(tk_json_writer *w, const char *key);
/* Puts the member of the request's body, or `otherwise` (JSON) when it has none. */
void ca_put_echo(tk_json_writer *w, const ca_request *request, const char *key,
                 const char *otherwise);
/* Puts the arguments of a call as an object. */
void ca_put_input(tk_json_writer *w, const char *key, const char *arguments);

/* ---- tokens ---- */

bool ca_wants_tokens(const ca_reply *reply); /* ids or scores */
/* Puts the text of a token as JSON can hold it: U+FFFD for a part of a character. Returns
 * its number of characters. */
size_t ca_put_token(tk_json_writer *w, const tk_tok *tok, int32_t id);

/* [{"token", "logprob", "bytes", "top_logprobs"}, ...] without the brackets; chat and
 * responses. */
void ca_put_scores(tk_json_writer *w, const tk_tok *tok, const ca_tokens *tokens);
/* {"text_offset", "token_logprobs", "tokens", "top_logprobs"} of completions, of several
 * runs of tokens. *offset, in characters, goes on. */
void ca_put_columns(tk_json_writer *w, const tk_tok *tok, const ca_tokens *const *runs,
                    size_t n, size_t *offset);
/* vLLM's prompt_logprobs. */
void ca_put_prompt_scores(tk_json_writer *w, const tk_tok *tok, const ca_tokens *tokens);

/* ---- parts of dialects ---- */

const char *ca_finish_name(ca_finish finish, ca_dialect dialect);
void ca_put_usage(tk_json_writer *w, const char *key, const ca_usage *usage); /* chat */
void ca_put_messages_usage(tk_json_writer *w, const ca_usage *usage);
void ca_put_stop_reason(tk_json_writer *w, const ca_choice *choice); /* vLLM's */
void ca_put_error(tk_json_writer *w, ca_dialect dialect, const ca_fault *fault);

/* Items of responses; `index` is the output_index. */
void ca_put_item_id(tk_json_writer *w, const char *key, const ca_reply *reply,
                    const char *prefix, size_t index);
void ca_put_reasoning_item(tk_json_writer *w, const ca_reply *reply, size_t index,
                           tk_str text, bool is_done);
void ca_put_text_part(tk_json_writer *w, tk_str text, tk_str scores);
void ca_put_message_item(tk_json_writer *w, const ca_reply *reply, size_t index,
                         const tk_str *text_and_scores, const char *status);
void ca_put_call_item(tk_json_writer *w, const ca_reply *reply, size_t index,
                      const ca_call *call, const char *call_id);

/* The object "response". `items` is the JSON of its output without brackets. */
typedef struct ca_response {
    const char *status;
    tk_str items;
    const ca_usage *usage;   /* NULL: none yet */
    const ca_fault *failure; /* or NULL */
    bool is_cut;             /* status incomplete: max_output_tokens */
} ca_response;
void ca_put_response(tk_json_writer *w, const ca_reply *reply, const ca_response *r);

/* ---- bodies ---- */

void ca_write_chat(tk_json_writer *w, const ca_reply *reply, const ca_choice *choices,
                   size_t n, const ca_usage *usage);
void ca_write_text(tk_json_writer *w, const ca_reply *reply, const ca_choice *choices,
                   size_t n, const ca_usage *usage);
void ca_write_responses(tk_json_writer *w, const ca_reply *reply, const ca_choice *choice,
                        const ca_usage *usage);
void ca_write_messages(tk_json_writer *w, const ca_reply *reply, const ca_choice *choice,
                       const ca_usage *usage);
void ca_put_call(tk_json_writer *w, const ca_call *call, const char *id, size_t index,
                 bool is_delta);

#endif
