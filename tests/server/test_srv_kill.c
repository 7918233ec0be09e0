/* kill -9 in the middle of saves: after a restart every checkpoint that was answered is
 * there and loads, and nothing half-written is left. The server is a child process.
 * Links: wire */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rand.h"
#include "server/srv_embed.h"
#include "server/srvfix.h"

#define API    "/api/v1/"
#define ROUNDS 10 /* moments at which it is killed */

typedef struct child {
    pid_t pid;
    int port;
} child;

static void run_child(const char *data, int out)
{
    srv *server = NULL;
    tk_err err = TK_ERR_INIT;
    const srv_options options = {.data = data, .threads = 1};
    int port = -1;
    if (srv_start(&server, &options, &err) == TINKC_OK) {
        port = (int)srv_port(server);
    }
    (void)!write(out, &port, sizeof(port));
    for (;;) {
        pause();
    }
}

static void start_child(child *c, const char *data)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    c->pid = fork();
    assert_true(c->pid >= 0);
    if (c->pid == 0) {
        run_child(data, fds[1]);
    }
    assert_int_equal(read(fds[0], &c->port, sizeof(c->port)), sizeof(c->port));
    (void)close(fds[0]);
    (void)close(fds[1]);
    assert_true(c->port > 0);
}

static void kill_child(child *c)
{
    assert_int_equal(kill(c->pid, SIGKILL), 0);
    assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
}

/* One request; NULL when the server died on the way. */
static const tk_json *ask(child *c, tk_arena *arena, const char *path, const char *body,
                          int *status)
{
    httpget_response response;
    const httpget_request request = {.method = "POST", .target = path, .body = body};
    const tk_json *json = NULL;
    tk_err err = TK_ERR_INIT;
    *status = 0;
    if (httpget_once(c->port, &request, &response) == HTTPGET_OK) {
        *status = response.status;
        (void)!tk_json_parse(&json, arena, response.body.p, response.body.n, NULL, &err);
    }
    httpget_response_dispose(&response);
    return json;
}

static const char *finish(child *c, tk_arena *arena, const tk_json *future,
                          const char *key)
{
    char body[256];
    int status = 408;
    const tk_json *json = NULL;
    if (future == NULL || tk_json_get(future, "request_id") == NULL) {
        return NULL;
    }
    (void)snprintf(body, sizeof(body), "{\"request_id\":\"%s\"}",
                   srvfix_text(future, "request_id"));
    while (status == 408) {
        json = ask(c, arena, API "retrieve_future", body, &status);
    }
    return json != NULL && tk_json_get(json, key) != NULL ? srvfix_text(json, key) : NULL;
}

static const char *new_model(child *c, tk_arena *arena)
{
    char body[512];
    int status;
    const tk_json *json = ask(c, arena, API "create_session",
                              "{\"tags\":[],\"sdk_version\":\"0.25.0\"}", &status);
    assert_int_equal(status, 200);
    (void)snprintf(body, sizeof(body),
                   "{\"session_id\":\"%s\",\"model_seq_id\":0,\"base_model\":\"%s\","
                   "\"lora_config\":{\"rank\":4}}",
                   srvfix_text(json, "session_id"), SRV_EMBED_NAME);
    json = ask(c, arena, API "create_model", body, &status);
    const char *id = finish(c, arena, json, "model_id");
    assert_non_null(id);
    return id;
}

/* Saves until the server is gone, which a process of its own sees to; paths that were
 * answered go to paths[]. */
static size_t save_until_killed(child *c, tk_arena *arena, const char *model,
                                const char **paths, size_t max)
{
    char body[512];
    size_t n = 0;
    for (int i = 1; n < max; i++) {
        int status;
        (void)snprintf(body, sizeof(body),
                       "{\"model_id\":\"%s\",\"path\":\"n%d\",\"seq_id\":%d}", model, i,
                       i);
        const tk_json *json = ask(c, arena, API "save_weights", body, &status);
        const char *path = finish(c, arena, json, "path");
        if (path == NULL) {
            break;
        }
        paths[n++] = path;
    }
    return n;
}

static size_t count_dirs(const char *data, const char *model)
{
    char path[512];
    size_t n = 0;
    (void)snprintf(path, sizeof(path), "%s/checkpoints/%s/weights", data, model);
    DIR *dir = opendir(path);
    while (dir != NULL) {
        const struct dirent *entry = readdir(dir);
        if (entry == NULL) {
            (void)closedir(dir);
            dir = NULL;
        } else {
            n += entry->d_name[0] != '.';
        }
    }
    return n;
}

/* Returns how many saves were answered. */
static size_t check_round(const char *data, tk_rand *rand, tk_arena *arena)
{
    enum { MAX = 200 };
    const char *paths[MAX];
    char body[512];
    child c;
    int status;
    start_child(&c, data);
    const char *model = new_model(&c, arena);
    pid_t killer = fork();
    assert_true(killer >= 0);
    if (killer == 0) {
        (void)usleep((useconds_t)tk_rand_below(rand, 120000));
        (void)kill(c.pid, SIGKILL);
        _exit(0);
    }
    size_t n = save_until_killed(&c, arena, model, paths, MAX);
    assert_int_equal(waitpid(killer, NULL, 0), killer);
    assert_int_equal(waitpid(c.pid, NULL, 0), c.pid);
    start_child(&c, data);
    size_t dirs = count_dirs(data, model);
    assert_true(dirs == n ||
                dirs == n + 1); /* the last one may have lost its answer only */
    const char *session = new_model(&c, arena);
    tk_str rest = tk_str_of(session);
    tk_str id = tk_str_cut(&rest, ':');
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(body, sizeof(body),
                       "{\"session_id\":\"" TK_STR_FMT "\",\"model_seq_id\":%zu,\"path\":"
                       "\"%s\",\"optimizer\":true}",
                       TK_STR_ARG(id), i + 1, paths[i]);
        const tk_json *json = ask(&c, arena, API "load_weights", body, &status);
        assert_non_null(finish(&c, arena, json, "model_id"));
    }
    kill_child(&c);
    return n;
}

/* Nothing that was answered as saved is lost, and nothing half-written is left. */
static void test_srv_kill_loses_nothing(void **state)
{
    (void)state;
    char data[] = "/tmp/tinkc-test-XXXXXX";
    char command[96];
    tk_rand rand;
    tk_err err = TK_ERR_INIT;
    size_t saved = 0;
    assert_non_null(mkdtemp(data));
    assert_int_equal(tk_rand_init_os(&rand, &err), TINKC_OK);
    for (int i = 0; i < ROUNDS; i++) {
        tk_arena arena;
        tk_arena_init(&arena, 0);
        (void)tk_rand_u64(&rand); /* another moment: the killer draws from a copy */
        saved += check_round(data, &rand, &arena);
        tk_arena_dispose(&arena);
    }
    assert_true(saved > 0);
    (void)snprintf(command, sizeof(command), "rm -rf %s", data);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_srv_kill_loses_nothing)};
    return cmocka_run_group_tests_name("srv_kill", tests, NULL, NULL);
}
