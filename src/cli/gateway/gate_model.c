/* Models of a Tinker server: sampling client, tokenizer, template, tokens that end an
 * answer.
 * Needs: text server */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/gateway/gate.h"
#include "client/values/tokenizer.h"

/* Tokens that end a turn beside the tokenizer's own. */
static const struct {
    ca_tools tools;
    const char *token;
} turn_ends[] = {
    {CA_TOOLS_LLAMA3, "<|eot_id|>"},
    {CA_TOOLS_LLAMA3, "<|eom_id|>"},
    {CA_TOOLS_HARMONY, "<|return|>"},
    {CA_TOOLS_HARMONY, "<|call|>"},
};

bool gate_model_blame(ca_fault *fault, tinkc_error **error)
{
    tinkc_code code = tinkc_error_code(*error);
    bool is_missing = code == TINKC_E_NOT_FOUND || code == TINKC_E_MISSING;
    bool is_wrong = code == TINKC_E_INVALID || code == TINKC_E_BAD_REQUEST ||
                    code == TINKC_E_UNPROCESSABLE || code == TINKC_E_LIMIT ||
                    code == TINKC_E_UNSUPPORTED;
    *fault = (ca_fault){.err = TK_ERR_INIT};
    fault->status = is_missing                   ? 404
                    : is_wrong                   ? 400
                    : code == TINKC_E_RATE_LIMIT ? 429
                    : code == TINKC_E_CANCELLED  ? 499
                    : code == TINKC_E_NOMEM      ? 500
                                                 : 502;
    (void)tk_err_set(&fault->err, code, "%s%s",
                     fault->status == 502 ? "the Tinker server: " : "",
                     tinkc_error_message(*error));
    tinkc_error_free(error);
    return false;
}

static bool blame(ca_fault *fault, const tk_err *err)
{
    *fault = (ca_fault){.status = err->code == TINKC_E_NOMEM ? 500 : 400, .err = *err};
    return false;
}

static void free_model(gw_model *model)
{
    gate_sampler *s = model->sampler;
    if (s != NULL) {
        tinkc_tokenizer_free(&s->tokenizer); /* model->tok is the same */
        tinkc_sampling_close(&s->sampling);
    }
    tk_free(s);
    tk_chat_template_free(model->tpl);
    tk_free(model->end_ids);
    tk_free(model->name);
    tk_free(model->weights);
    tk_free(model);
}

/* A model without a template can complete, but not chat. */
static tinkc_code open_template(gw_model *model, const gate_config *config, tk_err *err)
{
    const tk_tok_config *from = tk_tok_get_config(model->tok);
    tk_str source = tk_tok_config_template(from, "default");
    tk_err why = TK_ERR_INIT;
    tinkc_code code =
        config->template_file != NULL
            ? tk_chat_template_load(&model->tpl, config->template_file, NULL, err)
            : tk_chat_template_of(&model->tpl, from, NULL, &why);
    if (code != TINKC_OK && config->template_file == NULL) {
        code = code == TINKC_E_NOMEM ? tk_err_nomem(err) : TINKC_OK;
    }
    model->format = ca_format_detect(source);
    if (code == TINKC_OK && config->tool_format != NULL &&
        !ca_format_named(&model->format, tk_str_of(config->tool_format))) {
        code = tk_err_set(err, TINKC_E_INVALID, "the tool format must be one of %s",
                          ca_format_names());
    }
    return code;
}

static void add_end(gw_model *model, int32_t id)
{
    for (size_t i = 0; i < model->n_end_ids; i++) {
        if (model->end_ids[i] == id) {
            return;
        }
    }
    if (id >= 0) {
        model->end_ids[model->n_end_ids++] = id;
    }
}

static tinkc_code find_ends(gw_model *model, tk_err *err)
{
    const gate_sampler *s = model->sampler;
    model->end_ids = tk_array(1 + TK_ARRAY_LEN(turn_ends), sizeof(*model->end_ids));
    if (model->end_ids == NULL) {
        return tk_err_nomem(err);
    }
    add_end(model, tinkc_tokenizer_end(s->tokenizer));
    for (size_t i = 0; i < TK_ARRAY_LEN(turn_ends); i++) {
        if (turn_ends[i].tools == model->format.tools) {
            add_end(model, tk_tok_id(model->tok, tk_str_of(turn_ends[i].token)));
        }
    }
    return TINKC_OK;
}

/* Finds how many tokens the model takes; 0 = the server does not say. */
static size_t find_context(const gate *g, const char *base)
{
    for (size_t i = 0; base != NULL && i < tinkc_capabilities_count(g->capabilities);
         i++) {
        const char *name = tinkc_capabilities_name(g->capabilities, i);
        int64_t context = tinkc_capabilities_context(g->capabilities, i);
        if (name != NULL && strcmp(name, base) == 0 && context > 0) {
            return (size_t)context;
        }
    }
    return 0;
}

/* What needs no request. */
static bool fill(gw_model *model, const gate *g, ca_fault *fault)
{
    const gate_sampler *s = model->sampler;
    tk_err err = TK_ERR_INIT;
    model->tok = tk_tokenizer_tok(s->tokenizer);
    tinkc_code code = open_template(model, &g->config, &err);
    if (code == TINKC_OK) {
        code = find_ends(model, &err);
    }
    return code == TINKC_OK || blame(fault, &err);
}

static bool open_sampling(gate_sampler *s, const gate *g, const char *name,
                          size_t *context, ca_fault *fault)
{
    tinkc_error *error = NULL;
    char *base = NULL;
    bool is_path = strstr(name, "://") != NULL;
    bool is_given = s->sampling != NULL;
    if ((!is_given && tinkc_service_create_sampling_wait(
                          &s->sampling, g->config.service, is_path ? NULL : name,
                          is_path ? name : NULL, &error) != TINKC_OK) ||
        tinkc_sampling_get_tokenizer(&s->tokenizer, s->sampling, NULL, &error) !=
            TINKC_OK) {
        return gate_model_blame(fault, &error);
    }
    if (is_path &&
        tinkc_sampling_get_base_model_wait(&base, s->sampling, &error) != TINKC_OK) {
        tinkc_error_free(&error); /* only the context stays unknown */
    }
    *context = find_context(g, is_path ? base : name);
    tinkc_text_free(&base);
    return true;
}

gw_model *gate_model_of(const gate *g, const char *name, const char *weights,
                        tinkc_sampling *sampling, ca_fault *fault)
{
    gw_model *model = tk_zalloc(sizeof(*model));
    gate_sampler *s = tk_zalloc(sizeof(*s));
    tk_err err = TK_ERR_INIT;
    if (model == NULL || s == NULL) {
        tk_free(model);
        tk_free(s);
        tinkc_sampling_close(&sampling);
        (void)tk_err_nomem(&err);
        (void)blame(fault, &err);
        return NULL;
    }
    atomic_init(&model->owners, 1);
    model->free = free_model;
    model->sampler = s;
    s->sampling = sampling;
    model->name = tk_strdup(name);
    model->weights = tk_strdup(weights);
    bool ok = model->name != NULL && model->weights != NULL;
    if (!ok) {
        (void)tk_err_nomem(&err);
        (void)blame(fault, &err);
    }
    if (!ok || !open_sampling(s, g, name, &model->context, fault) ||
        !fill(model, g, fault)) {
        gw_model_release(model);
        return NULL;
    }
    return model;
}

gw_model *gate_model_open(const gate *g, const char *name, ca_fault *fault)
{
    return gate_model_of(g, name, name, NULL, fault);
}
