/* Where `tinkc train` and `tinkc rl` say that their run is shown, and what --open starts,
 * against the real server. The browser is a script that writes down what it was given.
 * Links: peer client text server */
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/modelfix.h"
#include "server/srvfix.h"

#define KEY   "tml-page"
#define TRAIN "train", "d.jsonl", "--steps", "1", "--rank", "2", "--restart"

typedef struct fix {
    program p;
    srvfix server;
    char url[MODELFIX_URL_BYTES], path[600];
} fix;

/* What the browser is given by the command that runs. When none is started, this fails. */
static void read_said(const program *p, char out[512])
{
    char path[600];
    size_t n = 0;
    (void)snprintf(path, sizeof(path), "%s/said", p->dir);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    while (n == 0 || out[n - 1] != '\n') {
        struct pollfd at = {.fd = fd, .events = POLLIN};
        assert_true(n < 512);
        assert_int_equal(poll(&at, 1, 60000), 1);
        assert_int_equal(read(fd, out + n, 1), 1);
        n++;
    }
    out[n - 1] = '\0';
    assert_int_equal(close(fd), 0);
}

/* A browser that writes down what it was given, in a folder that PATH names. */
static void put_browser(program *p, char path[600])
{
    char text[600];
    (void)snprintf(path, 600, "PATH=%s:/usr/bin:/bin", p->dir);
    program_env(p, path);
    program_write_file(p, "xdg-open", "#!/bin/sh\necho \"$1\" >said\n");
    (void)snprintf(text, sizeof(text), "%s/xdg-open", p->dir);
    assert_int_equal(chmod(text, 0700), 0);
    (void)snprintf(text, sizeof(text), "%s/said", p->dir);
    assert_int_equal(mkfifo(text, 0600), 0);
}

static void fix_open(fix *f, srv_options options)
{
    srvfix_open(&f->server, options);
    program_open(&f->p, TINKC_PROGRAM);
    (void)snprintf(f->url, sizeof(f->url), "TINKER_BASE_URL=%s",
                   srv_url(f->server.server));
    program_env(&f->p, f->url);
    program_env(&f->p, "TINKER_API_KEY=" KEY);
    program_write_file(&f->p, "d.jsonl",
                       "{\"prompt\":\"One\",\"completion\":\" two\"}\n");
    put_browser(&f->p, f->path);
}

static void fix_close(fix *f)
{
    program_close(&f->p);
    srvfix_close(&f->server);
}

/* The address in the line "Console: ADDRESS". */
static void read_shown(fix *f, char out[512])
{
    const char *line = strstr(f->p.err.p, "\nConsole: ");
    assert_non_null(line);
    line += strlen("\nConsole: ");
    (void)snprintf(out, 512, "%.*s", (int)strcspn(line, " \n"), line);
}

/* The run at the end of an address is one that the console knows, as soon as the recorder has
 * written it. */
static void check_run(fix *f, const char *address)
{
    char path[512];
    int status = 404;
    const char *run = strstr(address, "/runs/");
    assert_non_null(run);
    (void)snprintf(path, sizeof(path), "/tinkc/v1/console%s", run);
    for (int i = 0; status == 404 && i < 100000; i++) {
        httpget_response response;
        const httpget_request request = {.target = path,
                                         .headers = "X-API-Key: " KEY "\r\n"};
        assert_int_equal(httpget_once(srvfix_port(&f->server), &request, &response),
                         HTTPGET_OK);
        status = response.status;
        httpget_response_dispose(&response);
    }
    assert_int_equal(status, 200);
}

static void test_page_without_a_key(void **state)
{
    fix f;
    char shown[512], opened[512];
    fix_open(&f, (srv_options){0});
    program_run(&f.p, PROGRAM_ARGS(TRAIN));
    assert_int_equal(f.p.code, 0);
    read_shown(&f, shown);
    check_run(&f, shown);
    assert_false(program_said(&f.p.err, "--open"));
    program_start(&f.p, PROGRAM_ARGS(TRAIN, "--open"));
    read_said(&f.p, opened);
    program_end(&f.p);
    assert_int_equal(f.p.code, 0);
    read_shown(&f, shown);
    assert_string_equal(opened, shown);
    fix_close(&f);
}

/* The code in the address logs in, once. */
static void test_page_with_a_key(void **state)
{
    fix f;
    char shown[512], opened[512], body[256];
    fix_open(&f, (srv_options){.api_key = KEY});
    program_run(&f.p, PROGRAM_ARGS(TRAIN));
    assert_int_equal(f.p.code, 0);
    assert_true(program_said(&f.p.err, " (--open logs in)\n"));
    program_start(&f.p, PROGRAM_ARGS(TRAIN, "--open"));
    read_said(&f.p, opened);
    program_end(&f.p);
    assert_int_equal(f.p.code, 0);
    read_shown(&f, shown);
    assert_null(strstr(shown, "login"));
    assert_false(program_said(&f.p.err, "--open"));
    char *code = strstr(opened, "#login=");
    assert_non_null(code);
    code += strlen("#login=");
    check_run(&f, code);
    (void)snprintf(body, sizeof(body), "{\"code\":\"%.*s\"}", (int)strcspn(code, "&"),
                   code);
    (void)srvfix_post(&f.server, "/tinkc/v1/console/login", body);
    assert_int_equal(f.server.status, 204);
    (void)srvfix_post(&f.server, "/tinkc/v1/console/login", body);
    assert_int_equal(f.server.status, 401);
    fix_close(&f);
}

/* Without recordings the console has no page of the run. */
static void test_page_without_recordings(void **state)
{
    fix f;
    fix_open(&f, (srv_options){.no_recording = true});
    program_run(&f.p, PROGRAM_ARGS(TRAIN));
    assert_int_equal(f.p.code, 0);
    assert_false(program_said(&f.p.err, "onsole"));
    program_run(&f.p, PROGRAM_ARGS(TRAIN, "--open"));
    assert_int_equal(f.p.code, 0);
    assert_false(program_said(&f.p.err, "onsole"));
    assert_true(program_said(&f.p.err, "Warning: this server records no runs\n"));
    fix_close(&f);
}

/* `tinkc rl` says it as `tinkc train` does. */
static void test_page_of_rl(void **state)
{
    fix f;
    char shown[512], opened[512];
    (void)state;
    fix_open(&f, (srv_options){0});
    program_write_file(&f.p, "t.jsonl", "{\"question\":\"One\",\"answer\":\"two\"}\n");
    program_start(&f.p, PROGRAM_ARGS("rl", "--tasks", "t.jsonl", "--match", "exact",
                                     "--max-tokens", "2", "--steps", "1", "--batch", "1",
                                     "--group", "2", "--rank", "2", "--open"));
    read_said(&f.p, opened);
    program_end(&f.p);
    read_shown(&f, shown);
    assert_string_equal(opened, shown);
    check_run(&f, shown);
    fix_close(&f);
}

/* The private server of --local has a console, too. */
static void test_page_of_a_local_server(void **state)
{
    fix f;
    char opened[512];
    (void)state;
    fix_open(&f, (srv_options){0});
    program_env(&f.p, "TINKER_BASE_URL=");
    program_start(&f.p, PROGRAM_ARGS(TRAIN, "--local", "--open"));
    read_said(&f.p, opened);
    program_end(&f.p);
    assert_int_equal(f.p.code, 0);
    assert_int_equal(strncmp(opened, "http://127.0.0.1:", 17), 0);
    assert_non_null(strstr(opened, "/runs/"));
    assert_null(strstr(opened, srv_url(f.server.server)));
    fix_close(&f);
}

/* A server without a console is not an error, and --open says so. */
static void test_page_of_other_servers(void **state)
{
    char url[MODELFIX_URL_BYTES];
    program p;
    fakeapi *api = modelfix_peer(url, NULL);
    program_open(&p, TINKC_PROGRAM);
    program_env(&p, url);
    program_write_file(&p, "d.jsonl", "{\"prompt\":\"One\",\"completion\":\" two\"}\n");
    program_run(&p, PROGRAM_ARGS(TRAIN, "-m", MODELFIX_NAME, "--tokenizer",
                                 TEST_DATA_DIR "/../../models/pebble-llama-2m"));
    assert_false(program_said(&p.err, "onsole"));
    program_run(&p, PROGRAM_ARGS(TRAIN, "--open", "-m", MODELFIX_NAME, "--tokenizer",
                                 TEST_DATA_DIR "/../../models/pebble-llama-2m"));
    assert_true(program_said(&p.err, "Warning: this server has no console to open\n"));
    program_close(&p);
    fakeapi_stop(&api);
}

/* The server is asked once for what it says of itself, and a code that is none does not come
 * into an address. */
static void test_page_of_a_hostile_server(void **state)
{
    static const char *const codes[] = {"{\"code\":\"a&to=/x\"}", "{\"code\":\"\"}",
                                        "{\"code\":\"Good_code-1\"}"};
    (void)state;
    for (size_t i = 0; i < TK_ARRAY_LEN(codes); i++) {
        char url[MODELFIX_URL_BYTES], path[600], opened[512];
        program p;
        fakeapi *api = modelfix_peer(url, NULL);
        fakeapi_default(api, "GET", "/tinkc/v1/console/session",
                        &fakeapi_json("{\"login\":\"key\",\"runs\":\"recorded\"}"));
        fakeapi_default(api, "POST", "/tinkc/v1/console/code",
                        &(fakeapi_step){.body = codes[i]});
        program_open(&p, TINKC_PROGRAM);
        program_env(&p, url);
        put_browser(&p, path);
        program_write_file(&p, "d.jsonl",
                           "{\"prompt\":\"One\",\"completion\":\" two\"}\n");
        program_start(&p,
                      PROGRAM_ARGS(TRAIN, "--open", "-m", MODELFIX_NAME, "--tokenizer",
                                   TEST_DATA_DIR "/../../models/pebble-llama-2m"));
        if (i == 2) {
            read_said(&p, opened);
            assert_non_null(strstr(opened, "/#login=Good_code-1&to=/runs/"));
        }
        program_end(&p);
        assert_int_equal(program_said(&p.err, "the server gave no code"), i < 2);
        assert_int_equal(fakeapi_count(api, "GET", "/tinkc/v1/console/session"), 1);
        program_close(&p);
        fakeapi_stop(&api);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page_without_a_key),
        cmocka_unit_test(test_page_with_a_key),
        cmocka_unit_test(test_page_without_recordings),
        cmocka_unit_test(test_page_of_rl),
        cmocka_unit_test(test_page_of_a_local_server),
        cmocka_unit_test(test_page_of_other_servers),
        cmocka_unit_test(test_page_of_a_hostile_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
