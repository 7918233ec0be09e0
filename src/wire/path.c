/* tinker://<run>/<kind>/<name>, as the official SDK's parser has it, or
 * tinker://<run>/<name>. */
#include "wire/path.h"
#include "base/tk.h"
#include "base/utf8.h"

#define PREFIX "tinker://"

static const struct {
    const char *name, *type;
} kinds[] = {
    [TK_PATH_WEIGHTS] = {"weights", "training"},
    [TK_PATH_SAMPLER_WEIGHTS] = {"sampler_weights", "sampler"},
    [TK_PATH_EXTERNAL_WEIGHTS] = {"external_weights", "external"},
};

static size_t row_of(tk_path_kind kind)
{
    return (size_t)kind < TK_ARRAY_LEN(kinds) ? (size_t)kind : TK_PATH_WEIGHTS;
}

const char *tk_path_kind_name(tk_path_kind kind)
{
    return kinds[row_of(kind)].name;
}

const char *tk_path_checkpoint_type(tk_path_kind kind)
{
    return kinds[row_of(kind)].type;
}

bool tk_path_find_kind(tk_path_kind *out, tk_str text)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(kinds); i++) {
        if (tk_str_is(text, kinds[i].name)) {
            *out = (tk_path_kind)i;
            return true;
        }
    }
    return false;
}

size_t tk_path_scheme(tk_str text)
{
    static const char other[] = "twinkle://";
    if (tk_str_has_prefix(text, PREFIX)) {
        return sizeof(PREFIX) - 1;
    }
    return tk_str_has_prefix(text, other) ? sizeof(other) - 1 : 0;
}

tinkc_code tk_path_parse(tk_path *out, tk_str text, tk_err *err)
{
    size_t scheme = tk_path_scheme(text);
    if (scheme == 0) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "checkpoint path must start with \"" PREFIX "\"");
    }
    if (!tk_utf8_is_valid(text)) {
        return tk_err_set(err, TINKC_E_INVALID, "checkpoint path is not UTF-8");
    }
    tk_str rest = {text.p + scheme, text.n - scheme};
    tk_path path = {0};
    path.run = tk_str_cut(&rest, '/');
    path.checkpoint_id = rest;
    tk_str kind = tk_str_cut(&rest, '/');
    path.name = tk_str_cut(&rest, '/');
    bool is_kind = tk_path_find_kind(&path.kind, kind);
    if (path.name.p == NULL && kind.n > 0 && !is_kind) {
        path.kind = TK_PATH_SAMPLER_WEIGHTS;
        path.name = kind;
        path.is_bare = true;
    }
    if (path.run.n == 0 || path.name.p == NULL || rest.p != NULL) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "checkpoint path must be tinker://<run>/<kind>/<name>");
    }
    if (!is_kind && !path.is_bare) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "\"" TK_STR_FMT "\" is not weights, sampler_weights or "
                          "external_weights",
                          TK_STR_ARG(kind));
    }
    *out = path;
    return TINKC_OK;
}
