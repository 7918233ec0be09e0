/* From the options of a command to a sampling client, its tokenizer, its chat template
 * and its parameters.
 * Needs: text */
#include "cli/frame/cmd_model.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_resolve.h"
#include "cli/frame/cmd_rest.h"
#include "cli/frame/cmd_served.h"
#include "cli/frame/cmd_service.h"

#define DEFAULT_MAX_TOKENS 256

/* ---- options ---- */

static int read_params(cmd_model *model, const cmd_args *args)
{
    tinkc_sampling_params *p = &model->params;
    size_t stops = cmd_count(args, "stop");
    tinkc_error *error = NULL;
    int64_t seed = cmd_int(args, "seed", 0);
    *p = (tinkc_sampling_params)TINKC_SAMPLING_PARAMS_INIT;
    p->max_tokens = cmd_int(args, "max-tokens", DEFAULT_MAX_TOKENS);
    p->temperature = cmd_number(args, "temperature", 1);
    p->top_p = cmd_number(args, "top-p", 1);
    p->top_k = cmd_int(args, "top-k", -1);
    p->has_seed = cmd_has(args, "seed");
    p->seed = (uint64_t)seed;
    if (stops > CMD_MODEL_STOPS_MAX || seed < 0) {
        return cmd_bad_usage(
            args, "--seed must be 0 or more, and --stop may be given at most %d times.",
            CMD_MODEL_STOPS_MAX);
    }
    for (size_t i = 0; i < stops; i++) {
        model->stops[i] = cmd_at(args, "stop", i);
    }
    p->stop_texts = stops > 0 ? model->stops : NULL;
    p->stop_texts_n = stops;
    if (stops == 0 && cmd_has(args, "ignore-end")) {
        p->stop_tokens = &model->end; /* none of them: servers stop at theirs otherwise */
    }
    return tinkc_sampling_params_check(p, &error) == TINKC_OK
               ? CMD_OK
               : cmd_bad_value(args, &error);
}

/* ---- opening ---- */

/* --tokenizer, or a --model that is a directory here, names it; otherwise the server says
 * which model it is. */
static tinkc_code find_tokenizer(cmd_model *model, const cmd_args *args,
                                 const char *typed, tinkc_error **error)
{
    tinkc_tokenizer_options options = TINKC_TOKENIZER_OPTIONS_INIT;
    options.tokenizer_id = cmd_text(args, "tokenizer", NULL);
    if (options.tokenizer_id == NULL && cmd_resolve_is_directory(typed) &&
        tinkc_tokenizer_load(&model->tokenizer, typed, NULL) == TINKC_OK) {
        return TINKC_OK;
    }
    return tinkc_sampling_get_tokenizer(&model->tokenizer, model->sampling, &options,
                                        error);
}

static int open_tokenizer(cmd_model *model, const cmd_args *args, const char *typed,
                          bool needs_text)
{
    tinkc_error *error = NULL;
    bool is_named = cmd_has(args, "tokenizer");
    tinkc_code code = find_tokenizer(model, args, typed, &error);
    if (code != TINKC_OK) {
        int result = needs_text || is_named ? cmd_fail_error(&error, NULL) : CMD_OK;
        tinkc_error_free(&error);
        return result;
    }
    model->end = tinkc_tokenizer_end(model->tokenizer);
    if (model->params.stop_texts_n == 0 && model->end >= 0 &&
        !cmd_has(args, "ignore-end")) {
        model->params.stop_tokens = &model->end;
        model->params.stop_tokens_n = 1;
    }
    code = tinkc_chat_template_of(&model->tpl, model->tokenizer, NULL, &error);
    int result = CMD_OK;
    if (code != TINKC_OK && code != TINKC_E_MISSING) {
        result = cmd_fail_error(&error, "Cannot use the chat template of the model");
    }
    tinkc_error_free(&error);
    return result;
}

/* Opens what `typed` means (NULL: the only model) with a service that is open. */
static int open_typed(cmd_model *model, const cmd_args *args, const char *typed,
                      bool needs_text)
{
    tinkc_error *error = NULL;
    int result = cmd_resolve(&model->name, model->service, args, typed, CMD_MODEL);
    if (result != CMD_OK) {
        return result;
    }
    const char *name = model->name;
    bool is_path = cmd_rest_scheme(name) > 0;
    if (tinkc_service_create_sampling_wait(&model->sampling, model->service,
                                           is_path ? NULL : name, is_path ? name : NULL,
                                           &error) != TINKC_OK) {
        return cmd_served_fail(model->service, name, CMD_MODEL, &error);
    }
    return open_tokenizer(model, args, typed, needs_text);
}

/* Frees everything but the service. */
static void dispose(cmd_model *model)
{
    tinkc_chat_template_free(&model->tpl);
    tinkc_tokenizer_free(&model->tokenizer);
    tinkc_sampling_close(&model->sampling);
    tk_free(model->name);
    model->name = NULL;
}

int cmd_model_open(cmd_model *model, const cmd_args *args, bool needs_text)
{
    memset(model, 0, sizeof(*model));
    model->end = -1;
    int result = read_params(model, args);
    if (result == CMD_OK) {
        result = cmd_service_open(&model->service, args, CMD_BRIEF);
    }
    return result == CMD_OK
               ? open_typed(model, args, cmd_text(args, "model", NULL), needs_text)
               : result;
}

int cmd_model_switch(cmd_model *model, const cmd_args *args, const char *typed,
                     int (*check)(const cmd_model *model))
{
    cmd_model next = {.service = model->service, .end = -1};
    int result = read_params(&next, args);
    if (result == CMD_OK) {
        result = open_typed(&next, args, typed, true);
    }
    if (result == CMD_OK) {
        result = check(&next);
    }
    if (result != CMD_OK) {
        dispose(&next);
        return result;
    }
    bool stops_at_end = next.params.stop_tokens == &next.end;
    bool stops_at_texts = next.params.stop_texts == next.stops;
    dispose(model);
    *model = next;
    model->params.stop_tokens = stops_at_end ? &model->end : NULL;
    model->params.stop_texts = stops_at_texts ? model->stops : NULL;
    return CMD_OK;
}

void cmd_model_close(cmd_model *model, int result)
{
    dispose(model);
    if (model->service != NULL) {
        cmd_service_end(&model->service, result);
    }
}

/* ---- conversations ---- */

int cmd_model_need_template(const cmd_model *model)
{
    return model->tpl != NULL
               ? CMD_OK
               : cmd_fail("the model has no chat template: it can complete "
                          "text, but not hold a conversation");
}

tinkc_code cmd_model_render(tinkc_model_input **out, cmd_model *model,
                            const tinkc_chat *chat, tinkc_error **error)
{
    tinkc_chat_options options = TINKC_CHAT_OPTIONS_INIT;
    options.add_generation_prompt = true;
    char *text = NULL;
    size_t n = 0;
    tinkc_encoding *ids = NULL;
    tinkc_code code = tinkc_chat_render(&text, &n, model->tpl, chat, &options, error);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_tokenizer_encode(&ids, model->tokenizer, text, n, NULL, error);
    if (code != TINKC_OK) {
        goto out;
    }
    const int32_t *tokens = tinkc_encoding_ids(&n, ids);
    code = tinkc_model_input_from_tokens(out, tokens, n, error);
out:
    tinkc_encoding_free(&ids);
    tinkc_text_free(&text);
    return code;
}

/* ---- text ---- */

char *cmd_model_decode(const cmd_model *model, const int32_t *tokens, size_t n,
                       size_t *n_out)
{
    tinkc_decode what = TINKC_DECODE_INIT;
    char *text = NULL;
    what.ids = tokens;
    what.ids_n = n;
    what.skip_special = true;
    if (model->tokenizer == NULL ||
        tinkc_tokenizer_decode(&text, n_out, model->tokenizer, &what, NULL) != TINKC_OK) {
        return NULL;
    }
    return text;
}

bool cmd_model_put(const char *text, size_t n)
{
    cmd_print_bytes(text, n);
    return fflush(stdout) == 0 && ferror(stdout) == 0;
}
