/* `tinkc chat` as a user runs it: turns, commands, formats, and Ctrl-C.
 * Links: peer client text server */
#include <signal.h>

#include "base/mem.h"
#include "cli/modelfix.h"

#define MODEL     MODELFIX_NAME
#define MODEL_DIR TEST_DATA_DIR "/../../models/pebble-llama-2m"
#define CHAT      "chat", "-m", MODEL, "--temperature", "0"

/* Lines of standard input are turns; answers are all that is on standard output. */
static void test_chat_turns(void **state)
{
    modelfix f;
    char *saved = NULL;
    size_t n = 0;
    modelfix_open(&f, NULL);
    f.p.input = "What is 2 + 3?\r\n\nWhat is 4 + 4?\n/save all.json\n/reset\n"
                "What is 1 + 1?\n/save one.json\n/quit\nWhat is 2 + 2?\n";
    program_run(&f.p, PROGRAM_ARGS(CHAT));
    assert_int_equal(f.p.code, 0);
    assert_string_equal(f.p.err.p, "Saved 4 messages as a line of all.json.\n"
                                   "Saved 2 messages as a line of one.json.\n");
    assert_string_equal(f.p.out.p, "5\n8\n2\n");
    assert_true(program_read_file(&f.p, "all.json", &saved, &n));
    assert_string_equal(saved,
                        "{\"messages\":[{\"role\":\"user\",\"content\":\"What is 2 + "
                        "3?\"},{\"role\":\"assistant\",\"content\":\"5\"},{\"role\":"
                        "\"user\",\"content\":\"What is 4 + 4?\"},{\"role\":"
                        "\"assistant\",\"content\":\"8\"}]}\n");
    tk_free(saved);
    assert_true(program_read_file(&f.p, "one.json", &saved, &n));
    assert_null(strstr(saved, "4 + 4"));
    tk_free(saved);
    modelfix_close(&f);
}

/* /save adds a line to a file; commands that change something say so. */
static void test_chat_says(void **state)
{
    modelfix f;
    char *saved = NULL;
    size_t n = 0;
    modelfix_open(&f, NULL);
    program_write_file(&f.p, "keep.jsonl", "{\"text\":\"mine\"}"); /* no newline */
    f.p.input = "What is 2 + 3?\n/save keep.jsonl\n/reset\nWhat is 4 + 4?\n"
                "/save keep.jsonl\n/reset\n/save keep.jsonl\n";
    program_run(&f.p, PROGRAM_ARGS(CHAT));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "Error: there is nothing to save"));
    assert_true(program_read_file(&f.p, "keep.jsonl", &saved, &n));
    assert_string_equal(
        saved, "{\"text\":\"mine\"}\n"
               "{\"messages\":[{\"role\":\"user\",\"content\":\"What is 2 + 3?\"},"
               "{\"role\":\"assistant\",\"content\":\"5\"}]}\n"
               "{\"messages\":[{\"role\":\"user\",\"content\":\"What is 4 + 4?\"},"
               "{\"role\":\"assistant\",\"content\":\"8\"}]}\n");
    tk_free(saved);
    f.p.input = "/system\n/system Be kind.\nWhat is 2 + 3?\n/system\n/save s.jsonl\n"
                "/model " MODEL "\n/system -\n/system\n";
    program_run(&f.p, PROGRAM_ARGS(CHAT));
    assert_int_equal(f.p.code, 0);
    assert_string_equal(f.p.err.p, "There is no system message.\n"
                                   "New conversation with this system message.\n"
                                   "Be kind.\n"
                                   "Saved 3 messages as a line of s.jsonl.\n"
                                   "Continuing with " MODEL ".\n"
                                   "New conversation without a system message.\n"
                                   "There is no system message.\n");
    modelfix_close(&f);
}

static void test_chat_formats(void **state)
{
    modelfix f;
    const tk_json *json = NULL;
    tk_err err = TK_ERR_INIT;
    modelfix_open(&f, NULL);
    f.p.input = "/system Be kind.\nWhat is 2 + 3?\n";
    program_run(&f.p, PROGRAM_ARGS(CHAT, "--format", "json"));
    assert_int_equal(f.p.code, 0);
    assert_int_equal(tk_json_parse(&json, &f.srv.arena, f.p.out.p, f.p.out.n, NULL, &err),
                     TINKC_OK);
    const tk_json *list = tk_json_get(json, "messages");
    assert_int_equal(tk_json_len(list), 3);
    const tk_json first = tk_json_at(list, 0);
    assert_string_equal(srvfix_text(&first, "role"), "system");
    f.p.input = "What is 2 + 3?\nWhat is 4 + 4?\n";
    program_run(&f.p, PROGRAM_ARGS(CHAT, "--format", "jsonl", "--system", "Be kind."));
    assert_int_equal(f.p.code, 0);
    assert_true(
        program_said(&f.p.out, "\"content\": \"5\", \"stop_reason\": \"stop\"}\n"));
    assert_true(program_said(&f.p.out, "\"content\": \"8\""));
    modelfix_close(&f);
}

static void test_chat_failures(void **state)
{
    static const struct {
        const char *input, *words;
    } cases[] = {
        {"/nosuch\nWhat is 2 + 3?\n", "no such command: /nosuch"},
        {"/save\n", "/save needs the name"},
        {"What is 4 + 4?\n/save no/dir/file\n", "cannot write no/dir/file: No such"},
        {"/save empty.json\n", "there is nothing to save"},
        {"/system Be kind.\n/save empty.json\n", "there is nothing to save"},
        {"\xff\xfe\n", "Error: "},
    };
    modelfix f;
    modelfix_open(&f, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        f.p.input = cases[i].input;
        program_run(&f.p, PROGRAM_ARGS(CHAT));
        assert_int_equal(f.p.code, 1); /* a script stops at the first failure */
        if (!program_said(&f.p.err, cases[i].words)) {
            fail_msg("case %zu: %s", i, f.p.err.n > 0 ? f.p.err.p : "");
        }
        assert_false(program_said(&f.p.out, "5"));
    }
    f.p.input = "What is\0 2 + 3?\n";
    f.p.input_n = 17;
    program_run(&f.p, PROGRAM_ARGS(CHAT));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "NUL byte"));
    f.p.input_n = 0;
    char *text = tk_malloc(2 * TK_MIB);
    assert_non_null(text);
    memset(text, 'a', 2 * TK_MIB);
    text[2 * TK_MIB - 1] = '\0';
    f.p.input = text;
    program_run(&f.p, PROGRAM_ARGS(CHAT));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "the line is too long"));
    tk_free(text);
    f.p.input = NULL;
    program_run(&f.p, PROGRAM_ARGS(CHAT)); /* no input, no output */
    assert_int_equal(f.p.code, 0);
    assert_int_equal(f.p.out.n, 0);
    program_run(&f.p, PROGRAM_ARGS("chat")); /* with the only model */
    assert_int_equal(f.p.code, 0);
    f.p.input = "What is 2 + 3?\n";
    f.p.no_reader = true;
    program_run(&f.p, PROGRAM_ARGS(CHAT));
    assert_int_equal(f.p.code, 1);
    program_env(&f.p, "TINKER_BASE_URL=http://127.0.0.1:1");
    program_run(&f.p, PROGRAM_ARGS(CHAT));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "Connection failed"));
    modelfix_close(&f);
}

/* On a terminal: a prompt, errors that one can go on after, Ctrl-D. */
static void test_chat_terminal(void **state)
{
    modelfix f;
    modelfix_open(&f, NULL);
    f.p.columns = 40;
    program_start(&f.p, PROGRAM_ARGS(CHAT));
    assert_true(program_wait_text(&f.p, false, "> "));
    program_send(&f.p, "/nosuch\n");
    assert_true(program_wait_text(&f.p, false, "see /help)\r\n> "));
    program_send(&f.p, "What is 2 + 3?\n");
    assert_true(program_wait_text(&f.p, false, "\r\n5"));
    program_send(&f.p, "\x04");
    program_end(&f.p);
    assert_int_equal(f.p.code, 0);
    modelfix_close(&f);
}

/* Messages of several lines, and what /retry and /model do, in a script. */
static void test_chat_commands(void **state)
{
    modelfix f;
    char *saved = NULL;
    size_t n = 0;
    modelfix_open(&f, NULL);
    f.p.input = "\"\"\"\nWhat is 2 + 3?\n\"\"\"\n"
                "/retry\n/model " MODEL "\n/retry\n"
                "One\\\ntwo\\\nthree\n/save all.json\n/reset\n"
                "\"\"\"What is 4 + 4?\"\"\"\n\"\"\"a\nb"; /* the end closes it */
    program_run(&f.p, PROGRAM_ARGS(CHAT, "--max-tokens", "4"));
    assert_int_equal(f.p.code, 0);
    assert_memory_equal(f.p.out.p, "5\n5\n5\n", 6);
    assert_true(program_said(&f.p.out, "\n8\n"));
    assert_true(program_read_file(&f.p, "all.json", &saved, &n));
    assert_non_null(strstr(saved, "\"content\":\"One\\ntwo\\nthree\""));
    assert_null(strstr(strstr(saved, "assistant") + 1, "2 + 3")); /* asked once */
    tk_free(saved);
    f.p.input = "/retry\n";
    program_run(&f.p, PROGRAM_ARGS(CHAT));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "there is no answer to try again"));
    f.p.input = "/model no/model\n";
    program_run(&f.p, PROGRAM_ARGS(CHAT));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "no/model"));
    modelfix_close(&f);
}

static void type(program *p, const char *text, const char *awaited)
{
    tk_buf_clear(&p->out);
    program_send(p, text);
    if (!program_wait_text(p, false, awaited)) {
        fail_msg("%s: %s", awaited, p->out.n > 0 ? p->out.p : "");
    }
}

/* With an editor: lines are edited, the history is kept between runs, a failure of /model
 * leaves the model, and Ctrl-C drops what was typed before it quits. */
static void test_chat_editor(void **state)
{
    modelfix f;
    modelfix_open(&f, NULL);
    f.p.columns = 80;
    program_env(&f.p, "TERM=xterm");
    program_env(&f.p, "LC_ALL=C.UTF-8");
    program_start(&f.p, PROGRAM_ARGS(CHAT));
    assert_true(program_wait_text(&f.p, false, "> "));
    type(&f.p, "What is 2 + 9?\033[D\1773\r", "\r\n5\r\n> "); /* left, backspace */
    type(&f.p, "/model no/model\r", "lists them.\r\n> ");
    type(&f.p, "\033[A\033[A\r", "\r\n5\r\n> "); /* twice up */
    type(&f.p, "/retry\r", "\r\n5\r\n> ");
    type(&f.p, "One\\\r", "... ");
    type(&f.p, "caf\303\251", "caf\303\251");
    type(&f.p, "\x03", "^C\r\n> ");
    type(&f.p, "\x03", "^C\r\nCtrl-C again or Ctrl-D quits.\r\n> ");
    type(&f.p, "x", "x"); /* something else comes between */
    type(&f.p, "\x03", "^C\r\n> ");
    type(&f.p, "\x03", "^C\r\nCtrl-C again or Ctrl-D quits.\r\n> ");
    program_send(&f.p, "\x03");
    program_end(&f.p);
    assert_int_equal(f.p.code, 130);
    program_start(&f.p, PROGRAM_ARGS(CHAT));
    assert_true(program_wait_text(&f.p, false, "> "));
    type(&f.p, "\022is 2\r", "\r\n5\r\n> "); /* found in the history of the first run */
    program_send(&f.p, "\x04");
    program_end(&f.p);
    assert_int_equal(f.p.code, 0);
    program_env(&f.p, "TINKC_CHAT_HISTORY=off");
    program_start(&f.p, PROGRAM_ARGS(CHAT));
    assert_true(program_wait_text(&f.p, false, "> "));
    type(&f.p, "\033[A/nosuch\r", "no such command: /nosuch (see /help)\r\n> ");
    program_send(&f.p, "\x04");
    program_end(&f.p);
    modelfix_close(&f);
}

/* Opens the program with a peer that answers with one token and then falls silent. */
static fakeapi *one_token_peer(program *p, char url[MODELFIX_URL_BYTES])
{
    static const char token[] = "data: {\"token_id\":60}\n\n";
    fakeapi *api = modelfix_peer(url, NULL);
    program_open(p, TINKC_PROGRAM);
    program_env(p, url);
    fakeapi_default(api, "POST", "/api/v1/stream_sample",
                    &(fakeapi_step){.body = token,
                                    .content_type = "text/event-stream",
                                    .framing = FAKEAPI_CHUNKED,
                                    .fault = FAKEAPI_STALL_BODY,
                                    .cut = sizeof(token) - 1});
    return api;
}

/* Ctrl-C stops the answer, whose beginning stays; the next one ends the program. */
static void interrupt(const char *term, bool has_editor)
{
    program p;
    char url[MODELFIX_URL_BYTES];
    fakeapi *api = one_token_peer(&p, url);
    p.columns = 60;
    program_env(&p, term);
    program_start(&p, PROGRAM_ARGS("chat", "-m", MODEL_DIR));
    assert_true(program_wait_text(&p, false, "> "));
    program_send(&p, "Count.\n");
    assert_true(fakeapi_wait_for(api, "POST", "/api/v1/stream_sample", 1));
    assert_true(program_wait_text(&p, false, "\r\n7")); /* token 60 */
    program_send(&p, "\x03");
    assert_true(program_wait_text(&p, false, "[stopped]\r\n> "));
    program_send(&p, "/save c.json\n/nosuch\n");
    assert_true(
        program_wait_text(&p, false, "no such command: /nosuch (see /help)\r\n> "));
    char *saved = NULL;
    size_t n = 0;
    assert_true(program_read_file(&p, "c.json", &saved, &n));
    assert_non_null(strstr(saved, "{\"role\":\"assistant\",\"content\":\"7\"}"));
    tk_free(saved);
    program_send(&p, "\x03");
    if (has_editor) {
        assert_true(program_wait_text(&p, false, "again or Ctrl-D quits.\r\n> "));
        program_send(&p, "\x03");
    }
    program_end(&p);
    assert_int_equal(p.code, 130);
    program_close(&p);
    fakeapi_stop(&api);
}

static void test_chat_interrupt(void **state)
{
    interrupt("TERM=dumb", false);
    interrupt("TERM=xterm", true);
}

/* A server that falls silent: the request's own timeout ends the answer. */
static void test_chat_silent_server(void **state)
{
    program p;
    char url[MODELFIX_URL_BYTES];
    fakeapi *api = one_token_peer(&p, url);
    p.input = "Count.\n";
    program_run(&p, PROGRAM_ARGS("chat", "-m", MODEL_DIR, "--timeout", "1"));
    assert_int_equal(p.code, 1);
    assert_true(program_said(&p.err, "timed out"));
    program_close(&p);
    fakeapi_stop(&api);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chat_says),          cmocka_unit_test(test_chat_turns),
        cmocka_unit_test(test_chat_formats),       cmocka_unit_test(test_chat_failures),
        cmocka_unit_test(test_chat_terminal),      cmocka_unit_test(test_chat_interrupt),
        cmocka_unit_test(test_chat_commands),      cmocka_unit_test(test_chat_editor),
        cmocka_unit_test(test_chat_silent_server),
    };
    return cmocka_run_group_tests_name("cmd_chat", tests, NULL, NULL);
}
