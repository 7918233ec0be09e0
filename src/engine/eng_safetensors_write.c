/* The safetensors writer; see eng_safetensors.h. Tensors keep the order given; the header
 * is padded with spaces so that the data starts at a multiple of 8. */
#include <string.h>

#include "base/json.h"
#include "engine/eng_safetensors.h"

#define HEADER_MAX ((size_t)100 * TK_MIB)

size_t eng_st_entry_bytes(const eng_st_entry *entry)
{
    size_t bytes = eng_dtype_size(entry->dtype);
    for (size_t i = 0; i < entry->n_dims; i++) {
        bytes *= entry->shape[i];
    }
    return bytes;
}

static void put_entry(tk_json_writer *w, const eng_st_entry *entry, size_t offset)
{
    tk_json_key(w, tk_str_of(entry->name));
    tk_json_begin_object(w);
    tk_json_key(w, TK_STR("dtype"));
    tk_json_put_str(w, tk_str_of(eng_dtype_name(entry->dtype)));
    tk_json_key(w, TK_STR("shape"));
    tk_json_begin_array(w);
    for (size_t i = 0; i < entry->n_dims; i++) {
        tk_json_put_u64(w, entry->shape[i]);
    }
    tk_json_end_array(w);
    tk_json_key(w, TK_STR("data_offsets"));
    tk_json_begin_array(w);
    tk_json_put_u64(w, offset);
    tk_json_put_u64(w, offset + eng_st_entry_bytes(entry));
    tk_json_end_array(w);
    tk_json_end_object(w);
}

static void put_json(tk_buf *out, const eng_st_file *file)
{
    tk_json_writer w;
    tk_json_writer_init(&w, out);
    tk_json_begin_object(&w);
    if (file->metadata != NULL) {
        tk_json_key(&w, TK_STR("__metadata__"));
        tk_json_begin_object(&w);
        for (const char *const *pair = file->metadata; pair[0] != NULL; pair += 2) {
            tk_json_key(&w, tk_str_of(pair[0]));
            tk_json_put_str(&w, tk_str_of(pair[1]));
        }
        tk_json_end_object(&w);
    }
    size_t offset = 0;
    for (size_t i = 0; i < file->n_entries; i++) {
        put_entry(&w, &file->entries[i], offset);
        offset += eng_st_entry_bytes(&file->entries[i]);
    }
    tk_json_end_object(&w);
}

void eng_st_put_header(tk_buf *out, const eng_st_file *file)
{
    size_t at = out->n;
    uint64_t length = 0;
    tk_buf_put(out, &length, sizeof(length));
    put_json(out, file);
    while (out->failure == TINKC_OK && (out->n - at) % 8 != 0) {
        tk_buf_putc(out, ' ');
    }
    if (out->failure == TINKC_OK) {
        length = out->n - at - sizeof(length);
        memcpy(out->p + at, &length, sizeof(length));
    }
}

void eng_st_put(tk_buf *out, const eng_st_file *file)
{
    eng_st_put_header(out, file);
    for (size_t i = 0; i < file->n_entries; i++) {
        tk_buf_put(out, file->entries[i].data, eng_st_entry_bytes(&file->entries[i]));
    }
}

tinkc_code eng_st_write(tk_file_writer *writer, const eng_st_file *file, tk_err *err)
{
    tk_buf header;
    tk_buf_init(&header, HEADER_MAX);
    eng_st_put_header(&header, file);
    tinkc_code code = tk_buf_status(&header, err);
    if (code == TINKC_OK) {
        code = tk_file_writer_put(writer, header.p, header.n, err);
    }
    for (size_t i = 0; i < file->n_entries && code == TINKC_OK; i++) {
        const eng_st_entry *entry = &file->entries[i];
        code = tk_file_writer_put(writer, entry->data, eng_st_entry_bytes(entry), err);
    }
    tk_buf_dispose(&header);
    return code;
}
