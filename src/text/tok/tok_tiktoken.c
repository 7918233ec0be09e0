/* tiktoken vocabularies: a line per token, its bytes in base64 and its rank, which is its
 * id and the rank of every merge that gives it. Special tokens come from the config; ids
 * above the vocabulary without one are reserved, as Kimi K2's own code has them. */
#include <stdio.h>

#include "base/base64.h"
#include "base/mem.h"
#include "text/tok/tok_load.h"

#define RESERVED 256 /* ids for special tokens above the vocabulary */

static tinkc_code bad(tk_err *err, const char *what, size_t line)
{
    return tk_err_set(err, TINKC_E_DECODE, "tiktoken vocabulary: line %zu: %s", line,
                      what);
}

typedef struct line {
    char bytes[TK_TOK_ADDED_MAX_BYTES];
    size_t n;
    int64_t rank;
} line;

static tinkc_code read_line(line *out, tk_str text, size_t number, tk_err *err)
{
    tk_str code = tk_str_cut(&text, ' ');
    if (!tk_str_to_i64(text, &out->rank) || out->rank < 0 ||
        out->rank >= (int64_t)TK_TOK_MAX_TOKENS - RESERVED) {
        return bad(err, "a rank is missing or out of range", number);
    }
    out->n = tk_base64_decoded_size(code);
    if (out->n == 0 || out->n > sizeof(out->bytes) ||
        tk_base64_decode(out->bytes, code, NULL) != TINKC_OK) {
        return bad(err, "a token is not base64, empty or too long", number);
    }
    return TINKC_OK;
}

typedef tinkc_code (*line_fn)(const tk_tok_loader *l, const line *at, void *user);

static tinkc_code for_lines(const tk_tok_loader *l, tk_str file, line_fn each, void *user)
{
    line *now = tk_malloc(sizeof(*now));
    tinkc_code code = now != NULL ? TINKC_OK : tk_err_nomem(l->err);
    for (size_t number = 1; file.p != NULL && code == TINKC_OK; number++) {
        tk_str text = tk_str_trim(tk_str_cut(&file, '\n'));
        if (text.n > 0) {
            code = read_line(now, text, number, l->err);
            code = code == TINKC_OK ? each(l, now, user) : code;
        }
    }
    tk_free(now);
    return code;
}

typedef struct totals {
    int64_t top;
    size_t tokens;
    uint64_t work; /* bytes of the prefixes and suffixes of tokens that splits() hashes */
} totals;

static tinkc_code count(const tk_tok_loader *l, const line *at, void *user)
{
    totals *t = user;
    t->top = TK_MAX(t->top, at->rank);
    t->tokens++;
    t->work += (uint64_t)at->n * at->n;
    return t->work <= TK_TOK_SPLIT_MAX_BYTES
               ? TINKC_OK
               : tk_err_set(l->err, TINKC_E_LIMIT,
                            "tiktoken vocabulary: too many long tokens");
}

static tinkc_code put(const tk_tok_loader *l, const line *at, void *user)
{
    (void)user;
    return tk_tok_vocab_put(l, (tk_str){at->bytes, at->n}, at->rank);
}

/* Every way to make a token of two others is a merge with its rank. */
static size_t splits(tk_tok *tok, int32_t id, bool store)
{
    tk_str token = tok->entries[id].token;
    size_t found = 0;
    for (size_t i = 1; i < token.n; i++) {
        int32_t left = tk_tok_index_get(tok, (tk_str){token.p, i}, false);
        int32_t right =
            left >= 0 ? tk_tok_index_get(tok, (tk_str){token.p + i, token.n - i}, false)
                      : -1;
        if (right < 0) {
            continue;
        }
        found++;
        if (store) {
            tk_tok_merges_put(
                tok, (tk_tok_merge){(uint32_t)left, (uint32_t)right, (uint32_t)id, id});
        }
    }
    return found;
}

static tinkc_code make_merges(const tk_tok_loader *l, size_t n_tokens)
{
    tk_tok *tok = l->tok;
    size_t n = 0;
    for (size_t i = 0; i < n_tokens; i++) {
        n += tok->entries[i].token.p != NULL ? splits(tok, (int32_t)i, false) : 0;
    }
    if (n > 8 * TK_TOK_MAX_TOKENS) {
        return tk_err_set(l->err, TINKC_E_LIMIT, "tiktoken vocabulary: too many merges");
    }
    tinkc_code code = tk_tok_merges_init(tok, n, l->err);
    for (size_t i = 0; i < n_tokens && code == TINKC_OK; i++) {
        if (tok->entries[i].token.p != NULL) {
            (void)splits(tok, (int32_t)i, true);
        }
    }
    return code;
}

/* ---- special tokens ---- */

/* The name of the id in the config, or a reserved one, which is written to `room`. */
static tk_str special_name(const tk_tok_config *config, size_t id, char *room, size_t n)
{
    (void)snprintf(room, n, "%zu", id);
    const tk_json *tokens = tk_json_get(config->root, "added_tokens_decoder");
    tk_str name = tk_tok_load_text(tk_json_get(tk_json_get(tokens, room), "content"));
    if (name.n > 0 && name.n <= TK_TOK_ADDED_MAX_BYTES) {
        return name;
    }
    (void)snprintf(room, n, "<|reserved_token_%zu|>", id);
    return tk_str_of(room);
}

static tinkc_code put_specials(const tk_tok_loader *l, const tk_tok_config *config,
                               size_t first)
{
    tk_tok *tok = l->tok;
    tok->added = tk_zarray(RESERVED, sizeof(*tok->added));
    if (tok->added == NULL) {
        return tk_err_nomem(l->err);
    }
    for (size_t id = first; id < first + RESERVED; id++) {
        char room[64];
        tk_str name = special_name(config, id, room, sizeof(room));
        tinkc_code code = tk_tok_vocab_put(l, name, (int64_t)id);
        if (code != TINKC_OK) {
            return code;
        }
        tk_tok_entry *e = &tok->entries[id];
        e->special = e->added = true;
        tok->added[tok->n_added++] =
            (tk_tok_added){.content = e->token, .id = (int32_t)id};
    }
    return TINKC_OK;
}

/* ---- the whole ---- */

static tinkc_code finish(const tk_tok_loader *l)
{
    tk_tok *tok = l->tok;
    tok->byte_level = tok->ignore_merges = true;
    tok->decoder.kind = TK_TOK_DECODE_BYTES;
    tok->stages[tok->n_stages++] =
        (tk_tok_stage){.kind = TK_TOK_BY_SCANNER, .scanner = tk_tok_scanner_kimi()};
    for (unsigned b = 0; b < 256; b++) {
        char byte = (char)(unsigned char)b;
        tok->byte_ids[b] = tk_tok_index_get(tok, (tk_str){&byte, 1}, false);
        if (tok->byte_ids[b] < 0) {
            return tk_err_set(l->err, TINKC_E_DECODE,
                              "tiktoken vocabulary: not all bytes have a token");
        }
    }
    if (!tk_tok_index_init(&tok->raws, tok->n_entries)) {
        return tk_err_nomem(l->err);
    }
    for (size_t i = 0; i < tok->n_entries; i++) {
        tk_tok_entry *e = &tok->entries[i];
        e->byte = -1;
        e->raw = e->text = e->token;
    }
    tinkc_code code = tk_tok_index_pieces(tok, l->err);
    if (code == TINKC_OK) {
        code = tk_tok_whole_init(tok, l->err);
    }
    return code == TINKC_OK ? tk_tok_added_build(&tok->raw_trie, tok, false, l->err)
                            : code;
}

tinkc_code tk_tok_tiktoken_load(tk_tok **out, tk_str file, const tk_tok_config *config,
                                tk_err *err)
{
    tk_tok_loader l = {.err = err};
    totals t = {-1, 0, 0};
    tinkc_code code = tk_tok_load_new(&l.tok, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = for_lines(&l, file, count, &t);
    if (code != TINKC_OK) {
        goto out;
    }
    size_t n = (size_t)(t.top + 1);
    if (n == 0 || n > 2 * t.tokens) {
        code = tk_err_set(err, TINKC_E_DECODE, "tiktoken vocabulary: ranks have holes");
        goto out;
    }
    code = tk_tok_vocab_init(l.tok, n + RESERVED, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = for_lines(&l, file, put, NULL);
    if (code != TINKC_OK) {
        goto out;
    }
    code = make_merges(&l, n);
    if (code != TINKC_OK) {
        goto out;
    }
    code = put_specials(&l, config, n);
    if (code != TINKC_OK) {
        goto out;
    }
    code = finish(&l);
    if (code == TINKC_OK) {
        *out = l.tok;
        l.tok = NULL;
    }
out:
    tk_tok_free(l.tok);
    return code;
}
