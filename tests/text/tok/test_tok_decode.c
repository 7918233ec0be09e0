/* Ids to text, at once and one by one, with each decoder. Texts of the reference. */
#include "support/failmem.h"
#include "support/toktest.h"

/* Without a decoder: tokens with blanks between them. */
static const char none_json[] =
    "{'version':'1.0','added_tokens':[{'id':10,'content':'</s>',"
    "'single_word':false,'lstrip':false,'rstrip':false,'normalized':false,"
    "'special':true}],'normalizer':null,'pre_tokenizer':null,'post_processor':null,"
    "'decoder':null,'model':{'type':'BPE','vocab':{'▁a':0,'b':1,'é':2,'<0xC3>':3,"
    "'<0xA9>':4,'<0xE4>':5,'<0xB8>':6,'<0xAD>':7,'<0xFF>':8,'▁':9,'</s>':10,"
    "'<0x20>':11,'▁▁c':12},'merges':[]}}";

static const toktest_row none_rows[] = {
    {"", ""},
    {"▁a", "0"},
    {"▁a b", "0 1"},
    {"b ▁a", "1 0"},
    {"▁a ▁a", "0 0"},
    {"▁ ▁a", "9 0"},
    {"▁▁c", "12"},
    {"<0xC3> <0xA9>", "3 4"},
    {"<0xC3>", "3"},
    {"<0xA9>", "4"},
    {"<0xC3> <0xC3>", "3 3"},
    {"<0xE4> <0xB8> <0xAD>", "5 6 7"},
    {"<0xE4> <0xB8>", "5 6"},
    {"<0xE4> <0xB8> <0xAD> b", "5 6 7 1"},
    {"<0xE4> <0xB8> b", "5 6 1"},
    {"<0xC3> <0xA9> <0xC3> <0xA9>", "3 4 3 4"},
    {"<0xFF>", "8"},
    {"<0xFF> <0xC3> <0xA9>", "8 3 4"},
    {"<0xC3> <0xA9> <0xFF>", "3 4 8"},
    {"▁a <0xC3> <0xA9> b", "0 3 4 1"},
    {"</s> ▁a </s>", "10 0 10"},
    {"<0xC3> </s> <0xA9>", "3 10 4"},
    {"<0x20> ▁a", "11 0"},
    {"<0x20> <0x20> b", "11 11 1"},
    {"▁ ▁ b", "9 9 1"},
    {"▁▁c ▁▁c", "12 12"},
    {"<0xE4> <0xC3> <0xA9> <0xAD>", "5 3 4 7"},
};

static void test_tok_decode_none(void **unused)
{
    toktest_check_decode(none_json, false, none_rows, TK_ARRAY_LEN(none_rows));
}

static const char none_skip_json[] =
    "{'version':'1.0','added_tokens':[{'id':10,'content':'</s>',"
    "'single_word':false,'lstrip':false,'rstrip':false,'normalized':false,"
    "'special':true}],'normalizer':null,'pre_tokenizer':null,'post_processor':null,"
    "'decoder':null,'model':{'type':'BPE','vocab':{'▁a':0,'b':1,'é':2,'<0xC3>':3,"
    "'<0xA9>':4,'<0xE4>':5,'<0xB8>':6,'<0xAD>':7,'<0xFF>':8,'▁':9,'</s>':10,"
    "'<0x20>':11,'▁▁c':12},'merges':[]}}";

static const toktest_row none_skip_rows[] = {
    {"", ""},
    {"▁a", "0"},
    {"▁a b", "0 1"},
    {"b ▁a", "1 0"},
    {"▁a ▁a", "0 0"},
    {"▁ ▁a", "9 0"},
    {"▁▁c", "12"},
    {"<0xC3> <0xA9>", "3 4"},
    {"<0xC3>", "3"},
    {"<0xA9>", "4"},
    {"<0xC3> <0xC3>", "3 3"},
    {"<0xE4> <0xB8> <0xAD>", "5 6 7"},
    {"<0xE4> <0xB8>", "5 6"},
    {"<0xE4> <0xB8> <0xAD> b", "5 6 7 1"},
    {"<0xE4> <0xB8> b", "5 6 1"},
    {"<0xC3> <0xA9> <0xC3> <0xA9>", "3 4 3 4"},
    {"<0xFF>", "8"},
    {"<0xFF> <0xC3> <0xA9>", "8 3 4"},
    {"<0xC3> <0xA9> <0xFF>", "3 4 8"},
    {"▁a <0xC3> <0xA9> b", "0 3 4 1"},
    {"▁a", "10 0 10"},
    {"<0xC3> <0xA9>", "3 10 4"},
    {"<0x20> ▁a", "11 0"},
    {"<0x20> <0x20> b", "11 11 1"},
    {"▁ ▁ b", "9 9 1"},
    {"▁▁c ▁▁c", "12 12"},
    {"<0xE4> <0xC3> <0xA9> <0xAD>", "5 3 4 7"},
};

static void test_tok_decode_none_skip(void **unused)
{
    toktest_check_decode(none_skip_json, true, none_skip_rows,
                         TK_ARRAY_LEN(none_skip_rows));
}

/* Runs of byte tokens are UTF-8, or unreadable as a whole. */
static const char fallback_json[] =
    "{'version':'1.0','added_tokens':[{'id':10,'content':'</s>',"
    "'single_word':false,'lstrip':false,'rstrip':false,'normalized':false,"
    "'special':true}],'normalizer':null,'pre_tokenizer':null,'post_processor':null,"
    "'decoder':{'type':'Sequence','decoders':[{'type':'Replace',"
    "'pattern':{'String':'▁'},'content':' '},{'type':'ByteFallback'},"
    "{'type':'Fuse'}]},'model':{'type':'BPE','vocab':{'▁a':0,'b':1,'é':2,"
    "'<0xC3>':3,'<0xA9>':4,'<0xE4>':5,'<0xB8>':6,'<0xAD>':7,'<0xFF>':8,'▁':9,"
    "'</s>':10,'<0x20>':11,'▁▁c':12},'merges':[]}}";

static const toktest_row fallback_rows[] = {
    {"", ""},
    {" a", "0"},
    {" ab", "0 1"},
    {"b a", "1 0"},
    {" a a", "0 0"},
    {"  a", "9 0"},
    {"  c", "12"},
    {"é", "3 4"},
    {"�", "3"},
    {"�", "4"},
    {"��", "3 3"},
    {"中", "5 6 7"},
    {"��", "5 6"},
    {"中b", "5 6 7 1"},
    {"��b", "5 6 1"},
    {"éé", "3 4 3 4"},
    {"�", "8"},
    {"���", "8 3 4"},
    {"���", "3 4 8"},
    {" aéb", "0 3 4 1"},
    {"</s> a</s>", "10 0 10"},
    {"�</s>�", "3 10 4"},
    {"  a", "11 0"},
    {"  b", "11 11 1"},
    {"  b", "9 9 1"},
    {"  c  c", "12 12"},
    {"����", "5 3 4 7"},
};

static void test_tok_decode_fallback(void **unused)
{
    toktest_check_decode(fallback_json, false, fallback_rows,
                         TK_ARRAY_LEN(fallback_rows));
}

/* One blank is taken off the front. */
static const char strip_json[] =
    "{'version':'1.0','added_tokens':[{'id':10,'content':'</s>',"
    "'single_word':false,'lstrip':false,'rstrip':false,'normalized':false,"
    "'special':true}],'normalizer':null,'pre_tokenizer':null,'post_processor':null,"
    "'decoder':{'type':'Sequence','decoders':[{'type':'Replace',"
    "'pattern':{'String':'▁'},'content':' '},{'type':'ByteFallback'},"
    "{'type':'Fuse'},{'type':'Strip','content':' ','start':1,'stop':0}]},"
    "'model':{'type':'BPE','vocab':{'▁a':0,'b':1,'é':2,'<0xC3>':3,'<0xA9>':4,"
    "'<0xE4>':5,'<0xB8>':6,'<0xAD>':7,'<0xFF>':8,'▁':9,'</s>':10,'<0x20>':11,"
    "'▁▁c':12},'merges':[]}}";

static const toktest_row strip_rows[] = {
    {"", ""},
    {"a", "0"},
    {"ab", "0 1"},
    {"b a", "1 0"},
    {"a a", "0 0"},
    {" a", "9 0"},
    {" c", "12"},
    {"é", "3 4"},
    {"�", "3"},
    {"�", "4"},
    {"��", "3 3"},
    {"中", "5 6 7"},
    {"��", "5 6"},
    {"中b", "5 6 7 1"},
    {"��b", "5 6 1"},
    {"éé", "3 4 3 4"},
    {"�", "8"},
    {"���", "8 3 4"},
    {"���", "3 4 8"},
    {"aéb", "0 3 4 1"},
    {"</s> a</s>", "10 0 10"},
    {"�</s>�", "3 10 4"},
    {" a", "11 0"},
    {" b", "11 11 1"},
    {" b", "9 9 1"},
    {" c  c", "12 12"},
    {"����", "5 3 4 7"},
};

static void test_tok_decode_strip(void **unused)
{
    toktest_check_decode(strip_json, false, strip_rows, TK_ARRAY_LEN(strip_rows));
}

static const char strip_skip_json[] =
    "{'version':'1.0','added_tokens':[{'id':10,'content':'</s>',"
    "'single_word':false,'lstrip':false,'rstrip':false,'normalized':false,"
    "'special':true}],'normalizer':null,'pre_tokenizer':null,'post_processor':null,"
    "'decoder':{'type':'Sequence','decoders':[{'type':'Replace',"
    "'pattern':{'String':'▁'},'content':' '},{'type':'ByteFallback'},"
    "{'type':'Fuse'},{'type':'Strip','content':' ','start':1,'stop':0}]},"
    "'model':{'type':'BPE','vocab':{'▁a':0,'b':1,'é':2,'<0xC3>':3,'<0xA9>':4,"
    "'<0xE4>':5,'<0xB8>':6,'<0xAD>':7,'<0xFF>':8,'▁':9,'</s>':10,'<0x20>':11,"
    "'▁▁c':12},'merges':[]}}";

static const toktest_row strip_skip_rows[] = {
    {"", ""},         {"a", "0"},         {"ab", "0 1"},       {"b a", "1 0"},
    {"a a", "0 0"},   {" a", "9 0"},      {" c", "12"},        {"é", "3 4"},
    {"�", "3"},       {"�", "4"},         {"��", "3 3"},       {"中", "5 6 7"},
    {"��", "5 6"},    {"中b", "5 6 7 1"}, {"��b", "5 6 1"},    {"éé", "3 4 3 4"},
    {"�", "8"},       {"���", "8 3 4"},   {"���", "3 4 8"},    {"aéb", "0 3 4 1"},
    {"a", "10 0 10"}, {"é", "3 10 4"},    {" a", "11 0"},      {" b", "11 11 1"},
    {" b", "9 9 1"},  {" c  c", "12 12"}, {"����", "5 3 4 7"},
};

static void test_tok_decode_strip_skip(void **unused)
{
    toktest_check_decode(strip_skip_json, true, strip_skip_rows,
                         TK_ARRAY_LEN(strip_skip_rows));
}

/* Up to two. */
static const char strip_two_json[] =
    "{'version':'1.0','added_tokens':[{'id':10,'content':'</s>',"
    "'single_word':false,'lstrip':false,'rstrip':false,'normalized':false,"
    "'special':true}],'normalizer':null,'pre_tokenizer':null,'post_processor':null,"
    "'decoder':{'type':'Sequence','decoders':[{'type':'Replace',"
    "'pattern':{'String':'▁'},'content':' '},{'type':'ByteFallback'},"
    "{'type':'Fuse'},{'type':'Strip','content':' ','start':2,'stop':0}]},"
    "'model':{'type':'BPE','vocab':{'▁a':0,'b':1,'é':2,'<0xC3>':3,'<0xA9>':4,"
    "'<0xE4>':5,'<0xB8>':6,'<0xAD>':7,'<0xFF>':8,'▁':9,'</s>':10,'<0x20>':11,"
    "'▁▁c':12},'merges':[]}}";

static const toktest_row strip_two_rows[] = {
    {"", ""},
    {"a", "0"},
    {"ab", "0 1"},
    {"b a", "1 0"},
    {"a a", "0 0"},
    {"a", "9 0"},
    {"c", "12"},
    {"é", "3 4"},
    {"�", "3"},
    {"�", "4"},
    {"��", "3 3"},
    {"中", "5 6 7"},
    {"��", "5 6"},
    {"中b", "5 6 7 1"},
    {"��b", "5 6 1"},
    {"éé", "3 4 3 4"},
    {"�", "8"},
    {"���", "8 3 4"},
    {"���", "3 4 8"},
    {"aéb", "0 3 4 1"},
    {"</s> a</s>", "10 0 10"},
    {"�</s>�", "3 10 4"},
    {"a", "11 0"},
    {"b", "11 11 1"},
    {"b", "9 9 1"},
    {"c  c", "12 12"},
    {"����", "5 3 4 7"},
};

static void test_tok_decode_strip_two(void **unused)
{
    toktest_check_decode(strip_two_json, false, strip_two_rows,
                         TK_ARRAY_LEN(strip_two_rows));
}

static const char replace_json[] =
    "{'version':'1.0','added_tokens':[{'id':10,'content':'</s>',"
    "'single_word':false,'lstrip':false,'rstrip':false,'normalized':false,"
    "'special':true}],'normalizer':null,'pre_tokenizer':null,'post_processor':null,"
    "'decoder':{'type':'Sequence','decoders':[{'type':'Replace',"
    "'pattern':{'String':'▁'},'content':' '},{'type':'Replace',"
    "'pattern':{'String':'b'},'content':'<b>'},{'type':'Fuse'}]},"
    "'model':{'type':'BPE','vocab':{'▁a':0,'b':1,'é':2,'<0xC3>':3,'<0xA9>':4,"
    "'<0xE4>':5,'<0xB8>':6,'<0xAD>':7,'<0xFF>':8,'▁':9,'</s>':10,'<0x20>':11,"
    "'▁▁c':12},'merges':[]}}";

static const toktest_row replace_rows[] = {
    {"", ""},
    {" a", "0"},
    {" a<b>", "0 1"},
    {"<b> a", "1 0"},
    {" a a", "0 0"},
    {"  a", "9 0"},
    {"  c", "12"},
    {"<0xC3><0xA9>", "3 4"},
    {"<0xC3>", "3"},
    {"<0xA9>", "4"},
    {"<0xC3><0xC3>", "3 3"},
    {"<0xE4><0xB8><0xAD>", "5 6 7"},
    {"<0xE4><0xB8>", "5 6"},
    {"<0xE4><0xB8><0xAD><b>", "5 6 7 1"},
    {"<0xE4><0xB8><b>", "5 6 1"},
    {"<0xC3><0xA9><0xC3><0xA9>", "3 4 3 4"},
    {"<0xFF>", "8"},
    {"<0xFF><0xC3><0xA9>", "8 3 4"},
    {"<0xC3><0xA9><0xFF>", "3 4 8"},
    {" a<0xC3><0xA9><b>", "0 3 4 1"},
    {"</s> a</s>", "10 0 10"},
    {"<0xC3></s><0xA9>", "3 10 4"},
    {"<0x20> a", "11 0"},
    {"<0x20><0x20><b>", "11 11 1"},
    {"  <b>", "9 9 1"},
    {"  c  c", "12 12"},
    {"<0xE4><0xC3><0xA9><0xAD>", "5 3 4 7"},
};

static void test_tok_decode_replace(void **unused)
{
    toktest_check_decode(replace_json, false, replace_rows, TK_ARRAY_LEN(replace_rows));
}

static const char fuse_json[] =
    "{'version':'1.0','added_tokens':[{'id':10,'content':'</s>',"
    "'single_word':false,'lstrip':false,'rstrip':false,'normalized':false,"
    "'special':true}],'normalizer':null,'pre_tokenizer':null,'post_processor':null,"
    "'decoder':{'type':'Fuse'},'model':{'type':'BPE','vocab':{'▁a':0,'b':1,'é':2,"
    "'<0xC3>':3,'<0xA9>':4,'<0xE4>':5,'<0xB8>':6,'<0xAD>':7,'<0xFF>':8,'▁':9,"
    "'</s>':10,'<0x20>':11,'▁▁c':12},'merges':[]}}";

static const toktest_row fuse_rows[] = {
    {"", ""},
    {"▁a", "0"},
    {"▁ab", "0 1"},
    {"b▁a", "1 0"},
    {"▁a▁a", "0 0"},
    {"▁▁a", "9 0"},
    {"▁▁c", "12"},
    {"<0xC3><0xA9>", "3 4"},
    {"<0xC3>", "3"},
    {"<0xA9>", "4"},
    {"<0xC3><0xC3>", "3 3"},
    {"<0xE4><0xB8><0xAD>", "5 6 7"},
    {"<0xE4><0xB8>", "5 6"},
    {"<0xE4><0xB8><0xAD>b", "5 6 7 1"},
    {"<0xE4><0xB8>b", "5 6 1"},
    {"<0xC3><0xA9><0xC3><0xA9>", "3 4 3 4"},
    {"<0xFF>", "8"},
    {"<0xFF><0xC3><0xA9>", "8 3 4"},
    {"<0xC3><0xA9><0xFF>", "3 4 8"},
    {"▁a<0xC3><0xA9>b", "0 3 4 1"},
    {"</s>▁a</s>", "10 0 10"},
    {"<0xC3></s><0xA9>", "3 10 4"},
    {"<0x20>▁a", "11 0"},
    {"<0x20><0x20>b", "11 11 1"},
    {"▁▁b", "9 9 1"},
    {"▁▁c▁▁c", "12 12"},
    {"<0xE4><0xC3><0xA9><0xAD>", "5 3 4 7"},
};

static void test_tok_decode_fuse(void **unused)
{
    toktest_check_decode(fuse_json, false, fuse_rows, TK_ARRAY_LEN(fuse_rows));
}

/* Byte-level: bytes that make UTF-8 together; U+FFFD for what does not. */
static const char bytes_json[] =
    "{'version':'1.0','added_tokens':[{'id':258,'content':'<x>',"
    "'single_word':false,'lstrip':false,'rstrip':false,'normalized':false,"
    "'special':true},{'id':259,'content':'é…','single_word':false,'lstrip':false,"
    "'rstrip':false,'normalized':false,'special':false}],'normalizer':null,"
    "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,"
    "'use_regex':false,'trim_offsets':true},'post_processor':null,"
    "'decoder':{'type':'ByteLevel','add_prefix_space':true,'trim_offsets':true,"
    "'use_regex':true},'model':{'type':'BPE','vocab':{@,'ab':256,'Ġa':257},"
    "'merges':['a b','Ġ a']}}";

static const toktest_row bytes_rows[] = {
    {"", ""},
    {"a", "97"},
    {"ab", "256"},
    {" ab", "257 98"},
    {"é", "195 169"},
    {"�", "195"},
    {"�", "169"},
    {"�a", "195 97"},
    {"中", "228 184 173"},
    {"�", "228 184"},
    {"�a", "228 97"},
    {"�中", "228 184 228 184 173"},
    {"�", "255"},
    {"😀", "240 159 152 128"},
    {"�", "240 159 152"},
    {"�a", "240 159 152 97"},
    {"<x>", "258"},
    {"é…", "259"},
    {"�<x>�", "195 258 169"},
    {"a<x>b", "97 258 98"},
    {"�é…", "195 259"},
    {"\n ", "10 32"},
    {"���", "237 160 128"},
    {"��", "192 128"},
    {"����", "244 144 128 128"},
    {"€�", "226 130 172 226"},
};

static void test_tok_decode_bytes(void **unused)
{
    toktest_check_decode(bytes_json, false, bytes_rows, TK_ARRAY_LEN(bytes_rows));
}

static const char bytes_skip_json[] =
    "{'version':'1.0','added_tokens':[{'id':258,'content':'<x>',"
    "'single_word':false,'lstrip':false,'rstrip':false,'normalized':false,"
    "'special':true},{'id':259,'content':'é…','single_word':false,'lstrip':false,"
    "'rstrip':false,'normalized':false,'special':false}],'normalizer':null,"
    "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,"
    "'use_regex':false,'trim_offsets':true},'post_processor':null,"
    "'decoder':{'type':'ByteLevel','add_prefix_space':true,'trim_offsets':true,"
    "'use_regex':true},'model':{'type':'BPE','vocab':{@,'ab':256,'Ġa':257},"
    "'merges':['a b','Ġ a']}}";

static const toktest_row bytes_skip_rows[] = {
    {"", "258"},
    {"ab", "97 258 98"},
    {"é", "195 258 169"},
    {"é…", "259"},
};

static void test_tok_decode_bytes_skip(void **unused)
{
    toktest_check_decode(bytes_skip_json, true, bytes_skip_rows,
                         TK_ARRAY_LEN(bytes_skip_rows));
}

/* Ids that are not used give nothing; a finished stream is as new. */
static void test_tok_decode_unused(void **unused)
{
    tk_tok *tok = toktest_open(strip_json);
    const int32_t ids[] = {-1, 99, INT32_MAX, INT32_MIN};
    tk_buf out;
    tk_buf_init(&out, TK_KIB);
    tk_tok_decode(tok, ids, TK_ARRAY_LEN(ids), false, &out);
    assert_int_equal(out.n, 0);
    tk_tok_stream stream;
    tk_tok_stream_init(&stream, tok, false);
    for (int round = 0; round < 2; round++) {
        tk_buf_clear(&out);
        tk_tok_stream_push(&stream, (const int32_t[]){0, 3}, 2, &out);
        assert_true(tk_str_is(tk_buf_str(&out), "a")); /* the byte is held back */
        tk_tok_stream_finish(&stream, &out);
        assert_true(tk_str_is(tk_buf_str(&out), "a\xEF\xBF\xBD"));
    }
    tk_tok_stream_dispose(&stream);
    tk_buf_dispose(&out);
    tk_tok_free(tok);
}

/* A buffer that is full keeps its failure. */
static void test_tok_decode_limit(void **unused)
{
    tk_tok *tok = toktest_open(fuse_json);
    tk_buf out;
    tk_buf_init(&out, 3);
    tk_tok_decode(tok, (const int32_t[]){1, 1, 1, 1}, 4, false, &out);
    assert_int_equal(out.failure, TINKC_E_LIMIT);
    tk_buf_dispose(&out);
    tk_tok_free(tok);
}

static bool decode_once(void *user)
{
    const tk_tok *tok = user;
    tk_buf out;
    tk_buf_init(&out, TK_KIB);
    tk_tok_decode(tok, (const int32_t[]){97, 195, 169}, 3, false, &out);
    bool ok = out.failure == TINKC_OK;
    assert_true(!ok || tk_str_is(tk_buf_str(&out), "a\xC3\xA9"));
    tk_buf_dispose(&out);
    return ok;
}

/* A failure of the bytes that are held back is one of the text. */
static void test_tok_decode_out_of_memory(void **unused)
{
    tk_tok *tok = toktest_open(bytes_json);
    assert_true(failmem_sweep(decode_once, tok, 1) >= 2);
    tk_tok_free(tok);
}

/* Bytes of one token: whole and in parts, and what stands for a blank. */
static void test_tok_bytes(void **unused)
{
    tk_tok *fallback = toktest_open(fallback_json), *bytes = toktest_open(bytes_json);
    tk_buf out;
    tk_buf_init(&out, TK_KIB);
    tk_tok_bytes(fallback, 0, &out); /* "▁a" */
    tk_tok_bytes(fallback, 3, &out); /* <0xC3> */
    tk_tok_bytes(bytes, 169, &out);
    tk_tok_bytes(bytes, -1, &out);
    tk_tok_bytes(bytes, INT32_MAX, &out);
    assert_true(tk_str_is(tk_buf_str(&out), " a\xC3\xA9"));
    tk_buf_dispose(&out);
    tk_tok_free(fallback);
    tk_tok_free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_decode_none),
        cmocka_unit_test(test_tok_decode_none_skip),
        cmocka_unit_test(test_tok_decode_fallback),
        cmocka_unit_test(test_tok_decode_strip),
        cmocka_unit_test(test_tok_decode_strip_skip),
        cmocka_unit_test(test_tok_decode_strip_two),
        cmocka_unit_test(test_tok_decode_replace),
        cmocka_unit_test(test_tok_decode_fuse),
        cmocka_unit_test(test_tok_decode_bytes),
        cmocka_unit_test(test_tok_decode_bytes_skip),
        cmocka_unit_test(test_tok_decode_unused),
        cmocka_unit_test(test_tok_decode_limit),
        cmocka_unit_test(test_tok_decode_out_of_memory),
        cmocka_unit_test(test_tok_bytes),
    };
    return cmocka_run_group_tests_name("tok_decode", tests, NULL, NULL);
}
