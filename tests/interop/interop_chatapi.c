/* Our side of tests/interop/chatapi.sh: reads one JSON object per line, {"template": TEXT,
 * "prompt": TEXT, "pieces": [[TEXT, is special], ...], "tools": [...]}, and writes one line
 * for each: the family of the template, and what the answer was taken apart into.
 * Links: chatapi text */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "chatapi/ca_parser.h"

static void put(tk_json_writer *w, const char *key, tk_str value)
{
    tk_json_key(w, tk_str_of(key));
    tk_json_put_str(w, value);
}

static void put_bool(tk_json_writer *w, const char *key, bool value)
{
    tk_json_key(w, tk_str_of(key));
    tk_json_put_bool(w, value);
}

static void put_output(tk_json_writer *w, const ca_output *output)
{
    put(w, "text", tk_buf_str(&output->text));
    put(w, "reasoning", tk_buf_str(&output->reasoning));
    put_bool(w, "malformed", output->is_malformed);
    tk_json_key(w, TK_STR("calls"));
    tk_json_begin_array(w);
    for (size_t i = 0; i < output->n_calls; i++) {
        tk_json_begin_array(w);
        tk_json_put_str(w, tk_str_of(output->calls[i].name));
        tk_json_put_str(w, tk_str_of(output->calls[i].arguments));
        tk_json_put_str(w, tk_str_of(output->calls[i].id));
        tk_json_end_array(w);
    }
    tk_json_end_array(w);
}

static tinkc_code feed(ca_parser *parser, const tk_json *pieces)
{
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; i < tk_json_len(pieces) && code == TINKC_OK; i++) {
        tk_json piece = tk_json_at(pieces, i);
        tk_json text = tk_json_at(&piece, 0), is_special = tk_json_at(&piece, 1);
        code = ca_parser_feed(parser, text.as.string, is_special.as.boolean, NULL);
    }
    return code == TINKC_OK ? ca_parser_finish(parser, NULL) : code;
}

static int answer(const tk_json *line)
{
    ca_format format = ca_format_detect(tk_json_get(line, "template")->as.string);
    tk_str prompt = tk_json_get(line, "prompt")->as.string;
    ca_parser_config config = {.format = format,
                               .look_for_calls = true,
                               .starts_thinking =
                                   ca_parser_prompt_thinks(&format, prompt),
                               .tools = tk_json_get(line, "tools")};
    ca_parser *parser = NULL;
    tk_buf out;
    tk_json_writer w;
    tk_buf_init(&out, 64 * TK_MIB);
    tk_json_writer_init(&w, &out);
    tinkc_code code = ca_parser_new(&parser, &config, NULL);
    code = code == TINKC_OK ? feed(parser, tk_json_get(line, "pieces")) : code;
    if (code == TINKC_OK) {
        tk_json_begin_object(&w);
        put(&w, "tools", tk_str_of(ca_format_name(format.tools)));
        put(&w, "think", format.think_open);
        put_bool(&w, "prompted", format.is_thinking_prompted);
        put_bool(&w, "thinks", config.starts_thinking);
        put_output(&w, ca_parser_output(parser));
        tk_json_end_object(&w);
        code = tk_json_finish(&w, NULL);
    }
    if (code == TINKC_OK) {
        printf(TK_STR_FMT "\n", TK_STR_ARG(tk_buf_str(&out)));
    }
    tk_buf_dispose(&out);
    ca_parser_free(parser);
    return code == TINKC_OK ? 0 : 1;
}

int main(void)
{
    char *line = NULL;
    size_t size = 0;
    int failed = 0;
    ssize_t n;
    while (failed == 0 && (n = getline(&line, &size, stdin)) > 0) {
        tk_arena arena;
        const tk_json *root = NULL;
        tk_arena_init(&arena, 0);
        failed = tk_json_parse(&root, &arena, line, (size_t)n, NULL, NULL) != TINKC_OK ||
                 answer(root) != 0;
        tk_arena_dispose(&arena);
    }
    free(line);
    if (failed != 0) {
        fprintf(stderr, "a line cannot be answered\n");
    }
    return failed;
}
