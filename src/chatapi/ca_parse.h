/* Between the parser (ca_parser.c) and the families (ca_parse_*.c), and the helpers that
 * the families share (ca_scan.c, ca_args.c). Only for these files and their tests.
 *
 * The parser looks for the markers of a family. From one that may begin a call it lets the
 * family read (ca_family.scan) as text comes, until the family says what it is. A family
 * keeps its place in ca_scan, reads each byte once, and decides at the first byte that
 * does not fit: that makes the parser linear and independent of how text is divided. */
#ifndef CHATAPI_CA_PARSE_H
#define CHATAPI_CA_PARSE_H

#include "chatapi/ca_parser.h"

typedef enum ca_mark {
    CA_MARK_CALL,        /* may begin a call */
    CA_MARK_AT_START,    /* the same, only where no text is, or after a call */
    CA_MARK_AFTER_CALL,  /* the same, only after a call */
    CA_MARK_IN_SECTION,  /* the same, only inside a section */
    CA_MARK_SECTION_END, /* ends a section; not shown */
    CA_MARK_DROP,        /* ends text or reasoning; not shown */
    CA_MARK_INNER, /* only inside of calls; so that its special token is not dropped */
    CA_MARK_PART,  /* a special token that is a part of markers */
    CA_MARK_THINK_OPEN,
    CA_MARK_THINK_CLOSE
} ca_mark;

typedef struct ca_marker {
    tk_str text; /* none of a family is the beginning of another */
    ca_mark mark;
} ca_marker;

#define CA_MARKERS_MAX 12

/* Where a JSON value ends, byte by byte. Zeroed = before its first byte. */
typedef struct ca_json_scan {
    int state;
    unsigned quad;         /* hexadecimal digits still to come */
    size_t depth;          /* open arrays and objects */
    uint64_t is_object[2]; /* one bit for each */
} ca_json_scan;

typedef enum ca_verdict {
    CA_SCAN_MORE,  /* not decided */
    CA_SCAN_CALL,  /* the first `at` bytes are calls, which were emitted */
    CA_SCAN_NOT,   /* the first `at` bytes (at least one) are not a call, but text */
    CA_SCAN_THINK, /* the first `at` bytes are a header: reasoning follows */
    CA_SCAN_TEXT   /* the same: text follows */
} ca_verdict;

typedef struct ca_scan {
    ca_parser *parser;
    tk_str text;             /* what may be a call, from its marker on */
    const ca_marker *opener; /* that marker */
    bool at_end;             /* no more text comes: MORE is not an answer */
    size_t at;               /* read so far; starts after the marker */
    int state;               /* the family's, from 0 */
    size_t from, to;         /* the same */
    size_t name_from, name_to, id_from, id_to;
    ca_json_scan json;
    tk_buf args; /* arguments that are built */
    tk_json_writer args_writer;
    bool is_plain;      /* NOT: it does not look like a call, and is not flagged */
    bool opens_section; /* CALL: a section is open then */
} ca_scan;

typedef struct ca_family {
    const ca_marker *markers;
    size_t n_markers;
    bool has_headers; /* harmony: read also when calls are not looked for */
    bool keeps_space; /* white space around reasoning and calls is kept */
    ca_verdict (*scan)(ca_scan *scan);
} ca_family;

extern const ca_family ca_parse_hermes, ca_parse_qwen_coder, ca_parse_llama3,
    ca_parse_mistral, ca_parse_deepseek, ca_parse_kimi, ca_parse_glm, ca_parse_harmony,
    ca_parse_dsml;

/* ---- steps of families; each moves scan->at ---- */

typedef enum ca_step {
    CA_STEP_OK,
    CA_STEP_MORE, /* the text ends too early */
    CA_STEP_NO    /* something else is there */
} ca_step;

bool ca_scan_is_space(char c);
/* Skips white space; MORE when nothing else is there. */
ca_step ca_scan_space(ca_scan *scan);
ca_step ca_scan_literal(ca_scan *scan, tk_str literal);
/* White space, then one of two literals: *is_first says which. */
ca_step ca_scan_either(bool *is_first, ca_scan *scan, tk_str first, tk_str second);
/* Moves over the literal, with white space in front of it, to the state `next`. */
ca_step ca_scan_then(ca_scan *scan, tk_str literal, int next);
/* Moves to the literal, which may be at most max bytes away from `from`. */
ca_step ca_scan_until(ca_scan *scan, tk_str literal, size_t from, size_t max);
/* Moves over an object (or array, when `opens` is '['); scan->json was zeroed before the
 * first call. */
ca_step ca_scan_json(ca_scan *scan, char opens);
/* What a step that was not OK means for the call. */
ca_verdict ca_scan_verdict(const ca_scan *scan, ca_step step);
tk_str ca_scan_part(const ca_scan *scan, size_t from, size_t to);

/* Emits calls: CA_SCAN_CALL, or CA_SCAN_NOT when the name or the arguments are not those
 * of a call. `json` is an object or an array of them, each with "name" and "arguments" (or
 * "parameters" when `or_parameters`). */
ca_verdict ca_scan_emit(ca_scan *scan, tk_str name, tk_str arguments, tk_str id);
ca_verdict ca_scan_emit_json(ca_scan *scan, tk_str json, bool or_parameters);

/* ---- arguments that are written as text ---- */

/* Begins an object; adds a value with the type that the tool's schema gives it, as text
 * when that does not fit or is not known; ends the object. */
void ca_args_begin(ca_scan *scan);
void ca_args_put(ca_scan *scan, tk_str tool, tk_str key, tk_str value);
/* The same for a value whose kind the model says: text, or JSON. False: it is not JSON. */
bool ca_args_put_kind(ca_scan *scan, tk_str key, tk_str value, bool is_text);
ca_verdict ca_args_emit(ca_scan *scan, tk_str tool);

/* ---- of the parser, for the helpers and tests ---- */

const tk_json *ca_parser_tools(const ca_parser *parser);
bool ca_parser_has_room(const ca_parser *parser, size_t n_calls);
void ca_parser_fail(ca_parser *parser, tinkc_code code);
/* Takes a call that was checked. */
void ca_parser_add_call(ca_parser *parser, tk_str name, tk_str arguments, tk_str id);
bool ca_parser_looks_for_calls(const ca_parser *parser);

/* What became of the bytes that were fed: each is reported once, in order. */
typedef enum ca_fate {
    CA_FATE_TEXT,
    CA_FATE_REASONING,
    CA_FATE_CALL,
    CA_FATE_MARKER, /* of reasoning, sections and harmony headers */
    CA_FATE_SPACE,  /* around reasoning and calls */
    CA_FATE_SPECIAL /* a special token that is not a marker */
} ca_fate;
typedef void (*ca_fate_fn)(ca_fate fate, tk_str bytes, void *user);
void ca_parser_watch(ca_parser *parser, ca_fate_fn fn,
                     void *user); /* before the first feed */

#endif
