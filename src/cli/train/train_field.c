/* Reads and writes members of objects.
 * Needs: text */
#include "cli/train/train_field.h"

#include <math.h>

const char *train_field_text(const tk_json *json, const char *key)
{
    const tk_json *value = tk_json_get(json, key);
    return value != NULL && value->type == TK_JSON_STRING ? value->as.string.p : NULL;
}

bool train_field_count(uint64_t *out, const tk_json *json, const char *key)
{
    const tk_json *value = tk_json_get(json, key);
    return value != NULL && tk_json_to_u64(value, out);
}

double train_field_real(const tk_json *json, const char *key, double fallback)
{
    const tk_json *value = tk_json_get(json, key);
    double number = fallback;
    return value != NULL && tk_json_to_double(value, &number) ? number : fallback;
}

void train_field_put_text(tk_json_writer *w, const char *key, const char *text)
{
    tk_json_key(w, tk_str_of(key));
    if (text != NULL) {
        tk_json_put_str(w, tk_str_of(text));
    } else {
        tk_json_put_null(w);
    }
}

void train_field_put_real(tk_json_writer *w, const char *key, double value)
{
    if (isfinite(value)) {
        tk_json_key(w, tk_str_of(key));
        tk_json_put_double(w, value);
    }
}
