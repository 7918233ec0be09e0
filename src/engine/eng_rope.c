/* Rotary frequencies, table and rotation; see eng_rope.h. */
#include "engine/eng_rope.h"

#include "engine/eng_math.h"

#define TWO_PI 6.283185307179586476925

static double scale_llama3(const eng_rope_config *c, double freq)
{
    double wavelength = TWO_PI / freq;
    if (wavelength > c->original_context / c->low_freq_factor) {
        return freq / c->factor;
    }
    if (wavelength < c->original_context / c->high_freq_factor) {
        return freq;
    }
    double smooth = (c->original_context / wavelength - c->low_freq_factor) /
                    (c->high_freq_factor - c->low_freq_factor);
    return (1.0 - smooth) * freq / c->factor + smooth * freq;
}

void eng_rope_frequencies(const eng_rope_config *config, size_t d, eng_real *out)
{
    for (size_t i = 0; i < d / 2; i++) {
        double freq = eng_pow(config->theta, -2.0 * (double)i / (double)d);
        out[i] = (eng_real)(config->llama3 ? scale_llama3(config, freq) : freq);
    }
}

void eng_rope_table(eng_real *cosine, eng_real *sine, const eng_real *freq, size_t half,
                    size_t positions)
{
    for (size_t p = 0; p < positions; p++) {
        for (size_t i = 0; i < half; i++) {
            eng_real angle = (eng_real)p * freq[i];
            double s, c;
            eng_sincos(angle, &s, &c);
            sine[p * half + i] = (eng_real)s;
            cosine[p * half + i] = (eng_real)c;
        }
    }
}

void eng_rope_apply(eng_real *x, size_t heads, size_t half, const eng_real *cosine,
                    const eng_real *sine, bool back)
{
    eng_real sign = back ? -1 : 1;
    for (size_t h = 0; h < heads; h++) {
        eng_real *restrict first = x + h * 2 * half;
        eng_real *restrict second = first + half;
        for (size_t i = 0; i < half; i++) {
            eng_real a = first[i], b = second[i], s = sign * sine[i];
            first[i] = a * cosine[i] - b * s;
            second[i] = b * cosine[i] + a * s;
        }
    }
}
