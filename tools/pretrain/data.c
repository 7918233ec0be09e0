/* Reads and encodes the training text once, and cuts sequences out of it. */
#include "data.h"

#include <string.h>

#include "base/file.h"
#include "base/mem.h"

#define TEXT_MAX (512 * TK_MIB)

static tinkc_code encode_lines(pre_data *data, const tk_tok *tok, tk_str text,
                               tk_err *err)
{
    static const tk_str end = {"<|endoftext|>", 13};
    size_t lines = 1;
    for (size_t i = 0; i < text.n; i++) {
        lines += text.p[i] == '\n' ? 1 : 0;
    }
    data->starts = tk_array(lines, sizeof(*data->starts));
    if (data->starts == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_tok_encode(tok, end, &data->ids, err);
    while (text.n > 0 && code == TINKC_OK) {
        tk_str line = tk_str_cut(&text, '\n');
        data->starts[data->n_starts++] = (uint32_t)(data->ids.n - 1);
        code = tk_tok_encode(tok, line, &data->ids, err);
    }
    return code;
}

tinkc_code pre_data_load(pre_data *data, const tk_tok *tok, const char *path,
                         size_t longest, tk_err *err)
{
    *data = (pre_data){.next = 0};
    char *text = NULL;
    size_t n = 0;
    tinkc_code code = tk_file_read(&text, &n, path, TEXT_MAX, err);
    if (code == TINKC_OK) {
        code = encode_lines(data, tok, (tk_str){text, n}, err);
    }
    tk_free(text);
    if (code == TINKC_OK && data->ids.n <= longest) {
        code = tk_err_set(err, TINKC_E_INVALID, "%s has %zu tokens, %zu are needed", path,
                          data->ids.n, longest + 1);
    }
    if (code != TINKC_OK) {
        pre_data_dispose(data);
    }
    return code;
}

void pre_data_dispose(pre_data *data)
{
    tk_tok_ids_dispose(&data->ids);
    tk_free(data->starts);
    *data = (pre_data){.next = 0};
}

pre_seq pre_data_next(pre_data *data, size_t n)
{
    if (data->next >= data->n_starts || data->starts[data->next] + n + 1 > data->ids.n) {
        data->next = 0;
    }
    size_t at = data->starts[data->next], first = data->next;
    while (data->next < data->n_starts && data->starts[data->next] < at + n) {
        data->next++;
    }
    if (data->next > first + 1) {
        data->next--;
    }
    return (pre_seq){data->ids.ids + at, n};
}
