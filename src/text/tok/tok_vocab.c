/* The model of tokenizer.json and its added tokens into entries: ids, flags, what each
 * token decodes to and which bytes it covers. */
#include "base/mem.h"
#include "base/utf8.h"
#include "text/tok/tok_load.h"
#include "text/tok/tok_work.h"
#include "text/unicode/uni.h"

/* ---- entries ---- */

tinkc_code tk_tok_vocab_init(tk_tok *tok, size_t n, tk_err *err)
{
    tok->n_entries = n;
    tok->entries = tk_zarray(n, sizeof(*tok->entries));
    if (tok->entries == NULL || !tk_tok_index_init(&tok->tokens, n)) {
        return tk_err_nomem(err);
    }
    return TINKC_OK;
}

tinkc_code tk_tok_vocab_put(const tk_tok_loader *l, tk_str token, int64_t id)
{
    tk_tok *tok = l->tok;
    if (id < 0 || (uint64_t)id >= tok->n_entries) {
        return tk_tok_load_bad(l, "an id is out of range");
    }
    tk_tok_entry *entry = &tok->entries[id];
    if (entry->token.p != NULL && !tk_str_eq(entry->token, token)) {
        return tk_tok_load_bad(l, "two tokens have the same id");
    }
    int32_t old = tk_tok_index_get(tok, token, false);
    if (old >= 0 && old != (int32_t)id) {
        return tk_tok_load_bad(l, "a token has two ids");
    }
    if (old < 0) {
        if (!tk_arena_dup(&tok->arena, &entry->token, token.p, token.n)) {
            return tk_err_nomem(l->err);
        }
        entry->byte = -1;
        tk_tok_index_put(tok, (int32_t)id, false);
    }
    return TINKC_OK;
}

/* Room for all ids: the file may have holes, but not more than it has tokens. */
static tinkc_code make_entries(const tk_tok_loader *l, const tk_json *vocab,
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
            return tk_tok_load_bad(l, "an id is missing or out of range");
        }
        top = TK_MAX(top, value);
    }
    return tk_tok_vocab_init(l->tok, (size_t)(top + 1), l->err);
}

static int hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* <0xHH>, and as the reference reads it also <0x+H>. */
static int16_t byte_of(tk_str token)
{
    if (token.n != 6 || memcmp(token.p, "<0x", 3) != 0 || token.p[5] != '>') {
        return -1;
    }
    int high = token.p[3] == '+' ? 0 : hex_value(token.p[3]), low = hex_value(token.p[4]);
    return (int16_t)(high >= 0 && low >= 0 ? high * 16 + low : -1);
}

static void find_bytes(tk_tok *tok)
{
    for (unsigned b = 0; b < 256; b++) {
        char text[8];
        size_t n = 6;
        if (tok->byte_level) {
            n = tk_utf8_encode(text, tk_tok_utf8_of_byte((unsigned char)b));
        } else {
            static const char digits[] = "0123456789ABCDEF";
            memcpy(text, "<0x00>", 6);
            text[3] = digits[b / 16];
            text[4] = digits[b % 16];
        }
        tok->byte_ids[b] = tk_tok_index_get(tok, (tk_str){text, n}, false);
    }
}

static tinkc_code check_model(const tk_tok_loader *l, const tk_json *model)
{
    const tk_json *type = tk_json_get(model, "type");
    if (type != NULL && !tk_tok_load_is(type, "BPE")) {
        return tk_tok_load_refuse(l, "the model", tk_tok_load_text(type));
    }
    if (type == NULL && tk_json_get(model, "merges") == NULL) {
        return tk_tok_load_refuse(l, "a model without merges", (tk_str){NULL, 0});
    }
    const tk_json *dropout = tk_json_get(model, "dropout");
    double chance = 0;
    if (dropout != NULL && tk_json_to_double(dropout, &chance) && chance > 0) {
        return tk_tok_load_refuse(l, "dropout", (tk_str){NULL, 0});
    }
    static const char *const empty[] = {"continuing_subword_prefix",
                                        "end_of_word_suffix"};
    for (size_t i = 0; i < TK_ARRAY_LEN(empty); i++) {
        if (tk_tok_load_text(tk_json_get(model, empty[i])).n > 0) {
            return tk_tok_load_refuse(l, empty[i], (tk_str){NULL, 0});
        }
    }
    return TINKC_OK;
}

static tinkc_code read_flags(const tk_tok_loader *l, const tk_json *model)
{
    tk_tok *tok = l->tok;
    tok->byte_fallback = tk_tok_load_true(tk_json_get(model, "byte_fallback"));
    tok->fuse_unk = tk_tok_load_true(tk_json_get(model, "fuse_unk"));
    tok->ignore_merges = tk_tok_load_true(tk_json_get(model, "ignore_merges"));
    tk_str unk = tk_tok_load_text(tk_json_get(model, "unk_token"));
    tok->unk = unk.p != NULL ? tk_tok_index_get(tok, unk, false) : -1;
    if (unk.p != NULL && tok->unk < 0) {
        return tk_tok_load_bad(l, "unk_token is not in the vocabulary");
    }
    find_bytes(tok);
    return TINKC_OK;
}

tinkc_code tk_tok_vocab_load(const tk_tok_loader *l)
{
    const tk_json *model = tk_json_get(l->root, "model");
    const tk_json *vocab = tk_json_get(model, "vocab");
    tinkc_code code = check_model(l, model);
    if (code != TINKC_OK) {
        return code;
    }
    if (vocab == NULL || vocab->type != TK_JSON_OBJECT) {
        return tk_tok_load_bad(l, "the vocabulary is missing");
    }
    code = make_entries(l, vocab, tk_json_get(l->root, "added_tokens"));
    for (size_t i = 0; code == TINKC_OK && i < vocab->as.object.n; i++) {
        const tk_json_member *m = &vocab->as.object.members[i];
        int64_t id;
        code = tk_json_to_i64(&m->value, &id)
                   ? tk_tok_vocab_put(l, m->key, id)
                   : tk_tok_load_bad(l, "an id is not a number");
    }
    return code == TINKC_OK ? read_flags(l, model) : code;
}

/* ---- added tokens ---- */

static tinkc_code add_token(const tk_tok_loader *l, const tk_json *item)
{
    tk_tok *tok = l->tok;
    tk_str content = tk_tok_load_text(tk_json_get(item, "content"));
    if (content.n == 0) {
        return tk_tok_load_bad(l, "an added token has no content");
    }
    if (content.n > TK_TOK_ADDED_MAX_BYTES) {
        return tk_err_set(l->err, TINKC_E_LIMIT,
                          "tokenizer.json: an added token of %zu bytes", content.n);
    }
    int64_t id;
    if (!tk_json_to_i64(tk_json_get(item, "id"), &id)) {
        return tk_tok_load_bad(l, "an id is not a number");
    }
    bool is_new = tk_tok_index_get(tok, content, false) < 0;
    tinkc_code code = tk_tok_vocab_put(l, content, id);
    if (code != TINKC_OK) {
        return code;
    }
    tk_tok_entry *entry = &tok->entries[id];
    entry->apart = entry->apart || is_new;
    entry->special = tk_tok_load_true(tk_json_get(item, "special"));
    entry->added = true;
    tok->added[tok->n_added++] = (tk_tok_added){
        .content = entry->token,
        .id = (int32_t)id,
        .normalized = tk_tok_load_true(tk_json_get(item, "normalized")),
        .lstrip = tk_tok_load_true(tk_json_get(item, "lstrip")),
        .rstrip = tk_tok_load_true(tk_json_get(item, "rstrip")),
        .single_word = tk_tok_load_true(tk_json_get(item, "single_word")),
    };
    return TINKC_OK;
}

tinkc_code tk_tok_vocab_load_added(const tk_tok_loader *l)
{
    const tk_json *added = tk_json_get(l->root, "added_tokens");
    size_t n = tk_json_len(added);
    l->tok->added = tk_zarray(n, sizeof(*l->tok->added));
    tinkc_code code = l->tok->added != NULL ? TINKC_OK : tk_err_nomem(l->err);
    for (size_t i = 0; i < n && code == TINKC_OK; i++) {
        tk_json item = tk_json_at(added, i);
        code = add_token(l, &item);
    }
    return code;
}

/* ---- what tokens cover and decode to ---- */

/* The bytes that a token's characters spell; a token with a character outside the
 * alphabet spells itself. */
static bool alphabet_bytes(tk_arena *arena, tk_str token, tk_str *out)
{
    char *bytes = tk_arena_alloc(arena, token.n + 1);
    if (bytes == NULL) {
        return false;
    }
    size_t n = 0;
    for (size_t at = 0, len; at < token.n; at += len) {
        int byte =
            tk_tok_utf8_to_byte(tk_uni_decode((const unsigned char *)token.p + at, &len));
        if (byte < 0) {
            *out = token;
            tk_arena_shrink_last(arena, bytes, token.n + 1, 0);
            return true;
        }
        bytes[n++] = (char)(unsigned char)byte;
    }
    bytes[n] = '\0';
    *out = (tk_str){bytes, n};
    return true;
}

static bool replaced(tk_tok *tok, tk_str *text, const tk_tok_norm *norm, tk_buf *buf)
{
    tk_buf_clear(buf);
    const char *p = text->p, *end = p + text->n, *hit;
    while ((hit = memmem(p, (size_t)(end - p), norm->pattern.p, norm->pattern.n)) !=
           NULL) {
        tk_buf_put(buf, p, (size_t)(hit - p));
        tk_buf_put(buf, norm->content.p, norm->content.n);
        p = hit + norm->pattern.n;
    }
    if (p == text->p) {
        return true;
    }
    tk_buf_put(buf, p, (size_t)(end - p));
    return buf->failure == TINKC_OK && tk_arena_dup(&tok->arena, text, buf->p, buf->n);
}

static bool decoded_text(tk_tok *tok, tk_str token, tk_str *out, tk_buf *buf)
{
    *out = token;
    bool ok = tok->decoder.kind != TK_TOK_DECODE_BYTES ||
              alphabet_bytes(&tok->arena, token, out);
    for (size_t i = 0; i < tok->decoder.n_replace && ok; i++) {
        ok = replaced(tok, out, &tok->decoder.replace[i], buf);
    }
    return ok;
}

static bool finish_entry(tk_tok *tok, tk_tok_entry *e, tk_buf *buf)
{
    bool ok = decoded_text(tok, e->token, &e->text, buf);
    e->byte = byte_of(e->token);
    e->raw = e->token;
    if (ok && tok->byte_level && tok->decoder.kind == TK_TOK_DECODE_BYTES) {
        e->raw = e->text;
    } else if (ok && tok->byte_level) {
        ok = alphabet_bytes(&tok->arena, e->token, &e->raw);
    }
    if (ok && tok->byte_level && e->raw.p == e->token.p) {
        e->raw.n = 0; /* outside the alphabet: no piece is spelled like it */
    }
    return ok;
}

/* Added tokens that are looked for in normalised text are normalised themselves, and
 * decode to that. */
static tinkc_code normalize_added(const tk_tok_loader *l, tk_buf *buf)
{
    tk_tok *tok = l->tok;
    tk_tok_work *work = tk_tok_work_take(tok->pool);
    tinkc_code code = work != NULL ? TINKC_OK : tk_err_nomem(l->err);
    for (size_t i = 0; i < tok->n_added && code == TINKC_OK; i++) {
        tk_tok_added *a = &tok->added[i];
        tk_tok_map map = {.off = true};
        tk_str normal;
        if (a->normalized) {
            code = tk_tok_norm_run(tok, work, a->content, &normal, &map);
            if (code != TINKC_OK ||
                !tk_arena_dup(&tok->arena, &a->content, normal.p, normal.n) ||
                !decoded_text(tok, a->content, &tok->entries[a->id].text, buf)) {
                code = tk_err_nomem(l->err);
            }
        }
    }
    if (work != NULL) {
        tk_tok_work_give(tok->pool, work);
    }
    return code;
}

tinkc_code tk_tok_vocab_finish(const tk_tok_loader *l)
{
    tk_tok *tok = l->tok;
    tk_buf buf;
    tk_buf_init(&buf, TK_STRING_MAX_BYTES);
    bool ok = !tok->ignore_merges || tk_tok_index_init(&tok->raws, tok->n_entries);
    for (size_t i = 0; i < tok->n_entries && ok; i++) {
        tk_tok_entry *e = &tok->entries[i];
        ok = e->token.p == NULL || finish_entry(tok, e, &buf);
    }
    tinkc_code code = ok ? TINKC_OK : tk_err_nomem(l->err);
    if (code == TINKC_OK && tok->byte_level) {
        code = tk_tok_whole_init(tok, l->err);
    }
    if (code != TINKC_OK) {
        goto out;
    }
    code = normalize_added(l, &buf);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tk_tok_added_build(&tok->raw_trie, tok, false, l->err);
    if (code == TINKC_OK) {
        code = tk_tok_added_build(&tok->normal_trie, tok, true, l->err);
    }
out:
    tk_buf_dispose(&buf);
    return code;
}
