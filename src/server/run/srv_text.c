/* The only file of the server that knows src/text.
 * Needs: text */
#include "server/run/srv_text.h"

#include "text/tok/tok.h"

/* A file that is missing, or of a kind that cannot be read, is not a failure; out of
 * memory is one. */
static tinkc_code settle(tk_tok **out, tk_tok *tok, tinkc_code code, tk_err *err)
{
    if (code == TINKC_E_NOMEM) {
        return tk_err_nomem(err);
    }
    *out = code == TINKC_OK ? tok : NULL;
    return TINKC_OK;
}

tinkc_code srv_text_load(tk_tok **out, const char *path, tk_err *err)
{
    tk_tok *tok = NULL;
    tk_err why = TK_ERR_INIT;
    tinkc_code code = tk_tok_load(&tok, path, &why);
    return settle(out, tok, code, err);
}

tinkc_code srv_text_load_memory(tk_tok **out, tk_str json, tk_err *err)
{
    tk_tok *tok = NULL;
    tk_err why = TK_ERR_INIT;
    tinkc_code code = tk_tok_load_memory(&tok, json, &why);
    return settle(out, tok, code, err);
}

void srv_text_free(tk_tok *tok)
{
    tk_tok_free(tok);
}

bool srv_text_bytes(const tk_tok *tok, int32_t token, tk_buf *out)
{
    if (tk_tok_token(tok, token).p == NULL) {
        return false;
    }
    tk_tok_bytes(tok, token, out);
    return true;
}
