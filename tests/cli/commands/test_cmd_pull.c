/* `tinkc pull` against a scripted hub, and what finds the model afterwards: `tinkc serve NAME`
 * and `-m NAME --local`.
 * Links: client text server */
#include <signal.h>

#include "base/buf.h"
#include "base/clock.h"
#include "support/program.h"
#include "support/pullfix.h"

#define WAIT_MS 60000

typedef struct fix {
    pullfix pull;
    program p;
    char endpoint[96], cache[96];
} fix;

static void begin(fix *f)
{
    pullfix_open(&f->pull);
    program_open(&f->p, TINKC_PROGRAM);
    (void)snprintf(f->endpoint, sizeof(f->endpoint), "HF_ENDPOINT=%s",
                   fakeapi_url(f->pull.hub));
    (void)snprintf(f->cache, sizeof(f->cache), "HF_HUB_CACHE=%s", f->pull.dir);
    program_env(&f->p, f->endpoint);
    program_env(&f->p, f->cache);
    program_env(&f->p, "HF_HUB_OFFLINE=0");
}

static void end(fix *f)
{
    program_close(&f->p);
    pullfix_close(&f->pull);
}

static void expect(fix *f, int code, const char *text)
{
    if (f->p.code != code ||
        (!program_said(&f->p.out, text) && !program_said(&f->p.err, text))) {
        fail_msg("%d instead of %d, without '%s': %s %s", f->p.code, code, text,
                 f->p.out.p, f->p.err.p);
    }
}

static void test_pull_command(void **state)
{
    fix f;
    begin(&f);
    program_run(&f.p, PROGRAM_ARGS("pull", "org/m"));
    expect(&f, 0, PULLFIX_SNAP "\n");
    pullfix_whole(&f.pull);
    program_run(&f.p, PROGRAM_ARGS("pull", "org/m", "-o", "here", "-f", "json"));
    expect(&f, 0, "\"files\": 2");
    assert_int_equal(access(program_path(&f.p, "here/model.safetensors"), F_OK), 0);
    program_run(&f.p, PROGRAM_ARGS("pull", "org/none"));
    expect(&f, 1, "Cannot pull org/none: ");
    expect(&f, 1, "Hint: Check the name");
    program_env(&f.p, "HF_ENDPOINT=http://127.0.0.1:1"); /* nothing can have arrived */
    program_run(&f.p, PROGRAM_ARGS("pull", "org/m"));
    expect(&f, 1, "Hint: Check the network, the proxy (HTTPS_PROXY) and the hub");
    program_env(&f.p, f.endpoint);
    program_run(&f.p, PROGRAM_ARGS("pull", "../x"));
    expect(&f, 1, "not the name of a model");
    program_run(&f.p, PROGRAM_ARGS("pull", "org/m", "--revision", "a/../b"));
    expect(&f, 1, "not a revision");
    program_env(&f.p, "HF_HUB_OFFLINE=1");
    program_run(&f.p, PROGRAM_ARGS("pull", "org/m"));
    expect(&f, 1, "HF_HUB_OFFLINE");
    end(&f);
}

/* Ctrl-C, and kill -9: the next command goes on where the last one was. */
static void test_pull_interrupted(void **state)
{
    static const int signals[] = {SIGINT, SIGKILL};
    for (size_t i = 0; i < TK_ARRAY_LEN(signals); i++) {
        fix f;
        begin(&f);
        fakeapi_reply(f.pull.hub, "GET", PULLFIX_WEIGHTS,
                      &(fakeapi_step){.body = f.pull.weights,
                                      .body_n = PULLFIX_BYTES,
                                      .fault = FAKEAPI_STALL_BODY,
                                      .cut = 65536});
        program_start(&f.p, PROGRAM_ARGS("pull", "org/m"));
        int64_t end_ms = tk_clock_mono_ms(NULL) + WAIT_MS;
        while (pullfix_size(&f.pull, pullfix_partial(&f.pull)) < 65536) {
            assert_true(tk_clock_mono_ms(NULL) < end_ms);
            (void)usleep(2000);
        }
        assert_int_equal(kill(f.p.pid, signals[i]), 0);
        program_end(&f.p);
        assert_int_equal(f.p.code, signals[i] == SIGINT ? 130 : 128 + SIGKILL);
        assert_int_equal(pullfix_size(&f.pull, pullfix_partial(&f.pull)), 65536);
        pullfix_range(&f.pull, 65536);
        program_run(&f.p, PROGRAM_ARGS("pull", "org/m"));
        expect(&f, 0, PULLFIX_SNAP);
        pullfix_whole(&f.pull);
        end(&f);
    }
}

/* ---- a model that works ---- */

/* The hub has the files of the embedded model. */
static void serve_model(fix *f)
{
    static const char *const names[] = {"config.json", "generation_config.json",
                                        "model.safetensors", "tokenizer.json",
                                        "tokenizer_config.json"};
    tk_buf list;
    tk_buf_init(&list, 64 * TK_KIB);
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        char path[512], entry[512], sha[TK_SHA256_HEX_BYTES], *data = NULL;
        size_t n = 0;
        (void)snprintf(path, sizeof(path), "%s/../../models/pebble-llama-2m/%s",
                       TEST_DATA_DIR, names[i]);
        assert_int_equal(tk_file_read(&data, &n, path, 64 * TK_MIB, NULL), TINKC_OK);
        assert_int_equal(tk_sha256_hex(sha, data, n, NULL), TINKC_OK);
        pullfix_entry(entry, sizeof(entry), names[i], (long long)n, sha);
        tk_buf_printf(&list, "%s%s", i > 0 ? "," : "", entry);
        (void)snprintf(path, sizeof(path), PULLFIX_RESOLVE "%s", names[i]);
        fakeapi_default(f->pull.hub, "GET", path,
                        &(fakeapi_step){.body = data, .body_n = n});
        tk_free(data);
    }
    pullfix_list(&f->pull, tk_buf_cstr(&list));
    tk_buf_dispose(&list);
}

static void test_pull_then_use(void **state)
{
    fix f;
    begin(&f);
    serve_model(&f);
    program_run(&f.p, PROGRAM_ARGS("serve", "--port", "0", "org/m"));
    expect(&f, 1, "no model of that name in the cache of the hub");
    program_run(&f.p, PROGRAM_ARGS("--local", "sample", "-m", "org/m", "One,"));
    expect(&f, 1, "org/m is not served here");
    program_run(&f.p, PROGRAM_ARGS("pull", "org/m"));
    expect(&f, 0, PULLFIX_SNAP);
    program_run(&f.p, PROGRAM_ARGS("--local", "sample", "-m", "org/m", "--max-tokens",
                                   "2", "One,"));
    expect(&f, 0, "");
    program_start(&f.p, PROGRAM_ARGS("serve", "--port", "0", "org/m"));
    assert_true(program_wait_text(&f.p, false, "listening on "));
    assert_int_equal(kill(f.p.pid, SIGTERM), 0);
    program_end(&f.p);
    assert_int_equal(f.p.code, 0);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pull_command),
        cmocka_unit_test(test_pull_interrupted),
        cmocka_unit_test(test_pull_then_use),
    };
    return cmocka_run_group_tests_name("cmd_pull", tests, NULL, NULL);
}
