/* <tinkc/chat.h>: the tokens that a model reads before its answer, for the first turn and
 * for each one after it. Tokens that were sampled stay as they are: only the text that the
 * conversation has beyond them is tokenized. Where that text begins is found by comparing
 * texts, never assumed.
 * Needs: text */
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "client/values/chat.h"
#include "client/values/error.h"
#include "client/values/tokenizer.h"
#include "client/values/types.h"

#define SHOWN_BYTES    24 /* of each text, in an error */
#define CHAR_MAX_BYTES 4

typedef struct turn {
    const tk_tok *tok;
    tk_buf text;    /* the whole conversation */
    tk_tok_ids ids; /* of that text, with offsets */
    int32_t *said;  /* tokens of the prompt so far, owned, with room for one more */
    size_t said_n;
    tk_buf all, start; /* text of all of `said`, and of its first tokens */
} turn;

static void dispose(turn *t)
{
    tk_buf_dispose(&t->text);
    tk_buf_dispose(&t->all);
    tk_buf_dispose(&t->start);
    tk_tok_ids_dispose(&t->ids);
    tk_free(t->said);
}

/* ---- the border ---- */

static bool begins_with(tk_str text, tk_str start)
{
    return start.n <= text.n && (start.n == 0 || memcmp(text.p, start.p, start.n) == 0);
}

/* How many tokens both have in common from the beginning. */
static size_t count_common(const turn *t)
{
    size_t n = 0, most = TK_MIN(t->said_n, t->ids.n);
    while (n < most && t->said[n] == t->ids.ids[n]) {
        n++;
    }
    return n;
}

static size_t offset_of(const turn *t, size_t token)
{
    return token < t->ids.n ? t->ids.offsets[2 * token] : t->text.n;
}

/* Whether the first tokens of the text end inside one of its characters. */
static bool cuts_character(const turn *t, size_t tokens)
{
    size_t at = offset_of(t, tokens);
    return tokens > 0 &&
           ((at < t->text.n && ((unsigned char)t->text.p[at] & 0xc0) == 0x80) ||
            t->ids.offsets[2 * tokens - 1] > at);
}

/* How many tokens both have in common, up to the end of a character of the text: the byte
 * of an unreadable character is also the first byte of U+FFFD, which the text has for it. */
static size_t count_whole(const turn *t)
{
    size_t n = count_common(t);
    while (cuts_character(t, n)) {
        n--;
    }
    return n;
}

/* Decodes the common tokens, fewer of them where they end inside a character. */
static tinkc_code decode_start(turn *t, size_t *common, tk_err *err)
{
    for (int i = 0; i <= CHAR_MAX_BYTES; i++) {
        tk_buf_clear(&t->start);
        tk_tok_decode(t->tok, t->said, *common, false, &t->start);
        if (tk_buf_status(&t->start, err) != TINKC_OK) {
            return err->code;
        }
        if (begins_with(tk_buf_str(&t->all), tk_buf_str(&t->start))) {
            return TINKC_OK;
        }
        *common = i == CHAR_MAX_BYTES || *common == 0 ? 0 : *common - 1;
    }
    tk_buf_clear(&t->start);
    return TINKC_OK;
}

static tinkc_code tell_difference(tk_str text, tk_str said, size_t at, tk_err *err)
{
    size_t same = 0, most = TK_MIN(text.n, said.n);
    while (same < most && text.p[same] == said.p[same]) {
        same++;
    }
    while (same > 0 && same < said.n && ((unsigned char)said.p[same] & 0xc0) == 0x80) {
        same--; /* to the beginning of the character */
    }
    tk_str a = tk_utf8_cut((tk_str){text.p + same, text.n - same}, SHOWN_BYTES);
    tk_str b = tk_utf8_cut((tk_str){said.p + same, said.n - same}, SHOWN_BYTES);
    return tk_err_set(err, TINKC_E_UNSUPPORTED,
                      "the conversation does not begin with the tokens of the prompt: at "
                      "byte %zu the template writes \"" TK_STR_FMT
                      "\" where the tokens have \"" TK_STR_FMT "\"",
                      at + same, TK_STR_ARG(a), TK_STR_ARG(b));
}

/* Finds where in the text the tokens so far end, and which of its tokens is the first one
 * that begins there or later. */
static tinkc_code find_border(size_t *out, size_t *first, turn *t, tk_err *err)
{
    size_t common = count_whole(t);
    if (common == t->said_n) {
        *out = offset_of(t, common);
        *first = common; /* tokens of no text share their offset with the next one */
        return TINKC_OK;
    }
    tk_tok_decode(t->tok, t->said, t->said_n, false, &t->all);
    tinkc_code code = tk_buf_status(&t->all, err);
    if (code == TINKC_OK) {
        code = decode_start(t, &common, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    size_t at = offset_of(t, common);
    tk_str rest = {t->all.p + t->start.n, t->all.n - t->start.n};
    tk_str text = {t->text.p + at, t->text.n - at};
    if (!begins_with(text, rest)) {
        return tell_difference(text, rest, at, err);
    }
    *out = at + rest.n;
    *first = 0;
    while (*first < t->ids.n && t->ids.offsets[2 * *first] < *out) {
        ++*first;
    }
    return TINKC_OK;
}

/* ---- what comes after it ---- */

/* Whether the text of an assistant's message, which *index becomes, ends with this token. */
static bool find_message(size_t *index, const tk_chat *chat, tk_str token)
{
    for (size_t i = 0; i < chat->n; i++) {
        tk_chat_texts texts = {.message = &chat->messages[i]};
        tk_str text;
        while (tk_str_is(tk_chat_role(chat, i), "assistant") &&
               tk_chat_text_next(&texts, &text)) {
            if (token.n > 0 && text.n >= token.n &&
                memcmp(text.p + text.n - token.n, token.p, token.n) == 0) {
                *index = i;
                return true;
            }
        }
    }
    return false;
}

/* Refuses a turn that would end twice: with the message, and after it. */
static tinkc_code check_ends(const turn *t, size_t first, const tk_chat *chat,
                             tk_err *err)
{
    int32_t last = t->said_n > 0 ? t->said[t->said_n - 1] : -1;
    for (size_t i = first; i < t->ids.n; i++) {
        size_t message = 0;
        tk_str token = tk_tok_token(t->tok, last);
        if (t->ids.ids[i] == last && tk_tok_is_special(t->tok, last) &&
            find_message(&message, chat, token)) {
            return tk_err_set(err, TINKC_E_INVALID,
                              "message %zu ends with \"" TK_STR_FMT
                              "\", and the template writes it once more: leave it out of "
                              "the message",
                              message, TK_STR_ARG(token));
        }
        last = t->ids.ids[i];
    }
    return TINKC_OK;
}

/* Tokenizers that put a blank in front of a text would put it inside this one. */
static tinkc_code check_join(turn *t, const tk_tok_ids *alone, tk_str rest, tk_err *err)
{
    if (alone->n == 0 || rest.n == 0 || rest.p[0] == ' ') {
        return TINKC_OK;
    }
    t->said[t->said_n] = alone->ids[0];
    tk_buf_clear(&t->start);
    tk_tok_decode(t->tok, t->said, t->said_n + 1, false, &t->start);
    tinkc_code code = tk_buf_status(&t->start, err);
    if (code == TINKC_OK && t->start.n > t->all.n &&
        begins_with(tk_buf_str(&t->start), tk_buf_str(&t->all)) &&
        t->start.p[t->all.n] == ' ') {
        code = tk_err_set(err, TINKC_E_UNSUPPORTED,
                          "the tokens of the prompt end inside a token of the "
                          "conversation, and the tokenizer cannot go on from there "
                          "without a blank");
    }
    return code;
}

/* The tokens of the whole text from the border on; where one of them crosses the border,
 * the text after it is tokenized alone. */
static tinkc_code append_rest(tinkc_model_input *prompt, turn *t, size_t border,
                              size_t first, tinkc_error **error)
{
    if (offset_of(t, first) == border) {
        size_t n = t->ids.n - first;
        return n > 0 ? tinkc_model_input_add_tokens(prompt, t->ids.ids + first, n, error)
                     : TINKC_OK;
    }
    tk_err err = TK_ERR_INIT;
    tk_tok_ids alone = {NULL, 0, 0, NULL};
    tk_str rest = {t->text.p + border, t->text.n - border};
    tinkc_code code = tk_tok_encode(t->tok, rest, &alone, &err);
    if (code == TINKC_OK) {
        code = check_join(t, &alone, rest, &err);
    }
    code = code == TINKC_OK
               ? tinkc_model_input_add_tokens(prompt, alone.ids, alone.n, error)
               : tk_error_give(error, &err);
    tk_tok_ids_dispose(&alone);
    return code;
}

/* ---- both ---- */

static tinkc_code render(turn *t, const tinkc_chat_template *tpl, const tinkc_chat *chat,
                         const tinkc_chat_options *options, tk_err *err)
{
    tinkc_chat_options usual = TINKC_CHAT_OPTIONS_INIT;
    usual.add_generation_prompt = true;
    tk_chat_how how;
    tinkc_code code = tk_chat_read_options(&how, options != NULL ? options : &usual, err);
    if (code == TINKC_OK) {
        code = tk_chat_render(&t->text, tk_chat_template_get(tpl), tk_chat_get(chat),
                              &how, err);
    }
    if (code == TINKC_OK) {
        code = tk_tok_encode_how(t->tok, tk_buf_str(&t->text),
                                 (tk_tok_how){.offsets = true}, &t->ids, err);
    }
    return code;
}

tinkc_code tinkc_chat_continue(tinkc_model_input *prompt, const tinkc_chat_template *tpl,
                               const tinkc_chat *chat, const tinkc_tokenizer *tokenizer,
                               const tinkc_chat_options *options, tinkc_error **error)
{
    if (prompt == NULL || tpl == NULL || chat == NULL || tokenizer == NULL) {
        return tk_error_tell(error, TINKC_E_INVALID,
                             "prompt, tpl, chat and tokenizer must not be NULL");
    }
    turn t = {.tok = tk_tokenizer_tok(tokenizer)};
    tk_err err = TK_ERR_INIT;
    size_t border = 0, first = 0;
    tk_buf_init(&t.text, TK_JINJA_MAX_OUTPUT_BYTES + 1);
    tk_buf_init(&t.all, TK_TOK_TEXT_MAX_BYTES);
    tk_buf_init(&t.start, TK_TOK_TEXT_MAX_BYTES);
    tinkc_code code = tk_types_copy_tokens(&t.said, &t.said_n, prompt, 1, &err);
    if (code == TINKC_OK) {
        code = render(&t, tpl, chat, options, &err);
    }
    if (code == TINKC_OK) {
        code = find_border(&border, &first, &t, &err);
    }
    if (code == TINKC_OK) {
        code = check_ends(&t, first, tk_chat_get(chat), &err);
    }
    code = code == TINKC_OK ? append_rest(prompt, &t, border, first, error)
                            : tk_error_give(error, &err);
    dispose(&t);
    return code;
}

tinkc_code tinkc_chat_prompt(tinkc_model_input **out, const tinkc_chat_template *tpl,
                             const tinkc_chat *chat, const tinkc_tokenizer *tokenizer,
                             const tinkc_chat_options *options, tinkc_error **err)
{
    tinkc_model_input *prompt = NULL;
    if (out == NULL) {
        return tk_error_tell(err, TINKC_E_INVALID, "no place for the prompt");
    }
    tinkc_code code = tinkc_model_input_new(&prompt, err);
    if (code == TINKC_OK) {
        code = tinkc_chat_continue(prompt, tpl, chat, tokenizer, options, err);
    }
    if (code != TINKC_OK) {
        tinkc_model_input_free(&prompt);
        return code;
    }
    *out = prompt;
    return TINKC_OK;
}
