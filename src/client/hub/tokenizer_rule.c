/* See tokenizer_rule.h.
 * Needs: text */
#include "client/hub/tokenizer_rule.h"

#include <stdio.h>
#include <string.h>

#include "client/hub/hub_cache.h"

/* The files at meta-llama need a licence that the ones here do not; the name is as in
 * the official SDK 0.25 (it was another one before). */
#define LLAMA3_PREFIX "meta-llama/Llama-3"
#define LLAMA3_ID     "thinkingmachineslabinc/meta-llama-3-instruct-tokenizer"

static const struct {
    const char *id, *revision;
} pins[] = {
    {"moonshotai/Kimi-K2-Thinking", "612681931a8c906ddb349f8ad0f582cb552189cd"},
    {"moonshotai/Kimi-K2.5", "4d01dfe0332d63057c186e0b262165819efb6611"},
    {"moonshotai/Kimi-K2.6", "b5aabbfb20227ed42becbf5541dbffd213942c58"},
    {"moonshotai/Kimi-K3", "f831ab66814297da540d832a5235f8e904f29d06"},
};

/* Models without files of their own. */
static tk_str of_another(tk_str id)
{
    return tk_str_is(id, "moonshotai/Kimi-K2.5-Text-Only")
               ? TK_STR("moonshotai/Kimi-K2.5")
               : id;
}

static bool is_revision(tk_str revision)
{
    return revision.n < TK_TOKENIZER_REVISION_BYTES && tk_hub_cache_is_path(revision, 8);
}

/* "org/name/variant" is "org/name". */
static tk_str without_variant(tk_str name)
{
    size_t slashes = 0;
    for (size_t i = 0; i < name.n; i++) {
        slashes += name.p[i] == '/' ? 1 : 0;
        if (slashes == 2) {
            return (tk_str){name.p, i};
        }
    }
    return name;
}

static tk_str by_model(const char *model)
{
    tk_str rest = tk_str_of(model);
    tk_str name = tk_str_cut(&rest, ':');
    if (tk_str_has_prefix(name, LLAMA3_PREFIX)) {
        return TK_STR(LLAMA3_ID);
    }
    return without_variant(name);
}

static tk_str pinned(tk_str id)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(pins); i++) {
        if (tk_str_is(id, pins[i].id)) {
            return tk_str_of(pins[i].revision);
        }
    }
    return TK_STR("main");
}

tinkc_code tk_tokenizer_rule(tk_tokenizer_id *out, const char *model, const char *said,
                             const char *revision, tk_err *err)
{
    tk_str behind = {NULL, 0};
    tk_str id;
    if (said != NULL && said[0] != '\0') {
        behind = tk_str_of(said);
        id = tk_str_cut(&behind, ':');
        if (behind.n > 0 && memchr(behind.p, ':', behind.n) != NULL) {
            behind = (tk_str){NULL, 0}; /* "Qwen/Qwen3-8B:peft:1": not a revision */
        }
    } else {
        id = by_model(model);
    }
    id = of_another(id);
    tk_str at = revision != NULL && revision[0] != '\0' ? tk_str_of(revision) : behind;
    if (at.n == 0) {
        at = pinned(id);
    }
    if (id.n >= TK_TOKENIZER_ID_BYTES || !tk_hub_cache_is_id(id)) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "\"" TK_STR_FMT "\" is not the name of a tokenizer at the hub",
                          TK_STR_ARG(id));
    }
    if (!is_revision(at)) {
        return tk_err_set(err, TINKC_E_INVALID, "\"" TK_STR_FMT "\" is not a revision",
                          TK_STR_ARG(at));
    }
    *out = (tk_tokenizer_id){.is_private = tk_str_has_prefix(id, "TML/") ||
                                           tk_str_has_prefix(id, "thinkingmachines/")};
    (void)snprintf(out->id, sizeof(out->id), TK_STR_FMT, TK_STR_ARG(id));
    (void)snprintf(out->revision, sizeof(out->revision), TK_STR_FMT, TK_STR_ARG(at));
    return TINKC_OK;
}
