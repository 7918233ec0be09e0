/* Directories of models for POST /tinkc/v1/models, in the round's directory: one that is
 * whole, and some that are not. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "fz.h"

#define FILE_MAX (64 * TK_MIB)

/* How a directory differs from the model. */
static const struct {
    const char *name;
    const char *file; /* that is cut to `keep` bytes; NULL: none */
    size_t keep;
} models[] = {
    {"whole", NULL, 0},
    {"cut", "model.safetensors", 100000},
    {"head", "model.safetensors", 6},
    {"empty", "config.json", 0},
    {"half", "config.json", 40},
};

static const char *const files[] = {"config.json", "generation_config.json",
                                    "model.safetensors", "tokenizer.json",
                                    "tokenizer_config.json"};

static void copy_file(const char *to_dir, size_t model, const char *name)
{
    char from[512], to[512];
    char *text = NULL;
    size_t n = 0;
    (void)snprintf(from, sizeof(from), "%s/%s", FZ_MODEL_DIR, name);
    (void)snprintf(to, sizeof(to), "%s/%s", to_dir, name);
    if (models[model].file == NULL || strcmp(models[model].file, name) != 0) {
        if (symlink(from, to) != 0) {
            fakeapi_die("%s: %m", to);
        }
        return;
    }
    tk_err err = TK_ERR_INIT;
    if (tk_file_read(&text, &n, from, FILE_MAX, &err) != TINKC_OK) {
        fakeapi_die("%s: %s", from, err.message);
    }
    FILE *out = fopen(to, "w");
    n = TK_MIN(n, models[model].keep);
    if (out == NULL || fwrite(text, 1, n, out) != n || fclose(out) != 0) {
        fakeapi_die("%s: %m", to);
    }
    tk_free(text);
}

void fz_models_make(const fz_world *world)
{
    char dir[192];
    (void)snprintf(dir, sizeof(dir), "%s/models", world->dir);
    if (mkdir(dir, 0700) != 0) {
        fakeapi_die("%s: %m", dir);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(models); i++) {
        (void)snprintf(dir, sizeof(dir), "%s/models/%s", world->dir, models[i].name);
        if (mkdir(dir, 0700) != 0) {
            fakeapi_die("%s: %m", dir);
        }
        for (size_t k = 0; k < TK_ARRAY_LEN(files); k++) {
            copy_file(dir, i, files[k]);
        }
    }
}

void fz_models_put(tk_buf *out, fz_client *client)
{
    const char *dir = client->world->dir;
    size_t i = (size_t)fz_below(client, TK_ARRAY_LEN(models) + 3);
    if (i < TK_ARRAY_LEN(models)) {
        tk_buf_printf(out, "%s/models/%s", dir, models[i].name);
    } else if (i == TK_ARRAY_LEN(models)) {
        tk_buf_printf(out, "%s/models/whole/../whole/", dir);
    } else {
        tk_buf_printf(out, "%s/%s", dir, fz_chance(client, 500) ? "data" : "nothing");
    }
}
