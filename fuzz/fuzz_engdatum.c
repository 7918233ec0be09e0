/* Loss inputs of one datum, as hostile as they come: shapes, CSR pointers, ids, numbers.
 * What is accepted has every id inside the vocabulary and every number finite.
 * Links: engine */
#include <math.h>
#include <string.h>

#include "engine/eng_inputs.h"
#include "fuzz.h"

#define VOCABULARY 11
#define INPUTS     5
#define NUMBERS    16

typedef struct source {
    const uint8_t *data;
    size_t n;
} source;

static uint8_t byte(source *s)
{
    if (s->n == 0) {
        return 0;
    }
    s->n--;
    return *s->data++;
}

/* Mostly small numbers, sometimes any. */
static int64_t number(source *s)
{
    uint8_t first = byte(s);
    if (first < 250) {
        return (int64_t)(first % 16) - 2;
    }
    uint64_t wide = 0;
    for (int i = 0; i < 8; i++) {
        wide = wide << 8 | byte(s);
    }
    return (int64_t)wide;
}

typedef struct input {
    int64_t values[NUMBERS], rows[NUMBERS], columns[NUMBERS], shape[3];
    float floats[NUMBERS];
} input;

static eng_array read_array(source *s, input *in)
{
    static const char *const names[] = {"target_tokens",
                                        "weights",
                                        "logprobs",
                                        "advantages",
                                        "clip_low_threshold",
                                        "mask",
                                        "clip_high_threshold",
                                        ""};
    uint8_t kind = byte(s);
    eng_array a = {.name = tk_str_of(names[kind % 8]),
                   .type = kind & 8 ? ENG_ARRAY_F32 : ENG_ARRAY_I64,
                   .n_values = byte(s) % (NUMBERS + 1),
                   .n_dims = (size_t)(kind >> 4) % 4,
                   .shape = in->shape};
    for (size_t i = 0; i < a.n_values; i++) {
        in->values[i] = number(s);
        in->floats[i] = (float)in->values[i] / 4;
        if (in->values[i] == -2) {
            in->floats[i] = NAN;
        }
        in->columns[i] = kind & 128 ? number(s) : 0;
    }
    a.values = a.type == ENG_ARRAY_F32 ? (const void *)in->floats : in->values;
    for (size_t i = 0; i < 3; i++) {
        in->shape[i] = number(s);
    }
    if (kind & 128) {
        a.n_rows = byte(s) % (NUMBERS + 1);
        for (size_t i = 0; i < a.n_rows; i++) {
            in->rows[i] = number(s);
        }
        a.rows = in->rows;
        a.columns = in->columns;
        a.n_columns = a.n_values - (byte(s) == 7 && a.n_values > 0 ? 1 : 0);
    }
    return a;
}

static void check(const eng_item *item, const eng_loss *loss)
{
    const float *all[] = {item->weights, item->reference, item->advantage, item->low,
                          item->high};
    for (size_t i = 0; i < item->n * item->columns; i++) {
        if (item->targets[i] < 0 || item->targets[i] >= VOCABULARY) {
            fuzz_fail("a target outside the vocabulary");
        }
        for (size_t k = 0; k < TK_ARRAY_LEN(all); k++) {
            if (all[k] != NULL && !isfinite(all[k][i])) {
                fuzz_fail("a number that is not finite");
            }
        }
    }
    if (loss->weighted != (item->weights != NULL)) {
        fuzz_fail("weights are missing");
    }
}

int fuzz_record(const uint8_t *data, size_t size)
{
    source s = {data, size};
    eng_model model = {.config = {.vocabulary = VOCABULARY, .context = 12}};
    static const char *const losses[] = {"cross_entropy", "importance_sampling", "ppo",
                                         "dro"};
    eng_work work = {NULL, 0, 0};
    uint8_t first = byte(&s);
    eng_inputs_reader reader = {.model = &model,
                                .loss = eng_loss_find(tk_str_of(losses[first % 4])),
                                .strict = (first & 4) != 0,
                                .work = &work};
    int32_t tokens[NUMBERS];
    eng_array arrays[INPUTS];
    input inputs[INPUTS];
    eng_datum datum = {tokens, byte(&s) % NUMBERS, arrays, byte(&s) % (INPUTS + 1)};
    for (size_t i = 0; i < datum.n_tokens; i++) {
        tokens[i] = (int32_t)number(&s);
    }
    for (size_t i = 0; i < datum.n_inputs; i++) {
        arrays[i] = read_array(&s, &inputs[i]);
    }
    eng_item item;
    tk_err err = TK_ERR_INIT;
    tinkc_code code = eng_inputs_read(&reader, &datum, &item, &err);
    if (code == TINKC_OK) {
        check(&item, reader.loss);
    } else if (err.message[0] == '\0') {
        fuzz_fail("a refusal without a reason");
    }
    eng_work_dispose(&work);
    return 0;
}
