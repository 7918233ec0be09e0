/* Reads prompts. A file may hold text, tokens or messages: what parses as JSON and has
 * the shape of tokens or messages is taken as such, unless --text is given.
 * Needs: text */
#include "cli/commands/cmd_prompt.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "cli/frame/cmd_text.h"

/* ---- tokens ---- */

static bool copy_ints(cmd_prompt *prompt, const tk_json *ints)
{
    prompt->tokens = tk_array(ints->as.ints.n, sizeof(*prompt->tokens));
    for (size_t i = 0; prompt->tokens != NULL && i < ints->as.ints.n; i++) {
        if (ints->as.ints.items[i] < 0 || ints->as.ints.items[i] > INT32_MAX) {
            return false;
        }
        prompt->tokens[prompt->tokens_n++] = (int32_t)ints->as.ints.items[i];
    }
    return prompt->tokens_n > 0;
}

/* ---- conversations ---- */

static int make_chat(cmd_prompt *prompt, const cmd_args *args)
{
    tinkc_error *error = NULL;
    const char *system = cmd_text(args, "system", NULL);
    prompt->kind = CMD_PROMPT_CHAT;
    if (tinkc_chat_new(&prompt->chat, &error) != TINKC_OK ||
        (system != NULL &&
         tinkc_chat_add(prompt->chat, "system", system, &error) != TINKC_OK)) {
        return cmd_fail_error(&error, NULL);
    }
    return CMD_OK;
}

static int read_messages(cmd_prompt *prompt, const cmd_args *args)
{
    tinkc_error *error = NULL;
    int result = make_chat(prompt, args);
    if (result == CMD_OK && tinkc_chat_add_json(prompt->chat, prompt->text,
                                                prompt->text_n, &error) != TINKC_OK) {
        result = cmd_fail_input(&error, "Invalid messages");
    }
    return result;
}

static int read_turn(cmd_prompt *prompt, const cmd_args *args)
{
    tinkc_error *error = NULL;
    if (memchr(prompt->text, '\0', prompt->text_n) != NULL) {
        return cmd_fail("the prompt is not text: it has a NUL byte");
    }
    int result = make_chat(prompt, args);
    if (result == CMD_OK &&
        tinkc_chat_add(prompt->chat, "user", prompt->text, &error) != TINKC_OK) {
        result = cmd_fail_error(&error, NULL);
    }
    return result;
}

/* ---- which of them ---- */

/* Takes the input as a list of tokens, {"tokens": [...]}, messages, or plain text. */
static int look_inside(cmd_prompt *prompt, const cmd_args *args)
{
    tk_arena arena;
    const tk_json *json = NULL;
    int result = CMD_OK;
    bool is_json = false, is_good = true;
    tk_arena_init(&arena, 0);
    if (!cmd_has(args, "text")) {
        is_json = tk_json_parse(&json, &arena, prompt->text, prompt->text_n, NULL,
                                NULL) == TINKC_OK;
    }
    const tk_json *tokens = is_json ? tk_json_get(json, "tokens") : NULL;
    const tk_json *messages = is_json ? tk_json_get(json, "messages") : NULL;
    tokens = is_json && json->type == TK_JSON_INTS ? json : tokens;
    messages =
        is_json && json->type == TK_JSON_ARRAY && tk_json_len(json) > 0 ? json : messages;
    if (tokens != NULL) {
        prompt->kind = CMD_PROMPT_TOKENS;
        is_good = tokens->type == TK_JSON_INTS && copy_ints(prompt, tokens);
    } else if (messages != NULL) {
        result = read_messages(prompt, args);
    } else if (cmd_has(args, "chat") || cmd_has(args, "system")) {
        result = read_turn(prompt, args);
    }
    tk_arena_dispose(&arena);
    return is_good ? result : cmd_fail("the tokens of the prompt are not a list of ids");
}

static int read_all(cmd_prompt *prompt, const char *path)
{
    tk_buf buf;
    tk_buf_init(&buf, CMD_TEXT_MAX_BYTES);
    bool ok = cmd_text_read(&buf, path) && tk_buf_cstr(&buf) != NULL;
    if (ok) {
        prompt->text_n = buf.n;
        prompt->text = tk_strndup(buf.p, buf.n);
    }
    tk_buf_dispose(&buf);
    return !ok ? CMD_FAILED : prompt->text != NULL ? CMD_OK : cmd_fail("out of memory");
}

int cmd_prompt_read(cmd_prompt *prompt, const cmd_args *args)
{
    const char *text = cmd_operand(args, 0);
    const char *tokens = cmd_text(args, "tokens", NULL);
    const char *messages = cmd_text(args, "messages", NULL);
    const char *file = cmd_text(args, "file", NULL);
    int given = (text != NULL) + (tokens != NULL) + (messages != NULL) + (file != NULL);
    memset(prompt, 0, sizeof(*prompt));
    if (given > 1) {
        return cmd_bad_usage(args, "Give one prompt: as an argument, or with --file, "
                                   "--tokens or --messages.");
    }
    if (tokens != NULL) {
        prompt->kind = CMD_PROMPT_TOKENS;
        tk_str bad;
        return cmd_text_ids(&prompt->tokens, &prompt->tokens_n, &bad,
                            tk_str_of(tokens)) &&
                       prompt->tokens_n > 0
                   ? CMD_OK
                   : cmd_bad_usage(args, "Invalid value for '--tokens': not a list of "
                                         "ids.");
    }
    if (text == NULL) {
        int result = read_all(prompt, messages != NULL ? messages : file);
        if (result != CMD_OK) {
            return result;
        }
        return messages != NULL ? read_messages(prompt, args) : look_inside(prompt, args);
    }
    prompt->text_n = strlen(text);
    prompt->text = tk_strdup(text);
    if (prompt->text == NULL) {
        return cmd_fail("out of memory");
    }
    bool is_turn = cmd_has(args, "chat") || cmd_has(args, "system");
    return is_turn ? read_turn(prompt, args) : CMD_OK;
}

void cmd_prompt_dispose(cmd_prompt *prompt)
{
    tk_free(prompt->text);
    tk_free(prompt->tokens);
    tinkc_chat_free(&prompt->chat);
}

/* ---- encoding ---- */

static tinkc_code encode_text(tinkc_model_input **out, const cmd_prompt *prompt,
                              const cmd_model *model, tinkc_error **error)
{
    tinkc_encode_options options = TINKC_ENCODE_OPTIONS_INIT;
    tinkc_encoding *ids = NULL;
    size_t n = 0;
    options.add_special_tokens = true;
    tinkc_code code = tinkc_tokenizer_encode(&ids, model->tokenizer, prompt->text,
                                             prompt->text_n, &options, error);
    if (code == TINKC_OK) {
        const int32_t *tokens = tinkc_encoding_ids(&n, ids);
        code = tinkc_model_input_from_tokens(out, tokens, n, error);
    }
    tinkc_encoding_free(&ids);
    return code;
}

int cmd_prompt_encode(tinkc_model_input **out, const cmd_prompt *prompt, cmd_model *model)
{
    tinkc_error *error = NULL;
    tinkc_code code = TINKC_OK;
    switch (prompt->kind) {
    case CMD_PROMPT_TOKENS:
        code =
            tinkc_model_input_from_tokens(out, prompt->tokens, prompt->tokens_n, &error);
        break;
    case CMD_PROMPT_CHAT:
        if (cmd_model_need_template(model) != CMD_OK) {
            return CMD_FAILED;
        }
        code = cmd_model_render(out, model, prompt->chat, &error);
        break;
    case CMD_PROMPT_TEXT:
        code = encode_text(out, prompt, model, &error);
        break;
    }
    return code == TINKC_OK ? CMD_OK : cmd_fail_error(&error, "Cannot encode the prompt");
}
