/* Training data: files to rows of tokens, problems by line.
 * Links: client text */
#include <stdio.h>
#include <tinkc/service.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/data/data_load.h"
#include "cli/train/trainfix.h"
#include "support/failmem.h"
#include "support/test.h"

#define MODEL_DIR TEST_DATA_DIR "/../../models/pebble-llama-2m"
#define NOTES_MAX 32

typedef struct notes {
    size_t n;
    struct {
        size_t line;
        bool is_problem;
        char text[256];
    } at[NOTES_MAX];
} notes;

static tinkc_tokenizer *tokenizer;
static tinkc_chat_template *tpl;

static int open_model(void **state)
{
    tinkc_error *error = NULL;
    bool ok = trainfix_open(state) == 0 &&
              tinkc_tokenizer_load(&tokenizer, MODEL_DIR, &error) == TINKC_OK &&
              tinkc_chat_template_of(&tpl, tokenizer, NULL, &error) == TINKC_OK;
    tinkc_error_free(&error);
    return ok ? 0 : 1;
}

static int close_model(void **state)
{
    tinkc_tokenizer_free(&tokenizer);
    tinkc_chat_template_free(&tpl);
    return trainfix_close(state);
}

static void note(void *user, const char *path, size_t line, bool is_problem,
                 const char *text)
{
    notes *all = user;
    assert_true(all->n < NOTES_MAX);
    assert_non_null(strstr(path, "/d."));
    all->at[all->n].line = line;
    all->at[all->n].is_problem = is_problem;
    (void)snprintf(all->at[all->n].text, sizeof(all->at[0].text), "%s", text);
    all->n++;
}

static void write_file(const char *path, const char *text, size_t n)
{
    assert_int_equal(tk_file_replace(path, text, n, 0600, NULL), TINKC_OK);
}

static tinkc_code load(data_set *set, data_file *file, notes *told, size_t max_tokens,
                       const char *path, tk_err *err)
{
    memset(told, 0, sizeof(*told));
    const data_source source = {.tokenizer = tokenizer,
                                .tpl = tpl,
                                .max_tokens = max_tokens,
                                .kind = DATA_ANY,
                                .report = note,
                                .user = told};
    data_set_init(set, tinkc_tokenizer_size(tokenizer));
    return data_load(set, file, &source, path, 0, err);
}

static void read_text(data_set *set, notes *told, size_t max_tokens, const char *text)
{
    tk_err err = TK_ERR_INIT;
    data_file file;
    write_file(trainfix_path("d.jsonl"), text, strlen(text));
    assert_int_equal(load(set, &file, told, max_tokens, trainfix_path("d.jsonl"), &err),
                     TINKC_OK);
}

/* The text of the tokens with a weight. */
static void trained_text(const data_set *set, size_t row, char *out, size_t size)
{
    tinkc_datum *datum = NULL;
    assert_int_equal(data_set_datum(&datum, set, row, NULL), TINKC_OK);
    const tinkc_tensor *targets = tinkc_datum_tensor(datum, "target_tokens");
    const tinkc_tensor *weights = tinkc_datum_tensor(datum, "weights");
    int32_t ids[256];
    tinkc_decode what = TINKC_DECODE_INIT;
    what.ids = ids;
    for (size_t i = 0; i < tinkc_tensor_count(targets); i++) {
        if (tinkc_tensor_f32(weights)[i] > 0) {
            ids[what.ids_n++] = (int32_t)tinkc_tensor_i64(targets)[i];
        }
    }
    char *text = NULL;
    assert_int_equal(tinkc_tokenizer_decode(&text, NULL, tokenizer, &what, NULL),
                     TINKC_OK);
    (void)snprintf(out, size, "%s", text);
    tinkc_text_free(&text);
    tinkc_datum_free(&datum);
}

static void test_data_load_rows(void **state)
{
    data_set set;
    notes told;
    char text[256];
    read_text(&set, &told, 0,
              "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi.\"},"
              "{\"role\":\"assistant\",\"content\":\"Hello.\"}]}\r\n"
              "\n"
              "{\"prompt\":\"One two\",\"completion\":\" three.\"}\n"
              "[{\"role\":\"user\",\"content\":\"A\"},"
              "{\"role\":\"assistant\",\"content\":\"B\",\"weight\":0},"
              "{\"role\":\"user\",\"content\":\"C\"},"
              "{\"role\":\"assistant\",\"content\":\"D\"}]");
    assert_int_equal(told.n, 0);
    assert_int_equal(set.problems, 0);
    assert_int_equal(set.n, 3);
    assert_int_equal(set.rows[1].line, 3);
    trained_text(&set, 0, text, sizeof(text));
    assert_string_equal(text, "Hello.<|end|>");
    trained_text(&set, 1, text, sizeof(text));
    assert_string_equal(text, " three.<|end|>");
    trained_text(&set, 2, text, sizeof(text));
    assert_string_equal(text, "D<|end|>"); /* the turn without weight is left out */
    assert_true(set.weight ==
                set.rows[0].weight + set.rows[1].weight + set.rows[2].weight);
    data_set_dispose(&set);
}

static void test_data_load_problems(void **state)
{
    static const struct {
        const char *line, *words;
    } bad[] = {
        {"{\"messages\":", "not JSON: unexpected end of text at byte 12"},
        {"{\"mesages\":[]}",
         "is not in a known format (it has: mesages); did you mean \"messages\"?"},
        {"{\"prompt\":\"a\",\"completion\":\"b\",\"weight\": NaN}",
         "NaN is not a JSON number"},
        {"{\"txt\":\"x\"}", "is not in a known format (it has: txt)"},
        {"3", "is not an object, but a JSON integer"},
        {"{\"messages\":[]}", "no messages"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":\"Hi.\"}]}", "nothing to train"},
        {"{\"messages\":[{\"role\":\"assistant\",\"content\":\"a\",\"weight\":-1}]}",
         "\"weight\" is not a number"},
        {"{\"messages\":[{\"role\":\"assistant\",\"content\":\"a\",\"weight\":\"x\"}]}",
         "\"weight\" is not a number"},
        {"{\"messages\":[\"a\"]}", "message 0 is not an object"},
        {"{\"prompt\":\"a\",\"completion\":\"\"}", "nothing to train"},
        {"{\"prompt\":3,\"completion\":\"a\"}", "\"prompt\" is not a string"},
        {"{\"prompt\":\"a\",\"completion\":[]}", "\"completion\" is not a string"},
        {"{\"prompt\":\"\",\"completion\":\"once upon a time there was a small cat\"}",
         "too long"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        char text[512];
        data_set set;
        notes told;
        (void)snprintf(text, sizeof(text),
                       "{\"prompt\":\"a\",\"completion\":\"b\"}\n%s\n", bad[i].line);
        read_text(&set, &told, 6, text);
        assert_int_equal(set.n, 1);
        assert_int_equal(set.problems, 1);
        size_t found = 0;
        for (size_t k = 0; k < told.n; k++) {
            if (told.at[k].is_problem) {
                assert_int_equal(told.at[k].line, 2);
                assert_non_null(strstr(told.at[k].text, bad[i].words));
                found++;
            }
        }
        assert_int_equal(found, 1);
        data_set_dispose(&set);
    }
}

static void test_data_load_empty(void **state)
{
    data_set set;
    notes told;
    read_text(&set, &told, 0, "");
    assert_int_equal(set.n, 0);
    data_set_dispose(&set);
    read_text(&set, &told, 0, "\n \n\t\n");
    assert_int_equal(set.n, 0);
    assert_int_equal(set.problems, 0);
    data_set_dispose(&set);
}

/* A byte order mark before the first line is not part of it; elsewhere it is not JSON. */
static void test_data_load_mark(void **state)
{
    data_set set;
    notes told;
    read_text(&set, &told, 0,
              "\xef\xbb\xbf{\"prompt\":\"a\",\"completion\":\"b\"}\n"
              "\xef\xbb\xbf{\"prompt\":\"a\",\"completion\":\"b\"}\n");
    assert_int_equal(set.n, 1);
    assert_int_equal(set.rows[0].line, 1);
    assert_int_equal(set.problems, 1);
    assert_int_equal(told.at[0].line, 2);
    data_set_dispose(&set);
    read_text(&set, &told, 0, "\xef\xbb\xbf");
    assert_int_equal(set.n, 0);
    assert_int_equal(set.problems, 0);
    data_set_dispose(&set);
}

static void test_data_load_no_template(void **state)
{
    data_set set;
    notes told = {.n = 0};
    data_file file;
    const char *text = "{\"messages\":[{\"role\":\"assistant\",\"content\":\"a\"}]}";
    const data_source source = {
        .tokenizer = tokenizer, .kind = DATA_ANY, .report = note, .user = &told};
    write_file(trainfix_path("d.jsonl"), text, strlen(text));
    data_set_init(&set, tinkc_tokenizer_size(tokenizer));
    assert_int_equal(data_load(&set, &file, &source, trainfix_path("d.jsonl"), 0, NULL),
                     TINKC_OK);
    assert_int_equal(set.problems, 1);
    assert_non_null(strstr(told.at[0].text, "no chat template"));
    data_set_dispose(&set);
}

static void ignore(void *user, const char *path, size_t line, bool is_problem,
                   const char *text)
{
}

/* Reads a file with tokens and makes the datum of its last row. */
static bool load_once(void *user)
{
    const data_source source = {.tokenizer = tokenizer,
                                .tpl = tpl,
                                .max_tokens = 40,
                                .kind = DATA_ANY,
                                .report = ignore};
    tk_err err = TK_ERR_INIT;
    tinkc_datum *datum = NULL;
    data_set set;
    data_file file;
    data_set_init(&set, tinkc_tokenizer_size(tokenizer));
    tinkc_code code = data_load(&set, &file, &source, user, 0, &err);
    if (code == TINKC_OK) {
        assert_true(set.n > 0);
        code = data_set_datum(&datum, &set, set.n - 1, &err);
    }
    assert_int_equal(err.code, code);
    tinkc_datum_free(&datum);
    data_set_dispose(&set);
    return code == TINKC_OK;
}

/* Every allocation of every format fails once. */
static void test_data_load_no_memory(void **state)
{
    static char files[][160] = {
        TEST_DATA_DIR "/train/chat.jsonl",  TEST_DATA_DIR "/train/turns.jsonl",
        TEST_DATA_DIR "/train/alpaca.json", TEST_DATA_DIR "/train/sharegpt.json",
        TEST_DATA_DIR "/train/qa.csv.gz",   TEST_DATA_DIR "/train/messages.csv",
        TEST_DATA_DIR "/train/text.jsonl",  TEST_DATA_DIR "/train/story.txt",
        TEST_DATA_DIR "/train/values.json", "",
    };
    const char *tools =
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
        "\"text\":\"Hi\"}]},{\"role\":\"assistant\",\"content\":\"a\",\"tool_calls\":["
        "{\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}],\"tools\":\"[{}]\"}\n"
        "{\"prompt\":\"a\",\"completion\":\"b\"}\n";
    write_file(trainfix_path("d.jsonl"), tools, strlen(tools));
    size_t n = TK_ARRAY_LEN(files);
    (void)snprintf(files[n - 1], sizeof(files[0]), "%s", trainfix_path("d.jsonl"));
    for (size_t i = 0; i < n; i++) {
        assert_true(failmem_sweep(load_once, files[i], 1) > 3);
    }
}

/* Rows come back as they were put in, at each width of tokens. */
static void test_data_set_packs(void **state)
{
    static const size_t vocabularies[] = {300, 0x10000, 0x10001, 0x1000000, 0x1000001};
    for (size_t v = 0; v < TK_ARRAY_LEN(vocabularies); v++) {
        int32_t ids[] = {0, (int32_t)vocabularies[v] - 1, 7, 255, 256};
        float weights[] = {0, 0.5F, 0.5F, 1, 0};
        const data_tokens tokens = {ids, weights, 5};
        const data_row about = {.line = 3, .file = 1, .kind = DATA_QA};
        data_set set;
        data_tokens out;
        data_set_init(&set, vocabularies[v]);
        assert_int_equal(data_set_add(&set, &about, &tokens, NULL), TINKC_OK);
        assert_int_equal(data_set_add(&set, &about, &tokens, NULL), TINKC_OK);
        assert_int_equal(set.rows[1].tokens, 4);
        assert_int_equal(set.rows[1].line, 3);
        assert_true(set.rows[1].weight == 2.0 && set.weight == 4.0);
        assert_int_equal(data_set_tokens(&out, &set, 1, NULL), TINKC_OK);
        assert_int_equal(out.n, 5);
        assert_memory_equal(out.ids, ids, sizeof(ids));
        assert_memory_equal(out.weights, weights, sizeof(weights));
        data_tokens_dispose(&out);
        data_set_dispose(&set);
    }
}

/* A plain text becomes rows of the given length; each token but the first is predicted
 * exactly once, and the rows together are the text. */
static void test_data_load_plain(void **state)
{
    static const char line[] = "It was a cold day, and nobody was outside.\n";
    tk_buf text, joined;
    tk_err err = TK_ERR_INIT;
    data_set set;
    data_file file;
    notes told;
    int32_t last = -1;
    tk_buf_init(&text, TK_MIB);
    tk_buf_init(&joined, TK_MIB);
    for (size_t i = 0; i < 2000; i++) {
        tk_buf_puts(&text, line);
    }
    write_file(trainfix_path("d.txt"), text.p, text.n);
    assert_int_equal(load(&set, &file, &told, 50, trainfix_path("d.txt"), &err),
                     TINKC_OK);
    assert_int_equal(file.kinds[DATA_TEXT], 1);
    assert_true(set.n > 300 && told.n == 0);
    for (size_t i = 0; i < set.n; i++) {
        data_tokens row;
        tinkc_decode what = TINKC_DECODE_INIT;
        char *part = NULL;
        size_t n = 0;
        assert_int_equal(data_set_tokens(&row, &set, i, NULL), TINKC_OK);
        assert_true(row.n == 51 || i + 1 == set.n);
        assert_true(i == 0 || row.ids[0] == last);
        last = row.ids[row.n - 1];
        assert_true(set.rows[i].weight == (double)(row.n - 1));
        what.ids = row.ids + (i > 0 ? 1 : 0);
        what.ids_n = row.n - (i > 0 ? 1 : 0);
        assert_int_equal(tinkc_tokenizer_decode(&part, &n, tokenizer, &what, NULL),
                         TINKC_OK);
        tk_buf_put(&joined, part, n);
        tinkc_text_free(&part);
        data_tokens_dispose(&row);
    }
    tk_buf_puts(&text, "<|end|>");
    assert_true(tk_str_eq(tk_buf_str(&text), tk_buf_str(&joined)));
    data_set_dispose(&set);
    tk_buf_dispose(&text);
    tk_buf_dispose(&joined);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data_load_rows),
        cmocka_unit_test(test_data_load_problems),
        cmocka_unit_test(test_data_load_empty),
        cmocka_unit_test(test_data_load_mark),
        cmocka_unit_test(test_data_load_no_template),
        cmocka_unit_test(test_data_load_no_memory),
        cmocka_unit_test(test_data_set_packs),
        cmocka_unit_test(test_data_load_plain),
    };
    return cmocka_run_group_tests_name("data_load", tests, open_model, close_model);
}
