/* tokenizer_config.json: which token has which role, and the chat templates as raw text.
 *
 * Read once and immutable afterwards. Unknown keys are ignored; a field of the wrong type
 * is TINKC_E_DECODE. */
#ifndef TEXT_TOK_CONFIG_H
#define TEXT_TOK_CONFIG_H

#include "base/arena.h"
#include "base/json.h"

typedef struct tk_tok_pair {
    tk_str name, text; /* both NUL-terminated */
} tk_tok_pair;

typedef enum tk_tok_flag { TK_TOK_UNSET, TK_TOK_NO, TK_TOK_YES } tk_tok_flag;

typedef struct tk_tok_config {
    tk_arena arena;      /* holds everything below */
    const tk_json *root; /* the file; NULL when there is none */
    tk_str tokenizer_class;
    tk_tok_flag add_bos, add_eos; /* add_bos_token, add_eos_token */
    tk_tok_pair *specials;        /* "bos_token" -> "<s>", ... : every string (or added
                                     token) whose key ends with "_token" */
    size_t n_specials;
    tk_tok_pair *templates; /* "default" and the named ones; the last of a name counts */
    size_t n_templates;
} tk_tok_config;

/* Reads a config. `json` {NULL, 0} gives an empty one. `jinja` is the text of
 * chat_template.jinja, or {NULL, 0}: it is the default template then. On success the
 * caller disposes. */
TK_NODISCARD tinkc_code tk_tok_config_parse(tk_tok_config *out, tk_str json, tk_str jinja,
                                            tk_err *err);
void tk_tok_config_dispose(tk_tok_config *config); /* accepts a zeroed one */

/* Return {NULL, 0} when there is no such role or template. */
tk_str tk_tok_config_special(const tk_tok_config *config, const char *role);
tk_str tk_tok_config_template(const tk_tok_config *config, const char *name);

#endif
