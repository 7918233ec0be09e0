/* A store on its own data directory, and checkpoints of one small file in it. Thread: one
 * per fixture. */
#ifndef SERVER_STORE_STOREFIX_H
#define SERVER_STORE_STOREFIX_H

#include <sys/stat.h>
#include <unistd.h>

#include "server/srvfix.h"
#include "server/store/srv_files.h"
#include "server/store/srv_store_int.h"

#define STOREFIX_RUN     "session:train:0"
#define STOREFIX_WEIGHTS "adapter_model.safetensors"

typedef struct storefix {
    char data[64];
    srv_store *store;
    tk_arena arena;
} storefix;

static inline tk_path storefix_path(const char *name)
{
    return (tk_path){
        .run = TK_STR(STOREFIX_RUN), .kind = TK_PATH_WEIGHTS, .name = tk_str_of(name)};
}

static inline void storefix_start(storefix *f)
{
    tk_err err = TK_ERR_INIT;
    if (srv_data_claim(f->data, NULL, &err) != TINKC_OK ||
        srv_store_open(&f->store, f->data, NULL, &err) != TINKC_OK) {
        fail_msg("%s", err.message);
    }
}

static inline void storefix_restart(storefix *f)
{
    srv_store_close(f->store);
    storefix_start(f);
}

/* Opens a store with a run. */
static inline void storefix_open(storefix *f)
{
    tk_err err = TK_ERR_INIT;
    const srv_store_run run = {.id = TK_STR(STOREFIX_RUN),
                               .session_id = TK_STR("session"),
                               .base_model = TK_STR("base"),
                               .rank = 4,
                               .train_mlp = true,
                               .user_metadata = TK_STR("{\"colour\":\"green\"}")};
    srvfix_make_dir(f->data);
    tk_arena_init(&f->arena, 0);
    storefix_start(f);
    assert_int_equal(srv_store_add_run(f->store, &run, &err), TINKC_OK);
}

static inline void storefix_shell(const storefix *f, const char *script)
{
    char command[512];
    (void)snprintf(command, sizeof(command), "cd %s && %s", f->data, script);
    if (system(command) != 0) {
        fail_msg("%s", command);
    }
}

static inline void storefix_close(storefix *f)
{
    srv_store_close(f->store);
    tk_arena_dispose(&f->arena);
    storefix_shell(f, "rm -rf \"$PWD\"");
}

/* Writes a directory and adds it under a name. */
static inline tinkc_code storefix_save(storefix *f, const char *name, const char *bytes,
                                       bool overwrite)
{
    const tk_path path = storefix_path(name);
    tk_err err = TK_ERR_INIT;
    tk_str dir, old;
    const char *full = NULL;
    char file[256];
    assert_int_equal(srv_store_new_dir(&dir, &full, f->store, &f->arena, &path, &err),
                     TINKC_OK);
    assert_int_equal(mkdir(full, 0777), 0);
    (void)snprintf(file, sizeof(file), "%s/" STOREFIX_WEIGHTS, full);
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    assert_true(fputs(bytes, out) >= 0);
    assert_int_equal(fclose(out), 0);
    const srv_store_checkpoint row = {.run_id = path.run,
                                      .kind = path.kind,
                                      .name = path.name,
                                      .dir = dir,
                                      .created_us = 1000,
                                      .size_bytes = srv_files_size(full),
                                      .has_optimizer = true};
    tinkc_code code =
        srv_store_add_checkpoint(f->store, &f->arena, &row, overwrite, &old, &err);
    if (code != TINKC_OK) {
        srv_files_remove_dir(full);
    } else if (old.n > 0) {
        srv_store_remove_dir(f->store, old);
    }
    return code;
}

static inline bool storefix_find(storefix *f, const char *name, srv_store_checkpoint *out)
{
    const tk_path path = storefix_path(name);
    tk_err err = TK_ERR_INIT;
    tinkc_code code = srv_store_get_checkpoint(out, f->store, &f->arena, &path, &err);
    assert_true(code == TINKC_OK || code == TINKC_E_MISSING);
    return code == TINKC_OK;
}

/* Checks that a checkpoint is there with its bytes. */
static inline void storefix_expect(storefix *f, const char *name, const char *bytes)
{
    srv_store_checkpoint row;
    const char *full = NULL;
    tk_err err = TK_ERR_INIT;
    char file[256], text[64] = "";
    if (!storefix_find(f, name, &row)) {
        fail_msg("%s is missing", name);
    }
    assert_int_equal(srv_store_dir(&full, f->store, &f->arena, row.dir, &err), TINKC_OK);
    (void)snprintf(file, sizeof(file), "%s/" STOREFIX_WEIGHTS, full);
    FILE *in = fopen(file, "r");
    assert_non_null(in);
    assert_non_null(fgets(text, sizeof(text), in));
    assert_int_equal(fclose(in), 0);
    assert_string_equal(text, bytes);
}

#endif
