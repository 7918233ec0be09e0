/* The object "response" and its items: reasoning, message, function calls. */
#include <stdio.h>
#include <string.h>

#include "chatapi/ca_seal.h"
#include "chatapi/ca_write.h"

/* ---- items ---- */

void ca_put_item_id(tk_json_writer *w, const char *key, const ca_reply *reply,
                    const char *prefix, size_t index)
{
    char id[96];
    const char *mark = strchr(reply->id, '_');
    (void)snprintf(id, sizeof(id), "%s_%s%zu", prefix, mark != NULL ? mark + 1 : "",
                   index);
    ca_put_text(w, key, id);
}

static void put_sealed(tk_json_writer *w, tk_str text)
{
    tk_buf sealed;
    tk_buf_init(&sealed, TK_BODY_MAX_BYTES);
    ca_seal(&sealed, text);
    if (sealed.failure != TINKC_OK) {
        tk_buf_fail(w->out, sealed.failure);
    }
    ca_put_str(w, "encrypted_content", tk_buf_str(&sealed));
    tk_buf_dispose(&sealed);
}

void ca_put_reasoning_item(tk_json_writer *w, const ca_reply *reply, size_t index,
                           tk_str text, bool is_done)
{
    tk_json_begin_object(w);
    ca_put_item_id(w, "id", reply, "rs", index);
    ca_put_text(w, "type", "reasoning");
    ca_open_array(w, "summary");
    tk_json_end_array(w);
    ca_open_array(w, "content");
    if (is_done) {
        tk_json_begin_object(w);
        ca_put_text(w, "type", "reasoning_text");
        ca_put_str(w, "text", text);
        tk_json_end_object(w);
    }
    tk_json_end_array(w);
    if (is_done && reply->request->seals_reasoning) {
        put_sealed(w, text);
    } else {
        ca_put_null(w, "encrypted_content");
    }
    ca_put_text(w, "status", is_done ? "completed" : "in_progress");
    tk_json_end_object(w);
}

void ca_put_text_part(tk_json_writer *w, tk_str text, tk_str scores)
{
    tk_json_begin_object(w);
    ca_put_text(w, "type", "output_text");
    ca_put_str(w, "text", text);
    ca_open_array(w, "annotations");
    tk_json_end_array(w);
    ca_open_array(w, "logprobs");
    if (scores.n > 0) {
        ca_put_json(w, NULL, scores);
    }
    tk_json_end_array(w);
    tk_json_end_object(w);
}

void ca_put_message_item(tk_json_writer *w, const ca_reply *reply, size_t index,
                         const tk_str *text_and_scores, const char *status)
{
    tk_json_begin_object(w);
    ca_put_item_id(w, "id", reply, "msg", index);
    ca_put_text(w, "type", "message");
    ca_put_text(w, "role", "assistant");
    ca_put_text(w, "status", status);
    ca_open_array(w, "content");
    if (text_and_scores != NULL) {
        ca_put_text_part(w, text_and_scores[0], text_and_scores[1]);
    }
    tk_json_end_array(w);
    tk_json_end_object(w);
}

void ca_put_call_item(tk_json_writer *w, const ca_reply *reply, size_t index,
                      const ca_call *call, const char *call_id)
{
    bool is_done = call->arguments != NULL;
    tk_json_begin_object(w);
    ca_put_item_id(w, "id", reply, "fc", index);
    ca_put_text(w, "type", "function_call");
    ca_put_text(w, "status", is_done ? "completed" : "in_progress");
    ca_put_text(w, "call_id", call_id);
    ca_put_text(w, "name", call->name);
    ca_put_text(w, "arguments", is_done ? call->arguments : "");
    tk_json_end_object(w);
}

/* ---- the response ---- */

static void put_usage(tk_json_writer *w, const ca_usage *usage)
{
    ca_open_object(w, "usage");
    ca_put_size(w, "input_tokens", usage->prompt);
    ca_open_object(w, "input_tokens_details");
    ca_put_size(w, "cached_tokens", usage->cached);
    ca_put_size(w, "cache_write_tokens", 0);
    tk_json_end_object(w);
    ca_put_size(w, "output_tokens", usage->sampled);
    ca_open_object(w, "output_tokens_details");
    ca_put_size(w, "reasoning_tokens", usage->reasoning);
    tk_json_end_object(w);
    ca_put_size(w, "total_tokens", usage->prompt + usage->sampled);
    tk_json_end_object(w);
}

static void put_outcome(tk_json_writer *w, const ca_response *r)
{
    ca_put_text(w, "status", r->status);
    if (r->failure != NULL) {
        bool is_busy = r->failure->status == 429;
        ca_open_object(w, "error");
        ca_put_text(w, "code",
                    r->failure->is_too_long ? "context_length_exceeded"
                    : is_busy               ? "rate_limit_exceeded"
                                            : "server_error");
        ca_put_text(w, "message", r->failure->err.message);
        tk_json_end_object(w);
    } else {
        ca_put_null(w, "error");
    }
    if (r->is_cut) {
        ca_open_object(w, "incomplete_details");
        ca_put_text(w, "reason", "max_output_tokens");
        tk_json_end_object(w);
    } else {
        ca_put_null(w, "incomplete_details");
    }
}

/* What an answer repeats of its request. Nothing is stored, whatever "store" was. */
static void put_settings(tk_json_writer *w, const ca_request *request)
{
    ca_put_echo(w, request, "instructions", "null");
    ca_put_echo(w, request, "max_output_tokens", "null");
    ca_put_echo(w, request, "metadata", "{}");
    ca_put_bool(w, "parallel_tool_calls", true);
    ca_put_null(w, "previous_response_id");
    ca_put_echo(w, request, "reasoning", "{\"effort\":null,\"summary\":null}");
    ca_put_bool(w, "store", false);
    ca_put_echo(w, request, "temperature", "null");
    ca_put_echo(w, request, "text", "{\"format\":{\"type\":\"text\"}}");
    ca_put_echo(w, request, "tool_choice", "\"auto\"");
    ca_put_echo(w, request, "tools", "[]");
    ca_put_echo(w, request, "top_p", "null");
    ca_put_text(w, "truncation", "disabled");
    ca_put_echo(w, request, "user", "null");
}

void ca_put_response(tk_json_writer *w, const ca_reply *reply, const ca_response *r)
{
    tk_json_begin_object(w);
    ca_put_text(w, "id", reply->id);
    ca_put_text(w, "object", "response");
    tk_json_key(w, TK_STR("created_at"));
    tk_json_put_i64(w, reply->created);
    put_outcome(w, r);
    ca_put_str(w, "model", reply->model);
    ca_open_array(w, "output");
    if (r->items.n > 0) {
        ca_put_json(w, NULL, r->items);
    }
    tk_json_end_array(w);
    put_settings(w, reply->request);
    if (r->usage != NULL) {
        put_usage(w, r->usage);
    } else {
        ca_put_null(w, "usage");
    }
    tk_json_end_object(w);
}

static void put_scores(tk_buf *out, const ca_reply *reply, const ca_tokens *tokens)
{
    tk_json_writer w;
    if (!reply->request->params.logprobs) {
        return;
    }
    tk_json_writer_init(&w, out);
    tk_json_begin_array(&w);
    ca_put_scores(&w, reply->tok, tokens);
    tk_json_end_array(&w);
}

static void put_items(tk_json_writer *w, const ca_reply *reply, const ca_choice *choice,
                      bool is_cut)
{
    const ca_output *output = choice->output;
    size_t index = 0;
    tk_buf scores;
    tk_buf_init(&scores, TK_BODY_MAX_BYTES);
    if (output->has_reasoning) {
        ca_put_reasoning_item(w, reply, index++, tk_buf_str(&output->reasoning), true);
    }
    if (output->text.n > 0 || output->n_calls == 0) {
        put_scores(&scores, reply, &choice->sampled);
        tk_str all = tk_buf_str(&scores); /* without its brackets */
        tk_str inner = all.n >= 2 ? (tk_str){all.p + 1, all.n - 2} : (tk_str){"", 0};
        const tk_str parts[] = {tk_buf_str(&output->text), inner};
        ca_put_message_item(w, reply, index++, parts,
                            is_cut ? "incomplete" : "completed");
    }
    for (size_t i = 0; i < output->n_calls; i++) {
        ca_put_call_item(w, reply, index++, &output->calls[i], choice->call_ids[i]);
    }
    if (scores.failure != TINKC_OK) {
        tk_buf_fail(w->out, scores.failure);
    }
    tk_buf_dispose(&scores);
}

void ca_write_responses(tk_json_writer *w, const ca_reply *reply, const ca_choice *choice,
                        const ca_usage *usage)
{
    tk_buf items;
    tk_json_writer inner;
    bool is_cut = choice->finish == CA_FINISH_LENGTH;
    tk_buf_init(&items, TK_BODY_MAX_BYTES);
    tk_json_writer_init(&inner, &items);
    tk_json_begin_array(&inner);
    put_items(&inner, reply, choice, is_cut);
    tk_json_end_array(&inner);
    if (items.failure != TINKC_OK) {
        tk_buf_fail(w->out, items.failure);
    }
    tk_str all = tk_buf_str(&items);
    const ca_response response = {
        .status = is_cut ? "incomplete" : "completed",
        .items = all.n >= 2 ? (tk_str){all.p + 1, all.n - 2} : (tk_str){"", 0},
        .usage = usage,
        .is_cut = is_cut,
    };
    ca_put_response(w, reply, &response);
    tk_buf_dispose(&items);
}
