/* `tinkc sample` as a user runs it: prompts of every kind, every format, and what can go
 * wrong. M-157, C-087: text, file, tokens, conversations, JSON, streams.
 * Links: peer client text server */
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/modelfix.h"

#define MODEL MODELFIX_NAME
#define BASE  "sample", "-m", MODEL, "--max-tokens", "6", "--seed", "3"

/* Runs it and expects success; what it wrote, borrowed. */
static const char *run(modelfix *f, const char *const *args)
{
    program_run(&f->p, args);
    if (f->p.code != 0) {
        fail_msg("%d: %s", f->p.code, f->p.err.n > 0 ? f->p.err.p : "");
    }
    assert_int_equal(f->p.err.n, 0);
    return f->p.out.p;
}

static const tk_json *run_json(modelfix *f, const char *const *args)
{
    const tk_json *json = NULL;
    tk_err err = TK_ERR_INIT;
    const char *text = run(f, args);
    assert_int_equal(tk_json_parse(&json, &f->srv.arena, text, f->p.out.n, NULL, &err),
                     TINKC_OK);
    return json;
}

static char *keep(const char *text)
{
    char *copy = tk_strdup(text);
    assert_non_null(copy);
    return copy;
}

/* C-087, M-157: one prompt, however it is given, has one continuation. */
static void test_sample_prompts(void **state)
{
    static const char *const sources[][4] = {
        {"--file", "p.txt", NULL},
        {"--file", "p.json", NULL},
        {"--file", "p-object.json", NULL},
        {"--text", NULL},
        {NULL},
    };
    modelfix f;
    modelfix_open(&f, NULL);
    char *expected = keep(run(&f, PROGRAM_ARGS(BASE, "Once upon a time")));
    assert_true(strlen(expected) > 4);
    program_run(&f.p, PROGRAM_ARGS("tokenize", "-t",
                                   TEST_DATA_DIR "/../../models/pebble-llama-2m",
                                   "--format", "json", "Once upon a time"));
    assert_int_equal(f.p.code, 0);
    char *ids = keep(f.p.out.p);
    char object[256];
    (void)snprintf(object, sizeof(object), "{\"tokens\":%s}", ids);
    program_write_file(&f.p, "p.txt", "Once upon a time");
    program_write_file(&f.p, "p.json", ids);
    program_write_file(&f.p, "p-object.json", object);
    for (size_t i = 0; i < TK_ARRAY_LEN(sources); i++) {
        const char *args[16] = {BASE};
        for (size_t k = 0; sources[i][k] != NULL; k++) {
            args[7 + k] = sources[i][k];
        }
        f.p.input = i >= 3 ? "Once upon a time" : NULL;
        assert_string_equal(run(&f, args), expected);
    }
    f.p.input = NULL;
    assert_string_equal(run(&f, PROGRAM_ARGS(BASE, "--tokens", ids)), expected);
    assert_string_equal(run(&f, PROGRAM_ARGS(BASE, "--stream", "Once upon a time")),
                        expected);
    tk_free(expected);
    tk_free(ids);
    modelfix_close(&f);
}

/* C-087, M-157: what a user says goes through the chat template, and the answer ends
 * itself. */
static void test_sample_chat(void **state)
{
    modelfix f;
    modelfix_open(&f, NULL);
    assert_string_equal(run(&f, PROGRAM_ARGS("sample", "-m", MODEL, "--temperature", "0",
                                             "--chat", "What is 2 + 3?")),
                        "5\n");
    assert_int_equal(modelfix_finished(&f, "success"), 1);
    program_write_file(&f.p, "m.json",
                       "[{\"role\":\"user\",\"content\":\"What is 2 + 3?\"}]");
    assert_string_equal(run(&f, PROGRAM_ARGS("sample", "-m", MODEL, "--temperature", "0",
                                             "--messages", "m.json")),
                        "5\n");
    assert_string_equal(run(&f, PROGRAM_ARGS("sample", "-m", MODEL, "--temperature", "0",
                                             "-s", "--file", "m.json")),
                        "5\n");
    program_write_file(&f.p, "bad.json", "[{\"content\":3}, 4]");
    program_run(&f.p, PROGRAM_ARGS("sample", "-m", MODEL, "--messages", "bad.json"));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "Error: "));
    program_write_file(&f.p, "bad.json", "[");
    program_run(&f.p, PROGRAM_ARGS("sample", "-m", MODEL, "--messages", "bad.json"));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "Error: Invalid messages: JSON: "));
    assert_false(program_said(&f.p.err, "base URL")); /* no server was asked */
    f.p.input = "What\0?";
    f.p.input_n = 6;
    program_run(&f.p, PROGRAM_ARGS("sample", "-m", MODEL, "--chat"));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "NUL byte"));
    modelfix_close(&f);
}

/* M-157, C-087: one JSON document, a line per sample, or a line per token. */
static void test_sample_json(void **state)
{
    modelfix f;
    modelfix_open(&f, NULL);
    const tk_json *json = run_json(
        &f, PROGRAM_ARGS("--format", "json", BASE, "-n", "3", "--prompt-logprobs",
                         "--topk-prompt-logprobs", "2", "A little cat sat"));
    const tk_json *list = tk_json_get(json, "sequences");
    assert_int_equal(tk_json_len(list), 3);
    for (size_t i = 0; i < 3; i++) {
        const tk_json one = tk_json_at(list, i);
        size_t n = tk_json_len(tk_json_get(&one, "tokens"));
        assert_true(n >= 1 && n <= 6);
        assert_int_equal(tk_json_len(tk_json_get(&one, "logprobs")), n);
        (void)srvfix_text(&one, "text");
    }
    size_t n_prompt = tk_json_len(tk_json_get(json, "prompt_logprobs"));
    assert_true(n_prompt >= 3);
    assert_int_equal(tk_json_len(tk_json_get(json, "topk_prompt_logprobs")), n_prompt);
    assert_string_equal(srvfix_text(json, "type"), "sample");
    (void)run(&f, PROGRAM_ARGS("--format", "jsonl", BASE, "-n", "3", "A cat"));
    size_t lines = 0;
    for (const char *at = f.p.out.p; (at = strchr(at, '\n')) != NULL; at++) {
        lines++;
    }
    assert_int_equal(lines, 3);
    const char *stream = run(&f, PROGRAM_ARGS("--format", "jsonl", BASE, "-s", "A cat"));
    assert_non_null(strstr(stream, "{\"token\": "));
    assert_non_null(strstr(stream, "\"stop_reason\": \""));
    modelfix_close(&f);
}

/* M-075: what else can be asked about a sample, in JSON and as text. */
static void test_sample_scores(void **state)
{
    modelfix f;
    modelfix_open(&f, NULL);
    const tk_json *json =
        run_json(&f, PROGRAM_ARGS("--format", "json", BASE, "--topk-sample-logprobs", "3",
                                  "--prompt-alt-tokens", "2", "--prompt-logprobs-last-n",
                                  "1", "A little cat sat"));
    const tk_json one = tk_json_at(tk_json_get(json, "sequences"), 0);
    const tk_json *top = tk_json_get(&one, "topk_sampled_logprobs");
    assert_int_equal(tk_json_len(top), tk_json_len(tk_json_get(&one, "tokens")));
    const tk_json row = tk_json_at(top, 0);
    assert_int_equal(tk_json_len(&row), 3);
    assert_non_null(strstr(srvfix_text(&one, "sequence_id"), ":sample:"));
    const tk_json *prompt = tk_json_get(json, "prompt_logprobs");
    size_t n = tk_json_len(prompt);
    for (size_t i = 0; i < n; i++) {
        const tk_json value = tk_json_at(prompt, i);
        assert_int_equal(value.type == TK_JSON_NULL, i + 1 < n);
    }
    const tk_json *drawn = tk_json_get(tk_json_get(json, "prompt_alt_tokens"), "tokens");
    assert_int_equal(tk_json_len(tk_json_get(drawn, "data")), 2 * (n - 1));
    assert_string_equal(srvfix_text(drawn, "dtype"), "int64");
    json = run_json(&f, PROGRAM_ARGS("--format", "json", BASE, "A cat"));
    assert_null(tk_json_get(json, "prompt_alt_tokens"));
    const char *text =
        run(&f, PROGRAM_ARGS(BASE, "--topk-sample-logprobs", "2", "--temperature", "0",
                             "--chat", "What is 2 + 3?"));
    size_t lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++) {
        lines++;
    }
    assert_true(lines >= 6 && lines % 3 == 0); /* a token, and two under it */
    modelfix_close(&f);
}

/* M-158: a LoRA that is not trained, saved; what is saved can be sampled from. */
static void test_checkpoint_save(void **state)
{
    modelfix f;
    char *text = NULL;
    size_t n = 0;
    modelfix_open(&f, NULL);
    char *base = keep(run(&f, PROGRAM_ARGS(BASE, "A cat")));
    const tk_json *json = run_json(
        &f, PROGRAM_ARGS("checkpoint", "save", "-m", MODEL, "--rank", "2", "--seed", "7",
                         "--name", "zero", "-o", "saved.json", "--format", "json"));
    const char *path = srvfix_text(json, "weights_path");
    assert_string_equal(srvfix_text(json, "base_model"), MODEL);
    assert_non_null(strstr(path, "/sampler_weights/zero"));
    assert_true(program_read_file(&f.p, "saved.json", &text, &n));
    assert_non_null(strstr(text, path));
    tk_free(text);
    assert_string_equal(run(&f, PROGRAM_ARGS("sample", "-m", path, "--max-tokens", "6",
                                             "--seed", "3", "A cat")),
                        base); /* it changes nothing yet */
    tk_free(base);
    program_run(&f.p, PROGRAM_ARGS("checkpoint", "save", "-m", MODEL, "--rank", "0"));
    assert_int_equal(f.p.code, 2);
    program_run(&f.p, PROGRAM_ARGS("checkpoint", "save", "-m", MODEL, "--no-attn",
                                   "--no-mlp", "--no-unembed"));
    assert_int_equal(f.p.code, 2);
    program_run(&f.p, PROGRAM_ARGS("checkpoint", "save", "-m", "no/such"));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "no/such is not served here; served: " MODEL));
    modelfix_close(&f);
}

/* M-157: samples with headings, log-probabilities and stop texts; what a terminal
 * cannot show is replaced. */
static void test_sample_text(void **state)
{
    modelfix f;
    modelfix_open(&f, NULL);
    const char *text = run(&f, PROGRAM_ARGS(BASE, "-n", "2", "A cat"));
    assert_non_null(strstr(text, "Sample 1 ("));
    assert_non_null(strstr(text, "\nSample 2 ("));
    text = run(&f, PROGRAM_ARGS(BASE, "--logprobs", "--temperature", "0", "--chat",
                                "What is 2 + 3?"));
    assert_non_null(strstr(text, "  5\n"));
    assert_non_null(strstr(text, "<|end|>\n"));
    text = run(
        &f, PROGRAM_ARGS(BASE, "--stop", " time", "--temperature", "0", "Once upon a"));
    assert_null(strstr(text, "there"));
    f.p.columns = 40; /* a terminal, not of UTF-8 */
    program_env(&f.p, "LC_ALL=C");
    program_run(&f.p, PROGRAM_ARGS(BASE, "A cat"));
    assert_int_equal(f.p.code, 0);
    for (size_t i = 0; i < f.p.out.n; i++) {
        unsigned char c = (unsigned char)f.p.out.p[i];
        assert_true((c >= ' ' && c < 0x7f) || c == '\n' || c == '\r');
    }
    modelfix_close(&f);
}

static void test_sample_usage(void **state)
{
    static const struct {
        const char *const args[8];
        const char *words;
        int code;
    } cases[] = {
        {{"sample", "-m", MODEL, "a", "--topk-sample-logprobs", "-1", NULL},
         "--topk-sample-logprobs must be 0 or more.",
         2},
        {{"sample", "-m", MODEL, "a", "--prompt-alt-tokens=-1", NULL},
         "--prompt-alt-tokens must be 0 or more.",
         2},
        {{"sample", "-m", MODEL, "a", "-s", "--prompt-alt-tokens", "1", NULL},
         "--stream shows one sample",
         2},
        {{"sample", "-m", MODEL, "a", "--tokens", "1", NULL}, "Give one prompt", 2},
        {{"sample", "-m", MODEL, "--tokens", "1 x", NULL}, "not a list of ids", 2},
        {{"sample", "-m", MODEL, "--tokens", "", NULL}, "not a list of ids", 2},
        {{"sample", "-m", MODEL, "a", "-n", "0", NULL}, "-n must be 1 to", 2},
        {{"sample", "-m", MODEL, "a", "--max-tokens", "0", NULL}, "max_tokens", 2},
        {{"sample", "-m", MODEL, "a", "--temperature", "-1", NULL}, "temperature", 2},
        {{"sample", "-m", MODEL, "a", "--top-p", "2", NULL}, "top_p", 2},
        {{"sample", "-m", MODEL, "a", "-s", "-n", "2", NULL}, "--stream shows one", 2},
        {{"sample", "-m", MODEL, "a", "-s", "-fjson", NULL}, "--format jsonl", 2},
        {{"sample", "-m", MODEL, "--file", "none", NULL}, "cannot open none", 1},
        {{"sample", "-m", "no/such", "a", NULL},
         "no/such is not served here; served: ",
         1},
        {{"sample", "-m", "tinker://no/weights/a", "a", NULL}, "Cannot open", 1},
        {{"sample", "-m", MODEL, "", NULL}, "prompt", 1},
    };
    modelfix f;
    modelfix_open(&f, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        program_run(&f.p, cases[i].args);
        if (f.p.code != cases[i].code || !program_said(&f.p.err, cases[i].words)) {
            fail_msg("case %zu: %d: %s", i, f.p.code, f.p.err.n > 0 ? f.p.err.p : "");
        }
        assert_int_equal(f.p.out.n, 0);
    }
    modelfix_close(&f);
}

/* No server, no key, a bad key, a malformed answer, a closed pipe. */
static void test_sample_faults(void **state)
{
    program p;
    char url[MODELFIX_URL_BYTES];
    fakeapi *api = modelfix_peer(url, "tml-right");
    program_open(&p, TINKC_PROGRAM);
    program_env(&p, "TINKER_BASE_URL=http://127.0.0.1:1");
    program_run(&p, PROGRAM_ARGS("sample", "-m", "a/b", "--tokens", "1"));
    assert_int_equal(p.code, 1);
    assert_true(program_said(&p.err, "Error: Cannot open a/b: Connection failed"));
    assert_true(program_said(&p.err, "Hint: "));
    program_env(&p, "TINKER_BASE_URL=https://tinker.example");
    program_run(&p, PROGRAM_ARGS("sample", "-m", "a/b", "--tokens", "1"));
    assert_int_equal(p.code, 1);
    assert_true(program_said(&p.err, "TINKER_API_KEY"));
    program_env(&p, url);
    program_env(&p, "TINKER_API_KEY=tml-wrong");
    program_run(&p, PROGRAM_ARGS("sample", "-m", "a/b", "--tokens", "1"));
    assert_int_equal(p.code, 1);
    assert_true(program_said(&p.err, "Authentication failed"));
    assert_false(program_said(&p.err, "tml-wrong"));
    program_run(&p, PROGRAM_ARGS("sample", "-m", "a/b", "--tokens", "1 2", "--api-key",
                                 "tml-right", "--max-tokens", "2", "-fjson"));
    assert_int_equal(p.code, 0); /* without a tokenizer: tokens, and no text */
    assert_true(program_said(&p.out, "\"text\": null"));
    fakeapi_default(api, "POST", "/api/v1/create_sampling_session",
                    &fakeapi_json("{\"nonsense\": [1"));
    program_env(&p, "TINKER_API_KEY=tml-right");
    program_run(&p, PROGRAM_ARGS("sample", "-m", "a/b", "--tokens", "1"));
    assert_int_equal(p.code, 1);
    assert_true(program_said(&p.err, "Malformed response"));
    program_close(&p);
    fakeapi_stop(&api);
}

static void test_sample_closed_pipe(void **state)
{
    modelfix f;
    modelfix_open(&f, NULL);
    f.p.no_reader = true;
    program_run(&f.p, PROGRAM_ARGS(BASE, "A cat"));
    assert_int_equal(f.p.code, 1);
    assert_int_equal(f.p.err.n, 0); /* no message: the reader closed it */
    modelfix_close(&f);
}

/* The stop tokens of the only sample that the peer was asked for since. */
static void expect_stop(fakeapi *api, const char *expected)
{
    size_t n = fakeapi_count(api, "POST", "/api/v1/asample");
    assert_true(n > 0);
    const fakeapi_request *last = fakeapi_nth(api, "POST", "/api/v1/asample", n - 1);
    const char *stop = strstr((const char *)last->body, "\"stop\":");
    if (expected == NULL
            ? stop != NULL
            : stop == NULL || strncmp(stop, expected, strlen(expected)) != 0) {
        fail_msg("%s", (const char *)last->body);
    }
}

/* Another server: the tokenizer of the embedded model is known, that of another is named
 * by --tokenizer or lies where --model points to; its end token is sent as the stop, so
 * that servers that do not know it (SkyRL) stop there, unless something else is said. */
static void test_sample_other_server(void **state)
{
    static const char dir[] = TEST_DATA_DIR "/../../models/pebble-llama-2m";
    program p;
    char url[MODELFIX_URL_BYTES];
    char *text = NULL;
    fakeapi *api = modelfix_peer(url, NULL);
    program_open(&p, TINKC_PROGRAM);
    program_env(&p, url);
    program_env(&p, "HF_HUB_OFFLINE=1");
    program_run(&p, PROGRAM_ARGS(BASE, "Once"));
    assert_int_equal(p.code, 0);
    expect_stop(api, "\"stop\":[4]");
    program_run(&p, PROGRAM_ARGS(BASE, "--ignore-end", "Once"));
    assert_int_equal(p.code, 0);
    expect_stop(api, "\"stop\":[]"); /* without it servers stop at their own */
    program_run(&p, PROGRAM_ARGS(BASE, "--stop", "x", "Once"));
    assert_int_equal(p.code, 0);
    expect_stop(api, "\"stop\":[\"x\"]");
    program_run(&p, PROGRAM_ARGS("sample", "-m", "org/m", "Once"));
    assert_int_equal(p.code, 1);
    assert_true(program_said(&p.err, "no tokenizer of org/m"));
    program_run(&p, PROGRAM_ARGS("sample", "-m", "org/m", "--tokenizer", dir, "Once"));
    assert_int_equal(p.code, 0);
    expect_stop(api, "\"stop\":[4]");
    program_run(&p, PROGRAM_ARGS("sample", "-m", "org/m", "--tokenizer", "./no", "Once"));
    assert_int_equal(p.code, 1);
    assert_int_equal(mkdir(program_path(&p, "org"), 0700), 0);
    assert_int_equal(mkdir(program_path(&p, "org/m"), 0700), 0);
    assert_int_equal(tk_file_read(&text, NULL,
                                  TEST_DATA_DIR
                                  "/../../models/pebble-llama-2m/tokenizer.json",
                                  TK_MIB, NULL),
                     TINKC_OK);
    program_write_file(&p, "org/m/tokenizer.json", text);
    tk_free(text);
    program_run(&p, PROGRAM_ARGS("sample", "-m", "org/m", "Once"));
    assert_int_equal(p.code, 0);
    program_run(&p, PROGRAM_ARGS("sample", "-m", "./org/m", "Once"));
    assert_int_equal(p.code, 0);
    program_close(&p);
    fakeapi_stop(&api);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sample_other_server),
        cmocka_unit_test(test_sample_prompts),
        cmocka_unit_test(test_sample_chat),
        cmocka_unit_test(test_sample_json),
        cmocka_unit_test(test_sample_text),
        cmocka_unit_test(test_sample_scores),
        cmocka_unit_test(test_sample_usage),
        cmocka_unit_test(test_sample_faults),
        cmocka_unit_test(test_sample_closed_pipe),
        cmocka_unit_test(test_checkpoint_save),
    };
    return cmocka_run_group_tests_name("cmd_sample", tests, NULL, NULL);
}
