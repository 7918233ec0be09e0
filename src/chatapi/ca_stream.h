/* The state of a stream of server-sent events, and the writers of the dialects. Failure is
 * the buffer's. Thread: one at a time. */
#ifndef CHATAPI_CA_STREAM_H
#define CHATAPI_CA_STREAM_H

#include "chatapi/ca_write.h"

typedef enum ca_block { CA_BLOCK_NONE, CA_BLOCK_TEXT, CA_BLOCK_REASONING } ca_block;

struct ca_stream {
    const ca_reply *reply;
    size_t n_choices;
    size_t *offsets; /* completions: characters of each choice so far */
    /* messages and responses have one choice */
    ca_block open;   /* the block or item that text goes into */
    size_t index;    /* of it, or of the next one */
    size_t sequence; /* responses: number of the next event */
    tk_buf text;     /* responses: of the open item */
    tk_buf scores;   /* responses: JSON of its scores, without brackets */
    tk_buf items;    /* responses: JSON of the items that are done */
    ca_finish finish;
    tk_buf stop; /* the stop string that ended it */
};

/* Begins and ends one event. `name` NULL: only data. */
void ca_sse_begin(tk_buf *out, const char *name, tk_json_writer *w);
void ca_sse_end(tk_json_writer *w);

void ca_stream_chat_begin(tk_buf *out, ca_stream *s);
void ca_stream_chat_event(tk_buf *out, ca_stream *s, size_t index, const ca_event *event,
                          const char *call_id, const ca_tokens *tokens);
void ca_stream_chat_text(tk_buf *out, ca_stream *s, size_t index, tk_str text,
                         const ca_tokens *tokens);
void ca_stream_chat_end(tk_buf *out, ca_stream *s, const ca_choice *choice);
void ca_stream_chat_close(tk_buf *out, ca_stream *s, const ca_usage *usage);

void ca_stream_messages_begin(tk_buf *out, ca_stream *s, const ca_usage *usage);
void ca_stream_messages_event(tk_buf *out, ca_stream *s, const ca_event *event,
                              const char *call_id);
void ca_stream_messages_end(tk_buf *out, ca_stream *s);
void ca_stream_messages_close(tk_buf *out, ca_stream *s, const ca_usage *usage);

void ca_stream_responses_begin(tk_buf *out, ca_stream *s);
void ca_stream_responses_event(tk_buf *out, ca_stream *s, const ca_event *event,
                               const char *call_id, const ca_tokens *tokens);
void ca_stream_responses_end(tk_buf *out, ca_stream *s);
void ca_stream_responses_close(tk_buf *out, ca_stream *s, const ca_usage *usage);
void ca_stream_responses_fail(tk_buf *out, ca_stream *s, const ca_fault *fault);

#endif
