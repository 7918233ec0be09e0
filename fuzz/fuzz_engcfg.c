/* config.json of a model: whatever is accepted obeys the bounds that the engine's sizes
 * and loops rely on. The text before a NUL byte is config.json, after it
 * generation_config.json.
 * Links: engine */
#include "engine/eng_config.h"

#include <string.h>

#include "fuzz.h"

static void check(const eng_config *c)
{
    if (c->heads == 0 || c->kv_heads == 0 || c->heads % c->kv_heads != 0 ||
        c->head_dim < 2 || c->head_dim % 2 != 0 || c->head_dim > 1024) {
        fuzz_fail("impossible heads");
    }
    if (c->hidden == 0 || c->hidden > 65536 || c->layers == 0 || c->layers > 1024 ||
        c->vocabulary == 0 || c->intermediate == 0 || c->context == 0) {
        fuzz_fail("impossible sizes");
    }
    if (!(c->rms_eps > 0) || !(c->rope.theta > 0) || c->n_eos > ENG_EOS_MAX) {
        fuzz_fail("impossible numbers");
    }
    for (size_t i = 0; i < c->n_eos; i++) {
        if (c->eos[i] < 0 || (uint64_t)c->eos[i] >= c->vocabulary) {
            fuzz_fail("end-of-sequence id outside the vocabulary");
        }
    }
}

int fuzz_record(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *cut = size > 0 ? memchr(text, '\0', size) : NULL;
    size_t first = cut != NULL ? (size_t)(cut - text) : size;
    tk_str config = {text, first}, generation = {NULL, 0};
    if (cut != NULL) {
        generation = (tk_str){cut + 1, size - first - 1};
    }
    eng_config c;
    tk_err err = TK_ERR_INIT;
    tinkc_code code = eng_config_read(&c, config, generation, &err);
    if (code == TINKC_OK) {
        check(&c);
    } else if (err.code != code || err.message[0] == '\0') {
        fuzz_fail("a refusal without a reason");
    }
    return 0;
}
