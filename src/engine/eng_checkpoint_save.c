/* Writing checkpoints and PEFT directories: members into a temporary directory beside the
 * target, each synced, then one rename. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/sha256.h"
#include "engine/eng_checkpoint_int.h"

#define HEADER_MAX ((size_t)64 * TK_MIB)
#define JSON_MAX   ((size_t)64 * TK_KIB)

typedef struct digest {
    const char *name;
    char hex[TK_SHA256_HEX_BYTES];
} digest;

typedef struct save {
    const eng_adapter *adapter;
    const eng_save_options *options;
    bool peft;
    char *temp; /* the directory that is written */
    digest digests[3];
    size_t n_digests;
    tk_err *err;
} save;

/* ---- members ---- */

typedef struct member {
    tk_file_writer *writer;
    tk_sha256 *sha;
} member;

static tinkc_code member_open(member *m, const save *s, const char *name)
{
    char *path = tk_file_join(s->temp, name);
    if (path == NULL) {
        return tk_err_nomem(s->err);
    }
    tinkc_code code = tk_sha256_new(&m->sha, s->err);
    if (code == TINKC_OK) {
        code = tk_file_writer_new(&m->writer, path, 0666, s->err);
    }
    tk_free(path);
    return code;
}

static tinkc_code member_put(member *m, const void *data, size_t n, tk_err *err)
{
    tinkc_code code = tk_file_writer_put(m->writer, data, n, err);
    return code == TINKC_OK ? tk_sha256_update(m->sha, data, n, err) : code;
}

/* Ends the member and notes its digest. Takes the first failure as `code`. */
static tinkc_code member_close(member *m, save *s, const char *name, tinkc_code code)
{
    if (code == TINKC_OK && s->n_digests < TK_ARRAY_LEN(s->digests)) {
        digest *d = &s->digests[s->n_digests++];
        d->name = name;
        code = tk_sha256_finish(d->hex, m->sha, s->err);
    }
    if (code == TINKC_OK) {
        code = tk_file_writer_commit(m->writer, s->err);
    } else {
        tk_file_writer_abort(m->writer);
    }
    tk_sha256_free(m->sha);
    return code;
}

static tinkc_code write_bytes(save *s, const char *name, tk_str bytes)
{
    member m = {NULL, NULL};
    tinkc_code code = member_open(&m, s, name);
    if (code == TINKC_OK) {
        code = member_put(&m, bytes.p != NULL ? bytes.p : "", bytes.n, s->err);
    }
    return member_close(&m, s, name, code);
}

static tinkc_code write_json(save *s, const char *name,
                             void (*put)(const save *s, tk_json_writer *w))
{
    tk_buf out;
    tk_json_writer w;
    tk_buf_init(&out, JSON_MAX);
    tk_json_writer_init(&w, &out);
    put(s, &w);
    tinkc_code code = tk_json_finish(&w, s->err);
    if (code == TINKC_OK) {
        code = write_bytes(s, name, tk_buf_str(&out));
    }
    tk_buf_dispose(&out);
    return code;
}

/* ---- tensors ---- */

typedef struct tensors {
    eng_st_entry *entries;
    char (*names)[ENG_CKPT_NAME_BYTES];
    size_t (*shapes)[2];
    size_t n;
} tensors;

static tinkc_code tensors_init(tensors *t, const save *s, size_t sets)
{
    size_t most = 2 * sets * s->adapter->n_modules;
    t->entries = tk_array(most, sizeof(*t->entries));
    t->names = tk_array(most, sizeof(*t->names));
    t->shapes = tk_array(most, sizeof(*t->shapes));
    return t->entries != NULL && t->names != NULL && t->shapes != NULL
               ? TINKC_OK
               : tk_err_nomem(s->err);
}

static void tensors_dispose(tensors *t)
{
    tk_free(t->entries);
    tk_free(t->names);
    tk_free(t->shapes);
}

static void add_tensor(tensors *t, const eng_ckpt_key *key, bool peft,
                       const size_t *shape, const eng_real *data)
{
    eng_ckpt_put_name(t->names[t->n], key, peft);
    memcpy(t->shapes[t->n], shape, sizeof(t->shapes[t->n]));
    t->entries[t->n] = (eng_st_entry){.name = t->names[t->n],
                                      .dtype = ENG_F32,
                                      .shape = t->shapes[t->n],
                                      .n_dims = 2,
                                      .data = data};
    t->n++;
}

/* All A and B, with the values of one of the flat arrays. */
static void add_set(tensors *t, const save *s, const eng_real *values, const char *suffix)
{
    const eng_adapter *a = s->adapter;
    for (size_t i = 0; i < a->n_modules; i++) {
        const eng_lora *m = &a->modules[i];
        eng_ckpt_key key = {.head = i + 1 == a->n_modules,
                            .layer = i / ENG_N_LINEAR,
                            .which = (eng_linear)(i % ENG_N_LINEAR),
                            .suffix = tk_str_of(suffix)};
        size_t rank = a->config.rank;
        if (m->on) {
            add_tensor(t, &key, s->peft, (size_t[]){rank, m->in}, values + m->a_at);
            key.b = true;
            add_tensor(t, &key, s->peft, (size_t[]){m->out, rank}, values + m->b_at);
        }
    }
}

static tinkc_code write_tensors(save *s, const char *name, const eng_st_file *file)
{
    tk_buf header;
    tk_buf_init(&header, HEADER_MAX);
    eng_st_put_header(&header, file);
    member m = {NULL, NULL};
    tinkc_code code = tk_buf_status(&header, s->err);
    if (code == TINKC_OK) {
        code = member_open(&m, s, name);
    }
    if (code == TINKC_OK) {
        code = member_put(&m, header.p, header.n, s->err);
    }
    for (size_t i = 0; i < file->n_entries && code == TINKC_OK; i++) {
        const eng_st_entry *entry = &file->entries[i];
        code = member_put(&m, entry->data, eng_st_entry_bytes(entry), s->err);
    }
    tk_buf_dispose(&header);
    return member_close(&m, s, name, code);
}

static tinkc_code write_weights(save *s)
{
    /* an adapter that was trained on rounded weights fits those best */
    bool int8 = !s->peft && s->adapter->model->weights == ENG_WEIGHTS_INT8;
    const char *const metadata[] = {"format", "pt", int8 ? ENG_CKPT_PRECISION : NULL,
                                    ENG_CKPT_INT8, NULL};
    tensors t = {.n = 0};
    tinkc_code code = tensors_init(&t, s, 1);
    if (code == TINKC_OK) {
        add_set(&t, s, s->adapter->weights, "");
        eng_st_file file = {t.entries, t.n, metadata};
        code = write_tensors(s, ENG_CKPT_WEIGHTS, &file);
    }
    tensors_dispose(&t);
    return code;
}

static tinkc_code write_optimizer(save *s)
{
    char steps[32];
    (void)snprintf(steps, sizeof(steps), "%llu", (unsigned long long)s->adapter->steps);
    eng_optimizer optimizer = s->adapter->config.optimizer;
    const char *const metadata[] = {
        "format", "pt", "optimizer", eng_optimizer_name(optimizer), "steps", steps, NULL};
    tensors t = {.n = 0};
    tinkc_code code = tensors_init(&t, s, 2);
    if (code == TINKC_OK) {
        add_set(&t, s, s->adapter->moment1, ENG_CKPT_MOMENT1);
        if (optimizer == ENG_ADAMW) {
            add_set(&t, s, s->adapter->moment2, ENG_CKPT_MOMENT2);
        }
        eng_st_file file = {t.entries, t.n, metadata};
        code = write_tensors(s, ENG_CKPT_OPTIMIZER, &file);
    }
    tensors_dispose(&t);
    return code;
}

/* ---- texts ---- */

/* "all-linear" is what Tinker's archives say; PEFT takes it for everything but the head,
 * so what PEFT must load is listed. */
static void put_targets(const save *s, tk_json_writer *w)
{
    static const struct {
        const char *name;
        int group;
    } leaves[] = {{"down_proj", 1}, {"gate_proj", 1}, {"k_proj", 0},  {"lm_head", 2},
                  {"o_proj", 0},    {"q_proj", 0},    {"up_proj", 1}, {"v_proj", 0}};
    const eng_lora_config *c = &s->adapter->config;
    const bool on[] = {c->train_attn, c->train_mlp, c->train_unembed};
    if (!s->peft && c->train_attn && c->train_mlp) {
        tk_json_put_str(w, TK_STR("all-linear"));
        return;
    }
    tk_json_begin_array(w);
    for (size_t i = 0; i < TK_ARRAY_LEN(leaves); i++) {
        bool head = leaves[i].group == 2;
        if (on[leaves[i].group]) {
            const char *name = head && !s->peft ? "unembed_tokens" : leaves[i].name;
            tk_json_put_str(w, tk_str_of(name));
        }
    }
    tk_json_end_array(w);
}

static void put_alpha(double alpha, tk_json_writer *w)
{
    if (alpha < 1e9 && (double)(int64_t)alpha >= alpha) { /* PEFT's type is an integer */
        tk_json_put_i64(w, (int64_t)alpha);
    } else {
        tk_json_put_double(w, alpha);
    }
}

static void put_config(const save *s, tk_json_writer *w)
{
    const char *base = s->options != NULL ? s->options->base_model : NULL;
    tk_json_begin_object(w);
    tk_json_key(w, TK_STR("peft_type"));
    tk_json_put_str(w, TK_STR("LORA"));
    tk_json_key(w, TK_STR("task_type"));
    tk_json_put_str(w, TK_STR("CAUSAL_LM"));
    tk_json_key(w, TK_STR("base_model_name_or_path"));
    if (base != NULL) {
        tk_json_put_str(w, tk_str_of(base));
    } else {
        tk_json_put_null(w);
    }
    tk_json_key(w, TK_STR("r"));
    tk_json_put_u64(w, s->adapter->config.rank);
    tk_json_key(w, TK_STR("lora_alpha"));
    put_alpha(s->adapter->config.alpha, w);
    tk_json_key(w, TK_STR("lora_dropout"));
    tk_json_put_double(w, 0.0);
    tk_json_key(w, TK_STR("bias"));
    tk_json_put_str(w, TK_STR("none"));
    tk_json_key(w, TK_STR("fan_in_fan_out"));
    tk_json_put_bool(w, false);
    tk_json_key(w, TK_STR("inference_mode"));
    tk_json_put_bool(w, true);
    tk_json_key(w, TK_STR("target_modules"));
    put_targets(s, w);
    tk_json_end_object(w);
}

static void put_checksums(const save *s, tk_json_writer *w)
{
    tk_json_begin_object(w);
    for (size_t i = 0; i < s->n_digests; i++) {
        tk_json_key(w, tk_str_of(s->digests[i].name));
        tk_json_put_str(w, tk_str_of(s->digests[i].hex));
    }
    tk_json_end_object(w);
}

/* ---- the directory ---- */

static tinkc_code write_members(save *s)
{
    tinkc_code code = write_json(s, ENG_CKPT_CONFIG, put_config);
    if (code == TINKC_OK) {
        code = write_weights(s);
    }
    if (code == TINKC_OK && !s->peft && s->options != NULL && s->options->optimizer) {
        code = write_optimizer(s);
    }
    if (code == TINKC_OK && !s->peft) {
        code = write_json(s, ENG_CKPT_CHECKSUMS, put_checksums);
    }
    if (code == TINKC_OK && !s->peft) {
        code = write_bytes(s, ENG_CKPT_COMPLETE, TK_STR(""));
    }
    return code;
}

static void remove_temp(const save *s)
{
    static const char *const members[] = {ENG_CKPT_CONFIG, ENG_CKPT_WEIGHTS,
                                          ENG_CKPT_OPTIMIZER, ENG_CKPT_CHECKSUMS,
                                          ENG_CKPT_COMPLETE};
    char
        path[4096]; /* no allocation: the way back from a failed one comes through here */
    for (size_t i = 0; i < TK_ARRAY_LEN(members); i++) {
        int n = snprintf(path, sizeof(path), "%s/%s", s->temp, members[i]);
        if (n > 0 && (size_t)n < sizeof(path)) {
            (void)unlink(path);
        }
    }
    (void)rmdir(s->temp);
}

static tinkc_code in_the_way(const char *directory, tk_err *err)
{
    return tk_err_set(err, TINKC_E_CONFLICT, "%s already exists", directory);
}

/* "x/" names the same directory as "x", but has no sibling "x/.tmp". */
static char *without_slash(const char *directory)
{
    size_t n = strlen(directory);
    while (n > 1 && directory[n - 1] == '/') {
        n--;
    }
    return tk_strndup(directory, n);
}

static tinkc_code make_temp(save *s, const char *directory)
{
    uint64_t random;
    struct stat info;
    tinkc_code code = tk_rand_entropy(&random, sizeof(random), s->err);
    if (code != TINKC_OK) {
        return code;
    }
    if (lstat(directory, &info) == 0) {
        return in_the_way(directory, s->err);
    }
    size_t size = strlen(directory) + 32;
    s->temp = tk_malloc(size);
    if (s->temp == NULL) {
        return tk_err_nomem(s->err);
    }
    (void)snprintf(s->temp, size, "%s.%016llx.tmp", directory,
                   (unsigned long long)random);
    if (mkdir(s->temp, 0777) != 0) {
        int errnum = errno;
        tk_free(s->temp);
        s->temp = NULL;
        return tk_err_sys(s->err, errnum, "cannot make directory %s", directory);
    }
    return TINKC_OK;
}

static tinkc_code publish(const save *s, const char *directory)
{
    if (rename(s->temp, directory) == 0) {
        return TINKC_OK;
    }
    int errnum = errno;
    if (errnum == EEXIST || errnum == ENOTEMPTY || errnum == ENOTDIR) {
        return in_the_way(directory, s->err);
    }
    return tk_err_sys(s->err, errnum, "cannot write %s", directory);
}

static tinkc_code save_directory(save *s, const char *directory, const char *parent)
{
    tinkc_code code = make_temp(s, directory);
    if (code != TINKC_OK) {
        return code;
    }
    code = write_members(s);
    if (code == TINKC_OK) {
        code = publish(s, directory);
    }
    if (code != TINKC_OK) {
        remove_temp(s);
    } else {
        code = tk_file_sync_directory(parent, s->err);
    }
    tk_free(s->temp);
    return code;
}

/* What cannot be loaded is not saved. */
static tinkc_code check_finite(const save *s, bool optimizer)
{
    const eng_adapter *a = s->adapter;
    const eng_real *sets[] = {a->weights, a->moment1, a->moment2};
    tinkc_code code = TINKC_OK;
    size_t n = !optimizer ? 1 : a->moment2 != NULL ? 3 : 2;
    for (size_t i = 0; i < n && code == TINKC_OK; i++) {
        const char *what = i == 0 ? "weights" : "moments of the optimizer";
        code = eng_adapter_check_finite(a, sets[i], what, s->err);
    }
    return code;
}

static tinkc_code run(save *s, const char *directory)
{
    const eng_save_options *options = s->options;
    if (sizeof(eng_real) != sizeof(float)) {
        return tk_err_set(s->err, TINKC_E_UNSUPPORTED, "this build has no checkpoints");
    }
    bool optimizer = options != NULL && options->optimizer && !s->peft;
    if (optimizer && s->adapter->frozen) {
        return tk_err_set(s->err, TINKC_E_INVALID,
                          "frozen weights have no optimizer state to save");
    }
    tinkc_code code = check_finite(s, optimizer);
    if (code != TINKC_OK) {
        return code;
    }
    char *target = without_slash(directory);
    char *parent = target != NULL ? tk_file_parent(target) : NULL;
    code = parent != NULL ? save_directory(s, target, parent) : tk_err_nomem(s->err);
    tk_free(target);
    tk_free(parent);
    return code;
}

tinkc_code eng_adapter_save(const eng_adapter *adapter, const char *directory,
                            const eng_save_options *options, tk_err *err)
{
    save s = {.adapter = adapter, .options = options, .err = err};
    return run(&s, directory);
}

tinkc_code eng_adapter_export_peft(const eng_adapter *adapter, const char *directory,
                                   const eng_save_options *options, tk_err *err)
{
    save s = {.adapter = adapter, .options = options, .peft = true, .err = err};
    return run(&s, directory);
}
