/* A-130, M-133: the shortcuts of the merge loop (characters as one symbol, stretches,
 * caches) change no id. Vocabularies are grown at random over characters that share
 * leads and tails, so that merges also join parts of characters; the ids are those of
 * the rule itself: the pair of lowest rank, the leftmost of equals, again and again. */
#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "support/test.h"
#include "text/tok/tok_tables.h"

#define TOKENS 400
#define MERGES 90
#define TEXT   512

typedef struct vocab {
    bool bytes, fallback, fuse;
    const char *unknown; /* its token, which may be one of a character */
    bool shuffled; /* ranks do not follow the order in which tokens can come to be */
    char tokens[TOKENS][128];
    size_t lengths[TOKENS], n;
    int32_t left[MERGES], right[MERGES], joined[MERGES];
    size_t n_merges;
    size_t ranks[TOKENS][TOKENS]; /* of a merge, counted from 1 */
} vocab;

static uint64_t state;

static size_t pick(size_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state >> 11) % n;
}

/* ---- the rule ---- */

static int32_t token_id(const vocab *v, const char *text, size_t n)
{
    for (size_t i = 0; i < v->n; i++) {
        if (v->lengths[i] == n && memcmp(v->tokens[i], text, n) == 0) {
            return (int32_t)i;
        }
    }
    return -1;
}

static size_t first_symbols(const vocab *v, tk_str text, int32_t *ids)
{
    size_t n = 0, len;
    bool unknown = false;
    for (size_t at = 0; at < text.n; at += len) {
        len = v->bytes ? 1 : tk_utf8_len(text.p + at, text.n - at);
        int32_t id = token_id(v, text.p + at, len);
        if (id < 0 && v->fallback) {
            for (size_t i = 0; i < len; i++) {
                ids[n++] = 1 + (unsigned char)text.p[at + i];
            }
        } else if (id >= 0 || !(unknown && v->fuse)) {
            ids[n++] = id >= 0 ? id : 0;
        }
        unknown = id < 0;
    }
    return n;
}

static size_t by_rule(const vocab *v, tk_str text, int32_t *ids)
{
    size_t n = first_symbols(v, text, ids);
    for (;;) {
        size_t best = 0, at = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            size_t rank = v->ranks[ids[i]][ids[i + 1]];
            if (rank != 0 && (best == 0 || rank < best)) {
                best = rank;
                at = i;
            }
        }
        if (best == 0) {
            return n;
        }
        ids[at] = v->joined[best - 1];
        memmove(ids + at + 1, ids + at + 2, (n - at - 2) * sizeof(*ids));
        n--;
    }
}

/* ---- vocabularies ---- */

static const char *const alphabet[] = {"a",
                                       "b",
                                       "\xC3\xA9",
                                       "\xC3\xA8",
                                       "\xC4\xA9",
                                       "\xE4\xB8\xAD",
                                       "\xE4\xB8\xAE",
                                       "\xE4\xB9\xAD",
                                       "\xE7\xB8\xAD",
                                       "\xE7\x9A\x84",
                                       "\xF0\x9D\x84\x9E"};

static tk_str random_text(char *out, size_t chars)
{
    size_t n = 0;
    for (size_t i = 0; i < chars; i++) {
        const char *c = alphabet[pick(TK_ARRAY_LEN(alphabet))];
        memcpy(out + n, c, strlen(c));
        n += strlen(c);
    }
    return (tk_str){out, n};
}

static void put_token(vocab *v, const char *text, size_t n)
{
    memcpy(v->tokens[v->n], text, n);
    v->lengths[v->n++] = n;
}

static void rank_merges(vocab *v)
{
    for (size_t i = 0; i < v->n_merges; i++) {
        v->ranks[v->left[i]][v->right[i]] = i + 1;
    }
}

/* One more merge, of two adjacent symbols in a random text. */
static void grow(vocab *v)
{
    char text[TEXT], joined[TEXT];
    int32_t ids[TEXT];
    tk_str sample = random_text(text, 40);
    size_t n = by_rule(v, sample, ids);
    size_t at = pick(n - 1);
    size_t a = v->lengths[ids[at]], b = v->lengths[ids[at + 1]];
    if (a + b > sizeof(v->tokens[0])) {
        return;
    }
    memcpy(joined, v->tokens[ids[at]], a);
    memcpy(joined + a, v->tokens[ids[at + 1]], b);
    int32_t id = token_id(v, joined, a + b);
    if (id < 0) {
        id = (int32_t)v->n;
        put_token(v, joined, a + b);
    }
    size_t place = v->shuffled ? pick(v->n_merges + 1) : v->n_merges;
    size_t behind = (v->n_merges - place) * sizeof(int32_t);
    memmove(v->left + place + 1, v->left + place, behind);
    memmove(v->right + place + 1, v->right + place, behind);
    memmove(v->joined + place + 1, v->joined + place, behind);
    v->left[place] = ids[at];
    v->right[place] = ids[at + 1];
    v->joined[place] = id;
    v->n_merges++;
    rank_merges(v);
}

/* Byte-level: ids 0 to 255 are the bytes. Of characters: 0 is unknown, then the bytes,
 * then all but the last three of the alphabet. */
static void make(vocab *v, size_t seed)
{
    memset(v, 0, sizeof(*v));
    state = 88172645463325252u + seed * 7919;
    v->bytes = seed % 2 == 0;
    v->shuffled = seed % 4 >= 2;
    v->fallback = !v->bytes && seed % 8 < 4;
    v->fuse = seed % 16 < 8;
    v->unknown = seed % 32 < 16 ? "<unk>" : "a";
    if (!v->bytes) {
        put_token(v, v->unknown, strlen(v->unknown));
    }
    for (int i = 0; i < 256; i++) {
        char text[8];
        (void)snprintf(text, sizeof(text), "<0x%02X>", (unsigned)i);
        put_token(v, v->bytes ? (char[]){(char)i} : text, v->bytes ? 1 : 6);
    }
    for (size_t i = 0; i + 3 < TK_ARRAY_LEN(alphabet) && !v->bytes; i++) {
        if (strcmp(alphabet[i], v->unknown) != 0) {
            put_token(v, alphabet[i], strlen(alphabet[i]));
        }
    }
    for (size_t i = 0; i < MERGES; i++) {
        grow(v);
    }
}

static void put_spelled(tk_json_writer *w, const vocab *v, int32_t id)
{
    char text[2 * sizeof(v->tokens[0])];
    size_t n = 0;
    for (size_t i = 0; i < v->lengths[id]; i++) {
        char c = v->tokens[id][i];
        if (v->bytes) {
            n += tk_utf8_encode(text + n, tk_tok_utf8_of_byte((unsigned char)c));
        } else {
            text[n++] = c;
        }
    }
    tk_json_put_str(w, (tk_str){text, n});
}

static tk_tok *load(const vocab *v)
{
    tk_buf file;
    tk_json_writer w;
    tk_tok *tok = NULL;
    tk_err err = TK_ERR_INIT;
    char unknown[16];
    (void)snprintf(unknown, sizeof(unknown), "\"%s\"", v->unknown);
    tk_buf_init(&file, TK_MIB);
    tk_buf_printf(&file,
                  "{\"version\":\"1.0\",\"added_tokens\":[],\"normalizer\":null,"
                  "\"pre_tokenizer\":%s,\"post_processor\":null,\"decoder\":null,"
                  "\"model\":{\"type\":\"BPE\",\"unk_token\":%s,\"fuse_unk\":%s,"
                  "\"byte_fallback\":%s,\"vocab\":{",
                  v->bytes ? "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
                             "\"use_regex\":false}"
                           : "null",
                  v->bytes ? "null" : unknown, v->fuse ? "true" : "false",
                  v->fallback ? "true" : "false");
    for (size_t i = 0; i < v->n; i++) {
        tk_buf_puts(&file, i > 0 ? "," : "");
        tk_json_writer_init(&w, &file);
        put_spelled(&w, v, (int32_t)i);
        tk_buf_printf(&file, ":%zu", i);
    }
    tk_buf_puts(&file, "},\"merges\":[");
    for (size_t i = 0; i < v->n_merges; i++) {
        tk_buf_puts(&file, i > 0 ? "," : "");
        tk_json_writer_init(&w, &file);
        tk_json_begin_array(&w);
        put_spelled(&w, v, v->left[i]);
        put_spelled(&w, v, v->right[i]);
        tk_json_end_array(&w);
    }
    tk_buf_puts(&file, "]}}");
    if (tk_tok_load_memory(&tok, tk_buf_str(&file), &err) != TINKC_OK) {
        fail_msg("%s", err.message);
    }
    tk_buf_dispose(&file);
    return tok;
}

/* ---- the test ---- */

static void check(const vocab *v, const tk_tok *tok, tk_str text)
{
    int32_t wanted[TEXT];
    size_t n = by_rule(v, text, wanted);
    tk_tok_ids ids = {NULL, 0, 0, NULL};
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_tok_encode(tok, text, &ids, &err), TINKC_OK);
    assert_int_equal(ids.n, n);
    assert_memory_equal(ids.ids, wanted, n * sizeof(*wanted));
    tk_tok_ids_dispose(&ids);
}

/* A-130, M-133: random vocabularies and texts: the same ids as the rule applied
 * literally. */
static void test_tok_merge_follows_the_rule(void **unused)
{
    vocab *v = tk_malloc(sizeof(*v));
    assert_non_null(v);
    for (size_t seed = 0; seed < 48; seed++) {
        make(v, seed);
        tk_tok *tok = load(v);
        for (size_t i = 0; i < 120; i++) {
            char text[TEXT];
            tk_str sample = random_text(text, 1 + pick(i % 3 == 0 ? 120 : 12));
            check(v, tok, sample);
            check(v, tok, sample); /* now perhaps from a cache */
        }
        tk_tok_free(tok);
    }
    tk_free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_merge_follows_the_rule),
    };
    return cmocka_run_group_tests_name("text/tok_merge", tests, NULL, NULL);
}
