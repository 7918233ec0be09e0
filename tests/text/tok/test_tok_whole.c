/* Characters of a byte-level vocabulary that may be one symbol from the start: merges
 * that complete a character, that tear it apart, and that join it. Ids of the
 * reference. */
#include "support/toktest.h"

/* The bytes of a character merge before anything else touches them. */
static const char complete_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,"
    "'use_regex':false,'trim_offsets':true},'post_processor':null,"
    "'decoder':{'type':'ByteLevel','add_prefix_space':true,'trim_offsets':true,"
    "'use_regex':true},'model':{'type':'BPE','vocab':{@,'ä¸':256,'ä¸Ń':257,"
    "'æĸ':258,'æĸĩ':259,'ä¸Ńæĸĩ':260,'Ã©':261},'merges':['ä ¸','ä¸ Ń','æ ĸ','æĸ ĩ',"
    "'ä¸Ń æĸĩ','Ã ©']}}";

static const toktest_row complete_rows[] = {
    {"中", "257"},
    {"文", "259"},
    {"中文", "260"},
    {"文中", "259 257"},
    {"é", "261"},
    {"è", "195 168"},
    {"éé", "261 261"},
    {"aé", "97 261"},
    {"éa", "261 97"},
    {"中a", "257 97"},
    {"a中", "97 257"},
    {"中中", "257 257"},
    {"한국", "237 149 156 234 181 173"},
    {"é中", "261 257"},
    {"a", "97"},
    {"ab", "97 98"},
    {"中é文", "257 261 259"},
    {"ÿ", "195 191"},
    {"😀", "240 159 152 128"},
    {"中😀文", "257 240 159 152 128 259"},
    {"éèéè", "261 195 168 261 195 168"},
    {"日本語", "230 151 165 230 156 172 232 170 158"},
};

static void test_tok_whole_complete(void **unused)
{
    toktest_check(complete_json, complete_rows, TK_ARRAY_LEN(complete_rows));
}

/* The end of a character merges with what follows before the character is whole. */
static const char torn_after_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,"
    "'use_regex':false,'trim_offsets':true},'post_processor':null,"
    "'decoder':{'type':'ByteLevel','add_prefix_space':true,'trim_offsets':true,"
    "'use_regex':true},'model':{'type':'BPE','vocab':{@,'Ńæ':256,'ä¸':257,"
    "'ä¸Ń':258,'©a':259,'Ã©':260},'merges':['Ń æ','ä ¸','ä¸ Ń','© a','Ã ©']}}";

static const toktest_row torn_after_rows[] = {
    {"中", "258"},
    {"文", "230 150 135"},
    {"中文", "257 256 150 135"},
    {"文中", "230 150 135 258"},
    {"é", "260"},
    {"è", "195 168"},
    {"éé", "260 260"},
    {"aé", "97 260"},
    {"éa", "195 259"},
    {"中a", "258 97"},
    {"a中", "97 258"},
    {"中中", "258 258"},
    {"한국", "237 149 156 234 181 173"},
    {"é中", "260 258"},
    {"a", "97"},
    {"ab", "97 98"},
    {"中é文", "258 260 230 150 135"},
    {"ÿ", "195 191"},
    {"😀", "240 159 152 128"},
    {"中😀文", "258 240 159 152 128 230 150 135"},
    {"éèéè", "260 195 168 260 195 168"},
    {"日本語", "230 151 165 230 156 172 232 170 158"},
};

static void test_tok_whole_torn_after(void **unused)
{
    toktest_check(torn_after_json, torn_after_rows, TK_ARRAY_LEN(torn_after_rows));
}

/* What comes before merges with the start of a character first. */
static const char torn_before_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,"
    "'use_regex':false,'trim_offsets':true},'post_processor':null,"
    "'decoder':{'type':'ByteLevel','add_prefix_space':true,'trim_offsets':true,"
    "'use_regex':true},'model':{'type':'BPE','vocab':{@,'aä':256,'ä¸':257,"
    "'ä¸Ń':258,'aÃ':259,'Ã©':260},'merges':['a ä','ä ¸','ä¸ Ń','a Ã','Ã ©']}}";

static const toktest_row torn_before_rows[] = {
    {"中", "258"},
    {"文", "230 150 135"},
    {"中文", "258 230 150 135"},
    {"文中", "230 150 135 258"},
    {"é", "260"},
    {"è", "195 168"},
    {"éé", "260 260"},
    {"aé", "259 169"},
    {"éa", "260 97"},
    {"中a", "258 97"},
    {"a中", "256 184 173"},
    {"中中", "258 258"},
    {"한국", "237 149 156 234 181 173"},
    {"é中", "260 258"},
    {"a", "97"},
    {"ab", "97 98"},
    {"中é文", "258 260 230 150 135"},
    {"ÿ", "195 191"},
    {"😀", "240 159 152 128"},
    {"中😀文", "258 240 159 152 128 230 150 135"},
    {"éèéè", "260 195 168 260 195 168"},
    {"日本語", "230 151 165 230 156 172 232 170 158"},
};

static void test_tok_whole_torn_before(void **unused)
{
    toktest_check(torn_before_json, torn_before_rows, TK_ARRAY_LEN(torn_before_rows));
}

/* The merges of the character come first, those that would tear it later. */
static const char late_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,"
    "'use_regex':false,'trim_offsets':true},'post_processor':null,"
    "'decoder':{'type':'ByteLevel','add_prefix_space':true,'trim_offsets':true,"
    "'use_regex':true},'model':{'type':'BPE','vocab':{@,'ä¸':256,'ä¸Ń':257,"
    "'Ńæ':258,'aä':259,'ä¸Ńä¸Ń':260,'Ã©':261,'Ã©Ã©':262,'©a':263},'merges':['ä ¸',"
    "'ä¸ Ń','Ń æ','a ä','ä¸Ń ä¸Ń','Ã ©','Ã© Ã©','© a']}}";

static const toktest_row late_rows[] = {
    {"中", "257"},
    {"文", "230 150 135"},
    {"中文", "257 230 150 135"},
    {"文中", "230 150 135 257"},
    {"é", "261"},
    {"è", "195 168"},
    {"éé", "262"},
    {"aé", "97 261"},
    {"éa", "261 97"},
    {"中a", "257 97"},
    {"a中", "97 257"},
    {"中中", "260"},
    {"한국", "237 149 156 234 181 173"},
    {"é中", "261 257"},
    {"a", "97"},
    {"ab", "97 98"},
    {"中é文", "257 261 230 150 135"},
    {"ÿ", "195 191"},
    {"😀", "240 159 152 128"},
    {"中😀文", "257 240 159 152 128 230 150 135"},
    {"éèéè", "261 195 168 261 195 168"},
    {"日本語", "230 151 165 230 156 172 232 170 158"},
};

static void test_tok_whole_late(void **unused)
{
    toktest_check(late_json, late_rows, TK_ARRAY_LEN(late_rows));
}

/* Ends of characters merge with each other. */
static const char tails_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,"
    "'use_regex':false,'trim_offsets':true},'post_processor':null,"
    "'decoder':{'type':'ByteLevel','add_prefix_space':true,'trim_offsets':true,"
    "'use_regex':true},'model':{'type':'BPE','vocab':{@,'¸Ń':256,'ä¸Ń':257,"
    "'ĸĩ':258,'ä¸Ńæ':259,'ä¸Ńæĸĩ':260},'merges':['¸ Ń','ä ¸Ń','ĸ ĩ','ä¸Ń æ',"
    "'ä¸Ńæ ĸĩ']}}";

static const toktest_row tails_rows[] = {
    {"中", "257"},
    {"文", "230 258"},
    {"中文", "260"},
    {"文中", "230 258 257"},
    {"é", "195 169"},
    {"è", "195 168"},
    {"éé", "195 169 195 169"},
    {"aé", "97 195 169"},
    {"éa", "195 169 97"},
    {"中a", "257 97"},
    {"a中", "97 257"},
    {"中中", "257 257"},
    {"한국", "237 149 156 234 181 173"},
    {"é中", "195 169 257"},
    {"a", "97"},
    {"ab", "97 98"},
    {"中é文", "257 195 169 230 258"},
    {"ÿ", "195 191"},
    {"😀", "240 159 152 128"},
    {"中😀文", "257 240 159 152 128 230 258"},
    {"éèéè", "195 169 195 168 195 169 195 168"},
    {"日本語", "230 151 165 230 156 172 232 170 158"},
};

static void test_tok_whole_tails(void **unused)
{
    toktest_check(tails_json, tails_rows, TK_ARRAY_LEN(tails_rows));
}

/* A merge of the whole character that ranks before the character is complete. */
static const char early_use_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,"
    "'use_regex':false,'trim_offsets':true},'post_processor':null,"
    "'decoder':{'type':'ByteLevel','add_prefix_space':true,'trim_offsets':true,"
    "'use_regex':true},'model':{'type':'BPE','vocab':{@,'ä¸':256,'Ã©':257,"
    "'ä¸Ń':258,'Ã©ä':259,'ä¸Ńa':260},'merges':['ä ¸','Ã ©','ä¸ Ń','Ã© ä','ä¸Ń a']}}";

static const toktest_row early_use_rows[] = {
    {"中", "258"},
    {"文", "230 150 135"},
    {"中文", "258 230 150 135"},
    {"文中", "230 150 135 258"},
    {"é", "257"},
    {"è", "195 168"},
    {"éé", "257 257"},
    {"aé", "97 257"},
    {"éa", "257 97"},
    {"中a", "260"},
    {"a中", "97 258"},
    {"中中", "258 258"},
    {"한국", "237 149 156 234 181 173"},
    {"é中", "257 258"},
    {"a", "97"},
    {"ab", "97 98"},
    {"中é文", "258 257 230 150 135"},
    {"ÿ", "195 191"},
    {"😀", "240 159 152 128"},
    {"中😀文", "258 240 159 152 128 230 150 135"},
    {"éèéè", "257 195 168 257 195 168"},
    {"日本語", "230 151 165 230 156 172 232 170 158"},
};

static void test_tok_whole_early_use(void **unused)
{
    toktest_check(early_use_json, early_use_rows, TK_ARRAY_LEN(early_use_rows));
}

/* The table itself: the highest rank of the merges that make a character, and its id. */
static void test_tok_whole_ranks(void **unused)
{
    static const struct {
        uint32_t c, rank;
        int32_t id;
    } rows[] = {{0x4E2D, 1, 257},
                {0x6587, 3, 259},
                {0xE9, 5, 261},
                {0xE8, TK_TOK_NO_RANK, -1},
                {0x65E5, TK_TOK_NO_RANK, -1}};
    tk_tok *tok = toktest_open(complete_json);
    assert_non_null(tok->whole);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        assert_int_equal(tok->whole->chars[rows[i].c].rank, rows[i].rank);
        assert_int_equal(tok->whole->chars[rows[i].c].id, rows[i].id);
    }
    tk_str piece = TK_STR("\xE4\xB8\xAD\xE6\x96\x87");
    assert_int_equal(tk_tok_whole_at(tok, piece, 0, 3, 0x4E2D), 257);
    assert_int_equal(tk_tok_whole_at(tok, piece, 3, 6, 0x6587), 259);
    assert_int_equal(tk_tok_whole_at(tok, TK_STR("\xC3\xA8"), 0, 2, 0xE8), -1);
    tk_tok_free(tok);
    tok = toktest_open(torn_after_json); /* its end joins E6 first, with rank 0 */
    assert_int_equal(tok->whole->after[0xAD & 63][0xE6], 0);
    assert_int_equal(tk_tok_whole_at(tok, piece, 0, 3, 0x4E2D), -1);
    assert_true(tk_tok_whole_at(tok, TK_STR("\xE4\xB8\xAD"), 0, 3, 0x4E2D) >= 0);
    tk_tok_free(tok);
    tok = toktest_open(torn_before_json); /* "a" joins its start first */
    assert_int_equal(tok->whole->before['a'][0xE4], 0);
    assert_int_equal(tk_tok_whole_at(tok, TK_STR("a\xE4\xB8\xAD"), 1, 4, 0x4E2D), -1);
    assert_true(tk_tok_whole_at(tok, TK_STR("b\xE4\xB8\xAD"), 1, 4, 0x4E2D) >= 0);
    tk_tok_free(tok);
}

/* Every byte that may be in UTF-8 must have an id; C0, C1 and F5 to FF never are. */
static void test_tok_whole_needs_bytes(void **unused)
{
    static const struct {
        unsigned byte;
        bool is_needed;
    } rows[] = {{0, true},    {1, true},     {0x7F, true},  {0x80, true},  {0xC2, true},
                {0xF4, true}, {0xC0, false}, {0xC1, false}, {0xF5, false}, {0xFF, false}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_buf json;
        tk_tok *tok = NULL;
        tk_err err = TK_ERR_INIT;
        tk_buf_init(&json, TK_MIB);
        tk_buf_puts(&json,
                    "{\"version\":\"1.0\",\"pre_tokenizer\":{\"type\":\"ByteLevel\","
                    "\"add_prefix_space\":false},\"model\":{\"type\":\"BPE\","
                    "\"merges\":[],\"vocab\":{\"none\":0");
        for (unsigned b = 0; b < 256; b++) {
            char text[4];
            size_t n = tk_utf8_encode(text, tk_tok_utf8_of_byte((unsigned char)b));
            tk_json_writer w;
            if (b != rows[i].byte) {
                tk_buf_puts(&json, ",");
                tk_json_writer_init(&w, &json);
                tk_json_put_str(&w, (tk_str){text, n});
                tk_buf_printf(&json, ":%u", b + 1);
            }
        }
        tk_buf_puts(&json, "}}}");
        assert_int_equal(tk_tok_load_memory(&tok, tk_buf_str(&json), &err), TINKC_OK);
        assert_int_equal(tok->whole == NULL, rows[i].is_needed);
        char text[3] = {'a', (char)(unsigned char)rows[i].byte, 'b'};
        tk_tok_ids ids = {NULL, 0, 0, NULL};
        if (rows[i].byte < 0x80) { /* the byte has no id and is left out */
            assert_int_equal(tk_tok_encode(tok, (tk_str){text, 3}, &ids, &err), TINKC_OK);
            assert_int_equal(ids.n, 2);
            assert_true(ids.ids[0] == 'a' + 1 && ids.ids[1] == 'b' + 1);
        }
        tk_tok_ids_dispose(&ids);
        tk_tok_free(tok);
        tk_buf_dispose(&json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_whole_complete),
        cmocka_unit_test(test_tok_whole_torn_after),
        cmocka_unit_test(test_tok_whole_torn_before),
        cmocka_unit_test(test_tok_whole_late),
        cmocka_unit_test(test_tok_whole_tails),
        cmocka_unit_test(test_tok_whole_early_use),
        cmocka_unit_test(test_tok_whole_ranks),
        cmocka_unit_test(test_tok_whole_needs_bytes),
    };
    return cmocka_run_group_tests_name("tok_whole", tests, NULL, NULL);
}
