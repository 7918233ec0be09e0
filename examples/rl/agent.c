/* An agent for `tinkc rl` in C: asks the model a question, and is rewarded when the answer is
 * right. It speaks to the model with libtinkc, as any HTTP client could. docs/guide/rl.md
 * explains it.
 *
 *     tinkc rl --local --tasks examples/data/sums.jsonl --agent build/examples/rl/agent */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../example.h"

/* Copies the text of a member of a small JSON object, as JSON writes it. */
static void text_of(char *out, size_t size, const char *json, const char *key)
{
    char mark[64];
    (void)snprintf(mark, sizeof(mark), "\"%s\":", key);
    const char *at = json != NULL ? strstr(json, mark) : NULL;
    require(at != NULL, mark);
    at += strlen(mark) + strspn(at + strlen(mark), " ") + 1;
    size_t n = 0;
    while (at[n] != '"' && at[n] != '\0' && n + 2 < size) {
        n += at[n] == '\\' ? 2 : 1; /* what is escaped belongs to the text */
    }
    memcpy(out, at, n);
    out[n] = '\0';
}

static void ask(char *answer, size_t size, const char *question)
{
    const char *url = getenv("OPENAI_BASE_URL"); /* http://127.0.0.1:PORT/e/NAME/v1 */
    const char *slash = url != NULL ? strstr(url, "/e/") : NULL;
    char server[128], path[256], body[512];
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    tinkc_raw_response *response = NULL;
    tinkc_raw_request request = TINKC_RAW_REQUEST_INIT;
    require(slash != NULL, "OPENAI_BASE_URL");
    (void)snprintf(server, sizeof(server), "%.*s", (int)(slash - url), url);
    (void)snprintf(path, sizeof(path), "%s/chat/completions", slash);
    (void)snprintf(body, sizeof(body),
                   "{\"model\":\"%s\",\"max_tokens\":16,\"messages\":[{\"role\":\"user\","
                   "\"content\":\"%s\"}]}",
                   getenv("OPENAI_MODEL"), question);
    check(tinkc_config_new(&config, &err));
    check(tinkc_config_set(config, "base_url", server, &err));
    check(tinkc_config_set(config, "api_key", getenv("OPENAI_API_KEY"), &err));
    check(tinkc_service_open(&service, config, &err));
    request.method = "POST";
    request.path = path;
    request.body = body;
    request.body_n = strlen(body);
    check(tinkc_raw_send_wait(&response, service, &request, &err));
    text_of(answer, size, tinkc_raw_response_body(NULL, response), "content");
    tinkc_raw_response_free(&response);
    tinkc_service_close(&service);
    tinkc_config_free(&config);
}

int main(void)
{
    const char *task = getenv("TINKC_TASK");
    char question[128], right[32], said[128];
    text_of(question, sizeof(question), task, "question");
    text_of(right, sizeof(right), task, "answer");
    ask(said, sizeof(said), question);
    printf("%d\n", strcmp(said, right) == 0);
    return 0;
}
