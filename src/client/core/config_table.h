/* The table of options: the one place that names them. docs/config.md is generated from
 * it. */
#ifndef CLIENT_CONFIG_TABLE_H
#define CLIENT_CONFIG_TABLE_H

#include "client/core/config_int.h"

typedef enum tk_option_type {
    TK_OPTION_STRING,
    TK_OPTION_SECRET,
    TK_OPTION_BOOL, /* 1 true yes on / 0 false no off */
    TK_OPTION_INT,
    TK_OPTION_MS,    /* milliseconds, or "none" */
    TK_OPTION_CHOICE /* one of `words` */
} tk_option_type;

typedef struct tk_option {
    const char *name;
    tk_option_type type;
    size_t at;                                  /* in struct tinkc_config */
    const char *fallback;                       /* text of the default; NULL: not set */
    const char *env;                            /* variable, or NULL */
    const char *(*from_env)(const char *value); /* its spelling to ours; NULL: the same */
    int64_t min, max;
    const char *words; /* CHOICE: "thread manual", the value is the position */
    const char *help;
} tk_option;

const tk_option *tk_option_at(size_t index); /* NULL past the end */
const tk_option *tk_option_find(const char *name);
const char *tk_option_type_name(tk_option_type type);

/* Numbers of all types but texts. */
TK_NODISCARD bool tk_option_parse(int64_t *out, const tk_option *option,
                                  const char *text);
const char *tk_option_text(const tk_option *option, int64_t value, char *buffer,
                           size_t size);
const char *tk_option_expects(const tk_option *option); /* "a whole number", ... */

#endif
