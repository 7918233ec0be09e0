/* Text of messages: parts that become one text, and parts that are refused. */
#include <string.h>

#include "chatapi/ca_read.h"

bool ca_join_add(ca_reader *r, ca_joiner *joiner, tk_str text)
{
    if (joiner->n == joiner->cap) {
        size_t cap = joiner->cap * 2 + 4;
        tk_str *grown = tk_arena_array(&r->out->arena, cap, sizeof(*grown));
        if (grown == NULL) {
            return ca_refuse_memory(r);
        }
        if (joiner->n > 0) {
            memcpy(grown, joiner->parts, joiner->n * sizeof(*grown));
        }
        joiner->parts = grown;
        joiner->cap = cap;
    }
    joiner->parts[joiner->n++] = text;
    return true;
}

bool ca_join_end(ca_reader *r, ca_joiner *joiner, const char *between, tk_str *out)
{
    size_t gap = strlen(between), n = 0;
    for (size_t i = 0; i < joiner->n; i++) {
        n += joiner->parts[i].n + (i > 0 ? gap : 0); /* all are parts of one body */
    }
    char *p = tk_arena_alloc(&r->out->arena, n + 1);
    if (p == NULL) {
        return ca_refuse_memory(r);
    }
    *out = (tk_str){p, n};
    for (size_t i = 0; i < joiner->n; i++) {
        if (i > 0) {
            memcpy(p, between, gap);
            p += gap;
        }
        if (joiner->parts[i].n > 0) {
            memcpy(p, joiner->parts[i].p, joiner->parts[i].n);
            p += joiner->parts[i].n;
        }
    }
    *p = '\0';
    joiner->n = 0;
    return true;
}

bool ca_refuse_kind(ca_reader *r, const ca_at *at, tk_str type)
{
    const ca_at here = {at, "type", 0};
    return ca_refuse(r, &here, "'" TK_STR_FMT "' is not supported here",
                     TK_STR_ARG(type));
}

static bool read_part(ca_reader *r, const ca_at *at, const tk_json *part,
                      const char *types, tk_str *out)
{
    tk_str type;
    if (part->type != TK_JSON_OBJECT) {
        return ca_refuse_type(r, at, part, "an object");
    }
    if (part->as.object.n > TK_CA_MEMBERS_MAX) {
        return ca_refuse(r, at, "has too many members");
    }
    if (!ca_need_str(r, at, part, "type", &type)) {
        return false;
    }
    if (!ca_word_in(types, type)) {
        return ca_refuse_kind(r, at, type);
    }
    if (tk_str_is(type, "refusal")) {
        return ca_only(r, at, part, "type refusal") &&
               ca_need_str(r, at, part, "refusal", out);
    }
    const tk_json *citations = ca_get(part, "citations");
    if (citations != NULL &&
        !(tk_json_is_array(citations) && tk_json_len(citations) == 0)) {
        return ca_refuse_member(r, at, "citations", "is not supported here");
    }
    return ca_only(r, at, part,
                   "type text cache_control citations annotations logprobs "
                   "prompt_cache_breakpoint") &&
           ca_need_str(r, at, part, "text", out);
}

bool ca_to_text(ca_reader *r, const ca_at *at, const tk_json *v, const char *types,
                const char *between, tk_str *out)
{
    if (v != NULL && v->type == TK_JSON_STRING) {
        *out = v->as.string;
        return true;
    }
    size_t n = 0;
    if (v == NULL || !tk_json_is_array(v)) {
        return ca_refuse_type(r, at, v, "a string or an array of parts");
    }
    if (!ca_to_array(r, at, v, TK_CA_MESSAGES_MAX, &n)) {
        return false;
    }
    ca_joiner joiner = {NULL, 0, 0};
    for (size_t i = 0; i < n; i++) {
        const ca_at here = {at, NULL, i};
        const tk_json part = tk_json_at(v, i);
        tk_str text;
        if (!read_part(r, &here, &part, types, &text) || !ca_join_add(r, &joiner, text)) {
            return false;
        }
    }
    return ca_join_end(r, &joiner, between, out);
}
