/* What -m and the operands of the checkpoint commands mean: directories with --local,
 * names of models and checkpoints, steps, the start of an id; and what may be two things.
 * Links: client text server */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/clifix.h"
#include "cli/dirfix.h"
#include "cli/modelfix.h"

#define WAIT_MS 60000
#define SAMPLE  "--max-tokens", "1", "One,"

/* ---- a real server: models and directories ---- */

static void expect(program *p, int code, const char *text)
{
    if (p->code != code ||
        (strstr(p->err.p, text) == NULL && !program_said(&p->out, text))) {
        fail_msg("%d instead of %d, without '%s': %s %s", p->code, code, text, p->out.p,
                 p->err.p);
    }
}

/* A directory is served for the command; the next one, with a new server, finds the model
 * and its checkpoints again. */
static void test_resolve_directory(void **state)
{
    program p;
    program_open(&p, TINKC_PROGRAM);
    dirfix_make(&p, "small");
    program_write_file(&p, "orders.jsonl",
                       "{\"prompt\":\"One,\",\"completion\":\" two\"}\n");
    program_run(&p, PROGRAM_ARGS("--local", "sample", "-m", "./small", SAMPLE));
    expect(&p, 0, "");
    program_run(&p, PROGRAM_ARGS("--local", "train", "orders.jsonl", "-m", "small/",
                                 "--steps", "2", "--rank", "2"));
    expect(&p, 0, "/sampler_weights/orders");
    program_run(&p, PROGRAM_ARGS("--local", "sample", "-m", "orders", SAMPLE));
    expect(&p, 0, "");
    program_run(&p, PROGRAM_ARGS("--local", "weights-info", "orders", "-f", "json"));
    expect(&p, 0, "\"base_model\": \"small\"");
    program_run(&p, PROGRAM_ARGS("--local", "sample", "-m", "small", SAMPLE));
    expect(&p, 0, "");
    program_run(&p, PROGRAM_ARGS("--local", "train", "orders.jsonl", "--load", "orders",
                                 "-m", "small", "--steps", "1", "--save", "more"));
    expect(&p, 0, "/sampler_weights/more");
    program_run(&p, PROGRAM_ARGS("--local", "checkpoint", "download", "orders"));
    expect(&p, 0, "/orders");
    assert_int_equal(access(program_path(&p, "orders/adapter_config.json"), F_OK), 0);
    program_run(&p, PROGRAM_ARGS("--local", "checkpoint", "delete", "-y", "orders"));
    expect(&p, 1, "'orders' may be tinker://");
    program_close(&p);
}

/* A directory that is not a model, and one whose name is that of a served model. */
static void test_resolve_bad_directory(void **state)
{
    program p;
    program_open(&p, TINKC_PROGRAM);
    assert_int_equal(mkdir(program_path(&p, "empty"), 0755), 0);
    program_run(&p, PROGRAM_ARGS("--local", "sample", "-m", "./empty", SAMPLE));
    expect(&p, 1, "./empty is not a model: it has no config.json");
    assert_int_equal(mkdir(program_path(&p, "tinkc"), 0755), 0);
    dirfix_make(&p, "tinkc/pebble-llama-2m");
    program_run(&p, PROGRAM_ARGS("--local", "sample", "-m", MODELFIX_NAME, SAMPLE));
    expect(&p, 1, "'" MODELFIX_NAME "' is a directory here and a model that is served");
    program_run(&p, PROGRAM_ARGS("--local", "sample", "-m", "./" MODELFIX_NAME, SAMPLE));
    expect(&p, 0, "");
    /* another directory of the same name: both cannot be served */
    assert_int_equal(mkdir(program_path(&p, "other"), 0755), 0);
    dirfix_make(&p, "other/pebble-llama-2m");
    program_start(&p, PROGRAM_ARGS("--local", "chat", "-m", "./" MODELFIX_NAME));
    program q;
    char xdg[128];
    program_open(&q, TINKC_PROGRAM);
    (void)snprintf(xdg, sizeof(xdg), "XDG_DATA_HOME=%s/data", p.dir);
    program_env(&q, xdg);
    int64_t end_ms = tk_clock_mono_ms(NULL) + WAIT_MS;
    while (access(program_path(&p, "data/tinkc/tinkc.key"), F_OK) != 0) {
        assert_true(tk_clock_mono_ms(NULL) < end_ms);
        (void)usleep(2000);
    }
    program_run(&q, PROGRAM_ARGS("--local", "sample", "-m",
                                 program_path(&p, "tinkc/pebble-llama-2m"), SAMPLE));
    expect(&q, 0, ""); /* the same files */
    program_run(&q, PROGRAM_ARGS("--local", "sample", "-m",
                                 program_path(&p, "other/pebble-llama-2m"), SAMPLE));
    expect(&q, 1, "\"pebble-llama-2m\" is used for another model");
    program_end(&p);
    program_close(&q);
    program_close(&p);
}

/* The only model needs no name; of two, one must be chosen. */
static void test_resolve_only_model(void **state)
{
    modelfix f;
    modelfix_open(&f, NULL);
    program_run(&f.p, PROGRAM_ARGS("sample", SAMPLE));
    expect(&f.p, 0, "");
    program_run(&f.p, PROGRAM_ARGS("checkpoint", "save", "--rank", "1"));
    expect(&f.p, 0, "/sampler_weights/initial");
    program_run(&f.p, PROGRAM_ARGS("sample", "-m", "initial", SAMPLE));
    expect(&f.p, 0, "");
    program_run(&f.p, PROGRAM_ARGS("sample", "-m", "initia", SAMPLE));
    expect(
        &f.p, 1,
        "initia is neither a checkpoint nor a model that is served here; served: " MODELFIX_NAME
        "\nHint: Did you mean 'initial'?");
    program_run(&f.p, PROGRAM_ARGS("sample", "-m", "initial@3", SAMPLE));
    expect(&f.p, 1, "checkpoint list' shows the steps of initial.");
    program_run(&f.p, PROGRAM_ARGS("sample", "-m", "bookings", SAMPLE));
    expect(&f.p, 1, "checkpoint list' show yours.");
    f.p.input = "/model initia\n";
    program_run(&f.p, PROGRAM_ARGS("chat"));
    expect(&f.p, 1, "Hint: Did you mean 'initial'?");
    f.p.input = NULL;
    program_run(&f.p, PROGRAM_ARGS("checkpoint", "save", "-m", "initia"));
    expect(&f.p, 1, "initia is not served here; served: " MODELFIX_NAME);
    const srv_pair alias = {"initial", MODELFIX_NAME};
    srvfix_restart(&f.srv, (srv_options){.aliases = &alias, .n_aliases = 1});
    (void)snprintf(f.url, sizeof(f.url), "TINKER_BASE_URL=%s", srv_url(f.srv.server));
    program_env(&f.p, f.url);
    program_run(&f.p, PROGRAM_ARGS("sample", SAMPLE));
    expect(&f.p, 2, "Missing option '--model': the server has 2 models");
    program_run(&f.p, PROGRAM_ARGS("sample", "-m", "initial", SAMPLE));
    expect(&f.p, 1, "'initial' is a model that is served and the checkpoint tinker://");
    modelfix_close(&f);
}

/* ---- a scripted server: which checkpoint ---- */

#define ROW(run, id, time)                                                               \
    "{\"checkpoint_id\":\"" id "\",\"checkpoint_type\":\"training\",\"time\":\"" time    \
    "\",\"tinker_path\":\"tinker://" run "/" id "\"}"
#define OLD  "aaaa1111:train:0"
#define NEW  "bbbb2222:train:0"
#define LIKE "bbbb3333:train:0"

#define ORDERS_OLD                                                                       \
    ROW(OLD, "weights/orders", "2024-01-01T00:00:00Z")                                   \
    "," ROW(OLD, "sampler_weights/orders", "2024-01-01T00:00:01Z")
#define ORDERS_NEW                                                                       \
    ROW(NEW, "weights/orders", "2024-02-01T00:00:00Z")                                   \
    "," ROW(NEW, "sampler_weights/orders", "2024-01-31T00:00:00Z")
#define STEPS                                                                            \
    ROW(NEW, "weights/orders-000040", "2024-01-20T00:00:00Z")                            \
    "," ROW(NEW, "weights/orders-000050", "2024-01-21T00:00:00Z")
#define SINGLE ROW(LIKE, "weights/single", "2024-03-01T00:00:00Z")
#define CURSOR "\"cursor\":{\"offset\":0,\"limit\":100,\"total_count\":7}"

static const char rows[] =
    "{\"checkpoints\":[" ORDERS_OLD "," ORDERS_NEW "," STEPS "," SINGLE "]," CURSOR "}";

static void test_resolve_checkpoints(void **state)
{
    static const struct {
        const char *typed, *path; /* or the error */
        int code;
    } cases[] = {
        {"orders", "tinker://" NEW "/sampler_weights/orders", 0},
        {"orders@latest", "tinker://" NEW "/sampler_weights/orders", 0},
        {"orders@40", "tinker://" NEW "/weights/orders-000040", 0},
        {"orders-000050", "tinker://" NEW "/weights/orders-000050", 0},
        {"orders@41", "Checkpoint not found: orders@41", 1},
        {"order", "Checkpoint not found: order", 1},
        {"aaaa", "tinker://" OLD "/sampler_weights/orders", 0},
        {"aaa", "Checkpoint not found: aaa", 1},
        {"bbbb", "'bbbb' may be tinker://" NEW, 1},
        {"bbbb2", "tinker://" NEW "/sampler_weights/orders", 0},
        {"aaaa/orders", "tinker://" OLD "/sampler_weights/orders", 0},
        {"aaaa/weights/orders", "tinker://" OLD "/weights/orders", 0},
        {"weights/single", "tinker://" LIKE "/weights/single", 0},
        {"sampler_weights/orders", "tinker://" NEW "/sampler_weights/orders", 0},
        {"sampler_weights/single", "Checkpoint not found: sampler_weights/single", 1},
        {OLD "/weights/orders", "tinker://" OLD "/weights/orders", 0},
        {"bbbb/single", "tinker://" LIKE "/weights/single", 0},
        {"bbbb/orders@50", "tinker://" NEW "/weights/orders-000050", 0},
        {"cccc/orders", "Checkpoint not found: cccc/orders", 1},
    };
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "GET", CLI_API "checkpoints", &fakeapi_json(rows));
    fakeapi_default(f.api, "POST", CLI_API "weights_info",
                    &fakeapi_json("{\"base_model\":\"m\",\"is_lora\":false}"));
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        char line[128], title[256];
        (void)snprintf(line, sizeof(line), "weights-info %s", cases[i].typed);
        if (cases[i].code != 0) {
            clifix_refused(&f, line, cases[i].code, cases[i].path);
            continue;
        }
        proc *p = clifix_run(&f, line);
        (void)snprintf(title, sizeof(title), "Weights: %s\n", cases[i].path);
        if (p->status != 0 || strstr(proc_out(p), title) == NULL) {
            fail_msg("%s: %d %s", cases[i].typed, p->status, proc_out(p));
        }
        proc_free(&p);
    }
    /* a name that two have is not enough to delete */
    clifix_refused(&f, "checkpoint delete -y orders", 1, "'orders' may be tinker://");
    clifix_refused(&f, "checkpoint delete -y single@3", 1, "Checkpoint not found");
    clifix_end(&f);
}

static void test_resolve_runs(void **state)
{
    clifix f;
    clifix_begin(&f);
    proc *p = clifix_run(&f, "run info S:tr");
    assert_int_equal(p->status, 0);
    assert_non_null(strstr(proc_out(p), "Training Run: " CLI_RUN));
    proc_free(&p);
    p = clifix_run(&f, "checkpoint list --run-id S:tr");
    assert_int_equal(p->status, 0);
    assert_non_null(strstr(proc_out(p), "2 checkpoints for run " CLI_RUN));
    proc_free(&p);
    clifix_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resolve_directory),
        cmocka_unit_test(test_resolve_bad_directory),
        cmocka_unit_test(test_resolve_only_model),
        cmocka_unit_test(test_resolve_checkpoints),
        cmocka_unit_test(test_resolve_runs),
    };
    return cmocka_run_group_tests_name("cmd_resolve", tests, NULL, NULL);
}
