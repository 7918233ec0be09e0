/* Bodies of chat/completions and completions. */
#include "chatapi/ca_write.h"

const char *ca_finish_name(ca_finish finish, ca_dialect dialect)
{
    bool is_messages = dialect == CA_MESSAGES;
    switch (finish) {
    case CA_FINISH_LENGTH:
        return is_messages ? "max_tokens" : "length";
    case CA_FINISH_CALLS:
        return is_messages ? "tool_use" : dialect == CA_CHAT ? "tool_calls" : "stop";
    case CA_FINISH_STOP_STRING:
        return is_messages ? "stop_sequence" : "stop";
    case CA_FINISH_STOP:
    case CA_FINISH_FAILED:
        break;
    }
    return is_messages ? "end_turn" : "stop";
}

void ca_put_stop_reason(tk_json_writer *w, const ca_choice *choice)
{
    if (choice->finish == CA_FINISH_STOP_STRING) {
        ca_put_str(w, "stop_reason", choice->stop);
    } else {
        ca_put_null(w, "stop_reason");
    }
}

void ca_put_usage(tk_json_writer *w, const char *key, const ca_usage *usage)
{
    ca_open_object(w, key);
    ca_put_size(w, "prompt_tokens", usage->prompt);
    ca_put_size(w, "completion_tokens", usage->sampled);
    ca_put_size(w, "total_tokens", usage->prompt + usage->sampled);
    ca_open_object(w, "prompt_tokens_details");
    ca_put_size(w, "cached_tokens", usage->cached);
    tk_json_end_object(w);
    ca_open_object(w, "completion_tokens_details");
    ca_put_size(w, "reasoning_tokens", usage->reasoning);
    tk_json_end_object(w);
    tk_json_end_object(w);
}

static void put_head(tk_json_writer *w, const ca_reply *reply, const char *object)
{
    ca_put_text(w, "id", reply->id);
    ca_put_text(w, "object", object);
    tk_json_key(w, TK_STR("created"));
    tk_json_put_i64(w, reply->created);
    ca_put_str(w, "model", reply->model);
}

static void put_ids(tk_json_writer *w, const char *key, const ca_tokens *tokens)
{
    tk_json_key(w, tk_str_of(key));
    tk_json_put_i32s(w, tokens->ids, tokens->n);
}

static bool asks_prompt_scores(const ca_reply *reply)
{
    const tk_json *value = tk_json_get(reply->request->body, "prompt_logprobs");
    return value != NULL && value->type != TK_JSON_NULL;
}

void ca_put_call(tk_json_writer *w, const ca_call *call, const char *id, size_t index,
                 bool is_delta)
{
    tk_json_begin_object(w);
    if (is_delta) {
        ca_put_size(w, "index", index);
    }
    ca_put_text(w, "id", id);
    ca_put_text(w, "type", "function");
    ca_open_object(w, "function");
    ca_put_text(w, "name", call->name);
    ca_put_text(w, "arguments", call->arguments);
    tk_json_end_object(w);
    tk_json_end_object(w);
}

static void put_message(tk_json_writer *w, const ca_choice *choice)
{
    const ca_output *output = choice->output;
    ca_open_object(w, "message");
    ca_put_text(w, "role", "assistant");
    if (output->text.n == 0 && output->n_calls > 0) {
        ca_put_null(w, "content");
    } else {
        ca_put_str(w, "content", tk_buf_str(&output->text));
    }
    ca_put_null(w, "refusal");
    if (output->has_reasoning) {
        ca_put_str(w, "reasoning_content", tk_buf_str(&output->reasoning));
    }
    if (output->n_calls > 0) {
        ca_open_array(w, "tool_calls");
        for (size_t i = 0; i < output->n_calls; i++) {
            ca_put_call(w, &output->calls[i], choice->call_ids[i], i, false);
        }
        tk_json_end_array(w);
    }
    tk_json_end_object(w);
}

static void put_chat_choice(tk_json_writer *w, const ca_reply *reply,
                            const ca_choice *choice)
{
    const ca_params *params = &reply->request->params;
    tk_json_begin_object(w);
    ca_put_size(w, "index", choice->index);
    put_message(w, choice);
    if (params->logprobs) {
        ca_open_object(w, "logprobs");
        ca_open_array(w, "content");
        ca_put_scores(w, reply->tok, &choice->sampled);
        tk_json_end_array(w);
        ca_put_null(w, "refusal");
        tk_json_end_object(w);
    } else {
        ca_put_null(w, "logprobs");
    }
    ca_put_text(w, "finish_reason", ca_finish_name(choice->finish, CA_CHAT));
    ca_put_stop_reason(w, choice);
    if (params->return_token_ids) {
        put_ids(w, "token_ids", &choice->sampled);
    }
    tk_json_end_object(w);
}

void ca_write_chat(tk_json_writer *w, const ca_reply *reply, const ca_choice *choices,
                   size_t n, const ca_usage *usage)
{
    tk_json_begin_object(w);
    put_head(w, reply, "chat.completion");
    ca_open_array(w, "choices");
    for (size_t i = 0; i < n; i++) {
        put_chat_choice(w, reply, &choices[i]);
    }
    tk_json_end_array(w);
    ca_put_usage(w, "usage", usage);
    if (asks_prompt_scores(reply)) {
        tk_json_key(w, TK_STR("prompt_logprobs"));
        ca_put_prompt_scores(w, reply->tok, &reply->prompt);
    }
    if (reply->request->params.return_token_ids) {
        put_ids(w, "prompt_token_ids", &reply->prompt);
    }
    tk_json_end_object(w);
}

/* ---- completions ---- */

static void put_echoed(tk_json_writer *w, const ca_choice *choice, tk_str prompt)
{
    tk_buf text;
    tk_buf_init(&text, TK_BODY_MAX_BYTES);
    tk_buf_put(&text, prompt.p, prompt.n);
    tk_buf_put(&text, choice->text.p, choice->text.n);
    if (text.failure != TINKC_OK) {
        tk_buf_fail(w->out, text.failure);
    }
    ca_put_str(w, "text", tk_buf_str(&text));
    tk_buf_dispose(&text);
}

static void put_text_choice(tk_json_writer *w, const ca_reply *reply,
                            const ca_choice *choice)
{
    const ca_params *params = &reply->request->params;
    const ca_tokens *prompt = choice->prompt != NULL ? choice->prompt : &reply->prompt;
    tk_str before = choice->prompt != NULL ? choice->prompt_text : reply->prompt_text;
    const ca_tokens *runs[] = {prompt, &choice->sampled};
    size_t skipped = params->echo ? 0 : 1, offset = 0;
    tk_json_begin_object(w);
    ca_put_size(w, "index", choice->index);
    if (params->echo) {
        put_echoed(w, choice, before);
    } else {
        ca_put_str(w, "text", choice->text);
    }
    if (params->logprobs) {
        tk_json_key(w, TK_STR("logprobs"));
        ca_put_columns(w, reply->tok, runs + skipped, 2 - skipped, &offset);
    } else {
        ca_put_null(w, "logprobs");
    }
    ca_put_text(w, "finish_reason", ca_finish_name(choice->finish, CA_COMPLETIONS));
    ca_put_stop_reason(w, choice);
    if (asks_prompt_scores(reply)) {
        tk_json_key(w, TK_STR("prompt_logprobs"));
        ca_put_prompt_scores(w, reply->tok, prompt);
    }
    if (params->return_token_ids) {
        put_ids(w, "token_ids", &choice->sampled);
        put_ids(w, "prompt_token_ids", prompt);
    }
    tk_json_end_object(w);
}

void ca_write_text(tk_json_writer *w, const ca_reply *reply, const ca_choice *choices,
                   size_t n, const ca_usage *usage)
{
    tk_json_begin_object(w);
    put_head(w, reply, "text_completion");
    ca_open_array(w, "choices");
    for (size_t i = 0; i < n; i++) {
        put_text_choice(w, reply, &choices[i]);
    }
    tk_json_end_array(w);
    ca_put_usage(w, "usage", usage);
    tk_json_end_object(w);
}
