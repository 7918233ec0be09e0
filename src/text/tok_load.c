/* tokenizer.json into tables. Whatever would change ids and is not implemented is refused
 * by name. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "text/tok_int.h"

typedef struct loader {
    tk_tok *tok;
    const tk_json *root;
    tk_err *err;
} loader;

static tinkc_code unsupported(const loader *l, const char *what)
{
    return tk_err_set(l->err, TINKC_E_UNSUPPORTED, "tokenizer.json: %s is not supported",
                      what);
}

static tinkc_code bad(const loader *l, const char *what)
{
    return tk_err_set(l->err, TINKC_E_DECODE, "tokenizer.json: %s", what);
}

static bool is_null(const tk_json *value)
{
    return value == NULL || value->type == TK_JSON_NULL;
}

static bool is_true(const tk_json *value)
{
    return value != NULL && value->type == TK_JSON_BOOL && value->as.boolean;
}

static bool is_false(const tk_json *value)
{
    return value != NULL && value->type == TK_JSON_BOOL && !value->as.boolean;
}

static bool is_text(const tk_json *value, const char *text)
{
    return value != NULL && value->type == TK_JSON_STRING &&
           tk_str_is(value->as.string, text);
}

/* ---- what the file asks for ---- */

static bool is_plain_byte_level(const tk_json *value)
{
    return is_text(tk_json_get(value, "type"), "ByteLevel") &&
           is_false(tk_json_get(value, "add_prefix_space")) &&
           is_false(tk_json_get(value, "use_regex"));
}

static bool is_known_split(const tk_json *value)
{
    const tk_json *pattern = tk_json_get(value, "pattern");
    return is_text(tk_json_get(value, "type"), "Split") &&
           is_text(tk_json_get(pattern, "Regex"), tk_tok_pattern) &&
           is_text(tk_json_get(value, "behavior"), "Isolated") &&
           !is_true(tk_json_get(value, "invert"));
}

static tinkc_code check_pre_tokenizer(const loader *l)
{
    const tk_json *pre = tk_json_get(l->root, "pre_tokenizer");
    const tk_json *parts = tk_json_get(pre, "pretokenizers");
    if (!is_text(tk_json_get(pre, "type"), "Sequence") || tk_json_len(parts) != 2) {
        return unsupported(l, "this pre_tokenizer");
    }
    tk_json split = tk_json_at(parts, 0), bytes = tk_json_at(parts, 1);
    if (!is_known_split(&split)) {
        return unsupported(l, "this split pattern");
    }
    return is_plain_byte_level(&bytes) ? TINKC_OK : unsupported(l, "this pre_tokenizer");
}

static tinkc_code check_parts(const loader *l)
{
    const tk_json *model = tk_json_get(l->root, "model");
    if (!is_text(tk_json_get(l->root, "version"), "1.0")) {
        return bad(l, "version is not 1.0");
    }
    if (!is_text(tk_json_get(model, "type"), "BPE")) {
        return unsupported(l, "a model other than BPE");
    }
    static const char *const off[] = {"normalizer", "post_processor"};
    for (size_t i = 0; i < TK_ARRAY_LEN(off); i++) {
        if (!is_null(tk_json_get(l->root, off[i]))) {
            return unsupported(l, off[i]);
        }
    }
    static const char *const flags[] = {"byte_fallback", "ignore_merges", "fuse_unk"};
    for (size_t i = 0; i < TK_ARRAY_LEN(flags); i++) {
        if (is_true(tk_json_get(model, flags[i]))) {
            return unsupported(l, flags[i]);
        }
    }
    static const char *const empty[] = {
        "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"};
    for (size_t i = 0; i < TK_ARRAY_LEN(empty); i++) {
        if (!is_null(tk_json_get(model, empty[i]))) {
            return unsupported(l, empty[i]);
        }
    }
    const tk_json *decoder = tk_json_get(l->root, "decoder");
    if (!is_text(tk_json_get(decoder, "type"), "ByteLevel")) {
        return unsupported(l, "a decoder other than ByteLevel");
    }
    return check_pre_tokenizer(l);
}

/* ---- vocabulary ---- */

/* The bytes behind a token's characters; a token with a character outside the alphabet
 * stands for itself. */
static bool token_bytes(tk_arena *arena, tk_str token, tk_str *out)
{
    int32_t inverse[256 + 68];
    memset(inverse, -1, sizeof(inverse));
    for (unsigned b = 0; b < 256; b++) {
        inverse[tk_tok_byte_char((unsigned char)b)] = (int32_t)b;
    }
    char *bytes = tk_arena_alloc(arena, token.n + 1);
    if (bytes == NULL) {
        return false;
    }
    size_t n = 0;
    for (size_t at = 0; at < token.n;) {
        uint32_t c = 0;
        at += tk_utf8_decode(&c, token.p + at, token.n - at);
        if (c >= TK_ARRAY_LEN(inverse) || inverse[c] < 0) {
            *out = token;
            return true;
        }
        bytes[n++] = (char)(unsigned char)inverse[c];
    }
    *out = (tk_str){bytes, n};
    return true;
}

static tinkc_code add_entry(const loader *l, tk_str token, int64_t id, bool literal)
{
    tk_tok *tok = l->tok;
    if (id < 0 || (uint64_t)id >= tok->n_entries) {
        return bad(l, "an id is out of range");
    }
    tk_tok_entry *entry = &tok->entries[id];
    if (entry->token.p != NULL && !tk_str_eq(entry->token, token)) {
        return bad(l, "two tokens have the same id");
    }
    const tk_tok_entry *old = tk_map_get(&tok->ids, token);
    if (old != NULL && old != entry) {
        return bad(l, "a token has two ids");
    }
    if (old == NULL) {
        if (!tk_arena_dup(&tok->arena, &entry->token, token.p, token.n)) {
            return tk_err_nomem(l->err);
        }
        tinkc_code code = tk_map_put(&tok->ids, entry->token, entry, l->err);
        if (code != TINKC_OK) {
            return code;
        }
    }
    if (literal) {
        entry->bytes = entry->token;
        return TINKC_OK;
    }
    return token_bytes(&tok->arena, entry->token, &entry->bytes) ? TINKC_OK
                                                                 : tk_err_nomem(l->err);
}

/* Room for all ids: the file may have holes, but not more than it has tokens. */
static tinkc_code make_entries(const loader *l, const tk_json *vocab,
                               const tk_json *added)
{
    size_t n = vocab->as.object.n + tk_json_len(added);
    if (n > TK_TOK_MAX_TOKENS) {
        return tk_err_set(l->err, TINKC_E_LIMIT, "tokenizer.json has %zu tokens", n);
    }
    int64_t top = -1;
    for (size_t i = 0; i < n; i++) {
        tk_json item = {.type = TK_JSON_NULL};
        const tk_json *id;
        if (i < vocab->as.object.n) {
            id = &vocab->as.object.members[i].value;
        } else {
            item = tk_json_at(added, i - vocab->as.object.n);
            id = tk_json_get(&item, "id");
        }
        int64_t value;
        if (id == NULL || !tk_json_to_i64(id, &value) || value < 0 ||
            value >= 2 * (int64_t)n) {
            return bad(l, "an id is missing or out of range");
        }
        top = TK_MAX(top, value);
    }
    l->tok->n_entries = (size_t)(top + 1);
    size_t size = sizeof(*l->tok->entries);
    l->tok->entries = tk_zarray(l->tok->n_entries, size);
    return l->tok->entries != NULL ? TINKC_OK : tk_err_nomem(l->err);
}

static tinkc_code load_vocabulary(const loader *l, const tk_json *vocab)
{
    for (size_t i = 0; i < vocab->as.object.n; i++) {
        const tk_json_member *m = &vocab->as.object.members[i];
        int64_t id;
        if (!tk_json_to_i64(&m->value, &id)) {
            return bad(l, "an id is not a number");
        }
        tinkc_code code = add_entry(l, m->key, id, false);
        if (code != TINKC_OK) {
            return code;
        }
    }
    for (unsigned b = 0; b < 256; b++) {
        char utf8[4];
        size_t n = tk_utf8_encode(utf8, tk_tok_byte_char((unsigned char)b));
        int32_t id = tk_tok_id(l->tok, (tk_str){utf8, n});
        if (id < 0) {
            return unsupported(l, "a vocabulary without all 256 bytes");
        }
        l->tok->byte_ids[b] = id;
    }
    return TINKC_OK;
}

/* ---- added tokens ---- */

static int longest_first(const void *a, const void *b)
{
    const tk_tok_added *x = a, *y = b;
    if (x->content.n != y->content.n) {
        return x->content.n > y->content.n ? -1 : 1;
    }
    return tk_str_cmp(x->content, y->content);
}

static tinkc_code add_special(const loader *l, const tk_json *item)
{
    static const char *const flags[] = {"lstrip", "rstrip", "single_word", "normalized"};
    for (size_t i = 0; i < TK_ARRAY_LEN(flags); i++) {
        if (is_true(tk_json_get(item, flags[i]))) {
            return unsupported(l, "an added token that is not matched literally");
        }
    }
    const tk_json *content = tk_json_get(item, "content");
    if (content == NULL || content->type != TK_JSON_STRING || content->as.string.n == 0) {
        return bad(l, "an added token has no content");
    }
    int64_t id;
    if (!tk_json_to_i64(tk_json_get(item, "id"), &id)) {
        return bad(l, "an id is not a number");
    }
    tinkc_code code = add_entry(l, content->as.string, id, true);
    if (code != TINKC_OK) {
        return code;
    }
    tk_tok *tok = l->tok;
    tok->entries[id].special = is_true(tk_json_get(item, "special"));
    tk_str token = tok->entries[id].token;
    tok->added[tok->n_added++] = (tk_tok_added){token, (int32_t)id};
    tok->added_first[(unsigned char)token.p[0]] = true;
    return TINKC_OK;
}

static tinkc_code load_added(const loader *l, const tk_json *added)
{
    size_t n = tk_json_len(added);
    l->tok->added = tk_zarray(n, sizeof(*l->tok->added));
    if (l->tok->added == NULL) {
        return tk_err_nomem(l->err);
    }
    for (size_t i = 0; i < n; i++) {
        tk_json item = tk_json_at(added, i);
        tinkc_code code = add_special(l, &item);
        if (code != TINKC_OK) {
            return code;
        }
    }
    qsort(l->tok->added, l->tok->n_added, sizeof(*l->tok->added), longest_first);
    return TINKC_OK;
}

/* ---- merges ---- */

/* "a b", with exactly one space, or ["a", "b"]. */
static bool merge_parts(const tk_json *item, tk_str *left, tk_str *right)
{
    if (item->type == TK_JSON_STRING) {
        *right = item->as.string;
        *left = tk_str_cut(right, ' ');
        return left->n > 0 && right->n > 0 && memchr(right->p, ' ', right->n) == NULL;
    }
    tk_json a = tk_json_at(item, 0), b = tk_json_at(item, 1);
    if (tk_json_len(item) != 2 || a.type != TK_JSON_STRING || b.type != TK_JSON_STRING) {
        return false;
    }
    *left = a.as.string;
    *right = b.as.string;
    return true;
}

static tinkc_code add_merge(const loader *l, const tk_json *item, tk_buf *joined)
{
    tk_tok *tok = l->tok;
    tk_str left, right;
    if (!merge_parts(item, &left, &right)) {
        return bad(l, "a merge is not a pair");
    }
    tk_buf_clear(joined);
    tk_buf_put(joined, left.p, left.n);
    tk_buf_put(joined, right.p, right.n);
    if (tk_buf_status(joined, l->err) != TINKC_OK) {
        return joined->failure;
    }
    int32_t a = tk_tok_id(tok, left), b = tk_tok_id(tok, right);
    int32_t id = tk_tok_id(tok, tk_buf_str(joined));
    if (a < 0 || b < 0 || id < 0) {
        return bad(l, "a merge is not in the vocabulary");
    }
    uint32_t rank = (uint32_t)tok->n_merges;
    tok->merges[tok->n_merges++] = (tk_tok_merge){TK_TOK_PAIR(a, b), rank, id};
    return TINKC_OK;
}

static int by_pair_last_first(const void *a, const void *b)
{
    const tk_tok_merge *x = a, *y = b;
    if (x->pair != y->pair) {
        return x->pair < y->pair ? -1 : 1;
    }
    return x->rank > y->rank ? -1 : x->rank < y->rank;
}

static tinkc_code load_merges(const loader *l, const tk_json *merges)
{
    tk_tok *tok = l->tok;
    size_t n = tk_json_len(merges);
    if (!tk_json_is_array(merges) || n > TK_TOK_MAX_TOKENS) {
        return bad(l, "merges are missing or too many");
    }
    tok->merges = tk_zarray(n, sizeof(*tok->merges));
    if (tok->merges == NULL) {
        return tk_err_nomem(l->err);
    }
    tk_buf joined;
    tk_buf_init(&joined, TK_STRING_MAX_BYTES);
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; i < n && code == TINKC_OK; i++) {
        tk_json item = tk_json_at(merges, i);
        code = add_merge(l, &item, &joined);
    }
    tk_buf_dispose(&joined);
    if (code != TINKC_OK) {
        return code;
    }
    qsort(tok->merges, n, sizeof(*tok->merges), by_pair_last_first);
    tok->n_merges = 0;
    for (size_t i = 0; i < n; i++) { /* a pair that comes twice has its last rank */
        if (i == 0 || tok->merges[i].pair != tok->merges[tok->n_merges - 1].pair) {
            tok->merges[tok->n_merges++] = tok->merges[i];
        }
    }
    return TINKC_OK;
}

static tinkc_code load(const loader *l)
{
    const tk_json *model = tk_json_get(l->root, "model");
    const tk_json *vocab = tk_json_get(model, "vocab");
    const tk_json *added = tk_json_get(l->root, "added_tokens");
    tinkc_code code = check_parts(l);
    if (code == TINKC_OK && (vocab == NULL || vocab->type != TK_JSON_OBJECT)) {
        code = bad(l, "the vocabulary is missing");
    }
    if (code == TINKC_OK) {
        code = make_entries(l, vocab, added);
    }
    if (code == TINKC_OK) {
        code = load_vocabulary(l, vocab);
    }
    if (code == TINKC_OK) {
        code = load_added(l, added);
    }
    return code == TINKC_OK ? load_merges(l, tk_json_get(model, "merges")) : code;
}

tinkc_code tk_tok_load_memory(tk_tok **out, tk_str json, tk_err *err)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    tk_tok *tok = tk_zalloc(sizeof(*tok));
    const tk_json *root = NULL;
    tinkc_code code = tok != NULL
                          ? tk_json_parse(&root, &arena, json.p, json.n, NULL, err)
                          : tk_err_nomem(err);
    if (code == TINKC_OK) {
        tk_arena_init(&tok->arena, 0);
        atomic_init(&tok->owners, 1);
        tk_map_init(&tok->ids, TK_MAP_BORROW_KEYS);
        loader l = {tok, root, err};
        code = load(&l);
    }
    tk_arena_dispose(&arena);
    if (code != TINKC_OK) {
        tk_tok_free(tok);
        return code;
    }
    *out = tok;
    return TINKC_OK;
}

tinkc_code tk_tok_load(tk_tok **out, const char *path, tk_err *err)
{
    char *json = NULL;
    size_t n = 0;
    tinkc_code code = tk_file_read(&json, &n, path, TK_TOK_FILE_MAX_BYTES, err);
    if (code == TINKC_OK) {
        code = tk_tok_load_memory(out, (tk_str){json, n}, err);
    }
    tk_free(json);
    return code;
}

void tk_tok_free(tk_tok *tok)
{
    if (tok == NULL) {
        return;
    }
    if (atomic_fetch_sub(&tok->owners, 1) > 1) {
        return;
    }
    tk_tok_config_dispose(&tok->config);
    tk_map_dispose(&tok->ids);
    tk_arena_dispose(&tok->arena);
    tk_free(tok->entries);
    tk_free(tok->merges);
    tk_free(tok->added);
    tk_free(tok);
}
