/* Samplers whose weights do not fit into memory: they wait on disk, and sample the same.
 * Links: wire */
#include "server/run/srv_embed.h"
#include "server/srvfix.h"

#define API      "/api/v1/"
#define SAMPLERS 4

typedef struct fix {
    srvfix f;
    const char *session;
    char model[128];
    int seq;
} fix;

static const tk_json *result_of(fix *t, const tk_json *submitted)
{
    char body[256];
    assert_int_equal(t->f.status, 200);
    (void)snprintf(body, sizeof(body), "{\"request_id\":\"%s\"}",
                   srvfix_text(submitted, "request_id"));
    const tk_json *json;
    do {
        json = srvfix_post(&t->f, API "retrieve_future", body);
    } while (t->f.status == 408);
    assert_int_equal(t->f.status, 200);
    return json;
}

static void open_fix(fix *t, size_t adapter_bytes)
{
    char body[512];
    memset(t, 0, sizeof(*t));
    srvfix_open(&t->f, (srv_options){.adapter_bytes = adapter_bytes});
    t->session = srvfix_session(&t->f);
    (void)snprintf(body, sizeof(body),
                   "{\"session_id\":\"%s\",\"model_seq_id\":0,\"base_model\":"
                   "\"" SRV_EMBED_NAME "\",\"lora_config\":{\"rank\":2,\"seed\":7},"
                   "\"type\":\"create_model\"}",
                   t->session);
    const tk_json *json = result_of(t, srvfix_post(&t->f, API "create_model", body));
    (void)snprintf(t->model, sizeof(t->model), "%s", srvfix_text(json, "model_id"));
}

/* Moves the weights. */
static void train(fix *t)
{
    char body[768];
    (void)snprintf(body, sizeof(body),
                   "{\"forward_backward_input\":{\"data\":[{\"loss_fn_inputs\":{"
                   "\"target_tokens\":{\"data\":[7,8],\"dtype\":\"int64\"},\"weights\":{"
                   "\"data\":[1.0,1.0],\"dtype\":\"float32\"}},\"model_input\":{"
                   "\"chunks\":[{\"tokens\":[5,7],\"type\":\"encoded_text\"}]}}],"
                   "\"loss_fn\":\"cross_entropy\"},\"model_id\":\"%s\",\"seq_id\":%d}",
                   t->model, ++t->seq);
    (void)result_of(t, srvfix_post(&t->f, API "forward_backward", body));
    (void)snprintf(body, sizeof(body),
                   "{\"adam_params\":{\"learning_rate\":0.05},\"model_id\":\"%s\","
                   "\"seq_id\":%d,\"type\":\"optim_step\"}",
                   t->model, ++t->seq);
    (void)result_of(t, srvfix_post(&t->f, API "optim_step", body));
}

static void snapshot(fix *t, int number)
{
    char body[256];
    (void)snprintf(body, sizeof(body),
                   "{\"model_id\":\"%s\",\"sampling_session_seq_id\":%d,\"seq_id\":%d}",
                   t->model, number, ++t->seq);
    (void)result_of(t, srvfix_post(&t->f, API "save_weights_for_sampler", body));
}

/* The logprob of the first token drawn, as the server wrote it. */
static double draw(fix *t, int number, int seq)
{
    char body[512];
    (void)snprintf(body, sizeof(body),
                   "{\"sampling_session_id\":\"%s:sample:%d\",\"seq_id\":%d,\"prompt\":{"
                   "\"chunks\":[{\"tokens\":[5,7],\"type\":\"encoded_text\"}]},"
                   "\"sampling_params\":{\"max_tokens\":2,\"seed\":3,\"stop\":[]}}",
                   t->session, number, seq);
    const tk_json *json = result_of(t, srvfix_post(&t->f, API "asample", body));
    tk_json sequence = tk_json_at(tk_json_get(json, "sequences"), 0);
    return tk_json_at(tk_json_get(&sequence, "logprobs"), 0).as.real;
}

static int directories(fix *t)
{
    char command[160];
    (void)snprintf(command, sizeof(command),
                   "exit $(ls -d %s/checkpoints/.work/sampler.* 2>/dev/null | wc -l)",
                   t->f.data);
    int status = system(command);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* What each of the samplers draws, twice, in an order in which none is used twice in a
 * row. */
static void run(fix *t, double out[SAMPLERS])
{
    double again[SAMPLERS];
    for (int i = 0; i < SAMPLERS; i++) {
        train(t);
        snapshot(t, i);
    }
    for (int i = 0; i < SAMPLERS; i++) {
        out[i] = draw(t, i, 1);
    }
    for (int i = 0; i < SAMPLERS; i++) {
        again[i] = draw(t, i, 2);
    }
    assert_memory_equal(out, again, sizeof(again));
    assert_true(out[0] != out[1] && out[1] != out[2] && out[2] != out[3]);
}

static void test_srv_adapters_wait_on_disk(void **state)
{
    fix t;
    double roomy[SAMPLERS], tight[SAMPLERS];
    char path[128];
    open_fix(&t, 0);
    run(&t, roomy);
    assert_int_equal(directories(&t), 0);
    srvfix_close(&t.f);
    open_fix(&t, 1);
    run(&t, tight);
    assert_memory_equal(roomy, tight, sizeof(tight));
    assert_int_equal(directories(&t), SAMPLERS); /* each had to leave once */
    (void)snprintf(path, sizeof(path), API "sessions/%s/finish", t.session);
    (void)srvfix_post(&t.f, path, "{}");
    srvfix_restart(&t.f, (srv_options){0}); /* removes the rest */
    assert_int_equal(directories(&t), 0);
    srvfix_close(&t.f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_adapters_wait_on_disk),
    };
    return cmocka_run_group_tests_name("srv_adapters", tests, NULL, NULL);
}
