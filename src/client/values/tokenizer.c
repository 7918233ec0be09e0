/* <tinkc/tokenizer.h>: tokenizers as the user sees them, over text/tok/tok.h.
 * Needs: text */
#include "client/values/tokenizer.h"

#include <string.h>

#include "base/mem.h"
#include "client/values/error.h"
#include "client/values/types.h"

tk_tok *tk_tokenizer_tok(const tinkc_tokenizer *tokenizer)
{
    return (tk_tok *)(uintptr_t)tokenizer;
}

tinkc_tokenizer *tk_tokenizer_of(tk_tok *tok)
{
    return (tinkc_tokenizer *)(void *)tok;
}

static tinkc_code give(tinkc_error **err, tk_err *e, const char *what)
{
    (void)tk_err_set(e, TINKC_E_INVALID, "%s", what);
    return tk_error_give(err, e);
}

/* ---- loading ---- */

tinkc_code tinkc_tokenizer_load(tinkc_tokenizer **out, const char *path,
                                tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    if (out == NULL || path == NULL) {
        return give(err, &e, "out and path must not be NULL");
    }
    tk_tok *tok = NULL;
    if (tk_tok_open(&tok, path, &e) != TINKC_OK) {
        return tk_error_give(err, &e);
    }
    *out = tk_tokenizer_of(tok);
    return TINKC_OK;
}

tinkc_code tinkc_tokenizer_from_json(tinkc_tokenizer **out, const char *json,
                                     const char *config, tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    if (out == NULL || json == NULL) {
        return give(err, &e, "out and json must not be NULL");
    }
    tk_tok *tok = NULL;
    const tk_str no_jinja = {NULL, 0};
    if (tk_tok_open_memory(&tok, tk_str_of(json), tk_str_of(config), no_jinja, &e) !=
        TINKC_OK) {
        return tk_error_give(err, &e);
    }
    *out = tk_tokenizer_of(tok);
    return TINKC_OK;
}

tinkc_tokenizer *tinkc_tokenizer_ref(tinkc_tokenizer *tokenizer)
{
    return tk_tokenizer_of(tk_tok_ref(tk_tokenizer_tok(tokenizer)));
}

void tinkc_tokenizer_free(tinkc_tokenizer **tokenizer)
{
    if (tokenizer != NULL) {
        tk_tok_free(tk_tokenizer_tok(*tokenizer));
        *tokenizer = NULL;
    }
}

/* ---- vocabulary ---- */

size_t tinkc_tokenizer_size(const tinkc_tokenizer *tokenizer)
{
    return tokenizer != NULL ? tk_tok_size(tk_tokenizer_tok(tokenizer)) : 0;
}

int32_t tinkc_tokenizer_id(const tinkc_tokenizer *tokenizer, const char *token)
{
    return tokenizer != NULL && token != NULL
               ? tk_tok_id(tk_tokenizer_tok(tokenizer), tk_str_of(token))
               : -1;
}

const char *tinkc_tokenizer_token(size_t *n, const tinkc_tokenizer *tokenizer, int32_t id)
{
    tk_str token = {NULL, 0};
    if (tokenizer != NULL) {
        token = tk_tok_token(tk_tokenizer_tok(tokenizer), id);
    }
    if (n != NULL) {
        *n = token.n;
    }
    return token.p;
}

bool tinkc_tokenizer_is_special(const tinkc_tokenizer *tokenizer, int32_t id)
{
    return tokenizer != NULL && tk_tok_is_special(tk_tokenizer_tok(tokenizer), id);
}

const char *tinkc_tokenizer_special(const tinkc_tokenizer *tokenizer, const char *role)
{
    if (tokenizer == NULL || role == NULL) {
        return NULL;
    }
    return tk_tok_config_special(tk_tok_get_config(tk_tokenizer_tok(tokenizer)), role).p;
}

int32_t tinkc_tokenizer_end(const tinkc_tokenizer *tokenizer)
{
    const char *end = tinkc_tokenizer_special(tokenizer, "eos_token");
    return end != NULL ? tinkc_tokenizer_id(tokenizer, end) : -1;
}

const char *tinkc_tokenizer_chat_template(const tinkc_tokenizer *tokenizer,
                                          const char *name)
{
    if (tokenizer == NULL) {
        return NULL;
    }
    return tk_tok_config_template(tk_tok_get_config(tk_tokenizer_tok(tokenizer)),
                                  name != NULL ? name : "default")
        .p;
}

/* ---- ids to text ---- */

tinkc_code tinkc_tokenizer_decode(char **out, size_t *n, const tinkc_tokenizer *tokenizer,
                                  const tinkc_decode *what, tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    tinkc_decode d = TINKC_DECODE_INIT;
    if (out == NULL || tokenizer == NULL || what == NULL) {
        return give(err, &e, "out, tokenizer and what must not be NULL");
    }
    if (tk_types_options(&d, sizeof(d), what, &e) != TINKC_OK) {
        return tk_error_give(err, &e);
    }
    if (d.ids == NULL && d.ids_n > 0) {
        return give(err, &e, "ids must not be NULL");
    }
    tk_buf text;
    tk_buf_init(&text, TK_TOK_TEXT_MAX_BYTES);
    tk_tok_decode(tk_tokenizer_tok(tokenizer), d.ids, d.ids_n, d.skip_special, &text);
    size_t size = text.n;
    tk_buf_putc(&text, '\0');
    if (tk_buf_status(&text, &e) != TINKC_OK) {
        tk_buf_dispose(&text);
        return tk_error_give(err, &e);
    }
    if (n != NULL) {
        *n = size;
    }
    *out = tk_buf_take(&text, &size);
    return TINKC_OK;
}

tinkc_code tinkc_tokenizer_text(char **out, const tinkc_tokenizer *tokenizer,
                                const int32_t *ids, size_t n, bool skip_special,
                                tinkc_error **err)
{
    const tinkc_decode what = {sizeof(what), ids, n, skip_special};
    return tinkc_tokenizer_decode(out, NULL, tokenizer, &what, err);
}

struct tinkc_decoder {
    tk_tok *tok; /* one owner of it is the decoder */
    tk_tok_stream stream;
    tk_buf text;
};

tinkc_code tinkc_decoder_new(tinkc_decoder **out, tinkc_tokenizer *tokenizer,
                             bool skip_special, tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    if (out == NULL || tokenizer == NULL) {
        return give(err, &e, "out and tokenizer must not be NULL");
    }
    tinkc_decoder *decoder = tk_zalloc(sizeof(*decoder));
    if (decoder == NULL) {
        (void)tk_err_nomem(&e);
        return tk_error_give(err, &e);
    }
    decoder->tok = tk_tok_ref(tk_tokenizer_tok(tokenizer));
    tk_tok_stream_init(&decoder->stream, decoder->tok, skip_special);
    tk_buf_init(&decoder->text, TK_TOK_TEXT_MAX_BYTES);
    *out = decoder;
    return TINKC_OK;
}

void tinkc_decoder_free(tinkc_decoder **decoder)
{
    if (decoder == NULL || *decoder == NULL) {
        return;
    }
    tk_tok_stream_dispose(&(*decoder)->stream);
    tk_buf_dispose(&(*decoder)->text);
    tk_tok_free((*decoder)->tok);
    tk_free(*decoder);
    *decoder = NULL;
}

static tinkc_code decoded(tinkc_decoder *decoder, tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    if (tk_buf_cstr(&decoder->text) == NULL && decoder->text.failure == TINKC_OK) {
        tk_buf_fail(&decoder->text, TINKC_E_NOMEM);
    }
    if (tk_buf_status(&decoder->text, &e) != TINKC_OK) {
        return tk_error_give(err, &e);
    }
    return TINKC_OK;
}

tinkc_code tinkc_decoder_push(tinkc_decoder *decoder, const int32_t *ids, size_t n,
                              tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    if (decoder == NULL || (ids == NULL && n > 0)) {
        return give(err, &e, "decoder and ids must not be NULL");
    }
    tk_buf_clear(&decoder->text);
    tk_tok_stream_push(&decoder->stream, ids, n, &decoder->text);
    return decoded(decoder, err);
}

tinkc_code tinkc_decoder_finish(tinkc_decoder *decoder, tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    if (decoder == NULL) {
        return give(err, &e, "decoder must not be NULL");
    }
    tk_buf_clear(&decoder->text);
    tk_tok_stream_finish(&decoder->stream, &decoder->text);
    return decoded(decoder, err);
}

const char *tinkc_decoder_text(size_t *n, const tinkc_decoder *decoder)
{
    bool usable = decoder != NULL && decoder->text.n > 0;
    if (n != NULL) {
        *n = usable ? decoder->text.n : 0;
    }
    return usable ? decoder->text.p : "";
}

/* ---- options ---- */

void tinkc_tokenizer_options_init(tinkc_tokenizer_options *out)
{
    static const tinkc_tokenizer_options initial = TINKC_TOKENIZER_OPTIONS_INIT;
    if (out != NULL) {
        memcpy(out, &initial, sizeof(*out));
    }
}
