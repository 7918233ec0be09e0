/* The way of a text: segments between added tokens, stages of the pre-tokeniser with all
 * behaviours, what the post-processor adds, offsets. Ids of the reference. */
#include "support/toktest.h"

/* A model in which every two characters merge: each cut of the pre-tokeniser shows. */
#define MODEL                                                                            \
    "{'type':'BPE','vocab':{'a':0,'b':1,'1':2,'2':3,'-':4,' ':5,'\\n':6,'aa':7,"         \
    "'ab':8,'a1':9,'a2':10,'a-':11,'a ':12,'a\\n':13,'ba':14,'bb':15,'b1':16,"           \
    "'b2':17,'b-':18,'b ':19,'b\\n':20,'1a':21,'1b':22,'11':23,'12':24,'1-':25,"         \
    "'1 ':26,'1\\n':27,'2a':28,'2b':29,'21':30,'22':31,'2-':32,'2 ':33,'2\\n':34,"       \
    "'-a':35,'-b':36,'-1':37,'-2':38,'--':39,'- ':40,'-\\n':41,' a':42,' b':43,"         \
    "' 1':44,' 2':45,' -':46,'  ':47,' \\n':48,'\\na':49,'\\nb':50,'\\n1':51,'\\n2':52," \
    "'\\n-':53,'\\n ':54,'\\n\\n':55,'aba':56,'abb':57,'ab1':58,'ab2':59,'ab-':60,"      \
    "'ab ':61,'ab\\n':62,'a-a':63,'a-b':64,'a-1':65,'a-2':66,'a--':67,'a- ':68,"         \
    "'a-\\n':69,'-aa':70,'-ab':71,'-a1':72,'-a2':73,'-a-':74,'-a ':75,'-a\\n':76,"       \
    "' aa':77,' ab':78,' a1':79,' a2':80,' a-':81,' a ':82,' a\\n':83,'12a':84,"         \
    "'12b':85,'121':86,'122':87,'12-':88,'12 ':89,'12\\n':90,'--a':91,'--b':92,"         \
    "'--1':93,'--2':94,'---':95,'-- ':96,'--\\n':97,'1-a':98,'1-b':99,'1-1':100,"        \
    "'1-2':101,'1--':102,'1- ':103,'1-\\n':104,'-1a':105,'-1b':106,'-11':107,"           \
    "'-12':108,'-1-':109,'-1 ':110,'-1\\n':111,'b a':112,'b b':113,'b 1':114,"           \
    "'b 2':115,'b -':116,'b  ':117,'b \\n':118},'merges':[['a','a'],['a','b'],['a',"     \
    "'1'],['a','2'],['a','-'],['a',' '],['a','\\n'],['b','a'],['b','b'],['b','1'],"      \
    "['b','2'],['b','-'],['b',' '],['b','\\n'],['1','a'],['1','b'],['1','1'],['1',"      \
    "'2'],['1','-'],['1',' '],['1','\\n'],['2','a'],['2','b'],['2','1'],['2','2'],"      \
    "['2','-'],['2',' '],['2','\\n'],['-','a'],['-','b'],['-','1'],['-','2'],['-',"      \
    "'-'],['-',' '],['-','\\n'],[' ','a'],[' ','b'],[' ','1'],[' ','2'],[' ','-'],"      \
    "[' ',' '],[' ','\\n'],['\\n','a'],['\\n','b'],['\\n','1'],['\\n','2'],['\\n','-']," \
    "['\\n',' '],['\\n','\\n'],['ab','a'],['ab','b'],['ab','1'],['ab','2'],['ab','-'],"  \
    "['ab',' '],['ab','\\n'],['a-','a'],['a-','b'],['a-','1'],['a-','2'],['a-','-'],"    \
    "['a-',' '],['a-','\\n'],['-a','a'],['-a','b'],['-a','1'],['-a','2'],['-a','-'],"    \
    "['-a',' '],['-a','\\n'],[' a','a'],[' a','b'],[' a','1'],[' a','2'],[' a','-'],"    \
    "[' a',' '],[' a','\\n'],['12','a'],['12','b'],['12','1'],['12','2'],['12','-'],"    \
    "['12',' '],['12','\\n'],['--','a'],['--','b'],['--','1'],['--','2'],['--','-'],"    \
    "['--',' '],['--','\\n'],['1-','a'],['1-','b'],['1-','1'],['1-','2'],['1-','-'],"    \
    "['1-',' '],['1-','\\n'],['-1','a'],['-1','b'],['-1','1'],['-1','2'],['-1','-'],"    \
    "['-1',' '],['-1','\\n'],['b ','a'],['b ','b'],['b ','1'],['b ','2'],['b ','-'],"    \
    "['b ',' '],['b ','\\n']]}"

static const char split_isolated_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'Split','pattern':{'String':'-'},"
    "'behavior':'Isolated','invert':false},'post_processor':null,'decoder':null"
    ",'model':" MODEL "}";

static const toktest_row split_isolated_rows[] = {
    {"", ""},
    {"a", "0"},
    {"-", "4"},
    {"ab", "8"},
    {"a-b", "0 4 1"},
    {"a--b", "0 4 4 1"},
    {"-ab", "4 8"},
    {"ab-", "8 4"},
    {"--", "4 4"},
    {"a-b-a", "0 4 1 4 0"},
    {"-a-", "4 0 4"},
    {"ab ab", "61 8"},
    {"a - b", "12 4 43"},
    {"12-12", "24 4 24"},
    {"a1b2", "9 17"},
    {" a ", "5 12"},
    {"a\nb\n", "13 20"},
    {"--a--b--", "4 4 0 4 4 1 4 4"},
};

static void test_tok_encode_split_isolated(void **unused)
{
    toktest_check(split_isolated_json, split_isolated_rows,
                  TK_ARRAY_LEN(split_isolated_rows));
}

static const char split_isolated_inverted_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'Split','pattern':{'String':'-'},"
    "'behavior':'Isolated','invert':true},'post_processor':null,'decoder':null"
    ",'model':" MODEL "}";

static const toktest_row split_isolated_inverted_rows[] = {
    {"", ""},
    {"a", "0"},
    {"-", "4"},
    {"ab", "8"},
    {"a-b", "0 4 1"},
    {"a--b", "0 4 4 1"},
    {"-ab", "4 8"},
    {"ab-", "8 4"},
    {"--", "4 4"},
    {"a-b-a", "0 4 1 4 0"},
    {"-a-", "4 0 4"},
    {"ab ab", "61 8"},
    {"a - b", "12 4 43"},
    {"12-12", "24 4 24"},
    {"a1b2", "9 17"},
    {" a ", "5 12"},
    {"a\nb\n", "13 20"},
    {"--a--b--", "4 4 0 4 4 1 4 4"},
};

static void test_tok_encode_split_isolated_inverted(void **unused)
{
    toktest_check(split_isolated_inverted_json, split_isolated_inverted_rows,
                  TK_ARRAY_LEN(split_isolated_inverted_rows));
}

static const char split_removed_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'Split','pattern':{'String':'-'},'behavior':'Removed',"
    "'invert':false},'post_processor':null,'decoder':null"
    ",'model':" MODEL "}";

static const toktest_row split_removed_rows[] = {
    {"", ""},           {"a", "0"},          {"-", ""},
    {"ab", "8"},        {"a-b", "0 1"},      {"a--b", "0 1"},
    {"-ab", "8"},       {"ab-", "8"},        {"--", ""},
    {"a-b-a", "0 1 0"}, {"-a-", "0"},        {"ab ab", "61 8"},
    {"a - b", "12 43"}, {"12-12", "24 24"},  {"a1b2", "9 17"},
    {" a ", "5 12"},    {"a\nb\n", "13 20"}, {"--a--b--", "0 1"},
};

static void test_tok_encode_split_removed(void **unused)
{
    toktest_check(split_removed_json, split_removed_rows,
                  TK_ARRAY_LEN(split_removed_rows));
}

static const char split_removed_inverted_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'Split','pattern':{'String':'-'},'behavior':'Removed',"
    "'invert':true},'post_processor':null,'decoder':null"
    ",'model':" MODEL "}";

static const toktest_row split_removed_inverted_rows[] = {
    {"", ""},         {"a", ""},      {"-", "4"},
    {"ab", ""},       {"a-b", "4"},   {"a--b", "4 4"},
    {"-ab", "4"},     {"ab-", "4"},   {"--", "4 4"},
    {"a-b-a", "4 4"}, {"-a-", "4 4"}, {"ab ab", ""},
    {"a - b", "4"},   {"12-12", "4"}, {"a1b2", ""},
    {" a ", ""},      {"a\nb\n", ""}, {"--a--b--", "4 4 4 4 4 4"},
};

static void test_tok_encode_split_removed_inverted(void **unused)
{
    toktest_check(split_removed_inverted_json, split_removed_inverted_rows,
                  TK_ARRAY_LEN(split_removed_inverted_rows));
}

static const char split_merged_with_previous_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'Split','pattern':{'String':'-'},"
    "'behavior':'MergedWithPrevious','invert':false},'post_processor':null,"
    "'decoder':null"
    ",'model':" MODEL "}";

static const toktest_row split_merged_with_previous_rows[] = {
    {"", ""},
    {"a", "0"},
    {"-", "4"},
    {"ab", "8"},
    {"a-b", "11 1"},
    {"a--b", "11 4 1"},
    {"-ab", "4 8"},
    {"ab-", "60"},
    {"--", "4 4"},
    {"a-b-a", "11 18 0"},
    {"-a-", "4 11"},
    {"ab ab", "61 8"},
    {"a - b", "12 4 43"},
    {"12-12", "88 24"},
    {"a1b2", "9 17"},
    {" a ", "5 12"},
    {"a\nb\n", "13 20"},
    {"--a--b--", "4 4 11 4 18 4"},
};

static void test_tok_encode_split_merged_with_previous(void **unused)
{
    toktest_check(split_merged_with_previous_json, split_merged_with_previous_rows,
                  TK_ARRAY_LEN(split_merged_with_previous_rows));
}

static const char split_merged_with_previous_inverted_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'Split','pattern':{'String':'-'},"
    "'behavior':'MergedWithPrevious','invert':true},'post_processor':null,"
    "'decoder':null"
    ",'model':" MODEL "}";

static const toktest_row split_merged_with_previous_inverted_rows[] = {
    {"", ""},
    {"a", "0"},
    {"-", "4"},
    {"ab", "8"},
    {"a-b", "0 36"},
    {"a--b", "0 4 36"},
    {"-ab", "4 8"},
    {"ab-", "8 4"},
    {"--", "4 4"},
    {"a-b-a", "0 36 35"},
    {"-a-", "35 4"},
    {"ab ab", "61 8"},
    {"a - b", "12 40 1"},
    {"12-12", "24 4 24"},
    {"a1b2", "9 17"},
    {" a ", "5 12"},
    {"a\nb\n", "13 20"},
    {"--a--b--", "4 35 4 36 4 4"},
};

static void test_tok_encode_split_merged_with_previous_inverted(void **unused)
{
    toktest_check(split_merged_with_previous_inverted_json,
                  split_merged_with_previous_inverted_rows,
                  TK_ARRAY_LEN(split_merged_with_previous_inverted_rows));
}

static const char split_merged_with_next_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'Split','pattern':{'String':'-'},"
    "'behavior':'MergedWithNext','invert':false},'post_processor':null,"
    "'decoder':null"
    ",'model':" MODEL "}";

static const toktest_row split_merged_with_next_rows[] = {
    {"", ""},
    {"a", "0"},
    {"-", "4"},
    {"ab", "8"},
    {"a-b", "0 36"},
    {"a--b", "0 4 36"},
    {"-ab", "4 8"},
    {"ab-", "8 4"},
    {"--", "4 4"},
    {"a-b-a", "0 36 35"},
    {"-a-", "35 4"},
    {"ab ab", "61 8"},
    {"a - b", "12 40 1"},
    {"12-12", "24 4 24"},
    {"a1b2", "9 17"},
    {" a ", "5 12"},
    {"a\nb\n", "13 20"},
    {"--a--b--", "4 35 4 36 4 4"},
};

static void test_tok_encode_split_merged_with_next(void **unused)
{
    toktest_check(split_merged_with_next_json, split_merged_with_next_rows,
                  TK_ARRAY_LEN(split_merged_with_next_rows));
}

static const char split_merged_with_next_inverted_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'Split','pattern':{'String':'-'},"
    "'behavior':'MergedWithNext','invert':true},'post_processor':null,"
    "'decoder':null"
    ",'model':" MODEL "}";

static const toktest_row split_merged_with_next_inverted_rows[] = {
    {"", ""},
    {"a", "0"},
    {"-", "4"},
    {"ab", "8"},
    {"a-b", "11 1"},
    {"a--b", "11 4 1"},
    {"-ab", "4 8"},
    {"ab-", "60"},
    {"--", "4 4"},
    {"a-b-a", "11 18 0"},
    {"-a-", "4 11"},
    {"ab ab", "61 8"},
    {"a - b", "12 4 43"},
    {"12-12", "88 24"},
    {"a1b2", "9 17"},
    {" a ", "5 12"},
    {"a\nb\n", "13 20"},
    {"--a--b--", "4 4 11 4 18 4"},
};

static void test_tok_encode_split_merged_with_next_inverted(void **unused)
{
    toktest_check(split_merged_with_next_inverted_json,
                  split_merged_with_next_inverted_rows,
                  TK_ARRAY_LEN(split_merged_with_next_inverted_rows));
}

static const char split_contiguous_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'Split','pattern':{'String':'-'},"
    "'behavior':'Contiguous','invert':false},'post_processor':null,'decoder':null"
    ",'model':" MODEL "}";

static const toktest_row split_contiguous_rows[] = {
    {"", ""},
    {"a", "0"},
    {"-", "4"},
    {"ab", "8"},
    {"a-b", "0 4 1"},
    {"a--b", "0 39 1"},
    {"-ab", "4 8"},
    {"ab-", "8 4"},
    {"--", "39"},
    {"a-b-a", "0 4 1 4 0"},
    {"-a-", "4 0 4"},
    {"ab ab", "61 8"},
    {"a - b", "12 4 43"},
    {"12-12", "24 4 24"},
    {"a1b2", "9 17"},
    {" a ", "5 12"},
    {"a\nb\n", "13 20"},
    {"--a--b--", "39 0 39 1 39"},
};

static void test_tok_encode_split_contiguous(void **unused)
{
    toktest_check(split_contiguous_json, split_contiguous_rows,
                  TK_ARRAY_LEN(split_contiguous_rows));
}

static const char split_contiguous_inverted_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'Split','pattern':{'String':'-'},"
    "'behavior':'Contiguous','invert':true},'post_processor':null,'decoder':null"
    ",'model':" MODEL "}";

static const toktest_row split_contiguous_inverted_rows[] = {
    {"", ""},
    {"a", "0"},
    {"-", "4"},
    {"ab", "8"},
    {"a-b", "0 4 1"},
    {"a--b", "0 39 1"},
    {"-ab", "4 8"},
    {"ab-", "8 4"},
    {"--", "39"},
    {"a-b-a", "0 4 1 4 0"},
    {"-a-", "4 0 4"},
    {"ab ab", "61 8"},
    {"a - b", "12 4 43"},
    {"12-12", "24 4 24"},
    {"a1b2", "9 17"},
    {" a ", "5 12"},
    {"a\nb\n", "13 20"},
    {"--a--b--", "39 0 39 1 39"},
};

static void test_tok_encode_split_contiguous_inverted(void **unused)
{
    toktest_check(split_contiguous_inverted_json, split_contiguous_inverted_rows,
                  TK_ARRAY_LEN(split_contiguous_inverted_rows));
}

/* A pattern that needs PCRE2, with matches that may be empty. */
static const char pattern_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'Split','pattern':{'Regex':'-*'},"
    "'behavior':'Isolated','invert':false},'post_processor':null,'decoder':null"
    ",'model':" MODEL "}";

static const toktest_row pattern_rows[] = {
    {"", ""},
    {"a", "0"},
    {"-", "4"},
    {"ab", "0 1"},
    {"a-b", "0 4 1"},
    {"a--b", "0 39 1"},
    {"-ab", "4 0 1"},
    {"ab-", "0 1 4"},
    {"--", "39"},
    {"a-b-a", "0 4 1 4 0"},
    {"-a-", "4 0 4"},
    {"ab ab", "0 1 5 0 1"},
    {"a - b", "0 5 4 5 1"},
    {"12-12", "2 3 4 2 3"},
    {"a1b2", "0 2 1 3"},
    {" a ", "5 0 5"},
    {"a\nb\n", "0 6 1 6"},
    {"--a--b--", "39 0 39 1 39"},
};

static void test_tok_encode_pattern(void **unused)
{
    toktest_check(pattern_json, pattern_rows, TK_ARRAY_LEN(pattern_rows));
}

static const char pattern_removed_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'Split','pattern':{'Regex':'[-1]+'},"
    "'behavior':'Removed','invert':false},'post_processor':null,'decoder':null"
    ",'model':" MODEL "}";

static const toktest_row pattern_removed_rows[] = {
    {"", ""},           {"a", "0"},          {"-", ""},
    {"ab", "8"},        {"a-b", "0 1"},      {"a--b", "0 1"},
    {"-ab", "8"},       {"ab-", "8"},        {"--", ""},
    {"a-b-a", "0 1 0"}, {"-a-", "0"},        {"ab ab", "61 8"},
    {"a - b", "12 43"}, {"12-12", "3 3"},    {"a1b2", "0 17"},
    {" a ", "5 12"},    {"a\nb\n", "13 20"}, {"--a--b--", "0 1"},
};

static void test_tok_encode_pattern_removed(void **unused)
{
    toktest_check(pattern_removed_json, pattern_removed_rows,
                  TK_ARRAY_LEN(pattern_removed_rows));
}

static const char pattern_previous_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'Split','pattern':{'Regex':'\\\\s'},"
    "'behavior':'MergedWithPrevious','invert':false},'post_processor':null,"
    "'decoder':null"
    ",'model':" MODEL "}";

static const toktest_row pattern_previous_rows[] = {
    {"", ""},
    {"a", "0"},
    {"-", "4"},
    {"ab", "8"},
    {"a-b", "64"},
    {"a--b", "11 36"},
    {"-ab", "4 8"},
    {"ab-", "60"},
    {"--", "39"},
    {"a-b-a", "11 18 0"},
    {"-a-", "4 11"},
    {"ab ab", "61 8"},
    {"a - b", "12 40 1"},
    {"12-12", "88 24"},
    {"a1b2", "9 17"},
    {" a ", "5 12"},
    {"a\nb\n", "13 20"},
    {"--a--b--", "39 67 18 4"},
};

static void test_tok_encode_pattern_previous(void **unused)
{
    toktest_check(pattern_previous_json, pattern_previous_rows,
                  TK_ARRAY_LEN(pattern_previous_rows));
}

static const char digits_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'Digits','individual_digits':false},"
    "'post_processor':null,'decoder':null"
    ",'model':" MODEL "}";

static const toktest_row digits_rows[] = {
    {"", ""},
    {"a", "0"},
    {"-", "4"},
    {"ab", "8"},
    {"a-b", "64"},
    {"a--b", "11 36"},
    {"-ab", "4 8"},
    {"ab-", "60"},
    {"--", "39"},
    {"a-b-a", "11 18 0"},
    {"-a-", "4 11"},
    {"ab ab", "61 8"},
    {"a - b", "12 40 1"},
    {"12-12", "24 4 24"},
    {"a1b2", "0 2 1 3"},
    {" a ", "5 12"},
    {"a\nb\n", "13 20"},
    {"--a--b--", "39 67 18 4"},
    {"121", "86"},
    {"a12a", "0 24 0"},
    {"1 2", "2 5 3"},
};

static void test_tok_encode_digits(void **unused)
{
    toktest_check(digits_json, digits_rows, TK_ARRAY_LEN(digits_rows));
}

static const char digits_alone_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'Digits','individual_digits':true},"
    "'post_processor':null,'decoder':null"
    ",'model':" MODEL "}";

static const toktest_row digits_alone_rows[] = {
    {"", ""},
    {"a", "0"},
    {"-", "4"},
    {"ab", "8"},
    {"a-b", "64"},
    {"a--b", "11 36"},
    {"-ab", "4 8"},
    {"ab-", "60"},
    {"--", "39"},
    {"a-b-a", "11 18 0"},
    {"-a-", "4 11"},
    {"ab ab", "61 8"},
    {"a - b", "12 40 1"},
    {"12-12", "2 3 4 2 3"},
    {"a1b2", "0 2 1 3"},
    {" a ", "5 12"},
    {"a\nb\n", "13 20"},
    {"--a--b--", "39 67 18 4"},
    {"121", "2 3 2"},
    {"a12a", "0 2 3 0"},
    {"1 2", "2 5 3"},
};

static void test_tok_encode_digits_alone(void **unused)
{
    toktest_check(digits_alone_json, digits_alone_rows, TK_ARRAY_LEN(digits_alone_rows));
}

/* Stages one after the other. */
static const char sequence_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'Sequence','pretokenizers':[{'type':'Digits',"
    "'individual_digits':true},{'type':'Split','pattern':{'String':' '},"
    "'behavior':'MergedWithNext','invert':false},{'type':'Split',"
    "'pattern':{'String':'-'},'behavior':'Isolated','invert':false}]},"
    "'post_processor':null,'decoder':null"
    ",'model':" MODEL "}";

static const toktest_row sequence_rows[] = {
    {"", ""},
    {"a", "0"},
    {"-", "4"},
    {"ab", "8"},
    {"a-b", "0 4 1"},
    {"a--b", "0 4 4 1"},
    {"-ab", "4 8"},
    {"ab-", "8 4"},
    {"--", "4 4"},
    {"a-b-a", "0 4 1 4 0"},
    {"-a-", "4 0 4"},
    {"ab ab", "8 5 8"},
    {"a - b", "0 5 4 43"},
    {"12-12", "2 3 4 2 3"},
    {"a1b2", "0 2 1 3"},
    {" a ", "42 5"},
    {"a\nb\n", "13 20"},
    {"--a--b--", "4 4 0 4 4 1 4 4"},
};

static void test_tok_encode_sequence(void **unused)
{
    toktest_check(sequence_json, sequence_rows, TK_ARRAY_LEN(sequence_rows));
}

/* A blank in front of a segment that has none. */
static const char prefix_space_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':true,'use_regex':true,"
    "'trim_offsets':true},'post_processor':null,'decoder':{'type':'ByteLevel',"
    "'add_prefix_space':true,'trim_offsets':true,'use_regex':true},"
    "'model':{'type':'BPE','vocab':{@,'Ġa':256,'ab':257,'Ġab':258,'12':259,"
    "'ĠĠ':260},'merges':['Ġ a','a b','Ġa b','1 2','Ġ Ġ']}}";

static const toktest_row prefix_space_rows[] = {
    {"ab", "258"},
    {"  ab", "32 258"},
    {"a b", "256 32 98"},
    {" ", "32"},
    {"a's b'll", "256 39 115 32 98 39 108 108"},
    {"12 12", "32 259 32 259"},
    {"ab\n\n ab", "258 10 10 258"},
    {"é ab", "32 195 169 258"},
};

static void test_tok_encode_prefix_space(void **unused)
{
    toktest_check(prefix_space_json, prefix_space_rows, TK_ARRAY_LEN(prefix_space_rows));
}

/* Each segment gets its blank. */
static const char prefix_segments_json[] =
    "{'version':'1.0','added_tokens':[{'id':261,'content':'<x>',"
    "'single_word':false,'lstrip':false,'rstrip':false,'normalized':false,"
    "'special':false}],'normalizer':null,'pre_tokenizer':{'type':'ByteLevel',"
    "'add_prefix_space':true,'use_regex':true,'trim_offsets':true},"
    "'post_processor':null,'decoder':{'type':'ByteLevel','add_prefix_space':true,"
    "'trim_offsets':true,'use_regex':true},'model':{'type':'BPE','vocab':{@,"
    "'Ġa':256,'ab':257,'Ġab':258,'12':259,'ĠĠ':260},'merges':['Ġ a','a b','Ġa b',"
    "'1 2','Ġ Ġ']}}";

static const toktest_row prefix_segments_rows[] = {
    {"ab<x>ab", "258 261 258"},
    {"<x>ab", "261 258"},
    {"ab<x> ab", "258 261 258"},
    {"<x><x>", "261 261"},
    {"", ""},
};

static void test_tok_encode_prefix_segments(void **unused)
{
    toktest_check(prefix_segments_json, prefix_segments_rows,
                  TK_ARRAY_LEN(prefix_segments_rows));
}

/* What the post-processor adds. */
static const char post_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':{'type':'TemplateProcessing',"
    "'single':[{'SpecialToken':{'id':'<s>','type_id':0}},{'Sequence':{'id':'A',"
    "'type_id':0}},{'SpecialToken':{'id':'</s>','type_id':0}}],'pair':[],"
    "'special_tokens':{'<s>':{'id':'<s>','ids':[2],'tokens':['<s>']},"
    "'</s>':{'id':'</s>','ids':[3,2],'tokens':['</s>','<s>']}}},'decoder':null,"
    "'model':{'type':'BPE','vocab':{'a':0,'b':1,'<s>':2,'</s>':3},'merges':[]}}";

static const toktest_row post_rows[] = {
    {"", "2 3 2"},
    {"a", "2 0 3 2"},
    {"ab", "2 0 1 3 2"},
    {"<s>", "2 3 2"},
};

static void test_tok_encode_post(void **unused)
{
    toktest_check_special(post_json, post_rows, TK_ARRAY_LEN(post_rows));
}

static const char post_off_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':{'type':'TemplateProcessing',"
    "'single':[{'SpecialToken':{'id':'<s>','type_id':0}},{'Sequence':{'id':'A',"
    "'type_id':0}},{'SpecialToken':{'id':'</s>','type_id':0}}],'pair':[],"
    "'special_tokens':{'<s>':{'id':'<s>','ids':[2],'tokens':['<s>']},"
    "'</s>':{'id':'</s>','ids':[3,2],'tokens':['</s>','<s>']}}},'decoder':null,"
    "'model':{'type':'BPE','vocab':{'a':0,'b':1,'<s>':2,'</s>':3},'merges':[]}}";

static const toktest_row post_off_rows[] = {
    {"", ""},
    {"a", "0"},
    {"ab", "0 1"},
};

static void test_tok_encode_post_off(void **unused)
{
    toktest_check(post_off_json, post_off_rows, TK_ARRAY_LEN(post_off_rows));
}

static const char post_roberta_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':{'type':'RobertaProcessing','sep':['</s>',3],'cls':['<s>',2],"
    "'trim_offsets':true,'add_prefix_space':false},'decoder':null,"
    "'model':{'type':'BPE','vocab':{'a':0,'b':1,'<s>':2,'</s>':3},'merges':[]}}";

static const toktest_row post_roberta_rows[] = {
    {"", "2 3"},
    {"a", "2 0 3"},
    {"ab", "2 0 1 3"},
};

static void test_tok_encode_post_roberta(void **unused)
{
    toktest_check_special(post_roberta_json, post_roberta_rows,
                          TK_ARRAY_LEN(post_roberta_rows));
}

static const char post_sequence_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':{'type':'Sequence','processors':[{'type':'ByteLevel',"
    "'add_prefix_space':true,'trim_offsets':true,'use_regex':true},"
    "{'type':'BertProcessing','sep':['</s>',3],'cls':['<s>',2]}]},'decoder':null,"
    "'model':{'type':'BPE','vocab':{'a':0,'b':1,'<s>':2,'</s>':3},'merges':[]}}";

static const toktest_row post_sequence_rows[] = {
    {"", "2 3"},
    {"a", "2 0 3"},
};

static void test_tok_encode_post_sequence(void **unused)
{
    toktest_check_special(post_sequence_json, post_sequence_rows,
                          TK_ARRAY_LEN(post_sequence_rows));
}

static const char prepended_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':{'type':'Sequence',"
    "'normalizers':[{'type':'Prepend','prepend':'▁'},{'type':'Replace',"
    "'pattern':{'String':' '},'content':'▁'}]},'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'▁':0,"
    "'a':1,'b':2,'é':3,'▁a':4,'ab':5,'▁ab':6,'中':7},'merges':['▁ a','a b','▁a b']}}";

/* Begin and end of each id in bytes of the text. */
static const toktest_row prepended_rows[] = {
    {"ab ab", "0-2 2-5"},
    {"a  b", "0-1 1-2 2-3 3-4"},
};

static const char composed_json[] =
    "{'version':'1.0','added_tokens':[{'id':6,'content':'<x>','single_word':false,"
    "'lstrip':false,'rstrip':false,'normalized':false,'special':false},{'id':7,"
    "'content':'<y>','single_word':false,'lstrip':true,'rstrip':true,"
    "'normalized':false,'special':false}],'normalizer':{'type':'NFC'},"
    "'pre_tokenizer':null,'post_processor':null,'decoder':null,"
    "'model':{'type':'BPE','vocab':{'a':0,'b':1,'é':2,'中':3,'e':4,'ab':5},"
    "'merges':['a b']}}";

/* Begin and end of each id in bytes of the text. */
static const toktest_row composed_rows[] = {
    {"ab<x>b<x>", "0-2 2-5 5-6 6-9"},
    {"a <y> b", "0-1 1-6 6-7"},
    {"中a中", "0-3 3-4 4-7"},
    {"<y>", "0-3"},
};

static const char split_bytes_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,"
    "'use_regex':false,'trim_offsets':true},'post_processor':null,"
    "'decoder':{'type':'ByteLevel','add_prefix_space':true,'trim_offsets':true,"
    "'use_regex':true},'model':{'type':'BPE','vocab':{@,'ab':256},"
    "'merges':['a b']}}";

/* Begin and end of each id in bytes of the text. */
static const toktest_row split_bytes_rows[] = {
    {"ab", "0-2"},
    {"abab", "0-2 2-4"},
    {"axb", "0-1 1-2 2-3"},
};

static void check_offsets(const char *json, const toktest_row *rows, size_t n)
{
    tk_tok *tok = toktest_open(json);
    for (size_t i = 0; i < n; i++) {
        tk_tok_ids ids = {NULL, 0, 0, NULL};
        tk_err err = TK_ERR_INIT;
        tk_buf got;
        tk_buf_init(&got, TK_KIB);
        assert_int_equal(tk_tok_encode_how(tok, tk_str_of(rows[i].text),
                                           (tk_tok_how){.offsets = true}, &ids, &err),
                         TINKC_OK);
        for (size_t k = 0; k < ids.n; k++) {
            tk_buf_printf(&got, "%s%zu-%zu", k > 0 ? " " : "", ids.offsets[2 * k],
                          ids.offsets[2 * k + 1]);
        }
        if (!tk_str_is(tk_buf_str(&got), rows[i].ids)) {
            fail_msg("\"%s\": %.*s instead of %s", rows[i].text, (int)got.n, got.p,
                     rows[i].ids);
        }
        tk_buf_dispose(&got);
        tk_tok_ids_dispose(&ids);
    }
    tk_tok_free(tok);
}

static void test_tok_encode_offsets(void **unused)
{
    check_offsets(prepended_json, prepended_rows, TK_ARRAY_LEN(prepended_rows));
    check_offsets(composed_json, composed_rows, TK_ARRAY_LEN(composed_rows));
    check_offsets(split_bytes_json, split_bytes_rows, TK_ARRAY_LEN(split_bytes_rows));
}

/* Refusals leave the result as it was. */
static void test_tok_encode_refuses(void **unused)
{
    tk_tok *tok = toktest_open(post_json);
    tk_tok_ids ids = {NULL, 0, 0, NULL};
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_tok_encode(tok, TK_STR("ab"), &ids, &err), TINKC_OK);
    assert_int_equal(tk_tok_encode(tok, TK_STR("b"), &ids, &err), TINKC_OK);
    assert_int_equal(ids.n, 3); /* appended */
    tk_tok_how how = {.offsets = true};
    assert_int_equal(tk_tok_encode_how(tok, TK_STR("a"), how, &ids, &err),
                     TINKC_E_INVALID);
    assert_int_equal(ids.n, 3);
    static const char one[] = "a";
    tk_str endless = {one, TK_TOK_TEXT_MAX_BYTES + 1};
    assert_int_equal(tk_tok_encode(tok, endless, &ids, &err), TINKC_E_LIMIT);
    assert_int_equal(ids.n, 3);
    tk_tok_ids_dispose(&ids);
    tk_tok_free(tok);
}

/* In plain text special tokens are text: no added token is looked for. */
static void test_tok_encode_plain(void **unused)
{
    tk_tok *tok = toktest_open(composed_json);
    toktest_encode(tok, (tk_tok_how){.plain_text = true}, (toktest_row){"ab<x>b", "5 1"});
    toktest_encode(tok, (tk_tok_how){.plain_text = false},
                   (toktest_row){"ab<x>b", "5 6 1"});
    tk_tok_free(tok);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_encode_split_isolated),
        cmocka_unit_test(test_tok_encode_split_isolated_inverted),
        cmocka_unit_test(test_tok_encode_split_removed),
        cmocka_unit_test(test_tok_encode_split_removed_inverted),
        cmocka_unit_test(test_tok_encode_split_merged_with_previous),
        cmocka_unit_test(test_tok_encode_split_merged_with_previous_inverted),
        cmocka_unit_test(test_tok_encode_split_merged_with_next),
        cmocka_unit_test(test_tok_encode_split_merged_with_next_inverted),
        cmocka_unit_test(test_tok_encode_split_contiguous),
        cmocka_unit_test(test_tok_encode_split_contiguous_inverted),
        cmocka_unit_test(test_tok_encode_pattern),
        cmocka_unit_test(test_tok_encode_pattern_removed),
        cmocka_unit_test(test_tok_encode_pattern_previous),
        cmocka_unit_test(test_tok_encode_digits),
        cmocka_unit_test(test_tok_encode_digits_alone),
        cmocka_unit_test(test_tok_encode_sequence),
        cmocka_unit_test(test_tok_encode_prefix_space),
        cmocka_unit_test(test_tok_encode_prefix_segments),
        cmocka_unit_test(test_tok_encode_post),
        cmocka_unit_test(test_tok_encode_post_off),
        cmocka_unit_test(test_tok_encode_post_roberta),
        cmocka_unit_test(test_tok_encode_post_sequence),
        cmocka_unit_test(test_tok_encode_offsets),
        cmocka_unit_test(test_tok_encode_refuses),
        cmocka_unit_test(test_tok_encode_plain),
    };
    return cmocka_run_group_tests_name("tok_encode", tests, NULL, NULL);
}
