/* the programs of examples/ are built as a user would build them, and do what they
 * say against the scripted peer.
 * Links: peer */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fakeapi_tinker.h"
#include "support/test.h"

#define SAID_BYTES 4096

/* Runs an example on the peer's URL; returns its exit status. `said` is its stdout. */
static int run_example(fakeapi *api, const char *name, char said[SAID_BYTES])
{
    char path[512], url[128];
    (void)snprintf(path, sizeof(path), "%s/%s", EXAMPLES_DIR, name);
    (void)snprintf(url, sizeof(url), "TINKER_BASE_URL=%s", fakeapi_url(api));
    char key[] = "TINKER_API_KEY=tml-example", no_proxy[] = "NO_PROXY=127.0.0.1";
    char *argv[] = {path, NULL};
    char *envp[] = {url, key, no_proxy, NULL};
    int ends[2];
    pid_t child = 0;
    posix_spawn_file_actions_t actions;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, ends[1], 1), 0);
    assert_int_equal(posix_spawn(&child, path, &actions, NULL, argv, envp), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    size_t n = 0;
    ssize_t got;
    while ((got = read(ends[0], said + n, SAID_BYTES - 1 - n)) > 0) {
        n += (size_t)got;
    }
    said[n] = '\0';
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The peer's loss falls by rule: 2 / (1 + steps taken). */
static void test_examples_train(void **unused)
{
    (void)unused;
    static const char *const kinds[] = {
        "create_model", "forward_backward", "optim_step", "forward_backward",
        "optim_step",   "forward_backward", "optim_step", "forward_backward",
        "optim_step",   "forward_backward", "optim_step", "save_weights_for_sampler",
        "sample"};
    char said[SAID_BYTES];
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, &(fakeapi_tinker_options){.strict = true});
    assert_int_equal(run_example(api, "train", said), 0);
    assert_string_equal(said, "step 0  loss 2.0000\n"
                              "step 1  loss 1.0000\n"
                              "step 2  loss 0.6667\n"
                              "step 3  loss 0.5000\n"
                              "step 4  loss 0.4000\n"
                              "sampled 12 13 14 15\n");
    assert_int_equal(fakeapi_tinker_ops(api, NULL), TK_ARRAY_LEN(kinds));
    for (size_t i = 0; i < TK_ARRAY_LEN(kinds); i++) {
        fakeapi_tinker_op op;
        assert_true(fakeapi_tinker_op_at(api, NULL, i, &op));
        assert_string_equal(op.kind, kinds[i]);
    }
    fakeapi_stop(&api);
}

/* The guide to managing: lists, a stream (here without one at the server), a raw request.
 */
static void test_examples_manage(void **unused)
{
    (void)unused;
    char said[SAID_BYTES];
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    fakeapi_default(api, "GET", "/api/v1/checkpoints",
                    &fakeapi_json("{\"checkpoints\":[{\"checkpoint_id\":\"weights/1\","
                                  "\"checkpoint_type\":\"training\",\"time\":"
                                  "\"2026-01-01T00:00:00Z\",\"tinker_path\":"
                                  "\"tinker://r/weights/1\",\"size_bytes\":7}]}"));
    fakeapi_default(api, "GET", "/api/v1/healthz", &fakeapi_json("{\"status\":\"ok\"}"));
    assert_int_equal(run_example(api, "manage", said), 0);
    assert_string_equal(said, "tinker://r/weights/1  7 bytes\n"
                              "tokens 14 15 16 17 (length)\n"
                              "status 200\n");
    fakeapi_stop(&api);
}

/* What a user sees when the server refuses. */
static void test_examples_train_fails(void **unused)
{
    (void)unused;
    char said[SAID_BYTES];
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    fakeapi_reply(api, "POST", "*/create_model", &fakeapi_detail(403, "not yours"));
    assert_int_equal(run_example(api, "train", said), 1);
    assert_string_equal(said, "");
    fakeapi_stop(&api);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples_train),
        cmocka_unit_test(test_examples_train_fails),
        cmocka_unit_test(test_examples_manage),
    };
    return cmocka_run_group_tests_name("examples", tests, NULL, NULL);
}
