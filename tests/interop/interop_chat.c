/* Our side of tests/interop/chat.sh: reads one JSON object per line, {"template": TEXT,
 * "conversations": [VARIABLES, ...], "now_us": N}, and writes one line per conversation:
 * {"text": TEXT, "spans": [[start, end], ...]} or {"error": TEXT, "code": NAME}.
 * Links: text */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "text/jinja/jinja.h"

#define MAX_VARS 64

static void answer(const tk_jinja *tpl, const tk_json *variables, int64_t now_us,
                   const tk_err *parse_error)
{
    tk_jinja_var vars[MAX_VARS];
    size_t n = variables->as.object.n;
    for (size_t i = 0; i < n && i < MAX_VARS; i++) {
        vars[i] = (tk_jinja_var){variables->as.object.members[i].key,
                                 &variables->as.object.members[i].value};
    }
    tk_buf text, spans, line;
    tk_buf_init(&text, 64 * TK_MIB);
    tk_buf_init(&spans, TK_MIB);
    tk_buf_init(&line, 512 * TK_MIB);
    tk_jinja_job job = {.vars = vars,
                        .n_vars = n,
                        .strict = true,
                        .has_now = true,
                        .now_us = now_us,
                        .spans = &spans};
    tk_err err = *parse_error;
    tinkc_code code = tpl != NULL ? tk_jinja_render(&text, tpl, &job, &err) : err.code;
    tk_json_writer w;
    tk_json_writer_init(&w, &line);
    tk_json_begin_object(&w);
    if (code == TINKC_OK) {
        tk_json_key(&w, TK_STR("text"));
        tk_json_put_str(&w, tk_buf_str(&text));
        tk_json_key(&w, TK_STR("spans"));
        tk_json_begin_array(&w);
        for (size_t i = 0; i < spans.n / sizeof(tk_jinja_span); i++) {
            tk_jinja_span span;
            memcpy(&span, spans.p + i * sizeof(span), sizeof(span));
            const int64_t both[2] = {(int64_t)span.start, (int64_t)span.end};
            tk_json_put_i64s(&w, both, 2);
        }
        tk_json_end_array(&w);
    } else {
        tk_json_key(&w, TK_STR("error"));
        tk_json_put_str(&w, tk_str_of(err.message));
        tk_json_key(&w, TK_STR("code"));
        tk_json_put_str(&w, tk_str_of(err.code == TINKC_E_PARSE         ? "syntax"
                                      : err.code == TINKC_E_LIMIT       ? "limit"
                                      : err.code == TINKC_E_UNSUPPORTED ? "unsupported"
                                                                        : "raised"));
    }
    tk_json_end_object(&w);
    if (tk_json_finish(&w, NULL) != TINKC_OK) {
        printf("{\"error\": \"cannot be written\", \"code\": \"limit\"}\n");
    } else {
        fwrite(line.p, 1, line.n, stdout);
        putchar('\n');
    }
    tk_buf_dispose(&text);
    tk_buf_dispose(&spans);
    tk_buf_dispose(&line);
}

static int one_line(const char *text, size_t n)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    tk_err err = TK_ERR_INIT;
    const tk_json *root = NULL;
    tk_jinja *tpl = NULL;
    int64_t now_us = 0;
    const tk_json *now = NULL;
    if (tk_json_parse(&root, &arena, text, n, NULL, &err) == TINKC_OK) {
        now = tk_json_get(root, "now_us");
    }
    if (now == NULL || !tk_json_to_i64(now, &now_us)) {
        fprintf(stderr, "bad line: %s\n", err.message);
        tk_arena_dispose(&arena);
        return 1;
    }
    tk_str source = tk_json_get(root, "template")->as.string;
    bool is_parsed = tk_jinja_parse(&tpl, source, &err) == TINKC_OK;
    const tk_json *all = tk_json_get(root, "conversations");
    for (size_t i = 0; i < tk_json_len(all) && is_parsed == (tpl != NULL); i++) {
        tk_json variables = tk_json_at(all, i);
        answer(tpl, &variables, now_us, &err);
    }
    tk_jinja_free(tpl);
    tk_arena_dispose(&arena);
    return 0;
}

int main(void)
{
    char *line = NULL;
    size_t size = 0;
    int failed = 0;
    ssize_t n;
    while (failed == 0 && (n = getline(&line, &size, stdin)) > 0) {
        failed = one_line(line, (size_t)n);
    }
    free(line);
    return failed;
}
