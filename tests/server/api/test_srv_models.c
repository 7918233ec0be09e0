/* Base models that are loaded while the server runs: who may do it, what it answers, and
 * that nothing else waits for it.
 * Links: wire */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "server/run/srv_load.h"
#include "server/run/srv_state.h"
#include "server/srvfix.h"
#include "support/failmem.h"

#define KEY   "tml-key-of-the-test"
#define PATH  "/tinkc/v1/models"
#define FILES 5

typedef struct fix {
    srvfix srv;
    char dir[64]; /* of models */
    char answer[2048];
} fix;

static const char *const files[FILES] = {"config.json", "generation_config.json",
                                         "model.safetensors", "tokenizer.json",
                                         "tokenizer_config.json"};

/* Makes the model directory dir/name; the file `without` is left out. */
static void make_model(const fix *f, const char *name, const char *without)
{
    char from[512], to[512];
    (void)snprintf(to, sizeof(to), "%s/%s", f->dir, name);
    assert_int_equal(mkdir(to, 0755), 0);
    for (size_t i = 0; i < FILES; i++) {
        if (without != NULL && strcmp(files[i], without) == 0) {
            continue;
        }
        (void)snprintf(from, sizeof(from), "%s/../../models/pebble-llama-2m/%s",
                       TEST_DATA_DIR, files[i]);
        (void)snprintf(to, sizeof(to), "%s/%s/%s", f->dir, name, files[i]);
        assert_int_equal(symlink(from, to), 0);
    }
}

static void open_fix(fix *f, srv_options options)
{
    memset(f, 0, sizeof(*f));
    srvfix_make_dir(f->dir);
    srvfix_open(&f->srv, options);
}

static void close_fix(fix *f)
{
    char command[96];
    srvfix_close(&f->srv);
    (void)snprintf(command, sizeof(command), "rm -rf %s", f->dir);
    assert_int_equal(system(command), 0);
}

static int ask(fix *f, const char *method, const char *target, const char *body,
               const char *headers)
{
    httpget_response response;
    const httpget_request request = {
        .method = method, .target = target, .body = body, .headers = headers};
    assert_int_equal(httpget_once(srvfix_port(&f->srv), &request, &response), HTTPGET_OK);
    int status = response.status;
    (void)snprintf(f->answer, sizeof(f->answer), "%s",
                   response.body.p != NULL ? response.body.p : "");
    httpget_response_dispose(&response);
    return status;
}

#define WITH_KEY "X-API-Key: " KEY "\r\n"

/* Loads dir/name; `more` are further members of the body. */
static int load(fix *f, const char *name, const char *more)
{
    char body[512];
    (void)snprintf(body, sizeof(body), "{\"directory\":\"%s/%s\"%s}", f->dir, name, more);
    return ask(f, "POST", PATH, body, WITH_KEY);
}

static bool said(const fix *f, const char *text)
{
    return strstr(f->answer, text) != NULL;
}

static void test_models_load(void **state)
{
    fix f;
    open_fix(&f, (srv_options){.api_key = KEY});
    make_model(&f, "small", NULL);
    make_model(&f, "other", NULL);
    assert_int_equal(load(&f, "small", ""), 200);
    assert_true(said(&f, "\"model_name\":\"small\""));
    assert_true(said(&f, "\"precision\":\"BF16\"") || said(&f, "\"precision\":\"F32\""));
    assert_true(said(&f, f.dir)); /* the source */
    size_t used = atomic_load(&f.srv.server->memory.used);
    /* again, also through a link and with a slash: it is there */
    assert_int_equal(load(&f, "small/", ",\"name\":\"small\""), 200);
    assert_int_equal(load(&f, "other/../small", ""), 200);
    assert_int_equal(f.srv.server->catalog->n_bases, 2);
    assert_in_range(atomic_load(&f.srv.server->memory.used), used - TK_MIB,
                    used + TK_MIB);
    /* a second name for the same files, and a name of another model */
    assert_int_equal(load(&f, "small", ",\"name\":\"own/name\""), 200);
    assert_int_equal(f.srv.server->catalog->n_bases, 2);
    assert_int_equal(load(&f, "other", ",\"name\":\"small\""), 409);
    assert_int_equal(load(&f, "other", ",\"name\":\"tinkc/pebble-llama-2m\""), 409);
    assert_int_equal(ask(&f, "GET", PATH, NULL, WITH_KEY), 200);
    assert_true(said(&f, "\"source\":\"embedded\""));
    assert_true(said(&f, "\"model_name\":\"own/name\""));
    assert_true(said(&f, "\"parameters\":"));
    assert_int_equal(ask(&f, "GET", "/api/v1/get_server_capabilities", NULL, WITH_KEY),
                     200);
    assert_true(said(&f, "\"small\""));
    /* requests find it */
    assert_int_equal(ask(&f, "POST", "/api/v1/asample",
                         "{\"base_model\":\"small\",\"prompt\":{\"chunks\":[{\"tokens\":"
                         "[5,7],\"type\":\"encoded_text\"}]},\"sampling_params\":"
                         "{\"max_tokens\":1,\"stop\":[]}}",
                         WITH_KEY),
                     200);
    close_fix(&f);
}

/* A model that is loaded later is held as those of the start are. */
static void test_models_load_int8(void **state)
{
    fix f;
    open_fix(&f, (srv_options){.api_key = KEY, .weights = "int8"});
    make_model(&f, "small", NULL);
    assert_int_equal(load(&f, "small", ""), 200);
    assert_true(said(&f, "\"precision\":\"INT8\""));
    assert_int_equal(ask(&f, "GET", PATH, NULL, WITH_KEY), 200);
    assert_true(said(&f, "\"precision\":\"INT8\""));
    assert_false(said(&f, "\"precision\":\"BF16\""));
    close_fix(&f);
}

/* Only programs of this machine that know the key. */
static void test_models_load_is_guarded(void **state)
{
    fix f;
    char body[128];
    open_fix(&f, (srv_options){.api_key = KEY});
    make_model(&f, "small", NULL);
    (void)snprintf(body, sizeof(body), "{\"directory\":\"%s/small\"}", f.dir);
    assert_int_equal(ask(&f, "POST", PATH, body, NULL), 401);
    assert_int_equal(ask(&f, "POST", PATH, body, "X-API-Key: tml-wrong\r\n"), 401);
    assert_int_equal(
        ask(&f, "POST", PATH, body, WITH_KEY "X-Forwarded-For: 10.0.0.1\r\n"), 403);
    assert_int_equal(ask(&f, "POST", PATH, body, WITH_KEY "Via: 1.1 proxy\r\n"), 403);
    assert_int_equal(f.srv.server->catalog->n_bases, 1);
    srvfix_restart(&f.srv, (srv_options){0});
    assert_int_equal(ask(&f, "POST", PATH, body, NULL), 403);
    assert_true(said(&f, "without a key"));
    srvfix_restart(&f.srv, (srv_options){.own_key = true});
    assert_int_equal(ask(&f, "POST", PATH, body, NULL), 401);
    close_fix(&f);
}

/* Errors name files, but not where they are. */
static void test_models_load_refuses(void **state)
{
    static const char *const bad[] = {
        "{}",
        "{\"directory\":\"relative\"}",
        "{\"directory\":\"\"}",
        "{\"directory\":\"/tmp\\u0000/x\"}",
        "{\"directory\":\"/\",\"name\":\"\"}",
        "{\"directory\":\"/\",\"name\":\"a\\nb\"}",
        "{\"directory\":\"/\",\"name\":\"tinker://a/weights/b\"}",
        "{\"directory\":\"/\",\"more\":1}",
    };
    fix f;
    open_fix(&f, (srv_options){.api_key = KEY});
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        assert_int_equal(ask(&f, "POST", PATH, bad[i], WITH_KEY), 422);
    }
    for (size_t i = 0; i < 3; i++) {
        static const char *const needed[] = {"config.json", "model.safetensors"};
        char name[16];
        (void)snprintf(name, sizeof(name), "m%zu", i);
        make_model(&f, name, i < 2 ? needed[i] : "tokenizer.json");
        int status = load(&f, name, "");
        assert_int_equal(status, i < 2 ? 404 : 200); /* a tokenizer may be missing */
        if (i < 2) {
            assert_true(said(&f, needed[i]));
            assert_false(said(&f, f.dir));
        }
    }
    assert_int_equal(load(&f, "nowhere", ""), 404);
    assert_false(said(&f, f.dir));
    char path[128];
    tk_err err = TK_ERR_INIT;
    (void)snprintf(path, sizeof(path), "%s/m1/model.safetensors", f.dir);
    assert_int_equal(tk_file_replace(path, "12345678{", 9, 0644, &err), TINKC_OK);
    assert_int_equal(load(&f, "m1", ""), 400);
    assert_true(said(&f, "model.safetensors"));
    assert_false(said(&f, f.dir));
    assert_int_equal(f.srv.server->catalog->n_bases, 2);
    close_fix(&f);
}

/* Counted before a byte is read: the weights are a hole of 8 GiB with an honest header. */
static void test_models_load_counts_memory(void **state)
{
    static const char header[] = "{\"x\":{\"dtype\":\"F32\",\"shape\":[2147483648],"
                                 "\"data_offsets\":[0,8589934592]}}";
    fix f;
    char path[128];
    open_fix(&f, (srv_options){.api_key = KEY, .memory_bytes = 256 * TK_MIB});
    make_model(&f, "large", "model.safetensors");
    size_t used = atomic_load(&f.srv.server->memory.used);
    (void)snprintf(path, sizeof(path), "%s/large/model.safetensors", f.dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    const uint64_t n = sizeof(header) - 1;
    assert_int_equal(fwrite(&n, 8, 1, file), 1);
    assert_int_equal(fwrite(header, n, 1, file), 1);
    assert_int_equal(fflush(file), 0);
    assert_int_equal(ftruncate(fileno(file), (off_t)(8 + n + 8 * TK_GIB)), 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(load(&f, "large", ""), 400);
    assert_true(said(&f, "the model large needs 82"));
    assert_true(said(&f, "of the server's 256 MiB"));
    assert_in_range(atomic_load(&f.srv.server->memory.used), 0, used + TK_MIB);
    /* what fits is loaded until nothing does; then all is given back */
    int status = 200;
    for (int i = 0; i < 64 && status == 200; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "m%d", i);
        make_model(&f, name, NULL);
        used = atomic_load(&f.srv.server->memory.used);
        status = load(&f, name, "");
    }
    assert_int_equal(status, 400);
    assert_true(said(&f, "are left for it"));
    assert_in_range(atomic_load(&f.srv.server->memory.used), used - TK_MIB,
                    used + TK_MIB);
    close_fix(&f);
}

/* A load that waits for another one holds no worker, and the stop ends its wait. */
static void test_models_load_waits(void **state)
{
    fix f;
    char body[128];
    httpget_response response;
    open_fix(&f, (srv_options){.api_key = KEY});
    make_model(&f, "small", NULL);
    (void)snprintf(body, sizeof(body), "{\"directory\":\"%s/small\"}", f.dir);
    const httpget_request request = {
        .method = "POST", .target = PATH, .body = body, .headers = WITH_KEY};
    assert_true(srv_load_begin(f.srv.server));
    assert_false(srv_load_begin(f.srv.server));
    httpget *waiting[8];
    for (size_t i = 0; i < TK_ARRAY_LEN(waiting); i++) {
        waiting[i] = httpget_connect(srvfix_port(&f.srv));
        assert_true(httpget_ask(waiting[i], &request));
    }
    assert_int_equal(ask(&f, "GET", "/api/v1/healthz", NULL, WITH_KEY), 200);
    assert_int_equal(ask(&f, "POST", "/api/v1/sessions/search", "{}", WITH_KEY), 200);
    srv_load_end(f.srv.server);
    for (size_t i = 0; i < TK_ARRAY_LEN(waiting); i++) {
        assert_int_equal(httpget_read(waiting[i], &response), HTTPGET_OK);
        assert_int_equal(response.status, 200);
        httpget_response_dispose(&response);
        httpget_close(&waiting[i]);
    }
    assert_int_equal(f.srv.server->catalog->n_bases, 2);
    close_fix(&f);
}

/* Allocation n of a load fails, for every n; the next load works, and nothing leaks. */
static void test_models_load_is_swept(void **state)
{
    fix f;
    const srv_base *base = NULL;
    const char *served = NULL;
    size_t failed = 0, loaded = 0;
    failmem_start();
    open_fix(&f, (srv_options){.api_key = KEY});
    char name[16], path[96];
    size_t points = 1;
    for (size_t n = 0; n <= points && loaded < 60; n++) {
        tk_err err = TK_ERR_INIT;
        if (n == 0 || loaded > 0) {
            (void)snprintf(name, sizeof(name), "m%zu", n);
            make_model(&f, name, n == 0 ? NULL : "tokenizer.json");
            (void)snprintf(path, sizeof(path), "%s/%s", f.dir, name);
        }
        size_t before = failmem_count();
        const srv_pair pair = {NULL, path};
        failmem_fail_at(n);
        bool ok = srv_load_model(&base, &served, f.srv.server, &pair, &err) == TINKC_OK;
        failmem_fail_at(0);
        points = n == 0 ? failmem_count() - before : points;
        points = TK_MIN(points, (size_t)400);
        failed += !ok;
        loaded += ok;
        if (!ok) {
            assert_int_equal(err.code, TINKC_E_NOMEM);
        }
    }
    assert_true(failed > 20);
    close_fix(&f);
    assert_int_equal(failmem_stop(), 0);
    print_message("sweep: %zu allocation points, %zu failures seen\n", points, failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models_load),
        cmocka_unit_test(test_models_load_int8),
        cmocka_unit_test(test_models_load_is_guarded),
        cmocka_unit_test(test_models_load_refuses),
        cmocka_unit_test(test_models_load_counts_memory),
        cmocka_unit_test(test_models_load_waits),
        cmocka_unit_test(test_models_load_is_swept),
    };
    return cmocka_run_group_tests_name("srv_models", tests, NULL, NULL);
}
