/* DeepSeek V3, R1 (first form) and V3.1 (second form).
 *
 *   answer  := text "<｜tool▁calls▁begin｜>" call+ "<｜tool▁calls▁end｜>"
 *   call    := "<｜tool▁call▁begin｜>" (first | second) "<｜tool▁call▁end｜>"
 *   first   := type "<｜tool▁sep｜>" name newline "```json" newline object newline "```"
 *   second  := name "<｜tool▁sep｜>" object
 *
 * White space may be around calls. Each call is reported at its own end; a section that is
 * not closed takes nothing back. */
#include "chatapi/ca_parse.h"

#define CALL_BEGIN "<｜tool▁call▁begin｜>"
#define CALL_END   "<｜tool▁call▁end｜>"
#define SEPARATOR  "<｜tool▁sep｜>"

enum { SECTION, BEGIN, HEAD, AFTER, NAME, FENCE, OBJECT, TAIL, END };

/* After the separator: an object, or the name of the first form. */
static ca_step scan_after(ca_scan *scan)
{
    ca_step step = ca_scan_literal(scan, TK_STR(SEPARATOR));
    if (step == CA_STEP_OK) {
        scan->from = scan->at;
        scan->state = NAME;
    }
    return step;
}

static ca_step scan_name(ca_scan *scan)
{
    if (scan->at == scan->text.n) {
        return CA_STEP_MORE;
    }
    if (scan->text.p[scan->from] == '{') {
        scan->state = OBJECT;
        return CA_STEP_OK;
    }
    ca_step step = ca_scan_until(scan, TK_STR("\n"), scan->from, TK_CA_NAME_BYTES);
    if (step == CA_STEP_OK) {
        scan->name_from = scan->from;
        scan->name_to = scan->at;
        scan->state = FENCE;
    }
    return step;
}

static ca_step scan_object(ca_scan *scan)
{
    if (scan->json.depth == 0) {
        scan->from = scan->at;
    }
    ca_step step = ca_scan_json(scan, '{');
    if (step == CA_STEP_OK) {
        scan->to = scan->at;
        scan->state = scan->id_from > 0 ? TAIL : END;
    }
    return step;
}

static ca_step scan_state(ca_scan *scan)
{
    ca_step step = CA_STEP_OK;
    switch (scan->state) {
    case SECTION:
        scan->state = scan->opener->mark == CA_MARK_IN_SECTION ? HEAD : BEGIN;
        scan->name_from = scan->at;
        return CA_STEP_OK;
    case BEGIN:
        step = ca_scan_then(scan, TK_STR(CALL_BEGIN), HEAD);
        scan->name_from = scan->at;
        return step;
    case HEAD:
        step = ca_scan_until(scan, TK_STR(SEPARATOR), scan->name_from, TK_CA_NAME_BYTES);
        scan->name_to = scan->at;
        scan->state = step == CA_STEP_OK ? AFTER : HEAD;
        return step;
    case AFTER:
        return scan_after(scan);
    case NAME:
        return scan_name(scan);
    case FENCE:
        step = ca_scan_literal(scan, TK_STR("\n```json\n"));
        scan->state = step == CA_STEP_OK ? OBJECT : FENCE;
        scan->id_from = 1; /* a fence is open */
        return step;
    case OBJECT:
        return scan_object(scan);
    case TAIL:
        return ca_scan_then(scan, TK_STR("```"), END);
    default:
        return ca_scan_then(scan, TK_STR(CALL_END), END + 1);
    }
}

static ca_verdict scan_call(ca_scan *scan)
{
    while (scan->state <= END) {
        ca_step step = scan_state(scan);
        if (step != CA_STEP_OK) {
            return ca_scan_verdict(scan, step);
        }
    }
    scan->opens_section = true;
    return ca_scan_emit(scan,
                        tk_str_trim(ca_scan_part(scan, scan->name_from, scan->name_to)),
                        ca_scan_part(scan, scan->from, scan->to), (tk_str){NULL, 0});
}

#define MARK(literal, mark)                                                              \
    {                                                                                    \
        {(literal), sizeof(literal) - 1}, (mark)                                         \
    }

static const ca_marker markers[] = {
    MARK("<｜tool▁calls▁begin｜>", CA_MARK_CALL),
    MARK(CALL_BEGIN, CA_MARK_IN_SECTION),
    MARK("<｜tool▁calls▁end｜>", CA_MARK_SECTION_END),
    MARK(SEPARATOR, CA_MARK_INNER),
    MARK(CALL_END, CA_MARK_INNER),
};

const ca_family ca_parse_deepseek = {
    .markers = markers, .n_markers = TK_ARRAY_LEN(markers), .scan = scan_call};
