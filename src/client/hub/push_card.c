/* Writes adapter_config.json as Python's json.dumps with sorted keys does, and the model
 * card from its template. */
#include "client/hub/push_card.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/json_num.h"

#define BASE_KEY "base_model_name_or_path"

/* ---- JSON as Python's json.dumps(indent=2, sort_keys=True) writes it ---- */

typedef struct pretty {
    tk_buf *out;
    tk_arena *arena;
    const char *base; /* of the outermost object */
} pretty;

static void put_value(pretty *p, const tk_json *value, int depth);

static void put_line(pretty *p, int depth)
{
    tk_buf_putc(p->out, '\n');
    for (int i = 0; i < depth; i++) {
        tk_buf_puts(p->out, "  ");
    }
}

/* The code point at the front of valid UTF-8, taken off it. */
static uint32_t take_point(tk_str *text)
{
    const unsigned char *b = (const unsigned char *)text->p;
    size_t n = b[0] >= 0xF0 ? 4 : b[0] >= 0xE0 ? 3 : b[0] >= 0xC0 ? 2 : 1;
    uint32_t point = n == 1 ? b[0] : b[0] & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        point = point << 6 | (b[i] & 0x3Fu);
    }
    text->p += n;
    text->n -= n;
    return point;
}

static void put_point(tk_buf *out, uint32_t point)
{
    static const char plain[] = "\"\\\n\r\t\f\b";
    static const char letters[] = "\"\\nrtfb";
    const char *at = point != 0 && point < 0x80 ? strchr(plain, (int)point) : NULL;
    if (at != NULL) {
        tk_buf_printf(out, "\\%c", letters[at - plain]);
    } else if (point >= 0x20 && point < 0x7F) {
        tk_buf_putc(out, (char)point);
    } else if (point < 0x10000) {
        tk_buf_printf(out, "\\u%04x", (unsigned)point);
    } else {
        point -= 0x10000;
        tk_buf_printf(out, "\\u%04x\\u%04x", (unsigned)(0xD800 + (point >> 10)),
                      (unsigned)(0xDC00 + (point & 0x3FF)));
    }
}

static void put_string(tk_buf *out, tk_str text)
{
    tk_buf_putc(out, '"');
    while (text.n > 0) {
        put_point(out, take_point(&text));
    }
    tk_buf_putc(out, '"');
}

static int by_key(const void *a, const void *b)
{
    const tk_json_member *const *x = a;
    const tk_json_member *const *y = b;
    int order = tk_str_cmp((*x)->key, (*y)->key);
    return order != 0 ? order : (*x < *y ? -1 : 1);
}

/* Of equal keys the last one counts; the base model is the outermost object's. */
static void put_object(pretty *p, const tk_json *value, int depth)
{
    bool adds = depth == 0;
    size_t n = value->as.object.n, shown = 0;
    const tk_json_member **sorted =
        tk_arena_array(p->arena, n + 1, sizeof(const tk_json_member *));
    const tk_json_member base = {
        TK_STR(BASE_KEY), {.type = TK_JSON_STRING, .as.string = tk_str_of(p->base)}};
    if (sorted == NULL) {
        tk_buf_fail(p->out, TINKC_E_NOMEM);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const tk_json_member *member = &value->as.object.members[i];
        if (!adds || !tk_str_is(member->key, BASE_KEY)) {
            sorted[shown++] = member;
        }
    }
    if (adds) {
        sorted[shown++] = &base;
    }
    qsort(sorted, shown, sizeof(const tk_json_member *), by_key);
    tk_buf_putc(p->out, '{');
    bool first = true;
    for (size_t i = 0; i < shown; i++) {
        if (i + 1 < shown && tk_str_eq(sorted[i]->key, sorted[i + 1]->key)) {
            continue;
        }
        tk_buf_puts(p->out, first ? "" : ",");
        first = false;
        put_line(p, depth + 1);
        put_string(p->out, sorted[i]->key);
        tk_buf_puts(p->out, ": ");
        put_value(p, &sorted[i]->value, depth + 1);
    }
    if (!first) {
        put_line(p, depth);
    }
    tk_buf_putc(p->out, '}');
}

static void put_array(pretty *p, const tk_json *value, int depth)
{
    size_t n = tk_json_len(value);
    tk_buf_putc(p->out, '[');
    for (size_t i = 0; i < n; i++) {
        tk_json item = tk_json_at(value, i);
        tk_buf_puts(p->out, i == 0 ? "" : ",");
        put_line(p, depth + 1);
        put_value(p, &item, depth + 1);
    }
    if (n > 0) {
        put_line(p, depth);
    }
    tk_buf_putc(p->out, ']');
}

static void put_scalar(tk_buf *out, const tk_json *value)
{
    tk_json_writer writer;
    tk_json_writer_init(&writer, out);
    tk_json_put_value(&writer, value);
}

static void put_value(pretty *p, const tk_json *value, int depth)
{
    if (value->type == TK_JSON_OBJECT) {
        put_object(p, value, depth);
    } else if (tk_json_is_array(value)) {
        put_array(p, value, depth);
    } else if (value->type == TK_JSON_STRING) {
        put_string(p->out, value->as.string);
    } else {
        put_scalar(p->out, value);
    }
}

tinkc_code tk_push_patch(tk_buf *out, bool *changed, tk_str config, const char *base,
                         tk_err *err)
{
    tk_arena arena;
    tk_err why = TK_ERR_INIT;
    const tk_json *json = NULL;
    *changed = false;
    tk_arena_init(&arena, 0);
    tinkc_code code = tk_json_parse(&json, &arena, config.p, config.n, NULL, &why);
    const tk_json *named = code == TINKC_OK ? tk_json_get(json, BASE_KEY) : NULL;
    if (code == TINKC_OK && json->type == TK_JSON_OBJECT &&
        (named == NULL || named->type != TK_JSON_STRING)) {
        pretty p = {out, &arena, base};
        put_object(&p, json, 0);
        tk_buf_putc(out, '\n');
        *changed = true;
        code = tk_buf_status(out, err);
    } else {
        code = code == TINKC_E_NOMEM ? tk_err_nomem(err) : TINKC_OK;
    }
    tk_arena_dispose(&arena);
    return code;
}

/* ---- the model card ---- */

static const char *python_of(tinkc_choice choice)
{
    switch (choice) {
    case TINKC_CHOICE_YES:
        return "True";
    case TINKC_CHOICE_NO:
        return "False";
    case TINKC_CHOICE_UNSET:
        break;
    }
    return "None";
}

static void put_head(tk_buf *out, const tk_push_facts *facts, const char *path)
{
    tk_buf_printf(out, "---\nbase_model: %s\nlibrary_name: peft\ntags:\n", facts->base);
    tk_buf_puts(out, "- tinker\n- peft\n- lora\n");
    if (strcmp(facts->base, "unknown") != 0) {
        tk_buf_printf(out, "- base_model:adapter:%s\n", facts->base);
    }
    tk_buf_printf(out, "tinker_path: %s\n---\n\n", path);
}

void tk_push_card(tk_buf *out, const tk_push_facts *facts, const char *repo,
                  const char *path)
{
    put_head(out, facts, path);
    tk_buf_puts(
        out, "# Tinker LoRA Adapter\n\n"
             "This repository contains a LoRA adapter exported from Tinker.\n\n"
             "## Usage\n\n```python\nfrom transformers import AutoModelForCausalLM\n\n");
    tk_buf_printf(out, "adapter_id = \"%s\"\nbase_model = \"%s\"\n\n", repo, facts->base);
    tk_buf_puts(out, "model = AutoModelForCausalLM.from_pretrained(adapter_id, "
                     "device_map=\"auto\")\n```\n\n## Source\n\n");
    tk_buf_printf(out, "```\n%s\n```\n\n## Details\n\n- Base model: %s\n", path,
                  facts->base);
    if (facts->lora_rank >= 0) {
        tk_buf_printf(out, "- LoRA rank: %" PRId64 "\n", facts->lora_rank);
    }
    if (facts->train_attn != TINKC_CHOICE_UNSET ||
        facts->train_mlp != TINKC_CHOICE_UNSET ||
        facts->train_unembed != TINKC_CHOICE_UNSET) {
        tk_buf_printf(out, "- Trained modules: attn=%s, mlp=%s, unembed=%s\n",
                      python_of(facts->train_attn), python_of(facts->train_mlp),
                      python_of(facts->train_unembed));
    }
}

static bool ends_path(char c)
{
    return c == '`' || c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
}

tk_str tk_push_named_in(tk_str readme)
{
    static const char scheme[] = "tinker://";
    size_t least = sizeof(scheme) - 1;
    for (size_t i = 0; i + least < readme.n; i++) {
        if (memcmp(readme.p + i, scheme, least) != 0 || ends_path(readme.p[i + least])) {
            continue;
        }
        size_t end = i + least;
        while (end < readme.n && !ends_path(readme.p[end])) {
            end++;
        }
        return (tk_str){readme.p + i, end - i};
    }
    return (tk_str){NULL, 0};
}
