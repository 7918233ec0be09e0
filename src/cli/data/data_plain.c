/* Rows are put into the set as soon as they are full.
 * Needs: text */
#include "cli/data/data_plain.h"

#include <string.h>

#include "base/mem.h"

#define USUAL_TOKENS 1024 /* of a row, where the model's context is not known */

void data_plain_init(data_plain *plain, size_t most)
{
    *plain = (data_plain){.length = most > 0 ? most : USUAL_TOKENS};
}

void data_plain_dispose(data_plain *plain)
{
    tk_free(plain->ids);
    tk_free(plain->weights);
    memset(plain, 0, sizeof(*plain));
}

static tinkc_code make_room(data_plain *plain, tk_err *err)
{
    if (plain->ids == NULL) {
        plain->ids = tk_array(plain->length + 1, sizeof(*plain->ids));
        plain->weights = tk_array(plain->length + 1, sizeof(*plain->weights));
    }
    return plain->ids != NULL && plain->weights != NULL ? TINKC_OK : tk_err_nomem(err);
}

static tinkc_code put_row(data_plain *plain, data_set *set, tk_err *err)
{
    data_row about = plain->about;
    const data_tokens row = {plain->ids, plain->weights, plain->n};
    about.line = plain->line;
    return data_set_add(set, &about, &row, err);
}

static tinkc_code put_token(data_plain *plain, data_set *set, int32_t id, float weight,
                            tk_err *err)
{
    plain->ids[plain->n] = id;
    plain->weights[plain->n] = weight;
    plain->n++;
    if (plain->n <= plain->length) {
        return TINKC_OK;
    }
    tinkc_code code = put_row(plain, set, err);
    plain->ids[0] = id;
    plain->weights[0] = 0;
    plain->n = 1;
    plain->line = plain->about.line;
    return code;
}

tinkc_code data_plain_add(data_plain *plain, data_set *set, const data_row *about,
                          const data_tokens *tokens, tk_err *err)
{
    tinkc_code code = make_room(plain, err);
    plain->about = *about;
    plain->line = plain->line > 0 ? plain->line : about->line;
    for (size_t i = 0; code == TINKC_OK && i < tokens->n; i++) {
        code = put_token(plain, set, tokens->ids[i], tokens->weights[i], err);
    }
    return code;
}

tinkc_code data_plain_end(data_plain *plain, data_set *set, int32_t end, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    if (plain->line > 0 && end >= 0) {
        code = put_token(plain, set, end, 1.0F, err);
    }
    if (code == TINKC_OK && plain->n > 1) {
        code = put_row(plain, set, err);
    }
    plain->n = 0;
    return code;
}
