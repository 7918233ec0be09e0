/* Writing keys and values into blocks, and copying them; see eng_kv.h. */
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

void eng_kv_copy(eng_real *to, eng_real *from, const eng_config *config, size_t n)
{
    size_t d = config->head_dim, whole = n / ENG_LANES, rest = n % ENG_LANES;
    for (size_t h = 0; h < config->kv_heads; h++) {
        eng_real *k = eng_kv_keys(to, config, h), *k_from = eng_kv_keys(from, config, h);
        memcpy(k, k_from, whole * d * ENG_LANES * sizeof(*k));
        for (size_t i = whole * d; rest > 0 && i < (whole + 1) * d; i++) {
            memcpy(k + i * ENG_LANES, k_from + i * ENG_LANES, rest * sizeof(*k));
        }
        memcpy(eng_kv_values(to, config, h), eng_kv_values(from, config, h),
               n * eng_kv_width(config) * sizeof(*k));
    }
}
