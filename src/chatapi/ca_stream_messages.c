/* Events of Anthropic's messages: one block open at a time, tool calls as whole blocks. */
#include "chatapi/ca_stream.h"

static void begin(tk_buf *out, const char *name, tk_json_writer *w)
{
    ca_sse_begin(out, name, w);
    tk_json_begin_object(w);
    ca_put_text(w, "type", name);
}

static void end(tk_json_writer *w)
{
    tk_json_end_object(w);
    ca_sse_end(w);
}

void ca_stream_messages_begin(tk_buf *out, ca_stream *s, const ca_usage *usage)
{
    tk_json_writer w;
    begin(out, "message_start", &w);
    ca_open_object(&w, "message");
    ca_put_text(&w, "id", s->reply->id);
    ca_put_text(&w, "type", "message");
    ca_put_text(&w, "role", "assistant");
    ca_put_str(&w, "model", s->reply->model);
    ca_open_array(&w, "content");
    tk_json_end_array(&w);
    ca_put_null(&w, "stop_reason");
    ca_put_null(&w, "stop_sequence");
    ca_put_messages_usage(&w, usage);
    tk_json_end_object(&w);
    end(&w);
    begin(out, "ping", &w);
    end(&w);
}

/* ---- blocks ---- */

static void put_delta(tk_buf *out, const ca_stream *s, const char *type, const char *key,
                      tk_str value)
{
    tk_json_writer w;
    begin(out, "content_block_delta", &w);
    ca_put_size(&w, "index", s->index);
    ca_open_object(&w, "delta");
    ca_put_text(&w, "type", type);
    ca_put_str(&w, key, value);
    tk_json_end_object(&w);
    end(&w);
}

static void stop_block(tk_buf *out, ca_stream *s)
{
    tk_json_writer w;
    begin(out, "content_block_stop", &w);
    ca_put_size(&w, "index", s->index++);
    end(&w);
}

static void close_block(tk_buf *out, ca_stream *s)
{
    if (s->open == CA_BLOCK_REASONING) {
        put_delta(out, s, "signature_delta", "signature", TK_STR(CA_SIGNATURE));
    }
    if (s->open != CA_BLOCK_NONE) {
        stop_block(out, s);
    }
    s->open = CA_BLOCK_NONE;
}

static void open_block(tk_buf *out, ca_stream *s, ca_block kind)
{
    tk_json_writer w;
    if (s->open == kind) {
        return;
    }
    close_block(out, s);
    s->open = kind;
    begin(out, "content_block_start", &w);
    ca_put_size(&w, "index", s->index);
    ca_open_object(&w, "content_block");
    if (kind == CA_BLOCK_TEXT) {
        ca_put_text(&w, "type", "text");
        ca_put_text(&w, "text", "");
    } else {
        ca_put_text(&w, "type", "thinking");
        ca_put_text(&w, "thinking", "");
        ca_put_text(&w, "signature", "");
    }
    tk_json_end_object(&w);
    end(&w);
}

static void put_call(tk_buf *out, ca_stream *s, const ca_call *call, const char *id)
{
    tk_json_writer w;
    close_block(out, s);
    begin(out, "content_block_start", &w);
    ca_put_size(&w, "index", s->index);
    ca_open_object(&w, "content_block");
    ca_put_text(&w, "type", "tool_use");
    ca_put_text(&w, "id", id);
    ca_put_text(&w, "name", call->name);
    ca_open_object(&w, "input");
    tk_json_end_object(&w);
    tk_json_end_object(&w);
    end(&w);
    put_delta(out, s, "input_json_delta", "partial_json", tk_str_of(call->arguments));
    stop_block(out, s);
}

void ca_stream_messages_event(tk_buf *out, ca_stream *s, const ca_event *event,
                              const char *call_id)
{
    if (event == NULL) {
        return;
    }
    switch (event->kind) {
    case CA_EVENT_TEXT:
        open_block(out, s, CA_BLOCK_TEXT);
        put_delta(out, s, "text_delta", "text", event->text);
        break;
    case CA_EVENT_REASONING:
        open_block(out, s, CA_BLOCK_REASONING);
        put_delta(out, s, "thinking_delta", "thinking", event->text);
        break;
    case CA_EVENT_CALL:
        put_call(out, s, event->call, call_id);
        break;
    }
}

/* ---- the end ---- */

void ca_stream_messages_end(tk_buf *out, ca_stream *s)
{
    if (s->index == 0 && s->open == CA_BLOCK_NONE) { /* as in a body: never without */
        open_block(out, s, CA_BLOCK_TEXT);
    }
    close_block(out, s);
}

void ca_stream_messages_close(tk_buf *out, ca_stream *s, const ca_usage *usage)
{
    tk_json_writer w;
    begin(out, "message_delta", &w);
    ca_open_object(&w, "delta");
    ca_put_text(&w, "stop_reason", ca_finish_name(s->finish, CA_MESSAGES));
    if (s->finish == CA_FINISH_STOP_STRING) {
        ca_put_str(&w, "stop_sequence", tk_buf_str(&s->stop));
    } else {
        ca_put_null(&w, "stop_sequence");
    }
    tk_json_end_object(&w);
    ca_put_messages_usage(&w, usage);
    end(&w);
    begin(out, "message_stop", &w);
    end(&w);
}
