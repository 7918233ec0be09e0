/* `tinkc render`: a conversation as the model and training see it: as text, or as tokens
 * with their roles and weights.
 * Needs: text */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <tinkc/chat.h>
#include <tinkc/service.h>
#include <tinkc/tokenizer.h>

#include "cli/cmd_list.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_text.h"

typedef struct render {
    tinkc_chat_template *tpl;
    tinkc_tokenizer *tokenizer; /* NULL: only text can be shown */
    tinkc_chat *chat;
    tinkc_error *error;
} render;

static void render_dispose(render *r)
{
    tinkc_chat_template_free(&r->tpl);
    tinkc_tokenizer_free(&r->tokenizer);
    tinkc_chat_free(&r->chat);
}

/* ---- input ---- */

static bool has_tokenizer(const cmd_args *args)
{
    return cmd_has(args, "tokenizer") || cmd_has(args, "model");
}

static int open_template(render *r, const cmd_args *args)
{
    const char *path = cmd_text(args, "template", NULL);
    const char *name = cmd_text(args, "name", NULL);
    if (has_tokenizer(args)) {
        int result = cmd_text_tokenizer(&r->tokenizer, args);
        if (result != CMD_OK) {
            return result;
        }
    }
    tinkc_code code =
        path != NULL ? tinkc_chat_template_load(&r->tpl, path, name, &r->error)
                     : tinkc_chat_template_of(&r->tpl, r->tokenizer, name, &r->error);
    return code == TINKC_OK ? CMD_OK : cmd_fail_error(&r->error, NULL);
}

/* Sets NAME=JSON; a value that is not JSON is a string. */
static bool set_variable(render *r, const char *pair)
{
    const char *equals = strchr(pair, '=');
    tk_buf name, text;
    tk_buf_init(&name, TK_MIB);
    tk_buf_init(&text, TK_MIB);
    tk_buf_put(&name, pair, (size_t)(equals - pair));
    bool ok = tk_buf_cstr(&name) != NULL &&
              tinkc_chat_set(r->chat, name.p, equals + 1, &r->error) == TINKC_OK;
    if (!ok && r->error != NULL && tinkc_error_code(r->error) == TINKC_E_PARSE) {
        tinkc_error_free(&r->error);
        tk_buf_putc(&text, '"');
        for (const char *c = equals + 1; *c != '\0'; c++) {
            tk_buf_puts(&text, *c == '"' || *c == '\\' ? "\\" : "");
            tk_buf_putc(&text, *c);
        }
        tk_buf_putc(&text, '"');
        ok = tk_buf_cstr(&text) != NULL &&
             tinkc_chat_set(r->chat, name.p, text.p, &r->error) == TINKC_OK;
    }
    tk_buf_dispose(&name);
    tk_buf_dispose(&text);
    return ok;
}

static bool read_chat(render *r, const cmd_args *args)
{
    tk_buf json;
    tk_buf_init(&json, CMD_TEXT_MAX_BYTES);
    bool ok = cmd_text_read(&json, cmd_operand(args, 0)) &&
              tinkc_chat_new(&r->chat, &r->error) == TINKC_OK &&
              tinkc_chat_add_json(r->chat, json.p != NULL ? json.p : "", json.n,
                                  &r->error) == TINKC_OK;
    for (size_t i = 0; ok && i < cmd_count(args, "var"); i++) {
        ok = set_variable(r, cmd_at(args, "var", i));
    }
    tk_buf_dispose(&json);
    return ok;
}

/* ---- output ---- */

static int show_text(render *r, const cmd_args *args)
{
    tinkc_chat_options options = TINKC_CHAT_OPTIONS_INIT;
    options.add_generation_prompt = cmd_has(args, "generation-prompt");
    options.continue_final = cmd_has(args, "continue");
    options.strict = cmd_has(args, "strict");
    char *text = NULL;
    size_t n = 0;
    if (tinkc_chat_render(&text, &n, r->tpl, r->chat, &options, &r->error) != TINKC_OK) {
        return cmd_fail_error(&r->error, NULL);
    }
    if (cmd_wants_json(args)) {
        cmd_text_put_json(text, n);
        cmd_print(stdout, "\n");
    } else {
        cmd_print_bytes(text, n);
    }
    tinkc_text_free(&text);
    return CMD_OK;
}

static void show_tokens_json(const tinkc_rendered *rendered)
{
    size_t n = 0;
    const int32_t *ids = tinkc_rendered_tokens(&n, rendered);
    const float *weights = tinkc_rendered_weights(NULL, rendered);
    cmd_print(stdout, "{\"tokens\": [");
    for (size_t i = 0; i < n; i++) {
        cmd_print(stdout, "%s%" PRId32, i > 0 ? ", " : "", ids[i]);
    }
    cmd_print(stdout, "], \"weights\": [");
    for (size_t i = 0; i < n; i++) {
        cmd_print(stdout, "%s%d", i > 0 ? ", " : "", weights[i] > 0 ? 1 : 0);
    }
    cmd_print(stdout, "], \"parts\": [");
    tinkc_chat_part part;
    for (size_t i = 0; tinkc_rendered_part(&part, rendered, i); i++) {
        cmd_print(stdout,
                  "%s{\"begin\": %zu, \"end\": %zu, \"message\": %lld, \"role\": ",
                  i > 0 ? ", " : "", part.begin, part.end, (long long)part.message);
        cmd_text_put_json(part.role, strlen(part.role));
        cmd_print(stdout, ", \"content\": %s, \"trained\": %s}",
                  part.is_content ? "true" : "false", part.is_trained ? "true" : "false");
    }
    cmd_print(stdout, "]}\n");
}

static void show_token(const render *r, int32_t id, bool trained,
                       const tinkc_chat_part *part)
{
    tinkc_decode what = TINKC_DECODE_INIT;
    what.ids = &id;
    what.ids_n = 1;
    char *text = NULL;
    size_t n = 0;
    if (tinkc_tokenizer_decode(&text, &n, r->tokenizer, &what, NULL) != TINKC_OK) {
        text = NULL;
        n = 0;
    }
    cmd_print(stdout, "%8" PRId32 "  %c  %-10.10s %4lld  %-8s ", id, trained ? '#' : '.',
              part->role, (long long)part->message,
              part->is_content ? "content" : "template");
    cmd_text_put_visible(text, n);
    cmd_print(stdout, "\n");
    tinkc_text_free(&text);
}

static int show_tokens(render *r, const cmd_args *args)
{
    static const struct {
        const char *word;
        tinkc_loss_on loss_on;
    } losses[] = {{"assistant", TINKC_LOSS_ON_ASSISTANT},
                  {"last", TINKC_LOSS_ON_LAST},
                  {"all", TINKC_LOSS_ON_ALL}};
    tinkc_chat_options chat = TINKC_CHAT_OPTIONS_INIT;
    tinkc_train_options options = TINKC_TRAIN_OPTIONS_INIT;
    chat.strict = cmd_has(args, "strict");
    options.chat = &chat;
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(cmd_text(args, "loss-on", "assistant"), losses[i].word) == 0) {
            options.loss_on = losses[i].loss_on;
        }
    }
    tinkc_rendered *rendered = NULL;
    if (tinkc_chat_tokens(&rendered, r->tpl, r->chat, r->tokenizer, &options,
                          &r->error) != TINKC_OK) {
        return cmd_fail_error(&r->error, NULL);
    }
    size_t n = 0;
    const int32_t *ids = tinkc_rendered_tokens(&n, rendered);
    const float *weights = tinkc_rendered_weights(NULL, rendered);
    if (cmd_wants_json(args)) {
        show_tokens_json(rendered);
    } else {
        cmd_print(stdout, "%8s  %s  %-10s %4s  %-8s %s\n", "id", "w", "role", "msg",
                  "kind", "text");
        tinkc_chat_part part;
        for (size_t i = 0; tinkc_rendered_part(&part, rendered, i); i++) {
            for (size_t t = part.begin; t < part.end; t++) {
                show_token(r, ids[t], weights[t] > 0, &part);
            }
        }
    }
    for (size_t i = 0; tinkc_rendered_warning(rendered, i) != NULL; i++) {
        cmd_print(stderr, "Warning: %s\n", tinkc_rendered_warning(rendered, i));
    }
    tinkc_rendered_free(&rendered);
    return CMD_OK;
}

static int run(const cmd_args *args)
{
    bool wants_tokens = cmd_has(args, "tokens");
    if (!has_tokenizer(args) && (wants_tokens || !cmd_has(args, "template"))) {
        return cmd_bad_usage(args, wants_tokens
                                       ? "--tokens needs --tokenizer or --model."
                                       : "Missing option '--tokenizer', '--model' or "
                                         "'--template'.");
    }
    for (size_t i = 0; i < cmd_count(args, "var"); i++) {
        if (strchr(cmd_at(args, "var", i), '=') == NULL) {
            return cmd_bad_usage(args,
                                 "Invalid value for '--var': '%s' is not NAME=VALUE.",
                                 cmd_at(args, "var", i));
        }
    }
    render r = {.tpl = NULL};
    int code = open_template(&r, args);
    if (code == CMD_OK && read_chat(&r, args)) {
        code = wants_tokens ? show_tokens(&r, args) : show_text(&r, args);
    } else if (code == CMD_OK) {
        code =
            r.error != NULL ? cmd_fail_input(&r.error, "Invalid messages") : CMD_FAILED;
    }
    render_dispose(&r);
    return code;
}

static const cmd_option options[] = {
    CMD_TEXT_TOKENIZER,
    CMD_TEXT_MODEL,
    {"template", 0, CMD_TEXT, "PATH",
     "Use another template: *.jinja or tokenizer_config.json.", false},
    {"name", 0, CMD_TEXT, "NAME", "Name of the template, if there are several.", false},
    {"generation-prompt", 'g', CMD_FLAG, NULL,
     "End with the start of the assistant's turn.", false},
    {"continue", 0, CMD_FLAG, NULL, "Leave the last message open, to be continued.",
     false},
    {"tokens", 'k', CMD_FLAG, NULL, "Show tokens with role, message and weight.", false},
    {"loss-on", 0, CMD_CHOICE, "assistant|last|all",
     "With --tokens: what is trained (assistant).", false},
    {"var", 's', CMD_TEXT, "NAME=VALUE",
     "Set a variable of the template, as JSON or text.", true},
    {"strict", 0, CMD_FLAG, NULL, "Refuse everything that transformers refuses.", false},
    {0},
};

const cmd_spec cmd_render = {
    .name = "render",
    .operands = "[FILE]",
    .max_operands = 1,
    .help = "Show a conversation as the model reads it.",
    .more =
        "FILE (default: standard input) is JSON: an array of messages, or an object with\n"
        "\"messages\" and variables such as \"tools\". With --tokens, # marks trained "
        "tokens.",
    .options = options,
    .run = run,
};
