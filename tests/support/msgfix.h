/* Golden bodies: encodes and decodes messages by their tables and compares the text.
 * Decoded values live in an arena that msgfix_teardown empties after each test. Thread:
 * one. */
#ifndef SUPPORT_MSGFIX_H
#define SUPPORT_MSGFIX_H

#include <string.h>

#include "base/limits.h"
#include "support/test.h"
#include "wire/schema.h"

static tk_arena msgfix_arena;

static inline int msgfix_teardown(void **unused)
{
    tk_arena_dispose(&msgfix_arena);
    return 0;
}

/* The text as a tree, in the arena. */
static inline const tk_json *msgfix_parse(const char *text)
{
    const tk_json *out = NULL;
    assert_int_equal(tk_json_parse(&out, &msgfix_arena, text, strlen(text), NULL, NULL),
                     TINKC_OK);
    return out;
}

/* The message encodes to exactly this text. */
static inline void expect_json(const tk_schema *schema, const void *msg, const char *want)
{
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    tk_err err = TK_ERR_INIT;
    if (tk_schema_encode(&out, schema, msg, &err) != TINKC_OK) {
        fail_msg("%s: %s", err.path, err.message);
    }
    assert_string_equal(tk_buf_cstr(&out), want);
    tk_buf_dispose(&out);
}

/* The message is refused at exactly this path, and nothing is appended. */
static inline void expect_refused(const tk_schema *schema, const void *msg,
                                  const char *path)
{
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    tk_buf_puts(&out, "before");
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_schema_encode(&out, schema, msg, &err), TINKC_E_INVALID);
    assert_string_equal(err.path, path);
    assert_true(tk_str_is(tk_buf_str(&out), "before"));
    tk_buf_dispose(&out);
}

static inline void decode_ok(void *msg, const tk_schema *schema, const char *text)
{
    tk_err err = TK_ERR_INIT;
    if (tk_schema_decode_text(msg, schema, &msgfix_arena, tk_str_of(text), 0, &err) !=
        TINKC_OK) {
        fail_msg("%s: %s: %s", text, err.path, err.message);
    }
}

/* The text is refused at exactly this path, with a message that contains `message`, and
 * the struct is zeroed. */
static inline void decode_fails(const tk_schema *schema, const char *text, unsigned flags,
                                const char *path, const char *message)
{
    unsigned char msg[4096];
    assert_true(schema->size <= sizeof(msg));
    memset(msg, 0xA5, sizeof(msg));
    tk_err err = TK_ERR_INIT;
    assert_int_equal(
        tk_schema_decode_text(msg, schema, &msgfix_arena, tk_str_of(text), flags, &err),
        TINKC_E_DECODE);
    assert_int_equal(err.code, TINKC_E_DECODE);
    assert_string_equal(err.path, path);
    if (strstr(err.message, message) == NULL) {
        fail_msg("%s: \"%s\" is not in \"%s\"", text, message, err.message);
    }
    for (size_t i = 0; i < schema->size; i++) {
        assert_int_equal(msg[i], 0);
    }
}

#endif
