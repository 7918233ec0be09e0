/* The steps that families read calls with: literals, white space, JSON. Each step reads on
 * from scan->at, so that no byte is read twice however the text comes. */
#include "base/utf8.h"
#include "chatapi/ca_parse.h"

#include <string.h>

bool ca_scan_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

ca_step ca_scan_space(ca_scan *scan)
{
    while (scan->at < scan->text.n && ca_scan_is_space(scan->text.p[scan->at])) {
        scan->at++;
    }
    return scan->at < scan->text.n ? CA_STEP_OK : CA_STEP_MORE;
}

ca_step ca_scan_literal(ca_scan *scan, tk_str literal)
{
    size_t n = TK_MIN(literal.n, scan->text.n - scan->at);
    if (memcmp(scan->text.p + scan->at, literal.p, n) != 0) {
        return CA_STEP_NO;
    }
    if (n < literal.n) {
        return CA_STEP_MORE;
    }
    scan->at += n;
    return CA_STEP_OK;
}

ca_step ca_scan_either(bool *is_first, ca_scan *scan, tk_str first, tk_str second)
{
    ca_step step = ca_scan_space(scan);
    if (step != CA_STEP_OK) {
        return step;
    }
    step = ca_scan_literal(scan, first);
    *is_first = step == CA_STEP_OK;
    if (*is_first) {
        return step;
    }
    ca_step other = ca_scan_literal(scan, second);
    return other == CA_STEP_NO ? step : other;
}

ca_step ca_scan_then(ca_scan *scan, tk_str literal, int next)
{
    ca_step step = ca_scan_space(scan);
    step = step == CA_STEP_OK ? ca_scan_literal(scan, literal) : step;
    scan->state = step == CA_STEP_OK ? next : scan->state;
    return step;
}

ca_step ca_scan_until(ca_scan *scan, tk_str literal, size_t from, size_t max)
{
    while (scan->at < scan->text.n && scan->at - from <= max) {
        const char *p = scan->text.p + scan->at;
        size_t left = scan->text.n - scan->at;
        const char *hit = memchr(p, literal.p[0], left);
        size_t skip = hit == NULL ? left : (size_t)(hit - p);
        if (scan->at + skip - from > max) {
            break;
        }
        scan->at += skip;
        size_t n = TK_MIN(literal.n, left - skip);
        if (n == 0) {
            return CA_STEP_MORE;
        }
        if (memcmp(hit, literal.p, n) == 0) {
            return n == literal.n ? CA_STEP_OK : CA_STEP_MORE;
        }
        scan->at++;
    }
    if (scan->at - from > max || scan->at < scan->text.n) {
        scan->at = from + max + 1;
        return CA_STEP_NO;
    }
    return CA_STEP_MORE;
}

/* ---- JSON ---- */

enum {
    J_VALUE,     /* before a value */
    J_FIRST,     /* before a value or ']' */
    J_KEY,       /* before a key */
    J_FIRST_KEY, /* before a key or '}' */
    J_COLON,     /* after a key */
    J_AFTER,     /* after a value */
    J_SCALAR,    /* inside a number or a word */
    J_STRING,    /* inside a string value */
    J_ESCAPE,    /* after its backslash */
    J_KEY_STRING,
    J_KEY_ESCAPE
};

static bool in_object(const ca_json_scan *j)
{
    return (j->is_object[(j->depth - 1) / 64] >> ((j->depth - 1) % 64) & 1) != 0;
}

static ca_step json_open(ca_json_scan *j, bool is_object)
{
    if (j->depth >= TK_JSON_MAX_DEPTH) {
        return CA_STEP_NO;
    }
    uint64_t bit = (uint64_t)1 << (j->depth % 64);
    uint64_t *word = &j->is_object[j->depth / 64];
    *word = is_object ? *word | bit : *word & ~bit;
    j->depth++;
    j->state = is_object ? J_FIRST_KEY : J_FIRST;
    return CA_STEP_MORE;
}

static ca_step json_close(ca_json_scan *j, bool is_object)
{
    if (j->depth == 0 || in_object(j) != is_object) {
        return CA_STEP_NO;
    }
    j->depth--;
    j->state = J_AFTER;
    return j->depth == 0 ? CA_STEP_OK : CA_STEP_MORE;
}

static ca_step json_after(ca_json_scan *j, char c)
{
    if (c == ',') {
        j->state = in_object(j) ? J_KEY : J_VALUE;
        return CA_STEP_MORE;
    }
    return c == '}'              ? json_close(j, true)
           : c == ']'            ? json_close(j, false)
           : ca_scan_is_space(c) ? CA_STEP_MORE
                                 : CA_STEP_NO;
}

static bool is_scalar(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '+' ||
           c == '.' || c == 'E';
}

static ca_step json_value(ca_json_scan *j, char c)
{
    if (c == '{' || c == '[') {
        return json_open(j, c == '{');
    }
    if (c == ']' && j->state == J_FIRST) {
        return json_close(j, false);
    }
    if (ca_scan_is_space(c)) {
        return CA_STEP_MORE;
    }
    j->state = c == '"' ? J_STRING : J_SCALAR;
    return c == '"' || is_scalar(c) ? CA_STEP_MORE : CA_STEP_NO;
}

/* Inside a string: `state` is J_STRING or J_KEY_STRING, the escape's state follows it. */
static ca_step json_string(ca_json_scan *j, char c)
{
    bool is_key = j->state == J_KEY_STRING || j->state == J_KEY_ESCAPE;
    int inside = is_key ? J_KEY_STRING : J_STRING;
    if (j->quad > 0) {
        j->quad--;
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')
                   ? CA_STEP_MORE
                   : CA_STEP_NO;
    }
    if (j->state != inside) {
        j->state = inside;
        j->quad = c == 'u' ? 4 : 0;
        return c != '\0' && strchr("\"\\/bfnrtu", c) != NULL ? CA_STEP_MORE : CA_STEP_NO;
    }
    if (c == '"') {
        j->state = is_key ? J_COLON : J_AFTER;
    } else if (c == '\\') {
        j->state = inside + 1;
    }
    return (unsigned char)c >= 0x20 ? CA_STEP_MORE : CA_STEP_NO;
}

static ca_step json_key(ca_json_scan *j, char c)
{
    if (c == '"') {
        j->state = J_KEY_STRING;
        return CA_STEP_MORE;
    }
    if (c == '}' && j->state == J_FIRST_KEY) {
        return json_close(j, true);
    }
    return ca_scan_is_space(c) ? CA_STEP_MORE : CA_STEP_NO;
}

/* One byte. OK: it was the last one of the value. */
static ca_step json_byte(ca_json_scan *j, char c)
{
    switch (j->state) {
    case J_VALUE:
    case J_FIRST:
        return json_value(j, c);
    case J_KEY:
    case J_FIRST_KEY:
        return json_key(j, c);
    case J_COLON:
        j->state = c == ':' ? J_VALUE : J_COLON;
        return c == ':' || ca_scan_is_space(c) ? CA_STEP_MORE : CA_STEP_NO;
    case J_SCALAR:
        if (is_scalar(c)) {
            return CA_STEP_MORE;
        }
        j->state = J_AFTER;
        return json_after(j, c);
    case J_AFTER:
        return json_after(j, c);
    default:
        return json_string(j, c);
    }
}

ca_step ca_scan_json(ca_scan *scan, char opens)
{
    while (scan->at < scan->text.n) {
        char c = scan->text.p[scan->at];
        if (scan->json.depth == 0 && c != opens) {
            return CA_STEP_NO;
        }
        ca_step step = json_byte(&scan->json, c);
        if (step == CA_STEP_NO) {
            return step;
        }
        scan->at++;
        if (step == CA_STEP_OK) {
            return step;
        }
    }
    return CA_STEP_MORE;
}

/* ---- what was read ---- */

ca_verdict ca_scan_verdict(const ca_scan *scan, ca_step step)
{
    return step == CA_STEP_MORE && !scan->at_end ? CA_SCAN_MORE : CA_SCAN_NOT;
}

tk_str ca_scan_part(const ca_scan *scan, size_t from, size_t to)
{
    return (tk_str){scan->text.p + from, to - from};
}

/* A name that a client can be given: text without control characters. */
static bool is_name(tk_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        if ((unsigned char)name.p[i] < 0x20 || name.p[i] == 0x7f) {
            return false;
        }
    }
    return name.n > 0 && name.n <= TK_CA_NAME_BYTES && tk_utf8_is_valid(name);
}

/* Parses into the arena. NULL for what is not JSON; running out of memory is the parser's
 * failure. */
static const tk_json *parse(ca_scan *scan, tk_arena *arena, tk_str json)
{
    const tk_json *value = NULL;
    tinkc_code code = tk_json_parse(&value, arena, json.p, json.n, NULL, NULL);
    if (code == TINKC_E_NOMEM) {
        ca_parser_fail(scan->parser, code);
    }
    return value;
}

ca_verdict ca_scan_emit(ca_scan *scan, tk_str name, tk_str arguments, tk_str id)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_json *value = parse(scan, &arena, arguments);
    bool is_call = value != NULL && value->type == TK_JSON_OBJECT && is_name(name) &&
                   (id.n == 0 || is_name(id)) && ca_parser_has_room(scan->parser, 1);
    tk_arena_dispose(&arena);
    if (is_call) {
        ca_parser_add_call(scan->parser, name, arguments, id);
    }
    return is_call ? CA_SCAN_CALL : CA_SCAN_NOT;
}

/* Moves *at, in valid JSON, over white space and the value there; returns the value. */
static tk_str skip_value(tk_str json, size_t *at)
{
    while (ca_scan_is_space(json.p[*at])) {
        (*at)++;
    }
    size_t from = *at, depth = 0;
    bool is_string = false;
    for (; *at < json.n; (*at)++) {
        char c = json.p[*at];
        if (is_string) {
            *at += c == '\\' ? 1 : 0;
            is_string = c != '"';
        } else if (c == '"') {
            is_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (depth == 0 && (c == ',' || c == ':' || c == '}' || c == ']')) {
            break;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return tk_str_trim((tk_str){json.p + from, *at - from});
}

/* A call as JSON: what its members are, as values and as they were written. */
typedef struct ca_written {
    tk_str name, id, arguments;
} ca_written;

/* Reads one object of valid JSON; its members are in the order of the text. */
static bool read_object(ca_written *out, const tk_json *object, tk_str json,
                        bool or_parameters)
{
    size_t at = 1, n_arguments = 0, n_parameters = 0;
    *out = (ca_written){.name = {NULL, 0}};
    for (size_t i = 0; object->type == TK_JSON_OBJECT && i < object->as.object.n; i++) {
        const tk_json_member *member = &object->as.object.members[i];
        (void)skip_value(json, &at);
        at++; /* ':' */
        tk_str raw = skip_value(json, &at);
        at++; /* ',' or '}' */
        bool is_text = member->value.type == TK_JSON_STRING;
        if (tk_str_is(member->key, "name") && is_text) {
            out->name = member->value.as.string;
        } else if (tk_str_is(member->key, "id") && is_text) {
            out->id = member->value.as.string;
        } else if (tk_str_is(member->key, "arguments")) {
            out->arguments = raw;
            n_arguments++;
        } else if (or_parameters && tk_str_is(member->key, "parameters")) {
            out->arguments = raw;
            n_parameters++;
        }
    }
    return is_name(out->name) && n_arguments + n_parameters == 1 &&
           out->arguments.p[0] == '{';
}

ca_verdict ca_scan_emit_json(ca_scan *scan, tk_str json, bool or_parameters)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_json *value = parse(scan, &arena, json);
    bool is_list = value != NULL && tk_json_is_array(value);
    size_t n = is_list ? tk_json_len(value) : 1;
    bool is_right = value != NULL && n > 0 && ca_parser_has_room(scan->parser, n);
    for (int pass = 0; pass < 2 && is_right; pass++) { /* all of them, or none */
        size_t at = 1;
        for (size_t i = 0; i < n && is_right; i++) {
            tk_json item = is_list ? tk_json_at(value, i) : *value;
            tk_str raw = is_list ? skip_value(json, &at) : json;
            at++;
            ca_written call;
            is_right = read_object(&call, &item, raw, or_parameters);
            if (is_right && pass > 0) {
                ca_parser_add_call(scan->parser, call.name, call.arguments,
                                   is_name(call.id) ? call.id : (tk_str){NULL, 0});
            }
        }
    }
    tk_arena_dispose(&arena);
    return is_right ? CA_SCAN_CALL : CA_SCAN_NOT;
}
