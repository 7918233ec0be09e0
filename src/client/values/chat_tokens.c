/* <tinkc/chat.h>: a conversation's tokens with labels and weights, and the datum.
 * Needs: text */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "client/values/chat.h"
#include "client/values/error.h"
#include "client/values/tokenizer.h"
#include "client/values/types.h"

#define MAX_WARNINGS  16
#define WARNING_BYTES 200

struct tinkc_rendered {
    tk_chat_layout layout;
    tk_tok_ids ids;
    float *weights;
    tinkc_chat_part *parts; /* roles point into `roles` */
    size_t n_parts;
    tk_arena roles;
    size_t n_warnings;
    char warnings[MAX_WARNINGS][WARNING_BYTES];
};

static void warn(tinkc_rendered *r, const char *format, ...) TK_PRINTF(2, 3);

static void warn(tinkc_rendered *r, const char *format, ...)
{
    if (r->n_warnings < MAX_WARNINGS) {
        va_list list;
        va_start(list, format);
        (void)vsnprintf(r->warnings[r->n_warnings++], WARNING_BYTES, format, list);
        va_end(list);
    }
}

void tinkc_rendered_free(tinkc_rendered **rendered)
{
    if (rendered == NULL || *rendered == NULL) {
        return;
    }
    tinkc_rendered *r = *rendered;
    tk_chat_layout_dispose(&r->layout);
    tk_tok_ids_dispose(&r->ids);
    tk_arena_dispose(&r->roles);
    tk_free(r->weights);
    tk_free(r->parts);
    tk_free(r);
    *rendered = NULL;
}

/* ---- parts of tokens ---- */

/* A token belongs to the part in which its text begins. */
static void cut_tokens(tinkc_rendered *r)
{
    size_t token = 0;
    for (size_t i = 0; i < r->layout.n; i++) {
        const tk_chat_part *from = &r->layout.parts[i];
        tinkc_chat_part *part = &r->parts[r->n_parts];
        part->begin = token;
        bool is_last = i + 1 == r->layout.n;
        while (token < r->ids.n && (is_last || r->ids.offsets[2 * token] < from->end)) {
            bool crosses = !is_last && r->ids.offsets[2 * token + 1] > from->end;
            if (crosses && from->is_trained != r->layout.parts[i + 1].is_trained) {
                warn(r,
                     "token %zu crosses the border of what is trained (message %lld): it "
                     "counts as the text before it",
                     token, (long long)from->message);
            }
            token++;
        }
        part->end = token;
        part->message = from->message;
        part->is_content = from->is_content;
        part->is_trained = from->is_trained;
        r->n_parts += part->end > part->begin;
    }
}

static tinkc_code name_roles(tinkc_rendered *r, const tk_chat *chat, tk_err *err)
{
    for (size_t i = 0; i < r->n_parts; i++) {
        tinkc_chat_part *part = &r->parts[i];
        part->role = "";
        if (part->message >= 0) {
            tk_str role = tk_chat_role(chat, (size_t)part->message), copy;
            if (!tk_arena_dup(&r->roles, &copy, role.p, role.n)) {
                return tk_err_nomem(err);
            }
            part->role = copy.p;
        }
    }
    return TINKC_OK;
}

static void weigh(tinkc_rendered *r, const tinkc_train_options *options)
{
    for (size_t i = 0; i < r->n_parts; i++) {
        const tinkc_chat_part *part = &r->parts[i];
        float weight = part->is_trained ? 1.0F : 0.0F;
        if (options->weigh != NULL) {
            weight = options->weigh(part, options->user);
        }
        for (size_t t = part->begin; t < part->end; t++) {
            r->weights[t] = weight;
        }
    }
}

/* ---- what usually goes wrong ---- */

static void check_bos(tinkc_rendered *r, const tk_tok *tok)
{
    tk_str bos = tk_tok_config_special(tk_tok_get_config(tok), "bos_token");
    int32_t id = bos.p != NULL ? tk_tok_id(tok, bos) : -1;
    bool starts = id >= 0 && r->ids.n > 0 && r->ids.ids[0] == id;
    if (starts && r->ids.n > 1 && r->ids.ids[1] == id) {
        warn(r, "the text begins with two BOS tokens");
    }
    tk_tok_ids plain = {NULL, 0, 0, NULL};
    tk_tok_how how = {.add_special = true};
    if (id >= 0 && !starts &&
        tk_tok_encode_how(tok, TK_STR("a"), how, &plain, NULL) == TINKC_OK &&
        plain.n > 0 && plain.ids[0] == id) {
        warn(
            r,
            "the template writes no BOS token, but the tokenizer adds one to plain text");
    }
    tk_tok_ids_dispose(&plain);
}

/* Whether the trained run that ends at part i ends in a special token. */
static void check_end(tinkc_rendered *r, const tk_tok *tok, size_t i)
{
    const tinkc_chat_part *part = &r->parts[i];
    bool goes_on = i + 1 < r->n_parts && r->parts[i + 1].is_trained;
    if (part->is_trained && !goes_on &&
        !tk_tok_is_special(tok, r->ids.ids[part->end - 1])) {
        warn(
            r,
            "the trained turn that ends at token %zu has no end-of-turn token: the model "
            "will not learn to stop",
            part->end);
    }
}

/* Whether the message of part i ends with the token that the template ends it with. */
static void check_double_end(tinkc_rendered *r, const tk_tok *tok, size_t i)
{
    const tinkc_chat_part *part = &r->parts[i];
    if (part->is_content && part->end < r->ids.n &&
        r->ids.ids[part->end] == r->ids.ids[part->end - 1] &&
        tk_tok_is_special(tok, r->ids.ids[part->end])) {
        tk_str token = tk_tok_token(tok, r->ids.ids[part->end]);
        warn(r,
             "message %lld ends with \"" TK_STR_FMT
             "\", and the template writes it once more",
             (long long)part->message, TK_STR_ARG(token));
    }
}

static void check(tinkc_rendered *r, const tk_tok *tok, tinkc_loss_on loss_on)
{
    check_bos(r, tok);
    for (size_t i = 0; loss_on != TINKC_LOSS_ON_ALL && i < r->n_parts; i++) {
        check_end(r, tok, i);
    }
    for (size_t i = 0; i < r->n_parts; i++) {
        check_double_end(r, tok, i);
    }
    bool any = false;
    for (size_t t = 1; t < r->ids.n; t++) {
        any |= r->weights[t] < 0 || r->weights[t] > 0;
    }
    if (!any) {
        warn(r, "no token has a weight: there is nothing to train");
    }
}

/* ---- all of it ---- */

static tinkc_code fill(tinkc_rendered *r, const tk_tok *tok, const tk_chat *chat,
                       const tinkc_train_options *options, tk_err *err)
{
    tk_tok_how how = {.offsets = true};
    tinkc_code code =
        tk_tok_encode_how(tok, tk_buf_str(&r->layout.text), how, &r->ids, err);
    if (code != TINKC_OK) {
        return code;
    }
    r->weights = tk_zarray(r->ids.n + 1, sizeof(*r->weights));
    r->parts = tk_zarray(r->layout.n + 1, sizeof(*r->parts));
    if (r->weights == NULL || r->parts == NULL || tk_buf_cstr(&r->layout.text) == NULL) {
        return tk_err_nomem(err);
    }
    cut_tokens(r);
    code = name_roles(r, chat, err);
    if (code == TINKC_OK) {
        weigh(r, options);
        check(r, tok, options->loss_on);
    }
    return code;
}

static tinkc_code make(tinkc_rendered *r, const tk_chat_template *tpl,
                       const tk_chat *chat, const tk_tok *tok,
                       const tinkc_train_options *options, tk_err *err)
{
    tinkc_train_options full = TINKC_TRAIN_OPTIONS_INIT;
    tinkc_code code = tk_types_options(&full, sizeof(full), options, err);
    tk_chat_how how;
    if (code == TINKC_OK) {
        code = tk_chat_read_options(&how, full.chat, err);
    }
    if (code == TINKC_OK && (unsigned)full.loss_on > TINKC_LOSS_ON_ALL) {
        code = tk_err_set(err, TINKC_E_INVALID, "no such loss_on");
    }
    if (code == TINKC_OK) {
        static const tk_chat_loss losses[] = {TK_CHAT_LOSS_ASSISTANT, TK_CHAT_LOSS_LAST,
                                              TK_CHAT_LOSS_ALL};
        code = tk_chat_lay_out(&r->layout, tpl, chat, &how, losses[full.loss_on], err);
    }
    return code == TINKC_OK ? fill(r, tok, chat, &full, err) : code;
}

tinkc_code tinkc_chat_tokens(tinkc_rendered **out, const tinkc_chat_template *tpl,
                             const tinkc_chat *chat, const tinkc_tokenizer *tokenizer,
                             const tinkc_train_options *options, tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    if (out == NULL || tpl == NULL || chat == NULL || tokenizer == NULL) {
        (void)tk_err_set(&e, TINKC_E_INVALID,
                         "out, tpl, chat and tokenizer must not be NULL");
        return tk_error_give(err, &e);
    }
    tinkc_rendered *r = tk_zalloc(sizeof(*r));
    if (r == NULL) {
        (void)tk_err_nomem(&e);
        return tk_error_give(err, &e);
    }
    tk_arena_init(&r->roles, 0);
    tinkc_code code = make(r, tk_chat_template_get(tpl), tk_chat_get(chat),
                           tk_tokenizer_tok(tokenizer), options, &e);
    if (code != TINKC_OK) {
        tinkc_rendered_free(&r);
        return tk_error_give(err, &e);
    }
    *out = r;
    return TINKC_OK;
}

const char *tinkc_rendered_text(size_t *n, const tinkc_rendered *rendered)
{
    if (n != NULL) {
        *n = rendered != NULL ? rendered->layout.text.n : 0;
    }
    return rendered != NULL ? rendered->layout.text.p : NULL;
}

const int32_t *tinkc_rendered_tokens(size_t *n, const tinkc_rendered *rendered)
{
    if (n != NULL) {
        *n = rendered != NULL ? rendered->ids.n : 0;
    }
    return rendered != NULL ? rendered->ids.ids : NULL;
}

const float *tinkc_rendered_weights(size_t *n, const tinkc_rendered *rendered)
{
    if (n != NULL) {
        *n = rendered != NULL ? rendered->ids.n : 0;
    }
    return rendered != NULL ? rendered->weights : NULL;
}

size_t tinkc_rendered_part_count(const tinkc_rendered *rendered)
{
    return rendered != NULL ? rendered->n_parts : 0;
}

bool tinkc_rendered_part(tinkc_chat_part *out, const tinkc_rendered *rendered,
                         size_t index)
{
    if (rendered == NULL || index >= rendered->n_parts) {
        return false;
    }
    *out = rendered->parts[index];
    return true;
}

const char *tinkc_rendered_warning(const tinkc_rendered *rendered, size_t index)
{
    return rendered != NULL && index < rendered->n_warnings ? rendered->warnings[index]
                                                            : NULL;
}

/* ---- datum ---- */

tinkc_code tinkc_rendered_datum(tinkc_datum **out, const tinkc_rendered *rendered,
                                tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    if (out == NULL || rendered == NULL || rendered->ids.n < 2) {
        (void)tk_err_set(&e, TINKC_E_INVALID, "a datum needs at least two tokens");
        return tk_error_give(err, &e);
    }
    size_t n = rendered->ids.n - 1;
    tinkc_model_input *input = NULL;
    tinkc_datum *datum = NULL;
    tinkc_code code = tinkc_model_input_from_tokens(&input, rendered->ids.ids, n, err);
    if (code == TINKC_OK) {
        code = tinkc_datum_new(&datum, &input, err);
    }
    if (code == TINKC_OK) {
        code = tinkc_datum_set_i32(datum, "target_tokens", rendered->ids.ids + 1, n, err);
    }
    if (code == TINKC_OK) {
        code = tinkc_datum_set_f32(datum, "weights", rendered->weights + 1, n, err);
    }
    tinkc_model_input_free(&input);
    if (code != TINKC_OK) {
        tinkc_datum_free(&datum);
        return code;
    }
    *out = datum;
    return TINKC_OK;
}

tinkc_code tinkc_chat_datum(tinkc_datum **out, const tinkc_chat_template *tpl,
                            const tinkc_chat *chat, const tinkc_tokenizer *tokenizer,
                            const tinkc_train_options *options, tinkc_error **err)
{
    tinkc_rendered *rendered = NULL;
    tinkc_code code = tinkc_chat_tokens(&rendered, tpl, chat, tokenizer, options, err);
    if (code == TINKC_OK) {
        code = tinkc_rendered_datum(out, rendered, err);
    }
    tinkc_rendered_free(&rendered);
    return code;
}
