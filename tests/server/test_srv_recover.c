/* The data directory after damage: a foreign one is refused untouched; with the database
 * deleted, emptied, cut off anywhere or restored from an old copy, every checkpoint that
 * was answered is there and computes the same bits. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "server/restfix.h"

#define CUTS     50
#define SAVES    3
#define LOGPROBS 7

typedef struct saved {
    char path[160];
    double bits[LOGPROBS];
} saved;

typedef struct fix {
    restfix t;
    saved saves[SAVES];
    size_t n;
    int seq;
} fix;

static void run_shell(const char *format, ...) TK_PRINTF(1, 2);

static void run_shell(const char *format, ...)
{
    char command[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    if (system(command) != 0) {
        fail_msg("%s", command);
    }
}

/* ---- work ---- */

#define DATA                                                                             \
    "{\"data\":[{\"model_input\":{\"chunks\":[{\"type\":\"encoded_text\","               \
    "\"tokens\":[5,17,9,40,12,33,8]}]},\"loss_fn_inputs\":{\"target_tokens\":{"          \
    "\"data\":[17,9,40,12,33,8,21],\"dtype\":\"int64\",\"shape\":[7]},\"weights\":{"     \
    "\"data\":[1,1,1,1,1,1,1],\"dtype\":\"float32\",\"shape\":[7]}}}],"                  \
    "\"loss_fn\":\"cross_entropy\"}"

static const tk_json *work(fix *f, const char *route, const char *more)
{
    char body[1024], path[64];
    (void)snprintf(path, sizeof(path), "/api/v1/%s", route);
    (void)snprintf(body, sizeof(body), "{\"model_id\":\"%s\",\"seq_id\":%d,%s}", f->t.run,
                   ++f->seq, more);
    return restfix_result(&f->t.srv, srvfix_post(&f->t.srv, path, body));
}

static void forward(fix *f, double out[LOGPROBS])
{
    const tk_json *json = work(f, "forward", "\"forward_input\":" DATA);
    tk_json first = tk_json_at(tk_json_get(json, "loss_fn_outputs"), 0);
    const tk_json *numbers = tk_json_get(tk_json_get(&first, "logprobs"), "data");
    assert_int_equal(tk_json_len(numbers), LOGPROBS);
    for (size_t i = 0; i < LOGPROBS; i++) {
        const tk_json at = tk_json_at(numbers, i);
        assert_true(tk_json_to_double(&at, &out[i]));
    }
}

/* Trains a step and saves; the checkpoint is remembered with what it computes. */
static void train_and_save(fix *f, const char *name)
{
    char more[128];
    saved *s = &f->saves[f->n++];
    (void)work(f, "forward_backward", "\"forward_backward_input\":" DATA);
    (void)work(f, "optim_step",
               "\"adam_params\":{\"learning_rate\":0.01,\"beta1\":0.9,\"beta2\":0.95,"
               "\"eps\":1e-12}");
    forward(f, s->bits);
    (void)snprintf(more, sizeof(more), "\"path\":\"%s\"", name);
    (void)work(f, "save_weights", more);
    (void)snprintf(s->path, sizeof(s->path), "tinker://%s/weights/%s", f->t.run, name);
}

static void open_fix(fix *f)
{
    memset(f, 0, sizeof(*f));
    restfix_open(&f->t);
    train_and_save(f, "one");
    run_shell("cp -r %s %s.old", f->t.srv.data, f->t.srv.data); /* as a backup does */
    train_and_save(f, "two");
    train_and_save(f, "three");
    srv_stop(&f->t.srv.server);
    run_shell("cp -r %s %s.whole", f->t.srv.data, f->t.srv.data);
}

static void close_fix(fix *f)
{
    run_shell("rm -rf %s.old %s.whole", f->t.srv.data, f->t.srv.data);
    srvfix_close(&f->t.srv);
}

/* Loads every checkpoint into a new model and computes with it. */
static void check_saves(fix *f)
{
    char more[256];
    double bits[LOGPROBS];
    srvfix_start(&f->t.srv, (srv_options){0});
    (void)snprintf(f->t.session, sizeof(f->t.session), "%s", srvfix_session(&f->t.srv));
    restfix_run(&f->t, 0);
    f->seq = 0;
    const tk_json *json = srvfix_ask(&f->t.srv, "GET", "/api/v1/checkpoints", NULL);
    assert_int_equal(tk_json_len(tk_json_get(json, "checkpoints")), f->n);
    for (size_t i = 0; i < f->n; i++) {
        (void)snprintf(more, sizeof(more), "\"path\":\"%s\",\"optimizer\":true",
                       f->saves[i].path);
        (void)work(f, "load_weights", more);
        forward(f, bits);
        assert_memory_equal(bits, f->saves[i].bits, sizeof(bits));
    }
    srv_stop(&f->t.srv.server);
    tk_arena_dispose(&f->t.srv.arena);
}

/* ---- damage ---- */

static void test_srv_recovers_a_deleted_database(void **state)
{
    fix f;
    open_fix(&f);
    run_shell("rm %s/tinkc.db*", f.t.srv.data);
    check_saves(&f);
    check_saves(&f); /* the next start finds the same */
    close_fix(&f);
}

static void test_srv_recovers_an_empty_database(void **state)
{
    fix f;
    open_fix(&f);
    run_shell("rm -f %s/tinkc.db-*; : > %s/tinkc.db", f.t.srv.data, f.t.srv.data);
    check_saves(&f);
    close_fix(&f);
}

static void test_srv_recovers_an_old_database(void **state)
{
    fix f;
    open_fix(&f);
    run_shell("rm %s/tinkc.db* && cp %s.old/tinkc.db* %s", f.t.srv.data, f.t.srv.data,
              f.t.srv.data);
    check_saves(&f);
    close_fix(&f);
}

/* The first cuts are inside the header, the others all over the file. */
static void test_srv_recovers_a_cut_database(void **state)
{
    fix f;
    struct stat st;
    char path[128];
    open_fix(&f);
    (void)snprintf(path, sizeof(path), "%s.whole/tinkc.db", f.t.srv.data);
    assert_int_equal(stat(path, &st), 0);
    for (int i = 0; i < CUTS; i++) {
        long at = i < 10 ? 1 + i * 12 : (long)st.st_size * (i - 9) / (CUTS - 9) - 1;
        run_shell("rm -rf %s && cp -r %s.whole %s && truncate -s %ld %s/tinkc.db",
                  f.t.srv.data, f.t.srv.data, f.t.srv.data, at, f.t.srv.data);
        check_saves(&f);
        run_shell("test -s %s/aside/*/tinkc.db", f.t.srv.data); /* it is kept */
    }
    close_fix(&f);
}

/* ---- other people's directories ---- */

static tinkc_code start(const char *data, tk_err *err)
{
    srv *server = NULL;
    const srv_options options = {.data = data, .threads = 1};
    tinkc_code code = srv_start(&server, &options, err);
    srv_stop(&server);
    return code;
}

/* A project with its own checkpoints: nothing is written, moved or removed. */
static void test_srv_refuses_a_foreign_directory(void **state)
{
    char data[64];
    tk_err err = TK_ERR_INIT;
    srvfix_make_dir(data);
    run_shell("cd %s && mkdir -p checkpoints/run/epoch/3 && "
              "echo weights > checkpoints/run/epoch/3/model.bin && echo > train.py && "
              "find . | sort > ../list.$$ && mv ../list.$$ %s.list",
              data, data);
    assert_int_equal(start(data, &err), TINKC_E_CONFIG);
    assert_non_null(strstr(err.message, "is not a data directory"));
    run_shell("cd %s && find . | sort | cmp - %s.list && "
              "grep -q weights checkpoints/run/epoch/3/model.bin",
              data, data);
    run_shell("rm -rf %s %s.list", data, data);
}

/* In a directory of the server, what has no label and no row is moved aside. */
static void test_srv_moves_strangers_aside(void **state)
{
    fix f;
    open_fix(&f);
    run_shell("mkdir -p %s/checkpoints/run/epoch/3 && "
              "echo weights > %s/checkpoints/run/epoch/3/model.bin",
              f.t.srv.data, f.t.srv.data);
    check_saves(&f);
    run_shell("grep -q weights %s/aside/*/checkpoints/run/epoch/3/model.bin",
              f.t.srv.data);
    close_fix(&f);
}

/* ---- what clients see ---- */

/* Sends a request that fails and checks that nothing of its answer says where the data
 * directory is. */
static void expect_hidden(fix *f, const char *route, const char *body)
{
    char path[64];
    httpget_response r;
    const tk_json *json = NULL;
    tk_err err = TK_ERR_INIT;
    (void)snprintf(path, sizeof(path), "/api/v1/%s", route);
    httpget_request request = {.method = "POST", .target = path, .body = body};
    char poll[256];
    do {
        assert_int_equal(httpget_once(srvfix_port(&f->t.srv), &request, &r), HTTPGET_OK);
        if (strstr(r.body.p, f->t.srv.data) != NULL) {
            fail_msg("%s: %s", route, r.body.p);
        }
        assert_int_equal(
            tk_json_parse(&json, &f->t.srv.arena, r.body.p, r.body.n, NULL, &err),
            TINKC_OK);
        bool future = tk_json_get(json, "request_id") != NULL;
        if (future) {
            (void)snprintf(poll, sizeof(poll), "{\"request_id\":\"%s\"}",
                           srvfix_text(json, "request_id"));
            request.target = "/api/v1/retrieve_future";
            request.body = poll;
        }
        int status = future ? 408 : r.status;
        httpget_response_dispose(&r);
        if (status != 408) {
            break;
        }
    } while (true);
    assert_true(tk_json_get(json, "error") != NULL ||
                tk_json_get(json, "detail") != NULL);
}

/* Files that are missing, damaged or in the way: names only. */
static void test_srv_errors_name_no_places(void **state)
{
    fix f;
    char body[512];
    open_fix(&f);
    srvfix_start(&f.t.srv, (srv_options){0});
    (void)snprintf(f.t.session, sizeof(f.t.session), "%s", srvfix_session(&f.t.srv));
    restfix_run(&f.t, 0);
    run_shell("cd %s/checkpoints/*/weights && rm one.*/adapter_model.safetensors && "
              "echo x > \"$(ls -d two.*)/adapter_config.json\" && "
              "truncate -s 100 three.*/adapter_model.safetensors",
              f.t.srv.data);
    for (size_t i = 0; i < f.n; i++) {
        (void)snprintf(body, sizeof(body),
                       "{\"model_id\":\"%s\",\"seq_id\":%zu,\"path\":\"%s\","
                       "\"optimizer\":true}",
                       f.t.run, i + 1, f.saves[i].path);
        expect_hidden(&f, "load_weights", body);
    }
    run_shell("cd %s/checkpoints && mv .work .old && echo > .work", f.t.srv.data);
    (void)snprintf(body, sizeof(body),
                   "{\"model_id\":\"%s\",\"seq_id\":%zu,\"path\":\"x\"}", f.t.run,
                   f.n + 1);
    expect_hidden(&f, "save_weights", body);
    (void)snprintf(body, sizeof(body), "{\"source_path\":\"%s\"}", f.saves[0].path);
    expect_hidden(&f, "copy_weights", body);
    close_fix(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_recovers_a_deleted_database),
        cmocka_unit_test(test_srv_recovers_an_empty_database),
        cmocka_unit_test(test_srv_recovers_an_old_database),
        cmocka_unit_test(test_srv_recovers_a_cut_database),
        cmocka_unit_test(test_srv_refuses_a_foreign_directory),
        cmocka_unit_test(test_srv_moves_strangers_aside),
        cmocka_unit_test(test_srv_errors_name_no_places),
    };
    return cmocka_run_group_tests_name("srv_recover", tests, NULL, NULL);
}
