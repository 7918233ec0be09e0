/* The scripted peer of the tests as a program, for benchmarks that must not count the
 * server's CPU: prints its URL on a line of stdout and serves until stdin ends.
 *   peer PARKED DELAY_MS
 * The first PARKED polls stay without an answer; samples and polls are answered after
 * DELAY_MS. Without a delay an answer may come while libcurl is still looking at what it
 * sent, which no server far away can do, and which makes half of a client's work vanish.
 * Every sample gets the same 64 tokens with their logprobs; it runs no model.
 *
 * Links: peer */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/fakeapi.h"
#include "wire/pb_sample.h"

#define RESULT_TOKENS 64
#define FORGET_MS     200 /* it remembers every request otherwise */
#define POLL          "/api/v1/retrieve_future"

static int die(const char *what)
{
    fprintf(stderr, "peer: %s\n", what);
    return 1;
}

static bool encode_result(tk_buf *out)
{
    static int32_t tokens[RESULT_TOKENS];
    static float logprobs[RESULT_TOKENS];
    tk_sequence sequence = {.stop_reason = TK_STOP_LENGTH,
                            .tokens = {tokens, RESULT_TOKENS},
                            .has_logprobs = true,
                            .logprobs = {logprobs, RESULT_TOKENS}};
    tk_sample_response response = {.sequences = &sequence, .sequences_n = 1};
    for (int i = 0; i < RESULT_TOKENS; i++) {
        tokens[i] = 1000 + i;
        logprobs[i] = -0.125F;
    }
    tk_buf_init(out, TK_MIB);
    return tk_pb_sample_encode(out, &response, NULL) == TINKC_OK;
}

static void say(fakeapi *api, const char *path, const char *text)
{
    fakeapi_default(api, "*", path, &(fakeapi_step){.body = text});
}

static void write_script(fakeapi *api, unsigned parked, unsigned delay_ms,
                         const tk_buf *result)
{
    fakeapi_step accepted = {
        .body = "{\"request_id\":\"r\",\"sample_sequence_ids\":[\"r:0\"]}",
        .delay_ms = delay_ms};
    fakeapi_step answer = fakeapi_proto(result->p, result->n);
    answer.delay_ms = delay_ms;
    say(api, "/api/v1/client/config", "{\"sample_max_concurrent_requests\":20000}");
    say(api, "/api/v1/client/dynamic_config", "{}");
    say(api, "/api/v1/create_session",
        "{\"type\":\"create_session\",\"session_id\":\"S\"}");
    say(api, "/api/v1/session_heartbeat", "{\"type\":\"session_heartbeat\"}");
    say(api, "/api/v1/create_sampling_session",
        "{\"type\":\"create_sampling_session\",\"sampling_session_id\":\"s\"}");
    say(api, "/api/v1/telemetry", "{\"status\":\"accepted\"}");
    fakeapi_default(api, "POST", "/api/v1/asample", &accepted);
    if (parked > 0) {
        fakeapi_reply(api, "POST", POLL,
                      &(fakeapi_step){.repeat = parked, .gate = fakeapi_gate_new(api)});
    }
    fakeapi_default(api, "POST", POLL, &answer);
}

int main(int argc, char **argv)
{
    tk_buf result;
    unsigned parked = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    unsigned delay_ms = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    if (!encode_result(&result)) {
        return die("no result");
    }
    if (!fakeapi_allow_files(16000)) {
        return die("too few files");
    }
    fakeapi *api = fakeapi_start();
    write_script(api, parked, delay_ms, &result);
    printf("%s\n", fakeapi_url(api));
    (void)fflush(stdout);
    while (poll(&input, 1, FORGET_MS) == 0) {
        fakeapi_forget(api);
    }
    fakeapi_stop(&api);
    tk_buf_dispose(&result);
    return 0;
}
