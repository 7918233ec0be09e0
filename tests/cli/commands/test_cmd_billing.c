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

/* Costs are shown where the server gives them: "null" in a table, empty in CSV, for an
 * event that should have one. */
static void test_cli_billing_costs(void **unused)
{
    static const char usage[] =
        "{\"data\":[" EVENT_HEAD "\"estimated_cost_usd\":0.25,"
        "\"effective_rate_usd_per_million_tokens\":2.5,"
        "\"event_info\":{\"type\":\"training\",\"token_count\":100000}}," EVENT_HEAD
        "\"event_info\":{\"type\":\"storage\",\"gigabyte_hours\":0.5}}],"
        "\"sessions\":{},\"cost_data_through\":\"2026-07-13T00:00:00Z\"}";
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "GET", CLI_API "billing/usage/events", &fakeapi_json(usage));
    clifix_expect(&f, WINDOW " --csv -",
                  "bucket_start,bucket_end,base_model,user_id,user_name,session_id,"
                  "project_id,estimated_cost_usd,effective_rate_usd_per_million_tokens,"
                  "effective_rate_usd_per_gigabyte_month,type,token_count,"
                  "gigabyte_hours\r\n"
                  "2026-07-13T00:00:00Z,2026-07-13T01:00:00Z,,,,,,0.25,2.5,,training,"
                  "100000,\r\n"
                  "2026-07-13T00:00:00Z,2026-07-13T01:00:00Z,,,,,,,,,storage,,0.5\r\n");
    proc *p = clifix_run(&f, WINDOW);
    assert_non_null(strstr(proc_out(p), " 0.25 "));
    assert_non_null(strstr(proc_out(p), " null "));
    proc_free(&p);
    p = clifix_run(&f, WINDOW " -f json");
    assert_non_null(strstr(proc_out(p),
                           "\"estimated_cost_usd\": 0.25,\n      "
                           "\"effective_rate_usd_per_million_tokens\": 2.5,\n      "
                           "\"effective_rate_usd_per_gigabyte_month\": null,\n"));
    assert_non_null(
        strstr(proc_out(p), "\"cost_data_through\": \"2026-07-13T00:00:00Z\"\n}\n"));
    proc_free(&p);
    clifix_end(&f);
}

#define STORAGE CLI_API "billing/usage/checkpoints/current"

/* M-152: what checkpoints take, in the three formats and as CSV. */
static void test_cli_billing_storage(void **unused)
{
    static const char usage[] =
        "{\"effective_rate_usd_per_gigabyte_month\":0.1,\"data\":[{\"project_id\":\"p\","
        "\"org_user_urn\":\"u\",\"user_email\":\"a@b\",\"user_name\":null,"
        "\"checkpoint_count\":3,\"size_bytes\":1500000000,\"size_gigabytes\":1.5,"
        "\"estimated_monthly_cost_usd\":0.15}]}";
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "GET", STORAGE, &fakeapi_json(usage));
    proc *p = clifix_run(&f, "billing checkpoint-storage");
    assert_non_null(strstr(proc_out(p), "Current checkpoint storage\n"
                                        "effective_rate_usd_per_gigabyte_month  "
                                        "project_id  org_user_urn  user_email  "
                                        "user_name  checkpoint_count  size_bytes  "
                                        "size_gigabytes  estimated_monthly_cost_usd\n"));
    assert_non_null(strstr(proc_out(p), "1500000000"));
    proc_free(&p);
    clifix_expect(&f, "billing checkpoint-storage --csv -",
                  "effective_rate_usd_per_gigabyte_month,project_id,org_user_urn,"
                  "user_email,user_name,checkpoint_count,size_bytes,size_gigabytes,"
                  "estimated_monthly_cost_usd\r\n"
                  "0.1,p,u,a@b,,3,1500000000,1.5,0.15\r\n");
    clifix_expect(&f, "billing checkpoint-storage --project-id p -f jsonl",
                  "{\"project_id\": \"p\", \"org_user_urn\": \"u\", \"user_email\": "
                  "\"a@b\", \"user_name\": null, \"checkpoint_count\": 3, "
                  "\"size_bytes\": 1500000000, \"size_gigabytes\": 1.5, "
                  "\"estimated_monthly_cost_usd\": 0.15}\n");
    assert_string_equal(clifix_last(&f)->query, "project_id=p");
    p = clifix_run(&f, "billing checkpoint-storage -f json");
    assert_non_null(strstr(proc_out(p),
                           "{\n  \"effective_rate_usd_per_gigabyte_month\": 0.1,\n  "
                           "\"data\": [\n"));
    proc_free(&p);
    fakeapi_default(f.api, "GET", STORAGE,
                    &fakeapi_json("{\"effective_rate_usd_per_gigabyte_month\":null,"
                                  "\"data\":[]}"));
    clifix_expect(&f, "billing checkpoint-storage", "No active checkpoint storage\n");
    fakeapi_default(f.api, "GET", STORAGE, &fakeapi_detail(404, "Not Found"));
    clifix_refused(&f, "billing checkpoint-storage", 1, "Not Found");
    clifix_refused(&f, "billing checkpoint-storage p", 2, "p");
    clifix_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_billing),
        cmocka_unit_test(test_cli_billing_csv),
        cmocka_unit_test(test_cli_billing_costs),
        cmocka_unit_test(test_cli_billing_storage),
    };
    return cmocka_run_group_tests_name("cmd_billing", tests, NULL, NULL);
}
