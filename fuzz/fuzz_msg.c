/* Messages: the first byte picks one of the registry, the rest is JSON. What decodes must
 * encode, decode again and encode to the same bytes, but for a null where we write none,
 * and for words that only requests have, which are not kept when they are unknown.
 *
 * Links: wire */
#include <string.h>

#include "fuzz.h"
#include "wire/schemas.h"

#define MAX_BYTES (64 * TK_MIB)

static tinkc_code decode(void *msg, const tk_schema *schema, tk_arena *arena, tk_str text)
{
    tk_err err = TK_ERR_INIT;
    tinkc_code code = tk_schema_decode_text(msg, schema, arena, text, 0, &err);
    if (code != err.code || (code != TINKC_OK && err.message[0] == '\0')) {
        fuzz_fail("the error does not tell what the call returned");
    }
    for (size_t i = 0; code != TINKC_OK && i < schema->size; i++) {
        if (((const unsigned char *)msg)[i] != 0) {
            fuzz_fail("something is left in the message after a failure");
        }
    }
    return code;
}

static bool is_exempt(const tk_err *err)
{
    static const char *const reasons[] = {"may not be null", "is not one of its values",
                                          "dtype must be"};
    for (size_t i = 0; i < TK_ARRAY_LEN(reasons); i++) {
        if (err->code == TINKC_E_INVALID && strstr(err->message, reasons[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Decoded text; encodes, decodes and encodes it again. */
static void check(void *msg, const tk_schema *schema, tk_arena *arena)
{
    tk_buf first, second;
    tk_buf_init(&first, MAX_BYTES);
    tk_buf_init(&second, MAX_BYTES);
    tk_err err = TK_ERR_INIT;
    tinkc_code code = tk_schema_encode(&first, schema, msg, &err);
    if (is_exempt(&err)) {
        goto out;
    }
    if (code != TINKC_OK) {
        fuzz_fail("what was decoded cannot be encoded");
    }
    if (decode(msg, schema, arena, tk_buf_str(&first)) != TINKC_OK ||
        tk_schema_encode(&second, schema, msg, NULL) != TINKC_OK) {
        fuzz_fail("what was encoded cannot be decoded");
    }
    if (first.n != second.n || memcmp(first.p, second.p, first.n) != 0) {
        fuzz_fail("the second encoding differs from the first");
    }
out:
    tk_buf_dispose(&first);
    tk_buf_dispose(&second);
}

int fuzz_record(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    const tk_schema *schema = tk_schemas[data[0] % tk_schemas_n].schema;
    tk_str text = {(const char *)data + 1, size - 1};
    tk_arena arena;
    tk_arena_init(&arena, MAX_BYTES);
    void *msg = tk_arena_alloc(&arena, schema->size);
    if (msg != NULL && decode(msg, schema, &arena, text) == TINKC_OK) {
        check(msg, schema, &arena);
    }
    tk_arena_dispose(&arena);
    return 0;
}
