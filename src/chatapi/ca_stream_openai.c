/* Chunks of chat/completions and completions. */
#include "chatapi/ca_stream.h"

static bool is_chat(const ca_stream *s)
{
    return s->reply->request->dialect == CA_CHAT;
}

static void begin_chunk(tk_buf *out, const ca_stream *s, tk_json_writer *w)
{
    const ca_reply *reply = s->reply;
    ca_sse_begin(out, NULL, w);
    tk_json_begin_object(w);
    ca_put_text(w, "id", reply->id);
    ca_put_text(w, "object", is_chat(s) ? "chat.completion.chunk" : "text_completion");
    tk_json_key(w, TK_STR("created"));
    tk_json_put_i64(w, reply->created);
    ca_put_str(w, "model", reply->model);
    ca_open_array(w, "choices");
}

static void end_chunk(tk_json_writer *w, const ca_stream *s)
{
    tk_json_end_array(w);
    if (s->reply->request->wants_usage) {
        ca_put_null(w, "usage");
    }
    tk_json_end_object(w);
    ca_sse_end(w);
}

static bool has(const ca_tokens *tokens)
{
    return tokens != NULL && tokens->n > 0;
}

static void put_logprobs(tk_json_writer *w, const ca_stream *s, const ca_tokens *tokens)
{
    if (!s->reply->request->params.logprobs || !has(tokens)) {
        ca_put_null(w, "logprobs");
        return;
    }
    ca_open_object(w, "logprobs");
    ca_open_array(w, "content");
    ca_put_scores(w, s->reply->tok, tokens);
    tk_json_end_array(w);
    ca_put_null(w, "refusal");
    tk_json_end_object(w);
}

static void put_rest(tk_json_writer *w, const ca_stream *s, const ca_tokens *tokens,
                     const ca_choice *ended)
{
    ca_dialect dialect = s->reply->request->dialect;
    if (ended != NULL) {
        ca_put_text(w, "finish_reason", ca_finish_name(ended->finish, dialect));
        ca_put_stop_reason(w, ended);
    } else {
        ca_put_null(w, "finish_reason");
    }
    if (s->reply->request->params.return_token_ids && has(tokens)) {
        tk_json_key(w, TK_STR("token_ids"));
        tk_json_put_i32s(w, tokens->ids, tokens->n);
    }
    tk_json_end_object(w);
}

/* ---- chat ---- */

void ca_stream_chat_begin(tk_buf *out, ca_stream *s)
{
    tk_json_writer w;
    for (size_t i = 0; is_chat(s) && i < s->n_choices; i++) {
        begin_chunk(out, s, &w);
        tk_json_begin_object(&w);
        ca_put_size(&w, "index", i);
        ca_open_object(&w, "delta");
        ca_put_text(&w, "role", "assistant");
        ca_put_text(&w, "content", "");
        tk_json_end_object(&w);
        ca_put_null(&w, "logprobs");
        put_rest(&w, s, NULL, NULL);
        if (i == 0 && s->reply->request->params.return_token_ids) {
            tk_json_end_array(&w);
            tk_json_key(&w, TK_STR("prompt_token_ids"));
            tk_json_put_i32s(&w, s->reply->prompt.ids, s->reply->prompt.n);
            if (s->reply->request->wants_usage) {
                ca_put_null(&w, "usage");
            }
            tk_json_end_object(&w);
            ca_sse_end(&w);
        } else {
            end_chunk(&w, s);
        }
    }
}

static void put_delta(tk_json_writer *w, const ca_event *event, const char *call_id)
{
    ca_open_object(w, "delta");
    if (event != NULL && event->kind == CA_EVENT_CALL) {
        ca_open_array(w, "tool_calls");
        ca_put_call(w, event->call, call_id, event->call_index, true);
        tk_json_end_array(w);
    } else if (event != NULL) {
        bool is_text = event->kind == CA_EVENT_TEXT;
        ca_put_str(w, is_text ? "content" : "reasoning_content", event->text);
    }
    tk_json_end_object(w);
}

void ca_stream_chat_event(tk_buf *out, ca_stream *s, size_t index, const ca_event *event,
                          const char *call_id, const ca_tokens *tokens)
{
    tk_json_writer w;
    if (event == NULL && !(has(tokens) && ca_wants_tokens(s->reply))) {
        return;
    }
    begin_chunk(out, s, &w);
    tk_json_begin_object(&w);
    ca_put_size(&w, "index", index);
    put_delta(&w, event, call_id);
    put_logprobs(&w, s, tokens);
    put_rest(&w, s, tokens, NULL);
    end_chunk(&w, s);
}

/* ---- completions ---- */

void ca_stream_chat_text(tk_buf *out, ca_stream *s, size_t index, tk_str text,
                         const ca_tokens *tokens)
{
    tk_json_writer w;
    if (text.n == 0 && !(has(tokens) && ca_wants_tokens(s->reply))) {
        return;
    }
    begin_chunk(out, s, &w);
    tk_json_begin_object(&w);
    ca_put_size(&w, "index", index);
    ca_put_str(&w, "text", text);
    if (s->reply->request->params.logprobs && has(tokens)) {
        tk_json_key(&w, TK_STR("logprobs"));
        ca_put_columns(&w, s->reply->tok, &tokens, 1, &s->offsets[index]);
    } else {
        ca_put_null(&w, "logprobs");
    }
    put_rest(&w, s, tokens, NULL);
    end_chunk(&w, s);
}

/* ---- both ---- */

void ca_stream_chat_end(tk_buf *out, ca_stream *s, const ca_choice *choice)
{
    tk_json_writer w;
    begin_chunk(out, s, &w);
    tk_json_begin_object(&w);
    ca_put_size(&w, "index", choice->index);
    if (is_chat(s)) {
        ca_open_object(&w, "delta");
        tk_json_end_object(&w);
    } else {
        ca_put_text(&w, "text", "");
    }
    ca_put_null(&w, "logprobs");
    put_rest(&w, s, NULL, choice);
    end_chunk(&w, s);
}

void ca_stream_chat_close(tk_buf *out, ca_stream *s, const ca_usage *usage)
{
    tk_json_writer w;
    if (s->reply->request->wants_usage) {
        begin_chunk(out, s, &w);
        tk_json_end_array(&w);
        ca_put_usage(&w, "usage", usage);
        tk_json_end_object(&w);
        ca_sse_end(&w);
    }
    tk_buf_puts(out, "data: [DONE]\n\n");
}
