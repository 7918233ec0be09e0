/* Models and requests for the tests of the gateway: the embedded tokenizer with more
 * special tokens, a template, and conversations as JSON. */
#ifndef SUPPORT_GWFIX_H
#define SUPPORT_GWFIX_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/rand.h"
#include "chatapi/ca_parser.h"
#include "gateway/gw_episode.h"
#include "support/test.h"
#include "text/tok/tok_embed.h"

/* Ends of turns, and markers, of the templates that the tests use. */
static const char *const gwfix_specials[] = {"<|im_start|>",
                                             "<|im_end|>",
                                             "<|s|>",
                                             "<|e|>",
                                             "<|done|>",
                                             "<|stop|>",
                                             "<|turn|>",
                                             "<|head|>",
                                             "<|/head|>",
                                             "<|eot_id|>",
                                             "<|eom_id|>",
                                             "<end_of_turn>",
                                             "<start_of_turn>",
                                             "</s>",
                                             "<s>",
                                             "<|start_header_id|>",
                                             "<|end_header_id|>",
                                             "<|python_tag|>",
                                             "[TOOL_CALLS]",
                                             "<|begin_of_text|>",
                                             "<|END_OF_TURN_TOKEN|>",
                                             "<|return|>",
                                             "<|call|>",
                                             "<think>",
                                             "</think>",
                                             "<tool_call>",
                                             "</tool_call>",
                                             "<|channel|>",
                                             "<|message|>",
                                             "<|constrain|>",
                                             "<|start|>"};

#define GWFIX_IDS_FROM 2048 /* of those */

/* tokenizer.json with the special tokens added. The caller frees it. */
static inline char *gwfix_tokenizer_json(void)
{
    static const char mark[] = "\"added_tokens\": [";
    tk_str json, config;
    tk_buf out;
    assert_true(tk_tok_embed_find(&json, &config, TK_STR("tinkc/pebble-llama-2m")));
    tk_buf_init(&out, 16 * TK_MIB);
    const char *at = memmem(json.p, json.n, mark, sizeof(mark) - 1);
    assert_non_null(at);
    at += sizeof(mark) - 1;
    tk_buf_put(&out, json.p, (size_t)(at - json.p));
    for (size_t i = 0; i < TK_ARRAY_LEN(gwfix_specials); i++) {
        tk_buf_printf(&out,
                      "{\"id\": %zu, \"content\": \"%s\", \"single_word\": false, "
                      "\"lstrip\": false, \"rstrip\": false, \"normalized\": false, "
                      "\"special\": true},",
                      (size_t)GWFIX_IDS_FROM + i, gwfix_specials[i]);
    }
    tk_buf_put(&out, at, (size_t)(json.p + json.n - at));
    assert_non_null(tk_buf_cstr(&out));
    return out.p;
}

static const char gwfix_config[] =
    "{\"bos_token\": \"<|endoftext|>\", \"eos_token\": \"<|end|>\"}";

static inline void gwfix_model_free(gw_model *model)
{
    tk_free(model->name);
    tk_free(model->weights);
    tk_free(model->end_ids);
    tk_chat_template_free(model->tpl);
    tk_tok_free(model->tok);
    tk_free(model);
}

/* The special token that the template puts after an answer; -1 = none. */
static inline int32_t gwfix_end_of(const gw_model *model)
{
    tk_chat chat;
    tk_buf text;
    int32_t id = -1;
    tk_chat_how how = {.has_now = true};
    tk_chat_init(&chat);
    tk_buf_init(&text, TK_MIB);
    assert_int_equal(tk_chat_add(&chat, TK_STR("user"), TK_STR("q"), NULL), TINKC_OK);
    assert_int_equal(tk_chat_add(&chat, TK_STR("assistant"), TK_STR("zzAnswerzz"), NULL),
                     TINKC_OK);
    if (tk_chat_render(&text, model->tpl, &chat, &how, NULL) == TINKC_OK) {
        const char *at = memmem(text.p, text.n, "zzAnswerzz", 10);
        for (int32_t i = 0; at != NULL && i < (int32_t)tk_tok_size(model->tok); i++) {
            tk_str token = tk_tok_token(model->tok, i);
            if (tk_tok_is_special(model->tok, i) && token.n > 0 &&
                (size_t)(text.p + text.n - at - 10) >= token.n &&
                memcmp(at + 10, token.p, token.n) == 0) {
                id = i;
            }
        }
    }
    tk_buf_dispose(&text);
    tk_chat_dispose(&chat);
    return id;
}

/* NULL when the template cannot be parsed. */
static inline gw_model *gwfix_model_new(const char *json, tk_str source,
                                        const char *weights)
{
    gw_model *model = tk_zalloc(sizeof(*model));
    tk_err err = TK_ERR_INIT;
    assert_non_null(model);
    atomic_init(&model->owners, 1);
    model->free = gwfix_model_free;
    model->name = tk_strdup("model");
    model->weights = tk_strdup(weights);
    if (tk_tok_open_memory(&model->tok, tk_str_of(json), tk_str_of(gwfix_config), source,
                           &err) != TINKC_OK ||
        tk_chat_template_of(&model->tpl, tk_tok_get_config(model->tok), NULL, &err) !=
            TINKC_OK) {
        gwfix_model_free(model);
        return NULL;
    }
    model->format = ca_format_detect(source);
    if (model->format.tools == CA_TOOLS_NONE) { /* small templates say nothing of it */
        assert_true(ca_format_named(&model->format, TK_STR("hermes")));
    }
    if (model->format.think_open.n == 0) {
        model->format.think_open = TK_STR("<think>");
        model->format.think_close = TK_STR("</think>");
    }
    model->end_ids = tk_array(2, sizeof(*model->end_ids));
    model->end_ids[0] = gwfix_end_of(model);
    model->end_ids[1] = 0; /* <|endoftext|> */
    model->n_end_ids = 2;
    return model;
}

static const char gwfix_template[] =
    "{{ bos_token }}{% for message in messages %}{{ '<|' + message['role'] + '|>' + "
    "message['content'] + '<|end|>' }}{% endfor %}{% if add_generation_prompt %}{{ "
    "'<|assistant|>' }}{% endif %}";

/* A request with the messages of a JSON array. */
static inline bool gwfix_request(ca_request *out, tk_str messages)
{
    tk_err err = TK_ERR_INIT;
    *out = (ca_request){.dialect = CA_CHAT, .params = {.n = 1}};
    tk_arena_init(&out->arena, 0);
    tk_chat_init(&out->chat);
    return tk_chat_add_json(&out->chat, messages, &err) == TINKC_OK;
}

static inline void gwfix_request_dispose(ca_request *request)
{
    tk_chat_dispose(&request->chat);
    tk_arena_dispose(&request->arena);
}

/* What goes back for sampled ids, as the front of the gateway makes it. */
static inline tinkc_code gwfix_parse(ca_parser **out, const gw_model *model,
                                     const int32_t *ids, size_t n, bool with_tools)
{
    tk_err err = TK_ERR_INIT;
    tk_tok_stream stream;
    tk_buf piece;
    ca_parser_config config = {.format = model->format, .look_for_calls = with_tools};
    tinkc_code code = ca_parser_new(out, &config, &err);
    if (code != TINKC_OK) {
        return code;
    }
    tk_buf_init(&piece, TK_MIB);
    gw_plan_decode(&stream, model->tok, false);
    for (size_t i = 0; code == TINKC_OK && i <= n; i++) {
        bool is_special = i < n && tk_tok_is_special(model->tok, ids[i]);
        if (i == n || is_special) { /* what is held belongs to the text before it */
            tk_tok_stream_finish(&stream, &piece);
            stream.started = stream.text_begun = true;
            code = tk_buf_status(&piece, &err);
            if (code == TINKC_OK && piece.n > 0) {
                code = ca_parser_feed(*out, tk_buf_str(&piece), false, &err);
            }
            tk_buf_clear(&piece);
        }
        if (code == TINKC_OK && is_special) {
            code = ca_parser_feed(*out, tk_tok_token(model->tok, ids[i]), true, &err);
        } else if (i < n) {
            tk_tok_stream_push(&stream, &ids[i], 1, &piece);
        }
    }
    if (code == TINKC_OK) {
        code = ca_parser_finish(*out, &err);
    }
    tk_tok_stream_dispose(&stream);
    tk_buf_dispose(&piece);
    if (code != TINKC_OK) {
        ca_parser_free(*out);
        *out = NULL;
    }
    return code;
}

/* A fresh directory under the temporary one. */
static inline void gwfix_directory(char out[64])
{
    (void)snprintf(out, 64, "/tmp/tinkc-gw-XXXXXX");
    assert_non_null(mkdtemp(out));
}

static inline void gwfix_remove(const char *dir)
{
    static const char *const names[] = {"gateway.json", "lock"};
    char path[128];
    for (unsigned i = 0; i < 2000; i++) {
        (void)snprintf(path, sizeof(path), "%s/episodes-%08u.log", dir, i);
        (void)unlink(path);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(dir);
}

#endif
