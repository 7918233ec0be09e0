/* components of tokenizer.json, one by one: ids and texts of Hugging Face's
 * `tokenizers`, frozen by scripts/gen-tok-cases.py for tokenizers of our own. */
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "support/test.h"
#include "text/tok/tok_tables.h"

#define PEBBLE TEST_DATA_DIR "/../../models/pebble-llama-2m/tokenizer.json"
#define CASES  TEST_DATA_DIR "/text/tok_cases.json"

static const tk_json *read_json(tk_arena *arena, const char *path)
{
    tk_err err = TK_ERR_INIT;
    char *text = NULL;
    size_t n = 0;
    const tk_json *value = NULL;
    assert_int_equal(tk_file_read(&text, &n, path, 8 * TK_MIB, &err), TINKC_OK);
    assert_int_equal(tk_json_parse(&value, arena, text, n, NULL, &err), TINKC_OK);
    tk_free(text);
    return value;
}

/* The model with ignore_merges and only the first merges. */
static void put_ignoring(tk_json_writer *w, const tk_json *model, int64_t merges)
{
    tk_json_begin_object(w);
    for (size_t i = 0; i < model->as.object.n; i++) {
        const tk_json_member *m = &model->as.object.members[i];
        tk_json_key(w, m->key);
        if (tk_str_is(m->key, "ignore_merges")) {
            tk_json_put_bool(w, true);
        } else if (tk_str_is(m->key, "merges")) {
            tk_json_begin_array(w);
            for (size_t k = 0; k < (size_t)merges; k++) {
                tk_json item = tk_json_at(&m->value, k);
                tk_json_put_value(w, &item);
            }
            tk_json_end_array(w);
        } else {
            tk_json_put_value(w, &m->value);
        }
    }
    tk_json_end_object(w);
}

/* The embedded model's file with the members of the patch in place of its own. */
static tk_tok *open_patched(const tk_json *pebble, const tk_json *patch)
{
    tk_buf text;
    tk_json_writer w;
    tk_buf_init(&text, 8 * TK_MIB);
    tk_json_writer_init(&w, &text);
    tk_json_begin_object(&w);
    const tk_json *ignoring = tk_json_get(patch, "ignore_merges");
    for (size_t i = 0; i < pebble->as.object.n; i++) {
        const tk_json_member *m = &pebble->as.object.members[i];
        const tk_json *other = tk_json_get(patch, m->key.p);
        tk_json_key(&w, m->key);
        if (ignoring != NULL && tk_str_is(m->key, "model")) {
            put_ignoring(&w, &m->value, ignoring->as.integer);
        } else {
            tk_json_put_value(&w, other != NULL ? other : &m->value);
        }
    }
    tk_json_end_object(&w);
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_json_finish(&w, &err), TINKC_OK);
    tk_tok *tok = NULL;
    if (tk_tok_load_memory(&tok, tk_buf_str(&text), &err) != TINKC_OK) {
        fail_msg("%s", err.message);
    }
    tk_buf_dispose(&text);
    return tok;
}

static void check_ids(const char *name, const tk_tok *tok, const tk_json *row,
                      bool special)
{
    tk_str text = tk_json_get(row, "text")->as.string;
    const tk_json *wanted = tk_json_get(row, special ? "special" : "ids");
    tk_err err = TK_ERR_INIT;
    tk_tok_ids ids = {NULL, 0, 0, NULL};
    tk_tok_how how = {.add_special = special, .offsets = special};
    assert_int_equal(tk_tok_encode_how(tok, text, how, &ids, &err), TINKC_OK);
    for (size_t i = 0; i < TK_MAX(ids.n, tk_json_len(wanted)); i++) {
        tk_json id = tk_json_at(wanted, i);
        if (i >= ids.n || i >= tk_json_len(wanted) || ids.ids[i] != id.as.integer) {
            fail_msg("%s: id %zu of \"%s\" differs", name, i, text.p);
        }
        if (special) { /* offsets lie in the text, begin before they end */
            assert_true(ids.offsets[2 * i] <= ids.offsets[2 * i + 1]);
            assert_true(ids.offsets[2 * i + 1] <= text.n);
        }
    }
    tk_tok_ids_dispose(&ids);
}

static void check_text(const char *name, const tk_tok *tok, const tk_json *row, bool skip)
{
    const tk_json *list = tk_json_get(row, "special");
    tk_str wanted = tk_json_get(row, skip ? "skipped" : "decoded")->as.string;
    tk_buf whole, pieces;
    tk_buf_init(&whole, TK_MIB);
    tk_buf_init(&pieces, TK_MIB);
    tk_tok_stream stream;
    tk_tok_stream_init(&stream, tok, skip);
    for (size_t i = 0; i < tk_json_len(list); i++) {
        tk_json item = tk_json_at(list, i);
        int32_t id = (int32_t)item.as.integer;
        tk_tok_stream_push(&stream, &id, 1, &pieces);
        assert_true(tk_utf8_is_valid(tk_buf_str(&pieces)));
    }
    tk_tok_stream_finish(&stream, &pieces);
    tk_tok_stream_dispose(&stream);
    if (!tk_str_eq(tk_buf_str(&pieces), wanted)) {
        fail_msg("%s: decoded \"%.*s\" instead of \"%s\"", name, (int)pieces.n, pieces.p,
                 wanted.p);
    }
    tk_buf_dispose(&whole);
    tk_buf_dispose(&pieces);
}

/* A-130, M-133: every component that is implemented, with the ids of the reference. */
static void test_tok_cases(void **unused)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_json *pebble = read_json(&arena, PEBBLE);
    const tk_json *cases = read_json(&arena, CASES);
    assert_true(tk_json_len(cases) > 30);
    for (size_t i = 0; i < tk_json_len(cases); i++) {
        tk_json item = tk_json_at(cases, i);
        const char *name = tk_json_get(&item, "name")->as.string.p;
        const tk_json *rows = tk_json_get(&item, "rows");
        tk_tok *tok = open_patched(pebble, tk_json_get(&item, "patch"));
        for (size_t k = 0; k < tk_json_len(rows); k++) {
            tk_json row = tk_json_at(rows, k);
            check_ids(name, tok, &row, false);
            check_ids(name, tok, &row, true);
            check_text(name, tok, &row, false);
            check_text(name, tok, &row, true);
        }
        tk_tok_free(tok);
    }
    tk_arena_dispose(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_cases),
    };
    return cmocka_run_group_tests_name("tok_cases", tests, NULL, NULL);
}
