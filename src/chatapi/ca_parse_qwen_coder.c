/* Qwen3-Coder, Qwen3.5, Nemotron 3, Step 3.5.
 *
 *   call      := "<tool_call>" space "<function=" name ">" space parameter* "</function>"
 *                space "</tool_call>"
 *   parameter := "<parameter=" key ">" value "</parameter>" space
 *
 * One newline at each end of a value is the template's. A value ends at the first
 * "</parameter>". Types: ca_args.c. */
#include "chatapi/ca_parse.h"

enum { START, NAME, PARAMETER, KEY, VALUE, END, DONE };

/* What is between here and '>'; then the next state. */
static ca_step scan_angle(ca_scan *scan, size_t *from, size_t *to, int next)
{
    ca_step step = ca_scan_until(scan, TK_STR(">"), *from, TK_CA_NAME_BYTES);
    if (step == CA_STEP_OK) {
        *to = scan->at++;
        scan->from = scan->at;
        scan->state = next;
    }
    return step;
}

static ca_step scan_start(ca_scan *scan)
{
    ca_step step = ca_scan_space(scan);
    step = step == CA_STEP_OK ? ca_scan_literal(scan, TK_STR("<function=")) : step;
    if (step == CA_STEP_OK) {
        scan->name_from = scan->at;
        scan->state = NAME;
        ca_args_begin(scan);
    }
    return step;
}

static ca_step scan_parameter(ca_scan *scan)
{
    bool is_key = false;
    ca_step step =
        ca_scan_either(&is_key, scan, TK_STR("<parameter="), TK_STR("</function>"));
    if (step == CA_STEP_OK) {
        scan->id_from = scan->at;
        scan->state = is_key ? KEY : END;
    }
    return step;
}

static ca_step scan_value(ca_scan *scan)
{
    ca_step step =
        ca_scan_until(scan, TK_STR("</parameter>"), scan->from, TK_CA_HELD_BYTES);
    if (step != CA_STEP_OK) {
        return step;
    }
    tk_str value = ca_scan_part(scan, scan->from, scan->at);
    if (value.n > 0 && value.p[0] == '\n') {
        value.p++;
        value.n--;
    }
    if (value.n > 0 && value.p[value.n - 1] == '\n') {
        value.n--;
    }
    ca_args_put(scan, ca_scan_part(scan, scan->name_from, scan->name_to),
                ca_scan_part(scan, scan->id_from, scan->id_to), value);
    scan->at += sizeof("</parameter>") - 1;
    scan->state = PARAMETER;
    return step;
}

static ca_step scan_end(ca_scan *scan)
{
    ca_step step = ca_scan_space(scan);
    step = step == CA_STEP_OK ? ca_scan_literal(scan, TK_STR("</tool_call>")) : step;
    scan->state = step == CA_STEP_OK ? DONE : END;
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
        case NAME:
            step = scan_angle(scan, &scan->name_from, &scan->name_to, PARAMETER);
            break;
        case PARAMETER:
            step = scan_parameter(scan);
            break;
        case KEY:
            step = scan_angle(scan, &scan->id_from, &scan->id_to, VALUE);
            break;
        case VALUE:
            step = scan_value(scan);
            break;
        default:
            step = scan_end(scan);
        }
    }
    if (step != CA_STEP_OK) {
        return ca_scan_verdict(scan, step);
    }
    return ca_args_emit(scan, ca_scan_part(scan, scan->name_from, scan->name_to));
}

static const ca_marker markers[] = {
    {{"<tool_call>", 11}, CA_MARK_CALL},
    {{"</tool_call>", 12}, CA_MARK_INNER},
};

const ca_family ca_parse_qwen_coder = {
    .markers = markers, .n_markers = TK_ARRAY_LEN(markers), .scan = scan_call};
