/* `tinkc gateway` in front of `tinkc serve`: the same ids as the server itself gives; its
 * options; its end.
 * Links: server gateway */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "support/httpget.h"
#include "support/program.h"
#include "support/test.h"

#define MODEL "tinkc/pebble-llama-2m"
#define SAID                                                                             \
    "\"model\":\"" MODEL                                                                 \
    "\",\"messages\":[{\"role\":\"user\",\"content\":\"Call me on Monday\"}],"           \
    "\"max_tokens\":20,\"seed\":7"

typedef struct fix {
    program server, gateway;
    char url[96];
    int server_port, port;
    tk_arena arena;
} fix;

static int port_of(program *p, char url[96])
{
    assert_true(program_wait_text(p, false, "listening on "));
    assert_true(program_wait_text(p, false, "\n"));
    const char *at = strstr(p->out.p, "http://");
    assert_non_null(at);
    (void)snprintf(url, 96, "TINKER_BASE_URL=%.*s", (int)strcspn(at, "\n"), at);
    return (int)strtol(strrchr(url, ':') + 1, NULL, 10);
}

static void open_fix(fix *f, const char *const *words)
{
    char ignored[96];
    memset(f, 0, sizeof(*f));
    tk_arena_init(&f->arena, 0);
    program_open(&f->server, TINKC_PROGRAM);
    program_open(&f->gateway, TINKC_PROGRAM);
    program_start(&f->server, PROGRAM_ARGS("serve", "--port", "0"));
    f->server_port = port_of(&f->server, f->url);
    program_env(&f->gateway, f->url);
    program_env(&f->gateway, "TINKER_API_KEY=tml-x");
    program_write_file(&f->gateway, "key", "secret-of-clients\n");
    program_start(&f->gateway, words);
    f->port = port_of(&f->gateway, ignored);
}

static void close_fix(fix *f)
{
    assert_int_equal(kill(f->gateway.pid, SIGTERM), 0);
    program_end(&f->gateway);
    assert_int_equal(f->gateway.code, 0);
    assert_int_equal(kill(f->server.pid, SIGTERM), 0);
    program_end(&f->server);
    program_close(&f->gateway);
    program_close(&f->server);
    tk_arena_dispose(&f->arena);
}

static tk_str ask(fix *f, int port, const httpget_request *request, int status)
{
    httpget_response response;
    tk_str text;
    assert_int_equal(httpget_once(port, request, &response), HTTPGET_OK);
    if (response.status != status) {
        fail_msg("%s: %d %s", request->target, response.status, response.body.p);
    }
    assert_true(tk_arena_dup(&f->arena, &text, response.body.n > 0 ? response.body.p : "",
                             response.body.n));
    httpget_response_dispose(&response);
    return text;
}

/* The sequences of an episode after one answer, as text. */
static tk_str sequences(fix *f, int port, const char *episode, const char *route,
                        const char *body)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "/e/%s%s", episode, route);
    const httpget_request post = {.method = "POST", .target = path, .body = body};
    (void)ask(f, port, &post, 200);
    (void)snprintf(path, sizeof(path), "/tinkc/v1/episodes/%s", episode);
    const httpget_request get = {.target = path};
    tk_str text = ask(f, port, &get, 200);
    const char *at = strstr(text.p, "\"sequences\":");
    assert_non_null(at);
    return tk_str_of(at);
}

/* G-012: ids and log-probabilities are the same, to the last digit. */
static void test_gateway_gives_the_same(void **state)
{
    static const struct {
        const char *name, *route, *body;
    } rows[] = {
        {"chat", "/v1/chat/completions", "{" SAID "}"},
        {"stream", "/v1/chat/completions", "{" SAID ",\"stream\":true}"},
        {"several", "/v1/chat/completions",
         "{" SAID ",\"n\":3,\"logprobs\":true,\"top_logprobs\":2}"},
        {"stop", "/v1/chat/completions", "{" SAID ",\"stop\":[\"a\",\"e\"]}"},
        {"messages", "/v1/messages", "{" SAID "}"},
    };
    fix f;
    open_fix(&f, PROGRAM_ARGS("gateway", "-m", MODEL, "--port", "0"));
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        const char *body = rows[i].body;
        char own[512];
        if (strcmp(rows[i].name, "messages") == 0) { /* has no seed */
            (void)snprintf(
                own, sizeof(own),
                "{\"model\":\"" MODEL "\",\"messages\":[{\"role\":\"user\","
                "\"content\":\"Monday\"}],\"max_tokens\":9,\"temperature\":0}");
            body = own;
        }
        tk_str a = sequences(&f, f.server_port, rows[i].name, rows[i].route, body);
        tk_str b = sequences(&f, f.port, rows[i].name, rows[i].route, body);
        if (!tk_str_eq(a, b)) {
            fail_msg("%s:\n%s\n%s", rows[i].name, a.p, b.p);
        }
    }
    const httpget_request scored = {
        .method = "POST",
        .target = "/v1/completions",
        .body =
            "{\"model\":\"" MODEL "\",\"prompt\":[5,7,9],\"max_tokens\":0,\"echo\":true,"
            "\"logprobs\":2}"};
    const char *a = strstr(ask(&f, f.server_port, &scored, 200).p, "\"choices\"");
    const char *b = strstr(ask(&f, f.port, &scored, 200).p, "\"choices\"");
    assert_non_null(a);
    assert_non_null(b);
    size_t n = (size_t)(strstr(a, "\"usage\"") - a);
    assert_int_equal(strncmp(a, b, n), 0);
    close_fix(&f);
}

static void test_gateway_wants_the_key(void **state)
{
    fix f;
    const httpget_request none = {.target = "/v1/models"};
    const httpget_request right = {
        .target = "/v1/models", .headers = "Authorization: Bearer secret-of-clients\r\n"};
    const httpget_request open = {.target = "/health"};
    open_fix(&f, PROGRAM_ARGS("gateway", "-m", MODEL, "--port", "0", "--api-key-file",
                              "key", "--data", "episodes"));
    (void)ask(&f, f.port, &none, 401);
    (void)ask(&f, f.port, &open, 200);
    assert_non_null(strstr(ask(&f, f.port, &right, 200).p, MODEL));
    close_fix(&f);
}

/* G-019: a model of another name is refused with the one that there is. */
static void test_gateway_models(void **state)
{
    fix f;
    const httpget_request wrong = {
        .method = "POST",
        .target = "/v1/chat/completions",
        .body =
            "{\"model\":\"gpt-4\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}"};
    const httpget_request path = {
        .method = "POST",
        .target = "/v1/chat/completions",
        .body = "{\"model\":\"tinker://x:train:0/sampler_weights/n\",\"messages\":[{"
                "\"role\":\"user\",\"content\":\"a\"}]}"};
    open_fix(&f, PROGRAM_ARGS("gateway", "--port", "0"));
    assert_non_null(strstr(ask(&f, f.port, &wrong, 404).p, MODEL));
    (void)ask(&f, f.port, &path, 404);
    const httpget_request both = {.method = "POST",
                                  .target = "/v1/completions",
                                  .body = "{\"model\":\"" MODEL
                                          "\",\"prompt\":[5],\"stop\":[\"a\"],"
                                          "\"ignore_eos\":true}"};
    assert_non_null(strstr(ask(&f, f.port, &both, 400).p, "\"param\":\"ignore_eos\""));
    close_fix(&f);
}

static void test_gateway_options(void **state)
{
    program p;
    program_open(&p, TINKC_PROGRAM);
    program_run(&p, PROGRAM_ARGS("gateway", "--port", "70000"));
    assert_int_equal(p.code, 2);
    program_run(&p, PROGRAM_ARGS("gateway", "--tool-format", "x"));
    assert_int_equal(p.code, 2);
    assert_true(program_said(&p.err, "hermes"));
    program_run(&p, PROGRAM_ARGS("gateway", "--host", "0.0.0.0"));
    assert_int_equal(p.code, 1);
    assert_true(program_said(&p.err, "--api-key-file"));
    program_write_file(&p, "empty", "\n");
    program_run(&p, PROGRAM_ARGS("gateway", "--port", "0", "--api-key-file", "empty"));
    assert_int_equal(p.code, 1);
    assert_true(program_said(&p.err, "empty holds no key"));
    program_close(&p);
}

/* ---- launch ---- */

/* G-020 */
static void test_launch_runs_the_agent(void **state)
{
    program p;
    program_open(&p, TINKC_PROGRAM);
    program_run(&p, PROGRAM_ARGS("launch", "--local", "--episode", "e-1", "openai", "--",
                                 "sh", "-c",
                                 "echo \"$OPENAI_BASE_URL $OPENAI_MODEL\"; exit 7"));
    assert_int_equal(p.code, 7);
    assert_true(program_said(&p.out, "/e/e-1/v1 " MODEL));
    assert_true(program_said(&p.err, "episodes/e-1"));
    program_run(&p, PROGRAM_ARGS("launch", "--url", "http://127.0.0.1:1", "-m", "m",
                                 "anthropic", "--", "no-such-program-here"));
    assert_int_equal(p.code, 1);
    assert_true(program_said(&p.err, "PATH"));
    program_close(&p);
}

static void test_launch_prints(void **state)
{
    static const struct {
        const char *agent, *has;
    } rows[] = {
        {"openai", "export OPENAI_BASE_URL='http://h:1/e/x/v1'\n"},
        {"anthropic", "export ANTHROPIC_BASE_URL='http://h:1/e/x'\n"},
        {"litellm", "export LITELLM_MODEL='openai/a'\\''b'\n"},
        {"opencode", "\"baseURL\":\"http://h:1/e/x/v1\""},
        {"codex", "'model_providers.tinkc.wire_api=\"responses\"'"},
        {"claude", "export ANTHROPIC_AUTH_TOKEN='tinkc'\n"},
    };
    program p;
    program_open(&p, TINKC_PROGRAM);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        program_run(&p, PROGRAM_ARGS("launch", "--print", "--url", "http://h:1/", "-m",
                                     "a'b", "--episode", "x", rows[i].agent));
        if (p.code != 0 || !program_said(&p.out, rows[i].has)) {
            fail_msg("%s: %d %s %s", rows[i].agent, p.code, p.out.p, p.err.p);
        }
    }
    program_run(&p, PROGRAM_ARGS("launch", "someone"));
    assert_int_equal(p.code, 2);
    program_run(&p, PROGRAM_ARGS("launch", "openai"));
    assert_int_equal(p.code, 2);
    program_run(&p, PROGRAM_ARGS("launch", "--local", "--print", "claude"));
    assert_int_equal(p.code, 2);
    program_run(&p, PROGRAM_ARGS("launch", "--episode", "a/b", "--print", "claude"));
    assert_int_equal(p.code, 2);
    program_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gateway_gives_the_same),
        cmocka_unit_test(test_gateway_wants_the_key),
        cmocka_unit_test(test_gateway_models),
        cmocka_unit_test(test_gateway_options),
        cmocka_unit_test(test_launch_runs_the_agent),
        cmocka_unit_test(test_launch_prints),
    };
    return cmocka_run_group_tests_name("cmd_gateway", tests, NULL, NULL);
}
