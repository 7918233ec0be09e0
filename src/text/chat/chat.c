/* Templates with the variables that come with them, conversations as JSON values, and the
 * text that a template makes of a conversation. */
#include "text/chat/chat.h"

#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "text/jinja/jinja_str.h"

struct tk_chat_template {
    tk_arena arena; /* variables */
    tk_jinja *tpl;
    tk_jinja *for_tools; /* used for conversations with tools; NULL: tpl */
    tk_jinja_var *specials;
    tk_json *values;
    size_t n_specials;
};

/* ---- templates ---- */

static tinkc_code template_new(tk_chat_template **out, tk_err *err)
{
    *out = tk_zalloc(sizeof(**out));
    if (*out == NULL) {
        return tk_err_nomem(err);
    }
    tk_arena_init(&(*out)->arena, 16 * TK_MIB);
    return TINKC_OK;
}

void tk_chat_template_free(tk_chat_template *tpl)
{
    if (tpl != NULL) {
        tk_jinja_free(tpl->tpl);
        tk_jinja_free(tpl->for_tools);
        tk_arena_dispose(&tpl->arena);
        tk_free(tpl);
    }
}

tinkc_code tk_chat_template_new(tk_chat_template **out, tk_str source, tk_err *err)
{
    tk_chat_template *tpl;
    tinkc_code code = template_new(&tpl, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = tk_jinja_parse(&tpl->tpl, source, err);
    if (code != TINKC_OK) {
        tk_chat_template_free(tpl);
        return code;
    }
    *out = tpl;
    return TINKC_OK;
}

static tinkc_code copy_specials(tk_chat_template *tpl, const tk_tok_config *config,
                                tk_err *err)
{
    size_t n = config->n_specials;
    tpl->specials = tk_arena_array(&tpl->arena, n + 1, sizeof(*tpl->specials));
    tpl->values = tk_arena_array(&tpl->arena, n + 1, sizeof(*tpl->values));
    if (tpl->specials == NULL || tpl->values == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        tk_str name, text;
        const tk_tok_pair *from = &config->specials[i];
        if (!tk_arena_dup(&tpl->arena, &name, from->name.p, from->name.n) ||
            !tk_arena_dup(&tpl->arena, &text, from->text.p, from->text.n)) {
            return tk_err_nomem(err);
        }
        tpl->values[i] = (tk_json){.type = TK_JSON_STRING, .as.string = text};
        tpl->specials[i] = (tk_jinja_var){name, &tpl->values[i]};
    }
    tpl->n_specials = n;
    return TINKC_OK;
}

tinkc_code tk_chat_template_of(tk_chat_template **out, const tk_tok_config *config,
                               const char *name, tk_err *err)
{
    const char *wanted = name != NULL ? name : "default";
    tk_str source = tk_tok_config_template(config, wanted);
    if (source.p == NULL) {
        return tk_err_set(err, TINKC_E_MISSING, "there is no chat template '%s'", wanted);
    }
    tk_chat_template *tpl;
    tinkc_code code = template_new(&tpl, err);
    if (code != TINKC_OK) {
        return code;
    }
    tk_str with_tools =
        name == NULL ? tk_tok_config_template(config, "tool_use") : (tk_str){NULL, 0};
    code = copy_specials(tpl, config, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tk_jinja_parse(&tpl->tpl, source, err);
    if (code == TINKC_OK && with_tools.p != NULL) {
        code = tk_jinja_parse(&tpl->for_tools, with_tools, err);
    }
    if (code == TINKC_OK) {
        *out = tpl;
        return TINKC_OK;
    }
out:
    tk_chat_template_free(tpl);
    return code;
}

/* Reads a file that may be missing: *data stays NULL then. */
static tinkc_code read_if_there(char **data, const char *dir, const char *name,
                                tk_err *err)
{
    char *path = tk_file_join(dir, name);
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    tk_err local = TK_ERR_INIT;
    tinkc_code code = tk_file_read(data, NULL, path, TK_TOK_FILE_MAX_BYTES, &local);
    tk_free(path);
    if (code == TINKC_E_MISSING) {
        return TINKC_OK;
    }
    return code == TINKC_OK ? code : tk_err_set(err, code, "%s", local.message);
}

static tinkc_code load_config(tk_chat_template **out, tk_str json, tk_str jinja,
                              const char *name, tk_err *err)
{
    tk_tok_config config;
    tinkc_code code = tk_tok_config_parse(&config, json, jinja, err);
    if (code == TINKC_OK) {
        code = tk_chat_template_of(out, &config, name, err);
        tk_tok_config_dispose(&config);
    }
    return code;
}

static tinkc_code load_directory(tk_chat_template **out, const char *path,
                                 const char *name, tk_err *err)
{
    char *json = NULL, *jinja = NULL;
    tinkc_code code = read_if_there(&json, path, "tokenizer_config.json", err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_if_there(&jinja, path, "chat_template.jinja", err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = load_config(out, tk_str_of(json), tk_str_of(jinja), name, err);
out:
    tk_free(json);
    tk_free(jinja);
    return code;
}

tinkc_code tk_chat_template_load(tk_chat_template **out, const char *path,
                                 const char *name, tk_err *err)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        return load_directory(out, path, name, err);
    }
    char *data = NULL;
    size_t n = 0;
    tinkc_code code = tk_file_read(&data, &n, path, TK_TOK_FILE_MAX_BYTES, err);
    if (code != TINKC_OK) {
        return code;
    }
    size_t length = strlen(path);
    bool is_json = length > 5 && strcmp(path + length - 5, ".json") == 0;
    code = is_json ? load_config(out, (tk_str){data, n}, (tk_str){NULL, 0}, name, err)
                   : tk_chat_template_new(out, (tk_str){data, n}, err);
    tk_free(data);
    return code;
}

/* ---- conversations ---- */

void tk_chat_init(tk_chat *chat)
{
    *chat = (tk_chat){.n = 0};
    tk_arena_init(&chat->arena, TK_GIB);
}

void tk_chat_dispose(tk_chat *chat)
{
    tk_arena_dispose(&chat->arena);
    tk_free(chat->messages);
    tk_free(chat->vars);
}

static tinkc_code make_room(tk_chat *chat, size_t more, tk_err *err)
{
    if (more <= chat->cap - chat->n) {
        return TINKC_OK;
    }
    size_t cap = chat->cap + TK_MAX(chat->cap, more + 8);
    tk_json *messages = tk_realloc_array(chat->messages, cap, sizeof(*messages));
    if (messages == NULL) {
        return tk_err_nomem(err);
    }
    chat->messages = messages;
    chat->cap = cap;
    return TINKC_OK;
}

tinkc_code tk_chat_add(tk_chat *chat, tk_str role, tk_str content, tk_err *err)
{
    tk_json_member *members = tk_arena_array(&chat->arena, 2, sizeof(*members));
    tk_str r, c;
    if (members == NULL || !tk_arena_dup(&chat->arena, &r, role.p, role.n) ||
        !tk_arena_dup(&chat->arena, &c, content.p, content.n)) {
        return tk_err_nomem(err);
    }
    tinkc_code code = make_room(chat, 1, err);
    if (code != TINKC_OK) {
        return code;
    }
    members[0] =
        (tk_json_member){TK_STR("role"), {.type = TK_JSON_STRING, .as.string = r}};
    members[1] =
        (tk_json_member){TK_STR("content"), {.type = TK_JSON_STRING, .as.string = c}};
    tk_json message = {.type = TK_JSON_OBJECT};
    message.as.object.members = members;
    message.as.object.n = 2;
    chat->messages[chat->n++] = message;
    return TINKC_OK;
}

static tinkc_code add_all(tk_chat *chat, const tk_json *array, tk_err *err)
{
    size_t n = tk_json_len(array);
    tinkc_code code = make_room(chat, n, err);
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        if (tk_json_at(array, i).type != TK_JSON_OBJECT) {
            code = tk_err_set(err, TINKC_E_DECODE, "message %zu is not an object", i);
        }
    }
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        chat->messages[chat->n++] = tk_json_at(array, i);
    }
    return code;
}

/* So that setting `more` variables cannot fail. */
static tinkc_code make_vars(tk_chat *chat, size_t more, tk_err *err)
{
    if (more > TK_CHAT_MAX_VARS - chat->n_vars) {
        return tk_err_set(err, TINKC_E_LIMIT, "a conversation with too many variables");
    }
    if (more <= chat->cap_vars - chat->n_vars) {
        return TINKC_OK;
    }
    size_t cap = chat->n_vars + more + 8;
    tk_jinja_var *vars = tk_realloc_array(chat->vars, cap, sizeof(*vars));
    if (vars == NULL) {
        return tk_err_nomem(err);
    }
    chat->vars = vars;
    chat->cap_vars = cap;
    return TINKC_OK;
}

static void set_var(tk_chat *chat, tk_str name, const tk_json *value)
{
    size_t i = 0;
    while (i < chat->n_vars && !tk_str_eq(chat->vars[i].name, name)) {
        i++;
    }
    chat->vars[i] = (tk_jinja_var){name, value};
    chat->n_vars = TK_MAX(chat->n_vars, i + 1);
}

static tinkc_code add_document(tk_chat *chat, const tk_json *root, tk_err *err)
{
    const tk_json *messages = tk_json_get(root, "messages");
    if (!tk_json_is_array(messages)) {
        return tk_err_set(err, TINKC_E_DECODE, "messages is not an array");
    }
    tinkc_code code = make_vars(chat, root->as.object.n, err);
    if (code == TINKC_OK) {
        code = add_all(chat, messages, err);
    }
    for (size_t i = 0; code == TINKC_OK && i < root->as.object.n; i++) {
        const tk_json_member *member = &root->as.object.members[i];
        if (!tk_str_is(member->key, "messages")) {
            set_var(chat, member->key, &member->value);
        }
    }
    return code;
}

tinkc_code tk_chat_add_json(tk_chat *chat, tk_str json, tk_err *err)
{
    const tk_json *root = NULL;
    tinkc_code code =
        tk_json_parse(&root, &chat->arena, json.p, json.n, TK_JSON_AS_WRITTEN, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (tk_json_is_array(root)) {
        return add_all(chat, root, err);
    }
    if (root->type != TK_JSON_OBJECT) {
        return tk_err_set(err, TINKC_E_DECODE, "a conversation is not a %s",
                          tk_json_type_name(root->type));
    }
    if (tk_json_get(root, "messages") != NULL) {
        return add_document(chat, root, err);
    }
    code = make_room(chat, 1, err);
    if (code == TINKC_OK) {
        chat->messages[chat->n++] = *root;
    }
    return code;
}

tinkc_code tk_chat_set(tk_chat *chat, tk_str name, tk_str json, tk_err *err)
{
    const tk_json *value = NULL;
    tk_str copy;
    tinkc_code code =
        tk_json_parse(&value, &chat->arena, json.p, json.n, TK_JSON_AS_WRITTEN, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (!tk_arena_dup(&chat->arena, &copy, name.p, name.n)) {
        return tk_err_nomem(err);
    }
    code = make_vars(chat, 1, err);
    if (code == TINKC_OK) {
        set_var(chat, copy, value);
    }
    return code;
}

tk_str tk_chat_role(const tk_chat *chat, size_t index)
{
    const tk_json *role = tk_json_get(&chat->messages[index], "role");
    return role != NULL && role->type == TK_JSON_STRING ? role->as.string : TK_STR("");
}

bool tk_chat_text_next(tk_chat_texts *at, tk_str *out)
{
    static const char *const keys[] = {"reasoning_content", "thinking", "content"};
    while (at->value != NULL || at->key < TK_ARRAY_LEN(keys)) {
        if (at->value == NULL) {
            at->value = tk_json_get(at->message, keys[at->key++]);
            at->item = 0;
        }
        const tk_json *text = at->value;
        if (text != NULL && text->type == TK_JSON_ARRAY && at->item < text->as.array.n) {
            text = tk_json_get(&text->as.array.items[at->item++], "text");
        } else {
            at->value = NULL;
        }
        if (text != NULL && text->type == TK_JSON_STRING) {
            *out = text->as.string;
            return true;
        }
    }
    return false;
}

/* ---- text ---- */

static const tk_jinja *choose(const tk_chat_template *tpl, const tk_chat *chat)
{
    for (size_t i = 0; tpl->for_tools != NULL && i < chat->n_vars; i++) {
        if (tk_str_is(chat->vars[i].name, "tools") &&
            chat->vars[i].value->type != TK_JSON_NULL) {
            return tpl->for_tools;
        }
    }
    return tpl->tpl;
}

bool tk_chat_template_is_marked(const tk_chat_template *tpl, const tk_chat *chat)
{
    return tk_jinja_has_generation(choose(tpl, chat));
}

tinkc_code tk_chat_render_first(tk_buf *out, const tk_chat_template *tpl,
                                const tk_chat *chat, size_t n, const tk_jinja_job *job,
                                tk_err *err)
{
    tk_json messages = {.type = TK_JSON_ARRAY};
    messages.as.array.items = chat->messages;
    messages.as.array.n = n;
    size_t room = tpl->n_specials + chat->n_vars + job->n_vars + 1, n_vars = 0;
    tk_jinja_var *vars = tk_array(room, sizeof(*vars));
    if (vars == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < tpl->n_specials; i++) {
        vars[n_vars++] = tpl->specials[i];
    }
    for (size_t i = 0; i < job->n_vars; i++) {
        vars[n_vars++] = job->vars[i];
    }
    for (size_t i = 0; i < chat->n_vars; i++) {
        vars[n_vars++] = chat->vars[i];
    }
    vars[n_vars++] = (tk_jinja_var){TK_STR("messages"), &messages};
    tk_jinja_job with = *job;
    with.vars = vars;
    with.n_vars = n_vars;
    tinkc_code code = tk_jinja_render(out, choose(tpl, chat), &with, err);
    tk_free(vars);
    return code;
}

/* Cuts the text after the last message's content. */
static tinkc_code cut_final(tk_buf *out, size_t start, const tk_chat *chat, tk_err *err)
{
    tk_str content = {NULL, 0}, next;
    tk_chat_texts texts = {.message = chat->n > 0 ? &chat->messages[chat->n - 1] : NULL};
    while (texts.message != NULL && tk_chat_text_next(&texts, &next)) {
        content = next;
    }
    if (content.p == NULL) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "continue_final_message: the last message has no text");
    }
    if (tk_buf_cstr(out) == NULL) {
        return tk_err_nomem(err);
    }
    tk_str text = {out->p + start, out->n - start};
    tk_str forms[2] = {content, tk_str_trim(content)};
    for (size_t k = 0; k < 2; k++) {
        size_t at = tk_jstr_rfind(text, forms[k]);
        if (at != SIZE_MAX) {
            out->n = start + at + forms[k].n;
            return TINKC_OK;
        }
    }
    return tk_err_set(err, TINKC_E_UNSUPPORTED,
                      "continue_final_message: the template does not show the last "
                      "message's text as it is");
}

tinkc_code tk_chat_render(tk_buf *out, const tk_chat_template *tpl, const tk_chat *chat,
                          const tk_chat_how *how, tk_err *err)
{
    if (how->continue_final && how->add_generation_prompt) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "continue_final_message excludes add_generation_prompt");
    }
    tk_json prompt = {.type = TK_JSON_BOOL, .as.boolean = how->add_generation_prompt};
    tk_jinja_var var = {TK_STR("add_generation_prompt"), &prompt};
    tk_jinja_job job = {.vars = &var,
                        .n_vars = 1,
                        .strict = how->strict,
                        .has_now = how->has_now,
                        .now_us = how->now_us};
    size_t start = out->n;
    tinkc_code code = tk_chat_render_first(out, tpl, chat, chat->n, &job, err);
    if (code == TINKC_OK && how->continue_final) {
        code = cut_final(out, start, chat, err);
        if (code != TINKC_OK) {
            out->n = start;
        }
    }
    return code;
}
