/* The base models: the embedded one, those of the start, other names for them (--alias),
 * and those that are loaded later (srv_load.h). What is there stays until the stop: a name
 * that was found needs no lock. Thread: any may read; only the engine thread computes on a
 * model (srv_engine.h). */
#ifndef SERVER_SRV_CATALOG_H
#define SERVER_SRV_CATALOG_H

#include <stdatomic.h>

#include "engine/eng.h"
#include "server/run/srv_text.h"
#include "server/srv.h"

typedef struct srv_base {
    char *name;
    eng_model *model;
    eng_model_info info;
    tk_tok *tok;         /* NULL when the directory has none that can be read */
    char *tokenizer_dir; /* absolute; reported to clients as tokenizer_id */
    bool is_embedded;    /* its weights are not in that directory */
} srv_base;

typedef struct srv_name { /* one name that clients may use */
    char *name;
    srv_base *base;
} srv_name;

typedef struct srv_catalog {
    eng_pool *pool;
    eng_weights weights; /* how all models hold their matrices */
    srv_base *bases;     /* room for max_bases: they do not move */
    size_t n_bases, max_bases;
    srv_name *names; /* models first, then aliases, then what was loaded later */
    size_t max_names;
    atomic_size_t n_names; /* the last thing that is written */
} srv_catalog;

/* Opens the models, and unpacks the embedded tokenizer under `data`. TINKC_E_CONFIG for
 * a name that is used twice, an alias of no model, an unknown kind of weights, or
 * weights larger than `memory` bytes; else the errors of a model's files. */
TK_NODISCARD tinkc_code srv_catalog_new(srv_catalog **out, const srv_options *options,
                                        size_t memory, tk_err *err);
void srv_catalog_free(srv_catalog *catalog); /* accepts NULL */

/* Opens a further model from a directory whose path is absolute and real, on a pool of its
 * own while others compute. Nobody finds it until srv_catalog_add gives it a name. The
 * errors of a model's files; TINKC_E_LIMIT when there are too many models. Thread: one at a
 * time, also for the two below. */
TK_NODISCARD tinkc_code srv_catalog_load(srv_base **out, srv_catalog *catalog,
                                         const srv_pair *pair, tk_err *err);
/* Takes back the model that srv_catalog_load opened last. */
void srv_catalog_unload(srv_catalog *catalog);

/* Gives a model one more name. TINKC_E_CONFIG for one that is used, TINKC_E_LIMIT when
 * there are too many. */
TK_NODISCARD tinkc_code srv_catalog_add(srv_catalog *catalog, const char *name,
                                        srv_base *base, tk_err *err);

srv_base *srv_catalog_find(const srv_catalog *catalog, tk_str name); /* or NULL */

/* Returns the model whose files are in this directory (real and absolute), or NULL. */
srv_base *srv_catalog_find_directory(const srv_catalog *catalog, const char *dir);

#endif
