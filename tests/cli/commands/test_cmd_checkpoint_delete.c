/* `tinkc checkpoint delete`: what is chosen, what is asked, what happens when a part
 * fails, and that many are deleted at once. */
#include <signal.h>

#include "cli/clifix.h"

#define OF_RUN CLI_RUNS "/" CLI_RUN "/checkpoints/"

static size_t deletions(clifix *f)
{
    return fakeapi_count(f->api, "DELETE", OF_RUN "*");
}

static void allow(clifix *f)
{
    fakeapi_default(f->api, "DELETE", OF_RUN "*", &(fakeapi_step){.status = 204});
}

/* C-052: wrong command lines are refused before anything is sent. */
static void test_cli_delete_refuses(void **unused)
{
    clifix f;
    clifix_begin(&f);
    clifix_refused(&f, "checkpoint delete", 2,
                   "Must specify checkpoint paths or --run-id.");
    clifix_refused(&f, "checkpoint delete " CLI_ONE " --run-id r", 2,
                   "Cannot specify both");
    clifix_refused(&f, "checkpoint delete " CLI_ONE " --type weights", 2,
                   "--type, --before, and --after require --run-id.");
    clifix_refused(&f, "checkpoint delete --run-id r --type x", 2,
                   "is not one of weights|");
    clifix_refused(&f, "checkpoint delete --run-id r --before soon", 2,
                   "Invalid date: soon");
    clifix_refused(&f, "checkpoint delete -y " CLI_ONE " tinker:nothing", 2,
                   "Invalid checkpoint path: tinker:nothing");
    assert_int_equal(fakeapi_total(f.api), 0);
    clifix_end(&f);
}

/* M-155, C-011, C-053: asks on standard error; anything but yes keeps everything, and so
 * does the end of input, as an error. */
static void test_cli_delete_asks(void **unused)
{
    clifix f;
    clifix_begin(&f);
    allow(&f);
    f.options.input = "no\n";
    proc *p = clifix_run(&f, "checkpoint delete " CLI_ONE);
    assert_string_equal(proc_out(p), "Deletion cancelled.\n");
    assert_string_equal(proc_err(p),
                        "Will delete 1 checkpoint(s):\n  - " CLI_ONE "\n\n"
                        "WARNING: This action is permanent and cannot be undone.\n"
                        "Are you sure you want to delete 1 checkpoint(s)? [y/N]: ");
    assert_int_equal(p->status, 0);
    proc_free(&p);
    f.options.input = NULL;
    clifix_refused(&f, "checkpoint delete " CLI_ONE, 1,
                   "Error: Nothing was deleted: there was no answer\nHint: Use --yes");
    assert_int_equal(deletions(&f), 0);
    f.options.input = "y\n";
    p = clifix_run(&f, "checkpoint delete -f json --run-id " CLI_RUN);
    assert_string_equal(proc_out(p), "{\n  \"deleted_count\": 2,\n  \"failed\": []\n}\n");
    assert_non_null(
        strstr(proc_err(p), "  - " CLI_ONE " (1.5 KB, created 2024-07-13)\n"));
    assert_non_null(strstr(proc_err(p), "  - " CLI_TWO " (N/A, created 2024-07-14)\n"));
    assert_non_null(strstr(proc_err(p), "\nTotal size: 1.5 KB\n"));
    proc_free(&p);
    assert_int_equal(deletions(&f), 2);
    clifix_end(&f);
}

/* M-155, C-051: type and dates, which are strict and UTC. */
static void test_cli_delete_filters(void **unused)
{
    static const struct {
        const char *line;
        const char *deleted; /* NULL: nothing */
    } cases[] = {
        {"--type weights", "weights/0001"},
        {"--type training", "weights/0001"},
        {"--type sampler", "sampler_weights/two"},
        {"--type sampler_weights", "sampler_weights/two"},
        {"--before 2024-07-14", "weights/0001"},
        {"--after 2024-07-13T08:00:00Z", "sampler_weights/two"},
        {"--after 2024-07-13 --before 2024-07-13T08:00:01Z", "weights/0001"},
        {"--before 2024-07-13T08:00:00Z", NULL},
        {"--type sampler --before 2024-07-14", NULL},
    };
    clifix f;
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        char line[256], route[256];
        clifix_begin(&f);
        allow(&f);
        (void)snprintf(line, sizeof(line),
                       "checkpoint delete --yes --run-id " CLI_RUN " %s", cases[i].line);
        if (cases[i].deleted != NULL) {
            clifix_expect(&f, line, "Deleted 1 checkpoint(s)\n");
            (void)snprintf(route, sizeof(route), OF_RUN "%s", cases[i].deleted);
            assert_int_equal(fakeapi_count(f.api, "DELETE", route), 1);
        } else {
            clifix_expect(&f, line,
                          "No checkpoints found for run " CLI_RUN " matching filters\n");
        }
        assert_int_equal(deletions(&f), cases[i].deleted != NULL);
        clifix_end(&f);
    }
}

/* M-155, M-156, C-007, C-054, C-055, C-091: one failure does not stop the others, and the
 * exit code says so. */
static void test_cli_delete_in_part(void **unused)
{
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "DELETE", OF_RUN "weights/0001",
                    &fakeapi_detail(403, "not yours"));
    allow(&f);
    proc *p = clifix_run(&f, "checkpoint delete -y " CLI_ONE " " CLI_TWO);
    assert_string_equal(proc_out(p),
                        "Deleted 1 checkpoint(s)\nFailed to delete 1 checkpoint(s):\n"
                        "  - " CLI_ONE ": HTTP 403: not yours\n");
    assert_int_equal(p->status, 1);
    proc_free(&p);
    p = clifix_run(&f, "checkpoint delete -y -f jsonl " CLI_ONE " " CLI_TWO);
    assert_string_equal(proc_out(p),
                        "{\"deleted_count\": 1, \"failed\": [{\"tinker_path\": \"" CLI_ONE
                        "\", \"error\": \"HTTP 403: not yours\"}]}\n");
    assert_int_equal(p->status, 1);
    proc_free(&p);
    clifix_end(&f);
}

static void reply_many(clifix *f, size_t n)
{
    fakeapi_bytes body = {0};
    fakeapi_bytes_puts(&body, "{\"checkpoints\":[");
    for (size_t i = 0; i < n; i++) {
        fakeapi_bytes_printf(&body,
                             "%s{\"checkpoint_id\":\"weights/%zu\",\"checkpoint_type\":"
                             "\"training\",\"time\":\"2024-07-13T08:00:00Z\","
                             "\"tinker_path\":\"tinker://" CLI_RUN "/weights/%zu\"}",
                             i > 0 ? "," : "", i, i);
    }
    fakeapi_bytes_puts(&body, "]}");
    fakeapi_default(f->api, "GET", CLI_RUNS "/" CLI_RUN "/checkpoints",
                    &(fakeapi_step){.body = fakeapi_bytes_cstr(&body)});
    fakeapi_bytes_dispose(&body);
}

/* Starts the deletion of 100 checkpoints; returns when 32 are in flight, held by the
 * gate. */
static proc *start_many(clifix *f, fakeapi_gate **gate, const char *line)
{
    clifix_begin(f);
    reply_many(f, 100);
    *gate = fakeapi_gate_new(f->api);
    fakeapi_default(f->api, "DELETE", OF_RUN "*",
                    &(fakeapi_step){.status = 204, .gate = *gate});
    proc *p = clifix_start(f, line);
    assert_true(fakeapi_gate_wait(*gate, 32));
    return p;
}

/* M-155, C-054: 32 at a time, not more. */
static void test_cli_delete_at_once(void **unused)
{
    clifix f;
    fakeapi_gate *gate = NULL;
    proc *p = start_many(&f, &gate, "checkpoint delete -y --run-id " CLI_RUN);
    fakeapi_gate_open(gate);
    assert_int_equal(proc_wait(p), 0);
    assert_string_equal(proc_out(p), "Deleted 100 checkpoint(s)\n");
    assert_int_equal(fakeapi_peak(f.api, "DELETE", OF_RUN "*"), 32);
    proc_free(&p);
    clifix_end(&f);
}

/* M-156, C-010: Ctrl-C stops sending; what is in flight is awaited and reported. */
static void test_cli_delete_interrupted(void **unused)
{
    clifix f;
    fakeapi_gate *gate = NULL;
    proc *p = start_many(&f, &gate, "checkpoint delete -y -f jsonl --run-id " CLI_RUN);
    proc_signal(p, SIGINT);
    fakeapi_gate_open(gate);
    assert_int_equal(proc_wait(p), 130);
    assert_non_null(strstr(proc_out(p), "{\"deleted_count\": "));
    proc_free(&p);
    clifix_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_delete_refuses),
        cmocka_unit_test(test_cli_delete_asks),
        cmocka_unit_test(test_cli_delete_filters),
        cmocka_unit_test(test_cli_delete_in_part),
        cmocka_unit_test(test_cli_delete_at_once),
        cmocka_unit_test(test_cli_delete_interrupted),
    };
    return cmocka_run_group_tests_name("cmd_checkpoint_delete", tests, NULL, NULL);
}
