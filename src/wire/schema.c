/* What encoder and decoder share: presence, defaults, enumeration words, error paths. */
#include "wire/schema.h"

#include <string.h>

#include "wire/schema_int.h"

const char *tk_names_word(const tk_names *names, int row)
{
    return row >= 0 && row < names->n ? names->words[row] : NULL;
}

int tk_names_find(const tk_names *names, tk_str word)
{
    for (int i = 0; i < names->n; i++) {
        if (tk_str_is_nocase(word, names->words[i])) {
            return i;
        }
    }
    return names->unknown;
}

const void *tk_schema_list_get(const tk_field *field, const void *msg, size_t *n)
{
    const void *p;
    memcpy(&p, (const char *)msg + field->at, sizeof(p));
    memcpy(n, (const char *)msg + field->n_at, sizeof(*n));
    return p;
}

void tk_schema_list_set(const tk_field *field, void *msg, const void *p, size_t n)
{
    memcpy((char *)msg + field->at, &p, sizeof(p));
    memcpy((char *)msg + field->n_at, &n, sizeof(n));
}

static bool is_zero(const tk_field *field, const void *msg)
{
    const void *at = (const char *)msg + field->at;
    size_t n = 0;
    switch (field->kind) {
    case TK_KIND_STR:
        return ((const tk_str *)at)->n == 0;
    case TK_KIND_BASE64:
        return ((const tk_bytes *)at)->n == 0;
    case TK_KIND_BOOL:
        return !*(const bool *)at;
    case TK_KIND_I64:
    case TK_KIND_U64:
    case TK_KIND_TIME:
        return *(const int64_t *)at == 0;
    case TK_KIND_STRS:
    case TK_KIND_I32S:
    case TK_KIND_I64S:
    case TK_KIND_F32S:
    case TK_KIND_STR_MAP:
    case TK_KIND_NUM_MAP:
    case TK_KIND_LIST:
    case TK_KIND_MSG_MAP:
        (void)tk_schema_list_get(field, msg, &n);
        return n == 0;
    case TK_KIND_NUM:
    case TK_KIND_ENUM:
    case TK_KIND_LITERAL:
    case TK_KIND_RAW:
    case TK_KIND_MSG:
        break;
    }
    return false;
}

tk_presence tk_schema_presence(const tk_field *field, const void *msg)
{
    const void *is = (const char *)msg + field->is_at;
    switch (field->form) {
    case TK_FORM_TRI:
        return *(const tk_presence *)is;
    case TK_FORM_BOOL:
        return *(const bool *)is ? TK_SET : TK_UNSET;
    case TK_FORM_NONE:
        break;
    }
    bool omit = (field->flags & TK_OMIT_ZERO) != 0 && is_zero(field, msg);
    return omit ? TK_UNSET : TK_SET;
}

void tk_schema_presence_set(const tk_field *field, void *msg, tk_presence presence)
{
    void *is = (char *)msg + field->is_at;
    switch (field->form) {
    case TK_FORM_TRI:
        *(tk_presence *)is = presence;
        break;
    case TK_FORM_BOOL:
        *(bool *)is = presence == TK_SET;
        break;
    case TK_FORM_NONE:
        break;
    }
}

void tk_schema_put_default(const tk_field *field, void *msg)
{
    void *at = (char *)msg + field->at;
    if (field->kind == TK_KIND_MSG) {
        tk_schema_init(at, field->sub);
    }
    if ((field->flags & TK_DEFAULT) == 0) {
        return;
    }
    switch ((int)field->kind) {
    case TK_KIND_STR:
        *(tk_str *)at = tk_str_of(field->def.s);
        break;
    case TK_KIND_BOOL:
        *(bool *)at = field->def.b;
        break;
    case TK_KIND_I64:
        *(int64_t *)at = field->def.i;
        break;
    case TK_KIND_NUM:
        *(double *)at = field->def.d;
        break;
    case TK_KIND_ENUM:
        *(int *)at = (int)field->def.i;
        break;
    case TK_KIND_RAW:
        *(const tk_json **)at = &tk_schema_empty_object;
        break;
    default:
        break;
    }
}

const tk_json tk_schema_empty_object = {.type = TK_JSON_OBJECT};

void tk_schema_init(void *msg, const tk_schema *schema)
{
    memset(msg, 0, schema->size);
    for (size_t i = 0; i < schema->n; i++) {
        tk_schema_put_default(&schema->fields[i], msg);
    }
}

void tk_schema_under_key(tk_err *err, tk_str key)
{
    char text[TK_ERR_PATH_BYTES / 2];
    size_t n = TK_MIN(key.n, sizeof(text) - 1);
    for (size_t i = 0; i < n; i++) {
        char c = key.p[i];
        text[i] = c > ' ' && c < 0x7f ? c : '?';
    }
    text[n] = '\0';
    tk_err_under(err, n > 0 ? text : "\"\"");
}

tinkc_code tk_schema_mismatch(const char *expected, const tk_json *found, tk_err *err)
{
    return tk_err_set(err, TINKC_E_DECODE, "expected %s, found %s", expected,
                      tk_json_type_name(found->type));
}

tinkc_code tk_schema_report(tk_err *out, const tk_err *found, const char *name)
{
    if (out == NULL || out->code != TINKC_OK) {
        return found->code;
    }
    *out = *found;
    out->code = TINKC_OK;
    (void)tk_err_at(out, found->code, found->offset, "%s (in %s)", found->message, name);
    return found->code;
}
