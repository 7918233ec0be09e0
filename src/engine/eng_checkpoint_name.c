/* Names of an adapter's tensors: Tinker's archives say model.unembed_tokens where PEFT
 * says lm_head; the layers have the same names in both. */
#include <stdio.h>
#include <string.h>

#include "engine/eng_checkpoint_int.h"

#define PREFIX "base_model.model."

void eng_ckpt_put_name(char out[ENG_CKPT_NAME_BYTES], const eng_ckpt_key *key, bool peft)
{
    char module[64];
    if (key->head) {
        (void)snprintf(module, sizeof(module), "%s",
                       peft ? "lm_head" : "model.unembed_tokens");
    } else {
        (void)snprintf(module, sizeof(module), "model.layers.%zu.%s", key->layer,
                       eng_linear_name(key->which));
    }
    (void)snprintf(out, ENG_CKPT_NAME_BYTES, PREFIX "%s.lora_%c.weight" TK_STR_FMT,
                   module, key->b ? 'B' : 'A', TK_STR_ARG(key->suffix));
}

static bool take(tk_str *rest, const char *prefix)
{
    if (!tk_str_has_prefix(*rest, prefix)) {
        return false;
    }
    size_t n = strlen(prefix);
    *rest = (tk_str){rest->p + n, rest->n - n};
    return true;
}

static bool read_layer(eng_ckpt_key *key, tk_str *rest)
{
    uint64_t layer;
    tk_str number = tk_str_cut(rest, '.');
    if (number.n > 4 || !tk_str_to_u64(number, &layer) ||
        (number.n > 1 && number.p[0] == '0')) {
        return false;
    }
    key->layer = (size_t)layer;
    for (size_t i = 0; i < ENG_N_LINEAR; i++) {
        if (take(rest, eng_linear_name((eng_linear)i))) {
            key->which = (eng_linear)i;
            return true;
        }
    }
    return false;
}

bool eng_ckpt_read_name(eng_ckpt_key *out, tk_str name)
{
    eng_ckpt_key key = {.head = false};
    tk_str rest = name;
    if (!take(&rest, PREFIX)) {
        return false;
    }
    if (take(&rest, "model.layers.")) {
        if (!read_layer(&key, &rest)) {
            return false;
        }
    } else if (take(&rest, "lm_head") || take(&rest, "model.unembed_tokens") ||
               take(&rest, "model.lm_head")) {
        key.head = true;
    } else {
        return false;
    }
    key.b = take(&rest, ".lora_B.weight");
    if (!key.b && !take(&rest, ".lora_A.weight")) {
        return false;
    }
    key.suffix = rest;
    *out = key;
    return true;
}
