/* Labels as JSON, by the tables of src/wire. */
#include "server/store/srv_label.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "wire/schema.h"

#define VERSION 1
#define ROW_MAX (INT64_C(1) << 53) /* SQLite gives no numbers after the largest of all */

/* ---- the tables ---- */

#define ROW(T, key, member, k, f)                                                        \
    .name = (key), .kind = TK_KIND_##k, .flags = (f), .at = offsetof(T, member)

#define T srv_store_run
static const tk_field run_rows[] = {
    {ROW(T, "id", id, STR, TK_REQUIRED)},
    {ROW(T, "session_id", session_id, STR, TK_REQUIRED)},
    {ROW(T, "base_model", base_model, STR, TK_REQUIRED)},
    {ROW(T, "lora_rank", rank, I64, TK_REQUIRED)},
    {ROW(T, "train_unembed", train_unembed, BOOL, TK_REQUIRED)},
    {ROW(T, "train_mlp", train_mlp, BOOL, TK_REQUIRED)},
    {ROW(T, "train_attn", train_attn, BOOL, TK_REQUIRED)},
    {ROW(T, "user_metadata", user_metadata, STR, TK_OMIT_ZERO)}, /* JSON as a string */
    {ROW(T, "created_at", created_us, TIME, TK_REQUIRED)},
    {ROW(T, "project_id", project_id, STR, TK_OMIT_ZERO)},
};
#undef T

static const tk_schema run_schema = {
    TK_SCHEMA(srv_store_run, "CheckpointLabelRun", run_rows)};

static const char *const kind_words[] = {"weights", "sampler_weights",
                                         "external_weights"};
static const tk_names kinds = {kind_words, TK_ARRAY_LEN(kind_words), -1};

typedef struct document {
    int64_t version;
    srv_label label;
} document;

#define T document
static const tk_field document_rows[] = {
    {TK_LITERAL("type", "tinkc_checkpoint")},
    {ROW(T, "version", version, I64, TK_REQUIRED), TK_RANGE(1, VERSION)},
    {ROW(T, "row", label.checkpoint.row, I64, TK_REQUIRED), TK_RANGE(0, ROW_MAX)},
    {ROW(T, "kind", label.checkpoint.kind, ENUM, TK_REQUIRED), .names = &kinds},
    {ROW(T, "name", label.checkpoint.name, STR, TK_REQUIRED)},
    {ROW(T, "dir", label.checkpoint.dir, STR, TK_REQUIRED)},
    {ROW(T, "created_at", label.checkpoint.created_us, TIME, TK_REQUIRED)},
    {ROW(T, "expires_at", label.checkpoint.expires_us, TIME, TK_OMIT_ZERO)},
    {ROW(T, "size_bytes", label.checkpoint.size_bytes, I64, TK_REQUIRED)},
    {ROW(T, "public", label.checkpoint.is_public, BOOL, TK_REQUIRED)},
    {ROW(T, "has_optimizer", label.checkpoint.has_optimizer, BOOL, TK_REQUIRED)},
    {ROW(T, "user_metadata", label.checkpoint.user_metadata, STR, TK_OMIT_ZERO)},
    {ROW(T, "run", label.run, MSG, TK_REQUIRED), .sub = &run_schema},
};
#undef T

static const tk_schema document_schema = {
    TK_SCHEMA(document, "CheckpointLabel", document_rows)};

/* ---- files ---- */

tinkc_code srv_label_write(const char *directory, const srv_label *label, tk_err *err)
{
    const document doc = {VERSION, *label};
    tk_buf text;
    tk_buf_init(&text, TK_SRV_LABEL_BYTES);
    char *path = NULL;
    tinkc_code code = tk_schema_encode(&text, &document_schema, &doc, err);
    if (code != TINKC_OK) {
        goto out;
    }
    path = tk_file_join(directory, SRV_LABEL_FILE);
    code = path != NULL ? tk_file_replace(path, text.p, text.n, 0600, err)
                        : tk_err_nomem(err);
out:
    tk_free(path);
    tk_buf_dispose(&text);
    return code;
}

tinkc_code srv_label_read(srv_label *out, tk_arena *arena, const char *directory,
                          tk_err *err)
{
    document doc;
    char *text = NULL;
    size_t n = 0;
    char *path = tk_file_join(directory, SRV_LABEL_FILE);
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_file_read(&text, &n, path, TK_SRV_LABEL_BYTES, err);
    tk_free(path);
    if (code != TINKC_OK) {
        return code;
    }
    code = tk_schema_decode_text(&doc, &document_schema, arena, (tk_str){text, n},
                                 TK_DECODE_CLOSED, err);
    tk_free(text);
    if (code == TINKC_OK) {
        *out = doc.label;
        out->checkpoint.run_id = doc.label.run.id;
    }
    return code;
}

/* Renames a file of the directory, to last; back again when that fails. */
static tinkc_code rename_in(const char *directory, const char *from, const char *to,
                            tk_err *err)
{
    char *old = tk_file_join(directory, from);
    char *new = tk_file_join(directory, to);
    tinkc_code code = TINKC_OK;
    if (old == NULL || new == NULL) {
        code = tk_err_nomem(err);
    } else if (rename(old, new) != 0) {
        code = errno == ENOENT
                   ? tk_err_set(err, TINKC_E_MISSING, "a checkpoint has no label")
                   : tk_err_sys(err, errno, "rename %s", from);
    } else {
        code = tk_file_sync_directory(directory, err);
        if (code != TINKC_OK) {
            (void)!rename(new, old);
        }
    }
    tk_free(old);
    tk_free(new);
    return code;
}

tinkc_code srv_label_bury(const char *directory, tk_err *err)
{
    return rename_in(directory, SRV_LABEL_FILE, SRV_LABEL_DELETED_FILE, err);
}

tinkc_code srv_label_unearth(const char *directory, tk_err *err)
{
    return rename_in(directory, SRV_LABEL_DELETED_FILE, SRV_LABEL_FILE, err);
}

static bool has_file(const char *directory, const char *name)
{
    char path[4096]; /* longer than any that the system opens */
    int n = snprintf(path, sizeof(path), "%s/%s", directory, name);
    return n > 0 && (size_t)n < sizeof(path) && access(path, F_OK) == 0;
}

bool srv_label_is_buried(const char *directory)
{
    return has_file(directory, SRV_LABEL_DELETED_FILE) &&
           !has_file(directory, SRV_LABEL_FILE);
}
