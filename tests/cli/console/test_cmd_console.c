/* `tinkc console` over files that grow: its runs, its curves, its rollouts, what it refuses.
 * Links: server gateway */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "support/httpget.h"
#include "support/program.h"
#include "support/test.h"

#define API "/tinkc/v1/console/"

typedef struct fix {
    program p;
    int port;
    tk_arena arena;
} fix;

static void path_of(char out[512], const fix *f, const char *name)
{
    (void)snprintf(out, 512, "%s/%s", f->p.dir, name);
}

static void append(const fix *f, const char *name, const char *text)
{
    char path[512];
    path_of(path, f, name);
    FILE *file = fopen(path, "ae");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void init(fix *f)
{
    memset(f, 0, sizeof(*f));
    tk_arena_init(&f->arena, 0);
    program_open(&f->p, TINKC_PROGRAM);
}

static void begin(fix *f, const char *const *words)
{
    program_start(&f->p, words);
    assert_true(program_wait_text(&f->p, false, "listening on "));
    assert_true(program_wait_text(&f->p, false, "\n"));
    const char *at = strstr(f->p.out.p, "http://127.0.0.1:");
    assert_non_null(at);
    f->port = (int)strtol(strrchr(at, ':') + 1, NULL, 10);
}

static void end(fix *f)
{
    assert_int_equal(kill(f->p.pid, SIGTERM), 0);
    program_end(&f->p);
    assert_int_equal(f->p.code, 0);
    program_close(&f->p);
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
    assert_int_equal(
        tk_json_parse(&json, &f->arena, response.body.p, response.body.n, NULL, NULL),
        TINKC_OK);
    httpget_response_dispose(&response);
    return json;
}

static double number(const tk_json *object, const char *key)
{
    double value = -1;
    const tk_json *found = tk_json_get(object, key);
    assert_non_null(found);
    assert_true(tk_json_to_double(found, &value));
    return value;
}

static tk_str text(const tk_json *object, const char *key)
{
    const tk_json *found = tk_json_get(object, key);
    assert_non_null(found);
    assert_int_equal(found->type, TK_JSON_STRING);
    return found->as.string;
}

static tk_json first(const tk_json *object, const char *key)
{
    const tk_json *list = tk_json_get(object, key);
    assert_non_null(list);
    assert_true(tk_json_len(list) > 0);
    return tk_json_at(list, 0);
}

/* Asks for the run until its step is that, which the next look at the files makes it. */
static const tk_json *get_at_step(fix *f, const char *target, int step)
{
    int64_t end_ms = tk_clock_mono_ms(NULL) + 30000;
    const tk_json *run = get(f, target, 200);
    while ((int)number(run, "step") != step) {
        if (tk_clock_mono_ms(NULL) > end_ms) {
            fail_msg("%s never came to step %d", target, step);
        }
        run = get(f, target, 200);
    }
    return run;
}

static void show_a_file_that_grows(void **state)
{
    fix f;
    char target[640];
    init(&f);
    append(&f, "demo.jsonl",
           "{\"step\":1,\"loss\":3.5,\"tokens\":10,\"seconds\":2}\n"
           "no JSON\n{\"step\":2,\"loss\":2.5,\"tokens\":20,\"seconds\":2}\n"
           "{\"step\":2,\"eval_loss\":2.75}\n{\"step\":3,\"lo");
    begin(&f, PROGRAM_ARGS("console", "demo.jsonl", "--port", "0"));
    const tk_json *runs = get(&f, API "runs", 200);
    const tk_json run = first(runs, "runs");
    assert_int_equal(number(runs, "total"), 1);
    assert_true(tk_str_is(text(&run, "name"), "demo"));
    assert_true(tk_str_is(text(&run, "state"), "training"));
    assert_int_equal(number(&run, "step"), 2);
    assert_int_equal(number(&run, "tokens"), 30);
    assert_float_equal(number(&run, "loss"), 2.5, 0);
    append(&f, "demo.jsonl", "ss\":1.5,\"tokens\":5,\"seconds\":1}\n");
    runs = get_at_step(&f, API "runs/demo.jsonl", 3);
    assert_float_equal(number(runs, "loss"), 1.5, 0);
    (void)snprintf(target, sizeof(target),
                   API "runs/demo.jsonl/series?metric=loss,eval_loss&by=%s", "tokens");
    const tk_json *answer = get(&f, target, 200);
    const tk_json loss = first(answer, "series");
    assert_int_equal(tk_json_len(tk_json_get(&loss, "mean")), 3);
    const tk_json last = tk_json_at(tk_json_get(&loss, "tokens"), 2);
    int64_t tokens = 0;
    assert_true(tk_json_to_i64(&last, &tokens));
    assert_int_equal(tokens, 35);
    const tk_json *two = get(&f, API "runs/demo.jsonl/series?metric=loss&points=2", 200);
    const tk_json fewer = first(two, "series");
    assert_int_equal(tk_json_len(tk_json_get(&fewer, "mean")), 2);
    (void)get(&f, API "runs/none", 404);
    end(&f);
}

/* A resumed run replaces its file by one that is shorter. */
static void begin_again_with_the_file(void **state)
{
    fix f;
    char from[512], to[512];
    init(&f);
    append(&f, "m.jsonl", "{\"step\":1,\"loss\":3}\n{\"step\":2,\"loss\":2}\n");
    begin(&f, PROGRAM_ARGS("console", "m.jsonl", "--port", "0"));
    append(&f, "new", "{\"step\":1,\"loss\":4}\n");
    path_of(from, &f, "new");
    path_of(to, &f, "m.jsonl");
    assert_int_equal(rename(from, to), 0);
    const tk_json *run = get_at_step(&f, API "runs/m.jsonl", 1);
    assert_float_equal(number(run, "loss"), 4, 0);
    const tk_json metric = first(run, "metrics");
    assert_int_equal(number(&metric, "n"), 1);
    end(&f);
}

static void show_rollouts_of_a_directory(void **state)
{
    fix f;
    char path[512];
    init(&f);
    path_of(path, &f, "add.rl");
    assert_int_equal(mkdir(path, 0700), 0);
    append(&f, "add.rl/metrics.jsonl", "{\"step\":1,\"reward/mean\":0.25}\n");
    append(
        &f, "add.rl/rollouts.jsonl",
        "{\"step\":1,\"episode\":\"e-0\",\"end\":\"ok\",\"reward\":0.5,\"task\":{\"q\":\"1+1\"},"
        "\"texts\":[\"<s>1+1\"],\"turns\":[{\"turn\":0,\"parent\":-1,\"message\":{\"role\":"
        "\"assistant\",\"content\":\"<script>2\"}}]}\n");
    begin(&f, PROGRAM_ARGS("console", ".", "--port", "0"));
    const tk_json *runs = get(&f, API "runs", 200);
    const tk_json run = first(runs, "runs");
    assert_true(tk_str_is(text(&run, "name"), "add"));
    assert_float_equal(number(&run, "loss"), 0.25, 0);
    char target[256];
    (void)snprintf(target, sizeof(target), API "runs/%.*s", (int)text(&run, "id").n,
                   text(&run, "id").p);
    assert_int_equal(number(get(&f, target, 200), "step"), 1);
    const tk_json *episodes = get(&f, API "episodes", 200);
    const tk_json one = first(episodes, "episodes");
    assert_int_equal(number(&one, "turns"), 1);
    assert_float_equal(number(&one, "reward"), 0.5, 0);
    assert_true(tk_str_is(text(&one, "id"), "add 0.0"));
    const tk_json *episode = get(&f, "/tinkc/v1/episodes/add%200.0", 200);
    const tk_json turn = first(episode, "turns");
    assert_true(tk_str_is(text(tk_json_get(&turn, "message"), "content"), "<script>2"));
    assert_true(tk_str_is(text(tk_json_get(episode, "metadata"), "end"), "ok"));
    (void)get(&f, "/tinkc/v1/episodes/add%200.1", 404);
    (void)get(&f, "/tinkc/v1/episodes/x", 404);
    const tk_json *server = get(&f, API "server", 200);
    assert_true(tk_str_is(text(server, "kind"), "console"));
    end(&f);
}

/* The newest first, in whatever order the directories are found. */
static void show_the_newest_rollouts_first(void **state)
{
    static const struct {
        const char *name;
        time_t grew;
    } runs[] = {{"a", 1000}, {"b", 3000}, {"c", 2000}, {"d", 5000}, {"e", 4000}};
    static const char order[] = "debca";
    fix f;
    (void)state;
    init(&f);
    for (size_t i = 0; i < TK_ARRAY_LEN(runs); i++) {
        char path[512], name[64];
        const struct timespec times[2] = {{.tv_sec = runs[i].grew},
                                          {.tv_sec = runs[i].grew}};
        (void)snprintf(name, sizeof(name), "%s.rl", runs[i].name);
        path_of(path, &f, name);
        assert_int_equal(mkdir(path, 0700), 0);
        (void)snprintf(name, sizeof(name), "%s.rl/metrics.jsonl", runs[i].name);
        append(&f, name, "{\"step\":1,\"reward/mean\":0.25}\n");
        (void)snprintf(name, sizeof(name), "%s.rl/rollouts.jsonl", runs[i].name);
        append(&f, name,
               "{\"step\":1,\"episode\":\"e-0\",\"reward\":0.5,\"turns\":[]}\n");
        path_of(path, &f, name);
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    }
    begin(&f, PROGRAM_ARGS("console", ".", "--port", "0"));
    const tk_json *list = tk_json_get(get(&f, API "episodes", 200), "episodes");
    assert_int_equal(tk_json_len(list), TK_ARRAY_LEN(runs));
    for (size_t i = 0; i < TK_ARRAY_LEN(runs); i++) {
        const tk_json one = tk_json_at(list, i);
        assert_int_equal(text(&one, "id").p[0], order[i]);
    }
    end(&f);
}

/* Others on this machine see nothing without the key; no other origin sees anything. */
static void refuse_strangers(void **state)
{
    fix f;
    httpget_response response;
    init(&f);
    append(&f, "m.jsonl", "{\"step\":1,\"loss\":3}\n");
    append(&f, "key", "secret\n");
    begin(&f, PROGRAM_ARGS("console", "m.jsonl", "--port", "0", "--api-key-file", "key"));
    (void)get(&f, API "runs", 401);
    const tk_json *session = get(&f, API "session", 200);
    assert_true(tk_str_is(text(session, "login"), "needed"));
    const httpget_request page = {.target = "/", .headers = "Accept: text/html\r\n"};
    assert_int_equal(httpget_once(f.port, &page, &response), HTTPGET_OK);
    assert_int_equal(response.status, 200);
    assert_non_null(strstr(response.body.p, "<!doctype html>"));
    httpget_response_dispose(&response);
    end(&f);
    init(&f);
    append(&f, "m.jsonl", "{\"step\":1,\"loss\":3}\n");
    begin(&f, PROGRAM_ARGS("console", "m.jsonl", "--port", "0"));
    const httpget_request other = {.target = API "runs",
                                   .headers = "Origin: http://evil.example\r\n"};
    assert_int_equal(httpget_once(f.port, &other, &response), HTTPGET_OK);
    assert_int_equal(response.status, 403);
    httpget_response_dispose(&response);
    end(&f);
}

static void say_what_is_wrong(void **state)
{
    program p;
    program_open(&p, TINKC_PROGRAM);
    program_start(&p, PROGRAM_ARGS("console", "nowhere", "--port", "0"));
    program_end(&p);
    assert_int_equal(p.code, 1);
    assert_non_null(strstr(p.err.p, "nowhere is not there"));
    program_start(&p, PROGRAM_ARGS("console", "--port", "70000"));
    program_end(&p);
    assert_int_equal(p.code, 2);
    program_write_file(&p, "empty", "\n");
    program_write_file(&p, "m.jsonl", "");
    program_run(
        &p, PROGRAM_ARGS("console", "m.jsonl", "--port", "0", "--api-key-file", "empty"));
    assert_int_equal(p.code, 1);
    assert_non_null(strstr(p.err.p, "empty holds no key"));
    program_close(&p);
}

/* The browser is a script that writes down what it was given. */
static void open_the_page(void **state)
{
    fix f;
    char path[512], bin[640];
    init(&f);
    append(&f, "m.jsonl", "{\"step\":1,\"loss\":3}\n");
    append(&f, "key", "secret\n");
    path_of(path, &f, "said");
    assert_int_equal(mkfifo(path, 0600), 0);
    append(&f, "xdg-open", "#!/bin/sh\necho \"$1\" >said\n");
    char tool[512];
    path_of(tool, &f, "xdg-open");
    assert_int_equal(chmod(tool, 0700), 0);
    (void)snprintf(bin, sizeof(bin), "PATH=%s:/usr/bin:/bin", f.p.dir);
    program_env(&f.p, bin);
    begin(&f, PROGRAM_ARGS("console", "m.jsonl", "--port", "0", "--open",
                           "--api-key-file", "key"));
    char line[256] = "";
    FILE *said = fopen(path, "re");
    assert_non_null(said);
    assert_non_null(fgets(line, sizeof(line), said));
    assert_int_equal(fclose(said), 0);
    assert_non_null(strstr(line, "/#login="));
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(show_a_file_that_grows),
        cmocka_unit_test(begin_again_with_the_file),
        cmocka_unit_test(show_rollouts_of_a_directory),
        cmocka_unit_test(show_the_newest_rollouts_first),
        cmocka_unit_test(refuse_strangers),
        cmocka_unit_test(say_what_is_wrong),
        cmocka_unit_test(open_the_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
