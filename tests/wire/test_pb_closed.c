/* A training request in protobuf is closed: a field that no message of ours has is refused
 * by its number, in each message of each recorded request. */
#include "wire/fixtures.h"
#include "wire/pb.h"
#include "wire/pb_fwdbwd.h"

static tk_arena arena;

static int teardown(void **unused)
{
    tk_arena_dispose(&arena);
    return 0;
}

/* ---- which fields are messages ---- */

typedef enum kind {
    REQUEST,
    DATUM,
    CHUNK,
    CHUNK_BODY,
    TENSOR_ENTRY,
    TENSOR,
    CSR,
    SPAN,
    SPAN_BODY,
    NUM_ENTRY,
    VALUE_ENTRY,
    VALUE,
    KINDS
} kind;

static const struct {
    kind in;
    uint32_t number;
    kind kind;
} parts[] = {
    {REQUEST, 3, DATUM},    {REQUEST, 5, NUM_ENTRY},   {REQUEST, 7, VALUE_ENTRY},
    {DATUM, 1, CHUNK},      {DATUM, 2, TENSOR_ENTRY},  {DATUM, 3, SPAN},
    {DATUM, 4, SPAN},       {CHUNK, 1, CHUNK_BODY},    {CHUNK, 2, CHUNK_BODY},
    {CHUNK, 3, CHUNK_BODY}, {TENSOR_ENTRY, 2, TENSOR}, {TENSOR, 2, CSR},
    {SPAN, 1, SPAN_BODY},   {SPAN, 2, SPAN_BODY},      {VALUE_ENTRY, 2, VALUE},
};

static bool find_part(kind in, uint32_t tag, kind *out)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(parts); i++) {
        if (parts[i].in == in && tag == TK_PB_TAG(parts[i].number, TK_PB_BYTES)) {
            *out = parts[i].kind;
            return true;
        }
    }
    return false;
}

/* ---- one more field in one message ---- */

typedef struct inserter {
    size_t target, seen;
    tk_bytes field; /* what is inserted */
    kind hit;       /* into which kind */
} inserter;

static void put_varint(tk_buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) {
        tk_buf_putc(out, (char)(unsigned char)(value | 0x80));
    }
    tk_buf_putc(out, (char)value);
}

static void write_with(inserter *s, tk_buf *out, kind in, tk_bytes body)
{
    const tk_pb_input input = {body.p, &arena, NULL, false};
    tk_pb_reader rd = tk_pb_reader_of(&input, body);
    tk_pb_field field;
    if (s->seen++ == s->target) {
        s->hit = in;
        tk_buf_put(out, s->field.p, s->field.n);
    }
    while (tk_pb_next(&rd, &field)) {
        kind below = KINDS;
        if (!find_part(in, field.tag, &below)) {
            tk_buf_put(out, field.at, (size_t)(rd.p - field.at));
            continue;
        }
        tk_buf inner;
        tk_buf_init(&inner, TK_MIB);
        write_with(s, &inner, below, field.bytes);
        put_varint(out, field.tag);
        put_varint(out, inner.n);
        tk_buf_put(out, inner.p, inner.n);
        tk_buf_dispose(&inner);
    }
    assert_int_equal(rd.code, TINKC_OK);
}

static size_t reached[KINDS];

/* Returns how many messages the request has. */
static size_t insert(tk_bytes body, size_t target, tk_bytes field, const char *says)
{
    tk_buf out;
    tk_fwdbwd_request request;
    tk_err err = TK_ERR_INIT;
    inserter s = {.target = target, .field = field, .hit = KINDS};
    tk_buf_init(&out, TK_MIB);
    write_with(&s, &out, REQUEST, body);
    const tk_bytes bytes = {(const unsigned char *)out.p, out.n};
    tinkc_code code = tk_pb_fwdbwd_decode(&request, &arena, bytes, &err);
    if (s.hit == KINDS) {
        assert_int_equal(code, TINKC_OK);
    } else if (code != TINKC_E_DECODE || strstr(err.message, says) == NULL) {
        fail_msg("message %zu of kind %d: %d %s", target, (int)s.hit, (int)code,
                 err.message);
    } else {
        reached[s.hit]++;
    }
    tk_buf_dispose(&out);
    return s.seen;
}

/* A varint, a text, a number that is known with another wire type, a group. */
static void try_body(tk_bytes body)
{
    static const struct {
        const char *bytes, *says;
        size_t n;
    } fields[] = {
        {"\x78\x01", "unknown field 15 ", 2},
        {"\x7a\x01x", "unknown field 15 ", 3},
        {"\x0d\0\0\0\0", "unknown field 1 ", 5},
        {"\x7b\x7c", "unknown field 15 ", 2},
    };
    size_t n = insert(body, SIZE_MAX, (tk_bytes){NULL, 0}, "");
    for (size_t k = 0; k < TK_ARRAY_LEN(fields); k++) {
        const tk_bytes field = {(const unsigned char *)fields[k].bytes, fields[k].n};
        for (size_t i = 0; i < n; i++) {
            (void)insert(body, i, field, fields[k].says);
        }
    }
}

static void test_pb_unknown_fields_are_refused(void **unused)
{
    static const char *const versions[] = {FIXTURE_OLD, FIXTURE_NEW};
    for (size_t v = 0; v < TK_ARRAY_LEN(versions); v++) {
        const tk_json *index = fixture_load(&arena, versions[v], "index.json");
        const tk_json *cases = fixture_need(index, "requests");
        for (size_t i = 0; i < tk_json_len(cases); i++) {
            const char *name = fixture_at(&arena, cases, i)->as.string.p;
            const tk_json *file = fixture_load(&arena, versions[v], name);
            const tk_json *request =
                fixture_at(&arena, fixture_need(file, "requests"), 0);
            if (tk_json_get(request, "protobuf_base64") != NULL &&
                strstr(name, "compressed") == NULL && strstr(name, "by_bytes") == NULL) {
                try_body(fixture_bytes(&arena, request, "protobuf_base64"));
            }
        }
    }
    for (size_t i = 0; i < KINDS; i++) {
        if (reached[i] == 0) {
            fail_msg("no recorded request has a message of kind %zu", i);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_pb_unknown_fields_are_refused, teardown),
    };
    return cmocka_run_group_tests_name("pb_closed", tests, NULL, NULL);
}
