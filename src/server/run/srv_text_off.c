/* Compiled instead of srv_text.c in a build without src/text: there are no tokenizers. */
#include "server/run/srv_text.h"

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

bool srv_text_bytes(const tk_tok *tok, int32_t token, tk_buf *out)
{
    (void)tok;
    (void)token;
    (void)out;
    return false;
}
