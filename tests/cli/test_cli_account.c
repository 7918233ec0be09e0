/* What the commands about sessions, billing and the account say, in the three formats. */
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/clifix.h"
#include "support/fileserver.h"

/* {"iss": "passport-x", "sub": "urn:user:1", "email": "a@example.com", "exp": ...} */
#define JWT_CLAIMS                                                                       \
    "eyJpc3MiOiJwYXNzcG9ydC14Iiwic3ViIjoidXJuOnVzZXI6MSIsImVtYWls"                       \
    "IjoiYUBleGFtcGxlLmNvbSIsImV4cCI6NDAwMDAwMDAwMH0"
#define JWT "eyJhbGciOiJub25lIn0." JWT_CLAIMS ".c2ln"

static const fakeapi_request *last(clifix *f)
{
    return fakeapi_request_at(f->api, fakeapi_total(f->api) - 1);
}

/* M-160, C-088: lists are strings in the document, objects in lines. */
static void test_cli_session_list(void **unused)
{
    (void)unused;
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
    assert_string_equal(last(&f)->query, "limit=2&offset=0&access_scope=accessible");
    clifix_end(&f);
}

/* M-160, C-088. */
static void test_cli_session_info(void **unused)
{
    (void)unused;
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
    assert_non_null(strstr(last(&f)->body, "\"p1\""));
    clifix_refused(&f, "session assign S", 2, "Missing argument: SESSION_ID PROJECT_ID.");
    clifix_end(&f);
}

static void read_letters(void *user, uint64_t offset, char *p, size_t n)
{
    (void)user;
    for (size_t i = 0; i < n; i++) {
        p[i] = (char)('a' + (offset + i) % 26);
    }
}

/* M-152, C-071 to C-073: the URL alone, or the file at its place. */
static void test_cli_export_trace(void **unused)
{
    (void)unused;
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
    clifix_refused(&f, "session export-trace a/b", 2, "'a/b' is no session id.");
    fileserver_stop(&files);
    clifix_end(&f);
    p = proc_run(NULL, (const char *[]){"rm", "-r", dir, NULL});
    proc_free(&p);
}

/* C-074: a URL that leads nowhere. */
static void test_cli_export_trace_fails(void **unused)
{
    (void)unused;
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
    (void)unused;
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
    (void)unused;
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

/* M-160, C-088: who the token belongs to; a plain key does not say. */
static void test_cli_whoami(void **unused)
{
    (void)unused;
    clifix f;
    clifix_begin(&f);
    clifix_refused(&f, "whoami", 1, "the credential is a plain key");
    f.env[1] = "TINKER_API_KEY=" JWT;
    clifix_expect(&f, "whoami",
                  "Property  Value\n────────  ─────────────\nUser      urn:user:1\n"
                  "Email     a@example.com\n");
    clifix_expect(&f, "whoami -f jsonl",
                  "{\"user_urn\": \"urn:user:1\", \"email\": \"a@example.com\"}\n");
    clifix_end(&f);
}

/* M-160, C-088: models, health, weights, samplers. */
static void test_cli_single_answers(void **unused)
{
    (void)unused;
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "GET", CLI_API "get_server_capabilities",
                    &fakeapi_json("{\"supported_models\":[{\"model_name\":\"m\","
                                  "\"max_context_length\":1024},{}]}"));
    fakeapi_default(f.api, "GET", CLI_API "healthz",
                    &fakeapi_json("{\"status\":\"ok\"}"));
    fakeapi_default(f.api, "POST", CLI_API "weights_info",
                    &fakeapi_json("{\"base_model\":\"m\",\"is_lora\":true,"
                                  "\"lora_rank\":16,\"train_mlp\":false}"));
    fakeapi_default(f.api, "GET", CLI_API "samplers/x",
                    &fakeapi_json("{\"sampler_id\":\"x\",\"base_model\":\"m\"}"));
    clifix_expect(&f, "models",
                  "2 models\nModel  Context\n─────  ───────\nm      1024\nN/A    N/A\n");
    clifix_expect(&f, "models -f jsonl",
                  "{\"model_name\": \"m\", \"max_context_length\": 1024}\n"
                  "{\"model_name\": null, \"max_context_length\": null}\n");
    clifix_expect(&f, "health", "ok\n");
    clifix_expect(&f, "health -f json", "{\n  \"status\": \"ok\"\n}\n");
    clifix_expect(&f, "weights-info " CLI_ONE,
                  "Weights: " CLI_ONE "\nProperty          Value\n"
                  "────────────────  ─────────────\nBase Model        m\n"
                  "LoRA              Yes (Rank 16)\nTrains Unembed    N/A\n"
                  "Trains MLP        No\nTrains Attention  N/A\n");
    clifix_expect(
        &f, "weights-info -f jsonl " CLI_ONE,
        "{\"base_model\": \"m\", \"is_lora\": true, \"lora_rank\": 16, "
        "\"train_unembed\": null, \"train_mlp\": false, \"train_attn\": null}\n");
    clifix_refused(&f, "weights-info x", 2, "Invalid checkpoint path");
    clifix_expect(&f, "sampler-info x",
                  "Property    Value\n──────────  ─────\nSampler ID  x\nBase Model  m\n"
                  "Model Path  N/A\n");
    clifix_expect(
        &f, "sampler-info x -f jsonl",
        "{\"sampler_id\": \"x\", \"base_model\": \"m\", \"model_path\": null}\n");
    clifix_end(&f);
}

/* M-160, C-088. */
static void test_cli_audit(void **unused)
{
    (void)unused;
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "GET", CLI_API "audit",
                    &fakeapi_json("{\"entries\":[{\"timestamp\":\"2026-07-13T08:00:00Z\","
                                  "\"event\":\"save\",\"model_id\":\"x\"}]}"));
    clifix_expect(&f, "audit --day 2026-07-13 --events checkpoints",
                  "1 audit entries\n"
                  "Time                  Event  Model  Path  Purpose\n"
                  "────────────────────  ─────  ─────  ────  ───────\n"
                  "2026-07-13T08:00:00Z  save   x\n");
    assert_non_null(strstr(last(&f)->query, "2026-07-13"));
    clifix_expect(&f, "audit -f jsonl",
                  "{\"timestamp\": \"2026-07-13T08:00:00Z\", \"event\": \"save\", "
                  "\"model_id\": \"x\", \"tinker_path\": null, \"purpose\": null}\n");
    clifix_refused(&f, "audit --day soon", 1, "soon");
    clifix_refused(&f, "audit today", 2, "Got unexpected extra argument (today).");
    clifix_refused(&f, "audit --day", 2, "Option '--day' requires an argument.");
    clifix_refused(&f, "audit --events some", 2, "is not one of all|checkpoints.");
    clifix_end(&f);
}

/* C-079 to C-085: what the environment says reaches the server; questions make no session
 * and report nothing. */
static void test_cli_environment(void **unused)
{
    (void)unused;
    clifix f;
    clifix_begin(&f);
    clifix_env(&f, "TINKER_CREDENTIAL_CMD=echo tml-from-the-command");
    clifix_env(&f, "CLOUDFLARE_ACCESS_CLIENT_ID=id");
    clifix_env(&f, "CLOUDFLARE_ACCESS_CLIENT_SECRET=hush-hush");
    clifix_env(&f, "TINKER_TELEMETRY=1");
    clifix_env(&f, "TINKER_TAGS=a,b");
    clifix_env(&f, "TINKER_PROJECT_ID=p");
    f.env[1] = "TINKER_API_KEY=";
    proc *p = clifix_run(&f, "run info " CLI_RUN);
    assert_int_equal(p->status, 0);
    proc_free(&p);
    assert_string_equal(fakeapi_header(last(&f), "x-api-key"), "tml-from-the-command");
    assert_string_equal(fakeapi_header(last(&f), "cf-access-client-id"), "id");
    assert_string_equal(fakeapi_header(last(&f), "cf-access-client-secret"), "hush-hush");
    assert_int_equal(fakeapi_count(f.api, "POST", CLI_API "create_session"), 0);
    assert_int_equal(fakeapi_count(f.api, "POST", CLI_API "telemetry*"), 0);
    f.env[1] = "TINKER_API_KEY=" CLI_KEY;
    f.env[4] = "X=";
    p = clifix_run(&f, "run info " CLI_RUN);
    proc_free(&p);
    assert_string_equal(fakeapi_header(last(&f), "x-api-key"), CLI_KEY);
    clifix_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_session_list),
        cmocka_unit_test(test_cli_session_info),
        cmocka_unit_test(test_cli_export_trace),
        cmocka_unit_test(test_cli_export_trace_fails),
        cmocka_unit_test(test_cli_billing),
        cmocka_unit_test(test_cli_billing_csv),
        cmocka_unit_test(test_cli_whoami),
        cmocka_unit_test(test_cli_single_answers),
        cmocka_unit_test(test_cli_audit),
        cmocka_unit_test(test_cli_environment),
    };
    return cmocka_run_group_tests_name("cli_account", tests, NULL, NULL);
}
