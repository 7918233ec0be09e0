/* `tinkc run`: its output, byte for byte, in the three formats, and its requests. */
#include "cli/clifix.h"

/* M-151, M-153, M-154, C-008, C-036, C-037, C-039: columns, chosen columns, title; values
 * in words. */
static void test_cli_run_list_table(void **unused)
{
    clifix f;
    clifix_begin(&f);
    clifix_expect(&f, "run list --limit 1",
                  "1 training run (2 more not shown, use --limit to see more)\n"
                  "Run ID     Base Model  LoRA    Last Update  Status\n"
                  "─────────  ──────────  ──────  ───────────  ──────\n"
                  "S:train:0  m/b         Rank 8  2024-07-15   OK\n");
    assert_string_equal(clifix_last(&f)->query, "limit=1&offset=0&access_scope=owned");
    clifix_expect(&f, "run list -c checkpoint_time,owner,checkpoint --limit 1",
                  "1 training run (2 more not shown, use --limit to see more)\n"
                  "Checkpoint Time  Owner  Last Checkpoint\n"
                  "───────────────  ─────  ───────────────\n"
                  "2024-07-13       me     weights/0001\n");
    clifix_refused(&f, "run list --columns id,nosuch", 2, "Unknown column(s): nosuch");
    clifix_refused(&f, "run list --limit -1", 2, "Error: --limit and --offset");
    clifix_end(&f);
}

/* M-153, C-012, C-040, C-092: one document, indented by two, keys in the official order;
 * one line per run with jsonl; non-ASCII escaped. */
static void test_cli_run_list_json(void **unused)
{
    static const char run[] =
        "{\"training_run_id\": \"S:train:0\", \"base_model\": \"m/b\", "
        "\"model_owner\": \"me\", \"is_lora\": true, \"corrupted\": false, "
        "\"lora_rank\": 8, \"last_request_time\": \"2024-07-15T08:00:00Z\", "
        "\"last_checkpoint\": " CLI_CHECKPOINT_ONE_LINE
        ", \"last_sampler_checkpoint\": null, "
        "\"user_metadata\": {\"note\": \"h\\u00e9\"}}\n";
    clifix f;
    clifix_begin(&f);
    clifix_expect(&f, "--format jsonl run list --limit 1", run);
    clifix_expect(&f, "run info S:train:0 --format jsonl", run);
    clifix_expect(&f, "run list -f json --limit 1",
                  "{\n  \"runs\": [\n    {\n"
                  "      \"training_run_id\": \"S:train:0\",\n"
                  "      \"base_model\": \"m/b\",\n"
                  "      \"model_owner\": \"me\",\n"
                  "      \"is_lora\": true,\n"
                  "      \"corrupted\": false,\n"
                  "      \"lora_rank\": 8,\n"
                  "      \"last_request_time\": \"2024-07-15T08:00:00Z\",\n"
                  "      \"last_checkpoint\": {\n"
                  "        \"checkpoint_id\": \"weights/0001\",\n"
                  "        \"checkpoint_type\": \"training\",\n"
                  "        \"time\": \"2024-07-13T08:00:00Z\",\n"
                  "        \"tinker_path\": \"" CLI_ONE "\",\n"
                  "        \"size_bytes\": 1536,\n"
                  "        \"public\": true,\n"
                  "        \"expires_at\": \"2124-08-01T00:00:00Z\"\n"
                  "      },\n"
                  "      \"last_sampler_checkpoint\": null,\n"
                  "      \"user_metadata\": {\n"
                  "        \"note\": \"h\\u00e9\"\n"
                  "      }\n    }\n  ]\n}\n");
    clifix_end(&f);
}

/* M-151, C-041, C-042: one run. */
static void test_cli_run_info(void **unused)
{
    clifix f;
    clifix_begin(&f);
    clifix_expect(&f, "run info S:train:0",
                  "Training Run: S:train:0\n"
                  "Property                  Value\n"
                  "────────────────────────  ───────────────────────────────\n"
                  "Run ID                    S:train:0\n"
                  "Base Model                m/b\n"
                  "Owner                     me\n"
                  "LoRA                      Yes (Rank 8)\n"
                  "Last Update               2024-07-15\n"
                  "Status                    OK\n"
                  "Last Training Checkpoint  weights/0001\n"
                  "  - Time                  2024-07-13\n"
                  "  - Path                  " CLI_ONE "\n"
                  "Metadata\n"
                  "  - note                  h\xc3\xa9\n");
    clifix_refused(&f, "run info", 2, "Missing argument: RUN_ID.");
    clifix_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_run_list_table),
        cmocka_unit_test(test_cli_run_list_json),
        cmocka_unit_test(test_cli_run_info),
    };
    return cmocka_run_group_tests_name("cmd_run", tests, NULL, NULL);
}
