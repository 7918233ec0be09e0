/* `tinkc session`: its output in the three formats, and the download of a trace. */
#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/clifix.h"
#include "support/fileserver.h"

/* M-160, C-088: lists are strings in the document, objects in lines. */
static void test_cli_session_list(void **unused)
{
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "GET", CLI_API "sessions",
                    &fakeapi_json("{\"sessions\":[\"a\",\"b\"]}"));
    clifix_expect(&f, "session list --limit 2",
                  "2 sessions\nSession ID\n──────────\na\nb\n");
    clifix_expect(&f, "session list --limit 2 -f json",
                  "{\n  \"sessions\": [\n    \"a\",\n    \"b\"\n  ]\n}\n");
    clifix_expect(&f, "session list --limit 2 -f jsonl --access-scope accessible",
                  "{\"session_id\": \"a\"}\n{\"session_id\": \"b\"}\n");
    assert_string_equal(clifix_last(&f)->query,
                        "limit=2&offset=0&access_scope=accessible");
    clifix_end(&f);
}

/* M-160, C-088. */
static void test_cli_session_info(void **unused)
{
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "GET", CLI_API "sessions/S",
                    &fakeapi_json("{\"training_run_ids\":[\"S:train:0\"],"
                                  "\"sampler_ids\":[]}"));
    fakeapi_default(f.api, "PUT", CLI_API "sessions/S/project", &fakeapi_json("{}"));
    clifix_expect(&f, "session info S",
                  "Session: S\nProperty      Value\n────────────  ─────────\n"
                  "Session ID    S\nTraining Run  S:train:0\n");
    clifix_expect(&f, "session info S -f jsonl",
                  "{\"session_id\": \"S\", \"training_run_ids\": [\"S:train:0\"], "
                  "\"sampler_ids\": []}\n");
    clifix_expect(&f, "session assign S p1", "");
    assert_non_null(strstr(clifix_last(&f)->body, "\"p1\""));
    clifix_refused(&f, "session assign S", 2, "Missing argument: PROJECT_ID.");
    clifix_end(&f);
}

static void read_letters(void *user, uint64_t offset, char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = (char)('a' + (offset + i) % 26);
    }
}

/* M-152, C-071 to C-073: the URL alone, or the file at its place. */
static void test_cli_export_trace(void **unused)
{
    clifix f;
    char dir[] = "/tmp/tinkc-trace.XXXXXX", body[256], line[256], out[512];
    const fileserver_options options = {.size = 3000, .read = read_letters};
    char *data = NULL;
    size_t n = 0;
    clifix_begin(&f);
    assert_non_null(mkdtemp(dir));
    fileserver *files = fileserver_start(&options);
    (void)snprintf(body, sizeof(body), "{\"status\":\"ready\",\"url\":\"%s\"}",
                   fileserver_url(files));
    fakeapi_default(f.api, "GET", CLI_API "sessions/S/trace_export",
                    &(fakeapi_step){.body = body});
    proc *p = clifix_run(&f, "session export-trace S --url-only");
    (void)snprintf(out, sizeof(out), "%s\n", fileserver_url(files));
    assert_string_equal(proc_out(p), out);
    assert_string_equal(proc_err(p),
                        "Exporting trace for session S (this may take a while)...\n");
    proc_free(&p);
    (void)snprintf(out, sizeof(out), "{\"session_id\": \"S\", \"url\": \"%s\"}\n",
                   fileserver_url(files));
    clifix_expect(&f, "session export-trace S --url-only -f jsonl", out);
    (void)snprintf(line, sizeof(line), "session export-trace S -f jsonl -o %s/new/t",
                   dir);
    (void)snprintf(out, sizeof(out),
                   "{\"session_id\": \"S\", \"destination\": \"%s/new/t\", "
                   "\"file_size_bytes\": 3000}\n",
                   dir);
    clifix_expect(&f, line, out);
    (void)snprintf(line, sizeof(line), "%s/new/t", dir);
    assert_int_equal(tk_file_read(&data, &n, line, 4000, NULL), TINKC_OK);
    assert_int_equal(n, 3000);
    assert_int_equal(data[2999], 'a' + 2999 % 26);
    tk_free(data);
    f.options.cwd = dir;
    p = clifix_run(&f, "session export-trace S");
    assert_non_null(strstr(proc_out(p), "/S.pftrace\nSize        2.9 KB\n"));
    proc_free(&p);
    clifix_refused(&f, "session export-trace a/b", 2, "'a/b' is not a session id.");
    fileserver_stop(&files);
    clifix_end(&f);
    p = proc_run(NULL, (const char *[]){"rm", "-r", dir, NULL});
    proc_free(&p);
}

/* C-074: a URL that leads nowhere. */
static void test_cli_export_trace_fails(void **unused)
{
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "GET", CLI_API "sessions/S/trace_export",
                    &fakeapi_json("{\"status\":\"ready\",\"url\":"
                                  "\"http://127.0.0.1:1/t\"}"));
    fakeapi_default(f.api, "GET", CLI_API "sessions/T/trace_export",
                    &fakeapi_json("{\"status\":\"failed\",\"error\":\"no data\"}"));
    f.options.cwd = "/tmp";
    clifix_refused(&f, "session export-trace S -f json", 1,
                   "Error: Failed to download trace: Connection failed: ");
    clifix_refused(&f, "session export-trace T -f json", 1, "no data");
    clifix_refused(&f, "session export-trace S -f json -o /dev/null/no/where", 1,
                   "Error: Failed to save trace");
    clifix_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_session_list),
        cmocka_unit_test(test_cli_session_info),
        cmocka_unit_test(test_cli_export_trace),
        cmocka_unit_test(test_cli_export_trace_fails),
    };
    return cmocka_run_group_tests_name("cmd_session", tests, NULL, NULL);
}
