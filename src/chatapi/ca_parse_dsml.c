/* DSML: DeepSeek V3.2 ("function_calls") and V4 ("tool_calls").
 *
 *   answer    := text "<｜DSML｜function_calls>" call+ "</｜DSML｜function_calls>"
 *   call      := "<｜DSML｜invoke name=" quoted ">" space parameter* "</｜DSML｜invoke>"
 *   parameter := "<｜DSML｜parameter name=" quoted " string=" quoted ">" value
 *                "</｜DSML｜parameter>" space
 *
 * White space may be around calls. A value with string="true" is text as it is, one with
 * string="false" is JSON; a tool's schema is not needed. Each call is reported at its own
 * end; a section that is not closed takes nothing back. "｜DSML｜" is one special token. */
#include "chatapi/ca_parse.h"

#define INVOKE    "<｜DSML｜invoke name=\""
#define PARAMETER "<｜DSML｜parameter name=\""
#define VALUE_END "</｜DSML｜parameter>"

enum { BEGIN, NAME, ARGUMENT, KEY, KIND, VALUE, DONE };

/* What is between here and the quote; then the next state. */
static ca_step scan_quoted(ca_scan *scan, size_t from, size_t *to, tk_str after, int next)
{
    ca_step step = CA_STEP_OK;
    if (*to == 0) {
        step = ca_scan_until(scan, TK_STR("\""), from, TK_CA_NAME_BYTES);
        *to = step == CA_STEP_OK ? scan->at : 0;
    }
    step = step == CA_STEP_OK ? ca_scan_literal(scan, after) : step;
    scan->state = step == CA_STEP_OK ? next : scan->state;
    return step;
}

static ca_step scan_begin(ca_scan *scan)
{
    ca_step step = CA_STEP_OK;
    if (scan->opener->mark != CA_MARK_IN_SECTION) {
        step = ca_scan_space(scan);
        step = step == CA_STEP_OK ? ca_scan_literal(scan, TK_STR(INVOKE)) : step;
    }
    if (step == CA_STEP_OK) {
        scan->name_from = scan->at;
        scan->state = NAME;
        ca_args_begin(scan);
    }
    return step;
}

static ca_step scan_argument(ca_scan *scan)
{
    bool is_key = false;
    ca_step step =
        ca_scan_either(&is_key, scan, TK_STR(PARAMETER), TK_STR("</｜DSML｜invoke>"));
    if (step == CA_STEP_OK) {
        scan->id_from = scan->at;
        scan->id_to = 0;
        scan->state = is_key ? KEY : DONE;
    }
    return step;
}

static ca_step scan_kind(ca_scan *scan)
{
    ca_step yes = ca_scan_literal(scan, TK_STR("true\">"));
    ca_step no =
        yes == CA_STEP_OK ? CA_STEP_NO : ca_scan_literal(scan, TK_STR("false\">"));
    if (yes == CA_STEP_OK || no == CA_STEP_OK) {
        scan->to = yes == CA_STEP_OK; /* it is text */
        scan->from = scan->at;
        scan->state = VALUE;
        return CA_STEP_OK;
    }
    return yes == CA_STEP_MORE ? yes : no;
}

static ca_step scan_value(ca_scan *scan)
{
    ca_step step = ca_scan_until(scan, TK_STR(VALUE_END), scan->from, TK_CA_HELD_BYTES);
    if (step != CA_STEP_OK) {
        return step;
    }
    tk_str key = ca_scan_part(scan, scan->id_from, scan->id_to);
    tk_str value = ca_scan_part(scan, scan->from, scan->at);
    if (!ca_args_put_kind(scan, key, value, scan->to == 1)) {
        return CA_STEP_NO;
    }
    scan->at += sizeof(VALUE_END) - 1;
    scan->state = ARGUMENT;
    return step;
}

static ca_step scan_state(ca_scan *scan)
{
    switch (scan->state) {
    case BEGIN:
        return scan_begin(scan);
    case NAME:
        return scan_quoted(scan, scan->name_from, &scan->name_to, TK_STR("\">"),
                           ARGUMENT);
    case ARGUMENT:
        return scan_argument(scan);
    case KEY:
        return scan_quoted(scan, scan->id_from, &scan->id_to, TK_STR("\" string=\""),
                           KIND);
    case KIND:
        return scan_kind(scan);
    default:
        return scan_value(scan);
    }
}

static ca_verdict scan_call(ca_scan *scan)
{
    while (scan->state != DONE) {
        ca_step step = scan_state(scan);
        if (step != CA_STEP_OK) {
            return ca_scan_verdict(scan, step);
        }
    }
    scan->opens_section = true;
    return ca_args_emit(scan, ca_scan_part(scan, scan->name_from, scan->name_to));
}

#define MARK(literal, mark)                                                              \
    {                                                                                    \
        {(literal), sizeof(literal) - 1}, (mark)                                         \
    }

static const ca_marker markers[] = {
    MARK("<｜DSML｜function_calls>", CA_MARK_CALL),
    MARK("<｜DSML｜tool_calls>", CA_MARK_CALL),
    MARK(INVOKE, CA_MARK_IN_SECTION),
    MARK("</｜DSML｜function_calls>", CA_MARK_SECTION_END),
    MARK("</｜DSML｜tool_calls>", CA_MARK_SECTION_END),
    MARK("｜DSML｜", CA_MARK_PART),
};

const ca_family ca_parse_dsml = {
    .markers = markers, .n_markers = TK_ARRAY_LEN(markers), .scan = scan_call};
