/* Harmony: gpt-oss.
 *
 *   answer  := message (["<|end|>"] "<|start|>" message)*
 *   message := header "<|message|>" body ("<|end|>" | "<|return|>" | "<|call|>" | nothing)
 *   header  := [role] [" to=" recipient] "<|channel|>" channel [" to=" recipient]
 *              [" "] ["<|constrain|>"] [content type]
 *
 * The prompt ends after "<|start|>assistant": the first header has no role. Channels:
 * analysis is reasoning, final is text, commentary without recipient is text (what the
 * model says before it calls). A message to functions.NAME, in whichever channel, is a
 * call, and its body an object. "<|call|>" ends the sampling and may not be there: a whole
 * object at the end of the answer is a call, too. */
#include "chatapi/ca_parse.h"

#include <string.h>

enum { HEADER, OBJECT, END, DONE };

/* The word at the start of *rest, and moves on; words end at white space and at '<'. */
static tk_str take_word(tk_str *rest)
{
    size_t n = 0;
    while (n < rest->n && !ca_scan_is_space(rest->p[n]) &&
           (n == 0 || rest->p[n] != '<')) {
        n++;
    }
    tk_str word = {rest->p, n};
    rest->p += n;
    rest->n -= n;
    return word;
}

/* A header: what is between the role's marker and "<|message|>". */
typedef struct ca_header {
    tk_str role, channel, recipient;
} ca_header;

static ca_header read_header(tk_str text)
{
    ca_header out = {.role = {NULL, 0}};
    bool is_channel = false, is_first = true;
    while (text.n > 0) {
        if (ca_scan_is_space(text.p[0])) {
            text.p++;
            text.n--;
            continue;
        }
        size_t channel = tk_str_has_prefix(text, "<|channel|>") ? 11
                         : tk_str_has_prefix(text, "<|start|>") ? 9
                                                                : 0;
        if (channel > 0) {
            is_channel = channel == 11;
            text.p += channel;
            text.n -= channel;
            continue;
        }
        tk_str word = take_word(&text);
        if (tk_str_has_prefix(word, "to=")) {
            out.recipient = (tk_str){word.p + 3, word.n - 3};
        } else if (is_channel) {
            out.channel = word;
            is_channel = false;
        } else if (is_first) {
            out.role = word;
        }
        is_first = false;
    }
    return out;
}

/* After a header: what follows it. */
static ca_verdict judge(ca_scan *scan)
{
    ca_header header = read_header(ca_scan_part(scan, 0, scan->to));
    tk_str recipient = header.recipient;
    bool is_channel = tk_str_is(header.channel, "analysis") ||
                      tk_str_is(header.channel, "commentary") ||
                      tk_str_is(header.channel, "final");
    if (!is_channel || (header.role.n > 0 && !tk_str_is(header.role, "assistant"))) {
        return CA_SCAN_NOT;
    }
    if (recipient.n == 0 || tk_str_is(recipient, "assistant") ||
        tk_str_is(recipient, "user") || tk_str_is(recipient, "all")) {
        return tk_str_is(header.channel, "analysis") ? CA_SCAN_THINK : CA_SCAN_TEXT;
    }
    if (!ca_parser_looks_for_calls(scan->parser) ||
        !tk_str_has_prefix(recipient, "functions.")) {
        scan->is_plain = !ca_parser_looks_for_calls(scan->parser);
        return CA_SCAN_NOT;
    }
    scan->name_from = (size_t)(recipient.p - scan->text.p) + 10;
    scan->name_to = scan->name_from + recipient.n - 10;
    scan->state = OBJECT;
    return CA_SCAN_MORE;
}

static ca_step scan_header(ca_scan *scan)
{
    ca_step step = ca_scan_until(scan, TK_STR("<|message|>"), 0, TK_CA_HEADER_BYTES);
    if (step == CA_STEP_OK) {
        scan->to = scan->at;
        scan->at += sizeof("<|message|>") - 1;
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
    if (step == CA_STEP_OK) {
        scan->to = scan->at;
        scan->state = END;
    }
    return step;
}

static ca_step scan_end(ca_scan *scan)
{
    ca_step step = ca_scan_space(scan);
    if (step == CA_STEP_MORE && scan->at_end) {
        return CA_STEP_OK;
    }
    return step == CA_STEP_OK ? ca_scan_literal(scan, TK_STR("<|call|>")) : step;
}

static ca_verdict scan_call(ca_scan *scan)
{
    if (scan->state == HEADER) {
        ca_step step = scan_header(scan);
        ca_verdict verdict =
            step == CA_STEP_OK ? judge(scan) : ca_scan_verdict(scan, step);
        if (scan->state == HEADER) { /* text that begins with "to=" is only that */
            scan->is_plain |= verdict == CA_SCAN_NOT && step != CA_STEP_OK &&
                              scan->opener->mark == CA_MARK_AT_START;
            return verdict;
        }
    }
    ca_step step = scan->state == OBJECT ? scan_object(scan) : CA_STEP_OK;
    step = step == CA_STEP_OK ? scan_end(scan) : step;
    if (step != CA_STEP_OK) {
        return ca_scan_verdict(scan, step);
    }
    return ca_scan_emit(scan, ca_scan_part(scan, scan->name_from, scan->name_to),
                        ca_scan_part(scan, scan->from, scan->to), (tk_str){NULL, 0});
}

#define MARK(literal, mark)                                                              \
    {                                                                                    \
        {(literal), sizeof(literal) - 1}, (mark)                                         \
    }

static const ca_marker markers[] = {
    MARK("<|start|>", CA_MARK_CALL),    MARK("<|channel|>", CA_MARK_CALL),
    MARK("to=", CA_MARK_AT_START),      MARK("<|end|>", CA_MARK_DROP),
    MARK("<|return|>", CA_MARK_DROP),   MARK("<|call|>", CA_MARK_DROP),
    MARK("<|message|>", CA_MARK_INNER), MARK("<|constrain|>", CA_MARK_INNER),
};

const ca_family ca_parse_harmony = {.markers = markers,
                                    .n_markers = TK_ARRAY_LEN(markers),
                                    .has_headers = true,
                                    .keeps_space = true,
                                    .scan = scan_call};
