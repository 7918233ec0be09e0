/* Turns lines of JSON into datums. There are two kinds of lines, and one check of the
 * tokens that result.
 * Needs: text */
#include "cli/train/train_data.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"

#define ROWS_MAX     ((size_t)16 * 1024 * 1024)
#define PROBLEM_SIZE 400

/* One line on its way to a row of the set. */
typedef struct reading {
    const train_source *source;
    tk_str text;
    const tk_json *json;
    const tk_json *messages; /* of a conversation */
    size_t line;
    int32_t *tokens; /* owned */
    float *weights;  /* owned; weight i belongs to token i */
    size_t n;
    bool is_bad;
    tk_err *err;
} reading;

/* ---- problems ---- */

/* Reports a problem; the line is not used. */
static void refuse(reading *r, const char *format, ...) TK_PRINTF(2, 3);

static void refuse(reading *r, const char *format, ...)
{
    char text[PROBLEM_SIZE];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    r->is_bad = true;
    r->source->report(r->source->user, r->line, true, text);
}

/* Reports a failed call of the library as a problem of the line, unless memory ran
 * out. */
static tinkc_code refuse_error(reading *r, tinkc_error **error)
{
    tinkc_code code = tinkc_error_code(*error);
    if (code == TINKC_E_NOMEM || *error == NULL) {
        tinkc_error_free(error);
        return tk_err_nomem(r->err);
    }
    refuse(r, "%s", tinkc_error_message(*error));
    tinkc_error_free(error);
    return TINKC_OK;
}

/* ---- conversations ---- */

/* Returns the weight of a part of a message ("weight": 0 leaves a turn out). */
static float weigh(const tinkc_chat_part *part, void *user)
{
    const reading *r = user;
    double weight = 1;
    if (part->message >= 0) {
        const tk_json message = tk_json_at(r->messages, (size_t)part->message);
        const tk_json *own = tk_json_get(&message, "weight");
        (void)(own != NULL && tk_json_to_double(own, &weight));
    }
    return part->is_trained ? (float)weight : 0.0F;
}

/* Checks that the weights of the messages are numbers of 0 or more. */
static bool check_weights(reading *r)
{
    for (size_t i = 0; i < tk_json_len(r->messages); i++) {
        const tk_json message = tk_json_at(r->messages, i);
        const tk_json *own = tk_json_get(&message, "weight");
        double weight = 0;
        if (own != NULL && (!tk_json_to_double(own, &weight) || !isfinite(weight) ||
                            weight < 0 || weight > (double)1e6F)) {
            refuse(r, "message %zu: \"weight\" is not a number of 0 or more", i);
            return false;
        }
    }
    return true;
}

static tinkc_code take_rendered(reading *r, const tinkc_rendered *rendered)
{
    size_t n = 0;
    const int32_t *tokens = tinkc_rendered_tokens(&n, rendered);
    const float *weights = tinkc_rendered_weights(NULL, rendered);
    r->tokens = tk_memdup(tokens, n * sizeof(*tokens));
    r->weights = tk_memdup(weights, n * sizeof(*weights));
    r->n = n;
    for (size_t i = 0; tinkc_rendered_warning(rendered, i) != NULL; i++) {
        const char *warning = tinkc_rendered_warning(rendered, i);
        r->source->report(r->source->user, r->line, false, warning);
    }
    return r->tokens != NULL && r->weights != NULL ? TINKC_OK : tk_err_nomem(r->err);
}

static tinkc_code render(reading *r)
{
    tinkc_chat *chat = NULL;
    tinkc_rendered *rendered = NULL;
    tinkc_error *error = NULL;
    tinkc_train_options options = TINKC_TRAIN_OPTIONS_INIT;
    tinkc_code code;
    options.loss_on = r->source->loss_on;
    options.weigh = weigh;
    options.user = r;
    if (tinkc_chat_new(&chat, &error) != TINKC_OK ||
        tinkc_chat_add_json(chat, r->text.p, r->text.n, &error) != TINKC_OK ||
        tinkc_chat_tokens(&rendered, r->source->tpl, chat, r->source->tokenizer, &options,
                          &error) != TINKC_OK) {
        code = refuse_error(r, &error);
    } else {
        code = take_rendered(r, rendered);
    }
    tinkc_rendered_free(&rendered);
    tinkc_chat_free(&chat);
    return code;
}

static tinkc_code read_chat(reading *r)
{
    r->messages = tk_json_is_array(r->json) ? r->json : tk_json_get(r->json, "messages");
    if (!tk_json_is_array(r->messages) || tk_json_len(r->messages) == 0) {
        refuse(r, "no messages");
    } else if (r->source->tpl == NULL) {
        refuse(r, "a conversation, but the model has no chat template");
    } else if (check_weights(r)) {
        return render(r);
    }
    return TINKC_OK;
}

/* ---- prompt and completion ---- */

/* Returns the token that ends a text, or -1. */
static int32_t end_token(const tinkc_tokenizer *tokenizer)
{
    const char *token = tinkc_tokenizer_special(tokenizer, "eos_token");
    return token != NULL ? tinkc_tokenizer_id(tokenizer, token) : -1;
}

/* Joins the tokens of the prompt and of the completion, which are encoded separately, as
 * they are when the model is used, and adds the end of the text. */
static tinkc_code join(reading *r, const tinkc_encoding *prompt,
                       const tinkc_encoding *completion)
{
    size_t n_prompt = 0, n_completion = 0;
    const int32_t *p = tinkc_encoding_ids(&n_prompt, prompt);
    const int32_t *c = tinkc_encoding_ids(&n_completion, completion);
    int32_t end = end_token(r->source->tokenizer);
    if (n_prompt > 0 && p[n_prompt - 1] == end) {
        n_prompt--; /* some tokenizers end every text, but the completion follows */
    }
    size_t n = n_prompt + n_completion + (end >= 0 ? 1 : 0);
    r->tokens = tk_array(n, sizeof(*r->tokens));
    r->weights = tk_array(n, sizeof(*r->weights));
    if (r->tokens == NULL || r->weights == NULL) {
        return tk_err_nomem(r->err);
    }
    if (n_prompt > 0) {
        memcpy(r->tokens, p, n_prompt * sizeof(*p));
    }
    if (n_completion > 0) {
        memcpy(r->tokens + n_prompt, c, n_completion * sizeof(*c));
    }
    if (end >= 0) {
        r->tokens[n - 1] = end;
    }
    for (size_t i = 0; i < n; i++) {
        r->weights[i] = i < n_prompt ? 0.0F : 1.0F;
    }
    r->n = n;
    return TINKC_OK;
}

static tinkc_code read_pair(reading *r, const tk_json *prompt, const tk_json *completion)
{
    if (prompt->type != TK_JSON_STRING || completion->type != TK_JSON_STRING) {
        refuse(r, "\"%s\" is not a string",
               prompt->type != TK_JSON_STRING ? "prompt" : "completion");
        return TINKC_OK;
    }
    if (completion->as.string.n == 0) {
        refuse(r, "nothing to train on: the completion is empty");
        return TINKC_OK;
    }
    tinkc_encode_options first = TINKC_ENCODE_OPTIONS_INIT;
    tinkc_encoding *before = NULL, *after = NULL;
    tinkc_error *error = NULL;
    tinkc_code code;
    const tinkc_tokenizer *tokenizer = r->source->tokenizer;
    first.add_special_tokens = true;
    if (tinkc_tokenizer_encode(&before, tokenizer, prompt->as.string.p,
                               prompt->as.string.n, &first, &error) != TINKC_OK ||
        tinkc_tokenizer_encode(&after, tokenizer, completion->as.string.p,
                               completion->as.string.n, NULL, &error) != TINKC_OK) {
        code = refuse_error(r, &error);
    } else {
        code = join(r, before, after);
    }
    tinkc_encoding_free(&before);
    tinkc_encoding_free(&after);
    return code;
}

/* ---- both kinds ---- */

/* Checks the tokens, wherever they come from, and gives the sum of their weights. */
static bool check_tokens(reading *r, double *weight)
{
    size_t vocabulary = tinkc_tokenizer_size(r->source->tokenizer);
    *weight = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (!isfinite(r->weights[i])) {
            refuse(r, "token %zu has a weight that is not a number", i);
            return false;
        }
        if (r->tokens[i] < 0 || (size_t)r->tokens[i] >= vocabulary) {
            refuse(r, "token %zu is not in the vocabulary", i);
            return false;
        }
        *weight += i > 0 ? (double)r->weights[i] : 0; /* the first has no predecessor */
    }
    if (r->n < 2) {
        refuse(r, "too short: %zu token%s, but training needs two", r->n,
               r->n == 1 ? "" : "s");
    } else if (r->source->max_tokens > 0 && r->n - 1 > r->source->max_tokens) {
        refuse(r, "too long: %zu tokens, but at most %zu can be trained on", r->n - 1,
               r->source->max_tokens);
    } else if (*weight <= 0) {
        refuse(r, "nothing to train on: no token has a weight");
    }
    return !r->is_bad;
}

static tinkc_code make_datum(reading *r, tinkc_datum **out)
{
    tinkc_model_input *input = NULL;
    tinkc_datum *datum = NULL;
    tinkc_error *error = NULL;
    size_t n = r->n - 1;
    if (tinkc_model_input_from_tokens(&input, r->tokens, n, &error) == TINKC_OK &&
        tinkc_datum_new(&datum, &input, &error) == TINKC_OK &&
        tinkc_datum_set_i32(datum, "target_tokens", r->tokens + 1, n, &error) ==
            TINKC_OK &&
        tinkc_datum_set_f32(datum, "weights", r->weights + 1, n, &error) == TINKC_OK) {
        *out = datum;
        return TINKC_OK;
    }
    tinkc_model_input_free(&input);
    tinkc_datum_free(&datum);
    return refuse_error(r, &error);
}

static tinkc_code add_row(train_set *set, reading *r)
{
    train_row row = {.line = r->line, .tokens = r->n > 0 ? r->n - 1 : 0};
    if (!check_tokens(r, &row.weight)) {
        return TINKC_OK;
    }
    if (set->n == ROWS_MAX) {
        return tk_err_set(r->err, TINKC_E_LIMIT, "more than %zu lines", ROWS_MAX);
    }
    if (set->n == set->capacity) {
        size_t room = set->capacity * 2 + 64;
        train_row *rows = tk_realloc_array(set->rows, room, sizeof(*rows));
        if (rows == NULL) {
            return tk_err_nomem(r->err);
        }
        set->rows = rows;
        set->capacity = room;
    }
    tinkc_code code = make_datum(r, &row.datum);
    if (code == TINKC_OK && row.datum != NULL) {
        set->rows[set->n++] = row;
        set->tokens += row.tokens;
        set->weight += row.weight;
    }
    return code;
}

/* Returns the first of the words that Python's json module writes for such numbers but
 * which are not JSON, for a clearer message; or NULL. */
static const char *not_a_number(tk_str text)
{
    static const char *const words[] = {": NaN", ": Infinity", ": -Infinity"};
    for (size_t w = 0; w < TK_ARRAY_LEN(words); w++) {
        size_t n = strlen(words[w]);
        for (size_t i = 0; i + n <= text.n; i++) {
            if (memcmp(text.p + i, words[w], n) == 0) {
                return words[w] + 2;
            }
        }
    }
    return NULL;
}

static tinkc_code read_json(reading *r, tk_arena *arena)
{
    tk_err err = TK_ERR_INIT;
    tinkc_code code = tk_json_parse(&r->json, arena, r->text.p, r->text.n, NULL, &err);
    if (code == TINKC_E_NOMEM) {
        return tk_err_nomem(r->err);
    }
    if (code != TINKC_OK) {
        const char *word = not_a_number(r->text);
        refuse(r, "not JSON: %s%s", word != NULL ? word : err.message,
               word != NULL ? " is not a JSON number" : "");
    }
    return TINKC_OK;
}

static tinkc_code read_line(train_set *set, reading *r, tk_arena *arena)
{
    tinkc_code code = read_json(r, arena);
    if (code != TINKC_OK || r->is_bad) {
        return code;
    }
    const tk_json *prompt = tk_json_get(r->json, "prompt");
    const tk_json *completion = tk_json_get(r->json, "completion");
    if (tk_json_is_array(r->json) || tk_json_get(r->json, "messages") != NULL) {
        code = read_chat(r);
    } else if (prompt != NULL && completion != NULL) {
        code = read_pair(r, prompt, completion);
    } else {
        refuse(r, "has neither \"messages\" nor \"prompt\" and \"completion\"");
    }
    return code == TINKC_OK && !r->is_bad ? add_row(set, r) : code;
}

tinkc_code train_data_read(train_set *out, const train_source *source, const char *text,
                           size_t n, tk_err *err)
{
    static const char mark[] = "\xef\xbb\xbf"; /* some editors start a file with it */
    size_t skipped = n >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
    tk_str rest = {text + skipped, n - skipped};
    tk_arena arena;
    tinkc_code code = TINKC_OK;
    tk_arena_init(&arena, 0);
    memset(out, 0, sizeof(*out));
    for (size_t line = 1; rest.p != NULL && code == TINKC_OK; line++) {
        reading r = {.source = source, .line = line, .err = err};
        r.text = tk_str_trim(tk_str_cut(&rest, '\n'));
        if (r.text.n == 0) {
            continue;
        }
        code = read_line(out, &r, &arena);
        out->problems += r.is_bad ? 1 : 0;
        tk_free(r.tokens);
        tk_free(r.weights);
        tk_arena_dispose(&arena);
    }
    return code;
}

void train_data_dispose(train_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        tinkc_datum_free(&set->rows[i].datum);
    }
    tk_free(set->rows);
    memset(set, 0, sizeof(*set));
}
