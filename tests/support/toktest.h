/* Tables of texts with the ids that Hugging Face's tokenizers 0.23.3 gives them:
 * literals, written down from its answers. A tokenizer.json is a literal too, with ' for
 * ", and @ for the 256 bytes of a byte-level vocabulary. */
#ifndef SUPPORT_TOKTEST_H
#define SUPPORT_TOKTEST_H

#include "base/mem.h"
#include "base/utf8.h"
#include "support/test.h"
#include "text/tok/tok_work.h"

typedef struct toktest_row {
    const char *text, *ids; /* ids with blanks between them */
} toktest_row;

/* "a":97 and so on for all bytes, in GPT-2's alphabet. */
static inline void toktest_put_bytes(tk_buf *out)
{
    for (int byte = 0; byte < 256; byte++) {
        char text[4];
        size_t n = tk_utf8_encode(text, tk_tok_utf8_of_byte((unsigned char)byte));
        tk_json_writer w;
        tk_buf_puts(out, byte > 0 ? "," : "");
        tk_json_writer_init(&w, out);
        tk_json_put_str(&w, (tk_str){text, n});
        tk_buf_printf(out, ":%d", byte);
    }
}

/* The literal as JSON; the caller disposes *out. */
static inline void toktest_json(tk_buf *out, const char *quoted)
{
    tk_buf_init(out, TK_MIB);
    for (const char *p = quoted; *p != '\0'; p++) {
        if (*p == '@') {
            toktest_put_bytes(out);
        } else {
            tk_buf_putc(out, *p == '\'' ? '"' : *p);
        }
    }
}

static inline tinkc_code toktest_try(tk_tok **out, const char *quoted, tk_err *err)
{
    tk_buf json;
    toktest_json(&json, quoted);
    tinkc_code code = tk_tok_load_memory(out, tk_buf_str(&json), err);
    tk_buf_dispose(&json);
    return code;
}

static inline tk_tok *toktest_open(const char *quoted)
{
    tk_tok *tok = NULL;
    tk_err err = TK_ERR_INIT;
    if (toktest_try(&tok, quoted, &err) != TINKC_OK) {
        fail_msg("%s", err.message);
    }
    return tok;
}

static inline void toktest_put_ids(tk_buf *out, const tk_tok_ids *ids)
{
    tk_buf_init(out, TK_MIB);
    for (size_t i = 0; i < ids->n; i++) {
        tk_buf_printf(out, "%s%d", i > 0 ? " " : "", ids->ids[i]);
    }
}

/* Twice, the second time perhaps from a cache; then with offsets, which take other
 * ways. */
static inline void toktest_encode(const tk_tok *tok, tk_tok_how how, toktest_row row)
{
    for (int round = 0; round < 3; round++) {
        tk_tok_ids ids = {NULL, 0, 0, NULL};
        tk_err err = TK_ERR_INIT;
        tk_buf got;
        how.offsets = round == 2;
        assert_int_equal(tk_tok_encode_how(tok, tk_str_of(row.text), how, &ids, &err),
                         TINKC_OK);
        toktest_put_ids(&got, &ids);
        if (!tk_str_is(tk_buf_str(&got), row.ids)) {
            fail_msg("\"%s\" gives %.*s instead of %s", row.text, (int)got.n,
                     got.p != NULL ? got.p : "", row.ids);
        }
        tk_buf_dispose(&got);
        tk_tok_ids_dispose(&ids);
    }
}

static inline void toktest_check(const char *quoted, const toktest_row *rows, size_t n)
{
    tk_tok *tok = toktest_open(quoted);
    for (size_t i = 0; i < n; i++) {
        toktest_encode(tok, (tk_tok_how){.add_special = false}, rows[i]);
    }
    tk_tok_free(tok);
}

/* With what the post-processor adds. */
static inline void toktest_check_special(const char *quoted, const toktest_row *rows,
                                         size_t n)
{
    tk_tok *tok = toktest_open(quoted);
    for (size_t i = 0; i < n; i++) {
        toktest_encode(tok, (tk_tok_how){.add_special = true}, rows[i]);
    }
    tk_tok_free(tok);
}

static inline size_t toktest_read_ids(const char *text, int32_t *ids, size_t room)
{
    size_t n = 0;
    tk_str rest = tk_str_of(text);
    while (rest.p != NULL && rest.n > 0) {
        int64_t id = 0;
        assert_true(tk_str_to_i64(tk_str_cut(&rest, ' '), &id) && n < room);
        ids[n++] = (int32_t)id;
    }
    return n;
}

/* Decodes the ids at once and one by one. */
static inline void toktest_decode(const tk_tok *tok, bool skip, toktest_row row)
{
    int32_t ids[256];
    size_t n = toktest_read_ids(row.ids, ids, TK_ARRAY_LEN(ids));
    tk_buf whole, pieces;
    tk_buf_init(&whole, TK_MIB);
    tk_buf_init(&pieces, TK_MIB);
    tk_tok_decode(tok, ids, n, skip, &whole);
    tk_tok_stream stream;
    tk_tok_stream_init(&stream, tok, skip);
    for (size_t i = 0; i < n; i++) {
        tk_tok_stream_push(&stream, &ids[i], 1, &pieces);
        assert_true(tk_utf8_is_valid(tk_buf_str(&pieces)));
    }
    tk_tok_stream_finish(&stream, &pieces);
    tk_tok_stream_dispose(&stream);
    if (!tk_str_is(tk_buf_str(&whole), row.text) ||
        !tk_str_is(tk_buf_str(&pieces), row.text)) {
        fail_msg("%s gives \"%.*s\" instead of \"%s\"", row.ids, (int)whole.n,
                 whole.p != NULL ? whole.p : "", row.text);
    }
    tk_buf_dispose(&whole);
    tk_buf_dispose(&pieces);
}

static inline void toktest_check_decode(const char *quoted, bool skip,
                                        const toktest_row *rows, size_t n)
{
    tk_tok *tok = toktest_open(quoted);
    for (size_t i = 0; i < n; i++) {
        toktest_decode(tok, skip, rows[i]);
    }
    tk_tok_free(tok);
}

#endif
