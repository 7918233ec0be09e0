/* See srv_text.h. The only file that knows src/text. */
#include "server/srv_text.h"

#if TINKC_HAVE_TEXT

#include "text/tok.h"

tk_tok *srv_text_load(const char *path)
{
    tk_tok *tok = NULL;
    tk_err ignored = TK_ERR_INIT;
    return tk_tok_load(&tok, path, &ignored) == TINKC_OK ? tok : NULL;
}

tk_tok *srv_text_load_memory(tk_str json)
{
    tk_tok *tok = NULL;
    tk_err ignored = TK_ERR_INIT;
    return tk_tok_load_memory(&tok, json, &ignored) == TINKC_OK ? tok : NULL;
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

tk_tok *srv_text_load(const char *path)
{
    (void)path;
    return NULL;
}

tk_tok *srv_text_load_memory(tk_str json)
{
    (void)json;
    return NULL;
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
