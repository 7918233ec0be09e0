/* `tinkc console` beside a service: its runs, checkpoints and sessions, what the page says
 * when there is none, and that nothing waits for one that is slow or broken.
 * Links: peer server gateway */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/clifix.h"
#include "support/httpget.h"
#include "support/program.h"

#define API    "/tinkc/v1/console/"
#define RUN    API "runs/S%3Atrain%3A0"
#define FILE_1 "{\"step\":1,\"loss\":3.5,\"tokens\":10,\"seconds\":2}\n"

typedef struct fix {
    fakeapi *api;
    program p;
    int port;
    char url[96];
    tk_arena arena;
} fix;

static void init(fix *f)
{
    memset(f, 0, sizeof(*f));
    tk_arena_init(&f->arena, 0);
    f->api = fakeapi_start();
    clifix_world(f->api);
    clifix_wide_world(f->api);
    fakeapi_default(f->api, "GET", CLI_API "sessions/" CLI_SESSION,
                    &fakeapi_json("{\"training_run_ids\":[\"" CLI_RUN
                                  "\",\"b\"],\"sampler_ids\":[\"c\"],"
                                  "\"display_name\":\"<script>s\"}"));
    program_open(&f->p, TINKC_PROGRAM);
    (void)snprintf(f->url, sizeof(f->url), "TINKER_BASE_URL=%s", fakeapi_url(f->api));
    program_env(&f->p, f->url);
    program_env(&f->p, "TINKER_API_KEY=" CLI_KEY);
    program_write_file(&f->p, "m.jsonl", FILE_1);
}

static void begin(fix *f, const char *const *words)
{
    program_start(&f->p, words);
    assert_true(program_wait_text(&f->p, false, "listening on "));
    assert_true(program_wait_text(&f->p, false, "\n"));
    f->port = (int)strtol(strrchr(f->p.out.p, ':') + 1, NULL, 10);
}

#define CONSOLE "console", "m.jsonl", "--port", "0", "--set", "max_retries=0"

static void finish(fix *f)
{
    assert_int_equal(kill(f->p.pid, SIGTERM), 0);
    program_end(&f->p);
    assert_int_equal(f->p.code, 0);
}

/* The secret never shows. */
static void end(fix *f)
{
    finish(f);
    assert_false(program_said(&f->p.err, CLI_KEY));
    program_close(&f->p);
    fakeapi_stop(&f->api);
    tk_arena_dispose(&f->arena);
}

static const tk_json *get(fix *f, const char *target, int status)
{
    httpget_response response;
    const httpget_request request = {.target = target};
    const tk_json *json = NULL;
    assert_int_equal(httpget_once(f->port, &request, &response), HTTPGET_OK);
    if (response.status != status) {
        fail_msg("%s: %d %s", target, response.status, response.body.p);
    }
    assert_null(strstr(response.body.p, CLI_KEY));
    assert_int_equal(
        tk_json_parse(&json, &f->arena, response.body.p, response.body.n, NULL, NULL),
        TINKC_OK);
    httpget_response_dispose(&response);
    return json;
}

static int64_t number(const tk_json *object, const char *key)
{
    int64_t value = -1;
    const tk_json *found = tk_json_get(object, key);
    assert_non_null(found);
    assert_true(tk_json_to_i64(found, &value));
    return value;
}

static bool is_text(const tk_json *object, const char *key, const char *wanted)
{
    const tk_json *found = tk_json_get(object, key);
    return found != NULL && found->type == TK_JSON_STRING &&
           tk_str_is(found->as.string, wanted);
}

static bool has_words(const tk_json *object, const char *key, const char *words)
{
    const tk_json *found = tk_json_get(object, key);
    assert_non_null(found);
    assert_int_equal(found->type, TK_JSON_STRING);
    return strstr(found->as.string.p, words) != NULL;
}

/* Asks until the service is in that state. */
static const tk_json *get_service(fix *f, const char *state)
{
    int64_t end_ms = tk_clock_mono_ms(NULL) + 60000;
    for (;;) {
        const tk_json *server = get(f, API "server", 200);
        if (is_text(tk_json_get(server, "service"), "state", state)) {
            return server;
        }
        if (tk_clock_mono_ms(NULL) > end_ms) {
            fail_msg("the service never came to %s", state);
        }
    }
}

/* Asks until the list has so many elements. */
static tk_json get_list(fix *f, const char *target, const char *key, size_t n)
{
    int64_t end_ms = tk_clock_mono_ms(NULL) + 60000;
    for (;;) {
        const tk_json *list = tk_json_get(get(f, target, 200), key);
        assert_non_null(list);
        if (tk_json_len(list) == n) {
            return *list;
        }
        if (tk_clock_mono_ms(NULL) > end_ms) {
            fail_msg("%s: never %zu %s", target, n, key);
        }
    }
}

/* The one that came from the service. */
static tk_json of_service(const tk_json *runs)
{
    for (size_t i = 0; i < tk_json_len(runs); i++) {
        const tk_json run = tk_json_at(runs, i);
        if (is_text(&run, "id", CLI_RUN)) {
            return run;
        }
    }
    fail_msg("the run of the service is not there");
    return (tk_json){.type = TK_JSON_NULL};
}

static void show_runs_of_a_service(void **state)
{
    fix f;
    (void)state;
    init(&f);
    begin(&f, PROGRAM_ARGS(CONSOLE));
    tk_json runs = get_list(&f, API "runs", "runs", 2);
    const tk_json first = tk_json_at(&runs, 0), run = of_service(&runs);
    assert_true(is_text(&first, "name", "m")); /* the newest activity */
    assert_int_equal(tk_json_get(&first, "service")->type, TK_JSON_NULL);
    assert_true(is_text(&run, "service", fakeapi_url(f.api)));
    assert_true(is_text(&run, "name", "0001")); /* of its last checkpoint */
    assert_true(is_text(&run, "model", "m/b"));
    assert_true(is_text(&run, "state", "idle"));
    assert_int_equal(number(&run, "rank"), 8);
    assert_int_equal(tk_json_get(&run, "step")->type, TK_JSON_NULL);
    assert_true(is_text(tk_json_get(&run, "metadata"), "note", "h\xc3\xa9"));
    assert_int_equal(number(get(&f, API "runs?search=M%2FB", 200), "total"), 1);
    assert_int_equal(number(get(&f, API "runs?search=nothing", 200), "total"), 0);
    const tk_json *page = get(&f, API "runs?limit=1&offset=1", 200);
    (void)of_service(tk_json_get(page, "runs"));
    assert_int_equal(tk_json_len(tk_json_get(page, "runs")), 1);
    const tk_json *server = get_service(&f, "good");
    const tk_json *service = tk_json_get(server, "service");
    assert_int_equal(number(service, "runs"), 3); /* what it says that it has */
    assert_int_equal(number(service, "runs_listed"), 1);
    assert_true(number(service, "answered_ms") > 0);
    end(&f);
}

static void show_checkpoints_of_a_service(void **state)
{
    fix f;
    (void)state;
    init(&f);
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_step step =
        fakeapi_json("{\"checkpoints\":[" CLI_CHECKPOINT_ONE "," CLI_CHECKPOINT_TWO "]}");
    step.gate = gate;
    fakeapi_default(f.api, "GET", CLI_RUNS "/" CLI_RUN "/checkpoints", &step);
    begin(&f, PROGRAM_ARGS(CONSOLE));
    (void)get_list(&f, API "runs", "runs", 2);
    (void)get_list(&f, RUN, "checkpoints", 1); /* the last one, from the list of runs */
    assert_true(fakeapi_gate_wait(gate, 1));
    fakeapi_gate_open(gate);
    const tk_json all = get_list(&f, RUN, "checkpoints", 2);
    const tk_json newest = tk_json_at(&all, 0), one = tk_json_at(&all, 1);
    assert_true(is_text(&newest, "path", CLI_TWO));
    assert_true(is_text(&newest, "kind", "sampler"));
    assert_int_equal(tk_json_get(&newest, "size_bytes")->type, TK_JSON_NULL);
    assert_true(is_text(&one, "id", "weights/0001"));
    assert_true(is_text(&one, "kind", "training"));
    assert_int_equal(number(&one, "size_bytes"), 1536);
    const tk_json *run = get(&f, RUN, 200);
    assert_false(tk_json_get(run, "actions")->as.boolean);
    const tk_json *answer = get(&f, RUN "/series?metric=loss", 200);
    const tk_json loss = tk_json_at(tk_json_get(answer, "series"), 0);
    assert_int_equal(number(&loss, "total"), 0);
    (void)get(&f, API "runs/other", 404);
    (void)get(&f, API "runs/other/series?metric=loss", 404);
    end(&f);
}

/* The runs are there before the sessions are; a session that has ended is left out. */
static void show_sessions_of_a_service(void **state)
{
    fix f;
    (void)state;
    init(&f);
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_step step = fakeapi_json("{\"sessions\":[\"gone\",\"" CLI_SESSION "\"]}");
    step.gate = gate;
    fakeapi_default(f.api, "GET", CLI_API "sessions", &step);
    begin(&f, PROGRAM_ARGS(CONSOLE));
    (void)get_list(&f, API "runs", "runs", 2);
    assert_true(fakeapi_gate_wait(gate, 1));
    const tk_json *server = get(&f, API "server", 200);
    assert_true(is_text(tk_json_get(server, "service"), "state", "good"));
    assert_int_equal(tk_json_len(tk_json_get(server, "sessions")), 0);
    fakeapi_gate_open(gate);
    const tk_json all = get_list(&f, API "server", "sessions", 1);
    const tk_json one = tk_json_at(&all, 0);
    assert_true(is_text(&one, "id", CLI_SESSION));
    assert_true(is_text(&one, "name", "<script>s"));
    assert_int_equal(number(&one, "models"), 2);
    assert_int_equal(number(&one, "samplers"), 1);
    end(&f);
}

/* Files are shown, and the program ends, while the service says nothing, for as long as it
 * may: an hour, which is more than a test waits for the end. */
static void wait_for_no_service(void **state)
{
    fix f;
    (void)state;
    init(&f);
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_step step = fakeapi_json("{}");
    step.gate = gate;
    fakeapi_default(f.api, "GET", CLI_RUNS, &step);
    begin(&f, PROGRAM_ARGS(CONSOLE, "--timeout", "3600"));
    assert_int_equal(number(get(&f, API "runs", 200), "total"), 1);
    assert_true(fakeapi_gate_wait(gate, 1));
    const tk_json *server = get(&f, API "server", 200);
    assert_true(is_text(tk_json_get(server, "service"), "state", "asked"));
    assert_int_equal(number(get(&f, API "runs/m.jsonl", 200), "step"), 1);
    end(&f);
}

static void say_that_a_service_fails(void **state)
{
    fix f;
    (void)state;
    init(&f);
    fakeapi_default(
        f.api, "GET", CLI_RUNS,
        &(fakeapi_step){.status = 403, .body = "{\"detail\":\"<b>not yours\"}"});
    begin(&f, PROGRAM_ARGS(CONSOLE));
    const tk_json *service = tk_json_get(get_service(&f, "failed"), "service");
    assert_true(has_words(service, "text", "<b>not yours"));
    assert_int_equal(tk_json_get(service, "answered_ms")->type, TK_JSON_NULL);
    assert_int_equal(number(get(&f, API "runs", 200), "total"), 1);
    end(&f);
}

/* A list that only some servers have is not missed. */
static void do_without_a_list_of_sessions(void **state)
{
    fix f;
    (void)state;
    init(&f);
    fakeapi_default(f.api, "GET", CLI_API "sessions",
                    &(fakeapi_step){.status = 404, .body = "{\"detail\":\"Not Found\"}"});
    begin(&f, PROGRAM_ARGS(CONSOLE));
    const tk_json *server = get_service(&f, "good");
    assert_int_equal(tk_json_len(tk_json_get(server, "sessions")), 0);
    assert_true(fakeapi_wait_for(f.api, "GET", CLI_API "sessions", 1));
    /* the next request comes when that one has been answered */
    (void)get_list(&f, RUN, "checkpoints", 2);
    (void)get_service(&f, "good");
    end(&f);
}

/* ---- parts that fail ---- */

/* A page of n runs that begins with this number, of so many. */
static void reply_runs(fix *f, size_t first, size_t n, size_t total, const char *note)
{
    tk_buf body;
    tk_buf_init(&body, 64 * TK_MIB);
    tk_buf_puts(&body, "{\"training_runs\":[");
    for (size_t i = first; i < first + n; i++) {
        tk_buf_printf(&body,
                      "%s{\"training_run_id\":\"r%zu\",\"base_model\":\"m\","
                      "\"model_owner\":\"me\",\"is_lora\":true,\"corrupted\":false,"
                      "\"lora_rank\":8,\"last_request_time\":\"2024-07-15T08:00:00Z\","
                      "\"last_checkpoint\":" CLI_CHECKPOINT_ONE
                      ",\"user_metadata\":{\"note\":\"",
                      i > first ? "," : "", i);
        tk_buf_puts(&body, note);
        tk_buf_puts(&body, "\"}}");
    }
    tk_buf_printf(&body, "],\"cursor\":{\"offset\":0,\"limit\":100,\"total_count\":%zu}}",
                  total);
    const char *text = tk_buf_cstr(&body);
    assert_non_null(text);
    fakeapi_reply(f->api, "GET", CLI_RUNS, &fakeapi_json(text));
    tk_buf_dispose(&body);
}

static void expect_runs(fix *f, int64_t listed)
{
    const tk_json *service = tk_json_get(get_service(f, "good"), "service");
    assert_int_equal(number(service, "runs"), 1200);
    assert_int_equal(number(service, "runs_listed"), listed);
    /* and the file */
    assert_int_equal(number(get(f, API "runs", 200), "total"), listed + 1);
}

/* The runs that were read before a page failed are shown. */
static void show_the_pages_that_came(void **state)
{
    fix f;
    (void)state;
    init(&f);
    reply_runs(&f, 0, 100, 1200, "x");
    reply_runs(&f, 100, 100, 1200, "x");
    fakeapi_default(f.api, "GET", CLI_RUNS, &fakeapi_detail(500, "no"));
    begin(&f, PROGRAM_ARGS(CONSOLE));
    expect_runs(&f, 200);
    end(&f);
}

/* Metadata of any size leave room for as many runs as are shown. */
static void show_runs_without_large_metadata(void **state)
{
    static char note[40000];
    fix f;
    (void)state;
    init(&f);
    memset(note, 'x', sizeof(note) - 1);
    for (size_t i = 0; i < 10; i++) {
        reply_runs(&f, i * 100, 100, 1200, note);
    }
    begin(&f, PROGRAM_ARGS(CONSOLE));
    expect_runs(&f, 1000);
    const tk_json *all = tk_json_get(get(&f, API "runs?search=r999", 200), "runs");
    const tk_json one = tk_json_at(all, 0);
    assert_null(tk_json_get(tk_json_get(&one, "metadata"), "note"));
    end(&f);
}

/* Checkpoints that a service does not give say nothing about its lists. */
static void keep_the_state_when_checkpoints_fail(void **state)
{
    fix f;
    (void)state;
    init(&f);
    reply_runs(&f, 0, 2, 2, "x");
    fakeapi_default(f.api, "GET", CLI_RUNS "/r0/checkpoints", &fakeapi_detail(403, "no"));
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_step step = fakeapi_json("{\"checkpoints\":[]}");
    step.gate = gate;
    fakeapi_default(f.api, "GET", CLI_RUNS "/r1/checkpoints", &step);
    begin(&f, PROGRAM_ARGS(CONSOLE));
    (void)get_list(&f, API "runs", "runs", 3);
    (void)get(&f, API "runs/r0", 200);
    assert_true(fakeapi_wait_for(f.api, "GET", CLI_RUNS "/r0/checkpoints", 1));
    (void)get(&f, API "runs/r1", 200);
    assert_true(fakeapi_gate_wait(gate, 1)); /* after that */
    const tk_json *service = tk_json_get(get(&f, API "server", 200), "service");
    assert_true(is_text(service, "state", "good"));
    assert_int_equal(tk_json_len(tk_json_get(get(&f, API "runs/r0", 200), "checkpoints")),
                     1);
    end(&f);
}

/* ... and do not make a service good that gives no lists. A session that the service does not
 * show is no reason to leave out the others. */
static void show_the_other_sessions(void **state)
{
    fix f;
    (void)state;
    init(&f);
    fakeapi_default(f.api, "GET", CLI_API "sessions",
                    &fakeapi_json("{\"sessions\":[\"a\",\"" CLI_SESSION "\",\"b\"]}"));
    fakeapi_default(f.api, "GET", CLI_API "sessions/a", &fakeapi_detail(403, "no"));
    fakeapi_default(f.api, "GET", CLI_API "sessions/b", &fakeapi_detail(500, "no"));
    begin(&f, PROGRAM_ARGS(CONSOLE));
    const tk_json all = get_list(&f, API "server", "sessions", 1);
    const tk_json one = tk_json_at(&all, 0);
    assert_true(is_text(&one, "id", CLI_SESSION));
    (void)get_service(&f, "good");
    end(&f);
}

/* ---- many of them ---- */

/* The newest thousand, however they come. */
static void show_the_newest_checkpoints(void **state)
{
    enum { ALL = 1003 };
    fix f;
    tk_buf body;
    (void)state;
    init(&f);
    tk_buf_init(&body, TK_MIB);
    tk_buf_puts(&body, "{\"checkpoints\":[");
    for (size_t i = 0; i < ALL; i++) {
        size_t at = i * 7 % ALL; /* each once */
        tk_buf_printf(&body,
                      "%s{\"checkpoint_id\":\"weights/%zu\",\"checkpoint_type\":"
                      "\"training\",\"time\":\"2024-07-13T08:%02zu:%02zuZ\","
                      "\"tinker_path\":\"tinker://" CLI_RUN "/weights/%zu\"}",
                      i > 0 ? "," : "", at, at / 60, at % 60, at);
    }
    tk_buf_puts(&body, "]}");
    const char *text = tk_buf_cstr(&body);
    assert_non_null(text);
    fakeapi_default(f.api, "GET", CLI_RUNS "/" CLI_RUN "/checkpoints",
                    &fakeapi_json(text));
    tk_buf_dispose(&body);
    begin(&f, PROGRAM_ARGS(CONSOLE));
    (void)get_list(&f, API "runs", "runs", 2);
    const tk_json all = get_list(&f, RUN, "checkpoints", 1000);
    const tk_json newest = tk_json_at(&all, 0), oldest = tk_json_at(&all, 999);
    assert_true(is_text(&newest, "id", "weights/1002"));
    assert_true(is_text(&oldest, "id", "weights/3"));
    end(&f);
}

/* More runs than the program keeps the checkpoints of: a look is no request for that. */
static void ask_little_for_many_runs(void **state)
{
    fix f;
    (void)state;
    init(&f);
    reply_runs(&f, 0, 20, 20, "x");
    fakeapi_default(f.api, "GET", CLI_RUNS "/*/checkpoints",
                    &fakeapi_json("{\"checkpoints\":[]}"));
    begin(&f, PROGRAM_ARGS(CONSOLE));
    (void)get_list(&f, API "runs", "runs", 21);
    for (int i = 0; i < 200; i++) {
        char target[64];
        (void)snprintf(target, sizeof(target), API "runs/r%d", i % 20);
        size_t n = tk_json_len(tk_json_get(get(&f, target, 200), "checkpoints"));
        assert_true(n <= 1);
        assert_true(i % 20 < 16 || n == 1); /* the last one, from the list of runs */
    }
    assert_true(fakeapi_wait_for(f.api, "GET", CLI_RUNS "/*/checkpoints", 16));
    assert_true(fakeapi_count(f.api, "GET", CLI_RUNS "/*/checkpoints") < 40);
    end(&f);
}

/* Nothing is sent before somebody looks, and not again for each look. */
static void ask_only_while_somebody_looks(void **state)
{
    fix f;
    (void)state;
    init(&f);
    begin(&f, PROGRAM_ARGS(CONSOLE));
    (void)get(&f, API "session", 200);
    assert_int_equal(fakeapi_total(f.api), 0);
    (void)get_list(&f, API "runs", "runs", 2);
    (void)get_service(&f, "good");
    for (int i = 0; i < 30; i++) {
        (void)get(&f, API "runs", 200);
        (void)get(&f, RUN, 200);
    }
    assert_true(fakeapi_count(f.api, "GET", CLI_API "sessions") < 5);
    assert_true(fakeapi_count(f.api, "GET", CLI_RUNS "/" CLI_RUN "/checkpoints") < 5);
    end(&f);
}

static void show_files_without_a_service(void **state)
{
    fix f;
    (void)state;
    init(&f);
    begin(&f, PROGRAM_ARGS(CONSOLE, "--no-service"));
    assert_int_equal(number(get(&f, API "runs", 200), "total"), 1);
    const tk_json *service = tk_json_get(get(&f, API "server", 200), "service");
    assert_true(is_text(service, "state", "off"));
    assert_true(has_words(service, "text", "--no-service"));
    assert_int_equal(fakeapi_total(f.api), 0);
    end(&f);
    init(&f);
    program_env(&f.p, "TINKER_API_KEY=");
    program_env(&f.p, "TINKER_BASE_URL=");
    begin(&f, PROGRAM_ARGS("console", "m.jsonl", "--port", "0"));
    assert_int_equal(number(get(&f, API "runs", 200), "total"), 1);
    service = tk_json_get(get(&f, API "server", 200), "service");
    assert_true(is_text(service, "state", "off"));
    assert_true(has_words(service, "text", "no API key"));
    end(&f);
}

/* Whatever is wrong with the configuration, as long as the command line has no part in it. */
static void show_files_with_a_wrong_configuration(void **state)
{
    static const struct {
        const char *env[2], *words;
    } cases[] = {
        {{"TINKC_PROFILE=gone", "TINKER_BASE_URL="}, "there is no profile"},
        {{"TINKER_BASE_URL=local", "XDG_DATA_HOME=/dev/null/none"},
         "the local server did not start"},
        {{"XDG_CONFIG_HOME=settings", "TINKER_BASE_URL="}, "not a file of profiles"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        fix f;
        (void)state;
        init(&f);
        assert_int_equal(tk_file_mkdirs(program_path(&f.p, "settings/tinkc"), 0700, NULL),
                         TINKC_OK);
        program_write_file(&f.p, "settings/tinkc/profiles.json", "{");
        program_env(&f.p, cases[i].env[0]);
        program_env(&f.p, cases[i].env[1]);
        begin(&f, PROGRAM_ARGS("console", "m.jsonl", "--port", "0"));
        assert_int_equal(number(get(&f, API "runs", 200), "total"), 1);
        const tk_json *service = tk_json_get(get(&f, API "server", 200), "service");
        assert_true(is_text(service, "state", "off"));
        assert_true(has_words(service, "text", cases[i].words));
        assert_true(program_wait_text(&f.p, true, "Warning: no service is asked: "));
        end(&f);
    }
}

/* A private server that takes long to start does not keep the program from ending. The test
 * holds the lock of the one that starts it. */
static void end_while_a_private_server_starts(void **state)
{
    program p;
    struct flock mine = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 1};
    int64_t end_ms = tk_clock_mono_ms(NULL) + 60000;
    (void)state;
    program_open(&p, TINKC_PROGRAM);
    assert_int_equal(tk_file_mkdirs(program_path(&p, "data/tinkc"), 0700, NULL),
                     TINKC_OK);
    int fd =
        open(program_path(&p, "data/tinkc/users"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &mine), 0);
    program_env(&p, "XDG_DATA_HOME=data");
    program_start(&p, PROGRAM_ARGS("console", "--port", "0", "--local"));
    for (bool is_waiting = false; !is_waiting;) { /* it has become a user */
        struct flock other = {
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
        assert_int_equal(fcntl(fd, F_OFD_GETLK, &other), 0);
        is_waiting = other.l_type == F_RDLCK;
        assert_true(tk_clock_mono_ms(NULL) < end_ms);
    }
    assert_int_equal(kill(p.pid, SIGTERM), 0);
    program_end(&p);
    assert_int_equal(p.code, 128 + SIGTERM);
    assert_int_equal(p.err.n, 0); /* it did not wait until the start had failed */
    assert_int_equal(close(fd), 0);
    program_close(&p);
}

/* --stats counts what was asked. */
static void count_what_is_asked(void **state)
{
    fix f;
    (void)state;
    init(&f);
    begin(&f, PROGRAM_ARGS(CONSOLE, "--stats"));
    (void)get_list(&f, API "runs", "runs", 2);
    (void)get_service(&f, "good");
    finish(&f);
    assert_true(program_said(&f.p.err, "requests"));
    program_close(&f.p);
    fakeapi_stop(&f.api);
    tk_arena_dispose(&f.arena);
}

/* What the command line names must be right. */
static void refuse_a_service_that_cannot_be(void **state)
{
    program p;
    (void)state;
    program_open(&p, TINKC_PROGRAM);
    program_run(&p, PROGRAM_ARGS("console", "--port", "0", "--base-url", "ftp://x"));
    assert_int_equal(p.code, 1);
    assert_true(program_said(&p.err, "base URL must start with"));
    program_run(&p, PROGRAM_ARGS("console", "--port", "0", "--set", "max_retries=x"));
    assert_int_equal(p.code, 1);
    assert_true(program_said(&p.err, "max_retries"));
    program_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(show_runs_of_a_service),
        cmocka_unit_test(show_checkpoints_of_a_service),
        cmocka_unit_test(show_sessions_of_a_service),
        cmocka_unit_test(wait_for_no_service),
        cmocka_unit_test(say_that_a_service_fails),
        cmocka_unit_test(do_without_a_list_of_sessions),
        cmocka_unit_test(show_the_pages_that_came),
        cmocka_unit_test(show_runs_without_large_metadata),
        cmocka_unit_test(keep_the_state_when_checkpoints_fail),
        cmocka_unit_test(show_the_other_sessions),
        cmocka_unit_test(show_the_newest_checkpoints),
        cmocka_unit_test(ask_little_for_many_runs),
        cmocka_unit_test(ask_only_while_somebody_looks),
        cmocka_unit_test(show_files_without_a_service),
        cmocka_unit_test(show_files_with_a_wrong_configuration),
        cmocka_unit_test(end_while_a_private_server_starts),
        cmocka_unit_test(count_what_is_asked),
        cmocka_unit_test(refuse_a_service_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
