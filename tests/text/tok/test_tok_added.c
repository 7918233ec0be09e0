/* Added tokens of white space that take the white space around them: what each takes, and
 * that a long run of it is not read once per token. Tokens that are not part of the
 * model: merging never gives them. */
#include "base/mem.h"
#include "support/test.h"
#include "text/tok/tok_tables.h"
#include "text/unicode/uni.h"

typedef struct fixture {
    tk_tok tok;
    tk_tok_added added[2];
} fixture;

/* Bits of `flags`: lstrip and rstrip of the first token, then of the second. */
static void make(fixture *f, tk_str first, tk_str second, unsigned flags)
{
    tk_err err = TK_ERR_INIT;
    tk_uni_ready();
    memset(f, 0, sizeof(*f));
    f->added[0] = (tk_tok_added){
        .content = first, .id = 0, .lstrip = flags & 1, .rstrip = flags >> 1 & 1};
    f->added[1] = (tk_tok_added){
        .content = second, .id = 1, .lstrip = flags >> 2 & 1, .rstrip = flags >> 3 & 1};
    f->tok.added = f->added;
    f->tok.n_added = 2;
    assert_int_equal(tk_tok_added_build(&f->tok.raw_trie, &f->tok, false, &err),
                     TINKC_OK);
}

/* The ends that white space moves, found by a plain search. */
static void check_match(const fixture *f, tk_str text, const tk_tok_match *m,
                        size_t begun)
{
    const tk_tok_added *a = &f->added[m->id];
    size_t end = m->next, begin = end - a->content.n;
    while (a->rstrip && end < text.n && text.p[end] != 'x') {
        end++;
    }
    while (a->lstrip && begin > 0 && text.p[begin - 1] != 'x') {
        begin--;
    }
    begin = a->lstrip ? TK_MAX(begin, begun) : begin;
    if (m->begin != begin || m->end != end) {
        fail_msg("\"%.*s\": [%zu, %zu) instead of [%zu, %zu)", (int)text.n, text.p,
                 m->begin, m->end, begin, end);
    }
}

/* Every text of up to seven characters, with every choice of flags. */
static void test_tok_added_takes_spaces(void **unused)
{
    enum { LENGTH = 7, TEXTS = 2187 };
    for (unsigned flags = 0; flags < 16; flags++) {
        fixture f;
        make(&f, TK_STR(" "), TK_STR("\n\n"), flags);
        for (unsigned k = 0; k < TEXTS; k++) {
            char bytes[LENGTH];
            unsigned rest = k;
            for (size_t i = 0; i < LENGTH; i++, rest /= 3) {
                bytes[i] = " \nx"[rest % 3];
            }
            tk_str text = {bytes, LENGTH};
            tk_tok_match m = {0};
            size_t from = 0, begun = 0;
            while (tk_tok_added_find(&m, &f.tok, &f.tok.raw_trie, text, from, begun)) {
                assert_true(m.next > from);
                check_match(&f, text, &m, begun);
                from = m.next;
                begun = m.end;
            }
        }
        tk_tok_added_dispose(&f.tok.raw_trie);
    }
}

/* M-133: a megabyte of blanks is a million tokens; reading the rest of it for each would
 * not end. */
static void test_tok_added_long_run(void **unused)
{
    enum { N = 1 << 20 };
    char *blanks = tk_malloc(N);
    assert_non_null(blanks);
    memset(blanks, ' ', N);
    for (unsigned flags = 1; flags < 4; flags++) {
        fixture f;
        make(&f, TK_STR(" "), TK_STR("\n\n"), flags);
        tk_tok_match m = {0};
        size_t n = 0, from = 0, begun = 0;
        tk_str text = {blanks, N};
        for (; tk_tok_added_find(&m, &f.tok, &f.tok.raw_trie, text, from, begun); n++) {
            from = m.next;
            begun = m.end;
        }
        assert_int_equal(n, N);
        assert_int_equal(begun, N);
        tk_tok_added_dispose(&f.tok.raw_trie);
    }
    tk_free(blanks);
}

/* A long run with tokens that take what follows and tokens that do not: a token of the
 * second kind ends before what the first has taken. */
static void test_tok_added_mixed_run(void **unused)
{
    enum { N = 1 << 20 };
    char *blanks = tk_malloc(N);
    assert_non_null(blanks);
    for (size_t i = 0; i < N; i++) {
        blanks[i] = i % 2 == 0 ? ' ' : '\n';
    }
    for (unsigned flags = 2; flags < 4; flags++) { /* of the first token */
        fixture f;
        make(&f, TK_STR(" "), TK_STR("\n"), flags);
        tk_tok_match m = {0};
        size_t n = 0, from = 0, begun = 0;
        tk_str text = {blanks, N};
        for (; tk_tok_added_find(&m, &f.tok, &f.tok.raw_trie, text, from, begun); n++) {
            assert_int_equal(m.end, m.id == 0 ? N : m.next);
            from = m.next;
            begun = m.end;
        }
        assert_int_equal(n, N);
        tk_tok_added_dispose(&f.tok.raw_trie);
    }
    tk_free(blanks);
}

/* ---- tokens that only look like text of the model ---- */

static tk_tok *load(const char *json)
{
    tk_tok *tok = NULL;
    tk_err err = TK_ERR_INIT;
    if (tk_tok_load_memory(&tok, tk_str_of(json), &err) != TINKC_OK) {
        fail_msg("%s", err.message);
    }
    return tok;
}

static void check_ids(const tk_tok *tok, const char *text, bool plain_text,
                      const int32_t *wanted, size_t n)
{
    tk_tok_ids ids = {NULL, 0, 0, NULL};
    tk_err err = TK_ERR_INIT;
    tk_tok_how how = {.plain_text = plain_text};
    assert_int_equal(tk_tok_encode_how(tok, tk_str_of(text), how, &ids, &err), TINKC_OK);
    assert_int_equal(ids.n, n);
    assert_memory_equal(ids.ids, wanted, n * sizeof(*wanted));
    tk_tok_ids_dispose(&ids);
}

/* M-133: in plain text a special token of one character is not a character of the model,
 * unless the model has it too. */
static void test_tok_added_is_no_character(void **unused)
{
    tk_tok *tok =
        load("{\"version\":\"1.0\",\"added_tokens\":["
             "{\"id\":3,\"content\":\"\xF0\x9F\x98\x80\",\"special\":true},"
             "{\"id\":4,\"content\":\"\xE4\xB8\xAD\",\"special\":true},"
             "{\"id\":2,\"content\":\"\xF0\x9F\x98\x81\",\"special\":true}],"
             "\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"merges\":[],"
             "\"vocab\":{\"<unk>\":0,\"a\":1,\"\xF0\x9F\x98\x81\":2}}}");
    const char *text = "a\xF0\x9F\x98\x80\xE4\xB8\xAD\xF0\x9F\x98\x81";
    check_ids(tok, text, false, (const int32_t[]){1, 3, 4, 2}, 4);
    check_ids(tok, text, true, (const int32_t[]){1, 0, 0, 2}, 4);
    tk_tok_free(tok);
}

/* M-133: a byte-level model looks for pieces in the alphabet of bytes: it does not find a
 * token spelled with other characters. */
static void test_tok_added_is_no_piece(void **unused)
{
    tk_tok *tok = load("{\"version\":\"1.0\",\"added_tokens\":[],\"pre_tokenizer\":"
                       "{\"type\":\"ByteLevel\",\"add_prefix_space\":false},"
                       "\"model\":{\"type\":\"BPE\",\"ignore_merges\":true,"
                       "\"merges\":[],\"vocab\":{\"\xC3\xA4\":0,\"\xC2\xB8\":1,"
                       "\"\xC5\x83\":2,\"\xE4\xB8\xAD\":3}}}");
    check_ids(tok, "\xE4\xB8\xAD", false, (const int32_t[]){0, 1, 2}, 3);
    tk_tok_free(tok);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_added_takes_spaces),
        cmocka_unit_test(test_tok_added_long_run),
        cmocka_unit_test(test_tok_added_mixed_run),
        cmocka_unit_test(test_tok_added_is_no_character),
        cmocka_unit_test(test_tok_added_is_no_piece),
    };
    return cmocka_run_group_tests_name("tok_added", tests, NULL, NULL);
}
