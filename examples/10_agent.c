/* An agent, and training on what it did: two turns over the OpenAI endpoint of a server,
 * in an episode; a reward; and the episode's exact tokens as a training step. The agent
 * itself could be any program in any language (agent.py, agent.sh).
 * docs/guide/agents.md explains it.
 *
 *     TINKER_BASE_URL=http://127.0.0.1:8000 ./10_agent [episode] */
#include <string.h>

#include "example.h"

#define QUESTION "{\"role\":\"user\",\"content\":\"What is your name?\"}"
#define ANOTHER  "{\"role\":\"user\",\"content\":\"Are you sure?\"}"

static tinkc_service *service;

/* Sends a request and prints nothing; the caller frees *out. */
static void ask(tinkc_raw_response **out, const char *method, const char *path,
                const char *body)
{
    tinkc_raw_request request = TINKC_RAW_REQUEST_INIT;
    request.method = method;
    request.path = path;
    request.body = body;
    request.body_n = body != NULL ? strlen(body) : 0;
    check(tinkc_raw_send_wait(out, service, &request, &err));
}

/* Sends the conversation and copies the text of the answer, as JSON writes it. */
static void take_turn(char *answer, size_t size, const char *path, const char *messages)
{
    static const char mark[] = "\"content\":\"";
    char body[2048];
    tinkc_raw_response *response = NULL;
    (void)snprintf(body, sizeof(body),
                   "{\"model\":\"" MODEL "\",\"messages\":[%s],\"max_tokens\":32,"
                   "\"temperature\":0}",
                   messages);
    ask(&response, "POST", path, body);
    const char *text = tinkc_raw_response_body(NULL, response);
    const char *at = text != NULL ? strstr(text, mark) : NULL;
    require(at != NULL, "an answer with text");
    size_t n = 0;
    for (at += sizeof(mark) - 1; at[n] != '"' && n + 2 < size; n++) {
        n += at[n] == '\\'; /* what is escaped belongs to the text */
    }
    memcpy(answer, at, n);
    answer[n] = '\0';
    tinkc_raw_response_free(&response);
}

/* The conversation: each turn sends all that was said. */
static void talk(const char *episode)
{
    char path[256], first[512], second[512], messages[1536];
    (void)snprintf(path, sizeof(path), "/e/%s/v1/chat/completions", episode);
    take_turn(first, sizeof(first), path, QUESTION);
    (void)snprintf(messages, sizeof(messages),
                   QUESTION ",{\"role\":\"assistant\",\"content\":\"%s\"}," ANOTHER,
                   first);
    take_turn(second, sizeof(second), path, messages);
    printf("%s\n%s\n", first, second);
}

/* The reward of the episode: here only whether it said a name. */
static void reward(const char *episode)
{
    char path[256];
    tinkc_raw_response *response = NULL;
    (void)snprintf(path, sizeof(path), "/tinkc/v1/episodes/%s/reward", episode);
    ask(&response, "POST", path, "{\"reward\":1.0}");
    tinkc_raw_response_free(&response);
}

static void fetch(tinkc_trajectory **out, const char *episode)
{
    char path[256];
    size_t n = 0;
    tinkc_raw_response *response = NULL;
    (void)snprintf(path, sizeof(path), "/tinkc/v1/episodes/%s", episode);
    ask(&response, "GET", path, NULL);
    const char *text = tinkc_raw_response_body(&n, response);
    check(tinkc_trajectory_parse(out, text, n, &err));
    tinkc_raw_response_free(&response);
}

/* One step on the tokens that were sampled. */
static void train(const tinkc_trajectory *trajectory)
{
    tinkc_datum *data[8] = {NULL};
    size_t n = 0;
    tinkc_training *training = NULL;
    tinkc_step_options options = TINKC_STEP_OPTIONS_INIT;
    tinkc_adam_params adam = TINKC_ADAM_PARAMS_INIT;
    options.adam = &adam;
    check(tinkc_trajectory_datums(data, 8, &n, trajectory, NULL, &err));
    check(tinkc_service_create_training_wait(&training, service, MODEL, NULL, &err));
    check(tinkc_training_step_wait(NULL, training, data, n, "importance_sampling",
                                   &options, &err));
    check(tinkc_training_unload_wait(training, &err));
    tinkc_training_close(&training);
    for (size_t i = 0; i < n; i++) {
        tinkc_datum_free(&data[i]);
    }
    printf("trained on %zu\n", n);
}

int main(int argc, char **argv)
{
    const char *episode = argc > 1 ? argv[1] : "example-c";
    tinkc_trajectory *trajectory = NULL;
    tinkc_sequence sequence;
    size_t sampled = 0;
    check(tinkc_service_open(&service, NULL, &err));
    talk(episode);
    reward(episode);
    fetch(&trajectory, episode);
    require(tinkc_trajectory_sequence(&sequence, trajectory, 0), "a sequence");
    for (size_t i = 0; i < sequence.n; i++) {
        sampled += sequence.mask[i] == 1;
    }
    printf("sequences: %zu; turns of the first: %zu; tokens: %zu, sampled: %zu\n",
           tinkc_trajectory_count(trajectory), sequence.n_turns, sequence.n, sampled);
    train(trajectory);
    tinkc_trajectory_free(&trajectory);
    tinkc_service_close(&service);
    return 0;
}
