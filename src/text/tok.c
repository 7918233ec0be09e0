/* Encode, decode and lookup on a loaded tokenizer; see tok.h. */
#include "text/tok.h"

#include <string.h>

#include "base/mem.h"
#include "text/tok_int.h"

size_t tk_tok_size(const tk_tok *tok)
{
    return tok->n_entries;
}

static const tk_tok_entry *entry_at(const tk_tok *tok, int32_t id)
{
    return id >= 0 && (size_t)id < tok->n_entries ? &tok->entries[id] : NULL;
}

tk_str tk_tok_token(const tk_tok *tok, int32_t id)
{
    const tk_tok_entry *entry = entry_at(tok, id);
    return entry != NULL ? entry->token : (tk_str){NULL, 0};
}

int32_t tk_tok_id(const tk_tok *tok, tk_str token)
{
    const tk_tok_entry *entry = tk_map_get(&tok->ids, token);
    return entry != NULL ? (int32_t)(entry - tok->entries) : -1;
}

bool tk_tok_is_special(const tk_tok *tok, int32_t id)
{
    const tk_tok_entry *entry = entry_at(tok, id);
    return entry != NULL && entry->special;
}

void tk_tok_ids_dispose(tk_tok_ids *ids)
{
    tk_free(ids->ids);
    tk_free(ids->offsets);
    *ids = (tk_tok_ids){NULL, 0, 0, NULL};
}

bool tk_tok_ids_reserve(tk_tok_ids *ids, size_t n)
{
    size_t want;
    if (!tk_size_add(&want, ids->n, n)) {
        return false;
    }
    if (want <= ids->capacity) {
        return true;
    }
    want = TK_MAX(want, ids->capacity + ids->capacity / 2);
    int32_t *grown = tk_realloc_array(ids->ids, want, sizeof(*grown));
    if (grown == NULL) {
        return false;
    }
    ids->ids = grown;
    ids->capacity = want;
    return true;
}

/* The added token that begins at text, the longest of them; NULL = none. */
static const tk_tok_added *added_at(const tk_tok *tok, const char *text, size_t n)
{
    if (!tok->added_first[(unsigned char)text[0]]) {
        return NULL;
    }
    for (size_t i = 0; i < tok->n_added; i++) {
        tk_str content = tok->added[i].content;
        if (content.n <= n && memcmp(content.p, text, content.n) == 0) {
            return &tok->added[i];
        }
    }
    return NULL;
}

static tinkc_code encode_plain(const tk_tok *tok, tk_str text, tk_tok_ids *out)
{
    for (size_t at = 0; at < text.n;) {
        size_t n = tk_tok_split(text.p + at, text.n - at);
        if (tk_tok_bpe(tok, (tk_str){text.p + at, n}, out) != TINKC_OK) {
            return TINKC_E_NOMEM;
        }
        at += n;
    }
    return TINKC_OK;
}

static tinkc_code encode(const tk_tok *tok, tk_str text, tk_tok_ids *out)
{
    size_t begin = 0;
    for (size_t at = 0; at < text.n;) {
        const tk_tok_added *added = added_at(tok, text.p + at, text.n - at);
        if (added == NULL) {
            at++;
            continue;
        }
        tk_str plain = {text.p + begin, at - begin};
        if (encode_plain(tok, plain, out) != TINKC_OK || !tk_tok_ids_reserve(out, 1)) {
            return TINKC_E_NOMEM;
        }
        out->ids[out->n++] = added->id;
        at += added->content.n;
        begin = at;
    }
    return begin < text.n
               ? encode_plain(tok, (tk_str){text.p + begin, text.n - begin}, out)
               : TINKC_OK;
}

tinkc_code tk_tok_encode(const tk_tok *tok, tk_str text, tk_tok_ids *out, tk_err *err)
{
    if (text.n > TK_TOK_TEXT_MAX_BYTES) {
        return tk_err_set(err, TINKC_E_LIMIT, "a text of %zu bytes is too long to encode",
                          text.n);
    }
    size_t before = out->n;
    if (encode(tok, text, out) != TINKC_OK) {
        out->n = before;
        return tk_err_nomem(err);
    }
    return TINKC_OK;
}

tinkc_code tk_tok_encode_how(const tk_tok *tok, tk_str text, tk_tok_how how,
                             tk_tok_ids *out, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    if (!how.plain_text) {
        code = tk_tok_encode(tok, text, out, err);
    } else if (encode_plain(tok, text, out) != TINKC_OK) {
        code = tk_err_nomem(err);
    }
    if (code == TINKC_OK && how.offsets) {
        out->offsets = tk_zarray(2 * out->n, sizeof(*out->offsets));
        size_t at = 0;
        for (size_t i = 0; i < out->n && out->offsets != NULL; i++) {
            out->offsets[2 * i] = at;
            at += tok->entries[out->ids[i]].bytes.n;
            out->offsets[2 * i + 1] = at;
        }
    }
    return code;
}

void tk_tok_decode(const tk_tok *tok, const int32_t *ids, size_t n, bool skip_special,
                   tk_buf *out)
{
    for (size_t i = 0; i < n; i++) {
        const tk_tok_entry *entry = entry_at(tok, ids[i]);
        if (entry != NULL && !(skip_special && entry->special)) {
            tk_buf_put(out, entry->bytes.p, entry->bytes.n);
        }
    }
}
