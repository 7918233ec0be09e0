/* The frame of a request: the body as JSON, its fields by the tables of the dialect, and
 * what several fields together mean. */
#include "chatapi/ca_request.h"

#include <stdio.h>
#include <string.h>

#include "chatapi/ca_read.h"

static const ca_field *find_field(const ca_field *fields, tk_str name)
{
    for (; fields->name != NULL; fields++) {
        if (tk_str_is(name, fields->name)) {
            return fields;
        }
    }
    return NULL;
}

static bool take_field(ca_reader *r, const tk_json_member *member, const ca_field *fields)
{
    const ca_field *field = find_field(fields, member->key);
    if (field == NULL) {
        field = find_field(ca_shared_fields(), member->key);
    }
    if (ca_is_ignored(r, member->key)) {
        return true;
    }
    if (field == NULL) {
        char key[64];
        (void)snprintf(key, sizeof(key), TK_STR_FMT, TK_STR_ARG(member->key));
        const ca_at at = {NULL, key, 0};
        return ca_refuse(r, &at, "is not a field of this endpoint");
    }
    const ca_at at = {NULL, field->name, 0};
    return field->take(r, &at, &member->value);
}

bool ca_read_fields(ca_reader *r, const tk_json *body, const ca_field *fields)
{
    for (size_t i = 0; i < body->as.object.n; i++) {
        const tk_json_member *member = &body->as.object.members[i];
        bool is_last = true; /* of several equal names the last one counts */
        for (size_t k = i + 1; k < body->as.object.n && is_last; k++) {
            is_last = !tk_str_eq(member->key, body->as.object.members[k].key);
        }
        if (is_last && member->value.type != TK_JSON_NULL &&
            !take_field(r, member, fields)) {
            return false;
        }
    }
    return true;
}

static bool read_kwargs(ca_reader *r, const tk_json *body)
{
    const ca_at at = {NULL, "chat_template_kwargs", 0};
    const tk_json *kwargs = ca_get(body, at.key);
    if (kwargs == NULL || r->out->dialect == CA_COMPLETIONS ||
        ca_is_ignored(r, tk_str_of(at.key))) {
        return true;
    }
    if (kwargs->type != TK_JSON_OBJECT) {
        return ca_refuse_type(r, &at, kwargs, "an object");
    }
    if (kwargs->as.object.n > TK_CA_KWARGS_MAX) {
        return ca_refuse(r, &at, "has more than %d members", TK_CA_KWARGS_MAX);
    }
    for (size_t i = kwargs->as.object.n; i-- > 0;) { /* the last of equal names counts */
        const tk_json_member *member = &kwargs->as.object.members[i];
        if (ca_word_in("messages tools add_generation_prompt continue_final_message "
                       "chat_template tokenize",
                       member->key)) {
            return ca_refuse(r, &at, "'" TK_STR_FMT "' has a field of its own",
                             TK_STR_ARG(member->key));
        }
        if (memchr(member->key.p, '\0', member->key.n) != NULL) {
            return ca_refuse(r, &at, "a name has a NUL");
        }
        if (!ca_set_var(r, member->key.p, member->value)) {
            return false;
        }
    }
    return true;
}

static bool finish(ca_reader *r)
{
    ca_request *out = r->out;
    const ca_at top = {NULL, "top_logprobs", 0}, n = {NULL, "n", 0};
    const ca_at options = {NULL, "stream_options", 0};
    const ca_at scores = {NULL, "prompt_logprobs", 0};
    if (out->is_streamed && ca_get(out->body, scores.key) != NULL &&
        !ca_is_ignored(r, tk_str_of(scores.key))) {
        return ca_refuse(r, &scores, "is not in streams");
    }
    if (out->params.top_logprobs > 0 && !out->params.logprobs) {
        return ca_refuse(r, &top, "needs logprobs");
    }
    if (!out->is_streamed && ca_get(out->body, "stream_options") != NULL &&
        !ca_is_ignored(r, tk_str_of(options.key))) {
        return ca_refuse(r, &options, "needs stream");
    }
    if (out->n_prompts * out->params.n > TK_CA_ANSWERS_MAX) {
        return ca_refuse(r, &n, "more than %d answers in one request", TK_CA_ANSWERS_MAX);
    }
    return ca_finish_tools(r);
}

static bool read_body(ca_reader *r)
{
    const tk_json *body = r->out->body;
    if (body->type != TK_JSON_OBJECT) {
        return ca_refuse_type(r, NULL, body, "an object");
    }
    if (body->as.object.n > TK_CA_MEMBERS_MAX) {
        return ca_refuse(r, NULL, "the body has too many members");
    }
    if (!read_kwargs(r, body)) { /* first: they win over what other fields set */
        return false;
    }
    switch (r->out->dialect) {
    case CA_CHAT:
        return ca_read_chat(r, body) && finish(r);
    case CA_COMPLETIONS:
        return ca_read_text(r, body) && finish(r);
    case CA_RESPONSES:
        return ca_read_responses(r, body) && finish(r);
    case CA_MESSAGES:
        return ca_read_messages(r, body) && finish(r);
    }
    return ca_refuse(r, NULL, "an unknown dialect");
}

static bool parse_json(ca_reader *r, tk_str body)
{
    static const tk_json_limits limits = {
        .max_bytes = TK_CA_BODY_BYTES, .max_depth = TK_CA_DEPTH, .keeps_kinds = true};
    tk_err err = TK_ERR_INIT;
    if (body.n > TK_CA_BODY_BYTES) {
        (void)ca_refuse(r, NULL, "the body has %zu bytes, the limit is %zu", body.n,
                        (size_t)TK_CA_BODY_BYTES);
        r->fault->status = 413;
        return false;
    }
    tinkc_code code =
        tk_json_parse(&r->out->body, &r->out->arena, body.p, body.n, &limits, &err);
    if (code == TINKC_E_NOMEM) {
        return ca_refuse_memory(r);
    }
    return code == TINKC_OK ||
           ca_refuse(r, NULL, "the body is not JSON: %s (byte %zu)", err.message,
                     err.offset != TK_ERR_NO_OFFSET ? err.offset : (size_t)0);
}

bool ca_request_parse_how(ca_request *out, ca_dialect dialect, tk_str body,
                          const ca_request_how *how, ca_fault *fault)
{
    *fault = (ca_fault){.err = TK_ERR_INIT};
    *out = (ca_request){.dialect = dialect, .params = {.n = 1}};
    tk_arena_init_quota(&out->arena, TK_CA_ARENA_BYTES, how->quota);
    tk_chat_init(&out->chat);
    ca_reader r = {.out = out, .how = how, .fault = fault};
    if (parse_json(&r, body) && read_body(&r)) {
        return true;
    }
    ca_request_dispose(out);
    return false;
}

bool ca_request_parse(ca_request *out, ca_dialect dialect, tk_str body, tk_quota *quota,
                      ca_fault *fault)
{
    const ca_request_how how = {.quota = quota};
    return ca_request_parse_how(out, dialect, body, &how, fault);
}

void ca_request_dispose(ca_request *request)
{
    tk_chat_dispose(&request->chat);
    tk_arena_dispose(&request->arena);
    *request = (ca_request){.dialect = request->dialect};
}
