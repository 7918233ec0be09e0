/* The base models: the embedded one, those of --model, and other names for them
 * (--alias). Opened at the start, constant until the stop. Thread: any may read; only
 * the engine thread computes on a model (srv_engine.h). */
#ifndef SERVER_SRV_CATALOG_H
#define SERVER_SRV_CATALOG_H

#include "engine/eng.h"
#include "server/run/srv_text.h"
#include "server/srv.h"

typedef struct srv_base {
    char *name;
    eng_model *model;
    eng_model_info info;
    tk_tok *tok;         /* NULL when the directory has none that can be read */
    char *tokenizer_dir; /* absolute; reported to clients as tokenizer_id */
} srv_base;

typedef struct srv_name { /* one name that clients may use */
    char *name;
    srv_base *base;
} srv_name;

typedef struct srv_catalog {
    eng_pool *pool;
    srv_base *bases;
    size_t n_bases;
    srv_name *names; /* models first, then aliases */
    size_t n_names;
} srv_catalog;

/* Opens the models, and unpacks the embedded tokenizer under `data`. TINKC_E_CONFIG for a
 * name that is used twice, an alias of no model, or weights larger than `memory` bytes;
 * else the errors of a model's files. */
TK_NODISCARD tinkc_code srv_catalog_new(srv_catalog **out, const srv_options *options,
                                        size_t memory, tk_err *err);
void srv_catalog_free(srv_catalog *catalog); /* accepts NULL */

srv_base *srv_catalog_find(const srv_catalog *catalog, tk_str name); /* or NULL */

#endif
