/* A sampler of a checkpoint has its directory anyway; one of a snapshot is written when
 * it leaves memory for the first time, into a directory without a row in the store: the
 * next start removes it if a crash leaves it. */
#include "server/run/srv_adapters.h"

#include <unistd.h>

#include "base/mem.h"
#include "server/run/srv_sampler.h"
#include "server/run/srv_state.h"
#include "server/store/srv_files.h"
#include "server/store/srv_store.h"

#define FLOOR_BYTES (256 * TK_MIB)

void srv_adapters_init(srv_adapters *adapters, size_t limit)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    size_t memory = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : 0;
    tk_list_init(&adapters->used);
    adapters->limit = limit > 0 ? limit : TK_MAX(memory / 8, FLOOR_BYTES);
}

static size_t bytes_of(const srv_sampler *sampler)
{
    return (size_t)eng_adapter_parameters(sampler->adapter) * sizeof(float);
}

/* Gives the sampler its own directory, with its weights. */
static tinkc_code write_out(srv *server, srv_sampler *sampler, tk_err *err)
{
    tk_arena arena;
    tk_str name;
    const char *full = NULL;
    char *dir = NULL;
    const tk_path path = {.run = TK_STR("ephemeral"),
                          .kind = TK_PATH_SAMPLER_WEIGHTS,
                          .name = TK_STR("sampler")};
    const eng_save_options options = {.base_model = sampler->base_name};
    tk_arena_init(&arena, 0);
    tinkc_code code = srv_store_new_dir(&name, &full, server->store, &arena, &path, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_files_make_parent(full, err);
    if (code != TINKC_OK) {
        goto out;
    }
    dir = tk_strdup(full);
    code = dir != NULL ? eng_adapter_save(sampler->adapter, dir, &options, err)
                       : tk_err_nomem(err);
    if (code != TINKC_OK) {
        goto out;
    }
    sampler->dir = dir;
    sampler->owns_dir = true;
    dir = NULL;
out:
    tk_free(dir);
    tk_arena_dispose(&arena);
    return code;
}

/* Returns false when the weights have to stay in memory. */
static bool leave(srv *server, srv_sampler *sampler)
{
    tk_err err = TK_ERR_INIT;
    if (sampler->dir == NULL && write_out(server, sampler, &err) != TINKC_OK) {
        tk_log_write(server->log, TINKC_LOG_WARN, "engine",
                     "weights of sampler %s stay in memory: %s", sampler->id,
                     err.message);
        return false;
    }
    tk_list_remove(&sampler->resident);
    eng_adapter_free(sampler->adapter); /* samples that run own it too */
    sampler->adapter = NULL;
    return true;
}

static size_t total_bytes(srv_adapters *adapters)
{
    size_t total = 0;
    for (tk_list *at = adapters->used.next; at != &adapters->used; at = at->next) {
        total += bytes_of(TK_CONTAINER_OF(at, srv_sampler, resident));
    }
    return total;
}

void srv_adapters_use(srv *server, srv_sampler *sampler)
{
    srv_adapters *adapters = &server->adapters;
    bool came = tk_list_is_empty(&sampler->resident);
    tk_list_remove(&sampler->resident);
    tk_list_push_back(&adapters->used, &sampler->resident);
    if (!came) {
        return;
    }
    size_t total = total_bytes(adapters);
    tk_list *at = adapters->used.next;
    while (total > adapters->limit && at != &sampler->resident) {
        srv_sampler *oldest = TK_CONTAINER_OF(at, srv_sampler, resident);
        at = at->next;
        size_t bytes = bytes_of(oldest);
        if (leave(server, oldest)) {
            total -= bytes;
        }
    }
}

tinkc_code srv_adapters_load(srv *server, srv_sampler *sampler, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    if (sampler->adapter == NULL && sampler->dir != NULL) {
        code =
            eng_adapter_open(&sampler->adapter, sampler->base->model, sampler->dir, err);
    }
    if (code == TINKC_OK && sampler->adapter != NULL) {
        srv_adapters_use(server, sampler);
    }
    return code;
}

void srv_adapters_forget(srv_sampler *sampler)
{
    tk_list_remove(&sampler->resident);
    eng_adapter_free(sampler->adapter);
    sampler->adapter = NULL;
    if (sampler->owns_dir) {
        srv_files_remove_dir(sampler->dir);
    }
}
