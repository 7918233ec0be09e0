/* An honest body for each route that takes one, in which every field has a value, for
 * tests that spoil it in one place. */
#ifndef SERVER_BODYFIX_H
#define SERVER_BODYFIX_H

#include "server/api/srv_api.h"
#include "server/restfix.h"

#define API "/api/v1/"

#define CHUNKS "{\"chunks\":[{\"type\":\"encoded_text\",\"tokens\":[5,7]}]}"
#define DATUM                                                                            \
    "{\"loss_fn_inputs\":{\"target_tokens\":{\"data\":[7,8],\"dtype\":\"int64\","        \
    "\"shape\":[2]},\"weights\":{\"data\":[1.5,1.0],\"dtype\":\"float32\"}},"            \
    "\"model_input\":" CHUNKS "}"
#define TRAIN(input)                                                                     \
    "{\"" input "\":{\"data\":[" DATUM "],\"loss_fn\":\"ppo\",\"loss_fn_config\":"       \
    "{\"clip_low_threshold\":0.8}},\"model_id\":\"$M\",\"seq_id\":1}"
#define MORE                                                                               \
    ",\"topk_sample_logprobs\":1,\"target_prompt_logprobs\":{\"data\":[7],\"dtype\":"      \
    "\"int64\",\"shape\":[1,1],\"sparse_crow_indices\":[0,1],\"sparse_col_indices\":[0]}," \
    "\"prompt_alt_tokens_k\":1,\"prompt_logprobs_last_n\":1,\"record_stability_info\":"    \
    "false"
#define SAMPLE                                                                           \
    "{\"num_samples\":1,\"prompt\":" CHUNKS ",\"sampling_params\":{\"max_tokens\":1,"    \
    "\"temperature\":0.5,\"top_k\":5,\"top_p\":0.9,\"seed\":1,\"stop\":[\"x\"]},"        \
    "\"sampling_session_id\":\"$S:sample:0\",\"seq_id\":0,\"prompt_logprobs\":true,"     \
    "\"topk_prompt_logprobs\":1" MORE "}"
#define STREAMED                                                                         \
    "{\"num_samples\":1,\"prompt\":" CHUNKS ",\"sampling_params\":{\"max_tokens\":1},"   \
    "\"sampling_session_id\":\"$S:sample:0\",\"seq_id\":0}"

#define SAID                                                                             \
    "\"model\":\"" RESTFIX_MODEL                                                         \
    "\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"max_tokens\":1"

/* By the end of the route's pattern; $S is a session, $M a model of it. A route that
 * takes a body is here, or the test fails. */
static const struct {
    const char *route, *body;
} bodyfix_bodies[] = {
    {"client/config", "{\"sdk_version\":\"0.25.0\"}"},
    {"client/dynamic_config", "{\"sdk_version\":\"0.25.0\"}"},
    {"create_session", "{\"tags\":[\"a\"],\"user_metadata\":{\"a\":\"b\"},"
                       "\"sdk_version\":\"0.25.0\",\"project_id\":\"p\"}"},
    {"session_heartbeat", "{\"session_id\":\"$S\"}"},
    {"/finish", "{\"a\":[1]}"},
    {"telemetry", "{\"events\":[{\"event\":\"GENERIC_EVENT\"}],\"platform\":\"p\"}"},
    {"create_model",
     "{\"session_id\":\"$S\",\"model_seq_id\":7,\"base_model\":\"" RESTFIX_MODEL
     "\",\"user_metadata\":{\"a\":\"b\"},\"lora_config\":{\"rank\":1,\"seed\":1,"
     "\"train_unembed\":false,\"train_mlp\":false,\"train_attn\":true}}"},
    {"get_info", "{\"model_id\":\"$M\"}"},
    {"unload_model", "{\"model_id\":\"$S:train:9\"}"},
    {"forward_backward", TRAIN("forward_backward_input")},
    {"forward", TRAIN("forward_input")},
    {"optim_step", "{\"adam_params\":{\"learning_rate\":0.1,\"beta1\":0.9,\"beta2\":0.9,"
                   "\"eps\":1e-8,\"weight_decay\":0.1,\"grad_clip_norm\":1.0},"
                   "\"model_id\":\"$M\",\"seq_id\":2}"},
    {"save_weights", "{\"model_id\":\"$M\",\"path\":\"n\",\"seq_id\":3,"
                     "\"ttl_seconds\":60,\"overwrite\":true}"},
    {"save_weights_for_sampler", "{\"model_id\":\"$M\",\"path\":\"n\",\"seq_id\":4,"
                                 "\"ttl_seconds\":60,\"sampling_session_seq_id\":5}"},
    {"load_weights", "{\"model_id\":\"$M\",\"seq_id\":5,\"path\":\"tinker://$M/weights/"
                     "honest\",\"optimizer\":true,\"weights_access_token\":\"t\","
                     "\"session_id\":\"$S\",\"model_seq_id\":8,\"base_model\":\"b\"}"},
    {"weights_info", "{\"tinker_path\":\"tinker://$M/weights/honest\"}"},
    {"copy_weights", "{\"source_path\":\"tinker://$M/weights/honest\",\"ttl_seconds\":"
                     "3600,\"session_id\":\"$S\",\"model_seq_id\":77}"},
    {"save_weights_external", "{\"model_id\":\"$M\",\"path\":\"n\",\"seq_id\":3}"},
    {"create_custom_loss", "{\"a\":1}"},
    {"retrieve_futures", "{\"target\":{\"type\":\"sampling_session\","
                         "\"sampling_session_id\":\"$S:sample:7\",\"cloned_sampler_id\":"
                         "0},\"prev_cursor\":0,\"retrieved_request_ids\":[\"$M:0\"]}"},
    {"cancel_future", "{\"request_id\":\"$M:0\"}"},
    {"join_sampling_session", "{\"sampling_session_id\":\"$S:sample:0\"}"},
    {"sessions/search",
     "{\"session_id\":\"$S\",\"user_metadata\":{\"a\":\"b\"},\"project_ids\":[\"p\"],"
     "\"display_name\":\"d\",\"owner\":{\"type\":\"own\"},\"statuses\":[{\"type\":"
     "\"active\"}],\"limit\":3,\"cursor\":{\"last_created_at\":"
     "\"2026-01-01T00:00:00Z\",\"last_session_id\":\"$S\"}}"},
    {"checkpoints/search",
     "{\"user_metadata\":{\"a\":\"b\"},\"project_ids\":[\"p\"],\"checkpoint_type\":"
     "\"training\",\"owner\":{\"type\":\"own\"},\"base_models\":[\"b\"],\"limit\":3,"
     "\"cursor\":{\"last_created_at\":\"2026-01-01T00:00:00Z\","
     "\"last_checkpoint_uuid\":\"7\"}}"},
    {"external_weights_upload_start",
     "{\"base_model\":\"" RESTFIX_MODEL "\",\"lora_config\":{\"rank\":1,\"seed\":1,"
     "\"train_unembed\":false,\"train_mlp\":false,\"train_attn\":true},"
     "\"destination_project_id\":\"p\"}"},
    {"external_weights_upload_finish", "{\"upload_id\":\"$S\"}"},
    {"uploads/*/*", "{\"a\":1}"},
    {"create_sampling_session",
     "{\"session_id\":\"$S\",\"sampling_session_seq_id\":9,\"base_model\":\"b\","
     "\"model_path\":\"tinker://$M/weights/honest\"}"},
    {"asample", SAMPLE},
    {"stream_sample", STREAMED},
    {"retrieve_future", "{\"request_id\":\"$M:0\",\"allow_metadata_only\":true}"},
    {"/publish", "{}"},
    {"/ttl", "{\"ttl_seconds\":60}"},
    {"v1/models", "{\"directory\":\"/nowhere\",\"name\":\"n\"}"},
    {"console/login", "{\"key\":\"tml-x\"}"},
    {"console/logout", "{\"a\":[1]}"},
    {"console/code", "{\"a\":[1]}"},
    {"console/decode", "{\"model\":\"" RESTFIX_MODEL "\",\"ids\":[1,2]}"},
    {"/project", "{\"project_id\":\"p\"}"},
    {"v1/chat/completions", "{" SAID ",\"temperature\":0.5,\"n\":1,\"stream\":true}"},
    {"v1/completions",
     "{\"model\":\"" RESTFIX_MODEL "\",\"prompt\":\"a\",\"max_tokens\":1,"
     "\"echo\":true,\"logprobs\":1}"},
    {"v1/responses", "{\"model\":\"" RESTFIX_MODEL "\",\"input\":[{\"role\":\"user\","
                     "\"content\":\"a\"}],\"max_output_tokens\":1}"},
    {"v1/messages", "{" SAID ",\"stop_sequences\":[\"x\"],\"top_k\":3}"},
    {"v1/messages/count_tokens", "{" SAID "}"},
    {"/reward", "{\"reward\":1.0,\"turn\":0,\"metadata\":{\"a\":1}}"},
};

static inline const char *bodyfix_of(const hd_route *route)
{
    size_t n = strlen(route->pattern);
    for (size_t i = 0; i < TK_ARRAY_LEN(bodyfix_bodies); i++) {
        size_t k = strlen(bodyfix_bodies[i].route);
        char before = n > k ? route->pattern[n - k - 1] : '\0';
        if (n > k && strcmp(route->pattern + n - k, bodyfix_bodies[i].route) == 0 &&
            (bodyfix_bodies[i].route[0] == '/' || before == '/')) {
            return bodyfix_bodies[i].body;
        }
    }
    fail_msg("no honest body for %s %s", route->method, route->pattern);
    return NULL;
}

static inline bool bodyfix_is_taken(const hd_route *route)
{
    return strcmp(route->method, "POST") == 0 || strcmp(route->method, "PUT") == 0;
}

/* Appends a text with $S and $M filled in. */
static inline void bodyfix_expand(tk_buf *out, const restfix *rest, const char *text)
{
    for (; *text != '\0'; text++) {
        if (text[0] == '$') {
            tk_buf_puts(out, text[1] == 'S' ? rest->session : rest->run);
            text++;
        } else {
            tk_buf_put(out, text, 1);
        }
    }
}

/* Appends the path of a pattern, with its end. */
static inline void bodyfix_path(tk_buf *out, const char *pattern)
{
    for (const char *p = pattern; *p != '\0'; p++) {
        bool two = p[0] == '*' && p[1] == '*';
        if (*p == '*') {
            tk_buf_puts(out, two ? "weights/x" : "x");
            p += two;
        } else {
            tk_buf_put(out, p, 1);
        }
    }
    tk_buf_put(out, "", 1);
}

#endif
