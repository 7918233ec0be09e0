/* A tokenizer with the files beside it. */
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "text/tok_int.h"

tk_tok *tk_tok_ref(tk_tok *tok)
{
    if (tok != NULL) {
        atomic_fetch_add(&tok->owners, 1);
    }
    return tok;
}

const tk_tok_config *tk_tok_get_config(const tk_tok *tok)
{
    return &tok->config;
}

tinkc_code tk_tok_open_memory(tk_tok **out, tk_str json, tk_str config, tk_err *err)
{
    tk_tok *tok = NULL;
    tinkc_code code = tk_tok_load_memory(&tok, json, err);
    if (code == TINKC_OK) {
        code = tk_tok_config_parse(&tok->config, config, (tk_str){NULL, 0}, err);
    }
    if (code != TINKC_OK) {
        tk_tok_free(tok);
        return code;
    }
    *out = tok;
    return TINKC_OK;
}

tinkc_code tk_tok_open(tk_tok **out, const char *path, tk_err *err)
{
    char *json = NULL, *config = NULL;
    size_t n = 0;
    struct stat st;
    char *file = stat(path, &st) == 0 && S_ISDIR(st.st_mode)
                     ? tk_file_join(path, "tokenizer.json")
                     : tk_strdup(path);
    char *slash = file != NULL ? strrchr(file, '/') : NULL;
    char *dir = slash != NULL ? tk_strndup(file, (size_t)(slash - file)) : tk_strdup(".");
    char *beside = dir != NULL ? tk_file_join(dir, "tokenizer_config.json") : NULL;
    tinkc_code code = file != NULL && beside != NULL
                          ? tk_file_read(&json, &n, file, TK_TOK_FILE_MAX_BYTES, err)
                          : tk_err_nomem(err);
    if (code == TINKC_OK && stat(beside, &st) == 0) {
        code = tk_file_read(&config, NULL, beside, TK_TOK_CONFIG_MAX_BYTES, err);
    }
    if (code == TINKC_OK) {
        code = tk_tok_open_memory(out, (tk_str){json, n}, tk_str_of(config), err);
    }
    tk_free(json);
    tk_free(config);
    tk_free(file);
    tk_free(dir);
    tk_free(beside);
    return code;
}
