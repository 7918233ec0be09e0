/* Which part of a rendered conversation belongs to which message, and what is trained.
 *
 * Message i lies between the text of the first i messages and that of the first i + 1: if
 * both are beginnings of the whole text. An assistant's turn starts where the text of the
 * messages before it, with the generation prompt, ends: exactly what the model will have
 * read when it samples. With {% generation %} blocks the template says itself what is
 * trained. White space after the end of a turn is never trained. */
#include <string.h>

#include "base/mem.h"
#include "text/chat/chat.h"
#include "text/jinja/jinja_str.h"

#define NOWHERE SIZE_MAX

typedef struct layer {
    const tk_chat_template *tpl;
    const tk_chat *chat;
    const tk_chat_how *how;
    tk_buf text, spans, scratch;
    size_t *borders; /* n + 1: where message i begins; NOWHERE = not known */
    size_t *starts;  /* n: where its trained part begins; NOWHERE = it has none */
    size_t *ends;
    tk_err why;        /* of the last border that was not found */
    uint64_t searched; /* bytes, for the texts of the messages */
} layer;

/* Each text is searched for in all of its message: a message of many parts would take the
 * square of its length. Past the limit nothing is found any more, and lay_out fails. */
static bool may_search(layer *x, size_t bytes)
{
    x->searched += bytes;
    return x->searched <= TK_CHAT_SEARCH_MAX_BYTES;
}

/* The text of the first n messages into x->scratch (or x->text, with spans). */
static tinkc_code render(layer *x, size_t n, bool prompt, tk_buf *out, tk_err *err)
{
    tk_json flag = {.type = TK_JSON_BOOL, .as.boolean = prompt};
    tk_jinja_var var = {TK_STR("add_generation_prompt"), &flag};
    tk_jinja_job job = {.vars = &var,
                        .n_vars = 1,
                        .strict = x->how->strict,
                        .has_now = x->how->has_now,
                        .now_us = x->how->now_us,
                        .spans = out == &x->text ? &x->spans : NULL};
    tk_buf_clear(out);
    return tk_chat_render_first(out, x->tpl, x->chat, n, &job, err);
}

/* Where the text of the first n messages ends in the whole; NOWHERE when it is not its
 * beginning. Only a lack of memory is an error. */
static tinkc_code border(layer *x, size_t n, bool prompt, size_t *out, tk_err *err)
{
    tk_err local = TK_ERR_INIT;
    *out = NOWHERE;
    tinkc_code code = render(x, n, prompt, &x->scratch, &local);
    if (code == TINKC_E_NOMEM) {
        return tk_err_nomem(err);
    }
    if (code != TINKC_OK) {
        x->why = local;
        return TINKC_OK;
    }
    tk_err_clear(&x->why);
    const tk_buf *s = &x->scratch;
    if (s->n <= x->text.n && (s->n == 0 || memcmp(s->p, x->text.p, s->n) == 0)) {
        *out = s->n;
    }
    return TINKC_OK;
}

static tinkc_code find_borders(layer *x, bool *is_stable, tk_err *err)
{
    size_t n = x->chat->n;
    *is_stable = true;
    for (size_t i = 0; i < n; i++) {
        tinkc_code code = border(x, i, false, &x->borders[i], err);
        if (code != TINKC_OK) {
            return code;
        }
        if (i == 0 && x->borders[0] == NOWHERE) {
            x->borders[0] = 0; /* many templates refuse an empty conversation */
        }
        bool goes_back = i > 0 && x->borders[i] < x->borders[i - 1];
        *is_stable = *is_stable && x->borders[i] != NOWHERE && !goes_back;
    }
    x->borders[n] = x->text.n;
    return TINKC_OK;
}

static tinkc_code unstable(const layer *x, size_t message, const char *what, tk_err *err)
{
    bool raised = x->why.code != TINKC_OK;
    return tk_err_set(
        err, TINKC_E_UNSUPPORTED,
        "message %zu: %s is not a beginning of the whole conversation's "
        "text%s%s; the template is not prefix-stable: train on the last turn "
        "only, or use a template with {%% generation %%}",
        message, what, raised ? ": " : "", raised ? x->why.message : "");
}

/* Returns the end of the turn without the white space after it, but with all of the
 * content. */
static size_t trim_end(layer *x, size_t message, size_t start, size_t end)
{
    tk_str turn = {x->text.p + start, end - start}, text;
    size_t keep = tk_jstr_rstrip(turn).n;
    tk_chat_texts texts = {.message = &x->chat->messages[message]};
    while (tk_chat_text_next(&texts, &text)) {
        bool searches = text.n > 0 && may_search(x, turn.n);
        size_t at = searches ? tk_jstr_find(turn, text, 0) : NOWHERE;
        if (at != NOWHERE) {
            keep = TK_MAX(keep, at + text.n);
        }
    }
    return start + keep;
}

static tinkc_code find_turn(layer *x, size_t i, tk_err *err)
{
    size_t start;
    tinkc_code code = border(x, i, true, &start, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (start == NOWHERE) {
        return unstable(x, i, "what comes before it, with the generation prompt,", err);
    }
    size_t end = x->borders[i + 1];
    if (end == NOWHERE || end < start) {
        tk_err_clear(&x->why);
        return unstable(x, i, "the text up to its end", err);
    }
    x->starts[i] = start;
    x->ends[i] = trim_end(x, i, start, end);
    return TINKC_OK;
}

static tinkc_code find_turns(layer *x, tk_chat_loss loss, tk_err *err)
{
    size_t n = x->chat->n, last = n;
    for (size_t i = 0; i < n; i++) {
        last = tk_str_is(tk_chat_role(x->chat, i), "assistant") ? i : last;
    }
    for (size_t i = 0; i < n; i++) {
        bool wanted = tk_str_is(tk_chat_role(x->chat, i), "assistant") &&
                      (loss == TK_CHAT_LOSS_ASSISTANT || i == last);
        tinkc_code code = wanted ? find_turn(x, i, err) : TINKC_OK;
        if (code != TINKC_OK) {
            return code;
        }
    }
    return TINKC_OK;
}

/* ---- parts ---- */

static bool is_trained(const layer *x, tk_chat_loss loss, bool marked, size_t at)
{
    if (loss == TK_CHAT_LOSS_ALL) {
        return true;
    }
    size_t n_spans = marked ? x->spans.n / sizeof(tk_jinja_span) : 0;
    for (size_t k = loss == TK_CHAT_LOSS_LAST && n_spans > 0 ? n_spans - 1 : 0;
         k < n_spans; k++) {
        tk_jinja_span span;
        memcpy(&span, x->spans.p + k * sizeof(span), sizeof(span));
        if (at >= span.start && at < span.end) {
            return true;
        }
    }
    for (size_t i = 0; !marked && i < x->chat->n; i++) {
        if (x->starts[i] != NOWHERE && at >= x->starts[i] && at < x->ends[i]) {
            return true;
        }
    }
    return false;
}

typedef struct cuts {
    size_t *at;
    size_t n, cap;
    tk_chat_part *contents; /* where the messages' texts lie */
    size_t n_contents;
} cuts;

static void cut(cuts *c, size_t at)
{
    if (at != NOWHERE && c->n < c->cap) {
        c->at[c->n++] = at;
    }
}

/* Where the text of a message is in its region: after the start of its turn for an
 * assistant, else the last place, so that a role's name in the header is not taken. */
static size_t locate(layer *x, size_t i, tk_str text, size_t from)
{
    size_t end = x->borders[i + 1];
    size_t begin = x->starts[i] != NOWHERE ? x->starts[i] : from;
    if (end == NOWHERE || begin > end || !may_search(x, end - begin)) {
        return NOWHERE;
    }
    tk_str region = {x->text.p + begin, end - begin};
    size_t at = x->starts[i] != NOWHERE ? tk_jstr_find(region, text, 0)
                                        : tk_jstr_rfind(region, text);
    return at != NOWHERE ? begin + at : NOWHERE;
}

static void cut_contents(layer *x, cuts *c, size_t room)
{
    for (size_t i = 0; i < x->chat->n; i++) {
        tk_str text;
        tk_chat_texts texts = {.message = &x->chat->messages[i]};
        while (x->borders[i] != NOWHERE && tk_chat_text_next(&texts, &text)) {
            tk_str forms[2] = {text, tk_jstr_rstrip(tk_jstr_lstrip(text))};
            for (size_t f = 0; f < 2; f++) {
                size_t at =
                    forms[f].n > 0 ? locate(x, i, forms[f], x->borders[i]) : NOWHERE;
                if (at != NOWHERE && c->n_contents < room) {
                    c->contents[c->n_contents++] =
                        (tk_chat_part){at, at + forms[f].n, (int64_t)i, true, false};
                    cut(c, at);
                    cut(c, at + forms[f].n);
                    break;
                }
            }
        }
    }
}

/* Shell sort: no memory, and fast on what is nearly in order. */
static void sort_places(size_t *at, size_t n)
{
    size_t gap = 1;
    while (gap < n / 3) {
        gap = gap * 3 + 1;
    }
    for (; gap > 0; gap /= 3) {
        for (size_t i = gap; i < n; i++) {
            size_t value = at[i], k = i;
            for (; k >= gap && at[k - gap] > value; k -= gap) {
                at[k] = at[k - gap];
            }
            at[k] = value;
        }
    }
}

static void label(const layer *x, const cuts *c, tk_chat_part *part, bool is_stable)
{
    part->message = -1;
    for (size_t i = 0; is_stable && i < x->chat->n; i++) {
        if (part->begin >= x->borders[i] && part->begin < x->borders[i + 1]) {
            part->message = (int64_t)i;
        }
    }
    for (size_t k = 0; k < c->n_contents; k++) {
        if (part->begin >= c->contents[k].begin && part->begin < c->contents[k].end) {
            part->is_content = true;
            part->message = c->contents[k].message;
        }
    }
}

static tinkc_code make_parts(layer *x, tk_chat_loss loss, tk_chat_layout *out,
                             tk_err *err)
{
    bool marked = tk_chat_template_is_marked(x->tpl, x->chat) && x->spans.n > 0;
    size_t n_texts = 0, n_spans = x->spans.n / sizeof(tk_jinja_span);
    tk_str text;
    for (size_t i = 0; i < x->chat->n; i++) {
        tk_chat_texts texts = {.message = &x->chat->messages[i]};
        while (tk_chat_text_next(&texts, &text)) {
            n_texts++;
        }
    }
    cuts c = {.cap = 3 * x->chat->n + 2 * n_texts + 2 * n_spans + 4};
    c.at = tk_array(c.cap, sizeof(*c.at));
    c.contents = tk_zarray(n_texts + 1, sizeof(*c.contents));
    out->parts = tk_zarray(c.cap, sizeof(*out->parts));
    tinkc_code code = TINKC_OK;
    if (c.at == NULL || c.contents == NULL || out->parts == NULL) {
        code = tk_err_nomem(err);
        goto out;
    }
    cut(&c, 0);
    cut(&c, x->text.n);
    for (size_t i = 0; i < x->chat->n; i++) {
        cut(&c, x->borders[i]);
        cut(&c, x->starts[i]);
        cut(&c, x->starts[i] != NOWHERE ? x->ends[i] : NOWHERE);
    }
    for (size_t k = 0; k < n_spans; k++) {
        tk_jinja_span span;
        memcpy(&span, x->spans.p + k * sizeof(span), sizeof(span));
        cut(&c, span.start);
        cut(&c, span.end);
    }
    if (out->is_stable) {
        cut_contents(x, &c, n_texts);
    }
    sort_places(c.at, c.n);
    for (size_t i = 0; i + 1 < c.n; i++) {
        if (c.at[i] < c.at[i + 1]) {
            tk_chat_part *part = &out->parts[out->n++];
            *part = (tk_chat_part){.begin = c.at[i], .end = c.at[i + 1]};
            label(x, &c, part, out->is_stable);
            part->is_trained = is_trained(x, loss, marked, part->begin);
        }
    }
out:
    tk_free(c.at);
    tk_free(c.contents);
    return code;
}

static tinkc_code lay_out(layer *x, tk_chat_loss loss, tk_chat_layout *out, tk_err *err)
{
    tinkc_code code = render(x, x->chat->n, false, &x->text, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (tk_buf_cstr(&x->text) == NULL) { /* an empty text gets a buffer here */
        return tk_err_nomem(err);
    }
    code = find_borders(x, &out->is_stable, err);
    if (code != TINKC_OK) {
        return code;
    }
    bool marked = tk_chat_template_is_marked(x->tpl, x->chat) && x->spans.n > 0;
    if (loss != TK_CHAT_LOSS_ALL && !marked) {
        code = find_turns(x, loss, err);
    }
    if (code == TINKC_OK) {
        code = make_parts(x, loss, out, err);
    }
    if (code == TINKC_OK && x->searched > TK_CHAT_SEARCH_MAX_BYTES) {
        code = tk_err_set(err, TINKC_E_LIMIT, "the messages have too many parts");
    }
    return code;
}

tinkc_code tk_chat_lay_out(tk_chat_layout *out, const tk_chat_template *tpl,
                           const tk_chat *chat, const tk_chat_how *how, tk_chat_loss loss,
                           tk_err *err)
{
    layer x = {.tpl = tpl, .chat = chat, .how = how, .why = TK_ERR_INIT};
    tk_chat_layout made = {.n = 0};
    tk_buf_init(&x.text, TK_JINJA_MAX_OUTPUT_BYTES);
    tk_buf_init(&x.scratch, TK_JINJA_MAX_OUTPUT_BYTES);
    tk_buf_init(&x.spans, 64 * TK_MIB);
    x.borders = tk_array(chat->n + 1, sizeof(size_t));
    x.starts = tk_array(chat->n + 1, sizeof(size_t));
    x.ends = tk_array(chat->n + 1, sizeof(size_t));
    tinkc_code code;
    if (x.borders == NULL || x.starts == NULL || x.ends == NULL) {
        code = tk_err_nomem(err);
    } else {
        for (size_t i = 0; i < chat->n; i++) {
            x.starts[i] = NOWHERE;
        }
        code = lay_out(&x, loss, &made, err);
    }
    tk_buf_dispose(&x.scratch);
    tk_buf_dispose(&x.spans);
    tk_free(x.borders);
    tk_free(x.starts);
    tk_free(x.ends);
    made.text = x.text;
    if (code != TINKC_OK) {
        tk_chat_layout_dispose(&made);
        return code;
    }
    *out = made;
    return TINKC_OK;
}

void tk_chat_layout_dispose(tk_chat_layout *layout)
{
    tk_buf_dispose(&layout->text);
    tk_free(layout->parts);
}
