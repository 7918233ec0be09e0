/* tokenize, detokenize and render with the real program: by directory and by name.
 * Links: client text server */
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "support/program.h"
#include "support/test.h"

#define MODEL     "tinkc/pebble-llama-2m"
#define DIRECTORY TEST_DATA_DIR "/../../models/pebble-llama-2m"
#define COMMIT    "0123456789abcdef0123456789abcdef01234567"

static const char chat[] = "[{\"role\":\"user\",\"content\":\"Hi\"},"
                           "{\"role\":\"assistant\",\"content\":\"Hello!\"}]";

static void open_program(program *p)
{
    program_open(p, TINKC_PROGRAM);
    program_env(p, "HF_HUB_OFFLINE=1");
    program_write_file(p, "chat.json", chat);
}

static void expect_out(const program *p, const char *text)
{
    if (p->code != 0) {
        fail_msg("exit code %d: %s", p->code, p->err.p);
    }
    assert_string_equal(p->out.p, text);
}

/* M-161: the model's own directory. */
static void test_text_directory(void **unused)
{
    program p;
    open_program(&p);
    program_run(&p, PROGRAM_ARGS("tokenize", "-t", DIRECTORY, "hello world"));
    expect_out(&p, "262 279 116 488 357\n");
    program_run(&p, PROGRAM_ARGS("detokenize", "-t", DIRECTORY, "[262, 279, 116]"));
    expect_out(&p, "hello");
    program_run(&p, PROGRAM_ARGS("render", "-t", DIRECTORY, "chat.json"));
    expect_out(&p, "<|endoftext|><|user|>Hi<|end|><|assistant|>Hello!<|end|>");
    program_run(&p, PROGRAM_ARGS("tokenize", "-m", DIRECTORY, "hello world"));
    expect_out(&p, "262 279 116 488 357\n");
    program_close(&p);
}

/* M-161: a model by its name, from the server. */
static void test_text_server(void **unused)
{
    program p;
    open_program(&p);
    program_run(&p, PROGRAM_ARGS("--local", "tokenize", "--model", MODEL, "hello world"));
    expect_out(&p, "262 279 116 488 357\n");
    program_run(&p, PROGRAM_ARGS("--local", "detokenize", "-m", MODEL, "262 279"));
    expect_out(&p, "hell");
    program_run(
        &p, PROGRAM_ARGS("--local", "render", "-m", MODEL, "--var", "x=1", "chat.json"));
    expect_out(&p, "<|endoftext|><|user|>Hi<|end|><|assistant|>Hello!<|end|>");
    program_close(&p);
}

static void copy_file(const program *p, const char *name)
{
    char from[512], to[512], *data = NULL;
    size_t n = 0;
    (void)snprintf(from, sizeof(from), DIRECTORY "/%s", name);
    (void)snprintf(to, sizeof(to), "%s/hub/models--org--m/snapshots/" COMMIT "/%s",
                   p->dir, name);
    assert_int_equal(tk_file_read(&data, &n, from, 16 * TK_MIB, NULL), TINKC_OK);
    char *parent = tk_file_parent(to);
    assert_int_equal(tk_file_mkdirs(parent, 0777, NULL), TINKC_OK);
    assert_int_equal(tk_file_replace(to, data, n, 0666, NULL), TINKC_OK);
    tk_free(parent);
    tk_free(data);
}

/* M-161: without a key or a server, from the cache of Hugging Face's programs. */
static void test_text_cache(void **unused)
{
    program p;
    char home[96];
    open_program(&p);
    (void)snprintf(home, sizeof(home), "HF_HOME=%s", p.dir);
    program_env(&p, home);
    copy_file(&p, "tokenizer.json");
    copy_file(&p, "tokenizer_config.json");
    assert_int_equal(mkdir(program_path(&p, "hub/models--org--m/refs"), 0777), 0);
    program_write_file(&p, "hub/models--org--m/refs/main", COMMIT);
    program_run(&p, PROGRAM_ARGS("tokenize", "-m", "org/m:peft:1", "hello world"));
    expect_out(&p, "262 279 116 488 357\n");
    program_run(&p, PROGRAM_ARGS("render", "-m", "org/m", "-g", "chat.json"));
    assert_int_equal(p.code, 0);
    program_close(&p);
}

/* M-161: models, options and files that are refused. */
static void test_text_refused(void **unused)
{
    program p;
    open_program(&p);
    program_run(&p, PROGRAM_ARGS("tokenize", "-m", "org/m", "a"));
    assert_int_equal(p.code, 1);
    assert_true(program_said(&p.err, "no tokenizer of org/m"));
    assert_true(program_said(&p.err, "the hub (offline)"));
    program_run(&p, PROGRAM_ARGS("tokenize", "-m", "org/m", "-t", DIRECTORY, "a"));
    assert_int_equal(p.code, 2);
    assert_true(program_said(&p.err, "not both"));
    program_run(&p, PROGRAM_ARGS("render", "chat.json"));
    assert_int_equal(p.code, 2);
    assert_true(program_said(&p.err, "--model"));
    program_run(&p, PROGRAM_ARGS("tokenize", "--base-url", "ftp://x", "-m", "a/b", "a"));
    assert_int_equal(p.code, 1);
    program_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_directory),
        cmocka_unit_test(test_text_server),
        cmocka_unit_test(test_text_cache),
        cmocka_unit_test(test_text_refused),
    };
    return cmocka_run_group_tests_name("cmd_text", tests, NULL, NULL);
}
