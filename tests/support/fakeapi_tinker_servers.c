/* The table of servers. Facts that no row names are those of docs/protocol.md. */
#include "support/fakeapi_tinker_servers.h"

#include "base/tk.h"

/* FastAPI's answer to a body that is not JSON. */
static const fakeapi_step refused = {
    .status = 422,
    .body = "{\"detail\":[{\"type\":\"model_attributes_type\",\"loc\":[\"body\"],\"msg\":"
            "\"Input should be a valid dictionary\",\"input\":\"x\"}]}"};

/* The same where making that answer fails, because the bytes are not UTF-8. */
static const fakeapi_step refused_mutely = {
    .status = 500, .body = "Internal Server Error", .content_type = "text/plain"};

static const fakeapi_tinker_server servers[] = {
    {.name = "hosted Tinker",
     .source =
         "the official SDK, as [protocol.md](protocol.md) describes it; the service "
         "itself was not asked",
     .note = "SDK 0.36 has no call for archives any more: it exports weights"},
    {.name = "SkyRL 0.3.0",
     .source =
         "NovaSky-AI/SkyRL, tag skyrl-v0.3.0 (16 July 2026), and the program of PyPI "
         "on a CPU",
     .note =
         "the loss is that of the JAX backend; it cannot delete a checkpoint; its engine "
         "looks for batches and for optimizer steps in two queries, and a step that "
         "arrives between them with its batch is applied first, without gradients; "
         "gradients of an unloaded model are added to those of the next in its place",
     .loss = "",
     .kind = "",
     .refusal = &refused_mutely},
    {.name = "SkyRL, newer",
     .source = "NovaSky-AI/SkyRL a956457 (21 August 2026), and the program on a CPU",
     .note = "the JAX backend sends no loss, FSDP and Megatron total_loss:sum or none; a "
             "sampling_session_id with a colon is refused; order and gradients of "
             "unloaded models as in 0.3.0",
     .loss = "",
     .kind = ""},
    {.name = "TuFT",
     .source = "agentscope-ai/TuFT 102eefd (20 August 2026)",
     .note =
         "reads and sends training in protobuf only; one backend sends loss:mean, the "
         "others loss:sum",
     .loss = "loss:mean"},
    {.name = "open-rl",
     .source = "gke-labs/open-rl 01b643b (src/server/api_server.py)",
     .note =
         "before it read protobuf (bfc0f09, 29 April 2026) it had neither forward nor "
         "weights_info; compressed requests get 415; models are deleted by "
         "delete_model"},
    {.name = "twinkle",
     .source = "modelscope/twinkle 1a1d884 (22 July 2026)",
     .note = "every sampled logprob may be missing",
     .loss = "loss:avg",
     .scheme = "twinkle://",
     .refusal = &refused},
    {.name = "tinker-cloud",
     .source = "GMISWE/tinker-cloud fec60bc (6 August 2026)",
     .note =
         "Miles and Megatron-Bridge send loss:mean, the other backends no loss; health "
         "is at /api/v1/health; a later version reads protobuf, its source was not "
         "found",
     .loss = "loss:mean",
     .kind = "weights",
     .refusal = &refused},
    {.name = "hosted_tinker",
     .source = "cooperbench/hosted_tinker 42020fb (8 April 2026)",
     .note = "a poll is held for up to 300 s; prompt logprobs are missing where vLLM "
             "samples, what the other backends do was not found; of two batches and two "
             "steps that wait together, both steps are done before the second batch",
     .loss = "",
     .kind = "",
     .refusal = &refused},
    {.name = "Spindle",
     .source = "modal-projects/spindle 0db843f (control_plane/http.py), 59659ce "
               "(engine/ingress.py)",
     .note =
         "answers 405 to the request for an archive and names the command that copies "
         "it",
     .config = "{\"parallel_fwdbwd_chunks\":true,\"proto_write_fwdbwd\":true,"
               "\"proto_compress_fwdbwd\":true,\"create_model_via_load_weights\":true}"},
};

/* '+' true, '-' not, '?' not found in the source; in the order of the servers. */
static const char cells[TK_MANNER_COUNT][TK_ARRAY_LEN(servers) + 1] = {
    [TK_MANNER_JSON_REQUESTS] = "-+---+++-",
    [TK_MANNER_JSON_RESULTS] = "-+---++++",
    [TK_MANNER_NO_CONFIG] = "-----+++-",
    [TK_MANNER_NO_STREAMS] = "?++++++++",
    [TK_MANNER_NO_GROUP_POLLS] = "-++++++++",
    [TK_MANNER_NO_CANCELS] = "-++++++++",
    [TK_MANNER_NO_CHECKPOINT_LIST] = "-++-+++++",
    [TK_MANNER_BARE_ARCHIVES] = "-++----+-",
    [TK_MANNER_ANY_ORDER] = "-++---?+?",
    [TK_MANNER_NO_DYNAMIC_CONFIG] = "-++++++++",
    [TK_MANNER_NO_LOSS] = "-++---++-",
    [TK_MANNER_OTHER_LOSS] = "-?++-++--",
    [TK_MANNER_SHORT_PROMPT_LOGPROBS] = "-++-?--??",
    [TK_MANNER_NO_PROMPT_LOGPROBS] = "-----+-+?",
    [TK_MANNER_OWN_PATHS] = "-++--+++?",
    [TK_MANNER_NO_SEQUENCE_IDS] = "-++?-?+++",
    [TK_MANNER_CREATES_BY_LOAD] = "?-------+",
    [TK_MANNER_OTHER_SUCCESS] = "---+-----",
    [TK_MANNER_FAILS_BY_STATUS] = "-++++-++-",
    [TK_MANNER_SHORT_POLLS] = "------+--",
    [TK_MANNER_NO_ARCHIVES] = "?---+++-+",
    [TK_MANNER_FILE_ARCHIVES] = "?--+-----",
    [TK_MANNER_NO_LOAD] = "------+--",
    [TK_MANNER_NO_UNLOAD] = "----+----",
    [TK_MANNER_NO_FINISH] = "-++++++++",
    [TK_MANNER_NO_SAMPLER_INFO] = "-----+-+-",
    [TK_MANNER_NO_RUN_LIST] = "----+-+--",
    [TK_MANNER_NO_SESSION_LIST] = "-++-++-++",
    [TK_MANNER_NO_END_STOP] = "?++??????",
    [TK_MANNER_REPEATS_COUNT] = "-+-?+?++-",
};

/* Facts about a route that is missing. */
static const struct {
    tk_manner manner;
    const char *route;
} routes[] = {
    {TK_MANNER_NO_CONFIG, "POST */client/config"},
    {TK_MANNER_NO_DYNAMIC_CONFIG, "POST */client/dynamic_config"},
    {TK_MANNER_NO_CHECKPOINT_LIST, "GET /api/v1/checkpoints"},
    {TK_MANNER_NO_UNLOAD, "POST */unload_model"},
    {TK_MANNER_NO_FINISH, "POST */sessions/*/finish"},
    {TK_MANNER_NO_SAMPLER_INFO, "GET */samplers/*"},
    {TK_MANNER_NO_RUN_LIST, "GET */training_runs"},
    {TK_MANNER_NO_SESSION_LIST, "GET /api/v1/sessions"},
};

size_t fakeapi_tinker_servers(void)
{
    return TK_ARRAY_LEN(servers);
}

const fakeapi_tinker_server *fakeapi_tinker_server_at(size_t index)
{
    return &servers[index];
}

tk_known fakeapi_tinker_server_fact(size_t index, tk_manner manner)
{
    char cell = cells[manner][index];
    return cell == '+' ? TK_KNOWN_YES : cell == '-' ? TK_KNOWN_NO : TK_KNOWN_NOT_YET;
}

static bool is_so(size_t index, tk_manner manner)
{
    return fakeapi_tinker_server_fact(index, manner) == TK_KNOWN_YES;
}

void fakeapi_tinker_server_play(fakeapi_tinker_options *out, size_t index,
                                const char *lacks[FAKEAPI_TINKER_LACKS])
{
    const fakeapi_tinker_server *server = &servers[index];
    size_t n = 0;
    for (size_t i = 0; i < TK_ARRAY_LEN(routes); i++) {
        if (is_so(index, routes[i].manner)) {
            lacks[n++] = routes[i].route;
        }
    }
    lacks[n] = NULL;
    *out = (fakeapi_tinker_options){
        .config = server->config,
        .refuses_proto = is_so(index, TK_MANNER_JSON_REQUESTS) ? server->refusal : NULL,
        .json_results = is_so(index, TK_MANNER_JSON_RESULTS),
        .loss = server->loss,
        .short_logprobs = is_so(index, TK_MANNER_SHORT_PROMPT_LOGPROBS),
        .no_prompt_logprobs = is_so(index, TK_MANNER_NO_PROMPT_LOGPROBS),
        .lacks = lacks,
        .other_success = is_so(index, TK_MANNER_OTHER_SUCCESS),
        .scheme = server->scheme,
        .sampler_kind = server->kind,
        .no_sequence_ids = is_so(index, TK_MANNER_NO_SEQUENCE_IDS),
        .failure_status = is_so(index, TK_MANNER_FAILS_BY_STATUS) ? 400 : 0,
        .any_order = is_so(index, TK_MANNER_ANY_ORDER),
        .load_answer =
            is_so(index, TK_MANNER_NO_LOAD)
                ? "{\"error\":\"Endpoint deprecated\",\"reason\":\"load_weights "
                  "is no longer supported as a separate operation\"}"
                : NULL};
}
