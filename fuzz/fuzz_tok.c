/* A tokenizer.json up to the first NUL, after it a text that is encoded and decoded: ids
 * must exist, whatever the file says.
 * Links: text */
#include <string.h>

#include "fuzz.h"
#include "text/tok/tok.h"

static void use(const tk_tok *tok, tk_str text)
{
    tk_tok_ids ids = {NULL, 0, 0, NULL};
    if (tk_tok_encode(tok, text, &ids, NULL) == TINKC_OK) {
        for (size_t i = 0; i < ids.n; i++) {
            if (tk_tok_token(tok, ids.ids[i]).p == NULL) {
                fuzz_fail("an id without a token");
            }
        }
        tk_buf out;
        tk_buf_init(&out, TK_MIB);
        tk_tok_decode(tok, ids.ids, ids.n, true, &out);
        tk_buf_dispose(&out);
    }
    tk_tok_ids_dispose(&ids);
}

int fuzz_record(const uint8_t *data, size_t size)
{
    tk_str text = {(const char *)data, size};
    tk_str json = tk_str_cut(&text, '\0');
    tk_tok *tok = NULL;
    if (tk_tok_load_memory(&tok, json, NULL) == TINKC_OK) {
        use(tok, text);
        tk_tok_free(tok);
    }
    return 0;
}
