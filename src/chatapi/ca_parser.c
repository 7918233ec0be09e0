/* The parser: finds markers in the text, lets the family read what they begin, and gives
 * out text and reasoning as soon as nothing can change them.
 *
 * `held` has what was fed and is not decided: white space that waits (`space` bytes), then
 * either what may be a call (is_candidate) or the beginning of a marker. Every byte is
 * looked at once, and once more where it is part of a marker that is not whole.
 *
 * White space: what is directly around reasoning, before a call, and between calls is the
 * template's and dropped; after a call it is text when text follows and there is text
 * before it. A second block of reasoning is separated by a newline. */
#include "base/mem.h"
#include "base/utf8.h"
#include "chatapi/ca_parse.h"

#include <string.h>

struct ca_parser {
    ca_parser_config config;
    const ca_family *family; /* NULL = no calls */
    ca_marker markers[CA_MARKERS_MAX];
    size_t n_markers;
    bool is_first[256]; /* bytes that markers begin with */

    tk_buf held;
    size_t from;  /* bytes of held before it are decided */
    size_t space; /* white space from there that waits */
    bool is_candidate;
    ca_scan scan;
    size_t special_at, special_n; /* the last special token in held; n 0 = none */

    bool is_reasoning;
    bool is_new_text, is_new_reasoning; /* a block has begun and is empty */
    bool had_block;                     /* of reasoning */
    bool is_cut_short; /* reasoning ended by a call: its closing marker may follow */
    bool is_after_call;
    bool in_section;
    ca_output output;
    size_t told_text, told_reasoning; /* bytes of the output that events had */
    tinkc_code failure;
    ca_fate_fn watch;
    void *watch_user;
};

static const ca_family *family_of(ca_tools tools)
{
    static const ca_family *const families[] = {
        [CA_TOOLS_HERMES] = &ca_parse_hermes,
        [CA_TOOLS_QWEN_CODER] = &ca_parse_qwen_coder,
        [CA_TOOLS_LLAMA3] = &ca_parse_llama3,
        [CA_TOOLS_MISTRAL] = &ca_parse_mistral,
        [CA_TOOLS_DEEPSEEK] = &ca_parse_deepseek,
        [CA_TOOLS_KIMI] = &ca_parse_kimi,
        [CA_TOOLS_GLM] = &ca_parse_glm,
        [CA_TOOLS_HARMONY] = &ca_parse_harmony,
        [CA_TOOLS_DSML] = &ca_parse_dsml,
    };
    return tools == CA_TOOLS_NONE ? NULL : families[tools];
}

static void add_marker(ca_parser *parser, tk_str text, ca_mark mark)
{
    if (text.n > 0 && parser->n_markers < CA_MARKERS_MAX) {
        parser->markers[parser->n_markers++] = (ca_marker){text, mark};
        if (mark != CA_MARK_INNER && mark != CA_MARK_PART) {
            parser->is_first[(unsigned char)text.p[0]] = true;
        }
    }
}

static bool has_headers(const ca_parser *parser)
{
    return parser->family != NULL && parser->family->has_headers;
}

static bool keeps_space(const ca_parser *parser)
{
    return parser->family != NULL && parser->family->keeps_space;
}

tinkc_code ca_parser_new(ca_parser **out, const ca_parser_config *config, tk_err *err)
{
    ca_parser *parser = tk_zalloc(sizeof(*parser));
    *out = NULL;
    if (parser == NULL) {
        return tk_err_set(err, TINKC_E_NOMEM, "out of memory");
    }
    parser->config = *config;
    parser->family = family_of(config->format.tools);
    if (parser->family != NULL && !parser->family->has_headers &&
        !config->look_for_calls) {
        parser->family = NULL;
    }
    for (size_t i = 0; parser->family != NULL && i < parser->family->n_markers; i++) {
        add_marker(parser, parser->family->markers[i].text,
                   parser->family->markers[i].mark);
    }
    if (!has_headers(parser)) {
        add_marker(parser, config->format.think_open, CA_MARK_THINK_OPEN);
        add_marker(parser, config->format.think_close, CA_MARK_THINK_CLOSE);
    }
    parser->is_reasoning = parser->is_new_reasoning = parser->had_block =
        config->starts_thinking;
    tk_buf_init(&parser->held, 2 * TK_CA_OUTPUT_BYTES);
    tk_buf_init(&parser->scan.args, TK_CA_OUTPUT_BYTES);
    ca_output_init(&parser->output);
    *out = parser;
    return TINKC_OK;
}

void ca_parser_free(ca_parser *parser)
{
    if (parser != NULL) {
        tk_buf_dispose(&parser->held);
        tk_buf_dispose(&parser->scan.args);
        ca_output_dispose(&parser->output);
        tk_free(parser);
    }
}

const ca_output *ca_parser_output(const ca_parser *parser)
{
    return &parser->output;
}

const tk_json *ca_parser_tools(const ca_parser *parser)
{
    return parser->config.tools;
}

bool ca_parser_looks_for_calls(const ca_parser *parser)
{
    return parser->config.look_for_calls;
}

void ca_parser_watch(ca_parser *parser, ca_fate_fn fn, void *user)
{
    parser->watch = fn;
    parser->watch_user = user;
}

void ca_parser_fail(ca_parser *parser, tinkc_code code)
{
    parser->failure = parser->failure == TINKC_OK ? code : parser->failure;
}

/* ---- giving out ---- */

static void tell(ca_parser *parser, const ca_event *event)
{
    if (parser->config.on_event != NULL && parser->failure == TINKC_OK) {
        parser->config.on_event(event, parser->config.user);
    }
}

/* Reports text or reasoning of the output that no event had. */
static void tell_rest(ca_parser *parser, ca_event_kind kind)
{
    bool is_text = kind == CA_EVENT_TEXT;
    const tk_buf *buf = is_text ? &parser->output.text : &parser->output.reasoning;
    size_t *told = is_text ? &parser->told_text : &parser->told_reasoning;
    if (buf->n > *told) {
        ca_event event = {.kind = kind, .text = {buf->p + *told, buf->n - *told}};
        *told = buf->n;
        tell(parser, &event);
    }
}

/* At most one of the two has something: a change of kind reports the other. */
static void tell_all(ca_parser *parser)
{
    tell_rest(parser, CA_EVENT_TEXT);
    tell_rest(parser, CA_EVENT_REASONING);
}

/* The next n bytes of held are decided. */
static void pass(ca_parser *parser, ca_fate fate, size_t n)
{
    if (n > 0 && parser->watch != NULL) {
        parser->watch(fate, (tk_str){parser->held.p + parser->from, n},
                      parser->watch_user);
    }
    parser->from += n;
    parser->space -= TK_MIN(parser->space, n);
}

static void put(ca_parser *parser, tk_str text)
{
    tk_buf *buf = parser->is_reasoning ? &parser->output.reasoning : &parser->output.text;
    tell_rest(parser, parser->is_reasoning ? CA_EVENT_TEXT : CA_EVENT_REASONING);
    tk_buf_put(buf, text.p, text.n);
    if (buf->failure != TINKC_OK) {
        ca_parser_fail(parser, buf->failure);
    }
}

/* Whether white space that waits is dropped when text or reasoning follows it. */
static bool drops_leading(const ca_parser *parser)
{
    if (keeps_space(parser)) {
        return false;
    }
    return parser->is_reasoning ? parser->is_new_reasoning
                                : parser->output.text.n == 0 &&
                                      (parser->had_block || parser->output.n_calls > 0);
}

/* Gives out the next n bytes, with the white space among them, as what is being read. */
static void give(ca_parser *parser, size_t n)
{
    if (parser->space > 0 && drops_leading(parser)) {
        size_t space = TK_MIN(parser->space, n);
        pass(parser, CA_FATE_SPACE, space);
        n -= space;
    }
    if (n == 0) {
        return;
    }
    bool *is_new =
        parser->is_reasoning ? &parser->is_new_reasoning : &parser->is_new_text;
    size_t before =
        parser->is_reasoning ? parser->output.reasoning.n : parser->output.text.n;
    if (*is_new && before > 0) {
        put(parser, TK_STR("\n"));
    }
    *is_new = false;
    put(parser, (tk_str){parser->held.p + parser->from, n});
    if (parser->is_reasoning) {
        parser->output.has_reasoning = true;
    } else {
        parser->is_after_call = false;
    }
    pass(parser, parser->is_reasoning ? CA_FATE_REASONING : CA_FATE_TEXT, n);
}

static void drop_space(ca_parser *parser)
{
    pass(parser, CA_FATE_SPACE, parser->space);
}

bool ca_parser_has_room(const ca_parser *parser, size_t n_calls)
{
    return n_calls <= TK_CA_CALLS_MAX - parser->output.n_calls;
}

static bool make_call(ca_call *call, tk_str name, tk_str arguments, tk_str id)
{
    call->name = tk_strndup(name.p, name.n);
    call->arguments = tk_strndup(arguments.p, arguments.n);
    call->id = id.n > 0 ? tk_strndup(id.p, id.n) : NULL;
    return call->name != NULL && call->arguments != NULL &&
           (call->id != NULL || id.n == 0);
}

void ca_parser_add_call(ca_parser *parser, tk_str name, tk_str arguments, tk_str id)
{
    ca_output *output = &parser->output;
    if (output->n_calls == output->cap_calls) {
        size_t cap = output->cap_calls == 0 ? 4 : 2 * output->cap_calls;
        ca_call *calls = tk_realloc_array(output->calls, cap, sizeof(*calls));
        if (calls == NULL) {
            ca_parser_fail(parser, TINKC_E_NOMEM);
            return;
        }
        output->calls = calls;
        output->cap_calls = cap;
    }
    ca_call *call = &output->calls[output->n_calls++]; /* disposed of in any case */
    if (!make_call(call, name, arguments, id)) {
        ca_parser_fail(parser, TINKC_E_NOMEM);
        return;
    }
    tell_all(parser);
    ca_event event = {
        .kind = CA_EVENT_CALL, .call = call, .call_index = output->n_calls - 1};
    tell(parser, &event);
}

/* ---- reading ---- */

static void begin_candidate(ca_parser *parser, const ca_marker *marker)
{
    tk_buf args = parser->scan.args;
    parser->scan = (ca_scan){.parser = parser, .opener = marker, .at = marker->text.n};
    parser->scan.args = args;
    parser->is_candidate = true;
}

static void end_candidate(ca_parser *parser, ca_verdict verdict)
{
    const ca_scan *scan = &parser->scan;
    parser->is_candidate = false;
    if (verdict == CA_SCAN_NOT) {
        parser->output.is_malformed |= !scan->is_plain && !parser->is_reasoning;
        give(parser, parser->space + scan->at);
        return;
    }
    drop_space(parser);
    pass(parser, verdict == CA_SCAN_CALL ? CA_FATE_CALL : CA_FATE_MARKER, scan->at);
    if (verdict == CA_SCAN_CALL) {
        parser->is_cut_short = parser->is_reasoning;
        parser->is_after_call = true;
        parser->in_section = scan->opens_section;
    }
    parser->is_reasoning = verdict == CA_SCAN_THINK;
    parser->is_new_reasoning = verdict == CA_SCAN_THINK;
    parser->is_new_text = verdict == CA_SCAN_TEXT;
    parser->had_block |= verdict == CA_SCAN_THINK;
}

/* False: more text is needed. */
static bool read_candidate(ca_parser *parser, bool at_end)
{
    size_t from = parser->from + parser->space;
    size_t n = TK_MIN(parser->held.n - from, TK_CA_HELD_BYTES);
    parser->scan.text = (tk_str){parser->held.p + from, n};
    parser->scan.at_end = at_end && n < TK_CA_HELD_BYTES;
    ca_verdict verdict = parser->family->scan(&parser->scan);
    if (verdict == CA_SCAN_MORE && n == TK_CA_HELD_BYTES) {
        parser->scan.at = n;
        parser->scan.is_plain = false;
        verdict = CA_SCAN_NOT;
    }
    if (verdict != CA_SCAN_MORE) {
        end_candidate(parser, verdict);
    }
    return verdict != CA_SCAN_MORE;
}

static bool is_eligible(const ca_parser *parser, const ca_marker *marker, bool is_special)
{
    bool has_text = parser->output.text.n > 0;
    switch (marker->mark) {
    case CA_MARK_CALL:
    case CA_MARK_DROP:
        return true;
    case CA_MARK_AT_START:
        return !parser->is_reasoning && (!has_text || parser->is_after_call);
    case CA_MARK_AFTER_CALL:
        return !parser->is_reasoning && parser->is_after_call;
    case CA_MARK_IN_SECTION:
        return parser->in_section || !parser->is_reasoning;
    case CA_MARK_SECTION_END:
        return parser->in_section;
    case CA_MARK_THINK_OPEN:
        return parser->is_reasoning ? parser->is_new_reasoning : !has_text || is_special;
    case CA_MARK_THINK_CLOSE:
        return parser->is_reasoning || parser->is_cut_short;
    case CA_MARK_INNER:
    case CA_MARK_PART:
        break;
    }
    return false;
}

static void end_block(ca_parser *parser)
{
    if (keeps_space(parser)) {
        give(parser, parser->space);
    }
    drop_space(parser);
}

/* Acts on a marker that follows the white space that waits. */
static void act(ca_parser *parser, const ca_marker *marker)
{
    switch (marker->mark) {
    case CA_MARK_IN_SECTION:
        if (!parser->in_section) { /* half of a call */
            parser->output.is_malformed = true;
            give(parser, parser->space + marker->text.n);
            return;
        }
        begin_candidate(parser, marker);
        return;
    case CA_MARK_SECTION_END:
        drop_space(parser);
        parser->in_section = false;
        break;
    case CA_MARK_DROP:
        end_block(parser);
        parser->is_reasoning = false;
        break;
    case CA_MARK_THINK_OPEN:
        if (parser->output.text.n > 0 && !parser->is_after_call) {
            give(parser, parser->space); /* text goes on after it */
        }
        drop_space(parser);
        parser->is_reasoning = parser->is_new_reasoning = parser->had_block = true;
        break;
    case CA_MARK_THINK_CLOSE:
        end_block(parser);
        parser->is_reasoning = parser->is_cut_short = false;
        break;
    case CA_MARK_CALL:
    case CA_MARK_AT_START:
    case CA_MARK_AFTER_CALL:
    case CA_MARK_INNER: /* these two are never found */
    case CA_MARK_PART:
        begin_candidate(parser, marker);
        return;
    }
    pass(parser, CA_FATE_MARKER, marker->text.n);
}

/* The marker at held.p + at; NULL when there is none, with *is_partial when what is there
 * may become one. */
static const ca_marker *find_marker(const ca_parser *parser, size_t at, bool is_special,
                                    bool *is_partial)
{
    *is_partial = false;
    for (size_t i = 0; i < parser->n_markers; i++) {
        const ca_marker *marker = &parser->markers[i];
        size_t n = TK_MIN(marker->text.n, parser->held.n - at);
        if (memcmp(parser->held.p + at, marker->text.p, n) != 0 ||
            !is_eligible(parser, marker, is_special)) {
            continue;
        }
        if (n == marker->text.n) {
            return marker;
        }
        *is_partial = true;
    }
    return NULL;
}

/* How many bytes from `at` on cannot be changed by what follows; 0 = wait. */
static size_t run_of_text(const ca_parser *parser, size_t at, bool at_end)
{
    const char *p = parser->held.p;
    size_t end = at + 1;
    while (end < parser->held.n && !ca_scan_is_space(p[end]) &&
           !parser->is_first[(unsigned char)p[end]]) {
        end++;
    }
    return end == parser->held.n && !at_end ? tk_utf8_whole(p + at, end - at) : end - at;
}

/* At the end of the text, or before a special token: white space that still waits. */
static void settle(ca_parser *parser)
{
    bool is_dropped =
        parser->is_reasoning || parser->is_after_call || drops_leading(parser);
    if (is_dropped && !keeps_space(parser)) {
        drop_space(parser);
    }
    give(parser, parser->space);
}

/* One decision. False: there is nothing to decide. */
static bool step(ca_parser *parser, bool at_end)
{
    if (parser->is_candidate) {
        return read_candidate(parser, at_end);
    }
    size_t at = parser->from + parser->space;
    if (at == parser->held.n) {
        return false;
    }
    unsigned char c = (unsigned char)parser->held.p[at];
    if (ca_scan_is_space((char)c)) {
        parser->space++;
        if (parser->space == TK_CA_SPACE_BYTES) {
            give(parser, parser->space);
        }
        return true;
    }
    bool is_special = parser->special_n > 0 && parser->special_at == at;
    bool is_partial = false;
    const ca_marker *marker = parser->is_first[c] || is_special
                                  ? find_marker(parser, at, is_special, &is_partial)
                                  : NULL;
    if (marker != NULL) {
        act(parser, marker);
        return true;
    }
    if (is_special) { /* not here: nobody should see it */
        settle(parser);
        pass(parser, CA_FATE_SPECIAL, parser->special_n);
        return true;
    }
    size_t n = is_partial && !at_end ? 0 : run_of_text(parser, at, at_end);
    give(parser, n > 0 ? parser->space + n : 0);
    return n > 0;
}

static void process(ca_parser *parser, bool at_end)
{
    while (parser->failure == TINKC_OK && step(parser, at_end)) {
    }
    if (at_end && parser->failure == TINKC_OK) {
        settle(parser);
    }
}

/* Adds text to held, over what was decided. */
static void hold(ca_parser *parser, tk_str text)
{
    tk_buf *held = &parser->held;
    if (parser->from > 0 && parser->from >= held->n / 2) {
        held->n -= parser->from;
        memmove(held->p, held->p + parser->from, held->n);
        parser->special_n = parser->special_at >= parser->from ? parser->special_n : 0;
        parser->special_at -= TK_MIN(parser->special_at, parser->from);
        parser->from = 0;
    }
    tk_buf_put(held, text.p, text.n);
    if (held->failure != TINKC_OK) {
        ca_parser_fail(parser, held->failure);
    }
}

static const ca_marker *marker_of(const ca_parser *parser, tk_str special)
{
    for (size_t i = 0; i < parser->n_markers; i++) {
        const ca_marker *marker = &parser->markers[i];
        if (tk_str_eq(marker->text, special) &&
            (marker->mark != CA_MARK_INNER || parser->is_candidate)) {
            return marker;
        }
    }
    return NULL;
}

static void feed_special(ca_parser *parser, tk_str special)
{
    const ca_marker *marker = marker_of(parser, special);
    if (marker == NULL) {
        process(parser, true); /* nothing goes across it */
        hold(parser, special);
        if (parser->failure == TINKC_OK) {
            pass(parser, CA_FATE_SPECIAL, special.n);
        }
        return;
    }
    hold(parser, special);
    if (marker->mark != CA_MARK_PART) {
        parser->special_at = parser->held.n - special.n;
        parser->special_n = special.n;
    }
    process(parser, false);
}

/* At the end of every feed: events of what was decided, or the failure. */
static tinkc_code report(ca_parser *parser, tk_err *err)
{
    tell_all(parser);
    return parser->failure == TINKC_OK ? TINKC_OK
           : parser->failure == TINKC_E_NOMEM
               ? tk_err_set(err, TINKC_E_NOMEM, "out of memory")
               : tk_err_set(err, parser->failure, "the answer is longer than %zu bytes",
                            TK_CA_OUTPUT_BYTES);
}

tinkc_code ca_parser_feed(ca_parser *parser, tk_str piece, bool is_special, tk_err *err)
{
    if (piece.n > 0 && is_special) {
        feed_special(parser, piece);
    } else if (piece.n > 0) {
        hold(parser, piece);
        process(parser, false);
    }
    return report(parser, err);
}

tinkc_code ca_parser_finish(ca_parser *parser, tk_err *err)
{
    process(parser, true);
    return report(parser, err);
}
