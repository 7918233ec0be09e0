/* tokenizer_config.json into a config. Its strings are views of the parsed JSON, which
 * stays in the config's arena. */
#include "text/tok/tok_config.h"

#include <string.h>

static tinkc_code bad(tk_err *err, const char *what)
{
    return tk_err_set(err, TINKC_E_DECODE, "tokenizer_config.json: %s", what);
}

static bool is_text(const tk_json *value)
{
    return value != NULL && value->type == TK_JSON_STRING;
}

/* "<s>" or {"content": "<s>", ...}. */
static const tk_json *token_text(const tk_json *value)
{
    const tk_json *content = tk_json_get(value, "content");
    return is_text(value) ? value : is_text(content) ? content : NULL;
}

static bool ends_with_token(tk_str key)
{
    static const char end[] = "_token";
    size_t n = sizeof(end) - 1;
    return key.n > n && memcmp(key.p + key.n - n, end, n) == 0;
}

static tinkc_code read_specials(tk_tok_config *c, tk_err *err)
{
    const tk_json *extra = tk_json_get(c->root, "extra_special_tokens");
    const tk_json *from[] = {c->root, extra};
    size_t room = c->root->as.object.n;
    if (extra != NULL && extra->type == TK_JSON_OBJECT) {
        room += extra->as.object.n;
    }
    c->specials = tk_arena_array(&c->arena, room, sizeof(*c->specials));
    if (c->specials == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t k = 0; k < TK_ARRAY_LEN(from); k++) {
        if (from[k] == NULL || from[k]->type != TK_JSON_OBJECT) {
            continue;
        }
        for (size_t i = 0; i < from[k]->as.object.n; i++) {
            const tk_json_member *m = &from[k]->as.object.members[i];
            const tk_json *text = token_text(&m->value);
            if (ends_with_token(m->key) && text != NULL) {
                c->specials[c->n_specials++] = (tk_tok_pair){m->key, text->as.string};
            }
        }
    }
    return TINKC_OK;
}

static tinkc_code read_flag(tk_tok_flag *out, const tk_tok_config *c, const char *key,
                            tk_err *err)
{
    const tk_json *value = tk_json_get(c->root, key);
    if (value == NULL || value->type == TK_JSON_NULL) {
        return TINKC_OK;
    }
    if (value->type != TK_JSON_BOOL) {
        return bad(err, "add_bos_token or add_eos_token is not a boolean");
    }
    *out = value->as.boolean ? TK_TOK_YES : TK_TOK_NO;
    return TINKC_OK;
}

static tinkc_code read_named_templates(tk_tok_config *c, const tk_json *list, tk_err *err)
{
    for (size_t i = 0; i < tk_json_len(list); i++) {
        tk_json item = tk_json_at(list, i);
        const tk_json *name = tk_json_get(&item, "name");
        const tk_json *text = tk_json_get(&item, "template");
        if (!is_text(name) || !is_text(text)) {
            return bad(err, "a chat template has no name or no text");
        }
        c->templates[c->n_templates++] = (tk_tok_pair){name->as.string, text->as.string};
    }
    return TINKC_OK;
}

static tinkc_code read_templates(tk_tok_config *c, tk_str jinja, tk_err *err)
{
    const tk_json *value = tk_json_get(c->root, "chat_template");
    c->templates =
        tk_arena_array(&c->arena, tk_json_len(value) + 2, sizeof(*c->templates));
    if (c->templates == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = TINKC_OK;
    if (is_text(value)) {
        c->templates[c->n_templates++] =
            (tk_tok_pair){TK_STR("default"), value->as.string};
    } else if (tk_json_is_array(value)) {
        code = read_named_templates(c, value, err);
    } else if (value != NULL && value->type != TK_JSON_NULL) {
        code = bad(err, "chat_template is neither a text nor a list");
    }
    if (code == TINKC_OK && jinja.p != NULL) {
        tk_tok_pair *t = &c->templates[c->n_templates];
        t->name = TK_STR("default");
        if (!tk_arena_dup(&c->arena, &t->text, jinja.p, jinja.n)) {
            return tk_err_nomem(err);
        }
        c->n_templates++;
    }
    return code;
}

static tinkc_code read_root(tk_tok_config *c, tk_err *err)
{
    if (c->root->type != TK_JSON_OBJECT) {
        return bad(err, "not an object");
    }
    const tk_json *name = tk_json_get(c->root, "tokenizer_class");
    if (is_text(name)) {
        c->tokenizer_class = name->as.string;
    }
    tinkc_code code = read_specials(c, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = read_flag(&c->add_bos, c, "add_bos_token", err);
    return code == TINKC_OK ? read_flag(&c->add_eos, c, "add_eos_token", err) : code;
}

tinkc_code tk_tok_config_parse(tk_tok_config *out, tk_str json, tk_str jinja, tk_err *err)
{
    tk_tok_config c = {.n_specials = 0};
    tk_arena_init(&c.arena, 0);
    tinkc_code code = TINKC_OK;
    if (json.p != NULL) {
        code = tk_json_parse(&c.root, &c.arena, json.p, json.n, NULL, err);
        if (code != TINKC_OK) {
            goto out;
        }
        code = read_root(&c, err);
        if (code != TINKC_OK) {
            goto out;
        }
    }
    code = read_templates(&c, jinja, err);
    if (code == TINKC_OK) {
        *out = c;
        return TINKC_OK;
    }
out:
    tk_arena_dispose(&c.arena);
    return code;
}

void tk_tok_config_dispose(tk_tok_config *config)
{
    tk_arena_dispose(&config->arena);
    memset(config, 0, sizeof(*config));
}

static tk_str last_of(const tk_tok_pair *pairs, size_t n, const char *name)
{
    while (n-- > 0) {
        if (tk_str_is(pairs[n].name, name)) {
            return pairs[n].text;
        }
    }
    return (tk_str){NULL, 0};
}

tk_str tk_tok_config_special(const tk_tok_config *config, const char *role)
{
    return last_of(config->specials, config->n_specials, role);
}

tk_str tk_tok_config_template(const tk_tok_config *config, const char *name)
{
    return last_of(config->templates, config->n_templates, name);
}
