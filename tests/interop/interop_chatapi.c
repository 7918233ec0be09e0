/* Our side of tests/interop/chatapi.sh: reads one JSON object per line, {"dialect": NAME,
 * "kind": "body" | "stream" | "error" | "failed" | "models" | "model" | "count", "request": BODY (as
 * text), "finish": NAME, "reasoning": bool, "calls": bool, "ignore": TEXT}, and writes one
 * line per request: {"status": N, "body": TEXT}.
 * Links: chatapi text */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cadata.h"

static bool step(char *text, size_t n, const tk_tok *tok)
{
    tk_arena arena;
    const tk_json *line = NULL;
    tk_buf body, shown;
    tk_json_writer w;
    tk_arena_init(&arena, 0);
    tk_buf_init(&body, 64 * TK_MIB);
    tk_buf_init(&shown, 128 * TK_MIB);
    bool ok = tk_json_parse(&line, &arena, text, n, NULL, NULL) == TINKC_OK;
    if (ok) {
        int status = cadata_serve(&body, tok, line);
        tk_json_writer_init(&w, &shown);
        tk_json_begin_object(&w);
        tk_json_key(&w, TK_STR("status"));
        tk_json_put_i64(&w, status);
        tk_json_key(&w, TK_STR("body"));
        tk_json_put_str(&w, tk_buf_str(&body));
        tk_json_end_object(&w);
        ok = body.failure == TINKC_OK && shown.failure == TINKC_OK;
        (void)fwrite(shown.p, 1, shown.n, stdout);
        (void)fputc('\n', stdout);
        (void)fflush(stdout);
    }
    tk_buf_dispose(&body);
    tk_buf_dispose(&shown);
    tk_arena_dispose(&arena);
    return ok;
}

int main(void)
{
    tk_tok *tok = NULL;
    tk_err err = TK_ERR_INIT;
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    bool ok = true;
    if (tk_tok_load_memory(&tok, TK_STR(CADATA_TOKENIZER), &err) != TINKC_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    while (ok && (n = getline(&line, &cap, stdin)) > 0) {
        ok = step(line, (size_t)n, tok);
    }
    free(line);
    tk_tok_free(tok);
    return ok ? 0 : 1;
}
