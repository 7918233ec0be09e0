/* Kimi K2.
 *
 *   answer := text "<|tool_calls_section_begin|>" call+ "<|tool_calls_section_end|>"
 *   call   := "<|tool_call_begin|>" id "<|tool_call_argument_begin|>" object
 *             "<|tool_call_end|>"
 *   id     := ["functions."] name ":" digits
 *
 * White space may be around the parts; no arguments at all mean {}, as in vLLM. The id is
 * the model's, and its template writes the id of a result back, so that it is kept. Each
 * call is reported at its own end; a section that is not closed takes nothing back. */
#include "chatapi/ca_parse.h"

#define CALL_BEGIN "<|tool_call_begin|>"
#define CALL_END   "<|tool_call_end|>"
#define ARGUMENTS  "<|tool_call_argument_begin|>"

enum { SECTION, BEGIN, ID, OBJECT, END, DONE };

static ca_step scan_id(ca_scan *scan)
{
    ca_step step =
        ca_scan_until(scan, TK_STR(ARGUMENTS), scan->id_from, 2 * TK_CA_NAME_BYTES);
    if (step == CA_STEP_OK) {
        scan->id_to = scan->at;
        scan->at += sizeof(ARGUMENTS) - 1;
        scan->state = OBJECT;
    }
    return step;
}

static ca_step scan_object(ca_scan *scan)
{
    if (scan->json.depth == 0) {
        ca_step step = ca_scan_space(scan);
        scan->from = scan->to = scan->at;
        if (step != CA_STEP_OK) {
            return step;
        }
        if (scan->text.p[scan->at] == '<') { /* there are none */
            scan->state = END;
            return CA_STEP_OK;
        }
    }
    ca_step step = ca_scan_json(scan, '{');
    if (step == CA_STEP_OK) {
        scan->to = scan->at;
        scan->state = END;
    }
    return step;
}

static ca_step scan_state(ca_scan *scan)
{
    ca_step step = CA_STEP_OK;
    switch (scan->state) {
    case SECTION:
        scan->state = scan->opener->mark == CA_MARK_IN_SECTION ? ID : BEGIN;
        scan->id_from = scan->at;
        return CA_STEP_OK;
    case BEGIN:
        step = ca_scan_then(scan, TK_STR(CALL_BEGIN), ID);
        scan->id_from = scan->at;
        return step;
    case ID:
        return scan_id(scan);
    case OBJECT:
        return scan_object(scan);
    default:
        return ca_scan_then(scan, TK_STR(CALL_END), DONE);
    }
}

/* The name in an id; empty when it is not one. */
static tk_str name_of(tk_str id)
{
    size_t digits = 0, n = id.n;
    while (n > 0 && id.p[n - 1] >= '0' && id.p[n - 1] <= '9') {
        n--;
        digits++;
    }
    if (digits == 0 || n == 0 || id.p[n - 1] != ':') {
        return (tk_str){NULL, 0};
    }
    tk_str name = {id.p, n - 1};
    size_t skip = tk_str_has_prefix(name, "functions.") ? 10 : 0;
    return (tk_str){name.p + skip, name.n - skip};
}

static ca_verdict scan_call(ca_scan *scan)
{
    while (scan->state != DONE) {
        ca_step step = scan_state(scan);
        if (step != CA_STEP_OK) {
            return ca_scan_verdict(scan, step);
        }
    }
    tk_str id = tk_str_trim(ca_scan_part(scan, scan->id_from, scan->id_to));
    tk_str arguments = ca_scan_part(scan, scan->from, scan->to);
    scan->opens_section = true;
    return ca_scan_emit(scan, name_of(id), arguments.n > 0 ? arguments : TK_STR("{}"),
                        id);
}

#define MARK(literal, mark)                                                              \
    {                                                                                    \
        {(literal), sizeof(literal) - 1}, (mark)                                         \
    }

static const ca_marker markers[] = {
    MARK("<|tool_calls_section_begin|>", CA_MARK_CALL),
    MARK(CALL_BEGIN, CA_MARK_IN_SECTION),
    MARK("<|tool_calls_section_end|>", CA_MARK_SECTION_END),
    MARK(ARGUMENTS, CA_MARK_INNER),
    MARK(CALL_END, CA_MARK_INNER),
};

const ca_family ca_parse_kimi = {
    .markers = markers, .n_markers = TK_ARRAY_LEN(markers), .scan = scan_call};
