/* Conversations and their templates: text for sampling, and text with labels for
 * training.
 *
 * A template is parsed once and immutable. A conversation is JSON values in an arena.
 * What a part of the text belongs to follows from rendering: the beginning of the
 * conversation must render to the beginning of the text, which is checked, never assumed.
 * Thread: a template may be used by any number of threads, a conversation by one at a
 * time. */
#ifndef TEXT_CHAT_H
#define TEXT_CHAT_H

#include "text/jinja/jinja.h"
#include "text/tok/tok.h"

typedef struct tk_chat_template tk_chat_template;

/* Make a template: from source alone; from what a tokenizer's config holds (special
 * tokens become variables; `name` NULL is the default one, or "tool_use" for
 * conversations with tools); from a file: *.jinja, tokenizer_config.json, or a directory
 * with either. The caller frees *out. TINKC_E_MISSING: no template, or none of that
 * name. */
TK_NODISCARD tinkc_code tk_chat_template_new(tk_chat_template **out, tk_str source,
                                             tk_err *err);
TK_NODISCARD tinkc_code tk_chat_template_of(tk_chat_template **out,
                                            const tk_tok_config *config, const char *name,
                                            tk_err *err);
TK_NODISCARD tinkc_code tk_chat_template_load(tk_chat_template **out, const char *path,
                                              const char *name, tk_err *err);
void tk_chat_template_free(tk_chat_template *tpl); /* accepts NULL */

typedef struct tk_chat {
    tk_arena arena;
    tk_json *messages; /* objects */
    size_t n, cap;
    tk_jinja_var *vars; /* tools, documents and what else the caller set */
    size_t n_vars, cap_vars;
} tk_chat;

void tk_chat_init(tk_chat *chat);
void tk_chat_dispose(tk_chat *chat);

/* On failure the conversation is as it was. */
TK_NODISCARD tinkc_code tk_chat_add(tk_chat *chat, tk_str role, tk_str content,
                                    tk_err *err);
/* One message, an array of them, or {"messages": [...], other variables ...}. */
TK_NODISCARD tinkc_code tk_chat_add_json(tk_chat *chat, tk_str json, tk_err *err);
TK_NODISCARD tinkc_code tk_chat_set(tk_chat *chat, tk_str name, tk_str json, tk_err *err);
tk_str tk_chat_role(const tk_chat *chat, size_t index); /* "" when it has none */

typedef struct tk_chat_how {
    bool add_generation_prompt;
    bool continue_final; /* the text ends where the last message's content ends */
    bool strict;
    bool has_now;
    int64_t now_us;
} tk_chat_how;

TK_NODISCARD tinkc_code tk_chat_render(tk_buf *out, const tk_chat_template *tpl,
                                       const tk_chat *chat, const tk_chat_how *how,
                                       tk_err *err);

/* ---- for training ---- */

typedef enum tk_chat_loss {
    TK_CHAT_LOSS_ASSISTANT,
    TK_CHAT_LOSS_LAST,
    TK_CHAT_LOSS_ALL
} tk_chat_loss;

typedef struct tk_chat_part {
    size_t begin, end; /* bytes of the text */
    int64_t message;   /* -1: belongs to none */
    bool is_content;   /* text of the message; else of the template */
    bool is_trained;
} tk_chat_part;

typedef struct tk_chat_layout {
    tk_buf text;
    tk_chat_part *parts; /* cover the text, in order */
    size_t n;
    bool is_stable; /* the borders of all messages were found */
} tk_chat_layout;

/* Renders the whole conversation and finds its parts. TINKC_E_UNSUPPORTED, naming the
 * message, when a trained turn cannot be found because the template is not prefix-stable.
 * On success the caller disposes. */
TK_NODISCARD tinkc_code tk_chat_lay_out(tk_chat_layout *out, const tk_chat_template *tpl,
                                        const tk_chat *chat, const tk_chat_how *how,
                                        tk_chat_loss loss, tk_err *err);
void tk_chat_layout_dispose(tk_chat_layout *layout); /* accepts a zeroed one */

/* For tk_chat_lay_out: renders the first n messages, with the generation spans. */
TK_NODISCARD tinkc_code tk_chat_render_first(tk_buf *out, const tk_chat_template *tpl,
                                             const tk_chat *chat, size_t n,
                                             const tk_jinja_job *job, tk_err *err);
bool tk_chat_template_is_marked(const tk_chat_template *tpl, const tk_chat *chat);

/* Texts of a message that a template may show: reasoning, content, its parts. Starts with
 * only `message` set. */
typedef struct tk_chat_texts {
    const tk_json *message;
    const tk_json *value; /* of the key before `key`, which has more; or NULL */
    size_t key, item;
} tk_chat_texts;

/* Returns false after the last text. */
bool tk_chat_text_next(tk_chat_texts *at, tk_str *out);

#endif
