/* Llama 3.1, 3.2, 3.3 and 4 with JSON tools.
 *
 *   answer := calls | [text] "<|python_tag|>" calls
 *           | "<|python_start|>" [text] "<|python_end|>" calls       (Llama 4)
 *   calls  := object (space [";"] space object)*
 *   object := JSON with "name": text and "parameters" (or "arguments"): object
 *
 * Without a tag an object is a call only where no text is before it; an object that has
 * not both members is then an answer in JSON, and not flagged. What follows a tag and is
 * not an object (code for the built-in interpreter) is text, flagged: no tool of a client
 * takes it. */
#include "chatapi/ca_parse.h"

#include <string.h>

static bool mentions(tk_str text, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= text.n; i++) {
        const char *p = memchr(text.p + i, word[0], text.n - i);
        if (p == NULL) {
            return false;
        }
        i = (size_t)(p - text.p);
        if (i + n <= text.n && memcmp(p, word, n) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether an object without the tag was meant as a call. */
static bool looks_like_call(tk_str text)
{
    return mentions(text, "\"name\"") &&
           (mentions(text, "\"parameters\"") || mentions(text, "\"arguments\""));
}

static ca_verdict scan_call(ca_scan *scan)
{
    ca_step step = CA_STEP_OK;
    bool is_tagged = scan->opener->mark == CA_MARK_CALL;
    if (scan->state == 0) {
        scan->at = scan->opener->text.p[0] == '{' ? 0 : scan->at;
        step = ca_scan_space(scan);
        scan->state = step == CA_STEP_OK ? 1 : 0;
        scan->from = scan->at;
    }
    if (scan->state == 1) {
        step = ca_scan_json(scan, '{');
    }
    ca_verdict verdict = CA_SCAN_NOT;
    if (step != CA_STEP_OK) {
        verdict = ca_scan_verdict(scan, step);
        scan->at = verdict == CA_SCAN_NOT ? TK_MAX(scan->at, 1) : scan->at;
    } else {
        verdict = ca_scan_emit_json(scan, ca_scan_part(scan, scan->from, scan->at), true);
    }
    scan->is_plain = verdict == CA_SCAN_NOT && !is_tagged &&
                     !looks_like_call(ca_scan_part(scan, 0, scan->at));
    return verdict;
}

static const ca_marker markers[] = {
    {{"<|python_tag|>", 14}, CA_MARK_CALL},
    {{"<|python_end|>", 14}, CA_MARK_CALL},
    {{"{", 1}, CA_MARK_AT_START},
    {{";", 1}, CA_MARK_AFTER_CALL},
};

const ca_family ca_parse_llama3 = {
    .markers = markers, .n_markers = TK_ARRAY_LEN(markers), .scan = scan_call};
