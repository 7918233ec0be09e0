/* Writes checkpoints and the finished model as safetensors, through a temporary file. */
#include "files.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"

static tinkc_code write_tensors(const char *path, const eng_st_file *file, tk_err *err)
{
    tk_file_writer *writer = NULL;
    tinkc_code code = tk_file_writer_new(&writer, path, 0644, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = eng_st_write(writer, file, err);
    if (code != TINKC_OK) {
        tk_file_writer_abort(writer);
        return code;
    }
    return tk_file_writer_commit(writer, err);
}

tinkc_code pre_files_save(const pre_net *net, size_t next, const char *path, tk_err *err)
{
    char step[24], place[24];
    (void)snprintf(step, sizeof(step), "%llu", (unsigned long long)net->step);
    (void)snprintf(place, sizeof(place), "%zu", next);
    const char *const metadata[] = {"step", step, "next", place, NULL};
    size_t shape[] = {net->n};
    const eng_st_entry entries[] = {{"weights", ENG_F32, shape, 1, net->weights},
                                    {"m", ENG_F32, shape, 1, net->m},
                                    {"v", ENG_F32, shape, 1, net->v}};
    eng_st_file file = {entries, TK_ARRAY_LEN(entries), metadata};
    return write_tensors(path, &file, err);
}

static tinkc_code read_tensors(pre_net *net, size_t *next, const eng_st *st, tk_err *err)
{
    struct {
        const char *name;
        eng_real *to;
        const eng_st_tensor *from;
    } parts[] = {
        {"weights", net->weights, NULL}, {"m", net->m, NULL}, {"v", net->v, NULL}};
    uint64_t step, place;
    bool fits = tk_str_to_u64(eng_st_metadata(st, "step"), &step) &&
                tk_str_to_u64(eng_st_metadata(st, "next"), &place);
    for (size_t i = 0; i < TK_ARRAY_LEN(parts); i++) {
        const eng_st_tensor *t = eng_st_find(st, tk_str_of(parts[i].name));
        fits = fits && t != NULL && t->known && t->dtype == ENG_F32 && t->count == net->n;
        parts[i].from = t;
    }
    if (!fits) {
        return tk_err_set(err, TINKC_E_DECODE, "the checkpoint is of another model");
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(parts); i++) { /* eng_real is float here */
        const eng_st_part whole = {0, net->n, parts[i].to};
        tinkc_code code = eng_st_read(st, parts[i].from, &whole, err);
        if (code != TINKC_OK) {
            return code;
        }
    }
    net->step = step;
    *next = (size_t)place;
    pre_net_sync(net);
    return TINKC_OK;
}

tinkc_code pre_files_load(pre_net *net, size_t *next, const char *path, tk_err *err)
{
    eng_st *st = NULL;
    tinkc_code code = eng_st_open_file(&st, path, err);
    if (code == TINKC_OK) {
        code = read_tensors(net, next, st, err);
    }
    eng_st_close(st);
    return code;
}

/* Copies the bf16 tensors of a model over the weights; `bits` has room for each. */
static tinkc_code copy_tensors(pre_net *net, const eng_st *st, uint16_t *bits,
                               tk_err *err)
{
    for (size_t i = 0; i < net->n_tensors; i++) {
        const pre_tensor *to = &net->tensors[i];
        const eng_st_tensor *from = eng_st_find(st, tk_str_of(to->name));
        if (from == NULL || !from->known || from->dtype != ENG_BF16 ||
            from->count != to->n) {
            return tk_err_set(err, TINKC_E_DECODE, "the model has another %s", to->name);
        }
        const eng_st_part whole = {0, to->n, bits};
        tinkc_code code = eng_st_read(st, from, &whole, err);
        if (code != TINKC_OK) {
            return code;
        }
        for (size_t k = 0; k < to->n; k++) {
            net->weights[to->at + k] = eng_bf16_to_f32(bits[k]);
        }
    }
    pre_net_sync(net);
    return TINKC_OK;
}

tinkc_code pre_files_import(pre_net *net, const char *directory, tk_err *err)
{
    eng_st *st = NULL;
    char *path = tk_file_join(directory, "model.safetensors");
    uint16_t *bits = tk_array(net->n, sizeof(*bits));
    tinkc_code code = path != NULL && bits != NULL ? eng_st_open_file(&st, path, err)
                                                   : tk_err_nomem(err);
    if (code == TINKC_OK) {
        code = copy_tensors(net, st, bits, err);
    }
    eng_st_close(st);
    tk_free(bits);
    tk_free(path);
    return code;
}

static tinkc_code write_text(const char *directory, const char *name, tk_str text,
                             tk_err *err)
{
    char *path = tk_file_join(directory, name);
    tinkc_code code = path != NULL ? tk_file_replace(path, text.p, text.n, 0644, err)
                                   : tk_err_nomem(err);
    tk_free(path);
    return code;
}

static tinkc_code export_weights(const pre_net *net, const char *directory, tk_err *err)
{
    char *path = tk_file_join(directory, "model.safetensors");
    eng_st_entry *entries = tk_zarray(net->n_tensors, sizeof(*entries));
    uint16_t *bits = tk_array(net->n, sizeof(*bits));
    tinkc_code code = TINKC_OK;
    if (path == NULL || entries == NULL || bits == NULL) {
        code = tk_err_nomem(err);
        goto out;
    }
    for (size_t i = 0; i < net->n; i++) {
        bits[i] = eng_f32_to_bf16((float)net->weights[i]);
    }
    for (size_t i = 0; i < net->n_tensors; i++) {
        const pre_tensor *t = &net->tensors[i];
        entries[i] = (eng_st_entry){t->name, ENG_BF16, t->shape, t->n_dims, bits + t->at};
    }
    const char *const metadata[] = {"format", "pt", NULL};
    eng_st_file file = {entries, net->n_tensors, metadata};
    code = write_tensors(path, &file, err);
out:
    tk_free(path);
    tk_free(entries);
    tk_free(bits);
    return code;
}

tinkc_code pre_files_export(const pre_net *net, const char *directory, tk_err *err)
{
    static const char generation[] =
        "{\n \"bos_token_id\": 0,\n \"do_sample\": true,\n \"eos_token_id\": [4, 0],\n"
        " \"pad_token_id\": 0,\n \"temperature\": 1.0,\n \"top_p\": 1.0\n}\n";
    tinkc_code code = tk_file_mkdirs(directory, 0755, err);
    if (code == TINKC_OK) {
        code = export_weights(net, directory, err);
    }
    if (code == TINKC_OK) {
        code = write_text(directory, "config.json", tk_buf_str(&net->config), err);
    }
    return code == TINKC_OK
               ? write_text(directory, "generation_config.json", TK_STR(generation), err)
               : code;
}
