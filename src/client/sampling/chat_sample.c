/* <tinkc/chat.h>: an answer as it was sampled, added to the prompt and to the conversation
 * together.
 * Needs: text */
#include <string.h>

#include "base/mem.h"
#include "client/sampling/sampling.h"
#include "client/values/chat.h"
#include "client/values/error.h"
#include "client/values/tokenizer.h"
#include "client/values/types.h"

typedef struct answer {
    const tk_tok *tok;
    const int32_t *tokens;
    size_t n;
    size_t said_n; /* of the tokens are its message; the others end the turn */
} answer;

static answer find_answer(const tinkc_tokenizer *tokenizer, const tinkc_samples *samples,
                          size_t index)
{
    answer a = {.tok = tk_tokenizer_tok(tokenizer)};
    a.tokens = tinkc_samples_tokens(&a.n, samples, index);
    a.said_n = a.n;
    if (a.n > 0 && tinkc_samples_stop_reason(samples, index) == TINKC_STOP_STOP &&
        (tk_tok_is_special(a.tok, a.tokens[a.n - 1]) ||
         a.tokens[a.n - 1] == tinkc_tokenizer_end(tokenizer))) {
        a.said_n--;
    }
    return a;
}

/* Appends the text that the tokens have after those of the prompt: some decoders treat the
 * beginning of a text in their own way. */
static tinkc_code decode(tk_buf *out, const answer *a, const tinkc_model_input *prompt,
                         tk_err *err)
{
    int32_t *all = NULL;
    size_t before_n = 0;
    tk_buf before, text;
    tk_buf_init(&before, TK_TOK_TEXT_MAX_BYTES);
    tk_buf_init(&text, TK_TOK_TEXT_MAX_BYTES);
    tinkc_code code = tk_types_copy_tokens(&all, &before_n, prompt, a->said_n + 1, err);
    if (code != TINKC_OK) {
        goto out;
    }
    if (a->said_n > 0) {
        memcpy(all + before_n, a->tokens, a->said_n * sizeof(*all));
    }
    tk_tok_decode(a->tok, all, before_n, false, &before);
    tk_tok_decode(a->tok, all, before_n + a->said_n, false, &text);
    code = tk_buf_status(&before, err);
    if (code == TINKC_OK) {
        code = tk_buf_status(&text, err);
    }
    if (code != TINKC_OK) {
        goto out;
    }
    if (before.n <= text.n &&
        (before.n == 0 || memcmp(text.p, before.p, before.n) == 0)) {
        tk_buf_put(out, text.p + before.n, text.n - before.n);
    } else { /* the prompt ends inside a character */
        tk_tok_decode(a->tok, a->tokens, a->said_n, false, out);
    }
    code = tk_buf_status(out, err);
out:
    tk_free(all);
    tk_buf_dispose(&before);
    tk_buf_dispose(&text);
    return code;
}

tinkc_code tinkc_chat_add_sample(tinkc_chat *chat, tinkc_model_input *prompt,
                                 const tinkc_tokenizer *tokenizer,
                                 const tinkc_samples *samples, size_t index,
                                 tinkc_error **error)
{
    if (chat == NULL || prompt == NULL || tokenizer == NULL || samples == NULL) {
        return tk_error_tell(error, TINKC_E_INVALID,
                             "chat, prompt, tokenizer and samples must not be NULL");
    }
    if (index >= tinkc_samples_count(samples)) {
        return tk_error_tell(error, TINKC_E_MISSING, "there is no such continuation");
    }
    tk_err err = TK_ERR_INIT;
    tk_buf text;
    tk_buf_init(&text, TK_TOK_TEXT_MAX_BYTES);
    answer a = find_answer(tokenizer, samples, index);
    tk_chat *messages = tk_chat_edit(chat);
    size_t count = messages->n;
    tinkc_code code = decode(&text, &a, prompt, &err);
    if (code == TINKC_OK) {
        code = tk_chat_add(messages, TK_STR("assistant"), tk_buf_str(&text), &err);
    }
    if (code != TINKC_OK) {
        (void)tk_error_give(error, &err);
    } else if (a.n > 0) {
        code = tinkc_model_input_add_tokens(prompt, a.tokens, a.n, error);
    }
    if (code != TINKC_OK) {
        messages->n = count;
    }
    tk_buf_dispose(&text);
    return code;
}
