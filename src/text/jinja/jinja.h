/* Chat templates: the part of Jinja that they use, as jinja2 runs it in the environment
 * that Hugging Face transformers sets up (immutable sandbox, trim_blocks, lstrip_blocks,
 * loop controls, `generation`, its own `tojson`, `strftime_now`, `raise_exception`).
 *
 * Template and data are hostile: steps, depth, memory and output are bounded, nothing
 * reaches outside the data that was handed in. What jinja2 has and this does not have is
 * refused with TINKC_E_UNSUPPORTED. Thread: a parsed template is immutable, any thread
 * may render it; each render has its own memory. */
#ifndef TEXT_JINJA_H
#define TEXT_JINJA_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

typedef struct tk_jinja tk_jinja;

/* Parses a template. The source is copied, the caller frees *out. TINKC_E_PARSE with the
 * line, TINKC_E_LIMIT, TINKC_E_UNSUPPORTED, TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code tk_jinja_parse(tk_jinja **out, tk_str source, tk_err *err);
void tk_jinja_free(tk_jinja *tpl); /* accepts NULL */

/* Returns whether it has a {% generation %} block. */
bool tk_jinja_has_generation(const tk_jinja *tpl);

typedef struct tk_jinja_var {
    tk_str name;
    const tk_json *value;
} tk_jinja_var;

typedef struct tk_jinja_span {
    size_t start, end; /* bytes of the output */
} tk_jinja_span;

typedef struct tk_jinja_job {
    const tk_jinja_var *vars; /* the last of equal names counts; must outlive the call */
    size_t n_vars;
    bool strict;  /* refuse what transformers refuses: list.append, from_json */
    bool has_now; /* strftime_now gives now_us in UTC, else the local time */
    int64_t now_us;
    size_t max_output_bytes; /* 0 = TK_JINJA_MAX_OUTPUT_BYTES */
    size_t max_memory_bytes; /* 0 = TK_JINJA_MAX_MEMORY_BYTES */
    size_t max_steps;        /* 0 = TK_JINJA_MAX_STEPS */
    tk_buf *spans; /* if not NULL: a tk_jinja_span is appended per generation block */
} tk_jinja_job;

/* Renders the template and appends the text to *out. On failure *out is as it was, err
 * has the line of the template: TINKC_E_INVALID for everything that raises an exception
 * in jinja2 (also raise_exception of the template itself), TINKC_E_LIMIT,
 * TINKC_E_UNSUPPORTED, TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code tk_jinja_render(tk_buf *out, const tk_jinja *tpl,
                                        const tk_jinja_job *job, tk_err *err);

#endif
