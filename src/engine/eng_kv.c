/* Writing keys and values into blocks; see eng_kv.h. */
#include "engine/eng_kv.h"

#include <string.h>

void eng_kv_store(eng_real *block, const eng_config *config, size_t slot,
                  const eng_real *k, const eng_real *v)
{
    size_t d = config->head_dim;
    for (size_t h = 0; h < config->kv_heads; h++) {
        eng_real *keys = eng_kv_keys(block, config, h) +
                         slot / ENG_LANES * d * ENG_LANES + slot % ENG_LANES;
        eng_real *values = eng_kv_values(block, config, h) + slot * eng_kv_width(config);
        for (size_t i = 0; i < d; i++) {
            keys[i * ENG_LANES] = k[h * d + i];
        }
        memcpy(values, v + h * d, d * sizeof(*values));
    }
}
