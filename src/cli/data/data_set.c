/* A packed row: its runs, each a count and a weight, then its tokens, low byte first.
 * Needs: text */
#include "cli/data/data_set.h"

#include <string.h>

#include "base/limits.h"
#include "base/mem.h"

#define RUN_BYTES (sizeof(uint32_t) + sizeof(float))

void data_set_init(data_set *set, size_t vocabulary)
{
    memset(set, 0, sizeof(*set));
    set->width = vocabulary <= 0x10000 ? 2 : vocabulary <= 0x1000000 ? 3 : 4;
    tk_arena_init(&set->arena, TK_DATA_TOKEN_BYTES);
}

void data_set_dispose(data_set *set)
{
    tk_arena_dispose(&set->arena);
    tk_free(set->rows);
    memset(set, 0, sizeof(*set));
}

/* ---- packing ---- */

static bool same(float a, float b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

static size_t count_runs(const data_tokens *tokens)
{
    size_t n = 0;
    for (size_t i = 0; i < tokens->n; i++) {
        n += i == 0 || !same(tokens->weights[i], tokens->weights[i - 1]) ? 1 : 0;
    }
    return n;
}

static void pack(unsigned char *to, const data_tokens *tokens, size_t width)
{
    for (size_t i = 0; i < tokens->n;) {
        float weight = tokens->weights[i];
        uint32_t count = 0;
        for (; i < tokens->n && same(tokens->weights[i], weight); i++) {
            count++;
        }
        memcpy(to, &count, sizeof(count));
        memcpy(to + sizeof(count), &weight, sizeof(weight));
        to += RUN_BYTES;
    }
    for (size_t i = 0; i < tokens->n; i++) {
        for (size_t b = 0; b < width; b++) {
            *to++ = (unsigned char)((uint32_t)tokens->ids[i] >> (8 * b));
        }
    }
}

static tinkc_code make_room(data_set *set, tk_err *err)
{
    if (set->n == TK_DATA_ROWS_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT, "more than %zu examples",
                          (size_t)TK_DATA_ROWS_MAX);
    }
    if (set->n == set->capacity) {
        size_t room = set->capacity + set->capacity / 2 + 64;
        data_row *rows = tk_realloc_array(set->rows, room, sizeof(*rows));
        if (rows == NULL) {
            return tk_err_nomem(err);
        }
        set->rows = rows;
        set->capacity = room;
    }
    return TINKC_OK;
}

tinkc_code data_set_add(data_set *set, const data_row *about, const data_tokens *tokens,
                        tk_err *err)
{
    data_row row = *about;
    tinkc_code code = make_room(set, err);
    if (code != TINKC_OK) {
        return code;
    }
    size_t runs = count_runs(tokens);
    unsigned char *packed =
        tk_arena_alloc(&set->arena, runs * RUN_BYTES + tokens->n * set->width);
    if (packed == NULL ||
        (row.answer.p != NULL &&
         !tk_arena_dup(&set->arena, &row.answer, row.answer.p, row.answer.n))) {
        return tk_err_nomem(err);
    }
    pack(packed, tokens, set->width);
    row.packed = packed;
    row.runs = (uint32_t)runs;
    row.tokens = (uint32_t)(tokens->n - 1);
    row.weight = 0;
    for (size_t i = 1; i < tokens->n; i++) { /* the first has no predecessor */
        row.weight += (double)tokens->weights[i];
    }
    set->rows[set->n++] = row;
    set->tokens += row.tokens;
    set->weight += row.weight;
    return TINKC_OK;
}

/* ---- unpacking ---- */

tinkc_code data_set_tokens(data_tokens *out, const data_set *set, size_t index,
                           tk_err *err)
{
    const data_row *row = &set->rows[index];
    const unsigned char *from = row->packed;
    size_t n = (size_t)row->tokens + 1, at = 0;
    out->n = n;
    out->ids = tk_array(n, sizeof(*out->ids));
    out->weights = tk_array(n, sizeof(*out->weights));
    if (out->ids == NULL || out->weights == NULL) {
        data_tokens_dispose(out);
        return tk_err_nomem(err);
    }
    for (uint32_t r = 0; r < row->runs; r++, from += RUN_BYTES) {
        uint32_t count = 0;
        float weight = 0;
        memcpy(&count, from, sizeof(count));
        memcpy(&weight, from + sizeof(count), sizeof(weight));
        for (uint32_t i = 0; i < count; i++) {
            out->weights[at++] = weight;
        }
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t id = 0;
        for (size_t b = 0; b < set->width; b++) {
            id |= (uint32_t)*from++ << (8 * b);
        }
        out->ids[i] = (int32_t)id;
    }
    return TINKC_OK;
}

tinkc_code data_set_prompt(tinkc_model_input **out, const data_set *set, size_t row,
                           tk_err *err)
{
    data_tokens tokens;
    tinkc_code code = data_set_tokens(&tokens, set, row, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = tinkc_model_input_from_tokens(out, tokens.ids, tokens.n, NULL);
    data_tokens_dispose(&tokens);
    return code == TINKC_OK ? code : tk_err_nomem(err); /* the tokens were checked */
}

tinkc_code data_set_datum(tinkc_datum **out, const data_set *set, size_t row, tk_err *err)
{
    tinkc_model_input *input = NULL;
    tinkc_datum *datum = NULL;
    data_tokens tokens;
    tinkc_code code = data_set_tokens(&tokens, set, row, err);
    if (code != TINKC_OK) {
        return code;
    }
    size_t n = tokens.n - 1;
    code = tinkc_model_input_from_tokens(&input, tokens.ids, n, NULL);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_datum_new(&datum, &input, NULL);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_datum_set_i32(datum, "target_tokens", tokens.ids + 1, n, NULL);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_datum_set_f32(datum, "weights", tokens.weights + 1, n, NULL);
    if (code != TINKC_OK) {
        goto out;
    }
    *out = datum;
    datum = NULL;
out:
    data_tokens_dispose(&tokens);
    tinkc_model_input_free(&input);
    tinkc_datum_free(&datum);
    return code == TINKC_OK ? code : tk_err_nomem(err); /* the tokens were checked */
}
