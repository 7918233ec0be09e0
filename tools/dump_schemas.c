/* Prints every message table of src/wire/schemas.c as one JSON document on stdout, for
 * scripts/gen-docs.py, which writes docs/schema.json and docs/messages.md from it. */
#include <stdio.h>

#include "wire/schemas.h"

#define MAX_BYTES (4 * TK_MIB)

static void put_text(tk_json_writer *w, const char *key, const char *text)
{
    tk_json_key(w, tk_str_of(key));
    tk_json_put_str(w, tk_str_of(text));
}

static void put_flag(tk_json_writer *w, const char *key, bool value)
{
    if (value) {
        tk_json_key(w, tk_str_of(key));
        tk_json_put_bool(w, true);
    }
}

static const char *kind_name(tk_kind kind)
{
    static const char *const names[] = {
        [TK_KIND_STR] = "string",
        [TK_KIND_BOOL] = "boolean",
        [TK_KIND_I64] = "integer",
        [TK_KIND_U64] = "integer",
        [TK_KIND_NUM] = "number",
        [TK_KIND_ENUM] = "word",
        [TK_KIND_TIME] = "time",
        [TK_KIND_LITERAL] = "literal",
        [TK_KIND_BASE64] = "base64",
        [TK_KIND_STRS] = "string[]",
        [TK_KIND_I32S] = "integer[]",
        [TK_KIND_I64S] = "integer[]",
        [TK_KIND_F32S] = "number[]",
        [TK_KIND_STR_MAP] = "map of string",
        [TK_KIND_NUM_MAP] = "map of number",
        [TK_KIND_RAW] = "any",
        [TK_KIND_MSG] = "message",
        [TK_KIND_LIST] = "message[]",
        [TK_KIND_MSG_MAP] = "map of message",
    };
    return names[kind];
}

/* The value that is sent when the field is unset. Only kinds that tables use. */
static void put_default(tk_json_writer *w, const tk_field *field)
{
    tk_json_key(w, TK_STR("default"));
    if (field->kind == TK_KIND_BOOL) {
        tk_json_put_bool(w, field->def.b);
    } else if (field->kind == TK_KIND_NUM) {
        tk_json_put_double(w, field->def.d);
    } else if (field->kind == TK_KIND_STR) {
        tk_json_put_str(w, tk_str_of(field->def.s));
    } else if (field->kind == TK_KIND_ENUM) {
        tk_json_put_str(w, tk_str_of(tk_names_word(field->names, (int)field->def.i)));
    } else if (field->kind == TK_KIND_RAW) {
        tk_json_begin_object(w);
        tk_json_end_object(w);
    } else {
        tk_json_put_i64(w, field->def.i);
    }
}

static void put_words(tk_json_writer *w, const tk_names *names)
{
    tk_json_key(w, TK_STR("words"));
    tk_json_begin_array(w);
    for (int i = 0; i < names->n; i++) {
        if (names->words[i] != NULL) {
            tk_json_put_str(w, tk_str_of(names->words[i]));
        }
    }
    tk_json_end_array(w);
    put_flag(w, "other_words", names->unknown >= 0);
}

static bool is_listed(const tk_schema *schema)
{
    for (size_t i = 0; i < tk_schemas_n; i++) {
        if (tk_schemas[i].schema == schema) {
            return true;
        }
    }
    return false;
}

static void put_fields(tk_json_writer *w, const tk_schema *schema);

static void put_field(tk_json_writer *w, const tk_field *field)
{
    tk_json_begin_object(w);
    put_text(w, "name", field->name != NULL ? field->name : "");
    put_text(w, "kind", kind_name(field->kind));
    put_flag(w, "required", (field->flags & TK_REQUIRED) != 0);
    put_flag(w, "nullable", (field->flags & TK_NULLABLE) != 0);
    if ((field->flags & TK_DEFAULT) != 0) {
        put_default(w, field);
    }
    if (field->min != 0 || field->max != 0) {
        tk_json_key(w, TK_STR("range"));
        tk_json_put_i64s(w, (const int64_t[]){field->min, field->max}, 2);
    }
    if (field->names != NULL) {
        put_words(w, field->names);
    }
    if (field->text != NULL) {
        put_text(w, "literal", field->text);
    }
    if (field->sub != NULL) {
        put_text(w, "message", field->sub->name);
    }
    if (field->sub != NULL && !is_listed(field->sub)) {
        put_fields(w, field->sub); /* described here and nowhere else */
    }
    tk_json_end_object(w);
}

static void put_fields(tk_json_writer *w, const tk_schema *schema)
{
    tk_json_key(w, TK_STR("fields"));
    tk_json_begin_array(w);
    for (size_t i = 0; i < schema->n; i++) {
        put_field(w, &schema->fields[i]);
    }
    tk_json_end_array(w);
}

static void put_union(tk_json_writer *w, const tk_union *variants)
{
    put_text(w, "tag", variants->key);
    put_flag(w, "other_tags", variants->unknown >= 0);
    tk_json_key(w, TK_STR("variants"));
    tk_json_begin_array(w);
    for (size_t i = 0; i < variants->n; i++) {
        tk_json_begin_object(w);
        put_text(w, "tag", variants->variants[i].tag);
        put_fields(w, variants->variants[i].schema);
        tk_json_end_object(w);
    }
    tk_json_end_array(w);
}

static const char *direction_name(tk_direction direction)
{
    switch (direction) {
    case TK_DIR_REQUEST:
        return "request";
    case TK_DIR_RESPONSE:
        return "response";
    case TK_DIR_RESULT:
        return "result";
    case TK_DIR_PART:
        break;
    }
    return "part";
}

static void put_schema(tk_json_writer *w, const tk_schemas_row *row)
{
    const tk_schema *schema = row->schema;
    tk_json_begin_object(w);
    put_text(w, "name", schema->name);
    put_text(w, "direction", direction_name(row->direction));
    put_text(w, "call", row->call);
    if (schema->variants != NULL) {
        put_union(w, schema->variants);
    } else if (schema->codec != NULL && schema->codec->like != NULL) {
        put_fields(w, schema->codec->like);
    } else if (schema->codec != NULL) {
        put_text(w, "shape", schema->codec->shape);
    } else {
        put_fields(w, schema);
    }
    tk_json_end_object(w);
}

int main(void)
{
    tk_buf buf;
    tk_json_writer w;
    tk_buf_init(&buf, MAX_BYTES);
    tk_json_writer_init(&w, &buf);
    tk_json_begin_array(&w);
    for (size_t i = 0; i < tk_schemas_n; i++) {
        put_schema(&w, &tk_schemas[i]);
    }
    tk_json_end_array(&w);
    tk_buf_putc(&buf, '\n');
    tk_err err = TK_ERR_INIT;
    bool ok = tk_buf_status(&buf, &err) == TINKC_OK &&
              fwrite(buf.p, 1, buf.n, stdout) == buf.n && fflush(stdout) == 0;
    if (!ok) {
        fprintf(stderr, "dump_schemas: %s\n", err.message);
    }
    tk_buf_dispose(&buf);
    return ok ? 0 : 1;
}
