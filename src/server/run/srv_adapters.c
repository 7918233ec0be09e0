/* A sampler of a checkpoint has its directory anyway; one of a snapshot is written when
 * it leaves memory for the first time, into the store's work folder: the next start
 * removes it if a crash leaves it. */
#include "server/run/srv_adapters.h"

#include "base/mem.h"
#include "engine/eng_bytes.h"
#include "server/run/srv_engine.h"
#include "server/run/srv_sampler.h"
#include "server/run/srv_state.h"
#include "server/store/srv_files.h"
#include "server/store/srv_store.h"

/* Weights in a file, in memory and packed, and room for rounding. */
#define BYTES_PER_FILE_BYTE 3
#define SLACK_BYTES         TK_MIB

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

static void give_back(srv_sampler *sampler)
{
    if (sampler->counted > 0) {
        hd_budget_give(sampler->budget, SRV_PART_SAMPLERS, sampler->counted);
        sampler->counted = 0;
    }
}

/* Whether samples wait for these weights or run on them. */
static bool is_in_use(srv *server, const srv_sampler *sampler)
{
    tk_mutex_lock(&server->lock);
    bool used = sampler->owners > 1 || sampler->id[0] == '\0';
    tk_mutex_unlock(&server->lock);
    return used;
}

/* Returns false when the weights have to stay in memory. */
static bool leave(srv *server, srv_sampler *sampler)
{
    tk_err err = TK_ERR_INIT;
    if (is_in_use(server, sampler)) {
        return false;
    }
    if (sampler->dir == NULL && write_out(server, sampler, &err) != TINKC_OK) {
        tk_log_write(server->log, TINKC_LOG_WARN, "engine",
                     "weights of sampler %s stay in memory: %s", sampler->id,
                     err.message);
        return false;
    }
    tk_list_remove(&sampler->resident);
    eng_adapter_free(sampler->adapter);
    sampler->adapter = NULL;
    give_back(sampler);
    return true;
}

/* Counts `bytes` for the sampler. Others leave memory for it, the least recently used
 * ones first. When none is left it may exceed the part, but not the whole budget. */
static tinkc_code claim(srv *server, srv_sampler *sampler, size_t bytes, tk_err *err)
{
    tk_list *used = &server->adapters;
    tk_list *at = used->next;
    while (!hd_budget_take(&server->memory, SRV_PART_SAMPLERS, bytes)) {
        if (at == used) {
            if (!hd_budget_has_room(&server->memory, bytes)) {
                (void)hd_budget_refuse(&server->memory, SRV_PART_ADAPTERS, bytes,
                                       "a sampler with these weights", err);
                return err->code;
            }
            hd_budget_add(&server->memory, SRV_PART_SAMPLERS, bytes);
            break;
        }
        srv_sampler *oldest = TK_CONTAINER_OF(at, srv_sampler, resident);
        at = at->next;
        (void)leave(server, oldest);
    }
    sampler->budget = &server->memory;
    sampler->counted = bytes;
    return TINKC_OK;
}

/* Counts what the weights really need, once they are there. */
static void settle(srv *server, srv_sampler *sampler)
{
    size_t bytes = eng_bytes_frozen(sampler->adapter);
    hd_budget_add(&server->memory, SRV_PART_SAMPLERS, bytes);
    give_back(sampler);
    sampler->counted = bytes;
}

/* Counts what computing with a rank needs that the models do not have. */
static tinkc_code reserve_work(srv *server, const srv_sampler *sampler, tk_err *err)
{
    size_t work = srv_engine_sample_work(server, sampler->base, sampler->rank);
    tk_mutex_lock(&server->lock);
    bool ok = srv_engine_reserve(server->engine, sampler->base, work);
    tk_mutex_unlock(&server->lock);
    if (!ok) {
        (void)hd_budget_refuse(&server->memory, SRV_PART_WORK, work,
                               "computing with this rank", err);
        return err->code;
    }
    return TINKC_OK;
}

void srv_adapters_compare(srv *server, const srv_base *base, const char *dir)
{
    eng_checkpoint_info info;
    tk_err ignored = TK_ERR_INIT;
    if (server->catalog->weights == ENG_WEIGHTS_INT8 || server->said_int8 ||
        eng_checkpoint_read_info(&info, dir, &ignored) != TINKC_OK || !info.int8) {
        return;
    }
    server->said_int8 = true;
    tk_log_write(server->log, TINKC_LOG_WARN, "checkpoint",
                 "weights are loaded that were made with --weights int8, and %s is not: "
                 "log-probabilities are a little different",
                 base->name);
}

static tinkc_code open_weights(srv *server, srv_sampler *sampler, tk_err *err)
{
    tinkc_code code = reserve_work(server, sampler, err);
    if (code != TINKC_OK) {
        return code;
    }
    size_t bytes =
        (size_t)srv_files_size(sampler->dir) * BYTES_PER_FILE_BYTE + SLACK_BYTES;
    code = claim(server, sampler, bytes, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = eng_adapter_open(&sampler->adapter, sampler->base->model, sampler->dir, err);
    if (code != TINKC_OK) {
        give_back(sampler);
        return code;
    }
    settle(server, sampler);
    srv_adapters_compare(server, sampler->base, sampler->dir);
    return TINKC_OK;
}

tinkc_code srv_adapters_load(srv *server, srv_sampler *sampler, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    if (sampler->adapter == NULL && sampler->dir != NULL) {
        code = open_weights(server, sampler, err);
    }
    if (code == TINKC_OK && sampler->adapter != NULL) {
        tk_list_remove(&sampler->resident);
        tk_list_push_back(&server->adapters, &sampler->resident);
    }
    return code;
}

tinkc_code srv_adapters_copy(srv *server, srv_sampler *sampler, const eng_adapter *from,
                             tk_err *err)
{
    size_t bytes = eng_bytes_frozen(from);
    tinkc_code code = claim(server, sampler, bytes, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = eng_adapter_snapshot(&sampler->adapter, from, err);
    if (code != TINKC_OK) {
        give_back(sampler);
        return code;
    }
    tk_list_push_back(&server->adapters, &sampler->resident);
    return TINKC_OK;
}

void srv_adapters_forget(srv_sampler *sampler)
{
    tk_list_remove(&sampler->resident);
    eng_adapter_free(sampler->adapter);
    sampler->adapter = NULL;
    give_back(sampler);
    if (sampler->owns_dir) {
        srv_files_remove_dir(sampler->dir);
    }
}
