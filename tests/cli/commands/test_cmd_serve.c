/* `tinkc serve`: options that the server does not start with, directories as models, and
 * its log of requests.
 * Links: server */
#include <signal.h>
#include <stdlib.h>

#include "cli/dirfix.h"
#include "support/httpget.h"
#include "support/program.h"
#include "support/test.h"

static void expect(program *p, const char *memory, int code, const char *text)
{
    program_run(p, PROGRAM_ARGS("serve", "--port", "0", "--memory", memory));
    if (p->code != code || strstr(p->err.p, text) == NULL) {
        fail_msg("--memory %s: %d %s", memory, p->code, p->err.p);
    }
}

/* A size that cannot be read is a usage error; one that the model does not fit into is
 * refused at the start, with both numbers. */
static void test_serve_memory(void **state)
{
    static const char *const bad[] = {"",     "0",   "M",     "12X",         "-1",
                                      "1.5G", "1 G", "512MB", "99999999999G"};
    program p;
    program_open(&p, TINKC_PROGRAM);
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        expect(&p, bad[i], 2, "--memory must be a size such as 512M or 8G.");
    }
    expect(&p, "1024K", 1, "of the server's 1 MiB");
    expect(&p, "1M", 1, "needs ");
    program_close(&p);
}

/* The URL that a server has printed. */
static void read_url(char out[96], const program *p)
{
    const char *at = strstr(p->out.p, "http://");
    assert_non_null(at);
    (void)snprintf(out, 96, "TINKER_BASE_URL=%.*s", (int)strcspn(at, "\n"), at);
}

/* Operands are models; each has the name of its directory, also behind a slash, a dot or
 * a link, and beside --model. */
static void test_serve_directories(void **state)
{
    program p, q;
    char url[96];
    program_open(&p, TINKC_PROGRAM);
    program_open(&q, TINKC_PROGRAM);
    dirfix_make(&p, "small");
    dirfix_make(&p, "real");
    assert_int_equal(symlink("real", program_path(&p, "link")), 0);
    program_start(&p, PROGRAM_ARGS("serve", "--port", "0", "small/.", "./link", "--model",
                                   "own/name=small"));
    assert_true(program_wait_text(&p, false, "listening on "));
    assert_true(program_wait_text(&p, false, "\n"));
    read_url(url, &p);
    program_env(&q, url);
    program_run(&q, PROGRAM_ARGS("models", "--format", "json"));
    assert_int_equal(q.code, 0);
    assert_true(program_said(&q.out, "\"small\""));
    assert_true(program_said(&q.out, "\"real\""));
    assert_true(program_said(&q.out, "\"own/name\""));
    assert_false(program_said(&q.out, "\"link\""));
    assert_true(program_said(&q.out, "\"source\": \"embedded\""));
    assert_true(program_said(&q.out, "/small\""));
    assert_true(program_said(&q.out, "\"precision\": \""));
    program_run(&q, PROGRAM_ARGS("sample", "-m", "small", "--max-tokens", "2", "One,"));
    assert_int_equal(q.code, 0);
    assert_int_equal(kill(p.pid, SIGTERM), 0);
    program_end(&p);
    assert_int_equal(p.code, 0);
    program_close(&q);
    program_close(&p);
}

/* --kernel chooses the instructions; what the machine lacks is refused with what it has. */
static void test_serve_kernel(void **state)
{
    program p;
    program_open(&p, TINKC_PROGRAM);
    program_run(&p, PROGRAM_ARGS("serve", "--port", "0", "--kernel", "abacus"));
    assert_int_equal(p.code, 1);
    assert_true(program_said(&p.err, "no kernels \"abacus\": it has "));
    assert_true(program_said(&p.err, "generic"));
    program_start(&p, PROGRAM_ARGS("serve", "--port", "0", "-v", "--kernel", "generic"));
    assert_true(program_wait_text(&p, false, "listening on "));
    assert_true(program_wait_text(&p, true, "computes with generic"));
    assert_int_equal(kill(p.pid, SIGTERM), 0);
    program_end(&p);
    assert_int_equal(p.code, 0);
    program_run(&p, PROGRAM_ARGS("version", "-v"));
    assert_true(program_said(&p.out, "best first: "));
    assert_true(program_said(&p.out, "generic"));
    program_run(&p, PROGRAM_ARGS("version", "-v", "--format", "json"));
    assert_true(program_said(&p.out, "\"kernels\": \""));
    program_close(&p);
}

static const char *const train_args[] = {
    TINKC_PROGRAM, "train", "d.jsonl", "--model", "tinkc/pebble-llama-2m",
    "--steps",     "3",     "--rank",  "2",       "--restart",
    NULL};

/* The number of bytes of models that the server counts. */
static double model_bytes(const program *p)
{
    httpget_response response;
    const char *port = strrchr(p->out.p, ':');
    const httpget_request request = {.target = "/metrics"};
    assert_non_null(port);
    assert_int_equal(httpget_once((int)strtoul(port + 1, NULL, 10), &request, &response),
                     HTTPGET_OK);
    const char *at = strstr(response.body.p, "tinkc_memory_bytes{part=\"models\"} ");
    assert_non_null(at);
    double bytes = strtod(strchr(at, ' '), NULL);
    httpget_response_dispose(&response);
    return bytes;
}

/* Starts a server with these weights, trains and samples with its models, and returns
 * what it counts for them. */
static double serve_weights(program *p, const char *weights, const char *precision)
{
    program q;
    char url[96], wanted[64];
    program_open(&q, TINKC_PROGRAM);
    program_write_file(&q, "d.jsonl",
                       "{\"prompt\":\"One, two,\",\"completion\":\" three\"}\n");
    program_start(p, PROGRAM_ARGS("serve", "--port", "0", "small", "--weights", weights));
    assert_true(program_wait_text(p, false, "listening on "));
    assert_true(program_wait_text(p, false, "\n"));
    read_url(url, p);
    program_env(&q, url);
    program_run(&q, PROGRAM_ARGS("models", "--format", "json"));
    (void)snprintf(wanted, sizeof(wanted), "\"precision\": \"%s\"", precision);
    const char *first = strstr(q.out.p, wanted); /* the embedded one and that of a file */
    assert_non_null(first);
    assert_non_null(strstr(first + 1, wanted));
    program_run(&q, train_args + 1);
    assert_int_equal(q.code, 0);
    assert_true(program_said(&q.err, "step 3/3"));
    program_run(&q, PROGRAM_ARGS("sample", "-m", "small", "--max-tokens", "2", "One,"));
    assert_int_equal(q.code, 0);
    double bytes = model_bytes(p);
    assert_int_equal(kill(p->pid, SIGTERM), 0);
    program_end(p);
    assert_int_equal(p->code, 0);
    program_close(&q);
    return bytes;
}

/* --weights int8: all models are held so, say so, train and sample, and take less of the
 * memory; another word is refused with those that there are. */
static void test_serve_weights(void **state)
{
    program p;
    program_open(&p, TINKC_PROGRAM);
    dirfix_make(&p, "small");
    program_run(&p, PROGRAM_ARGS("serve", "--port", "0", "--weights", "int4"));
    assert_int_equal(p.code, 1);
    assert_true(
        program_said(&p.err, "there are no weights \"int4\": it is file or int8"));
    double file = serve_weights(&p, "file", "BF16");
    double int8 = serve_weights(&p, "int8", "INT8");
    assert_true(int8 > 1e6 && int8 < 0.9 * file);
    program_close(&p);
}

static void test_serve_bad_directories(void **state)
{
    program p;
    program_open(&p, TINKC_PROGRAM);
    program_run(&p, PROGRAM_ARGS("serve", "--port", "0", "nowhere"));
    assert_int_equal(p.code, 1);
    assert_true(program_said(&p.err, "there is no directory nowhere"));
    program_write_file(&p, "file", "");
    program_run(&p, PROGRAM_ARGS("serve", "--port", "0", "file"));
    assert_int_equal(p.code, 1);
    assert_true(program_said(&p.err, "file is not a directory"));
    program_run(&p, PROGRAM_ARGS("serve", "--port", "0", "."));
    assert_int_equal(p.code, 1);
    assert_true(program_said(&p.err, "config.json: No such file"));
    dirfix_make(&p, "twice");
    program_run(&p, PROGRAM_ARGS("serve", "--port", "0", "twice", "twice/"));
    assert_int_equal(p.code, 1);
    assert_true(program_said(&p.err, "the model name \"twice\" is used twice"));
    program_close(&p);
}

#define KEY "tml-secret-0123456789"

static void ask(program *p, const char *target)
{
    httpget_response response;
    const char *port = strrchr(p->out.p, ':');
    const httpget_request request = {.target = target,
                                     .headers = "X-API-Key: " KEY "\r\n"};
    assert_non_null(port);
    assert_int_equal(httpget_once((int)strtoul(port + 1, NULL, 10), &request, &response),
                     HTTPGET_OK);
    httpget_response_dispose(&response);
}

static void serve_and_ask(program *p, const char *const *args, const char *awaited)
{
    program_start(p, args);
    assert_true(program_wait_text(p, false, "\n"));
    ask(p, "/api/v1/healthz");
    ask(p, "/api/v1/no%1b%5b31msuch%0ax" KEY "?signature=hidden");
    if (awaited != NULL) {
        assert_true(program_wait_text(p, true, awaited));
    }
    assert_int_equal(kill(p->pid, SIGTERM), 0);
    program_end(p);
    assert_int_equal(p->code, 0);
}

/* -v logs requests, without secrets and without what steers a terminal. */
static void test_serve_verbose(void **state)
{
    program p;
    program_open(&p, TINKC_PROGRAM);
    serve_and_ask(&p, PROGRAM_ARGS("serve", "--port", "0", "-v", "--api-key", KEY),
                  "such");
    assert_true(program_said(&p.err, "request: GET /api/v1/healthz 200, "));
    assert_true(program_said(&p.err, " ms, 0 bytes in, "));
    const char *bad = strstr(p.err.p, "GET /api/v1/no");
    assert_non_null(bad);
    assert_null(strchr(bad, '\033'));
    assert_memory_not_equal(strstr(bad, "such"), "such\n", 5);
    assert_null(strstr(p.err.p, "secret"));
    assert_null(strstr(p.err.p, "hidden"));
    serve_and_ask(&p, PROGRAM_ARGS("serve", "--port", "0", "--api-key", KEY), NULL);
    assert_false(program_said(&p.err, "healthz"));
    program_close(&p);
}

/* A file without a key is not an empty key. */
static void test_serve_empty_key(void **state)
{
    program p;
    program_open(&p, TINKC_PROGRAM);
    program_write_file(&p, "empty", " \n");
    program_run(&p, PROGRAM_ARGS("serve", "--port", "0", "--api-key-file", "empty"));
    assert_int_equal(p.code, 1);
    assert_true(program_said(&p.err, "empty holds no key"));
    program_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_serve_memory),
        cmocka_unit_test(test_serve_directories),
        cmocka_unit_test(test_serve_kernel),
        cmocka_unit_test(test_serve_weights),
        cmocka_unit_test(test_serve_bad_directories),
        cmocka_unit_test(test_serve_verbose),
        cmocka_unit_test(test_serve_empty_key),
    };
    return cmocka_run_group_tests_name("cmd_serve", tests, NULL, NULL);
}
