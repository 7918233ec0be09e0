/* Text to ids: added tokens in the raw text, normalisation of what lies between them,
 * added tokens in that, pre-tokenisation stage by stage, and the model for each piece. */
#include "base/mem.h"
#include "base/utf8.h"
#include "text/tok/tok_work.h"
#include "text/unicode/uni.h"

/* One encode under way. Offsets go back in three steps: the buffer in which the pieces
 * lie, the segment before normalisation, the text before repair. */
typedef struct run {
    const tk_tok *tok;
    tk_tok_work *work;
    tk_tok_ids *out;
    tk_tok_how how;
    const char *begin, *end; /* of the buffer that holds the pieces */
    size_t segment;          /* where the segment begins in the (repaired) text */
    tk_tok_map normal, repair;
    size_t offsets_max;
    const char *bare; /* of a piece that got a blank in front: where the piece begins */
} run;

static tinkc_code run_stage(run *r, size_t stage, tk_str piece);

/* ---- offsets ---- */

static bool put_offsets(run *r, size_t first, size_t begin, size_t end)
{
    if (!tk_tok_work_room(&r->out->offsets, &r->offsets_max, 2 * r->out->capacity,
                          sizeof(size_t))) {
        return false;
    }
    tk_tok_map_back(&r->repair, &begin, &end);
    r->out->offsets[2 * first] = begin;
    r->out->offsets[2 * first + 1] = end;
    return true;
}

/* Stores the offsets of the ids from `first` on, which are those of a piece. */
static bool put_spans(run *r, size_t first, tk_str piece)
{
    bool shifted = r->bare != NULL;
    const char *origin = shifted ? r->bare - 1 : piece.p;
    size_t at = 0;
    for (size_t i = first; i < r->out->n; i++) {
        size_t n = i + 1 < r->out->n ? tk_tok_word_span(r->tok, piece.p + at,
                                                        piece.n - at, r->out->ids[i])
                                     : piece.n - at;
        size_t begin = (size_t)(origin - r->begin) + at + (shifted && at == 0);
        size_t end = (size_t)(origin - r->begin) + at + TK_MAX(n, (size_t)shifted);
        tk_tok_map_back(&r->normal, &begin, &end);
        if (!put_offsets(r, i, begin + r->segment, end + r->segment)) {
            return false;
        }
        at += n;
    }
    return true;
}

/* ---- pieces ---- */

static tinkc_code encode_piece(run *r, tk_str piece)
{
    size_t first = r->out->n;
    size_t readable = r->bare == NULL ? (size_t)(r->end - piece.p) : piece.n;
    tinkc_code code = tk_tok_word_encode(r->tok, r->work, piece, readable, r->out);
    if (code == TINKC_OK && r->how.offsets && !put_spans(r, first, piece)) {
        code = TINKC_E_NOMEM;
    }
    return code;
}

/* Puts a blank in front of the piece, unless it begins with one. The stages that follow
 * see a copy. */
static tinkc_code with_blank(run *r, size_t stage, tk_str piece)
{
    if (piece.n > 0 && piece.p[0] == ' ') {
        return run_stage(r, stage + 1, piece);
    }
    tk_buf *copy = &r->work->prefixed;
    tk_buf_clear(copy);
    tk_buf_putc(copy, ' ');
    tk_buf_put(copy, piece.p, piece.n);
    if (copy->failure != TINKC_OK) {
        return copy->failure;
    }
    const char *begin = r->begin, *end = r->end;
    size_t segment = r->segment;
    bool offsets = r->how.offsets;
    size_t first = r->out->n;
    r->begin = copy->p;
    r->end = copy->p + copy->n;
    r->how.offsets = false;
    tinkc_code code = run_stage(r, stage + 1, tk_buf_str(copy));
    r->begin = begin;
    r->end = end;
    r->segment = segment;
    r->how.offsets = offsets;
    if (code == TINKC_OK && offsets) {
        r->bare = piece.p;
        code = put_spans(r, first, tk_buf_str(copy)) ? TINKC_OK : TINKC_E_NOMEM;
        r->bare = NULL;
    }
    return code;
}

/* ---- stages ---- */

/* Finds the next match of the stage from `from` on; returns as tk_tok_regex_find. */
static tinkc_code next_match(run *r, const tk_tok_stage *s, tk_str piece, size_t from,
                             size_t range[2])
{
    const unsigned char *p = (const unsigned char *)piece.p;
    size_t n;
    if (s->kind == TK_TOK_BY_REGEX) {
        return tk_tok_regex_find(s->regex, &r->work->matcher, piece, from, range);
    }
    if (s->kind == TK_TOK_BY_STRING) {
        const char *hit =
            memmem(piece.p + from, piece.n - from, s->string.p, s->string.n);
        if (hit == NULL) {
            return TINKC_E_MISSING;
        }
        range[0] = (size_t)(hit - piece.p);
        range[1] = range[0] + s->string.n;
        return TINKC_OK;
    }
    for (; from < piece.n; from += n) {
        uint8_t value = tk_uni_of(tk_uni_decode(p + from, &n));
        size_t found = s->kind == TK_TOK_BY_DIGIT
                           ? (value & TK_UNI_DIGIT ? n : 0)
                           : s->scanner->scan(p + from, p + piece.n);
        if (found > 0) {
            range[0] = from;
            range[1] = from + found;
            return TINKC_OK;
        }
    }
    return TINKC_E_MISSING;
}

/* A piece waits here until it is clear that nothing joins it. */
typedef struct joiner {
    run *r;
    size_t stage;
    tk_str piece;
    size_t begin, end;
    bool any, was_match, open; /* open: a match that the next part may join */
} joiner;

static tinkc_code flush(joiner *j)
{
    bool full = j->any && j->end > j->begin;
    j->any = false;
    return full ? run_stage(j->r, j->stage + 1,
                            (tk_str){j->piece.p + j->begin, j->end - j->begin})
                : TINKC_OK;
}

/* The next part of the piece, a match or what lies between matches. */
static tinkc_code put_part(joiner *j, size_t begin, size_t end, bool match)
{
    const tk_tok_stage *s = &j->r->tok->stages[j->stage];
    bool is_match = match != s->invert;
    bool joined = false;
    switch (s->behavior) {
    case TK_TOK_REMOVED:
        if (is_match) {
            return TINKC_OK;
        }
        break;
    case TK_TOK_WITH_PREVIOUS:
        joined = j->any && is_match && !j->was_match;
        break;
    case TK_TOK_WITH_NEXT:
        joined = j->any && j->open && !is_match;
        break;
    case TK_TOK_CONTIGUOUS:
        joined = j->any && is_match == j->was_match;
        break;
    case TK_TOK_ISOLATED:
        break;
    }
    j->was_match = is_match;
    j->open = is_match;
    if (joined) {
        j->end = end;
        return TINKC_OK;
    }
    tinkc_code code = flush(j);
    j->any = true;
    j->begin = begin;
    j->end = end;
    return code;
}

static tinkc_code split(run *r, size_t stage, tk_str piece)
{
    const tk_tok_stage *s = &r->tok->stages[stage];
    joiner j = {.r = r, .stage = stage, .piece = piece};
    size_t at = 0, from = 0, range[2];
    bool after_match = false; /* a match ended at `at` */
    tinkc_code code = TINKC_OK;
    while (code == TINKC_OK && from <= piece.n) {
        code = next_match(r, s, piece, from, range);
        if (code != TINKC_OK) {
            break;
        }
        if (range[0] == range[1] && after_match && range[1] == at) {
            size_t n = 1; /* an empty match right after a match does not count */
            if (from < piece.n) {
                (void)tk_uni_decode((const unsigned char *)piece.p + from, &n);
            }
            from += n;
            continue;
        }
        if (range[0] > at) {
            code = put_part(&j, at, range[0], false);
        }
        if (code == TINKC_OK) {
            code = put_part(&j, range[0], range[1], true);
        }
        at = from = range[1];
        after_match = true;
    }
    code = code == TINKC_E_MISSING ? TINKC_OK : code;
    if (code == TINKC_OK && at < piece.n) {
        code = put_part(&j, at, piece.n, false);
    }
    return code == TINKC_OK ? flush(&j) : code;
}

/* The common case: a scanner that matches everywhere, each match a piece. */
static tinkc_code scan_all(run *r, size_t stage, tk_str piece)
{
    tk_tok_scan_fn scan = r->tok->stages[stage].scanner->scan;
    const unsigned char *p = (const unsigned char *)piece.p, *end = p + piece.n;
    if (stage + 1 == r->tok->n_stages && !r->how.offsets && r->tok->byte_level) {
        return tk_tok_word_encode_all(r->tok, r->work, scan, piece,
                                      (size_t)(r->end - piece.p), r->out);
    }
    tinkc_code code = TINKC_OK;
    while (p < end && code == TINKC_OK) {
        size_t n = scan(p, end);
        code = run_stage(r, stage + 1, (tk_str){(const char *)p, n});
        p += n;
    }
    return code;
}

static tinkc_code run_stage(run *r, size_t stage, tk_str piece)
{
    if (stage == r->tok->n_stages) {
        return encode_piece(r, piece);
    }
    const tk_tok_stage *s = &r->tok->stages[stage];
    if (s->kind == TK_TOK_PREFIX_SPACE) {
        return with_blank(r, stage, piece);
    }
    bool each = (s->behavior == TK_TOK_ISOLATED && !s->invert) ||
                (s->behavior == TK_TOK_REMOVED && s->invert);
    if (s->kind == TK_TOK_BY_SCANNER && s->scanner->total && each) {
        return scan_all(r, stage, piece);
    }
    return split(r, stage, piece);
}

/* ---- segments ---- */

static tinkc_code put_added(run *r, int32_t id, size_t begin, size_t end)
{
    if (!tk_tok_ids_reserve(r->out, 1)) {
        return TINKC_E_NOMEM;
    }
    r->out->ids[r->out->n++] = id;
    return !r->how.offsets || put_offsets(r, r->out->n - 1, begin, end) ? TINKC_OK
                                                                        : TINKC_E_NOMEM;
}

typedef tinkc_code (*between_fn)(run *r, tk_str text);

/* Calls `between` for what lies between the added tokens of the trie. */
static tinkc_code cut_added(run *r, const tk_tok_trie *trie, tk_str text,
                            between_fn between, const tk_tok_map *map)
{
    size_t begun = 0, from = 0;
    tk_tok_match m = {.next = 0};
    tinkc_code code = TINKC_OK;
    size_t base = map != NULL ? r->segment : 0;
    while (code == TINKC_OK && tk_tok_added_find(&m, r->tok, trie, text, from, begun)) {
        if (begun < m.begin) {
            code = between(r, (tk_str){text.p + begun, m.begin - begun});
        }
        if (code == TINKC_OK) {
            size_t begin = m.begin, end = m.end;
            if (map != NULL) {
                tk_tok_map_back(map, &begin, &end);
            }
            code = put_added(r, m.id, base + begin, base + end);
        }
        begun = m.end;
        from = m.next;
    }
    if (code == TINKC_OK && begun < text.n) {
        code = between(r, (tk_str){text.p + begun, text.n - begun});
    }
    return code;
}

static tinkc_code encode_normal(run *r, tk_str text)
{
    return run_stage(r, 0, text);
}

static tinkc_code encode_segment(run *r, tk_str text)
{
    r->segment = (size_t)(text.p - r->begin);
    const char *begin = r->begin, *end = r->end;
    tk_str normal = text;
    tk_tok_map_dispose(&r->normal);
    tinkc_code code = tk_tok_norm_run(r->tok, r->work, text, &normal, &r->normal);
    if (code != TINKC_OK) {
        return code;
    }
    r->begin = normal.p;
    r->end = normal.p != text.p ? normal.p + normal.n : end;
    code = r->tok->normal_trie.empty || r->how.plain_text
               ? encode_normal(r, normal)
               : cut_added(r, &r->tok->normal_trie, normal, encode_normal, &r->normal);
    r->begin = begin;
    r->end = end;
    return code;
}

/* ---- the whole ---- */

static tinkc_code put_around(run *r, const int32_t *ids, size_t n, size_t at)
{
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; i < n && code == TINKC_OK && r->how.add_special; i++) {
        code = put_added(r, ids[i], at, at);
    }
    return code;
}

/* Text that is not UTF-8 is read as tk_tok_utf8_lossy writes it. */
static tinkc_code repair(run *r, tk_str *text)
{
    if (tk_utf8_is_valid(*text)) {
        return TINKC_OK;
    }
    tk_buf *out = &r->work->repaired;
    tk_buf_clear(out);
    tk_tok_map_add(&r->repair, 0, 0);
    for (size_t at = 0; at < text->n;) {
        size_t good = tk_utf8_valid_prefix(text->p + at, text->n - at);
        tk_buf_put(out, text->p + at, good);
        at += good;
        if (at < text->n) {
            bool valid;
            size_t n = tk_tok_utf8_step(text->p + at, text->n - at, &valid);
            tk_tok_map_add(&r->repair, out->n, at);
            tk_buf_put(out, "\xEF\xBF\xBD", 3);
            at += n > 0 ? n : text->n - at;
            tk_tok_map_add(&r->repair, out->n, at);
        }
    }
    tk_tok_map_add(&r->repair, out->n, text->n);
    *text = tk_buf_str(out);
    return r->repair.failed ? TINKC_E_NOMEM : out->failure;
}

static tinkc_code encode(run *r, tk_str text)
{
    tinkc_code code = repair(r, &text);
    if (code != TINKC_OK) {
        return code;
    }
    r->begin = text.p;
    r->end = text.p + text.n;
    /* a guess that is rarely short: growing copies */
    if (!tk_tok_ids_reserve(r->out, text.n / 3 + 32)) {
        return TINKC_E_NOMEM;
    }
    code = put_around(r, r->tok->before, r->tok->n_before, 0);
    if (code != TINKC_OK) {
        return code;
    }
    if (text.n > 0) {
        code = r->how.plain_text
                   ? encode_segment(r, text)
                   : cut_added(r, &r->tok->raw_trie, text, encode_segment, NULL);
    }
    return code == TINKC_OK ? put_around(r, r->tok->after, r->tok->n_after, text.n)
                            : code;
}

tinkc_code tk_tok_encode_how(const tk_tok *tok, tk_str text, tk_tok_how how,
                             tk_tok_ids *out, tk_err *err)
{
    if (text.n > TK_TOK_TEXT_MAX_BYTES) {
        return tk_err_set(err, TINKC_E_LIMIT, "a text of %zu bytes is too long to encode",
                          text.n);
    }
    if (how.offsets && out->n > 0) {
        return tk_err_set(err, TINKC_E_INVALID, "offsets need an empty result");
    }
    tk_tok_work *work = tk_tok_work_take(tok->pool);
    if (work == NULL) {
        return tk_err_nomem(err);
    }
    size_t before = out->n;
    run r = {.tok = tok, .work = work, .out = out, .how = how};
    r.normal.off = r.repair.off = !how.offsets;
    tinkc_code code = encode(&r, text);
    tk_tok_map_dispose(&r.normal);
    tk_tok_map_dispose(&r.repair);
    tk_tok_work_give(tok->pool, work);
    if (code == TINKC_OK) {
        return TINKC_OK;
    }
    out->n = before;
    return code == TINKC_E_NOMEM
               ? tk_err_nomem(err)
               : tk_err_set(err, code, "the text is too long, or its pattern too hard");
}

tinkc_code tk_tok_encode(const tk_tok *tok, tk_str text, tk_tok_ids *out, tk_err *err)
{
    return tk_tok_encode_how(tok, text, (tk_tok_how){false, false, false}, out, err);
}
