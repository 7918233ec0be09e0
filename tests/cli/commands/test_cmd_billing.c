/* `tinkc billing usage`: its output in the three formats and as CSV. */
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/clifix.h"

#define EVENT_HEAD                                                                       \
    "{\"bucket_start\":\"2026-07-13T00:00:00Z\",\"bucket_end\":\"2026-07-13T01:00:00Z\","
#define USAGE                                                                            \
    "{\"data\":[" EVENT_HEAD "\"session_id\":\"a\",\"base_model\":\"m, \\\"x\\\"\","     \
    "\"event_info\":{\"type\":\"training\",\"token_count\":12}}," EVENT_HEAD             \
    "\"event_info\":{\"type\":\"sampling_prefill\",\"cached\":true,"                     \
    "\"token_count\":3}}," EVENT_HEAD                                                    \
    "\"event_info\":{\"type\":\"storage\",\"gigabyte_hours\":0.5}}],"                    \
    "\"sessions\":{\"a\":{\"user_metadata\":{\"k\":\"v\"}},"                             \
    "\"b\":{\"user_metadata\":null}}}"
#define WINDOW "billing usage 2026-07-13T00:00:00Z 2026-07-14T00:00:00Z"

/* M-152, C-075 to C-077: columns are the fields that occur, in order of appearance; JSON
 * keeps the shape of the API. */
static void test_cli_billing(void **unused)
{
    static const char line[] =
        "{\"bucket_start\": \"2026-07-13T00:00:00Z\", \"bucket_end\": "
        "\"2026-07-13T01:00:00Z\", \"base_model\": null, \"user_id\": null, "
        "\"user_name\": null, \"session_id\": null, \"project_id\": null, "
        "\"event_info\": {\"type\": \"storage\", \"gigabyte_hours\": 0.5}}\n";
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "GET", CLI_API "billing/usage/events", &fakeapi_json(USAGE));
    proc *p = clifix_run(&f, WINDOW);
    assert_non_null(strstr(
        proc_out(p), "3 hourly usage row(s)\nbucket_start          bucket_end            "
                     "base_model  user_id  user_name  session_id  project_id  type       "
                     "       token_count  cached  gigabyte_hours\n"));
    assert_int_equal(p->status, 0);
    proc_free(&p);
    p = clifix_run(&f, WINDOW " -f jsonl");
    assert_non_null(strstr(proc_out(p), line));
    proc_free(&p);
    p = clifix_run(&f, WINDOW " -f json");
    assert_non_null(strstr(proc_out(p),
                           "\"event_info\": {\n        \"type\": \"training\",\n"
                           "        \"token_count\": 12\n      }\n    },\n"));
    assert_non_null(strstr(proc_out(p), "  \"sessions\": {\n    \"a\": {\n      "
                                        "\"user_metadata\": {\n        \"k\": \"v\"\n"));
    proc_free(&p);
    clifix_refused(&f, "billing usage yesterday 2026-07-14", 2,
                   "Invalid time: yesterday");
    clifix_end(&f);
}

/* M-152, C-078: CSV to a file and to standard output; the table is not shown then. */
static void test_cli_billing_csv(void **unused)
{
    static const char rows[] =
        "bucket_start,bucket_end,base_model,user_id,user_name,session_id,project_id,type,"
        "token_count,cached,gigabyte_hours\r\n"
        "2026-07-13T00:00:00Z,2026-07-13T01:00:00Z,\"m, \"\"x\"\"\",,,a,,training,12,,\r\n"
        "2026-07-13T00:00:00Z,2026-07-13T01:00:00Z,,,,,,sampling_prefill,3,True,\r\n"
        "2026-07-13T00:00:00Z,2026-07-13T01:00:00Z,,,,,,storage,,,0.5\r\n";
    clifix f;
    char dir[] = "/tmp/tinkc-csv.XXXXXX", line[256], note[256];
    char *data = NULL;
    clifix_begin(&f);
    assert_non_null(mkdtemp(dir));
    fakeapi_default(f.api, "GET", CLI_API "billing/usage/events", &fakeapi_json(USAGE));
    clifix_expect(&f, WINDOW " --csv -", rows);
    clifix_expect(&f, WINDOW " --sessions-csv - -f json",
                  "session_id,user_metadata\r\na,\"{\"\"k\"\": \"\"v\"\"}\"\r\nb,\r\n");
    (void)snprintf(line, sizeof(line), WINDOW " --csv %s/a.csv", dir);
    (void)snprintf(note, sizeof(note), "Wrote 3 row(s) to %s/a.csv\n", dir);
    proc *p = clifix_run(&f, line);
    assert_string_equal(proc_out(p), "");
    assert_string_equal(proc_err(p), note);
    proc_free(&p);
    (void)snprintf(line, sizeof(line), "%s/a.csv", dir);
    assert_int_equal(tk_file_read(&data, NULL, line, 4000, NULL), TINKC_OK);
    assert_string_equal(data, rows);
    tk_free(data);
    assert_int_equal(unlink(line), 0);
    assert_int_equal(rmdir(dir), 0);
    clifix_refused(&f, WINDOW " --csv /dev/null/x", 1, "Error: ");
    clifix_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_billing),
        cmocka_unit_test(test_cli_billing_csv),
    };
    return cmocka_run_group_tests_name("cmd_billing", tests, NULL, NULL);
}
