/* Conversations: renders them with chat templates to text, to prompts for sampling, and to
 * tokens with weights for training.
 *
 * A template is the Jinja source that comes with a model (chat_template in
 * tokenizer_config.json, or chat_template.jinja). It renders to the same text as in Hugging
 * Face's transformers and fails where it fails there; docs/guide/chat.md lists the
 * exceptions. Templates and messages may be hostile: time, memory and output are bounded
 * (TINKC_E_LIMIT). A library built without TINKC_TEXT does not have the functions of this
 * header.
 *
 * Ownership: a function with an `out` argument makes an object that the caller frees with
 * the matching _free. Arguments are copied. On failure objects and outputs stay as they
 * were. Every function with an `err` argument returns TINKC_E_INVALID when a required
 * argument is NULL. Thread: a template is immutable, and any number of threads may use it;
 * every other object is used by one thread at a time. Nothing here uses the network. */
#ifndef TINKC_CHAT_H
#define TINKC_CHAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tinkc/error.h>
#include <tinkc/export.h>
#include <tinkc/tokenizer.h>
#include <tinkc/types.h>

TINKC_BEGIN_DECLS

typedef struct tinkc_chat_template tinkc_chat_template;
typedef struct tinkc_chat tinkc_chat;         /* messages, tools, variables */
typedef struct tinkc_rendered tinkc_rendered; /* tokens with labels and weights */

/* ---- templates ---- */

/* Parses the source of a template. The caller frees *out. TINKC_E_PARSE: a syntax error,
 * with its line, or text that is not UTF-8; TINKC_E_UNSUPPORTED: a part of Jinja that is
 * not implemented; TINKC_E_LIMIT: too large or nested too deeply; TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_chat_template_new(tinkc_chat_template **out,
                                                             const char *source,
                                                             tinkc_error **err);

/* Loads a template from a *.jinja file, a tokenizer_config.json, or a directory that
 * contains either. The special tokens of a tokenizer_config.json become variables
 * (bos_token, ...). `name` selects one of several templates of a tokenizer_config.json;
 * NULL selects "default" and, for conversations with tools, "tool_use" if there is one.
 * The caller frees *out. Errors as tinkc_chat_template_new; TINKC_E_MISSING: no such file
 * or template; TINKC_E_IO: a file cannot be read; TINKC_E_PARSE, TINKC_E_DECODE: an
 * invalid tokenizer_config.json. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_chat_template_load(tinkc_chat_template **out,
                                                              const char *path,
                                                              const char *name,
                                                              tinkc_error **err);

/* Parses the template that came with the tokenizer, with its special tokens. `name` as
 * in tinkc_chat_template_load. The caller frees *out. Errors as tinkc_chat_template_new;
 * TINKC_E_MISSING: the tokenizer has no such template. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_chat_template_of(tinkc_chat_template **out, const tinkc_tokenizer *tokenizer,
                       const char *name, tinkc_error **err);

/* Frees the template and sets *tpl to NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_chat_template_free(tinkc_chat_template **tpl);

/* ---- conversations ---- */

/* Makes an empty conversation. The caller frees *out. TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_chat_new(tinkc_chat **out, tinkc_error **err);

/* Frees the conversation and sets *chat to NULL. Accepts NULL and a pointer to
 * NULL. */
TINKC_API void tinkc_chat_free(tinkc_chat **chat);

/* Appends the message {"role": role, "content": content}. TINKC_E_INVALID for NULL or
 * text that is not UTF-8; TINKC_E_NOMEM, also when the conversation exceeds 1 GiB. */
TINKC_API tinkc_code tinkc_chat_add(tinkc_chat *chat, const char *role,
                                    const char *content, tinkc_error **err);

/* Appends what json[0 .. n) contains: one message (an object with role, content as text
 * or parts, tool_calls, reasoning_content, ...), an array of messages, or an object with
 * "messages", whose other keys become variables. TINKC_E_PARSE: not JSON; TINKC_E_DECODE:
 * JSON of another form; TINKC_E_LIMIT: too long, nested too deeply, or too many
 * variables; TINKC_E_NOMEM. */
TINKC_API tinkc_code tinkc_chat_add_json(tinkc_chat *chat, const char *json, size_t n,
                                         tinkc_error **err);

/* Sets the template variable `name` to the JSON value `json`, for example "tools" to an
 * array of functions or "enable_thinking" to "false"; replaces an earlier value.
 * TINKC_E_PARSE, TINKC_E_LIMIT and TINKC_E_NOMEM as in tinkc_chat_add_json. */
TINKC_API tinkc_code tinkc_chat_set(tinkc_chat *chat, const char *name, const char *json,
                                    tinkc_error **err);

/* Returns the number of messages; 0 for NULL. */
TINKC_API size_t tinkc_chat_count(const tinkc_chat *chat);

/* Returns the content of message `index`, borrowed until the conversation is freed; *n
 * (unless NULL) is its length. NULL, and 0, when `index` is past the end or the content is
 * no text but parts. */
TINKC_API const char *tinkc_chat_content(size_t *n, const tinkc_chat *chat, size_t index);

/* ---- text ---- */

/* As `now_us`: the current time. */
#define TINKC_CHAT_NOW INT64_MIN

/* Returns TINKC_CHAT_NOW, for programs in languages that cannot read a C macro. */
TINKC_API int64_t tinkc_chat_now(void);

/* How to render. Start from TINKC_CHAT_OPTIONS_INIT. */
typedef struct tinkc_chat_options {
    size_t size;                /* of this struct */
    bool add_generation_prompt; /* end with the header of the assistant's turn */
    bool continue_final;        /* end inside the last message, which the model continues;
                                   not together with add_generation_prompt */
    bool strict;    /* reject what tinkc supports and transformers rejects: list.append,
                       from_json */
    int64_t now_us; /* the time that strftime_now shows, in UTC: microseconds since 1970;
                       TINKC_CHAT_NOW: the current time, in the local time zone */
} tinkc_chat_options;

#define TINKC_CHAT_OPTIONS_INIT                                                          \
    {                                                                                    \
        sizeof(tinkc_chat_options), false, false, false, TINKC_CHAT_NOW                  \
    }

/* Sets *options to TINKC_CHAT_OPTIONS_INIT. */
TINKC_API void tinkc_chat_options_init(tinkc_chat_options *options);

/* Renders the conversation to NUL-terminated text. The caller frees *out with
 * tinkc_text_free; *n (unless NULL) is its length. `options` NULL:
 * TINKC_CHAT_OPTIONS_INIT. TINKC_E_INVALID: jinja2 would raise an exception, for example
 * from raise_exception() in the template (the message gives the template's line), or the
 * options contradict each other; TINKC_E_UNSUPPORTED: the template uses something that is
 * not implemented, or continue_final does not find the last message in the text;
 * TINKC_E_LIMIT; TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_chat_render(char **out, size_t *n,
                                                       const tinkc_chat_template *tpl,
                                                       const tinkc_chat *chat,
                                                       const tinkc_chat_options *options,
                                                       tinkc_error **err);

/* ---- prompts ---- */

/* Makes the tokens that the model reads before it answers: the rendered conversation,
 * tokenized. `options` NULL: the defaults with add_generation_prompt. The caller frees
 * *out. Errors as tinkc_chat_render and tinkc_tokenizer_encode. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_chat_prompt(tinkc_model_input **out,
                                                       const tinkc_chat_template *tpl,
                                                       const tinkc_chat *chat,
                                                       const tinkc_tokenizer *tokenizer,
                                                       const tinkc_chat_options *options,
                                                       tinkc_error **err);

/* Appends continuation `index` of `samples` to the prompt that it was sampled after, token
 * by token as it was sampled, and to the conversation, as a message of the assistant. The
 * message is the text of the tokens with special tokens in it, but without the special
 * token that ended the answer, which the template writes; bytes that are no character are
 * U+FFFD. tinkc_chat_content gives the text. On failure both stay as they were.
 * TINKC_E_MISSING when `index` is past the end; TINKC_E_INVALID for a prompt with images;
 * TINKC_E_LIMIT for more than 1 GiB of text; TINKC_E_NOMEM. */
TINKC_API tinkc_code tinkc_chat_add_sample(tinkc_chat *chat, tinkc_model_input *prompt,
                                           const tinkc_tokenizer *tokenizer,
                                           const tinkc_samples *samples, size_t index,
                                           tinkc_error **err);

/* Appends to `prompt`, for the next turn, the tokens of the text that the conversation has
 * and the prompt does not have yet. The tokens already in the prompt, including sampled
 * ones, stay as they are; their text is not tokenized again:
 *
 *     tinkc_chat_prompt(&prompt, ...);                 the first question
 *     tinkc_chat_add_sample(chat, prompt, ...);        the answer, as it was sampled
 *     tinkc_chat_add(chat, "user", "And then?", ...);
 *     tinkc_chat_continue(prompt, ...);                end of turn, question, header
 *
 * A program that appends the sampled tokens itself (tinkc_model_input_add_tokens) adds the
 * message as tinkc_chat_add_sample does: tinkc_tokenizer_text of the tokens but the end
 * token, without skip_special. `options` as in tinkc_chat_prompt; an empty prompt receives
 * the whole conversation. On failure `prompt` stays as it was. TINKC_E_UNSUPPORTED when the
 * rendered conversation does not begin with the text of the prompt's tokens (a template
 * that leaves out earlier reasoning or trims blanks, or an assistant message that is not
 * what was sampled); the error message gives the byte offset and both texts. A model may
 * sample such an answer at any time: drop that episode, and go on with the others.
 * TINKC_E_INVALID for a prompt with images, and for an assistant message that ends with the
 * token that the template writes after it; other errors as tinkc_chat_prompt. */
TINKC_API tinkc_code tinkc_chat_continue(tinkc_model_input *prompt,
                                         const tinkc_chat_template *tpl,
                                         const tinkc_chat *chat,
                                         const tinkc_tokenizer *tokenizer,
                                         const tinkc_chat_options *options,
                                         tinkc_error **err);

/* ---- tokens ---- */

/* Which tokens count in the loss. */
typedef enum tinkc_loss_on {
    TINKC_LOSS_ON_ASSISTANT = 0, /* every assistant turn, with its end-of-turn token */
    TINKC_LOSS_ON_LAST = 1,      /* the last assistant turn */
    TINKC_LOSS_ON_ALL = 2        /* everything */
} tinkc_loss_on;

/* Consecutive tokens of one message and one kind. */
typedef struct tinkc_chat_part {
    size_t begin, end; /* token indices [begin, end) */
    int64_t message;   /* index; -1: no message, or not known */
    const char *role;  /* of that message, "" without one; borrowed */
    bool is_content;   /* text of the message; false: text of the template */
    bool is_trained;   /* selected by loss_on */
} tinkc_chat_part;

/* Returns the weight of each token of the part. Called by tinkc_chat_tokens, on its
 * thread. */
typedef float (*tinkc_weigh_fn)(const tinkc_chat_part *part, void *user);

/* How to make training data from a conversation. */
typedef struct tinkc_train_options {
    size_t size;
    tinkc_loss_on loss_on;
    tinkc_weigh_fn weigh; /* NULL: 1 where is_trained, else 0 */
    void *user;
    const tinkc_chat_options *chat; /* only strict and now_us are used; NULL: defaults */
} tinkc_train_options;

#define TINKC_TRAIN_OPTIONS_INIT                                                         \
    {                                                                                    \
        sizeof(tinkc_train_options), TINKC_LOSS_ON_ASSISTANT, NULL, NULL, NULL           \
    }

/* Sets *options to TINKC_TRAIN_OPTIONS_INIT. */
TINKC_API void tinkc_train_options_init(tinkc_train_options *options);

/* Tokenizes a whole conversation and gives each token its weight. If the template marks
 * text with {% generation %}, that text is trained on. Otherwise an assistant turn starts
 * where the text of the preceding messages, rendered with the generation prompt, ends.
 * `options` NULL: TINKC_TRAIN_OPTIONS_INIT. The caller frees *out. TINKC_E_UNSUPPORTED,
 * with the index of the message, when the template is not prefix-stable: the first
 * messages do not render to the beginning of the text, for example because earlier
 * reasoning is left out. Other errors as tinkc_chat_render and tinkc_tokenizer_encode. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_chat_tokens(tinkc_rendered **out,
                                                       const tinkc_chat_template *tpl,
                                                       const tinkc_chat *chat,
                                                       const tinkc_tokenizer *tokenizer,
                                                       const tinkc_train_options *options,
                                                       tinkc_error **err);

/* Frees the rendered conversation and sets *rendered to NULL. Accepts NULL and a
 * pointer to NULL. */
TINKC_API void tinkc_rendered_free(tinkc_rendered **rendered);

/* Returns the text that was tokenized, borrowed until the object is freed; NULL for NULL.
 * *n (unless NULL) is its length. */
TINKC_API const char *tinkc_rendered_text(size_t *n, const tinkc_rendered *rendered);

/* Returns the token ids, borrowed until the object is freed; NULL for NULL. *n (unless
 * NULL) is their number. */
TINKC_API const int32_t *tinkc_rendered_tokens(size_t *n, const tinkc_rendered *rendered);

/* Returns the weight of each token, borrowed until the object is freed; NULL for NULL. *n
 * (unless NULL) is the number of tokens. Weights are not shifted: weight i belongs to
 * token i. */
TINKC_API const float *tinkc_rendered_weights(size_t *n, const tinkc_rendered *rendered);

/* Returns the number of parts, which cover all tokens in order; 0 for NULL. */
TINKC_API size_t tinkc_rendered_part_count(const tinkc_rendered *rendered);

/* Copies a part to *out; its `role` is borrowed until the object is freed. Returns false,
 * and writes nothing, when `index` is past the end or `rendered` is NULL. */
TINKC_API bool tinkc_rendered_part(tinkc_chat_part *out, const tinkc_rendered *rendered,
                                   size_t index);

/* Returns a one-line warning about a common mistake in this conversation: two BOS tokens,
 * a missing BOS token, a turn without an end-of-turn token or with two, a token that
 * crosses a turn boundary, nothing to train on. Borrowed until the object is freed; NULL when `index` is
 * past the last warning (there are at most 16). */
TINKC_API const char *tinkc_rendered_warning(const tinkc_rendered *rendered,
                                             size_t index);

/* Makes a datum for cross_entropy: its input is all tokens but the last, its
 * target_tokens are all but the first, and it has one weight per target. The caller
 * frees *out. TINKC_E_INVALID for fewer than two tokens, TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_rendered_datum(tinkc_datum **out,
                                                          const tinkc_rendered *rendered,
                                                          tinkc_error **err);

/* Calls tinkc_chat_tokens and tinkc_rendered_datum. The caller frees *out. Errors as
 * those two. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_chat_datum(tinkc_datum **out,
                                                      const tinkc_chat_template *tpl,
                                                      const tinkc_chat *chat,
                                                      const tinkc_tokenizer *tokenizer,
                                                      const tinkc_train_options *options,
                                                      tinkc_error **err);

TINKC_END_DECLS

#endif
