/* Takes the text of an answer apart while it is sampled: text, reasoning, tool calls.
 *
 * The parser gets the pieces in order and reports what it is sure of; what may be the
 * beginning of a marker waits. No event ends inside a character. A call is reported once, when it is complete. A call that
 * does not parse stays text, to the byte, and the output is flagged; nothing is repaired.
 * However the text is divided into pieces, the events together are the same.
 * Input is hostile: what waits is limited (TK_CA_HELD_BYTES; beyond it the text is given
 * out as text, flagged). Thread: one at a time. */
#ifndef CHATAPI_CA_PARSER_H
#define CHATAPI_CA_PARSER_H

#include "chatapi/ca_call.h"
#include "chatapi/ca_format.h"

typedef enum ca_event_kind {
    CA_EVENT_TEXT,
    CA_EVENT_REASONING,
    CA_EVENT_CALL
} ca_event_kind;

typedef struct ca_event { /* borrowed during the callback */
    ca_event_kind kind;
    tk_str text;         /* of TEXT and REASONING; never empty */
    const ca_call *call; /* of CALL */
    size_t call_index;   /* of CALL, from 0 */
} ca_event;

typedef void (*ca_event_fn)(const ca_event *event, void *user);

typedef struct ca_parser ca_parser;

typedef struct ca_parser_config {
    ca_format format;
    bool look_for_calls; /* false: tools were not offered; markers are text */
    bool
        starts_thinking; /* the prompt ended inside reasoning (ca_parser_prompt_thinks) */
    const tk_json *tools; /* offered, as templates read them: types of arguments that are
                           * written as text (qwen-coder, glm); borrowed; may be NULL */
    ca_event_fn on_event; /* NULL = only the output is wanted */
    void *user;
} ca_parser_config;

TK_NODISCARD tinkc_code ca_parser_new(ca_parser **out, const ca_parser_config *config,
                                      tk_err *err);
void ca_parser_free(ca_parser *parser); /* accepts NULL */

/* Takes the next piece. `is_special` = the text of one special token: a marker, or
 * nothing that a user should see. TINKC_E_NOMEM, or TINKC_E_LIMIT for an answer of more
 * than TK_CA_OUTPUT_BYTES; afterwards only _free is allowed. */
TK_NODISCARD tinkc_code ca_parser_feed(ca_parser *parser, tk_str piece, bool is_special,
                                       tk_err *err);
/* The answer has ended: what waits is decided. Once. */
TK_NODISCARD tinkc_code ca_parser_finish(ca_parser *parser, tk_err *err);

/* Everything so far; borrowed until the parser is freed. */
const ca_output *ca_parser_output(const ca_parser *parser);

/* Returns whether a rendered prompt ends inside reasoning, after an opening marker that is
 * not closed. */
bool ca_parser_prompt_thinks(const ca_format *format, tk_str prompt);

#endif
