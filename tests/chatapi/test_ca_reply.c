/* Bodies, streams and errors against what the official clients were seen to understand:
 * tests/data/chatapi/golden.jsonl is recorded by tests/interop/chatapi.py --record, which
 * checks every line with the clients and their models. Also the allocation sweep. */
#include <stdio.h>

#include "base/file.h"
#include "base/mem.h"
#include "support/cadata.h"
#include "support/failmem.h"
#include "support/test.h"

static tk_tok *load_tokenizer(void)
{
    tk_tok *tok = NULL;
    assert_int_equal(tk_tok_load_memory(&tok, TK_STR(CADATA_TOKENIZER), NULL), TINKC_OK);
    return tok;
}

/* Answers one recorded line; whether it is what was recorded. */
static bool replay(const tk_tok *tok, tk_str text, bool *is_same)
{
    tk_arena arena;
    const tk_json *line = NULL;
    tk_buf out;
    int64_t status = 0;
    tk_arena_init(&arena, 0);
    tk_buf_init(&out, TK_MIB);
    bool ok = tk_json_parse(&line, &arena, text.p, text.n, NULL, NULL) == TINKC_OK;
    if (ok) {
        int got = cadata_serve(&out, tok, line);
        ok = out.failure == TINKC_OK && got != 503;
        *is_same = tk_json_to_i64(tk_json_get(line, "status"), &status) &&
                   status == got &&
                   tk_str_eq(cadata_text(line, "body"), tk_buf_str(&out));
        if (ok && !*is_same) {
            print_message("%.*s\n", (int)out.n, out.p);
        }
    }
    tk_buf_dispose(&out);
    tk_arena_dispose(&arena);
    return ok;
}

static char *load_lines(size_t *n)
{
    char *data = NULL;
    assert_int_equal(
        tk_file_read(&data, n, TEST_DATA_DIR "/chatapi/golden.jsonl", TK_MIB, NULL),
        TINKC_OK);
    return data;
}

static void answers_are_as_recorded(void **state)
{
    tk_tok *tok = load_tokenizer();
    size_t n = 0, lines = 0;
    char *data = load_lines(&n);
    tk_str rest = {data, n};
    while (rest.n > 0) {
        tk_str line = tk_str_cut(&rest, '\n');
        bool is_same = false;
        if (line.n > 0) {
            lines++;
            assert_true(replay(tok, line, &is_same));
            assert_true(is_same);
        }
    }
    assert_true(lines >= 25);
    tk_free(data);
    tk_tok_free(tok);
}

typedef struct sweep {
    const tk_tok *tok;
    tk_str line;
} sweep;

static bool answer_again(void *user)
{
    const sweep *s = user;
    bool is_same = false;
    return replay(s->tok, s->line, &is_same) && is_same;
}

/* One line of each dialect and kind; all would take minutes. */
static void every_allocation_may_fail(void **state)
{
    tk_tok *tok = load_tokenizer();
    size_t n = 0, done = 0;
    char *data = load_lines(&n);
    tk_str rest = {data, n};
    bool seen[4][8] = {{false}};
    while (rest.n > 0) {
        sweep s = {tok, tk_str_cut(&rest, '\n')};
        tk_arena arena;
        const tk_json *line = NULL;
        tk_arena_init(&arena, 0);
        if (s.line.n > 0 &&
            tk_json_parse(&line, &arena, s.line.p, s.line.n, NULL, NULL) == TINKC_OK) {
            size_t d = cadata_index(cadata_dialects, 4, cadata_text(line, "dialect"));
            bool is_stream = tk_str_is(cadata_text(line, "kind"), "stream");
            size_t kind = (is_stream ? 1U : 0U) | (cadata_flag(line, "calls") ? 2U : 0U);
            if (!seen[d][kind]) {
                seen[d][kind] = true;
                done++;
                (void)failmem_sweep(answer_again, &s, 1);
            }
        }
        tk_arena_dispose(&arena);
    }
    assert_true(done >= 8);
    tk_free(data);
    tk_tok_free(tok);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_as_recorded),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
