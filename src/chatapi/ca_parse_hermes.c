/* Hermes: NousResearch's Hermes 2 Pro and 3, Qwen 2.5, Qwen3, QwQ, Granite 4.
 *
 *   call   := "<tool_call>" space object space "</tool_call>"
 *   object := JSON with "name": text and "arguments": object, in any order
 *
 * Several calls follow each other; the templates put a newline between them and after text
 * before them. */
#include "chatapi/ca_parse.h"

static ca_verdict scan_call(ca_scan *scan)
{
    ca_step step = CA_STEP_OK;
    if (scan->state == 0) {
        step = ca_scan_space(scan);
        scan->state = step == CA_STEP_OK ? 1 : 0;
        scan->from = scan->at;
    }
    if (scan->state == 1) {
        step = ca_scan_json(scan, '{');
        scan->state = step == CA_STEP_OK ? 2 : 1;
        scan->to = scan->at;
    }
    if (scan->state == 2) {
        step = ca_scan_space(scan);
        step = step == CA_STEP_OK ? ca_scan_literal(scan, TK_STR("</tool_call>")) : step;
    }
    if (step != CA_STEP_OK) {
        return ca_scan_verdict(scan, step);
    }
    return ca_scan_emit_json(scan, ca_scan_part(scan, scan->from, scan->to), false);
}

static const ca_marker markers[] = {
    {{"<tool_call>", 11}, CA_MARK_CALL},
    {{"</tool_call>", 12}, CA_MARK_INNER},
};

const ca_family ca_parse_hermes = {
    .markers = markers, .n_markers = TK_ARRAY_LEN(markers), .scan = scan_call};
