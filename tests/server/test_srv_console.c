/* The console of the server: what libtinkc trains and samples is shown, live and after a
 * restart, whatever texts it has; with a key only to who knows it; not at all when it is
 * switched off.
 * Links: client */
#include <tinkc/rest.h>
#include <tinkc/sampling.h>
#include <tinkc/training.h>

#include "server/clientfix.h"

#define MODEL "tinkc/pebble-llama-2m"
#define API   "/tinkc/v1/console/"
#define N     7

#define HOSTILE "<script>\\\"\\u0007\\u202e"

static const int32_t text[] = {5, 17, 9, 40, 12, 33, 8, 21};

static void step(tinkc_training *training)
{
    const float weights[N] = {1, 1, 1, 1, 1, 1, 1};
    tinkc_model_input *input = NULL;
    tinkc_datum *datum = NULL;
    tinkc_step *result = NULL;
    OK(tinkc_model_input_from_tokens(&input, text, N, &err));
    OK(tinkc_datum_new(&datum, &input, &err));
    OK(tinkc_datum_set_i32(datum, "target_tokens", text + 1, N, &err));
    OK(tinkc_datum_set_f32(datum, "weights", weights, N, &err));
    OK(tinkc_training_step_wait(&result, training, &datum, 1, "cross_entropy", NULL,
                                &err));
    tinkc_step_free(&result);
    tinkc_datum_free(&datum);
}

/* Reads events until a text has come. */
static void wait_for(httpget *events, const char *wanted)
{
    static char seen[1 << 18];
    size_t n = 0;
    seen[0] = '\0';
    while (strstr(seen, wanted) == NULL) {
        assert_true(n + 1 < sizeof(seen) && httpget_byte(events, &seen[n]));
        seen[++n] = '\0';
    }
}

static httpget *open_events(srvfix *f)
{
    const httpget_request request = {.target = API "events",
                                     .headers = "Accept: text/event-stream\r\n"};
    httpget *events = httpget_connect(srvfix_port(f));
    assert_non_null(events);
    assert_true(httpget_ask(events, &request));
    wait_for(events, "event: hello");
    return events;
}

static const tk_json *get(srvfix *f, const char *path)
{
    const tk_json *json = srvfix_ask(f, NULL, path, NULL);
    if (f->status != 200 || json == NULL) {
        fail_msg("%s: %d", path, f->status);
    }
    return json;
}

static tk_json first(const tk_json *json, const char *key)
{
    assert_int_equal(tk_json_len(tk_json_get(json, key)), 1);
    return tk_json_at(tk_json_get(json, key), 0);
}

static int64_t number(const tk_json *json, const char *key)
{
    int64_t out = INT64_MIN;
    (void)!tk_json_to_i64(tk_json_get(json, key), &out);
    return out;
}

/* Trains three steps, saves, and samples from the base model. */
static void train(srvfix *f)
{
    tinkc_service *service = clientfix_service(f);
    tinkc_training *training = NULL;
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    char *path = NULL;
    httpget *events = open_events(f);
    lora.rank = 4;
    OK(tinkc_service_create_training_wait(&training, service, MODEL, &lora, &err));
    for (int i = 0; i < 3; i++) {
        step(training);
    }
    OK(tinkc_training_save_state_wait(&path, training, "saved", NULL, &err));
    tinkc_text_free(&path);
    wait_for(events, "\"step\":3,");
    const tk_json *answer = srvfix_post(
        f, "/v1/completions",
        "{\"model\":\"" MODEL "\",\"prompt\":[5,6,7],\"max_tokens\":4,\"n\":2}");
    assert_non_null(answer);
    assert_int_equal(f->status, 200);
    wait_for(events, "event: sample");
    tinkc_training_close(&training);
    tinkc_service_close(&service);
    httpget_close(&events);
}

static void check_run(srvfix *f, const char *state)
{
    char path[256];
    const tk_json *runs = get(f, API "runs");
    tk_json run = first(runs, "runs");
    assert_int_equal(number(&run, "step"), 3);
    assert_string_equal(srvfix_text(&run, "model"), MODEL);
    assert_int_equal(number(&run, "rank"), 4);
    if (state != NULL) {
        assert_string_equal(srvfix_text(&run, "state"), state);
    }
    (void)snprintf(path, sizeof(path), API "runs/%s", srvfix_text(&run, "id"));
    const tk_json *one = get(f, path);
    tk_json checkpoint = first(one, "checkpoints");
    assert_string_equal(srvfix_text(&checkpoint, "id"), "weights/saved");
    assert_int_equal(number(&checkpoint, "step"), 3);
    (void)snprintf(path, sizeof(path), API "runs/%s/series?metric=loss,grad_norm,lr",
                   srvfix_text(&run, "id"));
    const tk_json *all = tk_json_get(get(f, path), "series");
    assert_int_equal(tk_json_len(all), 3);
    for (size_t i = 0; i < 3; i++) {
        const tk_json series = tk_json_at(all, i);
        assert_int_equal(number(&series, "total"), 3);
    }
}

static void test_srv_console_shows_a_run(void **unused)
{
    srvfix f;
    srvfix_open(&f, (srv_options){0});
    train(&f);
    check_run(&f, NULL);
    const tk_json *samples = tk_json_get(get(&f, API "samples"), "samples");
    assert_int_equal(tk_json_len(samples), 2);
    const tk_json *one = get(&f, API "samples/1");
    assert_int_equal(tk_json_len(tk_json_get(tk_json_get(one, "prompt"), "text")), 3);
    const tk_json *state = get(&f, API "server");
    assert_true(number(tk_json_get(state, "engine"), "jobs") >= 7);
    srvfix_restart(&f, (srv_options){0});
    check_run(&f, "ended");
    assert_int_equal(tk_json_len(tk_json_get(get(&f, API "samples"), "samples")), 2);
    (void)srvfix_ask(&f, "DELETE", API "samples", NULL);
    assert_int_equal(f.status, 200);
    assert_int_equal(tk_json_len(tk_json_get(get(&f, API "samples"), "samples")), 0);
    srvfix_close(&f);
}

/* A name that is too long ends with a whole character. */
static void test_srv_console_cuts_names(void **unused)
{
    srvfix f;
    char body[1024], name[256];
    memset(name, 'n', 199);
    (void)snprintf(name + 199, sizeof(name) - 199, "\xC3\xA9 and more");
    srvfix_open(&f, (srv_options){0});
    httpget *events = open_events(&f);
    (void)snprintf(body, sizeof(body),
                   "{\"session_id\":\"%s\",\"model_seq_id\":0,\"base_model\":\"" MODEL
                   "\",\"user_metadata\":{\"name\":\"%s\"},\"lora_config\":"
                   "{\"rank\":4},\"type\":\"create_model\"}",
                   srvfix_session(&f), name);
    (void)srvfix_post(&f, "/api/v1/create_model", body);
    assert_int_equal(f.status, 200);
    wait_for(events, "event: run");
    tk_json run = first(get(&f, API "runs"), "runs");
    name[199] = '\0';
    assert_string_equal(srvfix_text(&run, "name"), name);
    httpget_close(&events);
    srvfix_close(&f);
}

/* Episodes come with their rewards, also after a restart. */
static void test_srv_console_episodes(void **unused)
{
    srvfix f;
    srvfix_open(&f, (srv_options){0});
    httpget *events = open_events(&f);
    (void)srvfix_post(&f, "/e/task-1/v1/chat/completions",
                      "{\"model\":\"" MODEL "\",\"max_tokens\":3,\"messages\":[{\"role\":"
                      "\"user\",\"content\":\"" HOSTILE "\"}]}");
    assert_int_equal(f.status, 200);
    wait_for(events, "{\"id\":\"task-1\"}");
    httpget_close(&events);
    (void)srvfix_post(&f, "/tinkc/v1/episodes/task-1/reward", "{\"reward\":0.25}");
    assert_int_equal(f.status, 200);
    for (int i = 0; i < 2; i++) {
        const tk_json *list = get(&f, API "episodes");
        tk_json episode = first(list, "episodes");
        double reward = 0.0;
        assert_true(tk_json_to_double(tk_json_get(&episode, "reward"), &reward));
        assert_true(reward == 0.25);
        srvfix_restart(&f, (srv_options){0});
    }
    srvfix_close(&f);
}

static void test_srv_console_switched_off(void **unused)
{
    srvfix f;
    srvfix_open(&f, (srv_options){.no_recording = true});
    (void)srvfix_post(&f, "/v1/completions",
                      "{\"model\":\"" MODEL "\",\"prompt\":[5,6,7],\"max_tokens\":4}");
    assert_int_equal(f.status, 200);
    assert_int_equal(number(get(&f, API "runs"), "total"), 0);
    const tk_json *samples = get(&f, API "samples");
    assert_int_equal(tk_json_len(tk_json_get(samples, "samples")), 0);
    assert_false(tk_json_get(samples, "recording")->as.boolean);
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/console.db", f.data);
    assert_null(fopen(path, "rb"));
    srvfix_close(&f);
}

static void test_srv_console_needs_the_key(void **unused)
{
    static const char *const paths[] = {API "runs", API "samples", API "server",
                                        API "events", API "episodes"};
    srvfix f;
    srvfix_open(&f, (srv_options){.api_key = "tml-secret-of-the-test"});
    for (size_t i = 0; i < TK_ARRAY_LEN(paths); i++) {
        (void)srvfix_ask(&f, NULL, paths[i], NULL);
        assert_int_equal(f.status, 401);
    }
    const tk_json *session = get(&f, API "session");
    assert_string_equal(srvfix_text(session, "login"), "needed");
    (void)srvfix_post(&f, API "login", "{\"key\":\"tml-secret-of-the-tess\"}");
    assert_int_equal(f.status, 401);
    (void)srvfix_post(&f, API "login", "{\"key\":\"tml-secret-of-the-test\"}");
    assert_int_equal(f.status, 204);
    srvfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_console_shows_a_run),
        cmocka_unit_test(test_srv_console_cuts_names),
        cmocka_unit_test(test_srv_console_episodes),
        cmocka_unit_test(test_srv_console_switched_off),
        cmocka_unit_test(test_srv_console_needs_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
