/* The safetensors reader; see eng_safetensors.h. A file is u64 header length, JSON
 * header, data. Offsets in the header count from the start of the data. As in the
 * reference implementation, the tensors of a file cover its data without a gap and
 * without overlapping, so what they hold together is not more than the file. */
#include "engine/eng_safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"

#define HEADER_MAX  (16 * TK_MIB) /* a dense model of 128 layers has 200 KiB */
#define INDEX_MAX   (16 * TK_MIB)
#define PIECE_BYTES TK_MIB /* of a file whose digest is computed */
#define FILES_MAX   1024
#define TENSORS_MAX ((size_t)1 << 20)

typedef struct member {
    int fd;            /* owned; -1: `bytes` are the file */
    const char *bytes; /* borrowed */
    size_t n;          /* of the file */
    tk_str name;       /* for messages, NUL-terminated */
    size_t first_tensor;
} member;

struct eng_st {
    tk_arena arena;
    member *files;
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
        if (st->files[i].fd >= 0) {
            (void)close(st->files[i].fd);
        }
    }
    tk_free(st->files);
    tk_free(st->tensors);
    tk_arena_dispose(&st->arena);
    tk_free(st);
}

/* ---- bytes ---- */

/* Reads exactly n bytes. A file that another program makes shorter meanwhile is an error,
 * where a mapping of it would be a signal. */
static tinkc_code read_at(const member *m, size_t offset, void *out, size_t n,
                          tk_err *err)
{
    if (n > m->n || offset > m->n - n) {
        return tk_err_set(err, TINKC_E_INTERNAL, "%s: read outside the file", m->name.p);
    }
    if (m->fd < 0 && n > 0) {
        memcpy(out, m->bytes + offset, n);
        return TINKC_OK;
    }
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(m->fd, (char *)out + done, n - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return tk_err_sys(err, errno, "cannot read %s", m->name.p);
        }
        if (got == 0) {
            return tk_err_set(err, TINKC_E_DECODE,
                              "%s has become shorter while it was read", m->name.p);
        }
        done += (size_t)got;
    }
    return TINKC_OK;
}

tinkc_code eng_st_read(const eng_st *st, const eng_st_tensor *t, const eng_st_part *part,
                       tk_err *err)
{
    size_t size = eng_dtype_size(t->dtype);
    if (!t->known || part->n > t->count || part->first > t->count - part->n) {
        return tk_err_set(err, TINKC_E_INTERNAL, "read outside a tensor");
    }
    return read_at(&st->files[t->file], t->offset + part->first * size, part->out,
                   part->n * size, err);
}

tinkc_code eng_st_digest(char out[TK_SHA256_HEX_BYTES], const eng_st *st, tk_err *err)
{
    const member *m = &st->files[0];
    tk_sha256 *sha = NULL;
    char *piece = tk_malloc(PIECE_BYTES);
    tinkc_code code = piece != NULL ? tk_sha256_new(&sha, err) : tk_err_nomem(err);
    for (size_t at = 0; code == TINKC_OK && at < m->n;) {
        size_t n = TK_MIN(m->n - at, PIECE_BYTES);
        code = read_at(m, at, piece, n, err);
        if (code == TINKC_OK) {
            code = tk_sha256_update(sha, piece, n, err);
        }
        at += n;
    }
    if (code == TINKC_OK) {
        code = tk_sha256_finish(out, sha, err);
    }
    tk_sha256_free(sha);
    tk_free(piece);
    return code;
}

/* ---- one file ---- */

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

/* One header entry against the data area of `n` bytes. The offset of *t counts from its
 * start. */
static tinkc_code read_tensor(eng_st_tensor *t, const tk_json *entry, size_t n,
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
        begin > end || end > n) {
        return bad_tensor(err, file, t->name, "data_offsets lie outside the file");
    }
    size_t size, bytes;
    bool sized = read_dtype(t, &size);
    if (sized && (!tk_size_mul(&bytes, t->count, size) || bytes != end - begin)) {
        return bad_tensor(err, file, t->name, "data_offsets do not fit shape and dtype");
    }
    t->offset = (size_t)begin;
    t->n_bytes = (size_t)(end - begin);
    return TINKC_OK;
}

static int by_offset(const void *a, const void *b)
{
    const eng_st_tensor *x = a, *y = b;
    if (x->offset != y->offset) {
        return x->offset < y->offset ? -1 : 1;
    }
    return (x->n_bytes > y->n_bytes) - (x->n_bytes < y->n_bytes);
}

/* The tensors of one file, in the order of their data, against the data area: each begins
 * where the one before it ends. Then the offsets become those of the file. */
static tinkc_code place_tensors(eng_st *st, const member *m, size_t data, tk_err *err)
{
    eng_st_tensor *tensors = st->tensors + m->first_tensor;
    size_t n = st->n_tensors - m->first_tensor, at = 0;
    if (n > 0) {
        qsort(tensors, n, sizeof(*tensors), by_offset);
    }
    for (size_t i = 0; i < n; i++) {
        if (tensors[i].offset != at) {
            return bad_tensor(err, m->name.p, tensors[i].name,
                              tensors[i].offset < at
                                  ? "data_offsets overlap those of another tensor"
                                  : "data_offsets leave a gap before it");
        }
        at += tensors[i].n_bytes;
        tensors[i].offset += data;
        tensors[i].file = st->n_files - 1;
    }
    if (at != m->n - data) {
        return tk_err_set(err, TINKC_E_DECODE,
                          "%s: %zu bytes after the last tensor belong to none", m->name.p,
                          m->n - data - at);
    }
    return TINKC_OK;
}

static tinkc_code read_header(eng_st *st, const tk_json *root, size_t data,
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
        const tk_json_member *entry = &root->as.object.members[i];
        if (tk_str_is(entry->key, "__metadata__")) {
            st->metadata = st->metadata == NULL ? &entry->value : st->metadata;
            continue;
        }
        eng_st_tensor t = {.name = entry->key};
        tinkc_code code = read_tensor(&t, &entry->value, data, file, err);
        if (code != TINKC_OK) {
            return code;
        }
        st->tensors[st->n_tensors++] = t;
    }
    return TINKC_OK;
}

/* Fills *root from the header; *data_out is where the data area begins. */
static tinkc_code parse_header(eng_st *st, const member *m, const tk_json **root,
                               size_t *data_out, tk_err *err)
{
    uint64_t length;
    if (m->n < sizeof(length)) {
        return tk_err_set(err, TINKC_E_DECODE, "%s: too short for a safetensors file",
                          m->name.p);
    }
    tinkc_code code = read_at(m, 0, &length, sizeof(length), err);
    if (code != TINKC_OK) {
        return code;
    }
    if (length > HEADER_MAX || length > m->n - sizeof(length)) {
        return tk_err_set(err, TINKC_E_DECODE,
                          "%s: header length %llu does not fit the file of %zu bytes",
                          m->name.p, (unsigned long long)length, m->n);
    }
    char *text = tk_malloc((size_t)length);
    if (text == NULL) {
        return tk_err_nomem(err);
    }
    tk_json_limits limits = {.max_bytes = HEADER_MAX, .max_depth = 8};
    tk_err inner = TK_ERR_INIT;
    code = read_at(m, sizeof(length), text, (size_t)length, err);
    if (code == TINKC_OK) {
        code = tk_json_parse(root, &st->arena, text, (size_t)length, &limits, &inner);
        if (code != TINKC_OK) {
            code = tk_err_at(err, code, inner.offset, "%s: header: %s", m->name.p,
                             inner.message);
        }
    }
    tk_free(text);
    *data_out = sizeof(length) + (size_t)length;
    return code;
}

/* Adds the tensors of one file and takes over its descriptor, also on failure. */
static tinkc_code add_member(eng_st *st, member m, const char *name, tk_err *err)
{
    member *grown = tk_realloc_array(st->files, st->n_files + 1, sizeof(*grown));
    st->files = grown != NULL ? grown : st->files;
    if (grown == NULL || !tk_arena_dup(&st->arena, &m.name, name, strlen(name))) {
        if (m.fd >= 0) {
            (void)close(m.fd);
        }
        return tk_err_nomem(err);
    }
    m.first_tensor = st->n_tensors;
    st->files[st->n_files++] = m;
    const tk_json *root;
    size_t data;
    tinkc_code code = parse_header(st, &m, &root, &data, err);
    if (code == TINKC_OK) {
        code = read_header(st, root, m.n - data, m.name.p, err);
    }
    return code == TINKC_OK ? place_tensors(st, &m, data, err) : code;
}

static tinkc_code system_error(tk_err *err, const char *path)
{
    if (errno == ENOENT) {
        return tk_err_set(err, TINKC_E_MISSING,
                          "cannot open %s: No such file or directory", path);
    }
    return tk_err_sys(err, errno, "cannot read %s", path);
}

static tinkc_code add_file(eng_st *st, const char *path, tk_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block */
    if (fd < 0) {
        return system_error(err, path);
    }
    struct stat status;
    tinkc_code code = TINKC_OK;
    if (fstat(fd, &status) != 0) {
        code = system_error(err, path);
    } else if (!S_ISREG(status.st_mode) || status.st_size <= 0) {
        code = tk_err_set(err, TINKC_E_DECODE, "%s: not a safetensors file", path);
    }
    if (code != TINKC_OK) {
        (void)close(fd);
        return code;
    }
    member m = {.fd = fd, .n = (size_t)status.st_size};
    return add_member(st, m, path, err);
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
    member m = {.fd = -1, .bytes = bytes.p, .n = bytes.n};
    return finish_open(out, st, add_member(st, m, name, err), err);
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
