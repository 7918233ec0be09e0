/* See newer.h: protobuf. */
#include <stdio.h>

#include "support/newer.h"
#include "support/pbtree.h"

#define BODY_MAX_BYTES (64 * TK_MIB)

static const newer_pb tensor = {{{3, NULL}}, 1};
static const newer_pb topk = {.n = 0};
static const newer_pb sparse = {.n = 0};
static const newer_pb prompt_tensor = {{{2, &sparse}, {3, NULL}}, 2};
static const newer_pb alternatives = {{{1, &prompt_tensor}, {2, &prompt_tensor}}, 2};
static const newer_pb sequence = {{{1, NULL}, {4, &topk}}, 2};
static const newer_pb metric = {.n = 0};
static const newer_pb named_tensor = {{{2, &tensor}}, 1};
static const newer_pb record = {{{2, &named_tensor}}, 1};

const newer_pb newer_pb_sample = {
    {{1, &sequence}, {3, &topk}, {5, &prompt_tensor}, {6, &alternatives}}, 4};
const newer_pb newer_pb_output = {{{2, &record}, {3, &metric}}, 2};

/* An unknown field of each wire type, number 900; a group has a field inside. */
static const struct {
    const char *bytes;
    size_t n;
} fields[] = {{"\xa0\x38\x07", 3},
              {"\xa2\x38\x03new", 6},
              {"\xa1\x38\1\2\3\4\5\6\7\010", 10},
              {"\xa5\x38\1\2\3\4", 6},
              {"\xa3\x38\x08\x01\xa4\x38", 6}};

static const uint64_t numbers[] = {99, UINT64_MAX};

typedef struct walk {
    size_t seen, target;
    newer_place *place;
} walk;

static size_t at_place(walk *w, newer_change change, size_t variants, uint64_t number)
{
    size_t first = w->seen;
    w->seen += variants;
    if (w->target < first || w->target >= w->seen) {
        return variants;
    }
    w->place->change = change;
    (void)snprintf(w->place->what, sizeof(w->place->what), "%s %zu at field %u",
                   newer_change_name(change), w->target - first, (unsigned)number);
    return w->target - first;
}

static void put_new(walk *w, tk_buf *out, uint64_t number)
{
    size_t i = at_place(w, NEWER_KEY, TK_ARRAY_LEN(fields), number);
    if (i < TK_ARRAY_LEN(fields)) {
        tk_buf_put(out, fields[i].bytes, fields[i].n);
    }
}

static void put_message(walk *w, tk_buf *out, const newer_pb *message, tk_str body);

static void put_known(walk *w, tk_buf *out, const newer_pb *sub, pbtree_field *field)
{
    tk_buf inner;
    if (sub == NULL && field->wire == 0) {
        size_t i = at_place(w, NEWER_WORD, TK_ARRAY_LEN(numbers), field->number);
        field->value = i < TK_ARRAY_LEN(numbers) ? numbers[i] : field->value;
    }
    if (sub == NULL || field->wire != 2) {
        pbtree_put(out, field);
        return;
    }
    tk_buf_init(&inner, BODY_MAX_BYTES);
    put_message(w, &inner, sub, field->payload);
    pbtree_put_tag(out, field->number, 2);
    pbtree_put_varint(out, inner.n);
    tk_buf_put(out, inner.p, inner.n);
    tk_buf_dispose(&inner);
}

static void put_message(walk *w, tk_buf *out, const newer_pb *message, tk_str body)
{
    pbtree_field field;
    const char *end = body.p + body.n;
    put_new(w, out, 0);
    for (const char *at = body.p; at < end && pbtree_read(&field, at, end);
         at = field.end) {
        size_t i = 0;
        while (i < message->n && message->fields[i].number != field.number) {
            i++;
        }
        if (i < message->n) {
            put_known(w, out, message->fields[i].sub, &field);
        } else {
            pbtree_put(out, &field);
        }
        put_new(w, out, field.number);
    }
}

size_t newer_pb_count(const newer_pb *message, tk_str body)
{
    tk_buf out;
    newer_place place;
    walk w = {.target = SIZE_MAX, .place = &place};
    tk_buf_init(&out, BODY_MAX_BYTES);
    put_message(&w, &out, message, body);
    tk_buf_dispose(&out);
    return w.seen;
}

void newer_pb_put(tk_buf *out, newer_place *place, const newer_pb *message, tk_str body,
                  size_t k)
{
    walk w = {.target = k, .place = place};
    *place = (newer_place){.change = NEWER_CHANGES};
    put_message(&w, out, message, body);
}
