/* Training data of `tinkc train`: lines of JSON to datums, problems by line.
 * Links: client text */
#include <stdio.h>
#include <tinkc/service.h>

#include "cli/train/train_data.h"
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
    bool ok = tinkc_tokenizer_load(&tokenizer, MODEL_DIR, &error) == TINKC_OK &&
              tinkc_chat_template_of(&tpl, tokenizer, NULL, &error) == TINKC_OK;
    tinkc_error_free(&error);
    return ok ? 0 : 1;
}

static int close_model(void **state)
{
    tinkc_tokenizer_free(&tokenizer);
    tinkc_chat_template_free(&tpl);
    return 0;
}

static void note(void *user, size_t line, bool is_problem, const char *text)
{
    notes *all = user;
    assert_true(all->n < NOTES_MAX);
    all->at[all->n].line = line;
    all->at[all->n].is_problem = is_problem;
    (void)snprintf(all->at[all->n].text, sizeof(all->at[0].text), "%s", text);
    all->n++;
}

static void read_text(train_set *set, notes *told, size_t max_tokens, const char *text)
{
    tk_err err = TK_ERR_INIT;
    memset(told, 0, sizeof(*told));
    const train_source source = {.tokenizer = tokenizer,
                                 .tpl = tpl,
                                 .max_tokens = max_tokens,
                                 .report = note,
                                 .user = told};
    assert_int_equal(train_data_read(set, &source, text, strlen(text), &err), TINKC_OK);
}

/* The text of the tokens with a weight. */
static void trained_text(const train_row *row, char *out, size_t size)
{
    const tinkc_tensor *targets = tinkc_datum_tensor(row->datum, "target_tokens");
    const tinkc_tensor *weights = tinkc_datum_tensor(row->datum, "weights");
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
}

static void test_train_data_rows(void **state)
{
    train_set set;
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
    trained_text(&set.rows[0], text, sizeof(text));
    assert_string_equal(text, "Hello.<|end|>");
    trained_text(&set.rows[1], text, sizeof(text));
    assert_string_equal(text, " three.<|end|>");
    trained_text(&set.rows[2], text, sizeof(text));
    assert_string_equal(text, "D<|end|>"); /* the turn without weight is left out */
    assert_true(set.weight ==
                set.rows[0].weight + set.rows[1].weight + set.rows[2].weight);
    train_data_dispose(&set);
}

static void test_train_data_problems(void **state)
{
    static const struct {
        const char *line, *words;
    } bad[] = {
        {"{\"messages\":", "not JSON"},
        {"{\"prompt\":\"a\",\"completion\":\"b\",\"weight\": NaN}",
         "NaN is not a JSON number"},
        {"{\"text\":\"x\"}", "neither \"messages\" nor \"prompt\""},
        {"3", "neither \"messages\" nor \"prompt\""},
        {"{\"messages\":[]}", "no messages"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":\"Hi.\"}]}", "nothing to train"},
        {"{\"messages\":[{\"role\":\"assistant\",\"content\":\"a\",\"weight\":-1}]}",
         "\"weight\" is not a number"},
        {"{\"messages\":[{\"role\":\"assistant\",\"content\":\"a\",\"weight\":\"x\"}]}",
         "\"weight\" is not a number"},
        {"{\"messages\":[\"a\"]}", ""},
        {"{\"prompt\":\"a\",\"completion\":\"\"}", "nothing to train"},
        {"{\"prompt\":3,\"completion\":\"a\"}", "\"prompt\" is not a string"},
        {"{\"prompt\":\"a\",\"completion\":[]}", "\"completion\" is not a string"},
        {"{\"prompt\":\"\",\"completion\":\"once upon a time there was a small cat\"}",
         "too long"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        char text[512];
        train_set set;
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
        train_data_dispose(&set);
    }
}

static void test_train_data_empty(void **state)
{
    train_set set;
    notes told;
    read_text(&set, &told, 0, "");
    assert_int_equal(set.n, 0);
    train_data_dispose(&set);
    read_text(&set, &told, 0, "\n \n\t\n");
    assert_int_equal(set.n, 0);
    assert_int_equal(set.problems, 0);
    train_data_dispose(&set);
}

/* A byte order mark before the first line is not part of it; elsewhere it is not JSON. */
static void test_train_data_mark(void **state)
{
    train_set set;
    notes told;
    read_text(&set, &told, 0,
              "\xef\xbb\xbf{\"prompt\":\"a\",\"completion\":\"b\"}\n"
              "\xef\xbb\xbf{\"prompt\":\"a\",\"completion\":\"b\"}\n");
    assert_int_equal(set.n, 1);
    assert_int_equal(set.rows[0].line, 1);
    assert_int_equal(set.problems, 1);
    assert_int_equal(told.at[0].line, 2);
    train_data_dispose(&set);
    read_text(&set, &told, 0, "\xef\xbb\xbf");
    assert_int_equal(set.n, 0);
    assert_int_equal(set.problems, 0);
    train_data_dispose(&set);
}

static void test_train_data_no_template(void **state)
{
    train_set set;
    notes told = {.n = 0};
    tk_err err = TK_ERR_INIT;
    const char *text = "{\"messages\":[{\"role\":\"assistant\",\"content\":\"a\"}]}";
    const train_source source = {.tokenizer = tokenizer, .report = note, .user = &told};
    assert_int_equal(train_data_read(&set, &source, text, strlen(text), &err), TINKC_OK);
    assert_int_equal(set.problems, 1);
    assert_non_null(strstr(told.at[0].text, "no chat template"));
    train_data_dispose(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train_data_rows),
        cmocka_unit_test(test_train_data_problems),
        cmocka_unit_test(test_train_data_empty),
        cmocka_unit_test(test_train_data_mark),
        cmocka_unit_test(test_train_data_no_template),
    };
    return cmocka_run_group_tests_name("train_data", tests, open_model, close_model);
}
