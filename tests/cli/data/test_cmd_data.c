/* `tinkc data check` and `tinkc data show` as a user runs them, on the files of
 * tests/data/train, which Python made (make.py), and on files that nobody should make.
 * Links: text */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "support/program.h"
#include "support/test.h"

#define MODEL TEST_DATA_DIR "/../../models/pebble-llama-2m"
#define TRAIN TEST_DATA_DIR "/train/"

#define EXPECT_SAID(buf, text)                                                           \
    do {                                                                                 \
        if (!program_said(buf, text)) {                                                  \
            fail_msg("\"%s\" is not in: %s", text, (buf)->p != NULL ? (buf)->p : "");    \
        }                                                                                \
    } while (0)

/* ---- formats ---- */

static const tk_json *parse(tk_arena *arena, const char *text, size_t n)
{
    const tk_json *json = NULL;
    tk_err err = TK_ERR_INIT;
    if (tk_json_parse(&json, arena, text, n, NULL, &err) != TINKC_OK) {
        fail_msg("%s in: %s", err.message, text);
    }
    return json;
}

/* Both written in the same way, for a comparison that shows the difference. */
static void expect_equal(const char *name, const tk_json *got, const tk_json *wanted)
{
    tk_buf a, b;
    tk_json_writer w;
    tk_buf_init(&a, TK_MIB);
    tk_buf_init(&b, TK_MIB);
    tk_json_writer_init(&w, &a);
    tk_json_put_value(&w, got);
    tk_json_writer_init(&w, &b);
    tk_json_put_value(&w, wanted);
    if (!tk_str_eq(tk_buf_str(&a), tk_buf_str(&b))) {
        fail_msg("%s: %s\ninstead of %s", name, tk_buf_cstr(&a), tk_buf_cstr(&b));
    }
    tk_buf_dispose(&a);
    tk_buf_dispose(&b);
}

static void expect_rows(const char *name, const tk_json *got, const tk_json *wanted)
{
    assert_int_equal(tk_json_len(got), tk_json_len(wanted));
    for (size_t i = 0; i < tk_json_len(wanted); i++) {
        const tk_json row = tk_json_at(got, i), other = tk_json_at(wanted, i);
        const tk_json *parts = tk_json_get(&row, "parts");
        const tk_json *others = tk_json_get(&other, "parts");
        expect_equal(name, tk_json_get(&row, "line"), tk_json_get(&other, "line"));
        assert_int_equal(tk_json_len(parts), tk_json_len(others));
        for (size_t k = 0; k < tk_json_len(others); k++) {
            const tk_json part = tk_json_at(parts, k), pair = tk_json_at(others, k);
            const tk_json text = tk_json_at(&pair, 0), trained = tk_json_at(&pair, 1);
            expect_equal(name, tk_json_get(&part, "text"), &text);
            expect_equal(name, tk_json_get(&part, "trained"), &trained);
        }
    }
}

/* Every file: its format, and its rows with what is trained on, as Python says. */
static void test_data_formats(void **state)
{
    program p;
    tk_arena arena;
    char *text = NULL;
    size_t n = 0;
    program_open(&p, TINKC_PROGRAM);
    tk_arena_init(&arena, 0);
    assert_int_equal(tk_file_read(&text, &n, TRAIN "expected.json", TK_MIB, NULL),
                     TINKC_OK);
    const tk_json *all = parse(&arena, text, n);
    assert_true(all->as.object.n >= 17);
    for (size_t i = 0; i < all->as.object.n; i++) {
        const tk_json_member *m = &all->as.object.members[i];
        char path[512];
        (void)snprintf(path, sizeof(path), TRAIN TK_STR_FMT, TK_STR_ARG(m->key));
        program_run(&p, PROGRAM_ARGS("data", "show", path, "-t", MODEL, "--rows", "100",
                                     "--format", "json"));
        if (p.code != 0) {
            fail_msg("%s: %s", path, p.err.p);
        }
        const tk_json *json = parse(&arena, p.out.p, p.out.n);
        const tk_json file = tk_json_at(tk_json_get(json, "files"), 0);
        expect_equal(path, tk_json_get(&file, "formats"),
                     tk_json_get(&m->value, "formats"));
        expect_rows(path, tk_json_get(json, "rows"), tk_json_get(&m->value, "rows"));
    }
    tk_free(text);
    tk_arena_dispose(&arena);
    program_close(&p);
}

/* For people: one line for each file, the text with its marks, counts and lengths; the
 * same lines where the output is not a terminal. */
static void test_data_shows(void **state)
{
    program p;
    program_open(&p, TINKC_PROGRAM);
    program_run(&p, PROGRAM_ARGS("data", "check", TRAIN "chat.jsonl"));
    assert_int_equal(p.code, 0);
    EXPECT_SAID(&p.out, "chat.jsonl: 4 conversations (OpenAI chat)\n");
    assert_false(program_said(&p.out, "tokens"));
    assert_int_equal(p.err.n, 0);
    program_run(&p, PROGRAM_ARGS("data", "show", TRAIN "qa.csv", "-t", MODEL, "-n", "1",
                                 "--from", "2"));
    assert_int_equal(p.code, 0);
    EXPECT_SAID(&p.out, "qa.csv:3: 19 tokens, 8 trained (question/answer, CSV)\n"
                        "<|endoftext|><|user|>With, a comma?<|end|><|assistant|>"
                        "{+Yes; it has one.<|end|>+}\n");
    assert_false(program_said(&p.out, "Plain?"));
    EXPECT_SAID(&p.out, "6 examples with ");
    EXPECT_SAID(&p.out, "      17-      32         ");
    assert_null(memchr(p.out.p, '\033', p.out.n));
    assert_null(memchr(p.out.p, '\r', p.out.n));
    program_run(&p, PROGRAM_ARGS("data", "check", TRAIN "turns.jsonl", TRAIN "story.txt",
                                 "-t", MODEL, "--max-length", "8"));
    assert_int_equal(p.code, 1);
    EXPECT_SAID(&p.err, "turns.jsonl:1: too long: ");
    EXPECT_SAID(&p.out, "turns.jsonl: nothing to train on\n");
    EXPECT_SAID(&p.out, "story.txt: 1 text (plain text)\n");
    EXPECT_SAID(&p.out, "1 too long, cannot be used\n");
    program_run(&p, PROGRAM_ARGS("data", "check", TRAIN "text.jsonl", "-t", MODEL,
                                 "--max-length", "3"));
    assert_int_equal(p.code, 0);
    EXPECT_SAID(&p.out, "2 too long, cut into several examples\n");
    program_close(&p);
}

/* ---- files ---- */

static void test_data_files(void **state)
{
    program p;
    static const char line[] = "{\"question\":\"a\",\"answer\":\"b\"}\n";
    program_open(&p, TINKC_PROGRAM);
    program_write_file(&p, "b2.jsonl", line);
    program_write_file(&p, "b1.jsonl", line);
    program_write_file(&p, "[x].jsonl", line);
    program_run(&p, PROGRAM_ARGS("data", "check", "b?.jsonl", "[x].jsonl"));
    assert_int_equal(p.code, 0);
    EXPECT_SAID(&p.out, "b1.jsonl: 1 conversation (question/answer)\n"
                        "b2.jsonl: 1 conversation (question/answer)\n"
                        "[x].jsonl: 1 conversation (question/answer)\n");
    p.input = "Question,Answer\r\na,b\r\n";
    program_run(&p, PROGRAM_ARGS("data", "check", "-"));
    assert_int_equal(p.code, 0);
    EXPECT_SAID(&p.out, "standard input: 1 conversation (question/answer, CSV)\n");
    p.input = NULL;
    program_run(&p, PROGRAM_ARGS("data", "check", "c*.jsonl"));
    assert_int_equal(p.code, 1);
    EXPECT_SAID(&p.err, "Error: no file matches c*.jsonl\n");
    program_run(&p, PROGRAM_ARGS("data", "check", "."));
    assert_int_equal(p.code, 1);
    EXPECT_SAID(&p.err, "Error: cannot read .: Is a directory\n");
    program_run(&p, PROGRAM_ARGS("data", "show", "b1.jsonl"));
    assert_int_equal(p.code, 2);
    EXPECT_SAID(&p.err, "Missing option '--tokenizer' or '--model'.");
    program_run(&p, PROGRAM_ARGS("data", "show", "b1.jsonl", "-t", MODEL, "-n", "0"));
    assert_int_equal(p.code, 2);
    program_close(&p);
}

/* --input-format wins over the name and the keys. */
static void test_data_override(void **state)
{
    program p;
    program_open(&p, TINKC_PROGRAM);
    program_write_file(&p, "d.jsonl",
                       "{\"prompt\":\"a\",\"completion\":\"b\",\"text\":\"c\"}\n");
    program_write_file(&p, "d.txt", "question,answer\na,b\n");
    program_write_file(&p, "e.txt", "{\"text\":\"JSON in a text file\"}\n");
    program_run(&p, PROGRAM_ARGS("data", "check", "d.jsonl", "d.txt", "e.txt"));
    EXPECT_SAID(&p.out, "d.jsonl: 1 pair (prompt/completion)\n"
                        "d.txt: 1 text (plain text)\n"
                        "e.txt: 1 text (plain text)\n");
    program_run(&p, PROGRAM_ARGS("data", "check", "d.jsonl", "--input-format", "text"));
    EXPECT_SAID(&p.out, "d.jsonl: 1 text (plain text)\n");
    program_run(&p, PROGRAM_ARGS("data", "check", "d.txt", "--input-format", "csv"));
    EXPECT_SAID(&p.out, "d.txt: 1 conversation (question/answer, CSV)\n");
    program_run(&p, PROGRAM_ARGS("data", "show", "e.txt", "--input-format", "plain", "-t",
                                 MODEL));
    EXPECT_SAID(&p.out, "JSON in a text file\"}");
    program_run(&p, PROGRAM_ARGS("data", "check", "d.jsonl", "--input-format", "alpaca"));
    assert_int_equal(p.code, 1);
    EXPECT_SAID(&p.err,
                "d.jsonl:1: is not Alpaca data (it has: prompt, completion, text)\n");
    program_run(&p, PROGRAM_ARGS("data", "check", "d.jsonl", "--input-format", "xml"));
    assert_int_equal(p.code, 2);
    program_close(&p);
}

/* Formats that are not read say what to do. */
static void test_data_foreign(void **state)
{
    static const struct {
        const char *name, *start, *words;
    } files[] = {
        {"d.parquet", "PAR1....",
         "d.parquet is a Parquet file, which is not read; convert it with: python3 -c "
         "\"import pandas; pandas.read_parquet('d.parquet').to_json('data.jsonl', "
         "orient='records', lines=True)\"\n"},
        {"d.arrow", "ARROW1..", "pandas.read_feather('d.arrow')"},
        {"d.xlsx", "PK\x03\x04....", "save the sheet as CSV"},
        {"d.jsonl", "\xff\xfe{", "iconv -f UTF-16 -t UTF-8 'd.jsonl'"},
        {"d.csv", "a,b\n1,2\n", "its columns (a,b) are in no known format"},
    };
    program p;
    program_open(&p, TINKC_PROGRAM);
    for (size_t i = 0; i < TK_ARRAY_LEN(files); i++) {
        program_write_file(&p, files[i].name, files[i].start);
        program_run(&p, PROGRAM_ARGS("data", "check", files[i].name));
        assert_int_equal(p.code, 1);
        EXPECT_SAID(&p.err, files[i].words);
        assert_int_equal(p.out.n, 0);
    }
    program_close(&p);
}

/* ---- bad lines ---- */

#define SKIP_HINT "Hint: Fix them, or leave them out with --skip-bad when you train.\n"

static void test_data_bad_lines(void **state)
{
    program p;
    program_open(&p, TINKC_PROGRAM);
    program_write_file(
        &p, "d.jsonl",
        "{\"question\":\"a\",\"answer\":\"b\"}\r\n\r\n"
        "{\"chosen\":\"a\",\"rejected\":\"b\"}\n"
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\","
        "\"image_url\":{}}]},{\"role\":\"assistant\",\"content\":\"a\"}]}\n"
        "{\"conversations\":[{\"from\":\"alice\",\"value\":\"a\"}]}\n"
        "{\"a\":1}\n{\"b\":1}\n");
    program_run(&p, PROGRAM_ARGS("data", "check", "d.jsonl"));
    assert_int_equal(p.code, 1);
    assert_string_equal(
        p.err.p,
        "d.jsonl:3: is a preference (\"chosen\" and \"rejected\"); training needs one "
        "answer\n"
        "d.jsonl:4: message 0 has a part of type \"image_url\", but only text can be "
        "trained on\n"
        "d.jsonl:5: turn 0 is from \"alice\", who is not known\n"
        "... and 2 more lines\n"
        "Error: 5 lines of d.jsonl cannot be used for training\n" SKIP_HINT);
    EXPECT_SAID(&p.out, "d.jsonl: 1 conversation (question/answer)\n");
    program_close(&p);
}

/* A conversation without an answer is found without a model, too; so is a file with
 * nothing in it. With a model it is said once. */
static void test_data_roles(void **state)
{
    static const char lines[] =
        "r.jsonl:1: message 1 has the unknown role \"asistant\"; did you mean "
        "\"assistant\"?\n"
        "r.jsonl:2: nothing to train on: no message of the assistant (roles: user)\n"
        "r.jsonl:3: nothing to train on: the messages of the assistant have weight 0\n"
        "Error: 3 lines of r.jsonl cannot be used for training\n" SKIP_HINT;
    program p;
    program_open(&p, TINKC_PROGRAM);
    program_write_file(&p, "r.jsonl",
                       "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
                       "{\"role\":\"asistant\",\"content\":\"b\"}]}\n"
                       "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n"
                       "{\"messages\":[{\"role\":\"assistant\",\"content\":\"a\","
                       "\"weight\":0}]}\n");
    program_run(&p, PROGRAM_ARGS("data", "check", "r.jsonl"));
    assert_int_equal(p.code, 1);
    assert_string_equal(p.err.p, lines);
    program_run(&p, PROGRAM_ARGS("data", "check", "r.jsonl", "-t", MODEL));
    assert_string_equal(p.err.p, lines);
    program_run(&p, PROGRAM_ARGS("data", "check", "r.jsonl", "--loss-on", "all"));
    assert_int_equal(p.code, 1);
    EXPECT_SAID(&p.err, "Error: 1 line of r.jsonl cannot be used for training\n");
    program_write_file(&p, "e.jsonl", "\n");
    program_run(&p, PROGRAM_ARGS("data", "check", "e.jsonl"));
    assert_int_equal(p.code, 1);
    EXPECT_SAID(&p.err, "Error: there is nothing to train on in e.jsonl\n");
    program_close(&p);
}

#define USER(text)   "{\"role\":\"user\",\"content\":\"" text "\"}"
#define ANSWER(text) "{\"role\":\"assistant\",\"content\":\"" text "\"}"

/* A misspelt role beside good ones, what other formats call a role, and empty answers. */
static void test_data_unknown_roles(void **state)
{
    static const char lines[] =
        "r.jsonl:1: message 0 has the unknown role \"usr\"; did you mean \"user\"?\n"
        "r.jsonl:2: message 3 has the unknown role \"asistant\"; did you mean "
        "\"assistant\"?\n"
        "r.jsonl:3: message 0 has the unknown role \"human\"; did you mean \"user\"?\n"
        "Error: 3 lines of r.jsonl cannot be used for training\n" SKIP_HINT;
    program p;
    program_open(&p, TINKC_PROGRAM);
    program_write_file(
        &p, "r.jsonl",
        "{\"messages\":[{\"role\":\"usr\",\"content\":\"a\"}," ANSWER(
            "b") "]}\n"
                 "{\"messages\":[" USER("a") "," ANSWER("b") "," USER(
                     "c") ","
                          "{\"role\":\"asistant\",\"content\":\"d\"}]}\n"
                          "{\"messages\":[{\"role\":\"human\",\"content\":\"a\"}," ANSWER(
                              "b") "]}\n"
                                   "{\"messages\":[{\"role\":\"developer\",\"content\":\"a\"}," ANSWER(
                                       "b") ","
                                            "{\"role\":\"ipython\",\"content\":\"7\"}," ANSWER(
                                                "b") "]}\n");
    program_run(&p, PROGRAM_ARGS("data", "check", "r.jsonl"));
    assert_int_equal(p.code, 1);
    assert_string_equal(p.err.p, lines);
    program_write_file(
        &p, "e.jsonl",
        "{\"messages\":[" USER("a") "," ANSWER(
            "") "]}\n"
                "{\"messages\":[" USER("a") "," ANSWER("") "," USER("a") "," ANSWER(
                    "b") "]}\n"
                         "{\"messages\":[" USER(
                             "a") ",{\"role\":\"assistant\","
                                  "\"content\":\"\",\"weight\":0}," USER("a") "," ANSWER(
                                      "b") "]}\n");
    program_run(&p, PROGRAM_ARGS("data", "check", "e.jsonl"));
    EXPECT_SAID(&p.err,
                "e.jsonl:1: message 1 is an empty answer; \"weight\": 0 leaves it "
                "out\ne.jsonl:2: message 1 is an empty answer; ");
    EXPECT_SAID(&p.err, "Error: 2 lines of e.jsonl");
    program_run(&p, PROGRAM_ARGS("data", "check", "e.jsonl", "--loss-on", "last"));
    EXPECT_SAID(&p.err, "Error: 1 line of e.jsonl");
    program_close(&p);
}

static const char tool_line[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"},"
    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"1\","
    "\"type\":\"function\",\"function\":{\"name\":\"look\",\"arguments\":"
    "\"{\\\"at\\\":1}\"}}]},"
    "{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"7\"},"
    "{\"role\":\"assistant\",\"content\":\"Seven.\"}],"
    "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"look\"}}]}\n";

static const char parts_line[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Hi\"}]},"
    "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Yes.\"}]}]}\n";

static const char share_line[] =
    "{\"conversations\":[{\"from\":\"human\",\"value\":\"Hi\"},"
    "{\"from\":\"function_call\",\"value\":\"{\\\"name\\\":\\\"look\\\","
    "\\\"arguments\\\":{\\\"at\\\":1}}\"},"
    "{\"from\":\"observation\",\"value\":\"7\"},"
    "{\"from\":\"gpt\",\"value\":\"Seven.\"}],"
    "\"tools\":\"[{\\\"name\\\":\\\"look\\\"}]\"}\n";

/* A folder with the embedded tokenizer and another template. */
static void write_model(const program *p, const char *name, const char *tpl)
{
    char command[1024], config[2048], path[96];
    (void)snprintf(command, sizeof(command),
                   "mkdir -p %s/%s && cp %s/tokenizer.json %s/%s", p->dir, name, MODEL,
                   p->dir, name);
    assert_int_equal(system(command), 0);
    (void)snprintf(config, sizeof(config),
                   "{\"bos_token\":\"<|endoftext|>\",\"eos_token\":\"<|end|>\","
                   "\"chat_template\":\"%s\"}",
                   tpl);
    (void)snprintf(path, sizeof(path), "%s/tokenizer_config.json", name);
    program_write_file(p, path, config);
}

#define TEMPLATE(content, call)                                                          \
    "{{ bos_token }}{% if tools %}<|system|>{{ tools | tojson }}<|end|>{% endif %}"      \
    "{% for m in messages %}{{ '<|' + m.role + '|>' }}" content                          \
    "{% for c in m.tool_calls or [] %}" call "{% endfor %}<|end|>{% endfor %}"           \
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"

/* Tools and parts reach templates that take them, each in the form that it takes; others
 * are refused in plain words. */
static void test_data_templates(void **state)
{
    static const struct {
        const char *tpl, *file, *out, *err;
    } cases[] = {
        {TEMPLATE("{{ m.content or '' }}", "{{ c.function.name }}({{ "
                                           "c.function.arguments.at }})"),
         "tools.jsonl",
         "{+look(1)<|end|>+}<|tool|>7<|end|><|assistant|>{+Seven.<|end|>+}", NULL},
        {TEMPLATE("{{ m.content or '' }}",
                  "{{ c.function.name + c.function.arguments }}"),
         "tools.jsonl", "{+look{\"at\":1}<|end|>+}", NULL},
        {TEMPLATE("{{ m.content or '' }}", ""), "tools.jsonl", NULL,
         "tools.jsonl:1: the chat template of this model leaves out the tool calls\n"},
        {TEMPLATE("{{ m.content + '' }}", "{{ c.function.name }}"), "tools.jsonl", NULL,
         "tools.jsonl:1: the chat template of this model cannot take tools and tool "
         "calls\n"},
        {TEMPLATE("{{ m.content + '' }}", ""), "parts.jsonl",
         "<|user|>Hi<|end|><|assistant|>{+Yes.<|end|>+}", NULL},
        {TEMPLATE("{% for p in m.content %}{{ p['text'] }}{% endfor %}", ""),
         "parts.jsonl", "<|user|>Hi<|end|><|assistant|>{+Yes.<|end|>+}", NULL},
        {TEMPLATE("{{ m.content | abs }}", ""), "parts.jsonl", NULL,
         "parts.jsonl:1: the chat template of this model cannot take content in parts\n"},
    };
    program p;
    program_open(&p, TINKC_PROGRAM);
    program_write_file(&p, "tools.jsonl", tool_line);
    program_write_file(&p, "parts.jsonl", parts_line);
    program_write_file(&p, "share.jsonl", share_line);
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        write_model(&p, "m", cases[i].tpl);
        program_run(&p, PROGRAM_ARGS("data", "show", cases[i].file, "-t", "m"));
        if (p.code != (cases[i].out != NULL ? 0 : 1)) {
            fail_msg("case %zu: %s", i, p.err.p);
        }
        EXPECT_SAID(cases[i].out != NULL ? &p.out : &p.err,
                    cases[i].out != NULL ? cases[i].out : cases[i].err);
    }
    program_close(&p);
}

/* ---- hostile files ---- */

static void write_bytes(const program *p, const char *name, const char *bytes, size_t n)
{
    assert_int_equal(tk_file_replace(program_path(p, name), bytes, n, 0600, NULL),
                     TINKC_OK);
}

#define GOOD "{\"text\":\"good\"}\n"

static void test_data_hostile(void **state)
{
    static const struct {
        const char *name, *bytes;
        size_t n;
        const char *err, *out; /* out: NULL for a file that is refused as a whole */
    } cases[] = {
#define CASE(name, bytes, err, out) {name, bytes, sizeof(bytes) - 1, err, out}
        CASE("a.jsonl", GOOD "{\"text\":\"\xff\"}\n" GOOD, "a.jsonl:2: not JSON",
             "2 texts"),
        CASE("b.jsonl", GOOD "{\"text\":\"\0\"}\n" GOOD, "b.jsonl:2: not JSON",
             "2 texts"),
        CASE("c.csv", "text\ncaf\xe9\nok\n", "c.csv:2: not UTF-8 (byte 0xe9)", "1 text "),
        CASE("d.csv", "text\na\0b\nok\n", "d.csv:2: not text: it has a NUL byte",
             "1 text "),
        CASE("e.csv", "text,id\na\nok,1\na,b,c\n",
             "e.csv:2: has 1 cells, but the header "
             "has 2",
             "1 text "),
        CASE("f.csv", "text\n\"a\"b\nok\n", "f.csv:2: not CSV: a quoted cell", "1 text "),
        CASE("g.csv", "text\nok\n\"a\nb\n", "g.csv:3: the file ends inside quotes",
             "1 text "),
        CASE("h.json", "[" GOOD "," GOOD, "the file ends inside its JSON array",
             "1 text "),
        CASE("i.json", "[" GOOD "] x", "i.json:2: text outside the JSON array",
             "1 text "),
        CASE("j.json", "[" GOOD ", ,3, {]},\"\\\"],[\"]",
             "is not an object, but a JSON "
             "integer",
             "1 text "),
        CASE("k.txt", "one\ntwo \x80\n", "k.txt:1: not UTF-8 (byte 0x80)",
             "nothing to train on"),
        CASE("l.jsonl", "\xef\xbb\xbf" GOOD "\xef\xbb\xbf" GOOD, "l.jsonl:2: not JSON",
             "1 text "),
        CASE("m.jsonl", "\x1f\x8b\x08", "m.jsonl cannot be unpacked", NULL),
#undef CASE
    };
    program p;
    program_open(&p, TINKC_PROGRAM);
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        write_bytes(&p, cases[i].name, cases[i].bytes, cases[i].n);
        program_run(&p, PROGRAM_ARGS("data", "check", cases[i].name, "-t", MODEL));
        assert_int_equal(p.code, 1);
        EXPECT_SAID(&p.err, cases[i].err);
        if (cases[i].out != NULL) {
            EXPECT_SAID(&p.out, cases[i].out);
        }
    }
    program_close(&p);
}

/* Packed files: cut short, and one that unpacks to 30,000 times its size. */
static void test_data_packed(void **state)
{
    program p;
    program_open(&p, TINKC_PROGRAM);
    program_run(&p, PROGRAM_ARGS("data", "check", TRAIN "cut.csv.gz"));
    assert_int_equal(p.code, 1);
    EXPECT_SAID(&p.err, "cut.csv.gz cannot be unpacked: ");
    program_run(&p, PROGRAM_ARGS("data", "check", TRAIN "cut.jsonl.zst"));
    assert_int_equal(p.code, 1);
    EXPECT_SAID(&p.err, "cut.jsonl.zst cannot be unpacked: ");
    program_run(&p, PROGRAM_ARGS("data", "check", TRAIN "bomb.jsonl.zst"));
    assert_int_equal(p.code, 1);
    EXPECT_SAID(&p.err, "bomb.jsonl.zst unpacks to more than 200 times its size\n");
    program_close(&p);
}

/* A line of 100 MB between two good ones: the line is left out, in little memory. */
static void test_data_long_line(void **state)
{
    program p;
    program_open(&p, TINKC_PROGRAM);
    int fd = open(program_path(&p, "d.jsonl"), O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    static const char end[] = "\n" GOOD;
    assert_int_equal(pwrite(fd, GOOD "x", sizeof(GOOD), 0), sizeof(GOOD));
    assert_int_equal(pwrite(fd, end, sizeof(end) - 1, 100000000), sizeof(end) - 1);
    assert_int_equal(close(fd), 0);
    program_run(&p, PROGRAM_ARGS("data", "check", "d.jsonl", "-t", MODEL));
    assert_int_equal(p.code, 1);
    EXPECT_SAID(&p.err, "d.jsonl:2: longer than 16 MiB\n");
    EXPECT_SAID(&p.out, "d.jsonl: 2 texts (plain text)\n");
    program_close(&p);
}

#ifdef TINKC_SANITIZED
#define LINES 2000
#else
#define LINES 200000
#endif

/* 200,000 lines: what the program takes at its peak is less than twice the file, and
 * there is progress on a terminal. */
static void test_data_memory(void **state)
{
    program p;
    struct rusage usage;
    tk_buf text;
    char counted[64];
    program_open(&p, TINKC_PROGRAM);
    tk_buf_init(&text, 256 * TK_MIB);
    for (size_t i = 0; i < LINES; i++) {
        tk_buf_printf(&text,
                      "{\"messages\": [{\"role\": \"user\", \"content\": \"What is the "
                      "number of line %zu, please, and where is it?\"}, {\"role\": "
                      "\"assistant\", \"content\": \"It is %zu, of course, and it is "
                      "here, where you see it.\"}]}\n",
                      i, i);
    }
    size_t bytes = text.n;
    write_bytes(&p, "d.jsonl", text.p, text.n);
    tk_buf_dispose(&text);
    p.columns = 80;
    program_run(&p, PROGRAM_ARGS("data", "check", "d.jsonl", "-t", MODEL));
    assert_int_equal(p.code, 0);
    (void)snprintf(counted, sizeof(counted), "d.jsonl: %d conversations", LINES);
    EXPECT_SAID(&p.out, counted);
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &usage), 0);
    print_message("%zu bytes of data, %ld KiB at the peak\n", bytes, usage.ru_maxrss);
#ifndef TINKC_SANITIZED
    EXPECT_SAID(&p.out, "Reading d.jsonl: ");
    assert_true((size_t)usage.ru_maxrss * 1024 < 2 * bytes);
#endif
    program_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data_memory), /* first: the peak is that of all children */
        cmocka_unit_test(test_data_formats),       cmocka_unit_test(test_data_shows),
        cmocka_unit_test(test_data_files),         cmocka_unit_test(test_data_override),
        cmocka_unit_test(test_data_foreign),       cmocka_unit_test(test_data_bad_lines),
        cmocka_unit_test(test_data_unknown_roles), cmocka_unit_test(test_data_roles),
        cmocka_unit_test(test_data_templates),     cmocka_unit_test(test_data_hostile),
        cmocka_unit_test(test_data_packed),        cmocka_unit_test(test_data_long_line),
    };
    return cmocka_run_group_tests_name("cmd_data", tests, NULL, NULL);
}
