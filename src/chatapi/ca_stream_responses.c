/* Events of responses: numbered, one item open at a time; the last event repeats all items,
 * so their JSON is kept while the stream runs. */
#include "chatapi/ca_stream.h"

static void begin(tk_buf *out, ca_stream *s, const char *name, tk_json_writer *w)
{
    ca_sse_begin(out, name, w);
    tk_json_begin_object(w);
    ca_put_text(w, "type", name);
    ca_put_size(w, "sequence_number", s->sequence++);
}

static void end(tk_json_writer *w)
{
    tk_json_end_object(w);
    ca_sse_end(w);
}

static void pass_failure(tk_buf *out, const ca_stream *s)
{
    const tk_buf *kept[] = {&s->text, &s->scores, &s->items};
    for (size_t i = 0; i < TK_ARRAY_LEN(kept); i++) {
        if (kept[i]->failure != TINKC_OK) {
            tk_buf_fail(out, kept[i]->failure);
        }
    }
}

static void put_response(tk_buf *out, ca_stream *s, const char *name,
                         const ca_response *response)
{
    tk_json_writer w;
    begin(out, s, name, &w);
    tk_json_key(&w, TK_STR("response"));
    ca_put_response(&w, s->reply, response);
    end(&w);
}

void ca_stream_responses_begin(tk_buf *out, ca_stream *s)
{
    const ca_response response = {.status = "in_progress"};
    put_response(out, s, "response.created", &response);
    put_response(out, s, "response.in_progress", &response);
}

/* ---- items ---- */

static const char *prefix_of(ca_block kind)
{
    return kind == CA_BLOCK_TEXT ? "msg" : "rs";
}

/* Which item, and for text which part of it. */
static void put_place(tk_json_writer *w, const ca_stream *s, const char *prefix,
                      bool has_part)
{
    ca_put_item_id(w, "item_id", s->reply, prefix, s->index);
    ca_put_size(w, "output_index", s->index);
    if (has_part) {
        ca_put_size(w, "content_index", 0);
    }
}

static void put_part(tk_json_writer *w, ca_block kind, tk_str text, tk_str scores)
{
    tk_json_key(w, TK_STR("part"));
    if (kind == CA_BLOCK_TEXT) {
        ca_put_text_part(w, text, scores);
        return;
    }
    tk_json_begin_object(w);
    ca_put_text(w, "type", "reasoning_text");
    ca_put_str(w, "text", text);
    tk_json_end_object(w);
}

/* Writes the open item, finished or not. */
static void put_item(tk_json_writer *w, const ca_stream *s, const char *status)
{
    const tk_str parts[] = {tk_buf_str(&s->text), tk_buf_str(&s->scores)};
    if (s->open == CA_BLOCK_REASONING) {
        ca_put_reasoning_item(w, s->reply, s->index, parts[0], status != NULL);
    } else {
        ca_put_message_item(w, s->reply, s->index, status != NULL ? parts : NULL,
                            status != NULL ? status : "in_progress");
    }
}

/* Keeps the JSON of an item that was written to the end of `out` from `from` on. */
static void keep_item(tk_buf *out, ca_stream *s, size_t from)
{
    if (out->failure == TINKC_OK) {
        if (s->items.n > 0) {
            tk_buf_putc(&s->items, ',');
        }
        tk_buf_put(&s->items, out->p + from, out->n - from);
    }
}

static void put_done(tk_buf *out, ca_stream *s, const char *status)
{
    tk_json_writer w;
    bool is_text = s->open == CA_BLOCK_TEXT;
    tk_str text = tk_buf_str(&s->text), scores = tk_buf_str(&s->scores);
    begin(out, s, is_text ? "response.output_text.done" : "response.reasoning_text.done",
          &w);
    put_place(&w, s, prefix_of(s->open), true);
    ca_put_str(&w, "text", text);
    if (is_text) {
        ca_open_array(&w, "logprobs");
        if (scores.n > 0) {
            ca_put_json(&w, NULL, scores);
        }
        tk_json_end_array(&w);
    }
    end(&w);
    begin(out, s, "response.content_part.done", &w);
    put_place(&w, s, prefix_of(s->open), true);
    put_part(&w, s->open, text, scores);
    end(&w);
    begin(out, s, "response.output_item.done", &w);
    ca_put_size(&w, "output_index", s->index);
    tk_json_key(&w, TK_STR("item"));
    size_t from = out->n;
    put_item(&w, s, status);
    keep_item(out, s, from);
    end(&w);
}

static void close_item(tk_buf *out, ca_stream *s, const char *status)
{
    pass_failure(out, s);
    if (s->open == CA_BLOCK_NONE) {
        return;
    }
    put_done(out, s, status);
    tk_buf_clear(&s->text);
    tk_buf_clear(&s->scores);
    s->open = CA_BLOCK_NONE;
    s->index++;
}

static void open_item(tk_buf *out, ca_stream *s, ca_block kind)
{
    tk_json_writer w;
    if (s->open == kind) {
        return;
    }
    close_item(out, s, "completed");
    s->open = kind;
    begin(out, s, "response.output_item.added", &w);
    ca_put_size(&w, "output_index", s->index);
    tk_json_key(&w, TK_STR("item"));
    put_item(&w, s, NULL);
    end(&w);
    begin(out, s, "response.content_part.added", &w);
    put_place(&w, s, prefix_of(kind), true);
    put_part(&w, kind, (tk_str){"", 0}, (tk_str){"", 0});
    end(&w);
}

/* The scores of these tokens as JSON without brackets, at the end of what is kept. Returns
 * where they begin. */
static size_t keep_scores(ca_stream *s, const ca_tokens *tokens)
{
    tk_json_writer w;
    tk_buf fresh;
    if (!s->reply->request->params.logprobs || tokens == NULL || tokens->n == 0 ||
        tokens->logprobs == NULL) {
        return s->scores.n;
    }
    tk_buf_init(&fresh, TK_BODY_MAX_BYTES);
    tk_json_writer_init(&w, &fresh);
    tk_json_begin_array(&w);
    ca_put_scores(&w, s->reply->tok, tokens);
    tk_json_end_array(&w);
    if (fresh.failure != TINKC_OK) {
        tk_buf_fail(&s->scores, fresh.failure);
    }
    if (s->scores.n > 0) {
        tk_buf_putc(&s->scores, ',');
    }
    size_t from = s->scores.n;
    if (fresh.n > 2) {
        tk_buf_put(&s->scores, fresh.p + 1, fresh.n - 2);
    }
    tk_buf_dispose(&fresh);
    return from;
}

static void put_text(tk_buf *out, ca_stream *s, tk_str text, const ca_tokens *tokens)
{
    tk_json_writer w;
    open_item(out, s, CA_BLOCK_TEXT);
    tk_buf_put(&s->text, text.p, text.n);
    size_t from = keep_scores(s, tokens);
    pass_failure(out, s);
    begin(out, s, "response.output_text.delta", &w);
    put_place(&w, s, "msg", true);
    ca_put_str(&w, "delta", text);
    ca_open_array(&w, "logprobs");
    if (s->scores.failure == TINKC_OK && s->scores.n > from) {
        ca_put_json(&w, NULL, (tk_str){s->scores.p + from, s->scores.n - from});
    }
    tk_json_end_array(&w);
    end(&w);
}

static void put_reasoning(tk_buf *out, ca_stream *s, tk_str text)
{
    tk_json_writer w;
    open_item(out, s, CA_BLOCK_REASONING);
    tk_buf_put(&s->text, text.p, text.n);
    pass_failure(out, s);
    begin(out, s, "response.reasoning_text.delta", &w);
    put_place(&w, s, "rs", true);
    ca_put_str(&w, "delta", text);
    end(&w);
}

static void put_call(tk_buf *out, ca_stream *s, const ca_call *call, const char *id)
{
    tk_json_writer w;
    const ca_call empty = {.name = call->name};
    close_item(out, s, "completed");
    begin(out, s, "response.output_item.added", &w);
    ca_put_size(&w, "output_index", s->index);
    tk_json_key(&w, TK_STR("item"));
    ca_put_call_item(&w, s->reply, s->index, &empty, id);
    end(&w);
    begin(out, s, "response.function_call_arguments.delta", &w);
    put_place(&w, s, "fc", false);
    ca_put_text(&w, "delta", call->arguments);
    end(&w);
    begin(out, s, "response.function_call_arguments.done", &w);
    put_place(&w, s, "fc", false);
    ca_put_text(&w, "name", call->name);
    ca_put_text(&w, "arguments", call->arguments);
    end(&w);
    begin(out, s, "response.output_item.done", &w);
    ca_put_size(&w, "output_index", s->index);
    tk_json_key(&w, TK_STR("item"));
    size_t from = out->n;
    ca_put_call_item(&w, s->reply, s->index, call, id);
    keep_item(out, s, from);
    end(&w);
    s->index++;
}

void ca_stream_responses_event(tk_buf *out, ca_stream *s, const ca_event *event,
                               const char *call_id, const ca_tokens *tokens)
{
    if (event == NULL) {
        if (s->open == CA_BLOCK_TEXT) { /* shown with the finished part */
            (void)keep_scores(s, tokens);
        }
        return;
    }
    switch (event->kind) {
    case CA_EVENT_TEXT:
        put_text(out, s, event->text, tokens);
        break;
    case CA_EVENT_REASONING:
        put_reasoning(out, s, event->text);
        break;
    case CA_EVENT_CALL:
        put_call(out, s, event->call, call_id);
        break;
    }
}

/* ---- the end ---- */

void ca_stream_responses_end(tk_buf *out, ca_stream *s)
{
    if (s->index == 0 && s->open == CA_BLOCK_NONE) { /* as in a body: never without */
        open_item(out, s, CA_BLOCK_TEXT);
    }
    bool is_cut = s->finish == CA_FINISH_LENGTH;
    close_item(out, s, is_cut ? "incomplete" : "completed");
}

void ca_stream_responses_close(tk_buf *out, ca_stream *s, const ca_usage *usage)
{
    bool is_cut = s->finish == CA_FINISH_LENGTH;
    const ca_response response = {
        .status = is_cut ? "incomplete" : "completed",
        .items = tk_buf_str(&s->items),
        .usage = usage,
        .is_cut = is_cut,
    };
    pass_failure(out, s);
    put_response(out, s, is_cut ? "response.incomplete" : "response.completed",
                 &response);
}

void ca_stream_responses_fail(tk_buf *out, ca_stream *s, const ca_fault *fault)
{
    const ca_response response = {
        .status = "failed",
        .items = tk_buf_str(&s->items),
        .failure = fault,
    };
    put_response(out, s, "response.failed", &response);
}
