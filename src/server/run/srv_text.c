/* See srv_text.h. The only file that knows src/text. */
#include "server/run/srv_text.h"

#if TINKC_HAVE_TEXT

#include "text/tok/tok.h"

/* A file that is not there, or that we cannot read, is no failure; no memory is. */
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

bool srv_text_put(const tk_tok *tok, int32_t token, tk_buf *out)
{
    if (tk_tok_token(tok, token).p == NULL) {
        return false;
    }
    tk_tok_decode(tok, &token, 1, false, out);
    return true;
}

#else

tinkc_code srv_text_load(tk_tok **out, const char *path, tk_err *err)
{
    (void)path;
    (void)err;
    *out = NULL;
    return TINKC_OK;
}

tinkc_code srv_text_load_memory(tk_tok **out, tk_str json, tk_err *err)
{
    (void)json;
    (void)err;
    *out = NULL;
    return TINKC_OK;
}

void srv_text_free(tk_tok *tok)
{
    (void)tok;
}

bool srv_text_put(const tk_tok *tok, int32_t token, tk_buf *out)
{
    (void)tok;
    (void)token;
    (void)out;
    return false;
}

#endif
