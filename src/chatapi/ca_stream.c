/* Streams: their state, and which dialect writes. */
#include "chatapi/ca_stream.h"

#include "base/mem.h"

tinkc_code ca_stream_new(ca_stream **out, const ca_reply *reply, tk_err *err)
{
    const ca_request *request = reply->request;
    ca_stream *s = tk_zalloc(sizeof(*s));
    if (s == NULL) {
        return tk_err_nomem(err);
    }
    s->reply = reply;
    s->n_choices = TK_MAX(request->n_prompts, (size_t)1) * request->params.n;
    tk_buf_init(&s->text, TK_BODY_MAX_BYTES);
    tk_buf_init(&s->scores, TK_BODY_MAX_BYTES);
    tk_buf_init(&s->items, TK_BODY_MAX_BYTES);
    tk_buf_init(&s->stop, TK_STOPS_BYTES);
    s->offsets = tk_zarray(s->n_choices, sizeof(*s->offsets));
    if (s->offsets == NULL) {
        ca_stream_free(s);
        return tk_err_nomem(err);
    }
    *out = s;
    return TINKC_OK;
}

void ca_stream_free(ca_stream *stream)
{
    if (stream != NULL) {
        tk_buf_dispose(&stream->text);
        tk_buf_dispose(&stream->scores);
        tk_buf_dispose(&stream->items);
        tk_buf_dispose(&stream->stop);
        tk_free(stream->offsets);
        tk_free(stream);
    }
}

void ca_sse_begin(tk_buf *out, const char *name, tk_json_writer *w)
{
    if (name != NULL) {
        tk_buf_puts(out, "event: ");
        tk_buf_puts(out, name);
        tk_buf_putc(out, '\n');
    }
    tk_buf_puts(out, "data: ");
    tk_json_writer_init(w, out);
}

void ca_sse_end(tk_json_writer *w)
{
    tinkc_code code = tk_json_finish(w, NULL);
    (void)code; /* the buffer keeps it */
    tk_buf_puts(w->out, "\n\n");
}

void ca_stream_begin(tk_buf *out, ca_stream *stream, const ca_usage *usage)
{
    switch (stream->reply->request->dialect) {
    case CA_CHAT:
    case CA_COMPLETIONS:
        ca_stream_chat_begin(out, stream);
        break;
    case CA_RESPONSES:
        ca_stream_responses_begin(out, stream);
        break;
    case CA_MESSAGES:
        ca_stream_messages_begin(out, stream, usage);
        break;
    }
}

void ca_stream_event(tk_buf *out, ca_stream *stream, size_t index, const ca_event *event,
                     const char *call_id, const ca_tokens *tokens)
{
    switch (stream->reply->request->dialect) {
    case CA_CHAT:
        ca_stream_chat_event(out, stream, index, event, call_id, tokens);
        break;
    case CA_COMPLETIONS: /* has only ca_stream_text */
        break;
    case CA_RESPONSES:
        ca_stream_responses_event(out, stream, event, call_id, tokens);
        break;
    case CA_MESSAGES:
        ca_stream_messages_event(out, stream, event, call_id);
        break;
    }
}

void ca_stream_text(tk_buf *out, ca_stream *stream, size_t index, tk_str text,
                    const ca_tokens *tokens)
{
    if (stream->reply->request->dialect == CA_COMPLETIONS && index < stream->n_choices) {
        ca_stream_chat_text(out, stream, index, text, tokens);
    }
}

void ca_stream_end(tk_buf *out, ca_stream *stream, const ca_choice *choice)
{
    stream->finish = choice->finish;
    if (choice->finish == CA_FINISH_STOP_STRING) {
        tk_buf_clear(&stream->stop);
        tk_buf_put(&stream->stop, choice->stop.p, choice->stop.n);
        if (stream->stop.failure != TINKC_OK) {
            tk_buf_fail(out, stream->stop.failure);
        }
    }
    switch (stream->reply->request->dialect) {
    case CA_CHAT:
    case CA_COMPLETIONS:
        ca_stream_chat_end(out, stream, choice);
        break;
    case CA_RESPONSES:
        ca_stream_responses_end(out, stream);
        break;
    case CA_MESSAGES:
        ca_stream_messages_end(out, stream);
        break;
    }
}

void ca_stream_close(tk_buf *out, ca_stream *stream, const ca_usage *usage)
{
    switch (stream->reply->request->dialect) {
    case CA_CHAT:
    case CA_COMPLETIONS:
        ca_stream_chat_close(out, stream, usage);
        break;
    case CA_RESPONSES:
        ca_stream_responses_close(out, stream, usage);
        break;
    case CA_MESSAGES:
        ca_stream_messages_close(out, stream, usage);
        break;
    }
}

void ca_stream_fail(tk_buf *out, ca_stream *stream, const ca_fault *fault)
{
    ca_dialect dialect = stream->reply->request->dialect;
    tk_json_writer w;
    if (dialect == CA_RESPONSES) {
        ca_stream_responses_fail(out, stream, fault);
        return;
    }
    ca_sse_begin(out, dialect == CA_MESSAGES ? "error" : NULL, &w);
    tk_json_begin_object(&w);
    if (dialect == CA_MESSAGES) {
        ca_put_text(&w, "type", "error");
    }
    tk_json_key(&w, TK_STR("error"));
    ca_put_error(&w, dialect, fault);
    tk_json_end_object(&w);
    ca_sse_end(&w);
    if (dialect != CA_MESSAGES) {
        tk_buf_puts(out, "data: [DONE]\n\n");
    }
}
