/* Shared by the tests of requests: parse, compare what a template would read, expect a
 * refusal. */
#ifndef SUPPORT_CABODY_H
#define SUPPORT_CABODY_H

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "chatapi/ca_request.h"
#include "support/test.h"

static inline ca_request parse_ok(ca_dialect dialect, const char *body)
{
    ca_request q;
    ca_fault fault;
    if (!ca_request_parse(&q, dialect, tk_str_of(body), NULL, &fault)) {
        fail_msg("refused: %s\n%s", fault.err.message, body);
    }
    return q;
}

static inline void expect_refused(ca_dialect dialect, const char *body, const char *field)
{
    ca_request q;
    ca_fault fault;
    if (ca_request_parse(&q, dialect, tk_str_of(body), NULL, &fault)) {
        ca_request_dispose(&q);
        fail_msg("accepted: %s", body);
    }
    if (fault.status != 400 || strcmp(fault.field, field) != 0 ||
        strncmp(fault.err.message, field, strlen(field)) != 0) {
        fail_msg("'%s' (%s), status %d, for %s", fault.field, fault.err.message,
                 fault.status, body);
    }
}

static inline void expect_json(tk_buf *got, const char *wanted)
{
    const char *text = tk_buf_cstr(got);
    assert_non_null(text);
    assert_string_equal(text, wanted);
    tk_buf_dispose(got);
}

static inline void expect_messages(ca_dialect dialect, const char *body,
                                   const char *wanted)
{
    ca_request q = parse_ok(dialect, body);
    tk_buf out;
    tk_json_writer w;
    tk_buf_init(&out, TK_MIB);
    tk_json_writer_init(&w, &out);
    tk_json_begin_array(&w);
    for (size_t i = 0; i < q.chat.n; i++) {
        tk_json_put_value(&w, &q.chat.messages[i]);
    }
    tk_json_end_array(&w);
    expect_json(&out, wanted);
    ca_request_dispose(&q);
}

static inline void expect_vars(ca_dialect dialect, const char *body, const char *wanted)
{
    ca_request q = parse_ok(dialect, body);
    tk_buf out;
    tk_json_writer w;
    tk_buf_init(&out, TK_MIB);
    tk_json_writer_init(&w, &out);
    tk_json_begin_object(&w);
    for (size_t i = 0; i < q.chat.n_vars; i++) {
        tk_json_key(&w, q.chat.vars[i].name);
        tk_json_put_value(&w, q.chat.vars[i].value);
    }
    tk_json_end_object(&w);
    assert_int_equal(q.has_tools, strstr(wanted, "\"tools\"") != NULL);
    expect_json(&out, wanted);
    ca_request_dispose(&q);
}

#endif
