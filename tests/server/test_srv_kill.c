/* kill -9 of the real program while it trains and saves: every checkpoint that was
 * answered is there afterwards and computes the same bits, every one that is listed
 * loads, nothing else is left on disk, and the store opens. The number of kills is the
 * first argument (10). */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/thread.h"
#include "server/srvfix.h"

#define MODEL          "tinkc/pebble-llama-2m"
#define SAVES_MAX      4096
#define NAME_MAX_BYTES 32
#define ROUND_MAX      15 /* saves of one round: all of them fit one page of a list */

typedef struct saved {
    char path[160];
    char *bits; /* the protobuf result of a forward pass */
    size_t n;
    int round;
} saved;

typedef struct killing {
    srvfix srv; /* data, arena, status; no server in this process */
    pid_t pid;
    int port;
    tk_rand rand;
    saved saves[SAVES_MAX];
    size_t n_saves;
    char session[64];
    char model[96];
    int seq;
    int round;
    int n_round; /* saves of it that were answered */
} killing;

/* ---- the program ---- */

static void start(killing *k)
{
    int ends[2];
    char line[256];
    size_t n = 0;
    assert_int_equal(pipe(ends), 0);
    k->pid = fork();
    assert_true(k->pid >= 0);
    if (k->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when an assertion fails */
        (void)dup2(ends[1], STDOUT_FILENO);
        int null = open("/dev/null", O_WRONLY);
        (void)dup2(null, STDERR_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)execl(TINKC_PROGRAM, "tinkc", "serve", "--port", "0", "--threads", "1",
                    "--data", k->srv.data, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    while (n + 1 < sizeof(line) && read(ends[0], line + n, 1) == 1 && line[n] != '\n') {
        n++;
    }
    line[n] = '\0';
    (void)close(ends[0]);
    const char *colon = strrchr(line, ':');
    assert_non_null(colon); /* else it did not start: the store did not open */
    int64_t port = 0;
    assert_true(tk_str_to_i64(tk_str_of(colon + 1), &port));
    k->port = (int)port;
}

static void wait_end(killing *k)
{
    int status = 0;
    assert_int_equal(waitpid(k->pid, &status, 0), k->pid);
}

typedef struct killer {
    pid_t pid;
    int64_t delay_ms;
    tk_thread thread;
} killer;

static void kill_later(void *user)
{
    killer *me = user;
    (void)poll(NULL, 0, (int)me->delay_ms);
    (void)kill(me->pid, SIGKILL);
}

/* ---- requests; false: the program is gone ---- */

static bool ask_raw(killing *k, const char *path, const char *body, httpget_response *r)
{
    char target[64];
    (void)snprintf(target, sizeof(target), "/api/v1/%s", path);
    const httpget_request request = {.method = body != NULL ? "POST" : "GET",
                                     .target = target,
                                     .headers = "Accept: application/x-protobuf\r\n",
                                     .body = body};
    bool ok = httpget_once(k->port, &request, r) == HTTPGET_OK;
    k->srv.status = r->status;
    if (!ok) {
        httpget_response_dispose(r);
    }
    return ok;
}

static bool ask(killing *k, const char *path, const char *body, const tk_json **out)
{
    httpget_response r;
    tk_err err = TK_ERR_INIT;
    if (!ask_raw(k, path, body, &r)) {
        return false;
    }
    *out = NULL;
    (void)!tk_json_parse(out, &k->srv.arena, r.body.p, r.body.n, NULL, &err);
    httpget_response_dispose(&r);
    assert_int_equal(k->srv.status, 200);
    assert_non_null(*out);
    return true;
}

/* Submits and polls to the end; the result's bytes are the caller's. */
static bool work(killing *k, const char *path, const char *body, httpget_response *r)
{
    const tk_json *future = NULL;
    char poll_body[256];
    if (!ask(k, path, body, &future)) {
        return false;
    }
    (void)snprintf(poll_body, sizeof(poll_body), "{\"request_id\":\"%s\"}",
                   srvfix_text(future, "request_id"));
    for (;;) {
        if (!ask_raw(k, "retrieve_future", poll_body, r)) {
            return false;
        }
        if (r->status != 408) {
            assert_int_equal(r->status, 200);
            return true;
        }
        httpget_response_dispose(r);
    }
}

static bool work_only(killing *k, const char *path, const char *body)
{
    httpget_response r;
    if (!work(k, path, body, &r)) {
        return false;
    }
    if (r.body.n > 8 && memcmp(r.body.p, "{\"error\"", 8) == 0) {
        fail_msg("%s: %s", path, (const char *)r.body.p);
    }
    httpget_response_dispose(&r);
    return true;
}

#define DATA                                                                             \
    "{\"data\":[{\"model_input\":{\"chunks\":[{\"type\":\"encoded_text\","               \
    "\"tokens\":[5,17,9,40,12,33,8]}]},\"loss_fn_inputs\":{\"target_tokens\":{"          \
    "\"data\":[17,9,40,12,33,8,21],\"dtype\":\"int64\",\"shape\":[7]},\"weights\":{"     \
    "\"data\":[1,1,1,1,1,1,1],\"dtype\":\"float32\",\"shape\":[7]}}}],"                  \
    "\"loss_fn\":\"cross_entropy\"}"

static bool open_model(killing *k)
{
    const tk_json *json = NULL;
    char body[512];
    if (!ask(k, "create_session", "{\"tags\":[],\"sdk_version\":\"0.25.0\"}", &json)) {
        return false;
    }
    (void)snprintf(k->session, sizeof(k->session), "%s", srvfix_text(json, "session_id"));
    (void)snprintf(k->model, sizeof(k->model), "%s:train:0", k->session);
    (void)snprintf(body, sizeof(body),
                   "{\"session_id\":\"%s\",\"model_seq_id\":0,\"base_model\":\"" MODEL
                   "\",\"lora_config\":{\"rank\":4}}",
                   k->session);
    k->seq = 0;
    return work_only(k, "create_model", body);
}

/* A request of the model, with the next sequence number. */
static void write_body(killing *k, char out[1024], const char *more)
{
    (void)snprintf(out, 1024, "{\"model_id\":\"%s\",\"seq_id\":%d,%s}", k->model,
                   ++k->seq, more);
}

static bool forward(killing *k, httpget_response *r)
{
    char body[1024];
    write_body(k, body, "\"forward_input\":" DATA);
    return work(k, "forward", body, r);
}

static bool train(killing *k)
{
    char body[1024];
    write_body(k, body, "\"forward_backward_input\":" DATA);
    if (!work_only(k, "forward_backward", body)) {
        return false;
    }
    write_body(k, body,
               "\"adam_params\":{\"learning_rate\":0.01,\"beta1\":0.9,\"beta2\":0.95,"
               "\"eps\":1e-12}");
    return work_only(k, "optim_step", body);
}

/* One step and one save; what was answered is remembered with its bits. */
static bool train_and_save(killing *k)
{
    char body[1024], more[128], name[NAME_MAX_BYTES];
    httpget_response r;
    if (!train(k)) {
        return false;
    }
    if (k->n_round == ROUND_MAX) {
        return true;
    }
    if (!forward(k, &r)) {
        return false;
    }
    (void)snprintf(name, sizeof(name), "r%d-%d", k->round, k->seq);
    (void)snprintf(more, sizeof(more), "\"path\":\"%s\"", name);
    write_body(k, body, more);
    bool ok = work_only(k, "save_weights", body) && k->n_saves < SAVES_MAX;
    if (ok) {
        saved *s = &k->saves[k->n_saves++];
        (void)snprintf(s->path, sizeof(s->path), "tinker://%s/weights/%s", k->model,
                       name);
        s->bits = tk_malloc(r.body.n);
        assert_non_null(s->bits);
        memcpy(s->bits, r.body.p, r.body.n);
        s->n = r.body.n;
        s->round = k->round;
        k->n_round++;
    }
    httpget_response_dispose(&r);
    return ok;
}

/* ---- after it ---- */

static saved *find(killing *k, const char *path)
{
    for (size_t i = 0; i < k->n_saves; i++) {
        if (strcmp(k->saves[i].path, path) == 0) {
            return &k->saves[i];
        }
    }
    return NULL;
}

/* Loads a checkpoint; its bits must be those that were answered, if any were. */
static void check_one(killing *k, const char *path)
{
    char body[1024], more[256];
    httpget_response r;
    (void)snprintf(more, sizeof(more), "\"path\":\"%s\",\"optimizer\":true", path);
    write_body(k, body, more);
    assert_true(work_only(k, "load_weights", body));
    assert_true(forward(k, &r));
    const saved *s = find(k, path);
    if (s != NULL) {
        assert_int_equal(r.body.n, s->n);
        assert_memory_equal(r.body.p, s->bits, s->n);
    }
    httpget_response_dispose(&r);
}

static size_t count_dirs(killing *k)
{
    char command[160];
    unsigned n = 0;
    (void)snprintf(command, sizeof(command),
                   "find %s/checkpoints -mindepth 3 -maxdepth 3 -type d | wc -l",
                   k->srv.data);
    FILE *pipe_end = popen(command, "r");
    assert_non_null(pipe_end);
    assert_int_equal(fscanf(pipe_end, "%u", &n), 1);
    assert_int_equal(pclose(pipe_end), 0);
    return n;
}

/* Everything that is listed; `from_round` and later ones are loaded, too. */
static void check_all(killing *k, int from_round)
{
    const tk_json *json = NULL;
    size_t n_answered = 0;
    assert_true(open_model(k));
    assert_true(ask(k, "checkpoints?limit=1000", NULL, &json));
    const tk_json *list = tk_json_get(json, "checkpoints");
    size_t n = tk_json_len(list);
    assert_int_equal(count_dirs(k), n);
    for (size_t i = 0; i < n; i++) {
        const tk_json one = tk_json_at(list, i);
        const char *path = srvfix_text(&one, "tinker_path");
        const saved *s = find(k, path);
        n_answered += s != NULL;
        if (s == NULL || s->round >= from_round) {
            check_one(k, path);
        }
    }
    assert_int_equal(n_answered, k->n_saves); /* none was lost */
}

static void one_kill(killing *k)
{
    killer death = {.pid = k->pid};
    tk_err err = TK_ERR_INIT;
    death.delay_ms = 5 + (int64_t)tk_rand_below(&k->rand, 300);
    assert_int_equal(tk_thread_start(&death.thread, "killer", kill_later, &death, &err),
                     TINKC_OK);
    bool alive = open_model(k);
    k->n_round = 0;
    while (alive) {
        alive = train_and_save(k);
    }
    tk_thread_join(&death.thread);
    wait_end(k);
    start(k);
    check_all(k, k->round);
    tk_arena_dispose(&k->srv.arena);
}

static int n_kills = 10;

static void test_srv_answered_saves_survive(void **state)
{
    char command[96];
    uint64_t seed = (uint64_t)tk_clock_wall_us(NULL);
    killing *k = tk_zalloc(sizeof(*k));
    assert_non_null(k);
    (void)snprintf(k->srv.data, sizeof(k->srv.data), "/tmp/tinkc-kill-XXXXXX");
    assert_non_null(mkdtemp(k->srv.data));
    tk_arena_init(&k->srv.arena, 0);
    tk_rand_init(&k->rand, seed);
    print_message("seed %llu\n", (unsigned long long)seed);
    start(k);
    for (k->round = 0; k->round < n_kills; k->round++) {
        one_kill(k);
    }
    check_all(k, 0);
    print_message("%d kills, %zu answered saves, all bit-exact\n", n_kills, k->n_saves);
    (void)kill(k->pid, SIGTERM);
    wait_end(k);
    for (size_t i = 0; i < k->n_saves; i++) {
        tk_free(k->saves[i].bits);
    }
    tk_arena_dispose(&k->srv.arena);
    (void)snprintf(command, sizeof(command), "rm -rf %s", k->srv.data);
    tk_free(k);
    assert_int_equal(system(command), 0);
}

int main(int argc, char **argv)
{
    int64_t n = 0;
    if (argc > 1 && tk_str_to_i64(tk_str_of(argv[1]), &n) && n > 0 && n <= 1000) {
        n_kills = (int)n;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_answered_saves_survive),
    };
    return cmocka_run_group_tests_name("srv_kill", tests, NULL, NULL);
}
