/* Mistral, both forms.
 *
 *   older  := "[TOOL_CALLS]" space "[" object ("," object)* "]"
 *   object := JSON with "name": text, "arguments": object, and perhaps "id": text
 *   newer  := "[TOOL_CALLS]" name ["[CALL_ID]" id] ["[ARGS]"] object
 *
 * The newer form (tokenizer 11 and later) is repeated for several calls. [ARGS] may be
 * missing where a server does not show special tokens. The calls of the older form are one
 * unit: all are calls, or all is text. */
#include "chatapi/ca_parse.h"

enum { START, LIST, NAME, SEPARATOR, ID, OBJECT, DONE };

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '-' || c == '.';
}

static ca_step scan_start(ca_scan *scan)
{
    ca_step step = ca_scan_space(scan);
    scan->from = scan->name_from = scan->at;
    if (step == CA_STEP_OK) {
        scan->state = scan->text.p[scan->at] == '[' ? LIST : NAME;
    }
    return step;
}

/* The name, or the id: `next` is the state after it. */
static ca_step scan_word(ca_scan *scan, size_t from, size_t *to, int next)
{
    while (scan->at < scan->text.n && is_word(scan->text.p[scan->at]) &&
           scan->at - from < TK_CA_NAME_BYTES) {
        scan->at++;
    }
    *to = scan->at;
    if (scan->at == scan->text.n) {
        return CA_STEP_MORE;
    }
    scan->state = next;
    return CA_STEP_OK;
}

/* After the name or the id; both markers begin alike. */
static ca_step scan_separator(ca_scan *scan)
{
    ca_step step = ca_scan_literal(scan, TK_STR("[ARGS]"));
    if (step == CA_STEP_OK) {
        scan->state = OBJECT;
        return step;
    }
    if (scan->id_from == 0) {
        ca_step other = ca_scan_literal(scan, TK_STR("[CALL_ID]"));
        if (other == CA_STEP_OK) {
            scan->state = ID;
            scan->id_from = scan->at;
            return other;
        }
        step = other == CA_STEP_MORE ? other : step;
    }
    if (step == CA_STEP_NO && scan->text.p[scan->at] == '{') {
        scan->state = OBJECT;
        return CA_STEP_OK;
    }
    return step;
}

static ca_step scan_object(ca_scan *scan)
{
    if (scan->json.depth == 0) {
        ca_step step = ca_scan_space(scan);
        if (step != CA_STEP_OK) {
            return step;
        }
        scan->from = scan->at;
    }
    ca_step step = ca_scan_json(scan, '{');
    scan->state = step == CA_STEP_OK ? DONE : OBJECT;
    return step;
}

static ca_verdict scan_call(ca_scan *scan)
{
    ca_step step = CA_STEP_OK;
    while (step == CA_STEP_OK && scan->state != DONE) {
        switch (scan->state) {
        case START:
            step = scan_start(scan);
            break;
        case LIST:
            step = ca_scan_json(scan, '[');
            if (step == CA_STEP_OK) {
                return ca_scan_emit_json(scan, ca_scan_part(scan, scan->from, scan->at),
                                         false);
            }
            break;
        case NAME:
            step = scan_word(scan, scan->name_from, &scan->name_to, SEPARATOR);
            break;
        case SEPARATOR:
            step = scan_separator(scan);
            break;
        case ID:
            step = scan_word(scan, scan->id_from, &scan->id_to, SEPARATOR);
            break;
        default:
            step = scan_object(scan);
        }
    }
    if (step != CA_STEP_OK) {
        return ca_scan_verdict(scan, step);
    }
    return ca_scan_emit(scan, ca_scan_part(scan, scan->name_from, scan->name_to),
                        ca_scan_part(scan, scan->from, scan->at),
                        ca_scan_part(scan, scan->id_from, scan->id_to));
}

static const ca_marker markers[] = {
    {{"[TOOL_CALLS]", 12}, CA_MARK_CALL},
    {{"[ARGS]", 6}, CA_MARK_INNER},
    {{"[CALL_ID]", 9}, CA_MARK_INNER},
};

const ca_family ca_parse_mistral = {
    .markers = markers, .n_markers = TK_ARRAY_LEN(markers), .scan = scan_call};
