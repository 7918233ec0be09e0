/* Matches with PCRE2, which allocates through base/mem.h. The JIT has a short stack; when
 * that is not enough, the interpreter tries again within a limit of steps. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/tok/tok_regex.h"

#include <pcre2.h>

#include "base/mem.h"

#define MATCH_LIMIT 10000000 /* steps of the interpreter */
#define HEAP_KIB    (64 * 1024)

struct tk_tok_regex {
    pcre2_general_context *memory;
    pcre2_match_context *limits;
    pcre2_code *code;
};

static void *allocate(PCRE2_SIZE n, void *user)
{
    (void)user;
    return tk_malloc(n);
}

static void release(void *p, void *user)
{
    (void)user;
    tk_free(p);
}

void tk_tok_regex_free(tk_tok_regex *regex)
{
    if (regex != NULL) {
        pcre2_code_free(regex->code);
        pcre2_match_context_free(regex->limits);
        pcre2_general_context_free(regex->memory);
        tk_free(regex);
    }
}

static tinkc_code compile(tk_tok_regex *regex, tk_str pattern, tk_err *err)
{
    regex->memory = pcre2_general_context_create(allocate, release, NULL);
    pcre2_compile_context *context =
        regex->memory != NULL ? pcre2_compile_context_create(regex->memory) : NULL;
    if (context == NULL) {
        return tk_err_nomem(err);
    }
    (void)pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    int number = 0;
    PCRE2_SIZE at = 0;
    regex->code =
        pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n,
                      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &number, &at, context);
    pcre2_compile_context_free(context);
    if (regex->code == NULL) {
        char text[128] = "";
        (void)pcre2_get_error_message(number, (PCRE2_UCHAR *)text, sizeof(text));
        return number == PCRE2_ERROR_HEAP_FAILED || number == PCRE2_ERROR_NOMEMORY
                   ? tk_err_nomem(err)
                   : tk_err_set(err, TINKC_E_UNSUPPORTED,
                                "tokenizer.json: split pattern: %s", text);
    }
    (void)pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE); /* slower without it */
    regex->limits = pcre2_match_context_create(regex->memory);
    if (regex->limits == NULL) {
        return tk_err_nomem(err);
    }
    (void)pcre2_set_match_limit(regex->limits, MATCH_LIMIT);
    (void)pcre2_set_heap_limit(regex->limits, HEAP_KIB);
    return TINKC_OK;
}

tinkc_code tk_tok_regex_new(tk_tok_regex **out, tk_str pattern, tk_err *err)
{
    tk_buf text;
    tk_buf_init(&text, TK_MIB);
    tk_tok_regex *regex = tk_zalloc(sizeof(*regex));
    tinkc_code code =
        regex != NULL ? tk_tok_pattern_translate(&text, pattern, err) : tk_err_nomem(err);
    if (code == TINKC_OK) {
        code = compile(regex, tk_buf_str(&text), err);
    }
    tk_buf_dispose(&text);
    if (code != TINKC_OK) {
        tk_tok_regex_free(regex);
        return code;
    }
    *out = regex;
    return TINKC_OK;
}

tinkc_code tk_tok_regex_find(const tk_tok_regex *regex, tk_tok_matcher *m, tk_str text,
                             size_t from, size_t range[2])
{
    if (m->data == NULL) {
        pcre2_general_context *memory =
            pcre2_general_context_create(allocate, release, NULL);
        m->data = memory != NULL ? pcre2_match_data_create(8, memory) : NULL;
        pcre2_general_context_free(memory);
        if (m->data == NULL) {
            return TINKC_E_NOMEM;
        }
    }
    PCRE2_SPTR subject = (PCRE2_SPTR)(text.n > 0 ? text.p : "");
    int rc = pcre2_match(regex->code, subject, text.n, from, PCRE2_NO_UTF_CHECK, m->data,
                         regex->limits);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) {
        rc = pcre2_match(regex->code, subject, text.n, from,
                         PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, m->data, regex->limits);
    }
    if (rc == PCRE2_ERROR_NOMATCH) {
        return TINKC_E_MISSING;
    }
    if (rc < 0) {
        return rc == PCRE2_ERROR_NOMEMORY ? TINKC_E_NOMEM : TINKC_E_LIMIT;
    }
    const PCRE2_SIZE *found = pcre2_get_ovector_pointer(m->data);
    range[0] = found[0];
    range[1] = found[1];
    return TINKC_OK;
}

void tk_tok_matcher_dispose(tk_tok_matcher *m)
{
    pcre2_match_data_free(m->data);
    m->data = NULL;
}
