/* The source of a template, rendered with a fixed conversation: it ends, in bounded
 * memory, with valid UTF-8 or an error that says something.
 * Links: text */
#include "base/json.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "text/jinja/jinja.h"

static const char data[] =
    "{\"messages\": [{\"role\": \"system\", \"content\": \"S\"}, {\"role\": \"user\", "
    "\"content\": [{\"type\": \"text\", \"text\": \"\\u00e9 <b>\"}]}, {\"role\": "
    "\"assistant\", \"content\": null, \"tool_calls\": [{\"function\": {\"name\": \"f\", "
    "\"arguments\": {\"x\": [1, 2.5, true]}}}]}], \"tools\": [{\"a\": {}}], \"s\": \"a b\\n\", "
    "\"i\": -3, \"f\": 2.5, \"n\": null, \"t\": true, \"add_generation_prompt\": true}";

int fuzz_record(const uint8_t *source, size_t size)
{
    tk_jinja *tpl = NULL;
    if (tk_jinja_parse(&tpl, (tk_str){(const char *)source, size}, NULL) != TINKC_OK) {
        return 0;
    }
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_json *root = NULL;
    tk_jinja_var vars[16];
    if (tk_json_parse(&root, &arena, data, sizeof(data) - 1, NULL, NULL) != TINKC_OK) {
        fuzz_fail("the data");
    }
    for (size_t i = 0; i < root->as.object.n; i++) {
        vars[i] = (tk_jinja_var){root->as.object.members[i].key,
                                 &root->as.object.members[i].value};
    }
    tk_buf out, spans;
    tk_buf_init(&out, 2 * TK_MIB);
    tk_buf_init(&spans, TK_MIB);
    tk_jinja_job job = {.vars = vars,
                        .n_vars = root->as.object.n,
                        .strict = size % 2 == 0,
                        .has_now = true,
                        .max_output_bytes = TK_MIB,
                        .max_memory_bytes = 8 * TK_MIB,
                        .max_steps = 50000,
                        .spans = &spans};
    tk_err err = TK_ERR_INIT;
    tinkc_code code = tk_jinja_render(&out, tpl, &job, &err);
    if (code == TINKC_OK && !tk_utf8_is_valid(tk_buf_str(&out))) {
        fuzz_fail("output is not UTF-8");
    }
    if (code != TINKC_OK && (err.message[0] == '\0' || code == TINKC_E_INTERNAL)) {
        fuzz_fail("an error without a reason");
    }
    if (code != TINKC_OK && (out.n != 0 || spans.n != 0)) {
        fuzz_fail("output of a failed render");
    }
    tk_buf_dispose(&out);
    tk_buf_dispose(&spans);
    tk_arena_dispose(&arena);
    tk_jinja_free(tpl);
    return 0;
}
