/* GLM 4.5, 4.6 (parts on lines of their own) and 4.7 (without newlines).
 *
 *   call     := "<tool_call>" name space argument* "</tool_call>"
 *   argument := "<arg_key>" key "</arg_key>" space "<arg_value>" value "</arg_value>" space
 *
 * White space around the name and around a key does not count; a value is taken as it is,
 * and ends at the first "</arg_value>". Types: ca_args.c. */
#include "chatapi/ca_parse.h"

enum { START, NAME, ARGUMENT, KEY, BETWEEN, VALUE, DONE };

static ca_step scan_name(ca_scan *scan)
{
    ca_step step = ca_scan_until(scan, TK_STR("<"), scan->name_from, TK_CA_NAME_BYTES);
    if (step == CA_STEP_OK) {
        scan->name_to = scan->at;
        scan->state = ARGUMENT;
        ca_args_begin(scan);
    }
    return step;
}

static ca_step scan_argument(ca_scan *scan)
{
    bool is_key = false;
    ca_step step =
        ca_scan_either(&is_key, scan, TK_STR("<arg_key>"), TK_STR("</tool_call>"));
    if (step == CA_STEP_OK) {
        scan->id_from = scan->at;
        scan->state = is_key ? KEY : DONE;
    }
    return step;
}

static ca_step scan_key(ca_scan *scan)
{
    ca_step step =
        ca_scan_until(scan, TK_STR("</arg_key>"), scan->id_from, TK_CA_NAME_BYTES);
    if (step == CA_STEP_OK) {
        scan->id_to = scan->at;
        scan->at += sizeof("</arg_key>") - 1;
        scan->state = BETWEEN;
    }
    return step;
}

static ca_step scan_between(ca_scan *scan)
{
    ca_step step = ca_scan_space(scan);
    step = step == CA_STEP_OK ? ca_scan_literal(scan, TK_STR("<arg_value>")) : step;
    scan->from = scan->at;
    scan->state = step == CA_STEP_OK ? VALUE : BETWEEN;
    return step;
}

static tk_str name_of(const ca_scan *scan)
{
    return tk_str_trim(ca_scan_part(scan, scan->name_from, scan->name_to));
}

static ca_step scan_value(ca_scan *scan)
{
    ca_step step =
        ca_scan_until(scan, TK_STR("</arg_value>"), scan->from, TK_CA_HELD_BYTES);
    if (step == CA_STEP_OK) {
        ca_args_put(scan, name_of(scan),
                    tk_str_trim(ca_scan_part(scan, scan->id_from, scan->id_to)),
                    ca_scan_part(scan, scan->from, scan->at));
        scan->at += sizeof("</arg_value>") - 1;
        scan->state = ARGUMENT;
    }
    return step;
}

static ca_verdict scan_call(ca_scan *scan)
{
    ca_step step = CA_STEP_OK;
    while (step == CA_STEP_OK && scan->state != DONE) {
        switch (scan->state) {
        case START:
            scan->name_from = scan->at;
            scan->state = NAME;
            break;
        case NAME:
            step = scan_name(scan);
            break;
        case ARGUMENT:
            step = scan_argument(scan);
            break;
        case KEY:
            step = scan_key(scan);
            break;
        case BETWEEN:
            step = scan_between(scan);
            break;
        default:
            step = scan_value(scan);
        }
    }
    return step != CA_STEP_OK ? ca_scan_verdict(scan, step)
                              : ca_args_emit(scan, name_of(scan));
}

static const ca_marker markers[] = {
    {{"<tool_call>", 11}, CA_MARK_CALL},
    {{"</tool_call>", 12}, CA_MARK_INNER},
};

const ca_family ca_parse_glm = {
    .markers = markers, .n_markers = TK_ARRAY_LEN(markers), .scan = scan_call};
