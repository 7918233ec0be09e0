/* The answers of an honest server, for every request that is not answered badly. See
 * hostile_run.h. Static data. */
#include "support/hostile_run.h"

#define PB        "application/x-protobuf"
#define RAW(text) .body = {.p = (char[]){text}, .n = sizeof(text) - 1}
#define HONEST(text)                                                                     \
    {                                                                                    \
        .status = 200, .type = "application/json", RAW(text)                             \
    }
#define FUTURE HONEST("{\"request_id\":\"r\"}")
#define CHECKPOINT                                                                       \
    "{\"checkpoint_id\":\"weights/1\",\"checkpoint_type\":\"training\","                 \
    "\"time\":\"2026-01-02T03:04:05Z\",\"tinker_path\":\"tinker://a/weights/1\"}"
#define A_RUN                                                                            \
    "{\"training_run_id\":\"a\",\"base_model\":\"b\",\"model_owner\":\"o\","             \
    "\"is_lora\":true,\"corrupted\":false,\"last_request_time\":\"2026-01-02T03:04:05Z\"}"

static const hostile_answer honest[HOSTILE_KEYS + 1] = {
    [TK_EP_CLIENT_CONFIG] = HONEST("{}"),
    [TK_EP_AUTH_TOKEN] =
        HONEST("{\"jwt\":\"eyJh.eyJzdWIiOiJ1IiwiZXhwIjoxNzY3MjMyODAwfQ.s\"}"),
    [TK_EP_DYNAMIC_CONFIG] = HONEST("{\"sample_cancel_enabled\":true}"),
    [TK_EP_HEALTHZ] = HONEST("{\"status\":\"ok\"}"),
    [TK_EP_CAPABILITIES] = HONEST("{\"supported_models\":[]}"),
    [TK_EP_CREATE_SESSION] = HONEST("{\"session_id\":\"S\"}"),
    [TK_EP_HEARTBEAT] = HONEST("{}"),
    [TK_EP_CREATE_MODEL] = FUTURE,
    [TK_EP_GET_INFO] = HONEST("{\"model_id\":\"S:train:0\",\"model_data\":{}}"),
    [TK_EP_UNLOAD_MODEL] = FUTURE,
    [TK_EP_FORWARD_BACKWARD] = FUTURE,
    [TK_EP_FORWARD] = FUTURE,
    [TK_EP_OPTIM_STEP] = FUTURE,
    [TK_EP_SAVE_WEIGHTS] = FUTURE,
    [TK_EP_SAVE_FOR_SAMPLER] = FUTURE,
    [TK_EP_LOAD_WEIGHTS] = FUTURE,
    [TK_EP_CREATE_CUSTOM_LOSS] = FUTURE,
    [TK_EP_CREATE_SAMPLING] = HONEST("{\"sampling_session_id\":\"S:sample:0\"}"),
    [TK_EP_ASAMPLE] = FUTURE,
    /* It forgets to report the sample, which then asks itself. */
    [TK_EP_RETRIEVE_FUTURES] = HONEST("{\"completions\":[],\"cursor\":0}"),
    [TK_EP_CANCEL_FUTURE] = HONEST("{}"),
    [TK_EP_JOIN_SAMPLING] = HONEST("{\"client_counter\":1}"),
    [TK_EP_SAMPLER] = HONEST("{\"sampler_id\":\"s\",\"base_model\":\"b\"}"),
    [TK_EP_WEIGHTS_INFO] =
        HONEST("{\"base_model\":\"b\",\"is_lora\":true,\"lora_rank\":8}"),
    [TK_EP_RUNS] = HONEST("{\"training_runs\":[" A_RUN "],\"cursor\":{\"offset\":0,"
                          "\"limit\":20,\"total_count\":1}}"),
    [TK_EP_RUN] = HONEST(A_RUN),
    [TK_EP_RUN_CHECKPOINTS] = HONEST("{\"checkpoints\":[" CHECKPOINT "]}"),
    [TK_EP_CHECKPOINT] = HONEST("{}"),
    [TK_EP_ARCHIVE] =
        HONEST("{\"url\":\"https://x.invalid\",\"expires\":\"2026-01-02T03:04:05Z\"}"),
    [TK_EP_PUBLISH] = HONEST("{}"),
    [TK_EP_UNPUBLISH] = HONEST("{}"),
    [TK_EP_TTL] = HONEST("{}"),
    [TK_EP_USER_CHECKPOINTS] = HONEST("{\"checkpoints\":[" CHECKPOINT "]}"),
    [TK_EP_SESSIONS] = HONEST("{\"sessions\":[\"S\"]}"),
    [TK_EP_SESSION] = HONEST("{\"training_run_ids\":[],\"sampler_ids\":[]}"),
    [TK_EP_PROJECT] = HONEST("{}"),
    [TK_EP_TRACE_EXPORT] =
        HONEST("{\"status\":\"ready\",\"url\":\"https://x.invalid/t\"}"),
    [TK_EP_AUDIT] = HONEST("{\"entries\":[]}"),
    [TK_EP_BILLING] = HONEST("{\"data\":[]}"),
    [TK_EP_STORAGE] = HONEST("{\"data\":[]}"),
    [TK_EP_SEARCH_SESSIONS] = HONEST("{\"sessions\":[]}"),
    [TK_EP_SEARCH_CHECKPOINTS] = HONEST("{\"checkpoints\":[" CHECKPOINT "]}"),
    [TK_EP_COPY_WEIGHTS] = HONEST("{\"tinker_path\":\"tinker://b/weights/1\"}"),
    [TK_EP_EXTERNAL_URLS] = HONEST("{\"urls\":{\"a\":\"https://x.invalid\"},"
                                   "\"expires\":\"2026-01-02T03:04:05Z\"}"),
    [TK_EP_SAVE_EXTERNAL] = FUTURE,
    [TK_EP_STREAM_SAMPLE] =
        {.status = 200,
         .type = "text/event-stream",
         RAW("data: {\"token_id\":7}\n\ndata: {\"finish_reason\":\"stop\"}\n\n")},
    [TK_EP_TELEMETRY] = HONEST("{\"status\":\"accepted\"}"),
    [HOSTILE_POLL(TK_FUTURE_CREATE_MODEL)] = HONEST("{\"model_id\":\"S:train:0\"}"),
    [HOSTILE_POLL(TK_FUTURE_OPTIM_STEP)] = HONEST("{\"metrics\":{\"a\":1.0}}"),
    [HOSTILE_POLL(TK_FUTURE_SAVE_WEIGHTS)] =
        HONEST("{\"path\":\"tinker://S:train:0/weights/a\"}"),
    [HOSTILE_POLL(TK_FUTURE_SAVE_WEIGHTS_FOR_SAMPLER)] =
        HONEST("{\"path\":\"tinker://S:train:0/sampler_weights/a\","
               "\"sampling_session_id\":\"S:sample:1\"}"),
    [HOSTILE_POLL(TK_FUTURE_SAVE_WEIGHTS_EXTERNAL)] =
        HONEST("{\"path\":\"tinker://S:train:0/external_weights/a\",\"size_bytes\":1}"),
    [HOSTILE_POLL(TK_FUTURE_LOAD_WEIGHTS)] =
        HONEST("{\"path\":\"tinker://S:train:0/weights/a\"}"),
    [HOSTILE_POLL(TK_FUTURE_CREATE_CUSTOM_LOSS)] = HONEST("{\"loss_id\":\"S:loss:0\"}"),
    [HOSTILE_POLL(TK_FUTURE_UNLOAD_MODEL)] = HONEST("{\"model_id\":\"S:train:0\"}"),
    [HOSTILE_NO_KEY] = {.status = 404, .type = "text/plain", RAW("no such thing")},
};

/* The recorded results "type_with_module" (one datum, one logprob) and
 * "prompt_logprobs" (four of them). */
static const hostile_answer honest_output = {
    .status = 200,
    .type = PB,
    RAW("\012\021\141\056\142\072\143\072\101\162\162\141\171\122\145\143\157\162\144"
        "\022\073\012\017\124\157\162\143\150\114\157\163\163\122\145\164\165\162\156"
        "\022\046\012\010\154\157\147\160\162\157\142\163\022\032\012\004\000\000\200"
        "\077\022\020\000\000\000\000\000\000\000\000\004\000\000\000\000\000\000\000"
        "\030\001\030\001")};
static const hostile_answer honest_sample = {
    .status = 200,
    .type = PB,
    RAW("\012\014\022\004\007\000\000\000\032\004\000\000\000\277\022\020\000\000\300"
        "\177\000\000\200\277\000\000\300\177\000\000\200\276\040\003")};

const hostile_answer *hostile_honest(size_t key)
{
    return key == HOSTILE_POLL(TK_FUTURE_SAMPLE) ? &honest_sample
           : key == HOSTILE_POLL(TK_FUTURE_FORWARD) ||
                   key == HOSTILE_POLL(TK_FUTURE_FORWARD_BACKWARD)
               ? &honest_output
               : &honest[key];
}
