/* The body of Anthropic's messages: blocks of thinking, text and tool use. */
#include "chatapi/ca_write.h"

/* Anthropic counts what came from the cache apart. */
void ca_put_messages_usage(tk_json_writer *w, const ca_usage *usage)
{
    ca_open_object(w, "usage");
    ca_put_size(w, "input_tokens", usage->prompt - TK_MIN(usage->cached, usage->prompt));
    ca_put_size(w, "cache_creation_input_tokens", 0);
    ca_put_size(w, "cache_read_input_tokens", usage->cached);
    ca_put_size(w, "output_tokens", usage->sampled);
    ca_open_object(w, "output_tokens_details");
    ca_put_size(w, "thinking_tokens", usage->reasoning);
    tk_json_end_object(w);
    tk_json_end_object(w);
}

static void put_blocks(tk_json_writer *w, const ca_choice *choice)
{
    const ca_output *output = choice->output;
    if (output->has_reasoning) {
        tk_json_begin_object(w);
        ca_put_text(w, "type", "thinking");
        ca_put_str(w, "thinking", tk_buf_str(&output->reasoning));
        ca_put_text(w, "signature", CA_SIGNATURE);
        tk_json_end_object(w);
    }
    if (output->text.n > 0 || output->n_calls == 0) {
        tk_json_begin_object(w);
        ca_put_text(w, "type", "text");
        ca_put_str(w, "text", tk_buf_str(&output->text));
        tk_json_end_object(w);
    }
    for (size_t i = 0; i < output->n_calls; i++) {
        tk_json_begin_object(w);
        ca_put_text(w, "type", "tool_use");
        ca_put_text(w, "id", choice->call_ids[i]);
        ca_put_text(w, "name", output->calls[i].name);
        ca_put_input(w, "input", output->calls[i].arguments);
        tk_json_end_object(w);
    }
}

void ca_write_messages(tk_json_writer *w, const ca_reply *reply, const ca_choice *choice,
                       const ca_usage *usage)
{
    tk_json_begin_object(w);
    ca_put_text(w, "id", reply->id);
    ca_put_text(w, "type", "message");
    ca_put_text(w, "role", "assistant");
    ca_put_str(w, "model", reply->model);
    ca_open_array(w, "content");
    put_blocks(w, choice);
    tk_json_end_array(w);
    ca_put_text(w, "stop_reason", ca_finish_name(choice->finish, CA_MESSAGES));
    if (choice->finish == CA_FINISH_STOP_STRING) {
        ca_put_str(w, "stop_sequence", choice->stop);
    } else {
        ca_put_null(w, "stop_sequence");
    }
    ca_put_messages_usage(w, usage);
    tk_json_end_object(w);
}
