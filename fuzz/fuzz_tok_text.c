/* Text to encode: the first byte says how. Ids exist, offsets go forward and stay inside
 * the text, decoding gives back what was read where nothing is normalised away, and ids
 * one by one give the same as all at once.
 * Links: text */
#include <string.h>

#include "fuzz.h"
#include "support/tokfix.h"

static tk_tok *make(void (*write)(tk_buf *))
{
    tk_buf json;
    tk_tok *tok = NULL;
    tk_buf_init(&json, TK_MIB);
    write(&json);
    if (tk_tok_load_memory(&tok, tk_buf_str(&json), NULL) != TINKC_OK) {
        fuzz_fail("the fixture does not load");
    }
    tk_buf_dispose(&json);
    return tok;
}

static void check_offsets(const tk_tok *tok, const tk_tok_ids *ids, size_t n)
{
    for (size_t i = 0; i < ids->n; i++) {
        if (tk_tok_token(tok, ids->ids[i]).p == NULL) {
            fuzz_fail("an id without a token");
        }
        if (ids->offsets[2 * i] > ids->offsets[2 * i + 1] ||
            ids->offsets[2 * i + 1] > n) {
            fuzz_fail("an offset outside the text");
        }
    }
}

static void check_decode(const tk_tok *tok, const tk_tok_ids *ids)
{
    tk_buf whole, pieces;
    tk_buf_init(&whole, 16 * TK_MIB);
    tk_buf_init(&pieces, 16 * TK_MIB);
    tk_tok_decode(tok, ids->ids, ids->n, false, &whole);
    tk_tok_stream stream;
    tk_tok_stream_init(&stream, tok, false);
    for (size_t i = 0; i < ids->n; i++) {
        tk_tok_stream_push(&stream, &ids->ids[i], 1, &pieces);
    }
    tk_tok_stream_finish(&stream, &pieces);
    tk_tok_stream_dispose(&stream);
    if (!tk_str_eq(tk_buf_str(&whole), tk_buf_str(&pieces))) {
        fuzz_fail("ids one by one decode to something else");
    }
    if (!tk_utf8_is_valid(tk_buf_str(&whole))) {
        fuzz_fail("decoded text is not UTF-8");
    }
    tk_buf_dispose(&whole);
    tk_buf_dispose(&pieces);
}

int fuzz_record(const uint8_t *data, size_t size)
{
    static tk_tok *toks[2];
    if (toks[0] == NULL) {
        toks[0] = make(tokfix_bytes);
        toks[1] = make(tokfix_chars);
    }
    if (size == 0) {
        return 0;
    }
    const tk_tok *tok = toks[data[0] & 1];
    tk_tok_how how = {.plain_text = data[0] & 2, .offsets = true};
    tk_str text = {(const char *)data + 1, size - 1};
    tk_tok_ids ids = {NULL, 0, 0, NULL}, again = {NULL, 0, 0, NULL};
    if (tk_tok_encode_how(tok, text, how, &ids, NULL) != TINKC_OK) {
        fuzz_fail("encode failed");
    }
    check_offsets(tok, &ids, text.n);
    check_decode(tok, &ids);
    how.offsets = false;
    if (tk_tok_encode_how(tok, text, how, &again, NULL) != TINKC_OK || again.n != ids.n ||
        (ids.n > 0 && memcmp(ids.ids, again.ids, ids.n * sizeof(*ids.ids)) != 0)) {
        fuzz_fail("other ids without offsets");
    }
    tk_tok_ids_dispose(&ids);
    tk_tok_ids_dispose(&again);
    return 0;
}
