/* Every message of the registry, made from its own table (A-047, A-060, A-061, A-067,
 * A-068..A-071, M-104..M-107, M-115): round trips, key sets, null rules, error paths,
 * cut-off input, and the failure of every allocation. */
#include "wire/schemas.h"

#include <stdio.h>

#include "gen_msg.h"
#include "support/failmem.h"
#include "support/test.h"

#define VARIANTS 6 /* enough for every member of every union, and every stop form */

typedef struct sample {
    tk_arena arena;
    void *msg;
    tk_buf text;
} sample;

static bool make(sample *s, const tk_schema *schema, gen_mode mode, size_t variant)
{
    tk_arena_init(&s->arena, 0);
    tk_buf_init(&s->text, TK_MIB);
    s->msg = tk_arena_zalloc(&s->arena, schema->size);
    const gen g = {mode, variant, &s->arena};
    return s->msg != NULL && gen_fill(s->msg, schema, &g);
}

static void drop(sample *s)
{
    tk_buf_dispose(&s->text);
    tk_arena_dispose(&s->arena);
}

static void encode(sample *s, const tk_schema *schema)
{
    tk_err err = TK_ERR_INIT;
    tk_buf_clear(&s->text);
    if (tk_schema_encode(&s->text, schema, s->msg, &err) != TINKC_OK) {
        fail_msg("%s: %s: %s", schema->name, err.path, err.message);
    }
}

/* Decodes the text, strictly, and encodes what came out: the same bytes. */
static void expect_same_again(sample *s, const tk_schema *schema)
{
    tk_err err = TK_ERR_INIT;
    tk_buf again;
    tk_buf_init(&again, TK_MIB);
    void *msg = tk_arena_alloc(&s->arena, schema->size);
    if (tk_schema_decode_text(msg, schema, &s->arena, tk_buf_str(&s->text),
                              TK_DECODE_STRICT, &err) != TINKC_OK ||
        tk_schema_encode(&again, schema, msg, &err) != TINKC_OK) {
        fail_msg("%s: %s: %s in %s", schema->name, err.path, err.message,
                 tk_buf_cstr(&s->text));
    }
    assert_string_equal(tk_buf_cstr(&again), tk_buf_cstr(&s->text));
    tk_buf_dispose(&again);
}

/* M-104: struct to JSON and back loses nothing, whatever is set. */
static void test_schemas_round_trip(void **unused)
{
    for (size_t i = 0; i < tk_schemas_n; i++) {
        for (size_t v = 0; v < 3 * VARIANTS; v++) {
            sample s;
            assert_true(make(&s, tk_schemas[i].schema, (gen_mode)(v % 3), v / 3));
            encode(&s, tk_schemas[i].schema);
            expect_same_again(&s, tk_schemas[i].schema);
            drop(&s);
        }
    }
}

/* Names are unique, calls are given, tables are well formed. */
static void test_schemas_tables(void **unused)
{
    for (size_t i = 0; i < tk_schemas_n; i++) {
        const tk_schema *schema = tk_schemas[i].schema;
        assert_int_equal(strlen(tk_schemas[i].call) == 0,
                         tk_schemas[i].direction == TK_DIR_PART);
        assert_true(schema->size > 0);
        assert_true((schema->fields != NULL) + (schema->variants != NULL) +
                        (schema->codec != NULL) <=
                    1);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(tk_schemas[j].schema->name, schema->name);
        }
        for (size_t j = 0; j < schema->n; j++) {
            const tk_field *field = &schema->fields[j];
            unsigned both = TK_REQUIRED | TK_DEFAULT;
            assert_true((field->flags & both) != both);
            assert_true(field->kind != TK_KIND_ENUM || field->names != NULL);
            assert_true(field->kind < TK_KIND_MSG || field->sub != NULL);
            assert_true(field->at < schema->size);
        }
    }
}

/* The table's rows in object form; NULL for unions, codecs and transparent structs. */
static const tk_schema *object_form(const tk_schema *schema)
{
    return schema->n > 0 && schema->fields[0].name != NULL ? schema : NULL;
}

/* with everything set, the keys are exactly the rows, in their order. */
static void test_schemas_key_sets(void **unused)
{
    size_t seen = 0;
    for (size_t i = 0; i < tk_schemas_n; i++) {
        const tk_schema *schema = object_form(tk_schemas[i].schema);
        if (schema == NULL) {
            continue;
        }
        sample s;
        assert_true(make(&s, schema, GEN_FULL, 0));
        encode(&s, schema);
        const tk_json *value;
        assert_int_equal(tk_json_parse(&value, &s.arena, s.text.p, s.text.n, NULL, NULL),
                         TINKC_OK);
        assert_int_equal(value->as.object.n, schema->n);
        for (size_t j = 0; j < schema->n; j++) {
            assert_true(
                tk_str_is(value->as.object.members[j].key, schema->fields[j].name));
        }
        drop(&s);
        seen++;
    }
    assert_true(seen > 50);
}

/* null is written exactly where the row allows it; elsewhere the error
 * names the field and nothing is written. */
static void test_schemas_null_rules(void **unused)
{
    size_t nullable = 0, refused = 0;
    for (size_t i = 0; i < tk_schemas_n; i++) {
        const tk_schema *schema = tk_schemas[i].schema;
        for (size_t j = 0; j < schema->n; j++) {
            const tk_field *field = &schema->fields[j];
            if (field->form != TK_FORM_TRI) {
                continue;
            }
            sample s;
            assert_true(make(&s, schema, GEN_FULL, 0));
            *(tk_presence *)(void *)((char *)s.msg + field->is_at) = TK_NULL;
            tk_err err = TK_ERR_INIT;
            tinkc_code code = tk_schema_encode(&s.text, schema, s.msg, &err);
            if ((field->flags & TK_NULLABLE) != 0) {
                char want[128];
                (void)snprintf(want, sizeof(want), "\"%s\":null", field->name);
                assert_int_equal(code, TINKC_OK);
                assert_non_null(strstr(tk_buf_cstr(&s.text), want));
                nullable++;
            } else {
                assert_int_equal(code, TINKC_E_INVALID);
                assert_string_equal(err.path, field->name);
                assert_int_equal(s.text.n, 0);
                refused++;
            }
            drop(&s);
        }
    }
    assert_true(nullable > 20 && refused > 40);
}

/* The document with one member replaced by `value`, or left out when that is NULL. */
static void rewrite(tk_buf *out, const tk_json *document, size_t index,
                    const tk_json *value)
{
    tk_json_writer w;
    tk_buf_clear(out);
    tk_json_writer_init(&w, out);
    tk_json_begin_object(&w);
    for (size_t i = 0; i < document->as.object.n; i++) {
        const tk_json_member *member = &document->as.object.members[i];
        if (i != index || value != NULL) {
            tk_json_key(&w, member->key);
            tk_json_put_value(&w, i == index ? value : &member->value);
        }
    }
    tk_json_end_object(&w);
}

/* Of a wrong type: a type that no row accepts in this place. */
static const tk_json *wrong_value(const tk_field *field)
{
    static const tk_json number = {.type = TK_JSON_REAL, .as.real = 0.5};
    static const tk_json flag = {.type = TK_JSON_BOOL, .as.boolean = true};
    bool any = field->kind == TK_KIND_RAW && (field->flags & TK_OBJECT) == 0;
    bool lenient = field->kind == TK_KIND_ENUM && field->names->unknown != TK_OTHER;
    if (any || lenient) {
        return NULL;
    }
    return field->kind == TK_KIND_BOOL ? &number : &flag;
}

static void expect_decode_error(const tk_schema *schema, const tk_buf *text,
                                const char *name)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    unsigned char *msg = tk_arena_alloc(&arena, schema->size);
    memset(msg, 0xA5, schema->size);
    tk_err err = TK_ERR_INIT;
    tinkc_code code = tk_schema_decode_text(msg, schema, &arena, tk_buf_str(text),
                                            TK_DECODE_CLOSED, &err);
    if (code != TINKC_E_DECODE || strcmp(err.path, name) != 0) {
        fail_msg("%s.%s: code %d path %s: " TK_STR_FMT, schema->name, name, (int)code,
                 err.path, TK_STR_ARG(tk_buf_str(text)));
    }
    for (size_t i = 0; i < schema->size; i++) {
        assert_int_equal(msg[i], 0);
    }
    tk_arena_dispose(&arena);
}

/* Each field of each message: missing, null, and of the wrong type. */
static void test_schemas_decode_errors(void **unused)
{
    static const tk_json null = {.type = TK_JSON_NULL};
    size_t checked = 0;
    for (size_t i = 0; i < tk_schemas_n; i++) {
        const tk_schema *schema = object_form(tk_schemas[i].schema);
        for (size_t j = 0; schema != NULL && j < schema->n; j++) {
            const tk_field *field = &schema->fields[j];
            sample s;
            tk_buf text;
            const tk_json *document;
            assert_true(make(&s, schema, GEN_FULL, 0));
            encode(&s, schema);
            assert_int_equal(
                tk_json_parse(&document, &s.arena, s.text.p, s.text.n, NULL, NULL),
                TINKC_OK);
            tk_buf_init(&text, TK_MIB);
            bool required = (field->flags & TK_REQUIRED) != 0;
            bool nullable = (field->flags & TK_NULLABLE) != 0;
            if (required) {
                rewrite(&text, document, j, NULL);
                expect_decode_error(schema, &text, field->name);
            }
            if (required && !nullable && wrong_value(field) != NULL) {
                rewrite(&text, document, j, &null);
                expect_decode_error(schema, &text, field->name);
            }
            if (wrong_value(field) != NULL) {
                rewrite(&text, document, j, wrong_value(field));
                expect_decode_error(schema, &text, field->name);
                checked++;
            }
            tk_buf_dispose(&text);
            drop(&s);
        }
    }
    assert_true(checked > 200);
}

/* M-115: absent and null optional fields are fine; an unknown key is ignored, or refused
 * in strict mode. */
static void test_schemas_optional(void **unused)
{
    static const tk_json null = {.type = TK_JSON_NULL};
    for (size_t i = 0; i < tk_schemas_n; i++) {
        const tk_schema *schema = object_form(tk_schemas[i].schema);
        for (size_t j = 0; schema != NULL && j < schema->n; j++) {
            if ((schema->fields[j].flags & TK_REQUIRED) != 0) {
                continue;
            }
            sample s;
            tk_buf text;
            const tk_json *document;
            assert_true(make(&s, schema, GEN_FULL, 0));
            encode(&s, schema);
            tk_buf_init(&text, TK_MIB);
            assert_int_equal(
                tk_json_parse(&document, &s.arena, s.text.p, s.text.n, NULL, NULL),
                TINKC_OK);
            for (size_t k = 0; k < 2; k++) {
                tk_err err = TK_ERR_INIT;
                rewrite(&text, document, j, k == 0 ? &null : NULL);
                if (tk_schema_decode_text(s.msg, schema, &s.arena, tk_buf_str(&text), 0,
                                          &err) != TINKC_OK) {
                    fail_msg("%s.%s: %s", schema->name, err.path, err.message);
                }
            }
            tk_buf_dispose(&text);
            drop(&s);
        }
    }
}

static void test_schemas_unknown_key(void **unused)
{
    for (size_t i = 0; i < tk_schemas_n; i++) {
        const tk_schema *schema = object_form(tk_schemas[i].schema);
        if (schema == NULL) {
            continue;
        }
        sample s;
        assert_true(make(&s, schema, GEN_FULL, 0));
        encode(&s, schema);
        s.text.n--; /* the closing brace */
        tk_buf_puts(&s.text, ",\"x-new\":{}}");
        tk_err err = TK_ERR_INIT;
        assert_int_equal(
            tk_schema_decode_text(s.msg, schema, &s.arena, tk_buf_str(&s.text), 0, &err),
            TINKC_OK);
        assert_int_equal(tk_schema_decode_text(s.msg, schema, &s.arena,
                                               tk_buf_str(&s.text), TK_DECODE_STRICT,
                                               &err),
                         TINKC_E_DECODE);
        assert_string_equal(err.path, "x-new");
        drop(&s);
    }
}

/* Input that ends early never decodes and never crashes. */
static void test_schemas_cut_off(void **unused)
{
    for (size_t i = 0; i < tk_schemas_n; i++) {
        const tk_schema *schema = tk_schemas[i].schema;
        sample s;
        assert_true(make(&s, schema, GEN_FULL, 1));
        encode(&s, schema);
        for (size_t n = 0; n < s.text.n; n++) {
            tk_arena arena;
            tk_arena_init(&arena, 0);
            tk_str cut = {s.text.p, n};
            assert_int_equal(tk_schema_decode_text(s.msg, schema, &arena, cut, 0, NULL),
                             TINKC_E_PARSE);
            tk_arena_dispose(&arena);
        }
        drop(&s);
    }
}

typedef struct sweep {
    const tk_schema *schema;
    size_t variant;
} sweep;

static bool sweep_scenario(void *user)
{
    const sweep *now = user;
    sample s;
    tk_buf again;
    tk_buf_init(&again, TK_MIB);
    tk_err err = TK_ERR_INIT;
    bool ok = make(&s, now->schema, GEN_FULL, now->variant);
    ok = ok && tk_schema_encode(&s.text, now->schema, s.msg, &err) == TINKC_OK;
    ok = ok && tk_schema_decode_text(s.msg, now->schema, &s.arena, tk_buf_str(&s.text), 0,
                                     &err) == TINKC_OK;
    ok = ok && tk_schema_encode(&again, now->schema, s.msg, &err) == TINKC_OK;
    assert_true(ok || err.code == TINKC_OK || err.code == TINKC_E_NOMEM);
    tk_buf_dispose(&again);
    drop(&s);
    return ok;
}

/* Every allocation of encoding and decoding, of every message, fails once. */
static void test_schemas_sweep(void **unused)
{
    size_t points = 0;
    for (size_t i = 0; i < tk_schemas_n; i++) {
        for (size_t v = 0; v < VARIANTS; v++) {
            sweep now = {tk_schemas[i].schema, v};
            points += failmem_sweep(sweep_scenario, &now, 1);
        }
    }
    assert_true(points > tk_schemas_n);
}

static void expect_sound(const tk_schema *schema);

/* Exactly one way to read it, and nothing that is called is NULL, also in the messages
 * that it is made of. */
static void expect_sound_field(const tk_field *field)
{
    bool has_sub = field->kind == TK_KIND_MSG || field->kind == TK_KIND_LIST ||
                   field->kind == TK_KIND_MSG_MAP;
    if (has_sub) {
        assert_non_null(field->sub);
        expect_sound(field->sub);
    }
    assert_true(field->kind != TK_KIND_ENUM || field->names != NULL);
    assert_true(field->kind != TK_KIND_LITERAL || field->text != NULL);
}

static void expect_sound(const tk_schema *schema)
{
    int ways =
        (schema->codec != NULL) + (schema->variants != NULL) + (schema->fields != NULL);
    assert_true(ways == 1 || (ways == 0 && schema->n == 0));
    assert_non_null(schema->name);
    assert_true(schema->size > 0);
    if (schema->codec != NULL) {
        assert_true(schema->codec->encode != NULL && schema->codec->decode != NULL);
    }
    for (size_t i = 0; schema->variants != NULL && i < schema->variants->n; i++) {
        expect_sound(schema->variants->variants[i].schema);
    }
    for (size_t i = 0; i < schema->n; i++) {
        expect_sound_field(&schema->fields[i]);
    }
}

/* No table reads a value that is not there. */
static void test_schemas_without_a_value(void **unused)
{
    for (size_t i = 0; i < tk_schemas_n; i++) {
        const tk_schema *schema = tk_schemas[i].schema;
        tk_arena arena;
        tk_err err = TK_ERR_INIT;
        expect_sound(schema);
        tk_arena_init(&arena, TK_MIB);
        void *msg = tk_arena_zalloc(&arena, schema->size);
        assert_int_equal(tk_schema_decode(msg, schema, &arena, NULL, 0, &err),
                         TINKC_E_DECODE);
        tk_arena_dispose(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schemas_round_trip),
        cmocka_unit_test(test_schemas_tables),
        cmocka_unit_test(test_schemas_key_sets),
        cmocka_unit_test(test_schemas_null_rules),
        cmocka_unit_test(test_schemas_decode_errors),
        cmocka_unit_test(test_schemas_optional),
        cmocka_unit_test(test_schemas_unknown_key),
        cmocka_unit_test(test_schemas_without_a_value),
        cmocka_unit_test(test_schemas_cut_off),
        cmocka_unit_test(test_schemas_sweep),
    };
    return cmocka_run_group_tests_name("schemas", tests, NULL, NULL);
}
