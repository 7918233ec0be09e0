/* A server and a hub, both scripted, and a directory with the caches of this test: what
 * tests of the tokenizer look-up start with. */
#ifndef SUPPORT_HUBFIX_H
#define SUPPORT_HUBFIX_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <tinkc/tokenizer.h>

#include "base/file.h"
#include "base/mem.h"
#include "support/fakeapi.h"
#include "support/fakeapi_tinker.h"
#include "support/servicefix.h"
#include "support/tokfix.h"

#define HUBFIX_TOKEN "hf_abcdefSECRETghijkl"

/* A tokenizer that needs little memory, for sweeps. */
#define HUBFIX_SMALL                                                                         \
    "{\"version\":\"1.0\",\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2}," \
    "\"merges\":[\"a b\"]}}"

typedef struct hubfix {
    fakeapi *api, *hub;
    tinkc_service *service;
    tinkc_tokenizer_options options; /* our cache, the hub, no token */
    char folder[64], cache[96];
    tk_buf json; /* a tokenizer.json */
    char log[65536];
    size_t log_n;
} hubfix;

static inline void hubfix_log(tinkc_log_level level, const char *component,
                              const char *line, void *user)
{
    hubfix *f = user;
    int n = snprintf(f->log + f->log_n, sizeof(f->log) - f->log_n, "%d %s %s\n",
                     (int)level, component, line);
    f->log_n = TK_MIN(f->log_n + (size_t)n, sizeof(f->log) - 1);
    talk_log(level, component, line, NULL);
}

static inline void hubfix_begin(hubfix *f)
{
    memset(f, 0, sizeof(*f));
    f->options = (tinkc_tokenizer_options)TINKC_TOKENIZER_OPTIONS_INIT;
    (void)snprintf(f->folder, sizeof(f->folder), "/tmp/tinkc-hub-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->cache, sizeof(f->cache), "%s/own", f->folder);
    tk_buf_init(&f->json, TK_MIB);
    tokfix_bytes(&f->json);
    assert_non_null(tk_buf_cstr(&f->json));
    f->api = fakeapi_start();
    fakeapi_tinker(f->api, NULL);
    f->hub = fakeapi_start();
    f->options.cache_dir = f->cache;
    f->options.hub_url = fakeapi_url(f->hub);
    f->options.hub_token = "";
    tinkc_config *config = servicefix_config(f->api, NULL);
    assert_int_equal(tinkc_config_set(config, "log_level", "debug", NULL), TINKC_OK);
    tinkc_config_set_log(config, hubfix_log, f);
    assert_int_equal(tinkc_service_open(&f->service, config, NULL), TINKC_OK);
    tinkc_config_free(&config);
}

static inline void hubfix_end(hubfix *f)
{
    char command[96];
    tinkc_service_close(&f->service);
    fakeapi_stop(&f->api);
    fakeapi_stop(&f->hub);
    tk_buf_dispose(&f->json);
    tinkc_tokenizer_cache_clear();
    (void)snprintf(command, sizeof(command), "rm -rf %s", f->folder);
    assert_int_equal(system(command), 0);
}

/* The hub (or the server) answers GET `path` with this. */
static inline void hubfix_serve(fakeapi *api, const char *path, const char *body)
{
    fakeapi_default(api, "GET", path, &(fakeapi_step){.body = body});
}

/* <folder>/<path> with this content; the directories are made. */
static inline void hubfix_put(hubfix *f, const char *path, const char *content)
{
    char name[512];
    (void)snprintf(name, sizeof(name), "%s/%s", f->folder, path);
    char *parent = tk_file_parent(name);
    assert_int_equal(tk_file_mkdirs(parent, 0777, NULL), TINKC_OK);
    assert_int_equal(tk_file_replace(name, content, strlen(content), 0666, NULL),
                     TINKC_OK);
    tk_free(parent);
}

static inline bool hubfix_has(const hubfix *f, const char *path)
{
    char name[512];
    struct stat info;
    (void)snprintf(name, sizeof(name), "%s/%s", f->folder, path);
    return stat(name, &info) == 0;
}

/* The tokenizer works: it is the fixture's. Frees it. */
static inline void hubfix_works(tinkc_tokenizer **tokenizer)
{
    size_t n = 0;
    assert_int_equal(tinkc_tokenizer_id(*tokenizer, "<|a|>"), 301);
    assert_int_equal(tinkc_tokenizer_count(&n, *tokenizer, "the", 3, NULL, NULL),
                     TINKC_OK);
    assert_int_equal(n, 1);
    tinkc_tokenizer_free(tokenizer);
}

/* By name, found. */
static inline void hubfix_find(hubfix *f, const char *model)
{
    tinkc_tokenizer *tokenizer = NULL;
    tinkc_error *error = NULL;
    if (tinkc_service_get_tokenizer(&tokenizer, f->service, model, &f->options, &error) !=
        TINKC_OK) {
        fail_msg("%s: %s", model, tinkc_error_message(error));
    }
    hubfix_works(&tokenizer);
}

/* By name, not found: so, and the text or one beneath it holds `text`. */
static inline void hubfix_lacks(hubfix *f, const char *model, tinkc_code code,
                                const char *text)
{
    tinkc_tokenizer *tokenizer = NULL;
    tinkc_error *error = NULL;
    assert_int_equal(
        tinkc_service_get_tokenizer(&tokenizer, f->service, model, &f->options, &error),
        code);
    assert_null(tokenizer);
    const tinkc_error *at = error;
    while (at != NULL && strstr(tinkc_error_message(at), text) == NULL) {
        at = tinkc_error_cause(at);
    }
    if (at == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", tinkc_error_message(error), text);
    }
    tinkc_error_free(&error);
}

#endif
