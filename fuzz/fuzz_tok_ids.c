/* Ids to decode, two bytes each; the first byte says how. The text is UTF-8, and the same
 * when the ids come in two parts.
 * Links: text */
#include <string.h>

#include "base/mem.h"
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

static void check(const tk_tok *tok, const int32_t *ids, size_t n, bool skip)
{
    tk_buf whole, parts;
    tk_buf_init(&whole, 16 * TK_MIB);
    tk_buf_init(&parts, 16 * TK_MIB);
    tk_tok_decode(tok, ids, n, skip, &whole);
    tk_tok_stream stream;
    tk_tok_stream_init(&stream, tok, skip);
    tk_tok_stream_push(&stream, ids, n / 2, &parts);
    tk_tok_stream_push(&stream, ids + n / 2, n - n / 2, &parts);
    tk_tok_stream_finish(&stream, &parts);
    tk_tok_stream_dispose(&stream);
    if (!tk_utf8_is_valid(tk_buf_str(&whole)) ||
        !tk_str_eq(tk_buf_str(&whole), tk_buf_str(&parts))) {
        fuzz_fail("not UTF-8, or not the same in parts");
    }
    tk_buf_dispose(&whole);
    tk_buf_dispose(&parts);
}

int fuzz_record(const uint8_t *data, size_t size)
{
    static tk_tok *toks[2];
    if (toks[0] == NULL) {
        toks[0] = make(tokfix_bytes);
        toks[1] = make(tokfix_chars);
    }
    size_t n = size > 0 ? (size - 1) / 2 : 0;
    int32_t *ids = tk_array(n, sizeof(*ids));
    if (n > 0 && ids != NULL) {
        for (size_t i = 0; i < n; i++) {
            ids[i] = (int32_t)(data[1 + 2 * i] | data[2 + 2 * i] << 8) - 2;
        }
        check(toks[data[0] & 1], ids, n, data[0] & 2);
    }
    tk_free(ids);
    return 0;
}
