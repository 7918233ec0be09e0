/* The components of tokenizer.json around its model, into normalisers, stages, decoders
 * and ids around the text. A component that has no step here is refused by name. */
#include "text/tok/tok_load.h"
#include "text/unicode/uni.h"

typedef tinkc_code (*part_fn)(const tk_tok_loader *l, const tk_json *part);

/* Calls `each` for the part, or for the parts of a Sequence, which `list` names. */
static tinkc_code for_parts(const tk_tok_loader *l, const tk_json *part, const char *list,
                            part_fn each)
{
    if (part == NULL || part->type == TK_JSON_NULL) {
        return TINKC_OK;
    }
    if (!tk_tok_load_is(tk_json_get(part, "type"), "Sequence")) {
        return each(l, part);
    }
    const tk_json *parts = tk_json_get(part, list);
    if (!tk_json_is_array(parts)) {
        return tk_tok_load_bad(l, "a Sequence has no parts");
    }
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; i < tk_json_len(parts) && code == TINKC_OK; i++) {
        tk_json item = tk_json_at(parts, i);
        code = for_parts(l, &item, list, each);
    }
    return code;
}

static tk_str type_of(const tk_json *part)
{
    return tk_tok_load_text(tk_json_get(part, "type"));
}

static tinkc_code copy_text(const tk_tok_loader *l, tk_str *out, tk_str text)
{
    return tk_arena_dup(&l->tok->arena, out, text.p, text.n) ? TINKC_OK
                                                             : tk_err_nomem(l->err);
}

static tinkc_code too_many(const tk_tok_loader *l)
{
    return tk_err_set(l->err, TINKC_E_LIMIT, "tokenizer.json: too many components");
}

/* ---- normalisers ---- */

/* {"pattern": {"String": "x"}, "content": "y"} */
static tinkc_code read_replace(const tk_tok_loader *l, const tk_json *part,
                               tk_tok_norm *out)
{
    tk_str pattern =
        tk_tok_load_text(tk_json_get(tk_json_get(part, "pattern"), "String"));
    tk_str content = tk_tok_load_text(tk_json_get(part, "content"));
    if (pattern.p == NULL) {
        return tk_tok_load_refuse(l, "Replace of a regular expression",
                                  (tk_str){NULL, 0});
    }
    if (pattern.n == 0 || content.p == NULL) {
        return tk_tok_load_bad(l, "a Replace has no pattern or no content");
    }
    out->kind = TK_TOK_REPLACE;
    tinkc_code code = copy_text(l, &out->pattern, pattern);
    return code == TINKC_OK ? copy_text(l, &out->content, content) : code;
}

static tinkc_code read_norm(const tk_tok_loader *l, const tk_json *part)
{
    static const struct {
        const char *name;
        tk_tok_norm_kind kind;
    } forms[] = {{"NFC", TK_TOK_NFC},
                 {"NFD", TK_TOK_NFD},
                 {"NFKC", TK_TOK_NFKC},
                 {"NFKD", TK_TOK_NFKD}};
    tk_tok *tok = l->tok;
    tk_str type = type_of(part);
    if (tok->n_norms == TK_TOK_MAX_STEPS) {
        return too_many(l);
    }
    tk_tok_norm *norm = &tok->norms[tok->n_norms++];
    for (size_t i = 0; i < TK_ARRAY_LEN(forms); i++) {
        if (tk_str_is(type, forms[i].name)) {
            norm->kind = forms[i].kind;
            return TINKC_OK;
        }
    }
    if (tk_str_is(type, "Replace")) {
        return read_replace(l, part, norm);
    }
    if (tk_str_is(type, "Prepend")) {
        tk_str text = tk_tok_load_text(tk_json_get(part, "prepend"));
        norm->kind = TK_TOK_PREPEND;
        return text.p != NULL ? copy_text(l, &norm->content, text)
                              : tk_tok_load_bad(l, "a Prepend has no text");
    }
    return tk_tok_load_refuse(l, "the normalizer", type);
}

/* ---- pre-tokenisers ---- */

static tinkc_code add_stage(const tk_tok_loader *l, tk_tok_stage stage)
{
    if (l->tok->n_stages == TK_TOK_MAX_STEPS) {
        tk_tok_regex_free(stage.regex);
        return too_many(l);
    }
    l->tok->stages[l->tok->n_stages++] = stage;
    return TINKC_OK;
}

static tinkc_code read_byte_level(const tk_tok_loader *l, const tk_json *part)
{
    const tk_json *blank = tk_json_get(part, "add_prefix_space");
    const tk_json *regex = tk_json_get(part, "use_regex");
    tinkc_code code = TINKC_OK;
    if (blank == NULL || tk_tok_load_true(blank)) {
        code = add_stage(l, (tk_tok_stage){.kind = TK_TOK_PREFIX_SPACE});
    }
    if (code == TINKC_OK && (regex == NULL || tk_tok_load_true(regex))) {
        code = add_stage(l, (tk_tok_stage){.kind = TK_TOK_BY_SCANNER,
                                           .scanner = tk_tok_scanner_gpt2()});
    }
    l->tok->byte_level = true;
    return code;
}

static bool read_behavior(tk_tok_behavior *out, tk_str name)
{
    static const char *const names[] = {"Isolated", "Removed", "MergedWithPrevious",
                                        "MergedWithNext", "Contiguous"};
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        if (tk_str_is(name, names[i])) {
            *out = (tk_tok_behavior)i;
            return true;
        }
    }
    return false;
}

static tinkc_code read_split(const tk_tok_loader *l, const tk_json *part)
{
    const tk_json *pattern = tk_json_get(part, "pattern");
    tk_str regex = tk_tok_load_text(tk_json_get(pattern, "Regex"));
    tk_str string = tk_tok_load_text(tk_json_get(pattern, "String"));
    tk_tok_stage stage = {.invert = tk_tok_load_true(tk_json_get(part, "invert"))};
    tinkc_code code = TINKC_OK;
    if (!read_behavior(&stage.behavior,
                       tk_tok_load_text(tk_json_get(part, "behavior")))) {
        return tk_tok_load_bad(l, "a Split has no known behavior");
    }
    if (string.p != NULL && string.n > 0) {
        stage.kind = TK_TOK_BY_STRING;
        code = copy_text(l, &stage.string, string);
    } else if (regex.p != NULL) {
        stage.scanner = tk_tok_scanner_of(regex);
        stage.kind = stage.scanner != NULL ? TK_TOK_BY_SCANNER : TK_TOK_BY_REGEX;
        if (stage.scanner == NULL) {
            code = tk_tok_regex_new(&stage.regex, regex, l->err);
        }
    } else {
        return tk_tok_load_bad(l, "a Split has no pattern");
    }
    return code == TINKC_OK ? add_stage(l, stage) : code;
}

static tinkc_code read_stage(const tk_tok_loader *l, const tk_json *part)
{
    tk_str type = type_of(part);
    if (l->tok->byte_level) {
        return tk_tok_load_refuse(l, "a pre_tokenizer after ByteLevel:", type);
    }
    if (tk_str_is(type, "ByteLevel")) {
        return read_byte_level(l, part);
    }
    if (tk_str_is(type, "Split")) {
        return read_split(l, part);
    }
    if (tk_str_is(type, "Digits")) {
        bool alone = tk_tok_load_true(tk_json_get(part, "individual_digits"));
        return add_stage(
            l, (tk_tok_stage){.kind = TK_TOK_BY_DIGIT,
                              .behavior = alone ? TK_TOK_ISOLATED : TK_TOK_CONTIGUOUS});
    }
    return tk_tok_load_refuse(l, "the pre_tokenizer", type);
}

tinkc_code tk_tok_parts_encode(const tk_tok_loader *l)
{
    tk_uni_ready();
    tinkc_code code =
        for_parts(l, tk_json_get(l->root, "normalizer"), "normalizers", read_norm);
    return code == TINKC_OK ? for_parts(l, tk_json_get(l->root, "pre_tokenizer"),
                                        "pretokenizers", read_stage)
                            : code;
}

/* ---- decoders ---- */

static tinkc_code read_strip(const tk_tok_loader *l, const tk_json *part)
{
    tk_tok_decoder *d = &l->tok->decoder;
    tk_str content = tk_tok_load_text(tk_json_get(part, "content"));
    uint64_t start, stop;
    if (content.n == 0 || !tk_json_to_u64(tk_json_get(part, "start"), &start) ||
        !tk_json_to_u64(tk_json_get(part, "stop"), &stop)) {
        return tk_tok_load_bad(l, "a Strip has no content, start or stop");
    }
    if (stop != 0 || d->strip.p != NULL) {
        return tk_tok_load_refuse(l, "a Strip at the end, or two of them",
                                  (tk_str){NULL, 0});
    }
    d->strip_start = (size_t)start;
    return copy_text(l, &d->strip, content);
}

/* The order that makes sense, and that real files have: Replace in each token, then
 * ByteFallback, then Fuse, then Strip of the whole. `strip.n` and `fused` tell how far it
 * has come. */
static tinkc_code read_decoder(const tk_tok_loader *l, const tk_json *part)
{
    tk_tok_decoder *d = &l->tok->decoder;
    tk_str type = type_of(part);
    bool first = d->kind == TK_TOK_DECODE_SPACED;
    if (tk_str_is(type, "ByteLevel") && first) {
        d->kind = TK_TOK_DECODE_BYTES;
        return TINKC_OK;
    }
    if (d->kind == TK_TOK_DECODE_BYTES) {
        return tk_tok_load_refuse(l, "a decoder together with ByteLevel:", type);
    }
    d->kind = TK_TOK_DECODE_TEXTS;
    if (tk_str_is(type, "Replace") && !d->byte_fallback && !d->fused) {
        if (d->n_replace == TK_TOK_MAX_STEPS) {
            return too_many(l);
        }
        return read_replace(l, part, &d->replace[d->n_replace++]);
    }
    if (tk_str_is(type, "ByteFallback") && !d->fused) {
        d->byte_fallback = true;
        return TINKC_OK;
    }
    if (tk_str_is(type, "Fuse")) {
        d->fused = true;
        return TINKC_OK;
    }
    if (tk_str_is(type, "Strip") && d->fused) {
        return read_strip(l, part);
    }
    return tk_tok_load_refuse(l, "at this place the decoder", type);
}

tinkc_code tk_tok_parts_decode(const tk_tok_loader *l)
{
    return for_parts(l, tk_json_get(l->root, "decoder"), "decoders", read_decoder);
}

/* ---- post-processors ---- */

/* Adds ids around those that are there already: at the front of `before`, at the end of
 * `after`. */
static tinkc_code add_around(const tk_tok_loader *l, const int32_t *ids, size_t n,
                             bool is_after)
{
    int32_t *to = is_after ? l->tok->after : l->tok->before;
    size_t *count = is_after ? &l->tok->n_after : &l->tok->n_before;
    if (n > TK_TOK_MAX_AROUND - *count) {
        return too_many(l);
    }
    if (!is_after) {
        memmove(to + n, to, *count * sizeof(*to));
    }
    memcpy(is_after ? to + *count : to, ids, n * sizeof(*ids));
    *count += n;
    return TINKC_OK;
}

static tinkc_code special_ids(const tk_tok_loader *l, const tk_json *template,
                              tk_str name, int32_t ids[TK_TOK_MAX_AROUND], size_t *n)
{
    const tk_json *specials = tk_json_get(template, "special_tokens");
    const tk_json *list = NULL;
    for (size_t i = 0; specials != NULL && specials->type == TK_JSON_OBJECT &&
                       i < specials->as.object.n;
         i++) {
        const tk_json_member *m = &specials->as.object.members[i];
        list = tk_str_eq(m->key, name) ? tk_json_get(&m->value, "ids") : list;
    }
    if (tk_json_len(list) == 0 || tk_json_len(list) > TK_TOK_MAX_AROUND - *n) {
        return tk_tok_load_bad(l, "a template names a token that it does not list");
    }
    for (size_t i = 0; i < tk_json_len(list); i++) {
        tk_json item = tk_json_at(list, i);
        int64_t id;
        if (!tk_json_to_i64(&item, &id) || id < 0 || (uint64_t)id >= l->tok->n_entries ||
            l->tok->entries[id].token.p == NULL) {
            return tk_tok_load_bad(l, "an id of a template is out of range");
        }
        ids[(*n)++] = (int32_t)id;
    }
    return TINKC_OK;
}

static tinkc_code read_template(const tk_tok_loader *l, const tk_json *part)
{
    const tk_json *single = tk_json_get(part, "single");
    int32_t ids[2][TK_TOK_MAX_AROUND];
    size_t n[2] = {0, 0};
    bool is_after = false;
    for (size_t i = 0; i < tk_json_len(single); i++) {
        tk_json item = tk_json_at(single, i);
        if (tk_json_get(&item, "Sequence") != NULL) {
            if (is_after) {
                return tk_tok_load_refuse(l, "a template with the text twice",
                                          (tk_str){NULL, 0});
            }
            is_after = true;
            continue;
        }
        tk_str name =
            tk_tok_load_text(tk_json_get(tk_json_get(&item, "SpecialToken"), "id"));
        if (name.p == NULL) {
            return tk_tok_load_bad(l, "a template has an unknown part");
        }
        tinkc_code code = special_ids(l, part, name, ids[is_after], &n[is_after]);
        if (code != TINKC_OK) {
            return code;
        }
    }
    if (!is_after) {
        return tk_tok_load_bad(l, "a template has no place for the text");
    }
    tinkc_code code = add_around(l, ids[0], n[0], false);
    return code == TINKC_OK ? add_around(l, ids[1], n[1], true) : code;
}

/* ["<s>", 0] on both sides, as RoBERTa and BERT have them. */
static tinkc_code read_cls_sep(const tk_tok_loader *l, const tk_json *part)
{
    static const char *const keys[] = {"cls", "sep"};
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; i < 2 && code == TINKC_OK; i++) {
        tk_json number = tk_json_at(tk_json_get(part, keys[i]), 1);
        int64_t id;
        if (!tk_json_to_i64(&number, &id) || id < 0 ||
            (uint64_t)id >= l->tok->n_entries || l->tok->entries[id].token.p == NULL) {
            return tk_tok_load_bad(l, "cls or sep of the post_processor has no id");
        }
        int32_t one = (int32_t)id;
        code = add_around(l, &one, 1, i == 1);
    }
    return code;
}

static tinkc_code read_post(const tk_tok_loader *l, const tk_json *part)
{
    tk_str type = type_of(part);
    if (tk_str_is(type, "ByteLevel")) { /* changes offsets only, and not ours */
        return TINKC_OK;
    }
    if (tk_str_is(type, "TemplateProcessing")) {
        return read_template(l, part);
    }
    if (tk_str_is(type, "RobertaProcessing") || tk_str_is(type, "BertProcessing")) {
        return read_cls_sep(l, part);
    }
    return tk_tok_load_refuse(l, "the post_processor", type);
}

tinkc_code tk_tok_parts_post(const tk_tok_loader *l)
{
    return for_parts(l, tk_json_get(l->root, "post_processor"), "processors", read_post);
}
