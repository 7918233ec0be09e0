/* Feeds answers to the parser of src/chatapi in pieces, and describes what came out.
 *
 * In a script the bytes 1 and 2 are around the text of a special token; all else is text,
 * which may be cut anywhere. Every run checks that each byte was accounted for once, in
 * order, and that events and output agree. */
#ifndef SUPPORT_CAFIX_H
#define SUPPORT_CAFIX_H

#include "base/utf8.h"
#include "chatapi/ca_parse.h"

#define CAFIX_WHOLE    0            /* text in as few pieces as possible */
#define CAFIX_BYTES    ((size_t)-1) /* in single bytes; else it is cut at that byte of it */
#define CAFIX_S(token) "\x01" token "\x02"

typedef struct cafix {
    tk_buf fed, fates;      /* what went in; what was accounted for */
    tk_buf text, reasoning; /* of events */
    tk_buf calls;           /* "name arguments [id]\n" of each */
    tk_buf what;            /* events in order, and the flag */
    tk_buf dropped;         /* bytes that were not given out, each with its fate */
    ca_event_kind last;
    bool is_whole; /* every event was whole characters, where the input was */
    bool is_utf8;  /* it was: no special token is inside a character */
} cafix;

static inline void cafix_on_event(const ca_event *event, void *user)
{
    cafix *fix = user;
    if (event->kind == CA_EVENT_CALL) {
        tk_buf_printf(&fix->calls, "%s %s%s%s\n", event->call->name,
                      event->call->arguments, event->call->id != NULL ? " #" : "",
                      event->call->id != NULL ? event->call->id : "");
        tk_buf_printf(&fix->what, "\nC%zu", event->call_index);
    } else {
        tk_buf *buf = event->kind == CA_EVENT_TEXT ? &fix->text : &fix->reasoning;
        tk_buf_put(buf, event->text.p, event->text.n);
        if (fix->last != event->kind) {
            tk_buf_puts(&fix->what, event->kind == CA_EVENT_TEXT ? "\nT" : "\nR");
        }
        tk_buf_put(&fix->what, event->text.p, event->text.n);
        fix->is_whole &= tk_utf8_is_valid(event->text) && event->text.n > 0;
    }
    fix->last = event->kind;
}

static inline void cafix_on_fate(ca_fate fate, tk_str bytes, void *user)
{
    cafix *fix = user;
    tk_buf_put(&fix->fates, bytes.p, bytes.n);
    for (size_t i = 0; i < bytes.n && fate >= CA_FATE_MARKER; i++) {
        tk_buf_printf(&fix->dropped, "%d%c", (int)fate, bytes.p[i]);
    }
}

static inline void cafix_init(cafix *fix)
{
    tk_buf *const all[] = {&fix->fed,   &fix->fates, &fix->text,   &fix->reasoning,
                           &fix->calls, &fix->what,  &fix->dropped};
    *fix = (cafix){.last = CA_EVENT_CALL, .is_whole = true, .is_utf8 = true};
    for (size_t i = 0; i < TK_ARRAY_LEN(all); i++) {
        tk_buf_init(all[i], 256 * TK_MIB);
    }
}

static inline void cafix_dispose(cafix *fix)
{
    tk_buf *const all[] = {&fix->fed,   &fix->fates, &fix->text,   &fix->reasoning,
                           &fix->calls, &fix->what,  &fix->dropped};
    for (size_t i = 0; i < TK_ARRAY_LEN(all); i++) {
        tk_buf_dispose(all[i]);
    }
}

/* Feeds a run of text that begins at byte `at` of the script. */
static inline tinkc_code cafix_feed(ca_parser *parser, tk_str run, size_t at, size_t cut)
{
    tinkc_code code = TINKC_OK;
    while (run.n > 0 && code == TINKC_OK) {
        size_t n = cut == CAFIX_BYTES             ? 1
                   : cut > at && cut - at < run.n ? cut - at
                                                  : run.n;
        code = ca_parser_feed(parser, (tk_str){run.p, n}, false, NULL);
        run.p += n;
        run.n -= n;
        at += n;
    }
    return code;
}

static inline tinkc_code cafix_play(cafix *fix, ca_parser *parser, tk_str script,
                                    size_t cut)
{
    tinkc_code code = TINKC_OK;
    for (size_t at = 0; at < script.n && code == TINKC_OK;) {
        bool is_special = script.p[at] == 1;
        size_t from = at + is_special, end = from;
        while (end < script.n && script.p[end] != (is_special ? 2 : 1)) {
            end++;
        }
        tk_str run = {script.p + from, end - from};
        tk_buf_put(&fix->fed, run.p, run.n);
        fix->is_utf8 &= tk_utf8_is_valid(run);
        code = is_special ? ca_parser_feed(parser, run, true, NULL)
                          : cafix_feed(parser, run, from, cut);
        at = end + (is_special && end < script.n ? 1 : 0);
    }
    return code == TINKC_OK ? ca_parser_finish(parser, NULL) : code;
}

/* Runs the script. Returns NULL, or what is wrong. *malformed is the output's flag. */
static inline const char *cafix_run(cafix *fix, const ca_parser_config *config,
                                    tk_str script, size_t cut, bool *malformed)
{
    ca_parser_config own = *config;
    ca_parser *parser = NULL;
    own.on_event = cafix_on_event;
    own.user = fix;
    cafix_init(fix);
    if (ca_parser_new(&parser, &own, NULL) != TINKC_OK) {
        return "memory";
    }
    ca_parser_watch(parser, cafix_on_fate, fix);
    tinkc_code code = cafix_play(fix, parser, script, cut);
    const ca_output *output = ca_parser_output(parser);
    *malformed = output->is_malformed;
    tk_buf_printf(&fix->what, "\n%d", output->is_malformed);
    const char *wrong =
        code != TINKC_OK ? "a code"
        : !tk_str_eq(tk_buf_str(&fix->fed), tk_buf_str(&fix->fates))
            ? "bytes are not accounted for"
        : !tk_str_eq(tk_buf_str(&output->text), tk_buf_str(&fix->text))
            ? "events are not the text"
        : !tk_str_eq(tk_buf_str(&output->reasoning), tk_buf_str(&fix->reasoning))
            ? "events are not the reasoning"
        : fix->is_utf8 && !fix->is_whole ? "an event ends inside a character"
                                         : NULL;
    ca_parser_free(parser);
    return wrong;
}

/* The same pieces or not: NULL when a run with another cut gives what `want` has. */
static inline const char *cafix_same(const cafix *want, const ca_parser_config *config,
                                     tk_str script, size_t cut)
{
    cafix got;
    bool malformed = false;
    const char *wrong = cafix_run(&got, config, script, cut, &malformed);
    if (wrong == NULL &&
        (!tk_str_eq(tk_buf_str(&got.what), tk_buf_str(&want->what)) ||
         !tk_str_eq(tk_buf_str(&got.dropped), tk_buf_str(&want->dropped)) ||
         !tk_str_eq(tk_buf_str(&got.calls), tk_buf_str(&want->calls)))) {
        wrong = "it depends on where the text is cut";
    }
    cafix_dispose(&got);
    return wrong;
}

#endif
