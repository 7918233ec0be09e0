/* Tables of small templates with what jinja2 3.1.6 makes of them, set up as in
 * tests/interop/chat_env.py: the texts are literals, written down from its answers. The
 * one variable of the data is d, "D"; the clock is at 9 March 2025, 14:05:07 UTC. */
#ifndef SUPPORT_JINJAFIX_H
#define SUPPORT_JINJAFIX_H

#include "base/json.h"
#include "support/test.h"
#include "text/jinja/jinja.h"

typedef struct jinjafix_row {
    const char *source, *text, *error;
} jinjafix_row;

#define GIVES(source, text)                                                              \
    {                                                                                    \
        source, text, NULL                                                               \
    }
#define RAISES(source, error)                                                            \
    {                                                                                    \
        source, NULL, error                                                              \
    } /* with this text, in line 1 */
#define REFUSES(source)                                                                  \
    {                                                                                    \
        source, NULL, NULL                                                               \
    } /* jinja2's text is another */

#define JINJAFIX_NOW_US 1741529107000000

/* Parses and renders; the caller disposes *out and frees nothing else. */
static inline tinkc_code jinjafix_render(const char *source, bool strict, tk_buf *out,
                                         tk_err *err)
{
    tk_json value = {.type = TK_JSON_STRING, .as.string = TK_STR("D")};
    tk_jinja_var var = {TK_STR("d"), &value};
    tk_jinja_job job = {.vars = &var,
                        .n_vars = 1,
                        .strict = strict,
                        .has_now = true,
                        .now_us = JINJAFIX_NOW_US};
    tk_jinja *tpl = NULL;
    tk_buf_init(out, TK_MIB);
    tinkc_code code = tk_jinja_parse(&tpl, tk_str_of(source), err);
    if (code == TINKC_OK) {
        code = tk_jinja_render(out, tpl, &job, err);
    }
    tk_jinja_free(tpl);
    return code;
}

static inline bool jinjafix_is_right(const jinjafix_row *row, tinkc_code code,
                                     const tk_buf *out, const tk_err *err)
{
    static const char line[] = "template line 1: ";
    if (row->text != NULL) {
        return code == TINKC_OK && tk_str_is(tk_buf_str(out), row->text);
    }
    if (row->error != NULL) {
        return (code == TINKC_E_INVALID || code == TINKC_E_PARSE) &&
               strncmp(err->message, line, strlen(line)) == 0 &&
               strcmp(err->message + strlen(line), row->error) == 0;
    }
    return code == TINKC_E_INVALID || code == TINKC_E_PARSE ||
           code == TINKC_E_UNSUPPORTED;
}

/* Prints every row that differs before it fails. */
static inline void jinjafix_compare(const jinjafix_row *rows, size_t n, bool strict)
{
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
        tk_err err = TK_ERR_INIT;
        tk_buf out;
        tinkc_code code = jinjafix_render(rows[i].source, strict, &out, &err);
        if (!jinjafix_is_right(&rows[i], code, &out, &err)) {
            print_error("%s\n  gives  %.*s %s\n  wanted %s\n", rows[i].source, (int)out.n,
                        out.p != NULL ? out.p : "", err.message,
                        rows[i].text != NULL    ? rows[i].text
                        : rows[i].error != NULL ? rows[i].error
                                                : "a refusal");
            wrong++;
        }
        tk_buf_dispose(&out);
    }
    assert_int_equal(wrong, 0);
}

static inline void jinjafix_check(const jinjafix_row *rows, size_t n)
{
    jinjafix_compare(rows, n, true);
}

/* With what jinja2's immutable sandbox refuses and real templates use. */
static inline void jinjafix_check_loose(const jinjafix_row *rows, size_t n)
{
    jinjafix_compare(rows, n, false);
}

#endif
