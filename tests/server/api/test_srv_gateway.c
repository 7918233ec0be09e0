/* The gateway inside the server, with its real engine: what an agent was answered is what
 * the Tinker API samples for the same ids, to the bit.
 * Links: wire gateway */
#include "server/restfix.h"

#define SAID "\"messages\":[{\"role\":\"user\",\"content\":\"Call me on Monday\"}]"

/* The only sequence of an episode. */
typedef struct exported {
    int64_t prompt[256], sampled[256];
    float logprobs[256];
    size_t n_prompt, n_sampled;
} exported;

static void export_episode(exported *out, srvfix *f, const char *id)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "/tinkc/v1/episodes/%s", id);
    const tk_json *json = srvfix_ask(f, "GET", path, NULL);
    assert_int_equal(f->status, 200);
    const tk_json *all = tk_json_get(json, "sequences");
    assert_int_equal(tk_json_len(all), 1);
    const tk_json sequence = tk_json_at(all, 0);
    const tk_json *tokens = tk_json_get(&sequence, "tokens");
    const tk_json *mask = tk_json_get(&sequence, "mask");
    const tk_json *logprobs = tk_json_get(&sequence, "logprobs");
    *out = (exported){.n_prompt = 0};
    assert_true(tk_json_len(tokens) < 256);
    for (size_t i = 0; i < tk_json_len(tokens); i++) {
        int64_t id_of = tk_json_at(tokens, i).as.integer;
        const tk_json score = tk_json_at(logprobs, i);
        double value = 0;
        if (tk_json_at(mask, i).as.integer == 0) {
            assert_int_equal(out->n_sampled, 0);
            out->prompt[out->n_prompt++] = id_of;
            continue;
        }
        assert_true(tk_json_to_double(&score, &value));
        out->logprobs[out->n_sampled] = (float)value;
        out->sampled[out->n_sampled++] = id_of;
    }
}

/* Samples the same ids over the Tinker API and compares. `weights` is a member of the
 * request. */
static void compare(srvfix *f, const exported *had, const char *weights, int max_tokens)
{
    tk_buf body;
    tk_buf_init(&body, TK_MIB);
    tk_buf_printf(&body,
                  "{%s,\"num_samples\":1,\"prompt\":{\"chunks\":[{\"type\":"
                  "\"encoded_text\",\"tokens\":[",
                  weights);
    for (size_t i = 0; i < had->n_prompt; i++) {
        tk_buf_printf(&body, "%s%lld", i > 0 ? "," : "", (long long)had->prompt[i]);
    }
    tk_buf_printf(&body, "]}]},\"sampling_params\":{\"max_tokens\":%d,\"seed\":7}}",
                  max_tokens);
    const tk_json *json =
        restfix_result(f, srvfix_post(f, "/api/v1/asample", tk_buf_cstr(&body)));
    tk_buf_dispose(&body);
    const tk_json sequence = tk_json_at(tk_json_get(json, "sequences"), 0);
    const tk_json *tokens = tk_json_get(&sequence, "tokens");
    const tk_json *logprobs = tk_json_get(&sequence, "logprobs");
    assert_int_equal(tk_json_len(tokens), had->n_sampled);
    for (size_t i = 0; i < had->n_sampled; i++) {
        const tk_json score = tk_json_at(logprobs, i);
        double value = 0;
        assert_true(tk_json_to_double(&score, &value));
        assert_int_equal(tk_json_at(tokens, i).as.integer, had->sampled[i]);
        assert_true((float)value == had->logprobs[i]);
    }
}

/* G-012: whole and streamed answers, of the base model and of a checkpoint. */
static void test_srv_gateway_samples_the_same(void **state)
{
    restfix t;
    char path[160], body[512], weights[256];
    exported whole, streamed;
    restfix_open(&t);
    restfix_save(&t, 1, "save_weights_for_sampler", "\"path\":\"agent\"");
    (void)snprintf(path, sizeof(path), "tinker://%s/sampler_weights/agent", t.run);
    for (int i = 0; i < 2; i++) {
        const char *model = i == 0 ? RESTFIX_MODEL : path;
        char episode[32], target[64];
        (void)snprintf(body, sizeof(body),
                       "{\"model\":\"%s\"," SAID ",\"max_tokens\":20,\"seed\":7}", model);
        (void)snprintf(episode, sizeof(episode), "whole-%d", i);
        (void)snprintf(target, sizeof(target), "/e/%s/v1/chat/completions", episode);
        (void)srvfix_post(&t.srv, target, body);
        assert_int_equal(t.srv.status, 200);
        export_episode(&whole, &t.srv, episode);
        (void)snprintf(weights, sizeof(weights), "\"%s\":\"%s\"",
                       i == 0 ? "base_model" : "model_path", model);
        compare(&t.srv, &whole, weights, 20);
        (void)snprintf(body, sizeof(body),
                       "{\"model\":\"%s\"," SAID
                       ",\"max_tokens\":20,\"seed\":7,\"stream\":true}",
                       model);
        (void)snprintf(episode, sizeof(episode), "streamed-%d", i);
        (void)snprintf(target, sizeof(target), "/e/%s/v1/chat/completions", episode);
        (void)srvfix_post(&t.srv, target, body);
        assert_int_equal(t.srv.status, 200);
        export_episode(&streamed, &t.srv, episode);
        assert_memory_equal(&streamed, &whole, sizeof(whole));
    }
    srvfix_close(&t.srv);
}

/* Episodes are there after a restart. */
static void test_srv_gateway_keeps_episodes(void **state)
{
    srvfix f;
    exported before, after;
    srvfix_open(&f, (srv_options){0});
    (void)srvfix_post(&f, "/e/kept/v1/messages",
                      "{\"model\":\"" RESTFIX_MODEL "\"," SAID ",\"max_tokens\":5}");
    assert_int_equal(f.status, 200);
    export_episode(&before, &f, "kept");
    srvfix_restart(&f, (srv_options){0});
    export_episode(&after, &f, "kept");
    assert_memory_equal(&before, &after, sizeof(after));
    const tk_json *line = srvfix_ask(&f, "GET", "/tinkc/v1/episodes?format=jsonl", NULL);
    assert_int_equal(f.status, 200);
    assert_string_equal(srvfix_text(line, "id"), "kept");
    (void)srvfix_ask(&f, "DELETE", "/tinkc/v1/episodes/kept", NULL);
    assert_null(srvfix_ask(&f, "GET", "/tinkc/v1/episodes?format=jsonl", NULL));
    assert_int_equal(f.status, 200); /* none is an empty answer */
    srvfix_close(&f);
}

/* G-013: log-probabilities of a prompt are those of the Tinker API, at temperature 1. */
static void test_srv_gateway_scores_prompts(void **state)
{
    srvfix f;
    srvfix_open(&f, (srv_options){0});
    const tk_json *json =
        srvfix_post(&f, "/v1/completions",
                    "{\"model\":\"" RESTFIX_MODEL
                    "\",\"prompt\":[5,7,9],\"max_tokens\":1,\"echo\":true,"
                    "\"logprobs\":1,\"temperature\":0}");
    assert_int_equal(f.status, 200);
    const tk_json choice = tk_json_at(tk_json_get(json, "choices"), 0);
    const tk_json *scores =
        tk_json_get(tk_json_get(&choice, "logprobs"), "token_logprobs");
    assert_int_equal(tk_json_len(scores), 4);
    json = restfix_result(
        &f, srvfix_post(&f, "/api/v1/asample",
                        "{\"base_model\":\"" RESTFIX_MODEL
                        "\",\"num_samples\":1,\"prompt\":{\"chunks\":[{\"type\":"
                        "\"encoded_text\",\"tokens\":[5,7,9]}]},\"sampling_params\":{"
                        "\"max_tokens\":1},\"prompt_logprobs\":true}"));
    const tk_json *wanted = tk_json_get(json, "prompt_logprobs");
    for (size_t i = 1; i < 3; i++) {
        double a = 0, b = 1;
        const tk_json one = tk_json_at(scores, i), other = tk_json_at(wanted, i);
        assert_true(tk_json_to_double(&one, &a) && tk_json_to_double(&other, &b));
        assert_true((float)a == (float)b);
    }
    srvfix_close(&f);
}

/* A model that is not there is named with those that are; a path that leads nowhere. */
static void test_srv_gateway_models(void **state)
{
    srvfix f;
    srvfix_open(&f, (srv_options){0});
    const tk_json *json =
        srvfix_post(&f, "/v1/chat/completions", "{\"model\":\"gpt-4\"," SAID "}");
    assert_int_equal(f.status, 404);
    assert_non_null(
        strstr(srvfix_text(tk_json_get(json, "error"), "message"), RESTFIX_MODEL));
    (void)srvfix_post(&f, "/v1/chat/completions",
                      "{\"model\":\"tinker://x:train:0/weights/n\"," SAID "}");
    assert_int_equal(f.status, 404);
    (void)srvfix_post(&f, "/v1/chat/completions", "{\"model\":\"tinker://x\"," SAID "}");
    assert_int_equal(f.status, 400);
    json = srvfix_post(&f, "/v1/chat/completions",
                       "{\"model\":\"\"," SAID ",\"max_tokens\":1}");
    assert_int_equal(f.status, 200);
    srvfix_close(&f);
}

/* G-019: beside stops, too: only they and the limit end it. */
static void test_srv_gateway_ignores_the_end(void **state)
{
    srvfix f;
    srvfix_open(&f, (srv_options){0});
    const tk_json *json = srvfix_post(
        &f, "/v1/completions",
        "{\"model\":\"" RESTFIX_MODEL "\",\"prompt\":[5],\"ignore_eos\":true,\"seed\":1,"
        "\"stop\":[\"never there\"],\"max_tokens\":400,\"return_token_ids\":true}");
    assert_int_equal(f.status, 200);
    const tk_json choice = tk_json_at(tk_json_get(json, "choices"), 0);
    assert_int_equal(tk_json_len(tk_json_get(&choice, "token_ids")), 400);
    assert_string_equal(srvfix_text(&choice, "finish_reason"), "length");
    json =
        srvfix_post(&f, "/v1/completions",
                    "{\"model\":\"" RESTFIX_MODEL
                    "\",\"prompt\":[5],\"ignore_eos\":true,\"seed\":1,\"stop\":[\"e\"],"
                    "\"max_tokens\":400}");
    assert_int_equal(f.status, 200);
    const tk_json cut = tk_json_at(tk_json_get(json, "choices"), 0);
    assert_string_equal(srvfix_text(&cut, "finish_reason"), "stop");
    srvfix_close(&f);
}

/* A character of several tokens is in the last of them: the console shows it, and no bytes
 * of it. */
static void test_srv_gateway_decodes_for_the_console(void **state)
{
    srvfix f;
    char ask[512];
    tk_buf ids;
    tk_json_writer w;
    srvfix_open(&f, (srv_options){0});
    const tk_json *json = srvfix_post(&f, "/v1/completions",
                                      "{\"model\":\"" RESTFIX_MODEL
                                      "\",\"prompt\":\"\\u05d0\",\"max_tokens\":0,"
                                      "\"return_token_ids\":true}");
    assert_int_equal(f.status, 200);
    const tk_json choice = tk_json_at(tk_json_get(json, "choices"), 0);
    const tk_json *list = tk_json_get(&choice, "prompt_token_ids");
    size_t n = tk_json_len(list);
    assert_true(n > 1);
    tk_buf_init(&ids, TK_KIB);
    tk_json_writer_init(&w, &ids);
    tk_json_put_value(&w, list);
    assert_non_null(tk_buf_cstr(&ids));
    (void)snprintf(ask, sizeof(ask), "{\"model\":\"" RESTFIX_MODEL "\",\"ids\":%s}",
                   ids.p);
    json = srvfix_post(&f, "/tinkc/v1/console/decode", ask);
    assert_int_equal(f.status, 200);
    const tk_json *texts = tk_json_get(json, "text");
    const tk_json last = tk_json_at(texts, n - 1), before = tk_json_at(texts, n - 2);
    assert_true(tk_str_is(last.as.string, "\xd7\x90"));
    assert_true(tk_str_is(before.as.string, ""));
    tk_buf_dispose(&ids);
    srvfix_close(&f);
}

/* The stop answers what is being sampled. */
static void test_srv_gateway_stops(void **state)
{
    srvfix f;
    httpget_response response;
    srvfix_open(&f, (srv_options){0});
    const httpget_request request = {
        .method = "POST",
        .target = "/v1/completions",
        .body = "{\"model\":\"" RESTFIX_MODEL
                "\",\"prompt\":[5],\"ignore_eos\":true,\"n\":64,\"stream\":true}"};
    httpget *connection = httpget_connect(srvfix_port(&f));
    assert_true(httpget_ask(connection, &request));
    assert_int_equal(httpget_status(connection), 200);
    srvfix_close(&f);
    (void)httpget_read(connection, &response);
    httpget_response_dispose(&response);
    httpget_close(&connection);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_gateway_samples_the_same),
        cmocka_unit_test(test_srv_gateway_keeps_episodes),
        cmocka_unit_test(test_srv_gateway_scores_prompts),
        cmocka_unit_test(test_srv_gateway_models),
        cmocka_unit_test(test_srv_gateway_ignores_the_end),
        cmocka_unit_test(test_srv_gateway_decodes_for_the_console),
        cmocka_unit_test(test_srv_gateway_stops),
    };
    return cmocka_run_group_tests_name("srv_gateway", tests, NULL, NULL);
}
