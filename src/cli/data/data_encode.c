/* A template may take content as text or as parts, and the arguments of a tool call as an
 * object or as text. Nothing says which, so the forms are tried in turn, the usual one
 * first. What a template leaves out without an error is noticed in the text that it made.
 * Needs: text */
#include "cli/data/data_encode.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "cli/data/data_form.h"

#define NO_WEIGHT "no token has a weight"

typedef struct encoding {
    const data_encoder *encoder;
    const data_example *example;
    data_tokens *out;
    char *problem; /* [DATA_PROBLEM_BYTES] */
    tk_err *err;
} encoding;

#define REFUSE(e, ...) (void)snprintf((e)->problem, DATA_PROBLEM_BYTES, __VA_ARGS__)

/* Makes a failed call of the library a problem of the example, unless memory ran out. */
static tinkc_code refuse_error(encoding *e, tinkc_error **error)
{
    tinkc_code code = tinkc_error_code(*error);
    if (code == TINKC_E_NOMEM || *error == NULL) {
        tinkc_error_free(error);
        return tk_err_nomem(e->err);
    }
    REFUSE(e, "%s", tinkc_error_message(*error));
    tinkc_error_free(error);
    return TINKC_OK;
}

/* ---- conversations ---- */

/* Returns the weight of a part of a message ("weight": 0 leaves a turn out). */
static float weigh(const tinkc_chat_part *part, void *user)
{
    const encoding *e = user;
    double weight = 1;
    if (part->message >= 0) {
        const tk_json message = tk_json_at(e->example->messages, (size_t)part->message);
        const tk_json *own = tk_json_get(&message, "weight");
        (void)(own != NULL && tk_json_to_double(own, &weight));
        weight = (size_t)part->message < e->example->given ? 0 : weight;
    }
    return part->is_trained ? (float)weight : 0.0F;
}

/* Checks that the weights of the messages are numbers of 0 or more. */
static bool check_weights(encoding *e)
{
    for (size_t i = 0; i < tk_json_len(e->example->messages); i++) {
        const tk_json message = tk_json_at(e->example->messages, i);
        const tk_json *own = tk_json_get(&message, "weight");
        double weight = 0;
        if (own != NULL && own->type != TK_JSON_NULL &&
            (!tk_json_to_double(own, &weight) || !isfinite(weight) || weight < 0 ||
             weight > (double)1e6F)) {
            REFUSE(e, "message %zu: \"weight\" is not a number of 0 or more", i);
            return false;
        }
    }
    return true;
}

static tinkc_code take_rendered(encoding *e, const tinkc_rendered *rendered)
{
    size_t n = 0;
    const int32_t *tokens = tinkc_rendered_tokens(&n, rendered);
    const float *weights = tinkc_rendered_weights(NULL, rendered);
    e->out->ids = tk_memdup(tokens, n * sizeof(*tokens));
    e->out->weights = tk_memdup(weights, n * sizeof(*weights));
    e->out->n = n;
    for (size_t i = 0; tinkc_rendered_warning(rendered, i) != NULL; i++) {
        const char *text = tinkc_rendered_warning(rendered, i);
        if (strncmp(text, NO_WEIGHT, strlen(NO_WEIGHT)) != 0) { /* a problem, below */
            e->encoder->warn(e->encoder->user, text);
        }
    }
    return e->out->ids != NULL && e->out->weights != NULL ? TINKC_OK
                                                          : tk_err_nomem(e->err);
}

/* Renders the conversation in one form. */
static tinkc_code render(encoding *e, data_form form, tinkc_rendered **out,
                         tinkc_error **error)
{
    tinkc_chat *chat = NULL;
    tinkc_train_options options = TINKC_TRAIN_OPTIONS_INIT;
    tk_buf json;
    options.loss_on = e->encoder->loss_on;
    options.weigh = weigh;
    options.user = e;
    tk_buf_init(&json, 8 * TK_DATA_RECORD_BYTES);
    tinkc_code code = data_form_write(&json, e->example, form);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_chat_new(&chat, error);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_chat_add_json(chat, json.p, json.n, error);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_chat_tokens(out, e->encoder->tpl, chat, e->encoder->tokenizer, &options,
                             error);
out:
    tk_buf_dispose(&json);
    tinkc_chat_free(&chat);
    return code;
}

/* Says what a template cannot take, in place of the error that it ran into. */
static tinkc_code refuse_template(encoding *e, const data_features *has,
                                  tinkc_error **error)
{
    if (tinkc_error_code(*error) != TINKC_E_INVALID ||
        !(has->has_tools || has->has_parts)) {
        return refuse_error(e, error);
    }
    REFUSE(e, "the chat template of this model cannot take %s",
           has->has_tools ? "tools and tool calls" : "content in parts");
    tinkc_error_free(error);
    return TINKC_OK;
}

/* Returns what the template left out without an error; NULL: nothing. */
static const char *missing(const encoding *e, const tinkc_rendered *rendered)
{
    size_t n = 0;
    const char *text = tinkc_rendered_text(&n, rendered);
    const char *tools = data_form_missing(e->example, (tk_str){text, n});
    bool has_parts = data_form_has_parts(e->example, (tk_str){text, n});
    return tools != NULL ? tools : has_parts ? NULL : "";
}

static tinkc_code take_complete(encoding *e, const tinkc_rendered *rendered)
{
    const char *what = missing(e, rendered);
    if (what != NULL && what[0] != '\0') {
        REFUSE(e, "the chat template of this model leaves out %s", what);
        return TINKC_OK;
    }
    return take_rendered(e, rendered); /* it may leave out content on purpose */
}

/* Renders the conversation in the first form that the template takes completely, or else
 * in the first one that it takes. The error is that of the usual form. */
static tinkc_code render_any(encoding *e, const data_features *has, tinkc_rendered **out,
                             tinkc_error **error)
{
    tinkc_code code = render(e, DATA_FORM_USUAL, out, error);
    for (int form = 1; form < DATA_FORMS; form++) {
        tinkc_rendered *other = NULL;
        bool is_open =
            code == TINKC_E_INVALID || (code == TINKC_OK && missing(e, *out) != NULL);
        if (!is_open || ((form & DATA_FORM_PARTS) != 0 && !has->has_parts) ||
            ((form & DATA_FORM_TEXT_ARGS) != 0 && !has->has_tools)) {
            continue;
        }
        tinkc_code again = render(e, (data_form)form, &other, NULL);
        if (again == TINKC_E_NOMEM) {
            return again;
        }
        if (again == TINKC_OK && (code != TINKC_OK || missing(e, other) == NULL)) {
            tinkc_rendered_free(out);
            tinkc_error_free(error);
            *out = other;
            code = TINKC_OK;
        } else {
            tinkc_rendered_free(&other);
        }
    }
    return code;
}

static tinkc_code encode_chat(encoding *e)
{
    data_features has;
    tinkc_rendered *rendered = NULL;
    tinkc_error *error = NULL;
    if (e->encoder->tpl == NULL) {
        REFUSE(e, "a conversation, but the model has no chat template");
        return TINKC_OK;
    }
    if (!check_weights(e)) {
        return TINKC_OK;
    }
    data_form_features(&has, e->example);
    tinkc_code code = render_any(e, &has, &rendered, &error);
    if (code == TINKC_E_NOMEM) {
        tinkc_error_free(&error);
        code = tk_err_nomem(e->err);
    } else if (code == TINKC_OK) {
        code = take_complete(e, rendered);
    } else {
        code = refuse_template(e, &has, &error);
    }
    tinkc_rendered_free(&rendered);
    return code;
}

/* ---- prompts ---- */

/* Copies the tokens of an input, which is text. */
static tinkc_code take_input(encoding *e, const tinkc_model_input *input)
{
    size_t n = 0;
    (void)tinkc_model_input_tokens(NULL, 0, &n, input, NULL); /* asks for the number */
    e->out->ids = tk_array(n + 1, sizeof(*e->out->ids));
    e->out->weights = tk_array(n + 1, sizeof(*e->out->weights));
    if (e->out->ids == NULL || e->out->weights == NULL ||
        tinkc_model_input_tokens(e->out->ids, n, &e->out->n, input, NULL) != TINKC_OK) {
        return tk_err_nomem(e->err);
    }
    memset(e->out->weights, 0, n * sizeof(*e->out->weights));
    return TINKC_OK;
}

static tinkc_code encode_question(encoding *e)
{
    tinkc_chat *chat = NULL;
    tinkc_model_input *input = NULL;
    tinkc_error *error = NULL;
    tk_buf json;
    if (e->encoder->tpl == NULL) {
        REFUSE(e, "a conversation, but the model has no chat template");
        return TINKC_OK;
    }
    tk_buf_init(&json, 8 * TK_DATA_RECORD_BYTES);
    tinkc_code code = data_form_write(&json, e->example, DATA_FORM_USUAL);
    if (code != TINKC_OK) {
        code = tk_err_nomem(e->err);
        goto out;
    }
    if (tinkc_chat_new(&chat, &error) != TINKC_OK ||
        tinkc_chat_add_json(chat, json.p, json.n, &error) != TINKC_OK ||
        tinkc_chat_prompt(&input, e->encoder->tpl, chat, e->encoder->tokenizer, NULL,
                          &error) != TINKC_OK) {
        code = refuse_error(e, &error);
        goto out;
    }
    code = take_input(e, input);
out:
    tk_buf_dispose(&json);
    tinkc_chat_free(&chat);
    tinkc_model_input_free(&input);
    return code;
}

/* ---- texts ---- */

int32_t data_encode_end(const tinkc_tokenizer *tokenizer)
{
    const char *token = tinkc_tokenizer_special(tokenizer, "eos_token");
    return token != NULL ? tinkc_tokenizer_id(tokenizer, token) : -1;
}

/* Joins the tokens of the prompt and of the completion, which are encoded separately, as
 * they are when the model is used, and adds the end of the text unless it is -1. */
static tinkc_code join(encoding *e, const tinkc_encoding *prompt,
                       const tinkc_encoding *completion, int32_t end)
{
    size_t n_prompt = 0, n_completion = 0;
    const int32_t *p = tinkc_encoding_ids(&n_prompt, prompt);
    const int32_t *c = tinkc_encoding_ids(&n_completion, completion);
    if (n_prompt > 0 && p[n_prompt - 1] == data_encode_end(e->encoder->tokenizer)) {
        n_prompt--; /* some tokenizers end every text, but the completion follows */
    }
    size_t n = n_prompt + n_completion + (end >= 0 ? 1 : 0);
    int32_t *ids = tk_array(n, sizeof(*ids));
    float *weights = tk_array(n, sizeof(*weights));
    *e->out = (data_tokens){ids, weights, n};
    if (ids == NULL || weights == NULL) {
        return tk_err_nomem(e->err);
    }
    if (n_prompt > 0) {
        memcpy(ids, p, n_prompt * sizeof(*p));
    }
    if (n_completion > 0) {
        memcpy(ids + n_prompt, c, n_completion * sizeof(*c));
    }
    if (end >= 0) {
        ids[n - 1] = end;
    }
    for (size_t i = 0; i < n; i++) {
        weights[i] = i < n_prompt ? 0.0F : 1.0F;
    }
    return TINKC_OK;
}

/* Encodes a prompt, with what the tokenizer puts before a text, and what follows it. */
static tinkc_code encode_pair(encoding *e, tk_str prompt, bool is_first, tk_str rest,
                              int32_t end)
{
    tinkc_encode_options first = TINKC_ENCODE_OPTIONS_INIT;
    tinkc_encoding *before = NULL, *after = NULL;
    tinkc_error *error = NULL;
    tinkc_code code;
    const tinkc_tokenizer *tokenizer = e->encoder->tokenizer;
    first.add_special_tokens = is_first;
    if (tinkc_tokenizer_encode(&before, tokenizer, prompt.n > 0 ? prompt.p : "", prompt.n,
                               &first, &error) != TINKC_OK ||
        tinkc_tokenizer_encode(&after, tokenizer, rest.n > 0 ? rest.p : "", rest.n, NULL,
                               &error) != TINKC_OK) {
        code = refuse_error(e, &error);
    } else {
        code = join(e, before, after, end);
    }
    tinkc_encoding_free(&before);
    tinkc_encoding_free(&after);
    return code;
}

/* ---- the interface ---- */

tinkc_code data_encode(data_tokens *out, char problem[DATA_PROBLEM_BYTES],
                       const data_encoder *encoder, const data_example *example,
                       tk_err *err)
{
    encoding e = {encoder, example, out, problem, err};
    tinkc_code code;
    memset(out, 0, sizeof(*out));
    problem[0] = '\0';
    if (example->messages != NULL) {
        code = encode_chat(&e);
    } else {
        code = encode_pair(&e, example->prompt, true, example->completion,
                           data_encode_end(encoder->tokenizer));
    }
    if (code != TINKC_OK) {
        data_tokens_dispose(out);
    }
    return code;
}

tinkc_code data_encode_prompt(data_tokens *out, char problem[DATA_PROBLEM_BYTES],
                              const data_encoder *encoder, const data_example *example,
                              tk_err *err)
{
    encoding e = {encoder, example, out, problem, err};
    memset(out, 0, sizeof(*out));
    problem[0] = '\0';
    tinkc_code code = example->messages != NULL
                          ? encode_question(&e)
                          : encode_pair(&e, example->prompt, true, (tk_str){"", 0}, -1);
    for (size_t i = 0; i < out->n; i++) {
        out->weights[i] = 0;
    }
    if (code != TINKC_OK) {
        data_tokens_dispose(out);
    }
    return code;
}

tinkc_code data_encode_piece(data_tokens *out, char problem[DATA_PROBLEM_BYTES],
                             const data_encoder *encoder, tk_str text, bool is_first,
                             tk_err *err)
{
    encoding e = {encoder, NULL, out, problem, err};
    memset(out, 0, sizeof(*out));
    problem[0] = '\0';
    tinkc_code code = encode_pair(&e, (tk_str){NULL, 0}, is_first, text, -1);
    if (code != TINKC_OK) {
        data_tokens_dispose(out);
    }
    return code;
}

void data_tokens_dispose(data_tokens *tokens)
{
    tk_free(tokens->ids);
    tk_free(tokens->weights);
    memset(tokens, 0, sizeof(*tokens));
}
