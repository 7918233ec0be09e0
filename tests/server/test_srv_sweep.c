/* The server with every allocation failing once: while it starts, and while it
 * serves a session from its first request to its last. A request that meets a failure is
 * answered with one, or its connection is closed; the next one works, and nothing leaks.
 * The requests come from this thread without an allocation of the library's.
 * Links: wire */
#include <time.h>

#include "server/run/srv_embed.h"
#include "server/srvfix.h"
#include "support/failmem.h"

#define API     "/api/v1/"
#define MODEL   SRV_EMBED_NAME
#define WAIT_S  60
#define POLL_MS 1000

typedef struct talk {
    int port;
    char session[64];
    char answer[4096];
} talk;

/* ---- one request ---- */

/* Fills in "S" for '$'. */
static void expand(char *out, size_t size, const char *text, const char *session)
{
    size_t n = 0;
    for (; *text != '\0' && n + 64 < size; text++) {
        n += *text == '$' ? (size_t)snprintf(out + n, size - n, "%s", session)
                          : (size_t)snprintf(out + n, size - n, "%c", *text);
    }
    assert_true(*text == '\0');
}

/* The text of a string member of the answer. */
static bool member(const talk *t, const char *key, char *out, size_t size)
{
    char quoted[64];
    (void)snprintf(quoted, sizeof(quoted), "\"%s\":\"", key);
    const char *at = strstr(t->answer, quoted);
    if (at == NULL) {
        return false;
    }
    at += strlen(quoted);
    (void)snprintf(out, size, "%.*s", (int)strcspn(at, "\""), at);
    return true;
}

/* True with the answer; false when there was a failure, which must be the server's. */
static bool ask(talk *t, const char *method, const char *path, const char *body)
{
    char target[512], text[2048];
    httpget_response response;
    expand(target, sizeof(target), path, t->session);
    expand(text, sizeof(text), body != NULL ? body : "", t->session);
    const httpget_request request = {
        .method = method, .target = target, .body = body != NULL ? text : NULL};
    httpget_outcome outcome = httpget_once(t->port, &request, &response);
    int status = outcome == HTTPGET_OK ? response.status : 0;
    (void)snprintf(t->answer, sizeof(t->answer), "%s",
                   response.body.p != NULL ? response.body.p : "");
    httpget_response_dispose(&response);
    if (outcome == HTTPGET_TIMEOUT || (status >= 400 && status < 500 && status != 408)) {
        fail_msg("%s %s: %d %s", method, target, status, t->answer);
    }
    return status >= 200 && status < 500;
}

/* Submits and waits for the result. */
static bool run(talk *t, const char *path, const char *body)
{
    char id[160], poll[192];
    time_t end = time(NULL) + WAIT_S;
    if (!ask(t, "POST", path, body)) {
        return false;
    }
    assert_true(member(t, "request_id", id, sizeof(id)));
    (void)snprintf(poll, sizeof(poll), "{\"request_id\":\"%s\"}", id);
    bool lost;
    do {
        lost = !ask(t, "POST", API "retrieve_future", poll);
        if (time(NULL) > end) {
            fail_msg("%s: no result", id);
        }
    } while (lost || strstr(t->answer, "\"try_again\"") != NULL);
    char category[16] = "";
    if (strstr(t->answer, "\"error\":") != NULL) {
        assert_true(member(t, "category", category, sizeof(category)));
        assert_string_equal(category, "server");
        return false;
    }
    return true;
}

/* ---- a session ---- */

#define CHUNKS "{\"chunks\":[{\"type\":\"encoded_text\",\"tokens\":[5,7]}]}"
#define TRAIN                                                                            \
    "{\"forward_backward_input\":{\"data\":[{\"loss_fn_inputs\":{\"target_tokens\":"     \
    "{\"data\":[7,8],\"dtype\":\"int64\"},\"weights\":{\"data\":[1.0,1.0],\"dtype\":"    \
    "\"float32\"}},\"model_input\":" CHUNKS "}],\"loss_fn\":\"cross_entropy\"},"         \
    "\"model_id\":\"$:train:0\",\"seq_id\":1}"

static bool train_and_save(talk *t)
{
    return run(t, API "create_model",
               "{\"session_id\":\"$\",\"model_seq_id\":0,\"base_model\":\"" MODEL
               "\",\"user_metadata\":{\"a\":\"b\"},\"lora_config\":{\"rank\":1}}") &&
           run(t, API "forward_backward", TRAIN) &&
           run(t, API "optim_step",
               "{\"adam_params\":{\"learning_rate\":0.1},\"model_id\":\"$:train:0\","
               "\"seq_id\":2}") &&
           run(t, API "save_weights",
               "{\"model_id\":\"$:train:0\",\"path\":\"end\",\"seq_id\":3}") &&
           run(t, API "save_weights_for_sampler",
               "{\"model_id\":\"$:train:0\",\"sampling_session_seq_id\":0,"
               "\"seq_id\":4}");
}

static bool sample_and_list(talk *t)
{
    return run(t, API "asample",
               "{\"prompt\":" CHUNKS ",\"sampling_params\":{\"max_tokens\":2},"
               "\"sampling_session_id\":\"$:sample:0\",\"seq_id\":0,"
               "\"prompt_logprobs\":true}") &&
           run(t, API "asample",
               "{\"prompt\":" CHUNKS ",\"sampling_params\":{\"max_tokens\":1},"
               "\"model_path\":\"tinker://$:train:0/weights/end\"}") &&
           ask(t, "GET", API "training_runs?limit=1", NULL) &&
           ask(t, "GET", API "training_runs/$:train:0/checkpoints", NULL) &&
           ask(t, "GET", API "sessions/$", NULL) && ask(t, "GET", "/metrics", NULL) &&
           ask(t, "POST", API "get_info", "{\"model_id\":\"$:train:0\"}") &&
           ask(t, "DELETE", API "training_runs/$:train:0/checkpoints/weights/end", NULL);
}

/* The whole session. */
static bool converse(talk *t)
{
    return ask(t, "POST", API "create_session",
               "{\"tags\":[],\"user_metadata\":{},\"sdk_version\":\"0.25.0\"}") &&
           member(t, "session_id", t->session, sizeof(t->session)) && train_and_save(t) &&
           sample_and_list(t);
}

/* What is left of a session goes, so that no state grows over the sweep. */
static void finish(talk *t)
{
    if (t->session[0] != '\0') {
        assert_true(ask(t, "POST", API "sessions/$/finish", "{}"));
        t->session[0] = '\0';
    }
    assert_true(ask(t, "GET", API "healthz", NULL));
}

static void start(srvfix *f, talk *t)
{
    *t = (talk){0};
    srvfix_open(f, (srv_options){.poll_ms = POLL_MS});
    t->port = srvfix_port(f);
}

/* How many of the points are tried. A build with sanitizers has many more, as its arenas
 * take every piece from the heap; scripts/check-sweep.sh asks for all that time
 * allows. */
static size_t stride_of(size_t points, bool all)
{
#if defined(__SANITIZE_THREAD__)
    size_t tries = all ? 24 : 12;
#else
    size_t tries = all ? 1000 : 80;
#endif
    return TK_MAX(points / tries, (size_t)1);
}

/* The server stays up: allocation n of a session fails, for every n. Other threads
 * allocate as well, so which one that is differs a little from run to run. */
static void test_srv_session_is_swept(void **state)
{
    srvfix f;
    talk t;
    size_t failed = 0;
    failmem_start();
    start(&f, &t);
    assert_true(converse(&t)); /* what is made once is there now */
    finish(&t);
    size_t before = failmem_count();
    assert_true(converse(&t));
    size_t points = failmem_count() - before;
    size_t stride = stride_of(points, getenv("TINKC_SWEEP_STRIDE") != NULL);
    finish(&t);
    for (size_t n = 1; n <= points; n += stride) {
        failmem_fail_at(n);
        failed += !converse(&t);
        failmem_fail_at(0);
        finish(&t);
    }
    assert_true(failed > 0);
    assert_true(converse(&t));
    finish(&t);
    srvfix_close(&f);
    size_t leaked = failmem_stop();
    assert_int_equal(leaked, 0);
    print_message("sweep: %zu allocation points, stride %zu, %zu failures seen\n", points,
                  stride, failed);
}

/* ---- start and stop ---- */

static bool start_and_stop(void *user)
{
    char data[64], command[96];
    tk_err err = TK_ERR_INIT;
    srv *server = NULL;
    srvfix_make_dir(data);
    const srv_options options = {.data = data, .threads = 1};
    bool ok = srv_start(&server, &options, &err) == TINKC_OK;
    srv_stop(&server);
    (void)snprintf(command, sizeof(command), "rm -rf %s", data);
    assert_int_equal(system(command), 0);
    return ok;
}

static void test_srv_start_is_swept(void **state)
{
    const char *forced = getenv("TINKC_SWEEP_STRIDE");
    failmem_start();
    assert_true(start_and_stop(NULL));
    size_t points = failmem_count();
    assert_int_equal(failmem_stop(), 0);
    char stride[24];
    (void)snprintf(stride, sizeof(stride), "%zu", stride_of(points, forced != NULL));
    assert_int_equal(setenv("TINKC_SWEEP_STRIDE", stride, 1), 0);
    (void)failmem_sweep(start_and_stop, NULL, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_session_is_swept),
        cmocka_unit_test(test_srv_start_is_swept),
    };
    return cmocka_run_group_tests_name("srv_sweep", tests, NULL, NULL);
}
