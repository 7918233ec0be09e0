/* safetensors bytes: tensors that are accepted lie inside the file (each is read) and are
 * together not larger than it, and a model of fixed shape opens on them or says why
 * not.
 * Links: engine */
#include "engine/eng_safetensors.h"

#include "base/mem.h"
#include "engine/eng.h"
#include "fuzz.h"

/* The seeds hold a model of this shape. */
static const char config[] =
    "{\"architectures\":[\"LlamaForCausalLM\"],\"hidden_size\":4,\"intermediate_size\":4,"
    "\"num_hidden_layers\":1,\"num_attention_heads\":2,\"vocab_size\":5,"
    "\"tie_word_embeddings\":true}";

static void read_all(const eng_st *st, size_t size)
{
    size_t bytes = 0;
    for (size_t i = 0; i < eng_st_count(st); i++) {
        const eng_st_tensor *t = eng_st_at(st, i);
        const eng_st_part whole = {0, t->count, tk_malloc(t->n_bytes)};
        bytes += t->n_bytes;
        if (t->known && whole.out != NULL &&
            eng_st_read(st, t, &whole, NULL) != TINKC_OK) {
            fuzz_fail("an accepted tensor is not readable");
        }
        tk_free(whole.out);
        if (eng_st_find(st, t->name) == NULL) {
            fuzz_fail("a listed tensor is not found");
        }
    }
    if (bytes > size) {
        fuzz_fail("tensors overlap");
    }
    (void)eng_st_metadata(st, "format");
}

/* A model of these weights, held as they are or rounded: opened, or refused with a reason. */
static void open_model(eng_pool *pool, tk_str bytes, eng_weights held)
{
    eng_model_memory memory = {.config = TK_STR(config), .weights = bytes, .held = held};
    eng_model *model = NULL;
    tk_err err = TK_ERR_INIT;
    tinkc_code code = eng_model_open_memory(&model, pool, &memory, &err);
    if (code != TINKC_OK && err.message[0] == '\0') {
        fuzz_fail("a model refused without a reason");
    }
    eng_model_free(model);
}

int fuzz_record(const uint8_t *data, size_t size)
{
    static eng_pool *pool; /* of one thread, kept: it costs more than the input */
    tk_str bytes = {(const char *)data, size};
    tk_err err = TK_ERR_INIT;
    eng_st *st = NULL;
    if (pool == NULL && eng_pool_new(&pool, 1, &err) != TINKC_OK) {
        return 0;
    }
    tinkc_code code = eng_st_open_memory(&st, bytes, "input", &err);
    if (code == TINKC_OK) {
        read_all(st, size);
        eng_st_close(st);
    } else if (err.code != code || err.message[0] == '\0') {
        fuzz_fail("a refusal without a reason");
    }
    open_model(pool, bytes, ENG_WEIGHTS_FILE);
    open_model(pool, bytes, ENG_WEIGHTS_INT8);
    return 0;
}
