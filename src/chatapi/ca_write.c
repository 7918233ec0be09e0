/* Members of objects, and the scores of tokens in the forms of the dialects. */
#include "chatapi/ca_write.h"

#include <math.h>
#include <string.h>

#include "base/utf8.h"

/* What OpenAI gives for a token that is too unlikely for a number; JSON has no infinity. */
#define UNLIKELY (-9999.0)

/* ---- members ---- */

static void key_of(tk_json_writer *w, const char *key)
{
    if (key != NULL) {
        tk_json_key(w, tk_str_of(key));
    }
}

void ca_put_str(tk_json_writer *w, const char *key, tk_str value)
{
    key_of(w, key);
    tk_json_put_str(w, value);
}

void ca_put_text(tk_json_writer *w, const char *key, const char *value)
{
    ca_put_str(w, key, tk_str_of(value));
}

void ca_put_size(tk_json_writer *w, const char *key, size_t value)
{
    key_of(w, key);
    tk_json_put_u64(w, value);
}

void ca_put_bool(tk_json_writer *w, const char *key, bool value)
{
    key_of(w, key);
    tk_json_put_bool(w, value);
}

void ca_put_null(tk_json_writer *w, const char *key)
{
    key_of(w, key);
    tk_json_put_null(w);
}

void ca_put_json(tk_json_writer *w, const char *key, tk_str json)
{
    key_of(w, key);
    if (w->need_comma && !w->after_key) {
        tk_buf_putc(w->out, ',');
    }
    tk_buf_put(w->out, json.p, json.n);
    w->after_key = false;
    w->need_comma = true;
}

void ca_open_object(tk_json_writer *w, const char *key)
{
    key_of(w, key);
    tk_json_begin_object(w);
}

void ca_open_array(tk_json_writer *w, const char *key)
{
    key_of(w, key);
    tk_json_begin_array(w);
}

void ca_put_echo(tk_json_writer *w, const ca_request *request, const char *key,
                 const char *otherwise)
{
    const tk_json *value = tk_json_get(request->body, key);
    if (value != NULL && value->type != TK_JSON_NULL) {
        key_of(w, key);
        tk_json_put_value(w, value);
    } else {
        ca_put_json(w, key, tk_str_of(otherwise));
    }
}

void ca_put_input(tk_json_writer *w, const char *key, const char *arguments)
{
    tk_arena arena;
    const tk_json *value = NULL;
    tk_arena_init(&arena, 0);
    tinkc_code code = tk_json_parse(&value, &arena, arguments, strlen(arguments),
                                    TK_JSON_AS_WRITTEN, NULL);
    if (code != TINKC_OK) {
        tk_buf_fail(w->out, code);
    } else {
        key_of(w, key);
        tk_json_put_value(w, value);
    }
    tk_arena_dispose(&arena);
}

/* ---- tokens ---- */

bool ca_wants_tokens(const ca_reply *reply)
{
    const ca_params *params = &reply->request->params;
    return params->logprobs || params->return_token_ids;
}

/* The bytes of a token, as text: U+FFFD for each byte that belongs to no character. */
static void readable(tk_buf *out, tk_str bytes)
{
    while (bytes.n > 0) {
        size_t n = tk_utf8_valid_prefix(bytes.p, bytes.n);
        tk_buf_put(out, bytes.p, n);
        if (n < bytes.n) {
            tk_buf_puts(out, "\xEF\xBF\xBD");
            n++;
        }
        bytes = (tk_str){bytes.p + n, bytes.n - n};
    }
}

static void pass_failure(tk_buf *out, const tk_buf *from)
{
    if (from->failure != TINKC_OK) {
        tk_buf_fail(out, from->failure);
    }
}

static void token_text(tk_buf *out, const tk_tok *tok, int32_t id)
{
    tk_buf bytes;
    tk_buf_init(&bytes, TK_STRING_MAX_BYTES);
    if (tok != NULL) {
        tk_tok_bytes(tok, id, &bytes);
    }
    pass_failure(out, &bytes);
    readable(out, tk_buf_str(&bytes));
    tk_buf_dispose(&bytes);
}

size_t ca_put_token(tk_json_writer *w, const tk_tok *tok, int32_t id)
{
    tk_buf text;
    tk_buf_init(&text, TK_STRING_MAX_BYTES);
    token_text(&text, tok, id);
    pass_failure(w->out, &text);
    size_t n = tk_utf8_count(tk_buf_str(&text));
    tk_json_put_str(w, tk_buf_str(&text));
    tk_buf_dispose(&text);
    return n;
}

static void put_bytes(tk_json_writer *w, const tk_tok *tok, int32_t id)
{
    tk_buf bytes;
    tk_buf_init(&bytes, TK_STRING_MAX_BYTES);
    if (tok != NULL) {
        tk_tok_bytes(tok, id, &bytes);
    }
    pass_failure(w->out, &bytes);
    ca_open_array(w, "bytes");
    for (size_t i = 0; i < bytes.n; i++) {
        tk_json_put_u64(w, (unsigned char)bytes.p[i]);
    }
    tk_json_end_array(w);
    tk_buf_dispose(&bytes);
}

static void put_score(tk_json_writer *w, float logprob)
{
    tk_json_put_double(w, isfinite(logprob) ? (double)logprob : UNLIKELY);
}

static void put_one(tk_json_writer *w, const tk_tok *tok, int32_t id, float logprob)
{
    tk_json_key(w, TK_STR("token"));
    (void)ca_put_token(w, tok, id);
    tk_json_key(w, TK_STR("logprob"));
    put_score(w, logprob);
    put_bytes(w, tok, id);
}

static size_t columns(const ca_tokens *tokens)
{
    return tokens->top_ids != NULL && tokens->top_logprobs != NULL ? tokens->k : 0;
}

void ca_put_scores(tk_json_writer *w, const tk_tok *tok, const ca_tokens *tokens)
{
    size_t k = columns(tokens);
    for (size_t i = 0; i < tokens->n && tokens->logprobs != NULL; i++) {
        tk_json_begin_object(w);
        put_one(w, tok, tokens->ids[i], tokens->logprobs[i]);
        ca_open_array(w, "top_logprobs");
        for (size_t j = i * k; j < (i + 1) * k; j++) {
            tk_json_begin_object(w);
            put_one(w, tok, tokens->top_ids[j], tokens->top_logprobs[j]);
            tk_json_end_object(w);
        }
        tk_json_end_array(w);
        tk_json_end_object(w);
    }
}

/* Whether one of the first n ids has the same text; a JSON object cannot hold both. */
static bool is_shown(tk_buf *out, const tk_tok *tok, const int32_t *ids, size_t n,
                     int32_t id)
{
    tk_buf mine, other;
    bool found = false;
    tk_buf_init(&mine, TK_STRING_MAX_BYTES);
    tk_buf_init(&other, TK_STRING_MAX_BYTES);
    token_text(&mine, tok, id);
    for (size_t i = 0; i < n && !found; i++) {
        tk_buf_clear(&other);
        token_text(&other, tok, ids[i]);
        found = ids[i] == id || tk_str_eq(tk_buf_str(&mine), tk_buf_str(&other));
        pass_failure(out, &other);
    }
    pass_failure(out, &mine);
    tk_buf_dispose(&mine);
    tk_buf_dispose(&other);
    return found;
}

static void put_member(tk_json_writer *w, const tk_tok *tok, int32_t id, float logprob)
{
    tk_buf text;
    tk_buf_init(&text, TK_STRING_MAX_BYTES);
    token_text(&text, tok, id);
    pass_failure(w->out, &text);
    tk_json_key(w, tk_buf_str(&text));
    put_score(w, logprob);
    tk_buf_dispose(&text);
}

/* {text: logprob, ...} at one token: the likeliest, and the token itself. */
static void put_map(tk_json_writer *w, const tk_tok *tok, const ca_tokens *t, size_t i)
{
    size_t k = t->k;
    const int32_t *top = &t->top_ids[i * k];
    tk_json_begin_object(w);
    for (size_t j = 0; j < k; j++) {
        if (!is_shown(w->out, tok, top, j, top[j])) {
            put_member(w, tok, top[j], t->top_logprobs[i * k + j]);
        }
    }
    if (!is_shown(w->out, tok, top, k, t->ids[i])) {
        put_member(w, tok, t->ids[i], t->logprobs[i]);
    }
    tk_json_end_object(w);
}

static bool is_known(const ca_tokens *t, size_t i)
{
    return t->logprobs != NULL && !isnan(t->logprobs[i]);
}

static void put_tops(tk_json_writer *w, const tk_tok *tok, const ca_tokens *t)
{
    for (size_t i = 0; i < t->n; i++) {
        if (is_known(t, i) && columns(t) > 0) {
            put_map(w, tok, t, i);
        } else {
            tk_json_put_null(w);
        }
    }
}

void ca_put_columns(tk_json_writer *w, const tk_tok *tok, const ca_tokens *const *runs,
                    size_t n, size_t *offset)
{
    bool has_top = false;
    size_t first = *offset;
    tk_json_begin_object(w);
    ca_open_array(w, "tokens");
    for (size_t r = 0; r < n; r++) {
        has_top = has_top || columns(runs[r]) > 0;
        for (size_t i = 0; i < runs[r]->n; i++) {
            *offset += ca_put_token(w, tok, runs[r]->ids[i]);
        }
    }
    tk_json_end_array(w);
    ca_open_array(w, "token_logprobs");
    for (size_t r = 0; r < n; r++) {
        for (size_t i = 0; i < runs[r]->n; i++) {
            if (is_known(runs[r], i)) {
                put_score(w, runs[r]->logprobs[i]);
            } else {
                tk_json_put_null(w);
            }
        }
    }
    tk_json_end_array(w);
    if (has_top) {
        ca_open_array(w, "top_logprobs");
        for (size_t r = 0; r < n; r++) {
            put_tops(w, tok, runs[r]);
        }
        tk_json_end_array(w);
    } else {
        ca_put_null(w, "top_logprobs");
    }
    ca_open_array(w, "text_offset");
    tk_buf text;
    tk_buf_init(&text, TK_STRING_MAX_BYTES);
    for (size_t r = 0; r < n; r++) {
        for (size_t i = 0; i < runs[r]->n; i++) {
            tk_json_put_u64(w, first);
            tk_buf_clear(&text);
            token_text(&text, tok, runs[r]->ids[i]);
            pass_failure(w->out, &text);
            first += tk_utf8_count(tk_buf_str(&text));
        }
    }
    tk_buf_dispose(&text);
    tk_json_end_array(w);
    tk_json_end_object(w);
}

static void put_ranked(tk_json_writer *w, const tk_tok *tok, int32_t id, float logprob,
                       size_t rank)
{
    char key[16];
    size_t n = 0;
    for (int32_t rest = id; rest > 0 || n == 0; rest /= 10) {
        key[sizeof(key) - ++n] = (char)('0' + rest % 10);
    }
    tk_json_key(w, (tk_str){key + sizeof(key) - n, n});
    tk_json_begin_object(w);
    tk_json_key(w, TK_STR("logprob"));
    put_score(w, logprob);
    if (rank > 0) {
        ca_put_size(w, "rank", rank);
    } else {
        ca_put_null(w, "rank");
    }
    tk_json_key(w, TK_STR("decoded_token"));
    (void)ca_put_token(w, tok, id);
    tk_json_end_object(w);
}

void ca_put_prompt_scores(tk_json_writer *w, const tk_tok *tok, const ca_tokens *t)
{
    size_t k = columns(t);
    tk_json_begin_array(w);
    for (size_t i = 0; i < t->n; i++) {
        bool is_among = false;
        if (!is_known(t, i)) {
            tk_json_put_null(w);
            continue;
        }
        tk_json_begin_object(w);
        for (size_t j = 0; j < k; j++) {
            int32_t id = t->top_ids[i * k + j];
            is_among = is_among || id == t->ids[i];
            put_ranked(w, tok, id, t->top_logprobs[i * k + j], j + 1);
        }
        if (!is_among) {
            put_ranked(w, tok, t->ids[i], t->logprobs[i], 0);
        }
        tk_json_end_object(w);
    }
    tk_json_end_array(w);
}
