/* The safetensors reader; see eng_safetensors.h. A file is u64 header length, JSON
 * header, data. Offsets in the header count from the start of the data. */
#include "engine/eng_safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"

#define HEADER_MAX  ((size_t)100 * TK_MIB)
#define INDEX_MAX   (64 * TK_MIB)
#define FILES_MAX   1024
#define TENSORS_MAX ((size_t)1 << 20)

typedef struct mapping {
    const void *data;
    size_t n;
    bool mapped; /* ours to unmap */
} mapping;

struct eng_st {
    tk_arena arena;
    mapping *files;
    size_t n_files;
    eng_st_tensor *tensors;
    size_t n_tensors;
    const tk_json *metadata;
};

void eng_st_close(eng_st *st)
{
    if (st == NULL) {
        return;
    }
    for (size_t i = 0; i < st->n_files; i++) {
        if (st->files[i].mapped) {
            (void)munmap((void *)(uintptr_t)st->files[i].data, st->files[i].n);
        }
    }
    tk_free(st->files);
    tk_free(st->tensors);
    tk_arena_dispose(&st->arena);
    tk_free(st);
}

tk_str eng_st_bytes(const eng_st *st)
{
    return (tk_str){st->files[0].data, st->files[0].n};
}

static bool read_dtype(eng_st_tensor *t, size_t *size_out)
{
    static const struct {
        const char *name;
        size_t size;
        bool known;
        eng_dtype dtype;
    } types[] = {
        {"F32", 4, true, ENG_F32},  {"BF16", 2, true, ENG_BF16},
        {"F16", 2, true, ENG_F16},  {"F64", 8, false, ENG_F32},
        {"I64", 8, false, ENG_F32}, {"I32", 4, false, ENG_F32},
        {"I16", 2, false, ENG_F32}, {"I8", 1, false, ENG_F32},
        {"U8", 1, false, ENG_F32},  {"BOOL", 1, false, ENG_F32},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(types); i++) {
        if (tk_str_is(t->dtype_name, types[i].name)) {
            t->known = types[i].known;
            t->dtype = types[i].dtype;
            *size_out = types[i].size;
            return true;
        }
    }
    *size_out = 0;
    return false;
}

static tinkc_code bad_tensor(tk_err *err, const char *file, tk_str name, const char *why)
{
    return tk_err_set(err, TINKC_E_DECODE, "%s: tensor " TK_STR_FMT ": %s", file,
                      TK_STR_ARG(name), why);
}

static bool read_shape(eng_st_tensor *t, const tk_json *shape)
{
    t->n_dims = tk_json_len(shape);
    t->count = 1;
    if (!tk_json_is_array(shape) || t->n_dims > ENG_ST_MAX_DIMS) {
        return false;
    }
    for (size_t i = 0; i < t->n_dims; i++) {
        tk_json item = tk_json_at(shape, i);
        uint64_t n;
        if (!tk_json_to_u64(&item, &n) || n > SIZE_MAX ||
            !tk_size_mul(&t->count, t->count, (size_t)n)) {
            return false;
        }
        t->shape[i] = (size_t)n;
    }
    return true;
}

/* One header entry against the data area of `n` bytes. */
static tinkc_code read_tensor(eng_st_tensor *t, const tk_json *entry, tk_str data,
                              const char *file, tk_err *err)
{
    const tk_json *dtype = tk_json_get(entry, "dtype");
    const tk_json *offsets = tk_json_get(entry, "data_offsets");
    if (dtype == NULL || dtype->type != TK_JSON_STRING) {
        return bad_tensor(err, file, t->name, "dtype is missing");
    }
    t->dtype_name = dtype->as.string;
    if (!read_shape(t, tk_json_get(entry, "shape"))) {
        return bad_tensor(err, file, t->name, "shape is missing or impossible");
    }
    uint64_t begin, end;
    if (tk_json_len(offsets) != 2) {
        return bad_tensor(err, file, t->name, "data_offsets must be two numbers");
    }
    tk_json first = tk_json_at(offsets, 0), second = tk_json_at(offsets, 1);
    if (!tk_json_to_u64(&first, &begin) || !tk_json_to_u64(&second, &end) ||
        begin > end || end > data.n) {
        return bad_tensor(err, file, t->name, "data_offsets lie outside the file");
    }
    size_t size, bytes;
    bool sized = read_dtype(t, &size);
    if (sized && (!tk_size_mul(&bytes, t->count, size) || bytes != end - begin)) {
        return bad_tensor(err, file, t->name, "data_offsets do not fit shape and dtype");
    }
    t->data = data.p + begin;
    return TINKC_OK;
}

static tinkc_code read_header(eng_st *st, const tk_json *root, tk_str data,
                              const char *file, tk_err *err)
{
    if (root->type != TK_JSON_OBJECT) {
        return tk_err_set(err, TINKC_E_DECODE, "%s: header is not an object", file);
    }
    size_t n = root->as.object.n;
    if (n > TENSORS_MAX - st->n_tensors) {
        return tk_err_set(err, TINKC_E_LIMIT, "%s: too many tensors", file);
    }
    eng_st_tensor *grown =
        tk_realloc_array(st->tensors, st->n_tensors + n, sizeof(*grown));
    if (grown == NULL) {
        return tk_err_nomem(err);
    }
    st->tensors = grown;
    for (size_t i = 0; i < n; i++) {
        const tk_json_member *member = &root->as.object.members[i];
        if (tk_str_is(member->key, "__metadata__")) {
            st->metadata = st->metadata == NULL ? &member->value : st->metadata;
            continue;
        }
        eng_st_tensor t = {.name = member->key};
        tinkc_code code = read_tensor(&t, &member->value, data, file, err);
        if (code != TINKC_OK) {
            return code;
        }
        st->tensors[st->n_tensors++] = t;
    }
    return TINKC_OK;
}

/* Adds the tensors of one file. */
static tinkc_code add_bytes(eng_st *st, tk_str bytes, const char *file, tk_err *err)
{
    uint64_t header;
    if (bytes.n < sizeof(header)) {
        return tk_err_set(err, TINKC_E_DECODE, "%s: too short for a safetensors file",
                          file);
    }
    memcpy(&header, bytes.p, sizeof(header));
    if (header > HEADER_MAX || header > bytes.n - sizeof(header)) {
        return tk_err_set(err, TINKC_E_DECODE,
                          "%s: header length %llu does not fit the file of %zu bytes",
                          file, (unsigned long long)header, bytes.n);
    }
    const tk_json *root;
    tk_json_limits limits = {.max_bytes = HEADER_MAX, .max_depth = 8};
    tk_err inner = TK_ERR_INIT;
    tinkc_code code = tk_json_parse(&root, &st->arena, bytes.p + sizeof(header),
                                    (size_t)header, &limits, &inner);
    if (code != TINKC_OK) {
        return tk_err_at(err, code, inner.offset, "%s: header: %s", file, inner.message);
    }
    tk_str data = {bytes.p + sizeof(header) + header,
                   bytes.n - sizeof(header) - (size_t)header};
    return read_header(st, root, data, file, err);
}

static tinkc_code keep_mapping(eng_st *st, mapping m, tk_err *err)
{
    mapping *grown = tk_realloc_array(st->files, st->n_files + 1, sizeof(*grown));
    if (grown == NULL) {
        return tk_err_nomem(err);
    }
    st->files = grown;
    st->files[st->n_files++] = m;
    return TINKC_OK;
}

static tinkc_code system_error(tk_err *err, const char *path)
{
    if (errno == ENOENT) {
        return tk_err_set(err, TINKC_E_MISSING,
                          "cannot open %s: No such file or directory", path);
    }
    return tk_err_sys(err, errno, "cannot read %s", path);
}

static tinkc_code map_file(mapping *out, const char *path, tk_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block */
    if (fd < 0) {
        return system_error(err, path);
    }
    struct stat st;
    tinkc_code code = TINKC_OK;
    if (fstat(fd, &st) != 0) {
        code = system_error(err, path);
    } else if (!S_ISREG(st.st_mode) || st.st_size <= 0) {
        code = tk_err_set(err, TINKC_E_DECODE, "%s: not a safetensors file", path);
    } else {
        void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED) {
            code = system_error(err, path);
        } else {
            *out = (mapping){data, (size_t)st.st_size, true};
        }
    }
    (void)close(fd);
    return code;
}

static tinkc_code add_file(eng_st *st, const char *path, tk_err *err)
{
    mapping m = {NULL, 0, false};
    tinkc_code code = map_file(&m, path, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = keep_mapping(st, m, err);
    if (code != TINKC_OK) {
        (void)munmap((void *)(uintptr_t)m.data, m.n);
        return code;
    }
    return add_bytes(st, (tk_str){m.data, m.n}, path, err);
}

static int by_name(const void *a, const void *b)
{
    return tk_str_cmp(((const eng_st_tensor *)a)->name, ((const eng_st_tensor *)b)->name);
}

static tinkc_code sort_tensors(eng_st *st, tk_err *err)
{
    if (st->n_tensors == 0) {
        return TINKC_OK;
    }
    qsort(st->tensors, st->n_tensors, sizeof(*st->tensors), by_name);
    for (size_t i = 1; i < st->n_tensors; i++) {
        if (by_name(&st->tensors[i - 1], &st->tensors[i]) == 0) {
            return tk_err_set(err, TINKC_E_DECODE, "tensor " TK_STR_FMT " is there twice",
                              TK_STR_ARG(st->tensors[i].name));
        }
    }
    return TINKC_OK;
}

static tinkc_code finish_open(eng_st **out, eng_st *st, tinkc_code code, tk_err *err)
{
    if (code == TINKC_OK) {
        code = sort_tensors(st, err);
    }
    if (code != TINKC_OK) {
        eng_st_close(st);
        return code;
    }
    *out = st;
    return TINKC_OK;
}

static eng_st *new_set(void)
{
    eng_st *st = tk_zalloc(sizeof(*st));
    if (st != NULL) {
        tk_arena_init(&st->arena, 0);
    }
    return st;
}

tinkc_code eng_st_open_memory(eng_st **out, tk_str bytes, const char *name, tk_err *err)
{
    eng_st *st = new_set();
    if (st == NULL) {
        return tk_err_nomem(err);
    }
    return finish_open(out, st, add_bytes(st, bytes, name, err), err);
}

tinkc_code eng_st_open_file(eng_st **out, const char *path, tk_err *err)
{
    eng_st *st = new_set();
    if (st == NULL) {
        return tk_err_nomem(err);
    }
    return finish_open(out, st, add_file(st, path, err), err);
}

/* A shard must be a plain file name: the index is not trusted to leave the directory. */
static bool is_plain_name(tk_str name)
{
    return name.n > 0 && name.n < 256 && name.p[0] != '.' &&
           memchr(name.p, '/', name.n) == NULL && memchr(name.p, '\0', name.n) == NULL;
}

static tinkc_code add_shard(eng_st *st, tk_str name, const char *directory, tk_err *err)
{
    if (st->n_files == FILES_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT, "%s: too many shards", directory);
    }
    char *path = tk_file_join(directory, name.p);
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = add_file(st, path, err);
    tk_free(path);
    return code;
}

static tinkc_code add_shards(eng_st *st, const tk_json *root, const char *directory,
                             tk_err *err)
{
    const tk_json *map = tk_json_get(root, "weight_map");
    if (map == NULL || map->type != TK_JSON_OBJECT || map->as.object.n > TENSORS_MAX) {
        return tk_err_set(err, TINKC_E_DECODE,
                          "%s/model.safetensors.index.json: no weight_map", directory);
    }
    tinkc_code code = TINKC_OK;
    tk_map seen; /* the index decides how many tensors name how many shards */
    tk_map_init(&seen, TK_MAP_BORROW_KEYS);
    for (size_t i = 0; code == TINKC_OK && i < map->as.object.n; i++) {
        const tk_json *value = &map->as.object.members[i].value;
        if (value->type != TK_JSON_STRING || !is_plain_name(value->as.string)) {
            code =
                tk_err_set(err, TINKC_E_DECODE,
                           "%s/model.safetensors.index.json: bad file name", directory);
        } else if (!tk_map_has(&seen, value->as.string)) {
            code = add_shard(st, value->as.string, directory, err);
            if (code == TINKC_OK) {
                code = tk_map_put(&seen, value->as.string, NULL, err);
            }
        }
    }
    tk_map_dispose(&seen);
    return code;
}

static tinkc_code add_index(eng_st *st, const char *directory, tk_err *err)
{
    char *path = tk_file_join(directory, "model.safetensors.index.json");
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    char *text = NULL;
    size_t n;
    tinkc_code code = tk_file_read(&text, &n, path, INDEX_MAX, err);
    if (code != TINKC_OK) {
        tk_free(path);
        return code;
    }
    const tk_json *root;
    tk_err inner = TK_ERR_INIT;
    code = tk_json_parse(&root, &st->arena, text, n, NULL, &inner);
    if (code != TINKC_OK) {
        code = tk_err_at(err, code, inner.offset, "%s: %s", path, inner.message);
    } else {
        code = add_shards(st, root, directory, err);
    }
    tk_free(text);
    tk_free(path);
    return code;
}

tinkc_code eng_st_open_directory(eng_st **out, const char *directory, tk_err *err)
{
    char *path = tk_file_join(directory, "model.safetensors");
    eng_st *st = path != NULL ? new_set() : NULL;
    if (st == NULL) {
        tk_free(path);
        return tk_err_nomem(err);
    }
    tinkc_code code =
        access(path, F_OK) == 0 ? add_file(st, path, err) : add_index(st, directory, err);
    tk_free(path);
    return finish_open(out, st, code, err);
}

void eng_st_drop_pages(const eng_st *st)
{
    for (size_t i = 0; i < st->n_files; i++) {
        if (st->files[i].mapped) {
            void *data = (void *)(uintptr_t)st->files[i].data;
            (void)madvise(data, st->files[i].n, MADV_DONTNEED);
        }
    }
}

const eng_st_tensor *eng_st_find(const eng_st *st, tk_str name)
{
    eng_st_tensor key = {.name = name};
    return st->n_tensors == 0
               ? NULL
               : bsearch(&key, st->tensors, st->n_tensors, sizeof(*st->tensors), by_name);
}

size_t eng_st_count(const eng_st *st)
{
    return st->n_tensors;
}

const eng_st_tensor *eng_st_at(const eng_st *st, size_t index)
{
    return &st->tensors[index];
}

tk_str eng_st_metadata(const eng_st *st, const char *key)
{
    const tk_json *value = tk_json_get(st->metadata, key);
    return value != NULL && value->type == TK_JSON_STRING ? value->as.string
                                                          : (tk_str){NULL, 0};
}
