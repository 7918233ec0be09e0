/* <tinkc/chat.h>: templates, conversations and their text, over text/chat/chat.h.
 * Needs: text */
#include "client/values/chat.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "client/values/error.h"
#include "client/values/tokenizer.h"
#include "client/values/types.h"

struct tinkc_chat {
    tk_chat chat;
};

/* A tinkc_chat_template is a tk_chat_template. */
const tk_chat_template *tk_chat_template_get(const tinkc_chat_template *tpl)
{
    return (const tk_chat_template *)(const void *)tpl;
}

const tk_chat *tk_chat_get(const tinkc_chat *chat)
{
    return &chat->chat;
}

tk_chat *tk_chat_edit(tinkc_chat *chat)
{
    return &chat->chat;
}

static tinkc_code invalid(tinkc_error **err, const char *what)
{
    tk_err e = TK_ERR_INIT;
    (void)tk_err_set(&e, TINKC_E_INVALID, "%s", what);
    return tk_error_give(err, &e);
}

static tinkc_code give_template(tinkc_chat_template **out, tk_chat_template *tpl,
                                tinkc_code code, const tk_err *e, tinkc_error **err)
{
    if (code != TINKC_OK) {
        return tk_error_give(err, e);
    }
    *out = (tinkc_chat_template *)(void *)tpl;
    return TINKC_OK;
}

/* ---- templates ---- */

tinkc_code tinkc_chat_template_new(tinkc_chat_template **out, const char *source,
                                   tinkc_error **err)
{
    if (out == NULL || source == NULL) {
        return invalid(err, "out and source must not be NULL");
    }
    tk_err e = TK_ERR_INIT;
    tk_chat_template *tpl = NULL;
    tinkc_code code = tk_chat_template_new(&tpl, tk_str_of(source), &e);
    return give_template(out, tpl, code, &e, err);
}

tinkc_code tinkc_chat_template_load(tinkc_chat_template **out, const char *path,
                                    const char *name, tinkc_error **err)
{
    if (out == NULL || path == NULL) {
        return invalid(err, "out and path must not be NULL");
    }
    tk_err e = TK_ERR_INIT;
    tk_chat_template *tpl = NULL;
    tinkc_code code = tk_chat_template_load(&tpl, path, name, &e);
    return give_template(out, tpl, code, &e, err);
}

tinkc_code tinkc_chat_template_of(tinkc_chat_template **out,
                                  const tinkc_tokenizer *tokenizer, const char *name,
                                  tinkc_error **err)
{
    if (out == NULL || tokenizer == NULL) {
        return invalid(err, "out and tokenizer must not be NULL");
    }
    tk_err e = TK_ERR_INIT;
    tk_chat_template *tpl = NULL;
    const tk_tok_config *config = tk_tok_get_config(tk_tokenizer_tok(tokenizer));
    tinkc_code code = tk_chat_template_of(&tpl, config, name, &e);
    return give_template(out, tpl, code, &e, err);
}

void tinkc_chat_template_free(tinkc_chat_template **tpl)
{
    if (tpl != NULL) {
        tk_chat_template_free((tk_chat_template *)(void *)*tpl);
        *tpl = NULL;
    }
}

/* ---- conversations ---- */

tinkc_code tinkc_chat_new(tinkc_chat **out, tinkc_error **err)
{
    if (out == NULL) {
        return invalid(err, "out must not be NULL");
    }
    tinkc_chat *chat = tk_malloc(sizeof(*chat));
    if (chat == NULL) {
        tk_err e = TK_ERR_INIT;
        (void)tk_err_nomem(&e);
        return tk_error_give(err, &e);
    }
    tk_chat_init(&chat->chat);
    *out = chat;
    return TINKC_OK;
}

void tinkc_chat_free(tinkc_chat **chat)
{
    if (chat != NULL && *chat != NULL) {
        tk_chat_dispose(&(*chat)->chat);
        tk_free(*chat);
        *chat = NULL;
    }
}

tinkc_code tinkc_chat_add(tinkc_chat *chat, const char *role, const char *content,
                          tinkc_error **err)
{
    if (chat == NULL || role == NULL || content == NULL) {
        return invalid(err, "chat, role and content must not be NULL");
    }
    if (!tk_utf8_is_valid(tk_str_of(role)) || !tk_utf8_is_valid(tk_str_of(content))) {
        return invalid(err, "role and content must be UTF-8");
    }
    tk_err e = TK_ERR_INIT;
    tinkc_code code = tk_chat_add(&chat->chat, tk_str_of(role), tk_str_of(content), &e);
    return code == TINKC_OK ? code : tk_error_give(err, &e);
}

tinkc_code tinkc_chat_add_json(tinkc_chat *chat, const char *json, size_t n,
                               tinkc_error **err)
{
    if (chat == NULL || json == NULL) {
        return invalid(err, "chat and json must not be NULL");
    }
    tk_err e = TK_ERR_INIT;
    tinkc_code code = tk_chat_add_json(&chat->chat, (tk_str){json, n}, &e);
    return code == TINKC_OK ? code : tk_error_give(err, &e);
}

tinkc_code tinkc_chat_set(tinkc_chat *chat, const char *name, const char *json,
                          tinkc_error **err)
{
    if (chat == NULL || name == NULL || json == NULL) {
        return invalid(err, "chat, name and json must not be NULL");
    }
    tk_err e = TK_ERR_INIT;
    tinkc_code code = tk_chat_set(&chat->chat, tk_str_of(name), tk_str_of(json), &e);
    return code == TINKC_OK ? code : tk_error_give(err, &e);
}

size_t tinkc_chat_count(const tinkc_chat *chat)
{
    return chat != NULL ? chat->chat.n : 0;
}

const char *tinkc_chat_content(size_t *n, const tinkc_chat *chat, size_t index)
{
    const tk_json *content = chat != NULL && index < chat->chat.n
                                 ? tk_json_get(&chat->chat.messages[index], "content")
                                 : NULL;
    bool is_text = content != NULL && content->type == TK_JSON_STRING;
    if (n != NULL) {
        *n = is_text ? content->as.string.n : 0;
    }
    return is_text ? content->as.string.p : NULL;
}

/* ---- text ---- */

tinkc_code tk_chat_read_options(tk_chat_how *out, const tinkc_chat_options *options,
                                tk_err *err)
{
    tinkc_chat_options full = TINKC_CHAT_OPTIONS_INIT;
    tinkc_code code = tk_types_options(&full, sizeof(full), options, err);
    if (code != TINKC_OK) {
        return code;
    }
    *out = (tk_chat_how){.add_generation_prompt = full.add_generation_prompt,
                         .continue_final = full.continue_final,
                         .strict = full.strict,
                         .has_now = full.now_us != TINKC_CHAT_NOW,
                         .now_us = full.now_us};
    return TINKC_OK;
}

tinkc_code tinkc_chat_render(char **out, size_t *n, const tinkc_chat_template *tpl,
                             const tinkc_chat *chat, const tinkc_chat_options *options,
                             tinkc_error **err)
{
    if (out == NULL || tpl == NULL || chat == NULL) {
        return invalid(err, "out, tpl and chat must not be NULL");
    }
    tk_err e = TK_ERR_INIT;
    tk_chat_how how;
    tk_buf text;
    tk_buf_init(&text, TK_JINJA_MAX_OUTPUT_BYTES + 1);
    tinkc_code code = tk_chat_read_options(&how, options, &e);
    if (code == TINKC_OK) {
        code = tk_chat_render(&text, tk_chat_template_get(tpl), &chat->chat, &how, &e);
    }
    size_t length = text.n;
    if (code == TINKC_OK && tk_buf_cstr(&text) == NULL) {
        code = tk_err_nomem(&e);
    }
    if (code != TINKC_OK) {
        tk_buf_dispose(&text);
        return tk_error_give(err, &e);
    }
    *out = text.p;
    if (n != NULL) {
        *n = length;
    }
    return TINKC_OK;
}

/* ---- options ---- */

void tinkc_chat_options_init(tinkc_chat_options *out)
{
    static const tinkc_chat_options initial = TINKC_CHAT_OPTIONS_INIT;
    if (out != NULL) {
        memcpy(out, &initial, sizeof(*out));
    }
}

void tinkc_train_options_init(tinkc_train_options *out)
{
    static const tinkc_train_options initial = TINKC_TRAIN_OPTIONS_INIT;
    if (out != NULL) {
        memcpy(out, &initial, sizeof(*out));
    }
}

int64_t tinkc_chat_now(void)
{
    return TINKC_CHAT_NOW;
}
