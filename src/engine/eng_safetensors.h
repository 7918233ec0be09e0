/* safetensors files: reading one or several of them as one set of named tensors, and
 * writing one. Opening reads the headers; the data stay in the open files until
 * eng_st_read copies a part of a tensor, so a set takes little memory. Nothing is mapped:
 * a file may be changed or cut by another program at any time.
 * Input is hostile: every length, offset and shape is checked against the file. Thread:
 * an open set is immutable. */
#ifndef ENGINE_ENG_SAFETENSORS_H
#define ENGINE_ENG_SAFETENSORS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/str.h"
#include "engine/eng_dtype.h"

#define ENG_ST_MAX_DIMS 8

typedef struct eng_st eng_st;

typedef struct eng_st_tensor {
    tk_str name;
    tk_str dtype_name; /* as written */
    bool known;        /* dtype is one the engine reads */
    eng_dtype dtype;
    size_t n_dims;
    size_t shape[ENG_ST_MAX_DIMS];
    size_t count;           /* product of shape */
    size_t file;            /* number of the file */
    size_t offset, n_bytes; /* of its data, in that file */
} eng_st_tensor;

/* model.safetensors, else the shards that model.safetensors.index.json names. */
TK_NODISCARD tinkc_code eng_st_open_directory(eng_st **out, const char *directory,
                                              tk_err *err);
TK_NODISCARD tinkc_code eng_st_open_file(eng_st **out, const char *path, tk_err *err);

/* `bytes` must outlive the set; `name` is for messages. */
TK_NODISCARD tinkc_code eng_st_open_memory(eng_st **out, tk_str bytes, const char *name,
                                           tk_err *err);
void eng_st_close(eng_st *st); /* accepts NULL */

typedef struct eng_st_part { /* elements [first, first + n) of a tensor */
    size_t first, n;
    void *out; /* n times the size of the dtype */
} eng_st_part;

/* Copies a part of a tensor of a known dtype. TINKC_E_DECODE when the file has become
 * shorter since the set was opened. */
TK_NODISCARD tinkc_code eng_st_read(const eng_st *st, const eng_st_tensor *t,
                                    const eng_st_part *part, tk_err *err);

/* The digest of the first file, which is read in pieces. */
TK_NODISCARD tinkc_code eng_st_digest(char out[TK_SHA256_HEX_BYTES], const eng_st *st,
                                      tk_err *err);

const eng_st_tensor *eng_st_find(const eng_st *st, tk_str name); /* NULL = none */
size_t eng_st_count(const eng_st *st);
const eng_st_tensor *eng_st_at(const eng_st *st, size_t index); /* sorted by name */

/* The value of a key of __metadata__ of the first file, or {NULL, 0}. */
tk_str eng_st_metadata(const eng_st *st, const char *key);

/* ---- writing ---- */

typedef struct eng_st_entry {
    const char *name;
    eng_dtype dtype;
    const size_t *shape;
    size_t n_dims;
    const void *data; /* little-endian, shape times size of dtype */
} eng_st_entry;

typedef struct eng_st_file {
    const eng_st_entry *entries;
    size_t n_entries;
    const char *const *metadata; /* key, value, key, value, ..., NULL; or NULL */
} eng_st_file;

/* Appends length and header; the entries' data must follow in order. */
void eng_st_put_header(tk_buf *out, const eng_st_file *file);

size_t eng_st_entry_bytes(const eng_st_entry *entry);

/* The whole file. */
void eng_st_put(tk_buf *out, const eng_st_file *file);
TK_NODISCARD tinkc_code eng_st_write(tk_file_writer *writer, const eng_st_file *file,
                                     tk_err *err);

#endif
