/* Every route of the gateway at the socket, over a backend that follows a script. */
#include <math.h>

#include "gateway/frontfix.h"

#define SAID                                                                             \
    "\"model\":\"" FRONTFIX_MODEL                                                        \
    "\",\"messages\":[{\"role\":\"user\",\"content\":\"good morning\"}]"
#define CHAT "/v1/chat/completions"

/* ---- whole answers ---- */

static void test_chat(void **state)
{
    frontfix f;
    frontfix_open(&f, "one two", NULL);
    const tk_json *json = frontfix_post(&f, CHAT, "{" SAID "}");
    assert_int_equal(f.status, 200);
    assert_string_equal(frontfix_str(json, "choices.0.message.content"), "one two");
    assert_string_equal(frontfix_str(json, "choices.0.finish_reason"), "stop");
    assert_int_equal(frontfix_int(json, "usage.prompt_tokens"), f.n_last_prompt);
    assert_int_equal(frontfix_int(json, "usage.prompt_tokens_details.cached_tokens"), 1);
    /* Without max_tokens: what the context leaves. */
    assert_int_equal(f.last_max, FRONTFIX_CONTEXT - f.n_last_prompt);
    frontfix_close(&f);
}

static void test_several_answers(void **state)
{
    frontfix f;
    frontfix_open(&f, "one two", NULL);
    const tk_json *json = frontfix_post(
        &f, CHAT, "{" SAID ",\"n\":3,\"logprobs\":true,\"top_logprobs\":1}");
    assert_int_equal(f.status, 200);
    const tk_json choices = frontfix_get(json, "choices");
    assert_int_equal(tk_json_len(&choices), 3);
    assert_string_equal(frontfix_str(json, "choices.2.message.content"), "one two");
    tk_json top = frontfix_get(json, "choices.1.logprobs.content.0.top_logprobs");
    assert_int_equal(tk_json_len(&top), 1);
    frontfix_close(&f);
}

static void test_completions(void **state)
{
    frontfix f;
    frontfix_open(&f, "one two", NULL);
    const tk_json *json = frontfix_post(
        &f, "/v1/completions",
        "{\"model\":\"\",\"prompt\":[\"alpha\",[5,6,7]],\"max_tokens\":0,\"echo\":true,"
        "\"logprobs\":1}");
    assert_int_equal(f.status, 200);
    assert_int_equal(f.n_samples, 2);
    assert_string_equal(frontfix_str(json, "choices.0.text"), "alpha");
    tk_json scores = frontfix_get(json, "choices.1.logprobs.token_logprobs");
    assert_int_equal(tk_json_len(&scores), 3);
    assert_int_equal(tk_json_at(&scores, 0).type, TK_JSON_NULL);
    assert_int_equal(frontfix_int(json, "usage.completion_tokens"), 0);
    frontfix_close(&f);
}

static void test_responses(void **state)
{
    frontfix f;
    frontfix_open(&f, "one two", NULL);
    const tk_json *json =
        frontfix_post(&f, "/v1/responses", "{\"model\":\"\",\"input\":\"hello\"}");
    assert_int_equal(f.status, 200);
    assert_string_equal(frontfix_str(json, "output.0.content.0.text"), "one two");
    frontfix_close(&f);
}

static void test_messages(void **state)
{
    frontfix f;
    frontfix_open(&f, "one two", NULL);
    const tk_json *json =
        frontfix_post(&f, "/v1/messages?beta=true", "{" SAID ",\"max_tokens\":9}");
    assert_int_equal(f.status, 200);
    assert_string_equal(frontfix_str(json, "content.0.text"), "one two");
    assert_string_equal(frontfix_str(json, "stop_reason"), "end_turn");
    int64_t n = frontfix_int(json, "usage.input_tokens") +
                frontfix_int(json, "usage.cache_read_input_tokens");
    json = frontfix_post(&f, "/v1/messages/count_tokens", "{" SAID "}");
    assert_int_equal(frontfix_int(json, "input_tokens"), n);
    frontfix_close(&f);
}

static void test_tool_calls(void **state)
{
    frontfix f;
    frontfix_open(
        &f, "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>",
        NULL);
    const tk_json *json = frontfix_post(
        &f, CHAT,
        "{" SAID ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]}");
    assert_int_equal(f.status, 200);
    assert_string_equal(frontfix_str(json, "choices.0.finish_reason"), "tool_calls");
    assert_string_equal(
        frontfix_str(json, "choices.0.message.tool_calls.0.function.name"), "f");
    assert_int_equal(
        strncmp(frontfix_str(json, "choices.0.message.tool_calls.0.id"), "call_", 5), 0);
    frontfix_close(&f);
}

static void test_models(void **state)
{
    frontfix f;
    frontfix_open(&f, "", NULL);
    const tk_json *json = frontfix_ask(&f, "GET", "/v1/models");
    assert_string_equal(frontfix_str(json, "data.0.id"), FRONTFIX_MODEL);
    const tk_json first = tk_json_at(tk_json_get(json, "data"), 0);
    int64_t created = 0; /* when the gateway began */
    assert_true(tk_json_to_i64(tk_json_get(&first, "created"), &created));
    assert_true(created > 1600000000 && created <= tk_clock_wall_us(NULL) / 1000000);
    json = frontfix_ask(&f, "GET", "/e/x/v1/models/" FRONTFIX_MODEL);
    assert_int_equal(f.status, 200);
    assert_string_equal(frontfix_str(json, "id"), FRONTFIX_MODEL);
    json = frontfix_ask(&f, "GET", "/v1/models/other");
    assert_int_equal(f.status, 404);
    assert_string_equal(frontfix_str(json, "error.param"), "model");
    const httpget_request request = {.target = "/v1/models",
                                     .headers = "anthropic-version: 2023-06-01\r\n"};
    json = frontfix_json(&f, frontfix_text(&f, &request));
    assert_string_equal(frontfix_str(json, "data.0.type"), "model");
    frontfix_close(&f);
}

/* ---- stop strings ---- */

/* G-018: the text ends before the stop string, the ids do not. */
static void test_stop_string(void **state)
{
    frontfix f;
    frontfix_open(&f, "one two three four", NULL);
    const tk_json *json = frontfix_post(
        &f, "/e/s" CHAT, "{" SAID ",\"stop\":[\"zzz\",\" three\"],\"seed\":1}");
    assert_string_equal(frontfix_str(json, "choices.0.message.content"), "one two");
    assert_string_equal(frontfix_str(json, "choices.0.finish_reason"), "stop");
    json = frontfix_ask(&f, "GET", "/tinkc/v1/episodes/s");
    tk_json mask = frontfix_get(json, "sequences.0.mask");
    size_t sampled = 0;
    for (size_t i = 0; i < tk_json_len(&mask); i++) {
        sampled += tk_json_at(&mask, i).as.integer == 1;
    }
    tk_tok_ids ids = {NULL, 0, 0, NULL};
    assert_int_equal(
        tk_tok_encode(f.model->tok, TK_STR("one two three four<|end|>"), &ids, NULL),
        TINKC_OK);
    assert_int_equal(sampled, ids.n);
    tk_tok_ids_dispose(&ids);
    frontfix_close(&f);
}

/* A special token can end it, also where the string has only a part of it. */
static void test_stop_in_special(void **state)
{
    frontfix f;
    frontfix_open(&f, "one<|user|>two", NULL);
    const tk_json *json = frontfix_post(
        &f, "/v1/completions", "{\"model\":\"\",\"prompt\":\"p\",\"stop\":\"user|>t\"}");
    assert_string_equal(frontfix_str(json, "choices.0.text"), "one");
    json = frontfix_post(&f, "/v1/completions", "{\"model\":\"\",\"prompt\":\"p\"}");
    assert_string_equal(frontfix_str(json, "choices.0.text"), "onetwo");
    frontfix_close(&f);
}

/* G-018: what may begin a stop string is not streamed before it is decided. */
static void test_stop_in_stream(void **state)
{
    frontfix f;
    frontfix_open(&f, "one two three", NULL);
    tk_str text = frontfix_post_text(
        &f, "/v1/completions",
        "{\"model\":\"\",\"prompt\":\"p\",\"stream\":true,\"stop\":\"two three\"}");
    assert_true(frontfix_has(text, "one"));
    assert_false(frontfix_has(text, "\"text\":\" t"));
    assert_false(frontfix_has(text, "\"text\":\"t"));
    assert_true(frontfix_has(text, "[DONE]"));
    text = frontfix_post_text(
        &f, "/v1/completions",
        "{\"model\":\"\",\"prompt\":\"p\",\"stream\":true,\"stop\":\"three four\"}");
    assert_true(frontfix_has(text, "ree"));
    frontfix_close(&f);
}

/* ---- streams ---- */

static void test_streams(void **state)
{
    static const struct {
        const char *path, *body, *has[3];
    } rows[] = {
        {CHAT,
         "{" SAID ",\"stream\":true}",
         {"chat.completion.chunk", "\"stop\"", "[DONE]"}},
        {CHAT,
         "{" SAID ",\"stream\":true,\"n\":2,\"logprobs\":true,\"top_logprobs\":1}",
         {"\"index\":1", "\"top_logprobs\"", "[DONE]"}},
        {"/v1/completions",
         "{\"model\":\"\",\"prompt\":\"echoed\",\"echo\":true,\"stream\":true}",
         {"echoed", "one", "[DONE]"}},
        {"/v1/responses",
         "{\"model\":\"\",\"input\":\"x\",\"stream\":true}",
         {"response.created", "response.output_text.delta", "response.completed"}},
        {"/v1/messages",
         "{" SAID ",\"max_tokens\":9,\"stream\":true}",
         {"message_start", "content_block_delta", "message_stop"}},
    };
    frontfix f;
    frontfix_open(&f, "one two", NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_str text = frontfix_post_text(&f, rows[i].path, rows[i].body);
        assert_int_equal(f.status, 200);
        for (size_t k = 0; k < 3; k++) {
            if (!frontfix_has(text, rows[i].has[k])) {
                fail_msg("%s: no %s in %s", rows[i].path, rows[i].has[k], text.p);
            }
        }
    }
    frontfix_close(&f);
}

/* The usage of a stream that asks for it is that of the whole. */
static void test_stream_usage(void **state)
{
    frontfix f;
    frontfix_open(&f, "one two", NULL);
    const tk_json *json = frontfix_post(&f, CHAT, "{" SAID "}");
    char usage[64];
    (void)snprintf(usage, sizeof(usage), "\"completion_tokens\":%lld",
                   (long long)frontfix_int(json, "usage.completion_tokens"));
    tk_str text = frontfix_post_text(
        &f, CHAT,
        "{" SAID ",\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
    assert_true(frontfix_has(text, usage));
    frontfix_close(&f);
}

/* ---- episodes ---- */

static void test_episodes(void **state)
{
    frontfix f;
    frontfix_open(&f, "one two", NULL);
    const httpget_request named = {.method = "POST",
                                   .target = CHAT,
                                   .body = "{" SAID "}",
                                   .headers = "X-Tinkc-Episode: h-1\r\n"};
    (void)frontfix_text(&f, &named);
    assert_int_equal(f.status, 200);
    (void)frontfix_post(&f, CHAT, "{" SAID "}"); /* of none */
    const tk_json *json = frontfix_ask(&f, "GET", "/tinkc/v1/episodes");
    tk_json all = frontfix_get(json, "episodes");
    assert_int_equal(tk_json_len(&all), 1);
    assert_string_equal(frontfix_str(json, "episodes.0.id"), "h-1");
    (void)frontfix_post(&f, "/tinkc/v1/episodes/h-1/reward",
                        "{\"reward\":0.5,\"metadata\":{\"k\":1}}");
    assert_int_equal(f.status, 200);
    json = frontfix_ask(&f, "GET", "/tinkc/v1/episodes/h-1");
    assert_true(frontfix_get(json, "reward").as.real == 0.5);
    assert_int_equal(frontfix_int(json, "metadata.k"), 1);
    json = frontfix_ask(&f, "GET", "/tinkc/v1/episodes?format=jsonl");
    assert_string_equal(frontfix_str(json, "id"), "h-1");
    (void)frontfix_ask(&f, "DELETE", "/tinkc/v1/episodes/h-1");
    assert_int_equal(f.status, 200);
    (void)frontfix_ask(&f, "GET", "/tinkc/v1/episodes/h-1");
    assert_int_equal(f.status, 404);
    frontfix_close(&f);
}

/* The second turn's prompt is the first one's ids, what was sampled, and the new text. */
static void test_continued(void **state)
{
    frontfix f;
    int32_t first[FRONTFIX_CONTEXT];
    frontfix_open(&f, "one two", NULL);
    (void)frontfix_post(&f, "/e/c" CHAT, "{" SAID "}");
    size_t n = f.n_last_prompt;
    memcpy(first, f.last_prompt, n * sizeof(*first));
    (void)frontfix_post(&f, "/e/c" CHAT,
                        "{\"messages\":[{\"role\":\"user\",\"content\":\"good morning\"},"
                        "{\"role\":\"assistant\",\"content\":\"one two\"},"
                        "{\"role\":\"user\",\"content\":\"and\"}],\"model\":\"\"}");
    assert_int_equal(f.status, 200);
    assert_true(f.n_last_prompt > n + 3);
    assert_memory_equal(f.last_prompt, first, n * sizeof(*first));
    const tk_json *json = frontfix_ask(&f, "GET", "/tinkc/v1/episodes/c");
    tk_json sequences = frontfix_get(json, "sequences");
    assert_int_equal(tk_json_len(&sequences), 1);
    assert_string_equal(frontfix_str(json, "turns.1.origin"), "continued");
    frontfix_close(&f);
}

/* G-006: a repeated request of an episode is sampled once and has the same answer. */
static void test_repeated(void **state)
{
    frontfix f;
    frontfix_open(&f, "one two", NULL);
    tk_str first = frontfix_post_text(&f, "/e/r" CHAT, "{" SAID "}");
    tk_str second = frontfix_post_text(&f, "/e/r" CHAT, "{" SAID "}");
    assert_true(tk_str_eq(first, second));
    assert_int_equal(f.n_samples, 1);
    first = frontfix_post_text(&f, "/e/r" CHAT, "{" SAID ",\"stream\":true}");
    second = frontfix_post_text(&f, "/e/r" CHAT, "{" SAID ",\"stream\":true}");
    assert_true(first.n > 0);
    assert_true(tk_str_eq(first, second));
    assert_int_equal(f.n_samples, 2);
    frontfix_close(&f);
}

/* ---- errors ---- */

typedef struct wrong {
    const char *method, *path, *body, *headers;
    int status;
    const char *has;
} wrong;

static void check_wrong(frontfix *f, const wrong *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const httpget_request request = {.method = rows[i].method,
                                         .target = rows[i].path,
                                         .body = rows[i].body,
                                         .headers = rows[i].headers};
        tk_str text = frontfix_text(f, &request);
        if (f->status != rows[i].status || !frontfix_has(text, rows[i].has)) {
            fail_msg("%s %s: %d %s", rows[i].method, rows[i].path, f->status, text.p);
        }
    }
}

/* G-015, G-017 */
static void test_errors(void **state)
{
    static const wrong rows[] = {
        {"POST", CHAT, "{", NULL, 400, "\"type\":\"invalid_request_error\""},
        {"POST", CHAT, "{" SAID ",\"audio\":{}}", NULL, 400, "\"param\":\"audio\""},
        {"POST", CHAT,
         "{\"model\":\"x\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}", NULL,
         404, "\"param\":\"model\""},
        {"POST", CHAT, "{" SAID ",\"max_tokens\":600}", NULL, 400,
         "context_length_exceeded"},
        {"POST", "/v1/messages", "{" SAID ",\"max_tokens\":600}", NULL, 400,
         "prompt is too long"},
        {"POST", "/v1/messages", "{" SAID "}", NULL, 400, "max_tokens"},
        {"POST", "/v1/unknown", "{}", NULL, 404, "\"code\":null"},
        {"POST", "/v1/messages/unknown", "{}", NULL, 404, "\"type\":\"error\""},
        {"GET", CHAT, NULL, NULL, 405, "\"error\":{"},
        {"GET", "/e/x/v1/messages", NULL, NULL, 405, "\"type\":\"error\""},
        {"POST", CHAT, "{" SAID "}", "X-Tinkc-Episode: a b\r\n", 400, "episode"},
        {"POST", "/tinkc/v1/episodes/none/reward", "{\"reward\":1}", NULL, 404, "none"},
        {"POST", "/tinkc/v1/episodes/none/reward", "{\"reward\":\"x\"}", NULL, 400,
         "reward"},
        {"GET", "/elsewhere", NULL, NULL, 404, "not the gateway's"},
        {"GET", "/v1/models", NULL, "Origin: http://evil.example\r\n", 403,
         "\"error\":{"},
        {"POST", "/v1/messages", "{" SAID ",\"max_tokens\":2}",
         "Origin: http://evil.example\r\n", 403, "\"type\":\"error\""},
    };
    frontfix f;
    frontfix_open(&f, "one two", NULL);
    check_wrong(&f, rows, TK_ARRAY_LEN(rows));
    assert_int_equal(f.n_samples, 0);
    frontfix_close(&f);
}

/* G-017 */
static void test_keys(void **state)
{
    static const wrong rows[] = {
        {"GET", "/v1/models", NULL, NULL, 401, "\"error\":{"},
        {"GET", "/v1/models", NULL, "Authorization: Bearer tml-b\r\n", 401,
         "\"error\":{"},
        {"POST", "/v1/messages", "{}", "x-api-key: tml-b\r\n", 401, "\"type\":\"error\""},
        {"GET", "/v1/models", NULL, "Authorization: Bearer tml-a\r\n", 200, "data"},
        {"GET", "/v1/models", NULL, "x-api-key: tml-a\r\n", 200, "data"},
        {"GET", "/tinkc/v1/episodes", NULL, NULL, 401, "\"error\":{"},
    };
    frontfix f;
    frontfix_open(&f, "one two", "tml-a");
    check_wrong(&f, rows, TK_ARRAY_LEN(rows));
    frontfix_close(&f);
}

/* G-017: a body of 100 MB is refused by its length alone. */
static void test_large_body(void **state)
{
    frontfix f;
    httpget_response response;
    static const char head[] =
        "POST " CHAT " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "
        "application/json\r\nContent-Length: 100000000\r\n\r\n{";
    frontfix_open(&f, "one two", NULL);
    httpget *connection = httpget_connect(f.port);
    assert_non_null(connection);
    assert_true(httpget_send(connection, head, sizeof(head) - 1));
    assert_int_equal(httpget_read(connection, &response), HTTPGET_OK);
    assert_int_equal(response.status, 413);
    assert_non_null(strstr(response.body.p, "\"error\":{"));
    httpget_response_dispose(&response);
    httpget_close(&connection);
    frontfix_close(&f);
}

/* G-017: a page that knows the address of this machine cannot ask under its own name. */
static void test_wrong_host(void **state)
{
    frontfix f;
    httpget_response response;
    static const char head[] = "GET /v1/models HTTP/1.1\r\nHost: evil.example\r\n\r\n";
    frontfix_open(&f, "one two", NULL);
    httpget *connection = httpget_connect(f.port);
    assert_non_null(connection);
    assert_true(httpget_send(connection, head, sizeof(head) - 1));
    assert_int_equal(httpget_read(connection, &response), HTTPGET_OK);
    assert_int_equal(response.status, 403);
    assert_non_null(strstr(response.body.p, "\"error\":{"));
    httpget_response_dispose(&response);
    httpget_close(&connection);
    frontfix_close(&f);
}

static void test_backend_fails(void **state)
{
    frontfix f;
    frontfix_open(&f, "one two", NULL);
    f.fails = 503;
    const tk_json *json = frontfix_post(&f, "/e/f" CHAT, "{" SAID "}");
    assert_int_equal(f.status, 503);
    assert_string_equal(frontfix_str(json, "error.message"), "the script says so");
    tk_str text = frontfix_post_text(&f, "/e/f" CHAT, "{" SAID ",\"stream\":true}");
    assert_int_equal(f.status, 200); /* the head went before */
    assert_true(frontfix_has(text, "the script says so"));
    f.fails = 0;
    f.refuses = 429;
    (void)frontfix_post(&f, CHAT, "{" SAID "}");
    assert_int_equal(f.status, 429);
    (void)frontfix_post(&f, CHAT, "{" SAID ",\"stream\":true}");
    assert_int_equal(f.status, 429);
    (void)frontfix_post(&f, "/v1/completions",
                        "{\"model\":\"\",\"prompt\":[\"a\",\"b\"],\"stream\":true}");
    assert_int_equal(f.status, 429);
    f.refuses = 0;
    json = frontfix_ask(&f, "GET", "/tinkc/v1/episodes"); /* nothing was answered */
    tk_json all = frontfix_get(json, "episodes");
    assert_int_equal(tk_json_len(&all), 0);
    frontfix_close(&f);
}

/* ---- clients that leave ---- */

static httpget *begin(frontfix *f, const char *path, const char *body)
{
    const httpget_request request = {.method = "POST", .target = path, .body = body};
    httpget *connection = httpget_connect(f->port);
    assert_non_null(connection);
    assert_true(httpget_ask(connection, &request));
    return connection;
}

static void check_leaving(const char *body)
{
    frontfix f;
    frontfix_open(&f, "one two", NULL);
    f.is_held = true;
    httpget *connection = begin(&f, "/e/l" CHAT, body);
    (void)frontfix_wait_held(&f);
    httpget_close(&connection);
    frontfix_wait_cancelled(&f, 1);
    f.is_held = false;
    (void)frontfix_post(&f, CHAT, "{" SAID "}"); /* others are answered */
    assert_int_equal(f.status, 200);
    (void)frontfix_ask(&f, "GET", "/tinkc/v1/episodes/l"); /* it was not answered */
    assert_int_equal(f.status, 404);
    frontfix_close(&f);
}

/* G-016 */
static void test_client_leaves(void **state)
{
    check_leaving("{" SAID "}");
    check_leaving("{" SAID ",\"stream\":true}");
}

/* Many answers at once, more than a stream holds for a slow reader: all of it comes. */
#define MANY "{" SAID ",\"stream\":true,\"n\":60,\"logprobs\":true,\"top_logprobs\":1}"

static void make_long(char *out, size_t words)
{
    for (size_t i = 0; i < words; i++) {
        memcpy(out + 4 * i, " one", 4);
    }
    out[4 * words] = '\0';
}

/* G-016 */
static void test_slow_reader(void **state)
{
    frontfix f;
    httpget_response response;
    char says[4 * 400 + 1];
    make_long(says, 400);
    frontfix_open(&f, says, NULL);
    httpget *connection = begin(&f, CHAT, MANY);
    assert_int_equal(httpget_status(connection), 200); /* and nothing more for now */
    (void)frontfix_post(&f, CHAT, "{" SAID "}");       /* nobody waits for it */
    assert_int_equal(f.status, 200);
    assert_int_equal(httpget_read(connection, &response), HTTPGET_OK);
    assert_true(response.body.n > TK_HD_STREAM_BYTES);
    if (strstr(response.body.p + response.body.n - 32, "[DONE]") == NULL) {
        fail_msg("the end of %zu bytes: %s", response.body.n,
                 response.body.p + response.body.n - 500);
    }
    httpget_response_dispose(&response);
    httpget_close(&connection);
    frontfix_close(&f);
}

/* G-016: a reader that leaves with megabytes waiting for it holds nothing
 * (frontfix_close looks at the memory). */
static void test_slow_reader_leaves(void **state)
{
    frontfix f;
    char says[4 * 400 + 1];
    make_long(says, 400);
    frontfix_open(&f, says, NULL);
    httpget *connection = begin(&f, CHAT, MANY);
    assert_int_equal(httpget_status(connection), 200);
    httpget_close(&connection);
    (void)frontfix_post(&f, CHAT, "{" SAID "}");
    assert_int_equal(f.status, 200);
    frontfix_close(&f);
}

/* Two clients ask the same; the first one leaves: the second one gets its own answer. */
static void test_repetition_of_one_that_left(void **state)
{
    frontfix f;
    httpget_response response;
    frontfix_open(&f, "one two", NULL);
    f.is_held = true;
    httpget *first = begin(&f, "/e/w" CHAT, "{" SAID "}");
    (void)frontfix_wait_held(&f);
    httpget *second = begin(&f, "/e/w" CHAT, "{" SAID "}");
    httpget_close(&first);
    frontfix_wait_cancelled(&f, 1);
    frontfix_release(&f, 0);
    assert_int_equal(httpget_read(second, &response), HTTPGET_OK);
    assert_int_equal(response.status, 200);
    httpget_response_dispose(&response);
    httpget_close(&second);
    assert_int_equal(f.n_samples, 2);
    frontfix_close(&f);
}

/* A stop with a request that waits for its sample answers it. */
static void test_waiting_at_the_stop(void **state)
{
    frontfix f;
    httpget_response response;
    frontfix_open(&f, "one two", NULL);
    f.is_held = true;
    httpget *connection = begin(&f, CHAT, "{" SAID "}");
    (void)frontfix_wait_held(&f);
    hd_http_quiesce(f.http);
    frontfix_release(&f, 503);
    assert_int_equal(httpget_read(connection, &response), HTTPGET_OK);
    assert_int_equal(response.status, 503);
    httpget_response_dispose(&response);
    httpget_close(&connection);
    frontfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chat),
        cmocka_unit_test(test_several_answers),
        cmocka_unit_test(test_completions),
        cmocka_unit_test(test_responses),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_tool_calls),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_stop_string),
        cmocka_unit_test(test_stop_in_special),
        cmocka_unit_test(test_stop_in_stream),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_stream_usage),
        cmocka_unit_test(test_episodes),
        cmocka_unit_test(test_continued),
        cmocka_unit_test(test_repeated),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_large_body),
        cmocka_unit_test(test_wrong_host),
        cmocka_unit_test(test_backend_fails),
        cmocka_unit_test(test_client_leaves),
        cmocka_unit_test(test_slow_reader),
        cmocka_unit_test(test_slow_reader_leaves),
        cmocka_unit_test(test_repetition_of_one_that_left),
        cmocka_unit_test(test_waiting_at_the_stop),
    };
    return cmocka_run_group_tests_name("gw_front", tests, NULL, NULL);
}
